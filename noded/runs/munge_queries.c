/* munge_queries.c - see munge_queries.h */
#include "noded/runs/munge_queries.h"

#include <event2/event.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "common/net/event_end.h"
#include "noded/runs/launcher_state.h"

#define RETRY_MS 500

struct cred_waiter {
	struct cred_waiter *next;
	munge_decoded_fn *fn;
	void *arg;
};

/* A credential that is cached (waiters NULL, job NULL) or being decoded. */
struct cred_entry {
	struct munge_queries *q;
	char *text;
	size_t len;
	bool known, once;
	uint64_t used; /* the least recently used entry is dropped first */
	struct mcred cred;
	struct cred_waiter *waiters;
	struct decode_job *job;
	struct event *retry;
	time_t give_up;
};

struct munge_queries {
	struct event_base *base;
	struct worker_pool *pool;
	const struct mcred_ops *munge;
	void *creds; /* of struct cred_entry, tsearch(3) */
	size_t n_creds;
	uint64_t clock; /* of uses */
	struct make_job *make_jobs; /* open ones; their owner is the pool */
};

/* --- credentials ------------------------------------------------------------------------------ */

/* What the worker sees: a copy, so that a thread touches no data of the loop. */
struct decode_job {
	struct cred_entry *entry; /* NULL: the answer is no longer wanted */
	struct worker_job *handle;
	const struct mcred_ops *munge;
	char *text;
	struct mcred cred;
	int result;
	struct error err;
};

static int cred_order(const void *a, const void *b)
{
	const struct cred_entry *x = a, *y = b;

	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	return memcmp(x->text, y->text, x->len);
}

static void cred_free(struct cred_entry *e)
{
	struct cred_waiter *w;

	if (e->job) {
		e->job->entry = NULL;
		worker_cancel(e->job->handle);
	}
	while ((w = e->waiters)) {
		e->waiters = w->next;
		free(w);
	}
	event_end(e->retry);
	if (e->known)
		mcred_clear(&e->cred);
	free(e->text);
	free(e);
}

static void cred_drop(struct cred_entry *e)
{
	struct munge_queries *q = e->q;

	tdelete(e, &q->creds, cred_order);
	q->n_creds--;
	cred_free(e);
}

struct oldest {
	struct cred_entry *entry;
};

static void find_oldest(const void *node, VISIT visit, void *arg)
{
	struct cred_entry *e = *(struct cred_entry *const *)node;
	struct oldest *o = arg;

	if ((visit == postorder || visit == leaf) && e->known &&
	        (!o->entry || e->used < o->entry->used))
		o->entry = e;
}

static void drop_oldest(struct munge_queries *q)
{
	struct oldest o = { NULL };

	if (q->n_creds <= MUNGE_CACHE_MAX)
		return;
	twalk_r(q->creds, find_oldest, &o);
	if (o.entry)
		cred_drop(o.entry);
}

/* Answer all waiters. Their callbacks may use the entry, so its list is emptied first. */
static void cred_answer(struct cred_entry *e, const struct error *err)
{
	struct cred_waiter *w = e->waiters, *next;
	const struct mcred *cred = e->known ? &e->cred : NULL;

	e->waiters = NULL;
	for (; w; w = next) {
		next = w->next;
		w->fn(cred, err, w->arg);
		free(w);
	}
}

static void decode_run(void *arg)
{
	struct decode_job *j = arg;

	j->result = j->munge->decode(j->munge, j->text, &j->cred, &j->err);
}

static void decode_drop(void *arg)
{
	struct decode_job *j = arg;

	if (j->result == 0)
		mcred_clear(&j->cred);
	free(j->text);
	free(j);
}

static void decode_done(void *arg);
static const struct worker_ops decode_ops = { decode_run, decode_done, decode_drop };

static void cred_fail(struct cred_entry *e, const struct error *err)
{
	/* A waiter may ask again at once: the entry must be out of the tree by then. */
	tdelete(e, &e->q->creds, cred_order);
	e->q->n_creds--;
	cred_answer(e, err);
	cred_free(e);
}

static void decode_start(struct cred_entry *e)
{
	struct decode_job *j = xcalloc(1, sizeof(*j));
	struct error err;

	j->entry = e;
	j->munge = e->q->munge;
	j->text = xstrndup(e->text, e->len);
	j->result = -1;
	j->handle = worker_submit(e->q->pool, POOL_KEY_DECODE, &decode_ops, j, &err);
	if (!j->handle) {
		decode_drop(j);
		cred_fail(e, &err);
		return;
	}
	e->job = j;
}

static void retry_now(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	decode_start(arg);
}

static void decode_done(void *arg)
{
	static const struct timeval pause = { .tv_usec = RETRY_MS * 1000 };
	struct decode_job *j = arg;
	struct cred_entry *e = j->entry;

	if (!e) {
		decode_drop(j);
		return;
	}
	e->job = NULL;
	if (j->result == 0) {
		e->known = true;
		e->cred = j->cred;
		j->result = -1; /* moved */
		cred_answer(e, NULL);
		if (e->once)
			cred_drop(e);
		else
			drop_oldest(e->q);
	} else if (j->err.code == ERR_MUNGE_DOWN &&
	           clock_us(CLOCK_MONOTONIC) / 1000000 < e->give_up) {
		if (!e->retry)
			e->retry = evtimer_new(e->q->base, retry_now, e);
		evtimer_add(e->retry, &pause);
	} else {
		cred_fail(e, &j->err);
	}
	decode_drop(j);
}

