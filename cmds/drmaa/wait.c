/* wait.c - drmaa_wait() and drmaa_synchronize(): look at the jobs, then wait until a job may have
 * changed */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/drmaa/exit_stat.h"
#include "cmds/drmaa/job_queries.h"
#include "cmds/drmaa/session.h"
#include "cmds/drmaa/string_vectors.h"
#include "common/base/clock.h"

#define WAIT_RETRY_MS (15 * 60 * 1000)

/* --- time ----------------------------------------------------------------------------------- */

/* `timeout` of drmaa.h, in seconds, as the moment when it is over; -1: never. */
static int64_t deadline_of(signed long timeout)
{
	return timeout < 0 ? -1
	                   : clock_ms(CLOCK_MONOTONIC) +
	                             (timeout > INT32_MAX ? INT32_MAX : timeout) * INT64_C(1000);
}

static int64_t left(int64_t deadline)
{
	int64_t ms = deadline - clock_ms(CLOCK_MONOTONIC);

	return deadline < 0 ? -1 : ms > 0 ? ms : 0;
}

/* Wait as long as there is time. DRMAA_ERRNO_SUCCESS: look again. */
static int wait_for(
        struct client *c, const struct jobset *jobs, int64_t deadline, struct diagnosis d)
{
	struct error err;
	int64_t ms = left(deadline);
	int rc = ms ? query_wait(c, jobs, ms, &err) : 1;

	if (rc < 0)
		return fail_as(d, &err, DRMAA_ERRNO_INTERNAL_ERROR);
	return rc ? fail_with(d, DRMAA_ERRNO_EXIT_TIMEOUT, "%s",
	                    drmaa_strerror(DRMAA_ERRNO_EXIT_TIMEOUT))
	          : DRMAA_ERRNO_SUCCESS;
}

/* A connection for a wait. A wait without a time limit survives an absence of the controller. */
static struct client *take_waiting(struct diagnosis d, int64_t deadline, int64_t *retry, int *code)
{
	struct client *c = session_take(d, code);

	if (!c)
		return NULL;
	*retry = client_retry(c);
	if (deadline < 0 && !getenv(CLIENT_RETRY_VARIABLE))
		client_set_retry(c, WAIT_RETRY_MS);
	return c;
}

static void give_waiting(struct client *c, int64_t retry)
{
	client_set_retry(c, retry);
	session_give(c);
}

/* --- drmaa_wait() --------------------------------------------------------------------------- */

/* What the call has found out about its jobs. */
struct found {
	const struct jobset *among;
	bool any;
	struct session_end end; /* the first that has ended */
	bool more;              /* others go to session_saw() */
};

static void find_ended(const struct query_job *job, void *arg)
{
	struct found *f = arg;
	struct session_end end = { .id = job->id, .stat = exit_stat(job) };

	if (!job->ended || !jobset_first(f->among, job->id, job->tasks, &end.task))
		return;
	if (!f->any)
		f->end = end;
	else if (f->more)
		session_saw(&end);
	f->any = true;
}

static void add_account(const Gpusched__Acct *a, void *arg)
{
	struct text_list *rusage = arg;

	if (rusage->n) /* of a task one record is enough */
		return;
	list_addf(rusage, "submission_time=%" PRId64, a->submit_time / 1000000);
	list_addf(rusage, "start_time=%" PRId64, a->start_time / 1000000);
	list_addf(rusage, "end_time=%" PRId64, a->end_time / 1000000);
	list_addf(rusage, "state=%s", a->state);
	list_addf(rusage, "exit_status=%" PRIu32, a->exit_code);
	list_addf(rusage, "signal=%" PRIu32, a->exit_signal);
	list_addf(rusage, "hosts=%.800s", a->nodes);
	list_addf(rusage, "ru_wallclock=%" PRIu64, a->elapsed_s);
	list_addf(rusage, "cpu=%.3f", (double)a->cpu_time_us / 1e6);
	list_addf(rusage, "maxrss_kb=%" PRIu64, a->max_rss_kb);
	list_addf(rusage, "gpu_time=%.3f", (double)a->gpu_us / 1e6);
	list_addf(rusage, "starts=%" PRIu32, a->attempts);
}

