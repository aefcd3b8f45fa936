/* test_plan_gang.c - ctld/core/plan/plan.h: a gang is planned for the earliest start there is
 *
 * Against a look at every moment at which anything becomes free, with what plan_room() says of each
 * node then; in one step, and in as many as there can be.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/core/plan/plan_impl.h"
#include "testsuite/unit/lib/places_conf.h"

#define NODES   150
#define GPUS    4 /* of a node */
#define CPUS    8
#define ENTRIES 200
#define MINUTE  ((usec_t)60 * 1000000)

static uint64_t rng;
static unsigned pick(unsigned n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)(rng >> 11) % n;
}

/* Each GPU of a node may have a run of its own. */
static usec_t ends[NODES][GPUS]; /* 0: it is free */

static const struct run_snapshot *held(void *arg, uint32_t node, size_t *n)
{
	static struct run_snapshot v[GPUS];
	uint32_t g;

	(void)arg;
	for (g = 0, *n = 0; g < GPUS; g++) {
		if (!ends[node][g])
			continue;
		v[(*n)++] = (struct run_snapshot){ .job = node * GPUS + g + 1,
			.gpus = 1,
			.cpus = 1,
			.gpu_set = 1u << g,
			.end = ends[node][g] };
	}
	return v;
}

static const struct plan_runs runs = { .on_node = held };

struct cluster {
	struct conf *conf;
	struct strings *strings;
	struct requests *requests;
	struct ledger *ledger;
	struct plan *plan;
};

static void make(struct cluster *c, uint32_t nodes)
{
	uint32_t i, g;

	c->conf = places_conf();
	for (i = 0; i < nodes; i++) {
		struct places_node node = {
			.cpus = CPUS, .mem_mb = 8000, .gpus = { GPUS, 0, 0 }, .leaf = CONF_NONE
		};

		places_node(c->conf, node);
	}
	c->strings = strings_new(1);
	c->requests = requests_new(c->strings, c->conf, 1);
	c->ledger = ledger_new(c->conf);
	for (i = 0; i < nodes; i++) {
		ledger_accept(c->ledger, i, true);
		for (g = 0; g < GPUS; g++) {
			struct place place = { .node = i, .cpus = 1, .gpus = 1u << g, .type = H100 };

			if (ends[i][g])
				ledger_take(c->ledger, &place);
		}
	}
	c->plan = plan_new(c->conf, c->ledger, &runs);
	plan_now(c->plan, MINUTE);
}

static void unmake(struct cluster *c)
{
	plan_free(c->plan);
	ledger_free(c->ledger);
	requests_free(c->requests);
	strings_free(c->strings);
	places_conf_free(c->conf);
}

static void plan_there(struct cluster *c, uint32_t node, uint32_t gpus, usec_t start, usec_t end)
{
	static const struct request one = { .n = 1, .service = "", .v = { { .count = 1 } }, .nodes_min = 1,
		.nodes_max = 1 };
	struct plan_want want = { .ask = { .gpus = &one, .cpus = 1 },
		.find = { .type = H100 },
		.key = { 0, plan_count(c->plan) } };
	struct reservation found = { .start = start, .end = end, .places = { .type = H100 } };
	struct place place = {
		.node = node, .cpus = 1, .gpus = (1u << gpus) - 1, .type = H100
	};

	places_add(&found.places, &place);
	plan_add(c->plan, c, &want, &found);
}

/* --- the model ------------------------------------------------------------------------------- */

static bool can_start(struct cluster *c, const struct plan_want *w, usec_t at)
{
	struct gang_candidate v[NODES];
	struct gang_choice choice = { 0 };
	const struct plan_kind kind = plan_kind(w);
	uint32_t i;
	size_t n = 0;
	bool ok;

	for (i = 0; i < c->conf->n_nodes; i++) {
		struct plan_part part = plan_part(c->plan, w, i);
		struct plan_room room;

		plan_room(c->plan, i, &kind, at, plan_end_of(at, w->length), w->key,
		        w->displace_none, &room);
		if (!plan_may_use(c->plan, w, i) || !plan_room_holds(&room, &part))
			continue;
		v[n++] = (struct gang_candidate){
			.node = i, .leaf = CONF_NONE, .gpus = (uint32_t)room.gpus
		};
	}
	ok = gang_choose(w->ask.gpus, 0, false, v, n, &choice);
	gang_choice_free(&choice);
	return ok;
}