static void ask_cred(struct munge_queries *q, const void *bytes, size_t len, bool once,
        munge_decoded_fn *fn, void *arg)
{
	struct cred_entry key = { .text = (char *)(uintptr_t)bytes, .len = len };
	struct cred_entry **at = len ? tfind(&key, &q->creds, cred_order) : NULL, *e;
	struct cred_waiter *w;
	struct error err;

	if (at && (once || (*at)->once)) {
		error_set(&err, ERR_MUNGE_REPLAY, "the credential was used before");
		fn(NULL, &err, arg);
		return;
	}
	if (at && (*at)->known) {
		(*at)->used = ++q->clock;
		fn(&(*at)->cred, NULL, arg);
		return;
	}
	if (len == 0 || len > MCRED_TEXT_MAX || memchr(bytes, '\0', len)) {
		error_set(&err, ERR_SIGNATURE, "%s credential is not text of a credential",
		        once ? "the" : "the job's");
		fn(NULL, &err, arg);
		return;
	}
	w = xcalloc(1, sizeof(*w));
	*w = (struct cred_waiter){ .fn = fn, .arg = arg };
	if (at) {
		w->next = (*at)->waiters;
		(*at)->waiters = w;
		return;
	}
	e = xcalloc(1, sizeof(*e));
	*e = (struct cred_entry){ .q = q,
		.text = xstrndup(bytes, len),
		.len = len,
		.once = once,
		.used = ++q->clock,
		.waiters = w,
		.give_up = clock_us(CLOCK_MONOTONIC) / 1000000 + MUNGE_RETRY_S };
	tsearch(e, &q->creds, cred_order);
	q->n_creds++;
	decode_start(e);
}

void munge_query_decode(
        struct munge_queries *q, const void *bytes, size_t len, munge_decoded_fn *fn, void *arg)
{
	ask_cred(q, bytes, len, false, fn, arg);
}

void munge_query_decode_once(
        struct munge_queries *q, const void *bytes, size_t len, munge_decoded_fn *fn, void *arg)
{
	ask_cred(q, bytes, len, true, fn, arg);
}

/* --- making credentials ----------------------------------------------------------------------- */

struct make_job {
	struct make_job *next;
	struct munge_queries *q; /* NULL: the answer is no longer wanted */
	struct worker_job *handle;
	const struct mcred_ops *munge;
	munge_made_fn *fn;
	void *arg;
	void *payload;
	size_t len;
	uid_t restrict_uid;
	char *cred;
	int result;
	struct error err;
};

static void make_run(void *arg)
{
	struct make_job *j = arg;

	j->result =
	        j->munge->encode(j->munge, j->payload, j->len, j->restrict_uid, &j->cred, &j->err);
}

static void make_drop(void *arg)
{
	struct make_job *j = arg, **at;

	if (j->q) {
		for (at = &j->q->make_jobs; *at != j;)
			at = &(*at)->next;
		*at = j->next;
	}
	explicit_bzero(j->payload, j->len); /* a hello's payload holds the session's secret */
	free(j->payload);
	free(j->cred);
	free(j);
}

static void make_done(void *arg)
{
	struct make_job *j = arg;

	if (j->q)
		j->fn(j->result == 0 ? j->cred : NULL, j->result == 0 ? NULL : &j->err, j->arg);
	make_drop(j);
}

static const struct worker_ops make_ops = { make_run, make_done, make_drop };

void munge_query_make(struct munge_queries *q, const void *payload, size_t len, uid_t restrict_uid,
        munge_made_fn *fn, void *arg)
{
	struct make_job *j = xcalloc(1, sizeof(*j));
	struct error err;

	*j = (struct make_job){ .munge = q->munge,
		.fn = fn,
		.arg = arg,
		.payload = xmemdup(payload, len),
		.len = len,
		.restrict_uid = restrict_uid,
		.result = -1 };
	j->handle = worker_submit(q->pool, POOL_KEY_MAKE, &make_ops, j, &err);
	if (!j->handle) {
		make_drop(j);
		fn(NULL, &err, arg);
		return;
	}
	j->q = q;
	j->next = q->make_jobs;
	q->make_jobs = j;
}

/* --- the whole -------------------------------------------------------------------------------- */

struct munge_queries *munge_queries_new(
        struct event_base *base, struct worker_pool *pool, const struct mcred_ops *munge)
{
	struct munge_queries *q = xcalloc(1, sizeof(*q));

	*q = (struct munge_queries){ .base = base, .pool = pool, .munge = munge };
	return q;
}

static void cred_free_node(void *node)
{
	cred_free(node);
}

void munge_queries_free(struct munge_queries *q)
{
	struct make_job *m;

	if (!q)
		return;
	tdestroy(q->creds, cred_free_node);
	while ((m = q->make_jobs)) {
		q->make_jobs = m->next;
		m->q = NULL;
		worker_cancel(m->handle);
	}
	free(q);
}
