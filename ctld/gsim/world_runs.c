/* world_runs.c - the runs of a world: they start, are told to end, and end; see world.h */
#include <math.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/gsim/world_impl.h"

#define USEC_PER_S ((usec_t)1000000)

/* --- starts ---------------------------------------------------------------------------------- */

static void report(struct world *w, const struct world_run *run, enum run_report_state state)
{
	struct core_event e = { .kind = EV_RUN_REPORT };

	e.run.node = run->node;
	e.run.session = 1 + (uint64_t)run->node;
	e.run.report = (struct run_report){ .run = run->id,
		.state = state,
		.start_time = w->start.wall + run->start,
		.elapsed_us = (uint64_t)(world_now(w) - run->start),
		.detail = "",
		.incarnation = "gsim",
		.gpu_type = "",
		.uid = WORLD_FIRST_UID + run->job->user };
	if (state == REPORT_ENDED) {
		e.run.report.end_time = w->now.wall;
		e.run.report.cause = run->cause;
		e.run.report.exit_signal = run->cause == END_EXIT ? 0 : 15;
	}
	world_apply(w, &e);
}

/* Of each of its GPUs what the run has. */
static void book_gpus(struct world *w, const struct world_run *run, bool take)
{
	struct world_node *n = &w->nodes[run->node];
	bool lent = false;
	uint64_t left;

	for (left = run->gpus; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);
		struct world_card *c = &n->cards[i];

		c->milli += take ? run->milli : -run->milli;
		lent |= memory_bursts_change(&c->memory_bursts, &w->m.memory_bursts, world_now(w),
		        run->part_mb, run->burst_mb, take);
		if (i >= n->n_gpus || c->milli > 1000 || memory_bursts_is_over(&c->memory_bursts))
			world_fail(w,
			        "job %llu got %u/1000 and %llu MiB of GPU %u of node %s: %u/1000 "
			        "and "
			        "%llu MiB given",
			        (unsigned long long)run->id.job, run->milli,
			        (unsigned long long)run->part_mb, i, w->conf->nodes[run->node].name,
			        c->milli, (unsigned long long)c->memory_bursts.parts_mb);
		w->m.used_milli += take ? run->charge : -(uint64_t)run->charge;
	}
	w->m.memory_bursts.starts += lent;
	w->m.memory_bursts.runs += take && run->burst_mb > run->part_mb;
}

/* Book what the run needs on its node, or release it. */
static void book_run(struct world *w, const struct world_run *run, bool take)
{
	struct world_node *n = &w->nodes[run->node];

	book_gpus(w, run, take);
	n->cpus_used += take ? run->cpus : -run->cpus;
	n->mem_used_mb += take ? run->mem_mb : -run->mem_mb;
	if (n->cpus_used > n->cpus || n->mem_used_mb > n->mem_mb)
		world_fail(w, "job %llu: node %s has %u CPUs and %llu MiB, given out %u and %llu",
		        (unsigned long long)run->id.job, w->conf->nodes[run->node].name, n->cpus,
		        (unsigned long long)n->mem_mb, n->cpus_used,
		        (unsigned long long)n->mem_used_mb);
}

static void result_starts(struct world *w, const struct world_job *job)
{
	struct results *o = w->m.results;
	struct plotted_job *p = &o->v[job->result].job;

	results_account(o, job->result, text_numbers_text(w->names, job->given));
	p->start = (double)job->start / 1e6;
	p->planned = job->estimate >= 0 ? (double)job->estimate / 1e6 : NAN;
}

/* GPUs of several types on one node are runs of their own there. */
void world_run_result(struct world *w, const struct world_run *run, usec_t end)
{
	const struct world_node *n = &w->nodes[run->node];
	uint64_t left = run->gpus, same;

	for (; left; left &= ~same) {
		uint32_t type = n->cards[__builtin_ctzll(left)].type, i;

		for (same = 0, i = 0; i < n->n_gpus; i++)
			same |= left >> i & 1 && n->cards[i].type == type ? UINT64_C(1) << i : 0;
		results_run(w->m.results, w->conf->gpu_types[type].name,
		        (double)__builtin_popcountll(same) * run->charge / 1000, run->start, end);
	}
}

/* The first run of an attempt. */
static void attempt_starts(struct world *w, struct world_job *job, const struct job_view *view)
{
	usec_t limit = (usec_t)view->time_limit_s * USEC_PER_S;

	measures_pass(&w->m, world_now(w));
	job->attempts++;
	w->m.waiting--;
	w->m.running++;
	job->told = false;
	saved_work_begin(job);
	if (job->started)
		return;
	job->started = true;
	job->start = world_now(w);
	job->given = text_numbers_get(w->names, view->account);
	job->work = limit && limit < job->duration ? limit : job->duration;
	measures_started(&w->m, view->account, world_now(w) - job->arrival);
	job->estimate = view->first_planned ? view->first_planned - w->start.wall : -1;
	if (view->first_planned)
		measures_estimated(&w->m, job->estimate - job->start);
	if (w->m.results)
		result_starts(w, job);
}

