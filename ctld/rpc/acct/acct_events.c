/* acct_events.c - the audit trail, in chunks */
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "common/job/eventkind.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/rpc/acct/acct_answers.h"
#include "ctld/rpc/call/answer_parts.h"
#include "ctld/rpc/call/unknown_names.h"

#define UNTOLD_MAX 4096 /* events of others until a walk that follows sends a new cursor */

struct listing {
	char **kinds, **nodes; /* owned copies */
	size_t n_kinds, n_nodes;
	struct unknown *unknown; /* owned: nodes that there are not, and no event was of */
	uint64_t job;            /* all about this one is asked for; 0: it is not */
	bool any;                /* event was found */
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
	char *copy = arena_take(arena, size);

	text_escape(copy, size, v->p, v->n);
	return copy;
}

/* "job" stands for all that begins with "job." */
static bool is_kind(const char *kind, const char *asked)
{
	size_t len = strlen(asked);

	return !strncmp(kind, asked, len) && (!kind[len] || kind[len] == '.');
}

static bool kind_fits(const struct listing *l, const char *kind)
{
	for (size_t i = 0; i < l->n_kinds; i++)
		if (is_kind(kind, l->kinds[i]))
			return true;
	return l->n_kinds == 0;
}

static bool node_fits(const struct listing *l, const char *node)
{
	return l->n_nodes == 0 || text_among(node, (const char *const *)l->nodes, l->n_nodes);
}

static void take_event(void *data, const struct row *row, struct arena *arena)
{
	const struct value *v = row->v;
	struct listing *l = data;
	Gpusched__Event *m = arena_take(arena, sizeof(*m));

	gpusched__event__init(m);
	m->kind = text(&v[COL_EVENT_kind], arena);
	m->node = text(&v[COL_EVENT_node], arena);
	m->time = v[COL_EVENT_time].i;
	if ((l->until && m->time >= l->until) || !kind_fits(l, m->kind) || !node_fits(l, m->node))
		return;
	l->any = true;
	unknown_meet(l->unknown, &(const struct unknown_met){ .nodes = m->node });
	m->seq = (uint64_t)v[COL_EVENT_seq].i;
	m->uid = v[COL_EVENT_uid].i;
	m->host = text(&v[COL_EVENT_host], arena);
	m->job = (uint64_t)v[COL_EVENT_job].i;
	m->text = text(&v[COL_EVENT_text], arena);
	*XADD(l->events, l->n, l->room) = m;
}

static void send_chunk(void *to, const ProtobufCMessage *m)
{
	const struct acct_out *out = to;

	out->send(out->to, GPUSCHED__MSG_TYPE__MSG_EVENT_CHUNK, m);
}

static void send_slice(const struct acct_out *out, void *data)
{
	Gpusched__EventChunk m = GPUSCHED__EVENT_CHUNK__INIT;
	struct listing *l = data;
	struct part part = { .chunk = &m.base,
		.arena = out->arena,
		.send = send_chunk,
		.to = (void *)(uintptr_t)out };

	part_begin(&part);
	for (size_t i = 0; i < l->n; i++)
		part_add(&part, &l->events[i]->base);
	part_end(&part);
	l->told |= l->n > 0;
	l->n = 0;
}

/* Not after every event of others: a client that continues from an old cursor gets no event
 * twice. */
static void send_cursor(const struct acct_out *out, void *data, uint64_t seq)
{
	Gpusched__EventChunk m = GPUSCHED__EVENT_CHUNK__INIT;
	struct listing *l = data;

	if (!l->told && l->cursor && seq - l->cursor < UNTOLD_MAX)
		return;
	l->told = false;
	m.cursor = l->cursor = seq;
	out->send(out->to, GPUSCHED__MSG_TYPE__MSG_EVENT_CHUNK, &m.base);
}

static int end_events(const struct acct_out *out, void *data, struct error *err)
{
	const struct listing *l = data;

	(void)out;
	if (l->job && !l->any)
		return error_set(err, ERR_NO_JOB,
		        "there is no event of job %llu: it never existed, or is too old",
		        (unsigned long long)l->job);
	return unknown_check(l->unknown, err);
}

static void listing_free(void *data)
{
	struct listing *l = data;

	free_names(l->kinds, l->n_kinds);
	free_names(l->nodes, l->n_nodes);
	unknown_free(l->unknown);
	free(l->events);
	free(l);
}

const struct acct_taker acct_events = {
	.event = take_event,
	.slice = send_slice,
	.caught_up = send_cursor,
	.end = end_events,
	.free = listing_free,
};

static int check_kinds(const Gpusched__ListEvents *m, struct error *err)
{
#define X(name) name,
	static const char *const all[] = { EVENT_KINDS(X) };
#undef X
	char shown[80];

	for (size_t i = 0; i < m->n_kinds; i++) {
		size_t k = 0;

		while (k < sizeof(all) / sizeof(all[0]) && !is_kind(all[k], m->kinds[i]))
			k++;
		if (k < sizeof(all) / sizeof(all[0]))
			continue;
		text_escape(shown, sizeof(shown), m->kinds[i], strlen(m->kinds[i]));
		error_set(err, ERR_USAGE, "--kind=%s: there are no such events", shown);
		return error_hint(err,
		        "job, run, node, gpu, partition, cluster, controller, or one of them "
		        "alone, such as job.cancel: gctl(1)");
	}
	return 0;
}

void *acct_events_data(const Gpusched__ListEvents *m, const struct conf *conf,
        struct past_events *which, struct error *err)
{
	const struct unknown_given given[UNKNOWN_KINDS] = {
		[UNKNOWN_NODE] = { m->nodes, m->n_nodes },
	};
	struct listing *l;

	if (check_kinds(m, err) < 0)
		return NULL;
	l = xcalloc(1, sizeof(*l));
	l->unknown = unknown_new(given, conf);
	if (!m->since_time && !m->until_time && !m->after_seq && !m->n_kinds && !m->n_nodes &&
	        !m->by_uid)
		l->job = m->job;
	*which = (struct past_events){
		.job = m->job,
		.uid = m->by_uid ? m->uid : PAST_ANYBODY,
		.since = m->since_time,
		.by_seq = m->after_seq,
		.after = m->after_seq,
	};
	l->kinds = copy_names(m->kinds, m->n_kinds);
	l->n_kinds = m->n_kinds;
	l->nodes = copy_names(m->nodes, m->n_nodes);
	l->n_nodes = m->n_nodes;
	l->until = m->until_time;
	return l;
}
