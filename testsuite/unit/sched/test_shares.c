/* test_shares.c - parts of GPUs: gpu_share.h, workload_profile.h, fragmentation.h, and the ledger's
 * shares against a model
 *
 * The model books shares GPU by GPU in the plainest way. The ledger must find a place exactly
 * when some GPU has room, one that the definition of fragmentation.h, written here once more, calls
 * the best; no GPU is whole and shared, none is given away beyond what it has, and all can be
 * undone.
 *
 * SHARES_CASES=n: so many random clusters.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/place/fragmentation.h"
#include "ctld/core/place/ledger.h"
#include "testsuite/unit/lib/amount.h"
#include "testsuite/unit/lib/places_conf.h"

/* --- one GPU -------------------------------------------------------------------------------- */

static void test_share_of(void **state)
{
	static const struct {
		struct share_wish wish;
		uint64_t gpu;
		bool possible;
		struct share share;
	} rows[] = {
		{ { 0, 0, 0 }, 1000, true, { 0, 0, 0, 0 } },
		{ { 250, 0, 0 }, 81920, true, { 250, 250, 20480, 0 } },
		{ { 0, 20480, 0 }, 81920, true, { 0, 250, 20480, 0 } },
		{ { 0, 20481, 0 }, 81920, true, { 0, 251, 20481, 0 } },     /* rounded up */
		{ { 500, 20480, 0 }, 81920, true, { 500, 500, 20480, 0 } }, /* the larger counts */
		{ { 100, 81920, 0 }, 81920, true, { 100, 1000, 81920, 0 } },
		{ { 0, 81921, 0 }, 81920, false, { 0, 0, 0, 0 } },
		{ { 250, 0, 0 }, 0, true, { 250, 250, 0, 0 } }, /* memory not known */
		{ { 0, 1, 0 }, 0, false, { 0, 0, 0, 0 } },
	};
	struct share share;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(share_of(&rows[i].wish, rows[i].gpu, &share), rows[i].possible);
		if (!rows[i].possible)
			continue;
		assert_int_equal(share.milli, rows[i].share.milli);
		assert_int_equal(share.charge, rows[i].share.charge);
		assert_int_equal(share.mem_mb, rows[i].share.mem_mb);
	}
}

static void test_card(void **state)
{
	struct shared_gpu gpu = { .mem_mb = 1000 };
	const struct share quarter = { 250, 250, 250, 0 }, mem = { 0, 600, 600, 0 };

	(void)state;
	assert_int_equal(shared_gpu_left(&gpu), 1000);
	shared_gpu_book(&gpu, &quarter, true);
	assert_int_equal(shared_gpu_left(&gpu), 750);
	shared_gpu_book(&gpu, &mem, true);
	assert_int_equal(shared_gpu_left(&gpu), 150);
	assert_false(shared_gpu_holds(&gpu, &quarter)); /* compute would do, memory does not */
	assert_true(shared_gpu_holds(&gpu, &(struct share){ 750, 750, 150, 0 }));
	assert_false(shared_gpu_holds(&gpu, &(struct share){ 751, 751, 0, 0 }));
	shared_gpu_book(&gpu, &mem, false);
	shared_gpu_book(&gpu, &quarter, false);
	assert_int_equal(gpu.runs, 0);
	assert_int_equal(shared_gpu_left(&gpu), 1000);
}

static void test_card_of_one_user(void **state)
{
	struct shared_gpu gpu = { .mem_mb = 1000, .one_user = true };
	const struct share mine = { 250, 250, 250, 7 }, theirs = { 250, 250, 250, 8 },
	                   whose = { 250, 250, 250, 0 };

	(void)state;
	assert_true(shared_gpu_holds(&gpu, &mine));
	shared_gpu_book(&gpu, &mine, true);
	assert_true(shared_gpu_holds(&gpu, &mine) && shared_gpu_holds(&gpu, &whose));
	assert_false(shared_gpu_holds(&gpu, &theirs));
	/* Who was there before it was asked: nobody joins until both have gone. */
	shared_gpu_book(&gpu, &theirs, true);
	assert_int_equal(gpu.user, GPU_MIXED);
	shared_gpu_book(&gpu, &mine, false);
	assert_false(shared_gpu_holds(&gpu, &mine) || shared_gpu_holds(&gpu, &theirs));
	shared_gpu_book(&gpu, &theirs, false);
	assert_true(shared_gpu_holds(&gpu, &theirs));
	gpu.one_user = false;
	shared_gpu_book(&gpu, &mine, true);
	assert_true(shared_gpu_holds(&gpu, &theirs));
}

