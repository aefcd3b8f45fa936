/* gpu_share.h - what is left of a GPU that several runs share
 *
 * A GPU is free, whole (one run has all of it) or shared. Each run on a shared GPU has
 * a *share*: MiB of its memory, thousandths of its compute, or both. The sums on a GPU exceed
 * neither. A share of memory alone reserves no compute: its run uses the compute that the other
 * runs leave.
 *
 * The memory that can be shared is what the driver reports. If the type's nominal `mem` is
 * configured and is less, or the driver reports nothing, it is `mem`. From this the type's
 * `mem_reserve` is subtracted. 0: not known; then no share in MiB can be given.
 *
 * Where a node is configured so (`share_users = "one"`) only runs of one user at a time share a
 * GPU. A user is represented by uid + 1. 0 is no user: the users of the other runs do not matter
 * then.
 *
 * In usage and prices a share counts as a fraction of a GPU: the larger of its two fractions, in
 * thousandths, rounded up (`charge`).
 */
#ifndef CTLD_CORE_GPU_SHARE_H
#define CTLD_CORE_GPU_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#define GPU_MILLI 1000 /* all of a GPU */

/* The share on each GPU of a place. charge 0: whole GPUs. */
struct share {
	uint32_t milli, charge;
	uint64_t mem_mb;
	uint32_t user; /* the run's user: uid + 1 */
};

struct shared_gpu {
	uint64_t mem_mb, mem_used;
	uint32_t milli_used, runs; /* 0 runs: the GPU is not shared */
	/* one_user: only runs of one user may share the GPU. `user` is that user then.
	 * GPU_MIXED: runs of several users are on it, which started before this was configured;
	 * it stays until the GPU is free. */
	uint32_t user;
	bool one_user;
};

#define GPU_MIXED UINT32_MAX

/* What a job requests of each GPU: 0 and 0 is all of it. A request for compute alone gets the
 * same fraction of the memory. */
struct share_wish {
	uint32_t milli;
	uint64_t mem_mb;
	uint32_t user; /* the requesting user: uid + 1; 0 where the user makes no difference */
};

static inline bool share_wished(const struct share_wish *wish)
{
	return wish->milli || wish->mem_mb;
}

/* The share on GPUs with this much memory. False: such a GPU can never give it. */
bool share_of(const struct share_wish *wish, uint64_t gpu_mem_mb, struct share *share);

bool shared_gpu_holds(const struct shared_gpu *gpu, const struct share *share);
void shared_gpu_book(struct shared_gpu *gpu, const struct share *share, bool take);

/* The largest share that another run could have, in thousandths; 1000: the GPU is not shared. */
uint32_t shared_gpu_left(const struct shared_gpu *gpu);

#endif
