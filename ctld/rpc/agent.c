/* agent.c - what agents send: REGISTER, RUN_REPORT, HEARTBEAT
 *
 * An agent that sends what it may not, or that cannot be, is closed: it comes back and registers,
 * which puts right whatever was wrong between us.
 */
#include <string.h>

#include "common/log.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/peers.h"
#include "ctld/rpc/convert.h"
#include "ctld/rpc/rpc.h"

/* Devices that an agent names must be those that the configuration gives its node. */
static int check_gpus(
        const Gpusched__Register *m, const struct conf *conf, uint32_t node, struct error *err)
{
	const struct conf_node *cn = &conf->nodes[node];
	uint32_t index = 0;

	if (m->n_gpus == 0)
		return 0;
	for (size_t i = 0; i < cn->n_gpus; i++)
		for (unsigned k = 0; k < cn->gpus[i].count; k++, index++) {
			const char *type = conf->gpu_types[cn->gpus[i].type].name;

			if (index >= m->n_gpus || m->gpus[index]->index != index ||
			        strcmp(m->gpus[index]->type, type) != 0)
				return error_set(err, ERR_NODE_STATE,
				        "GPU %u is not the %s of the configuration", index, type);
		}
	if (index != m->n_gpus)
		return error_set(err, ERR_NODE_STATE, "it has %zu GPUs, the configuration %u",
		        m->n_gpus, index);
	return 0;
}

static int check_register(const struct ctld *c, const struct peer *peer,
        const Gpusched__Register *m, struct error *err)
{
	if (peer->node == UINT32_MAX)
		return error_set(err, ERR_NO_NODE, "the configuration has it no longer");
	if (peer->registered)
		return error_set(err, ERR_PROTOCOL, "it registers a second time");
	if (strcmp(m->node, peer->node_name) != 0)
		return error_set(err, ERR_PROTOCOL, "it registers as another node");
	return check_gpus(m, c->conf, peer->node, err);
}

void rpc_register(struct ctld *c, const struct rpc *rpc)
{
	const Gpusched__Register *m = (const Gpusched__Register *)rpc->msg;
	struct core_event ev = { 0 };
	struct error err;

	if (check_register(c, rpc->peer, m, &err) || wire_register(m, c->in, &ev, &err)) {
		peer_expel(c, rpc->peer, &err);
		return;
	}
	rpc->peer->registered = true;
	ev.agent_up.node = rpc->peer->node;
	ev.agent_up.session = rpc->peer->session;
	core_apply(c->core, &ev, rpc->now);
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
	core_apply(c->core, &ev, rpc->now);
}

void rpc_heartbeat(struct ctld *c, const struct rpc *rpc)
{
	struct core_event ev = { .kind = EV_HEARTBEAT };

	if (!is_heard(c, rpc))
		return;
	ev.agent.node = rpc->peer->node;
	ev.agent.session = rpc->peer->session;
	core_apply(c->core, &ev, rpc->now);
}
