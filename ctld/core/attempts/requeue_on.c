/* requeue_on.c - see requeue_on.h */
#include "ctld/core/attempts/requeue_on.h"

#include "common/job/requeue_on.h"
#include "common/job/run.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"

#define DELAY_GROWS_TO 86400u /* unless a longer one was requested */

bool job_wants_requeue(const struct job *job, const struct run *decisive)
{
	const struct run_info *r = run_info(decisive);

	return r->state == RUN_ENDED && r->end_cause <= END_EXIT &&
	       requeue_on_wanted(job_info(job)->requeue_on, run_past(decisive)->exit_code,
	               run_past(decisive)->exit_signal);
}

/* The delay doubles with each start that was made, up to a day; a longer one that was asked for
 * stays as it is. */
void job_delay_requeue(struct core *core, struct job *job)
{
	const struct job_info *i = job_info(job);
	uint32_t delay = i->requeue_delay_s, starts;

	for (starts = job_starts(job); starts > 1 && delay && delay < DELAY_GROWS_TO; starts--)
		delay *= 2;
	if (delay > DELAY_GROWS_TO)
		delay = i->requeue_delay_s > DELAY_GROWS_TO ? i->requeue_delay_s : DELAY_GROWS_TO;
	if (delay)
		job_set_begin(core->jobs, job, core->now.wall + (usec_t)delay * USEC_PER_S);
}
