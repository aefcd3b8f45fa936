/* list_steps.c - MSG_LIST_STEPS: the steps that run, a slice a tick; with `ended` those of the
 * past, too */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/slice.h"
#include "ctld/loop/peers.h"
#include "ctld/rpc/acct/acct.h"
#include "ctld/rpc/call/call_part.h"
#include "ctld/rpc/call/filter.h"
#include "ctld/wire/convert.h"

struct listing {
	struct filter *filter;
	struct filter_walk walk;
};

static void listing_free(void *data)
{
	struct listing *l = data;

	filter_free(l->filter);
	free(l);
}

static size_t listing_size(const void *data)
{
	const struct listing *l = data;

	return sizeof(*l) + filter_size(l->filter);
}

/* The steps that run of a record. */
static void add_running(const struct core *core, const struct job_view *job, struct clocks now,
        struct arena *arena, struct part *part)
{
	const struct step_report *step;
	int64_t after = -1;

	for (; (step = core_step_next(core, job->ref, after)); after = step->step)
		part_add(part, &wire_step(job, step, now, arena)->base);
}

static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	Gpusched__StepChunk m = GPUSCHED__STEP_CHUNK__INIT;
	struct slice budget = slice_begin(SLICE_US);
	struct listing *l = call->data;
	struct call_part to;
	struct job_view job;
	struct error err;
	int found = 1;

	call_part_begin(c, call, &to, GPUSCHED__MSG_TYPE__MSG_STEP_CHUNK, &m.base, false);
	while (!part_full(&to.part)) {
		found = filter_next(l->filter, &l->walk, c->core, now, &budget, &job);
		if (found <= 0)
			break;
		if (core_step_next(c->core, job.ref, -1) &&
		        core_job_view(c->core, job.ref, now, &job))
			add_running(c->core, &job, now, c->out, &to.part);
	}
	part_end(&to.part);
	if (found != 0)
		call_go_on(c, call);
	else
		call_done(c, call, filter_check_names(l->filter, &err) < 0 ? &err : NULL);
}

static const struct call_ops listing_ops = {
	.slice = slice, .free = listing_free, .size = listing_size
};

static void list_running(struct ctld *c, const struct rpc *rpc, const Gpusched__JobFilter *m)
{
	struct filter *filter;
	struct listing *l;
	struct call *call;
	struct error err;

	filter = rpc_filter(c, rpc, m, &err);
	if (!filter) {
		rpc_reply(c, rpc, &err);
		return;
	}
	l = xcalloc(1, sizeof(*l));
	l->filter = filter;
	l->walk.brief = true;
	call = call_new(c, rpc->peer, rpc->id, &listing_ops, l);
	if (call)
		call_go_on(c, call);
}

/* For acct_steps. */
static void add_running_of(void *arg, uint64_t ref, struct arena *arena, struct part *part)
{
	struct ctld *c = arg;
	struct clocks now = ctld_now();
	struct job_view job;

	if (core_step_next(c->core, ref, -1) && core_job_view(c->core, ref, now, &job))
		add_running(c->core, &job, now, arena, part);
}

void rpc_list_steps(struct ctld *c, const struct rpc *rpc)
{
	const Gpusched__ListSteps *m = (const Gpusched__ListSteps *)rpc->msg;
	struct acct_query *query = NULL;
	Gpusched__ListAcct jobs;
	struct error err;

	if (!m->ended) {
		list_running(c, rpc, m->filter);
		return;
	}
	if (acct_steps_query(m, &jobs, &err) == 0)
		query = acct_query_new(&jobs, c->conf, acct_visibility(c, rpc->peer), &err);
	if (!query) {
		rpc_reply(c, rpc, &err);
		return;
	}
	acct_walk(c, rpc, query, &acct_steps, acct_steps_data(add_running_of, c));
}
