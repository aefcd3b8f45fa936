/* explain_ask.c - see explain_ask.h */
#include "testsuite/unit/lib/explain_ask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/class.h"
#include "ctld/core/util/heap.h"
#include "testsuite/unit/lib/amount.h"
#include "testsuite/unit/lib/explain_typed.h"

#define PER_CASE 4 /* waiting jobs of each state */

/* --- changing -------------------------------------------------------------------------------- */

bool ask_update(struct state *s, uint64_t job, const struct typed *t)
{
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = world_user(state_uid(s, job)),
		.job = { .verb = JOB_UPDATE,
		        .ids = &job,
		        .n = 1,
		        .reason = "",
		        .change = &t->change,
		        .fields = t->fields } };

	world_clear(s->w);
	world_apply(s->w, &e);
	world_schedule(s->w);
	return s->w->done == 1;
}

/* --- asking ---------------------------------------------------------------------------------- */

bool ask_waits(struct state *s, uint64_t job)
{
	return !strcmp(world_state(s->w, job), "PENDING");
}

bool ask_why_waits(struct state *s, uint64_t job, struct job_why *why)
{
	uint64_t before = core_hash(s->w->core);
	struct error err;
	bool answered = core_job_why(s->w->core, job, s->w->now, why);

	assert_true(core_hash(s->w->core) == before);
	if (core_check(s->w->core, &err) < 0)
		fail_msg("state %llu, job %llu: after asking why: %s", (unsigned long long)s->seed,
		        (unsigned long long)job, err.text);
	return answered;
}

void ask_describe(struct state *s, uint64_t job, const struct job_why *why)
{
	size_t i;

	print_message("%s\n", s->text);
	for (i = 0; i < s->n_jobs; i++) {
		struct job_view v = { .ended = true };

		core_job_view(s->w->core, s->jobs[i], s->w->now, &v);
		if (v.ended)
			continue;
		print_message("job %llu uid %u %s %s/%s/%s gpus %s:%u%s x%zu nodes %u-%u%s cpus %u "
		              "mem %llu time %u prio %lld on %s %s %s\n",
		        (unsigned long long)v.id, v.uid, v.state, v.partition, v.account, v.qos,
		        v.n_gpus ? v.gpus[0].type : "", v.n_gpus ? v.gpus[0].count : 0,
		        v.gpus_per_node ? " each" : "", v.n_gpus, v.nodes_min, v.nodes_max,
		        v.exclusive ? " excl" : "", v.cpus, (unsigned long long)v.mem_mb,
		        v.time_limit_s, (long long)v.priority, v.nodes, v.reason, v.reason_text);
	}
	print_message("state %llu, job %llu, number %u of %u, planned %lld on %s\n",
	        (unsigned long long)s->seed, (unsigned long long)job, why->position, why->of,
	        why->planned_start ? (long long)(why->planned_start - s->w->now.wall) / 1000000
	                           : -1,
	        why->planned_nodes);
	for (i = 0; i < why->n_blockers; i++)
		print_message("  held: %s  %s  | %s\n", why->blockers[i].reason,
		        why->blockers[i].text, why->blockers[i].clears_text);
	for (i = 0; i < why->n_changes; i++)
		print_message("  start: %s  %s\n", why->changes[i].option, why->changes[i].effect);
	print_message("  tried: %s\n", why->tried);
}

void ask_state(uint64_t seed, void (*visit)(struct state *s))
{
	struct state s;

	state_make(&s, seed);
	visit(&s);
	state_free(&s);
}

void ask_each_state(void (*visit)(struct state *s))
{
	uint64_t from = env_number("EXPLAIN_SEED", env_number("EXPLAIN_FROM", 1)), seed;
	uint64_t n = getenv("EXPLAIN_SEED") ? 1 : amount("EXPLAIN_CASES", 300);

	for (seed = from; seed < from + n; seed++)
		ask_state(seed, visit);
}

static ask_visit_fn *visit_job;
static uint64_t most_jobs;

static void visit_some(struct state *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->n_jobs && n < most_jobs; i++) {
		uint64_t job = s->jobs[(i + s->seed) % s->n_jobs];
		struct job_why why;

		if (!ask_waits(s, job))
			continue;
		assert_true(ask_why_waits(s, job, &why));
		if (getenv("EXPLAIN_SHOW"))
			ask_describe(s, job, &why);
		visit_job(s, job, &why);
		n++;
	}
}

