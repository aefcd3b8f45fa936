/* requeue_ended.c - may an ended job be requeued?
 *
 * Only a job that is still in memory; a job in the history must be submitted again. The job keeps
 * its id, its signature and its hold, and continues with its next attempt. Its request is checked
 * as if it were changed (job_checks.h). Clients that waited for its end have their reply already,
 * and get no other.
 */
#include "ctld/core/intake/requeue_ended.h"

#include <string.h>

#include "ctld/core/depends/depends_check.h"
#include "ctld/core/intake/job_checks.h"
#include "ctld/core/intake/update.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/util/idmap.h"

static int check_deadline(const struct core *core, const struct job_info *i, struct error *err)
{
	usec_t last = i->deadline - (usec_t)i->time_limit_s * USEC_PER_S;

	if (i->deadline && last <= core->now.wall)
		return error_set(err, ERR_JOB_STATE, "it could not end by its deadline");
	return 0;
}

/* Would it be taken in, as an update to what it is? */
static int check_intake(struct core *core, const struct job *job, struct error *err)
{
	const struct job_info *i = job_info(job);
	struct caller owner = { .uid = i->uid, .role = ROLE_USER, .user = i->user };
	struct submit_job in = job_as_asked(core, job);
	struct intake t = { .in = &in, .updated = i, .weight = job_weight(job) };
	int rc = intake_fill(core, &owner, &t, err);

	intake_clear(core, &t);
	return rc;
}

/* The replicas of a service that has ended are no batch jobs. */
static int check_service(const struct job *own, struct error *err)
{
	const struct labels *l = job_info(own)->labels;

	for (uint32_t i = 0; !job_service(own) && i < l->n; i++)
		if (!strcmp(l->v[i].key, LABEL_OF_SERVICE)) {
			error_set(err, ERR_JOB_STATE, "service %.64s has ended", l->v[i].value);
			return error_hint(err, "gsubmit --service=%.64s SCRIPT", l->v[i].value);
		}
	return 0;
}

/* Of an array the signature and dependencies are the parent's; deadline and request are those of
 * the record. */
int requeue_ended_check(struct core *core, const struct job *job, struct error *err)
{
	const struct job *own = job_own(job);
	unsigned long long id = job_id(own);

	if (job_signature_old(core, own)) {
		error_set(err, ERR_SIGNATURE, "its owner signed it too long ago");
		return error_hint(err, "gctl renew %llu", id);
	}
	return check_service(own, err) < 0 || check_deadline(core, job_info(job), err) < 0 ||
	                       depends_revivable(core, own, err) < 0 ||
	                       check_intake(core, job, err) < 0
	               ? -1
	               : 0;
}

/* Of these tasks those that have a record. */
static uint32_t count_here(const struct job *own, const struct taskset *set)
{
	const struct array *a = job_array(own);
	const struct job *p = idmap_next(a->parts, 0);
	uint32_t n = taskset_common(job_tasks(own), set);

	for (; p; p = idmap_next(a->parts, job_info(p)->part))
		n += job_tasks(p) ? taskset_common(job_tasks(p), set)
		                  : taskset_has(set, job_task(p));
	return n;
}

/* All or none: what cannot be requeued is not passed over silently. */
int requeue_ended_check_here(const struct job *own, const struct taskset *set, struct error *err)
{
	const struct array *a = job_array(own);
	uint32_t all = set ? set->count : a->ended;
	uint32_t here = set ? count_here(own, set) : a->ended_here;

	if (here >= all)
		return 0;
	error_set(err, ERR_JOB_STATE,
	        "job %llu: %u of %s tasks ended so long ago that they are in "
	        "the history",
	        (unsigned long long)job_id(own), all - here, set ? "these" : "its");
	return error_hint(
	        err, "name the others: gctl requeue %llu_[...]", (unsigned long long)job_id(own));
}
