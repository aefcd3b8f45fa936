/* gpu_reclaim.c - taking borrowed GPU memory back for the run that it belongs to; see
 * gpu_reclaim.h, borrowed_gpu_memory.h
 *
 * A start on GPUs with borrowed memory waits here, before anything is made for it, until the parts
 * of all runs are free: at least for one sample of the GPUs, and, while the GPUs are short, for
 * the runs that were asked to give back, at most their grace plus the time of their end. So if no
 * run has borrowed anything a start costs one more sample, and if no run may borrow it costs none.
 *
 * Which run was asked is in its shepherd's notes, where a later launcher finds it. The start for
 * which it was asked is not: that order was lost with the previous launcher and comes once more. So
 * for a while after the launcher's start no run is released from its duty for lack of a run that
 * needs the memory.
 *
 * All this happens only if the site ends runs that use too much (gpu_memory_limit.h); else no start
 * waits and no run is asked.
 */
#include "config.h"

#include "noded/watch/gpu_reclaim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "noded/confine/effective_limits.h"
#include "noded/record/record.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/run_orders.h"
#include "noded/runs/run_records.h"
#include "noded/runs/runs.h"
#include "noded/usage/borrowed_gpu_memory.h"
#include "noded/usage/gpu_memory_limit.h"
#include "noded/watch/gpu_inventory.h"
#include "noded/watch/run_usage.h"
#include "noded/watch/usage_sampling.h"

#define SHARERS_MAX 256 /* runs with a part of one GPU that are considered */
#define BACK_WAIT   ((usec_t)20000000)
/* then the report is repeated: sessions and controllers get lost */
#define TELL_WAIT ((usec_t)2000000)

struct gpu_reclaim {
	usec_t born, told; /* mono */
	struct waiting_starts waiters;
};

struct gpu_reclaim *gpu_reclaim_new(void)
{
	struct gpu_reclaim *b = xcalloc(1, sizeof(*b));

	b->born = clock_us(CLOCK_MONOTONIC);
	return b;
}

void gpu_reclaim_free(struct gpu_reclaim *b)
{
	if (b)
		waiting_starts_clear(&b->waiters);
	free(b);
}

/* --- a GPU ----------------------------------------------------------------------------------- */

struct shared_gpu {
	unsigned index;
	uint64_t mem_mb;
	struct run *sharers[SHARERS_MAX];
	struct burst_run runs[SHARERS_MAX];
	size_t n;
};

static bool can_borrow(const struct run *r)
{
	return r->state == RUN_RUNNING && r->report->share_burst_mb > r->report->share_mb;
}

static void add_run(struct run *r, void *arg)
{
	struct shared_gpu *c = arg;
	usec_t work;

	if (r->state == RUN_OVER || !r->has_parts || !(r->gpus >> c->index & 1) ||
	        c->n == SHARERS_MAX)
		return;
	work = r->start_mono > 0 ? clock_us(CLOCK_MONOTONIC) - r->start_mono : 0;
	c->sharers[c->n] = r;
	c->runs[c->n++] = (struct burst_run){ .share_mb = r->share_mb,
		.own_mb = run_usage_own_mb(r, c->index),
		.work_us = (uint64_t)work * (uint64_t)__builtin_popcountll(r->gpus),
		.may = can_borrow(r),
		.asked = r->burst_time != 0 };
}

/* Empty if no run must give anything back. */
static void fill_gpu(struct launcher *l, unsigned index, struct shared_gpu *c)
{
	*c = (struct shared_gpu){ .index = index };
	if (l->limits->over_memory != OVERMEM_END)
		return;
	runs_each(l, add_run, c);
	for (size_t i = 0; i < c->n && !c->mem_mb; i++)
		c->mem_mb = run_usage_gpu_mb(c->sharers[i], index);
}

static bool is_short(const struct shared_gpu *c)
{
	return burst_short(c->runs, c->n, c->mem_mb);
}

/* --- asking ----------------------------------------------------------------------------------- */

/* The run that needs the memory: the first that waits for the GPU, else, of the other runs that
 * have borrowed nothing themselves, the one that started last. */
static struct run *needed_by(
        struct launcher *l, const struct shared_gpu *c, const struct run *borrower)
{
	struct run *found = NULL;

	for (struct waiting_start *w = l->gpu_reclaim->waiters.first; w; w = w->next) {
		if (w->run->gpus >> c->index & 1)
			return w->run;
	}
	for (size_t i = 0; i < c->n; i++) {
		struct run *r = c->sharers[i];

		if (r != borrower && !burst_borrowed(&c->runs[i]) &&
		        (!found || r->start_mono > found->start_mono))
			found = r;
	}
	return found;
}

