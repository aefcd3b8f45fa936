/* agent_messages.c - what agents send: REGISTER, RUN_REPORT, HEARTBEAT, RUNS_USED, RUNS_LOAD, GPU_REPORT
 *
 * An agent that sends what it may not, or that cannot be, is closed: it comes back and registers,
 * which puts right whatever was wrong between us.
 */
#include <string.h>

#include "ctld/ctld.h"
#include "ctld/loop/gpu_count_events.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/peers.h"
#include "ctld/rpc/rpc.h"
#include "ctld/wire/convert.h"

static int check_register(const struct peer *peer, const Gpusched__Register *m, struct error *err)
{
	if (peer->node == UINT32_MAX)
		return error_set(err, ERR_NO_NODE, "the configuration has it no longer");
	if (peer->registered)
		return error_set(err, ERR_PROTOCOL, "it registers a second time");
	if (strcmp(m->node, peer->node_name) != 0)
		return error_set(err, ERR_PROTOCOL, "it registers as another node");
	return 0;
}

int rpc_register(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__Register *m = (const Gpusched__Register *)rpc->msg;
	struct core_event ev = { 0 };

	if (check_register(rpc->peer, m, err) || wire_register(m, c->in, &ev, err))
		return -1;
	rpc->peer->registered = true;
	rpc->peer->takes_settings = m->settings;
	ev.agent_up.node = rpc->peer->node;
	ev.agent_up.session = rpc->peer->session;
	inputs_apply(c, &ev, rpc->now);
	gpu_count_events_soon(c->gpu_counts);
	return 0;
}

/* 1: the message is from a registered agent of a configured node; 0: the node has left the
 * configuration, and the message is ignored. */
static int check_agent(const struct rpc *rpc, struct error *err)
{
	if (!rpc->peer->registered)
		return error_set(err, ERR_PROTOCOL, "it has not registered");
	return rpc->peer->node != UINT32_MAX;
}

/* Passes the event to the core; `node` and `session`, in the event, are set to the sender's. */
static int apply(struct ctld *c, const struct rpc *rpc, struct core_event *ev, uint32_t *node,
        uint64_t *session)
{
	*node = rpc->peer->node;
	*session = rpc->peer->session;
	inputs_apply(c, ev, rpc->now);
	return 0;
}

int rpc_run_report(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	struct core_event ev = { .kind = EV_RUN_REPORT };
	int known = check_agent(rpc, err);

	if (known <= 0)
		return known;
	if (wire_report((const Gpusched__RunReport *)rpc->msg, &ev.run.report, err))
		return -1;
	return apply(c, rpc, &ev, &ev.run.node, &ev.run.session);
}

int rpc_heartbeat(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	struct core_event ev = { .kind = EV_HEARTBEAT };
	int known = check_agent(rpc, err);

	return known > 0 ? apply(c, rpc, &ev, &ev.agent.node, &ev.agent.session) : known;
}

int rpc_runs_used(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	struct core_event ev = { 0 };
	int known = check_agent(rpc, err);

	if (known <= 0)
		return known;
	if (wire_runs_used((const Gpusched__RunsUsed *)rpc->msg, c->in, &ev, err))
		return -1;
	return apply(c, rpc, &ev, &ev.used.node, &ev.used.session);
}

int rpc_runs_load(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	struct core_event ev = { 0 };
	int known = check_agent(rpc, err);

	if (known <= 0)
		return known;
	if (wire_runs_load((const Gpusched__RunsLoad *)rpc->msg, c->in, &ev, err))
		return -1;
	return apply(c, rpc, &ev, &ev.load.node, &ev.load.session);
}

int rpc_gpu_report(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	struct core_event ev = { 0 };
	int known = check_agent(rpc, err);

	if (known <= 0)
		return known;
	if (wire_gpu_report((const Gpusched__GpuReport *)rpc->msg, c->in, &ev, err))
		return -1;
	return apply(c, rpc, &ev, &ev.gpus.node, &ev.gpus.session);
}
