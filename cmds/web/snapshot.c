/* snapshot.c - see snapshot.h and snapshot_make.h
 *
 * The thread that makes snapshots also frees them: their memory is in that thread's arena, whose
 * lock malloc_trim() holds for a long time.
 *
 * When a job is freed: snapshot N + 1 has replaced or dropped the job, so N is the last snapshot
 * that has it. The job waits in a batch until N and all older snapshots are freed. Lists of
 * messages and deltas are shared by reference counts.
 */
#include "cmds/web/snapshot.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "cmds/web/metrics/counters.h"
#include "cmds/web/snapshot_make.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"

#define TRIM_JOBS 4096
#define NEW_US    (60 * INT64_C(1000000)) /* a job is new for so long */

/* Jobs that the snapshot behind `serial` has no more. */
struct retired {
	STAILQ_ENTRY(retired) next;
	uint64_t serial;
	size_t n, size;
	struct snapshot_job **jobs;
};

struct snapshot_own {
	struct snapshot snap; /* first */
	TAILQ_ENTRY(snapshot_own) next;
	struct snapshots *all;
	atomic_uint refs;
	char *cluster, *version, *currency;
	struct messages *lists[LIST_COUNT];
};

struct snapshots {
	pthread_mutex_t lock;
	TAILQ_HEAD(, snapshot_own) alive; /* the oldest first */
	TAILQ_HEAD(, snapshot_own) dead;  /* without a reference */
	STAILQ_HEAD(, retired) retired;   /* the oldest first */
	struct snapshot_own *newest;      /* with a reference */
	uint64_t serial;
	char trouble[512];
};

/* --- lists of messages ------------------------------------------------------------------------ */

struct messages {
	atomic_uint refs;
	size_t n, size;
	ProtobufCMessage **v;
};

struct messages *messages_new(void)
{
	struct messages *m = xcalloc(1, sizeof(*m));

	atomic_init(&m->refs, 1);
	return m;
}

void messages_add(struct messages *m, const ProtobufCMessage *item)
{
	size_t len = protobuf_c_message_get_packed_size(item);
	uint8_t *bytes = xcalloc(len + 1, 1);
	ProtobufCMessage *copy;

	protobuf_c_message_pack(item, bytes);
	copy = protobuf_c_message_unpack(item->descriptor, NULL, len, bytes);
	free(bytes);
	if (!copy)
		return;
	*XADD(m->v, m->n, m->size) = copy;
}

struct messages *messages_ref(struct messages *m)
{
	atomic_fetch_add(&m->refs, 1);
	return m;
}

void messages_put(struct messages *m)
{
	if (!m || atomic_fetch_sub(&m->refs, 1) != 1)
		return;
	for (size_t i = 0; i < m->n; i++)
		protobuf_c_message_free_unpacked(m->v[i], NULL);
	free(m->v);
	free(m);
}

static bool same_message(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
	size_t n = protobuf_c_message_get_packed_size(a);
	uint8_t *bytes;
	bool same;

	if (n != protobuf_c_message_get_packed_size(b))
		return false;
	bytes = xcalloc(n + 1, 2);
	protobuf_c_message_pack(a, bytes);
	protobuf_c_message_pack(b, bytes + n);
	same = !memcmp(bytes, bytes + n, n);
	free(bytes);
	return same;
}

bool messages_same(const struct messages *a, const struct messages *b)
{
	if (!a || !b || a->n != b->n)
		return a == b;
	for (size_t i = 0; i < a->n; i++)
		if (!same_message(a->v[i], b->v[i]))
			return false;
	return true;
}

/* --- lives of snapshots ----------------------------------------------------------------------- */

struct snapshots *snapshots_new(void)
{
	struct snapshots *s = xcalloc(1, sizeof(*s));

	pthread_mutex_init(&s->lock, NULL);
	TAILQ_INIT(&s->alive);
	TAILQ_INIT(&s->dead);
	STAILQ_INIT(&s->retired);
	/* Above all serials of an earlier gweb. */
	s->serial = (uint64_t)clock_us(CLOCK_REALTIME) / 1000;
	snprintf(s->trouble, sizeof(s->trouble), "the controller was not reached yet");
	return s;
}

