/* list_steps.c - MSG_LIST_STEPS: the steps that run; with `ended` those of the past, too */
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/rpc/acct/acct_walk.h"
#include "ctld/rpc/jobs/steps_list.h"

static void add_running(void *arg, uint64_t ref, struct arena *arena, struct part *part)
{
	const struct ctld *c = arg;
	struct clocks now = ctld_now();
	struct job_view job;

	if (core_step_next(c->core, ref, -1) && core_job_view(c->core, ref, now, &job))
		running_steps_add(c->core, &job, now, arena, part);
}

int rpc_list_steps(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__ListSteps *m = (const Gpusched__ListSteps *)rpc->msg;
	struct acct_query *query = NULL;
	Gpusched__ListAcct jobs;

	if (!m->ended)
		return running_steps_list(c, rpc, m->filter, err);
	if (acct_steps_query(m, &jobs, err) == 0)
		query = acct_query_new(&jobs, c->conf, acct_visibility(c, rpc->peer), err);
	if (!query)
		return -1;
	acct_walk(c, rpc, query, &acct_steps, acct_steps_data(add_running, c));
	return 0;
}
