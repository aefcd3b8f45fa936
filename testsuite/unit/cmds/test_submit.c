/* test_submit.c - cmds/api/submit.h: jobs reach the controller once, whatever breaks */
#include "testsuite/unit/lib/client_lab.h"

#include <stdio.h>

#include "cmds/api/spec.h"
#include "cmds/api/submit.h"
#include "common/base/splitmix.h"
#include "common/base/xalloc.h"

static void test_one(void **state)
{
	struct submit_queue *q = submit_queue_new(client);
	struct gpusched_spec spec;
	struct submit_answer a;
	struct error err;

	(void)state;
	fill(&spec);
	assert_int_equal(submit_receive(q, &a, -1, &err), 0);
	assert_int_equal(submit_send(q, &spec, 1, 42, &err), 0);
	assert_int_equal(submit_under_way(q), 1);
	assert_int_equal(submit_receive(q, &a, -1, &err), 1);
	assert_int_equal(a.error.code, 0);
	assert_int_equal(a.tag, 42);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.ids[0], 1);
	assert_int_equal(submit_under_way(q), 0);
	submit_queue_free(q);
}

/* What breaks, and what comes of it: one job each time, whatever happened on the way. */
static void test_breaks(void **state)
{
	static const struct {
		enum act acts[4];
		size_t n;
		int code;
		size_t jobs, repeats;
	} rows[] = {
		{ { ANSWER }, 1, 0, 1, 0 },
		{ { DROP_BEFORE }, 1, 0, 1, 0 },
		{ { DROP_AFTER }, 1, 0, 1, 1 },
		{ { DROP_AFTER, DROP_AFTER, DROP_BEFORE }, 3, 0, 1, 2 },
		{ { BUSY }, 1, 0, 1, 0 },
		{ { BUSY, BUSY, DROP_AFTER }, 3, 0, 1, 1 },
		{ { REFUSE }, 1, ERR_JOB_NEVER, 0, 0 },
		{ { DROP_AFTER, REFUSE }, 2, ERR_JOB_NEVER, 1, 0 },
		{ { EXPIRED }, 1, ERR_MUNGE_CLOCK, 0, 0 },
	};
	struct submit_queue *q = submit_queue_new(client);
	struct gpusched_spec spec;

	(void)state;
	fill(&spec);
	for (size_t i = 0; i < LEN(rows); i++) {
		size_t jobs = server.n_jobs, repeats = server.repeats;
		struct submit_answer a;
		struct error err;

		plan(rows[i].n, rows[i].acts);
		assert_int_equal(submit_send(q, &spec, 1, i, &err), 0);
		assert_int_equal(submit_receive(q, &a, -1, &err), 1);
		assert_int_equal(a.tag, i);
		assert_int_equal(a.error.code, rows[i].code);
		assert_int_equal(server.n_jobs - jobs, rows[i].jobs);
		assert_int_equal(server.repeats - repeats, rows[i].repeats);
		if (!rows[i].code)
			assert_int_equal(a.ids[0], server.n_jobs);
		else
			assert_null(a.ids);
	}
	submit_queue_free(q);
}

/* Hundreds of groups under way over a connection that breaks all the time: each job once, answers
 * in the order of sending. */
static void test_pipeline(void **state)
{
	struct submit_queue *q = submit_queue_new(client);
	struct gpusched_spec specs[GPUSCHED_GROUP_MAX];
	bool *seen = xcalloc(JOBS_MAX, 1);
	uint64_t sent = 0, received = 0, jobs = 0, seed = 7;
	struct submit_answer a;
	struct error err;

	(void)state;
	for (size_t i = 0; i < GPUSCHED_GROUP_MAX; i++)
		fill(&specs[i]);
	server.seed = 1;
	client_set_retry(client, 30000);
	while (received < 300) {
		if (sent < 300 && submit_under_way(q) < 40) {
			size_t n = splitmix_next(&seed) % GPUSCHED_GROUP_MAX + 1;

			assert_int_equal(submit_send(q, specs, n, sent * 100 + n, &err), 0);
			sent++;
			continue;
		}
		assert_int_equal(submit_receive(q, &a, -1, &err), 1);
		assert_int_equal(a.error.code, 0);
		assert_int_equal(a.tag, received * 100 + a.n);
		for (size_t i = 0; i < a.n; i++) {
			assert_in_range(a.ids[i], 1, server.n_jobs);
			assert_false(seen[a.ids[i]]);
			seen[a.ids[i]] = true;
			jobs++;
		}
		received++;
	}
	assert_int_equal(jobs, server.n_jobs);
	assert_true(server.repeats > 0 && server.connections > 5);
	free(seen);
	submit_queue_free(q);
}

