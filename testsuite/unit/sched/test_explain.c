/* test_explain.c - everything that holds a job, and nothing else, proved on random states
 *
 * For waiting jobs of random states (explain_ask.h) core_job_why() is asked, and then, each on a
 * fresh copy of the state: of several things that hold it, taking any one away does not start it;
 * of one, it does. Limits are raised, runs end, others are held.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"
#include "testsuite/unit/lib/explain_ask.h"

/* --- blockers -------------------------------------------------------------------------------- */

enum removal { REMOVED, NOT_HERE };

/* Where parts are counted the next whole number is. */
static uint32_t at_least(double sum)
{
	uint32_t whole = (uint32_t)sum;

	return whole + (sum > whole + 1e-6);
}

/* "vision: limit h100:4, holds 3, +2", "trt: 2 licences, 1 in use, +2": a limit of 5, of 3. `one`:
 * it may be more than the job alone needs. */
static enum removal widen(struct state *s, struct knob *knob, const char *text, bool one)
{
	const char *holds = strstr(text, "holds "), *more = strrchr(text, '+'), *p;
	double used = holds ? strtod(holds + 6, NULL) : 0;

	assert_non_null(more);
	if (!holds) {
		p = strchr(text, ',');
		assert_non_null(p);
		used = strtod(p + 2, NULL);
	}
	used += strtod(more + 1, NULL);
	if (!one && at_least(used) > used + 1e-6)
		return NOT_HERE;
	knob->value = at_least(used);
	state_reconfigure(s);
	return REMOVED;
}

/* "on n3, 12, 14 must end", "4, 8 must end" */
static enum removal end_named(struct state *s, const char *text)
{
	const char *p = strncmp(text, "on ", 3) ? text : strstr(text, ", ");

	if (!p || !strstr(text, " must end"))
		return NOT_HERE;
	p += p == text ? 0 : 2;
	for (;; p += 2) {
		state_end(s, strtoull(p, (char **)&p, 10));
		if (*p != ',')
			return REMOVED;
	}
}

/* "...: 1 is drained (n0)", and nothing else */
static enum removal resume_named(struct state *s, const char *text)
{
	const char *p = strstr(text, ": 1 is drained (n");

	if (!p)
		return NOT_HERE;
	world_node(s->w, NODE_RESUME, (uint32_t)strtoul(p + 17, NULL, 10), false);
	return REMOVED;
}

static enum removal hold_others(struct state *s, uint64_t job)
{
	bool others[STATE_JOBS];
	size_t i;

	for (i = 0; i < s->n_jobs; i++)
		others[i] = s->jobs[i] != job;
	ask_hold(s, others);
	return REMOVED;
}

/* What comes with a node that is back, or is given back by borrowers, is for whoever stands before
 * it first: as the one thing that holds the job it is taken away with them. */
static enum removal take_away(struct state *s, uint64_t job, const struct why_blocker *b, bool one)
{
	struct knob *knob = state_knob(s, b->text);

	if (one && strcmp(b->reason, "Priority") && strcmp(b->reason, "Resources") &&
	        (!knob || s->shares))
		hold_others(s, job);
	if (knob)
		return widen(s, knob, b->text, one);
	if (!strcmp(b->reason, "Priority"))
		return hold_others(s, job);
	if (end_named(s, b->clears_text) == REMOVED)
		return REMOVED;
	return resume_named(s, b->text);
}

static unsigned long single, several;

/* A node that is back has free GPUs: there may be enough then for those who are guaranteed some. */
static bool gives_kept(const struct job_why *why, const struct why_blocker *b)
{
	size_t i;

	for (i = 0; strstr(b->text, " is drained (n") && i < why->n_blockers; i++) {
		if (strstr(why->blockers[i].text, " are kept for "))
			return true;
	}
	return false;
}

/* Would the end of runs, or a node that is back, change a limit too? Then it is no removal of one
 * thing alone. That those limits hold the job is shown by their numbers, which are tried where they
 * are raised; that the nodes do, by that. */
