/* send_job_control.c - see send_job_control.h */
#include "cmds/views/send_job_control.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include "common/base/each.h"

/* What came back. */
struct result {
	const struct cmd *cmd;
	uint32_t done, arrays, tasks;
	int status, code; /* of the first error */
	bool cut;         /* there may be more errors than were told */
};

static int on_chunk(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__JobControlResult *r = (const Gpusched__JobControlResult *)m;
	struct result *result = arg;

	(void)err;
	ADD_FIELDS(result, r, done, arrays, tasks);
	result->cut |= r->n_cut > 0;
	for (size_t i = 0; i < r->n_errors; i++) {
		struct error one;
		int status;

		error_set(&one, (int)r->errors[i]->code, "%s", r->errors[i]->text);
		if (*r->errors[i]->hint)
			error_hint(&one, "%s", r->errors[i]->hint);
		status = cmd_fail(result->cmd, &one);
		if (!result->status) {
			result->status = status;
			result->code = one.code;
		}
	}
	return 0;
}

static bool one_job(const struct cmd_ids *ids)
{
	for (size_t i = 1; i < ids->n; i++)
		if (ids->v[i].id != ids->v[0].id)
			return false;
	return ids->n > 0;
}

/* "Cancelled 3 jobs", "Cancelled 400 tasks of job 12", "Cancelled 2 jobs and 7 tasks" */
static void say_done(const struct result *r, const char *done, const struct cmd_ids *ids)
{
	uint32_t jobs = r->done - r->arrays;

	printf("%s", done);
	if (jobs || !r->tasks)
		printf(" %" PRIu32 " job%s%s", jobs, jobs == 1 ? "" : "s", r->tasks ? " and" : "");
	if (r->tasks)
		printf(" %" PRIu32 " task%s", r->tasks, r->tasks == 1 ? "" : "s");
	if (!jobs && r->tasks && one_job(ids))
		printf(" of job %" PRIu64, ids->v[0].id);
	putchar('\n');
}

int control_jobs(const struct cmd *cmd, const struct control *control, const struct filter *filter)
{
	Gpusched__JobControl request = GPUSCHED__JOB_CONTROL__INIT;
	Gpusched__JobFilter selected;
	struct result result = { .cmd = cmd };
	struct client_call call = {
		CLIENT_CALL(JOB_CONTROL, &request.base, JOB_CONTROL_RESULT, on_chunk, &result)
	};
	struct error err;
	struct client *c = client_new(NULL, &err);
	int rc;

	if (!c)
		return cmd_fail(cmd, &err);
	cmd_tell_retry(cmd, c);
	cmd_tell_warnings(cmd, c);
	filter_message(filter, &selected);
	request.verb = control->verb;
	request.filter = &selected;
	request.signal = control->signal;
	request.script_only = control->script_only;
	/* A job may requeue itself: what ends it is not to end this program before it has said how
	 * that went. */
	if (control->verb == GPUSCHED__JOB_CONTROL__VERB__REQUEUE && getenv("GPUSCHED_JOB_ID"))
		signal(SIGTERM, SIG_IGN);
	request.reason = (char *)(control->reason ? control->reason : "");
	request.change = (Gpusched__JobRequest *)control->change;
	request.fields = (Gpusched__JobControl__Field *)control->fields;
	request.n_fields = control->n_fields;
	rc = client_call(c, &call, &err);
	client_free(c);
	/* The answer ends with the first of the errors, which was printed. */
	if (rc < 0 && !(result.status && err.code == result.code))
		return cmd_fail(cmd, &err);
	if (result.cut)
		fprintf(stderr, "%s: there may be more errors than are shown\n", cmd->name);
	if (!result.status && filter_check_users(filter, result.done > 0, &err) < 0)
		return cmd_fail(cmd, &err);
	if (result.done || !result.status)
		say_done(&result, control->done, &filter->ids);
	return result.status;
}