/* What no snapshot has any more. With the lock. */
static struct retired *take_retired(struct snapshots *s)
{
	struct snapshot_own *oldest = TAILQ_FIRST(&s->alive);
	struct retired *r = STAILQ_FIRST(&s->retired);

	if (!r || (oldest && oldest->snap.serial <= r->serial))
		return NULL;
	STAILQ_REMOVE_HEAD(&s->retired, next);
	return r;
}

static void free_retired(struct retired *r)
{
	for (size_t i = 0; i < r->n; i++)
		snapshot_job_free(r->jobs[i]);
	free(r->jobs);
	free(r);
}

static void delta_put(struct snapshot_delta *d)
{
	if (__atomic_sub_fetch(&d->refs, 1, __ATOMIC_ACQ_REL))
		return;
	free(d->jobs);
	free(d);
}

static void free_own(struct snapshot_own *o)
{
	for (int i = 0; i < LIST_COUNT; i++)
		messages_put(o->lists[i]);
	for (size_t i = 0; i < o->snap.n_deltas; i++)
		delta_put(o->snap.deltas[i]);
	free(o->snap.deltas);
	free(o->snap.jobs);
	counters_free((struct counters *)(uintptr_t)o->snap.counters);
	free(o->cluster);
	free(o->version);
	free(o->currency);
	free(o);
}

static struct snapshot_own *take_dead(struct snapshots *s)
{
	struct snapshot_own *o = TAILQ_FIRST(&s->dead);

	if (o)
		TAILQ_REMOVE(&s->dead, o, next);
	return o;
}

/* In the watcher's thread: many jobs take a while. What so many had is given back to the system. */
static void free_what_went(struct snapshots *s)
{
	struct snapshot_own *o;
	struct retired *r;
	size_t n = 0;

	do {
		pthread_mutex_lock(&s->lock);
		o = take_dead(s);
		r = take_retired(s);
		pthread_mutex_unlock(&s->lock);
		n += r ? r->n : 0;
		if (o)
			free_own(o);
		if (r)
			free_retired(r);
	} while (o || r);
	if (n > TRIM_JOBS)
		malloc_trim(0);
}

struct snapshot *snapshot_get(struct snapshots *s)
{
	struct snapshot_own *o;

	pthread_mutex_lock(&s->lock);
	o = s->newest;
	if (o)
		atomic_fetch_add(&o->refs, 1);
	pthread_mutex_unlock(&s->lock);
	return o ? &o->snap : NULL;
}

void snapshot_put(struct snapshot *snap)
{
	struct snapshots *s = snap ? snap->own->all : NULL;

	/* The newest has a reference of its own: none can be had again once the last is gone. */
	if (!snap || atomic_fetch_sub(&snap->own->refs, 1) != 1)
		return;
	pthread_mutex_lock(&s->lock);
	TAILQ_REMOVE(&s->alive, snap->own, next);
	TAILQ_INSERT_TAIL(&s->dead, snap->own, next);
	pthread_mutex_unlock(&s->lock);
}

void snapshots_free(struct snapshots *s)
{
	if (!s)
		return;
	if (s->newest) {
		/* The last one's jobs go with it. */
		for (size_t i = 0; i < s->newest->snap.n_jobs; i++)
			snapshot_job_free(s->newest->snap.jobs[i]);
		snapshot_put(&s->newest->snap);
	}
	free_what_went(s);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

size_t snapshots_held(struct snapshots *s)
{
	struct snapshot_own *o;
	size_t n = 0;

	pthread_mutex_lock(&s->lock);
	TAILQ_FOREACH (o, &s->alive, next)
		n++;
	pthread_mutex_unlock(&s->lock);
	return n;
}

void snapshots_tell(struct snapshots *s, const char *trouble)
{
	pthread_mutex_lock(&s->lock);
	snprintf(s->trouble, sizeof(s->trouble), "%s", trouble);
	pthread_mutex_unlock(&s->lock);
}

bool snapshots_health(struct snapshots *s, char *buf, size_t size)
{
	pthread_mutex_lock(&s->lock);
	snprintf(buf, size, "%s", s->trouble);
	pthread_mutex_unlock(&s->lock);
	return !*buf;
}

int64_t snapshot_age_us(const struct snapshot *snap)
{
	int64_t age = clock_us(CLOCK_REALTIME) - snap->taken_us;

	return age > 0 ? age : 0;
}

/* --- making one ------------------------------------------------------------------------------- */

/* Of two alike the later one comes last. */
static int compare_set(const void *a, const void *b)
{
	const struct snapshot_job *x = *(struct snapshot_job *const *)a,
	                          *y = *(struct snapshot_job *const *)b;
	int order = snapshot_job_compare(x, y);

	return order ? order : (x->serial > y->serial) - (x->serial < y->serial);
}

void snapshot_draft_sort(struct snapshot_draft *d)
{
	size_t n = 0;

	if (d->n_set)
		qsort(d->set, d->n_set, sizeof(struct snapshot_job *), compare_set);
	for (size_t i = 0; i < d->n_set; i++) {
		if (n && !snapshot_job_compare(d->set[n - 1], d->set[i]))
			snapshot_job_free(d->set[--n]);
		d->set[n++] = d->set[i];
	}
	d->n_set = n;
}

static void retire(struct retired *r, struct snapshot_job *job)
{
	*XADD(r->jobs, r->n, r->size) = job;
}

static bool listed_anew(const struct snapshot_draft *d, uint64_t id)
{
	size_t from = 0, to = d->n_arrays;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (d->arrays[mid] == id)
			return true;
		if (d->arrays[mid] < id)
			from = mid + 1;
		else
			to = mid;
	}
	return false;
}

