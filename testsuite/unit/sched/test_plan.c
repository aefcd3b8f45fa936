/* test_plan.c - ctld/core/plan/plan.h: how much a plan remembers of what it was asked
 *
 * What it decides is compared with a model by test_sched_policy.c and test_promise.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <malloc.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/plan/plan_impl.h"
#include "testsuite/unit/lib/amount.h"
#include "testsuite/unit/lib/places_conf.h"

#define NODES  1000
#define WISHES 10000
#define GPUS   4 /* of a node */
#define HOUR   ((usec_t)3600 * 1000000)

/* One run on each node has all of its GPUs; it ends by... */
static usec_t ends[NODES];

static const struct run_snapshot *held(void *arg, uint32_t node, size_t *n)
{
	static struct run_snapshot run;

	(void)arg;
	run = (struct run_snapshot){ .job = node + 1,
		.gpus = GPUS,
		.cpus = 1,
		.gpu_set = (1 << GPUS) - 1,
		.end = ends[node] };
	*n = 1;
	return &run;
}

static const struct plan_runs runs = { .on_node = held };

struct cluster {
	struct conf *conf;
	struct strings *strings;
	struct requests *requests;
	struct ledger *ledger;
	struct request *request; /* of one GPU, and what of it */
	const struct request *kept;
};

static void make(struct cluster *c, struct request *request)
{
	struct error err;
	uint32_t i;

	c->conf = places_conf();
	for (i = 0; i < NODES; i++) {
		struct places_node node = { .cpus = 8, .mem_mb = 8000, .gpus = { GPUS, 0, 0 } };

		places_node(c->conf, node);
		c->conf->nodes[i].share = CONF_SHARE_WATCH;
		ends[i] = HOUR + (usec_t)((i * 7919) % NODES) * 1000000;
	}
	c->strings = strings_new(1);
	c->requests = requests_new(c->strings, c->conf, 1);
	c->ledger = ledger_new(c->conf);
	for (i = 0; i < NODES; i++) {
		struct place place = {
			.node = i, .cpus = 1, .gpus = (1 << GPUS) - 1, .type = H100
		};

		ledger_accept(c->ledger, i, true);
		ledger_take(c->ledger, &place);
	}
	c->kept = requests_parse(c->requests, "h100:1", "", &err);
	*request = *c->kept;
	c->request = request;
}

static void unmake(struct cluster *c)
{
	requests_drop(c->requests, c->kept);
	ledger_free(c->ledger);
	requests_free(c->requests);
	strings_free(c->strings);
	places_conf_free(c->conf);
}

/* The node of its earliest start. */
static uint32_t ask(struct cluster *c, struct plan *p, uint64_t mem_mb, usec_t *start)
{
	struct plan_want want = { .ask = { .gpus = c->request, .cpus = 1, .mem_mb = 1 },
		.find = { .type = H100 },
		.length = HOUR };
	struct reservation found = { 0 };
	uint32_t node;

	c->request->share.mem_mb = mem_mb;
	assert_true(plan_find(p, &want, &found));
	node = found.places.v[0].node;
	*start = found.start;
	places_free(&found.places);
	return node;
}

/* Ten thousand distinct wishes: few are kept, and what is asked for again is answered as by a plan
 * that never forgot, also when nodes have changed meanwhile. */
static void distinct_wishes(void **state)
{
	struct request request;
	struct cluster c;
	struct plan *p, *fresh;
	usec_t start, other;
	size_t before, grown, wishes = amount("PLAN_WISHES", WISHES);
	uint32_t i;

	(void)state;
	make(&c, &request);
	p = plan_new(c.conf, c.ledger, &runs);
	ask(&c, p, 1, &start);
	before = mallinfo2().uordblks;
	for (i = 0; i < wishes; i++) {
		if (i % 16 == 0) {
			ends[i % NODES] -= 1000000;
			plan_node_changed(p, i % NODES);
		}
		ask(&c, p, 1 + i, &start);
		assert_true(p->asked.n <= MAX_ORDERS && p->asked.ordered <= MAX_ORDERED);
		if (i % 500)
			continue;
		fresh = plan_new(c.conf, c.ledger, &runs);
		assert_int_equal(ask(&c, p, 1 + i / 2, &start), ask(&c, fresh, 1 + i / 2, &other));
		assert_int_equal(start, other);
		plan_free(fresh);
	}
	grown = mallinfo2().uordblks - before;
	assert_true(grown < MAX_ORDERS * 64 * (size_t)NODES);
	assert_int_equal(p->asked.ordered, p->asked.n * NODES);
	plan_free(p);
	unmake(&c);
}

