/* imagined_job.h - an imagined job, as the scheduler sees one
 *
 * For questions: a trial submit, or a waiting job with another request. The caller has checked it
 * with intake_fill(). Nothing of it is kept; the caller frees it with imagined_clear().
 */
#ifndef CTLD_CORE_IMAGINED_JOB_H
#define CTLD_CORE_IMAGINED_JOB_H

#include <stdint.h>

#include "common/job/run.h"
#include "ctld/core/sched/class.h"
#include "ctld/core/sched/decide.h"

struct imagined {
	struct candidate who;
	struct class_info info;
	struct limit_chain *chain;
};
struct core;
struct intake;
void imagine(struct core *core, const struct intake *t, const char *user, uint64_t id,
        usec_t submit_time, struct imagined *out);
void imagined_clear(struct core *core, struct imagined *im);

#endif
