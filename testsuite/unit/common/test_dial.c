/* test_dial.c - the blocking client: whole requests, pipelining, and what it says when it fails */
#include <errno.h>
#include <stdio.h>

#include "testsuite/unit/lib/lab.h"

#include "common/base/backoff.h"

/* Clients run in a thread, without cmocka: they leave what they saw here. */
struct result {
	struct dial_to to;
	struct error err;
	int rc;
	int chunks;
	uint32_t uid;
	int count;
	size_t size;
};

static int on_chunk(unsigned type, const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct result *r = arg;

	(void)err;
	if (type == T(PONG))
		r->uid = ((const Gpusched__Pong *)m)->uid;
	r->chunks++;
	return 0;
}

static void client_ping(void *arg)
{
	Gpusched__Ping ping = GPUSCHED__PING__INIT;
	struct result *r = arg;
	struct dial_call call = { T(PING), &ping.base, on_chunk, r, 20000, NULL };
	struct dial *d = dial_open(&r->to, &r->err);

	r->rc = -1;
	for (int i = 0; d && i < r->count; i++)
		r->rc = dial_call(d, &call, &r->err);
	dial_close(d);
}

static void test_ping(void **state)
{
	struct result r = { .count = 3 };

	(void)state;
	lab_new();
	r.to = lab_dial_to();
	lab_client(client_ping, &r);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.chunks, 3);
	assert_int_equal(r.uid, USER_UID);
	assert_string_equal(lab.s.peer.node, "");
	UNTIL(lab.s.closed == 1);
	lab_free();
}

