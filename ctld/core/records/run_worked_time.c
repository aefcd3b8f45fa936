/* run_worked_time.c - for how long a run has worked, without suspended time; see run.h */
#include "ctld/core/records/node.h"
#include "ctld/core/records/run_impl.h"

/* us less part, not below 0: what nodes report need not agree. */
static uint64_t beyond(uint64_t us, uint64_t part)
{
	return us > part ? us - part : 0;
}

/* While it is suspended its work stands still at what the node has reported. */
uint64_t run_worked_us(const struct run *run, struct clocks now)
{
	const struct run_past *past = run_past(run);
	usec_t elapsed = 0;

	if (past->suspend_time)
		return past->elapsed_us;
	if (run_over(run))
		return beyond(past->elapsed_us, past->suspended_us);
	if (run->started_known)
		elapsed = now.mono - run->link.started;
	else if (run->info.start_time)
		elapsed = now.wall - run->info.start_time;
	return elapsed < 0 ? 0 : beyond((uint64_t)elapsed, past->suspended_us);
}

/* Suspended: when, and how much it had worked by then, which is what counts until it goes on.
 * Resumed: only for how long it was suspended in all. The time of 0 means that it is not, so a
 * clock at 0 counts as 1. */
void run_set_suspended(struct runs *runs, struct run *run, const struct run_report *r, usec_t wall)
{
	struct run_past *p;

	if (r->suspended ? run_past(run)->suspend_time != 0
	                 : !run_past(run)->suspend_time &&
	                           run_past(run)->suspended_us == r->suspended_us)
		return;
	p = run_past_made(runs, run);
	p->suspend_time = r->suspended ? (wall ? wall : 1) : 0;
	p->elapsed_us = r->suspended ? beyond(r->elapsed_us, r->suspended_us) : 0;
	p->suspended_us = r->suspended_us;
	node_runs_changed(run->link.node);
	dirty_put(runs->dirty, &run->mark);
}
