/* reconfigure.c - MSG_RECONFIGURE: read the configuration again, tell what changed */
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/reload.h"
#include "ctld/rpc/rpc.h"

#define LINES_MAX 5000 /* told; the log has them all */

static const struct call_ops ops = { .effect = NULL };

void rpc_reconfigured(struct ctld *c, uint64_t number, const struct reload_lines *lines,
        const struct error *err)
{
	Gpusched__ReconfigureResult m = GPUSCHED__RECONFIGURE_RESULT__INIT;
	struct call *call = call_find(c, number);
	char *cut[] = { "changes" };

	if (!call)
		return;
	m.cut = cut;
	m.n_cut = lines->n_changes > LINES_MAX;
	m.changes = lines->changes;
	m.n_changes = lines->n_changes < LINES_MAX ? lines->n_changes : LINES_MAX;
	m.warnings = lines->warnings;
	m.n_warnings = lines->n_warnings;
	if (!err)
		peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_RECONFIGURE_RESULT, call->id,
		        &m.base);
	call_done(c, call, err);
}

int rpc_reconfigure(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__Reconfigure *m = (const Gpusched__Reconfigure *)rpc->msg;
	struct caller caller;
	struct call *call;

	if (rpc_reason(m->reason, err) < 0)
		return -1;
	call = call_new(c, rpc->peer, rpc->id, &ops, NULL);
	if (!call)
		return 0;
	caller = call_caller(c, call);
	if (m->dry_run)
		reload_try(c->reload, &caller);
	else
		reload_start(c->reload, &caller, m->reason);
	return 0;
}
