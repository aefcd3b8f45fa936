/* test_core_control.c - verbs on jobs: who may, in which state, and what becomes of it */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/records/job.h"
#include "testsuite/unit/lib/core_world.h"

#define OWNER 1000
#define OTHER 1001
#define ADMIN 0

/* --- every verb in every state --------------------------------------------------------------- */

enum stage { WAITING, HELD, ADMIN_HELD, ORDERED, RUNNING, SUSPENDED, ENDING, ENDED, STAGES };

static uint64_t bring_to(struct world *w, enum stage stage)
{
	struct submit_job job = world_job(w, "h100:2");
	uint64_t id;

	/* An empty cluster has room for one of them at a time. */
	job.hold = stage == HELD || stage == ADMIN_HELD;
	if (stage == WAITING)
		world_node(w, NODE_DRAIN, 0, false);
	id = world_submit_job(w, &job, OWNER);
	if (stage == ADMIN_HELD)
		world_control(w, world_admin(), JOB_HOLD, id);
	if (stage >= RUNNING)
		world_run_starts(w, id);
	if (stage == SUSPENDED) {
		struct run_report r = world_report(world_run(w, id), REPORT_RUNNING);

		world_control(w, world_user(OWNER), JOB_SUSPEND, id);
		r.suspended = true;
		world_say(w, 0, r);
	}
	if (stage == ENDING)
		world_control(w, world_user(OWNER), JOB_CANCEL, id);
	if (stage == ENDED)
		world_run_ends(w, id, 0);
	return id;
}

struct verb_case {
	enum job_verb verb;
	enum stage stage;
	uint32_t uid;
	int code; /* of the refusal */
	const char *state;
};

