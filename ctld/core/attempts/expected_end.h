/* expected_end.h - when a run is expected to be over, and until when it may not be preempted */
#ifndef CTLD_CORE_EXPECTED_END_H
#define CTLD_CORE_EXPECTED_END_H

#include "ctld/core/rows/event.h"

struct conf_partition;
struct conf_qos;
struct job_info;
struct run;

/* The end of a run (mono): by when it was told to end, else its start, its time limit, what it was
 * suspended, and the grace of its partition. Without a time limit or while it is suspended it has
 * none (PLAN_FAR); nor has a run of no known job or partition (`job` NULL). */
usec_t run_expected_end(const struct run *run, const struct job_info *job,
        const struct conf_partition *partition);

/* Until when (mono) `min_run` of its QOS (NULL: none), else of its partition, protects a run from
 * preemption. A replica has worked since it was READY. */
usec_t run_protected_until(const struct run *run, const struct conf_qos *qos,
        const struct conf_partition *partition);

#endif