/* Is it not to be in the next snapshot, unless it is set? */
static bool goes(const struct snapshot_draft *d, const struct snapshot_job *job)
{
	return d->all || (job->status->ended && job->end_time < d->ended_since) ||
	       (job->several && listed_anew(d, job->id));
}

/* The old jobs and the new ones, both in order; of two alike the new one stays, unless it says the
 * same. */
static void merge(struct snapshot *snap, const struct snapshot *old, struct snapshot_draft *d,
        struct retired *r)
{
	size_t n_old = old ? old->n_jobs : 0, i = 0, k = 0;

	snap->jobs = xcalloc(n_old + d->n_set, sizeof(*snap->jobs));
	while (i < n_old || k < d->n_set) {
		int order = i == n_old      ? 1
		            : k == d->n_set ? -1
		                            : snapshot_job_compare(old->jobs[i], d->set[k]);

		if (order > 0) {
			snap->jobs[snap->n_jobs++] = d->set[k++];
		} else if (order == 0 && snapshot_job_same(old->jobs[i], d->set[k])) {
			snap->jobs[snap->n_jobs++] = old->jobs[i++];
			snapshot_job_free(d->set[k]);
			d->set[k++] = NULL;
		} else if (order == 0 || goes(d, old->jobs[i])) {
			retire(r, old->jobs[i++]);
		} else {
			snap->jobs[snap->n_jobs++] = old->jobs[i++];
		}
	}
}

static int compare_times(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Of those that ended only the latest stay. */
static void trim(struct snapshot *snap, size_t max, struct retired *r)
{
	int64_t *ends = xcalloc(snap->n_jobs + 1, sizeof(*ends)), since;
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < snap->n_jobs; i++)
		if (snap->jobs[i]->status->ended)
			ends[n++] = snap->jobs[i]->end_time;
	if (n <= max) {
		free(ends);
		return;
	}
	qsort(ends, n, sizeof(*ends), compare_times);
	since = ends[n - max];
	free(ends);
	for (size_t i = 0; i < snap->n_jobs; i++)
		if (snap->jobs[i]->status->ended && snap->jobs[i]->end_time < since)
			retire(r, snap->jobs[i]);
		else
			snap->jobs[kept++] = snap->jobs[i];
	snap->n_jobs = kept;
}

static int compare_keys(const void *a, const void *b)
{
	const struct snapshot_key *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->raw_id > y->raw_id) - (x->raw_id < y->raw_id);
}

static void add_key(struct snapshot_delta *delta, size_t *size, const struct snapshot_job *job)
{
	*XADD(delta->jobs, delta->n_jobs, *size) = (struct snapshot_key){ job->id, job->raw_id };
}

/* In order, each once. */
static void sort_keys(struct snapshot_delta *delta)
{
	size_t n = 0;

	if (delta->n_jobs)
		qsort(delta->jobs, delta->n_jobs, sizeof(*delta->jobs), compare_keys);
	for (size_t i = 0; i < delta->n_jobs; i++)
		if (!n || compare_keys(&delta->jobs[i], &delta->jobs[n - 1]) != 0)
			delta->jobs[n++] = delta->jobs[i];
	delta->n_jobs = n;
}

