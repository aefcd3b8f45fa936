/* test_core_ranges.c - jobs that wait for some tasks of an array (afterok:12_[1-3,7]) */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/records/job.h"
#include "testsuite/unit/lib/core_world.h"

#define OWNER  1000
#define MINUTE ((usec_t)60 * 1000000)
#define U(id)  ((unsigned long long)(id))

static uint64_t array_of(struct world *w, const char *array)
{
	struct submit_job job = world_job(w, "h100:1");

	job.array = array;
	return world_submit_job(w, &job, OWNER);
}

/* One that stays pending with a reason of its own once it waits for nobody. */
static uint64_t waits(struct world *w, const char *text, uint8_t kill)
{
	struct submit_job job = world_job(w, "h100:1");

	job.depends = text;
	job.kill_invalid = kill;
	return world_submit_job(w, &job, OWNER);
}

static uint64_t __attribute__((format(printf, 2, 3)))
after(struct world *w, const char *depends, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, depends);
	vsnprintf(text, sizeof(text), depends, ap);
	va_end(ap);
	return waits(w, text, KILL_NO);
}

static struct world *ready(const char *gpus)
{
	struct world *w = world_simple(1, gpus);

	world_register_all(w);
	return w;
}

static void is(struct world *w, uint64_t id, const char *reason, const char *left)
{
	struct job_view v = world_view(w, id);

	if (strcmp(v.reason, reason) != 0 || strcmp(v.dependency, left) != 0)
		fail_msg("job %llu is %s (%s), and waits for '%s'", U(id), v.state, v.reason,
		        v.dependency);
}

static void waits_not(struct world *w, uint64_t id)
{
	if (!strncmp(world_reason(w, id), "Dependency", 10))
		fail_msg("job %llu waits (%s) for '%s'", U(id), world_reason(w, id),
		        world_view(w, id).dependency);
}

static void says(struct world *w, uint64_t id, const char *what)
{
	struct job_why why;

	assert_true(core_job_why(w->core, id, w->now, &why));
	if (!strstr(why.blockers[0].text, what))
		fail_msg("job %llu: '%s'", U(id), why.blockers[0].text);
}

static void starts(struct world *w, uint64_t id, uint32_t task)
{
	struct run_id run = { id, task, world_task_view(w, id, task).attempt, 0 };
	struct run_report r = world_report(run, REPORT_RUNNING);

	r.start_time = w->now.wall;
	world_say(w, 0, r);
	world_schedule(w);
}

static void ends(struct world *w, uint64_t id, uint32_t task, uint32_t code)
{
	struct job_view v = world_task_view(w, id, task);
	struct run_id run = { id, task, v.attempt, 0 };
	struct run_report r = world_report(run, REPORT_ENDED);

	if (!strcmp(v.state, "CONFIGURING"))
		starts(w, id, task);
	r.cause = END_EXIT;
	r.exit_code = code;
	world_say(w, 0, r);
	world_schedule(w);
}

static void pass(struct world *w, double seconds)
{
	for (double step; seconds > 0; seconds -= step) {
		struct core_event e = { .kind = EV_HEARTBEAT };

		step = seconds < 30 ? seconds : 30;
		world_pass(w, step);
		e.agent.session = world_session(w, 0);
		world_apply(w, &e);
	}
	world_schedule(w);
}

/* --- by hand --------------------------------------------------------------------------------- */

