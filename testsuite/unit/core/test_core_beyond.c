/* test_core_beyond.c - what happens beyond the core's limits (ARCHITECTURE.md has the table) */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/plan/plan_impl.h"
#include "testsuite/unit/lib/core_world.h"
#include "testsuite/unit/lib/places_conf.h"

/* --- nodes with many runs -------------------------------------------------------------------- */

#define RUNS   300
#define MINUTE ((usec_t)60 * 1000000)

/* Each has a CPU; the first to end is the last that the plan is told of. */
static const struct run_snapshot *many(void *arg, uint32_t node, size_t *n)
{
	static struct run_snapshot v[RUNS];
	uint32_t i;

	(void)arg, (void)node;
	for (i = 0; i < RUNS; i++)
		v[i] = (struct run_snapshot){
			.job = i + 1, .cpus = 1, .end = (RUNS + 1 - i) * MINUTE, .type = TYPE_NONE
		};
	*n = RUNS;
	return v;
}

static void a_node_with_300_runs(void **state)
{
	static const struct plan_runs runs = { .on_node = many };
	const struct request none = { .nodes_min = 1, .nodes_max = 1, .service = "" };
	struct places_node node = { .cpus = RUNS, .mem_mb = 8000, .leaf = CONF_NONE };
	struct place place = { .cpus = RUNS, .type = TYPE_NONE };
	struct plan_want want = { .ask = { .gpus = &none, .cpus = 1 },
		.find = { .type = TYPE_NONE },
		.length = MINUTE };
	struct reservation found = { 0 };
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

/* --- what a submit may ask for --------------------------------------------------------------- */

#define LONGEST 5000

/* Make `n` of what the row is about in the job; texts may be kept in `room`. */
typedef void ask_fn(struct submit_job *job, unsigned n, char room[2 * LONGEST]);

static char *letters(char *to, char letter, unsigned n)
{
	memset(to, letter, n);
	to[n] = '\0';
	return to;
}

static void ask_alternatives(struct submit_job *job, unsigned n, char *room)
{
	(void)room;
	for (unsigned i = 0; i < n && i < MAX_GPU_ALTERNATIVES; i++)
		job->gpus[i] = (struct gpu_request){ .type = "h100", .count = i % 4 + 1 };
	job->n_gpus = n;
}

static void ask_count(struct submit_job *job, unsigned n, char *room)
{
	(void)room;
	job->gpus[0] = (struct gpu_request){ .type = "h100", .count = n };
	job->n_gpus = 1;
}

static void ask_licences(struct submit_job *job, unsigned n, char *room)
{
	size_t used = 0;

	for (unsigned i = 0; i < n; i++)
		used += (size_t)sprintf(room + used, "%sl%u", i ? "," : "", i);
	job->licences = room;
}

static void ask_type_name(struct submit_job *job, unsigned n, char *room)
{
	job->gpus[0] = (struct gpu_request){ .type = letters(room, 'x', n), .count = 1 };
	job->n_gpus = 1;
}

static void ask_constraint(struct submit_job *job, unsigned n, char *room)
{
	letters(room, ' ', n);
	room[0] = 'f';
	job->constraint = room;
}

static void ask_depth(struct submit_job *job, unsigned n, char *room)
{
	letters(room, '(', n);
	room[n] = 'f';
	letters(room + n + 1, ')', n);
	job->constraint = room;
}

static void ask_feature(struct submit_job *job, unsigned n, char *room)
{
	job->constraint = letters(room, 'f', n);
}

static void ask_name(struct submit_job *job, unsigned n, char *room)
{
	job->name = letters(room, 'n', n);
}

static void ask_path(struct submit_job *job, unsigned n, char *room)
{
	job->output = letters(room, 'p', n);
}

static void ask_signal(struct submit_job *job, unsigned n, char *room)
{
	(void)room;
	job->warn_signal = n;
}

static void ask_labels(struct submit_job *job, unsigned n, char *room)
{
	static struct label v[128];

	(void)room;
	for (unsigned i = 0; i < n; i++)
		v[i] = (struct label){ "k", "v" };
	job->labels = v;
	job->n_labels = n;
}

static void ask_label_bytes(struct submit_job *job, unsigned n, char *room)
{
	static struct label v;

	v = (struct label){ "k", letters(room, 'v', n - (unsigned)strlen("k=\n") - 1) };
	job->labels = &v;
	job->n_labels = 1;
}

static void ask_remark(struct submit_job *job, unsigned n, char *room)
{
	job->remark = letters(room, 'r', n);
}

static void ask_delay(struct submit_job *job, unsigned n, char *room)
{
	(void)room;
	job->requeue_delay_s = n;
	job->requeue = true;
}

/* What `most` is called in ARCHITECTURE.md; one more is refused with this text, so much is not. */
static const struct {
	const char *constant;
	ask_fn *ask;
	unsigned most;
	const char *text;
} asked[] = {
	{ "MAX_GPU_ALTERNATIVES", ask_alternatives, 8, "--gpus: 9 alternatives; at most 8" },
	{ "MAX_COUNT", ask_count, 9999, "--gpus=h100:10000: a count is 1 to 9999" },
	{ "MAX_LICENCE_NEEDS", ask_licences, 16, "--licenses: more than 16" },
	{ "SHAPE_MAX_NAME", ask_type_name, 64, "--gpus: no GPU type has such a name" },
	{ "SHAPE_MAX_TEXT", ask_constraint, 4096, "--constraint: more than 4096 bytes" },
	{ "MAX_DEPTH", ask_depth, 32, "nested more than 32 deep" },
	{ "MAX_WORD", ask_feature, 64, "a feature of more than 64 bytes" },
	{ "MAX_NAME", ask_name, 255, "--job-name" },
	{ "MAX_PATH_TEXT", ask_path, 4096, "a path of more than 4096 bytes" },
	{ "MAX_SIGNAL", ask_signal, 64, "--signal=65: signals are 1 to 64" },
	{ "MAX_LABELS", ask_labels, 64, "--label: at most 64 labels of 4095 bytes" },
	{ "MAX_LABEL_BYTES", ask_label_bytes, 4096, "--label: at most 64 labels of 4095 bytes" },
	{ "REMARK_MAX", ask_remark, 1024, "--comment" },
	{ "DELAY_MAX_S", ask_delay, 7 * 86400, "--requeue-delay: at most 7 days" },
};

static void what_a_submit_may_ask_for(void **state)
{
	struct world *w = world_simple(1, "h100:4");

	(void)state;
	world_register_all(w);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		for (unsigned more = 0; more < 2; more++) {
			static char room[2 * LONGEST];
			struct submit_job job = world_job(w, "h100:1");
			bool refused;

			w->error = (struct error){ 0 };
			asked[i].ask(&job, asked[i].most + more, room);
			world_submit_job(w, &job, 1000);
			/* There may be no such feature or licence; that is another error. */
			refused = w->error.code && strstr(w->error.text, asked[i].text);
			if (refused != (more == 1))
				fail_msg("%s: %u: %s", asked[i].constant, asked[i].most + more,
				        w->error.text);
		}
	world_free(w);
}

/* Nothing of it is looked at. */
static void a_bulk_of_a_million_and_one(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct core_event e = { .kind = EV_BULK,
		.caller = world_user(1000),
		.bulk = { .step = BULK_CHECK, .n = SUBMIT_JOBS_MAX + 1 } };
	const struct effect *answer;
	size_t n;

	(void)state;
	core_effects_clear(w->core);
	core_apply(w->core, &e, w->now);
	answer = core_effects(w->core, &n);
	assert_int_equal(n, 1);
	assert_int_equal(answer->kind, EFFECT_BULK);
	assert_non_null(answer->bulk.error);
	assert_non_null(strstr(answer->bulk.error->text, "a bulk of more than 1000000 jobs"));
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_with_300_runs),
		cmocka_unit_test(a_gang_over_18_jobs),
		cmocka_unit_test(a_gang_over_80_jobs),
		cmocka_unit_test(a_gang_over_300_jobs),
		cmocka_unit_test(what_a_submit_may_ask_for),
		cmocka_unit_test(a_bulk_of_a_million_and_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
