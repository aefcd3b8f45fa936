/* test_decide.c - ctld/core/sched/decide.h: one decision, on a cluster made by hand */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/core/records/partition.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/sched/decide.h"
#include "ctld/core/sched/earliest_start.h"

#define NODES 3
#define GPUS  4 /* of a node */
#define HOUR  ((usec_t)3600 * 1000000)
#define ALL   ((1ull << GPUS) - 1)
#define KEY   1000 /* of a job */

static const char text[] =
        "cluster = \"test\"; controller = { host = \"h\"; };\n"
        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; }, { name = \"l40s\"; mem = \"48G\"; } "
        ");\n"
        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; },\n"
        "  { name = \"n1\"; cpus = 8; mem = \"64G\"; gpus = \"l40s:4\"; },\n"
        "  { name = \"n2\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true;\n"
        "    limits = { running = 2; }; } );\n";

static const uint16_t types[NODES] = { 0, 1, 0 };

/* One run has all GPUs of a node, until... */
static usec_t until[NODES];

static const struct run_snapshot *on_node(void *arg, uint32_t node, size_t *n)
{
	static struct run_snapshot run;

	(void)arg;
	run = (struct run_snapshot){ .job = node + 1,
		.gpus = GPUS,
		.cpus = 1,
		.gpu_set = ALL,
		.type = types[node],
		.end = until[node] };
	*n = until[node] ? 1 : 0;
	return &run;
}

struct world {
	struct sched_view view;
	struct conf *conf;
	struct meta *meta;
	struct partitions *partitions;
	struct strings *strings;
	struct requests *requests;
	const struct request *request;
	struct limit_chain *chain;
	struct places places;
	struct decision d;
};

static int setup(void **state)
{
	static const struct plan_runs runs = { .on_node = on_node };
	static struct world w;
	struct conf_problems problems = { 0 };
	uint32_t i;

	memset(until, 0, sizeof(until));
	w = (struct world){ .conf = conf_parse(text, "test", &problems), .meta = meta_new(NULL) };
	assert_non_null(w.conf);
	conf_problems_clear(&problems);
	w.partitions = partitions_new(w.meta);
	partitions_configure(w.partitions, w.conf);
	w.strings = strings_new(1);
	w.requests = requests_new(w.strings, w.conf, 1);
	w.view = (struct sched_view){ .conf = w.conf,
		.ledger = ledger_new(w.conf),
		.limits = limits_new(w.conf, 1),
		.partitions = w.partitions,
		.now = { .wall = HOUR, .mono = HOUR } };
	w.view.plan = plan_new(w.conf, w.view.ledger, &runs);
	plan_now(w.view.plan, HOUR);
	for (i = 0; i < NODES - 1; i++) /* the last one is lost */
		ledger_accept(w.view.ledger, i, true);
	w.chain = limits_chain(w.view.limits, CONF_NONE, 1000, CONF_NONE, 0);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	places_free(&w->places);
	plan_free(w->view.plan);
	limit_chain_free(w->view.limits, w->chain);
	limits_free(w->view.limits);
	ledger_free(w->view.ledger);
	requests_drop(w->requests, w->request);
	requests_free(w->requests);
	strings_free(w->strings);
	partitions_free(w->partitions);
	meta_free(w->meta);
	conf_free(w->conf);
	return 0;
}

/* A job of one CPU that asks for these GPUs for so long. */
static struct candidate job(struct world *w, const char *gpus, usec_t length)
{
	struct error err;

	requests_drop(w->requests, w->request);
	w->request = requests_parse(w->requests, gpus, "", &err);
	assert_non_null(w->request);
	return (struct candidate){ .ask = { .gpus = w->request, .cpus = 1, .mem_mb = 1 },
		.chain = w->chain,
		.partition = 0,
		.account = CONF_NONE,
		.qos = CONF_NONE,
		.length = length,
		.key = { KEY, 0 } };
}

/* A run takes all GPUs of the node until then (mono). */
static void takes(struct world *w, uint32_t node, usec_t end)
{
	struct place place = { .node = node, .cpus = 1, .gpus = ALL, .type = types[node] };

	ledger_take(w->view.ledger, &place);
	until[node] = end;
	plan_node_changed(w->view.plan, node);
}

/* All GPUs of node 0 are planned from then on for an hour, for a job of this key. */
static struct reservation *planned(struct world *w, usec_t start, uint64_t key)
{
	static int owner;
	const struct place place = { .node = 0, .cpus = 1, .mem_mb = 1, .gpus = ALL, .type = 0 };
	struct candidate who = job(w, "h100:4", HOUR);
	struct plan_want want = { .ask = who.ask, .length = HOUR, .key = { key, 0 } };
	struct reservation found = { .start = start, .end = start + HOUR };
	struct reservation *r;

