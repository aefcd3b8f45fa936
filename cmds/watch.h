/* watch.h - gqueue --watch: jobs as they change, for as long as somebody looks
 *
 * A stream that outlives its connection: when the controller is started again or the network
 * breaks, it goes on from the cursor of what was shown last. Killed by SIGINT or SIGTERM it says
 * with which --since another one goes on there.
 */
#ifndef CMDS_WATCH_H
#define CMDS_WATCH_H

#include "cmds/cmd.h"
#include "cmds/filter.h"
#include "cmds/listing.h"

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
