/* test_gang.c - the nodes of a gang: fewest, on the fewest leaf switches, against all there are */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/core/place/gang.h"

#define MAX_NODES  13
#define MAX_LEAVES 7

static uint64_t rng;
static unsigned pick(unsigned n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)(rng >> 11) % n;
}

/* `count` GPUs in all, or of each node. */
static struct request gang(uint32_t count, uint32_t min, uint32_t max, bool per_node)
{
	return (struct request){ .n = count > 0,
		.v = { { .count = count } },
		.nodes_min = min,
		.nodes_max = max,
		.per_node = per_node };
}

static void check(const struct request *r, bool spread, const struct gang_candidate *v, size_t n,
        const char *want)
{
	struct gang_choice out = { 0 };
	char got[200] = "none";
	size_t i, used = 0;

	if (gang_choose(r, 0, spread, v, n, &out)) {
		for (i = 0; i < out.n; i++)
			used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%u:%u",
			        i ? " " : "", out.v[i].node, out.v[i].gpus);
	}
	assert_string_equal(got, want);
	gang_choice_free(&out);
}

/* Leaves 0: nodes 0 1 2, 1: nodes 3 4, none: node 5. */
static void rules(void **state)
{
	struct gang_candidate v[] = {
		{ 0, 0, 8, false, false, 0, 9 },
		{ 1, 0, 4, false, false, 0, 5 },
		{ 2, 0, 4, false, false, 0, 4 },
		{ 3, 1, 8, false, false, 0, 9 },
		{ 4, 1, 6, false, false, 0, 7 },
		{ 5, CONF_NONE, 8, false, false, 0, 9 },
	};
	const struct gang_candidate alike[] = { { 0, 0, 4, false, false, 1, 5 },
		{ 1, 0, 4, false, false, 2, 9 }, { 2, 0, 4, false, false, 2, 4 } };
	struct request r;

	(void)state;
	/* The leaf that is filled best; the node that has the least. */
	r = gang(4, 2, 2, true);
	check(&r, false, v, 6, "3:4 4:4");
	check(&r, true, v, 6, "0:4 1:4");
	r = gang(4, 3, 3, true);
	check(&r, false, v, 6, "0:4 1:4 2:4");
	/* Of nodes with as many those with the closest. */
	r = gang(4, 2, 2, true);
	check(&r, false, alike, 3, "1:4 2:4");
	check(&r, true, alike, 3, "1:4 2:4");
	/* As many as there are, though on more leaves. */
	r = gang(4, 2, 8, true);
	check(&r, false, v, 6, "0:4 1:4 2:4 3:4 4:4 5:4");
	r = gang(4, 7, 8, true);
	check(&r, false, v, 6, "none");
	/* A total: the fewest nodes come before the fewest leaves. */
	r = gang(16, 1, 8, false);
	check(&r, false, v, 6, "0:8 5:8");
	r = gang(14, 1, 8, false);
	check(&r, false, v, 6, "3:8 4:6");
	r = gang(14, 3, 8, false);
	check(&r, false, v, 6, "0:8 1:4 2:2");
	/* Each node one at least. */
	r = gang(3, 3, 3, false);
	check(&r, false, v, 6, "0:1 1:1 2:1");
	r = gang(9, 3, 3, false);
	check(&r, false, v, 6, "0:7 1:1 2:1");
	r = gang(39, 1, 8, false);
	check(&r, false, v, 6, "none");
	/* No GPUs. */
	r = gang(0, 2, 2, false);
	check(&r, false, v, 6, "3:0 4:0");

	/* Required nodes are in; without all of them there is no gang. */
	v[5].required = true;
	r = gang(4, 2, 2, true);
	r.n_required = 1;
	check(&r, false, v, 6, "4:4 5:4");
	r = gang(20, 1, 3, false);
	r.n_required = 1;
	check(&r, false, v, 6, "3:8 4:4 5:8");
	r.n_required = 2;
	check(&r, false, v, 6, "none");
	v[5].required = false;

	/* Preferred nodes alone, if they are enough, also on more leaves; else they come first. */
	v[0].preferred = v[5].preferred = true;
	r = gang(4, 2, 2, true);
	r.preferred = &rng;
	check(&r, false, v, 6, "0:4 5:4");
	r = gang(4, 3, 3, true);
	r.preferred = &rng;
	check(&r, false, v, 6, "0:4 1:4 2:4");
	v[1].preferred = true;
	r = gang(4, 2, 3, true);
	r.preferred = &rng;
	check(&r, false, v, 5, "0:4 1:4");

	/* Alone on its nodes: all that they have. */
	r = gang(4, 3, 3, true);
	r.exclusive = true;
	check(&r, false, v, 5, "0:8 1:4 2:4");
	r = gang(9, 2, 3, false);
	r.exclusive = true;
	check(&r, false, v, 5, "3:8 4:6");
}

