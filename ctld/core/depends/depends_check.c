/* depends_check.c - see depends_check.h
 *
 * No job is changed here. There are two checks. Does each term name something that a job can wait
 * for: a job in memory, or one whose end is still known (rows/ended_outcomes.h), with the tasks that it
 * has? And would the job wait for itself? A submit can make no circle, because no other job can
 * name a job that has no id yet; so circles are searched for only when a job is updated or is to
 * run again. That search follows open terms from job to job, each job once, and stops after
 * CIRCLE_STEPS terms: then the change is refused, since a circle that was not found would wait for
 * ever.
 */
#include "ctld/core/depends/depends_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/accounts/roles.h"
#include "ctld/core/depends/depends_terms.h"
#include "ctld/core/records/array.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/ended_outcomes.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/util/idmap.h"

/* Terms visited in a search for a circle, some milliseconds; a text that needs more is refused. */
#define CIRCLE_STEPS 50000

#define RANGES_MAX 1000 /* that hang on one array: each end of a task visits them all */
#define ARRAYS_MAX 64   /* that wait for the tasks of one: each end of a task visits them all */

/* --- circles --------------------------------------------------------------------------------- */

/* Jobs still to be visited in a search for a circle. */
struct search {
	const struct core *core;
	const struct job *for_job;
	struct idmap *seen; /* by id: each job is visited once */
	const struct job **v;
	size_t n, size, steps;
};

/* True: this is for_job. */
static bool push(struct search *s, const struct job *job)
{
	s->steps++;
	if (job == s->for_job)
		return true;
	if (idmap_find(s->seen, job_id(job)))
		return false;
	idmap_insert(s->seen, job_id(job), (void *)job);
	*XADD(s->v, s->n, s->size) = job;
	return false;
}

static bool push_id(struct search *s, uint64_t id)
{
	const struct job *job = jobs_find(s->core->jobs, id);

	return job && push(s, job);
}

/* The earlier jobs of its name. */
static bool push_namesakes(struct search *s, const struct job *job)
{
	while ((job = job_link_of(job)->name_before) && s->steps < CIRCLE_STEPS)
		if (push(s, job))
			return true;
	return false;
}

/* All jobs that this one waits for. True: for_job is among them. */
static bool push_all(struct search *s, const struct job *job)
{
	const struct depends *p = job_link_of(job)->depends;

	for (uint32_t n = 0; p && n < p->n && s->steps++ < CIRCLE_STEPS; n++) {
		if (!depends_term_open(p, n) || depends_term_runs(p, n))
			continue;
		if (p->on[n] ? push_id(s, job_ref_id(p->on[n])) : push_namesakes(s, job))
			return true;
	}
	return false;
}

/* A depth-first search from what the new text names, along open terms and earlier jobs of the same
 * name. Its stack is an array, because a chain may be long. */
static int check_circle(
        const struct core *core, const struct job *job, const struct depend *d, struct error *err)
{
	struct search s = { .core = core, .for_job = job, .seen = idmap_new() };
	bool circle = false, all;

	for (size_t n = 0; n < d->n && !circle; n++)
		circle = d->v[n].job ? push_id(&s, d->v[n].job) : push_namesakes(&s, job);
	while (s.n && !circle && s.steps < CIRCLE_STEPS)
		circle = push_all(&s, s.v[--s.n]);
	all = s.steps < CIRCLE_STEPS;
	free(s.v);
	idmap_free(s.seen);
	if (circle)
		return error_set(err, ERR_JOB_SPEC,
		        "job %llu would wait for itself, over others that wait for it",
		        (unsigned long long)job_id(job));
	return all ? 0
	           : error_set(err, ERR_JOB_SPEC,
	                     "more than %d dependencies would have to be checked for a circle",
	                     CIRCLE_STEPS);
}

/* --- does it name what can be waited for? ---------------------------------------------------- */

/* Has the array reached the limit of terms on its tasks? */
static bool range_many(const struct job *on)
{
	const struct dependents *a = job_link_of(on)->dependents;
	const struct edge *e = a ? a->ranges : NULL;
	unsigned n = 0;

	for (; e; e = e->next)
		n++;
	return n >= RANGES_MAX;
}

bool range_many_in(const char *kept, unsigned *n)
{
	for (; (kept = strstr(kept, "_[")); kept++)
		++*n;
	return *n > RANGES_MAX;
}

/* Is the term, of this job or of an array that is to be submitted, decided task by task? */
static bool corr_is(const struct core *core, const struct depend_term *t, bool array)
{
	const struct job *on = t->job ? jobs_find(core->jobs, t->job) : NULL;

	return array && t->type == DEPEND_AFTERCORR && on && job_link_of(on)->array;
}

