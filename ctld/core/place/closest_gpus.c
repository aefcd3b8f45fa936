/* closest_gpus.c - see closest_gpus.h
 *
 * Sets of the same size are compared by (worst pair, sum of pairs, ties to the GPUs that stay
 * free). All three can be kept up to date when a GPU is added to a set, so try_all() walks the sets
 * as a tree and leaves a branch as soon as its worst pair is below that of the best set. Where
 * there are too many sets, grow() adds the GPU that is best at each step.
 *
 * closest_worth() packs the three into one number, so that nodes can be compared and a demand
 * (`--gpu-link`) can be checked by the first of the three alone, closest_worst().
 */
#include "ctld/core/place/closest_gpus.h"

#include <string.h>

#include "common/base/xalloc.h"

struct closeness *closeness_new(uint32_t n)
{
	struct closeness *c = xcalloc(1, sizeof(*c) + (size_t)n * n * sizeof(c->v[0]));

	c->n = n;
	return c;
}

void closeness_set(struct closeness *c, uint32_t a, uint32_t b, near_t near)
{
	c->v[a * c->n + b] = c->v[b * c->n + a] = near;
	if (near)
		c->known |= 1ull << a | 1ull << b;
}

near_t closeness_of(const struct closeness *c, uint32_t a, uint32_t b)
{
	return a < c->n && b < c->n ? c->v[a * c->n + b] : 0;
}

near_t closeness_worst(const struct closeness *c, uint64_t gpus)
{
	near_t worst = gpus & (gpus - 1) ? UINT8_MAX : 0;

	for (uint64_t left = gpus; left; left &= left - 1) {
		uint32_t gpu = (uint32_t)__builtin_ctzll(left);

		for (uint64_t others = left & (left - 1); others; others &= others - 1) {
			near_t near = closeness_of(c, gpu, (uint32_t)__builtin_ctzll(others));

			worst = near < worst ? near : worst;
		}
	}
	return worst;
}

bool closeness_matters(const struct closeness *c)
{
	for (uint32_t a = 0; a < c->n; a++) {
		for (uint32_t b = a + 1; b < c->n; b++) {
			if (closeness_of(c, a, b) != closeness_of(c, 0, 1))
				return true;
		}
	}
	return false;
}

/* --- choosing -------------------------------------------------------------------------------- */

/* Some of those that are free, as they are added one by one. */
struct some {
	uint64_t gpus;
	uint32_t worst; /* the two farthest; UINT32_MAX: there are no two */
	uint32_t pairs; /* all, summed up */
	uint32_t ties;  /* of each of them to all that are free, summed up */
};

struct choice {
	const struct closeness *c;
	uint32_t gpus[CONF_MAX_GPUS_PER_NODE]; /* that are free */
	uint32_t ties[CONF_MAX_GPUS_PER_NODE];
	uint32_t free, n;
	struct some best;
};

/* The set with one GPU more; its three numbers follow. */
static struct some with(const struct choice *o, const struct some *before, uint32_t at)
{
	struct some s = *before;
	uint32_t gpu = o->gpus[at];

	for (uint64_t left = s.gpus; left; left &= left - 1) {
		uint32_t near = closeness_of(o->c, (uint32_t)__builtin_ctzll(left), gpu);

		s.worst = near < s.worst ? near : s.worst;
		s.pairs += near;
	}
	s.gpus |= 1ull << gpu;
	s.ties += o->ties[at];
	return s;
}

/* For sets of equal size: the ties to the GPUs that stay free are all ties less twice those
 * inside. */
static bool better(const struct some *x, const struct some *y)
{
	if (x->worst != y->worst)
		return x->worst > y->worst;
	return x->pairs != y->pairs ? x->pairs > y->pairs : x->ties < y->ties;
}

static void keep_better(struct choice *o, const struct some *s)
{
	if (!o->best.gpus || better(s, &o->best))
		o->best = *s;
}

/* All sets that begin with `s` and go on behind `from`, in the order of their indices. */
static void try_all(struct choice *o, const struct some *s, uint32_t from, uint32_t left)
{
	if (!left) {
		keep_better(o, s);
		return;
	}
	for (uint32_t at = from; at + left <= o->free; at++) {
		struct some next = with(o, s, at);

		if (!o->best.gpus || next.worst >= o->best.worst)
			try_all(o, &next, at + 1, left - 1);
	}
}

/* A set that begins with `seed`; what each other one is to those taken is kept as it grows. */
static void grow(struct choice *o, uint32_t seed)
{
	uint32_t worst[CONF_MAX_GPUS_PER_NODE], pairs[CONF_MAX_GPUS_PER_NODE], n, at, pick = seed;
	struct some s = { .worst = UINT32_MAX }, best, next;

	for (at = 0; at < o->free; at++) {
		worst[at] = UINT32_MAX;
		pairs[at] = 0;
	}
	for (n = 0; n < o->n; n++, s = best) {
		best = (struct some){ .gpus = 0 };
		for (at = 0; at < o->free; at++) {
			if (s.gpus >> o->gpus[at] & 1 || (!n && at != seed))
				continue;
			next.gpus = s.gpus | 1ull << o->gpus[at];
			next.worst = worst[at] < s.worst ? worst[at] : s.worst;
			next.pairs = s.pairs + pairs[at];
			next.ties = s.ties + o->ties[at];
			if (best.gpus && !better(&next, &best))
				continue;
			best = next;
			pick = at;
		}
		for (at = 0; at < o->free; at++) {
			uint32_t near = closeness_of(o->c, o->gpus[at], o->gpus[pick]);

			worst[at] = near < worst[at] ? near : worst[at];
			pairs[at] += near;
		}
	}
	keep_better(o, &s);
}