static void test_unreachable(void **state)
{
	struct submit_queue *q = submit_queue_new(client);
	struct gpusched_spec spec;
	struct submit_answer a;
	struct error err;

	(void)state;
	fill(&spec);
	client_set_retry(client, 0);
	plan(1, (enum act[]){ DROP_AFTER });
	assert_int_equal(submit_send(q, &spec, 1, 1, &err), 0);
	while (!server.n_jobs)
		sched_yield();
	server_stop();
	/* what is under way stays so; nothing new can be sent */
	assert_int_equal(submit_receive(q, &a, -1, &err), -1);
	assert_int_equal(err.code, ERR_UNREACHABLE);
	assert_int_equal(submit_under_way(q), 1);
	assert_int_equal(submit_send(q, &spec, 1, 2, &err), -1);
	assert_int_equal(submit_under_way(q), 1);
	server_start();
	assert_int_equal(submit_receive(q, &a, -1, &err), 1);
	assert_int_equal(a.tag, 1);
	assert_int_equal(a.ids[0], 1);
	assert_int_equal(server.n_jobs, 1);
	submit_queue_free(q);
}

static void test_timeout_of_receive(void **state)
{
	struct submit_queue *q = submit_queue_new(client);
	struct gpusched_spec spec;
	struct submit_answer a;
	struct error err;
	int rc;

	(void)state;
	fill(&spec);
	assert_int_equal(submit_send(q, &spec, 1, 1, &err), 0);
	do
		rc = submit_receive(q, &a, 0, &err);
	while (rc == 0);
	assert_int_equal(rc, 1);
	assert_int_equal(a.ids[0], 1);
	submit_queue_free(q);
}

/* A credential that has become old is made anew, the signed bytes stay. */
static void test_sign_again(void **state)
{
	struct submit_queue *q = submit_queue_new(client);
	struct gpusched_spec spec;
	struct submit_answer a;
	struct error err;

	(void)state;
	fill(&spec);
	plan(2, (enum act[]){ DROP_AFTER, EXPIRED });
	assert_int_equal(submit_send(q, &spec, 1, 1, &err), 0);
	time_shift = 250;
	assert_int_equal(submit_receive(q, &a, -1, &err), 1);
	/* sent again with a fresh credential, which the server then calls expired: final */
	assert_int_equal(a.error.code, ERR_MUNGE_CLOCK);
	plan(1, (enum act[]){ DROP_AFTER });
	assert_int_equal(submit_send(q, &spec, 1, 2, &err), 0);
	time_shift = 500;
	assert_int_equal(submit_receive(q, &a, -1, &err), 1);
	assert_int_equal(a.error.code, 0);
	assert_int_equal(a.ids[0], 2);
	assert_int_equal(server.n_jobs, 2);
	submit_queue_free(q);
}

static void test_token(void **state)
{
	struct submit_queue *q = submit_queue_new(client);
	struct gpusched_spec spec;
	struct submit_answer a;
	struct error err;

	(void)state;
	fill(&spec);
	spec.token = "again";
	for (int i = 0; i < 2; i++) {
		assert_int_equal(submit_send(q, &spec, 1, 0, &err), 0);
		assert_int_equal(submit_receive(q, &a, -1, &err), 1);
		assert_int_equal(a.ids[0], 1);
	}
	spec.name = "other";
	assert_int_equal(submit_send(q, &spec, 1, 0, &err), 0);
	assert_int_equal(submit_receive(q, &a, -1, &err), 1);
	assert_int_equal(a.error.code, ERR_TOKEN);
	spec.token = "another";
	assert_int_equal(submit_send(q, &spec, 1, 0, &err), 0);
	assert_int_equal(submit_receive(q, &a, -1, &err), 1);
	assert_int_equal(a.ids[0], 2);
	submit_queue_free(q);
}

