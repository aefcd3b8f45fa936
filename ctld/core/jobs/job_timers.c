/* job_timers.c - see job_timers.h
 *
 * What is due is a time that people gave, so it is kept by the wall clock. That may be set, so the
 * clock is read every minute.
 */
#include "ctld/core/jobs/job_timers.h"

#include "ctld/core/attempts/attempt.h"
#include "ctld/core/depends/depends_open.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/util/heap.h"

#define WALL_LOOKED_AT (60 * USEC_PER_S)

void job_timer_moved(void *item, uint32_t index)
{
	job_link(item)->timer = index;
}

usec_t job_last_chance(const struct job *job)
{
	const struct job_info *i = job_info(job);

	return i->state == JOB_PENDING ? i->deadline - (usec_t)i->time_limit_s * USEC_PER_S
	                               : i->deadline;
}

usec_t job_time_left(const struct core *core, const struct job *job)
{
	usec_t left = (usec_t)job_info(job)->time_limit_s * USEC_PER_S, most = 0;

	for (const struct run *run = job_run(job); run; run = run_next_rank(run)) {
		usec_t worked = (usec_t)run_worked_us(run, core->now);

		most = run_lives(run) && worked > most ? worked : most;
	}
	return left - most;
}

/* Wall; INT64_MAX: nothing is due. The earliest of: the end of a dependency's delay, the begin
 * time, the deadline, and the end of a time limit that was changed. A job that is being ended, or
 * has ended, has none. */
static usec_t job_due(const struct core *core, const struct job *job)
{
	const struct job_info *i = job_info(job);
	bool waits = i->state == JOB_PENDING;
	usec_t due = waits ? depends_due(job) : INT64_MAX;

	if (i->state == JOB_COMPLETING || job_state_ended((enum job_state)i->state) ||
	        !job_weight(job))
		return INT64_MAX;
	if (i->limit_set && i->time_limit_s &&
	        (i->state == JOB_RUNNING || i->state == JOB_CONFIGURING))
		due = core->now.wall + job_time_left(core, job);
	if (i->deadline && job_last_chance(job) < due)
		due = job_last_chance(job);
	if (waits && i->begin_time > core->now.wall && i->begin_time < due)
		due = i->begin_time;
	return due < 0 ? 0 : due;
}

void job_timer_set(struct core *core, struct job *job)
{
	struct job_link *l = job_link(job);
	usec_t due = job_due(core, job);

	if (l->timer != HEAP_NOWHERE)
		heap_remove(core->job_timers, l->timer);
	if (due != INT64_MAX)
		heap_put(core->job_timers, (struct heap_key){ (uint64_t)due, job_ref(job) }, job);
}

struct job *job_timers_first(const struct core *core)
{
	struct job *job = heap_first(core->job_timers);

	return job && heap_first_key(core->job_timers).a <= (uint64_t)core->now.wall ? job : NULL;
}

usec_t job_timers_next(const struct core *core)
{
	usec_t in;

	if (!heap_first(core->job_timers))
		return INT64_MAX;
	in = (usec_t)heap_first_key(core->job_timers).a - core->now.wall;
	return core->now.mono + (in < 0 ? 0 : in < WALL_LOOKED_AT ? in : WALL_LOOKED_AT);
}
