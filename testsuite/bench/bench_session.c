/* bench_session.c - what a connection and a message cost, without anything behind them
 *
 * A server on a loop in this thread, a blocking client in another. Prints lines "NAME VALUE UNIT".
 * usage: bench_session [MUNGE-SOCKET]   without it, the stand-in for munge
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/net/dial.h"
#include "common/net/session.h"
#include "testsuite/sim/fake_munge.h"

#define PING GPUSCHED__MSG_TYPE__MSG_PING
#define PONG GPUSCHED__MSG_TYPE__MSG_PONG

#define CONNECTIONS 2000
#define ONE_BY_ONE  20000
#define PIPELINED   400000
#define BIG         200 /* scripts of the largest size */

static void die(const char *what, const struct error *err)
{
	fprintf(stderr, "bench_session: error: %s: %s\n", what, err->text);
	exit(1);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void on_frame(struct session *s, const struct frame *f, void *arg)
{
	Gpusched__Pong pong = GPUSCHED__PONG__INIT;
	struct error err;

	(void)arg;
	pong.uid = 7;
	if (session_send(s, PONG, f->id, &pong.base, &err) < 0)
		die("send", &err);
}

struct client {
	struct dial_to to;
	int over[2]; /* a pipe: it is done */
};

static struct dial *open_or_die(const struct client *c)
{
	struct error err;
	struct dial *d = dial_open(&c->to, &err);

	if (!d)
		die("connect", &err);
	return d;
}

static void connections(const struct client *c)
{
	double start = now_s();

	for (int i = 0; i < CONNECTIONS; i++)
		dial_close(open_or_die(c));
	printf("session_handshake %.1f us\n", (now_s() - start) * 1e6 / CONNECTIONS);
}

static void requests(const struct client *c, int n, int ahead, const char *name, bool each)
{
	Gpusched__Ping ping = GPUSCHED__PING__INIT;
	struct dial *d = open_or_die(c);
	double start = now_s();
	int sent = 0, got = 0;
	struct error err;
	struct frame f;

	while (got < n) {
		while (sent < n && sent - got < ahead)
			if (!dial_send(d, PING, &ping.base, &err))
				die("send", &err);
			else
				sent++;
		if (dial_recv(d, &f, 10000, &err) != 1)
			die("receive", &err);
		got++;
	}
	if (each)
		printf("%s %.1f us\n", name, (now_s() - start) * 1e6 / n);
	else
		printf("%s %.0f /s\n", name, n / (now_s() - start));
	dial_close(d);
}

static void throughput(const struct client *c)
{
	Gpusched__SubmitJob job = GPUSCHED__SUBMIT_JOB__INIT, *jobs[1] = { &job };
	Gpusched__Submit submit = GPUSCHED__SUBMIT__INIT;
	struct dial *d = open_or_die(c);
	double start = now_s();
	struct error err;
	struct frame f;

	job.script.len = MSG_SCRIPT_MAX;
	job.script.data = calloc(1, MSG_SCRIPT_MAX);
	submit.jobs = jobs;
	submit.n_jobs = 1;
	for (int i = 0; i < BIG; i++)
		if (!dial_send(d, GPUSCHED__MSG_TYPE__MSG_SUBMIT, &submit.base, &err) ||
		        dial_recv(d, &f, 10000, &err) != 1)
			die("submit", &err);
	printf("session_throughput %.0f MiB/s\n", BIG * 4.0 / (now_s() - start));
	free(job.script.data);
	dial_close(d);
}

static void *client_main(void *arg)
{
	const struct client *c = arg;

	connections(c);
	requests(c, ONE_BY_ONE, 1, "session_request_one_by_one", true);
	requests(c, PIPELINED, 1000, "session_requests_pipelined", false);
	throughput(c);
	if (write(c->over[1], "", 1) != 1)
		abort();
	return NULL;
}

static void on_over(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(arg);
}

int main(int argc, char **argv)
{
	static const struct session_ops ops = { .frame = on_frame };
	struct worker_limits wl = { 2, 256, 256 };
	struct fake_munge *fake = fake_munge_new(1);
	struct mcred_ops *ours, *theirs;
	struct session_config conf = { .ops = &ops };
	struct hello_rules rules = { "controller", "bench", NULL, geteuid() };
	struct client c = { 0 };
	pthread_t thread;
	struct sessions *ss;
	struct event *ev;
	struct error err;

	ours = argc > 1 ? mcred_munge_new(argv[1], NULL) : fake_munge_client(fake, geteuid(), getegid());
	theirs =
	        argc > 1 ? mcred_munge_new(argv[1], NULL) : fake_munge_client(fake, geteuid(), getegid());
	conf.base = event_base_new();
	conf.pool = worker_pool_new(conf.base, &wl, &err);
	conf.mcred = theirs;
	if (!conf.pool)
		die("workers", &err);
	ss = sessions_new(&conf, &err);
	if (!ss || sessions_listen(ss, "127.0.0.1", 0, &rules, &err) < 0)
		die("listen", &err);
	c.to = (struct dial_to){ .host = "127.0.0.1",
		.port = sessions_port(ss),
		.cluster = "bench",
		.server_uid = geteuid(),
		.mcred = ours };
	if (pipe(c.over) < 0)
		abort();
	ev = event_new(conf.base, c.over[0], EV_READ, on_over, conf.base);
	event_add(ev, NULL);
	pthread_create(&thread, NULL, client_main, &c);
	event_base_dispatch(conf.base);
	pthread_join(thread, NULL);
	event_free(ev);
	sessions_free(ss);
	worker_pool_free(conf.pool);
	event_base_free(conf.base);
	mcred_ops_free(ours);
	mcred_ops_free(theirs);
	fake_munge_free(fake);
	return 0;
}
