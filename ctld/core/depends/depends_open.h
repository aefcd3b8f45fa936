/* depends_open.h - does a job have to wait for other jobs, until when, and can it never start? */
#ifndef CTLD_CORE_DEPENDS_OPEN_H
#define CTLD_CORE_DEPENDS_OPEN_H

#include <stdbool.h>

#include "common/job/run.h"

struct job;

/* Does the job have to wait? For any record of an array. */
bool depends_open(const struct job *job);
/* Wall time at which a delay ends; INT64_MAX: no delay runs. */
usec_t depends_due(const struct job *job);
/* Of a record of an array whose tasks wait task by task: can they never start? */
bool depends_never(const struct job *part);
/* Does a dependent still have to learn how this job started or ended? Then it must stay in
 * memory. */
bool depends_wanted(const struct job *job);

#endif