static const struct verb_case verb_cases[] = {
	{ JOB_CANCEL, WAITING, OWNER, 0, "CANCELLED" },
	{ JOB_CANCEL, WAITING, ADMIN, 0, "CANCELLED" },
	{ JOB_CANCEL, WAITING, OTHER, ERR_NOT_PERMITTED, "PENDING" },
	{ JOB_CANCEL, HELD, OWNER, 0, "CANCELLED" },
	{ JOB_CANCEL, ADMIN_HELD, OWNER, 0, "CANCELLED" },
	{ JOB_CANCEL, ORDERED, OWNER, 0, "COMPLETING" },
	{ JOB_CANCEL, RUNNING, OWNER, 0, "COMPLETING" },
	{ JOB_CANCEL, RUNNING, OTHER, ERR_NOT_PERMITTED, "RUNNING" },
	{ JOB_CANCEL, ENDING, ADMIN, 0, "COMPLETING" },
	{ JOB_CANCEL, ENDED, OWNER, ERR_JOB_STATE, "COMPLETED" },
	{ JOB_CANCEL, ENDED, OTHER, ERR_NOT_PERMITTED, "COMPLETED" },
	{ JOB_HOLD, WAITING, OWNER, 0, "PENDING" },
	{ JOB_HOLD, WAITING, OTHER, ERR_NOT_PERMITTED, "PENDING" },
	{ JOB_HOLD, HELD, OWNER, 0, "PENDING" },
	{ JOB_HOLD, ADMIN_HELD, OWNER, 0, "PENDING" },
	{ JOB_HOLD, ORDERED, OWNER, ERR_JOB_STATE, "CONFIGURING" },
	{ JOB_HOLD, RUNNING, ADMIN, ERR_JOB_STATE, "RUNNING" },
	{ JOB_HOLD, ENDED, OWNER, ERR_JOB_STATE, "COMPLETED" },
	{ JOB_RELEASE, WAITING, OWNER, 0, "PENDING" },
	{ JOB_RELEASE, HELD, OWNER, 0, "CONFIGURING" },
	{ JOB_RELEASE, HELD, OTHER, ERR_NOT_PERMITTED, "PENDING" },
	{ JOB_RELEASE, ADMIN_HELD, OWNER, ERR_NOT_PERMITTED, "PENDING" },
	{ JOB_RELEASE, ADMIN_HELD, ADMIN, 0, "CONFIGURING" },
	{ JOB_RELEASE, RUNNING, OWNER, ERR_JOB_STATE, "RUNNING" },
	{ JOB_RELEASE, ENDING, OWNER, ERR_JOB_STATE, "COMPLETING" },
	{ JOB_SIGNAL, WAITING, OWNER, ERR_JOB_STATE, "PENDING" },
	{ JOB_SIGNAL, ORDERED, OWNER, ERR_JOB_STATE, "CONFIGURING" },
	{ JOB_SIGNAL, RUNNING, OWNER, 0, "RUNNING" },
	{ JOB_SIGNAL, RUNNING, OTHER, ERR_NOT_PERMITTED, "RUNNING" },
	{ JOB_SIGNAL, ENDING, OWNER, 0, "COMPLETING" },
	{ JOB_SIGNAL, ENDED, OWNER, ERR_JOB_STATE, "COMPLETED" },
	{ JOB_REQUEUE, WAITING, OWNER, ERR_JOB_STATE, "PENDING" },
	{ JOB_REQUEUE, ORDERED, OWNER, 0, "COMPLETING" },
	{ JOB_REQUEUE, RUNNING, OWNER, 0, "COMPLETING" },
	{ JOB_REQUEUE, RUNNING, OTHER, ERR_NOT_PERMITTED, "RUNNING" },
	{ JOB_REQUEUE, ENDING, OWNER, ERR_JOB_STATE, "COMPLETING" },
	{ JOB_REQUEUE, ENDED, OWNER, 0, "CONFIGURING" },
	{ JOB_REQUEUE, ENDED, ADMIN, 0, "CONFIGURING" },
	{ JOB_REQUEUE, ENDED, OTHER, ERR_NOT_PERMITTED, "COMPLETED" },
	{ JOB_REQUEUE_HOLD, ENDED, OWNER, 0, "PENDING" },
	{ JOB_REQUEUE_HOLD, RUNNING, OWNER, 0, "COMPLETING" },
	{ JOB_REQUEUE_HOLD, WAITING, OWNER, ERR_JOB_STATE, "PENDING" },
	{ JOB_REQUEUE, SUSPENDED, OWNER, 0, "COMPLETING" },
	{ JOB_CANCEL, SUSPENDED, OWNER, 0, "COMPLETING" },
	{ JOB_HOLD, SUSPENDED, OWNER, ERR_JOB_STATE, "SUSPENDED" },
	{ JOB_SIGNAL, SUSPENDED, OWNER, ERR_JOB_STATE, "SUSPENDED" },
	{ JOB_SUSPEND, WAITING, OWNER, ERR_JOB_STATE, "PENDING" },
	{ JOB_SUSPEND, ORDERED, OWNER, ERR_JOB_STATE, "CONFIGURING" },
	{ JOB_SUSPEND, RUNNING, OWNER, 0, "RUNNING" },
	{ JOB_SUSPEND, RUNNING, ADMIN, 0, "RUNNING" },
	{ JOB_SUSPEND, RUNNING, OTHER, ERR_NOT_PERMITTED, "RUNNING" },
	{ JOB_SUSPEND, SUSPENDED, OWNER, 0, "SUSPENDED" },
	{ JOB_SUSPEND, ENDING, OWNER, ERR_JOB_STATE, "COMPLETING" },
	{ JOB_SUSPEND, ENDED, OWNER, ERR_JOB_STATE, "COMPLETED" },
	{ JOB_RESUME, WAITING, OWNER, ERR_JOB_STATE, "PENDING" },
	{ JOB_RESUME, RUNNING, OWNER, ERR_JOB_STATE, "RUNNING" },
	{ JOB_RESUME, SUSPENDED, OWNER, 0, "SUSPENDED" },
	{ JOB_RESUME, SUSPENDED, ADMIN, 0, "SUSPENDED" },
	{ JOB_RESUME, SUSPENDED, OTHER, ERR_NOT_PERMITTED, "SUSPENDED" },
	{ JOB_RESUME, ENDING, OWNER, ERR_JOB_STATE, "COMPLETING" },
};

