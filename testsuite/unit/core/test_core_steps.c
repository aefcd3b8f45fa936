/* test_core_steps.c - steps of jobs as they are reported: listed while they run, kept when they end
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/jobs/job_steps.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/per_user_budget.h"
#include "testsuite/unit/lib/core_world.h"

#define OWNER 1000

static struct step_report running(uint32_t step)
{
	return (struct step_report){ .step = step,
		.name = "train",
		.nodelist = "n0",
		.nodes = 1,
		.tasks = 4,
		.cpus = 4,
		.start_time = 1 };
}

static struct step_report ended(struct world *w, uint32_t step, uint32_t code)
{
	struct step_report r = running(step);

	r.start_time = w->now.wall - 5000000;
	r.end_time = w->now.wall;
	r.exit_code = code;
	return r;
}

/* The code of the answer. */
static int report_attempt(struct world *w, struct caller by, struct run_id of,
        const struct step_report *v, size_t n)
{
	struct core_event e = { .kind = EV_STEP_REPORTS, .caller = by };

	e.steps.job = of.job;
	e.steps.task = of.task;
	e.steps.attempt = of.attempt;
	e.steps.v = v;
	e.steps.n = n;
	w->error.code = -1;
	world_apply(w, &e);
	return w->error.code;
}

static int report(struct world *w, struct caller by, uint64_t job, uint32_t task,
        const struct step_report *v, size_t n)
{
	return report_attempt(w, by, (struct run_id){ job, task, 1, 0 }, v, n);
}

static int report_one(struct world *w, uint64_t job, struct step_report r)
{
	return report(w, world_user(OWNER), job, 0, &r, 1);
}

/* "0 2 5": those that run. */
static const char *listed(struct world *w, uint64_t ref)
{
	static char text[200];
	const struct step_report *s;
	int64_t after = -1;
	size_t used = 0;

	text[0] = '\0';
	for (; (s = core_step_next(w->core, ref, after)); after = s->step)
		used += (size_t)snprintf(
		        text + used, sizeof(text) - used, "%s%u", used ? " " : "", s->step);
	return text;
}

static uint64_t used(struct world *w)
{
	return budget_used(core_budget(w->core), OWNER, BUDGET_MEMORY);
}

static void come_and_go(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = world_running(w, false), before = used(w);

	(void)state;
	assert_string_equal(listed(w, id), "");
	assert_int_equal(report_one(w, id, running(5)), ERR_NONE);
	assert_int_equal(report_one(w, id, running(0)), ERR_NONE);
	assert_int_equal(report_one(w, id, running(2)), ERR_NONE);
	assert_int_equal(report_one(w, id, running(2)), ERR_NONE); /* once more */
	assert_string_equal(listed(w, id), "0 2 5");
	assert_int_equal(world_view(w, id).steps_running, 3);
	assert_true(used(w) > before);
	world_seal(w);
	assert_int_equal(w->steps.n, 0);
	/* One ends: it is durable, and takes no memory. */
	assert_int_equal(report_one(w, id, ended(w, 2, 3)), ERR_NONE);
	assert_string_equal(listed(w, id), "0 5");
	world_seal(w);
	assert_int_equal(w->steps.n, 1);
	assert_int_equal(w->steps.job, id);
	assert_int_equal(w->steps.step, 2);
	assert_int_equal(w->steps.attempt, 1);
	assert_string_equal(w->steps.state, "FAILED");
	assert_string_equal(w->steps.name, "train");
	/* One that was never reported to run. */
	assert_int_equal(report_one(w, id, ended(w, 3, 0)), ERR_NONE);
	world_seal(w);
	assert_string_equal(w->steps.state, "COMPLETED");
	assert_int_equal(report_one(w, id, ended(w, 0, 0)), ERR_NONE);
	assert_int_equal(report_one(w, id, ended(w, 5, 0)), ERR_NONE);
	assert_int_equal(used(w), before + 1); /* a bit each */
	assert_int_equal(world_view(w, id).steps_running, 0);
	world_seal(w);
	assert_int_equal(w->steps.n, 4);
	world_free(w);
}

/* Those that run are volatile: the manager reports them again. */
static void restarts(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = world_running(w, false);

	(void)state;
	report_one(w, id, running(0));
	report_one(w, id, running(1));
	world_again(w);
	assert_string_equal(listed(w, id), "");
	assert_int_equal(report_one(w, id, running(1)), ERR_NONE);
	assert_string_equal(listed(w, id), "1");
	world_seal(w);
	world_free(w);
}

static void end_with_the_job(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = world_running(w, false), before;

	(void)state;
	before = used(w);
	report_one(w, id, running(0));
	report_one(w, id, running(1));
	world_run_ends(w, id, 0);
	assert_string_equal(listed(w, id), "");
	assert_true(used(w) <= before);
	world_seal(w);
	assert_int_equal(w->steps.n, 2);
	assert_int_equal(w->steps.step, 1);
	assert_string_equal(w->steps.state, "CANCELLED");
	assert_int_equal(w->steps.end_time, world_view(w, id).end_time);
	/* Its manager's last word may come after the job's end. */
	assert_int_equal(report_one(w, id, ended(w, 1, 0)), ERR_NONE);
	assert_int_equal(report_one(w, id, running(2)), ERR_JOB_STATE);
	world_seal(w);
	assert_int_equal(w->steps.n, 3);
	assert_string_equal(w->steps.state, "COMPLETED");
	world_pass(w, 24 * 3600);
	assert_int_equal(report_one(w, id, ended(w, 1, 0)), ERR_NO_JOB);
	world_free(w);
}

