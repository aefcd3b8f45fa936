/* list_nodes.c - MSG_LIST_NODES: a stream of chunks, one a tick, as the peer takes them */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/slice.h"
#include "ctld/loop/user_names.h"
#include "ctld/rpc/call/call_answer.h"
#include "ctld/rpc/call/visibility.h"
#include "ctld/rpc/rpc.h"
#include "ctld/wire/convert.h"

#define SLICE_NODES 100

struct listing {
	uint64_t generation; /* of the configuration that the numbers belong to */
	uint32_t *nodes;     /* NULL: all */
	size_t n, at;
	bool devices, whole;
};

static void listing_free(void *data)
{
	struct listing *l = data;

	free(l->nodes);
	free(l);
}

static size_t listing_size(const void *data)
{
	const struct listing *l = data;

	return sizeof(*l) + (l->nodes ? l->n * sizeof(*l->nodes) : 0);
}

static const char *user_name(struct ctld *c, uint32_t uid)
{
	const char *by = NULL;

	if (users_name(c->users, uid, &by) == USER_NOT_KNOWN)
		by = uid == c->self ? "controller" : NULL;
	return by;
}

/* --- what the caller may not see ------------------------------------------------------------ */

/* May the caller see this job? `visibility` NULL: all jobs. */
static bool may_see_job(
        struct ctld *c, const struct visibility *visibility, uint64_t job, struct clocks now)
{
	struct job_view view;

	return core_job_view(c->core, job, now, &view) &&
	       visibility_has(visibility, view.uid, view.account);
}

/* The runs of jobs that the caller may not see are counted, not named. Returns how many. */
static uint32_t hide_runs(struct ctld *c, const struct visibility *visibility,
        Gpusched__RunId **runs, size_t *n, struct clocks now)
{
	size_t kept = 0, all = *n;

	for (size_t i = 0; i < all; i++)
		if (may_see_job(c, visibility, runs[i]->job, now))
			runs[kept++] = runs[i];
	*n = kept;
	return (uint32_t)(all - kept);
}

static void hide_runs_of_gpu(struct ctld *c, const struct visibility *visibility,
        Gpusched__NodeGpu *m, struct clocks now)
{
	size_t kept = 0;

	m->others_runs = hide_runs(c, visibility, m->runs, &m->n_runs, now);
	for (size_t i = 0; i < m->n_parts; i++)
		if (may_see_job(c, visibility, m->parts[i]->run->job, now))
			m->parts[kept++] = m->parts[i];
	m->n_parts = kept;
}

static void hide_runs_of_node(
        struct ctld *c, const struct call *call, Gpusched__Node *m, struct clocks now)
{
	struct caller caller = call_caller(c, call);
	struct visibility *visibility =
	        visibility_new(c->conf, &caller, c->conf->roles.private_jobs);

	if (!visibility)
		return;
	m->others_runs = hide_runs(c, visibility, m->runs, &m->n_runs, now);
	for (size_t i = 0; i < m->n_devices; i++)
		hide_runs_of_gpu(c, visibility, m->devices[i], now);
	visibility_free(visibility);
}

/* --- the listing ----------------------------------------------------------------------------- */

/* Each GPU of a node. */
static void add_devices(struct ctld *c, uint32_t node, Gpusched__Node *m)
{
	struct gpu_view view;

	m->devices = arena_alloc(c->out, CONF_MAX_GPUS_PER_NODE * sizeof(*m->devices));
	for (uint32_t i = 0; m->devices && core_gpu_view(c->core, node, i, &view); i++)
		m->devices[m->n_devices++] = wire_node_gpu(c->core, node, &view,
		        view.since && !view.by_nobody ? user_name(c, view.uid) : NULL, c->out);
}

static Gpusched__Node *node_message(
        struct ctld *c, const struct call *call, uint32_t node, struct clocks now)
{
	const struct listing *l = call->data;
	const char *by = NULL;
	struct node_view view;
	Gpusched__Node *m;

	if (!core_node_view(c->core, node, now, &view))
		return NULL;
	if (view.reason[0])
		by = view.reason_uid == CORE_BY_ITSELF ? "gctld" : user_name(c, view.reason_uid);
	m = wire_node(c->core, c->conf, node, &view, by, c->out);
	if (l->devices)
		add_devices(c, node, m);
	hide_runs_of_node(c, call, m, now);
	return m;
}

static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	Gpusched__NodeChunk m = GPUSCHED__NODE_CHUNK__INIT;
	struct slice budget = slice_begin(SLICE_US);
	struct listing *l = call->data;
	struct call_part to;
	struct error err;

	if (l->generation != c->generation) {
		error_set(&err, ERR_BUSY, "the configuration has changed meanwhile");
		call_done(c, call, &err);
		return;
	}
	call_part_begin(
	        c, call, &to, GPUSCHED__MSG_TYPE__MSG_NODE_CHUNK, &m.base, l->whole);
	for (unsigned n = 0; l->at < l->n && n < SLICE_NODES; n++, l->at++) {
		if (part_full(&to.part) || slice_over_now(&budget))
			break;
		uint32_t node = l->nodes ? l->nodes[l->at] : (uint32_t)l->at;
		Gpusched__Node *one = node_message(c, call, node, now);

		if (one)
			part_add(&to.part, &one->base);
	}
	part_end(&to.part);
	call_continue(c, call, l->at < l->n, NULL);
}

static const struct call_ops listing_ops = {
	.slice = slice, .free = listing_free, .size = listing_size
};

int rpc_list_nodes(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__ListNodes *m = (const Gpusched__ListNodes *)rpc->msg;
	uint32_t *nodes = NULL;
	size_t n = c->conf->n_nodes;
	struct listing *l;

	if (m->n_names && wire_node_list(m->names, m->n_names, c->conf, c->in, &nodes, &n, err))
		return -1;
	l = xcalloc(1, sizeof(*l));
	l->generation = c->generation;
	l->nodes = nodes ? xmemdup(nodes, n * sizeof(*nodes)) : NULL;
	l->n = n;
	l->devices = m->devices;
	l->whole = m->whole;
	return rpc_call(c, rpc, &listing_ops, l);
}
