/* gpu_share.c - see gpu_share.h
 *
 * Plain arithmetic on one GPU. The ledger keeps a struct shared_gpu for each GPU
 * (ledger_shared_gpus.c); plans and searches for victims work on copies.
 */
#include "ctld/core/request/gpu_share.h"

#include <assert.h>

/* mem_mb of all, in thousandths, rounded up. */
static uint64_t milli_of(uint64_t mem_mb, uint64_t all)
{
	return (mem_mb * GPU_MILLI + all - 1) / all;
}

bool share_of(const struct share_wish *wish, uint64_t gpu_mem_mb, struct share *share)
{
	uint64_t milli = wish->milli;

	*share = (struct share){ .milli = wish->milli, .mem_mb = wish->mem_mb, .user = wish->user };
	if (!share_wished(wish))
		return true;
	if (!wish->mem_mb)
		share->mem_mb = gpu_mem_mb * wish->milli / GPU_MILLI;
	else if (wish->mem_mb > gpu_mem_mb)
		return false;
	else if (milli_of(wish->mem_mb, gpu_mem_mb) > milli)
		milli = milli_of(wish->mem_mb, gpu_mem_mb);
	share->charge = (uint32_t)milli;
	return milli <= GPU_MILLI;
}

bool shared_gpu_holds(const struct shared_gpu *gpu, const struct share *share)
{
	if (gpu->one_user && gpu->runs && share->user && gpu->user != share->user)
		return false;
	return gpu->milli_used + share->milli <= GPU_MILLI &&
	       (!share->mem_mb || gpu->mem_used + share->mem_mb <= gpu->mem_mb);
}

/* Taking and giving back are exact inverses, but for GPU_MIXED, which lasts until the GPU is
 * free. */
void shared_gpu_book(struct shared_gpu *gpu, const struct share *share, bool take)
{
	if (take) {
		if (gpu->one_user)
			gpu->user =
			        !gpu->runs || gpu->user == share->user ? share->user : GPU_MIXED;
		gpu->milli_used += share->milli;
		gpu->mem_used += share->mem_mb;
		gpu->runs++;
		return;
	}
	assert(gpu->runs && gpu->milli_used >= share->milli && gpu->mem_used >= share->mem_mb);
	gpu->milli_used -= share->milli;
	gpu->mem_used -= share->mem_mb;
	if (!--gpu->runs)
		gpu->user = 0;
}

/* Thousandths, by what is scarcer: compute or memory. */
uint32_t shared_gpu_left(const struct shared_gpu *gpu)
{
	uint64_t used = gpu->milli_used;

	if (gpu->mem_mb && milli_of(gpu->mem_used, gpu->mem_mb) > used)
		used = milli_of(gpu->mem_used, gpu->mem_mb);
	return used < GPU_MILLI ? GPU_MILLI - (uint32_t)used : 0;
}
