/* job_why.c - core_job_why(): all that `gqueue --why` says of one waiting job
 *
 * A job that is in no class is held back by something of its own, and then nothing else is said:
 * what the cluster has free says nothing about it. Otherwise the class's head, or the job at its
 * place in the class, is explained as the scheduler would decide it now, with its planned start and
 * with the changes of its request that would start it at once.
 */
#include <stdio.h>
#include <string.h>

#include "common/job/reason.h"
#include "ctld/core/core.h"
#include "ctld/core/explain/blockers.h"
#include "ctld/core/explain/suggest.h"
#include "ctld/core/explain/wait_reason.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/rows/view.h"
#include "ctld/core/sched/class.h"
#include "ctld/core/sched/sched.h"

/* --- the job itself -------------------------------------------------------------------------- */

/* What keeps the job out of every queue: then nothing else is reported. */
static bool held_back(struct core *core, const struct job *job, struct job_why *why)
{
	struct why_blocker *b;
	const char *reason;
	char text[256];

	if (job_link_of(job)->queued.class)
		return false;
	reason = job_why(core, job, core->now, text, sizeof(text));
	b = explain_add(why, *reason ? reason : reason_word(REASON_NONE));
	snprintf(b->text, sizeof(b->text), "%s", text);
	if (job_info(job)->hold == HOLD_ADMIN)
		snprintf(b->clears_text, sizeof(b->clears_text),
		        "an operator or administrator must release it");
	else if (job_info(job)->hold == HOLD_COORDINATOR)
		snprintf(b->clears_text, sizeof(b->clears_text),
		        "a coordinator of account %.64s must release it", job_info(job)->account);
	else if (job_info(job)->hold == HOLD_SIGNATURE)
		snprintf(b->clears_text, sizeof(b->clears_text), "gctl renew %llu",
		        (unsigned long long)job_id(job));
	else if (job_info(job)->hold)
		snprintf(b->clears_text, sizeof(b->clears_text), "gctl release %llu",
		        (unsigned long long)job_id(job));
	if (!strcmp(reason, reason_word(REASON_BEGIN_TIME)))
		b->clears = job_info(job)->begin_time;
	return true;
}

/* --- its planned start ----------------------------------------------------------------------- */

static void say_cause(const struct core *core, const struct class *class, const char *cause,
        uint64_t by, char *text, size_t size)
{
	if (by && explain_hidden(core, class_info(class)->uid, jobs_find(core->jobs, by)))
		snprintf(text, size, "%s: another's job", cause);
	else if (by)
		snprintf(text, size, "%s: job %llu", cause, (unsigned long long)by);
	else
		snprintf(text, size, "%s", cause);
}

/* Why the class has no planned start. */
static void say_no_plan(const struct core *core, const struct class *class, struct job_why *why)
{
	const struct class_link *l = class_link_of(class);
	const struct conf_partition *p = &core->conf->partitions[l->partition];

	/* One type may wait for a limit and another one for room. */
	if (!decide_wants_capacity(&l->last) && l->last.verdict != VERDICT_PLANNED) {
		if (l->last.verdict == VERDICT_LIMIT)
			snprintf(why->planned_why, sizeof(why->planned_why), "a limit holds it");
		return;
	}
	if (l->broken)
		say_cause(core, class, l->broken, l->broken_by, why->planned_why,
		        sizeof(why->planned_why));
	else if (plan_count_of(sched_view(core->sched)->plan, l->partition) >= p->plan_depth)
		snprintf(why->planned_why, sizeof(why->planned_why),
		        "only the first %u that wait for room in %.60s have one", p->plan_depth,
		        p->name);
	else if (l->last.verdict == VERDICT_LIMIT)
		snprintf(why->planned_why, sizeof(why->planned_why), "a limit holds it");
}

/* Only the head of a class has a planned start. */
static void say_plan(const struct core *core, const struct job *job, const struct class *class,
        struct job_why *why)
{
	const struct class_link *l = class_link_of(class);

	why->first_planned = job_info(job)->planned_start;
	if (class_head(class) != job || l->partition == CONF_NONE)
		return;
	if (!l->reservation)
		return say_no_plan(core, class, why);
	why->planned_start = explain_wall(core, l->reservation->start);
	hostlist_of(core, &l->reservation->places, why->planned_nodes, sizeof(why->planned_nodes));
	if (l->cause)
		say_cause(core, class, l->cause, l->cause_job, why->planned_why,
		        sizeof(why->planned_why));
}

/* Is the class the next one to be tried, and would it start? */
static bool starts_next(const struct core *core, const struct class *class)
{
	struct places places = { 0 };
	struct decision d;
	bool starts = !sched_busy_before(core->sched, class_link_of(class)->key) &&
	              sched_decide(core->sched, class, &places, &d) == VERDICT_START;

	places_free(&places);
	return starts;
}

/* What keeps the job from starting in one of its partitions, and its position there. `before`: tasks
 * of the class before it. */
static void explain_class(struct core *core, const struct job *job, struct class *class,
        uint32_t before, struct job_why *why)
{
	struct candidate who = sched_candidate(core->sched, class);
	size_t n = why->n_blockers;

	sched_position(core->sched, class, &why->position, &why->of);
	why->position += before;
	if (n == WHY_BLOCKERS)
		return;
	/* During a pass the job may be about to start, and what is free may be for other jobs. */
	if (!why->cut_short || !starts_next(core, class))
		explain_candidate(core, &who, class, before, job_info(job)->uid, why);
	for (; *job_info(job)->partitions && n < why->n_blockers; n++)
		why->blockers[n].partition = class_info(class)->partition;
}

/* False: it does not wait. For a task under a common record, the tasks before it count as jobs
 * ahead. */
bool core_job_why(struct core *core, uint64_t ref, struct clocks now, struct job_why *why)
{
	uint32_t before; /* tasks of its record that come before it */
	struct job *job = (struct job *)(uintptr_t)jobs_find_waiting(core->jobs, ref, &before);
	struct class *class;
	const struct queued *q;
	uint32_t k, position = 0, of = 0;

	if (!job || job_info(job)->state != JOB_PENDING || !job_weight(job))
		return false;
	memset(why, 0, sizeof(*why));
	core->now = now;
	sched_now(core->sched, now);
	if (held_back(core, job, why))
		return true;
	why->cut_short = !sched_idle(core->sched);
	class = sched_class_of(job);
	for (k = 0; (q = job_queued(job, k)); k++) {
		/* This walks the class's queue: the dearest part of the answer. */
		explain_class(core, job, q->class, before + sched_before(q->class, job), why);
		if (q->class == class) {
			position = why->position;
			of = why->of;
		}
	}
	why->position = position;
	why->of = of;
	say_plan(core, job, class, why);
	if (!why->cut_short)
		suggest(core, job, why);
	return true;
}
