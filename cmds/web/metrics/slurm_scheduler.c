/* slurm_scheduler.c - /metrics/scheduler: the controller under the names of Slurm 25.11
 *
 * Slurm has a main scheduler and a backfill scheduler, in cycles; the controller here decides at
 * each event, in one loop. Where a figure of it says the same it stands under Slurm's name, else 0.
 */
#include <string.h>

#include "cmds/web/metrics/rows.h"
#include "cmds/web/metrics/snapshot_counts.h"
#include "cmds/web/snapshot.h"

/* What a figure of `gctl stats` stands for; times are microseconds there. */
static const struct {
	const char *stat;
	double times;
} stats[] = {
	{ NULL, 0 },
	{ "core.passes", 1 },
	{ "core.jobs_pending", 1 },
	{ "core.jobs_running", 1 },
	{ "core.started", 1 },
	{ "core.ended", 1 },
	{ "core.placements_tried", 1 },
	{ "loop.stall", 1000 },
	{ "loop.stall_ever", 1000 },
	{ "workers.running", 1 },
	{ "gate.held", 1 },
	{ "store.history_behind", 1 },
	{ "core.next_job", 1 },
};
enum {
	NOTHING,
	PASSES,
	PENDING,
	RUNNING,
	STARTED,
	ENDED,
	TRIED,
	STALL,
	STALL_EVER,
	WORKERS,
	HELD,
	BEHIND,
	NEXT_JOB
};

static void figure(struct metric_out *o)
{
	const struct snapshot *snap = o->in->snap;
	const char *name = stats[o->metric->what].stat;
	double value = 0;

	for (size_t i = 0; name && snap && i < snap->n_stats; i++)
		if (!strcmp(snap->stats[i]->name, name))
			value = snap->stats[i]->value * stats[o->metric->what].times;
	metric_put(o, value);
}

static void taken(struct metric_out *o)
{
	metric_put(o, o->in->snap ? (double)(o->in->snap->taken_us / 1000000) : 0);
}

#define ROW(name, help, what) GAUGE("slurm_" name, "", help, figure, what)
#define ZERO(name) ROW(name, "0", NOTHING)

const struct metric metrics_scheduler[] = {
	ZERO("agent_cnt"),
	ROW("agent_queue_size", "Messages that wait for a commit", HELD),
	ZERO("agent_thread_cnt"),
	ZERO("backfilled_het_jobs"),
	ZERO("backfilled_jobs"),
	ZERO("bf_active"),
	ZERO("bf_cycle_cnt"),
	ZERO("bf_cycle_last"),
	ZERO("bf_cycle_max"),
	ZERO("bf_cycle_tot"),
	ZERO("bf_depth_mean"),
	ZERO("bf_depth_tot"),
	ZERO("bf_depth_try_tot"),
	ZERO("bf_exit_end"),
	ZERO("bf_exit_max_job_start"),
	ZERO("bf_exit_max_job_test"),
	ZERO("bf_exit_state_changed"),
	ZERO("bf_exit_table_limit"),
	ZERO("bf_exit_timeout"),
	ZERO("bf_last_depth"),
	ZERO("bf_last_depth_try"),
	ZERO("bf_mean_cycle"),
	ZERO("bf_mean_table_sz"),
	ROW("bf_queue_len", "Jobs that wait", PENDING),
	ROW("bf_queue_len_mean", "Jobs that wait", PENDING),
	ZERO("bf_queue_len_tot"),
	ZERO("bf_table_size"),
	ZERO("bf_table_size_tot"),
	ZERO("bf_try_depth_mean"),
	ZERO("bf_when_last_cycle"),
	ZERO("last_backfilled_jobs"),
	ZERO("last_proc_req_start"),
	ZERO("sched_exit_end"),
	ZERO("sched_exit_lic"),
	ZERO("sched_exit_max_depth"),
	ZERO("sched_exit_max_job_start"),
	ZERO("sched_exit_rpc_cnt"),
	ZERO("sched_exit_timeout"),
	ROW("sched_mean_cycle",
	        "The longest stall of the loop in the last minutes, in microseconds", STALL),
	ZERO("sched_mean_depth_cycle"),
	{ "slurm_sched_stats_timestamp", "gauge", "", "When the figures were taken", taken, 0 },
	ROW("schedule_cycle_cnt", "Passes of the scheduler", PASSES),
	ROW("schedule_cycle_depth", "Places tried", TRIED),
	ROW("schedule_cycle_last",
	        "The longest stall of the loop in the last minutes, in microseconds", STALL),
	ROW("schedule_cycle_max", "The longest stall of the loop, in microseconds", STALL_EVER),
	ZERO("schedule_cycle_tot"),
	ROW("schedule_queue_len", "Jobs that wait", PENDING),
	{ "slurm_sdiag_job_states_ts", "gauge", "", "When the figures were taken", taken, 0 },
	{ "slurm_sdiag_jobs_canceled", "gauge", "",
	        "Jobs in state CANCELLED, as long as they are kept", metric_jobs, JOBS_CANCELLED },
	ROW("sdiag_jobs_completed", "Runs that ended since the controller started", ENDED),
	{ "slurm_sdiag_jobs_failed", "gauge", "", "Jobs in state FAILED, as long as they are kept",
	        metric_jobs, JOBS_FAILED },
	ROW("sdiag_jobs_pending", "Jobs that wait", PENDING),
	ROW("sdiag_jobs_running", "Jobs that run", RUNNING),
	ROW("sdiag_jobs_started", "Runs ordered since the controller started", STARTED),
	ROW("sdiag_jobs_submitted", "The number that the next job gets", NEXT_JOB),
	ZERO("sdiag_latency"),
	ROW("server_thread_cnt", "Helper threads that work now", WORKERS),
	ROW("slurmdbd_queue_size", "Rows still to be moved to the history", BEHIND),
	METRICS_END,
};