static int give_rusage(struct client *c, const struct session_end *end,
        drmaa_attr_values_t **rusage, struct diagnosis d)
{
	struct text_list list = { .v = NULL };
	struct error err;

	if (!rusage)
		return DRMAA_ERRNO_SUCCESS;
	if (query_account(c, end->id, end->task, add_account, &list, &err) < 0) {
		list_clear(&list);
		return fail_as(d, &err, DRMAA_ERRNO_INTERNAL_ERROR);
	}
	*rusage = list_values(&list);
	return DRMAA_ERRNO_SUCCESS;
}

/* The jobs that the call names. */
static int wait_among(const char *job_id, struct jobset *jobs, struct diagnosis d)
{
	struct error err;
	uint64_t id;
	uint32_t task;

	if (!strcmp(job_id, DRMAA_JOB_IDS_SESSION_ANY)) {
		session_jobs(jobs);
		return jobs->n ? DRMAA_ERRNO_SUCCESS
		               : fail_with(d, DRMAA_ERRNO_INVALID_JOB,
		                         "the session has no job that was not waited for");
	}
	if (jobset_parse(job_id, &id, &task, &err) < 0)
		return fail_as(d, &err, DRMAA_ERRNO_INVALID_JOB);
	if (session_has_disposed(id, task))
		return fail_with(
		        d, DRMAA_ERRNO_INVALID_JOB, "job %s was waited for before", job_id);
	jobset_add(jobs, id, task);
	return DRMAA_ERRNO_SUCCESS;
}

/* Reported once, and disposed of: such a job would fail each later wait for any job. */
static int tell_unknown(const struct jobset *unknown, struct diagnosis d)
{
	session_dispose_all(unknown);
	return fail_with(
	        d, DRMAA_ERRNO_INVALID_JOB, "job %" PRIu64 " is not known", unknown->v[0].id);
}

/* Look at the jobs of the call; if none has ended, wait until it is worth looking again. */
static int look_once(
        struct client *c, const char *job_id, int64_t deadline, struct found *f, struct diagnosis d)
{
	struct jobset jobs = { .v = NULL }, unknown = { .v = NULL };
	struct error err;
	int code = wait_among(job_id, &jobs, d);

	f->among = &jobs;
	f->more = !strcmp(job_id, DRMAA_JOB_IDS_SESSION_ANY);
	if (code == DRMAA_ERRNO_SUCCESS && query_jobs(c, &jobs, find_ended, f, &unknown, &err) < 0)
		code = fail_as(d, &err, DRMAA_ERRNO_INTERNAL_ERROR);
	else if (code == DRMAA_ERRNO_SUCCESS && !f->any && unknown.n)
		code = tell_unknown(&unknown, d);
	else if (code == DRMAA_ERRNO_SUCCESS && !f->any)
		code = wait_for(c, &jobs, deadline, d);
	jobset_clear(&jobs);
	jobset_clear(&unknown);
	return code;
}

/* Wait until one of the jobs has ended, and no other thread has disposed of it. */
static int wait_one(struct client *c, const char *job_id, int64_t deadline, struct session_end *end,
        drmaa_attr_values_t **rusage, struct diagnosis d)
{
	bool any_job = !strcmp(job_id, DRMAA_JOB_IDS_SESSION_ANY);

	for (;;) {
		struct found f = { .any = any_job && session_next_end(end) };
		int code = DRMAA_ERRNO_SUCCESS;

		if (f.any) {
			f.end = *end;
		} else {
			code = look_once(c, job_id, deadline, &f, d);
			*end = f.end;
		}
		if (code == DRMAA_ERRNO_SUCCESS && f.any)
			code = give_rusage(c, end, rusage, d);
		if (code != DRMAA_ERRNO_SUCCESS)
			return code;
		if (f.any && session_dispose(end->id, end->task))
			return DRMAA_ERRNO_SUCCESS;
		if (f.any && rusage)
			drmaa_release_attr_values(*rusage);
	}
}

