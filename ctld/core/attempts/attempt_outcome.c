/* attempt_outcome.c - see attempt_outcome.h
 *
 * Only the records are asked, and nothing is changed: life.c does what follows. A cause that the
 * job itself has (job_info.end_cause: a cancel, a deadline) rules out another attempt, whatever
 * its runs report. `again` of the table is what the cause allows where the owner allows a requeue;
 * a launch that failed needs no such permission, because the job never began.
 */
#include "ctld/core/attempts/attempt_outcome.h"

#include "ctld/core/attempts/attempt.h"
#include "ctld/core/attempts/deciding_rank.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/attempts/requeue_on.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"

/* What becomes of a job whose attempt ended for this cause, without a request to end it. */
static const struct {
	enum job_state state;
	bool again; /* requeue, where its owner allows */
} outcomes[] = {
	[END_NONE] = { JOB_COMPLETED, false },
	[END_EXIT] = { JOB_COMPLETED, false },
	[END_TIME_LIMIT] = { JOB_TIMEOUT, false },
	[END_CANCEL] = { JOB_CANCELLED, false },
	[END_PREEMPT] = { JOB_PREEMPTED, true },
	[END_NODE_FAIL] = { JOB_NODE_FAIL, true },
	[END_LAUNCH] = { JOB_FAILED, true },
	[END_LOST] = { JOB_NODE_FAIL, true },
	[END_OUT_OF_MEMORY] = { JOB_OUT_OF_MEMORY, false },
	[END_DRAIN] = { JOB_NODE_FAIL, true },
	[END_PEER] = { JOB_NODE_FAIL, true },
	[END_RECLAIM] = { JOB_PREEMPTED, true },
	[END_DEADLINE] = { JOB_DEADLINE, false },
	[END_GPU_MEMORY] = { JOB_OUT_OF_MEMORY, false },
	[END_IDLE] = { JOB_CANCELLED, false },
	[END_SPOOL] = { JOB_FAILED, false },
	[END_LAUNCH_OWNER] = { JOB_FAILED, false },
	[END_SIGNATURE] = { JOB_FAILED, true },
	[END_SCALE] = { JOB_CANCELLED, true },
	[END_ROLL] = { JOB_CANCELLED, true },
};

enum job_state job_state_of_end(enum end_cause cause, uint32_t exit_code, uint32_t exit_signal)
{
	enum job_state state = outcomes[cause].state;

	return state == JOB_COMPLETED && (exit_code || exit_signal) ? JOB_FAILED : state;
}

bool attempt_not_launched(const struct run *run)
{
	return run_info(run)->state == RUN_NEVER || end_is_launch(run_info(run)->end_cause);
}

/* The failed launches are for the owner to mend: waiting does not help. A file may have come late
 * to one node, so there are a few tries. */
static bool owner_must_mend(const struct job *job, const struct run *decisive)
{
	return run_info(decisive)->end_cause == END_LAUNCH_OWNER &&
	       job_launch_failures(job) % LAUNCH_TRIES == 0;
}

bool attempt_comes_again(const struct job *job, const struct run *decisive)
{
	const struct job_info *i = job_info(job);

	/* A slot of a service waits again however its replica ended: its owner signed how many starts
	 * a day, and the nodes count them. */
	if (job_service(job))
		return i->end_cause == END_NONE;
	if (i->end_cause != END_NONE || job_starts(job) >= i->max_attempts)
		return false;
	if (owner_must_mend(job, decisive) && !attempt_asked(job))
		return false;
	return attempt_asked(job) || attempt_not_launched(decisive) || !attempt_whole(job) ||
	       (outcomes[run_info(decisive)->end_cause].again && i->requeue) ||
	       job_wants_requeue(job, decisive);
}

bool job_again_when_reclaimed(const struct core *core, const struct job *job)
{
	uint32_t p = job_partition(core, job);

	return job_info(job)->requeue &&
	       (p == CONF_NONE || core->conf->partitions[p].preempt_mode != CONF_PREEMPT_CANCEL);
}

bool job_comes_again(const struct job *job)
{
	return job_info(job)->state == JOB_PENDING ||
	       attempt_comes_again(job, attempt_decisive(job));
}

enum job_state attempt_end_state(const struct job *job, const struct run *run)
{
	const struct run_info *r = run_info(run);

	if (job_info(job)->end_cause == END_CANCEL)
		return JOB_CANCELLED;
	if (!attempt_whole(job) || (r->state == RUN_NEVER && r->end_cause == END_NONE))
		return JOB_NODE_FAIL;
	return job_state_of_end(
	        (enum end_cause)r->end_cause, run_past(run)->exit_code, run_past(run)->exit_signal);
}
