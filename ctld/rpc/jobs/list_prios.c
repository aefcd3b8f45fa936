/* list_prios.c - MSG_LIST_PRIOS: what the priorities of waiting jobs are made of, in chunks */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/slice.h"
#include "ctld/rpc/call/call_part.h"
#include "ctld/rpc/call/filter.h"
#include "ctld/rpc/rpc.h"
#include "ctld/wire/convert.h"


struct listing {
	struct filter *filter;
	struct filter_walk walk;
	bool begun;
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

static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	Gpusched__PrioChunk m = GPUSCHED__PRIO_CHUNK__INIT;
	struct listing *l = call->data;
	struct call_part to;
	struct slice budget = slice_begin(SLICE_US);
	struct prio_view prio;
	struct job_view job;
	struct error err;
	int found = 1;

	call_part_begin(c, call, &to, GPUSCHED__MSG_TYPE__MSG_PRIO_CHUNK, &m.base, false);
	while (!part_full(&to.part)) {
		found = filter_next(l->filter, &l->walk, c->core, now, &budget, &job);
		if (found <= 0)
			break;
		if (core_job_prio(c->core, job.ref, now, &prio))
			part_add(&to.part, &wire_prio(&job, &prio, c->out)->base);
	}
	if (!l->begun)
		m.weights = wire_weights(c->conf, c->out);
	if (!part_end(&to.part) && !l->begun)
		peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_PRIO_CHUNK, call->id, &m.base);
	l->begun = true;
	if (found != 0)
		call_go_on(c, call);
	else
		call_done(c, call, filter_check_names(l->filter, &err) < 0 ? &err : NULL);
}

static const struct call_ops listing_ops = { .slice = slice, .free = listing_free, .size = listing_size };

void rpc_list_prios(struct ctld *c, const struct rpc *rpc)
{
	const Gpusched__ListPrios *m = (const Gpusched__ListPrios *)rpc->msg;
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
	call = call_new(c, rpc->peer, rpc->id, &listing_ops, l);
	if (call)
		call_go_on(c, call);
}