/* Has the array reached the limit of arrays that wait for its tasks? */
static bool corr_many(const struct job *on)
{
	const struct dependents *a = job_link_of(on)->dependents;
	const struct edge *e = a ? a->corrs : NULL;
	unsigned n = 0;

	for (; e; e = e->next)
		n++;
	return n >= ARRAYS_MAX;
}

/* "12_7", "tasks 1-3 of job 12": the subject of a refusal. */
static const char *say_tasks(const struct depend_term *t, char *text, size_t size)
{
	char *tasks = t->tasks ? taskset_text(t->tasks) : NULL;

	if (tasks)
		snprintf(text, size, "%llu_[%.60s%s]", (unsigned long long)t->job, tasks,
		        strlen(tasks) > 60 ? "..." : "");
	else
		snprintf(text, size, "%llu_%u", (unsigned long long)t->job, t->task);
	free(tasks);
	return text;
}

/* The first of the term's tasks that the array does not have; TASK_NONE: it has them all. */
static uint32_t first_missing(const struct array *a, const struct depend_term *t)
{
	struct taskset left;
	uint32_t task;

	if (!t->tasks)
		return taskset_has(&a->all, t->task) ? TASK_NONE : t->task;
	taskset_lacks(&a->all, t->tasks, 1, &left);
	task = taskset_first(&left);
	taskset_clear(&left);
	return task;
}

/* Does the array have the term's tasks, and can they be told apart in it? */
static int check_has(const struct job *own, const struct depend_term *t, struct error *err)
{
	const struct array *a = job_array(own);
	unsigned long long id = t->job;
	struct taskset part;
	uint32_t task;

	if (!a)
		return error_set(err, ERR_NO_JOB, "job %llu is not an array: it has no task %u", id,
		        t->tasks ? taskset_first(t->tasks) : t->task);
	task = first_missing(a, t);
	if (task != TASK_NONE)
		return error_set(err, ERR_NO_JOB, "job %llu has no task %u: its array is %.200s",
		        id, task, job_info(own)->array);
	if (!t->tasks)
		return 0;
	if (taskset_part(&a->all, t->tasks, TASKSET_RANGES_MAX, &part) < 0)
		return error_set(err, ERR_JOB_SPEC,
		        "these tasks, or those between them, are more than %d ranges of job "
		        "%llu's array %.100s",
		        TASKSET_RANGES_MAX, id, job_info(own)->array);
	taskset_clear(&part);
	return 0;
}

/* Decides the tasks of a range that have left memory, if how they ended is known. */
static int check_gone(
        const struct job *own, const struct depend *d, struct depend_term *t, struct error *err)
{
	enum array_gone known = array_gone(own);
	struct taskset gone;
	int rc = 0;

	if (known == ARRAY_GONE_NONE)
		return 0;
	array_gone_tasks(own, t->tasks, &gone);
	if (known == ARRAY_GONE_UNKNOWN && gone.count && !depend_comes_true_anyhow(t->type))
		rc = error_set(err, ERR_NO_JOB,
		        "task %u of job %llu, and %u others, have ended so long ago that how is in "
		        "the history",
		        taskset_first(&gone), (unsigned long long)t->job, gone.count - 1);
	else
		range_take(d->any, t, &gone, depend_comes_true(t->type, true));
	taskset_clear(&gone);
	return rc;
}

/* The job in memory that a term names, if the caller may see it. */
static const struct job *find_seen(
        const struct core *core, const struct caller *caller, const struct depend_term *t)
{
	const struct job *own = jobs_find(core->jobs, t->job);

	return own && core_sees(core, job_standing(core, caller, own)) ? own : NULL;
}

/* For an array in memory: its tasks must be in memory, or their ends known. */
static int check_tasks(const struct core *core, const struct caller *caller, const struct depend *d,
        struct depend_term *t, struct error *err)
{
	const struct job *own = find_seen(core, caller, t), *in;
	char text[100];

	if (!own && outcomes_find(core->outcomes, t->job) == OUTCOME_WELL) {
		depend_decide_past(t, true);
		return 0;
	}
	if (!own)
		return error_set(err, ERR_NO_JOB,
		        "job %s is not known: it never existed, or how it ended is in the history",
		        say_tasks(t, text, sizeof(text)));
	if (check_has(own, t, err) < 0)
		return -1;
	if (t->tasks && range_many(own))
		return error_set(err, ERR_JOB_SPEC,
		        "too many jobs wait for ranges of tasks of job %llu; afterok waits for all "
		        "of it",
		        (unsigned long long)t->job);
	if (t->tasks)
		return check_gone(own, d, t, err);
	if (depend_term_job(core, t))
		return 0;
	in = jobs_stands_in(core->jobs, t->job, t->task);
	if (in)
		return job_info(in)->state == JOB_PENDING ? array_check_room(in, err) : 0;
	return error_set(err, ERR_NO_JOB, "job %s has ended so long ago that it is in the history",
	        say_tasks(t, text, sizeof(text)));
}