/* --- the profile ---------------------------------------------------------------------------------
 */

#define TASK(n, m)                                                                   \
	{                                                                            \
		.gpus = (n), .wish = { .milli = (m) }, .cpus = 4                     \
	}

/* Of the one type 0. */
static const struct profile_room one_type = { 8000, 8000 };

static void test_mix(void **state)
{
	const struct profile_task half = TASK(1, 500), whole = TASK(1, 0), none = TASK(0, 0);
	struct profile *m = profile_new(&one_type, 1);
	const struct profile_typical *v;
	uint64_t version, cpus, milli;
	size_t n;
	int i;

	(void)state;
	assert_false(profile_note(m, &none, 1000));
	profile_typical(m, 0, &n);
	assert_int_equal(n, 0);
	for (i = 0; i < 10; i++)
		assert_false(profile_note(m, &half, 1));
	assert_true(profile_note(m, &whole, 6));
	v = profile_typical(m, 0, &n);
	assert_int_equal(n, 2);
	/* 6 x 1000 is more than 10 x 500. */
	assert_int_equal(v[1].task.wish.milli, 500);
	assert_int_equal(v[1].weight, 10 * PROFILE_WEIGHT);
	assert_int_equal(profile_weight(m, 0), 16 * PROFILE_WEIGHT);
	profile_cpus(m, &cpus, &milli);
	assert_int_equal(cpus, 64);
	assert_int_equal(milli, 11000);
	version = profile_version(m, 0);
	assert_false(profile_note(m, &whole, 15));
	assert_int_equal(profile_version(m, 0), version); /* not twice as many yet */
	assert_true(profile_note(m, &whole, 1));
	assert_int_not_equal(profile_version(m, 0), version);
	assert_int_equal(profile_typical(m, 0, &n)[0].task.wish.milli, 0);
	/* An array of a million counts as a hundred; what is old fades away. */
	for (i = 0; i < 2000; i++)
		profile_note(m, &half, 1000000);
	v = profile_typical(m, 0, &n);
	assert_int_equal(v[0].task.wish.milli, 500);
	assert_true(v[0].weight <= (PROFILE_MEMORY + PROFILE_AT_ONCE) * PROFILE_WEIGHT);
	assert_int_equal(n, 1);
	profile_free(m);
	profile_free(NULL);
}

/* What names a type weighs as much more as there is less of it left, and only there. */
static void test_mix_of_types(void **state)
{
	struct profile_room room[3] = { { 60000, 60000 }, { 20000, 20000 }, { 0, 0 } };
	struct profile_task any = TASK(1, 0), scarce = TASK(1, 0), both = TASK(1, 500);
	struct profile *m = profile_new(room, 3);
	uint64_t version;
	size_t n, i;

	(void)state;
	scarce.types[scarce.n_types++] = 1;
	both.types[both.n_types++] = 0;
	both.types[both.n_types++] = 1;
	for (i = 0; i < 2; i++) {
		profile_note(m, &any, 8);
		profile_note(m, &both, 4);
		assert_true(profile_note(m, &scarce, 4));
	}
	assert_int_equal(profile_weight(m, 0), (16 + 8) * PROFILE_WEIGHT);
	/* A quarter of all is of type 1. There all whole GPUs are one kind. */
	assert_int_equal(profile_weight(m, 1), (16 + 8 + 8 * 4) * PROFILE_WEIGHT);
	assert_int_equal(profile_typical(m, 1, &n)[0].weight, (16 + 8 * 4) * PROFILE_WEIGHT);
	assert_int_equal(n, 2);
	assert_int_equal(profile_weight(m, 2), 16 * PROFILE_WEIGHT);
	/* None of type 1 is left: (60000 + 7500 + 2500) / 2500 = 28. Nothing else changes. */
	room[1].left = 0;
	version = profile_version(m, 0);
	assert_false(profile_note(m, &any, PROFILE_LOOK - 1));
	assert_true(profile_note(m, &any, 1));
	assert_int_equal(profile_weight(m, 1), (32 + 8 + 8 * 28) * PROFILE_WEIGHT);
	assert_int_equal(profile_version(m, 0), version);
	/* Less than an eighth more or less is no change. */
	room[1].left = 100;
	assert_false(profile_note(m, &any, PROFILE_LOOK - 1));
	profile_free(m);
}