static uint64_t own_on_all(const struct run *r)
{
	uint64_t sum = 0;

	for (unsigned index = 0; index < GPU_INDEX_MAX; index++)
		sum += r->gpus >> index & 1 ? run_usage_own_mb(r, index) : 0;
	return sum;
}

static Gpusched__LaunchRecord *launch_of(const struct run *r)
{
	ProtobufCMessage *m = NULL;

	if (!run_read(r, RECORD_LAUNCH, &gpusched__launch_record__descriptor, &m))
		return NULL;
	return (Gpusched__LaunchRecord *)m;
}

static void ask_borrower(struct launcher *l, const struct shared_gpu *c, size_t i)
{
	struct run *r = c->sharers[i], *by = needed_by(l, c, r);
	const Gpusched__StartRun *o = by ? by->order : NULL;
	Gpusched__EndRun m = GPUSCHED__END_RUN__INIT;
	Gpusched__LaunchRecord *launch = launch_of(r);
	uint64_t grace = launch ? launch->grace_s : 0;
	char text[OVERMEM_TEXT];

	r->burst_job = by ? by->id.job : r->id.job;
	r->burst_time = clock_us(CLOCK_REALTIME) + (usec_t)grace * 1000000;
	r->burst_own_mb = own_on_all(r);
	run_usage_text(r, c->index, text);
	m.run = r->report->run;
	m.cause = GPUSCHED__END_CAUSE__CAUSE_RECLAIM;
	m.give_back = true;
	m.burst_job = r->burst_job;
	m.grace_s = (uint32_t)grace;
	m.signal = launch ? launch->warn_signal : 0;
	m.requeue = launch && launch->requeue;
	m.gpu_mem_mb = r->share_mb;
	m.detail = text;
	/* If jobs are private, do not name the other run to a borrower of another user. */
	if (o && (!o->unnamed || by->uid == r->uid)) {
		m.by_job = by->id.job;
		m.by_user = o->user;
		m.by_account = o->account;
		m.by_qos = o->qos;
	}
	log_info("run %s: %s: asked to give back for job %" PRIu64 ", within %" PRIu64 " s",
	        r->name, text, r->burst_job, grace);
	run_reclaim(r, &m);
	run_usage_send(r);
	if (launch)
		gpusched__launch_record__free_unpacked(launch, NULL);
}

static void ask_borrowers(struct launcher *l, unsigned index)
{
	struct shared_gpu *c = xcalloc(1, sizeof(*c));

	fill_gpu(l, index, c);
	if (is_short(c)) {
		burst_choose(c->runs, c->n, c->mem_mb);
		for (size_t i = 0; i < c->n; i++) {
			if (c->runs[i].asked && !c->sharers[i]->burst_time)
				ask_borrower(l, c, i);
		}
	}
	free(c);
}

/* --- withdrawing ----------------------------------------------------------------------------- */

static bool run_is_needed(struct launcher *l, const struct run *r)
{
	struct shared_gpu *c = xcalloc(1, sizeof(*c));
	bool needed = false, young = clock_us(CLOCK_MONOTONIC) - l->gpu_reclaim->born < BACK_WAIT &&
	                             l->limits->over_memory == OVERMEM_END;
	for (unsigned index = 0; index < GPU_INDEX_MAX && !needed; index++) {
		if (!(r->gpus >> index & 1) || run_usage_own_mb(r, index) <= r->share_mb)
			continue;
		fill_gpu(l, index, c);
		needed = young || is_short(c);
	}
	free(c);
	return needed;
}

static void release_borrower(struct run *r)
{
	Gpusched__EndRun m = GPUSCHED__END_RUN__INIT;
	bool gave = own_on_all(r) < r->burst_own_mb;
	const char *text = gave ? "gave back what it had borrowed of a GPU"
	                        : "what it has borrowed of a GPU is no longer needed";

	m.run = r->report->run;
	m.cause = GPUSCHED__END_CAUSE__CAUSE_RECLAIM;
	m.give_back = m.withdrawn = true;
	m.grace_s = INT32_MAX; /* to a shepherd of the previous release: a repeated order */
	m.detail = (char *)(uintptr_t)text;
	r->burst_job = 0;
	r->burst_time = 0;
	log_info("run %s: %s", r->name, text);
	run_reclaim(r, &m);
	run_usage_send(r);
}

struct list {
	struct run **v;
	size_t n;
	uint64_t gpus; /* on which a run may borrow */
};