static bool alone(struct state *s, const struct job_why *why, const struct why_blocker *b)
{
	size_t i;

	if (gives_kept(why, b))
		return false;
	if (state_knob(s, b->text) || !strstr(b->clears_text, " must end"))
		return true;
	for (i = 0; i < why->n_blockers; i++) {
		if (&why->blockers[i] != b && strcmp(why->blockers[i].reason, "Priority"))
			return false;
	}
	return true;
}

/* The exception: when something ends, those who stand before the job get other planned starts, and
 * which ones depends on who is looked at first; that may go another way than was foreseen. So the
 * first of all is never surprised, and of the others one in so many removals, at most; in the usual
 * states none is. */
#define SURPRISES 1000
static unsigned long surprises, reordered, together, unnamed;

/* With quotas what ends or starts changes who stands within a guarantee, and so the order. */
struct order {
	struct state *s;
	uint64_t job;
	bool before[STATE_JOBS]; /* by number in the state: it stood before the job at first */
	bool changed;
};

static void note_order(void *arg, bool scheduled)
{
	struct order *o = arg;
	size_t i;

	(void)scheduled;
	for (i = 0; i < o->s->n_jobs; i++) {
		uint64_t other = o->s->jobs[i];

		o->changed |= ask_stands_before(
		        o->s, o->before[i] ? o->job : other, o->before[i] ? other : o->job);
	}
}

static void follow_order(struct order *o, struct state *s, uint64_t job)
{
	size_t i;

	*o = (struct order){ .s = s, .job = job };
	for (i = 0; i < s->n_jobs; i++)
		o->before[i] = ask_stands_before(s, s->jobs[i], job);
	s->w->hook_arg = o;
	s->w->settled = s->quotas ? note_order : NULL;
}

static void surprise(struct state *s, struct state *after, uint64_t job, const struct job_why *why,
        const struct why_blocker *b)
{
	surprises++;
	print_message("state %llu, job %llu: %s gone: it %s\n", (unsigned long long)s->seed,
	        (unsigned long long)job, b->reason,
	        ask_waits(after, job) ? "does not start" : "starts");
	if (getenv("EXPLAIN_SHOW")) {
		ask_describe(s, job, why);
		ask_describe(after, job, &(struct job_why){ 0 });
	}
	if (why->position == 1 && s->n_partitions == 1)
		fail_msg("state %llu, job %llu: %s gone, and nobody stands before it",
		        (unsigned long long)s->seed, (unsigned long long)job, b->reason);
}

static void each_blocker_holds_it(struct state *s, uint64_t job, const struct job_why *why)
{
	bool one = why->n_blockers == 1, starts;
	size_t i;

	if (!why->n_blockers) {
		ask_describe(s, job, why);
		fail_msg("nothing holds it");
	}
	for (i = 0; i < why->n_blockers; i++) {
		const struct why_blocker *b = &why->blockers[i];
		struct state fresh;
		struct order order;

		state_make(&fresh, s->seed);
		follow_order(&order, &fresh, job);
		if (!alone(&fresh, why, b)) {
			together++;
		} else if (take_away(&fresh, job, b, one) == REMOVED) {
			world_schedule(fresh.w);
			world_pass(fresh.w, 1.5);
			starts = !ask_waits(&fresh, job);
			single += one;
			several += !one;
			reordered += starts != one && order.changed;
			if (starts != one && !order.changed)
				surprise(s, &fresh, job, why, b);
		} else {
			unnamed++; /* "1 node has fewer free, 1 is drained" */
		}
		fresh.w->settled = NULL;
		state_free(&fresh);
	}
}

static void all_blockers_and_no_others(void **state)
{
	(void)state;
	single = several = surprises = reordered = together = unnamed = 0;
	ask_each(each_blocker_holds_it);
	print_message(
	        "%lu times the one thing, %lu times one of several, %lu surprises, %lu changes of "
	        "the order; of %lu the removal would change a limit, %lu name nothing that could end\n",
	        single, several, surprises, reordered, together, unnamed);
	assert_true(unnamed * 100 <= single + several);
	assert_true(surprises * SURPRISES <= single + several);
	if (ask_all())
		assert_int_equal(surprises, 0);
}