/* --- the gradient ---------------------------------------------------------------------------- */

#define CARD(i, l) \
	{ .index = (i), .left = (l), .gpu = { .milli_used = 1000 - (l), .runs = (l) < 1000 } }

/* Half of the tasks want half a GPU, half of them a whole one, all two CPUs a GPU. */
static struct profile *halves(void)
{
	const struct profile_task half = { .gpus = 1, .wish = { .milli = 500 }, .cpus = 1 };
	const struct profile_task whole = { .gpus = 1, .cpus = 2 };
	struct profile *m = profile_new(&one_type, 1);

	profile_note(m, &half, 16);
	profile_note(m, &whole, 16);
	return m;
}

static void test_worth(void **state)
{
	struct profile *m = halves();
	struct fragmentation_node node = {
		.n = 2, .v = { CARD(0, 1000), CARD(1, 400) }, .cpus = 100, .shares = true
	};
	const int64_t each = 16 * PROFILE_WEIGHT * FRAGMENTATION_FINE; /* of both kinds */

	(void)state;
	/* To both kinds the 400 are of no use. */
	assert_int_equal(fragmentation_worth(m, &node), each * (1000 + 1000));
	/* 600: of no use to the whole one. */
	node.v[1] = (struct fragmentation_gpu)CARD(1, 600);
	assert_int_equal(fragmentation_worth(m, &node), each * (1600 + 1000));
	/* Two CPUs: they do for one whole GPU, and for 1500 thousandths of the mix. */
	node.cpus = 2;
	assert_int_equal(fragmentation_worth(m, &node), each * (1000 + 1000) - 2 * each * 600);
	/* One CPU: no whole one can be, and it does for half a GPU; the rest is without CPUs. */
	node.cpus = 1;
	assert_int_equal(fragmentation_worth(m, &node), each * 500 - 2 * each * 1100);
	/* Nobody can have a part: none may be shared. */
	node.cpus = 100;
	node.shares = false;
	assert_int_equal(fragmentation_worth(m, &node), each * 1000);
	profile_free(m);
}

static void test_choice(void **state)
{
	struct profile *m = halves();
	struct fragmentation_node node = { .n = 3,
		.v = { CARD(3, 1000), CARD(5, 600), CARD(7, 500) },
		.cpus = 100,
		.shares = true };
	struct fragmentation_want want = {
		.type = UINT16_MAX, .gpus = 1, .wish = { .milli = 500 }, .cpus = 1
	};
	uint64_t gpus;

	(void)state;
	/* On the 500 nothing is left over; from the 600 it would leave 100. */
	assert_int_equal(fragmentation_cost(m, &node, &want, &gpus), FRAGMENTATION_UNIT * 500 / 2);
	assert_int_equal(gpus, 1 << 7);
	want.gpus = 2;
	fragmentation_cost(m, &node, &want, &gpus);
	assert_int_equal(gpus, 1 << 7 | 1 << 5); /* the whole one stays whole */
	want.gpus = 4;
	assert_int_equal(fragmentation_cost(m, &node, &want, &gpus), FRAGMENTATION_NEVER);
	want = (struct fragmentation_want){ .type = UINT16_MAX, .gpus = 1, .cpus = 1 };
	fragmentation_cost(m, &node, &want, &gpus);
	assert_int_equal(gpus, 1 << 3);
	want.cpus = 101;
	assert_int_equal(fragmentation_cost(m, &node, &want, &gpus), FRAGMENTATION_NEVER);
	profile_free(m);
}

/* --- the ledger against a model -------------------------------------------------------------- */

#define NODES 6
#define TAKEN 64
#define MEM   100000 /* of an h100 (places_conf) less its reserve, set below */

struct model {
	uint64_t random;
	struct conf *conf;
	struct strings *strings;
	struct requests *requests;
	struct ledger *ledger;
	struct {
		uint32_t cpus, gpus;
		bool shares, one_user;
		uint32_t milli[8], runs[8], user[8];
		uint64_t mem[8];
		bool whole[8];
	} nodes[NODES];
	struct place taken[TAKEN];
	unsigned n_taken;
	bool users; /* some nodes have one user's runs share a GPU */
	unsigned long found[2], apart;
};

