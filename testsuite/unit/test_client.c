/* test_client.c - cmds/client.h, cmds/submit.h: jobs reach the controller once, whatever breaks
 *
 * The controller here is a thread with a real handshake and real frames that checks signatures,
 * remembers nonces, and misbehaves by plan: it drops connections before or after it has taken a
 * submit, is busy, refuses. Munge is a stand-in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cmds/client.h"
#include "cmds/gpusched.h"
#include "cmds/spec.h"
#include "cmds/submit.h"
#include "common/frame.h"
#include "common/hello.h"
#include "common/signedjob.h"
#include "common/xalloc.h"
#include "testsuite/sim/fake_munge.h"

#define T(sym)     GPUSCHED__MSG_TYPE__MSG_##sym
#define SERVER_UID 900
#define JOBS_MAX   100000
#define LEN(a)     (sizeof(a) / sizeof((a)[0]))

/* time(2) as submit.c sees it: the linker puts this in its place (--wrap). */
time_t __real_time(time_t *t);
time_t __wrap_time(time_t *t);
static int64_t time_shift;

time_t __wrap_time(time_t *t)
{
	(void)t;
	return __real_time(NULL) + time_shift;
}

/* --- the controller --------------------------------------------------------------------------- */

enum act { ANSWER, DROP_BEFORE, DROP_AFTER, BUSY, REFUSE, EXPIRED, CUT_LIST };

struct job {
	uint8_t nonce[SIGNEDJOB_NONCE_LEN];
	struct signedjob_hash hash;
};

struct server {
	int listener, port;
	pthread_t thread;
	struct mcred_ops *munge;
	uint64_t seed;     /* of chance; 0: by plan alone */
	enum act plan[64]; /* of the n-th submit or list; then ANSWER */
	size_t n_plan, at;
	volatile bool stop;
	struct job *jobs; /* index + 1 is the id */
	volatile size_t n_jobs;
	size_t submits, repeats, connections;
	struct error fault; /* what a client did wrong */
};

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	return z ^ z >> 27;
}

static enum act next_act(struct server *s)
{
	if (s->at < s->n_plan)
		return s->plan[s->at++];
	if (s->seed) {
		uint64_t n = draw(&s->seed) % 60;

		return n == 0 ? DROP_BEFORE : n == 1 ? DROP_AFTER : n == 2 ? BUSY : ANSWER;
	}
	return ANSWER;
}

static bool read_full(int fd, void *p, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t r = read(fd, (char *)p + at, n - at);

		if (r <= 0)
			return false;
		at += (size_t)r;
	}
	return true;
}

static bool write_full(int fd, const void *p, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t r = send(fd, (const char *)p + at, n - at, MSG_NOSIGNAL);

		if (r <= 0)
			return false;
		at += (size_t)r;
	}
	return true;
}

static struct noise *greet(struct server *s, int fd)
{
	struct hello_rules rules = { "controller", "c1", NULL, SERVER_UID };
	uint8_t hello[HELLO_MAX], answer[HELLO_ANSWER_MAX], confirm[HELLO_CONFIRM_LEN];
	struct hello_peer peer;
	struct noise *noise = NULL;
	size_t len = 0, need = 16, answer_len;

	for (int rc = 0; rc == 0;) {
		if (!read_full(fd, hello + len, need - len))
			return NULL;
		len = need;
		rc = hello_peek(hello, len, &need, NULL);
		if (rc < 0)
			return NULL;
		if (rc == 0 && need > sizeof(hello))
			return NULL;
	}
	if (hello_accept(hello, len, &rules, s->munge, &peer, &noise, answer, &answer_len, NULL) <
	        0)
		return NULL;
	if (write_full(fd, answer, answer_len) && read_full(fd, confirm, sizeof(confirm)) &&
	        hello_check_confirm(noise, confirm, NULL) >= 0)
		return noise;
	noise_free(noise);
	return NULL;
}

static bool answer(
        int fd, struct noise *noise, unsigned type, uint64_t id, const ProtobufCMessage *m)
{
	uint8_t *frame, *sealed;
	size_t len;
	bool ok;

	if (msg_pack_frame(type, id, m, &frame, &len, NULL) < 0)
		return false;
	sealed = xcalloc(frame_sealed_len(len), 1);
	ok = frame_seal(noise, frame, len, sealed, NULL) >= 0 &&
	     write_full(fd, sealed, frame_sealed_len(len));
	free(sealed);
	free(frame);
	return ok;
}

static bool reply(int fd, struct noise *noise, uint64_t id, int code, const char *text)
{
	Gpusched__Reply r = GPUSCHED__REPLY__INIT;

	r.code = (uint32_t)code;
	r.text = (char *)text;
	return answer(fd, noise, T(REPLY), id, &r.base);
}

/* The id of a job, the same for the same nonce; 0 and a fault for the same nonce with other bytes.
 */