/* Does a long delta name a replaced record? Not if the job still waits with the same request: then
 * at most its place or its reason to wait has changed. */
static bool left_waiting(const struct snapshot *snap, const struct snapshot_job *before)
{
	size_t n;
	struct snapshot_job **now =
	        snapshot_keyed(snap, (struct snapshot_key){ before->id, before->raw_id }, &n);

	return !now || !before->status->waits || now[0]->request != before->request;
}

/* Does a long delta name a new record by itself? Not if the job has waited for more than NEW_US. */
static bool is_news(const struct snapshot *snap, const struct snapshot_job *job)
{
	return !job->status->waits || snap->taken_us - job->submit_time <= NEW_US;
}

/* What was set, and what went. */
static struct snapshot_delta *make_delta(
        const struct snapshot *snap, const struct snapshot_draft *d, const struct retired *r)
{
	struct snapshot_delta *delta = xcalloc(1, sizeof(*delta));
	size_t n_set = 0, size = 0;

	delta->refs = 1;
	delta->serial = snap->serial;
	delta->cursor = d->cursor;
	delta->fresh = d->fresh;
	if (d->fresh)
		return delta;
	for (size_t i = 0; i < d->n_set; i++)
		n_set += d->set[i] != NULL;
	delta->more = n_set > SNAPSHOT_CHANGES_MAX || r->n > SNAPSHOT_CHANGES_MAX;
	for (size_t i = 0; i < d->n_set; i++)
		if (d->set[i] && (!delta->more || is_news(snap, d->set[i])))
			add_key(delta, &size, d->set[i]);
	for (size_t i = 0; i < r->n; i++)
		if (!delta->more || left_waiting(snap, r->jobs[i]))
			add_key(delta, &size, r->jobs[i]);
	sort_keys(delta);
	return delta;
}

static void add_delta(
        struct snapshot *snap, const struct snapshot *old, struct snapshot_delta *delta)
{
	size_t n = old ? old->n_deltas : 0, from = n == SNAPSHOT_DELTAS;

	snap->deltas = xcalloc(SNAPSHOT_DELTAS, sizeof(struct snapshot_delta *));
	for (size_t i = from; i < n; i++) {
		snap->deltas[snap->n_deltas] = old->deltas[i];
		__atomic_add_fetch(&snap->deltas[snap->n_deltas++]->refs, 1, __ATOMIC_RELAXED);
	}
	snap->deltas[snap->n_deltas++] = delta;
}

static void take_lists(struct snapshot_own *o, const struct snapshot_own *old,
        struct snapshot_draft *d, struct snapshot_delta *delta)
{
	struct snapshot *snap = &o->snap;

	for (int i = 0; i < LIST_COUNT; i++) {
		struct messages *before = old ? old->lists[i] : NULL;

		if (d->lists[i] && !messages_same(d->lists[i], before)) {
			o->lists[i] = d->lists[i];
			delta->lists |= 1U << i;
		} else {
			o->lists[i] = before ? messages_ref(before) : messages_new();
			messages_put(d->lists[i]);
		}
	}
	/* The lists hold messages of one kind each, so they are arrays of it. */
	snap->n_nodes = o->lists[LIST_NODES]->n;
	snap->nodes = (Gpusched__Node **)o->lists[LIST_NODES]->v;
	snap->n_partitions = o->lists[LIST_PARTITIONS]->n;
	snap->partitions = (Gpusched__Partition **)o->lists[LIST_PARTITIONS]->v;
	snap->n_shares = o->lists[LIST_SHARES]->n;
	snap->shares = (Gpusched__Share **)o->lists[LIST_SHARES]->v;
	snap->n_services = o->lists[LIST_SERVICES]->n;
	snap->services = (Gpusched__Service **)o->lists[LIST_SERVICES]->v;
	snap->n_stats = o->lists[LIST_STATS]->n;
	snap->stats = (Gpusched__Stat **)o->lists[LIST_STATS]->v;
}

