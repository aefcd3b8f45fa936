/* bootstrap.c - see bootstrap.h */
#include "ctld/gdemand/bootstrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/gsim/random.h"

#define OUTSIDE 0.025 /* on each side of the interval */

static void draw(uint64_t *state, uint32_t *times, uint32_t blocks)
{
	uint32_t i;

	memset(times, 0, blocks * sizeof(*times));
	for (i = 0; i < blocks; i++)
		times[random_below(state, blocks)]++;
}

static int ascending(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* Of one number in all rounds. Where most rounds do not have it, there is no interval. */
static void take_interval(struct interval *out, double *v, size_t n)
{
	size_t i, known = 0;

	for (i = 0; i < n; i++) {
		if (isfinite(v[i]))
			v[known++] = v[i];
	}
	if (known < 2 || known * 2 < n)
		return;
	qsort(v, known, sizeof(*v), ascending);
	out->low = v[(size_t)((double)(known - 1) * OUTSIDE)];
	out->high = v[known - 1 - (size_t)((double)(known - 1) * OUTSIDE)];
	out->known = true;
}

void bootstrap(const struct bootstrap *b, bootstrap_fn *fn, const void *arg, size_t n,
        struct interval *out)
{
	double *now = xcalloc(n, sizeof(*now)), *all = xcalloc(n * b->rounds, sizeof(*all));
	uint32_t *times = xcalloc(b->blocks, sizeof(*times));
	uint64_t state = b->seed;
	unsigned round;
	size_t i;

	fn(arg, NULL, now);
	for (i = 0; i < n; i++)
		out[i] = (struct interval){ .value = now[i] };
	for (round = 0; round < b->rounds && b->blocks >= BOOTSTRAP_LEAST; round++) {
		draw(&state, times, b->blocks);
		fn(arg, times, now);
		for (i = 0; i < n; i++)
			all[i * b->rounds + round] = now[i];
	}
	for (i = 0; i < n && b->blocks >= BOOTSTRAP_LEAST; i++) {
		if (isfinite(out[i].value))
			take_interval(&out[i], all + i * b->rounds, b->rounds);
	}
	free(now);
	free(all);
	free(times);
}
