/* acct_query.c - see acct_query.h */
#include "ctld/rpc/acct/acct_query.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/rpc/call/unknown_names.h"
#include "ctld/wire/nameset.h"

/* So many users or accounts are looked up one by one; of more, all of the time is read. */
#define KEYS_MAX 64

struct acct_query {
	struct filter *filter; /* without nodes: those are the runs' */
	struct filter *nodes;  /* NULL: not restricted */
	struct nameset users, accounts, qos, labels;
	int64_t since, until;
	struct visibility *visibility; /* owned; NULL: all */
	struct unknown *unknown; /* owned; what of its names nothing was found to have */
	bool pending, has_states;
	struct past_query past;
	uint64_t *ids; /* owned: those of past */
};

/* --- making one ----------------------------------------------------------------------------- */

/* The filter of jobs twice: without nodes, and with nothing but them. */
static int take_filter(struct acct_query *q, const Gpusched__JobFilter *m, const struct conf *conf,
        struct error *err)
{
	Gpusched__JobFilter most = GPUSCHED__JOB_FILTER__INIT, nodes = GPUSCHED__JOB_FILTER__INIT;

	if (m)
		most = *m;
	most.include_ended = nodes.include_ended = true;
	nodes.nodes = most.nodes;
	nodes.n_nodes = most.n_nodes;
	most.n_nodes = 0;
	q->filter = filter_new(&most, conf, err);
	if (!q->filter)
		return -1;
	if (nodes.n_nodes) {
		q->nodes = filter_new(&nodes, conf, err);
		if (!q->nodes)
			return -1;
	}
	q->has_states = most.n_states > 0;
	for (size_t i = 0; i < most.n_states; i++)
		q->pending = q->pending || !strcasecmp(most.states[i], "PENDING") ||
		             !strcasecmp(most.states[i], "PD");
	nameset_add_all(&q->users, most.users, most.n_users);
	nameset_seal(&q->users);
	return 0;
}

/* What of a row of history.db can be told before its runs are read. */
static bool wants(void *arg, const struct row *row)
{
	const struct acct_query *q = arg;
	struct job_view job = {
		.id = (uint64_t)row->v[COL_JOB_id].i,
		.user = row->v[COL_JOB_user].p,
		.partition = row->v[COL_JOB_partition].p,
		.name = row->v[COL_JOB_name].p,
		.account = row->v[COL_JOB_account].p,
		.qos = row->v[COL_JOB_qos].p,
		.state = row->v[COL_JOB_state].p,
		.tasks = row->v[COL_JOB_tasks].p,
		.ended = true,
	};

	return visibility_has(
	               q->visibility, (uint32_t)row->v[COL_JOB_uid].i, row->v[COL_JOB_account].p) &&
	       row->v[COL_JOB_end_time].i >= q->since &&
	       (!q->until || row->v[COL_JOB_submit_time].i < q->until) &&
	       nameset_fit(&q->accounts, row->v[COL_JOB_account].p) &&
	       nameset_fit(&q->qos, row->v[COL_JOB_qos].p) && filter_fits(q->filter, &job);
}

/* Accounts and QOS come beside the filter of jobs, or in it. */
static void take_unknown(
        struct acct_query *q, const Gpusched__ListAcct *m, const struct conf *conf)
{
	static const Gpusched__JobFilter none = GPUSCHED__JOB_FILTER__INIT;
	const Gpusched__JobFilter *f = m->filter ? m->filter : &none;
	const struct unknown_given given[UNKNOWN_KINDS] = {
		[UNKNOWN_ACCOUNT] = m->n_accounts
		        ? (struct unknown_given){ m->accounts, m->n_accounts }
		        : (struct unknown_given){ f->accounts, f->n_accounts },
		[UNKNOWN_PARTITION] = { f->partitions, f->n_partitions },
		[UNKNOWN_QOS] = m->n_qos ? (struct unknown_given){ m->qos, m->n_qos }
		                         : (struct unknown_given){ f->qos, f->n_qos },
		[UNKNOWN_NODE] = { f->nodes, f->n_nodes },
	};

	q->unknown = unknown_new(given, conf);
}

/* Whose rows are read: the jobs that are named. */
static void plan_ids(struct acct_query *q)
{
	size_t n;
	const struct filter_named *named = filter_named(q->filter, &n);

	free(q->ids);
	q->ids = xcalloc(n, sizeof(*q->ids));
	for (size_t i = 0; i < n; i++)
		q->ids[i] = named[i].id;
	q->past.by = PAST_BY_ID;
	q->past.ids = q->ids;
	q->past.n = n;
}

static void plan_past(struct acct_query *q)
{
	struct past_query *past = &q->past;
	size_t n_ids;

	filter_named(q->filter, &n_ids);
	past->since = q->since;
	past->wants = wants;
	past->arg = q;
	past->by = PAST_BY_TIME;
	if (n_ids) {
		plan_ids(q);
	} else if (q->users.n && q->users.n <= KEYS_MAX) {
		past->by = PAST_BY_USER;
		past->keys = q->users.v;
		past->n = q->users.n;
	} else if (q->accounts.n && q->accounts.n <= KEYS_MAX) {
		past->by = PAST_BY_ACCOUNT;
		past->keys = q->accounts.v;
		past->n = q->accounts.n;
	}
}

