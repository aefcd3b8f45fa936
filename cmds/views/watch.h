/* watch.h - gqueue --watch: jobs as they change, until the command is stopped
 *
 * The watch outlives its connection: when the controller restarts or the network breaks, it
 * continues from the cursor of what was shown last. When SIGINT or SIGTERM ends it, it prints the
 * --since with which another one continues there.
 */
#ifndef CMDS_WATCH_H
#define CMDS_WATCH_H

#include "cmds/cli/cmd.h"
#include "cmds/cli/listing.h"
#include "cmds/views/filter.h"

struct watch_from {
	uint64_t cursor; /* 0: what is now, then what changes */
	bool only_new;
};

/* "88120", or "now". */
int watch_from_parse(const char *text, struct watch_from *from, struct error *err);

/* Until it fails: -1 with `err`. The listing has begun, as a stream. */
int watch_jobs(const struct cmd *cmd, struct client *c, const struct filter *filter,
        const struct watch_from *from, struct listing *listing, struct error *err);

#endif
