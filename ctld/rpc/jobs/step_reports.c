/* step_reports.c - MSG_STEP_REPORTS: what is new of a job's steps, by the job's owner */
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/inputs.h"
#include "ctld/rpc/rpc.h"
#include "ctld/wire/convert.h"

static const struct call_ops ops = { .effect = NULL }; /* the core's answer ends it */

int rpc_step_reports(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	struct core_event ev = { 0 };
	struct call *call;

	if (wire_step_reports((const Gpusched__StepReports *)rpc->msg, c->in, &ev, err))
		return -1;
	/* The id of an array's task is as good. */
	core_raw_task(c->core, ev.steps.job, &ev.steps.job, &ev.steps.task);
	call = call_new(c, rpc->peer, rpc->id, &ops, NULL);
	if (!call)
		return 0;
	ev.caller = call_caller(c, call);
	inputs_apply(c, &ev, rpc->now);
	return 0;
}
