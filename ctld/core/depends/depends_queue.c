/* depends_queue.c - see depends_queue.h
 *
 * The queue is a list through the jobs (core->settle_first ... settle_last). A job stands in it
 * once, until all that it decides is settled. A start of the controller puts all ended jobs with
 * dependents into it.
 */
#include "ctld/core/depends/depends_queue.h"

#include <stddef.h>

#include "ctld/core/depends/depends_terms.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"

static void push_last(struct core *core, struct job *job)
{
	struct dependents *a = dependents_of(job);

	a->next = NULL;
	if (core->settle_last)
		job_link(core->settle_last)->dependents->next = job;
	else
		core->settle_first = job;
	core->settle_last = job;
}

static struct job *pop_first(struct core *core)
{
	struct job *job = core->settle_first;

	core->settle_first = job_link(core->settle_first)->dependents->next;
	if (!core->settle_first)
		core->settle_last = NULL;
	return job;
}

void depends_queue(struct core *core, struct job *job)
{
	struct dependents *a = dependents_of(job);

	if (a->queued)
		return;
	a->queued = true;
	if (job_info(job)->part)
		dependents_of(job_own(job))->parts_queued++;
	push_last(core, job);
}

void depends_queue_pop(struct core *core)
{
	struct job *job = pop_first(core);

	job_link(job)->dependents->queued = false;
	if (job_info(job)->part)
		job_link(job_own(job))->dependents->parts_queued--;
}

void depends_queue_defer(struct core *core)
{
	push_last(core, pop_first(core));
}

/* A part has started or ended: queue it if a term on some of the array's tasks waits for that. */
static void tell_ranges(struct core *core, struct job *part)
{
	const struct dependents *a = job_link_of(job_own(part))->dependents;

	if (a && a->ranges && depends_has_news(part))
		depends_queue(core, part);
}

/* Queues what has something to decide now: a part if jobs wait for it alone or if edges on its
 * array are told of each part; the array if all of its tasks have begun. */
void depends_tell(struct core *core, struct job *job)
{
	struct job *own = job_own(job);
	const struct dependents *a = job_link(own)->dependents, *part = job_link(job)->dependents;

	if (job != own && part && (part->starts.n || part->ends.n))
		depends_queue(core, job);
	if (!a)
		return;
	if (job != own && a->starts.n && depends_began(own))
		depends_queue(core, own);
	if (job == own ? a->starts.n || a->ends.n || a->corrs || a->ranges
	               : a->corrs && job_state_ended(job_info(job)->state))
		depends_queue(core, job);
	else if (job != own)
		tell_ranges(core, job);
}
