/* controller_thread.h - the thread of gtop that talks to the controller
 *
 * One connection: jobs by WatchJobs, from the cursor of what was heard last; everything else is
 * asked for on the side. Nodes and their GPUs are asked for once a job has changed, and at most
 * every two seconds; after an answer that took a while the next question waits for many times as
 * long, so that a large cluster costs the controller no more than a small one. Rows that are on the
 * screen are asked for anew, since reasons and use change without any event.
 *
 * The thread of the screen never waits for the controller: it takes updates and leaves commands,
 * and both only change hands under a lock. When the controller is gone, an update says so, and the
 * link tries again after pauses that grow up to a second. If the screen does not take updates (its
 * terminal is stopped), the link stops reading, and the controller keeps what is new.
 */
#ifndef CMDS_TOP_LINK_CONTROLLER_THREAD_H
#define CMDS_TOP_LINK_CONTROLLER_THREAD_H

#include "cmds/api/client.h"
#include "cmds/top/model/command.h"
#include "cmds/top/model/update.h"
#include "common/base/error.h"

struct link;

/* Takes the client over, and starts the thread. NULL with `err`; then the client is freed. */
struct link *link_start(struct client *c, struct error *err);

/* The thread ends, at the latest with the process: it may be connecting. NULL is fine. */
void link_stop(struct link *l);

int link_fd(const struct link *l); /* readable: there are updates */
void link_take(struct link *l, struct updates *out);
void link_send(struct link *l, const struct command *c);

#endif
