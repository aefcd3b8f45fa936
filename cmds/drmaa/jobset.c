/* jobset.c - see jobset.h */
#include "cmds/drmaa/jobset.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#define RANGES_MAX 4000 /* of a set in a request, which may have TASKSET_RANGES_MAX */

int jobset_parse(const char *name, uint64_t *id, uint32_t *task, struct error *err)
{
	const char *bar = strchr(name, '_');
	char number[24] = "", shown[80];
	size_t len = bar ? (size_t)(bar - name) : strlen(name);
	uint64_t job, n = TASK_NONE;

	if (len < sizeof(number))
		memcpy(number, name, len);
	if (count_parse(number, 1, UINT64_MAX, &job, NULL) < 0 ||
	        (bar && count_parse(bar + 1, 0, TASK_MAX, &n, NULL) < 0)) {
		text_escape(shown, sizeof(shown), name, strlen(name));
		return error_set(err, ERR_USAGE, "'%s' is no job id", shown);
	}
	*id = job;
	*task = (uint32_t)n;
	return 0;
}

char *jobset_name(char name[JOBSET_NAME], uint64_t id, uint32_t task)
{
	if (task == TASK_NONE)
		snprintf(name, JOBSET_NAME, "%" PRIu64, id);
	else
		snprintf(name, JOBSET_NAME, "%" PRIu64 "_%" PRIu32, id, task);
	return name;
}

/* --- what is in it -------------------------------------------------------------------------- */

static struct jobset_job *find(const struct jobset *set, uint64_t id)
{
	for (size_t i = set->n; i-- > 0;)
		if (set->v[i].id == id)
			return &set->v[i];
	return NULL;
}

static struct jobset_job *find_or_add(struct jobset *set, uint64_t id)
{
	struct jobset_job *job = find(set, id);

	if (job)
		return job;
	job = XADD(set->v, set->n, set->size);
	*job = (struct jobset_job){ .id = id };
	return job;
}

static void drop(struct jobset *set, struct jobset_job *job)
{
	taskset_clear(&job->tasks);
	memmove(job, job + 1, (size_t)(set->v + set->n - (job + 1)) * sizeof(*job));
	set->n--;
}

void jobset_add(struct jobset *set, uint64_t id, uint32_t task)
{
	struct jobset_job *job = find_or_add(set, id);
	struct taskset one;

	if (task == TASK_NONE)
		return;
	job->array = true;
	taskset_single(&one, task);
	taskset_add(&job->tasks, &one);
	taskset_clear(&one);
}

void jobset_add_array(struct jobset *set, uint64_t id, const struct taskset *tasks)
{
	struct jobset_job *job = find_or_add(set, id);

	job->array = true;
	taskset_clear(&job->tasks);
	taskset_copy(&job->tasks, tasks);
}

/* An array's tasks that are in `what`; false: none. */
static bool take_tasks(struct jobset *set, struct jobset_job *job, const struct taskset *what)
{
	struct taskset taken;
	bool any;

	taskset_take(&job->tasks, what, &taken);
	any = taken.count > 0;
	taskset_clear(&taken);
	if (!job->tasks.count)
		drop(set, job);
	return any;
}

bool jobset_remove(struct jobset *set, uint64_t id, uint32_t task)
{
	struct jobset_job *job = find(set, id);
	struct taskset one;
	bool any;

	if (!job || (job->array && task == TASK_NONE) || (!job->array && task != TASK_NONE))
		return false;
	if (!job->array) {
		drop(set, job);
		return true;
	}
	taskset_single(&one, task);
	any = take_tasks(set, job, &one);
	taskset_clear(&one);
	return any;
}

void jobset_remove_all(struct jobset *set, const struct jobset *what)
{
	for (size_t i = 0; i < what->n; i++) {
		struct jobset_job *job = find(set, what->v[i].id);

		if (job && !job->array)
			drop(set, job);
		else if (job)
			take_tasks(set, job, &what->v[i].tasks);
	}
}

bool jobset_has(const struct jobset *set, uint64_t id, uint32_t task)
{
	const struct jobset_job *job = find(set, id);

	return job && (job->array ? taskset_has(&job->tasks, task) : task == TASK_NONE);
}

