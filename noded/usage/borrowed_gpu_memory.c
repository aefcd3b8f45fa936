/* borrowed_gpu_memory.c - see borrowed_gpu_memory.h */
#include "noded/usage/borrowed_gpu_memory.h"

uint64_t burst_borrowed(const struct burst_run *run)
{
	return run->own_mb > run->share_mb ? run->own_mb - run->share_mb : 0;
}

uint64_t burst_short(const struct burst_run *runs, size_t n, uint64_t gpu_mb)
{
	uint64_t parts = 0, borrowed = 0, left;

	for (size_t i = 0; i < n; i++) {
		parts += runs[i].share_mb;
		borrowed += burst_borrowed(&runs[i]);
	}
	left = gpu_mb > parts ? gpu_mb - parts : 0;
	return gpu_mb && borrowed > left ? borrowed - left : 0;
}

static bool can_be_asked(const struct burst_run *run)
{
	return run->may && !run->asked && burst_borrowed(run);
}

/* Is x better than y to be asked for `missing`? A run that has borrowed enough alone is, with the
 * least work lost; else the run that has borrowed most. */
static bool better(const struct burst_run *x, const struct burst_run *y, uint64_t missing)
{
	uint64_t has_x = burst_borrowed(x), has_y = burst_borrowed(y);
	bool does_x = has_x >= missing, does_y = has_y >= missing;

	if (does_x != does_y)
		return does_x;
	return does_x ? x->work_us < y->work_us : has_x > has_y;
}

void burst_choose(struct burst_run *runs, size_t n, uint64_t gpu_mb)
{
	uint64_t missing = burst_short(runs, n, gpu_mb), can = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t has = burst_borrowed(&runs[i]);

		if (runs[i].asked)
			missing -= has < missing ? has : missing;
		else if (can_be_asked(&runs[i]))
			can += has;
	}
	if (can < missing)
		return;
	while (missing) {
		struct burst_run *best = NULL;
		uint64_t has;

		for (size_t i = 0; i < n; i++) {
			if (can_be_asked(&runs[i]) && (!best || better(&runs[i], best, missing)))
				best = &runs[i];
		}
		has = burst_borrowed(best);
		best->asked = true;
		missing -= has < missing ? has : missing;
	}
}
