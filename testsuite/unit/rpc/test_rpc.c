/* test_rpc.c - who may send what: every message type as whoever can have a session, and no other
 * type
 *
 * What the verbs of the types permit is in test_roles.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/net/msg.h"
#include "ctld/rpc/rpc.h"

#define T(name) GPUSCHED__MSG_TYPE__MSG_##name

/* The whole truth, by hand: what a user, an operator, an administrator and an agent may send. */
static const struct {
	unsigned type;
	int user, oper, admin, agent; /* 0 or the error */
} truth[] = {
#define FOR_ALL   0, 0, 0, ERR_PROTOCOL
#define FOR_STAFF ERR_NOT_PERMITTED, 0, 0, ERR_PROTOCOL
#define FOR_ADMIN ERR_NOT_PERMITTED, ERR_NOT_PERMITTED, 0, ERR_PROTOCOL
#define FOR_AGENT ERR_PROTOCOL, ERR_PROTOCOL, ERR_PROTOCOL, 0
	{ T(PING), FOR_ALL },
	{ T(SUBMIT), FOR_ALL },
	{ T(SUBMIT_BULK), FOR_ALL },
	{ T(JOB_CONTROL), FOR_ALL },
	{ T(LIST_JOBS), FOR_ALL },
	{ T(LIST_NODES), FOR_ALL },
	{ T(LIST_PARTITIONS), FOR_ALL },
	{ T(NODE_CONTROL), FOR_STAFF },
	{ T(WAIT_JOBS), FOR_ALL },
	{ T(STATS), FOR_ALL },
	{ T(RECONFIGURE), FOR_ADMIN },
	{ T(SHUTDOWN), FOR_ADMIN },
	{ T(JOB_WHY), FOR_ALL },
	{ T(LIST_PRIOS), FOR_ALL },
	{ T(LIST_SHARES), FOR_ALL },
	{ T(SHOW_CONFIG), FOR_ALL },
	{ T(PARTITION_CONTROL), FOR_STAFF },
	{ T(WATCH_JOBS), FOR_ALL },
	{ T(LIST_ACCT), FOR_ALL },
	{ T(REPORT), FOR_ALL },
	{ T(BACKUP), FOR_ADMIN },
	{ T(ARCHIVE), FOR_ADMIN },
	{ T(LIST_EVENTS), FOR_ALL },
	{ T(SHOW_SCRIPT), FOR_ALL },
	{ T(STEP_REPORTS), FOR_ALL },
	{ T(LIST_STEPS), FOR_ALL },
	{ T(LIST_SERVICES), FOR_ALL },
	{ T(SERVICE_CONTROL), FOR_ALL },
	{ T(RESIGN), FOR_ALL },
	{ T(LOOK_AS), FOR_ADMIN },
	{ T(REGISTER), FOR_AGENT },
	{ T(RUN_REPORT), FOR_AGENT },
	{ T(HEARTBEAT), FOR_AGENT },
	{ T(RUNS_USED), FOR_AGENT },
	{ T(GPU_REPORT), FOR_AGENT },
	{ T(RUNS_LOAD), FOR_AGENT },
	{ T(STREAM_OPEN), FOR_ALL },
	{ T(STREAM_DATA), 0, 0, 0, 0 },
	{ T(STREAM_CREDIT), 0, 0, 0, 0 },
	{ T(STREAM_CLOSE), 0, 0, 0, 0 },
};

static int verdict(unsigned type, unsigned standing)
{
	struct error err = { 0 };
	int ret = rpc_permitted(type, standing, &err);

	assert_int_equal(ret, err.code ? -1 : 0);
	return err.code;
}

static void test_every_type_for_everybody(void **state)
{
	(void)state;
	for (unsigned type = 0; type <= UINT16_MAX; type++) {
		int user = ERR_PROTOCOL, oper = ERR_PROTOCOL, admin = ERR_PROTOCOL,
		    agent = ERR_PROTOCOL;

		for (size_t i = 0; i < sizeof(truth) / sizeof(truth[0]); i++)
			if (truth[i].type == type) {
				user = truth[i].user;
				oper = truth[i].oper;
				admin = truth[i].admin;
				agent = truth[i].agent;
			}
		if (verdict(type, AS_USER) != user ||
		        verdict(type, AS_USER | AS_OPERATOR) != oper ||
		        verdict(type, AS_USER | AS_ADMIN) != admin ||
		        verdict(type, AS_AGENT) != agent)
			fail_msg("type %u (%s)", type, msg_name(type));
	}
}

/* A web user looks, hands in what others have signed, and asks for output: of whose and of which jobs
 * is for the handler to say (test_roles.py). */