void jobset_join(struct jobset *set, const struct jobset *more)
{
	for (size_t i = 0; i < more->n; i++) {
		struct jobset_job *job = find_or_add(set, more->v[i].id);

		job->array = more->v[i].array;
		taskset_add(&job->tasks, &more->v[i].tasks);
	}
}

void jobset_copy(struct jobset *to, const struct jobset *from)
{
	*to = (struct jobset){ xmemdup(from->v, from->n * sizeof(*from->v)), from->n, from->n };
	for (size_t i = 0; i < to->n; i++)
		taskset_copy(&to->v[i].tasks, &from->v[i].tasks);
}

void jobset_clear(struct jobset *set)
{
	for (size_t i = 0; i < set->n; i++)
		taskset_clear(&set->v[i].tasks);
	free(set->v);
	*set = (struct jobset){ .v = NULL };
}

/* --- answers -------------------------------------------------------------------------------- */

bool jobset_first(const struct jobset *set, uint64_t id, const char *tasks, uint32_t *task)
{
	const struct jobset_job *job = find(set, id);
	struct taskset told;

	*task = TASK_NONE;
	if (!job || !job->array)
		return job != NULL;
	if (!*tasks || taskset_parse_kept(tasks, &told, NULL) < 0)
		return false;
	for (uint32_t t = taskset_first(&told); t != TASK_NONE && *task == TASK_NONE;
	        t = taskset_next(&told, t + 1))
		if (taskset_has(&job->tasks, t))
			*task = t;
	taskset_clear(&told);
	return *task != TASK_NONE;
}

void jobset_take(struct jobset *set, uint64_t id, const char *tasks)
{
	struct jobset_job *job = find(set, id);
	struct taskset told;

	if (!job)
		return;
	if (!job->array) {
		drop(set, job);
	} else if (*tasks && taskset_parse_kept(tasks, &told, NULL) == 0) {
		take_tasks(set, job, &told);
		taskset_clear(&told);
	}
}

/* --- requests ------------------------------------------------------------------------------- */

/* The first `most` tasks of a set, as text. */
static char *first_tasks(const struct taskset *set, uint32_t most)
{
	struct taskset range, part;
	uint32_t at = taskset_first(set), last = at;
	char *text, bounds[32];

	if (set->count <= most)
		return taskset_text(set);
	for (uint32_t i = 0; i < most; i++, at = taskset_next(set, at + 1))
		last = at;
	snprintf(bounds, sizeof(bounds), "%" PRIu32 "-%" PRIu32, taskset_first(set), last);
	if (taskset_parse(bounds, &range, NULL) < 0 ||
	        taskset_part(set, &range, SIZE_MAX, &part) < 0)
		abort(); /* there is no bound that they could be beyond */
	text = taskset_text(&part);
	taskset_clear(&range);
	taskset_clear(&part);
	return text;
}

static Gpusched__JobTasks *tasks_message(uint64_t id, char *text)
{
	Gpusched__JobTasks *m = xcalloc(1, sizeof(*m));

	gpusched__job_tasks__init(m);
	m->job = id;
	m->tasks = text;
	return m;
}

void jobset_message(const struct jobset *set, uint32_t most, struct jobset_message *out)
{
	*out = (struct jobset_message){ .ids = xcalloc(set->n + 1, sizeof(*out->ids)),
		.tasks = xcalloc(set->n + 1, sizeof(*out->tasks)),
		.all = true };
	for (size_t i = 0; i < set->n; i++) {
		const struct jobset_job *job = &set->v[i];
		uint32_t n = job->tasks.count < most ? job->tasks.count : most;

		if (!job->array ||
		        (most == UINT32_MAX && taskset_ranges(&job->tasks) > RANGES_MAX)) {
			out->ids[out->n_ids++] = job->id;
			continue;
		}
		if (n < job->tasks.count)
			out->all = false;
		if (n)
			out->tasks[out->n_tasks++] =
			        tasks_message(job->id, first_tasks(&job->tasks, n));
		most -= most == UINT32_MAX ? 0 : n;
	}
}

void jobset_message_clear(struct jobset_message *m)
{
	for (size_t i = 0; i < m->n_tasks; i++) {
		free(m->tasks[i]->tasks);
		free(m->tasks[i]);
	}
	free(m->tasks);
	free(m->ids);
}