static unsigned pick(struct model *m, unsigned n)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (unsigned)(m->random >> 11) % n;
}

static void make(struct model *m)
{
	unsigned i;

	m->conf = places_conf();
	m->conf->gpu_types[H100].mem_mb = MEM + 500; /* not a power of 2 */
	m->conf->gpu_types[H100].mem_reserve_mb = 500;
	for (i = 0; i < NODES; i++) {
		struct places_node n = {
			.cpus = 4 + pick(m, 12), .mem_mb = 1000, .leaf = CONF_NONE
		};

		n.gpus[H100] = (uint16_t)(1 + pick(m, 4));
		m->nodes[i].cpus = n.cpus;
		m->nodes[i].gpus = n.gpus[H100];
		m->nodes[i].shares = i == 0 || pick(m, 4);
		m->nodes[i].one_user = m->users && pick(m, 3);
		places_node(m->conf, n);
		m->conf->nodes[i].share = m->nodes[i].shares ? CONF_SHARE_WATCH : CONF_SHARE_NO;
		if (m->nodes[i].one_user)
			m->conf->nodes[i].share_users = CONF_USERS_ONE;
	}
	m->strings = strings_new(1);
	m->requests = requests_new(m->strings, m->conf, 1);
	m->ledger = ledger_new(m->conf);
	for (i = 0; i < NODES; i++)
		ledger_accept(m->ledger, i, true);
}

static bool others(const struct model *m, unsigned n, unsigned g, uint32_t uid)
{
	return m->nodes[n].one_user && m->nodes[n].runs[g] && m->nodes[n].user[g] != uid + 1;
}

static bool card_free(
        const struct model *m, unsigned n, unsigned g, const struct request *r, uint32_t uid)
{
	uint64_t mem = r->share.mem_mb ? r->share.mem_mb : MEM * (uint64_t)r->share.milli / 1000;

	if (m->nodes[n].whole[g])
		return false;
	if (!r->share.milli && !r->share.mem_mb)
		return !m->nodes[n].runs[g];
	return m->nodes[n].shares && !others(m, n, g, uid) &&
	       m->nodes[n].milli[g] + r->share.milli <= 1000 && m->nodes[n].mem[g] + mem <= MEM;
}

static bool fits(const struct model *m, unsigned n, const struct ask *ask, uint32_t uid)
{
	unsigned g, gpu_set = 0;

	for (g = 0; g < m->nodes[n].gpus; g++)
		gpu_set += card_free(m, n, g, ask->gpus, uid);
	return m->nodes[n].cpus >= ask->cpus && gpu_set >= ask->gpus->v[0].count;
}

/* Into the model, or out of it; both must agree that it may. */
static void book(struct model *m, const struct place *p, bool take)
{
	unsigned g, n = p->node;

	m->nodes[n].cpus -= take ? p->cpus : -p->cpus;
	for (g = 0; g < 8; g++) {
		if (!(p->gpus >> g & 1))
			continue;
		assert_true(g < m->nodes[n].gpus);
		if (!p->share.charge) {
			assert_int_equal(m->nodes[n].whole[g], !take);
			assert_int_equal(m->nodes[n].runs[g], 0);
			m->nodes[n].whole[g] = take;
			continue;
		}
		assert_false(m->nodes[n].whole[g]);
		m->nodes[n].milli[g] += take ? p->share.milli : -p->share.milli;
		m->nodes[n].mem[g] += take ? p->share.mem_mb : -p->share.mem_mb;
		if (take) /* nobody else's, or it does not matter there */
			assert_false(others(m, n, g, p->share.user - 1));
		m->nodes[n].user[g] = p->share.user;
		m->nodes[n].runs[g] += take ? 1u : -1u;
		assert_true(m->nodes[n].milli[g] <= 1000 && m->nodes[n].mem[g] <= MEM);
	}
}

