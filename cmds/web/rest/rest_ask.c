/* rest_ask.c - /v1/: what the controller is asked for: why, acct, prios, events
 *
 * In a worker, as the viewer. Answers are bounded by `limit`: at so many items the rest is not
 * waited for.
 */
#include <stdlib.h>
#include <string.h>

#include "cmds/web/auth/ask_as_user.h"
#include "cmds/web/rest/rest.h"
#include "cmds/web/rest/rest_query.h"
#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "common/net/msgjson.h"

/* The items of an answer, as text. */
struct listing {
	const char *list;
	struct strbuf items;
	char *currency;
	json_t *weights;
	uint64_t next; /* of events */
	unsigned n, limit;
	bool full; /* there was more */
};

static void forget(void *arg)
{
	struct listing *l = arg;

	strbuf_free(&l->items);
	free(l->currency);
	l->currency = NULL;
	json_decref(l->weights);
	l->weights = NULL;
	l->n = 0;
	l->full = false;
}

/* -1: it is full, and that is no failure. */
static int add(struct listing *l, const ProtobufCMessage *m, struct error *err)
{
	json_t *item;

	if (l->n == l->limit) {
		l->full = true;
		return error_set(err, ERR_NONE, "enough");
	}
	item = msgjson(m, 0);
	strbuf_adds(&l->items, l->n++ ? ",\n" : "\n");
	rest_json(&l->items, item);
	json_decref(item);
	return 0;
}

/* Ask, and answer. */
static void ask(const struct http_request *r, struct http_answer *a, struct client_call *call,
        struct listing *l)
{
	struct error err;
	int rc;

	call->arg = l;
	rc = ask_as(r->client, r->viewer->uid, call, forget, &err);
	if (l->full)
		client_drop(r->client); /* the rest of the answer is still under way */
	if (rc < 0 && !l->full) {
		rest_error(r, a, &err);
		forget(l);
		return;
	}
	rest_begin(r, a);
	if (l->currency) {
		strbuf_adds(&a->body, ",\"currency\":");
		rest_text(&a->body, l->currency);
	}
	if (l->weights) {
		strbuf_adds(&a->body, ",\"weights\":");
		rest_json(&a->body, l->weights);
	}
	rest_list(a, l->list);
	if (l->items.s)
		strbuf_add(&a->body, l->items.s, l->items.len);
	strbuf_adds(&a->body, "]");
	if (l->full && l->next)
		strbuf_addf(&a->body, ",\"next\":%llu", (unsigned long long)l->next);
	else if (l->full)
		strbuf_adds(&a->body, ",\"more\":true");
	rest_end(a);
	forget(l);
}

static bool read_query(
        const struct http_request *r, struct http_answer *a, unsigned params, struct rest_query *q)
{
	struct error err;

	if (rest_query_read(r, params, q, &err) == 0)
		return true;
	rest_error(r, a, &err);
	return false;
}

static void keep_currency(struct listing *l, const char *currency)
{
	if (!l->currency)
		l->currency = xstrdup(currency);
}

/* --- why -------------------------------------------------------------------------------------- */

static int on_why(const ProtobufCMessage *m, void *arg, struct error *err)
{
	return add(arg, m, err);
}

void rest_why(const struct http_request *r, struct http_answer *a)
{
	Gpusched__JobWhy m = GPUSCHED__JOB_WHY__INIT;
	struct listing l = { .list = "jobs", .limit = REST_LIMIT_MAX };
	struct client_call call = { CLIENT_CALL(JOB_WHY, &m.base, WHY_RESULT, on_why, NULL) };
	struct cmd_ids ids = { 0 };
	struct rest_query q;
	struct error err;

	if (!read_query(r, a, 0, &q))
		return;
	rest_query_clear(&q);
	if (cmd_ids_add(&ids, r->name, &err) < 0) {
		rest_error(r, a, &err);
	} else {
		m.ids = ids.whole;
		m.n_ids = ids.n_whole;
		m.tasks = ids.some;
		m.n_tasks = ids.n_some;
		ask(r, a, &call, &l);
	}
	cmd_ids_clear(&ids);
}

