/* gctl_wait.c - gctl wait: until jobs, arrays or tasks have ended
 *
 * The controller reports each end as it comes. After a break of the connection the next request
 * names only the jobs whose end was not reported yet.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/api/reassemble.h"
#include "cmds/ctl/gctl.h"
#include "common/base/error.h"
#include "common/base/taskset.h"
#include "common/base/xalloc.h"

#define WAIT_RETRY_MS (15 * 60 * 1000) /* a controller that is away for less does not end it */

/* One that is waited for. */
struct awaited {
	uint64_t id;
	uint32_t task; /* TASK_NONE: all of it */
};

struct waiting {
	struct awaited *v;
	size_t n;
	int status; /* the highest */
};

static void add_awaited(struct waiting *w, uint64_t id, uint32_t task)
{
	if (!(w->n & (w->n - 1)))
		w->v = xrealloc(w->v, w->n ? 2 * w->n : 1, sizeof(*w->v));
	w->v[w->n++] = (struct awaited){ id, task };
}

static void add_tasks(struct waiting *w, const Gpusched__JobTasks *t)
{
	struct taskset set;
	uint32_t task;

	if (taskset_parse(t->tasks, &set, NULL) < 0)
		return; /* cmd_ids_add() has read it */
	while ((task = taskset_first(&set)) != TASK_NONE) {
		add_awaited(w, t->job, task);
		taskset_remove(&set, task);
	}
	taskset_clear(&set);
}

static bool has_ended(const struct awaited *a, const Gpusched__Job *job)
{
	struct taskset set;
	bool has;

	if (a->id != job->id)
		return a->task == TASK_NONE && cmd_id_is_task(a->id, CMD_REPORTED(job));
	if (a->task == TASK_NONE)
		return !*job->tasks; /* of an array all of it */
	if (taskset_parse_kept(job->tasks, &set, NULL) < 0)
		return false;
	has = taskset_has(&set, a->task);
	taskset_clear(&set);
	return has;
}

static int take_ended(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Job *job = (const Gpusched__Job *)m;
	int status = cmd_job_status(job->state, job->exit_code, job->exit_signal);
	struct waiting *w = arg;

	(void)err;
	for (size_t k = w->n; k-- > 0;)
		if (has_ended(&w->v[k], job))
			w->v[k] = w->v[--w->n];
	if (strcmp(job->state, "COMPLETED") != 0)
		fprintf(stderr, "gctl: job %" PRIu64 "%s%s: %s%s%s\n", job->id,
		        *job->tasks ? "_" : "", job->tasks, job->state,
		        *job->reason_text ? ": " : "", job->reason_text);
	w->status = status > w->status ? status : w->status;
	return 0;
}

/* The message has room for all of them. */
static void fill_request(const struct waiting *w, Gpusched__WaitJobs *m, Gpusched__JobTasks *tasks,
        char (*texts)[12])
{
	m->n_ids = m->n_tasks = 0;
	for (size_t i = 0; i < w->n; i++) {
		Gpusched__JobTasks *t = &tasks[m->n_tasks];

		if (w->v[i].task == TASK_NONE) {
			m->ids[m->n_ids++] = w->v[i].id;
			continue;
		}
		gpusched__job_tasks__init(t);
		snprintf(texts[m->n_tasks], sizeof(*texts), "%" PRIu32, w->v[i].task);
		t->job = w->v[i].id;
		t->tasks = texts[m->n_tasks];
		m->tasks[m->n_tasks++] = t;
	}
}

static int wait_for(struct run *r, struct waiting *w, struct error *err)
{
	Gpusched__WaitJobs m = GPUSCHED__WAIT_JOBS__INIT;
	struct reassembly ended = { GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, take_ended, w, NULL };
	struct client_call call = { CLIENT_CALL(WAIT_JOBS, &m.base, JOB_CHUNK, reassembly_chunk,
		                            &ended),
		.timeout_ms = -1 };
	Gpusched__JobTasks *tasks = xcalloc(w->n, sizeof(*tasks));
	char(*texts)[12] = xcalloc(w->n, sizeof(*texts));
	struct error why = { .code = ERR_NONE };
	int rc = -1;

	m.ids = xcalloc(w->n, sizeof(*m.ids));
	m.tasks = xcalloc(w->n, sizeof(*m.tasks));
	do {
		fill_request(w, &m, tasks, texts);
		rc = client_call(r->client, &call, &why);
		reassembly_clear(&ended);
	} while (rc < 0 && client_pause(r->client, &why));
	free(m.ids);
	free(m.tasks);
	free(tasks);
	free(texts);
	if (rc < 0)
		*err = why;
	/* Tasks that ended without ever having had a record of their own. */
	else if (w->n && w->status < EXIT_OWN_FAILURE)
		w->status = EXIT_OWN_FAILURE;
	return rc;
}

int gctl_wait(struct run *r, struct error *err)
{
	struct waiting w = { .v = NULL };
	struct cmd_ids ids = { .n = 0 };
	int rc = 0;

	for (size_t i = 0; i < r->n && rc == 0; i++)
		rc = cmd_ids_add(&ids, r->words[i], err) < 0 ? error_wrap(err, "wait") : 0;
	for (size_t i = 0; i < ids.n_whole && rc == 0; i++)
		add_awaited(&w, ids.whole[i], TASK_NONE);
	for (size_t i = 0; i < ids.n_some && rc == 0; i++)
		add_tasks(&w, ids.some[i]);
	if (rc == 0) {
		if (!getenv(CLIENT_RETRY_VARIABLE))
			client_set_retry(r->client, WAIT_RETRY_MS);
		rc = wait_for(r, &w, err);
	}
	free(w.v);
	cmd_ids_clear(&ids);
	return rc < 0 ? -1 : w.status;
}
