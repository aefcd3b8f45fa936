/* test_core_beyond.c - what happens beyond the core's limits (ARCHITECTURE.md has the table) */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "ctld/core/plan_impl.h"
#include "testsuite/unit/core_world.h"
#include "testsuite/unit/places_conf.h"

/* --- nodes with many runs -------------------------------------------------------------------- */

#define RUNS   300
#define MINUTE ((usec_t)60 * 1000000)

/* Each has a CPU; the first to end is the last that the plan is told of. */
static const struct held *many(void *arg, uint32_t node, size_t *n)
{
	static struct held v[RUNS];
	uint32_t i;

	(void)arg, (void)node;
	for (i = 0; i < RUNS; i++)
		v[i] = (struct held){
			.job = i + 1, .cpus = 1, .end = (RUNS + 1 - i) * MINUTE, .type = TYPE_NONE
		};
	*n = RUNS;
	return v;
}

static void a_node_with_300_runs(void **state)
{
	static const struct plan_runs runs = { .on_node = many };
	const struct request none = { .nodes_min = 1, .nodes_max = 1 };
	struct places_node node = { .cpus = RUNS, .mem_mb = 8000, .leaf = CONF_NONE };
	struct place place = { .cpus = RUNS, .type = TYPE_NONE };
	struct plan_want want = { .ask = { .gpus = &none, .cpus = 1 },
		.find = { .type = TYPE_NONE },
		.length = MINUTE };
	struct plan_entry found = { 0 };
	struct conf *conf = places_conf();
	struct ledger *ledger;
	struct plan *p;
	uint32_t cpus;

	(void)state;
	places_node(conf, node);
	ledger = ledger_new(conf);
	ledger_accept(ledger, 0, true);
	ledger_take(ledger, &place);
	p = plan_new(conf, ledger, &runs);
	plan_now(p, 0);
	for (cpus = 1; cpus <= RUNS; cpus += cpus < 10 ? 1 : 29) {
		want.ask.cpus = cpus;
		assert_true(plan_find(p, &want, &found));
		assert_int_equal(found.start, (1 + cpus) * MINUTE);
	}
	places_free(&found.places);
	plan_free(p);
	ledger_free(ledger);
	places_conf_free(conf);
}

/* --- gangs over many jobs -------------------------------------------------------------------- */

/* Each node has as many jobs as GPUs, and a gang wants all of them. */
static void gang_over(unsigned nodes, unsigned gpus, const char *tail)
{
	char each[20];
	struct world *w;
	struct submit_job job;
	struct job_why why;
	uint64_t gang;
	unsigned i;

	snprintf(each, sizeof(each), "h100:%u", gpus);
	w = world_simple(nodes, each);
	w->unchecked = true;
	world_register_all(w);
	for (i = 0; i < nodes * gpus; i++)
		world_submit(w, "h100:1");
	job = world_job(w, each);
	job.nodes_min = job.nodes_max = nodes;
	job.gpus_per_node = true;
	gang = world_submit_job(w, &job, 1000);
	world_pass(w, 5);
	assert_true(core_job_why(w->core, gang, w->now, &why));
	assert_int_equal(why.n_blockers, 1);
	assert_string_equal(why.blockers[0].reason, "Resources");
	assert_non_null(strstr(why.blockers[0].clears_text, tail));
	world_free(w);
}

static void a_gang_over_18_jobs(void **state)
{
	(void)state;
	gang_over(9, 2, ", 18 must end");
}

static void a_gang_over_80_jobs(void **state)
{
	(void)state;
	gang_over(20, 4, " more must end");
}

static void a_gang_over_300_jobs(void **state)
{
	(void)state;
	gang_over(75, 4, " more must end");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_with_300_runs),
		cmocka_unit_test(a_gang_over_18_jobs),
		cmocka_unit_test(a_gang_over_80_jobs),
		cmocka_unit_test(a_gang_over_300_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