	places_add(&found.places, &place);
	r = plan_add(w->view.plan, &owner, &want, &found);
	r->chain = w->chain;
	need_of_places(&w->view, &who.ask, &r->places, &r->need);
	return r;
}

static enum verdict decided(struct world *w, const struct candidate *who)
{
	return decide(&w->view, who, &w->places, &w->d);
}

/* --- now ------------------------------------------------------------------------------------- */

static void starts_where_there_is_room(void **state)
{
	struct world *w = *state;
	struct candidate who = job(w, "l40s:3", HOUR);

	assert_int_equal(decided(w, &who), VERDICT_START);
	assert_int_equal(w->places.n, 1);
	assert_int_equal(w->places.v[0].node, 1);
	assert_int_equal(w->d.need.gpus, 3);
	assert_int_equal(w->d.need.cpus, 1);
	assert_false(decide_wants_capacity(&w->d));
}

static void waits_for_capacity(void **state)
{
	struct world *w = *state;
	struct candidate who = job(w, "h100:1", HOUR);

	takes(w, 0, 2 * HOUR);
	assert_int_equal(decided(w, &who), VERDICT_CAPACITY);
	assert_int_equal(w->d.nowhere[0], VERDICT_CAPACITY);
	assert_true(w->d.capacity[0]);
	assert_int_equal(w->d.limit_of[0], DECIDE_NO_LIMIT);
	assert_true(decide_wants_capacity(&w->d));
}

static void takes_the_next_alternative(void **state)
{
	struct world *w = *state;
	struct candidate who = job(w, "h100:1|l40s:2", HOUR);

	assert_int_equal(decided(w, &who), VERDICT_START);
	assert_int_equal(w->places.alternative, 0);
	takes(w, 0, 2 * HOUR);
	assert_int_equal(decided(w, &who), VERDICT_START);
	assert_int_equal(w->places.alternative, 1);
	assert_int_equal(w->places.v[0].node, 1);
	assert_int_equal(decide_alternatives(&who.ask), 2);
}

static void partitions_may_start_nothing(void **state)
{
	struct world *w = *state;
	struct candidate who = job(w, "h100:1", HOUR);

	w->conf->partitions[0].state = CONF_PARTITION_DOWN;
	partitions_configure(w->partitions, w->conf);
	assert_int_equal(decided(w, &who), VERDICT_STATE);
	who.partition = CONF_NONE;
	assert_int_equal(decided(w, &who), VERDICT_PARTITION);
	assert_false(decide_wants_capacity(&w->d));
}

static void waits_at_a_limit(void **state)
{
	struct world *w = *state;
	struct candidate who = job(w, "h100:1", HOUR);
	struct need need;

	need_at_least(&w->view, &who.ask, 0, 0, &need);
	limits_take(w->view.limits, w->chain, &need);
	assert_int_equal(decided(w, &who), VERDICT_START);
	limits_take(w->view.limits, w->chain, &need);
	assert_int_equal(decided(w, &who), VERDICT_LIMIT);
	assert_int_equal(w->d.limit_of[0], w->d.limit.limit);
	assert_false(decide_wants_capacity(&w->d));
	assert_int_equal(w->d.nowhere[0], VERDICT_NONE);
}

/* --- beside what is planned ------------------------------------------------------------------ */

static void delays_no_start_before_it(void **state)
{
	struct world *w = *state;
	struct candidate who;

	planned(w, 3 * HOUR, KEY - 1);
	who = job(w, "h100:1", HOUR); /* it is over by then */
	assert_int_equal(decided(w, &who), VERDICT_START);
	who.length = 2 * HOUR + 1;
	assert_int_equal(decided(w, &who), VERDICT_PLANNED);
	assert_int_equal(w->d.nowhere[0], VERDICT_PLANNED);
	assert_true(w->d.planned && w->d.capacity[0]);
	who.late = 1; /* it was to start that long ago */
	assert_int_equal(decided(w, &who), VERDICT_START);
	who.length = PLAN_FAR;
	assert_int_equal(decided(w, &who), VERDICT_PLANNED);
}

static void passes_a_start_behind_it(void **state)
{
	struct world *w = *state;
	struct candidate who;

	planned(w, 2 * HOUR, KEY + 1);
	who = job(w, "h100:1", 9 * HOUR);
	assert_int_equal(decided(w, &who), VERDICT_START);
	assert_int_equal(w->places.v[0].node, 0);
	/* Where another place touches nothing planned, it takes that. */
	ledger_accept(w->view.ledger, 2, true);
	assert_int_equal(decided(w, &who), VERDICT_START);
	assert_int_equal(w->places.v[0].node, 2);
}

