/* client_lab.c - see client_lab.h */
#include "testsuite/unit/lib/client_lab.h"

#include <stdio.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cmds/api/submit.h"
#include "common/base/splitmix.h"
#include "common/base/xalloc.h"
#include "common/net/frame.h"
#include "common/net/hello.h"
#include "common/net/signedjob.h"

#define SERVER_UID 900

/* time(2) as submit.c sees it: the linker puts this in its place (--wrap). */
time_t __real_time(time_t *t);
time_t __wrap_time(time_t *t);
int64_t time_shift;

time_t __wrap_time(time_t *t)
{
	(void)t;
	return __real_time(NULL) + time_shift;
}

/* --- the controller --------------------------------------------------------------------------- */

struct job {
	uint8_t nonce[SIGNEDJOB_NONCE_LEN];
	struct signedjob_hash hash;
};

static enum act next_act(struct server *s)
{
	if (s->at < s->n_plan)
		return s->plan[s->at++];
	if (s->seed) {
		uint64_t n = splitmix_next(&s->seed) % 60;

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

bool lab_answer(int fd, struct noise *noise, unsigned type, uint64_t id, const ProtobufCMessage *m)
{
	uint8_t *frame, *sealed;
	size_t len;
	bool ok;

	if (frame_pack(type, id, m, &frame, &len, NULL) < 0)
		return false;
	sealed = xcalloc(frame_sealed_len(len), 1);
	ok = frame_seal(noise, frame, len, sealed, NULL) >= 0 &&
	     write_full(fd, sealed, frame_sealed_len(len));
	free(sealed);
	free(frame);
	return ok;
}

bool lab_reply(int fd, struct noise *noise, uint64_t id, int code, const char *text)
{
	Gpusched__Reply r = GPUSCHED__REPLY__INIT;

	r.code = (uint32_t)code;
	r.text = (char *)text;
	return lab_answer(fd, noise, T(REPLY), id, &r.base);
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
		return lab_reply(fd, noise, id, ERR_BUSY, "busy");
	if (act == REFUSE)
		return lab_reply(fd, noise, id, ERR_JOB_NEVER, "never");
	if (act == EXPIRED)
		return lab_reply(fd, noise, id, ERR_MUNGE_CLOCK, "expired");
	if (submit->test_only) {
		result.would_start_now = true;
		result.node = (char *)"h07";
		return lab_answer(fd, noise, T(SUBMIT_RESULT), id, &result.base) &&
		       lab_reply(fd, noise, id, 0, "");
	}
	code = take(s, submit, ids);
	if (act == DROP_AFTER)
		return false;
	if (code)
		return lab_reply(fd, noise, id, code, "the server says no");
	result.job_ids = ids;
	result.n_job_ids = submit->n_jobs;
	return lab_answer(fd, noise, T(SUBMIT_RESULT), id, &result.base) &&
	       lab_reply(fd, noise, id, 0, "");
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
	if (act == DROP_BEFORE || !lab_answer(fd, noise, T(JOB_CHUNK), id, &chunk.base) ||
	        act == CUT_LIST)
		return false;
	job.id = 2;
	return lab_answer(fd, noise, T(JOB_CHUNK), id, &chunk.base) &&
	       lab_reply(fd, noise, id, 0, "");
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
	else if (m && s->other)
		go_on = s->other(fd, noise, f->type, f->id, m);
	else if (m)
		go_on = lab_reply(fd, noise, f->id, ERR_NOT_PERMITTED, "not here");
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

struct fake_munge *lab_host;
struct server server;
struct client *client;

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

void server_start(void)
{
	server.stop = false;
	listen_on(&server);
	assert_int_equal(pthread_create(&server.thread, NULL, server_main, &server), 0);
}

void server_stop(void)
{
	server.stop = true;
	shutdown(server.listener, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	close(server.listener);
}

int lab_setup(void **state)
{
	struct conf_client conf = { .cluster = xstrdup("c1"),
		.host = xstrdup("127.0.0.1"),
		.controller_user = xstrdup("900"),
		.agent_user = xstrdup("root"),
		.munge_socket = xstrdup("") };

	(void)state;
	time_shift = 0;
	lab_host = fake_munge_new(1);
	server = (struct server){ .munge = fake_munge_client(lab_host, SERVER_UID, SERVER_UID) };
	server.jobs = xcalloc(JOBS_MAX, sizeof(*server.jobs));
	server_start();
	conf.port = (uint32_t)server.port;
	client = client_new_with(
	        &conf, fake_munge_client(lab_host, geteuid(), getegid()), SERVER_UID);
	return 0;
}

int lab_teardown(void **state)
{
	(void)state;
	client_free(client);
	if (!server.stop)
		server_stop();
	assert_string_equal(server.fault.text, "");
	mcred_ops_free(server.munge);
	fake_munge_free(lab_host);
	free(server.jobs);
	return 0;
}

void fill(struct gpusched_spec *spec)
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

struct mcred_ops *lab_munge(uid_t uid, gid_t gid)
{
	return fake_munge_client(lab_host, uid, gid);
}

void plan(size_t n, const enum act *acts)
{
	memcpy(server.plan, acts, n * sizeof(*acts));
	server.n_plan = n;
	server.at = 0;
}
