/* job_control.h - what users and operators do to jobs; waiting for jobs */
#ifndef CTLD_CORE_JOB_CONTROL_H
#define CTLD_CORE_JOB_CONTROL_H

#include <stdbool.h>

struct core;
struct core_event;

void job_control_apply(struct core *core, const struct core_event *event);
void wait_apply(struct core *core, const struct core_event *event);

#endif