/* Each of the array's tasks waits for the same task of `on`, so the tasks must form few ranges
 * there. */
static int check_each(const struct taskset *tasks, const struct job *on, struct error *err)
{
	unsigned long long id = job_id(on);
	struct taskset same;

	if (corr_many(on))
		return error_set(err, ERR_JOB_SPEC,
		        "too many arrays wait for the tasks of job %llu; afterok waits for all of "
		        "it",
		        id);
	if (taskset_part(tasks, &job_array(on)->all, TASKSET_RANGES_MAX, &same) < 0)
		return error_set(err, ERR_JOB_SPEC,
		        "the tasks that job %llu has too, or those between them, are more than %d "
		        "ranges of this array: it needs the same step, or afterok, which waits for "
		        "all of the job",
		        id, TASKSET_RANGES_MAX);
	taskset_clear(&same);
	return 0;
}

static int check_term(const struct core *core, const struct caller *caller, const struct job *job,
        const struct taskset *tasks, const struct depend *d, struct depend_term *t, struct error *err)
{
	const struct job *named = find_seen(core, caller, t);
	unsigned long long id = t->job;
	char text[100];
	enum job_outcome outcome;

	if (!t->job)
		return 0;
	if (job && t->job == job_id(job))
		return error_set(err, ERR_JOB_SPEC, "job %llu cannot wait for itself", id);
	if ((t->task != DEPEND_NO_TASK || t->tasks) && t->type == DEPEND_AFTERCORR)
		return error_set(err, ERR_JOB_SPEC,
		        "%s: an array can wait for the same tasks (aftercorr:%llu), and any job "
		        "for these (afterok:%s)",
		        say_tasks(t, text, sizeof(text)), id, text);
	if (t->task != DEPEND_NO_TASK || t->tasks)
		return check_tasks(core, caller, d, t, err);
	t->each = named && corr_is(core, t, tasks);
	if (named)
		return t->each ? check_each(tasks, named, err) : 0;
	if (t->job >= meta_next_job(core->meta))
		return error_set(err, ERR_NO_JOB, "there is no job %llu", id);
	outcome = outcomes_find(core->outcomes, t->job);
	if (outcome == OUTCOME_UNKNOWN)
		return error_set(err, ERR_NO_JOB,
		        "job %llu is not known: it never existed, or ended too long ago", id);
	depend_decide_past(t, outcome == OUTCOME_WELL);
	return 0;
}

int depends_revivable(const struct core *core, const struct job *job, struct error *err)
{
	size_t n, never = 0;
	struct depend d;
	int rc;

	if (!*job_info(job)->depends || depend_parse(job_info(job)->depends, true, &d, err) < 0)
		return 0;
	for (n = 0; n < d.n; n++) {
		struct depend_term *t = &d.v[n];

		if (depend_term_open(t) && t->job && !jobs_find(core->jobs, t->job))
			depend_decide_past(t, outcomes_find(core->outcomes, t->job) == OUTCOME_WELL);
		never += t->never;
	}
	if (d.any ? never == d.n : never)
		rc = error_set(err, ERR_JOB_STATE, "its dependency can never be satisfied");
	else
		rc = check_circle(core, job, &d, err);
	depend_clear(&d);
	return rc;
}

/* The id of a task of an array means that task. */
static void find_task(const struct core *core, struct depend_term *t)
{
	const struct job *own;
	uint32_t task;

	if (!t->job || t->task != DEPEND_NO_TASK || t->tasks)
		return;
	own = jobs_of_raw_id(core->jobs, t->job, &task);
	if (!own)
		return;
	t->job = job_id(own);
	t->task = task;
}

int depends_check(const struct core *core, const struct caller *caller, const struct job *job,
        const struct taskset *tasks, const char *text, char **kept, struct error *err)
{
	struct depend d;
	int rc = 0;

	*kept = NULL;
	if (depend_parse(text, false, &d, err) < 0) {
		err->code = ERR_JOB_SPEC;
		return error_wrap(err, "--dependency");
	}
	for (size_t n = 0; n < d.n && rc == 0; n++) {
		find_task(core, &d.v[n]);
		rc = check_term(core, caller, job, tasks, &d, &d.v[n], err);
	}
	if (rc == 0 && job)
		rc = check_circle(core, job, &d, err);
	if (rc == 0)
		*kept = depend_kept_text(&d);
	depend_clear(&d);
	return rc < 0 ? error_wrap(err, "--dependency") : 0;
}
