/* test_core_gang_adopted.c - a gang that a restored backup does not know, or knows as it was before */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "testsuite/unit/lib/gang_world.h"

/* The second attempt runs on two nodes, and the database has the job waiting for its first. */
static struct world *restored(uint64_t *id, struct run_report r[2])
{
	struct world *w = world_simple(3, "h100:4");
	struct submit_job job = gang_job(w, "h100:4", 2);
	uint32_t rank;

	*id = world_submit_job(w, &job, 1000);
	world_restart(w);
	core_takeover(w->core, 0, 0);
	for (rank = 0; rank < 2; rank++) {
		r[rank] = world_report((struct run_id){ *id, 0, 2, rank }, REPORT_RUNNING);
		r[rank].gpus = 0xf;
		r[rank].nodes = 2;
	}
	return w;
}

static void adopted(void **state)
{
	struct run_report r[2];
	uint64_t id;
	struct world *w = restored(&id, r);

	(void)state;
	world_register(w, 2, "inc1", NULL, 0);
	world_register(w, 1, "inc1", &r[1], 1);
	assert_string_equal(world_state(w, id), "CONFIGURING"); /* until all of it is known */
	world_restart(w);
	world_register(w, 0, "inc1", &r[0], 1);
	assert_string_equal(world_state(w, id), "RUNNING");
	assert_string_equal(world_view(w, id).nodes, "n[0-1]");
	world_register(w, 1, "inc1", &r[1], 1);
	world_seal(w);
	ends(w, id, 1, END_EXIT, 0, 0);
	ends(w, id, 0, END_EXIT, 0, 0);
	assert_string_equal(world_state(w, id), "COMPLETED");
	world_free(w);
}

/* One had ended when the node registered: it says so then, or where there is no room for it in that
 * message, just after it. */
static void adopted_ended(void **state)
{
	static const struct {
		uint32_t code;
		bool later;
		const char *state;
	} rows[] = { { 0, false, "COMPLETED" }, { 5, false, "FAILED" }, { 0, true, "COMPLETED" },
		{ 5, true, "FAILED" } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct run_report r[2];
		uint64_t id;
		struct world *w = restored(&id, r);

		world_register(w, 1, "inc1", &r[1], 1);
		r[0].state = REPORT_ENDED;
		r[0].exit_code = rows[i].code;
		r[0].cause = END_EXIT;
		world_register(w, 0, "inc1", &r[0], !rows[i].later);
		if (rows[i].later)
			world_say(w, 0, r[0]);
		if (rows[i].code)
			only_told(w, id, 1, false);
		else
			assert_string_equal(world_state(w, id), "RUNNING");
		ends(w, id, 1, rows[i].code ? END_PEER : END_EXIT, 0, rows[i].code ? 15 : 0);
		assert_string_equal(world_state(w, id), rows[i].state);
		assert_int_equal(world_view(w, id).exit_code, rows[i].code);
		world_free(w);
	}
}

/* A rank turns up when the attempt is being ended. */
static void adopted_too_late(void **state)
{
	struct run_report r[2];
	uint64_t id;
	struct world *w = restored(&id, r);

	(void)state;
	world_register(w, 1, "inc1", &r[1], 1);
	world_control(w, world_user(1000), JOB_CANCEL, id);
	world_clear(w);
	world_register(w, 0, "inc1", &r[0], 1);
	only_told(w, id, 0, false);
	ends(w, id, 0, END_PEER, 0, 15);
	assert_string_equal(world_state(w, id), "COMPLETING");
	ends(w, id, 1, END_CANCEL, 0, 15);
	assert_string_equal(world_state(w, id), "CANCELLED");
	world_free(w);
}

/* The other rank is never heard of: nobody knows whether it lives. */
static void adopted_in_part(void **state)
{
	struct run_report r[2];
	uint64_t id;
	struct world *w = restored(&id, r);

	(void)state;
	world_register(w, 1, "inc1", &r[1], 1);
	world_register(w, 2, "inc1", NULL, 0);
	ends(w, id, 1, END_EXIT, 0, 0);
	assert_string_equal(world_state(w, id), "PENDING");
	assert_string_equal(world_reason(w, id), "JobHeldUser");
	/* It does, and holds what it has; the job waits for it. */
	world_register(w, 0, "inc1", &r[0], 1);
	assert_int_equal(world_control(w, world_user(1000), JOB_RELEASE, id), 1);
	assert_string_equal(world_reason(w, id), "AttemptAlive");
	r[0].state = REPORT_ENDED;
	r[0].cause = END_EXIT;
	world_say(w, 0, r[0]);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	/* Nobody knows how many more there were. */
	assert_int_equal(world_view(w, id).attempt, 103);
	world_seal(w);
	world_free(w);
}

