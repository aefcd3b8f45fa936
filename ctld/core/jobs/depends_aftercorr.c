/* depends_aftercorr.c - see depends_aftercorr.h
 *
 * Task N of an array waits for task N of another array. Such a term is marked with a '*' in the
 * text that rows keep, and has one edge, on the parent of the other array. While the term is open
 * for a task, the task stays under its own array parent. Each time a part of the other array
 * ends, the same tasks leave that parent, and join a record of tasks in the same situation:
 *
 *	a record's text without a '*'	only the array's own terms are open
 *	a record's text with a '*'	these terms are open, or can never come true ('!')
 *
 * So the state of each task is in the rows of its array, and costs as much as there are ranges:
 * tasks that become free one after another are gathered in one record. Applying the same end twice
 * changes nothing. This makes a restart correct, which applies again the ends of all parts that
 * are still in memory. Parts stay in memory until their end has been applied.
 *
 * As in Slurm, a task without a counterpart in the other array is decided by the other array as a
 * whole, when that is over. So is a task whose counterpart had left memory before the task was
 * submitted, unless all tasks that had left memory ended well.
 */
#include "ctld/core/jobs/depends_aftercorr.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/depends/depends_open.h"
#include "ctld/core/jobs/array_split.h"
#include "ctld/core/jobs/depends_never.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/records/array.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"

#define GATHER_RANGES 1000 /* of a record that tasks are gathered in; this bounds its row */
#define GATHER_TIME   (600 * USEC_PER_S) /* tasks that become free within this time count as
					  * equally old */

/* --- putting tasks where they belong --------------------------------------------------------- */

static bool may_gather(
        const struct core *core, const struct job *from, const struct job *to, const char *depends)
{
	const struct job_info *f = job_info(from), *t = job_info(to);
	usec_t now = core->now.wall;

	if (to == from || t->state != JOB_PENDING || strcmp(t->depends, depends) != 0 ||
	        !job_tasks(to) || taskset_ranges(job_tasks(to)) >= GATHER_RANGES ||
	        !job_alike(from, to))
		return false;
	if (*depends || f->begin_time > now)
		return f->begin_time == t->begin_time;
	return t->begin_time <= now && now - t->begin_time < GATHER_TIME;
}

/* Do the tasks of both together form few enough ranges, and can this be computed in few steps? */
static bool fit_together(const struct job *to, const struct taskset *some)
{
	const struct taskset both[] = { *job_tasks(to), *some };
	size_t steps = 4 * GATHER_RANGES;
	struct taskset all;

	if (taskset_join(both, 2, 2 * GATHER_RANGES, &all, &steps, NULL) < 0)
		return false;
	taskset_clear(&all);
	return true;
}

static struct job *find_gathering(const struct core *core, const struct job *from,
        const char *depends, const struct taskset *some)
{
	const struct depends *p = depends_of(from);

	for (size_t g = 0; g < GATHER; g++) {
		struct job *to =
		        p->gather[g] ? jobs_find(core->jobs, job_ref_of(job_id(from), p->gather[g]))
		                     : NULL;

		if (to && may_gather(core, from, to, depends) && fit_together(to, some))
			return to;
	}
	return NULL;
}

/* Moves some tasks of a record, or the whole record (tasks NULL), to where tasks with this text
 * belong. Returns the record that they are under afterwards. */
static struct job *place(
        struct core *core, struct job *from, const struct taskset *tasks, const char *depends)
{
	struct job *own = job_own(from), *to;
	struct depends *p = depends_of(from);
	struct taskset left, some;

	if (!job_tasks(from) || (from != own && !tasks))
		return from;
	taskset_copy(&left, job_tasks(from));
	if (!tasks) {
		some = left;
		left = (struct taskset){ 0 };
	} else {
		taskset_take(&left, tasks, &some);
	}
	if (from != own && !left.count) {
		to = from;
		taskset_clear(&some);
	} else if ((to = find_gathering(core, from, depends, &some))) {
		job_withdraw(core, to);
		jobs_move_tasks(core->jobs, from, to, &some);
	} else {
		to = jobs_split_tasks(core->jobs, from, &some);
		p->gather[p->gathered++ % GATHER] = job_info(to)->part;
	}
	taskset_clear(&left);
	if (to != from)
		array_shrunk(core, from);
	return to;
}

/* The text of these tasks once the terms on `on` are decided. It has only the terms that are
 * decided task by task; the array has the others. NULL: no such term is open. */
static char *text_after(const struct job *job, uint64_t on, enum outcome outcome)
{
	const struct depends *p = depends_of(job);
	struct depend d;
	bool found = false, met = false;
	char *text = NULL;

	if (!depends_by_task(job) || depend_parse(job_info(job)->depends, true, &d, NULL) < 0)
		return NULL;
	for (size_t n = 0; n < d.n; n++) {
		struct depend_term *t = &d.v[n];

		if (!t->each) {
			t->met = true; /* left out */
		} else if (t->job == on && depend_term_open(t)) {
			t->met = outcome == DEPEND_MET;
			t->never = !t->met;
			found = true;
			met |= t->met;
		}
	}
	if (found)
		text = met && p->any ? xstrdup("") : depend_format(&d, true);
	depend_clear(&d);
	return text;
}

