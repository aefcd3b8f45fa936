/* agent.c - what agents send: REGISTER, RUN_REPORT, HEARTBEAT, RUNS_USED, GPU_REPORT
 *
 * An agent that sends what it may not, or that cannot be, is closed: it comes back and registers,
 * which puts right whatever was wrong between us.
 */
#include <string.h>

#include "common/base/log.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/census.h"
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

void rpc_register(struct ctld *c, const struct rpc *rpc)
{
	const Gpusched__Register *m = (const Gpusched__Register *)rpc->msg;
	struct core_event ev = { 0 };
	struct error err;

	if (check_register(rpc->peer, m, &err) || wire_register(m, c->in, &ev, &err)) {
		peer_expel(c, rpc->peer, &err);
		return;
	}
	rpc->peer->registered = true;
	rpc->peer->takes_settings = m->settings;
	ev.agent_up.node = rpc->peer->node;
	ev.agent_up.session = rpc->peer->session;
	inputs_apply(c, &ev, rpc->now);
	census_soon(c->census);
}

/* Only a registered agent of a node that is still there is heard. */
static bool is_heard(struct ctld *c, const struct rpc *rpc)
{
	struct error err;

	if (!rpc->peer->registered) {
		error_set(&err, ERR_PROTOCOL, "it has not registered");
		peer_expel(c, rpc->peer, &err);
	}
	return rpc->peer->registered && rpc->peer->node != UINT32_MAX;
}

void rpc_run_report(struct ctld *c, const struct rpc *rpc)
{
	struct core_event ev = { .kind = EV_RUN_REPORT };
	struct error err;

	if (!is_heard(c, rpc))
		return;
	if (wire_report((const Gpusched__RunReport *)rpc->msg, &ev.run.report, &err)) {
		peer_expel(c, rpc->peer, &err);
		return;
	}
	ev.run.node = rpc->peer->node;
	ev.run.session = rpc->peer->session;
	inputs_apply(c, &ev, rpc->now);
}

void rpc_heartbeat(struct ctld *c, const struct rpc *rpc)
{
	struct core_event ev = { .kind = EV_HEARTBEAT };

	if (!is_heard(c, rpc))
		return;
	ev.agent.node = rpc->peer->node;
	ev.agent.session = rpc->peer->session;
	inputs_apply(c, &ev, rpc->now);
}

void rpc_runs_used(struct ctld *c, const struct rpc *rpc)
{
	struct core_event ev = { 0 };
	struct error err;

	if (!is_heard(c, rpc))
		return;
	if (wire_runs_used((const Gpusched__RunsUsed *)rpc->msg, c->in, &ev, &err)) {
		peer_expel(c, rpc->peer, &err);
		return;
	}
	ev.used.node = rpc->peer->node;
	ev.used.session = rpc->peer->session;
	inputs_apply(c, &ev, rpc->now);
}

void rpc_gpu_report(struct ctld *c, const struct rpc *rpc)
{
	struct core_event ev = { 0 };
	struct error err;

	if (!is_heard(c, rpc))
		return;
	if (wire_gpu_report((const Gpusched__GpuReport *)rpc->msg, c->in, &ev, &err)) {
		peer_expel(c, rpc->peer, &err);
		return;
	}
	ev.gpus.node = rpc->peer->node;
	ev.gpus.session = rpc->peer->session;
	inputs_apply(c, &ev, rpc->now);
}
