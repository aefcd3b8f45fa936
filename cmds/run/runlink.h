/* runlink.h - the connection of a command that runs a job and stays with it
 *
 * One connection to the controller: what becomes of the job, and the stream to its run (runio.h).
 * It is made again when it breaks, as long as the client's patience lasts, and asks again for what
 * it does not know yet. Nothing blocks but connecting.
 */
#ifndef CMDS_RUNLINK_H
#define CMDS_RUNLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "cmds/api/client.h"
#include "cmds/run/runio.h"
#include "common/base/arena.h"
#include "common/job/run.h"

struct runlink {
	struct client *client; /* borrowed */
	struct dial *dial;     /* the client's; NULL: there is none just now */
	struct arena *arena;
	struct runio *io; /* borrowed */
	int64_t retry_ms; /* so long it is tried again; < 0: for ever */
	int64_t lost_ms;  /* since when there is no connection, or no stream that should be */
	int64_t next_ms;  /* when the next is tried */
	int64_t pause_ms;
	struct error lost; /* why */
	uint64_t wait_id, why_id;
	bool cancel;  /* to be asked */
	bool no_more; /* the node has said that there is nothing to attach to */
	/* what is known of the job */
	uint64_t job;
	struct run_id run;
	char node[256];
	bool started, refused, ended; /* refused: a node could not start it */
	int64_t start_time;
	char state[32], text[512], why[512];
	bool has_why; /* why it waits, as asked for */
	uint32_t exit_code, exit_signal;
};

void runlink_begin(struct runlink *l, struct client *c, struct runio *io, uint64_t job);
void runlink_clear(struct runlink *l);

/* Do what can be done now. 0; -1 with `err`: refused, or it has been tried for too long. */
int runlink_step(struct runlink *l, struct error *err);

/* When to call it again though nothing has come: milliseconds, -1: never. */
int runlink_timeout(const struct runlink *l);
/* The connection, to poll; fd -1: there is none. */
struct pollfd runlink_poll(const struct runlink *l);

/* The stream is dead: another one is tried. */
void runlink_stream_lost(struct runlink *l, const struct error *why);

/* The job has ended, and no more output can come: all of it is here, or there is no stream. */
bool runlink_is_done(const struct runlink *l);

int runlink_ask_why(struct runlink *l, struct error *err); /* why it waits */

#endif
