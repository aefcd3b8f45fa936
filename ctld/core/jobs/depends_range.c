/* depends_range.c - see depends_range.h
 *
 * Such a term means the same as one term for each of its tasks, and costs one edge, on the array
 * parent. In the row of the waiting job it names the tasks that are still open: each part
 * that starts or ends is queued, and settling it removes its tasks from the term. So settling a
 * part twice changes nothing, and a restart settles all ended parts that are still in memory. Parts
 * stay in memory until they were settled.
 *
 * Of tasks that left memory before a job waited for them only the fact that they have ended is
 * known; how they ended is known only if all of those ended well.
 */
#include "ctld/core/jobs/depends_range.h"

#include <stddef.h>

#include "ctld/core/depends/depends_terms.h"
#include "ctld/core/jobs/depends_outcome.h"
#include "ctld/core/records/array.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/util/idmap.h"

static usec_t moved_at(const struct job *part)
{
	const struct job_info *i = job_info(part);

	return i->start_time ? i->start_time : i->end_time;
}

/* If one met term is enough, the delay counts from the earliest of the tasks, which may be settled
 * after others. */
static usec_t earliest(const struct job *on, const struct taskset *tasks, usec_t began)
{
	const struct job *p = idmap_next(job_array(on)->parts, 0);

	for (; p; p = idmap_next(job_array(on)->parts, job_info(p)->part)) {
		if (depends_has_news(p) && moved_at(p) < began && depends_has_any(tasks, p))
			began = moved_at(p);
	}
	return began;
}

/* Some of the tasks have started or ended: true if this changes the term; then this edge and
 * others may be gone. `began`: the time of the latest of these starts or ends, from which a delay
 * counts; 0: long ago. */
static bool say(struct core *core, struct edge *e, const struct taskset *tasks, bool comes_true,
        usec_t began)
{
	struct depends *p = job_link(e->who)->depends;
	struct depend_term *t = &e->t;

	if (p->any && t->delay)
		began = earliest(jobs_find(core->jobs, t->job), t->tasks, began);
	e->began = began > e->began ? began : e->began;
	if (!range_take(p->any, t, tasks, comes_true))
		return false;
	if (t->met && t->delay) {
		t->at = e->began / USEC_PER_S + (int64_t)t->delay * 60;
		t->met = t->at <= core->now.wall / USEC_PER_S;
	}
	if (!depend_term_open(t) || t->at)
		depends_unhang(e);
	depends_mark(p, e->term, t->met ? DEPEND_MET : t->never ? DEPEND_NEVER : DEPEND_OPEN);
	depends_weigh(core, e->who);
	return true;
}

/* Applies the part's state to the edge's tasks, if it decides anything. */
static bool say_part(
        struct core *core, struct edge *e, const struct taskset *tasks, const struct job *part)
{
	enum depend_type type = e->t.type;
	const struct job_info *i = job_info(part);
	bool ended = job_state_ended((enum job_state)i->state);

	if (!ended && type != DEPEND_AFTER)
		return false;
	return say(
	        core, e, tasks, depend_comes_true(type, i->state == JOB_COMPLETED), moved_at(part));
}

void range_part_moved(struct core *core, struct job *part)
{
	const struct dependents *a = job_link(job_own(part))->dependents;
	uint64_t round = ++core->told_round;
	struct edge *e = a->ranges;
	struct taskset tasks;

	/* If not, it was requeued since: its next start will be queued again. */
	if (!depends_has_news(part))
		return;
	if (job_tasks(part))
		taskset_copy(&tasks, job_tasks(part));
	else
		taskset_single(&tasks, job_task(part));
	/* say_part() may have removed this edge and others from the list: then begin again at its
	 * head, and pass over those that were told in this round. */
	while (e) {
		bool heard = e->heard == round;

		e->heard = round;
		e = !heard && say_part(core, e, &tasks, part) ? a->ranges : e->next;
	}
	taskset_clear(&tasks);
}

/* The tasks of the edge that have ended and left memory. */
static void say_gone(struct core *core, struct edge *e, const struct job *on)
{
	const struct depend_term *t = &e->t;
	enum array_gone known = array_gone(on);
	struct taskset gone;

	if (known == ARRAY_GONE_NONE)
		return;
	array_gone_tasks(on, t->tasks, &gone);
	say(core, e, &gone,
	        known == ARRAY_GONE_WELL ? depend_comes_true(t->type, true)
	                                 : depend_comes_true_anyhow(t->type),
	        0);
	taskset_clear(&gone);
}

bool range_gone(struct core *core, struct job *on)
{
	struct edge *e = job_link(on)->dependents->ranges;

	while (e && !e->gone)
		e = e->next;
	if (!e)
		return false;
	e->gone = false;
	say_gone(core, e, on);
	return true;
}

void range_over(struct core *core, struct edge *e)
{
	const struct depend_term *t = &e->t;
	struct taskset rest;

	/* Each of its tasks was settled or has left memory, so no task should be left here. */
	taskset_copy(&rest, t->tasks);
	say(core, e, &rest, depend_comes_true_anyhow(t->type), 0);
	taskset_clear(&rest);
}