void ask_each(ask_visit_fn *visit)
{
	visit_job = visit;
	most_jobs = env_number("EXPLAIN_JOBS", getenv("EXPLAIN_SEED") ? STATE_JOBS : PER_CASE);
	ask_each_state(visit_some);
}

void ask_state_jobs(uint64_t seed, ask_visit_fn *visit)
{
	visit_job = visit;
	most_jobs = STATE_JOBS;
	ask_state(seed, visit_some);
}

/* --- trying ---------------------------------------------------------------------------------- */

bool ask_usual(void)
{
	return !getenv("EXPLAIN_SEED") && !getenv("EXPLAIN_CASES") && !getenv("EXPLAIN_FROM");
}

bool ask_all(void)
{
	return ask_usual() && !getenv("TEST_FEWER");
}

static bool control(struct state *s, enum job_verb verb, uint64_t job)
{
	world_clear(s->w);
	return world_control(s->w, world_user(state_uid(s, job)), verb, job) == 1;
}

static enum ask_outcome outcome(struct state *s, uint64_t job, const struct typed *t, bool aside)
{
	bool taken;

	if (aside) {
		control(s, JOB_HOLD, job);
		world_pass(s->w, 1.5);
	}
	taken = ask_update(s, job, t);
	if (aside && taken)
		taken = control(s, JOB_RELEASE, job);
	world_schedule(s->w);
	return !taken                               ? ASK_REFUSED
	       : ask_waits(s, job)                  ? ASK_WAITS
	       : world_effect(s->w, EFFECT_END_RUN) ? ASK_PREEMPTS
	                                            : ASK_STARTS;
}

/* In a child, so that the state stays as it is. */
static enum ask_outcome try_it(struct state *s, uint64_t job, const struct typed *t, bool aside)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child)
		_exit((int)outcome(s, job, t, aside));
	assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return (enum ask_outcome)WEXITSTATUS(status);
}

enum ask_outcome ask_try(struct state *s, uint64_t job, const char *options)
{
	struct typed t;

	type_in(&t, options);
	return try_it(s, job, &t, false);
}

bool ask_left_to_it(struct state *s, uint64_t job, const char *options)
{
	struct typed t;

	type_in(&t, options);
	return try_it(s, job, &t, true) == ASK_STARTS;
}

/* --- the order ------------------------------------------------------------------------------- */

static const struct class *class_of(struct state *s, uint64_t job)
{
	const struct job *there = jobs_find(s->w->core->jobs, job);

	return there ? job_link_of(there)->queued.class : NULL;
}

bool ask_stands_before(struct state *s, uint64_t x, uint64_t y)
{
	const struct class *of_x = class_of(s, x), *of_y = class_of(s, y);
	struct heap_key a, b;

	if (x == y || !of_x || !of_y)
		return false;
	a = class_link_of(of_x)->key;
	b = class_link_of(of_y)->key;
	return a.a != b.a ? a.a < b.a : a.b != b.b ? a.b < b.b : x < y;
}

/* --- without others -------------------------------------------------------------------------- */

void ask_hold(struct state *s, const bool which[STATE_JOBS])
{
	struct core_event e = { .kind = EV_JOB_CONTROL, .caller = world_admin() };
	uint64_t ids[STATE_JOBS];
	size_t i, n = 0;

	for (i = 0; i < s->n_jobs; i++) {
		if (which[i] && ask_waits(s, s->jobs[i]))
			ids[n++] = s->jobs[i];
	}
	e.job.verb = JOB_HOLD;
	e.job.ids = ids;
	e.job.n = n;
	e.job.reason = "";
	world_apply(s->w, &e);
}

bool ask_starts_without(
        struct state *s, uint64_t job, const bool which[STATE_JOBS], unsigned seconds)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		s->w->settled = NULL;
		ask_hold(s, which);
		world_schedule(s->w);
		state_pass(s, seconds);
		_exit(ask_waits(s, job));
	}
	assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return !WEXITSTATUS(status);
}
