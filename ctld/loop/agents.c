/* agents.c - see agents.h */
#include "ctld/loop/agents.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/session.h"
#include "ctld/core/core.h"
#include "ctld/core/util/hash.h"
#include "ctld/ctld.h"
#include "ctld/loop/commit_gate.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/node_names.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/script_cache.h"
#include "ctld/loop/session_admission.h"
#include "ctld/loop/tick.h"
#include "ctld/wire/convert.h"

void agents_gone(struct ctld *c, const struct peer *peer, struct clocks now)
{
	struct core_event ev = { .kind = EV_AGENT_GONE };

	if (!peer->registered || peer->node == UINT32_MAX)
		return;
	COPY_FIELDS(&ev.agent, peer, node, session);
	inputs_apply(c, &ev, now);
}

/* --- orders -------------------------------------------------------------------------------- */

static struct wire_facts facts_of(const struct ctld *c)
{
	return (struct wire_facts){ core_conf(c->core), c->epoch };
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
static void send_settings(struct ctld *c, struct peer *peer)
{
	struct wire_facts facts = facts_of(c);
	uint8_t *bytes;
	uint64_t hash;
	size_t len;

	if (!peer->registered || !peer->takes_settings || peer->node == UINT32_MAX)
		return;
	arena_reset(c->out, WIRE_ARENA_CAP);
	bytes = pack(&wire_node_settings(peer->node, &facts, c->out)->base, &len);
	hash = hash_bytes(bytes, len, 0);
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
	peers_send(c, effect->session, GPUSCHED__MSG_TYPE__MSG_REGISTERED, 0,
	        &wire_registered(effect, &facts, c->out)->base);
	peer = peers_find(c->peers, effect->session);
	if (peer)
		send_settings(c, peer);
	log_info("node %s: registered", c->conf->nodes[effect->node].name);
}

static void remap_peer(struct ctld *c, struct peer *peer)
{
	uint32_t from = peer->node;

	if (!node_names_find(c->node_names, peer->node_name, &peer->node))
		peer->node = UINT32_MAX;
	if (!peer->closed)
		admission_renumber(c, peer, from);
	send_settings(c, peer);
}

void agents_remap(struct ctld *c)
{
	node_names_set(c->node_names, c->conf);
	peers_each_agent(c->peers, remap_peer);
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

void agents_order(struct ctld *c, const struct effect *effect, struct clocks now)
{
	struct wire_facts facts = facts_of(c);
	const ProtobufCMessage *m;
	unsigned type;

	(void)now;
	arena_reset(c->out, WIRE_ARENA_CAP);
	m = wire_order(effect, &facts, c->out, &type);
	peers_send(c, effect->session, type, 0, m);
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
		COPY_FIELDS(&ev.run.report, &run, incarnation, epoch, gpu_type);
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
	blob = script_cache_get(c->script_cache, id.job);
	if (blob)
		launch_got(l, blob);
	else
		script_cache_want(c->script_cache, id.job, launch_got, l);
}
