/* recount_queued.h - all jobs that have not ended, counted in new limits; those of an open bulk too
 *
 * One job more or less is job_count() of limit_usage.h.
 */
#ifndef CTLD_CORE_RECOUNT_QUEUED_H
#define CTLD_CORE_RECOUNT_QUEUED_H

#include "common/base/error.h"

struct core;

void jobs_count_queued(struct core *core); /* and their requests, in the workload profile */
int jobs_check_queued(const struct core *core, struct error *err);

#endif
