/* expected_end.c - see expected_end.h */
#include "ctld/core/attempts/expected_end.h"

#include "common/conf/conf.h"
#include "ctld/core/plan/plan.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"

static usec_t seconds(uint32_t s)
{
	return (usec_t)s * USEC_PER_S;
}

/* As far as is known. */
static usec_t began(const struct run *run)
{
	return run_started_known(run) ? run_link_of(run)->started : run_link_of(run)->began;
}

usec_t run_expected_end(const struct run *run, const struct job_info *job,
        const struct conf_partition *partition)
{
	if (run_end_by(run))
		return run_end_by(run);
	if (!job || !job->time_limit_s || run_past(run)->suspend_time)
		return PLAN_FAR;
	return began(run) + (usec_t)run_past(run)->suspended_us + seconds(job->time_limit_s) +
	       seconds(partition->grace_s) + PLAN_END_TAKES +
	       (run_started_known(run) ? 0 : PLAN_START_TAKES);
}

usec_t run_protected_until(const struct run *run, const struct conf_qos *qos,
        const struct conf_partition *partition)
{
	uint32_t min_run = qos ? qos->min_run_s : CONF_NONE;
	usec_t since = run_replica(run)->ready_since ? run_replica(run)->ready_since : began(run);

	return since + seconds(min_run == CONF_NONE ? partition->min_run_s : min_run);
}
