/* wait.c - MSG_WAIT_JOBS: reports each job's end (or start) as it comes
 *
 * The core keeps the list of waiting requests for each job; all jobs of a request wait under the
 * call's number.
 */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/slice.h"
#include "ctld/loop/tick.h"
#include "ctld/rpc/call/job_chunk.h"
#include "ctld/rpc/call/job_filter.h"
#include "ctld/rpc/rpc.h"

#define SLICE_JOBS 64 /* each that has ended is told of with this tick's effects */
#define MAX_TASKS  10000
#define WAITER     128 /* bytes that the core takes for one wait for one job */

struct waiting {
	uint64_t *ids;  /* refs */
	size_t n, at;   /* the core knows of those before `at` */
	size_t to_come; /* ends (or starts) not yet told */
	bool start;     /* it is their start that counts */
};

static void waiting_free(void *data)
{
	struct waiting *w = data;

	free(w->ids);
	free(w);
}

static size_t waiting_size(const void *data)
{
	const struct waiting *w = data;

	return sizeof(*w) + w->n * (sizeof(*w->ids) + WAITER);
}

static void cancel_number(struct ctld *c, void *arg, struct clocks now)
{
	struct core_event ev = { .kind = EV_WAIT_CANCEL };

	ev.wait = (uint64_t)(uintptr_t)arg;
	inputs_apply(c, &ev, now);
}

static const struct tick_work cancel_work = { cancel_number, NULL };

static void cancel(struct ctld *c, struct call *call, struct clocks now)
{
	(void)now;
	tick_post(c->tick, &cancel_work, (void *)(uintptr_t)call->number);
}

static void report_job(struct ctld *c, struct call *call, uint64_t id)
{
	struct job_chunk chunk;
	struct job_view view;

	if (!core_job_view(c->core, id, ctld_now(), &view))
		return;
	job_chunk_begin(c, call, &chunk, true);
	job_chunk_add(&chunk, &view);
	job_chunk_end(&chunk);
}

static void answered(struct ctld *c, struct call *call, const struct effect *effect)
{
	struct waiting *w = call->data;

	if (effect->kind != EFFECT_JOB_ENDED) {
		cancel(c, call, ctld_now());
		call_done(c, call, effect->error);
		return;
	}
	report_job(c, call, effect->job);
	if (--w->to_come == 0)
		call_done(c, call, NULL);
}

static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	struct slice budget = slice_begin(SLICE_US);
	struct waiting *w = call->data;
	struct core_event ev = { .kind = w->start ? EV_WAIT_START : EV_WAIT_JOB,
		.caller = call_caller(c, call) };

	for (unsigned i = 0; i < SLICE_JOBS && w->at < w->n && !slice_over_now(&budget); i++) {
		ev.wait = w->ids[w->at++];
		inputs_apply(c, &ev, now);
	}
	if (w->at < w->n)
		call_go_on(c, call);
}

static const struct call_ops wait_ops = {
	.effect = answered,
	.slice = slice,
	.gone = cancel,
	.free = waiting_free,
	.size = waiting_size,
};

int rpc_wait_jobs(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__WaitJobs *m = (const Gpusched__WaitJobs *)rpc->msg;
	struct waiting *w;

	if (m->n_ids == 0 && m->n_tasks == 0) {
		rpc_reply(c, rpc, NULL);
		return 0;
	}
	w = xcalloc(1, sizeof(*w));
	if (filter_refs(c->core, m->ids, m->n_ids, m->tasks, m->n_tasks, m->n_ids + MAX_TASKS,
	            &w->ids, &w->n, err)) {
		free(w);
		return -1;
	}
	w->to_come = w->n;
	w->start = m->until_started;
	return rpc_call(c, rpc, &wait_ops, w);
}