/* How many sets of `k` of `n` there are, CLOSEST_TRIED + 1 if more than that. */
static uint64_t sets(uint32_t n, uint32_t k)
{
	uint64_t all = 1;

	k = n - k < k ? n - k : k;
	for (uint32_t i = 1; i <= k && all <= CLOSEST_TRIED; i++)
		all = all * (n - k + i) / i;
	return all <= CLOSEST_TRIED ? all : CLOSEST_TRIED + 1;
}

/* Exact up to CLOSEST_TRIED sets. Beyond that greedy, once from each GPU that is free. */
uint64_t closest(const struct closeness *c, uint64_t from, uint32_t n)
{
	struct choice o = { .c = c, .n = n };
	const struct some none = { .worst = UINT32_MAX };

	if (!n)
		return 0;
	for (uint64_t left = from; left; left &= left - 1) {
		uint32_t gpu = (uint32_t)__builtin_ctzll(left);

		o.gpus[o.free] = gpu;
		for (uint64_t other = from & ~(1ull << gpu); other; other &= other - 1)
			o.ties[o.free] +=
			        closeness_of(c, gpu, (uint32_t)__builtin_ctzll(other));
		o.free++;
	}
	if (o.free <= n)
		return from;
	if (sets(o.free, n) <= CLOSEST_TRIED) {
		try_all(&o, &none, 0, n);
	} else {
		for (uint32_t seed = 0; seed < o.free; seed++)
			grow(&o, seed);
	}
	return o.best.gpus;
}

#define TIES_BITS 20 /* all pairs of 64, each as close as can be, fit */

uint64_t closest_worth(const struct closeness *c, uint64_t from, uint32_t n)
{
	uint64_t gpus = c ? closest(c, from, n) : 0, left, others;
	uint64_t worst = c ? UINT8_MAX : 0, pairs = 0, ties = 0;

	for (left = gpus; left; left &= left - 1) {
		uint32_t gpu = (uint32_t)__builtin_ctzll(left);

		for (others = from & ~(left & -left); others; others &= others - 1) {
			uint32_t other = (uint32_t)__builtin_ctzll(others);
			uint64_t near = closeness_of(c, gpu, other);

			if (!(gpus >> other & 1)) {
				ties += near;
			} else if (other > gpu) {
				pairs += near;
				worst = near < worst ? near : worst;
			}
		}
	}
	worst = n > 1 ? worst : 0;
	return (worst << TIES_BITS | pairs) << TIES_BITS | (((1ull << TIES_BITS) - 1) - ties);
}

near_t closest_worst(uint64_t worth)
{
	return (near_t)(worth >> 2 * TIES_BITS);
}

/* --- what is demanded ------------------------------------------------------------------------ */

bool closest_has(const struct closeness *c, uint64_t from, uint32_t n, near_t least)
{
	if ((uint32_t)__builtin_popcountll(from) < n)
		return false;
	return n < 2 || !least || (c && closeness_worst(c, closest(c, from, n)) >= least);
}

/* Those of `from` that are as close to `gpu`, and it. */
static uint64_t neighbours(const struct closeness *c, uint64_t from, uint32_t gpu, near_t least)
{
	uint64_t set = 1ull << gpu, left;

	for (left = from & ~set; left; left &= left - 1) {
		if (closeness_of(c, gpu, (uint32_t)__builtin_ctzll(left)) >= least)
			set |= left & -left;
	}
	return set;
}

/* All that can be reached from the first of `from`; *all: each two of them are as close. */
static uint64_t component(const struct closeness *c, uint64_t from, near_t least, bool *all)
{
	uint64_t set = from & -from, seen = 0, left;

	while ((left = set & ~seen)) {
		seen |= left & -left;
		set |= neighbours(c, from, (uint32_t)__builtin_ctzll(left), least);
	}
	*all = true;
	for (left = set; left; left &= left - 1)
		*all &= neighbours(c, set, (uint32_t)__builtin_ctzll(left), least) == set;
	return set;
}

/* The number that leaves each group one GPU short of enough, plus one. */
uint32_t closest_sure(const struct closeness *c, uint64_t from, uint32_t n, near_t least)
{
	uint32_t most = (uint32_t)__builtin_popcountll(from), without = 0, size;
	uint64_t left, group;
	bool all;

	if (!closest_has(c, from, n, least))
		return 0;
	if (n < 2 || !least)
		return n;
	for (left = from; left; left &= ~group) {
		group = component(c, left, least, &all);
		size = (uint32_t)__builtin_popcountll(group);
		without += all && size >= n ? n - 1 : size;
	}
	return without + 1 < most ? without + 1 : most;
}
