/* node_control.c - MSG_NODE_CONTROL: drain, resume, down; MSG_PARTITION_CONTROL */
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/inputs.h"
#include "ctld/rpc/rpc.h"
#include "ctld/wire/convert.h"

static const struct call_ops ops = { .effect = NULL }; /* the core's answer ends it */

static int control(struct ctld *c, const struct rpc *rpc, struct core_event *ev)
{
	struct call *call = call_new(c, rpc->peer, rpc->id, &ops, NULL);

	if (!call)
		return 0;
	ev->caller = call_caller(c, call);
	inputs_apply(c, ev, rpc->now);
	return 0;
}

int rpc_node_control(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__NodeControl *m = (const Gpusched__NodeControl *)rpc->msg;
	struct core_event ev = { 0 };

	return wire_node_control(m, c->conf, c->in, &ev, err) ? -1 : control(c, rpc, &ev);
}

int rpc_partition_control(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__PartitionControl *m = (const Gpusched__PartitionControl *)rpc->msg;
	struct core_event ev = { 0 };

	return wire_partition_control(m, c->conf, &ev, err) ? -1 : control(c, rpc, &ev);
}
