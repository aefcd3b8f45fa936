/* agent_loop.c - see agent_loop.h */
#include "config.h"

#include "noded/net/agent_loop.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>

#include "common/base/clock.h"
#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"

struct agent_loop {
	struct agent_loop_config config;
	struct agent *agent;
	struct convert *convert; /* of the present event and its effects */
	struct link *link;
	struct event *timer;
	uint64_t session; /* that is up; 0: none */
	bool applying;
	bool takes_faults;                               /* the controller accepts GpuReports */
	bool takes_load;                                 /* and RunsLoad */
	char address[SESSION_ADDRESS_LEN];               /* facts.service_address, if we found it */
	char trouble[sizeof(((struct error *)0)->text)]; /* last logged; "" none */
};

static struct clocks clocks_now(void)
{
	/* CLOCK_BOOTTIME: it includes the time for which the node was suspended. */
	return (struct clocks){ .wall = clock_us(CLOCK_REALTIME),
		.mono = clock_us(CLOCK_BOOTTIME) };
}

/* --- effects --------------------------------------------------------------------------------- */

static void send_message(struct agent_loop *node, const struct agent_effect *effect)
{
	const ProtobufCMessage *message;
	struct error err;
	unsigned type;

	if (effect->kind == AGENT_SEND_HEARTBEAT && node->config.refresh)
		node->config.refresh(node->config.facts);
	message = convert_effect(node->convert, effect, node->config.facts, &type);
	if (link_send(node->link, effect->session, type, message, &err) < 0)
		log_error("node %s: %s", node->config.facts->node, err.text);
}

static void send_register(struct agent_loop *node, const struct agent_effect *effect)
{
	FAILPOINT(agent_before_register);
	send_message(node, effect);
	FAILPOINT(agent_after_register);
}

static void send_report(struct agent_loop *node, const struct agent_effect *effect)
{
	FAILPOINT(agent_before_report);
	send_message(node, effect);
	FAILPOINT(agent_after_report);
}

static void tell_launcher(struct agent_loop *node, const struct agent_effect *effect)
{
	unsigned type;
	const ProtobufCMessage *message =
	        convert_effect(node->convert, effect, node->config.facts, &type);

	node->config.launcher->tell(node->config.arg, effect, type, message);
}

static void tell_start(struct agent_loop *node, const struct agent_effect *effect)
{
	FAILPOINT(agent_before_tell_start);
	tell_launcher(node, effect);
	FAILPOINT(agent_after_tell_start);
}

static void tell_forget(struct agent_loop *node, const struct agent_effect *effect)
{
	FAILPOINT(agent_before_tell_forget);
	tell_launcher(node, effect);
}

static void lose_streams(struct agent_loop *node)
{
	node->session = 0;
	if (node->config.launcher->stream_lost)
		node->config.launcher->stream_lost(node->config.arg);
}

static void close_session(struct agent_loop *node, const struct agent_effect *effect)
{
	log_msg(node->config.quiet ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING,
	        "node %s: session closed: %s", node->config.facts->node, effect->text);
	link_close(node->link, effect->session);
	if (node->session == effect->session)
		lose_streams(node);
}

static void log_effect(struct agent_loop *node, const struct agent_effect *effect)
{
	log_warning("node %s: %s", node->config.facts->node, effect->text);
}

static void (*const carry_out[AGENT_EFFECT_COUNT])(
        struct agent_loop *node, const struct agent_effect *effect) = {
	[AGENT_SEND_REGISTER] = send_register,
	[AGENT_SEND_REPORT] = send_report,
	[AGENT_SEND_HEARTBEAT] = send_message,
	[AGENT_CLOSE_SESSION] = close_session,
	[AGENT_TELL_START] = tell_start,
	[AGENT_TELL_END] = tell_launcher,
	[AGENT_TELL_SIGNAL] = tell_launcher,
	[AGENT_TELL_SUSPEND] = tell_launcher,
	[AGENT_TELL_FORGET] = tell_forget,
	[AGENT_TELL_EPOCH] = tell_launcher,
	[AGENT_NOTE] = log_effect,
};

static void arm_timer(struct agent_loop *node, struct clocks now)
{
	usec_t at = agent_next_timer(node->agent), wait = at > now.mono ? at - now.mono : 0;
	struct timeval tv = { .tv_sec = wait / 1000000, .tv_usec = wait % 1000000 };

	if (at == INT64_MAX)
		evtimer_del(node->timer);
	else
		evtimer_add(node->timer, &tv);
}

