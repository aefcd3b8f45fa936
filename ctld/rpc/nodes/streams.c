/* streams.c - see streams.h; and the handlers of MSG_STREAM_* */
#include "ctld/rpc/nodes/streams.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/channel.h"
#include "ctld/core/core.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/core/util/idmap.h"
#include "ctld/ctld.h"
#include "ctld/loop/node_names.h"
#include "ctld/loop/peers.h"
#include "ctld/rpc/rpc.h"

enum side { CLIENT, AGENT, SIDES };

struct end {
	struct stream *stream;
	struct peer *peer; /* ends with it: streams_drop() */
	uint64_t number;   /* what the peer calls it */
	uint64_t sent;     /* bytes from here for which there was no credit yet */
};

struct stream {
	struct end ends[SIDES];
	LIST_ENTRY(stream) of_client, of_agent;
};

struct streams {
	struct idmap *map; /* by the agent's number */
	uint64_t last;
	struct streams_stats stats;
};

struct streams *streams_new(void)
{
	struct streams *s = xcalloc(1, sizeof(*s));

	s->map = idmap_new();
	return s;
}

void streams_free(struct streams *s)
{
	if (!s)
		return;
	idmap_free(s->map);
	free(s);
}

void streams_stats(const struct streams *s, struct streams_stats *out)
{
	*out = s->stats;
	out->open = idmap_count(s->map);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void pass(struct ctld *c, const struct peer *peer, unsigned type, const ProtobufCMessage *m)
{
	struct session *s =
	        peer->closed || !c->sessions ? NULL : session_find(c->sessions, peer->session);
	struct error err;

	if (s && session_send(s, type, 0, m, &err) < 0)
		log_error("a %s cannot be sent: %s", msg_name(type), err.text);
}

static void say_closed(
        struct ctld *c, const struct peer *peer, uint64_t number, const struct error *why)
{
	Gpusched__StreamClose m = GPUSCHED__STREAM_CLOSE__INIT;

	m.stream = number;
	m.code = why ? (uint32_t)why->code : 0;
	m.text = (char *)(uintptr_t)(why ? why->text : "");
	pass(c, peer, GPUSCHED__MSG_TYPE__MSG_STREAM_CLOSE, &m.base);
}

/* Ends the stream. `told`: the side that already knows; SIDES: none. */
static void end_stream(struct ctld *c, struct stream *st, enum side told, const struct error *why)
{
	for (enum side i = CLIENT; i < SIDES; i++) {
		if (i != told)
			say_closed(c, st->ends[i].peer, st->ends[i].number, why);
		st->ends[i].peer->n_streams--;
	}
	budget_add(core_budget(c->core), st->ends[CLIENT].peer->uid, BUDGET_STREAMS, -1);
	LIST_REMOVE(st, of_client);
	LIST_REMOVE(st, of_agent);
	idmap_take(c->streams->map, st->ends[AGENT].number);
	free(st);
}

/* --- streams of a peer ------------------------------------------------------------------------ */

static struct stream *first_of(const struct peer *peer)
{
	return LIST_FIRST(&peer->streams);
}

static struct stream *next_of(const struct peer *peer, const struct stream *st)
{
	return peer->agent ? LIST_NEXT(st, of_agent) : LIST_NEXT(st, of_client);
}

void streams_drop(struct ctld *c, struct peer *peer)
{
	enum side side = peer->agent ? AGENT : CLIENT;
	struct stream *st;
	struct error why;

	error_set(&why, ERR_UNREACHABLE,
	        side == AGENT ? "the connection to the node was lost" : "the client has gone");
	while ((st = first_of(peer)))
		end_stream(c, st, side, &why);
}

/* The end that `peer` knows as `number`. NULL: the stream has ended; the peer may not know that
 * yet. */
static struct end *find(struct ctld *c, const struct peer *peer, uint64_t number)
{
	struct stream *st;

	if (peer->agent) {
		st = idmap_find(c->streams->map, number);
		return st && st->ends[AGENT].peer == peer ? &st->ends[AGENT] : NULL;
	}
	for (st = first_of(peer); st; st = next_of(peer, st))
		if (st->ends[CLIENT].number == number)
			return &st->ends[CLIENT];
	return NULL;
}

static enum side side_of(const struct end *e)
{
	return e == &e->stream->ends[CLIENT] ? CLIENT : AGENT;
}

static struct end *other(const struct end *e)
{
	return &e->stream->ends[SIDES - 1 - side_of(e)];
}

/* --- opening ---------------------------------------------------------------------------------- */

static int check_job(
        struct ctld *c, const struct rpc *rpc, const Gpusched__StreamOpen *m, struct error *err)
{
	uint64_t job = m->run ? m->run->job : 0;
	struct job_view view;

	if (!core_job_view(c->core, job, rpc->now, &view) || !rpc_sees(c, rpc, &view))
		return error_set(err, ERR_NO_JOB, "no job %llu", (unsigned long long)job);
	if (verb_permits(VERB_JOB_OUTPUT, rpc_standing(c, rpc, &view)))
		return 0;
	verb_refuse(VERB_JOB_OUTPUT, err);
	return error_wrap(err, "job %llu is %s's", (unsigned long long)job, view.user);
}

/* The node's session, as the core has it. */
static struct peer *find_agent(
        struct ctld *c, const struct rpc *rpc, const char *node, struct error *err)
{
	struct node_view view;
	struct peer *agent;
	uint32_t index;

	if (!node_names_find(c->node_names, node, &index) ||
	        !core_node_view(c->core, index, rpc->now, &view)) {
		error_set(err, ERR_NO_NODE, "node %s is not in the configuration", node);
		return NULL;
	}
	agent = view.session ? peers_find(c->peers, view.session) : NULL;
	if (!agent || agent->closed || !agent->registered) {
		error_set(err, ERR_NODE_STATE, "the agent of node %s is not connected", node);
		return NULL;
	}
	return agent;
}

static int check_limits(
        struct ctld *c, const struct peer *client, const struct peer *agent, struct error *err)
{
	if (client->n_streams >= STREAMS_A_SESSION)
		return error_set(
		        err, ERR_BUSY, "at most %d streams on one session", STREAMS_A_SESSION);
	if (budget_check(core_budget(c->core), client->uid, BUDGET_STREAMS, 1, err) < 0)
		return -1;
	if (agent->n_streams >= STREAMS_A_NODE || idmap_count(c->streams->map) >= STREAMS_MAX)
		return error_set(err, ERR_BUSY, "too many streams at a time");
	return 0;
}

static void add_stream(struct ctld *c, struct peer *client, struct peer *agent, uint64_t number)
{
	struct stream *st = xcalloc(1, sizeof(*st));

	st->ends[CLIENT] = (struct end){ st, client, number, 0 };
	st->ends[AGENT] = (struct end){ st, agent, ++c->streams->last, 0 };
	client->n_streams++;
	agent->n_streams++;
	budget_add(core_budget(c->core), client->uid, BUDGET_STREAMS, 1);
	LIST_INSERT_HEAD(&client->streams, st, of_client);
	LIST_INSERT_HEAD(&agent->streams, st, of_agent);
	idmap_insert(c->streams->map, c->streams->last, st);
	c->streams->stats.opened++;
}

int rpc_stream_open(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__StreamOpen *m = (const Gpusched__StreamOpen *)rpc->msg;
	Gpusched__StreamOpen to = *m;
	struct peer *agent = NULL;

	if (find(c, rpc->peer, m->stream))
		return error_set(err, ERR_PROTOCOL, "a stream is opened twice");
	if (check_job(c, rpc, m, err) < 0 || !(agent = find_agent(c, rpc, m->node, err)) ||
	        check_limits(c, rpc->peer, agent, err) < 0) {
		say_closed(c, rpc->peer, m->stream, err);
		return 0;
	}
	add_stream(c, rpc->peer, agent, m->stream);
	to.stream = c->streams->last;
	pass(c, agent, GPUSCHED__MSG_TYPE__MSG_STREAM_OPEN, &to.base);
	return 0;
}

/* --- passing on ------------------------------------------------------------------------------- */

/* An end that violates the rules loses the stream; its session has other streams and requests, and
 * stays. */
static void cut_off(struct ctld *c, struct end *e, const char *what)
{
	struct error why;

	error_set(&why, ERR_PROTOCOL, "%s by the %s of the stream", what,
	        side_of(e) == CLIENT ? "client" : "node");
	log_warning("%s (uid %u): stream cut off: %s",
	        e->peer->agent ? e->peer->node_name : e->peer->address, (unsigned)e->peer->uid,
	        why.text);
	c->streams->stats.cut_off++;
	end_stream(c, e->stream, SIDES, &why);
}

int rpc_stream_data(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__StreamData *m = (const Gpusched__StreamData *)rpc->msg;
	struct end *e = find(c, rpc->peer, m->stream);
	Gpusched__StreamData to = *m;

	(void)err;
	if (!e)
		return 0;
	e->sent += m->data.len;
	if (e->sent > STREAM_WINDOW || m->data.len > STREAM_CHUNK_MAX) {
		cut_off(c, e, "more bytes than were asked for");
		return 0;
	}
	c->streams->stats.bytes += m->data.len;
	to.stream = other(e)->number;
	pass(c, other(e)->peer, GPUSCHED__MSG_TYPE__MSG_STREAM_DATA, &to.base);
	return 0;
}

int rpc_stream_credit(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__StreamCredit *m = (const Gpusched__StreamCredit *)rpc->msg;
	struct end *e = find(c, rpc->peer, m->stream);
	Gpusched__StreamCredit to = *m;

	(void)err;
	if (!e)
		return 0;
	if (m->bytes > other(e)->sent) {
		cut_off(c, e, "credit for what never came");
		return 0;
	}
	other(e)->sent -= m->bytes;
	to.stream = other(e)->number;
	pass(c, other(e)->peer, GPUSCHED__MSG_TYPE__MSG_STREAM_CREDIT, &to.base);
	return 0;
}

int rpc_stream_close(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__StreamClose *m = (const Gpusched__StreamClose *)rpc->msg;
	struct end *e = find(c, rpc->peer, m->stream);
	struct error why;

	(void)err;
	if (!e)
		return 0;
	if (m->code)
		error_set(&why, (int)m->code, "%s", m->text);
	end_stream(c, e->stream, side_of(e), m->code ? &why : NULL);
	return 0;
}
