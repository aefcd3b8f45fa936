/* job_tasks.c - job.h: records that stand for tasks of an array
 *
 * Every task of a signed set is in exactly one place: under the array parent, in a part (a record
 * for one task or for several), or counted as ended. The functions here move tasks from one to
 * another and never copy them. A part is a copy of the record that it is split from, with its own
 * references to what is kept once (texts, request, labels).
 */
#include "ctld/core/records/job_impl.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/util/idmap.h"

uint32_t job_task(const struct job *job)
{
	return job_is_task(job) ? job->info.part - 1 : 0;
}

struct array *job_array(const struct job *job)
{
	return job->link.own ? job->link.own->link.array : job->link.array;
}

struct service *job_service(const struct job *job)
{
	const struct array *a = job_array(job);

	return a ? a->service : NULL;
}

uint32_t array_in_reserve(const struct array *a)
{
	uint32_t pending = a->all.count - a->ended - a->running;
	uint32_t room = a->at_once > a->running ? a->at_once - a->running : 0;

	return a->service && pending > room ? pending - room : 0;
}

struct job *job_own(const struct job *job)
{
	return job->link.own ? job->link.own : (struct job *)(uintptr_t)job;
}

const struct taskset *job_tasks(const struct job *job)
{
	return job_several(job) ? &job_several(job)->set : NULL;
}

uint32_t job_weight(const struct job *job)
{
	return job_several(job) ? job_several(job)->set.count : 1;
}

/* Made when it is first wanted, and kept until the tasks change. */
const char *job_tasks_text(const struct job *job)
{
	struct job *j = (struct job *)(uintptr_t)job; /* what is written once is kept */
	struct tasks *tasks = job_several(job);

	if (!*job->info.array)
		return "";
	if (!tasks) {
		if (!*job->of.text)
			snprintf(j->of.text, sizeof(j->of.text), "%u", job_task(job));
		return job->of.text;
	}
	if (!tasks->text)
		tasks->text = taskset_text(&tasks->set);
	return tasks->text;
}

/* `several`: the tasks in brackets, cut with "..." if they are too long. */
static const char *label(uint64_t id, const char *tasks, bool several, char buf[JOB_LABEL])
{
	int n;

	if (!several) {
		snprintf(buf, JOB_LABEL, "%llu%s%s", (unsigned long long)id, *tasks ? "_" : "",
		        tasks);
		return buf;
	}
	n = snprintf(buf, JOB_LABEL, "%llu_[%s]", (unsigned long long)id, tasks);
	if (n >= JOB_LABEL)
		memcpy(buf + JOB_LABEL - 5, "...]", 5);
	return buf;
}

const char *job_label(const struct job *job, char buf[JOB_LABEL])
{
	const char *tasks = job_tasks_text(job);

	return label(job->info.id, tasks, job_several(job) && *tasks, buf);
}

const char *job_ref_label(uint64_t ref, char buf[JOB_LABEL])
{
	uint32_t part = job_ref_part(ref);
	char task[16] = "";

	if (part && part < JOB_PART_RANGES)
		snprintf(task, sizeof(task), "%u", part - 1);
	return label(job_ref_id(ref), task, false, buf);
}

uint32_t job_ids(const struct job *job)
{
	return job->info.raw_ids && !job->info.part ? job->link.array->all.count + 1 : 1;
}

/* By the place of the task in the signed set: a search in its ranges. */
uint64_t job_raw_id(const struct job *job)
{
	const struct array *a = job_array(job);

	if (!job->info.raw_ids || !job_is_task(job))
		return job->info.id;
	return job->info.id + 1 + taskset_before(&a->all, job_task(job));
}

const struct job *jobs_of_raw_id(const struct jobs *jobs, uint64_t raw_id, uint32_t *task)
{
	const struct job *own = idmap_below(jobs->map, raw_id);

	if (!own || idmap_find(jobs->map, raw_id) || raw_id - own->info.id >= job_ids(own))
		return NULL;
	*task = taskset_at(&own->link.array->all, (uint32_t)(raw_id - own->info.id - 1));
	return own;
}

/* The text is made anew when it is wanted; the memory is charged, the row written. */
static void tasks_changed(struct jobs *jobs, struct job *job)
{
	free(job->of.tasks->text);
	job->of.tasks->text = NULL;
	job_charge(jobs, job);
	dirty_put(jobs->dirty, &job->mark);
}

/* A record as `from` is; what it has of it is counted again. */
static struct job *part_made(struct job *from, uint32_t part)
{
	struct job *job = job_new_blank();

	job->info = from->info;
	job->info.part = part;
	if (!from->info.part) /* of an array when its first task started */
		job->info.start_time = 0;
	job->info.exit_code = job->info.exit_signal = 0;
	for (size_t t = 0; t < JOB_TEXTS; t++)
		strings_again(*job_text(&job->info, t));
	requests_again(job->info.gpus);
	labels_again(job->info.labels);
	job->link.own = job_own(from);
	job->link.expired = from->link.expired;
	job->link.controlled = from->link.controlled;
	return job;
}

/* The record must have the task. Both records are counted anew around the change. */
struct job *jobs_split_task(struct jobs *jobs, struct job *from, uint32_t task)
{
	struct job *job = part_made(from, task + 1);
	bool first = taskset_first(&from->of.tasks->set) == task;

	jobs_recount(jobs, from, false);
	taskset_remove(&from->of.tasks->set, task);
	jobs_recount(jobs, from, true);
	/* What was planned was planned for the first. */
	if (first)
		from->info.planned_start = 0;
	else
		job->info.planned_start = 0;
	tasks_changed(jobs, from);
	jobs_take_in(jobs, job);
	dirty_put(jobs->dirty, &job->mark);
	return job;
}

