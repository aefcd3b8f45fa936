/* update.h - gctl update: another request of a waiting job */
#ifndef CTLD_CORE_UPDATE_H
#define CTLD_CORE_UPDATE_H

#include <stddef.h>

#include "common/base/error.h"
#include "ctld/core/intake/update_audit.h"
#include "ctld/core/rows/event.h"

struct core;
struct job;

/* Changes the request of a PENDING job. `what` names the changed fields: "gpus, time"; `told`
 * (update_audit.h) has old and new values. */
int job_update(struct core *core, struct job *job, const struct core_event *event, char *what,
        size_t size, char told[CHANGES_TEXT], struct error *err);
/* The submit that would make this job; CPUs and memory are 0 where they are the partition's
 * default for each GPU. The niceness was checked when it was given. */
struct submit_job job_as_asked(const struct core *core, const struct job *job);

#endif