/* --- what is refused before it is sent ----------------------------------------------------------
 */

static void test_bad_specs(void **state)
{
	static const char *const no_equals[] = { "A", NULL }, *const bad_label[] = { "x", NULL };
	struct submit_queue *q = submit_queue_new(client);
	struct gpusched_spec specs[GPUSCHED_GROUP_MAX + 1];
	char *big = xcalloc(1, 100000);
	struct error err;

	(void)state;
#define REFUSED(change, what)                                            \
	do {                                                             \
		fill(&specs[0]);                                         \
		change;                                                  \
		assert_int_equal(submit_send(q, specs, 1, 0, &err), -1); \
		assert_non_null(strstr(err.text, what));                 \
	} while (0)
	REFUSED(specs[0].script_len = 0, "empty");
	REFUSED((specs[0].script = "echo\n", specs[0].script_len = 5), "#!");
	REFUSED(specs[0].size = 4, "gpusched_spec_init");
	REFUSED(specs[0].cwd = "here", "director");
	REFUSED(specs[0].env = no_equals, "env");
	REFUSED(specs[0].labels = bad_label, "label");
	REFUSED(specs[0].gpus = "h100:2,4", "gpus");
	REFUSED(specs[0].name = "a\nb", "name");
	REFUSED(specs[0].partition = "a\033b", "partition");
	REFUSED(specs[0].umask = 01000, "umask");

	for (size_t i = 0; i < LEN(specs); i++)
		fill(&specs[i]);
	assert_int_equal(submit_send(q, specs, 0, 0, &err), -1);
	assert_int_equal(submit_send(q, specs, LEN(specs), 0, &err), -1);
	specs[3].cwd = "here";
	assert_int_equal(submit_send(q, specs, 5, 0, &err), -1);
	assert_memory_equal(err.text, "job 4 of 5: ", 12);
	specs[3].cwd = NULL;
	memset(big, 'x', 99999);
	memcpy(big, "#!/bin/sh\n", 10);
	for (size_t i = 0; i < GPUSCHED_GROUP_MAX; i++) {
		specs[i].script = big;
		specs[i].script_len = 99999;
	}
	assert_int_equal(submit_send(q, specs, GPUSCHED_GROUP_MAX, 0, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.text, "KiB"));
	assert_int_equal(submit_under_way(q), 0);
	assert_int_equal(server.submits, 0);
	free(big);
	submit_queue_free(q);
}

/* --- nothing is submitted ----------------------------------------------------------------------
 */

static void on_test_result(const Gpusched__SubmitResult *r, void *arg)
{
	assert_true(r->would_start_now);
	assert_string_equal(r->node, "h07");
	++*(int *)arg;
}

static void test_test_only(void **state)
{
	struct gpusched_spec spec;
	struct error err;
	int results = 0;

	(void)state;
	fill(&spec);
	assert_int_equal(submit_test(client, &spec, NULL, on_test_result, &results, &err), 0);
	assert_int_equal(results, 1);
	assert_int_equal(server.n_jobs, 0);
	plan(1, (enum act[]){ REFUSE });
	assert_int_equal(submit_test(client, &spec, NULL, on_test_result, &results, &err), -1);
	assert_int_equal(err.code, ERR_JOB_NEVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLIENT_TEST(test_one),
		CLIENT_TEST(test_breaks),
		CLIENT_TEST(test_pipeline),
		CLIENT_TEST(test_unreachable),
		CLIENT_TEST(test_timeout_of_receive),
		CLIENT_TEST(test_sign_again),
		CLIENT_TEST(test_token),
		CLIENT_TEST(test_bad_specs),
		CLIENT_TEST(test_test_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
