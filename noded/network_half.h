/* network_half.h - the whole network half of the agent
 *
 * It runs one node (agent_loop.h) between one launcher (launcher_socket.h) and the controller
 * (controller_link.h) on an event loop, and handles signals and readiness. main.c prepares
 * everything that needs privilege and then calls it.
 */
#ifndef NODED_NETWORK_HALF_H
#define NODED_NETWORK_HALF_H

#include <sys/types.h>

#include "common/conf/conf.h"
#include "noded/net/convert_messages.h"

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
