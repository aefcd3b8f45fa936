/* bench_other.c - what another user feels while the controller is attacked
 *
 * usage: bench_other PID [MS]   pings, and submits a held job every tenth time, one after another with
 *                               MS milliseconds between them (2); PID is the controller's
 *
 * Prints a line "ping|submit BEGIN WAIT WORK" for each, until its standard input ends: when it was sent
 * (CLOCK_MONOTONIC, microseconds), how long the answer took, and how much processor time the loop's
 * thread of the controller used meanwhile, both in microseconds. WORK is above the longest turn of the
 * loop that the request waited for, and other programs on the machine do not lengthen it.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmds/api/gpusched.h"

static long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

/* The processor time of the controller's first thread, which is its loop's. */
static long long loop_us(const char *path)
{
	unsigned long long ns = 0;
	FILE *f = fopen(path, "re");

	if (!f || fscanf(f, "%llu", &ns) != 1)
		ns = 0;
	if (f)
		fclose(f);
	return (long long)(ns / 1000);
}

static void one(struct gpusched *g, bool submit, const char *sched)
{
	struct gpusched_error err;
	struct gpusched_pong pong;
	struct gpusched_spec spec;
	long long begin, work;
	uint64_t id;
	int rc;

	gpusched_spec_init(&spec);
	spec.script = "#!/bin/sh\nexit 0\n";
	spec.script_len = strlen(spec.script);
	spec.name = "other";
	spec.output = "/dev/null";
	spec.hold = true;
	work = loop_us(sched);
	begin = now_us();
	rc = submit ? gpusched_submit(g, &spec, 1, &id, &err) : gpusched_ping(g, &pong, &err);
	if (rc < 0) {
		fprintf(stderr, "bench_other: error: %s\n", err.text);
		exit(1);
	}
	printf("%s %lld %lld %lld\n", submit ? "submit" : "ping", begin, now_us() - begin,
	        loop_us(sched) - work);
}

int main(int argc, char **argv)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	int ms = argc > 2 ? atoi(argv[2]) : 2;
	struct gpusched_error err;
	struct gpusched *g;
	char sched[64];

	if (argc < 2) {
		fprintf(stderr, "usage: bench_other PID [MS]\n");
		return 2;
	}
	snprintf(sched, sizeof(sched), "/proc/%.10s/task/%.10s/schedstat", argv[1], argv[1]);
	g = gpusched_open(NULL, &err);
	if (!g) {
		fprintf(stderr, "bench_other: error: %s\n", err.text);
		return 1;
	}
	for (unsigned n = 1; poll(&in, 1, ms) == 0; n++) {
		one(g, n % 10 == 0, sched);
		fflush(stdout);
	}
	gpusched_close(g);
	return 0;
}
