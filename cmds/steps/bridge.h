/* bridge.h - the process between a program of this node and the controller
 *
 * Connecting to the controller blocks, for seconds where it is away, and steps must not notice. So
 * a child process has the connection: for each stream to another run of the job it has one end of a
 * socket pair and passes bytes between the two, and it reports steps. A stream that breaks is
 * opened again, and goes on where it was (resumable_link.h); the socket stays as it is.
 *
 * A bridge has at most BRIDGE_LINKS streams, so that one session can have them; step_bridge_open()
 * starts another one for more.
 */
#ifndef CMDS_STEPS_BRIDGE_H
#define CMDS_STEPS_BRIDGE_H

#include <stdint.h>

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"

#define BRIDGE_LINKS       60
#define BRIDGE_REPORTS_MAX 64  /* of one message to the controller */
#define BRIDGE_BATCH_MS    300 /* for reports to gather */

struct step_bridge;

struct step_bridge_of { /* the run that the links are about */
	uint64_t job;
	uint32_t task, attempt;
};

struct step_bridge *step_bridge_new(const struct step_bridge_of *of);

/* A link to the gstepd of that rank: the descriptor to speak to it. Its end is the end of the link:
 * it was refused for good, with *text on the bridge's standard error, or the run is over. */
int step_bridge_open(struct step_bridge *b, uint32_t rank, const char *node, struct error *err);

/* Tell the controller; done when it can be. A later report of a step replaces one that waits. Steps
 * that run are told again when the session has ended: the next controller does not know them. */
void step_bridge_report(struct step_bridge *b, const Gpusched__StepReport *r);

/* What waits is still told, then the processes end: for at most a few seconds, and nothing waits
 * for them. */
void step_bridge_free(struct step_bridge *b);

#endif