/* What a user reads. */
static void test_failures(void **state)
{
	enum { OUR_MUNGE, KEY, CLOCK, THEIR_MUNGE, CLUSTER, NOBODY, NAME, USER, BUSY };
	static const struct {
		int wrong, want, exit_status;
		const char *says;
	} rows[] = {
		{ OUR_MUNGE, ERR_MUNGE_DOWN, EXIT_NO_CONTROLLER,
		        "the munge daemon does not answer at" },
		{ KEY, ERR_MUNGE_KEY, EXIT_NO_CONTROLLER, "the munge keys differ" },
		{ CLOCK, ERR_MUNGE_CLOCK, EXIT_NO_CONTROLLER, "the clocks differ" },
		{ THEIR_MUNGE, ERR_MUNGE_DOWN, EXIT_NO_CONTROLLER,
		        "its munge daemon does not answer" },
		{ CLUSTER, ERR_CLUSTER, EXIT_NO_CONTROLLER, "it serves another cluster" },
		{ NOBODY, ERR_UNREACHABLE, EXIT_NO_CONTROLLER,
		        "cannot reach the controller at 127.0.0.1:1: Connection refused" },
		{ NAME, ERR_UNREACHABLE, EXIT_NO_CONTROLLER,
		        "cannot reach the controller at no such host:" },
		{ USER, ERR_AUTH, EXIT_NOT_PERMITTED, "does not accept our credential" },
		{ BUSY, ERR_BUSY, EXIT_NO_CONTROLLER, "too busy" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hello_rules other = { "controller", "c2", NULL, CTL_UID };
		struct fake_munge *elsewhere = fake_munge_new(2);
		struct mcred_ops *stranger = fake_munge_client(elsewhere, USER_UID, 1);
		struct result r = { .count = 1 };
		int wrong = rows[i].wrong;

		lab_new();
		r.to = lab_dial_to();
		fake_munge_set_down(lab.client_host, wrong == OUR_MUNGE);
		fake_munge_set_down(lab.server_host, wrong == THEIR_MUNGE);
		if (wrong == KEY)
			r.to.mcred = stranger;
		if (wrong == CLOCK)
			fake_munge_set_time(lab.server_host, 1000000 + 400);
		if (wrong == CLUSTER)
			assert_int_equal(sessions_set_rules(lab.ctl, &other, NULL), 0);
		if (wrong == NOBODY)
			r.to.port = 1;
		if (wrong == NAME)
			r.to.host = "no such host";
		if (wrong == USER)
			r.to.server_uid = CTL_UID + 1;
		if (wrong == BUSY)
			lab.s.refuse_with = ERR_BUSY;
		lab_client(client_ping, &r);
		if (r.rc != -1 || r.err.code != rows[i].want || !strstr(r.err.text, rows[i].says))
			fail_msg("row %zu: %d %d '%s'", i, r.rc, r.err.code, r.err.text);
		assert_int_equal(error_exit_status(r.err.code), rows[i].exit_status);
		assert_int_equal(dial_may_retry(&r.err),
		        rows[i].want == ERR_BUSY || rows[i].want == ERR_UNREACHABLE);
		mcred_ops_free(stranger);
		fake_munge_free(elsewhere);
		lab_free();
	}
}

static void *ping_thread(void *arg)
{
	client_ping(arg);
	return NULL;
}

/* Somebody listens and says nothing, or says nonsense, or hangs up. */
static void test_odd_servers(void **state)
{
	static const struct {
		const char *says;
		size_t len;
		int want;
	} rows[] = {
		{ NULL, 0, ERR_TIMEOUT },
		{ "", 0, ERR_UNREACHABLE }, /* closes */
		{ "SSH-2.0-x\r\n", 11, ERR_PROTOCOL },
		{ "GPUSCHED\0\0\xff\xff", 12, ERR_PROTOCOL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sockaddr_in sa = { .sin_family = AF_INET,
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		int fd = socket(AF_INET, SOCK_STREAM, 0), c = -1;
		socklen_t len = sizeof(sa);
		struct result r = { .count = 1 };
		pthread_t thread;

		lab_new();
		assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
		assert_int_equal(listen(fd, 5), 0);
		assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
		r.to = lab_dial_to();
		r.to.port = ntohs(sa.sin_port);
		r.to.timeout_ms = rows[i].says ? 20000 : 100;
		pthread_create(&thread, NULL, ping_thread, &r);
		if (rows[i].says) {
			c = accept(fd, NULL, NULL);
			uint8_t b[HELLO_MAX];

			assert_true(recv(c, b, sizeof(b), 0) > 0); /* or it would be reset */
			if (rows[i].len)
				assert_int_equal(send(c, rows[i].says, rows[i].len, MSG_NOSIGNAL),
				        rows[i].len);
			else
				shutdown(c, SHUT_WR);
		}
		pthread_join(thread, NULL);
		if (r.rc != -1 || r.err.code != rows[i].want)
			fail_msg("row %zu: %d '%s'", i, r.err.code, r.err.text);
		if (c >= 0)
			close(c);
		close(fd);
		lab_free();
	}
}

/* Many requests before the first answer is read, more than the sockets hold. */
static void client_pipeline(void *arg)
{
	struct result *r = arg;
	struct dial *d = dial_open(&r->to, &r->err);
	Gpusched__SubmitJob job = GPUSCHED__SUBMIT_JOB__INIT, *jobs[1] = { &job };
	Gpusched__Submit submit = GPUSCHED__SUBMIT__INIT;
	uint8_t *script = calloc(1, r->size);
	uint64_t next = 1;
	struct frame f;

	r->rc = -1;
	job.script = (ProtobufCBinaryData){ r->size, script };
	submit.jobs = jobs;
	submit.n_jobs = 1;
	for (int i = 0; d && i < r->count; i++)
		if (dial_send(d, T(SUBMIT), &submit.base, &r->err) != (uint64_t)i + 1)
			goto out;
	if (!d || dial_flush(d, 60000, &r->err) < 0)
		goto out;
	while (next <= (uint64_t)r->count) {
		if (dial_recv(d, &f, 60000, &r->err) != 1 || f.id != next)
			goto out;
		r->chunks++;
		if (f.type == T(REPLY))
			next++;
	}
	r->rc = dial_recv(d, &f, 0, &r->err); /* nothing more */
out:
	free(script);
	dial_close(d);
}

static void test_pipeline(void **state)
{
	static const struct {
		int count;
		size_t size;
	} rows[] = { { 1, 0 }, { 20000, 10 }, { 8, MSG_SCRIPT_MAX } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct session_limits l = { .output_high = 100000 };
		struct result r = { .count = rows[i].count, .size = rows[i].size };

		lab_new_with(&l, 2);
		r.to = lab_dial_to();
		lab_client(client_pipeline, &r);
		if (r.rc != 0)
			fail_msg("row %zu: %d '%s' after %d", i, r.rc, r.err.text, r.chunks);
		assert_int_equal(r.chunks, 2 * rows[i].count);
		lab_free();
	}
}

/* The controller ends the session: answers that were sent are there, then it is an error. */
static void client_end(void *arg)
{
	struct result *r = arg;
	struct dial *d = dial_open(&r->to, &r->err);
	struct frame f;

	r->rc = d ? dial_recv(d, &f, 20000, &r->err) : -2;
	dial_close(d);
}

static void test_closed_by_server(void **state)
{
	struct result r = { .count = 1 };

	(void)state;
	lab_new();
	lab.s.close_on = ON_OPEN;
	r.to = lab_dial_to();
	lab_client(client_end, &r);
	assert_int_equal(r.rc, -1);
	assert_int_equal(r.err.code, ERR_UNREACHABLE);
	lab_free();
}

/* No answer in time is not the end of the connection. */
static void client_patient(void *arg)
{
	Gpusched__Ping ping = GPUSCHED__PING__INIT;
	struct result *r = arg;
	struct dial *d = dial_open(&r->to, &r->err);
	struct frame f;

	r->rc = d ? dial_recv(d, &f, 20, &r->err) : -1;
	if (r->rc == 0 && dial_send(d, T(PING), &ping.base, &r->err))
		r->chunks = dial_recv(d, &f, 20000, &r->err);
	dial_close(d);
}

static void test_recv_timeout(void **state)
{
	struct result r = { .count = 1 };

	(void)state;
	lab_new();
	r.to = lab_dial_to();
	lab_client(client_patient, &r);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.chunks, 1);
	lab_free();
}

static void test_reply(void **state)
{
	Gpusched__Reply reply = GPUSCHED__REPLY__INIT;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(dial_reply_error(&reply, &err), 0);
	reply.code = ERR_NO_JOB;
	reply.text = (char *)"job 7: no such job";
	reply.hint = (char *)"it may have ended";
	assert_int_equal(dial_reply_error(&reply, &err), -1);
	assert_int_equal(err.code, ERR_NO_JOB);
	assert_string_equal(err.text, "job 7: no such job");
	assert_string_equal(err.hint, "it may have ended");
	reply.code = 100000; /* of a newer controller */
	assert_int_equal(dial_reply_error(&reply, &err), -1);
	assert_int_equal(err.code, ERR_INTERNAL);
}

static void test_backoff(void **state)
{
	struct backoff a, b;
	uint32_t max = 0, distinct = 0;

	(void)state;
	backoff_init(&a, 100, 2000, 1);
	backoff_init(&b, 100, 2000, 2);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t x = backoff_next_ms(&a), y = backoff_next_ms(&b);

		assert_in_range(x, 100, i < 4 ? 100u << (i + 1) : 2000);
		max = x > max ? x : max;
		distinct += x != y;
	}
	assert_true(max > 1000);
	assert_true(distinct > 90); /* not in step */
	backoff_reset(&a);
	assert_in_range(backoff_next_ms(&a), 100, 200);
}

#define DEADLINE_S 120 /* SIGALRM ends a test that hangs */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ping),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_odd_servers),
		cmocka_unit_test(test_pipeline),
		cmocka_unit_test(test_closed_by_server),
		cmocka_unit_test(test_recv_timeout),
		cmocka_unit_test(test_reply),
		cmocka_unit_test(test_backoff),
	};

	alarm(DEADLINE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
