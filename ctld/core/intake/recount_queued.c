/* recount_queued.c - see recount_queued.h
 *
 * A configuration has limits of its own, which count nothing at first: all jobs that have not ended
 * are counted in them, and those of a bulk that are in no table yet. core_check() does the same
 * again and compares.
 */
#include "ctld/core/intake/recount_queued.h"

#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/intake/bulk.h"
#include "ctld/core/limits/limits.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"

static void count_jobs(const struct core *core, struct limits *limits)
{
	const struct job *job;
	size_t cursor = 0;

	for (job = jobs_next(core->jobs, 0); job; job = jobs_next(core->jobs, job_ref(job))) {
		if (!job_state_ended(job_info(job)->state))
			job_count_in(core, limits, job_info(job), (int)job_weight(job));
	}
	while ((job = bulk_next(core, &cursor)))
		job_count_in(core, limits, job_info(job), (int)job_weight(job));
}

void jobs_count_queued(struct core *core)
{
	const struct job *job;

	for (job = jobs_next(core->jobs, 0); job; job = jobs_next(core->jobs, job_ref(job)))
		job_note_request(core, job);
	if (limits_count_queued(core->limits))
		count_jobs(core, core->limits);
}

/* Costs a chain for each job, twice. */
int jobs_check_queued(const struct core *core, struct error *err)
{
	struct limits *anew = limits_new(core->conf, core->seed);
	const struct job *job = jobs_next(core->jobs, 0);
	int rc = 0;

	count_jobs(core, anew);
	for (; job && rc == 0; job = jobs_next(core->jobs, job_ref(job))) {
		struct limit_chain *x = job_limit_chain(core, core->limits, job_info(job));
		struct limit_chain *y = job_limit_chain(core, anew, job_info(job));
		uint64_t is = limits_queued_now(core->limits, x),
		         should = limits_queued_now(anew, y);

		limit_chain_free(core->limits, x);
		limit_chain_free(anew, y);
		if (is != should)
			rc = error_set(err, ERR_INTERNAL,
			        "job %llu: %llu jobs count for its limits of queued ones, not %llu",
			        (unsigned long long)job_id(job), (unsigned long long)should,
			        (unsigned long long)is);
	}
	limits_free(anew);
	return rc;
}
