/* job_control_array.c - actions on an array: which of its records they concern, done in pieces; see
 * job_control_impl.h
 *
 * Each record that has some of the tasks is done to or refused for itself. One that is to differ
 * from what it was a part of is split off first.
 *
 * An array may have a hundred thousand records, so what is done to all of them is done in pieces,
 * each an event of its own (event.h: `most`, `walk`). Between two of them tasks start and end. So
 * what waits comes first: a task that is started meanwhile has a record that is yet to come. And
 * whatever it was done to is marked, and so is what is split off from that: nothing is done twice.
 */
#include <stdlib.h>

#include "ctld/core/intake/job_control_impl.h"
#include "ctld/core/intake/requeue_ended.h"
#include "ctld/core/jobs/array_split.h"
#include "ctld/core/records/array.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/util/idmap.h"

#define RANGES_EACH  64 /* of sets of tasks, that cost what a look at a record does */
#define SHOWN_RANGES 20 /* of tasks that are not there */

void control_spend(struct control *c, size_t n)
{
	c->left = n < c->left ? c->left - (uint32_t)n : 0;
}

bool control_spent(const struct control *c)
{
	return c->event->job.most && !c->left;
}

/* The next record of one task, in order; those in between that are not asked for cost nothing. */
static struct job *next_task(struct control *c, const struct array *a, const struct taskset *set)
{
	struct array_walk *w = &c->walk;
	struct job *job = NULL;

	while (!job && !control_spent(c)) {
		uint32_t task = set ? taskset_next(set, w->next - 1) : w->next - 1;

		job = task == TASK_NONE ? NULL : idmap_next(a->parts, task);
		if (!job || job_info(job)->part >= JOB_PART_RANGES)
			return NULL;
		control_spend(c, 1);
		w->next = job_info(job)->part;
		if (set && !taskset_has(set, job_task(job)))
			job = NULL;
		else
			w->next++;
	}
	return job;
}

/* What waits comes first, the array parent and those of several tasks: a task that is started
 * between two pieces has a record that is yet to come. NULL: there is no more, or it is spent. */
static struct job *next_record(struct control *c, struct job *own, const struct taskset *set)
{
	const struct array *a = job_array(own);
	struct array_walk *w = &c->walk;
	struct job *job;

	if (!w->next) {
		w->next = JOB_PART_RANGES;
		w->round = ++c->core->control_round;
		return own;
	}
	if (c->own_only)
		return NULL;
	if (w->next >= JOB_PART_RANGES) {
		job = idmap_next(a->parts, w->next - 1);
		if (job) {
			w->next = job_info(job)->part + 1;
			return job;
		}
		w->next = 1;
	}
	return next_task(c, a, set);
}

/* Is the verb for this record of these tasks (NULL: all)? */
static bool is_for(struct control *c, const struct job *job, const struct taskset *set, bool ended)
{
	const struct taskset *tasks = job_tasks(job);

	if (!job_weight(job) || job_link_of(job)->controlled == c->walk.round ||
	        (!ended && job_state_ended((enum job_state)job_info(job)->state)))
		return false;
	if (!set || !tasks)
		return !set || taskset_has(set, job_task(job));
	control_spend(c, (taskset_ranges(tasks) + taskset_ranges(set)) / RANGES_EACH);
	return taskset_meets(tasks, set);
}

/* None of the tasks is left to do it to. */
static int no_records(const struct job *own, const struct taskset *set, struct error *err)
{
	unsigned long long id = job_id(own);
	char *text;

	if (!set)
		return error_set(err, ERR_JOB_STATE, "job %llu: it is %s", id,
		        job_state_ended(job_info(own)->state)
		                ? job_state_name(job_info(own)->state)
		                : "an array of which no task is left");
	text = taskset_text(set);
	error_set(err, ERR_JOB_STATE, "job %llu_[%.200s]: all of that has ended", id, text);
	free(text);
	return -1;
}

int control_know(const struct job *own, const struct taskset *set, struct taskset *known,
        struct error *missing, struct error *err)
{
	unsigned long long id = job_id(own);
	struct taskset left;
	char *text;

