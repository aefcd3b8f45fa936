/* submit_control.c - the functions of drmaa.h that submit, control and look at jobs */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/api/submit.h"
#include "cmds/drmaa/job_queries.h"
#include "cmds/drmaa/jobspec.h"
#include "cmds/drmaa/session.h"
#include "common/base/each.h"

/* --- submitting ----------------------------------------------------------------------------- */

static int submit(const struct jobspec *job, uint64_t *id, struct diagnosis d)
{
	int code;
	struct client *c = session_take(d, &code);
	struct error err;
	int rc;

	if (!c)
		return code;
	rc = options_check_cluster(&job->o, client_conf(c)->cluster, &err);
	if (rc >= 0)
		rc = submit_one(c, &job->spec, NULL, id, &err);
	session_give(c);
	return rc >= 0 ? DRMAA_ERRNO_SUCCESS : fail_as(d, &err, DRMAA_ERRNO_DENIED_BY_DRM);
}

static int run(const drmaa_job_template_t *jt, const char *array, uint64_t *id, struct diagnosis d)
{
	struct jobspec job;
	int code = jobspec_make(&job, jt, array, d);

	if (code == DRMAA_ERRNO_SUCCESS)
		code = submit(&job, id, d);
	jobspec_clear(&job);
	return code;
}

int drmaa_run_job(char *job_id, size_t job_id_len, const drmaa_job_template_t *jt,
        char *error_diagnosis, size_t error_diag_len)
{
	char name[JOBSET_NAME];
	uint64_t id;
	int code;

	if (!jt)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT, "jt is NULL");
	if (!session_active())
		return session_none(DIAGNOSIS);
	code = run(jt, NULL, &id, DIAGNOSIS);
	if (code != DRMAA_ERRNO_SUCCESS)
		return code;
	session_add(id, NULL);
	fail_copy(job_id, job_id_len, jobset_name(name, id, TASK_NONE));
	return DRMAA_ERRNO_SUCCESS;
}

/* Indices may be given from above, as "10, 1, -3". */
static int read_range(
        int start, int end, int incr, struct taskset *tasks, char text[64], struct diagnosis d)
{
	struct error err;
	int first = incr < 0 ? start - (start - end) / -(int64_t)incr * -(int64_t)incr : start;

	if (!incr || start < 0 || end < 0 || (incr > 0 ? end < start : end > start))
		return fail_with(d, DRMAA_ERRNO_INVALID_ARGUMENT,
		        "%d to %d in steps of %d: no index is in it, or one below 0", start, end,
		        incr);
	snprintf(text, 64, "%d-%d:%" PRId64, first, incr < 0 ? start : end,
	        incr < 0 ? -(int64_t)incr : incr);
	if (taskset_parse(text, tasks, &err) < 0)
		return fail_as(d, &err, DRMAA_ERRNO_INVALID_ARGUMENT);
	return DRMAA_ERRNO_SUCCESS;
}

int drmaa_run_bulk_jobs(drmaa_job_ids_t **jobids, const drmaa_job_template_t *jt, int start,
        int end, int incr, char *error_diagnosis, size_t error_diag_len)
{
	struct taskset tasks;
	char text[64];
	uint64_t id;
	int code;

	if (!jt || !jobids)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT, "an argument is NULL");
	if (!session_active())
		return session_none(DIAGNOSIS);
	code = read_range(start, end, incr, &tasks, text, DIAGNOSIS);
	if (code != DRMAA_ERRNO_SUCCESS)
		return code;
	code = run(jt, text, &id, DIAGNOSIS);
	if (code == DRMAA_ERRNO_SUCCESS) {
		session_add(id, &tasks);
		*jobids = list_job_ids(id, (int)taskset_first(&tasks), (int)taskset_last(&tasks),
		        incr < 0 ? -incr : incr);
	}
	taskset_clear(&tasks);
	return code;
}

/* --- control -------------------------------------------------------------------------------- */

static const struct action {
	Gpusched__JobControl__Verb verb;
	int inconsistent; /* the job is in no state for it */
} actions[] = {
	[DRMAA_CONTROL_SUSPEND] = { GPUSCHED__JOB_CONTROL__VERB__SUSPEND,
	        DRMAA_ERRNO_SUSPEND_INCONSISTENT_STATE },
	[DRMAA_CONTROL_RESUME] = { GPUSCHED__JOB_CONTROL__VERB__RESUME,
	        DRMAA_ERRNO_RESUME_INCONSISTENT_STATE },
	[DRMAA_CONTROL_HOLD] = { GPUSCHED__JOB_CONTROL__VERB__HOLD,
	        DRMAA_ERRNO_HOLD_INCONSISTENT_STATE },
	[DRMAA_CONTROL_RELEASE] = { GPUSCHED__JOB_CONTROL__VERB__RELEASE,
	        DRMAA_ERRNO_RELEASE_INCONSISTENT_STATE },
	[DRMAA_CONTROL_TERMINATE] = { GPUSCHED__JOB_CONTROL__VERB__CANCEL,
	        DRMAA_ERRNO_INVALID_JOB },
};

struct controlled {
	uint32_t done;
	size_t failed;
	struct error first;
};