static void test_a_web_user(void **state)
{
	static const unsigned may[] = { T(PING), T(SUBMIT), T(SUBMIT_BULK), T(LIST_JOBS),
		T(LIST_NODES), T(LIST_PARTITIONS), T(WAIT_JOBS), T(STATS), T(JOB_WHY),
		T(LIST_PRIOS), T(LIST_SHARES), T(SHOW_CONFIG), T(WATCH_JOBS), T(LIST_ACCT),
		T(REPORT), T(LIST_EVENTS), T(LIST_STEPS), T(LIST_SERVICES), T(LOOK_AS),
		T(STREAM_OPEN), T(STREAM_DATA), T(STREAM_CREDIT), T(STREAM_CLOSE) };

	(void)state;
	for (size_t i = 0; i < sizeof(truth) / sizeof(truth[0]); i++) {
		int want = truth[i].user == ERR_PROTOCOL ? ERR_PROTOCOL : ERR_NOT_PERMITTED;

		for (size_t k = 0; k < sizeof(may) / sizeof(may[0]); k++)
			if (may[k] == truth[i].type)
				want = 0;
		if (verdict(truth[i].type, AS_WEB) != want)
			fail_msg("%s", msg_name(truth[i].type));
	}
}

/* Every request that changes something leaves an event, of this kind. All others only look, or are
 * what nodes and step managers tell. */
static void test_what_changes_leaves_an_event(void **state)
{
	static const struct {
		unsigned type;
		const char *event;
	} changes[] = {
		{ T(SUBMIT), "job.submit" },
		{ T(SUBMIT_BULK), "job.submit" },
		{ T(JOB_CONTROL), "job" },
		{ T(RESIGN), "job.resign" },
		{ T(SERVICE_CONTROL), "service" },
		{ T(NODE_CONTROL), "node" },
		{ T(PARTITION_CONTROL), "partition.state" },
		{ T(RECONFIGURE), "controller.reconfigure" },
		{ T(BACKUP), "controller.backup" },
		{ T(ARCHIVE), "controller.archive" },
		{ T(SHUTDOWN), "controller.shutdown" },
	};
	static const unsigned looks[] = { T(PING), T(LIST_JOBS), T(LIST_NODES), T(LIST_PARTITIONS),
		T(WAIT_JOBS), T(STATS), T(JOB_WHY), T(LIST_PRIOS), T(LIST_SHARES), T(SHOW_CONFIG),
		T(WATCH_JOBS), T(LIST_ACCT), T(REPORT), T(LIST_EVENTS), T(SHOW_SCRIPT),
		T(STREAM_OPEN), T(STREAM_DATA), T(STREAM_CREDIT), T(STREAM_CLOSE), T(REGISTER),
		T(RUN_REPORT), T(HEARTBEAT), T(RUNS_USED), T(GPU_REPORT), T(STEP_REPORTS),
		T(LIST_STEPS), T(LIST_SERVICES), T(RUNS_LOAD), T(LOOK_AS) };

	(void)state;
	for (unsigned type = 0; type <= UINT16_MAX; type++) {
		const char *event = NULL;
		bool known = false;

		for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
			if (changes[i].type == type)
				event = changes[i].event;
		for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
			known |= looks[i] == type;
		if ((rpc_verb(type) != VERB_COUNT) != (known || event))
			fail_msg("%s: does it change anything?", msg_name(type));
		if (!event != !rpc_event(type) || (event && strcmp(event, rpc_event(type)) != 0))
			fail_msg("%s: %s", msg_name(type), rpc_event(type));
	}
}

/* The two tables, of frames and of handlers, say the same: nothing that a frame reader lets in is
 * without a row here, and nothing here can never come. */
static void test_the_frames_table_agrees(void **state)
{
	const struct msg_type *types;
	size_t n;

	(void)state;
	types = msg_types(&n);
	for (size_t i = 0; i < n; i++) {
		enum verb verb = rpc_verb(types[i].type);
		unsigned who = verb == VERB_COUNT ? 0 : verb_who(verb);
		bool from_user = types[i].from & MSG_BY_USER;
		bool from_agent = types[i].from & MSG_BY_AGENT;

		if (from_user != (bool)(who & (AS_USER | AS_STAFF | AS_WEB)) ||
		        from_agent != (bool)(who & AS_AGENT))
			fail_msg("%s", types[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type_for_everybody),
		cmocka_unit_test(test_a_web_user),
		cmocka_unit_test(test_what_changes_leaves_an_event),
		cmocka_unit_test(test_the_frames_table_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