static void compare(const struct model *m)
{
	char text[200] = "";
	unsigned n, g;

	if (!ledger_check(m->ledger, text, sizeof(text)))
		fail_msg("%s", text);
	for (n = 0; n < NODES; n++) {
		uint64_t used = 0, shared = 0;

		for (g = 0; g < 8; g++) {
			used |= (uint64_t)(m->nodes[n].whole[g] || m->nodes[n].runs[g]) << g;
			shared |= (uint64_t)(m->nodes[n].runs[g] > 0) << g;
			assert_int_equal(ledger_shared_gpu(m->ledger, n, g)->milli_used,
			        m->nodes[n].milli[g]);
			assert_int_equal(
			        ledger_shared_gpu(m->ledger, n, g)->mem_used, m->nodes[n].mem[g]);
		}
		assert_int_equal(ledger_gpus_used(m->ledger, n), used);
		assert_int_equal(ledger_gpus_shared(m->ledger, n), shared);
	}
}

/* Only because of who asks? */
static void note_apart(struct model *m, struct ask ask, bool found)
{
	struct find find = { .type = TYPE_ANY };
	struct places out = { 0 };

	ask.user = 0;
	m->apart += !found && ledger_find(m->ledger, 0, &ask, &find, &out);
	places_free(&out);
}

static void try(struct model *m)
{
	static const uint32_t parts[] = { 0, 0, 100, 250, 330, 500, 750, 1000 };
	struct submit_job job = { .n_gpus = 1 };
	struct error err;
	struct places out = { 0 };
	struct find find = { .type = TYPE_ANY };
	struct ask ask = { .cpus = pick(m, 4) };
	uint32_t uid = pick(m, 3);
	unsigned n;
	bool any = false, found;

	job.gpus[0].type = "any";
	job.gpus[0].count = 1 + pick(m, 2);
	job.gpu_share_milli = parts[pick(m, 8)];
	job.gpu_mem_mb = pick(m, 3) ? 0 : 1 + pick(m, MEM);
	ask.gpus = requests_intern(m->requests, &job, &err);
	assert_non_null(ask.gpus);
	ask.user = ledger_user(m->ledger, 0, ask.gpus, uid);
	if (m->users && (job.gpu_share_milli || job.gpu_mem_mb) && m->nodes[0].one_user)
		assert_int_equal(ask.user, uid + 1);
	ledger_note_asked(m->ledger, &ask, 1);
	for (n = 0; n < NODES; n++) {
		any |= fits(m, n, &ask, uid);
		assert_int_equal(ledger_fits_part(m->ledger, n, &ask, 0), fits(m, n, &ask, uid));
	}
	found = ledger_find(m->ledger, 0, &ask, &find, &out);
	assert_int_equal(found, any);
	m->found[found]++;
	note_apart(m, ask, found);
	if (found && m->n_taken < TAKEN) {
		ledger_mark(m->ledger);
		ledger_take(m->ledger, &out.v[0]);
		ledger_undo(m->ledger);
		compare(m);
		ledger_take(m->ledger, &out.v[0]);
		book(m, &out.v[0], true);
		m->taken[m->n_taken++] = out.v[0];
	}
	places_free(&out);
	requests_drop(m->requests, ask.gpus);
}

static void random_clusters(bool users)
{
	uint64_t n = amount("SHARES_CASES", 200), i;
	unsigned long found[2] = { 0, 0 }, apart = 0;
	unsigned step;

	for (i = 0; i < n; i++) {
		struct model m = { .random = 0x9e3779b97f4a7c15u * (i + 1), .users = users };

		make(&m);
		for (step = 0; step < 60; step++) {
			if (m.n_taken && !pick(&m, 3)) {
				unsigned k = pick(&m, m.n_taken);

				ledger_release(m.ledger, &m.taken[k]);
				book(&m, &m.taken[k], false);
				m.taken[k] = m.taken[--m.n_taken];
			} else {
				try(&m);
			}
			compare(&m);
		}
		found[0] += m.found[0];
		found[1] += m.found[1];
		apart += m.apart;
		requests_free(m.requests);
		strings_free(m.strings);
		ledger_free(m.ledger);
		places_conf_free(m.conf);
	}
	/* Both answers have been tried often. */
	assert_true(found[0] > n && found[1] > 10 * n);
	assert_true(users ? apart > n : !apart);
}

static void test_ledger(void **state)
{
	(void)state;
	random_clusters(false);
}

static void test_ledger_of_users(void **state)
{
	(void)state;
	random_clusters(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share_of),
		cmocka_unit_test(test_card),
		cmocka_unit_test(test_card_of_one_user),
		cmocka_unit_test(test_mix),
		cmocka_unit_test(test_mix_of_types),
		cmocka_unit_test(test_worth),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_ledger),
		cmocka_unit_test(test_ledger_of_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