/* Who is asked for again and again is kept. */
static void the_last_ones_stay(void **state)
{
	struct request request;
	struct cluster c;
	struct plan *p;
	const struct soonest *kept;
	usec_t start;
	uint32_t i, k;

	(void)state;
	make(&c, &request);
	p = plan_new(c.conf, c.ledger, &runs);
	ask(&c, p, 1, &start);
	kept = p->asked.v[0].soonest;
	for (i = 0; i < 2 * MAX_ORDERS; i++) {
		ask(&c, p, 1, &start);
		ask(&c, p, 2 + i, &start);
	}
	for (k = 0; k < p->asked.n && p->asked.v[k].soonest != kept; k++)
		;
	assert_true(k < p->asked.n);
	assert_int_equal(p->asked.v[k].kind.wish.mem_mb, 1);
	plan_free(p);
	unmake(&c);
}

/* How many steps the scheduler's search takes; `questions` of other kinds are asked after each. */
static unsigned steps(uint32_t questions)
{
	struct request request, gang;
	struct cluster c;
	struct plan_want want = { .find = { .type = H100 }, .length = HOUR };
	struct plan_search *ps = plan_search_new();
	struct reservation found = { 0 };
	enum plan_step step;
	struct plan *p;
	unsigned n = 0;
	uint32_t i;
	usec_t start;

	make(&c, &request);
	p = plan_new(c.conf, c.ledger, &runs);
	gang = request;
	gang.per_node = true;
	gang.nodes_min = gang.nodes_max = NODES / 2;
	want.ask = (struct ask){ .gpus = &gang, .cpus = 1, .mem_mb = 1 };
	do {
		size_t work = NODES / 4;

		step = plan_search(p, ps, &want, &work, &found);
		for (i = 0; i < questions; i++)
			ask(&c, p, 1 + i, &start);
	} while (step == PLAN_MORE && ++n < 100);
	assert_int_equal(step, PLAN_FOUND);
	places_free(&found.places);
	plan_search_free(ps);
	plan_free(p);
	unmake(&c);
	return n;
}

/* However many orders questions want, those of a search that is under way are not forgotten. */
static void questions_leave_searches_alone(void **state)
{
	(void)state;
	assert_true(steps(0) > 2);
	assert_int_equal(steps(MAX_ORDERS + 1), steps(0));
}

/* Steps of so much work until a start is found; `changes` nodes change after each. */
static unsigned steps_with(size_t size, uint32_t changes)
{
	struct request request;
	struct cluster c;
	struct plan_want want = { .find = { .type = H100 }, .length = HOUR };
	struct plan_search *ps = plan_search_new();
	struct reservation found = { 0 };
	enum plan_step step;
	struct plan *p;
	unsigned n = 0;
	uint32_t i, next = 0;

	make(&c, &request);
	p = plan_new(c.conf, c.ledger, &runs);
	want.ask = (struct ask){ .gpus = &request, .cpus = 1, .mem_mb = 1 };
	do {
		size_t work = size;

		step = plan_search(p, ps, &want, &work, &found);
		for (i = 0; i < changes; i++)
			plan_node_changed(p, next++ % NODES);
	} while (step == PLAN_MORE && ++n < 10000);
	assert_int_equal(step, PLAN_FOUND);
	places_free(&found.places);
	plan_search_free(ps);
	plan_free(p);
	unmake(&c);
	return n;
}

/* To look at all nodes is more than one step may do; also where nodes change so fast that the log is
 * overwritten before it is read does it come to its end. */
static void orders_are_made_in_steps(void **state)
{
	(void)state;
	assert_int_equal(steps_with(SIZE_MAX, 0), 0);
	assert_in_range(steps_with(10, 0), NODES / 10, NODES / 5);
	assert_in_range(steps_with(NODES / 4, NODES / 8), 4, 40);
	assert_in_range(steps_with(NODES / 2, 5 * NODES), 4, 2 * MAX_BEHIND);
	assert_in_range(steps_with(NODES / 2, NODES), 4, 2 * MAX_BEHIND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distinct_wishes),
		cmocka_unit_test(the_last_ones_stay),
		cmocka_unit_test(questions_leave_searches_alone),
		cmocka_unit_test(orders_are_made_in_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
