/* convert_messages.h - from messages of gpusched.proto to events of the agent's core, and back
 *
 * Pure: decoded messages become events of the core (noded/core/agent.h), and effects of the core
 * become messages to be packed. gnoded uses it between its sockets and the core, the fault
 * simulation between its simulated network and the core.
 *
 * A `struct convert` owns what a conversion had to allocate, until convert_clear().
 */
#ifndef NODED_CONVERT_MESSAGES_H
#define NODED_CONVERT_MESSAGES_H

#include <stdbool.h>

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"
#include "noded/core/agent.h"

struct convert;

struct convert *convert_new(void);
void convert_free(struct convert *c); /* NULL is fine */
void convert_clear(struct convert *c);

/* Facts of the node that the core does not need. Strings are borrowed. */
struct node_facts {
	const char *node, *version;
	uint32_t cpus;
	uint64_t mem_mb;
	uint64_t tmp_mb;      /* its disk for temporary data; 0: not known */
	bool pretended;       /* not found on the node: from the command line, or simulated */
	bool share_users_one; /* by the node's own option */
	uint32_t service_ports;      /* how many replicas of services may have */
	const char *service_address; /* of replicas here; NULL: not known */
	double load;
	uint64_t mem_free_mb;
	const Gpusched__Inventory *inventory; /* its GPUs; NULL: as configured */
};

/* A message of the controller (on `session`) or of the launcher (session 0) as an event. The event
 * borrows from `msg` and `c`; the order of a start is `msg` itself. -1 with ERR_PROTOCOL: the type
 * is none of these, or a GPU index, a state or an id is out of range. */
int convert_event(struct convert *c, unsigned type, const ProtobufCMessage *msg, uint64_t session,
        struct agent_event *event, struct error *err);

/* An effect as a message to pack, and its type; it borrows from `effect`, `facts` and `c`. For
 * AGENT_TELL_START it is the order as it came, which must still exist. NULL: this effect has no
 * message (AGENT_CLOSE_SESSION, AGENT_NOTE). */
const ProtobufCMessage *convert_effect(struct convert *c, const struct agent_effect *effect,
        const struct node_facts *facts, unsigned *type);

/* One report as a message, for a simulated launcher. */
void convert_report(struct convert *c, const struct run_report *report, Gpusched__RunReport *out);

#endif
