/* test_rpc.c - who may send what: every message type in every role, and no other type */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/msg.h"
#include "ctld/rpc/rpc.h"

#define T(name) GPUSCHED__MSG_TYPE__MSG_##name

/* The whole truth, by hand: what a user, an administrator and an agent may send. */
static const struct {
	unsigned type;
	int user, admin, agent; /* 0 or the error */
} truth[] = {
	{ T(PING), 0, 0, ERR_PROTOCOL },
	{ T(SUBMIT), 0, 0, ERR_PROTOCOL },
	{ T(SUBMIT_BULK), 0, 0, ERR_PROTOCOL },
	{ T(JOB_CONTROL), 0, 0, ERR_PROTOCOL },
	{ T(LIST_JOBS), 0, 0, ERR_PROTOCOL },
	{ T(LIST_NODES), 0, 0, ERR_PROTOCOL },
	{ T(LIST_PARTITIONS), 0, 0, ERR_PROTOCOL },
	{ T(NODE_CONTROL), ERR_NOT_PERMITTED, 0, ERR_PROTOCOL },
	{ T(WAIT_JOBS), 0, 0, ERR_PROTOCOL },
	{ T(STATS), 0, 0, ERR_PROTOCOL },
	{ T(RECONFIGURE), ERR_NOT_PERMITTED, 0, ERR_PROTOCOL },
	{ T(SHUTDOWN), ERR_NOT_PERMITTED, 0, ERR_PROTOCOL },
	{ T(JOB_WHY), 0, 0, ERR_PROTOCOL },
	{ T(LIST_PRIOS), 0, 0, ERR_PROTOCOL },
	{ T(LIST_SHARES), 0, 0, ERR_PROTOCOL },
	{ T(SHOW_CONFIG), 0, 0, ERR_PROTOCOL },
	{ T(PARTITION_CONTROL), ERR_NOT_PERMITTED, 0, ERR_PROTOCOL },
	{ T(WATCH_JOBS), 0, 0, ERR_PROTOCOL },
	{ T(LIST_ACCT), 0, 0, ERR_PROTOCOL },
	{ T(REPORT), 0, 0, ERR_PROTOCOL },
	{ T(BACKUP), ERR_NOT_PERMITTED, 0, ERR_PROTOCOL },
	{ T(LIST_EVENTS), 0, 0, ERR_PROTOCOL },
	{ T(REGISTER), ERR_PROTOCOL, ERR_PROTOCOL, 0 },
	{ T(RUN_REPORT), ERR_PROTOCOL, ERR_PROTOCOL, 0 },
	{ T(HEARTBEAT), ERR_PROTOCOL, ERR_PROTOCOL, 0 },
	{ T(STREAM_OPEN), 0, 0, ERR_PROTOCOL },
	{ T(STREAM_DATA), 0, 0, 0 },
	{ T(STREAM_CREDIT), 0, 0, 0 },
	{ T(STREAM_CLOSE), 0, 0, 0 },
};

static int verdict(unsigned type, bool agent, bool admin)
{
	struct error err = { 0 };
	int ret = rpc_permitted(type, agent, admin, &err);

	assert_int_equal(ret, err.code ? -1 : 0);
	return err.code;
}

static void test_every_type_in_every_role(void **state)
{
	(void)state;
	for (unsigned type = 0; type <= UINT16_MAX; type++) {
		int user = ERR_PROTOCOL, admin = ERR_PROTOCOL, agent = ERR_PROTOCOL;

		for (size_t i = 0; i < sizeof(truth) / sizeof(truth[0]); i++)
			if (truth[i].type == type) {
				user = truth[i].user;
				admin = truth[i].admin;
				agent = truth[i].agent;
			}
		if (verdict(type, false, false) != user || verdict(type, false, true) != admin ||
		        verdict(type, true, false) != agent || verdict(type, true, true) != agent)
			fail_msg("type %u (%s)", type, msg_name(type));
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
		enum rpc_role role = rpc_role(types[i].type);
		bool from_user = types[i].from & MSG_BY_USER;
		bool from_agent = types[i].from & MSG_BY_AGENT;

		if (from_user != (role == RPC_USER || role == RPC_ADMIN || role == RPC_BOTH) ||
		        from_agent != (role == RPC_AGENT || role == RPC_BOTH))
			fail_msg("%s", types[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type_in_every_role),
		cmocka_unit_test(test_the_frames_table_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
