/* revive.c - requeue of what has ended: may it be?
 *
 * Only of a job that is still here: one in the history is submitted again. It keeps its id, its
 * signature and what it was held by, and goes on with its next attempt; what it asks for is judged
 * as if it were changed (intake.h). Who waited for its end has been told, and is not told
 * otherwise.
 */
#include <stdlib.h>

#include "ctld/core/array.h"
#include "ctld/core/depends.h"
#include "ctld/core/idmap.h"
#include "ctld/core/intake.h"

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

int revive_check(struct core *core, const struct job *job, struct error *err)
{
	const struct job *own = job_own(job);
	unsigned long long id = job_id(own);

	if (job_signature_old(core, own)) {
		error_set(err, ERR_SIGNATURE, "its owner signed it too long ago");
		return error_hint(err, "gctl resign %llu", id);
	}
	return check_deadline(core, job_info(job), err) < 0 ||
	                       depends_revivable(core, own, err) < 0 ||
	                       check_intake(core, job, err) < 0
	               ? -1
	               : 0;
}

int revive_check_here(const struct job *own, const struct taskset *set, struct job *const *v,
        size_t n, struct error *err)
{
	uint32_t all = set ? set->count : job_array(own)->ended, here = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (set || job_state_ended((enum job_state)job_info(v[i])->state))
			here += array_tasks_under(v[i], set);
	}
	if (here >= all)
		return 0;
	error_set(err, ERR_JOB_STATE,
	        "job %llu: %u of %s tasks ended so long ago that they are in "
	        "the history",
	        (unsigned long long)job_id(own), all - here, set ? "these" : "its");
	return error_hint(
	        err, "name the others: gctl requeue %llu_[...]", (unsigned long long)job_id(own));
}
