/* bench_watch.c - many who watch the queue at once
 *
 * usage: bench_watch N [USER]   N watchers of USER's jobs, or of all; prints "ready", and at the end of
 *                               stdin "told N jobs": what all of them were told together
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/api/client.h"
#include "common/base/arena.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/net/msg.h"

static void die(const struct error *err)
{
	fprintf(stderr, "bench_watch: error: %s\n", err->text);
	exit(1);
}

static struct dial *watch(char *user)
{
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	Gpusched__WatchJobs request = GPUSCHED__WATCH_JOBS__INIT;
	struct error err;
	struct client *c = client_new(NULL, &err);
	struct dial *d = c ? client_dial(c, &err) : NULL;

	filter.users = &user;
	filter.n_users = user ? 1 : 0;
	request.filter = &filter;
	request.only_new = true;
	if (!d || dial_send(d, GPUSCHED__MSG_TYPE__MSG_WATCH_JOBS, &request.base, &err) == 0 ||
	        dial_flush(d, -1, &err) < 0)
		die(&err);
	return d;
}

/* One part of an answer; how many jobs it tells. */
static size_t hear(struct dial *d, struct arena *arena)
{
	const Gpusched__JobChunk *chunk;
	struct frame frame;
	struct error err;

	if (dial_recv(d, &frame, -1, &err) < 0)
		die(&err);
	arena_reset(arena, 16 << 20);
	chunk = (const Gpusched__JobChunk *)msg_unpack(frame.type, frame.body, frame.len, arena, &err);
	if (!chunk || frame.type != GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK)
		die(&err);
	return chunk->n_jobs;
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? (size_t)atol(argv[1]) : 1, told = 0, i;
	struct dial **all = xcalloc(n, sizeof(*all));
	struct pollfd *fds = xcalloc(n + 1, sizeof(*fds));
	struct arena *arena = arena_new(0);

	for (i = 0; i < n; i++) {
		all[i] = watch(argc > 2 ? argv[2] : NULL);
		hear(all[i], arena); /* it has begun */
		fds[i] = (struct pollfd){ .fd = dial_fd(all[i]), .events = POLLIN };
	}
	fds[n] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	printf("ready\n");
	fflush(stdout);
	while (poll(fds, n + 1, -1) > 0 && !fds[n].revents)
		for (i = 0; i < n; i++)
			if (fds[i].revents)
				told += hear(all[i], arena);
	printf("told %zu jobs\n", told);
	return 0;
}
