/* list_partitions.c - MSG_LIST_PARTITIONS: a stream of chunks, one a tick
 *
 * A partition's figures are sums over its nodes, so a slice is few of them.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "common/conf/conf_find.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/slice.h"
#include "ctld/rpc/call/call_answer.h"
#include "ctld/rpc/rpc.h"
#include "ctld/wire/convert.h"

#define SLICE_PARTITIONS 8

struct listing {
	uint64_t generation;
	uint32_t *partitions;
	size_t n, at;
	bool whole;
};

static void listing_free(void *data)
{
	struct listing *l = data;

	free(l->partitions);
	free(l);
}

static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	Gpusched__PartitionChunk m = GPUSCHED__PARTITION_CHUNK__INIT;
	struct slice budget = slice_begin(SLICE_US);
	struct listing *l = call->data;
	struct partition_view view;
	struct call_part to;
	struct error err;

	(void)now;
	if (l->generation != c->generation) {
		error_set(&err, ERR_BUSY, "the configuration has changed meanwhile");
		call_done(c, call, &err);
		return;
	}
	call_part_begin(
	        c, call, &to, GPUSCHED__MSG_TYPE__MSG_PARTITION_CHUNK, &m.base, l->whole);
	for (unsigned n = 0; l->at < l->n && n < SLICE_PARTITIONS && !slice_over_now(&budget); n++, l->at++)
		if (core_partition_view(c->core, l->partitions[l->at], &view))
			part_add(&to.part, &wire_partition(&view, c->out)->base);
	part_end(&to.part);
	call_continue(c, call, l->at < l->n, NULL);
}

static const struct call_ops listing_ops = { .slice = slice, .free = listing_free };

static int find(const struct conf *conf, const char *name, uint32_t *partition, struct error *err)
{
	char shown[80];

	*partition = CONF_FIND(conf, partitions, name);
	if (*partition != CONF_NONE)
		return 0;
	text_escape(shown, sizeof(shown), name, strlen(name));
	return error_set(err, ERR_NO_PARTITION, "no partition '%s'", shown);
}

/* In the order asked; all of them in the configuration's. */
static int choose(const struct conf *conf, const Gpusched__ListPartitions *m, struct listing *l,
        struct error *err)
{
	l->n = m->n_names ? m->n_names : conf->n_partitions;
	if (l->n > CONF_MAX_PARTITIONS)
		return error_set(
		        err, ERR_USAGE, "%zu partitions; at most %d", l->n, CONF_MAX_PARTITIONS);
	l->partitions = xcalloc(l->n, sizeof(*l->partitions));
	for (size_t i = 0; i < l->n; i++)
		if (m->n_names == 0)
			l->partitions[i] = (uint32_t)i;
		else if (find(conf, m->names[i], &l->partitions[i], err))
			return -1;
	return 0;
}

int rpc_list_partitions(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__ListPartitions *m = (const Gpusched__ListPartitions *)rpc->msg;
	struct listing *l = xcalloc(1, sizeof(*l));

	l->generation = c->generation;
	l->whole = m->whole;
	if (choose(c->conf, m, l, err)) {
		listing_free(l);
		return -1;
	}
	return rpc_call(c, rpc, &listing_ops, l);
}