static uint64_t keep(struct server *s, const uint8_t *nonce, const struct signedjob_hash *hash)
{
	for (size_t i = 0; i < s->n_jobs; i++)
		if (!memcmp(s->jobs[i].nonce, nonce, SIGNEDJOB_NONCE_LEN)) {
			s->repeats++;
			return memcmp(&s->jobs[i].hash, hash, sizeof(*hash)) ? 0 : i + 1;
		}
	memcpy(s->jobs[s->n_jobs].nonce, nonce, SIGNEDJOB_NONCE_LEN);
	s->jobs[s->n_jobs++].hash = *hash;
	return s->n_jobs;
}

/* Check all, then take all; the ids go to `ids`. An error code, 0: taken. */
static int take(struct server *s, const Gpusched__Submit *submit, uint64_t *ids)
{
	char *text = xstrndup((char *)submit->credential.data, submit->credential.len);
	struct arena *arena = arena_new(64 << 20);
	struct signedjob_hash hashes[SIGNEDJOB_MAX];
	Gpusched__SignedSpec *specs[SIGNEDJOB_MAX];
	struct mcred cred = { .payload = NULL };
	struct error err;
	int rc = s->munge->decode(s->munge, text, &cred, &err);

	if (rc >= 0)
		rc = signedjob_cred_check(&cred, &err);
	for (size_t i = 0; i < submit->n_jobs && rc >= 0; i++) {
		struct signedjob job = { submit->jobs[i]->spec.data, submit->jobs[i]->spec.len,
			submit->jobs[i]->script.data, submit->jobs[i]->script.len };

		rc = signedjob_check(&cred, "c1", &job, arena, &specs[i], &hashes[i], &err);
	}
	for (size_t i = 0; i < submit->n_jobs && rc >= 0; i++) {
		ids[i] = keep(s, specs[i]->nonce.data, &hashes[i]);
		if (!ids[i])
			rc = error_set(&err, ERR_TOKEN, "other bytes");
	}
	mcred_clear(&cred);
	arena_free(arena);
	free(text);
	if (rc < 0 && err.code != ERR_TOKEN)
		s->fault = err;
	return rc < 0 ? err.code : 0;
}

static bool on_submit(
        struct server *s, int fd, struct noise *noise, uint64_t id, const Gpusched__Submit *submit)
{
	Gpusched__SubmitResult result = GPUSCHED__SUBMIT_RESULT__INIT;
	uint64_t ids[SIGNEDJOB_MAX];
	enum act act = next_act(s);
	int code;

	s->submits++;
	if (act == DROP_BEFORE)
		return false;
	if (act == BUSY)
		return reply(fd, noise, id, ERR_BUSY, "busy");
	if (act == REFUSE)
		return reply(fd, noise, id, ERR_JOB_NEVER, "never");
	if (act == EXPIRED)
		return reply(fd, noise, id, ERR_MUNGE_CLOCK, "expired");
	if (submit->test_only) {
		result.would_start_now = true;
		result.node = (char *)"h07";
		return answer(fd, noise, T(SUBMIT_RESULT), id, &result.base) &&
		       reply(fd, noise, id, 0, "");
	}
	code = take(s, submit, ids);
	if (act == DROP_AFTER)
		return false;
	if (code)
		return reply(fd, noise, id, code, "the server says no");
	result.job_ids = ids;
	result.n_job_ids = submit->n_jobs;
	return answer(fd, noise, T(SUBMIT_RESULT), id, &result.base) && reply(fd, noise, id, 0, "");
}

/* Two chunks of one job each. */
static bool on_list(struct server *s, int fd, struct noise *noise, uint64_t id)
{
	Gpusched__Job job = GPUSCHED__JOB__INIT;
	Gpusched__Job *jobs[] = { &job };
	Gpusched__JobChunk chunk = GPUSCHED__JOB_CHUNK__INIT;
	enum act act = next_act(s);

	chunk.n_jobs = 1;
	chunk.jobs = jobs;
	job.id = 1;
	if (act == DROP_BEFORE || !answer(fd, noise, T(JOB_CHUNK), id, &chunk.base) ||
	        act == CUT_LIST)
		return false;
	job.id = 2;
	return answer(fd, noise, T(JOB_CHUNK), id, &chunk.base) && reply(fd, noise, id, 0, "");
}

static bool on_frame(struct server *s, int fd, struct noise *noise, const struct frame *f)
{
	struct arena *arena = arena_new(64 << 20);
	ProtobufCMessage *m = msg_unpack(f->type, f->body, f->len, arena, &s->fault);
	bool go_on = false;

	if (m && f->type == T(SUBMIT))
		go_on = on_submit(s, fd, noise, f->id, (Gpusched__Submit *)m);
	else if (m && f->type == T(LIST_JOBS))
		go_on = on_list(s, fd, noise, f->id);
	else if (m)
		go_on = reply(fd, noise, f->id, ERR_NOT_PERMITTED, "not here");
	arena_free(arena);
	return go_on;
}

