/* deciding_rank.c - see deciding_rank.h
 *
 * Which run decides need not be stored. When the deciding run ended, each other run was over and
 * had ended well, or was ordered to end with PEER in the same event. So it is the one run that
 * ended badly without that order.
 */
#include "ctld/core/attempts/deciding_rank.h"

#include <stddef.h>

#include "common/job/run.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/run.h"

bool attempt_is_decided_by(const struct job *job, const struct run *run)
{
	return job_info(job)->steps && run_info(run)->id.rank == 0 &&
	       run_info(run)->end_wanted != END_PEER;
}

const struct run *attempt_decisive(const struct job *job)
{
	const struct run *first = job_run(job), *run, *told = NULL;

	if (first && !run_lives(first) && attempt_is_decided_by(job, first))
		return first;
	for (run = first; run; run = run_next_rank(run)) {
		if (run_lives(run) || run_ended_well(run))
			continue;
		if (run_info(run)->end_wanted != END_PEER)
			return run;
		if (!told)
			told = run;
	}
	/* All of these got the order because of a run that was given up and had in fact ended
	 * well. */
	return told ? told : first;
}