static void end_with_the_attempt(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = world_running(w, true);

	(void)state;
	report_one(w, id, running(0));
	world_control(w, world_user(OWNER), JOB_REQUEUE, id);
	assert_string_equal(listed(w, id), "0"); /* it ends */
	world_run_ends(w, id, 0);
	assert_string_equal(listed(w, id), "");
	world_seal(w);
	assert_int_equal(w->steps.n, 1);
	assert_string_equal(w->steps.state, "CANCELLED");
	/* The next attempt is another one. */
	world_schedule(w);
	world_run_starts(w, id);
	assert_int_equal(world_view(w, id).attempt, 2);
	assert_int_equal(report_one(w, id, running(1)), ERR_JOB_STATE);
	world_seal(w);
	world_free(w);
}

static void of_tasks(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct submit_job job = world_job(w, "h100:1");
	struct step_report r = running(0);
	struct run_id run;
	uint64_t id;

	(void)state;
	world_register_all(w);
	job.array = "3-4";
	id = world_submit_job(w, &job, OWNER);
	run = (struct run_id){ id, 3, 1, 0 };
	world_say(w, 0, world_report(run, REPORT_RUNNING));
	assert_int_equal(report(w, world_user(OWNER), id, 0, &r, 1), ERR_NO_JOB);
	assert_int_equal(report(w, world_user(OWNER), id, 3, &r, 1), ERR_NONE);
	assert_string_equal(listed(w, core_task_ref(id, 3)), "0");
	assert_string_equal(listed(w, core_task_ref(id, 4)), "");
	r = ended(w, 0, 0);
	assert_int_equal(report(w, world_user(OWNER), id, 3, &r, 1), ERR_NONE);
	world_seal(w);
	assert_int_equal(w->steps.task, 3);
	world_free(w);
}

static void of_others(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = world_running(w, false);
	struct step_report r = running(0);

	(void)state;
	assert_int_equal(report(w, world_user(OWNER + 1), id, 0, &r, 1), ERR_NOT_PERMITTED);
	assert_string_equal(listed(w, id), "");
	assert_int_equal(report(w, world_admin(), id, 0, &r, 1), ERR_NONE);
	assert_int_equal(report(w, world_user(OWNER), id + 7, 0, &r, 1), ERR_NO_JOB);
	assert_int_equal(report(w, world_user(OWNER), id, 1, &r, 1), ERR_NO_JOB);
	world_free(w);
}

static void limits(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = world_running(w, false);
	struct step_report v[3];
	uint32_t i;

	(void)state;
	assert_int_equal(report_one(w, id, running(40000)), ERR_LIMIT_STEPS);
	assert_non_null(strstr(w->error.text, "controller.max_steps"));
	assert_int_equal(report_one(w, id, ended(w, 40000, 0)), ERR_LIMIT_STEPS);
	for (i = 0; i < STEPS_RUNNING_MAX; i++)
		assert_int_equal(report_one(w, id, running(i)), ERR_NONE);
	assert_int_equal(report_one(w, id, running(5)), ERR_NONE); /* has its place */
	/* What can be taken is. */
	v[0] = running(2000);
	v[1] = ended(w, 7, 0);
	v[2] = running(2001);
	assert_int_equal(report(w, world_user(OWNER), id, 0, v, 3), ERR_LIMIT_STEPS);
	assert_int_equal(world_view(w, id).steps_running, STEPS_RUNNING_MAX);
	assert_null(core_step_next(w->core, id, 2001));
	assert_int_equal(core_step_next(w->core, id, 2000)->step, 2001);
	world_seal(w);
	assert_int_equal(w->steps.n, 1);
	world_free(w);
}

/* What an older session said of a step comes behind the report of its end. */
static void come_late(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = world_running(w, true);
	struct step_report v[2] = { running(9), running(10) };

	(void)state;
	assert_int_equal(report_one(w, id, running(9)), ERR_NONE);
	assert_int_equal(report_one(w, id, ended(w, 9, 3)), ERR_NONE);
	assert_int_equal(report(w, world_user(OWNER), id, 0, v, 2), ERR_NONE);
	assert_string_equal(listed(w, id), "10");
	/* The end of the attempt says nothing of it either. */
	world_control(w, world_user(OWNER), JOB_REQUEUE, id);
	world_run_ends(w, id, 0);
	world_seal(w);
	assert_int_equal(w->steps.n, 2);
	assert_int_equal(w->steps.step, 10);
	/* The next attempt has a step of that number. */
	world_schedule(w);
	world_run_starts(w, id);
	assert_int_equal(report_attempt(w, world_user(OWNER), (struct run_id){ id, 0, 2, 0 }, v, 1),
	        ERR_NONE);
	assert_string_equal(listed(w, id), "9");
	world_free(w);
}

/* Many that come and go leave a bit each behind, until their attempt ends. */
static void cost_a_bit(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = world_running(w, false), before = used(w);
	const uint32_t n = 40000;
	uint32_t i;

	(void)state;
	for (i = 0; i < n; i++) {
		struct step_report r = ended(w, i, 0);

		w->unchecked = true;
		assert_int_equal(report(w, world_user(OWNER), id, 0, &r, 1), ERR_NONE);
		if (i % 1000 == 999)
			world_seal(w);
	}
	assert_int_equal(w->steps.n, n);
	assert_in_range(used(w), before + n / 8, before + n / 4);
	assert_int_equal(core_dirty_bytes(w->core), 0);
	world_run_ends(w, id, 0);
	assert_true(used(w) <= before);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(come_and_go),
		cmocka_unit_test(restarts),
		cmocka_unit_test(end_with_the_job),
		cmocka_unit_test(end_with_the_attempt),
		cmocka_unit_test(of_tasks),
		cmocka_unit_test(of_others),
		cmocka_unit_test(limits),
		cmocka_unit_test(come_late),
		cmocka_unit_test(cost_a_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