/* Publish `o`; the one before loses the reference that it had as the newest. */
static void make_newest(struct snapshots *s, struct snapshot_own *o, struct retired *r)
{
	struct snapshot_own *old;

	pthread_mutex_lock(&s->lock);
	old = s->newest;
	s->newest = o;
	TAILQ_INSERT_TAIL(&s->alive, o, next);
	if (r->n)
		STAILQ_INSERT_TAIL(&s->retired, r, next);
	pthread_mutex_unlock(&s->lock);
	if (!r->n)
		free_retired(r);
	if (old)
		snapshot_put(&old->snap);
	free_what_went(s);
}

void snapshots_publish(struct snapshots *s, struct snapshot_draft *d)
{
	struct snapshot_own *o = xcalloc(1, sizeof(*o)), *old = s->newest;
	struct snapshot *snap = &o->snap;
	struct retired *r = xcalloc(1, sizeof(*r));
	struct snapshot_delta *delta;

	atomic_init(&o->refs, 1);
	o->all = s;
	snap->own = o;
	snap->serial = ++s->serial;
	r->serial = snap->serial - 1;
	snap->taken_us = d->taken_us;
	snap->cursor = d->cursor;
	snap->cluster = o->cluster = xstrdup(d->cluster);
	snap->version = o->version = xstrdup(d->version);
	snap->currency = o->currency = xstrdup(d->currency);
	snap->private_jobs = d->private_jobs;
	snap->counters = d->counters;
	snapshot_draft_sort(d);
	for (size_t i = 0; i < d->n_set; i++)
		d->set[i]->serial = snap->serial;
	merge(snap, old ? &old->snap : NULL, d, r);
	trim(snap, d->ended_max, r);
	delta = make_delta(snap, d, r);
	take_lists(o, old, d, delta);
	add_delta(snap, old ? &old->snap : NULL, delta);
	if (d->made)
		d->made(snap, d->arg);
	make_newest(s, o, r);
}

/* --- looking into it -------------------------------------------------------------------------- */

/* The first job that is not before the key. */
static size_t lower(const struct snapshot *snap, uint64_t id, uint64_t raw_id)
{
	size_t from = 0, to = snap->n_jobs;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		const struct snapshot_job *job = snap->jobs[mid];

		if (job->id < id || (job->id == id && job->raw_id < raw_id))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

struct snapshot_job **snapshot_records(const struct snapshot *snap, uint64_t id, size_t *n)
{
	size_t from = lower(snap, id, 0);

	*n = snapshot_behind(snap, (struct snapshot_key){ id, UINT64_MAX }) - from;
	return *n ? &snap->jobs[from] : NULL;
}

size_t snapshot_behind(const struct snapshot *snap, struct snapshot_key key)
{
	if (key.raw_id < UINT64_MAX)
		return lower(snap, key.id, key.raw_id + 1);
	return key.id < UINT64_MAX ? lower(snap, key.id + 1, 0) : snap->n_jobs;
}

struct snapshot_job **snapshot_keyed(
        const struct snapshot *snap, struct snapshot_key key, size_t *n)
{
	size_t from = lower(snap, key.id, key.raw_id);

	*n = snapshot_behind(snap, key) - from;
	return *n ? &snap->jobs[from] : NULL;
}

const struct snapshot_job *snapshot_job(const struct snapshot *snap, uint64_t id)
{
	size_t n;
	struct snapshot_job **v = snapshot_records(snap, id, &n);

	if (v)
		return v[0];
	for (size_t i = 0; i < snap->n_jobs; i++)
		if (snap->jobs[i]->raw_id == id)
			return snap->jobs[i];
	return NULL;
}

const Gpusched__Node *snapshot_node(const struct snapshot *snap, const char *name)
{
	for (size_t i = 0; i < snap->n_nodes; i++)
		if (!strcmp(snap->nodes[i]->name, name))
			return snap->nodes[i];
	return NULL;
}

const Gpusched__Partition *snapshot_partition(const struct snapshot *snap, const char *name)
{
	for (size_t i = 0; i < snap->n_partitions; i++)
		if (!strcmp(snap->partitions[i]->name, name))
			return snap->partitions[i];
	return NULL;
}

const Gpusched__Service *snapshot_service(const struct snapshot *snap, const char *name)
{
	for (size_t i = 0; i < snap->n_services; i++)
		if (!strcmp(snap->services[i]->name, name))
			return snap->services[i];
	return NULL;
}
