/* controller_poll.c - see controller_poll.h */
#include "cmds/web/controller_poll.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/api/client.h"
#include "cmds/api/reassemble.h"
#include "cmds/api/service.h"
#include "cmds/web/watcher.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"

#define ARRAYS_MAX 1000 /* asked for at once */

#define WAITING_MS 10000

/* --- jobs ------------------------------------------------------------------------------------- */

void poll_init(struct poll *l)
{
	*l = (struct poll){ .texts = snapshot_texts_new(), .private_jobs = true };
}

void poll_drop_jobs(struct poll *l)
{
	for (size_t i = 0; i < l->n_jobs; i++)
		snapshot_job_free(l->jobs[i]);
	l->n_jobs = l->arrays.n = l->listed.n = 0;
	l->due_ms[ASK_WAITING] = clock_us(CLOCK_MONOTONIC) / 1000 + WAITING_MS;
}

void poll_clear(struct poll *l)
{
	poll_drop_jobs(l);
	free(l->jobs);
	free(l->arrays.v);
	free(l->listed.v);
	for (int i = 0; i < LIST_COUNT; i++)
		messages_put(l->messages[i]);
	free(l->cluster);
	free(l->version);
	free(l->currency);
	snapshot_texts_free(l->texts);
}

static void add_id(struct id_list *l, uint64_t id)
{
	if (l->n && l->v[l->n - 1] == id)
		return;
	*XADD(l->v, l->n, l->size) = id;
}

static int compare_ids(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* In order, each once. */
static void sort_ids(struct id_list *l)
{
	size_t n = 0;

	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), compare_ids);
	for (size_t i = 0; i < l->n; i++)
		if (!n || l->v[n - 1] != l->v[i])
			l->v[n++] = l->v[i];
	l->n = n;
}

static void add_job(struct poll *l, const Gpusched__Job *m)
{
	struct snapshot_job *job = snapshot_job_new(m, l->texts);

	job->serial = ++l->told;
	*XADD(l->jobs, l->n_jobs, l->size) = job;
}

/* Records of waiting tasks are joined and split, and have no name but their tasks: of an array with
 * a change they are asked for anew, all at once. */
void poll_add_job(struct poll *l, const Gpusched__Job *m, bool listing)
{
	l->changed = true;
	if (*m->array && !listing)
		add_id(&l->arrays, m->id);
	if (!m->several || listing)
		add_job(l, m);
}

/* --- answers ---------------------------------------------------------------------------------- */

static int on_item(const ProtobufCMessage *item, void *arg, struct error *err)
{
	(void)err;
	messages_add(arg, item);
	return 0;
}

static int on_private(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct poll *l = arg;

	(void)err;
	l->private_jobs = ((const Gpusched__LookAsResult *)m)->private_jobs;
	return 0;
}

/* Only web users and administrators are told. As another user gweb sees no more than that user, and
 * takes jobs for private. */
static int ask_private(struct poll *l, struct client *c, struct messages *to, struct error *err)
{
	Gpusched__LookAs m = GPUSCHED__LOOK_AS__INIT;
	struct client_call call = CLIENT_ASK(LOOK_AS, &m.base, LOOK_AS_RESULT, on_private, l);
	struct error why;

	(void)to;
	m.self = true;
	if (client_call(c, &call, &why) == 0)
		return 0;
	l->private_jobs = true;
	if (why.code == ERR_NOT_PERMITTED)
		return 0;
	*err = why;
	return -1;
}

static int ask_nodes(struct poll *l, struct client *c, struct messages *to, struct error *err)
{
	Gpusched__ListNodes m = GPUSCHED__LIST_NODES__INIT;
	struct reassembly whole = { GPUSCHED__MSG_TYPE__MSG_NODE_CHUNK, on_item, to, NULL };

	(void)l;
	m.devices = true;
	m.whole = true;
	return reassembly_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_NODES, &m.base, &whole, err);
}

static int ask_partitions(struct poll *l, struct client *c, struct messages *to, struct error *err)
{
	Gpusched__ListPartitions m = GPUSCHED__LIST_PARTITIONS__INIT;
	struct reassembly whole = { GPUSCHED__MSG_TYPE__MSG_PARTITION_CHUNK, on_item, to, NULL };

	(void)l;
	m.whole = true;
	return reassembly_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_PARTITIONS, &m.base, &whole, err);
}

struct shares {
	struct poll *lists;
	struct messages *to;
};

static int on_shares(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ShareChunk *chunk = (const Gpusched__ShareChunk *)m;
	struct shares *s = arg;

	(void)err;
	if (*chunk->currency) {
		free(s->lists->currency);
		s->lists->currency = xstrdup(chunk->currency);
	}
	for (size_t i = 0; i < chunk->n_shares; i++)
		messages_add(s->to, &chunk->shares[i]->base);
	return 0;
}

