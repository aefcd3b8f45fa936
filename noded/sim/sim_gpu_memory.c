/* sim_gpu_memory.c - see sim_launcher_impl.h; what noded/watch/gpu_reclaim.c does, without time or
 * files
 *
 * noded/usage/borrowed_gpu_memory.h chooses the runs that give back, here as there. A program
 * borrows once, from memory that is in no run's part; so a GPU gets short when a run starts that
 * has a part of it.
 */
#include "noded/sim/sim_launcher_impl.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/net/msg.h"
#include "noded/usage/borrowed_gpu_memory.h"

#define AT_ONCE ((usec_t)0)
#define BACK_WAIT                                                                      \
	(20 * SECOND) /* a new launcher waits so long for the orders of the one before \
	               */
#define MAX_CARDS 64
#define MAX_RUNS  256 /* runs of one GPU that are considered */

static bool on(const struct record *r, unsigned gpu)
{
	return r->report.gpus >> gpu & 1;
}

static bool can_borrow(const struct record *r)
{
	return r->report.state == REPORT_RUNNING && r->report.share_charge &&
	       r->report.share_burst_mb > r->report.share_mb;
}

static uint64_t borrowable(const struct sim_launcher *l)
{
	uint64_t gpus = 0;

	for (const struct record *r = l->first; r && l->world.card_mb; r = r->next)
		gpus |= can_borrow(r) ? r->report.gpus : 0;
	return gpus;
}

static void happens(const struct sim_launcher *l, enum sim_memory what, const struct record *r)
{
	if (l->world.memory)
		l->world.memory(l->world.arg, what, &r->report, r->own_mb);
}

static void report_use(const struct sim_launcher *l, const struct record *r)
{
	struct run_used used = { .burst_job = r->burst_job, .burst_time = r->burst_time };

	if (l->world.used)
		l->world.used(l->world.arg, r->report.run, &used);
}

void sim_launcher_tell_used(struct sim_launcher *l)
{
	for (const struct record *r = l->first; r; r = r->next) {
		if (r->burst_job)
			report_use(l, r);
	}
}

/* --- a GPU ---------------------------------------------------------------------------------- */

struct shared_gpu {
	uint64_t mem_mb;
	struct record *held[MAX_RUNS];
	struct burst_run runs[MAX_RUNS];
	size_t n;
};

static void look_at_card(
        const struct sim_launcher *l, unsigned gpu, struct clocks now, struct shared_gpu *c)
{
	c->mem_mb = l->world.card_mb(l->world.arg, gpu);
	c->n = 0;
	for (struct record *r = l->first; r && c->n < MAX_RUNS; r = r->next) {
		usec_t work = r->report.state == REPORT_RUNNING ? now.mono - r->start : 0;

		if (!(alive(r) || r->waits) || !r->report.share_charge || !on(r, gpu))
			continue;
		c->held[c->n] = r;
		c->runs[c->n++] = (struct burst_run){ .share_mb = r->report.share_mb,
			.own_mb = r->own_mb,
			.work_us = (uint64_t)work * (uint64_t)__builtin_popcountll(r->report.gpus),
			.may = can_borrow(r),
			.asked = r->asked };
	}
}

static bool is_short(const struct shared_gpu *c)
{
	return burst_short(c->runs, c->n, c->mem_mb);
}

/* --- what programs do ------------------------------------------------------------------------ */

void sim_memory_begins(struct sim_launcher *l, struct record *r)
{
	if (!l->world.card_mb || !can_borrow(r) || r->course.own_mb <= r->report.share_mb)
		return;
	r->take_at = r->start + r->course.takes_after;
	sim_due(l, r->take_at);
}

