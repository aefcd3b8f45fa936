/* list_jobs.c - MSG_LIST_JOBS: a stream of chunks, one a tick, as the peer takes them */
#include <stdlib.h>

#include "common/xalloc.h"
#include "ctld/calls.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/peers.h"
#include "ctld/rpc/convert.h"
#include "ctld/rpc/filter.h"
#include "ctld/rpc/rpc.h"

#define CHUNK_JOBS   200
#define CHUNK_BYTES  (512 * 1024) /* packed: half of what a chunk may have */
#define SLICE_VISITS 4000         /* jobs looked at: some 0.3 us each */

struct listing {
	struct filter *filter;
	struct filter_walk walk;
	bool with_runs;
};

static void listing_free(void *data)
{
	struct listing *l = data;

	filter_free(l->filter);
	free(l);
}

/* Ids were named, and there is none of them. */
static int none_known(const struct listing *l, struct error *err)
{
	const uint64_t *ids;
	size_t n;

	ids = filter_ids(l->filter, &n);
	if (n == 0 || l->walk.known > 0)
		return 0;
	return error_set(err, ERR_NO_JOB, "no job %llu%s", (unsigned long long)ids[0],
	        n > 1 ? " nor the others" : "");
}

static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	Gpusched__JobChunk m = GPUSCHED__JOB_CHUNK__INIT;
	Gpusched__Job *jobs[CHUNK_JOBS];
	struct listing *l = call->data;
	unsigned budget = SLICE_VISITS;
	struct error err = { 0 };
	struct job_view view;
	size_t bytes = 0;
	int found = 1;

	m.jobs = jobs;
	arena_reset(c->out, WIRE_ARENA_CAP);
	while (m.n_jobs < CHUNK_JOBS && bytes < CHUNK_BYTES) {
		found = filter_next(l->filter, &l->walk, c->core, now, &budget, &view);
		if (found <= 0)
			break;
		jobs[m.n_jobs] = wire_job(&view, c->out);
		if (l->with_runs)
			wire_job_runs(c->core, now, jobs[m.n_jobs], c->out);
		bytes += protobuf_c_message_get_packed_size(&jobs[m.n_jobs++]->base);
	}
	if (m.n_jobs)
		peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, call->id, &m.base);
	if (found != 0)
		call_go_on(c, call);
	else
		call_done(c, call, none_known(l, &err) ? &err : NULL);
}

static const struct call_ops listing_ops = { .slice = slice, .free = listing_free };

void rpc_list_jobs(struct ctld *c, const struct rpc *rpc)
{
	const Gpusched__ListJobs *m = (const Gpusched__ListJobs *)rpc->msg;
	struct filter *filter;
	struct listing *l;
	struct call *call;
	struct error err;

	filter = filter_new(m->filter, &err);
	if (!filter) {
		rpc_reply(c, rpc, &err);
		return;
	}
	l = xcalloc(1, sizeof(*l));
	l->filter = filter;
	l->with_runs = m->with_runs;
	call = call_new(c, rpc->peer, rpc->id, &listing_ops, l);
	if (call)
		call_go_on(c, call);
}