static void each_of_them(void **state)
{
	struct world *w = ready("h100:8");
	uint64_t a = array_of(w, "0-7"), ok, any, ill, either;

	(void)state;
	ok = after(w, "afterok:%llu_[0-3,6]", U(a));
	any = after(w, "afterany:%llu_[0-6:2],afterok:%llu_1", U(a), U(a));
	ill = after(w, "afternotok:%llu_[2-3]", U(a));
	either = after(w, "afterok:%llu_[2-3]?afternotok:%llu_[4-5]", U(a), U(a));
	is(w, ok, "Dependency", "afterok:1_[0-3,6]");
	says(w, ok, "afterok: 5 tasks of job 1 have yet to end: 0-3,6");
	ends(w, a, 0, 0);
	ends(w, a, 6, 0);
	is(w, ok, "Dependency", "afterok:1_[1-3]");
	is(w, any, "Dependency", "afterany:1_[2-4:2],afterok:1_1");
	world_again(w);
	is(w, ok, "Dependency", "afterok:1_[1-3]");
	ends(w, a, 2, 1);
	is(w, ok, "DependencyNeverSatisfied", "afterok:1_2(failed)");
	says(w, ok, "afterok: 1 task of job 1 ended otherwise: 2");
	/* As each of them as a term would: one has failed, and the other may yet. */
	is(w, ill, "Dependency", "afternotok:1_3");
	says(w, ill, "afternotok: 1 task of job 1 has yet to end: 3");
	is(w, either, "Dependency", "afterok:1_3?afternotok:1_[4-5]");
	ends(w, a, 4, 0);
	is(w, any, "Dependency", "afterok:1_1");
	ends(w, a, 1, 0);
	waits_not(w, any);
	ends(w, a, 3, 0);
	is(w, ill, "DependencyNeverSatisfied", "afternotok:1_3(failed)");
	waits_not(w, either);
	world_again(w);
	is(w, ok, "DependencyNeverSatisfied", "afterok:1_2(failed)");
	waits_not(w, either);
	world_seal(w);
	world_free(w);
}

static void cancelled_together(void **state)
{
	struct world *w = ready("h100:1");
	uint64_t a = array_of(w, "0-99999"), any, ok, begun, gone;

	(void)state;
	any = after(w, "afterany:%llu_[10-19]", U(a));
	ok = after(w, "afterok:%llu_[50000-59999]", U(a));
	begun = after(w, "after:%llu_[0,99999]", U(a));
	world_control_tasks(w, world_user(OWNER), JOB_CANCEL, a, "15-50000");
	is(w, any, "Dependency", "afterany:1_[10-14]");
	is(w, ok, "DependencyNeverSatisfied", "afterok:1_50000(failed)");
	starts(w, a, 0);
	is(w, begun, "Dependency", "after:1_99999");
	world_control(w, world_user(OWNER), JOB_CANCEL, a);
	waits_not(w, any);
	waits_not(w, begun);
	gone = waits(w, "afterok:1_[70000-70010]", KILL_YES);
	world_schedule(w);
	assert_string_equal(world_state(w, gone), "CANCELLED");
	world_seal(w);
	world_free(w);
}

static void some_minutes_after_the_last(void **state)
{
	struct world *w = ready("h100:1");
	uint64_t a = array_of(w, "0-2"), id;

	(void)state;
	id = after(w, "after:%llu_[0-1]+10", U(a));
	ends(w, a, 0, 0);
	pass(w, 300);
	world_again(w);
	starts(w, a, 1);
	is(w, id, "Dependency", "after:1_1+10");
	says(w, id, "after+10: job 1_1 has started");
	pass(w, 400);
	world_again(w);
	is(w, id, "Dependency", "after:1_1+10");
	pass(w, 201);
	waits_not(w, id);
	world_seal(w);
	world_free(w);
}

