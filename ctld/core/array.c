/* array.c - see array.h */
#include "ctld/core/array.h"

/* --- records of their own -------------------------------------------------------------------- */

void array_shrunk(struct core *core, struct job *job)
{
	if (job_link(job)->class && job_weight(job)) {
		sched_shrunk(core->sched, job);
		return;
	}
	job_withdraw(core, job);
	if (job_weight(job))
		return;
	job_alarm(core, job);
	if (job_info(job)->part)
		jobs_drop_empty(core->jobs, job);
}

struct job *array_first(struct core *core, struct job *job)
{
	const struct taskset *tasks = job_tasks(job);
	struct job *first;

	if (!tasks)
		return job;
	first = jobs_split_task(core->jobs, job, taskset_first(tasks));
	array_shrunk(core, job);
	return first;
}

struct job *array_split(
        struct core *core, struct job *job, const struct taskset *set, bool keep_own)
{
	const struct taskset *tasks = job_tasks(job);
	bool own = !job_info(job)->part;
	struct taskset left, some;
	struct job *part;

	if (!tasks)
		return taskset_has(set, job_task(job)) ? job : NULL;
	if (!taskset_meets(tasks, set))
		return NULL;
	taskset_copy(&left, tasks);
	taskset_take(&left, set, &some);
	if (!left.count && (!own || keep_own)) {
		part = job;
		taskset_clear(&some);
	} else if (some.count == 1) {
		part = jobs_split_task(core->jobs, job, taskset_first(&some));
		taskset_clear(&some);
	} else {
		part = jobs_split_tasks(core->jobs, job, &some);
	}
	taskset_clear(&left);
	if (part == job)
		return job;
	if (job_state_ended((enum job_state)job_info(part)->state))
		job_list_ended(core, part, job_link(job)->ended);
	array_shrunk(core, job);
	job_consider(core, part);
	return part;
}

struct job *array_of_run(struct core *core, struct run_id id)
{
	struct job *job = jobs_of_run(core->jobs, id), *in;

	if (job)
		return job;
	in = jobs_stands_in(core->jobs, id.job, id.task);
	if (!in || job_info(in)->state != JOB_PENDING)
		return NULL;
	job = jobs_split_task(core->jobs, in, id.task);
	array_shrunk(core, in);
	job_consider(core, job);
	return job;
}

/* --- how many at a time ---------------------------------------------------------------------- */

bool array_full(const struct job *job)
{
	const struct array *a = job_array(job);

	return a && a->at_once && a->running >= a->at_once;
}

void array_reconsider(struct core *core, const struct job *job)
{
	struct job *w = job_array(job)->waiting;

	for (; w; w = job_link(w)->next)
		job_consider(core, w);
}

void array_set_at_once(struct core *core, struct job *job, uint32_t at_once)
{
	bool was = array_full(job);

	job_set_at_once(core->jobs, job_own(job), at_once);
	if (array_full(job) != was)
		array_reconsider(core, job);
}

/* --- the end --------------------------------------------------------------------------------- */

void array_part_ended(struct core *core, struct job *part)
{
	const struct job_info *i = job_info(part);
	struct job *own = job_own(part);
	const struct array *a = job_array(own);

	job_count_ended(core->jobs, own, job_weight(part), i->state);
	job_add_outcome(core->jobs, own, i);
	if (job_weight(own) || a->live)
		return;
	job_end_array(core, own,
	        a->failed      ? JOB_FAILED
	        : a->cancelled ? JOB_CANCELLED
	                       : JOB_COMPLETED);
}