static void list_asked(struct run *r, void *arg)
{
	struct list *list = arg;

	if (r->state == RUN_RUNNING && r->burst_time)
		list->v[list->n++] = r;
	if (r->state != RUN_OVER && can_borrow(r))
		list->gpus |= r->gpus;
}

/* --- waiting starts --------------------------------------------------------------------------- */

/* Of the runs that were asked on its GPUs, the one with the latest deadline. */
static const struct run *last_asked(struct launcher *l, const struct run *run, bool *all_there)
{
	struct shared_gpu *c = xcalloc(1, sizeof(*c));
	const struct run *last = NULL;

	*all_there = true;
	for (unsigned index = 0; index < GPU_INDEX_MAX; index++) {
		if (!(run->gpus >> index & 1))
			continue;
		fill_gpu(l, index, c);
		*all_there &= !is_short(c);
		for (size_t i = 0; i < c->n; i++) {
			const struct run *r = c->sharers[i];

			if (r->burst_time && r != run && r->state != RUN_ASKED &&
			        (!last || r->burst_time > last->burst_time))
				last = r;
		}
	}
	free(c);
	return last;
}

static void report_waiter(struct run *run, const struct run *borrower)
{
	uint64_t job = borrower ? borrower->id.job : 0;
	usec_t until = borrower ? borrower->burst_time : 0;

	if (run->burst_job == job && run->burst_time == until)
		return;
	run->burst_job = job;
	run->burst_time = until;
	run_usage_send(run);
}

static void repeat_reports(struct launcher *l, const struct list *asked)
{
	usec_t now = clock_us(CLOCK_MONOTONIC);

	if (now - l->gpu_reclaim->told < TELL_WAIT)
		return;
	l->gpu_reclaim->told = now;
	for (struct waiting_start *w = l->gpu_reclaim->waiters.first; w; w = w->next)
		run_usage_send(w->run);
	for (size_t i = 0; i < asked->n; i++)
		run_usage_send(asked->v[i]);
}

/* Takes the waiters out whose GPUs have room for their parts; `asked`: when the sample was
 * requested. */
static struct waiting_starts take_ready(struct launcher *l, usec_t asked)
{
	struct waiting_start **at = &l->gpu_reclaim->waiters.first;
	struct waiting_starts ready = { 0 };

	while (*at) {
		struct run *run = (*at)->run;
		bool there;
		const struct run *borrower = last_asked(l, run, &there);

		if (there && (*at)->since <= asked) {
			report_waiter(run, NULL);
			waiting_starts_put(&ready, waiting_starts_take(at));
			continue;
		}
		if (!there)
			report_waiter(run, borrower);
		at = &(*at)->next;
	}
	return ready;
}

void gpu_reclaim_sampled(struct launcher *l, usec_t asked)
{
	struct list list = { .v = xcalloc(runs_count(l) + 1, sizeof(*list.v)) };
	struct waiting_starts ready;

	runs_each(l, list_asked, &list);
	for (size_t i = 0; i < list.n; i++) {
		if (!run_is_needed(l, list.v[i]))
			release_borrower(list.v[i]);
	}
	for (unsigned index = 0; index < GPU_INDEX_MAX; index++) {
		if (list.gpus >> index & 1)
			ask_borrowers(l, index);
	}
	repeat_reports(l, &list);
	free(list.v);
	ready = take_ready(l, asked);
	while (ready.first)
		waiting_start_answer(waiting_starts_take(&ready.first), NULL);
}

static void find_borrower(struct run *r, void *arg)
{
	uint64_t *gpus = arg;

	if (can_borrow(r))
		*gpus |= r->gpus;
}

bool gpu_reclaim_wait(struct launcher *l, struct run *run, waiting_start_fn *fn, void *arg)
{
	uint64_t gpus = 0;

	if (l->limits->over_memory != OVERMEM_END)
		return false;
	runs_each(l, find_borrower, &gpus);
	if (!(gpus & run->gpus))
		return false;
	waiting_starts_add(&l->gpu_reclaim->waiters, sizeof(struct waiting_start), run, fn, arg);
	usage_sampling_hurry(l);
	return true;
}

void gpu_reclaim_leave(struct launcher *l, const struct run *run)
{
	waiting_starts_leave(&l->gpu_reclaim->waiters, run);
	if (!l->closing)
		usage_sampling_hurry(l);
}

void gpu_reclaim_run_over(struct launcher *l)
{
	if (l->gpu_reclaim && l->gpu_reclaim->waiters.first)
		usage_sampling_hurry(l);
}
