/* node.h - one agent on an event loop: the core between a launcher and a controller
 *
 * Feeds the core (noded/core/agent.h) with what comes over the link (net.h), from the launcher and
 * from the clock, and carries out its effects. What the launcher is, the owner says: gnoded has the
 * real one behind a socket pair (bridge.h), `gnoded --simulate` a simulated one for each node.
 *
 * The link is wanted whenever the launcher is up.
 */
#ifndef NODED_NODE_H
#define NODED_NODE_H

#include <protobuf-c/protobuf-c.h>

#include "noded/net/convert.h"
#include "noded/net/net.h"

struct event_base;
struct node;

/* How to speak to the launcher. */
struct node_launcher {
	/* An AGENT_TELL_* effect, and the same as a message. Must not call back into the node. */
	void (*tell)(void *arg, const struct agent_effect *effect, unsigned type,
	        const ProtobufCMessage *message);
	/* link_ops.credential; NULL: the net makes its own. */
	void (*credential)(void *arg, uint64_t session, const void *payload, size_t len,
	        uint32_t restrict_uid);
	/* NodeSettings; NULL: nothing runs here. */
	void (*settings)(void *arg, const ProtobufCMessage *message);
	/* MSG_STREAM_* from the controller; NULL: there are no streams here. */
	void (*stream)(void *arg, unsigned type, const ProtobufCMessage *message);
	void (*stream_room)(void *arg); /* node_is_full() no longer */
	/* MSG_GPU_* from the controller; a session has registered: what it should know can be told.
	 * NULL: this launcher tells nothing of GPUs. */
	void (*gpus)(void *arg, unsigned type, const ProtobufCMessage *message);
	void (*registered)(void *arg);
	void (*stream_lost)(void *arg); /* the session is gone, and with it all streams */
};

struct node_config {
	struct event_base *base; /* borrowed, all of them */
	struct net *net;
	struct node_facts *facts;
	const struct node_launcher *launcher;
	void *arg;
	/* Fill in load and memory before a heartbeat; NULL: leave them. */
	void (*refresh)(struct node_facts *facts);
	bool quiet; /* one of thousands: passing troubles are logged at debug level only */
};

struct node *node_new(const struct node_config *config);
void node_free(struct node *node); /* NULL is fine */

/* Something happened at the launcher: an event, or a message that is one. -1: it is none, and the
 * launcher should be given up (ERR_PROTOCOL). */
/* What the node has is not what it registered with: register again, in a session of its own. */
void node_register_again(struct node *node);

void node_event(struct node *node, const struct agent_event *event);
int node_launcher_message(
        struct node *node, unsigned type, const ProtobufCMessage *message, struct error *err);

/* The launcher's answer for a credential; see link_credential(). */
void node_credential(
        struct node *node, uint64_t session, const char *credential, const struct error *err);

/* MSG_STREAM_* to the controller, in the present session; does much wait to be sent? */
void node_send_stream(struct node *node, unsigned type, const ProtobufCMessage *message);
bool node_is_full(const struct node *node);

/* What its runs use now (RunsUsed), if it is registered and its link is not full: lost otherwise,
 * the next comes soon. */
void node_send_used(struct node *node, const ProtobufCMessage *message);

/* A GpuReport, if there is a controller that takes it: lost otherwise. */
void node_tell_gpus(struct node *node, const ProtobufCMessage *message);

/* Why the last connection failed or was lost; "" once it is registered. */
const char *node_trouble(const struct node *node);

const struct agent *node_agent(const struct node *node);

#endif