	if (!job_array(own))
		return error_set(err, ERR_NO_JOB, "job %llu is not an array: it has no task %u", id,
		        taskset_first(set));
	if (taskset_part(&job_array(own)->all, set, TASKSET_RANGES_MAX, known) < 0) {
		error_set(err, ERR_USAGE,
		        "job %llu: these tasks, or those between them, are more than %d ranges of "
		        "its array %.100s",
		        id, TASKSET_RANGES_MAX, job_info(own)->array);
		return error_hint(err, "name fewer, or ranges with all tasks between their ends");
	}
	if (known->count < set->count) {
		taskset_lacks(&job_array(own)->all, set, SHOWN_RANGES, &left);
		text = taskset_text(&left);
		error_set(missing, ERR_NO_JOB, "job %llu has no task%s %.100s: its array is %.200s",
		        id, left.count > 1 ? "s" : "", text, job_info(own)->array);
		free(text);
		taskset_clear(&left);
	}
	if (known->count)
		return 0;
	*err = *missing;
	missing->code = ERR_NONE;
	return -1;
}

void control_error(struct control *c, const struct error *err)
{
	if (c->n_errors == c->max_errors)
		return;
	c->errors[c->n_errors].job = c->event->job.ids[c->at];
	c->errors[c->n_errors++].error = *err;
}

/* What is left of a record without some of its tasks must not be in too many ranges. */
static int check_left(const struct job *job, const struct taskset *without, struct error *err)
{
	const struct taskset *tasks = job_tasks(job);
	struct taskset left;
	size_t n;

	if (taskset_ranges(tasks) + without->count <= TASKSET_RANGES_MAX)
		return 0;
	taskset_lacks(without, tasks, SIZE_MAX, &left);
	n = taskset_ranges(&left);
	taskset_clear(&left);
	if (n <= TASKSET_RANGES_MAX || n <= taskset_ranges(tasks))
		return 0;
	error_set(err, ERR_JOB_STATE,
	        "job %llu: the tasks that are left would be %zu ranges of neighbours; at most %d",
	        (unsigned long long)job_id(job), n, TASKSET_RANGES_MAX);
	return error_hint(err, "name ranges with all tasks between their ends, or all of the job");
}

/* The part of a record that the verb applies to, as a record of its own if it must be split off.
 * NULL: it cannot be split off, and the error was recorded. */
static struct job *told_apart(struct control *c, struct job *job, const struct taskset *set)
{
	enum job_verb verb = c->event->job.verb;
	const struct taskset *those = set ? set : job_tasks(job);
	struct error err;

	if (!job_tasks(job) || !control_verbs[verb].changes(c, job))
		return job;
	if (set && check_left(job, set, &err) < 0) {
		if (!c->walk.refused)
			control_error(c, &err);
		c->walk.refused = true;
		return NULL;
	}
	control_spend(c, (taskset_ranges(job_tasks(job)) + taskset_ranges(those)) / RANGES_EACH);
	/* What waits is cancelled as a record of its own: its array may go on. */
	return array_split(c->core, job, those, verb != JOB_CANCEL);
}

/* Marked before the verb is applied: what the verb splits off or starts has the mark too. */
static void control_record(struct control *c, struct job *job, const struct taskset *set)
{
	struct error err;
	uint32_t weight;

	control_spend(c, CONTROL_COST);
	c->job = told_apart(c, job, set);
	if (!c->job)
		return;
	job_link(c->job)->controlled = c->walk.round;
	weight = array_tasks_under(c->job, set);
	if (control_verbs[c->event->job.verb].apply(c, &err) == 0) {
		c->tasks += weight;
		c->walk.done = true;
	} else if (!c->first.code) {
		c->first = err;
	}
}

int control_records(
        struct control *c, struct job *own, const struct taskset *set, struct error *err)
{
	bool ended = control_verbs[c->event->job.verb].changes == control_changes_ended;
	bool was_done = c->walk.done;
	struct job *job;

	if (ended && !c->own_only && !c->walk.next && requeue_ended_check_here(own, set, err) < 0)
		return -1;
	while (!control_spent(c) && (job = next_record(c, own, set))) {
		control_spend(c, 1);
		if (is_for(c, job, set, ended))
			control_record(c, job, set);
	}
	c->cut = control_spent(c);
	c->arrays += c->walk.done && !was_done;
	if (c->cut || c->walk.done || c->walk.refused)
		return 0;
	if (!c->first.code)
		return no_records(own, set, err);
	*err = c->first;
	return -1;
}

