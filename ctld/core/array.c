/* array.c - see array.h */
#include "ctld/core/array.h"

#include <stdlib.h>

#include "common/xalloc.h"
#include "ctld/core/idmap.h"

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

uint32_t array_tasks_under(const struct job *job, const struct taskset *set)
{
	struct taskset left, some;
	uint32_t n;

	if (!set || !job_tasks(job))
		return job_weight(job);
	taskset_copy(&left, job_tasks(job));
	taskset_take(&left, set, &some);
	n = some.count;
	taskset_clear(&left);
	taskset_clear(&some);
	return n;
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

/* --- what has left memory -------------------------------------------------------------------- */

enum array_gone array_gone(const struct job *own)
{
	const struct array *a = job_array(own);
	const struct job *p = idmap_next(a->parts, 0);
	uint32_t here = 0, ill = 0;

	for (; p; p = idmap_next(a->parts, job_info(p)->part)) {
		enum job_state state = (enum job_state)job_info(p)->state;

		here += job_state_ended(state) ? job_weight(p) : 0;
		ill += job_state_ended(state) && state != JOB_COMPLETED ? job_weight(p) : 0;
	}
	if (a->ended == here)
		return ARRAY_GONE_NONE;
	/* Which of those that are gone went ill nobody knows any more. */
	return a->failed + a->cancelled == ill ? ARRAY_GONE_WELL : ARRAY_GONE_UNKNOWN;
}

static void clear_bits(uint8_t *bits, const struct taskset *set)
{
	size_t i;
	uint32_t t;

	for (i = set->at; i < set->n; i++) {
		for (t = set->v[i].first; t <= set->v[i].last; t += set->v[i].step)
			bits[t / 8] &= (uint8_t) ~(1U << t % 8);
	}
}

void array_gone_tasks(const struct job *own, const struct taskset *of, struct taskset *gone)
{
	uint8_t *bits = xcalloc(TASK_MAX / 8 + 1, 1);
	const struct idmap *parts = job_array(own)->parts;
	const struct job *p;
	uint32_t t;
	size_t i;

	for (i = of->at; i < of->n; i++) {
		for (t = of->v[i].first; t <= of->v[i].last; t += of->v[i].step)
			bits[t / 8] |= (uint8_t)(1U << t % 8);
	}
	clear_bits(bits, job_tasks(own));
	for (p = idmap_next(parts, 0); p; p = idmap_next(parts, job_info(p)->part)) {
		if (job_tasks(p))
			clear_bits(bits, job_tasks(p));
		else
			bits[job_task(p) / 8] &= (uint8_t) ~(1U << job_task(p) % 8);
	}
	taskset_of_bits(gone, bits, TASK_MAX);
	free(bits);
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