static void apply(struct agent_loop *node, const struct agent_event *event)
{
	struct clocks now = clocks_now();
	const struct agent_effect *effects;
	size_t n;

	assert(!node->applying);
	node->applying = true;
	agent_apply(node->agent, event, now);
	effects = agent_effects(node->agent, &n);
	for (size_t i = 0; i < n; i++)
		carry_out[effects[i].kind](node, &effects[i]);
	agent_effects_clear(node->agent);
	convert_clear(node->convert);
	arm_timer(node, now);
	node->applying = false;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	apply(arg, &(struct agent_event){ .kind = AGENT_CLOCK });
}

/* --- the controller -------------------------------------------------------------------------- */

static void on_up(void *arg, uint64_t session)
{
	struct agent_loop *node = arg;
	struct node_facts *facts = node->config.facts;

	node->session = session;
	if (!facts->service_address || facts->service_address == node->address) {
		link_own_address(node->link, session, node->address);
		facts->service_address = node->address;
	}
	apply(arg, &(struct agent_event){ .kind = AGENT_SESSION_UP, .session = session });
}

static void log_registered(struct agent_loop *node, uint64_t epoch)
{
	struct agent_stats stats;

	agent_stats(node->agent, &stats);
	if (!stats.registered)
		return;
	link_is_good(node->link);
	node->trouble[0] = '\0';
	log_msg(node->config.quiet ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO,
	        "node %s: registered, epoch %llu", node->config.facts->node,
	        (unsigned long long)epoch);
}

void agent_loop_send_stream(struct agent_loop *node, unsigned type, const ProtobufCMessage *message)
{
	struct error err;

	if (node->session && link_send(node->link, node->session, type, message, &err) < 0)
		log_error("node %s: %s", node->config.facts->node, err.text);
}

void agent_loop_send_used(struct agent_loop *node, const ProtobufCMessage *message)
{
	struct agent_stats stats;

	agent_stats(node->agent, &stats);
	if (stats.registered && !stats.stale && !agent_loop_is_full(node))
		agent_loop_send_stream(node, GPUSCHED__MSG_TYPE__MSG_RUNS_USED, message);
}

/* Is there a registered session whose controller's orders count? */
static bool is_heard(const struct agent_loop *node)
{
	struct agent_stats stats;

	agent_stats(node->agent, &stats);
	return stats.registered && !stats.stale;
}

void agent_loop_send_load(struct agent_loop *node, const ProtobufCMessage *message)
{
	if (node->takes_load && is_heard(node) && !agent_loop_is_full(node))
		agent_loop_send_stream(node, GPUSCHED__MSG_TYPE__MSG_RUNS_LOAD, message);
}

void agent_loop_tell_gpus(struct agent_loop *node, const ProtobufCMessage *message)
{
	const Gpusched__GpuReport *m = (const Gpusched__GpuReport *)message;

	if (node->takes_faults && is_heard(node) && (m->n_faults || m->n_looked))
		agent_loop_send_stream(node, GPUSCHED__MSG_TYPE__MSG_GPU_REPORT, message);
}

static void take_gpus(struct agent_loop *node, unsigned type, const ProtobufCMessage *message)
{
	if (node->config.launcher->gpus && is_heard(node))
		node->config.launcher->gpus(node->config.arg, type, message);
}

bool agent_loop_is_full(const struct agent_loop *node)
{
	return link_full(node->link, node->session);
}

static bool is_stream(unsigned type)
{
	return type == GPUSCHED__MSG_TYPE__MSG_STREAM_OPEN ||
	       (type >= GPUSCHED__MSG_TYPE__MSG_STREAM_DATA &&
	               type <= GPUSCHED__MSG_TYPE__MSG_STREAM_CLOSE);
}

static void take_stream(struct agent_loop *node, unsigned type, const ProtobufCMessage *message)
{
	Gpusched__StreamClose m = GPUSCHED__STREAM_CLOSE__INIT;
	char none[] = "this node only pretends: nothing runs there";

	if (node->config.launcher->stream) {
		node->config.launcher->stream(node->config.arg, type, message);
	} else if (type == GPUSCHED__MSG_TYPE__MSG_STREAM_OPEN) {
		m.stream = ((const Gpusched__StreamOpen *)message)->stream;
		m.code = ERR_NODE_STATE;
		m.text = none;
		agent_loop_send_stream(node, GPUSCHED__MSG_TYPE__MSG_STREAM_CLOSE, &m.base);
	}
}

static void on_writable(void *arg, uint64_t session)
{
	struct agent_loop *node = arg;

	(void)session;
	if (node->config.launcher->stream_room)
		node->config.launcher->stream_room(node->config.arg);
}

/* Pass settings of a valid controller to the launcher, which decides about them. */
static void take_settings(struct agent_loop *node, const ProtobufCMessage *message)
{
	struct agent_stats stats;

	agent_stats(node->agent, &stats);
	if (stats.registered && !stats.stale && node->config.launcher->settings)
		node->config.launcher->settings(node->config.arg, message);
}

