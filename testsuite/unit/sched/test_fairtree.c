/* test_fairtree.c - the Fair Tree algorithm: examples, ties, random trees against a slow model */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/core/accounts/fairtree.h"

#define ACCOUNT(up, n)                    \
	{                                 \
		.parent = up, .shares = n \
	}
#define USER(up, n, used)                                              \
	{                                                              \
		.parent = up, .user = true, .shares = n, .usage = used \
	}

/* Ranks in the order of nodes; 0 for accounts. */
static void ranks(struct fair_node *v, size_t n, const uint32_t *want)
{
	uint32_t users = 0;

	fairtree_rank(v, n, NULL);
	for (size_t i = 0; i < n; i++)
		users += v[i].user;
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(v[i].rank, want[i]);
		assert_float_equal(
		        v[i].factor, v[i].user ? (double)(users - want[i] + 1) / users : 0, 1e-12);
	}
}

/* Two departments with equal shares, one used three times as much: all of the other come first,
 * also him who used most of all users. */
static void accounts_come_before_users(void **state)
{
	struct fair_node v[] = {
		ACCOUNT(FAIR_ROOT, 1), ACCOUNT(FAIR_ROOT, 1), /* physics, chemistry */
		USER(0, 1, 100), USER(0, 1, 200),             /* 300 */
		USER(1, 1, 90), USER(1, 3, 10),               /* 100 */
	};

	(void)state;
	ranks(v, 6, (const uint32_t[]){ 0, 0, 3, 4, 2, 1 });
	assert_float_equal(v[0].norm, 0.5, 1e-12);
	assert_float_equal(v[0].usage, 300, 1e-12);
	assert_float_equal(v[0].effective, 0.75, 1e-12);
	assert_float_equal(v[0].level_fs, 0.5 / 0.75, 1e-12);
	assert_float_equal(v[5].norm, 0.75, 1e-12);
	assert_float_equal(v[5].effective, 0.1, 1e-12);
	assert_float_equal(v[5].level_fs, 7.5, 1e-12);
}

static void no_usage_is_infinity(void **state)
{
	struct fair_node v[] = {
		ACCOUNT(FAIR_ROOT, 1),
		ACCOUNT(FAIR_ROOT, 1),
		ACCOUNT(FAIR_ROOT, 0),
		USER(0, 1, 0),
		USER(0, 1, 5),
		USER(1, 1, 0),
		USER(2, 1, 0),
		USER(2, 0, 0),
	};

	(void)state;
	/* Nobody of account 1 used anything; account 2 has no shares, and its last user neither. */
	ranks(v, 8, (const uint32_t[]){ 0, 0, 0, 2, 3, 1, 4, 5 });
	assert_true(isinf(v[1].level_fs) && isinf(v[3].level_fs));
	assert_float_equal(v[2].level_fs, 0, 0);
	assert_float_equal(v[7].level_fs, 0, 0);
}

static void equal_users_share_a_rank(void **state)
{
	struct fair_node v[] = {
		ACCOUNT(FAIR_ROOT, 1),
		USER(0, 1, 10),
		USER(0, 2, 20),
		USER(0, 1, 5),
		USER(0, 1, 40),
	};

	(void)state;
	ranks(v, 5, (const uint32_t[]){ 0, 2, 2, 1, 4 });
}

/* Their children are merged: each is as good as in his own account. */
static void equal_accounts_are_one(void **state)
{
	struct fair_node v[] = {
		ACCOUNT(FAIR_ROOT, 1),
		ACCOUNT(FAIR_ROOT, 2),
		ACCOUNT(FAIR_ROOT, 1),
		USER(0, 1, 3),
		USER(0, 1, 7), /* 10: level 1/4 : 10/60; users 1/2 : 3/10, 7/10 */
		USER(1, 1, 12),
		USER(1, 1, 8), /* 20: the same level; users 1/2 : 12/20, 8/20 */
		USER(2, 1, 30),
	};

	(void)state;
	ranks(v, 8, (const uint32_t[]){ 0, 0, 0, 1, 4, 3, 2, 5 });
}

/* A user beside an account that is equal to him has the rank of its best. */
static void a_user_equal_to_an_account(void **state)
{
	struct fair_node v[] = {
		ACCOUNT(FAIR_ROOT, 1),
		USER(FAIR_ROOT, 1, 10), /* equal to account 0 */
		USER(0, 1, 4),
		USER(0, 1, 6),          /* 10 */
		USER(FAIR_ROOT, 1, 10), /* so is he */
		USER(FAIR_ROOT, 1, 11),
	};
	struct fair_node deep[] = {
		ACCOUNT(FAIR_ROOT, 1), /* equal to the user */
		ACCOUNT(0, 5),
		ACCOUNT(0, 1), /* the first has nobody in it */
		USER(FAIR_ROOT, 1, 10),
		USER(2, 1, 4),
		USER(2, 1, 6),
	};

	(void)state;
	ranks(v, 6, (const uint32_t[]){ 0, 1, 1, 4, 1, 5 });
	ranks(deep, 6, (const uint32_t[]){ 0, 0, 0, 1, 1, 3 });
}

/* --- a slow, obvious model ------------------------------------------------------------------- */

#define NODES 40

static uint64_t rng;

static unsigned pick(unsigned n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)(rng >> 11) % n;
}

