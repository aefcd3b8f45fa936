/* update.c - see update.h */
#include "cmds/top/model/update.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

struct update *update_new(enum update_kind kind, int64_t now_us)
{
	struct update *u = xcalloc(1, sizeof(*u));

	u->kind = kind;
	u->when_us = now_us;
	return u;
}

/* Room for one more: lists grow by doubling, and their length says when. */
static void *grow(void *v, size_t n, size_t size)
{
	return n & (n - 1) ? v : xrealloc(v, n ? n * 2 : 1, size);
}

void update_add(struct update *u, ProtobufCMessage *item)
{
	u->items = grow(u->items, u->n_items, sizeof(*u->items));
	u->items[u->n_items++] = item;
}

void update_add_job(struct update *u, const Gpusched__Job *job)
{
	u->jobs = grow(u->jobs, u->n_jobs, sizeof(*u->jobs));
	u->jobs[u->n_jobs++] = top_job_new(job, u->when_us);
}

void update_items_free(ProtobufCMessage **items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		protobuf_c_message_free_unpacked(items[i], NULL);
	free(items);
}

void update_free(struct update *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->n_jobs; i++)
		free(u->jobs[i]);
	free(u->jobs);
	update_items_free(u->items, u->n_items);
	free(u->text);
	free(u);
}
