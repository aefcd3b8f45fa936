/* bench_client.c - what the C API of gpusched can do, measured from a client's side
 *
 * usage: bench_client serial N          submit N held jobs, one after another
 *        bench_client pipelined N       the same in groups of 64, many groups under way
 *        bench_client list              list all jobs: first row, whole
 *        bench_client latency N         submit N jobs one by one, print when each was acknowledged
 *        bench_client idle N SECONDS    hold N open connections and print "ready"
 * Prints lines "NAME VALUE UNIT". The jobs' script is $BENCH_SCRIPT or `exit 0`; GPUs $BENCH_GPUS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmds/api/gpusched.h"

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void die(const struct gpusched_error *err)
{
	fprintf(stderr, "bench_client: error: %s\n", err->text);
	exit(1);
}

static void spec_fill(struct gpusched_spec *spec, bool hold)
{
	const char *script = getenv("BENCH_SCRIPT");

	gpusched_spec_init(spec);
	spec->script = script ? script : "#!/bin/sh\nexit 0\n";
	spec->script_len = strlen(spec->script);
	spec->name = "bench";
	spec->output = "/dev/null";
	spec->gpus = getenv("BENCH_GPUS");
	spec->hold = hold;
}

static void bench_serial(struct gpusched *g, long n)
{
	struct gpusched_error err;
	struct gpusched_spec spec;
	long long start;
	uint64_t id;

	spec_fill(&spec, true);
	start = now_ns();
	for (long i = 0; i < n; i++) {
		if (gpusched_submit(g, &spec, 1, &id, &err) < 0)
			die(&err);
	}
	printf("submit_serial %.0f /s\n", (double)n * 1e9 / (double)(now_ns() - start));
}

static void receive(struct gpusched *g, long *waiting)
{
	struct gpusched_submitted out;
	struct gpusched_error err;

	if (gpusched_submit_receive(g, &out, -1, &err) != 1)
		die(&err);
	if (out.error.code)
		die(&out.error);
	--*waiting;
}

static void bench_pipelined(struct gpusched *g, long n)
{
	struct gpusched_spec specs[GPUSCHED_GROUP_MAX];
	struct gpusched_error err;
	long waiting = 0;
	long long start;

	for (size_t i = 0; i < GPUSCHED_GROUP_MAX; i++)
		spec_fill(&specs[i], true);
	start = now_ns();
	for (long done = 0; done < n; done += GPUSCHED_GROUP_MAX) {
		size_t group = n - done < GPUSCHED_GROUP_MAX ? (size_t)(n - done) : GPUSCHED_GROUP_MAX;

		if (gpusched_submit_send(g, specs, group, (uint64_t)done, &err) < 0)
			die(&err);
		if (++waiting >= 32)
			receive(g, &waiting);
	}
	while (waiting)
		receive(g, &waiting);
	printf("submit_pipelined %.0f /s\n", (double)n * 1e9 / (double)(now_ns() - start));
}

struct listing {
	long long first;
	long rows;
};

static int on_job(const struct gpusched_job *job, void *arg)
{
	struct listing *l = arg;

	(void)job;
	if (!l->rows++)
		l->first = now_ns();
	return 0;
}

static void bench_list(struct gpusched *g)
{
	struct listing l = { 0, 0 };
	struct gpusched_error err;
	struct gpusched_pong pong;
	long long start;

	if (gpusched_ping(g, &pong, &err) < 0)
		die(&err);
	start = now_ns();
	if (gpusched_list_jobs(g, NULL, on_job, &l, &err) < 0)
		die(&err);
	printf("list_first %.2f ms\nlist_whole %.1f ms\nlist_rows %ld rows\n",
		(double)(l.first - start) / 1e6, (double)(now_ns() - start) / 1e6, l.rows);
}

static void bench_latency(struct gpusched *g, long n)
{
	struct gpusched_error err;
	struct gpusched_spec spec;
	uint64_t id;

	spec_fill(&spec, false);
	for (long i = 0; i < n; i++) {
		long long t = now_ns();

		if (gpusched_submit(g, &spec, 1, &id, &err) < 0)
			die(&err);
		printf("acked %llu %lld %lld\n", (unsigned long long)id, t, now_ns());
		fflush(stdout);
		if (gpusched_wait(g, &id, 1, NULL, NULL, &err) < 0)
			die(&err);
	}
}

static void bench_idle(long n, unsigned seconds)
{
	struct gpusched **all = calloc((size_t)n, sizeof(*all));
	struct gpusched_error err;
	struct gpusched_pong pong;

	for (long i = 0; i < n; i++) {
		all[i] = gpusched_open(NULL, &err);
		if (!all[i] || gpusched_ping(all[i], &pong, &err) < 0)
			die(&err);
	}
	printf("ready\n");
	fflush(stdout);
	sleep(seconds);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;
	struct gpusched_error err;
	struct gpusched *g = gpusched_open(NULL, &err);

	if (!g)
		die(&err);
	if (!strcmp(what, "serial"))
		bench_serial(g, n);
	else if (!strcmp(what, "pipelined"))
		bench_pipelined(g, n);
	else if (!strcmp(what, "list"))
		bench_list(g);
	else if (!strcmp(what, "latency"))
		bench_latency(g, n);
	else if (!strcmp(what, "idle"))
		bench_idle(n, argc > 3 ? (unsigned)atoi(argv[3]) : 60);
	else
		return 2;
	gpusched_close(g);
	return 0;
}
