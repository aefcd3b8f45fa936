/* jobspec.h - a job template as what libgpusched submits
 *
 * The command and its arguments become those of a script of two lines, so none of them is quoted
 * anywhere. Options come, the weakest first, from GSUBMIT_* variables, the job category, the
 * attributes and the native specification. The environment is that of the process, with
 * drmaa_v_env.
 */
#ifndef CMDS_DRMAA_JOBSPEC_H
#define CMDS_DRMAA_JOBSPEC_H

#include "cmds/api/gpusched.h"
#include "cmds/drmaa/error_diagnosis.h"
#include "cmds/drmaa/job_template.h"
#include "cmds/options/options.h"

struct jobspec {
	struct gpusched_spec spec; /* borrows from what follows */
	struct submit_options o;
	char *script, *cwd, *name;
	char **env, **own_env; /* blocks */
	const char **args;
};

/* `array`: "1-9:2" of a bulk, else NULL. DRMAA's number; jobspec_clear() in any case. */
int jobspec_make(
        struct jobspec *job, const drmaa_job_template_t *jt, const char *array, struct diagnosis d);
void jobspec_clear(struct jobspec *job);

#endif