/* Serve one connection until it ends. */
static void serve(struct server *s, int fd)
{
	struct noise *noise = greet(s, fd);
	struct frame_reader *reader = noise ? frame_reader_new(noise, MSG_BY_USER) : NULL;
	uint8_t *buf = xcalloc(1 << 17, 1);
	size_t len = 0, used;
	bool go_on = reader != NULL;

	s->connections++;
	while (go_on) {
		struct frame f;
		ssize_t n;

		while (go_on && frame_reader_next(reader, &f, &s->fault) > 0)
			go_on = on_frame(s, fd, noise, &f);
		if (!go_on)
			break;
		if (frame_reader_feed(reader, buf, len, &used, &s->fault) < 0)
			break;
		memmove(buf, buf + used, len - used);
		len -= used;
		if (used)
			continue;
		n = read(fd, buf + len, (1 << 17) - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	free(buf);
	frame_reader_free(reader);
	noise_free(noise);
}

static void *server_main(void *arg)
{
	struct server *s = arg;

	while (!s->stop) {
		int fd = accept(s->listener, NULL, NULL);

		if (fd < 0)
			break;
		if (!s->stop)
			serve(s, fd);
		close(fd);
	}
	return NULL;
}

/* --- the laboratory --------------------------------------------------------------------------- */

static struct fake_munge *host;
static struct server server;
static struct client *client;

static void listen_on(struct server *s)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)s->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	int on = 1;

	s->listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(s->listener, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(s->listener, 16), 0);
	getsockname(s->listener, (struct sockaddr *)&sa, &len);
	s->port = ntohs(sa.sin_port);
}

static void server_start(void)
{
	server.stop = false;
	listen_on(&server);
	assert_int_equal(pthread_create(&server.thread, NULL, server_main, &server), 0);
}

/* The client must have given up its connection: the server serves one at a time. */
static void server_stop(void)
{
	server.stop = true;
	shutdown(server.listener, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	close(server.listener);
}

static int setup(void **state)
{
	struct conf_client conf = { xstrdup("c1"), xstrdup("127.0.0.1"), 0, xstrdup("900"),
		xstrdup("") };

	(void)state;
	time_shift = 0;
	host = fake_munge_new(1);
	server = (struct server){ .munge = fake_munge_client(host, SERVER_UID, SERVER_UID) };
	server.jobs = xcalloc(JOBS_MAX, sizeof(*server.jobs));
	server_start();
	conf.port = (uint32_t)server.port;
	client = client_new_with(&conf, fake_munge_client(host, geteuid(), getegid()), SERVER_UID);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	client_free(client);
	if (!server.stop)
		server_stop();
	assert_string_equal(server.fault.text, "");
	mcred_ops_free(server.munge);
	fake_munge_free(host);
	free(server.jobs);
	return 0;
}

static void fill(struct gpusched_spec *spec)
{
	static const char script[] = "#!/bin/sh\nexit 0\n";
	static const char *const env[] = { "A=1", "B=two\nlines", NULL };
	static const char *const args[] = { "x", "", "y z", NULL };

	gpusched_spec_init(spec);
	spec->script = script;
	spec->script_len = strlen(script);
	spec->env = env;
	spec->args = args;
	spec->name = "test";
	spec->gpus = "h100:2|4";
}

/* --- tests ------------------------------------------------------------------------------------ */

static void plan(size_t n, const enum act *acts)
{
	memcpy(server.plan, acts, n * sizeof(*acts));
	server.n_plan = n;
	server.at = 0;
}

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
			size_t n = draw(&seed) % GPUSCHED_GROUP_MAX + 1;

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

/* --- calls --------------------------------------------------------------------------------------
 */

static int count_chunk(unsigned type, const ProtobufCMessage *m, void *arg, struct error *err)
{
	int *count = arg;

	(void)m, (void)err;
	assert_int_equal(type, T(JOB_CHUNK));
	++*count;
	return 0;
}

static int refuse_chunk(unsigned type, const ProtobufCMessage *m, void *arg, struct error *err)
{
	(void)type, (void)m, (void)arg;
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
			rows[i].repeatable };
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
	struct client_call refused = { T(SHUTDOWN), &shutdown_request.base, NULL, NULL, 0, false };
	struct client_call ended = { T(LIST_JOBS), &list.base, refuse_chunk, NULL, 0, true };
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
	assert_int_equal(submit_test(client, &spec, on_test_result, &results, &err), 0);
	assert_int_equal(results, 1);
	assert_int_equal(server.n_jobs, 0);
	plan(1, (enum act[]){ REFUSE });
	assert_int_equal(submit_test(client, &spec, on_test_result, &results, &err), -1);
	assert_int_equal(err.code, ERR_JOB_NEVER);
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
	struct client_call call = { T(LIST_JOBS), &list.base, NULL, NULL, 0, true };
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one),
		TEST(test_breaks),
		TEST(test_pipeline),
		TEST(test_unreachable),
		TEST(test_timeout_of_receive),
		TEST(test_sign_again),
		TEST(test_token),
		TEST(test_bad_specs),
		TEST(test_listing),
		TEST(test_connection_after_errors),
		TEST(test_test_only),
		TEST(test_tells_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
