/* output_tail.h - the end of what a job has written, for its owner
 *
 * The job's node is asked through a stream (cmds/api/encrypted_stream.h), as gweb's own user: a
 * node gives the end of an output whose owner has signed that it may be shown (gsubmit
 * --show-output), if the node's agent names gweb's user (gnoded --output-readers). That the visitor
 * is the owner the controller is asked each time, and the node refuses if the run is another user's
 * (struct channel_tail): no controller can have one user's output shown to another.
 *
 * For threads that may block (HTTP_ASKS). The files take TAIL_MS at most, after the controller's
 * answer. TAIL_AT_ONCE threads read at a time, and one for each viewer, so that nodes that do not
 * answer leave threads for other requests.
 */
#ifndef CMDS_WEB_OUTPUT_TAIL_H
#define CMDS_WEB_OUTPUT_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmds/api/client.h"
#include "common/base/strbuf.h"

#define TAIL_MS        5000
#define TAIL_AT_ONCE   2
#define TAIL_LINES     200   /* unless more or fewer are wanted */
#define TAIL_LINES_MAX 1000
#define TAIL_BYTES     (64 * 1024) /* of each file; the node sends no more either */

enum tail_which { TAIL_STDOUT, TAIL_STDERR, TAIL_FILES };

struct tail_ask {
	uid_t viewer;
	const char *name;         /* of one job or task: "4812", "4812_7" */
	uint64_t lines;           /* of each file, 1 to TAIL_LINES_MAX */
	bool wanted[TAIL_FILES];  /* stderr only where it is a file of its own */
};

struct tail_file {
	bool asked;
	char *path;         /* as the controller knows it */
	struct strbuf text; /* any bytes */
	uint64_t at;        /* where in the file they begin; 0: that is all of it */
	struct error error; /* why there is nothing; code 0 */
};

struct tail {
	char *node; /* on which it is or was */
	uint32_t attempt;
	struct tail_file files[TAIL_FILES];
};

/* -1 with `err`: ERR_NO_JOB, ERR_NOT_PERMITTED (the viewer is not its owner), ERR_JOB_STATE (it has
 * not started, or is an array), ERR_BUSY (too many are being read). What a node does not give says
 * its file. The connection of `c` may be closed. Clear `out` in any case. */
int tail_read(struct client *c, const struct tail_ask *ask, struct tail *out, struct error *err);
void tail_clear(struct tail *t);

#endif