static void verbs(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(verb_cases) / sizeof(verb_cases[0]); i++) {
		const struct verb_case *c = &verb_cases[i];
		struct world *w = world_simple(1, "h100:2");
		uint64_t id;
		uint32_t done;

		world_register_all(w);
		id = bring_to(w, c->stage);
		done = world_control(
		        w, c->uid == ADMIN ? world_admin() : world_user(c->uid), c->verb, id);
		if (w->error.code != c->code || strcmp(world_state(w, id), c->state))
			fail_msg("case %zu: code %d (%s), the job is %s", i, w->error.code,
			        w->error.text, world_state(w, id));
		assert_int_equal(done, !c->code);
		world_seal(w);
		world_restart(w);
		assert_string_equal(world_state(w, id), c->state);
		world_free(w);
	}
}

static void unknown_things(void **state)
{
	struct world *w = world_simple(1, "");
	struct core_event wait = { .kind = EV_WAIT_JOB, .caller = world_user(OWNER), .wait = 99 };

	(void)state;
	world_control(w, world_admin(), JOB_CANCEL, 99);
	assert_int_equal(w->error.code, ERR_NO_JOB);
	assert_string_equal(w->error.text, "there is no job 99");
	world_apply(w, &wait);
	assert_int_equal(w->error.code, ERR_NO_JOB);
	world_control(w, world_admin(), (enum job_verb)17, 99);
	assert_int_equal(w->error.code, ERR_USAGE);
	world_free(w);
}

/* --- how jobs end ---------------------------------------------------------------------------- */

struct end_case {
	enum end_cause cause;
	uint32_t code, signal;
	bool requeue; /* as the owner asked */
	const char *state, *reason;
};

static const struct end_case end_cases[] = {
	{ END_EXIT, 0, 0, true, "COMPLETED", "" },
	{ END_EXIT, 3, 0, true, "FAILED", "NonZeroExitCode" },
	{ END_EXIT, 0, 9, true, "FAILED", "NonZeroExitCode" },
	{ END_TIME_LIMIT, 0, 15, true, "TIMEOUT", "TimeLimit" },
	{ END_OUT_OF_MEMORY, 0, 9, true, "OUT_OF_MEMORY", "OutOfMemory" },
	{ END_GPU_MEMORY, 0, 9, true, "OUT_OF_MEMORY", "GpuMemory" },
	{ END_IDLE, 0, 15, true, "CANCELLED", "Idle" },
	{ END_SPOOL, 0, 9, true, "FAILED", "SpoolFull" },
	{ END_PREEMPT, 0, 15, false, "PREEMPTED", "Preempted" },
	{ END_PREEMPT, 0, 15, true, "PENDING", NULL },
	{ END_NODE_FAIL, 0, 0, false, "NODE_FAIL", "NodeDown" },
	{ END_NODE_FAIL, 0, 0, true, "PENDING", NULL },
	{ END_LOST, 0, 0, false, "NODE_FAIL", "NodeDown" },
	{ END_LOST, 0, 0, true, "PENDING", NULL },
	{ END_LAUNCH, 0, 0, false, "PENDING", NULL },
	{ END_CANCEL, 0, 15, true, "CANCELLED", "" },
};

