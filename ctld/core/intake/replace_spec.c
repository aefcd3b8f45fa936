/* replace_spec.c - see replace_spec.h
 *
 * Which fields may change in which state is two masks (WHILE_RUNS, WHEN_ENDED); a waiting job may
 * change all. The new spec is that of the whole array: its parent and all parts that have not ended
 * get it in one event, because the signed bytes are stored once. A running part keeps what its
 * program was started with and uses the new spec from its next attempt on.
 */
#include "ctld/core/intake/replace_spec.h"

#include <stdio.h>
#include <string.h>

#include "ctld/core/attempts/attempt.h"
#include "ctld/core/core.h"
#include "ctld/core/intake/job_checks.h"
#include "ctld/core/jobs/life.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/util/idmap.h"

#define BIT(field) (UINT32_C(1) << (field))
#define WHILE_RUNS (BIT(RESPEC_NAME) | BIT(RESPEC_ATTEMPTS))
#define WHEN_ENDED BIT(RESPEC_ATTEMPTS)

const char *respec_name(enum respec_field field)
{
	static const char *const names[] = {
#define X(sym, name) name,
		RESPEC_FIELDS(X)
#undef X
	};

	return field < RESPEC_FIELD_COUNT ? names[field] : "?";
}

static void name_fields(uint32_t fields, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (int f = 0; f < RESPEC_FIELD_COUNT && used < size; f++) {
		if (fields & BIT(f))
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
			        respec_name((enum respec_field)f));
	}
}

/* The next record of it behind `job`, which may be NULL, that has not ended; NULL: no more. */
static struct job *next_record(const struct job *own, const struct job *job)
{
	struct idmap *parts = job_array(own) ? job_array(own)->parts : NULL;
	struct job *next = (struct job *)(uintptr_t)own;

	if (job)
		next = parts ? idmap_next(parts, job_info(job)->part) : NULL;
	while (next && job_state_ended((enum job_state)job_info(next)->state))
		next = parts ? idmap_next(parts, job_info(next)->part) : NULL;
	return next;
}

/* An array parent waits only as long as it stands for tasks. */
static bool waits(const struct job *job)
{
	return job_info(job)->state == JOB_PENDING && job_weight(job);
}

static bool any_waits(const struct job *own)
{
	const struct job *job = next_record(own, NULL);

	while (job && !waits(job))
		job = next_record(own, job);
	return job;
}

/* Which of the fields may not be changed now, by name. */
static int check_state(const struct job *own, uint32_t fields, struct error *err)
{
	enum job_state state = (enum job_state)job_info(own)->state;
	bool ended = job_state_ended(state);
	uint32_t not_now = fields & ~(ended ? WHEN_ENDED : WHILE_RUNS);
	char names[200];

	if (!not_now || (!ended && any_waits(own)))
		return 0;
	name_fields(not_now, names, sizeof(names));
	if (job_array(own) && !ended)
		return error_set(err, ERR_JOB_STATE,
		        "%s can only be changed while tasks wait; none does", names);
	return error_set(err, ERR_JOB_STATE,
	        "%s can only be changed while it is PENDING%s; it is %s", names,
	        not_now & WHILE_RUNS ? " or runs" : "", job_state_name(state));
}

/* What waits is to be started once more; of what has ended, that is for its requeue to say. */
static int check_attempts(const struct job *own, uint32_t most, struct error *err)
{
	const struct job *job = next_record(own, NULL);
	char label[JOB_LABEL];

	for (; job; job = next_record(own, job)) {
		uint32_t starts = job_starts(job);

		if (job_array(own) && job == own)
			continue;
		if (starts + (waits(job) ? 1 : 0) > most)
			return error_set(err, ERR_JOB_STATE,
			        "--max-attempts=%u: %s has been started %u times%s", most,
			        job_label(job, label), starts,
			        waits(job) ? ", and waits to be started again" : "");
	}
	return 0;
}

/* All is checked before the first record is changed. */
int job_respec(struct core *core, struct job *own, const struct respec *r, char *names, size_t size,
        struct error *err)
{
	if (check_state(own, r->fields, err) < 0 ||
	        intake_signed_texts(r->name, r->cwd, r->output, r->error, err) < 0 ||
	        (r->fields & BIT(RESPEC_ATTEMPTS) && check_attempts(own, r->max_attempts, err) < 0))
		return -1;
	name_fields(r->fields, names, size);
	jobs_set_hash(core->jobs, own, r->is.b);
	/* An array parent is PENDING as long as it stands for tasks that wait. */
	job_respecified(core, own, r, job_info(own)->state == JOB_PENDING);
	for (struct job *job = next_record(own, own); job; job = next_record(own, job)) {
		job_set_respec(core->jobs, job, r, job_info(job)->state == JOB_PENDING);
		effects_add(core->effects, EFFECT_JOB_CHANGED)->job = job_ref(job);
	}
	return 0;
}
