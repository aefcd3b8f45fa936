/* node_control.c - MSG_NODE_CONTROL: drain, resume, down; MSG_PARTITION_CONTROL */
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/inputs.h"
#include "ctld/rpc/rpc.h"
#include "ctld/wire/convert.h"

static const struct call_ops ops = { .effect = NULL }; /* the core's answer ends it */

void rpc_node_control(struct ctld *c, const struct rpc *rpc)
{
	struct core_event ev = { 0 };
	struct call *call;
	struct error err;

	if (wire_node_control((const Gpusched__NodeControl *)rpc->msg, c->conf, c->in, &ev, &err)) {
		rpc_reply(c, rpc, &err);
		return;
	}
	call = call_new(c, rpc->peer, rpc->id, &ops, NULL);
	if (!call)
		return;
	ev.caller = call_caller(c, call);
	inputs_apply(c, &ev, rpc->now);
}

void rpc_partition_control(struct ctld *c, const struct rpc *rpc)
{
	struct core_event ev = { 0 };
	struct call *call;
	struct error err;

	if (wire_partition_control(
	            (const Gpusched__PartitionControl *)rpc->msg, c->conf, &ev, &err)) {
		rpc_reply(c, rpc, &err);
		return;
	}
	call = call_new(c, rpc->peer, rpc->id, &ops, NULL);
	if (!call)
		return;
	ev.caller = call_caller(c, call);
	inputs_apply(c, &ev, rpc->now);
}
