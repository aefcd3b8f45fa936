/* test_core_pieces.c - control of arrays that have many records or ranges: in pieces, within bounds
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "ctld/core/records/job.h"
#include "testsuite/unit/lib/core_world.h"

static uint64_t submit_array(struct world *w, const char *array, const char *gpus)
{
	struct submit_job job = world_job(w, gpus);
	uint64_t id;

	job.array = array;
	id = world_submit_job(w, &job, 1000);
	if (!id)
		fail_msg("refused: %s", w->error.text);
	return id;
}

static uint32_t control(struct world *w, enum job_verb verb, uint64_t id, const char *tasks)
{
	struct caller ana = world_user(1000);

	return tasks ? world_control_tasks(w, ana, verb, id, tasks)
	             : world_control(w, ana, verb, id);
}

static const char *text_of(uint32_t task, const char *rest)
{
	static char text[40];

	snprintf(text, sizeof(text), "%u%s", task, rest);
	return text;
}

static const char *task_state(struct world *w, uint64_t id, uint32_t task)
{
	return world_task_view(w, id, task).state;
}

static void task_ends(struct world *w, uint64_t id, uint32_t task)
{
	struct run_id run = { id, task, world_task_view(w, id, task).attempt, 0 };
	struct run_report r = world_report(run, REPORT_ENDED);

	r.cause = END_CANCEL;
	world_say(w, 0, r);
	world_schedule(w);
}

/* What all pieces together have done. */
struct sums {
	uint32_t done, arrays, tasks, errors;
};

/* As the loop does it: so much at once. Returns how many events it took. */
static unsigned in_pieces(struct world *w, enum job_verb verb, uint64_t id, const char *tasks,
        uint32_t most, struct sums *sums)
{
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = world_user(1000),
		.job = { .verb = verb, .ids = &id, .n = 1, .reason = "", .most = most } };
	const struct taskset *sets[1];
	struct taskset set = { 0 };
	unsigned n = 0;

	*sums = (struct sums){ 0 };
	if (tasks) {
		assert_int_equal(taskset_parse(tasks, &set, NULL), 0);
		sets[0] = &set;
		e.job.tasks = sets;
	}
	for (bool more = true; more; n++) {
		const struct effect *fx;

		world_apply(w, &e);
		fx = world_effect(w, EFFECT_CONTROLLED);
		sums->done += fx->controlled.done;
		sums->arrays += fx->controlled.arrays;
		sums->tasks += fx->controlled.tasks;
		sums->errors += fx->controlled.n;
		e.job.walk = fx->controlled.walk;
		more = fx->controlled.at == 0;
		world_schedule(w); /* tasks start in between */
	}
	taskset_clear(&set);
	return n;
}

/* Of many records, some of which run: each once, whatever starts meanwhile. */
static void many_records(void **state)
{
	static const struct {
		enum job_verb verb;
		const char *tasks;
		uint32_t arrays, of;
	} cases[] = {
		{ JOB_HOLD, "20-99", 1, 80 },
		{ JOB_RELEASE, "30-59", 1, 30 },
		{ JOB_RELEASE, NULL, 1, 96 },
		{ JOB_CANCEL, "0-2,50-89:3", 1, 17 },
		{ JOB_CANCEL, NULL, 1, 86 },
	};
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = submit_array(w, "0-99", "h100:1");
	struct sums sums;
	uint32_t t;

	(void)state;
	world_register_all(w);
	world_schedule(w);
	for (t = 20; t < 100; t += 7)
		assert_int_equal(control(w, JOB_HOLD, id, text_of(t, "")), 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned n = in_pieces(w, cases[i].verb, id, cases[i].tasks, 20, &sums);

		if (n < 2 || sums.done != 1 || sums.errors || sums.arrays != cases[i].arrays ||
		        sums.tasks != cases[i].of)
			fail_msg("case %zu: %u events, %u done, %u errors, %u tasks", i, n,
			        sums.done, sums.errors, sums.tasks);
	}
	for (t = 4; t < 100; t++)
		assert_string_equal(task_state(w, id, t), "CANCELLED");
	for (t = 0; t < 4; t++)
		task_ends(w, id, t);
	assert_string_equal(world_state(w, id), "CANCELLED");
	in_pieces(w, JOB_CANCEL, id, NULL, 20, &sums);
	assert_int_equal(sums.done, 0);
	assert_int_equal(sums.errors, 1);
	world_free(w);
}

/* What is left of an array must not be in too many places. */
static void too_many_ranges(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = submit_array(w, "0-99999", "h100:1");

	(void)state;
	w->unchecked = true;
	assert_int_equal(control(w, JOB_CANCEL, id, "0-99999:3"), 0);
	assert_string_equal(w->error.text,
	        "job 1: these tasks, or those between them, are more than 5000 ranges of its "
	        "array 0-99999");
	assert_int_equal(control(w, JOB_CANCEL, id, "0-11999:3"), 1);
	assert_int_equal(control(w, JOB_CANCEL, id, "30000-41999:3"), 0);
	assert_string_equal(w->error.text,
	        "job 1: the tasks that are left would be 8000 ranges of neighbours; at most 5000");
	assert_int_equal(world_view(w, id).task_count, 96000);
	assert_int_equal(control(w, JOB_CANCEL, id, "30000-41999"), 1);
	assert_int_equal(control(w, JOB_CANCEL, id, NULL), 1);
	assert_string_equal(world_state(w, id), "CANCELLED");
	world_free(w);
}

/* Nine hundred thousand tasks, and three hundred steps within steps. */
static void steps_within_steps(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = submit_array(w, "0-899999", "h100:1");
	clock_t began = clock();

	(void)state;
	w->unchecked = true;
	assert_int_equal(control(w, JOB_CANCEL, id, "0-899999:1000"), 1);
	for (uint32_t t = 3; t < 900; t += 3)
		control(w, JOB_CANCEL, id, text_of(t, "-899999:1000"));
	assert_true(world_view(w, id).task_count >= 900000 - 6 * 900);
	assert_true(clock() - began < 5 * CLOCKS_PER_SEC);
	world_free(w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_records),
		cmocka_unit_test(too_many_ranges),
		cmocka_unit_test(steps_within_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