/* Groups of users that share a rank, in their order. */
struct groups {
	size_t n;
	struct {
		size_t n;
		uint32_t users[NODES];
	} v[NODES];
};

static double model_usage(const struct fair_node *v, size_t n, uint32_t node)
{
	double sum = v[node].user ? v[node].usage : 0;

	for (uint32_t i = 0; i < n && !v[node].user; i++) {
		if (v[i].parent == node)
			sum += model_usage(v, n, i);
	}
	return sum;
}

static double model_fs(const struct fair_node *v, size_t n, uint32_t node)
{
	double all = 0, own = model_usage(v, n, node);
	uint64_t shares = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (v[i].parent == v[node].parent) {
			all += model_usage(v, n, i);
			shares += v[i].shares;
		}
	}
	if (!v[node].shares)
		return 0;
	return own > 0 ? ((double)v[node].shares / (double)shares) / (own / all) : INFINITY;
}

/* Rank the children of all accounts in `parents` as one family. */
static void model_rank(const struct fair_node *v, size_t n, const uint32_t *parents,
        size_t n_parents, struct groups *out)
{
	bool done[NODES] = { false };

	out->n = 0;
	for (;;) {
		uint32_t users[NODES], accounts[NODES];
		size_t n_users = 0, n_accounts = 0;
		struct groups *below;
		double best = -1;

		for (int round = 0; round < 2; round++) {
			for (uint32_t i = 0; i < n; i++) {
				bool family = false;
				double fs;

				for (size_t p = 0; p < n_parents; p++)
					family |= v[i].parent == parents[p];
				if (!family || done[i])
					continue;
				fs = model_fs(v, n, i);
				if (round == 0)
					best = fs > best ? fs : best;
				else if (fs == best && v[i].user)
					users[n_users++] = i;
				else if (fs == best)
					accounts[n_accounts++] = i;
			}
		}
		if (best < 0)
			return;
		for (size_t i = 0; i < n_users; i++)
			done[users[i]] = true;
		for (size_t i = 0; i < n_accounts; i++)
			done[accounts[i]] = true;
		below = xcalloc(1, sizeof(*below));
		if (n_accounts)
			model_rank(v, n, accounts, n_accounts, below);
		/* The users, and with them the best of the accounts. */
		for (size_t g = 0; g < below->n || (g == 0 && n_users); g++) {
			memset(&out->v[out->n], 0, sizeof(out->v[0]));
			if (g == 0) {
				memcpy(out->v[out->n].users, users, n_users * sizeof(users[0]));
				out->v[out->n].n = n_users;
			}
			for (size_t i = 0; g < below->n && i < below->v[g].n; i++)
				out->v[out->n].users[out->v[out->n].n++] = below->v[g].users[i];
			out->n++;
		}
		free(below);
	}
}

static void random_tree(struct fair_node *v, size_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t up = FAIR_ROOT;

		/* Under an earlier account, or the root. */
		for (int tries = 0; i && tries < 5 && up == FAIR_ROOT; tries++) {
			uint32_t other = pick(i);

			if (!v[other].user)
				up = other;
		}
		v[i] = (struct fair_node){ .parent = pick(5) ? up : FAIR_ROOT,
			.user = pick(3) != 0,
			.shares = pick(4),
			/* Few values, all sums exact: many ties. */
			.usage = pick(3) ? 1 << pick(3) : 0 };
	}
}

static void random_order(uint32_t *order, size_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = pick(i + 1);

		order[i] = order[at];
		order[at] = i;
	}
}

/* All nodes, each after its parent, users by rank. */
static void check_order(const struct fair_node *v, size_t n, const uint32_t *order)
{
	bool met[NODES] = { false };
	uint32_t rank = 0;

	for (size_t i = 0; i < n; i++) {
		const struct fair_node *node = &v[order[i]];

		assert_false(met[order[i]]);
		assert_true(node->parent == FAIR_ROOT || met[node->parent]);
		met[order[i]] = true;
		if (!node->user)
			continue;
		assert_true(node->rank >= rank);
		rank = node->rank;
	}
}

static void against_a_model(void **state)
{
	const uint32_t root = FAIR_ROOT;
	struct groups *groups = xcalloc(1, sizeof(*groups));
	unsigned shared = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 3000; seed++) {
		struct fair_node v[NODES];
		size_t n;
		uint32_t rank = 1, order[NODES];

		rng = seed * 0x9e3779b97f4a7c15ull;
		n = 1 + pick(seed % 10 ? 12 : NODES);
		random_tree(v, n);
		model_rank(v, n, &root, 1, groups);
		random_order(order, n);
		fairtree_rank(v, n, seed % 3 ? order : NULL);
		if (seed % 3)
			check_order(v, n, order);
		for (size_t g = 0; g < groups->n; g++) {
			for (size_t i = 0; i < groups->v[g].n; i++)
				assert_int_equal(v[groups->v[g].users[i]].rank, rank);
			rank += (uint32_t)groups->v[g].n;
			shared += groups->v[g].n > 1;
		}
	}
	assert_true(shared > 1000);
	free(groups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accounts_come_before_users),
		cmocka_unit_test(no_usage_is_infinity),
		cmocka_unit_test(equal_users_share_a_rank),
		cmocka_unit_test(equal_accounts_are_one),
		cmocka_unit_test(a_user_equal_to_an_account),
		cmocka_unit_test(against_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