static int on_control(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__JobControlResult *r = (const Gpusched__JobControlResult *)m;
	struct controlled *c = arg;

	(void)err;
	c->done += r->done;
	if (r->n_errors && !c->failed)
		error_set(&c->first, (int)r->errors[0]->code, "job %" PRIu64 ": %s",
		        r->errors[0]->job, r->errors[0]->text);
	c->failed += r->n_errors;
	return 0;
}

static int control(
        const struct jobset *jobs, const struct action *action, bool all, struct diagnosis d)
{
	Gpusched__JobControl request = GPUSCHED__JOB_CONTROL__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	struct controlled result = { .done = 0 };
	struct jobset_message names;
	struct error err;
	int code, rc;
	struct client *c = session_take(d, &code);

	if (!c)
		return code;
	jobset_message(jobs, UINT32_MAX, &names);
	COPY_FIELDS(&filter, &names, ids, n_ids, tasks, n_tasks);
	request.verb = action->verb;
	request.filter = &filter;
	rc = client_call(c,
	        &(struct client_call){ CLIENT_CALL(
	                JOB_CONTROL, &request.base, JOB_CONTROL_RESULT, on_control, &result) },
	        &err);
	jobset_message_clear(&names);
	session_give(c);
	if (rc < 0)
		return all && err.code == ERR_JOB_STATE ? DRMAA_ERRNO_SUCCESS
		                                        : fail_as(d, &err, action->inconsistent);
	if (!result.failed || all) /* of all jobs some have ended */
		return DRMAA_ERRNO_SUCCESS;
	return fail_as(d, &result.first, action->inconsistent);
}

static int read_job(const char *name, uint64_t *id, uint32_t *task, struct diagnosis d)
{
	struct error err;

	if (!name)
		return fail_with(d, DRMAA_ERRNO_INVALID_ARGUMENT, "the job id is NULL");
	if (jobset_parse(name, id, task, &err) < 0)
		return fail_as(d, &err, DRMAA_ERRNO_INVALID_JOB);
	return DRMAA_ERRNO_SUCCESS;
}

int drmaa_control(const char *jobid, int action, char *error_diagnosis, size_t error_diag_len)
{
	bool all = jobid && !strcmp(jobid, DRMAA_JOB_IDS_SESSION_ALL);
	struct jobset jobs = { .v = NULL };
	uint32_t task;
	uint64_t id;
	int code = DRMAA_ERRNO_SUCCESS;

	if (action < 0 || action >= (int)(sizeof(actions) / sizeof(actions[0])))
		return fail_with(
		        DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT, "%d is no action", action);
	if (!session_active())
		return session_none(DIAGNOSIS);
	if (all) {
		session_jobs(&jobs);
	} else {
		code = read_job(jobid, &id, &task, DIAGNOSIS);
		if (code == DRMAA_ERRNO_SUCCESS)
			jobset_add(&jobs, id, task);
	}
	if (code == DRMAA_ERRNO_SUCCESS && jobs.n)
		code = control(&jobs, &actions[action], all, DIAGNOSIS);
	jobset_clear(&jobs);
	return code;
}

/* --- states --------------------------------------------------------------------------------- */

static const struct {
	const char *state, *reason; /* NULL: any */
	int ps;
} states[] = {
	{ "PENDING", "JobHeldUser", DRMAA_PS_USER_ON_HOLD },
	{ "PENDING", "JobHeldAdmin", DRMAA_PS_SYSTEM_ON_HOLD },
	{ "PENDING", NULL, DRMAA_PS_QUEUED_ACTIVE },
	{ "CONFIGURING", NULL, DRMAA_PS_QUEUED_ACTIVE },
	{ "RUNNING", NULL, DRMAA_PS_RUNNING },
	{ "COMPLETING", NULL, DRMAA_PS_RUNNING },
	{ "SUSPENDED", NULL, DRMAA_PS_USER_SUSPENDED },
	{ "COMPLETED", NULL, DRMAA_PS_DONE },
};

static void keep_ps(const struct query_job *job, void *arg)
{
	size_t i = 0, n = sizeof(states) / sizeof(states[0]);

	while (i < n && (strcmp(states[i].state, job->state) != 0 ||
	                        (states[i].reason && strcmp(states[i].reason, job->reason) != 0)))
		i++;
	*(int *)arg = i < n ? states[i].ps : DRMAA_PS_FAILED;
}

int drmaa_job_ps(const char *job_id, int *remote_ps, char *error_diagnosis, size_t error_diag_len)
{
	struct jobset job = { .v = NULL }, unknown = { .v = NULL };
	struct error err;
	uint64_t id;
	uint32_t task;
	int code = read_job(job_id, &id, &task, DIAGNOSIS), rc;
	struct client *c;

	if (code != DRMAA_ERRNO_SUCCESS)
		return code;
	if (!remote_ps)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT, "remote_ps is NULL");
	c = session_take(DIAGNOSIS, &code);
	if (!c)
		return code;
	*remote_ps = DRMAA_PS_UNDETERMINED;
	jobset_add(&job, id, task);
	rc = query_jobs(c, &job, keep_ps, remote_ps, &unknown, &err);
	if (rc < 0)
		code = fail_as(DIAGNOSIS, &err, DRMAA_ERRNO_INTERNAL_ERROR);
	else if (unknown.n)
		code = fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_JOB, "job %s is not known", job_id);
	session_give(c);
	jobset_clear(&job);
	jobset_clear(&unknown);
	return code;
}
