/* upcalls.c - what happens in one part of the launcher and concerns parts above it
 * (runs/launcher_state.h) */
#include "noded/launcher/upcalls.h"

#include "noded/confine/mps_pool.h"
#include "noded/gpu/gpus.h"
#include "noded/launcher/node_report.h"
#include "noded/launcher/shepherd_lost.h"
#include "noded/launcher/start_run.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/run_life.h"
#include "noded/runs/run_records.h"
#include "noded/runs/runs.h"
#include "noded/watch/gpu_checks.h"
#include "noded/watch/gpu_faults.h"
#include "noded/watch/gpu_job_files.h"
#include "noded/watch/gpu_leftovers.h"
#include "noded/watch/gpu_reclaim.h"
#include "noded/watch/run_usage.h"
#include "noded/watch/usage_sampling.h"

static void run_executed(struct run *r)
{
	usage_sampling_started(r->l);
	gpu_job_files_changed(r->l, false);
}

static void run_has_ended(struct run *r, uint64_t gpus)
{
	gpu_leftovers_freed(r->l, gpus);
	if (gpus)
		gpu_job_files_changed(r->l, false);
	if (r->mps)
		mps_pool_run_over(r->l);
	if (r->has_parts)
		gpu_reclaim_run_over(r->l);
}

static void start_cancelled(struct run *r)
{
	start_cancel(r->start);
	r->start = NULL;
	r->order = NULL;
}

static void run_freed(struct run *r)
{
	run_forget_copy(r);
	start_cancelled(r);
	run_usage_free(r->used);
}

static void gpus_probed(struct launcher *l, const struct gpus *old, const struct gpus *now)
{
	if (gpu_faults_probed(l, old, now) || !gpus_equal(old, now)) {
		usage_sampling_gpus_changed(l);
		gpu_leftovers_gpus_changed(l);
	}
	gpu_checks_probed(l, now);
	gpu_job_files_changed(l, true);
}

static const struct launcher_hooks hooks = {
	.run_executed = run_executed,
	.run_lost = lost_begin,
	.run_lost_due = lost_poll,
	.run_over = run_has_ended,
	.run_due = run_due,
	.run_freed = run_freed,
	.start_cancelled = start_cancelled,
	.gpus_probed = gpus_probed,
	.gpus_sampled = gpu_reclaim_sampled,
	.gpus_freed = gpu_leftovers_freed,
	.node_changed = node_report_send,
};

const struct launcher_hooks *launcher_hooks(void)
{
	return &hooks;
}
