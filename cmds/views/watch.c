/* watch.c - see watch.h */
#include "cmds/views/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/cli/signal_exit.h"
#include "common/base/units.h"
#include "common/gpusched.pb-c.h"
#include "common/net/dial.h"

struct watch {
	const struct cmd *cmd;
	struct listing *listing;
	struct client *client;
	uint64_t cursor;
	bool only_new;
	bool fresh; /* of this part, which may come in several chunks */
};

static void note_cursor(struct watch *w, uint64_t cursor)
{
	w->cursor = cursor;
	w->only_new = false;
	signal_exit_say("%s: to go on from here: --watch --since=%" PRIu64, w->cmd->name, cursor);
}

int watch_from_parse(const char *text, struct watch_from *from, struct error *err)
{
	from->only_new = strcmp(text, "now") == 0;
	from->cursor = 0;
	if (from->only_new)
		return 0;
	if (count_parse(text, 1, UINT64_MAX, &from->cursor, err) == 0)
		return 0;
	error_wrap(err, "--since");
	return error_hint(err, "expected the number that an earlier --watch ended with, or now");
}

static int on_chunk(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__JobChunk *chunk = (const Gpusched__JobChunk *)m;
	struct watch *w = arg;

	if (chunk->fresh && w->cursor)
		fprintf(stderr,
		        "%s: what has changed since %" PRIu64
		        " is not known any more: all jobs follow\n",
		        w->cmd->name, w->cursor);
	for (size_t i = 0; i < chunk->n_jobs; i++)
		listing_add(w->listing, chunk->jobs[i], &chunk->jobs[i]->base);
	w->fresh |= chunk->fresh;
	if (!chunk->cursor)
		return 0;
	listing_part(w->listing, chunk->cursor, w->fresh);
	w->fresh = false;
	note_cursor(w, chunk->cursor);
	client_worked(w->client);
	if (!getenv(CLIENT_RETRY_VARIABLE))
		client_set_retry(w->client, -1); /* it was there, and will be again */
	return ferror(stdout) ? error_set(err, ERR_SYSTEM, "output: %s", strerror(errno)) : 0;
}

int watch_jobs(const struct cmd *cmd, struct client *c, const struct filter *filter,
        const struct watch_from *from, struct listing *listing, struct error *err)
{
	struct watch w = { .cmd = cmd,
		.listing = listing,
		.client = c,
		.cursor = from->cursor,
		.only_new = from->only_new };
	Gpusched__JobFilter selected;
	Gpusched__WatchJobs request = GPUSCHED__WATCH_JOBS__INIT;
	struct client_call call = {
		CLIENT_CALL(WATCH_JOBS, &request.base, JOB_CHUNK, on_chunk, &w), .timeout_ms = -1
	};
	struct error why = { .code = ERR_NONE };

	signal_exit_begin();
	client_for_reader(c, STDOUT_FILENO);
	filter_message(filter, &selected);
	request.filter = &selected;
	do {
		request.since = w.cursor;
		request.only_new = w.only_new;
		if (client_call(c, &call, &why) == 0)
			error_set(&why, ERR_PROTOCOL, "the controller has ended the stream");
	} while (client_pause(c, &why));
	*err = why;
	return -1;
}