/* Numbers are used again only when four million have been. */
static uint32_t next_part(struct array *a)
{
	uint32_t part = a->next_part;

	if (part < JOB_PART_LAST) {
		a->next_part++;
		return part;
	}
	for (part = JOB_PART_RANGES; idmap_find(a->parts, part); part++)
		;
	return part;
}

struct job *jobs_split_tasks(struct jobs *jobs, struct job *from, struct taskset *tasks)
{
	struct job *own = job_own(from), *job = part_made(from, next_part(own->link.array));
	struct taskset taken;

	jobs_recount(jobs, from, false);
	taskset_take(&from->of.tasks->set, tasks, &taken);
	jobs_recount(jobs, from, true);
	taskset_clear(tasks);
	job->of.tasks = xcalloc(1, sizeof(*job->of.tasks));
	job->of.tasks->set = taken;
	job->info.planned_start = 0;
	tasks_changed(jobs, from);
	dirty_put(jobs->dirty, &own->mark);
	jobs_take_in(jobs, job);
	dirty_put(jobs->dirty, &job->mark);
	return job;
}

void jobs_move_tasks(struct jobs *jobs, struct job *from, struct job *to, struct taskset *tasks)
{
	struct taskset taken;

	jobs_recount(jobs, from, false);
	jobs_recount(jobs, to, false);
	taskset_take(&from->of.tasks->set, tasks, &taken);
	taskset_add(&to->of.tasks->set, &taken);
	jobs_recount(jobs, from, true);
	jobs_recount(jobs, to, true);
	taskset_clear(&taken);
	taskset_clear(tasks);
	tasks_changed(jobs, from);
	tasks_changed(jobs, to);
}

void jobs_drop_empty(struct jobs *jobs, struct job *job)
{
	assert(job->info.part >= JOB_PART_RANGES && !job_weight(job));
	job->dropped = true;
	jobs_take_out(jobs, job);
}

bool job_dropped(const struct job *job)
{
	return job->dropped;
}

void job_set_at_once(struct jobs *jobs, struct job *own, uint32_t at_once)
{
	if (own->link.array->at_once == at_once)
		return;
	own->link.array->at_once = at_once;
	dirty_put(jobs->dirty, &own->mark);
}

/* An array starts with its first task, and has the highest exit code and signal of all. */
void job_add_outcome(struct jobs *jobs, struct job *own, const struct job_info *part)
{
	struct job_info *i = &own->info;

	if (part->start_time && (!i->start_time || part->start_time < i->start_time))
		i->start_time = part->start_time;
	if (part->exit_code > i->exit_code)
		i->exit_code = part->exit_code;
	if (part->exit_signal > i->exit_signal)
		i->exit_signal = part->exit_signal;
	dirty_put(jobs->dirty, &own->mark);
}

void job_count_again(struct jobs *jobs, struct job *own, uint32_t tasks, enum job_state state)
{
	struct array *a = own->link.array;

	job_count_ended(jobs, own, 0 - tasks, state);
	/* It is not known which task had the highest exit code; if no task has failed or was
	 * cancelled, it is reset. */
	if (!a->failed && !a->cancelled)
		own->info.exit_code = own->info.exit_signal = 0;
}

void job_count_ended(struct jobs *jobs, struct job *own, uint32_t tasks, enum job_state state)
{
	struct array *a = own->link.array;

	a->ended += tasks;
	a->failed += state == JOB_COMPLETED || state == JOB_CANCELLED ? 0 : tasks;
	a->cancelled += state == JOB_CANCELLED ? tasks : 0;
	dirty_put(jobs->dirty, &own->mark);
}

/* --- what was signed ------------------------------------------------------------------------- */

void job_set_respec(struct jobs *jobs, struct job *job, const struct respec *r, bool files)
{
	struct job_info *i = &job->info;

	strings_set(jobs->strings, &i->name, r->name);
	i->max_attempts = r->max_attempts;
	if (files) {
		strings_set(jobs->strings, &i->cwd, r->cwd);
		strings_set(jobs->strings, &i->output, r->output);
		strings_set(jobs->strings, &i->error, r->error);
		i->show_output = r->show_output;
	}
	job_charge(jobs, job);
	dirty_put(jobs->dirty, &job->mark);
}

void jobs_set_hash(struct jobs *jobs, struct job *own, const uint8_t *spec_hash)
{
	nonces_respec(own->info.nonce, spec_hash);
	dirty_put(jobs->dirty, &own->mark);
}

/* A part that waits again is started with what its array's owner has signed by then. */
void job_follow_array(struct jobs *jobs, struct job *job)
{
	const struct job *own = job->link.own;

	if (!own)
		return;
	job->info.sign_time = own->info.sign_time;
	job_set_respec(jobs, job,
	        &(struct respec){ .name = own->info.name,
	                .cwd = own->info.cwd,
	                .output = own->info.output,
	                .error = own->info.error,
	                .max_attempts = own->info.max_attempts,
	                .show_output = own->info.show_output },
	        true);
}

const struct job *jobs_find_waiting(const struct jobs *jobs, uint64_t ref, uint32_t *before)
{
	uint32_t part = job_ref_part(ref);
	const struct job *job = jobs_find(jobs, part == JOB_PART_WAITS ? job_ref_id(ref) : ref);

	*before = 0;
	if (job || !part || part >= JOB_PART_RANGES)
		return job;
	job = jobs_stands_in(jobs, job_ref_id(ref), part - 1);
	if (job)
		*before = taskset_before(job_tasks(job), part - 1);
	return job;
}