static void ends(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(end_cases) / sizeof(end_cases[0]); i++) {
		const struct end_case *c = &end_cases[i];
		struct world *w = world_simple(1, "h100:2");
		struct submit_job job = world_job(w, "h100:2");
		struct run_report r;
		struct job_view v;
		uint64_t id;

		job.requeue = c->requeue;
		world_register_all(w);
		id = world_submit_job(w, &job, OWNER);
		world_run_starts(w, id);
		world_node(w, NODE_DRAIN, 0, false);
		r = world_report(world_run(w, id), REPORT_ENDED);
		r.cause = c->cause;
		r.exit_code = c->code;
		r.exit_signal = c->signal;
		r.start_time = r.end_time = w->now.wall;
		r.elapsed_us = 5000000;
		world_say(w, 0, r);
		v = world_view(w, id);
		if (strcmp(v.state, c->state) || (c->reason && strcmp(v.reason, c->reason)))
			fail_msg("case %zu: %s (%s)", i, v.state, v.reason);
		if (v.ended) {
			assert_int_equal(v.exit_code, c->code);
			assert_int_equal(v.exit_signal, c->signal);
			assert_int_equal(v.elapsed_s, 5);
			/* What is final is final: a copy of the report, another report. */
			world_say(w, 0, r);
			r.cause = END_EXIT;
			r.exit_code = 77;
			world_say(w, 0, r);
			assert_string_equal(world_state(w, id), c->state);
			assert_int_equal(world_view(w, id).exit_code, c->code);
		}
		world_restart(w);
		assert_string_equal(world_state(w, id), c->state);
		world_free(w);
	}
}

/* What a node notes of a run is kept with it, told once, and outlives what says less. */
static void node_notes(void **state)
{
	const char *note = "used 24.3G of 20G of GPU 2";
	struct world *w = world_simple(1, "h100:2");
	struct submit_job job = world_job(w, "h100:2");
	struct run_report r;
	struct run_view v;
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = world_submit_job(w, &job, OWNER);
	world_run_starts(w, id);
	r = world_report(world_run(w, id), REPORT_RUNNING);
	r.detail = note;
	for (int i = 0; i < 2; i++) {
		world_say(w, 0, r);
		r.detail = "";
		world_say(w, 0, r);
		assert_true(core_run_view(w->core, world_run(w, id), w->now, &v));
		assert_string_equal(v.detail, note);
		r.detail = note;
	}
	world_restart(w);
	assert_true(core_run_view(w->core, world_run(w, id), w->now, &v));
	assert_string_equal(v.detail, note);
	world_free(w);
}

static void attempts_run_out(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	struct submit_job job = world_job(w, "h100:2");
	struct run_report r;
	uint64_t id;
	uint32_t i;

	(void)state;
	job.max_attempts = 3;
	world_register_all(w);
	id = world_submit_job(w, &job, OWNER);
	for (i = 1; i <= 3; i++) {
		assert_int_equal(world_view(w, id).attempt, i);
		assert_string_equal(world_state(w, id), "CONFIGURING");
		world_run_starts(w, id);
		if (i == 3) {
			world_control(w, world_user(OWNER), JOB_REQUEUE, id);
			assert_int_equal(w->error.code, ERR_JOB_STATE);
		}
		r = world_report(world_run(w, id), REPORT_ENDED);
		r.cause = END_NODE_FAIL;
		world_say(w, 0, r);
	}
	assert_string_equal(world_state(w, id), "NODE_FAIL");
	world_free(w);
}

/* Three launches fail: held, with what was wrong; released it may try again. */
/* Held by itself, then by its owner: each reason is its own. */
static void held_after_failed_launches(struct world *w, uint64_t id)
{
	const struct submit_job smaller = { .time_limit_s = 60 };
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = world_user(OWNER),
		.job = { .verb = JOB_UPDATE,
		        .ids = &id,
		        .n = 1,
		        .reason = "",
		        .change = &smaller,
		        .fields = UPDATE_TIME } };

	world_apply(w, &e);
	assert_int_equal(w->done, 1);
	assert_string_equal(world_view(w, id).reason_text,
	        "launch failed 3 times, the last on n0: no such directory");
	assert_int_equal(world_control(w, world_user(OWNER), JOB_HOLD, id), 1);
	assert_string_equal(world_reason(w, id), "JobHeldUser");
	assert_string_equal(world_view(w, id).reason_text, "held by ana from login1");
	world_seal(w);
	assert_string_equal(world_reason(w, id), "JobHeldUser");
}

/* Waiting mends nothing there: after some tries the job has failed, and those that depend on it, and
 * `gsubmit --wait`, learn of it. */