int drmaa_wait(const char *job_id, char *job_id_out, size_t job_id_out_len, int *stat,
        signed long timeout, drmaa_attr_values_t **rusage, char *error_diagnosis,
        size_t error_diag_len)
{
	int64_t deadline = deadline_of(timeout), retry;
	char name[JOBSET_NAME];
	struct client *c;
	struct session_end end;
	int code;

	if (!job_id || timeout < -1)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT,
		        "the job id is NULL or the timeout negative");
	c = take_waiting(DIAGNOSIS, deadline, &retry, &code);
	if (!c)
		return code;
	code = wait_one(c, job_id, deadline, &end, rusage, DIAGNOSIS);
	give_waiting(c, retry);
	if (code != DRMAA_ERRNO_SUCCESS)
		return code;
	if (stat)
		*stat = end.stat;
	fail_copy(job_id_out, job_id_out_len, jobset_name(name, end.id, end.task));
	return DRMAA_ERRNO_SUCCESS;
}

/* --- drmaa_synchronize() -------------------------------------------------------------------- */

static void take_ended(const struct query_job *job, void *arg)
{
	if (job->ended)
		jobset_take(arg, job->id, job->tasks);
}

/* *all: nothing is said of a job that is not known any more. */
static int synchronize_among(
        const char *job_ids[], struct jobset *jobs, bool *all, struct diagnosis d)
{
	*all = false;
	for (size_t i = 0; job_ids[i]; i++) {
		struct error err;
		uint64_t id;
		uint32_t task;

		if (!strcmp(job_ids[i], DRMAA_JOB_IDS_SESSION_ALL)) {
			jobset_clear(jobs);
			session_jobs(jobs);
			*all = true;
			return DRMAA_ERRNO_SUCCESS;
		}
		if (jobset_parse(job_ids[i], &id, &task, &err) < 0)
			return fail_as(d, &err, DRMAA_ERRNO_INVALID_JOB);
		jobset_add(jobs, id, task);
	}
	return DRMAA_ERRNO_SUCCESS;
}

static int wait_all(
        struct client *c, const struct jobset *jobs, bool all, int64_t deadline, struct diagnosis d)
{
	struct jobset rest, unknown;
	int code = DRMAA_ERRNO_SUCCESS;

	jobset_copy(&rest, jobs);
	while (rest.n && code == DRMAA_ERRNO_SUCCESS) {
		struct jobset asked;
		struct error err;

		jobset_copy(&asked, &rest);
		if (query_jobs(c, &asked, take_ended, &rest, &unknown, &err) < 0)
			code = fail_as(d, &err, DRMAA_ERRNO_INTERNAL_ERROR);
		else if (unknown.n && !all)
			code = fail_with(d, DRMAA_ERRNO_INVALID_JOB, "job %" PRIu64 " is not known",
			        unknown.v[0].id);
		jobset_remove_all(&rest, &unknown);
		if (code == DRMAA_ERRNO_SUCCESS && rest.n)
			code = wait_for(c, &rest, deadline, d);
		jobset_clear(&asked);
		jobset_clear(&unknown);
	}
	jobset_clear(&rest);
	return code;
}

int drmaa_synchronize(const char *job_ids[], signed long timeout, int dispose,
        char *error_diagnosis, size_t error_diag_len)
{
	int64_t deadline = deadline_of(timeout), retry;
	struct jobset jobs = { .v = NULL };
	struct client *c;
	bool all;
	int code;

	if (!job_ids || timeout < -1)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT,
		        "the job ids are NULL or the timeout negative");
	c = take_waiting(DIAGNOSIS, deadline, &retry, &code);
	if (!c)
		return code;
	code = synchronize_among(job_ids, &jobs, &all, DIAGNOSIS);
	if (code == DRMAA_ERRNO_SUCCESS)
		code = wait_all(c, &jobs, all, deadline, DIAGNOSIS);
	if (code == DRMAA_ERRNO_SUCCESS && dispose)
		session_dispose_all(&jobs);
	give_waiting(c, retry);
	jobset_clear(&jobs);
	return code;
}
