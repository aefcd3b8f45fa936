/* list_jobs.c - MSG_LIST_JOBS and MSG_LIST_PRIOS: jobs, or what the priorities of waiting jobs are
 * made of, in a stream of chunks, one a tick, as the peer takes them; and steps (steps_list.h) */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/slice.h"
#include "ctld/rpc/call/job_chunk.h"
#include "ctld/rpc/call/job_filter.h"
#include "ctld/rpc/jobs/steps_list.h"
#include "ctld/rpc/rpc.h"
#include "ctld/wire/convert.h"

struct listing {
	struct filter *filter;
	struct filter_walk walk;
	bool with_runs, whole; /* of jobs */
	bool begun;            /* of priorities: the first chunk has been sent */
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

/* Ids were named, and there is none of them. */
static int check_ids(const struct listing *l, struct error *err)
{
	const struct filter_named *named;
	size_t n;

	named = filter_named(l->filter, &n);
	if (n == 0 || l->walk.known > 0)
		return 0;
	return error_set(err, ERR_NO_JOB, "no job %llu%s", (unsigned long long)named[0].id,
	        n > 1 ? " nor the others" : "");
}

/* All is listed: was anything named that there is not? */
static int check_named(const struct listing *l, struct error *err)
{
	return check_ids(l, err) < 0 ? -1 : filter_check_names(l->filter, err);
}

static void list_jobs(struct ctld *c, struct call *call, struct clocks now)
{
	struct listing *l = call->data;
	struct slice budget = slice_begin(SLICE_US);
	struct error err = { 0 };
	struct job_chunk chunk;
	struct job_view view;
	int found = 1;

	job_chunk_begin(c, call, &chunk, l->whole);
	while (!job_chunk_full(&chunk)) {
		found = filter_next(l->filter, &l->walk, c->core, now, &budget, &view);
		if (found <= 0)
			break;
		if (l->with_runs)
			job_chunk_add_runs(&chunk, &view, now);
		else
			job_chunk_add(&chunk, &view);
	}
	job_chunk_end(&chunk);
	call_continue(c, call, found != 0, found == 0 && check_named(l, &err) < 0 ? &err : NULL);
}

static void list_prios(struct ctld *c, struct call *call, struct clocks now)
{
	Gpusched__PrioChunk m = GPUSCHED__PRIO_CHUNK__INIT;
	struct listing *l = call->data;
	struct call_part to;
	struct slice budget = slice_begin(SLICE_US);
	struct prio_view prio;
	struct job_view job;
	struct error err;
	int found = 1;

	call_part_begin(c, call, &to, GPUSCHED__MSG_TYPE__MSG_PRIO_CHUNK, &m.base, false);
	while (!part_full(&to.part)) {
		found = filter_next(l->filter, &l->walk, c->core, now, &budget, &job);
		if (found <= 0)
			break;
		if (core_job_prio(c->core, job.ref, now, &prio))
			part_add(&to.part, &wire_prio(&job, &prio, c->out)->base);
	}
	if (!l->begun)
		m.weights = wire_weights(c->conf, c->out);
	if (!part_end(&to.part) && !l->begun)
		peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_PRIO_CHUNK, call->id, &m.base);
	l->begun = true;
	call_continue(c, call, found != 0,
	        found == 0 && filter_check_names(l->filter, &err) < 0 ? &err : NULL);
}

void running_steps_add(const struct core *core, const struct job_view *job, struct clocks now,
        struct arena *arena, struct part *part)
{
	const struct step_report *step;
	int64_t after = -1;

	for (; (step = core_step_next(core, job->ref, after)); after = step->step)
		part_add(part, &wire_step(job, step, now, arena)->base);
}

static void list_steps(struct ctld *c, struct call *call, struct clocks now)
{
	Gpusched__StepChunk m = GPUSCHED__STEP_CHUNK__INIT;
	struct listing *l = call->data;
	struct call_part to;
	struct slice budget = slice_begin(SLICE_US);
	struct job_view job;
	struct error err = { 0 };
	int found = 1;

	call_part_begin(c, call, &to, GPUSCHED__MSG_TYPE__MSG_STEP_CHUNK, &m.base, false);
	while (!part_full(&to.part)) {
		found = filter_next(l->filter, &l->walk, c->core, now, &budget, &job);
		if (found <= 0)
			break;
		if (core_step_next(c->core, job.ref, -1) &&
		        core_job_view(c->core, job.ref, now, &job))
			running_steps_add(c->core, &job, now, c->out, &to.part);
	}
	part_end(&to.part);
	call_continue(c, call, found != 0, found == 0 && check_named(l, &err) < 0 ? &err : NULL);
}

static int list(struct ctld *c, const struct rpc *rpc, const struct call_ops *ops,
        const Gpusched__JobFilter *which, const struct listing *how, struct error *err)
{
	struct listing *l = xmemdup(how, sizeof(*how));

	l->filter = rpc_filter(c, rpc, which, err);
	if (l->filter)
		return rpc_call(c, rpc, ops, l);
	free(l);
	return -1;
}

int rpc_list_jobs(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	static const struct call_ops ops = { .slice = list_jobs,
		.free = listing_free,
		.size = listing_size };
	const Gpusched__ListJobs *m = (const Gpusched__ListJobs *)rpc->msg;
	struct listing how = { .with_runs = m->with_runs, .whole = m->whole };

	return list(c, rpc, &ops, m->filter, &how, err);
}

int rpc_list_prios(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	static const struct call_ops ops = { .slice = list_prios,
		.free = listing_free,
		.size = listing_size };
	const Gpusched__ListPrios *m = (const Gpusched__ListPrios *)rpc->msg;

	return list(c, rpc, &ops, m->filter, &(struct listing){ 0 }, err);
}

int running_steps_list(struct ctld *c, const struct rpc *rpc, const Gpusched__JobFilter *which,
        struct error *err)
{
	static const struct call_ops ops = { .slice = list_steps,
		.free = listing_free,
		.size = listing_size };

	return list(c, rpc, &ops, which, &(struct listing){ .walk = { .brief = true } }, err);
}