static void set_end(struct world *w, struct world_run *run, const struct job_view *view)
{
	usec_t limit = (usec_t)view->time_limit_s * USEC_PER_S;

	run->end = run->start + run->job->remaining;
	run->cause = END_EXIT;
	if (limit && limit < run->job->remaining) {
		run->end = run->start + limit;
		run->cause = END_TIME_LIMIT;
	}
	heap_put(w->ends, (struct heap_key){ (uint64_t)run->end, run->number }, run);
}

void world_run_start(struct world *w, const struct order *order)
{
	struct world_job *job = idmap_find(w->jobs, order->run.job);
	struct world_run *run;
	struct job_view job_view;
	struct run_view view;

	if (!job || !core_run_view(w->core, order->run, w->now, &view) ||
	        !core_job_view(w->core, job->id, w->now, &job_view)) {
		world_fail(w, "job %llu was started and is not known",
		        (unsigned long long)order->run.job);
		return;
	}
	run = xcalloc(1, sizeof(*run));
	*run = (struct world_run){ .id = order->run,
		.job = job,
		.next = job->runs,
		.node = order->node,
		.cpus = view.cpus,
		.mem_mb = view.mem_mb,
		.gpus = view.gpus,
		.milli = view.share.charge ? view.share.milli : 1000,
		.charge = view.share.charge ? view.share.charge : 1000,
		.part_mb = view.share.charge ? view.share.mem_mb : 0,
		.burst_mb = view.share.charge ? view.share_burst_mb : 0,
		.near = core_gpus_apart(w->core, order->node, view.gpus),
		.number = w->n_runs++,
		.start = world_now(w),
		.told = WORLD_NEVER,
		.slot = HEAP_NOWHERE };
	if (!job->runs)
		attempt_starts(w, job, &job_view);
	job->runs = run;
	book_run(w, run, true);
	set_end(w, run, &job_view);
	report(w, run, REPORT_RUNNING);
}

void world_run_stop(struct world *w, const struct order *order)
{
	struct world_job *job = idmap_find(w->jobs, order->run.job);
	usec_t grace = (usec_t)order->grace_s * USEC_PER_S, at;
	struct world_run *run = job ? job->runs : NULL;

	while (run && (run->id.attempt != order->run.attempt || run->node != order->node))
		run = run->next;
	if (!run || run->told != WORLD_NEVER)
		return;
	run->told = world_now(w);
	if (!job->told) {
		w->m.stopped++;
		w->m.preempted += order->cause == END_PREEMPT;
	}
	job->told = true;
	at = run->told + (w->o.end_delay < grace ? w->o.end_delay : grace);
	if (at > run->end)
		return;
	run->end = at;
	run->cause = order->cause;
	heap_rekey(w->ends, run->slot, (struct heap_key){ (uint64_t)at, run->number });
}

/* --- ends ------------------------------------------------------------------------------------ */

static void unlink_run(struct world_job *job, const struct world_run *run)
{
	struct world_run **at = &job->runs;

	while (*at != run)
		at = &(*at)->next;
	*at = run->next;
}

/* Its last run is over: what has become of it? */
static void attempt_ends(struct world *w, struct world_job *job)
{
	struct job_view view;

	w->m.running--;
	if (!core_job_view(w->core, job->id, w->now, &view)) {
		world_fail(w, "job %llu is not known any more", (unsigned long long)job->id);
		return;
	}
	if (!view.ended) {
		w->m.requeued++;
		w->m.waiting++;
		saved_work_requeue(job);
		return;
	}
	if (w->m.results)
		w->m.results->v[job->result].job.end = (double)world_now(w) / 1e6;
	measures_ended(&w->m, &(struct measured_end){ .name = job->name,
	                              .state = view.state,
	                              .account = text_numbers_text(w->names, job->given),
	                              .partition = view.partition,
	                              .arrival = job->arrival,
	                              .start = job->start,
	                              .estimate = job->estimate,
	                              .gpus = job->gpus,
	                              .attempts = job->attempts,
	                              .completion = world_now(w) - job->arrival,
	                              .work = job->work,
	                              .gpu_us = job->gpu_us });
	world_job_forget(w, job);
}

void world_run_ends(struct world *w, struct world_run *run)
{
	struct world_job *job = run->job;
	uint64_t milli = (uint64_t)__builtin_popcountll(run->gpus) * run->charge;
	uint64_t gpu_us = milli * (uint64_t)(run->end - run->start) / 1000;

	heap_remove(w->ends, run->slot);
	book_run(w, run, false);
	unlink_run(job, run);
	job->gpu_us += gpu_us;
	saved_work_add(w, run);
	measures_run_ended(&w->m, text_numbers_text(w->names, job->given), gpu_us);
	if (run->charge == 1000 && run->gpus & (run->gpus - 1))
		measures_near(&w->m, run->near, gpu_us);
	report(w, run, REPORT_ENDED);
	if (w->m.results)
		world_run_result(w, run, run->end);
	free(run);
	if (!job->runs)
		attempt_ends(w, job);
}