static void launches_fail_by_the_owner(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = world_submit(w, "h100:2");
	for (int i = 0; i < 3; i++) {
		struct run_report r = world_report(world_run(w, id), REPORT_ENDED);

		r.cause = END_LAUNCH_OWNER;
		r.detail = "cannot open the output file 'logs/x.out': No such file or directory";
		assert_string_equal(world_state(w, id), "CONFIGURING");
		world_say(w, 0, r);
	}
	assert_string_equal(world_state(w, id), "FAILED");
	assert_string_equal(world_reason(w, id), "JobLaunchFailure");
	assert_non_null(strstr(world_view(w, id).reason_text, "logs/x.out"));
	world_restart(w);
	assert_string_equal(world_state(w, id), "FAILED");
	assert_string_equal(world_reason(w, id), "JobLaunchFailure");
	world_free(w);
}

static void launches_fail(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	uint64_t id;
	int i;

	(void)state;
	world_register_all(w);
	id = world_submit(w, "h100:2");
	for (i = 0; i < 3; i++) {
		struct run_report r = world_report(world_run(w, id), REPORT_NEVER);

		r.detail = "no such directory";
		assert_string_equal(world_state(w, id), "CONFIGURING");
		world_say(w, 0, r);
	}
	assert_string_equal(world_state(w, id), "PENDING");
	assert_string_equal(world_reason(w, id), "JobLaunchFailure");
	assert_string_equal(world_view(w, id).reason_text,
	        "launch failed 3 times, the last on n0: no such directory");
	world_restart(w);
	assert_string_equal(world_reason(w, id), "JobLaunchFailure");
	held_after_failed_launches(w, id);
	world_register_all(w);
	assert_int_equal(world_control(w, world_user(OWNER), JOB_RELEASE, id), 1);
	assert_int_equal(world_view(w, id).attempt, 4);
	/* None of them was a start: all its attempts are left. */
	world_run_starts(w, id);
	assert_int_equal(world_control(w, world_user(OWNER), JOB_REQUEUE, id), 1);
	world_free(w);
}

/* --- races ----------------------------------------------------------------------------------- */

/* The order to start may not have arrived: the node says NEVER, and that is that. */
static void cancel_before_start(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	const struct effect *e;
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = world_submit(w, "h100:2");
	world_clear(w);
	world_control(w, world_user(OWNER), JOB_CANCEL, id);
	e = world_effect(w, EFFECT_END_RUN);
	assert_non_null(e);
	assert_int_equal(e->run.cause, END_CANCEL);
	assert_int_equal(e->run.grace_s, w->conf->partitions[0].grace_s);
	assert_false(e->run.requeue);
	assert_string_equal(world_state(w, id), "COMPLETING");
	world_say(w, 0, world_report(world_run(w, id), REPORT_NEVER));
	assert_string_equal(world_state(w, id), "CANCELLED");
	assert_non_null(world_effect(w, EFFECT_FORGET_RUN));
	world_free(w);
}

/* It ended by itself while the cancel was on its way: cancelled it is, with its true exit code. */
static void cancel_too_late(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = world_submit(w, "h100:2");
	world_run_starts(w, id);
	world_control(w, world_user(OWNER), JOB_CANCEL, id);
	world_run_ends(w, id, 7);
	assert_string_equal(world_state(w, id), "CANCELLED");
	assert_int_equal(world_view(w, id).exit_code, 7);
	world_free(w);
}

/* A requeue, and then a cancel: it does not come back. */
static void requeue_then_cancel(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = world_submit(w, "h100:2");
	world_run_starts(w, id);
	world_clear(w);
	assert_int_equal(world_control(w, world_user(OWNER), JOB_REQUEUE, id), 1);
	assert_true(world_effect(w, EFFECT_END_RUN)->run.requeue);
	world_restart(w);
	assert_int_equal(world_control(w, world_user(OWNER), JOB_CANCEL, id), 1);
	world_register(w, 0, "inc1",
	        &(struct run_report){ .run = world_run(w, id),
	                .state = REPORT_RUNNING,
	                .detail = "",
	                .incarnation = "inc1",
	                .gpu_type = "" },
	        1);
	assert_false(world_effect(w, EFFECT_END_RUN)->run.requeue);
	world_run_ends(w, id, 0);
	assert_string_equal(world_state(w, id), "CANCELLED");
	world_free(w);
}

