/* viewer_cache.c - see viewer_cache.h */
#include "cmds/web/auth/viewer_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/xalloc.h"

#define BUCKETS 1024

struct entry {
	struct viewer *viewer;
	int64_t good_until;
	LIST_ENTRY(entry) of_bucket;
	TAILQ_ENTRY(entry) by_use; /* used longest ago first */
};

struct viewers {
	pthread_mutex_t lock;
	LIST_HEAD(, entry) buckets[BUCKETS];
	TAILQ_HEAD(, entry) list;
	size_t n;
};

struct viewers *viewers_new(void)
{
	struct viewers *vs = xcalloc(1, sizeof(*vs));

	pthread_mutex_init(&vs->lock, NULL);
	TAILQ_INIT(&vs->list);
	return vs;
}

static void drop(struct viewers *vs, struct entry *e)
{
	LIST_REMOVE(e, of_bucket);
	TAILQ_REMOVE(&vs->list, e, by_use);
	vs->n--;
	viewer_put(e->viewer);
	free(e);
}

void viewers_free(struct viewers *vs)
{
	struct entry *e;

	if (!vs)
		return;
	while ((e = TAILQ_FIRST(&vs->list)))
		drop(vs, e);
	pthread_mutex_destroy(&vs->lock);
	free(vs);
}

static struct entry *find(struct viewers *vs, uid_t uid)
{
	struct entry *e;

	LIST_FOREACH (e, &vs->buckets[uid % BUCKETS], of_bucket)
		if (e->viewer->uid == uid)
			return e;
	return NULL;
}

/* Few come by name: a walk will do. */
static struct entry *find_name(struct viewers *vs, const char *name)
{
	struct entry *e;

	TAILQ_FOREACH (e, &vs->list, by_use)
		if (!strcmp(e->viewer->name, name))
			return e;
	return NULL;
}

static struct viewer *used(struct viewers *vs, struct entry *e, int64_t now, bool *fresh)
{
	*fresh = e && now < e->good_until;
	if (!e)
		return NULL;
	TAILQ_REMOVE(&vs->list, e, by_use);
	TAILQ_INSERT_TAIL(&vs->list, e, by_use);
	return viewer_get(e->viewer);
}

struct viewer *viewers_find(struct viewers *vs, uid_t uid, int64_t now, bool *fresh)
{
	struct viewer *v;

	pthread_mutex_lock(&vs->lock);
	v = used(vs, find(vs, uid), now, fresh);
	pthread_mutex_unlock(&vs->lock);
	return v;
}

struct viewer *viewers_find_name(struct viewers *vs, const char *name, int64_t now, bool *fresh)
{
	struct viewer *v;

	pthread_mutex_lock(&vs->lock);
	v = used(vs, find_name(vs, name), now, fresh);
	pthread_mutex_unlock(&vs->lock);
	return v;
}

void viewers_set(struct viewers *vs, uid_t uid, const struct viewer *v, int64_t now)
{
	struct entry *e;

	pthread_mutex_lock(&vs->lock);
	e = find(vs, uid);
	if (e)
		drop(vs, e);
	if (v) {
		if (vs->n >= VIEWERS_MAX)
			drop(vs, TAILQ_FIRST(&vs->list));
		e = xcalloc(1, sizeof(*e));
		e->viewer = viewer_get(v);
		e->good_until = now + VIEWERS_FRESH_S;
		LIST_INSERT_HEAD(&vs->buckets[uid % BUCKETS], e, of_bucket);
		TAILQ_INSERT_TAIL(&vs->list, e, by_use);
		vs->n++;
	}
	pthread_mutex_unlock(&vs->lock);
}
