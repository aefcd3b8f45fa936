/* send_job_control.h - do something to jobs, and say what was done: gcancel and gctl */
#ifndef CMDS_SEND_JOB_CONTROL_H
#define CMDS_SEND_JOB_CONTROL_H

#include "cmds/cli/cmd.h"
#include "cmds/views/filter.h"
#include "common/gpusched.pb-c.h"

struct control {
	Gpusched__JobControl__Verb verb;
	const char *done; /* "Cancelled": "Cancelled 3 jobs", "... 7 tasks of job 12" */
	uint32_t signal;  /* verb SIGNAL */
	bool script_only; /* verb SIGNAL: not to what the script has started */
	const char *reason;
	const Gpusched__JobRequest *change; /* verb UPDATE */
	const Gpusched__JobControl__Field *fields;
	size_t n_fields;
};

/* Do it to all jobs of `filter`, print what was done and every error. Returns the exit status. */
int control_jobs(const struct cmd *cmd, const struct control *control, const struct filter *filter);

#endif
