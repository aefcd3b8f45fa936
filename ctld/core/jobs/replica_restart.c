/* replica_restart.c - see replica_restart.h
 *
 * A replica that ends by itself is started again, whatever its exit code was. A program that ends at
 * once must not take its node's time over and over: each failure in a row doubles the delay. Ends
 * that were ordered, and nodes that fail, are no failures of the replica.
 */
#include "ctld/core/jobs/replica_restart.h"

#include <stdio.h>

#include "ctld/core/attempts/attempt.h"
#include "ctld/core/attempts/bill.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/service.h"
#include "ctld/core/rows/state.h"

/* Did the replica itself bring about its end? */
static bool is_failure(const struct job *job, const struct run *run)
{
	switch ((enum end_cause)run_info(run)->end_cause) {
	case END_NODE_FAIL:
	case END_LOST:
	case END_PREEMPT:
	case END_RECLAIM:
	case END_DRAIN:
	case END_SCALE:
	case END_ROLL:
		return false;
	case END_NONE:
		return run_info(run)->state != RUN_NEVER && !attempt_asked(job);
	default:
		return !attempt_asked(job);
	}
}

static void say(struct core *core, struct job *job, const struct run *run, uint32_t delay_s)
{
	const struct run_past *past = run_past(run);
	const char *why = *run_replica(run)->text ? run_replica(run)->text : past->detail;
	char how[40], text[300];

	snprintf(how, sizeof(how), past->exit_signal ? "signal %u" : "exit code %u",
	        past->exit_signal ? past->exit_signal : past->exit_code);
	snprintf(text, sizeof(text), "BackOff: attempt %u on %.64s ended%s (%.120s); the next in %u s",
	        run_info(run)->id.attempt, run_info(run)->node,
	        run_replica(run)->ready_time ? "" : " before it was READY", *why ? why : how,
	        delay_s);
	job_set_comment(core->jobs, job, text);
	audit_note(core, "service.restart", NULL, job_ref(job), run_info(run)->node, text);
}

/* An attempt has one run a node; replicas are on one. */
static void retire_old_runs(struct core *core, struct job *job)
{
	struct run **at = &job_link(job)->runs;
	unsigned n = 0;

	while (*at) {
		struct run *run = *at;

		if (n++ < REPLICA_RUNS_KEPT || !run_over(run)) {
			at = &run_link(run)->next_of_job;
			continue;
		}
		*at = run_link(run)->next_of_job;
		run_retire(core, run);
	}
}

void replica_restart(struct core *core, struct job *job, const struct run *run)
{
	struct job_link *l = job_link(job);
	bool failed = is_failure(job, run);
	uint32_t delay = REPLICA_RESTART_DELAY_S;

	if (run_replica(run)->ready_us >= (uint64_t)REPLICA_RESTART_GOOD_S * 1000000 || !failed)
		l->restarts = 0;
	if (failed) {
		for (unsigned n = 0; n < l->restarts && delay < REPLICA_RESTART_DELAY_MAX_S; n++)
			delay *= 2;
		delay = delay > REPLICA_RESTART_DELAY_MAX_S ? REPLICA_RESTART_DELAY_MAX_S : delay;
		l->restarts += l->restarts < UINT8_MAX;
		job_set_begin(core->jobs, job, core->now.wall + (usec_t)delay * USEC_PER_S);
		say(core, job, run, delay);
	}
	if (failed)
		service_note_load(job_service(job), job_own(job), !run_replica(run)->ready_time);
	if (failed && !run_replica(run)->ready_time)
		service_note_unready(
		        core->services, job_service(job), run_info(run)->node, 0, core->now);
	retire_old_runs(core, job);
}
