/* wait_reason.h - why a job waits, as a reason and its text */
#ifndef CTLD_CORE_WAIT_REASON_H
#define CTLD_CORE_WAIT_REASON_H

#include <stddef.h>
#include <stdint.h>

#include "common/job/run.h"

struct core;
struct job;

/* A PENDING job's reason and its text; static strings and `text`. */
const char *job_why(
        const struct core *core, const struct job *job, struct clocks now, char *text, size_t size);

#endif
