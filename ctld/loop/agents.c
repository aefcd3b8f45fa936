/* agents.c - see agents.h */
#include "ctld/loop/agents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/session.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/blobs.h"
#include "ctld/loop/commit_gate.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/tick.h"
#include "ctld/loop/user_peers.h"
#include "ctld/wire/convert.h"

struct by_name {
	const char *name; /* of the configuration */
	uint32_t node;
};

struct agents {
	struct by_name *names; /* in order */
	size_t n;
};

/* --- nodes by name ------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	const struct by_name *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void index_nodes(struct agents *a, const struct conf *conf)
{
	free(a->names);
	a->n = conf->n_nodes;
	a->names = xcalloc(a->n, sizeof(*a->names));
	for (size_t i = 0; i < a->n; i++)
		a->names[i] = (struct by_name){ conf->nodes[i].name, (uint32_t)i };
	qsort(a->names, a->n, sizeof(*a->names), compare_names);
}

struct agents *agents_new(const struct conf *conf)
{
	struct agents *a = xcalloc(1, sizeof(*a));

	index_nodes(a, conf);
	return a;
}

void agents_free(struct agents *a)
{
	if (!a)
		return;
	free(a->names);
	free(a);
}

bool agents_find_node(const struct agents *a, const char *name, uint32_t *node)
{
	struct by_name key = { name, 0 };
	const struct by_name *at = bsearch(&key, a->names, a->n, sizeof(key), compare_names);

	if (at)
		*node = at->node;
	return at != NULL;
}

void agents_gone(struct ctld *c, const struct peer *peer, struct clocks now)
{
	struct core_event ev = { .kind = EV_AGENT_GONE };

	if (!peer->registered || peer->node == UINT32_MAX)
		return;
	ev.agent.node = peer->node;
	ev.agent.session = peer->session;
	inputs_apply(c, &ev, now);
}

/* --- orders -------------------------------------------------------------------------------- */

static struct wire_facts facts_of(const struct ctld *c)
{
	return (struct wire_facts){ core_conf(c->core), c->epoch };
}

static void order(struct ctld *c, uint64_t session, unsigned type, const ProtobufCMessage *m)
{
	peers_send(c, session, type, 0, m);
}

static uint8_t *pack(const ProtobufCMessage *m, size_t *len)
{
	uint8_t *bytes;

	*len = protobuf_c_message_get_packed_size(m);
	bytes = xcalloc(*len, 1);
	protobuf_c_message_pack(m, bytes);
	return bytes;
}

/* What the configuration says of the node's runs, unless that was told in this session. */
static void tell_settings(struct ctld *c, struct peer *peer)
{
	struct wire_facts facts = facts_of(c);
	uint64_t hash = 0xcbf29ce484222325u;
	uint8_t *bytes;
	size_t len;

	if (!peer->registered || !peer->takes_settings || peer->node == UINT32_MAX)
		return;
	arena_reset(c->out, WIRE_ARENA_CAP);
	bytes = pack(&wire_node_settings(peer->node, &facts, c->out)->base, &len);
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3u;
	if (hash != peer->settings)
		peers_send_packed(
		        c, peer->session, GPUSCHED__MSG_TYPE__MSG_NODE_SETTINGS, 0, bytes, len);
	peer->settings = hash;
	free(bytes);
}

void agents_registered(struct ctld *c, const struct effect *effect, struct clocks now)
{
	struct wire_facts facts = facts_of(c);
	struct peer *peer;

	(void)now;
	arena_reset(c->out, WIRE_ARENA_CAP);
	order(c, effect->session, GPUSCHED__MSG_TYPE__MSG_REGISTERED,
	        &wire_registered(effect, &facts, c->out)->base);
	peer = peers_find(c->peers, effect->session);
	if (peer)
		tell_settings(c, peer);
	log_info("node %s: registered", c->conf->nodes[effect->node].name);
}

static void remap_peer(struct ctld *c, struct peer *peer)
{
	if (!agents_find_node(c->agents, peer->node_name, &peer->node))
		peer->node = UINT32_MAX;
	tell_settings(c, peer);
}

void agents_remap(struct ctld *c)
{
	index_nodes(c->agents, c->conf);
	peers_each_agent(c->peers, remap_peer);
	user_peers_renumber(c);
}

void agents_close(struct ctld *c, const struct effect *effect, struct clocks now)
{
	struct peer *peer = peers_find(c->peers, effect->session);
	struct error why;

	(void)now;
	error_set(&why, ERR_NODE_STATE, "%s", effect->text);
	if (peer)
		peer_expel(c, peer, &why);
}

void agents_end_run(struct ctld *c, const struct effect *effect, struct clocks now)
{
	struct wire_facts facts = facts_of(c);

	(void)now;
	arena_reset(c->out, WIRE_ARENA_CAP);
	order(c, effect->session, GPUSCHED__MSG_TYPE__MSG_END_RUN,
	        &wire_end_run(effect, &facts, c->out)->base);
}

void agents_signal_run(struct ctld *c, const struct effect *effect, struct clocks now)
{
	struct wire_facts facts = facts_of(c);

	(void)now;
	arena_reset(c->out, WIRE_ARENA_CAP);
	order(c, effect->session, GPUSCHED__MSG_TYPE__MSG_SIGNAL_RUN,
	        &wire_signal_run(effect, &facts, c->out)->base);
}