/* --- acct ------------------------------------------------------------------------------------- */

static int on_acct(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__AcctChunk *chunk = (const Gpusched__AcctChunk *)m;

	keep_currency(arg, chunk->currency);
	for (size_t i = 0; i < chunk->n_jobs; i++)
		if (add(arg, &chunk->jobs[i]->base, err) < 0)
			return -1;
	return 0;
}

void rest_acct(const struct http_request *r, struct http_answer *a)
{
	Gpusched__ListAcct m = GPUSCHED__LIST_ACCT__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	struct listing l = { .list = "jobs" };
	struct client_call call = { CLIENT_CALL(LIST_ACCT, &m.base, ACCT_CHUNK, on_acct, NULL) };
	struct rest_query q;

	if (!read_query(r, a, REST_JOBS | REST_SINCE | REST_UNTIL | REST_LIMIT, &q))
		return;
	filter_message(&q.filter, &filter);
	/* Of accounts and QOS the accounting has lists of its own. */
	COPY_FIELDS(&m, &filter, accounts, n_accounts, qos, n_qos);
	filter.n_accounts = filter.n_qos = 0;
	m.filter = &filter;
	m.since_time = q.since_us;
	m.until_time = q.until_us;
	l.limit = q.limit;
	ask(r, a, &call, &l);
	rest_query_clear(&q);
}

/* --- prios ------------------------------------------------------------------------------------ */

static int on_prios(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__PrioChunk *chunk = (const Gpusched__PrioChunk *)m;
	struct listing *l = arg;

	if (chunk->weights && !l->weights)
		l->weights = msgjson(&chunk->weights->base, 0);
	for (size_t i = 0; i < chunk->n_prios; i++)
		if (add(l, &chunk->prios[i]->base, err) < 0)
			return -1;
	return 0;
}

void rest_prios(const struct http_request *r, struct http_answer *a)
{
	Gpusched__ListPrios m = GPUSCHED__LIST_PRIOS__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	struct listing l = { .list = "prios" };
	struct client_call call = { CLIENT_CALL(LIST_PRIOS, &m.base, PRIO_CHUNK, on_prios, NULL) };
	struct rest_query q;

	if (!read_query(r, a, REST_JOBS | REST_LIMIT, &q))
		return;
	filter_message(&q.filter, &filter);
	m.filter = &filter;
	l.limit = q.limit;
	ask(r, a, &call, &l);
	rest_query_clear(&q);
}

/* --- events ----------------------------------------------------------------------------------- */

static int on_events(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__EventChunk *chunk = (const Gpusched__EventChunk *)m;
	struct listing *l = arg;

	for (size_t i = 0; i < chunk->n_events; i++) {
		if (add(l, &chunk->events[i]->base, err) < 0)
			return -1;
		l->next = chunk->events[i]->seq;
	}
	return 0;
}

void rest_events(const struct http_request *r, struct http_answer *a)
{
	Gpusched__ListEvents m = GPUSCHED__LIST_EVENTS__INIT;
	struct listing l = { .list = "events" };
	struct client_call call = {
		CLIENT_CALL(LIST_EVENTS, &m.base, EVENT_CHUNK, on_events, NULL)
	};
	struct rest_query q;

	if (!read_query(r, a,
	            REST_JOB | REST_KIND | REST_NODE | REST_SINCE | REST_UNTIL | REST_PAGE, &q))
		return;
	m.job = q.job;
	m.since_time = q.since_us;
	m.until_time = q.until_us;
	m.after_seq = q.after;
	m.kinds = q.kinds.v;
	m.n_kinds = q.kinds.n;
	m.nodes = q.filter.lists[FILTER_NODES].v;
	m.n_nodes = q.filter.lists[FILTER_NODES].n;
	/* Of all users only operators are told. */
	m.by_uid = !m.job && r->viewer->role == VIEWER_USER;
	m.uid = m.by_uid ? (int64_t)r->viewer->uid : 0;
	l.limit = q.limit;
	ask(r, a, &call, &l);
	rest_query_clear(&q);
}