/* What was told is in the rows, so tasks may leave memory; nobody waits for those that have. */
static void that_have_left_memory(void **state)
{
	struct world *w = ready("h100:1");
	uint64_t a = array_of(w, "0-5"), first, id, ill;

	(void)state;
	first = after(w, "afterok:%llu_[0-3]", U(a));
	ends(w, a, 0, 0);
	ends(w, a, 1, 0);
	world_seal(w);
	pass(w, w->conf->controller.keep_ended_s + 1);
	world_again(w);
	is(w, first, "Dependency", "afterok:1_[2-3]");
	/* All that are gone went well, so that is known of each. */
	id = after(w, "afterok:%llu_[0-2]", U(a));
	is(w, id, "Dependency", "afterok:1_2");
	ill = after(w, "afternotok:%llu_[1-2]", U(a));
	is(w, ill, "DependencyNeverSatisfied", "afternotok:1_1(failed)");
	ends(w, a, 2, 7);
	is(w, id, "DependencyNeverSatisfied", "afterok:1_2(failed)");
	world_seal(w);
	pass(w, w->conf->controller.keep_ended_s + 1);
	assert_int_equal(after(w, "afterok:%llu_[1-4]", U(a)), 0);
	assert_non_null(strstr(w->error.text, "task 1 of job 1, and 1 others, have ended so long"));
	id = after(w, "afterany:%llu_[1-4]", U(a));
	is(w, id, "Dependency", "afterany:1_[3-4]");
	world_control_tasks(w, world_user(OWNER), JOB_CANCEL, a, "4-5");
	is(w, id, "Dependency", "afterany:1_3");
	ends(w, a, 3, 0);
	waits_not(w, id);
	world_seal(w);
	world_free(w);
}

static void refused(void **state)
{
	static const struct {
		const char *text, *what;
	} cases[] = {
		{ "afterok:1_[3-12]", "job 1 has no task 10: its array is 0-9" },
		{ "afterok:1_[0-9:2,11]", "job 1 has no task 11" },
		{ "afterok:12_[0-1]", "job 12 is not an array: it has no task 0" },
		{ "afterok:77_[0-1]", "job 77_[0-1] is not known" },
		{ "aftercorr:1_[1-2]", "1_[1-2]: an array can wait for the same tasks" },
		{ "afterok:1_[5-3]", "5-3" },
		{ "afterok:1_[1-3,2]", "2" },
		{ "afterok:1_[]", "" },
		{ "afterok:1_[1-3", "expected ']'" },
		{ "afterok:1_[1-3]x", "expected ID" },
		{ "afterok:1_[1-3%2]", "%2" },
		{ "afterok:1_[0-4000000]", "more than 4000000 tasks" },
	};
	struct world *w = ready("h100:1");

	(void)state;
	array_of(w, "0-9");
	world_submit(w, "h100:1");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		w->error.text[0] = '\0';
		if (waits(w, cases[i].text, KILL_NO))
			fail_msg("%s is taken", cases[i].text);
		if (!*w->error.text || !strstr(w->error.text, cases[i].what))
			fail_msg("%s: %s", cases[i].text, w->error.text);
	}
	world_free(w);
}

static void no_more_than_so_many(void **state)
{
	struct world *w = ready("h100:1");
	struct job_view v;
	uint64_t ref = 0;
	unsigned n = 0;

	(void)state;
	w->unchecked = true;
	array_of(w, "0-9");
	while (waits(w, "afterany:1_[2-9]", KILL_NO))
		n++;
	assert_int_equal(n, 1000); /* RANGES_MAX */
	assert_non_null(strstr(w->error.text, "too many jobs wait for ranges of tasks of job 1"));
	/* For one task, or for all, there is no such bound. */
	assert_true(waits(w, "afterany:1_3", KILL_NO) > 0);
	assert_true(waits(w, "afterany:1", KILL_NO) > 0);
	world_control(w, world_user(OWNER), JOB_CANCEL, 1);
	ends(w, 1, 0, 0);
	for (; core_job_next(w->core, ref, w->now, &v); ref = v.ref) {
		if (v.id > 1 && !v.ended)
			waits_not(w, v.id);
	}
	world_seal(w);
	world_free(w);
}

/* --- as its tasks one by one ----------------------------------------------------------------- */

#define TASKS 12
#define PAIRS 12

/* Jobs that wait for the same in two words. */
struct pairs {
	struct world *w;
	uint64_t array, range[PAIRS], single[PAIRS], random;
	char text[PAIRS][100];
	size_t n;
};

static unsigned below(struct pairs *p, unsigned n)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return (unsigned)(p->random >> 11) % n;
}