static int ask_shares(struct poll *l, struct client *c, struct messages *to, struct error *err)
{
	Gpusched__ListShares m = GPUSCHED__LIST_SHARES__INIT;
	struct shares s = { l, to };
	struct client_call call = CLIENT_ASK(LIST_SHARES, &m.base, SHARE_CHUNK, on_shares, &s);

	return client_call(c, &call, err);
}

static int on_service(const Gpusched__Service *service, void *arg, struct error *err)
{
	(void)err;
	messages_add(arg, &service->base);
	return 0;
}

static int ask_services(struct poll *l, struct client *c, struct messages *to, struct error *err)
{
	struct service_query query = { .replicas = true };

	(void)l;
	return service_list(c, &query, on_service, to, err);
}

static int on_stats(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__StatsResult *result = (const Gpusched__StatsResult *)m;

	(void)err;
	for (size_t i = 0; i < result->n_stats; i++)
		messages_add(arg, &result->stats[i]->base);
	return 0;
}

static int on_pong(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Pong *pong = (const Gpusched__Pong *)m;
	struct poll *l = arg;

	(void)err;
	free(l->cluster);
	free(l->version);
	l->cluster = xstrdup(pong->cluster);
	l->version = xstrdup(pong->version);
	return 0;
}

static int ask_stats(struct poll *l, struct client *c, struct messages *to, struct error *err)
{
	Gpusched__Stats m = GPUSCHED__STATS__INIT;
	Gpusched__Ping ping = GPUSCHED__PING__INIT;
	struct client_call call = CLIENT_ASK(STATS, &m.base, STATS_RESULT, on_stats, to);
	struct client_call hello = CLIENT_ASK(PING, &ping.base, PONG, on_pong, l);

	if (!l->cluster && client_call(c, &hello, err) < 0)
		return -1;
	return client_call(c, &call, err);
}

static int on_job(const ProtobufCMessage *item, void *arg, struct error *err)
{
	const Gpusched__Job *m = (const Gpusched__Job *)item;
	struct poll *l = arg;

	(void)err;
	if (m->several)
		add_id(&l->listed, m->id);
	add_job(l, m);
	return 0;
}

static int ask_jobs(
        struct poll *l, struct client *c, const uint64_t *ids, size_t n, struct error *err)
{
	Gpusched__ListJobs m = GPUSCHED__LIST_JOBS__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	struct reassembly whole = { GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, on_job, l, NULL };
	char *states[] = { (char *)"PENDING" };

	filter.states = states;
	filter.n_states = 1;
	filter.ids = (uint64_t *)(uintptr_t)ids;
	filter.n_ids = n;
	m.filter = &filter;
	m.whole = true;
	return reassembly_ask(c, GPUSCHED__MSG_TYPE__MSG_LIST_JOBS, &m.base, &whole, err);
}

static int ask_waiting(struct poll *l, struct client *c, struct messages *to, struct error *err)
{
	(void)to;
	return ask_jobs(l, c, NULL, 0, err);
}

/* An array that is not known any more has no waiting tasks either. */
static int ask_arrays(struct poll *l, struct client *c, struct messages *to, struct error *err)
{
	size_t n;
	struct error why;

	(void)to;
	sort_ids(&l->arrays);
	n = l->arrays.n < ARRAYS_MAX ? l->arrays.n : ARRAYS_MAX;
	if (ask_jobs(l, c, l->arrays.v, n, &why) < 0 && why.code != ERR_NO_JOB) {
		*err = why;
		return -1;
	}
	for (size_t i = 0; i < n; i++)
		add_id(&l->listed, l->arrays.v[i]);
	l->arrays.n -= n;
	memmove(l->arrays.v, l->arrays.v + n, l->arrays.n * sizeof(*l->arrays.v));
	return 0;
}

/* --- when ------------------------------------------------------------------------------------- */

static const struct {
	int list; /* enum snapshot_list; -1: jobs */
	int64_t every_ms;
	bool on_change; /* at once where jobs have changed */
	int (*ask)(struct poll *l, struct client *c, struct messages *to, struct error *err);
} questions[ASK_COUNT] = {
	[ASK_PRIVATE] = { -1, 2000, false, ask_private },
	[ASK_NODES] = { LIST_NODES, 5000, true, ask_nodes },
	[ASK_PARTITIONS] = { LIST_PARTITIONS, 5000, true, ask_partitions },
	[ASK_SHARES] = { LIST_SHARES, 10000, false, ask_shares },
	[ASK_SERVICES] = { LIST_SERVICES, 2000, false, ask_services },
	[ASK_STATS] = { LIST_STATS, 5000, false, ask_stats },
	[ASK_WAITING] = { -1, WAITING_MS, false, ask_waiting },
	[ASK_ARRAYS] = { -1, INT64_MAX, false, ask_arrays },
};

