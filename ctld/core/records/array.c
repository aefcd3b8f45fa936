/* array.c - see array.h */
#include "ctld/core/records/array.h"

#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/taskset.h"
#include "common/base/xalloc.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/util/idmap.h"

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

bool array_part_ended(struct core *core, const struct job *part, enum job_state *end)
{
	const struct job_info *i = job_info(part);
	struct job *own = job_own(part);
	const struct array *a = job_array(own);

	job_count_ended(core->jobs, own, job_weight(part), i->state);
	job_add_outcome(core->jobs, own, i);
	if (job_weight(own) || a->live)
		return false;
	*end = a->failed ? JOB_FAILED : a->cancelled ? JOB_CANCELLED : JOB_COMPLETED;
	return true;
}
