/* list_jobs.c - MSG_LIST_JOBS: a stream of chunks, one a tick, as the peer takes them */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/slice.h"
#include "ctld/rpc/call/filter.h"
#include "ctld/rpc/call/job_chunk.h"
#include "ctld/rpc/rpc.h"


struct listing {
	struct filter *filter;
	struct filter_walk walk;
	bool with_runs, whole;
};

static void listing_free(void *data)
{
	struct listing *l = data;

	filter_free(l->filter);
	free(l);
}

static size_t listing_size(const void *data)
{
	const struct listing *l = data;

	return sizeof(*l) + filter_size(l->filter);
}

/* Ids were named, and there is none of them. */
static int check_ids(const struct listing *l, struct error *err)
{
	const struct filter_named *named;
	size_t n;

	named = filter_named(l->filter, &n);
	if (n == 0 || l->walk.known > 0)
		return 0;
	return error_set(err, ERR_NO_JOB, "no job %llu%s", (unsigned long long)named[0].id,
	        n > 1 ? " nor the others" : "");
}

/* All is listed: was anything named that there is not? */
static int check_named(const struct listing *l, struct error *err)
{
	return check_ids(l, err) < 0 ? -1 : filter_check_names(l->filter, err);
}

static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	struct listing *l = call->data;
	struct slice budget = slice_begin(SLICE_US);
	struct error err = { 0 };
	struct job_chunk chunk;
	struct job_view view;
	int found = 1;

	job_chunk_begin(c, call, &chunk, l->whole);
	while (!job_chunk_full(&chunk)) {
		found = filter_next(l->filter, &l->walk, c->core, now, &budget, &view);
		if (found <= 0)
			break;
		if (l->with_runs)
			job_chunk_add_runs(&chunk, &view, now);
		else
			job_chunk_add(&chunk, &view);
	}
	job_chunk_end(&chunk);
	if (found != 0)
		call_go_on(c, call);
	else
		call_done(c, call, check_named(l, &err) < 0 ? &err : NULL);
}

static const struct call_ops listing_ops = { .slice = slice, .free = listing_free, .size = listing_size };

void rpc_list_jobs(struct ctld *c, const struct rpc *rpc)
{
	const Gpusched__ListJobs *m = (const Gpusched__ListJobs *)rpc->msg;
	struct filter *filter;
	struct listing *l;
	struct call *call;
	struct error err;

	filter = rpc_filter(c, rpc, m->filter, &err);
	if (!filter) {
		rpc_reply(c, rpc, &err);
		return;
	}
	l = xcalloc(1, sizeof(*l));
	l->filter = filter;
	l->with_runs = m->with_runs;
	l->whole = m->whole;
	call = call_new(c, rpc->peer, rpc->id, &listing_ops, l);
	if (call)
		call_go_on(c, call);
}
