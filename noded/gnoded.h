/* gnoded.h - the whole network half of the agent
 *
 * It runs one node (node.h) between one launcher (bridge.h) and the controller (net.h) on an event
 * loop, and handles signals and readiness. main.c prepares everything that needs privilege and then
 * calls it.
 */
#ifndef NODED_GNODED_H
#define NODED_GNODED_H

#include <sys/types.h>

#include "common/conf/conf.h"
#include "noded/net/convert.h"

struct gnoded_options {
	const struct conf_client *client; /* where the controller is */
	struct node_facts facts;          /* name, version, inventory */
	int launcher_fd;                  /* taken over */
	int streams_fd;                   /* of launcher_fork(): descriptors for streams */
	pid_t launcher_pid;
	int ready_fd; /* for daemon_ready(), or -1; taken over */
};

/* Runs until TERM or INT (returns 0), until the launcher has ended (SUPERVISE_AGAIN), or until an
 * error that a restart does not mend (EXIT_REFUSED, after one line in the log). */
int gnoded_run(const struct gnoded_options *options);

#endif
