/* missing_runs.c - see missing_runs.h */
#include "ctld/core/jobs/missing_runs.h"

#include "ctld/core/jobs/run_states.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/node_state.h"
#include "ctld/core/runs/run_orders.h"

void run_says_never(struct core *core, struct run *run, const struct run_report *report)
{
	struct node *node = run_link(run)->node;
	struct run_report end = *report;
	const struct run_info *i = run_info(run);
	bool refused;

	if (!node)
		node = nodes_find(core->nodes, i->node);
	forget_run_order(core, run, node);
	if (run_over(run))
		return;
	end.start_time = end.elapsed_us = 0;
	end.end_time = core->now.wall;
	if (i->state == RUN_RUNNING || i->state == RUN_ORPHAN) {
		/* The node had the run, and has no record of it any more. */
		run_gone(core, run, END_LOST, "its node has no record of it any more");
		return;
	}
	/* The order was lost with its session, or the launcher refused it. */
	refused = i->end_wanted == END_NONE &&
	          (i->state == RUN_STARTING ||
	                  (node && run_link(run)->ordered_session == node_link(node)->session));
	end.cause = !refused                 ? END_NONE
	            : report->signature_refused ? END_SIGNATURE
	                                        : END_LAUNCH;
	node_in_trouble(core, node, report->node_trouble); /* before its job is considered again */
	run_set_end(core->runs, run, &end);
	run_over_now(core, run, RUN_NEVER);
}

/* The record of an end that no node reports, from what was last known. The elapsed time is that of
 * the monotonic clock if this controller knows the start by it, else the difference of wall times;
 * what was not worked of it counts as suspended. */
void run_gone(struct core *core, struct run *run, enum end_cause cause, const char *why)
{
	const struct run_info *i = run_info(run);
	struct run_report end = { .start_time = i->start_time,
		.end_time = core->now.wall,
		.cause = cause,
		.detail = why,
		.cpu_time_us = run_used(run)->cpu_time_us,
		.max_rss_kb = run_used(run)->mem_peak_mb * 1024,
		.used = *run_used(run) };

	if (run_over(run))
		return;
	if (run_started_known(run))
		end.elapsed_us = (uint64_t)(core->now.mono - run_link(run)->started);
	else if (i->start_time && core->now.wall > i->start_time)
		end.elapsed_us = (uint64_t)(core->now.wall - i->start_time);
	if (i->start_time && end.elapsed_us > run_worked_us(run, core->now))
		end.suspended_us = end.elapsed_us - run_worked_us(run, core->now);
	run_set_end(core->runs, run, &end);
	run_over_now(core, run, RUN_ENDED);
}

void node_runs_gone(struct core *core, struct node *node, const char *why)
{
	while (node_link(node)->runs)
		run_gone(core, node_link(node)->runs, END_NODE_FAIL, why);
}
