/* simulate.h - gnoded --simulate: thousands of agents in one process
 *
 * Each is a real agent for the controller: the same core, its own session, its own credential. Only
 * the launcher is simulated (sim_launcher.h): a job's label `sim=SECONDS[:EXIT]` says how its runs
 * go. Nothing is kept on disk: to the controller the end of this process is the loss of all its
 * nodes, and its start is their reboot.
 */
#ifndef NODED_SIMULATE_H
#define NODED_SIMULATE_H

#include <stddef.h>

#include "common/conf/conf.h"
#include "noded/net/convert_messages.h"

struct simulate_options { /* strings borrowed */
	const struct conf_client *client;
	struct node_facts facts; /* of each node, but for the name */
	char *const *names;
	size_t n;
	int ready_fd; /* for daemon_ready(), or -1; taken over */
};

/* Runs until TERM or INT (returns 0) or an error (EXIT_REFUSED, after one line in the log). */
int simulate_run(const struct simulate_options *options);

#endif
