/* test_client.c - cmds/api/client.h: requests, their answers, and connections that break */
#include "testsuite/unit/lib/client_lab.h"

static int count_chunk(const ProtobufCMessage *m, void *arg, struct error *err)
{
	int *count = arg;

	(void)m, (void)err;
	++*count;
	return 0;
}

static int refuse_chunk(const ProtobufCMessage *m, void *arg, struct error *err)
{
	(void)m, (void)arg;
	return error_set(err, ERR_USAGE, "enough");
}

/* A listing is asked for again, but not once part of it was handed over. */
static void test_listing(void **state)
{
	static const struct {
		enum act act;
		bool repeatable;
		int rc, chunks;
	} rows[] = {
		{ ANSWER, true, 0, 2 },
		{ DROP_BEFORE, true, 0, 2 },
		{ DROP_BEFORE, false, -1, 0 },
		{ CUT_LIST, true, -1, 1 },
		{ ANSWER, false, 0, 2 },
	};
	Gpusched__ListJobs list = GPUSCHED__LIST_JOBS__INIT;

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		int chunks = 0;
		struct client_call call = { T(LIST_JOBS), &list.base, count_chunk, &chunks, 0,
			rows[i].repeatable, T(JOB_CHUNK) };
		struct error err = { .code = ERR_NONE };

		plan(1, &rows[i].act);
		assert_int_equal(client_call(client, &call, &err), rows[i].rc);
		assert_int_equal(chunks, rows[i].chunks);
		assert_int_equal(err.code, rows[i].rc ? ERR_UNREACHABLE : ERR_NONE);
	}
}

/* A refusal leaves the connection as it was; a callback that has enough gives it up. */
static void test_connection_after_errors(void **state)
{
	Gpusched__Shutdown shutdown_request = GPUSCHED__SHUTDOWN__INIT;
	Gpusched__ListJobs list = GPUSCHED__LIST_JOBS__INIT;
	struct client_call refused = { T(SHUTDOWN), &shutdown_request.base, NULL, NULL, 0, false, 0 };
	struct client_call ended = { T(LIST_JOBS), &list.base, refuse_chunk, NULL, 0, true,
		T(JOB_CHUNK) };
	struct error err;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(client_call(client, &refused, &err), -1);
		assert_int_equal(err.code, ERR_NOT_PERMITTED);
	}
	assert_int_equal(client_generation(client), 1);
	assert_int_equal(client_call(client, &ended, &err), -1);
	assert_string_equal(err.text, "enough");
	assert_int_equal(client_call(client, &refused, &err), -1);
	assert_int_equal(client_generation(client), 2);
}

/* What tells the user that he waits: once in each stretch, with the reason. */
static int told;

static void tell(const struct error *why, void *arg)
{
	assert_int_equal(why->code, ERR_UNREACHABLE);
	assert_ptr_equal(arg, &told);
	told++;
}

static void test_tells_once(void **state)
{
	Gpusched__ListJobs list = GPUSCHED__LIST_JOBS__INIT;
	struct client_call call = { T(LIST_JOBS), &list.base, NULL, NULL, 0, true, 0 };
	struct error err;

	(void)state;
	server_stop();
	told = 0;
	client_on_retry(client, tell, &told);
	client_set_retry(client, 3500);
	assert_int_equal(client_call(client, &call, &err), -1);
	assert_int_equal(err.code, ERR_UNREACHABLE);
	assert_int_equal(told, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLIENT_TEST(test_listing),
		CLIENT_TEST(test_connection_after_errors),
		CLIENT_TEST(test_tells_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
