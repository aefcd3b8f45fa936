/* retire.c - see retire.h
 *
 * Two lists, of jobs and of tasks, in the order of their ends. A slice looks at the oldest ones. A
 * job that is still needed goes to the back of its list, as if it had ended now: so one that cannot
 * go yet never keeps those behind it in memory.
 */
#include "ctld/core/jobs/retire.h"

#include "ctld/core/attempts/bill.h"
#include "ctld/core/depends/depends_open.h"
#include "ctld/core/depends/depends_terms.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/ended_outcomes.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/util/idmap.h"

void job_list_ended(struct core *core, struct job *job, usec_t mono)
{
	struct ended *list = job_info(job)->part ? &core->tasks_ended : &core->jobs_ended;
	struct job_link *l = job_link(job);

	l->ended = mono;
	l->next = NULL;
	l->prev = list->last;
	*(list->last ? &job_link(list->last)->next : &list->first) = job;
	list->last = job;
	list->n++;
}

void job_unlist_ended(struct core *core, struct job *job)
{
	struct ended *list = job_info(job)->part ? &core->tasks_ended : &core->jobs_ended;
	struct job_link *l = job_link(job);

	*(l->prev ? &job_link(l->prev)->next : &list->first) = l->next;
	*(l->next ? &job_link(l->next)->prev : &list->last) = l->prev;
	l->next = l->prev = NULL;
	list->n--;
}

/* Must the job stay in memory? An attempt that was given up is still alive somewhere, a dependent
 * has not been updated yet, or parts of the array are in memory. */
static bool is_needed(const struct job *job)
{
	const struct run *run = job_link_of(job)->runs;

	while (run && run_over(run))
		run = run_link_of(run)->next_of_job;
	return run || depends_wanted(job) ||
	       (job_link_of(job)->array && idmap_count(job_link_of(job)->array->parts));
}

static void retire(struct core *core, struct job *job)
{
	struct run *run;

	while ((run = job_link(job)->runs)) {
		job_link(job)->runs = run_link(run)->next_of_job;
		run_retire(core, run);
	}
	depends_forget(core, job);
	/* How an array ended is recorded for its array parent. */
	if (!job_info(job)->part)
		outcomes_put(core->outcomes, job_id(job), job_info(job)->state == JOB_COMPLETED);
	jobs_retire(core->jobs, job);
}

/* Ends at the job that was last when the slice began: those that went to the back are not looked at
 * twice. */
static void retire_old(struct core *core, struct ended *list, size_t kept)
{
	usec_t keep = (usec_t)core->conf->controller.keep_ended_s * USEC_PER_S;
	struct job *job, *last = list->last;

	for (unsigned n = 0; n < TIMER_SLICE && list->first; n++) {
		if (core->now.mono - job_link(list->first)->ended < keep && list->n <= kept)
			break;
		job = list->first;
		job_unlist_ended(core, job);
		if (is_needed(job))
			job_list_ended(core, job, core->now.mono);
		else
			retire(core, job);
		if (job == last)
			break;
	}
}

void jobs_retire_old(struct core *core)
{
	retire_old(core, &core->tasks_ended, ARRAY_ENDED_KEPT);
	retire_old(core, &core->jobs_ended, SIZE_MAX);
}