static void settle_tasks(struct core *core, struct job *from, const struct taskset *tasks,
        uint64_t on, enum outcome outcome)
{
	char *text = text_after(from, on, outcome);
	struct job *to;

	if (!text)
		return;
	to = place(core, from, tasks, text);
	job_withdraw(core, to);
	job_set_depends(core->jobs, to, text);
	free(text);
	/* Their age counts from now, when they become able to run; approximately, for a record
	 * that gathers tasks. */
	if (!*job_info(to)->depends && job_info(to)->begin_time < core->now.wall &&
	        core->now.wall - job_info(to)->begin_time >= GATHER_TIME)
		job_set_begin(core->jobs, to, core->now.wall);
	if (depends_never(to) && depends_kills(core, to))
		depends_end_never(core, to, true);
	else
		job_consider(core, to);
}

/* --- what was told --------------------------------------------------------------------------- */

/* The waiting records of `own` that have any of these tasks (NULL: any task at all), ended by
 * NULL. */
static struct job **records_of(
        const struct core *core, struct job *own, const struct taskset *tasks)
{
	size_t n = 0, size = 16;
	struct job **v = xcalloc(size, sizeof(*v)), *w;

	if (tasks && tasks->count == 1) {
		uint32_t task = taskset_first(tasks);

		w = jobs_find(core->jobs, job_ref_of(job_id(own), (uint64_t)task + 1));
		v[0] = w ? w : jobs_stands_in(core->jobs, job_id(own), task);
		if (v[0] && job_info(v[0])->state != JOB_PENDING)
			v[0] = NULL;
		return v;
	}
	for (w = job_array(own)->waiting; w; w = job_link(w)->next) {
		if (tasks && !(job_tasks(w) ? taskset_meets(job_tasks(w), tasks)
		                            : taskset_has(tasks, job_task(w))))
			continue;
		if (n + 1 == size)
			v = xrealloc(v, size *= 2, sizeof(*v));
		v[n++] = w;
		v[n] = NULL;
	}
	return v;
}

/* The caller must not use `own` afterwards: it may be over. */
static void tell(struct core *core, struct job *own, const struct taskset *tasks, uint64_t on,
        enum outcome outcome)
{
	struct job **v = records_of(core, own, tasks);

	for (size_t n = 0; v[n] && job_link(own)->depends; n++)
		settle_tasks(core, v[n], tasks, on, outcome);
	free(v);
}

static struct edge *not_heard(const struct dependents *a, uint64_t round)
{
	struct edge *e = a->corrs;

	while (e && e->heard == round)
		e = e->next;
	return e;
}

void aftercorr_part_ended(struct core *core, struct job *part)
{
	const struct dependents *a = job_link(job_own(part))->dependents;
	enum outcome outcome = job_info(part)->state == JOB_COMPLETED ? DEPEND_MET : DEPEND_NEVER;
	uint64_t round = ++core->told_round;
	struct taskset tasks;
	struct edge *e;

	if (job_tasks(part))
		taskset_copy(&tasks, job_tasks(part));
	else
		taskset_single(&tasks, job_task(part));
	/* The waiting array may be over after tell(), and its edges gone. */
	while ((e = not_heard(a, round))) {
		e->heard = round;
		tell(core, e->who, &tasks, job_id(part), outcome);
	}
	taskset_clear(&tasks);
}

static void judge_gone(struct core *core, struct edge *e, struct job *on)
{
	struct taskset gone;

	if (array_gone(on) != ARRAY_GONE_WELL)
		return;
	array_gone_tasks(on, &job_array(on)->all, &gone);
	tell(core, e->who, &gone, job_id(on), DEPEND_MET);
	taskset_clear(&gone);
}

bool aftercorr_gone(struct core *core, struct job *on)
{
	struct edge *e = job_link(on)->dependents->corrs;

	while (e && !e->gone)
		e = e->next;
	if (!e)
		return false;
	e->gone = false;
	judge_gone(core, e, on);
	return true;
}

void aftercorr_rest(struct core *core, struct job *own, uint64_t on, enum outcome outcome)
{
	struct job **v = records_of(core, own, NULL);

	/* The tasks under the array parent are decided by the array parent's text. */
	for (size_t n = 0; v[n] && job_link(own)->depends; n++)
		if (v[n] != own)
			settle_tasks(core, v[n], NULL, on, outcome);
	free(v);
}

void aftercorr_reweigh(struct core *core, struct job *own)
{
	struct job **v = records_of(core, own, NULL);

	for (size_t n = 0; v[n] && job_link(own)->depends; n++)
		if (v[n] != own && depends_never(v[n]) && depends_kills(core, own))
			depends_end_never(core, v[n], true);
	free(v);
}
