/* array_split.c - see array_split.h
 *
 * An array is one parent record, PENDING from its submit to the end of its last task, and parts:
 * records of tasks that were split off because something concerned them alone. Each task of the
 * array is in exactly one of three places: under a record that waits, in a record of its own, or in
 * the parent's counts of those that have ended.
 */
#include "ctld/core/jobs/array_split.h"

#include "common/base/taskset.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/jobs/job_timers.h"
#include "ctld/core/jobs/retire.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"

/* A record that still has tasks keeps its place in its class, which counts it anew. An empty one
 * leaves the class; an empty part ceases to exist, the array parent stays. */
void array_shrunk(struct core *core, struct job *job)
{
	if (job_link(job)->queued.class && job_weight(job)) {
		sched_shrunk(core->sched, job);
		return;
	}
	job_withdraw(core, job);
	if (job_weight(job))
		return;
	job_timer_set(core, job);
	if (job_info(job)->part)
		jobs_drop_empty(core->jobs, job);
}

/* The new record enters no class, because the caller starts it at once. */
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

/* What becomes of the tasks of the record that are in the set: if they are all of a part, the part
 * itself; a single task gets the record of that task; several get one record for ranges. The new
 * record is in the same state, and is listed as ended or considered for its class like the old
 * one. */
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

/* A task that is named, by a run or by a job that waits for it, is split off from the tasks that
 * wait under one record with it. */
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