static void requeued(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	uint64_t first, second;

	(void)state;
	world_register_all(w);
	first = world_submit(w, "h100:2");
	second = world_submit(w, "h100:2");
	world_run_starts(w, first);
	world_control(w, world_user(OWNER), JOB_REQUEUE, first);
	world_run_ends(w, first, 0);
	/* It stands where it stood: before what was submitted after it. */
	assert_string_equal(world_state(w, first), "CONFIGURING");
	assert_int_equal(world_view(w, first).attempt, 2);
	assert_string_equal(world_state(w, second), "PENDING");
	assert_string_equal(world_reason(w, second), "Resources");
	world_free(w);
}

/* --- waiting --------------------------------------------------------------------------------- */

static void waits(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	struct core_event wait = { .kind = EV_WAIT_JOB, .caller = world_user(OWNER) };
	struct core_event leave = { .kind = EV_WAIT_CANCEL };
	uint64_t a, b;

	(void)state;
	world_register_all(w);
	a = world_submit(w, "h100:2");
	b = world_submit(w, "h100:2");
	wait.wait = a;
	wait.caller.reply = 0; /* any number will do */
	world_apply(w, &wait);
	wait.caller.reply = 5;
	world_apply(w, &wait);
	wait.wait = b;
	world_apply(w, &wait);
	wait.caller.reply = 6;
	world_apply(w, &wait);
	leave.wait = 6;
	world_apply(w, &leave);
	world_apply(w, &leave);
	assert_null(world_effect(w, EFFECT_JOB_ENDED));
	world_run_ends(w, a, 0);
	assert_int_equal(world_effect_count(w, EFFECT_JOB_ENDED), 2);
	assert_int_equal(world_effect(w, EFFECT_JOB_ENDED)->reply, 5);
	world_clear(w);
	world_run_ends(w, b, 0);
	assert_int_equal(world_effect_count(w, EFFECT_JOB_ENDED), 1);
	assert_int_equal(world_effect(w, EFFECT_JOB_ENDED)->job, b);
	world_clear(w);
	world_apply(w, &wait);
	assert_int_equal(world_effect(w, EFFECT_JOB_ENDED)->reply, 6);
	world_free(w);
}

/* Told when it runs, and when it could not be started: not of its end, if that comes later. */
static void waits_for_the_start(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	struct core_event wait = { .kind = EV_WAIT_START, .caller = world_user(OWNER) };
	struct core_event leave = { .kind = EV_WAIT_CANCEL };
	struct run_report refused;
	uint64_t a, b;

	(void)state;
	a = world_submit(w, "h100:2");
	b = world_submit(w, "h100:2");
	wait.wait = a;
	wait.caller.reply = 5;
	world_apply(w, &wait);
	wait.caller.reply = 6;
	world_apply(w, &wait);
	leave.wait = 6;
	world_apply(w, &leave);
	world_register_all(w);
	assert_string_equal(world_state(w, a), "CONFIGURING");
	assert_null(world_effect(w, EFFECT_JOB_ENDED));
	world_run_starts(w, a);
	assert_int_equal(world_effect_count(w, EFFECT_JOB_ENDED), 1);
	assert_int_equal(world_effect(w, EFFECT_JOB_ENDED)->reply, 5);
	world_clear(w);
	world_apply(w, &wait); /* it runs already */
	assert_int_equal(world_effect(w, EFFECT_JOB_ENDED)->reply, 6);
	world_clear(w);
	wait.wait = b;
	world_apply(w, &wait);
	world_run_ends(w, a, 0);
	assert_null(world_effect(w, EFFECT_JOB_ENDED));
	refused = world_report(world_run(w, b), REPORT_NEVER);
	refused.cause = END_LAUNCH;
	refused.detail = "no such folder";
	world_say(w, 0, refused);
	assert_int_equal(world_effect_count(w, EFFECT_JOB_ENDED), 1);
	assert_int_equal(world_effect(w, EFFECT_JOB_ENDED)->job, b);
	world_free(w);
}