int acct_query_find_tasks(struct acct_query *q, filter_task_fn *find, void *arg, size_t *at,
        size_t max, struct error *err)
{
	int rc = filter_find_tasks(q->filter, find, arg, at, max, err);

	if (rc == 0 && q->past.by == PAST_BY_ID)
		plan_ids(q);
	return rc;
}

struct past_search {
	struct past *past;
	struct error error;
	bool failed;
};

static bool find_in_past(void *arg, uint64_t id, uint64_t *array, uint32_t *task)
{
	struct past_search *s = arg;
	int rc = s->failed ? 0 : past_task(s->past, id, array, task, &s->error);

	s->failed |= rc < 0;
	return rc > 0;
}

int acct_query_find_past(struct acct_query *q, struct past *past, size_t *at, struct error *err)
{
	struct past_search s = { .past = past };
	int rc = acct_query_find_tasks(q, find_in_past, &s, at, PAST_SLICE, err);

	if (!s.failed)
		return rc;
	if (err)
		*err = s.error;
	return -1;
}

struct acct_query *acct_query_new(const Gpusched__ListAcct *m, const struct conf *conf,
        struct visibility *visibility, struct error *err)
{
	static const Gpusched__ListAcct all = GPUSCHED__LIST_ACCT__INIT;
	struct acct_query *q = xcalloc(1, sizeof(*q));

	if (!m)
		m = &all;
	q->visibility = visibility;
	q->since = m->since_time;
	q->until = m->until_time;
	if (take_filter(q, m->filter, conf, err) < 0) {
		acct_query_free(q);
		return NULL;
	}
	nameset_take_accounts(&q->accounts, m->accounts, m->n_accounts, conf);
	nameset_add_all(&q->qos, m->qos, m->n_qos);
	nameset_add_all(&q->labels, m->labels, m->n_labels);
	nameset_seal(&q->qos);
	nameset_seal(&q->labels);
	if (q->until && q->until <= q->since) {
		acct_query_free(q);
		error_set(err, ERR_USAGE, "--until is not later than --since");
		return NULL;
	}
	take_unknown(q, m, conf);
	plan_past(q);
	return q;
}

void acct_query_free(struct acct_query *q)
{
	if (!q)
		return;
	free(q->ids);
	visibility_free(q->visibility);
	unknown_free(q->unknown);
	filter_free(q->filter);
	filter_free(q->nodes);
	nameset_clear(&q->users);
	nameset_clear(&q->accounts);
	nameset_clear(&q->qos);
	nameset_clear(&q->labels);
	free(q);
}

/* --- using it ------------------------------------------------------------------------------- */

const struct filter *acct_query_filter(const struct acct_query *q)
{
	return q->filter;
}

const struct past_query *acct_query_past(const struct acct_query *q)
{
	return &q->past;
}

void acct_query_window(const struct acct_query *q, int64_t *since, int64_t *until)
{
	*since = q->since;
	*until = q->until;
}

/* Every label that is asked for: "key", or "key=value". */
static bool labels_fit(const struct acct_query *q, const Gpusched__Acct *job)
{
	for (size_t i = 0; i < q->labels.n; i++) {
		const char *want = q->labels.v[i], *value = strchr(want, '=');
		size_t len = value ? (size_t)(value - want) : strlen(want);
		bool found = false;

		for (size_t k = 0; k < job->n_labels && !found; k++) {
			const Gpusched__KeyValue *label = job->labels[k];

			found = strlen(label->key) == len && !strncmp(label->key, want, len) &&
			        (!value || !strcmp(label->value, value + 1));
		}
		if (!found)
			return false;
	}
	return true;
}

/* Did it run, or end, at any time of the window? With states: in one of them, if it is an end. */
static bool time_fits(const struct acct_query *q, const Gpusched__Acct *job)
{
	int64_t end = job->end_time;
	int64_t begin = job->first_start_time ? job->first_start_time
	                : end                 ? end
	                                      : job->submit_time;

	if (end && (end < q->since || (q->has_states && q->until && end >= q->until)))
		return false;
	return !q->until || begin < q->until;
}

bool acct_query_fits(const struct acct_query *q, const Gpusched__Acct *job)
{
	struct job_view nodes = {
		.user = "", .partition = "", .name = "", .ended = true, .state = job->state
	};
	bool waits = !strcmp(job->state, "PENDING");

	/* The tasks of an array are reported; the array parent, when it ends, adds nothing. */
	if (job->several && !job->tasks[0])
		return false;
	if (!visibility_has(q->visibility, job->uid, job->account) ||
	        (waits && !q->pending && !job->runs_billed) ||
	        !nameset_fit(&q->accounts, job->account) || !nameset_fit(&q->qos, job->qos))
		return false;
	nodes.n_nodes = job->n_nodes;
	nodes.nodes = nodes.node = job->nodes;
	return time_fits(q, job) && labels_fit(q, job) &&
	       (!q->nodes || (job->n_nodes && filter_fits(q->nodes, &nodes)));
}

void acct_query_found(struct acct_query *q, const Gpusched__Acct *job)
{
	const struct unknown_met met = {
		.account = job->account,
		.partition = job->partition,
		.qos = job->qos,
		.nodes = job->nodes,
	};

	unknown_meet(q->unknown, &met);
}

int acct_query_check_names(const struct acct_query *q, struct error *err)
{
	return unknown_check(q->unknown, err);
}