/* --- against all sets of nodes --------------------------------------------------------------- */

struct best {
	unsigned nodes, leaves;
};

static bool try_all(
        const struct request *r, const struct gang_candidate *v, unsigned n, struct best *best)
{
	bool total = r->n && !r->per_node, any = false;
	unsigned mask, i;

	for (mask = 1; mask < 1u << n; mask++) {
		unsigned nodes = (unsigned)__builtin_popcount(mask), gpus = 0, leaves = 0;
		bool whole = true;

		for (i = 0; i < n; i++) {
			if (mask >> i & 1) {
				gpus += v[i].gpus;
				leaves |= 1u << (v[i].leaf + 1);
			} else {
				whole &= !v[i].required;
			}
		}
		leaves = (unsigned)__builtin_popcount(leaves);
		if (!whole || nodes < r->nodes_min || nodes > r->nodes_max ||
		        (total && (gpus < r->v[0].count || nodes > r->v[0].count)))
			continue;
		if (any && (nodes != best->nodes ? (nodes < best->nodes) != total
		                                 : leaves >= best->leaves))
			continue;
		*best = (struct best){ nodes, leaves };
		any = true;
	}
	return any;
}

static void compare(const struct request *r, const struct gang_candidate *v, unsigned n)
{
	struct gang_choice out = { 0 };
	unsigned leaves = 0, gpus = 0, i, k;
	struct best best;
	bool any = try_all(r, v, n, &best);

	assert_int_equal(gang_choose(r, 0, pick(2), v, n, &out), any);
	for (i = 0; any && i < out.n; i++) {
		for (k = 0; v[k].node != out.v[i].node; k++)
			assert_true(k < n);
		assert_true(out.v[i].gpus <= v[k].gpus);
		gpus += out.v[i].gpus;
		leaves |= 1u << (v[k].leaf + 1);
	}
	if (any) {
		assert_int_equal(out.n, best.nodes);
		assert_int_equal(__builtin_popcount(leaves), best.leaves);
		assert_int_equal(gpus, request_all_gpus(r, 0, (uint32_t)out.n));
	}
	gang_choice_free(&out);
}

static void fewest_leaves(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 4000; seed++) {
		struct gang_candidate v[MAX_NODES];
		unsigned n, leaves, most, i;
		struct request r;

		rng = seed * 0x9e3779b97f4a7c15ull + 1;
		n = 1 + pick(MAX_NODES);
		leaves = 1 + pick(MAX_LEAVES);
		most = 1 + pick(8);
		r = gang(pick(5) ? 1 + pick(24) : 0, 1 + pick(4), 0, pick(3) == 0);
		r.nodes_max = r.nodes_min + pick(6);
		if (r.per_node)
			r.v[0].count = 1;
		else if (r.v[0].count < r.nodes_min)
			r.v[0].count = r.nodes_min;
		r.n = r.v[0].count > 0;
		for (i = 0; i < n; i++) {
			v[i] = (struct gang_candidate){ .node = i,
				.leaf = pick(9) ? pick(leaves) : CONF_NONE,
				.gpus = 1 + pick(most),
				.required = r.n_required < r.nodes_min && !pick(9),
				.cpus_left = pick(4) };
			r.n_required += v[i].required;
		}
		compare(&r, v, n);
	}
}

/* More leaves than can be tried: soon an answer all the same, and a right one. */
static void many_leaves(void **state)
{
	struct gang_candidate *v = xcalloc(4000, sizeof(*v));
	struct gang_choice out = { 0 };
	struct request r = gang(200, 1, 60, false);
	unsigned i, gpus = 0;

	(void)state;
	rng = 7;
	for (i = 0; i < 4000; i++)
		v[i] = (struct gang_candidate){ .node = i, .leaf = i / 4, .gpus = 1 + pick(7) };
	assert_true(gang_choose(&r, 0, false, v, 4000, &out));
	for (i = 0; i < out.n; i++) {
		gpus += out.v[i].gpus;
		assert_true(out.v[i].gpus <= v[out.v[i].node].gpus);
	}
	assert_int_equal(gpus, 200);
	assert_int_equal(out.n, 29); /* of 7 GPUs */
	gang_choice_free(&out);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules),
		cmocka_unit_test(fewest_leaves),
		cmocka_unit_test(many_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