/* Take memory that is in no run's part and was not taken by others, on each of its GPUs. */
static void take_memory(struct sim_launcher *l, struct record *r, struct clocks now)
{
	struct shared_gpu *c = xcalloc(1, sizeof(*c));
	uint64_t most = r->course.own_mb;

	if (most > r->report.share_burst_mb)
		most = r->report.share_burst_mb;
	for (unsigned gpu = 0; gpu < MAX_CARDS; gpu++) {
		uint64_t others = 0;

		if (!on(r, gpu))
			continue;
		look_at_card(l, gpu, now, c);
		for (size_t i = 0; i < c->n; i++) {
			if (c->held[i] != r)
				others += c->runs[i].share_mb + burst_borrowed(&c->runs[i]);
		}
		if (c->mem_mb < others + most)
			most = c->mem_mb > others ? c->mem_mb - others : 0;
	}
	free(c);
	if (most <= r->report.share_mb)
		return;
	r->own_mb = most;
	happens(l, SIM_MEMORY_USED, r);
}

void sim_memory_pass(struct sim_launcher *l, struct record *r, struct clocks now)
{
	if (r->take_at <= now.mono && !r->report.suspended) {
		r->take_at = NEVER_AT;
		if (!r->asked && !r->ending)
			take_memory(l, r, now);
	}
	if (r->give_at <= now.mono) {
		r->give_at = NEVER_AT;
		r->own_mb = r->report.share_mb;
		happens(l, SIM_MEMORY_USED, r);
		l->check_at = AT_ONCE;
	}
	if (r->take_at > now.mono)
		sim_due(l, r->take_at);
	sim_due(l, r->give_at);
}

void sim_memory_over(struct sim_launcher *l, struct record *r)
{
	r->take_at = r->give_at = NEVER_AT;
	r->own_mb = 0;
	r->asked = false;
	r->burst_job = 0;
	r->burst_time = 0;
	if (l->world.card_mb && r->report.share_charge)
		l->check_at = AT_ONCE;
}

/* --- asking and withdrawing ------------------------------------------------------------------ */

/* The job that needs it: of the first run that waits for the GPU, else of the latest other run
 * that has borrowed nothing, else the borrower's own. */
static uint64_t needed_by(const struct shared_gpu *c, const struct record *borrower)
{
	const struct record *found = NULL;

	for (size_t i = 0; i < c->n; i++) {
		const struct record *r = c->held[i];

		if (r->waits)
			return r->report.run.job;
		if (r != borrower && !burst_borrowed(&c->runs[i]) &&
		        (!found || r->start > found->start))
			found = r;
	}
	return (found ? found : borrower)->report.run.job;
}

static void ask_borrower(
        struct sim_launcher *l, const struct shared_gpu *c, struct record *r, struct clocks now)
{
	r->burst_job = needed_by(c, r);
	r->burst_time = now.wall + (usec_t)r->grace_s * SECOND;
	happens(l, SIM_MEMORY_ASKED, r);
	report_use(l, r);
	sim_suspend(l, r, false, now); /* it must be able to react */
	r->asked = true;
	r->asked_at = now.mono;
	if (r->ending)
		return;
	if (r->course.gives_back) {
		r->give_at = now.mono + r->course.obey_after;
		sim_due(l, r->give_at);
	} else {
		sim_stop_at(l, r, now.mono, END_RECLAIM, r->grace_s);
	}
}

static void ask_on(struct sim_launcher *l, unsigned gpu, struct clocks now)
{
	struct shared_gpu *c = xcalloc(1, sizeof(*c));

	look_at_card(l, gpu, now, c);
	if (is_short(c)) {
		burst_choose(c->runs, c->n, c->mem_mb);
		for (size_t i = 0; i < c->n; i++) {
			if (c->runs[i].asked && !c->held[i]->asked)
				ask_borrower(l, c, c->held[i], now);
		}
	}
	free(c);
}

static bool is_young(const struct sim_launcher *l, struct clocks now)
{
	return now.mono - l->born < BACK_WAIT;
}