/* --- signatures ------------------------------------------------------------------------------ */

static void signature_expires(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	usec_t age = (usec_t)w->conf->controller.signature_age_s * 1000000, wall;
	uint64_t first, second;

	(void)state;
	world_register_all(w);
	first = world_submit(w, "h100:2");
	second = world_submit(w, "h100:2");
	world_run_starts(w, first);
	wall = w->now.wall;
	w->now.wall += age - 3500 * 1000000ll;
	world_run_ends(w, first, 0);
	assert_string_equal(world_state(w, second), "PENDING");
	assert_string_equal(world_reason(w, second), "SignatureExpired");
	/* The clock was wrong. */
	w->now.wall = wall + 1000000;
	world_pass(w, 1);
	assert_string_equal(world_state(w, second), "CONFIGURING");
	world_free(w);
}

/* A job of user 1000 or of another, and an array of which a task runs and one was told apart. */
static uint32_t resign(struct world *w, uint32_t uid, uint64_t id, uint8_t hash, usec_t when)
{
	struct spec_hash hashes[2] = { { { 0xee } } };
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = world_user(uid),
		.job = { .verb = JOB_RESIGN,
		        .ids = &id,
		        .n = 1,
		        .hashes = hashes,
		        .n_hashes = 2,
		        .sign_time = when } };

	memset(hashes[1].b, hash, sizeof(hashes[1].b));
	w->error = (struct error){ 0 };
	world_apply(w, &e);
	world_pass(w, 1);
	return w->done;
}

static uint64_t signed_job(struct world *w, uint8_t hash, const char *array)
{
	struct submit_job job = world_job(w, "h100:2");

	memset(job.spec_hash, hash, sizeof(job.spec_hash));
	job.array = array;
	return world_submit_job(w, &job, OWNER);
}

static uint32_t hold_task(struct world *w, uint64_t array, uint32_t task)
{
	struct taskset set;
	const struct taskset *sets[] = { &set };
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = world_user(OWNER),
		.job = { .verb = JOB_HOLD, .ids = &array, .tasks = sets, .n = 1, .reason = "" } };

	taskset_single(&set, task);
	world_apply(w, &e);
	taskset_clear(&set);
	return w->done;
}

static void signed_anew(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	usec_t age = (usec_t)w->conf->controller.signature_age_s * 1000000;
	uint64_t first, second, array;

	(void)state;
	world_register_all(w);
	first = signed_job(w, 1, "");
	second = signed_job(w, 2, "");
	array = signed_job(w, 3, "0-3");
	world_run_starts(w, first);
	w->now.wall += age;
	world_run_ends(w, first, 0);
	assert_string_equal(world_reason(w, second), "SignatureExpired");
	assert_string_equal(world_reason(w, array), "SignatureExpired");

	/* not by another, not with other bytes, not with an older one; what has ended, to requeue
	 * it */
	assert_int_equal(resign(w, OWNER + 1, second, 2, w->now.wall), 0);
	assert_int_equal(w->error.code, ERR_NOT_PERMITTED);
	assert_int_equal(resign(w, OWNER, second, 1, w->now.wall), 0);
	assert_int_equal(w->error.code, ERR_SIGNATURE);
	assert_int_equal(resign(w, OWNER, first, 2, w->now.wall), 0);
	assert_int_equal(w->error.code, ERR_SIGNATURE);
	assert_int_equal(resign(w, OWNER, second, 2, w->now.wall - 3 * age), 0);
	assert_int_equal(w->error.code, ERR_SIGNATURE);
	/* nor does one help that is too old itself */
	assert_int_equal(resign(w, OWNER, second, 2, w->now.wall - age), 1);
	assert_string_equal(world_reason(w, second), "SignatureExpired");

	assert_int_equal(resign(w, OWNER, second, 2, w->now.wall), 1);
	assert_string_equal(world_state(w, second), "CONFIGURING");
	world_run_starts(w, second);
	world_run_ends(w, second, 0);
	/* an array: what is left of it and what was told apart */
	assert_int_equal(hold_task(w, array, 1), 1);
	assert_int_equal(resign(w, OWNER, array, 3, w->now.wall), 1);
	assert_int_equal(world_view(w, array).tasks_running, 1);
	assert_int_equal(world_control(w, world_user(OWNER), JOB_RELEASE, array), 1);
	world_restart(w);
	assert_string_not_equal(world_reason(w, job_ref_of(array, 2)), "SignatureExpired");
	world_free(w);
}

