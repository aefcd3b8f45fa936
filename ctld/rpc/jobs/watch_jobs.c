/* watch_jobs.c - MSG_WATCH_JOBS: jobs as they are, then each time they change
 *
 * Two parts: all that fit, in order of id (unless the client's cursor is known here: it has them),
 * then what has changed since the first part began. An answer says how far it goes, once the client
 * knows all until there.
 */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/slice.h"
#include "ctld/loop/watch.h"
#include "ctld/rpc/call/job_chunk.h"
#include "ctld/rpc/call/job_filter.h"
#include "ctld/rpc/jobs/watch_group.h"
#include "ctld/rpc/rpc.h"

#define UNTOLD_MAX   4096 /* changes of others until a watcher gets a new cursor */

struct watching {
	struct filter *filter;     /* of the first part */
	struct watch_group *group; /* of the second */
	struct filter_walk walk;
	struct watcher watcher;
	uint64_t cursor;
	uint64_t told;       /* the cursor that the client has */
	bool listing, fresh; /* the first part; nothing of it was told yet */
	uint64_t generation; /* of the configuration that says what the caller may see */
};

static void watching_free(void *data)
{
	struct watching *w = data;

	filter_free(w->filter);
	watch_group_leave(w->group);
	free(w);
}

static size_t watching_size(const void *data)
{
	const struct watching *w = data;

	return sizeof(*w) + filter_size(w->filter);
}

static void gone(struct ctld *c, struct call *call, struct clocks now)
{
	struct watching *w = call->data;

	(void)now;
	watch_stop(c->watch, &w->watcher);
}

/* The next jobs of the first part. */
static void list(struct ctld *c, struct call *call, struct clocks now)
{
	struct watching *w = call->data;
	struct slice budget = slice_begin(SLICE_US);
	struct job_chunk chunk;
	struct job_view view;
	int found = 1;

	job_chunk_begin(c, call, &chunk, false);
	while (!job_chunk_full(&chunk)) {
		found = filter_next(w->filter, &w->walk, c->core, now, &budget, &view);
		if (found <= 0)
			break;
		job_chunk_add(&chunk, &view);
	}
	w->listing = found != 0;
	chunk.m.fresh = w->fresh;
	w->fresh = false;
	chunk.m.cursor = w->listing ? 0 : w->cursor;
	if (!job_chunk_end(&chunk) && (chunk.m.fresh || chunk.m.cursor))
		peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, call->id,
		        &chunk.m.base);
	w->told = chunk.m.cursor;
}

static void changes(struct ctld *c, struct call *call, struct clocks now)
{
	struct watching *w = call->data;
	const struct watch_message *told = watch_group_report(c, w->group, w->cursor, now);

	w->cursor = told->to;
	if (!told->n_jobs && w->cursor - w->told <= UNTOLD_MAX)
		return;
	peers_send_packed(c, call->session, GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, call->id, told->body,
	        told->len);
	watch_sent(c->watch, told->len);
	w->told = w->cursor;
}

/* May the caller still see what it could when it asked? A configuration may have been read since.
 */
static bool sees_the_same(struct ctld *c, const struct call *call, struct watching *w)
{
	struct caller caller = call_caller(c, call);
	struct visibility *visibility;
	bool same;

	if (w->generation == c->generation)
		return true;
	w->generation = c->generation;
	visibility = visibility_new(c->conf, &caller, c->conf->roles.private_jobs);
	same = visibility_same(visibility, filter_visibility(w->filter));
	visibility_free(visibility);
	return same;
}

static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	struct watching *w = call->data;
	struct error err;

	if (!sees_the_same(c, call, w)) {
		watch_stop(c->watch, &w->watcher);
		error_set(&err, ERR_BUSY,
		        "the configuration has changed which jobs each user may see");
		call_done(c, call, &err);
		return;
	}
	if (!w->listing && !watch_knows(c->watch, w->cursor)) {
		/* So slow a peer that what it missed is not at hand any more. */
		w->listing = w->fresh = true;
		w->walk = (struct filter_walk){ 0 };
		w->cursor = watch_cursor(c->watch);
	}
	if (w->listing)
		list(c, call, now);
	else
		changes(c, call, now);
	if (w->listing)
		call_go_on(c, call);
	else
		watch_wait(c->watch, &w->watcher, call, w->cursor);
}

static const struct call_ops watch_ops = { .slice = slice, .gone = gone, .free = watching_free, .size = watching_size };

int rpc_watch_jobs(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__WatchJobs *m = (const Gpusched__WatchJobs *)rpc->msg;
	struct filter *filter;
	struct watching *w;

	filter = rpc_filter(c, rpc, m->filter, err);
	if (!filter)
		return -1;
	w = xcalloc(1, sizeof(*w));
	w->filter = filter;
	w->generation = c->generation;
	w->group = watch_group_join(c, rpc, m->filter, rpc_filter(c, rpc, m->filter, err));
	w->cursor = watch_cursor(c->watch);
	w->listing = w->fresh = !m->only_new && !watch_knows(c->watch, m->since);
	if (!w->listing)
		w->cursor = m->only_new ? w->cursor : m->since;
	return rpc_call(c, rpc, &watch_ops, w);
}