/* A type that no node has so many of is no nearer to a start than one whose nodes are drained
 * (1127). */
static void also_where_nodes_are_drained(void **state)
{
	(void)state;
	single = several = surprises = reordered = together = unnamed = 0;
	ask_state_jobs(1127, each_blocker_holds_it);
	assert_int_equal(surprises, 0);
	assert_true(several > 0);
}

/* Who stands before the job and would start now ends some time: another may be planned behind him,
 * and hold it. */
static void also_behind_those_who_would_start(void **state)
{
	static const uint64_t seeds[] = { 386, 900, 2303, 2429, 3474 };
	size_t i;

	(void)state;
	single = several = surprises = reordered = together = unnamed = 0;
	for (i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
		ask_state_jobs(seeds[i], each_blocker_holds_it);
	assert_int_equal(surprises, 0);
	assert_true(several > 0);
}

/* --- while a pass is under way --------------------------------------------------------------- */

static uint64_t submit_as(struct world *w, const char *account, const char *gpus)
{
	struct submit_job job = world_job(w, gpus);

	job.account = account;
	job.cpus = 1;
	return world_submit_job(w, &job, 1000);
}

/* Somebody asks between an event and the pass after it: what holds a job does so all the same. */
static void asked_before_the_pass(void **state)
{
	struct world *w = world_new(
	        "cluster = \"test\"; controller = { host = \"h\"; };\n"
	        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"
	        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:8\"; } );\n"
	        "partitions = ( { name = \"batch\"; nodes = \"n0\"; default = true; } );\n"
	        "accounts = ( { name = \"blue\"; members = [ \"*\" ];\n"
	        "    limits = { gpus = \"h100:4\"; }; },\n"
	        "  { name = \"rest\"; members = [ \"*\" ]; } );\n");
	struct core_event e = { .kind = EV_RUN_REPORT };
	uint64_t holds, other, held, next;
	struct job_why why;

	(void)state;
	world_register(w, 0, "inc1", NULL, 0);
	holds = submit_as(w, "blue", "h100:3");
	other = submit_as(w, "rest", "h100:5");
	world_run_starts(w, holds);
	world_run_starts(w, other);
	held = submit_as(w, "blue", "h100:2");
	next = submit_as(w, "rest", "h100:4");
	assert_string_equal(world_state(w, held), "PENDING");
	assert_string_equal(world_state(w, other), "RUNNING");
	assert_string_equal(world_state(w, next), "PENDING");
	world_pass(w, 2);
	e.run.node = 0;
	e.run.session = world_session(w, 0);
	e.run.report = world_report(world_run(w, other), REPORT_ENDED);
	e.run.report.cause = END_EXIT;
	world_apply(w, &e);
	assert_string_equal(world_state(w, other), "COMPLETED");
	assert_false(sched_idle(w->core->sched));

	assert_true(core_job_why(w->core, held, w->now, &why));
	assert_int_equal(why.n_blockers, 1);
	assert_string_equal(why.blockers[0].reason, "AssocGrpGRES");
	assert_int_equal(why.n_changes, 0);
	assert_true(why.cut_short);
	/* This one nothing holds, and it has not been tried. */
	assert_true(core_job_why(w->core, next, w->now, &why));
	assert_int_equal(why.n_blockers, 0);

	world_schedule(w);
	assert_true(core_job_why(w->core, held, w->now, &why));
	assert_string_equal(why.blockers[0].reason, "AssocGrpGRES");
	assert_true(why.n_changes > 0);
	assert_string_equal(world_state(w, next), "CONFIGURING");
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_blockers_and_no_others),
		cmocka_unit_test(also_where_nodes_are_drained),
		cmocka_unit_test(also_behind_those_who_would_start),
		cmocka_unit_test(asked_before_the_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
