/* test_core_replace_spec.c - an owner signs another spec: when it is taken, and what goes by it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctld/core/records/job.h"
#include "testsuite/unit/lib/core_world.h"

#define OWNER      1000
#define BIT(field) (1u << (field))

/* The specs of a test are numbers: their hashes are of these bytes. */
static struct submit_job job_of(struct world *w, uint8_t spec, const char *name, const char *array)
{
	struct submit_job job = world_job(w, "h100:2");

	memset(job.spec_hash, spec, sizeof(job.spec_hash));
	job.name = name;
	job.array = array;
	return job;
}

static struct respec spec_of(uint8_t was, uint8_t is, uint32_t fields, const char *name)
{
	struct respec r = { .fields = fields,
		.told = "told",
		.name = name,
		.cwd = "/new",
		.output = "new",
		.error = "newer",
		.max_attempts = 3 };

	memset(r.was.b, was, sizeof(r.was.b));
	memset(r.is.b, is, sizeof(r.is.b));
	return r;
}

static uint32_t respec_by(struct world *w, uint32_t uid, uint64_t id, struct respec r)
{
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = world_user(uid),
		.job = { .verb = JOB_RESIGN,
		        .ids = &id,
		        .n = 1,
		        .reason = "",
		        .hashes = &r.is,
		        .n_hashes = 1,
		        .sign_time = w->now.wall,
		        .respecs = &r,
		        .n_respecs = 1 } };

	w->error = (struct error){ 0 };
	world_apply(w, &e);
	world_pass(w, 1);
	return w->done;
}

static uint32_t respec(struct world *w, uint64_t id, struct respec r)
{
	return respec_by(w, OWNER, id, r);
}

static void assert_refused(
        struct world *w, uint64_t id, struct respec r, int code, const char *text)
{
	struct job_view before = world_view(w, id), after;

	assert_int_equal(respec(w, id, r), 0);
	assert_int_equal(w->error.code, code);
	if (!strstr(w->error.text, text))
		fail_msg("%s: not '%s'", w->error.text, text);
	after = world_view(w, id);
	assert_string_equal(after.name, before.name);
	assert_string_equal(after.output, before.output);
	assert_int_equal(after.max_attempts, before.max_attempts);
}

static void waits_runs_ended(void **state)
{
	const uint32_t name = BIT(RESPEC_NAME), out = BIT(RESPEC_OUTPUT),
	               most = BIT(RESPEC_ATTEMPTS);
	struct world *w = world_simple(1, "h100:2");
	struct submit_job job = job_of(w, 1, "a", "");
	struct respec r;
	uint64_t id;

	(void)state;
	id = world_submit_job(w, &job, OWNER);
	/* its owner's alone, from what it is, and what was signed */
	assert_int_equal(respec_by(w, OWNER + 1, id, spec_of(1, 2, name, "b")), 0);
	assert_int_equal(w->error.code, ERR_NOT_PERMITTED);
	assert_refused(w, id, spec_of(9, 2, name, "b"), ERR_SIGNATURE, "changed meanwhile");
	assert_int_equal(respec(w, id, spec_of(1, 2, name | out, "b")), 1);
	assert_string_equal(world_view(w, id).name, "b");
	assert_string_equal(world_view(w, id).cwd, "/new");
	assert_string_equal(world_view(w, id).output, "new");
	assert_string_equal(world_view(w, id).error, "newer");
	assert_refused(w, id, spec_of(1, 3, name, "c"), ERR_SIGNATURE, "changed meanwhile");
	r = spec_of(2, 3, name, "a\nb");
	assert_refused(w, id, r, ERR_JOB_SPEC, "--job-name");
	world_restart(w);
	assert_string_equal(world_view(w, id).name, "b");

	world_register_all(w);
	world_pass(w, 1);
	world_run_starts(w, id);
	assert_refused(
	        w, id, spec_of(2, 3, out, "b"), ERR_JOB_STATE, "output can only be changed while");
	assert_int_equal(respec(w, id, spec_of(2, 3, name, "c")), 1);
	assert_string_equal(world_view(w, id).name, "c");
	r = spec_of(3, 4, most, "c");
	r.max_attempts = 1; /* as often as it was */
	assert_int_equal(respec(w, id, r), 1);
	world_run_ends(w, id, 0);
	assert_refused(w, id, spec_of(4, 5, name, "d"), ERR_JOB_STATE, "it is COMPLETED");
	assert_int_equal(world_control(w, world_user(OWNER), JOB_REQUEUE, id), 0);
	assert_int_equal(w->error.code, ERR_JOB_STATE);
	r = spec_of(4, 5, most, "c");
	r.max_attempts = 2;
	assert_int_equal(respec(w, id, r), 1);
	assert_int_equal(world_control(w, world_user(OWNER), JOB_REQUEUE_HOLD, id), 1);
	/* it has been started once, and is to be again */
	r = spec_of(5, 6, most, "c");
	r.max_attempts = 1;
	assert_refused(w, id, r, ERR_JOB_STATE, "has been started 1 times, and waits");
	world_free(w);
}

