/* job_why.c - MSG_JOB_WHY: why jobs wait, and what would start them; one job a slice, since the
 * core may try many changes for each */
#include <stdlib.h>

#include "common/xalloc.h"
#include "ctld/calls.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/inputs.h"
#include "ctld/peers.h"
#include "ctld/core/job.h"
#include "ctld/rpc/convert.h"
#include "ctld/rpc/filter.h"
#include "ctld/rpc/rpc.h"
#include "ctld/slice.h"
#include "ctld/tick.h"

#define MAX_JOBS 64
#define LOOK_US 5000 /* the scheduler decides for so long, at most, before a job is told of */

struct asked {
	uint64_t *ids; /* refs, of those that are known */
	size_t n, at;
	struct error unknown; /* code 0: none of those that were named */
};

static void asked_free(void *data)
{
	struct asked *a = data;

	free(a->ids);
	free(a);
}

/* A job that has been retired since it was asked for is left out. */
static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	struct asked *a = call->data;
	uint64_t id = a->ids[a->at++];
	struct job_view job;
	struct job_why why;
	struct slice look = slice_begin(LOOK_US);
	bool waits;

	/* Since the last tick something may have happened that nobody has looked at. */
	while (inputs_schedule(c, now, TICK_SCHEDULE) && !slice_over_now(&look))
		;
	waits = inputs_why(c, id, now, &why);
	arena_reset(c->out, WIRE_ARENA_CAP);
	if (core_job_view(c->core, id, now, &job))
		peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_WHY_RESULT, call->id,
		        &wire_why_result(&job, waits ? &why : NULL, c->conf, now, c->out)->base);
	if (a->at < a->n)
		call_go_on(c, call);
	else
		call_done(c, call, a->unknown.code ? &a->unknown : NULL);
}

static const struct call_ops why_ops = { .slice = slice, .free = asked_free };

/* Leave out what is not known, which is told at the end. */
static int check(struct ctld *c, const struct rpc *rpc, struct asked *a, struct error *err)
{
	const Gpusched__JobWhy *m = (const Gpusched__JobWhy *)rpc->msg;
	struct job_view job;
	char label[JOB_LABEL];
	size_t known = 0;

	if (filter_refs(m->ids, m->n_ids, m->tasks, m->n_tasks, MAX_JOBS, &a->ids, &a->n, err))
		return -1;
	if (a->n < 1)
		return error_set(err, ERR_USAGE, "no job is named; must be 1 to %d", MAX_JOBS);
	for (size_t i = 0; i < a->n; i++) {
		if (core_job_view(c->core, a->ids[i], rpc->now, &job) && rpc_sees(c, rpc, &job))
			a->ids[known++] = a->ids[i];
		else if (!a->unknown.code)
			error_set(&a->unknown, ERR_NO_JOB, "there is no job %s",
			        job_ref_label(a->ids[i], label));
	}
	a->n = known;
	if (known)
		return 0;
	*err = a->unknown;
	return -1;
}

void rpc_job_why(struct ctld *c, const struct rpc *rpc)
{
	struct asked *a = xcalloc(1, sizeof(*a));
	struct call *call;
	struct error err;

	if (check(c, rpc, a, &err)) {
		asked_free(a);
		rpc_reply(c, rpc, &err);
		return;
	}
	call = call_new(c, rpc->peer, rpc->id, &why_ops, a);
	if (call)
		call_go_on(c, call);
}
