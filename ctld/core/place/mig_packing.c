/* mig_packing.c - which MIG instances of a node a job gets
 *
 * Only a GPU that is free can be cut anew. So instances are taken from the GPU that has the fewest
 * left, and whole GPUs stay free as long as possible. A job's instances are on one GPU if possible.
 */
#include "ctld/core/place/ledger_impl.h"

/* The lowest `n` bits of `mask`. */
static uint64_t lowest(uint64_t mask, uint32_t n)
{
	uint64_t taken = 0;

	for (; n && mask; n--) {
		taken |= mask & -mask;
		mask &= mask - 1;
	}
	return taken;
}

/* Those of `mask` that are on that GPU. */
static uint64_t on_card(const struct record *r, uint64_t mask, uint32_t gpu)
{
	uint64_t here = 0;

	for (; mask; mask &= mask - 1) {
		if (r->gpu_of[__builtin_ctzll(mask)] == gpu)
			here |= mask & -mask;
	}
	return here;
}

/* The GPU that has the fewest of `mask` left, but at least `n`; 0: none has. */
static uint64_t fullest(const struct record *r, uint64_t mask, uint32_t n)
{
	uint64_t best = 0, left, here;

	for (left = mask; left; left &= ~here) {
		uint32_t gpu = r->gpu_of[__builtin_ctzll(left)];

		here = on_card(r, left, gpu);
		if (gpu && mask_count(here) >= n && (!best || mask_count(here) < mask_count(best)))
			best = here;
	}
	return best;
}

uint64_t mig_pack(const struct record *r, uint64_t mask, uint32_t n)
{
	uint64_t taken = 0, gpu;

	for (; r->gpu_of && n > mask_count(taken); taken |= lowest(gpu, n - mask_count(taken))) {
		gpu = fullest(r, mask & ~taken, n - mask_count(taken));
		if (!gpu)
			gpu = fullest(r, mask & ~taken, 1);
		if (!gpu)
			break;
	}
	return taken | lowest(mask & ~taken, n - mask_count(taken));
}