/* It may be needed by a run whose order was lost with the previous launcher. */
static bool is_needed(const struct sim_launcher *l, const struct record *r, struct clocks now)
{
	struct shared_gpu *c = xcalloc(1, sizeof(*c));
	bool needed = false;

	for (unsigned gpu = 0; gpu < MAX_CARDS && !needed; gpu++) {
		if (!on(r, gpu) || r->own_mb <= r->report.share_mb)
			continue;
		look_at_card(l, gpu, now, c);
		needed = is_young(l, now) || is_short(c);
	}
	free(c);
	return needed;
}

static void let_off(struct sim_launcher *l, struct record *r, struct clocks now)
{
	r->asked = false;
	r->give_at = NEVER_AT;
	r->burst_job = 0;
	r->burst_time = 0;
	happens(l, SIM_MEMORY_LEFT, r);
	report_use(l, r);
	if (r->ending)
		return;
	sim_schedule(l, r);
	sim_suspend(l, r, r->hold, now);
}

/* --- waiting starts -------------------------------------------------------------------------- */

bool sim_memory_waits(struct sim_launcher *l, struct record *r, const Gpusched__StartRun *order)
{
	if (!order->share_charge || !(borrowable(l) & r->report.gpus))
		return false;
	r->order = (Gpusched__StartRun *)msg_copy(&order->base);
	if (!r->order)
		abort();
	r->waits = true;
	l->check_at = AT_ONCE;
	happens(l, SIM_MEMORY_NEEDED, r);
	return true;
}

void sim_memory_waived(struct sim_launcher *l, struct record *r)
{
	happens(l, SIM_MEMORY_WAIVED, r);
	l->check_at = AT_ONCE;
}

/* Of the runs that were asked on its GPUs, the one with the latest deadline. */
static const struct record *last_asked(
        const struct sim_launcher *l, const struct record *waiter, struct clocks now, bool *there)
{
	struct shared_gpu *c = xcalloc(1, sizeof(*c));
	const struct record *last = NULL;

	*there = true;
	for (unsigned gpu = 0; gpu < MAX_CARDS; gpu++) {
		if (!on(waiter, gpu))
			continue;
		look_at_card(l, gpu, now, c);
		*there &= !is_short(c);
		for (size_t i = 0; i < c->n; i++) {
			const struct record *r = c->held[i];

			if (r->asked && (!last || r->burst_time > last->burst_time))
				last = r;
		}
	}
	free(c);
	return last;
}

static void look_at_waiter(struct sim_launcher *l, struct record *r, struct clocks now)
{
	bool there;
	const struct record *borrower = last_asked(l, r, now, &there);
	uint64_t job = borrower && !there ? borrower->report.run.job : 0;
	usec_t until = job ? borrower->burst_time : 0;

	if (r->burst_job != job || r->burst_time != until) {
		r->burst_job = job;
		r->burst_time = until;
		report_use(l, r);
	}
	if (there)
		sim_start_waiting(l, r, now);
}

/* --- checking -------------------------------------------------------------------------------- */

void sim_memory_hello(struct sim_launcher *l, struct clocks now)
{
	l->born = now.mono;
	if (l->world.card_mb)
		l->check_at = AT_ONCE;
}

void sim_memory_check(struct sim_launcher *l, struct clocks now)
{
	uint64_t gpus = borrowable(l);

	l->check_at = NEVER_AT;
	for (struct record *r = l->first; r; r = r->next) {
		if (r->asked && !is_needed(l, r, now))
			let_off(l, r, now);
	}
	for (unsigned gpu = 0; gpu < MAX_CARDS; gpu++) {
		if (gpus >> gpu & 1)
			ask_on(l, gpu, now);
	}
	for (struct record *r = l->first, *next; r; r = next) {
		next = r->next;
		if (r->asked && is_young(l, now))
			l->check_at = l->born + BACK_WAIT;
		if (r->waits)
			look_at_waiter(l, r, now); /* it may start, fail and be gone */
	}
}