/* Two jobs may run: one does, one is planned, and a third would still run then. */
static void leaves_room_at_a_limit(void **state)
{
	struct world *w = *state;
	struct candidate who;
	struct need need;

	planned(w, 2 * HOUR, KEY - 1);
	who = job(w, "l40s:1", 9 * HOUR);
	need_at_least(&w->view, &who.ask, 0, 1, &need);
	limits_take(w->view.limits, w->chain, &need);
	assert_int_equal(decided(w, &who), VERDICT_PLANNED);
	assert_true(w->d.yields && w->d.planned);
	assert_int_not_equal(w->d.limit_of[0], DECIDE_NO_LIMIT);
	who.due = true; /* its own start has come */
	assert_int_equal(decided(w, &who), VERDICT_START);
	who.due = false;
	who.length = HOUR;
	assert_int_equal(decided(w, &who), VERDICT_START);
	who.length = 9 * HOUR;
	limits_release(w->view.limits, w->chain, &need);
	assert_int_equal(decided(w, &who), VERDICT_START);
}

/* --- parts ----------------------------------------------------------------------------------- */

static void names_the_types_of_an_alternative(void **state)
{
	struct world *w = *state;
	struct candidate who = job(w, "any:1", HOUR);
	uint32_t cursor = 0;
	uint16_t type;

	assert_true(decide_types(&w->view, &who.ask, 0, &cursor, &type) && type == 0);
	assert_true(decide_types(&w->view, &who.ask, 0, &cursor, &type) && type == 1);
	assert_false(decide_types(&w->view, &who.ask, 0, &cursor, &type));
	who = job(w, "l40s:1", HOUR);
	cursor = 0;
	assert_true(decide_types(&w->view, &who.ask, 0, &cursor, &type) && type == 1);
	assert_false(decide_types(&w->view, &who.ask, 0, &cursor, &type));
	who = job(w, "", HOUR);
	cursor = 0;
	assert_true(decide_types(&w->view, &who.ask, 0, &cursor, &type) && type == TYPE_NONE);
	assert_false(decide_types(&w->view, &who.ask, 0, &cursor, &type));
	assert_int_equal(decide_alternatives(&who.ask), 1);
}

static void goes_through_what_limits_allow(void **state)
{
	struct world *w = *state;
	struct candidate who = job(w, "h100:1|any:1", HOUR);
	struct find find = { .alternative = 0 };
	uint32_t cursor = 0, n = 0;
	struct need need;

	while (decide_next_open(&w->view, &who, &cursor, &find))
		n = n * 10 + find.alternative * 2 + find.type + 1;
	assert_int_equal(n, 134); /* (0, h100), (1, h100), (1, l40s) */
	need_at_least(&w->view, &who.ask, 0, 0, &need);
	limits_take(w->view.limits, w->chain, &need);
	limits_take(w->view.limits, w->chain, &need);
	find.alternative = cursor = 0;
	assert_false(decide_next_open(&w->view, &who, &cursor, &find));
}

/* The earliest of all alternatives; in steps as at once. */
static void finds_the_earliest_start(void **state)
{
	struct world *w = *state;
	struct candidate who = job(w, "h100:1|l40s:1", HOUR);
	struct plan_want want = { .ask = who.ask, .length = HOUR, .key = who.key };
	struct decide_search *ds = decide_search_new();
	struct reservation best, other;
	enum plan_step step;
	unsigned steps = 0;

	takes(w, 0, 5 * HOUR);
	takes(w, 1, 3 * HOUR);
	assert_true(decide_later(&w->view, &who, &want, &best));
	assert_int_equal(best.start, 3 * HOUR);
	assert_int_equal(best.places.v[0].node, 1);
	assert_int_equal(want.find.alternative, 1);
	want.find = (struct find){ .alternative = 0 };
	do {
		size_t work = 1;

		step = decide_search(ds, &w->view, &who, &want, &work, &other);
		steps++;
	} while (step == PLAN_MORE);
	assert_int_equal(step, PLAN_FOUND);
	assert_true(steps > 1);
	assert_int_equal(other.start, best.start);
	assert_int_equal(other.places.v[0].node, 1);
	decide_search_free(ds);
	places_free(&best.places);
	places_free(&other.places);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(starts_where_there_is_room),
		TEST(waits_for_capacity),
		TEST(takes_the_next_alternative),
		TEST(partitions_may_start_nothing),
		TEST(waits_at_a_limit),
		TEST(delays_no_start_before_it),
		TEST(passes_a_start_behind_it),
		TEST(leaves_room_at_a_limit),
		TEST(names_the_types_of_an_alternative),
		TEST(goes_through_what_limits_allow),
		TEST(finds_the_earliest_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