static void add_pair(struct pairs *p)
{
	static const char *const types[] = { "after", "afterok", "afternotok", "afterany" };
	const char *type = types[below(p, 4)], *delay = *type && below(p, 2) ? "+3" : "";
	unsigned first = below(p, TASKS - 1), last = first + 1 + below(p, TASKS - 1 - first);
	unsigned step = 1 + below(p, 3), t;
	char single[400], *range = p->text[p->n];
	bool any = below(p, 2);
	size_t used = 0;

	if (strcmp(type, "after") != 0)
		delay = "";
	for (t = first; t <= last; t += step)
		used += (size_t)snprintf(single + used, sizeof(single) - used, "%s%s:%llu_%u%s",
		        used ? any ? "?" : "," : "", type, U(p->array), t, delay);
	snprintf(range, sizeof(p->text[0]), "%s:%llu_[%u-%u:%u]%s", type, U(p->array), first, last,
	        step, delay);
	if (any) { /* one more term says that one is enough */
		snprintf(range + strlen(range), 50, "?afterok:%llu_%u", U(p->array), first);
		snprintf(single + used, 50, "?afterok:%llu_%u", U(p->array), first);
	}
	p->single[p->n] = waits(p->w, single, KILL_NO);
	p->range[p->n] = waits(p->w, range, KILL_NO);
	/* Of what has left memory a range may be known better. */
	if (p->single[p->n] && p->range[p->n])
		p->n++;
	else
		assert_true(!p->single[p->n]);
}

static void same(struct pairs *p, unsigned step)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		const char *x = world_reason(p->w, p->range[i]);
		const char *y = world_reason(p->w, p->single[i]);
		bool waiting = !strncmp(x, "Dependency", 10) || !strncmp(y, "Dependency", 10);

		if (waiting && strcmp(x, y) != 0)
			fail_msg("step %u, %s: %s, and one by one %s (%s)", step, p->text[i], x, y,
			        world_view(p->w, p->single[i]).dependency);
	}
}

static void one_step(struct pairs *p)
{
	uint32_t task = below(p, TASKS);
	struct job_view v;
	char tasks[20];

	switch (below(p, 8)) {
	case 0:
		if (p->n < PAIRS)
			add_pair(p);
		break;
	case 1:
		snprintf(tasks, sizeof(tasks), "%u-%u", task, task + 1 < TASKS ? task + 1 : task);
		world_control_tasks(p->w, world_user(OWNER), below(p, 3) ? JOB_REQUEUE : JOB_CANCEL,
		        p->array, tasks);
		break;
	case 2:
		world_again(p->w);
		break;
	case 3:
		pass(p->w, below(p, 4) ? 100 : p->w->conf->controller.keep_ended_s + 1);
		break;
	default:
		if (!core_job_view(p->w->core, core_task_ref(p->array, task), p->w->now, &v))
			break;
		if (!strcmp(v.state, "CONFIGURING") && below(p, 2))
			starts(p->w, p->array, task);
		else if (!strcmp(v.state, "CONFIGURING") || !strcmp(v.state, "RUNNING"))
			ends(p->w, p->array, task, below(p, 3) == 0);
	}
}

static void as_one_by_one(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 150; seed++) {
		struct pairs p = { .w = ready("h100:6"), .random = seed * 0x9e3779b97f4a7c15ull };

		p.array = array_of(p.w, "0-11");
		/* Those that wait get no place, however often their chance comes. */
		for (unsigned n = 0; n < 3; n++)
			add_pair(&p);
		for (unsigned n = 0; n < 60; n++) {
			one_step(&p);
			same(&p, seed * 1000 + n);
		}
		world_seal(p.w);
		world_free(p.w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_of_them),
		cmocka_unit_test(cancelled_together),
		cmocka_unit_test(some_minutes_after_the_last),
		cmocka_unit_test(that_have_left_memory),
		cmocka_unit_test(refused),
		cmocka_unit_test(no_more_than_so_many),
		cmocka_unit_test(as_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