static usec_t earliest(struct cluster *c, const struct plan_want *w)
{
	usec_t best = INT64_MAX, at = MINUTE;
	size_t i;
	uint32_t g;

	if (can_start(c, w, at))
		return at;
	for (i = 0; i < c->conf->n_nodes; i++) {
		for (g = 0; g < GPUS; g++) {
			at = ends[i][g];
			if (at && at < best && can_start(c, w, at))
				best = at;
		}
	}
	for (i = 0; i < plan_count(c->plan); i++) {
		at = plan_at(c->plan, i)->end;
		if (at < best && can_start(c, w, at))
			best = at;
	}
	return best;
}

/* --- what is planned ------------------------------------------------------------------------- */

/* In steps of so much work; 0: in one. */
static usec_t planned(struct cluster *c, const struct plan_want *w, size_t work)
{
	struct plan_search *ps = plan_search_new();
	struct reservation found = { .start = INT64_MAX };
	enum plan_step step;

	do {
		size_t left = work ? work : SIZE_MAX;

		step = plan_search(c->plan, ps, w, &left, &found);
	} while (step == PLAN_MORE);
	plan_search_free(ps);
	if (step == PLAN_FOUND)
		assert_true(plan_holds(c->plan, w, &found));
	places_free(&found.places);
	return step == PLAN_FOUND ? found.start : INT64_MAX;
}

static void check(struct cluster *c, const struct plan_want *w)
{
	usec_t best = earliest(c, w);

	assert_int_equal(planned(c, w, 0), best);
	assert_int_equal(planned(c, w, 1), best);
	assert_int_equal(planned(c, w, 1 + pick(50)), best);
}

/* Node i is free from minute 2 * i on, and for somebody else one minute later; a gang of two for a
 * minute would have to wait until all of those have ended, but for nodes 90 and 91. */
static void after_many_failures(void **state)
{
	const struct request two = { .n = 1, .service = "",
		.v = { { .count = GPUS } },
		.nodes_min = 2,
		.nodes_max = 2,
		.per_node = true };
	struct plan_want want = { .ask = { .gpus = &two, .cpus = 1 },
		.find = { .type = H100 },
		.length = MINUTE,
		.key = { 1, 0 } };
	struct reservation found = { .start = 0 };
	struct cluster c;
	uint32_t i, g;

	(void)state;
	for (i = 0; i < NODES; i++) {
		for (g = 0; g < GPUS; g++)
			ends[i][g] = (2 + 2 * i) * MINUTE;
	}
	make(&c, NODES);
	for (i = 0; i < NODES; i++)
		plan_there(&c, i, GPUS, ends[i][0] + (i == 90 ? 3 : 1) * MINUTE, 1000 * MINUTE);
	assert_true(plan_find(c.plan, &want, &found));
	assert_int_equal(found.start, ends[91][0]);
	assert_int_equal(found.places.n, 2);
	assert_int_equal(found.places.v[0].node, 90);
	assert_int_equal(found.places.v[1].node, 91);
	places_free(&found.places);
	unmake(&c);
}

static void random_cluster(struct cluster *c)
{
	uint32_t nodes = 2 + pick(20), spread = 1 + pick(100), i, g;

	for (i = 0; i < nodes; i++) {
		bool idle = !pick(4);

		for (g = 0; g < GPUS; g++)
			ends[i][g] = idle || !pick(4) ? 0 : (2 + pick(spread)) * MINUTE;
	}
	make(c, nodes);
	for (i = pick(60); i; i--) {
		usec_t start = (2 + pick(2 * spread)) * MINUTE;

		plan_there(c, pick(nodes), 1 + pick(GPUS), start,
		        start + (1 + pick(spread)) * MINUTE);
	}
}

static void any_gang(void **state)
{
	unsigned round, ask;

	(void)state;
	for (round = 0; round < 300; round++) {
		struct cluster c;

		rng = 88172645463325252ull + round;
		random_cluster(&c);
		for (ask = 0; ask < 10; ask++) {
			bool per_node = pick(2);
			uint32_t min = 1 + pick(4), max = 2 + pick(6);
			struct request r = { .n = 1, .per_node = per_node, .service = "" };
			struct plan_want want = { .ask = { .gpus = &r, .cpus = 1 + pick(3) },
				.find = { .type = H100 },
				.length = pick(5) ? (1 + pick(60)) * MINUTE : PLAN_FAR,
				.key = { 0, pick(80) },
				.displace_none = pick(2) };

			r.nodes_min = min;
			r.nodes_max = max < min ? min : max;
			r.v[0].count = per_node ? 1 + pick(GPUS)
			                        : r.nodes_min + pick(r.nodes_max * GPUS);
			check(&c, &want);
		}
		unmake(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_many_failures),
		cmocka_unit_test(any_gang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
