/* convert.h - gpusched.proto on one side, the agent's core on the other
 *
 * Pure: decoded messages in, events of the core out (noded/core/agent.h); effects of the core in,
 * messages to be packed out. gnoded uses it between its sockets and the core, the fault simulation
 * between its simulated network and the core.
 *
 * A `struct convert` owns what a conversion had to allocate, until convert_clear().
 */
#ifndef NODED_CONVERT_H
#define NODED_CONVERT_H

#include <stdbool.h>

#include "common/error.h"
#include "common/gpusched.pb-c.h"
#include "noded/core/agent.h"

struct convert;

struct convert *convert_new(void);
void convert_free(struct convert *c); /* NULL is fine */
void convert_clear(struct convert *c);

/* What the world knows and the core does not need to. Strings are borrowed. */
struct node_facts {
	const char *node, *version;
	uint32_t cpus;
	uint64_t mem_mb;
	bool pretended;       /* told on the command line, not found */
	bool share_users_one; /* by its own option */
	double load;
	uint64_t mem_free_mb;
	const Gpusched__Inventory *inventory; /* its GPUs; NULL: they are as configured */
};

/* A message of the controller (on `session`) or of the launcher (session 0) as an event. It borrows
 * from `msg` and `c`; order of a start is `msg` itself. -1 with ERR_PROTOCOL: the type is none of
 * these, or a GPU index, state or id that cannot be. */
int convert_event(struct convert *c, unsigned type, const ProtobufCMessage *msg, uint64_t session,
        struct agent_event *event, struct error *err);

/* An effect as a message to pack, and its type; borrows from `effect`, `facts` and `c`. An
 * AGENT_TELL_START is the order as it came, which must still be there. NULL: no message goes with
 * this effect (AGENT_CLOSE_SESSION, AGENT_NOTE). */
const ProtobufCMessage *convert_effect(struct convert *c, const struct agent_effect *effect,
        const struct node_facts *facts, unsigned *type);

/* One report, for whoever plays the launcher. */
void convert_report(struct convert *c, const struct run_report *report, Gpusched__RunReport *out);

#endif
