/* job_queries.c - see job_queries.h */
#include "cmds/drmaa/job_queries.h"


#include "cmds/api/reassemble.h"
#include "common/base/each.h"
#include "common/base/text.h"

#define WAIT_TASKS   4000 /* tasks that are waited for at a time */
#define WAIT_SOME_MS 5000 /* for so long, where there are more */

/* --- as they are ---------------------------------------------------------------------------- */

struct looking {
	query_on *on;
	void *arg;
	struct jobset unseen;
};

static bool has_ended(const char *state)
{
	static const char *const living[] = { "PENDING", "CONFIGURING", "RUNNING", "SUSPENDED",
		"COMPLETING" };

	return !text_among(state, living, sizeof(living) / sizeof(living[0]));
}

static int on_job(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Job *j = (const Gpusched__Job *)m;
	struct looking *l = arg;
	const struct query_job look = { j->id, j->tasks, j->state, j->reason, has_ended(j->state),
		j->exit_code, j->exit_signal, j->start_time };

	(void)err;
	l->on(&look, l->arg);
	jobset_take(&l->unseen, j->id, j->tasks);
	return 0;
}

static int on_past_job(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Acct *j = (const Gpusched__Acct *)m;
	struct looking *l = arg;
	const struct query_job look = { j->id, j->tasks, j->state, "", has_ended(j->state),
		j->exit_code, j->exit_signal, j->start_time };

	(void)err;
	l->on(&look, l->arg);
	jobset_take(&l->unseen, j->id, j->tasks);
	return 0;
}

/* `set` as a filter that borrows from `names`. */
static void make_filter(
        const struct jobset *set, struct jobset_message *names, Gpusched__JobFilter *filter)
{
	gpusched__job_filter__init(filter);
	jobset_message(set, UINT32_MAX, names);
	COPY_FIELDS(filter, names, ids, n_ids, tasks, n_tasks);
	filter->include_ended = true;
}

static int list_now(struct client *c, struct looking *l, struct error *err)
{
	Gpusched__ListJobs list = GPUSCHED__LIST_JOBS__INIT;
	Gpusched__JobFilter filter;
	struct jobset_message names;
	struct reassembly jobs = { GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, on_job, l, NULL };
	int rc;

	make_filter(&l->unseen, &names, &filter);
	list.filter = &filter;
	list.whole = true;
	rc = reassembly_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_JOBS, &list.base, &jobs, err);
	jobset_message_clear(&names);
	return rc;
}

static int list_past(struct client *c, const struct jobset *set, reassembled_item *on, void *arg,
        struct error *err)
{
	Gpusched__ListAcct list = GPUSCHED__LIST_ACCT__INIT;
	Gpusched__JobFilter filter;
	struct jobset_message names;
	struct reassembly jobs = { GPUSCHED__MSG_TYPE__MSG_ACCT_CHUNK, on, arg, NULL };
	int rc;

	make_filter(set, &names, &filter);
	list.filter = &filter;
	list.whole = true;
	rc = reassembly_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_ACCT, &list.base, &jobs, err);
	jobset_message_clear(&names);
	return rc;
}

/* A job that is not known is named behind the others. */
static int told(int rc, const struct error *err)
{
	return rc < 0 && err->code == ERR_NO_JOB ? 0 : rc;
}

int query_jobs(struct client *c, const struct jobset *set, query_on *on, void *arg,
        struct jobset *unknown, struct error *err)
{
	struct looking l = { .on = on, .arg = arg };
	struct jobset rest;
	struct error why = { .code = ERR_NONE };
	int rc = 0;

	jobset_copy(&l.unseen, set);
	if (l.unseen.n)
		rc = told(list_now(c, &l, &why), &why);
	if (rc >= 0 && l.unseen.n) {
		jobset_copy(&rest, &l.unseen);
		rc = told(list_past(c, &rest, on_past_job, &l, &why), &why);
		jobset_clear(&rest);
	}
	if (rc < 0 && err)
		*err = why;
	if (unknown)
		*unknown = l.unseen;
	else
		jobset_clear(&l.unseen);
	return rc;
}

/* --- until one has ended -------------------------------------------------------------------- */

struct waited {
	bool one; /* job or task is waited for */
	bool ended;
};

/* The first that has ended is enough. If others are waited for the connection is given up. */
static int on_end(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct waited *w = arg;

	(void)m;
	w->ended = true;
	return w->one ? 0 : error_set(err, ERR_USAGE, "ended by the caller");
}

static bool is_one(const struct jobset *set)
{
	return set->n == 1 && (!set->v[0].array || set->v[0].tasks.count == 1);
}

static int until(int64_t timeout_ms)
{
	return timeout_ms < 0           ? -1
	       : timeout_ms < 1         ? 1
	       : timeout_ms > INT32_MAX ? INT32_MAX
	                                : (int)timeout_ms;
}

int query_wait(struct client *c, const struct jobset *set, int64_t timeout_ms, struct error *err)
{
	Gpusched__WaitJobs wait = GPUSCHED__WAIT_JOBS__INIT;
	struct jobset_message names;
	struct error why = { .code = ERR_NONE };
	struct waited waited = { .one = is_one(set) };
	bool part;
	struct client_call call = {
		CLIENT_CALL(WAIT_JOBS, &wait.base, JOB_CHUNK, on_end, &waited)
	};
	int rc;

	jobset_message(set, WAIT_TASKS, &names);
	part = !names.all && (timeout_ms < 0 || timeout_ms > WAIT_SOME_MS);
	call.timeout_ms = until(part ? WAIT_SOME_MS : timeout_ms);
	COPY_FIELDS(&wait, &names, ids, n_ids, tasks, n_tasks);
	rc = client_call(c, &call, &why);
	jobset_message_clear(&names);
	if (rc >= 0 || waited.ended || why.code == ERR_NO_JOB) {
		client_worked(c);
		return 0;
	}
	if (why.code == ERR_TIMEOUT && client_connection(c) == NULL && timeout_ms >= 0 && !part)
		return 1;
	if (why.code == ERR_TIMEOUT || client_pause(c, &why))
		return 0;
	if (err)
		*err = why;
	return -1;
}

/* --- accounts ------------------------------------------------------------------------------- */

struct account_to {
	void (*on)(const Gpusched__Acct *account, void *arg);
	void *arg;
};

static int on_account(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const struct account_to *to = arg;

	(void)err;
	to->on((const Gpusched__Acct *)m, to->arg);
	return 0;
}

int query_account(struct client *c, uint64_t id, uint32_t task,
        void (*on)(const Gpusched__Acct *account, void *arg), void *arg, struct error *err)
{
	struct jobset one = { .v = NULL };
	struct account_to to = { on, arg };
	int rc;

	jobset_add(&one, id, task);
	rc = list_past(c, &one, on_account, &to, err);
	jobset_clear(&one);
	return rc;
}
