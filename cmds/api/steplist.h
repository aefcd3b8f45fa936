/* steplist.h - asking for the steps of jobs */
#ifndef CMDS_STEPLIST_H
#define CMDS_STEPLIST_H

#include <stdbool.h>

#include "cmds/api/client.h"
#include "common/gpusched.pb-c.h"

/* The next step; gone when it returns. -1 with `err` ends the listing. */
typedef int steplist_fn(const Gpusched__Step *step, void *arg, struct error *err);

/* The steps that run, of jobs that fit, by job, task and number. */
int steplist_running(struct client *c, const Gpusched__JobFilter *filter, steplist_fn *each,
        void *arg, struct error *err);

/* Of a job, or of a task of an array. */
struct steplist_job {
	uint64_t id;
	uint32_t task;
	bool array;
};

/* All steps of these jobs, those that run and those that have ended, each once, by job, task,
 * attempt and number. `file`: of the past (client_new_file()); NULL: the controller, which `c`
 * asks. What of a job is not known is left out. */
int steplist_all(struct client *c, const char *file, const struct steplist_job *jobs, size_t n,
        steplist_fn *each, void *arg, struct error *err);

#endif