static void registered(struct agent_loop *node, const Gpusched__Registered *m)
{
	log_registered(node, m->epoch);
	node->takes_faults = m->takes_faults;
	node->takes_load = m->takes_load;
	if (node->config.launcher->registered)
		node->config.launcher->registered(node->config.arg, m);
}

static void on_message(void *arg, uint64_t session, unsigned type, const ProtobufCMessage *message)
{
	struct agent_loop *node = arg;
	struct agent_event event;
	struct error err;

	if (is_stream(type)) {
		take_stream(node, type, message);
		return;
	}
	if (type == GPUSCHED__MSG_TYPE__MSG_NODE_SETTINGS) {
		take_settings(node, message);
		return;
	}
	if (type == GPUSCHED__MSG_TYPE__MSG_GPU_ACK || type == GPUSCHED__MSG_TYPE__MSG_GPU_CHECK) {
		take_gpus(node, type, message);
		return;
	}
	if (convert_event(node->convert, type, message, session, &event, &err) < 0) {
		log_error("node %s: from the controller: %s", node->config.facts->node, err.text);
		convert_clear(node->convert);
		link_close(node->link, session);
		lose_streams(node);
		apply(node,
		        &(struct agent_event){ .kind = AGENT_SESSION_GONE, .session = session });
		return;
	}
	apply(node, &event);
	if (event.kind == AGENT_REGISTERED)
		registered(node, (const Gpusched__Registered *)message);
}

/* A repeated error is logged once. */
static void on_down(void *arg, uint64_t session, const struct error *why, unsigned retry_ms)
{
	struct agent_loop *node = arg;
	bool again = strcmp(node->trouble, why->text) == 0 || node->config.quiet;

	log_msg(again ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING,
	        "node %s: %s: %s%s%s; next try in %u ms", node->config.facts->node,
	        session ? "connection lost" : "no connection", why->text, *why->hint ? "; " : "",
	        why->hint, retry_ms);
	memcpy(node->trouble, why->text, sizeof(node->trouble));
	if (session)
		lose_streams(node);
	if (session)
		apply(node,
		        &(struct agent_event){ .kind = AGENT_SESSION_GONE, .session = session });
}

static void on_credential(
        void *arg, uint64_t session, const void *payload, size_t len, uint32_t restrict_uid)
{
	struct agent_loop *node = arg;

	node->config.launcher->credential(node->config.arg, session, payload, len, restrict_uid);
}

static const struct link_ops net_credential = {
	.up = on_up, .message = on_message, .down = on_down, .writable = on_writable
};

static const struct link_ops own_credential = {
	.up = on_up,
	.message = on_message,
	.down = on_down,
	.writable = on_writable,
	.credential = on_credential,
};

void agent_loop_register_again(struct agent_loop *node)
{
	uint64_t session = node->session;

	if (!session)
		return;
	link_close(node->link, session);
	lose_streams(node);
	apply(node, &(struct agent_event){ .kind = AGENT_SESSION_GONE, .session = session });
}

/* --- the launcher ---------------------------------------------------------------------------- */

void agent_loop_event(struct agent_loop *node, const struct agent_event *event)
{
	apply(node, event);
	if (event->kind == AGENT_LAUNCHER_HELLO)
		link_want(node->link, true);
	else if (event->kind == AGENT_LAUNCHER_GONE)
		link_want(node->link, false);
}

int agent_loop_launcher_message(
        struct agent_loop *node, unsigned type, const ProtobufCMessage *message, struct error *err)
{
	struct agent_event event;

	if (convert_event(node->convert, type, message, 0, &event, err) < 0) {
		convert_clear(node->convert);
		return -1;
	}
	agent_loop_event(node, &event);
	return 0;
}

void agent_loop_credential(
        struct agent_loop *node, uint64_t session, const char *credential, const struct error *err)
{
	link_credential(node->link, session, credential, err);
}

/* --- the whole ------------------------------------------------------------------------------- */

struct agent_loop *agent_loop_new(const struct agent_loop_config *config)
{
	struct agent_loop *node = xcalloc(1, sizeof(*node));

	node->config = *config;
	node->agent = agent_new();
	node->convert = convert_new();
	node->link = link_new(config->net, config->facts->node,
	        config->launcher->credential ? &own_credential : &net_credential, node);
	node->timer = evtimer_new(config->base, on_timer, node);
	if (!node->timer)
		abort();
	return node;
}

void agent_loop_free(struct agent_loop *node)
{
	if (!node)
		return;
	link_free(node->link);
	event_free(node->timer);
	convert_free(node->convert);
	agent_free(node->agent);
	free(node);
}

const char *agent_loop_trouble(const struct agent_loop *node)
{
	return node->trouble;
}

const struct agent *agent_loop_agent(const struct agent_loop *node)
{
	return node->agent;
}
