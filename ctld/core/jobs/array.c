/* array.c - see array.h
 *
 * An array is one parent record, PENDING from its submit to the end of its last task, and parts:
 * records of tasks that were split off because something concerned them alone. array_split() is
 * the only way a part comes into being, and each task of the array is in exactly one of three
 * places: under a record that waits, in a record of its own, or in the parent's counts of those
 * that have ended.
 *
 * The throttle is a property of the parent: at `at_once` records with an attempt no record of the
 * array is eligible. A change of that is told to all records at once (array_reconsider()), because
 * any of them may be the next to start.
 */
#include "ctld/core/jobs/array.h"

#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/taskset.h"
#include "common/base/xalloc.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/jobs/job_timers.h"
#include "ctld/core/jobs/life.h"
#include "ctld/core/jobs/retire.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"
#include "ctld/core/util/idmap.h"

/* --- records of their own -------------------------------------------------------------------- */

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

int array_check_room(const struct job *job, struct error *err)
{
	unsigned long long id = job_id(job);

	if (taskset_ranges(job_tasks(job)) < TASKSET_RANGES_MAX)
		return 0;
	error_set(err, ERR_JOB_STATE,
	        "the tasks of job %llu that wait are in more than %d ranges: no other job or "
	        "client can wait for one of them alone",
	        id, TASKSET_RANGES_MAX);
	return error_hint(err, "wait for job %llu as a whole", id);
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

uint32_t array_tasks_under(const struct job *job, const struct taskset *set)
{
	return set && job_tasks(job) ? taskset_common(job_tasks(job), set) : job_weight(job);
}

/* --- how many at a time ---------------------------------------------------------------------- */

bool array_full(const struct job *job)
{
	const struct array *a = job_array(job);

	return a && (a->at_once || a->service) && a->running >= a->at_once;
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

/* --- what has left memory -------------------------------------------------------------------- */

enum array_gone array_gone(const struct job *own)
{
	const struct array *a = job_array(own);

	if (a->ended == a->ended_here)
		return ARRAY_GONE_NONE;
	/* How the tasks that have left memory ended is not kept for each of them: if one of them
	 * ended badly, it is unknown which. */
	return a->failed + a->cancelled == a->ill_here ? ARRAY_GONE_WELL : ARRAY_GONE_UNKNOWN;
}

/* The array's tasks that no longer have a record: all that were signed, less those of each record
 * in memory. The result is kept until another part leaves memory (array.gone_known). */
static void find_gone(const struct job *own, struct taskset *gone)
{
	const struct array *a = job_array(own);
	size_t n = 0, size = idmap_count(a->parts) + 1, steps = SIZE_MAX;
	struct taskset *sets = xcalloc(size, sizeof(*sets)), here;
	struct task_range *tasks = xcalloc(size, sizeof(*tasks)); /* of parts with one task */
	const struct job *p;

	sets[n++] = *job_tasks(own);
	for (p = idmap_next(a->parts, 0); p; p = idmap_next(a->parts, job_info(p)->part), n++) {
		if (job_tasks(p)) {
			sets[n] = *job_tasks(p);
			continue;
		}
		tasks[n] = (struct task_range){ job_task(p), job_task(p), 1 };
		sets[n] = (struct taskset){ .v = &tasks[n], .n = 1, .count = 1 };
	}
	taskset_join(sets, n, SIZE_MAX, &here, &steps, NULL);
	taskset_lacks(&here, &a->all, SIZE_MAX, gone);
	taskset_clear(&here);
	free(tasks);
	free(sets);
}

void array_gone_tasks(const struct job *own, const struct taskset *of, struct taskset *gone)
{
	struct array *a = job_array(own);
	struct taskset not_these;

	if (!a->gone_known) {
		taskset_clear(&a->gone);
		find_gone(own, &a->gone);
		a->gone_known = true;
	}
	taskset_copy(&not_these, &a->gone);
	taskset_take(&not_these, of, gone);
	taskset_clear(&not_these);
}

/* --- the end --------------------------------------------------------------------------------- */

/* Counts the part's tasks in the array parent. When nothing of the array waits or runs, the worst
 * outcome of its tasks is the array's. */
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
