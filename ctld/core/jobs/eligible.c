/* eligible.c - see eligible.h
 *
 * A job is eligible when it is PENDING and nothing of its own keeps it: no hold, a signature that
 * can still be used, tasks that wait, an array below its throttle, no orphan run, no open
 * dependency, a begin time that has come. Only then it is in a class of the scheduler. Each change
 * of one of these is followed by job_consider(), which compares and moves; so no caller needs to
 * know the others.
 */
#include "ctld/core/jobs/eligible.h"

#include "ctld/core/attempts/attempt.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/depends/depends_open.h"
#include "ctld/core/jobs/job_timers.h"
#include "ctld/core/records/array.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/service.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"

/* 0: it never gets too old. Of a service its owner says how long it holds. */
static usec_t signature_age(const struct core *core, const struct job *job)
{
	const struct service *s = job_service(job);

	for (int g = 0; s && g < GEN_COUNT; g++) {
		const struct generation *gen = &service_info(s)->gens[g];

		if (gen->job == job_id(job))
			return (usec_t)gen->valid_days * 86400 * USEC_PER_S;
	}
	return (usec_t)core->conf->controller.signature_age_s * USEC_PER_S;
}

bool job_signature_old(const struct core *core, const struct job *job)
{
	usec_t age = signature_age(core, job), margin = 3600 * USEC_PER_S;

	if (!age)
		return false;
	if (margin > age / 2)
		margin = age / 2;
	return core->now.wall - job_info(job)->sign_time >= age - margin;
}

void job_expires(struct core *core, struct job *job)
{
	job_link(job)->expired = true;
	if (!core->expired_wall || core->now.wall < core->expired_wall)
		core->expired_wall = core->now.wall;
	job_consider(core, job);
}

void job_signed(struct core *core, struct job *job, usec_t sign_time)
{
	bool refused = job_info(job)->hold == HOLD_SIGNATURE;

	job_set_signed(core->jobs, job, sign_time);
	if (refused)
		job_set_hold(core->jobs, job, HOLD_NONE);
	if (job_link(job)->expired && !job_signature_old(core, job))
		job_link(job)->expired = false;
	else if (!refused)
		return;
	job_consider(core, job);
}

void jobs_unexpire(struct core *core)
{
	struct job *job;

	core->expired_wall = 0;
	for (job = jobs_next(core->jobs, 0); job; job = jobs_next(core->jobs, job_ref(job))) {
		if (!job_link(job)->expired || job_info(job)->state != JOB_PENDING)
			continue;
		job_link(job)->expired = false;
		if (job_signature_old(core, job))
			job_expires(core, job);
		job_consider(core, job);
	}
}

void job_withdraw(struct core *core, struct job *job)
{
	if (job_link(job)->queued.class)
		sched_remove(core->sched, job);
}

void job_choose(struct core *core, struct job *job, uint32_t k)
{
	job_count(core, job_info(job), -(int)job_weight(job));
	job_set_choice(core->jobs, job, k);
	job_count(core, job_info(job), (int)job_weight(job));
}

/* How long room and limits alone kept it is asked of its first start: a hold before that begins
 * the time anew, and what comes after its first attempt does not change it. */
static void note_eligible(struct core *core, struct job *job, bool eligible)
{
	const struct job_info *i = job_info(job);

	if (i->state != JOB_PENDING || i->attempt)
		return;
	if (!eligible)
		job_set_eligible(core->jobs, job, 0);
	else if (!i->eligible_time)
		job_set_eligible(core->jobs, job, core->now.wall);
}

static void consider(struct core *core, struct job *job)
{
	const struct job_info *i = job_info(job);
	bool eligible = i->state == JOB_PENDING && i->hold == HOLD_NONE &&
	                !job_link(job)->expired && job_weight(job) && !array_full(job) &&
	                !job_orphan(job) && !depends_open(job) && i->begin_time <= core->now.wall;

	note_eligible(core, job, eligible);
	if (!eligible)
		job_withdraw(core, job);
	else if (!job_link(job)->queued.class)
		sched_add(core->sched, job);
	job_timer_set(core, job);
}

void job_consider(struct core *core, struct job *job)
{
	struct array *a = job_link(job)->array;

	consider(core, job);
	/* What an array parent waits for blocks all records of the array. */
	for (struct job *w = a ? a->waiting : NULL; w; w = job_link(w)->next) {
		if (w != job)
			consider(core, w);
	}
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
