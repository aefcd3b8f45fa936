/* agent_loop.h - one agent on an event loop: the core between a launcher and a controller
 *
 * It feeds the core (noded/core/agent.h) with events from the link (controller_link.h), the
 * launcher and the clock, and carries out its effects. The owner provides the launcher: gnoded the
 * real one behind a socket pair (launcher_socket.h), `gnoded --simulate` a simulated one for each
 * node.
 *
 * The link is wanted whenever the launcher is up.
 */
#ifndef NODED_AGENT_LOOP_H
#define NODED_AGENT_LOOP_H

#include <protobuf-c/protobuf-c.h>

#include "noded/net/controller_link.h"
#include "noded/net/convert_messages.h"

struct event_base;
struct agent_loop;

/* How to speak to the launcher. */
struct agent_loop_launcher {
	/* An AGENT_TELL_* effect, and the same as a message. Must not call back into the node. */
	void (*tell)(void *arg, const struct agent_effect *effect, unsigned type,
	        const ProtobufCMessage *message);
	/* link_ops.credential; NULL: the net makes its own. */
	void (*credential)(void *arg, uint64_t session, const void *payload, size_t len,
	        uint32_t restrict_uid);
	/* NodeSettings; NULL: this launcher has no settings. */
	void (*settings)(void *arg, const ProtobufCMessage *message);
	/* MSG_STREAM_* from the controller; NULL: there are no streams here. */
	void (*stream)(void *arg, unsigned type, const ProtobufCMessage *message);
	void (*stream_room)(void *arg); /* the link has room again (agent_loop_is_full()) */
	/* `gpus`: MSG_GPU_* from the controller; NULL: this launcher reports no GPUs.
	 * `registered`: a session has registered, so GPU reports can be sent; NULL: not needed. */
	void (*gpus)(void *arg, unsigned type, const ProtobufCMessage *message);
	void (*registered)(void *arg, const Gpusched__Registered *message);
	void (*stream_lost)(void *arg); /* the session is gone, and all streams with it */
};

struct agent_loop_config {
	struct event_base *base; /* borrowed, all of them */
	struct net *net;
	struct node_facts *facts;
	const struct agent_loop_launcher *launcher;
	void *arg;
	/* Fills in load and memory before a heartbeat; NULL: they stay as they are. */
	void (*refresh)(struct node_facts *facts);
	bool quiet; /* one of thousands: passing errors are logged at debug level only */
};

struct agent_loop *agent_loop_new(const struct agent_loop_config *config);
void agent_loop_free(struct agent_loop *node); /* NULL is fine */

/* The node's facts have changed since it registered: it registers again, in a new session. */
void agent_loop_register_again(struct agent_loop *node);

/* Something happened at the launcher: an event, or a message that stands for one. -1 with
 * ERR_PROTOCOL: the message stands for none, and the launcher should be closed. */
void agent_loop_event(struct agent_loop *node, const struct agent_event *event);
int agent_loop_launcher_message(
        struct agent_loop *node, unsigned type, const ProtobufCMessage *message, struct error *err);

/* The launcher's answer for a credential; see link_credential(). */
void agent_loop_credential(
        struct agent_loop *node, uint64_t session, const char *credential, const struct error *err);

/* Send MSG_STREAM_* to the controller in the present session. Is the send queue long? */
void agent_loop_send_stream(
        struct agent_loop *node, unsigned type, const ProtobufCMessage *message);
bool agent_loop_is_full(const struct agent_loop *node);

/* Send what the runs use now (RunsUsed). It is dropped unless the node is registered and the link
 * is not full: the next one comes soon. */
void agent_loop_send_used(struct agent_loop *node, const ProtobufCMessage *message);

/* Send the load of replicas (RunsLoad). It is dropped as RunsUsed is, and if the controller does
 * not know it. */
void agent_loop_send_load(struct agent_loop *node, const ProtobufCMessage *message);

/* Send a GpuReport. It is dropped if no controller accepts it. */
void agent_loop_tell_gpus(struct agent_loop *node, const ProtobufCMessage *message);

/* Why the last connection failed or was lost; "" once it is registered. */
const char *agent_loop_trouble(const struct agent_loop *node);

const struct agent *agent_loop_agent(const struct agent_loop *node);

#endif
