/* saved_work.c - what of a job's work is saved when its run is stopped, in a world; see world_impl.h
 *
 * A run that is preempted or cancelled loses all since its start; with --checkpoint only what it
 * has done since it was told to end. The next attempt does what is left. Of the runs of an attempt
 * the one that has saved least decides.
 */
#include "ctld/gsim/world_impl.h"

/* What of a run's work has to be done again. */
static usec_t lost(const struct world *w, const struct world_run *run)
{
	if (run->cause == END_EXIT || run->cause == END_TIME_LIMIT)
		return 0;
	return run->end - (w->o.checkpoint && run->told != WORLD_NEVER ? run->told : run->start);
}

void saved_work_begin(struct world_job *job)
{
	job->saved = job->remaining;
}

void saved_work_add(struct world *w, const struct world_run *run)
{
	uint64_t milli = (uint64_t)__builtin_popcountll(run->gpus) * run->charge;
	usec_t saved = run->cause == END_EXIT ? 0 : run->end - run->start - lost(w, run);

	if (saved < run->job->saved)
		run->job->saved = saved;
	w->m.lost_us += milli * (uint64_t)lost(w, run) / 1000;
}

void saved_work_requeue(struct world_job *job)
{
	job->remaining -= job->saved;
}
