/* watch_group.c - see watch_group.h */
#include "ctld/rpc/jobs/watch_group.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/xalloc.h"
#include "ctld/ctld.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/watch.h"
#include "ctld/rpc/call/answer_parts.h"
#include "ctld/rpc/call/job_filter.h"
#include "ctld/rpc/rpc.h"
#include "ctld/wire/convert.h"

#define TOLD_KEPT 4

struct watch_group {
	LIST_ENTRY(watch_group) next;
	unsigned watchers;
	struct filter *filter; /* of changes: that a job has ended is one */
	/* What they have in common: */
	uint8_t *asked; /* the filter, packed */
	size_t n_asked;
	int64_t uid;         /* a user that sees less than all; -1: any user */
	uint64_t generation; /* of the configuration that says so */

	uint64_t round;              /* of which `told` is */
	struct watch_message told[TOLD_KEPT]; /* from == 0: none */
	unsigned next_told;
};

struct watch_group *watch_group_join(
        struct ctld *c, const struct rpc *rpc, const Gpusched__JobFilter *m, struct filter *filter)
{
	size_t n = m ? protobuf_c_message_get_packed_size(&m->base) : 0;
	uint8_t *asked = xcalloc(n + 1, 1);
	int64_t uid = !filter_visibility(filter) ? -1 : (int64_t)peer_acts_as(rpc->peer);
	struct watch_group *g;

	if (m)
		protobuf_c_message_pack(&m->base, asked);
	LIST_FOREACH (g, &c->watch_groups, next)
		if (g->n_asked == n && g->uid == uid && g->generation == c->generation &&
		        !memcmp(g->asked, asked, n))
			break;
	if (g) {
		free(asked);
		filter_free(filter);
		g->watchers++;
		return g;
	}
	g = xcalloc(1, sizeof(*g));
	g->watchers = 1;
	g->filter = filter;
	filter_include_ended(filter);
	g->asked = asked;
	g->n_asked = n;
	g->uid = uid;
	g->generation = c->generation;
	LIST_INSERT_HEAD(&c->watch_groups, g, next);
	return g;
}

static void forget_told(struct watch_group *g)
{
	for (unsigned i = 0; i < TOLD_KEPT; i++) {
		free(g->told[i].body);
		g->told[i] = (struct watch_message){ 0 };
	}
}

void watch_group_leave(struct watch_group *g)
{
	if (--g->watchers)
		return;
	LIST_REMOVE(g, next);
	forget_told(g);
	filter_free(g->filter);
	free(g->asked);
	free(g);
}

static void pack_told(void *to, const ProtobufCMessage *m)
{
	struct watch_message *t = to;

	t->n_jobs = ((const Gpusched__JobChunk *)m)->n_jobs;
	t->len = protobuf_c_message_get_packed_size(m);
	t->body = xcalloc(t->len, 1);
	protobuf_c_message_pack(m, t->body);
}

/* A job that has left memory had ended before, and that was told. */
static void make(struct ctld *c, struct watch_group *g, struct watch_message *t, struct clocks now)
{
	Gpusched__JobChunk chunk = GPUSCHED__JOB_CHUNK__INIT;
	struct part part = {
		.chunk = &chunk.base, .arena = c->out, .send = pack_told, .to = t
	};
	struct watch_change v[WATCH_READ_MAX];
	struct job_view view;
	size_t n, i;

	arena_reset(c->out, WIRE_ARENA_CAP);
	part_begin(&part);
	n = watch_read(c->watch, &t->to, v);
	for (i = 0; i < n; i++) {
		if (!filter_may_fit(g->filter, v[i].job, v[i].user) ||
		        !core_job_view(c->core, v[i].job, now, &view) ||
		        !filter_fits(g->filter, &view))
			continue;
		part_add(&part, &wire_job(&view, c->out)->base);
		if (part_full(&part)) {
			t->to = v[i].cursor;
			break;
		}
	}
	chunk.cursor = t->to;
	if (!part_end(&part))
		pack_told(t, &chunk.base);
}

const struct watch_message *watch_group_report(
        struct ctld *c, struct watch_group *g, uint64_t from, struct clocks now)
{
	struct watch_message *t;

	if (g->round != watch_round(c->watch))
		forget_told(g);
	g->round = watch_round(c->watch);
	for (unsigned i = 0; i < TOLD_KEPT; i++)
		if (g->told[i].from == from)
			return &g->told[i];
	t = &g->told[g->next_told++ % TOLD_KEPT];
	free(t->body);
	*t = (struct watch_message){ .from = from, .to = from };
	make(c, g, t, now);
	return t;
}