void agents_suspend_run(struct ctld *c, const struct effect *effect, struct clocks now)
{
	struct wire_facts facts = facts_of(c);

	(void)now;
	arena_reset(c->out, WIRE_ARENA_CAP);
	order(c, effect->session, GPUSCHED__MSG_TYPE__MSG_SUSPEND_RUN,
	        &wire_suspend_run(effect, &facts, c->out)->base);
}

void agents_forget_run(struct ctld *c, const struct effect *effect, struct clocks now)
{
	(void)now;
	arena_reset(c->out, WIRE_ARENA_CAP);
	order(c, effect->session, GPUSCHED__MSG_TYPE__MSG_FORGET_RUN,
	        &wire_forget_run(&effect->run.run, 1, c->out)->base);
}

void agents_ack_gpus(struct ctld *c, const struct effect *effect, struct clocks now)
{
	(void)now;
	arena_reset(c->out, WIRE_ARENA_CAP);
	order(c, effect->session, GPUSCHED__MSG_TYPE__MSG_GPU_ACK,
	        &wire_gpu_ack(effect, c->out)->base);
}

void agents_check_gpus(struct ctld *c, const struct effect *effect, struct clocks now)
{
	(void)now;
	arena_reset(c->out, WIRE_ARENA_CAP);
	order(c, effect->session, GPUSCHED__MSG_TYPE__MSG_GPU_CHECK,
	        &wire_gpu_check(effect, c->out)->base);
}

/* --- launches ------------------------------------------------------------------------------ */

/* A launch that waits for its signed bytes. */
struct launch {
	struct ctld *c;
	struct commit_gate_slot *slot;
	struct run_id run;
	uint64_t session;
	uint8_t *order; /* packed, without the signed bytes */
	size_t order_len;
};

static void launch_free(void *arg)
{
	struct launch *l = arg;

	free(l->order);
	free(l);
}

/* The whole frame: its parts one behind the other. NULL: it is too large to be sent. */
static uint8_t *launch_frame(
        struct ctld *c, const struct launch *l, const struct store_blob *blob, size_t *len)
{
	const struct msg_type *type = msg_type(GPUSCHED__MSG_TYPE__MSG_START_RUN);
	const Gpusched__StartRun *bytes;
	size_t body;
	uint8_t *frame;

	arena_reset(c->out, WIRE_ARENA_CAP);
	bytes = wire_start_bytes(blob, c->out);
	body = l->order_len + protobuf_c_message_get_packed_size(&bytes->base);
	if (body > type->max_len)
		return NULL;
	*len = FRAME_HEADER_LEN + body;
	frame = xcalloc(*len, 1);
	frame_put_header(frame, type->type, 0, (uint32_t)body);
	memcpy(frame + FRAME_HEADER_LEN, l->order, l->order_len);
	protobuf_c_message_pack(&bytes->base, frame + FRAME_HEADER_LEN + l->order_len);
	return frame;
}

/* It was never sent and never will be: what an agent would answer is answered here. */
static void run_never(struct ctld *c, void *arg, struct clocks now)
{
	struct launch *l = arg;
	struct peer *peer = peers_find(c->peers, l->session);
	struct core_event ev = { .kind = EV_RUN_REPORT };
	struct run_view run;

	if (peer && peer->node != UINT32_MAX && core_run_view(c->core, l->run, now, &run)) {
		ev.run.node = peer->node;
		ev.run.session = l->session;
		ev.run.report.run = l->run;
		ev.run.report.state = REPORT_NEVER;
		ev.run.report.detail = "the controller has lost what its owner signed";
		ev.run.report.incarnation = run.incarnation;
		ev.run.report.epoch = run.epoch;
		ev.run.report.gpu_type = run.gpu_type;
		inputs_apply(c, &ev, now);
	}
	launch_free(l);
}

static const struct tick_work never_work = { run_never, launch_free };

static void launch_got(void *arg, const struct store_blob *blob)
{
	struct launch *l = arg;
	uint8_t *frame = NULL;
	size_t len = 0;

	if (!blob) { /* the controller ends */
		launch_free(l);
		return;
	}
	if (blob->spec)
		frame = launch_frame(l->c, l, blob, &len);
	commit_gate_fill(l->slot, frame, frame ? len : 0);
	if (frame) {
		launch_free(l);
		return;
	}
	log_error("job %llu: its signed bytes are %s", (unsigned long long)l->run.job,
	        blob->spec ? "too large to be sent" : "not in the store");
	tick_post(l->c->tick, &never_work, l);
}

void agents_start_run(struct ctld *c, const struct effect *effect, struct clocks now)
{
	const struct run_id id = effect->run.run;
	const struct store_blob *blob;
	struct job_view job;
	struct run_view run;
	struct launch *l;

	if (!core_run_view(c->core, id, now, &run) ||
	        !core_job_view(c->core, core_run_ref(c->core, id), now, &job)) {
		log_debug("job %llu: its launch was overtaken by its end",
		        (unsigned long long)id.job);
		return;
	}
	l = xcalloc(1, sizeof(*l));
	l->c = c;
	l->run = id;
	l->session = effect->session;
	arena_reset(c->out, WIRE_ARENA_CAP);
	l->order = pack(
	        &wire_start_run(&run, &job, c->conf->prices.currency, c->out)->base, &l->order_len);
	l->slot = commit_gate_reserve(
	        c->gate, COMMIT_GATE_AGENTS, effect->session, core_change(c->core));
	blob = blobs_get(c->blobs, id.job);
	if (blob)
		launch_got(l, blob);
	else
		blobs_want(c->blobs, id.job, launch_got, l);
}
