/* test_promise.c - planned starts that are told are kept, proved on random states
 *
 * All waiting jobs of a random state (explain_states.h) are asked for what is planned for them.
 * Then nothing new arrives, and everything takes as long as it may: each run goes on to its time
 * limit. Every job that was promised a start has started by then; else it tells whose fault it is,
 * and that is a job that stood before it, or a limit that was not reached then.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctld/core/internal.h"
#include "testsuite/unit/explain_ask.h"

#define SECOND ((usec_t)1000000)
#define STEP   10 /* seconds: so far time moves at once */
#define AHEAD  (12 * 3600)

struct promise {
	uint64_t job;
	usec_t start;            /* wall */
	bool before[STATE_JOBS]; /* by number in the state: it waited and stood before it */
};

static unsigned long promises, kept, passed, limited, wrong;

/* --- what is promised ------------------------------------------------------------------------ */

static const struct class_link *class_of(struct state *s, uint64_t job)
{
	return class_link_of(job_link_of(jobs_find(s->w->core->jobs, job))->class);
}

static bool stands_before(struct state *s, uint64_t x, uint64_t y)
{
	struct heap_key a = class_of(s, x)->key, b = class_of(s, y)->key;

	return a.a != b.a ? a.a < b.a : a.b != b.b ? a.b < b.b : x < y;
}

static void note_before(struct state *s, struct promise *p)
{
	size_t i;

	for (i = 0; i < s->n_jobs; i++)
		p->before[i] = s->jobs[i] != p->job && ask_waits(s, s->jobs[i]) &&
		               stands_before(s, s->jobs[i], p->job);
}

static size_t ask_all_of(struct state *s, struct promise *v)
{
	size_t n = 0, i;

	for (i = 0; i < s->n_jobs; i++) {
		struct job_why why;

		if (!ask_waits(s, s->jobs[i]) || !ask_why_waits(s, s->jobs[i], &why) ||
		        !why.planned_start)
			continue;
		v[n] = (struct promise){ .job = s->jobs[i], .start = why.planned_start };
		note_before(s, &v[n++]);
	}
	return n;
}

/* --- what becomes of it ---------------------------------------------------------------------- */

static bool is_limited(const struct job_why *why)
{
	size_t i;

	for (i = 0; i < why->n_blockers; i++) {
		if (strcmp(why->blockers[i].reason, "Resources") &&
		        strcmp(why->blockers[i].reason, "Priority"))
			return true;
	}
	return false;
}

/* "Priority: job 17", who stood before it? With quotas the order changes whenever something starts
 * or ends; then it is enough that somebody is named, and where GPUs are shared that somebody is
 * before it now: who stands first chooses among those (plan.h). */
static bool names_one_before(struct state *s, const struct promise *p, const struct job_why *why)
{
	uint64_t by = 0;
	size_t i;

	for (i = 0; s->quotas && s->shares && i < why->n_blockers; i++) {
		if (!strcmp(why->blockers[i].reason, "Priority"))
			return true;
	}
	if (strncmp(why->planned_why, "Priority: job ", 14))
		return false;
	by = strtoull(why->planned_why + 14, NULL, 10);
	for (i = 0; i < s->n_jobs && s->jobs[i] != by; i++)
		;
	return i < s->n_jobs && (p->before[i] || s->quotas);
}

/* "AssocGrpGRES" */
static bool names_a_limit(const struct job_why *why)
{
	return !strncmp(why->planned_why, "Assoc", 5) || !strncmp(why->planned_why, "QOS", 3) ||
	       !strncmp(why->planned_why, "Partition", 9) || !strcmp(why->planned_why, "Licenses");
}

static void is_late(struct state *s, const struct promise *p)
{
	struct job_why why;

	assert_true(ask_why_waits(s, p->job, &why));
	if (names_one_before(s, p, &why)) {
		passed++;
		return;
	}
	if (names_a_limit(&why) || is_limited(&why)) {
		limited++;
		return;
	}
	wrong++;
	print_message("state %llu, job %llu was to start %lld s ago: %s\n",
	        (unsigned long long)s->seed, (unsigned long long)p->job,
	        (long long)((s->w->now.wall - p->start) / SECOND), why.planned_why);
	if (getenv("EXPLAIN_SHOW"))
		ask_describe(s, p->job, &why);
}

/* Those whose time has come. Returns how many are left. */
static size_t check(struct state *s, struct promise *v, size_t n)
{
	size_t i = 0;

	while (i < n) {
		bool waits = ask_waits(s, v[i].job);

		if (waits && s->w->now.wall < v[i].start + (STEP + 2) * SECOND) {
			i++;
			continue;
		}
		kept += !waits;
		if (waits)
			is_late(s, &v[i]);
		v[i] = v[--n];
	}
	return n;
}

static void follow(struct state *s)
{
	struct promise *v = calloc(STATE_JOBS, sizeof(*v));
	struct sched_stats stats;
	size_t n, at;

	assert_non_null(v);
	state_go_on(s);
	world_pass(s->w, 2);
	n = ask_all_of(s, v);
	promises += n;
	for (at = 0; n && at < AHEAD; at += STEP) {
		state_go_on(s);
		state_pass(s, STEP);
		n = check(s, v, n);
	}
	sched_stats(s->w->core->sched, &stats);
	assert_int_equal(stats.unexplained, 0);
	free(v);
}

static void planned_starts_are_kept(void **state)
{
	(void)state;
	promises = kept = passed = limited = wrong = 0;
	ask_each_state(follow);
	print_message("%lu planned starts: %lu kept, %lu delayed by somebody before them, %lu by a "
	              "limit, the others more than %d hours away\n",
	        promises, kept, passed, limited, AHEAD / 3600);
	assert_int_equal(wrong, 0);
	if (ask_all())
		assert_true(kept > 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(planned_starts_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