static bool is_due(const struct poll *l, int q, int64_t now)
{
	if (now < l->rests_ms[q])
		return false;
	if (q == ASK_ARRAYS)
		return l->arrays.n > 0;
	return now >= l->due_ms[q] || (questions[q].on_change && l->changed);
}

/* The lesser of two answers in turn counts: a single slow one tells of the machine, not of the
 * list. */
static void poll_interval_after(struct poll *l, int q, int64_t now_us, int64_t took_us)
{
	int64_t cost = took_us < l->took_us[q] ? took_us : l->took_us[q];

	l->took_us[q] = took_us;
	l->rests_ms[q] = now_us / 1000 + cost * WATCHER_REST / 1000;
	if (l->rests_ms[q] > now_us / 1000 + WATCHER_REST_MAX_MS)
		l->rests_ms[q] = now_us / 1000 + WATCHER_REST_MAX_MS;
}

static int ask_one(struct poll *l, int q, struct client *c, struct error *err)
{
	int64_t began = clock_us(CLOCK_MONOTONIC), took;
	struct messages *to = messages_new();

	if (questions[q].ask(l, c, to, err) < 0) {
		messages_put(to);
		return -1;
	}
	took = clock_us(CLOCK_MONOTONIC) - began;
	poll_interval_after(l, q, began + took, took);
	l->due_ms[q] =
	        questions[q].every_ms == INT64_MAX ? 0 : began / 1000 + questions[q].every_ms;
	if (questions[q].list < 0) {
		messages_put(to);
		return 0;
	}
	messages_put(l->messages[questions[q].list]);
	l->messages[questions[q].list] = to;
	return 0;
}

int poll_ask(struct poll *l, struct client *c, int64_t now_ms, struct error *err)
{
	bool due[ASK_COUNT];

	for (int q = 0; q < ASK_COUNT; q++)
		due[q] = is_due(l, q, now_ms);
	for (int q = 0; q < ASK_COUNT; q++)
		if (due[q] && ask_one(l, q, c, err) < 0)
			return -1;
	if (due[ASK_NODES])
		l->changed = false;
	return 0;
}

void poll_failed(struct poll *l)
{
	free(l->cluster);
	l->cluster = NULL;
	for (int q = 0; q < ASK_COUNT; q++)
		if (q != ASK_WAITING)
			l->due_ms[q] = 0;
}

/* --- to a snapshot ---------------------------------------------------------------------------- */

/* Tasks of an array whose waiting ones were not asked for yet come to a later snapshot: they would
 * be there twice. Those that go now are the first. Returns how many. */
static size_t hold_back(struct poll *l)
{
	struct snapshot_job **held = xcalloc(l->n_jobs + 1, sizeof(struct snapshot_job *));
	size_t n = 0, n_held = 0;

	sort_ids(&l->arrays);
	for (size_t i = 0; i < l->n_jobs; i++)
		if (bsearch(&l->jobs[i]->id, l->arrays.v, l->arrays.n, sizeof(*l->arrays.v),
		            compare_ids))
			held[n_held++] = l->jobs[i];
		else
			l->jobs[n++] = l->jobs[i];
	memcpy(l->jobs + n, held, n_held * sizeof(struct snapshot_job *));
	free(held);
	return n;
}

void poll_take(struct poll *l, struct snapshot_draft *d)
{
	d->cluster = l->cluster ? l->cluster : "";
	d->version = l->version ? l->version : "";
	d->currency = l->currency ? l->currency : "";
	d->private_jobs = l->private_jobs;
	l->n_taken = l->arrays.n ? hold_back(l) : l->n_jobs;
	d->set = l->jobs;
	d->n_set = l->n_taken;
	sort_ids(&l->listed);
	d->arrays = l->listed.v;
	d->n_arrays = l->listed.n;
	for (int i = 0; i < LIST_COUNT; i++) {
		d->lists[i] = l->messages[i];
		l->messages[i] = NULL;
	}
}

void poll_taken(struct poll *l)
{
	/* The first ones are the snapshot's. */
	l->n_jobs -= l->n_taken;
	if (l->n_jobs)
		memmove(l->jobs, l->jobs + l->n_taken, l->n_jobs * sizeof(struct snapshot_job *));
	l->listed.n = 0;
	/* The first list of a large cluster takes much room, and no later one does. */
	if (l->size > 4096 && !l->n_jobs) {
		free(l->jobs);
		l->jobs = NULL;
		l->size = 0;
		malloc_trim(0);
	}
}
