/* list_events.c - MSG_LIST_EVENTS: the audit trail, in chunks */
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "common/xalloc.h"
#include "ctld/core/codec.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/peers.h"
#include "ctld/rpc/acct.h"

#define CHUNK_EVENTS 250
#define UNTOLD_MAX   4096 /* events of others until who follows gets a new cursor */

struct listing {
	char **kinds, **nodes; /* owned copies */
	size_t n_kinds, n_nodes;
	int64_t until;
	Gpusched__Event **events; /* of the present slice */
	size_t n, room;
	bool told;       /* some, since the last cursor */
	uint64_t cursor; /* the last one */
};

static char **copy_names(char *const *v, size_t n)
{
	char **copy = xcalloc(n, sizeof(*copy));

	for (size_t i = 0; i < n; i++)
		copy[i] = xstrdup(v[i]);
	return copy;
}

static void free_names(char **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i]);
	free(v);
}

static char *text(const struct value *v, struct arena *arena)
{
	size_t size = 4 * v->n + 8;
	char *copy = arena_alloc(arena, size);

	if (!copy)
		abort();
	text_escape(copy, size, v->p, v->n);
	return copy;
}

/* "job" stands for all that begins with "job." */
static bool kind_fits(const struct listing *l, const char *kind)
{
	for (size_t i = 0; i < l->n_kinds; i++) {
		size_t len = strlen(l->kinds[i]);

		if (!strncmp(kind, l->kinds[i], len) && (!kind[len] || kind[len] == '.'))
			return true;
	}
	return l->n_kinds == 0;
}

static bool node_fits(const struct listing *l, const char *node)
{
	for (size_t i = 0; i < l->n_nodes; i++)
		if (!strcmp(l->nodes[i], node))
			return true;
	return l->n_nodes == 0;
}

static void take_event(void *data, const struct row *row, struct arena *arena)
{
	const struct value *v = row->v;
	struct listing *l = data;
	Gpusched__Event *m = arena_alloc(arena, sizeof(*m));

	if (!m)
		abort();
	gpusched__event__init(m);
	m->kind = text(&v[COL_EVENT_kind], arena);
	m->node = text(&v[COL_EVENT_node], arena);
	m->time = v[COL_EVENT_time].i;
	if ((l->until && m->time >= l->until) || !kind_fits(l, m->kind) || !node_fits(l, m->node))
		return;
	m->seq = (uint64_t)v[COL_EVENT_seq].i;
	m->uid = v[COL_EVENT_uid].i;
	m->host = text(&v[COL_EVENT_host], arena);
	m->job = (uint64_t)v[COL_EVENT_job].i;
	m->text = text(&v[COL_EVENT_text], arena);
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 256;
		l->events = xrealloc(l->events, l->room, sizeof(*l->events));
	}
	l->events[l->n++] = m;
}

static void send_slice(struct ctld *c, struct call *call, void *data)
{
	Gpusched__EventChunk m = GPUSCHED__EVENT_CHUNK__INIT;
	struct listing *l = data;

	for (size_t at = 0; at < l->n; at += m.n_events) {
		m.events = l->events + at;
		m.n_events = l->n - at < CHUNK_EVENTS ? l->n - at : CHUNK_EVENTS;
		peers_send(
		        c, call->session, GPUSCHED__MSG_TYPE__MSG_EVENT_CHUNK, call->id, &m.base);
	}
	l->told |= l->n > 0;
	l->n = 0;
}

/* Not after every event of others: who comes again with an old cursor is told nothing twice. */
static void send_cursor(struct ctld *c, struct call *call, void *data, uint64_t seq)
{
	Gpusched__EventChunk m = GPUSCHED__EVENT_CHUNK__INIT;
	struct listing *l = data;

	if (!l->told && l->cursor && seq - l->cursor < UNTOLD_MAX)
		return;
	l->told = false;
	m.cursor = l->cursor = seq;
	peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_EVENT_CHUNK, call->id, &m.base);
}

static void listing_free(void *data)
{
	struct listing *l = data;

	free_names(l->kinds, l->n_kinds);
	free_names(l->nodes, l->n_nodes);
	free(l->events);
	free(l);
}

static const struct acct_taker taker = {
	.event = take_event, .slice = send_slice, .caught_up = send_cursor, .free = listing_free
};

/* May he ask that? *sight: what the job must be in, if the core does not know it. */
static int check_rights(struct ctld *c, const struct rpc *rpc, const Gpusched__ListEvents *m,
        struct sight **sight, struct error *err)
{
	struct caller caller = peer_caller(c, rpc->peer);
	unsigned long long id = m->job;
	struct job_view job;

	*sight = NULL;
	if (verb_permits(VERB_EVENTS, standing(&caller)) ||
	        (m->by_uid && m->uid == (int64_t)rpc->peer->uid))
		return 0;
	if (!id) {
		verb_refuse(VERB_EVENTS, err);
		return error_hint(err,
		        "you may ask for your own (--me), and for those of a job of yours "
		        "(--job)");
	}
	if (!core_job_view(c->core, id, rpc->now, &job)) {
		*sight = sight_new(c->conf, &caller, true);
		return 0;
	}
	if (verb_permits(VERB_JOB_EVENTS, rpc_standing(c, rpc, &job)))
		return 0;
	if (!rpc_sees(c, rpc, &job))
		return error_set(err, ERR_NO_JOB, "no job %llu", id);
	verb_refuse(VERB_JOB_EVENTS, err);
	return error_wrap(err, "job %llu is not yours", id);
}

/* Of a restored backup numbers are lower than what people may have seen. */
static int check_cursor(const struct ctld *c, const Gpusched__ListEvents *m, struct error *err)
{
	if (m->after_seq <= core_last_event(c->core))
		return 0;
	return error_set(err, ERR_USAGE, "no event has the number %llu yet: the last one is %llu",
	        (unsigned long long)m->after_seq, (unsigned long long)core_last_event(c->core));
}

void rpc_list_events(struct ctld *c, const struct rpc *rpc)
{
	const Gpusched__ListEvents *m = (const Gpusched__ListEvents *)rpc->msg;
	struct past_events events = {
		.job = m->job,
		.uid = m->by_uid ? m->uid : PAST_ANYBODY,
		.since = m->since_time,
		.by_seq = m->after_seq,
		.after = m->after_seq,
	};
	struct listing *l;
	struct error err;
	struct sight *sight;

	if (check_rights(c, rpc, m, &sight, &err) < 0 || check_cursor(c, m, &err) < 0) {
		rpc_reply(c, rpc, &err);
		sight_free(sight);
		return;
	}
	l = xcalloc(1, sizeof(*l));
	l->kinds = copy_names(m->kinds, m->n_kinds);
	l->n_kinds = m->n_kinds;
	l->nodes = copy_names(m->nodes, m->n_nodes);
	l->n_nodes = m->n_nodes;
	l->until = m->until_time;
	acct_walk_events(c, rpc, &events, m->follow, sight, &taker, l);
}
