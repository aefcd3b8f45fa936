/* job_due.c - see job_due.h */
#include "ctld/core/jobs/job_due.h"

#include "ctld/core/jobs/depends_outcome.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/jobs/job_timers.h"
#include "ctld/core/jobs/life.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/run_orders.h"

/* The deadline has come, or so little time is left until then that a job of this time limit cannot
 * start any more. */
static void miss_deadline(struct core *core, struct job *job)
{
	bool waits = job_info(job)->state == JOB_PENDING;
	const char *text = waits ? "it can no longer end by its deadline" : "its deadline has come";

	job_set_comment(core->jobs, job, text);
	audit_note(core, "job.deadline", NULL, job_ref(job), "", text);
	if (waits)
		job_end_waiting(core, job, END_DEADLINE, JOB_DEADLINE);
	else
		job_stop(core, job, &(struct stop){ .cause = END_DEADLINE });
}

/* The time limit was changed after the start. Its nodes enforce it, and the controller does too,
 * because a node may not have received it. Time while suspended does not count. */
static void cut_short(struct core *core, struct job *job)
{
	const struct job_info *i = job_info(job);

	if (!i->limit_set || !i->time_limit_s || job_time_left(core, job) > 0)
		job_timer_set(core, job);
	else
		job_stop(core, job, &(struct stop){ .cause = END_TIME_LIMIT });
}

/* A job has one timer for all of these times, so which of them has come is found out here. What
 * follows from it sets the timer again. */
void job_timer_due(struct core *core, struct job *job)
{
	if (job_info(job)->deadline && job_last_chance(job) <= core->now.wall)
		miss_deadline(core, job);
	else if (job_info(job)->state != JOB_PENDING)
		cut_short(core, job);
	else
		depends_delays(core, job);
	if (job_info(job)->state == JOB_PENDING)
		job_consider(core, job);
}