static void task_says(struct world *w, uint64_t id, uint32_t task, enum run_report_state state)
{
	struct run_report r = world_report((struct run_id){ id, task, 1, 0 }, state);

	r.cause = state == REPORT_ENDED ? END_EXIT : END_NONE;
	world_say(w, 0, r);
}

/* A task that runs goes on as it began, until it waits again; ended ones stay as they were. */
static void array(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct submit_job job = job_of(w, 1, "a", "0-4");
	uint64_t id, zero, one, two;

	(void)state;
	world_register_all(w);
	id = world_submit_job(w, &job, OWNER);
	zero = job_ref_of(id, 1);
	one = job_ref_of(id, 2);
	two = job_ref_of(id, 3);
	assert_string_equal(world_state(w, one), "CONFIGURING");
	task_says(w, id, 0, REPORT_RUNNING);
	task_says(w, id, 0, REPORT_ENDED);
	task_says(w, id, 1, REPORT_RUNNING);
	world_pass(w, 1);
	assert_string_equal(world_state(w, two), "CONFIGURING");
	world_control_tasks(w, world_user(OWNER), JOB_HOLD, id, "4");
	assert_int_equal(
	        respec(w, id, spec_of(1, 2, BIT(RESPEC_NAME) | BIT(RESPEC_OUTPUT), "b")), 1);
	world_restart(w);
	assert_string_equal(world_view(w, id).output, "new");
	assert_string_equal(world_view(w, id).name, "b");
	assert_string_equal(world_task_view(w, id, 4).output, "new");
	assert_string_equal(world_view(w, one).name, "b");
	assert_string_equal(world_view(w, one).output, "out");
	assert_string_equal(world_view(w, zero).name, "a");
	assert_int_equal(world_control(w, world_user(OWNER), JOB_REQUEUE_HOLD, zero), 1);
	assert_string_equal(world_view(w, zero).name, "b");
	assert_string_equal(world_view(w, zero).output, "new");
	world_free(w);
}

/* What was submitted, and what it is now, are the job; anything else is not. */
static void token(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	struct submit_job job = job_of(w, 1, "a", "");
	uint64_t id = world_submit_job(w, &job, OWNER);
	int round;

	(void)state;
	assert_int_equal(respec(w, id, spec_of(1, 2, BIT(RESPEC_NAME), "b")), 1);
	assert_int_equal(respec(w, id, spec_of(2, 3, BIT(RESPEC_NAME), "c")), 1);
	for (round = 0; round < 3; round++) {
		memset(job.spec_hash, 1, sizeof(job.spec_hash));
		assert_int_equal(world_submit_job(w, &job, OWNER), id);
		memset(job.spec_hash, 3, sizeof(job.spec_hash));
		assert_int_equal(world_submit_job(w, &job, OWNER), id);
		memset(job.spec_hash, 2, sizeof(job.spec_hash));
		assert_int_equal(world_submit_job(w, &job, OWNER), 0);
		assert_int_equal(w->error.code, ERR_TOKEN);
		if (round == 0)
			world_restart(w);
		else /* also when the job is gone, and its nonce not yet */
			world_control(w, world_user(OWNER), JOB_CANCEL, id);
		if (round == 1)
			world_pass(w, 600);
	}
	world_free(w);
}

/* Who waits to be alone goes by the new names. */
static void singletons(void **state)
{
	struct world *w = world_simple(1, "h100:8");
	struct submit_job job = job_of(w, 1, "s", "");
	uint64_t first, second, third;

	(void)state;
	world_register_all(w);
	first = world_submit_job(w, &job, OWNER);
	world_run_starts(w, first);
	job = job_of(w, 2, "s", "");
	job.depends = "singleton";
	second = world_submit_job(w, &job, OWNER);
	job = job_of(w, 3, "t", "");
	job.depends = "singleton";
	job.hold = true;
	third = world_submit_job(w, &job, OWNER);
	assert_string_equal(world_state(w, second), "PENDING");
	assert_int_equal(respec(w, third, spec_of(3, 4, BIT(RESPEC_NAME), "s")), 1);
	assert_int_equal(world_control(w, world_user(OWNER), JOB_RELEASE, third), 1);
	world_pass(w, 1);
	assert_string_equal(world_state(w, third), "PENDING");
	/* The one that runs leaves them: the next is alone, until it is over. */
	assert_int_equal(respec(w, first, spec_of(1, 5, BIT(RESPEC_NAME), "u")), 1);
	assert_string_equal(world_state(w, second), "CONFIGURING");
	assert_string_equal(world_state(w, third), "PENDING");
	world_run_starts(w, second);
	/* and the last leaves them, too; then nothing holds it */
	assert_int_equal(respec(w, third, spec_of(4, 6, BIT(RESPEC_NAME), "v")), 1);
	assert_string_equal(world_state(w, third), "CONFIGURING");
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_runs_ended),
		cmocka_unit_test(array),
		cmocka_unit_test(token),
		cmocka_unit_test(singletons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