static void refuse_signature(struct world *w, struct run_id run)
{
	struct run_report r = world_report(run, REPORT_NEVER);

	r.cause = END_LAUNCH;
	r.detail = "another munge key";
	r.signature_refused = true;
	world_say(w, 0, r);
}

/* By node after node, for one user after the other: the jobs are held, and no node is at fault. */
static void signature_refused(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	uint64_t ids[4], array;
	unsigned i;

	(void)state;
	world_register_all(w);
	for (i = 0; i < 4; i++) {
		struct submit_job job = world_job(w, "h100:2");

		memset(job.spec_hash, (int)i, sizeof(job.spec_hash));
		ids[i] = world_submit_job(w, &job, OWNER + i);
		refuse_signature(w, world_run(w, ids[i]));
		world_schedule(w);
		assert_string_equal(world_state(w, ids[i]), "PENDING");
		assert_string_equal(world_reason(w, ids[i]), "SignatureRefused");
		assert_non_null(strstr(
		        world_view(w, ids[i]).reason_text, "refused on n0: another munge key"));
	}
	assert_string_equal(world_node_view(w, 0).state, "idle");
	/* All of an array has one signature. */
	array = signed_job(w, 9, "0-3");
	refuse_signature(w, (struct run_id){ array, 0, 1, 0 });
	world_schedule(w);
	assert_string_equal(world_reason(w, array), "SignatureRefused");
	assert_string_equal(world_reason(w, job_ref_of(array, 1)), "SignatureRefused");
	assert_string_equal(world_node_view(w, 0).state, "idle");
	world_restart(w);
	world_register_all(w);
	assert_string_equal(world_reason(w, array), "SignatureRefused");

	/* Another one ends that; another user's hold it does not. */
	assert_int_equal(world_control(w, world_admin(), JOB_HOLD, ids[0]), 1);
	w->now.wall += 1000000;
	assert_int_equal(resign(w, OWNER, ids[0], 0, w->now.wall), 1);
	assert_string_equal(world_reason(w, ids[0]), "JobHeldAdmin");
	assert_int_equal(resign(w, OWNER, array, 9, w->now.wall), 1);
	assert_int_equal(world_view(w, array).tasks_running, 1);
	world_control(w, world_user(OWNER), JOB_CANCEL, array);
	world_say(w, 0, world_report((struct run_id){ array, 0, 2, 0 }, REPORT_NEVER));
	/* Or its owner says that it is to be tried again. */
	assert_int_equal(world_control(w, world_user(OWNER + 1), JOB_RELEASE, ids[1]), 1);
	world_schedule(w);
	assert_string_equal(world_state(w, ids[1]), "CONFIGURING");
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verbs),
		cmocka_unit_test(unknown_things),
		cmocka_unit_test(ends),
		cmocka_unit_test(node_notes),
		cmocka_unit_test(attempts_run_out),
		cmocka_unit_test(launches_fail),
		cmocka_unit_test(launches_fail_by_the_owner),
		cmocka_unit_test(cancel_before_start),
		cmocka_unit_test(cancel_too_late),
		cmocka_unit_test(requeue_then_cancel),
		cmocka_unit_test(requeued),
		cmocka_unit_test(waits),
		cmocka_unit_test(waits_for_the_start),
		cmocka_unit_test(signature_expires),
		cmocka_unit_test(signed_anew),
		cmocka_unit_test(signature_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