/* The backup has the first attempt running, on nodes 0 and 1. In truth the second one came since, on
 * nodes 0 and 2, and node 2 tells of its rank while the first is not known to be over: it is a
 * orphan run. */
static struct world *overtaken(uint64_t *id, struct run_report r[2], const struct run_report *as)
{
	struct world *w = running(id, true);
	uint32_t rank;

	world_restart(w);
	core_takeover(w->core, 0, 0);
	for (rank = 0; rank < 2; rank++) {
		r[rank] = world_report((struct run_id){ *id, 0, 2, rank }, REPORT_RUNNING);
		r[rank].gpus = 0xf;
		r[rank].nodes = 2;
	}
	r[1].state = as->state;
	r[1].cause = as->cause;
	r[1].exit_code = as->exit_code;
	world_register(w, 2, "inc1", &r[1], 1);
	assert_string_equal(world_state(w, *id), "RUNNING");
	world_register(w, 1, "inc1", NULL, 0);
	assert_string_equal(world_state(w, *id), "COMPLETING");
	/* That ends the first attempt, so the job waits when this node tells of the second. */
	world_register(w, 0, "inc1", &r[0], 1);
	return w;
}

/* A job goes on with all of an attempt or with none of it: where one rank is an orphan run, or ended
 * badly while the job was at another attempt, the others are orphan runs too. */
static void adopted_whole_or_not(void **state)
{
	static const struct run_report orphans[] = {
		{ .state = REPORT_STARTING },
		{ .state = REPORT_RUNNING },
		{ .state = REPORT_ENDED, .cause = END_EXIT, .exit_code = 3 },
		{ .state = REPORT_ENDED, .cause = END_NODE_FAIL },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(orphans) / sizeof(*orphans); i++) {
		struct run_report r[2];
		uint64_t id;
		struct world *w = overtaken(&id, r, &orphans[i]);
		uint32_t rank;

		assert_string_equal(world_state(w, id), "PENDING");
		assert_string_equal(world_reason(w, id), "AttemptAlive");
		assert_int_equal(world_view(w, id).attempt, 1);
		world_restart(w);
		for (rank = 0; rank < 2; rank++)
			world_register(w, rank ? 2 : 0, "inc1", &r[rank], 1);
		world_register(w, 1, "inc1", NULL, 0);
		assert_string_equal(world_reason(w, id), "AttemptAlive");
		for (rank = 0; rank < 2; rank++) {
			r[rank].state = REPORT_ENDED;
			r[rank].cause = END_EXIT;
			world_say(w, rank ? 2 : 0, r[rank]);
		}
		assert_string_equal(world_state(w, id), "CONFIGURING");
		assert_int_equal(world_view(w, id).attempt, 103);
		world_seal(w);
		world_free(w);
	}
}

/* A rank that ended well leaves nothing to be ended: the job goes on with the other one. */
static void adopted_after_a_good_end(void **state)
{
	const struct run_report ended = { .state = REPORT_ENDED, .cause = END_EXIT };
	struct run_report r[2];
	uint64_t id;
	struct world *w = overtaken(&id, r, &ended);

	(void)state;
	assert_string_equal(world_state(w, id), "RUNNING");
	assert_int_equal(world_view(w, id).attempt, 2);
	world_restart(w);
	world_register(w, 0, "inc1", &r[0], 1);
	ends(w, id, 0, END_EXIT, 0, 0);
	assert_string_equal(world_state(w, id), "COMPLETED");
	world_seal(w);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adopted),
		cmocka_unit_test(adopted_ended),
		cmocka_unit_test(adopted_too_late),
		cmocka_unit_test(adopted_in_part),
		cmocka_unit_test(adopted_whole_or_not),
		cmocka_unit_test(adopted_after_a_good_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
