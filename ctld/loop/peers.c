/* peers.c - see peers.h */
#include "config.h"

#include "ctld/loop/peers.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/frame.h"
#include "ctld/core/core.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/core/util/idmap.h"
#include "ctld/ctld.h"
#include "ctld/loop/commit_gate.h"
#include "ctld/loop/fair_queue.h"
#include "ctld/loop/node_names.h"
#include "ctld/loop/session_admission.h"
#include "ctld/loop/tick.h"
#include "ctld/loop/user_names.h"
#include "ctld/wire/answer_frame.h"
#include "ctld/wire/convert.h"

#define REFUSED_A_SECOND 5 /* records in the log; the rest is counted */

struct peers {
	struct ctld *c;
	const struct peers_hooks *hooks;
	struct idmap *map; /* by session */
	usec_t refused_since;
	unsigned refused, refused_silently;
};

struct peers *peers_new(struct ctld *c, const struct peers_hooks *hooks)
{
	struct peers *p = xcalloc(1, sizeof(*p));

	p->c = c;
	p->hooks = hooks;
	p->map = idmap_new();
	return p;
}

/* An answer of which something could not be sent. */
struct unsent {
	SLIST_ENTRY(unsent) next;
	uint64_t id;
	struct error why;
};

static struct unsent *find_unsent(const struct peer *peer, uint64_t id)
{
	struct unsent *u;

	SLIST_FOREACH (u, &peer->unsent, next)
		if (u->id == id)
			break;
	return u;
}

static void forget_unsent(struct peer *peer, struct unsent *u)
{
	SLIST_REMOVE(&peer->unsent, u, unsent, next);
	free(u);
}

static void peer_free(struct ctld *c, struct peer *peer, struct clocks now)
{
	c->peers->hooks->drop(c, peer, now);
	while (!SLIST_EMPTY(&peer->unsent))
		forget_unsent(peer, SLIST_FIRST(&peer->unsent));
	free(peer->node_name);
	free(peer);
}

void peers_free(struct peers *p)
{
	struct peer *peer;

	if (!p)
		return;
	while ((peer = idmap_take_any(p->map))) {
		peer_free(p->c, peer, ctld_now());
	}
	idmap_free(p->map);
	free(p);
}

struct peer *peers_find(struct peers *p, uint64_t session)
{
	return idmap_find(p->map, session);
}

struct each {
	struct ctld *c;
	void (*fn)(struct ctld *c, struct peer *peer);
};

static void each_agent(struct session *s, void *arg)
{
	struct each *e = arg;
	struct peer *peer = session_data(s);

	if (peer && peer->agent)
		e->fn(e->c, peer);
}

void peers_each_agent(struct peers *p, void (*fn)(struct ctld *c, struct peer *peer))
{
	struct each e = { p->c, fn };

	sessions_each(p->c->sessions, each_agent, &e);
}

/* --- back pressure ------------------------------------------------------------------------- */

/* Once stopped, it goes on when half of it is done. */
static bool has_much_work(const struct peer *peer)
{
	unsigned part = peer->paused ? 2 : 1;

	return peer->work > PEER_WORK_MAX / part || peer->work_bytes > PEER_WORK_BYTES_MAX / part;
}

void peer_update_pause(struct ctld *c, struct peer *peer)
{
	bool pause = has_much_work(peer) || admission_choked(peer);
	struct session *s;

	if (pause == peer->paused || peer->closed)
		return;
	peer->paused = pause;
	s = session_find(c->sessions, peer->session);
	if (s)
		session_pause_reading(s, pause);
}

/* Agents are no users. */
static void charge(
        struct ctld *c, struct peer *peer, enum budget_kind kind, size_t *was, size_t bytes)
{
	if (bytes == *was || peer->agent)
		return;
	budget_add(core_budget(c->core), peer->uid, kind, (int64_t)bytes - (int64_t)*was);
	*was = bytes;
	admission_charged(c, peer->uid);
}

void peer_add_work(struct ctld *c, struct peer *peer, ptrdiff_t frames, ptrdiff_t bytes)
{
	peer->work += (size_t)frames;
	charge(c, peer, BUDGET_REQUESTS, &peer->work_bytes, peer->work_bytes + (size_t)bytes);
	peer_update_pause(c, peer);
}

/* Of answers: at the gate, or sent and not yet taken. */
static void recount_unread(struct ctld *c, struct peer *peer)
{
	struct session *s = session_find(c->sessions, peer->session);
	size_t unread = peer->closed || !s ? 0 : peer->held + session_queued(s);

	if (unread < peer->unread || !peer->unread)
		peer->taken = ctld_mono();
	charge(c, peer, BUDGET_UNREAD, &peer->unread, unread);
}

static void on_queued(struct session *s, void *arg)
{
	struct peer *peer = session_data(s);

	if (peer)
		recount_unread(arg, peer);
}

static int on_holds(struct session *s, size_t bytes, void *arg, struct error *err)
{
	struct peer *peer = session_data(s);
	struct ctld *c = arg;

	if (!peer || peer->agent)
		return 0;
	if (bytes > peer->input &&
	        budget_check(core_budget(c->core), peer->uid, BUDGET_REQUESTS, bytes - peer->input,
	                err) < 0)
		return -1;
	charge(c, peer, BUDGET_REQUESTS, &peer->input, bytes);
	return 0;
}

/* --- going away ---------------------------------------------------------------------------- */

/* Agents wait for no user's turn. */
static void post(struct ctld *c, const struct peer *peer, const struct tick_work *work, void *arg)
{
	if (peer->agent)
		tick_post(c->tick, work, arg);
	else
		fair_queue_post(c->fair_queue, peer->uid, work, arg);
}

static void handle_gone(struct ctld *c, void *arg, struct clocks now)
{
	struct peer *peer = idmap_take(c->peers->map, (uint64_t)(uintptr_t)arg);

	if (!peer)
		return;
	charge(c, peer, BUDGET_REQUESTS, &peer->work_bytes, 0);
	if (peer->agent)
		c->peers->hooks->agent_gone(c, peer, now);
	peer_free(c, peer, now);
}

static const struct tick_work gone_work = { handle_gone, NULL };

/* What it sent before its end is dealt with first: it waits already. */
static void has_gone(struct ctld *c, struct peer *peer)
{
	if (peer->closed)
		return;
	peer->closed = true;
	charge(c, peer, BUDGET_UNREAD, &peer->unread, 0);
	charge(c, peer, BUDGET_REQUESTS, &peer->input, 0);
	admission_remove(c, peer);
	post(c, peer, &gone_work, (void *)(uintptr_t)peer->session);
}

/* --- coming in ----------------------------------------------------------------------------- */

static void on_opened(struct session *s, void *arg)
{
	const struct session_peer *sp = session_peer(s);
	struct peer *peer = xcalloc(1, sizeof(*peer));
	struct ctld *c = arg;
	struct error err;
	int known;

	peer->session = session_number(s);
	peer->uid = sp->uid;
	peer->agent = sp->node[0] != '\0';
	memcpy(peer->address, sp->address, sizeof(peer->address));
	peer->node = UINT32_MAX;
	LIST_INIT(&peer->calls);
	LIST_INIT(&peer->streams);
	STAILQ_INIT(&peer->submits);
	SLIST_INIT(&peer->unsent);
	session_set_data(s, peer);
	idmap_insert(c->peers->map, peer->session, peer);
	if (peer->agent) {
		peer->node_name = xstrdup(sp->node);
		node_names_find(c->node_names, sp->node, &peer->node);
		admission_add(c, peer);
		return;
	}
	/* Others may have been admitted since it was. */
	if (admission_admit(c, peer->uid, &err) < 0) {
		session_close(s);
		has_gone(c, peer);
		return;
	}
	admission_add(c, peer);
	known = users_look_up(c->users, peer->uid, peer->session, NULL);
	if (known == 0)
		session_pause_reading(s, true); /* until peers_user_known() */
	else if (known < 0)
		log_warning("too many lookups of users: no name for uid %u", (unsigned)peer->uid);
}

void peers_user_known(void *arg, uint64_t session)
{
	struct ctld *c = arg;
	struct peer *peer = peers_find(c->peers, session);
	struct session *s = session_find(c->sessions, session);

	if (s && peer && !peer->paused)
		session_pause_reading(s, false);
}

struct frame_work {
	uint64_t session, id;
	size_t len;
	uint16_t type;
	uint8_t body[];
};

static void handle_frame(struct ctld *c, void *arg, struct clocks now)
{
	struct frame_work *w = arg;
	struct peer *peer = peers_find(c->peers, w->session);

	if (peer) {
		c->peers->hooks->frame(c, peer, w->type, w->id, w->body, w->len, now);
		peer = peers_find(c->peers, w->session);
		if (peer)
			peer_add_work(c, peer, -1, -(ptrdiff_t)w->len);
	}
	free(w);
}

static const struct tick_work frame_work_ops = { handle_frame, free };

static void on_frame(struct session *s, const struct frame *f, void *arg)
{
	struct ctld *c = arg;
	struct peer *peer = session_data(s);
	struct frame_work *w = xcalloc(1, sizeof(*w) + f->len);

	w->session = peer->session;
	COPY_FIELDS(w, f, type, id, len);
	if (f->len)
		memcpy(w->body, f->body, f->len);
	admission_used(peer);
	peer_add_work(c, peer, 1, (ptrdiff_t)f->len);
	post(c, peer, &frame_work_ops, w);
}

static void on_closed(struct session *s, const struct error *why, void *arg)
{
	struct peer *peer = session_data(s);
	struct ctld *c = arg;

	if (!peer)
		return;
	if (peer->agent)
		log_info("node %s: connection lost: %s", peer->node_name, why->text);
	else
		log_debug("%s (uid %u): session ended: %s", peer->address, (unsigned)peer->uid,
		        why->text);
	has_gone(c, peer);
}

static void end_session(struct ctld *c, struct peer *peer)
{
	struct session *s = session_find(c->sessions, peer->session);

	if (s)
		session_close(s);
	has_gone(c, peer);
}

void peer_expel(struct ctld *c, struct peer *peer, const struct error *why)
{
	if (peer->closed)
		return;
	log_warning("%s%s%s (uid %u): session closed: %s", peer->agent ? "node " : "",
	        peer->agent ? peer->node_name : "", peer->agent ? "" : peer->address,
	        (unsigned)peer->uid, why->text);
	end_session(c, peer);
}

void peer_end(struct ctld *c, struct peer *peer, const struct error *why)
{
	if (peer->closed)
		return;
	log_debug("%s (uid %u): session closed: %s", peer->address, (unsigned)peer->uid, why->text);
	end_session(c, peer);
}

static void on_refused(struct sessions *ss, const char *address, const struct error *why, void *arg)
{
	struct ctld *c = arg;
	struct peers *p = c->peers;
	usec_t now = ctld_mono();

	(void)ss;
	if (now - p->refused_since > 1000000) {
		if (p->refused_silently)
			log_warning("%u more connections were refused", p->refused_silently);
		p->refused_since = now;
		p->refused = p->refused_silently = 0;
	}
	if (p->refused++ < REFUSED_A_SECOND)
		log_warning("connection from %s refused: %s", address, why->text);
	else
		p->refused_silently++;
}

/* --- going out ----------------------------------------------------------------------------- */

/* An internal error: it is logged, and the client gets it at the end of the answer. An order to an
 * agent is lost, which is not the agent's fault either. */
static int record_unsent(struct peer *peer, unsigned type, uint64_t id, const struct error *why)
{
	struct unsent *u;

	log_error("%s%s (uid %u): a %s was not sent: %s", peer->agent ? "node " : "",
	        peer->agent ? peer->node_name : peer->address, (unsigned)peer->uid, msg_name(type),
	        why->text);
	if (peer->agent || !id || find_unsent(peer, id))
		return -1;
	u = xcalloc(1, sizeof(*u));
	u->id = id;
	u->why = *why;
	SLIST_INSERT_HEAD(&peer->unsent, u, next);
	return -1;
}

static void put_frame(struct ctld *c, struct peer *peer, uint8_t *bytes, size_t len)
{
	peer->held += len;
	recount_unread(c, peer);
	commit_gate_put(c->gate, peer->agent ? COMMIT_GATE_AGENTS : commit_gate_user(peer->uid),
	        peer->session, core_change(c->core), bytes, len);
}

int peers_send(
        struct ctld *c, uint64_t session, unsigned type, uint64_t id, const ProtobufCMessage *m)
{
	struct peer *peer = peers_find(c->peers, session);
	struct error err;
	uint8_t *bytes;
	size_t len;

	if (!peer || peer->closed)
		return 0;
	if (answer_pack(type, id, m, &bytes, &len, &err) < 0)
		return record_unsent(peer, type, id, &err);
	put_frame(c, peer, bytes, len);
	return 0;
}

int peers_send_packed(struct ctld *c, uint64_t session, unsigned type, uint64_t id,
        const uint8_t *body, size_t len)
{
	struct peer *peer = peers_find(c->peers, session);
	struct error err;
	uint8_t *bytes;

	if (!peer || peer->closed)
		return 0;
	if (answer_check(type, len, &err) < 0)
		return record_unsent(peer, type, id, &err);
	bytes = xcalloc(FRAME_HEADER_LEN + len, 1);
	frame_put_header(bytes, type, id, (uint32_t)len);
	memcpy(bytes + FRAME_HEADER_LEN, body, len);
	put_frame(c, peer, bytes, FRAME_HEADER_LEN + len);
	return 0;
}

/* Of an answer that could not be sent whole: instead of what its Reply would be. */
static bool reply_unsent(struct ctld *c, uint64_t session, uint64_t id)
{
	struct peer *peer = peers_find(c->peers, session);
	struct unsent *u = peer ? find_unsent(peer, id) : NULL;

	if (!u)
		return false;
	arena_reset(c->out, WIRE_ARENA_CAP);
	peers_send(c, session, GPUSCHED__MSG_TYPE__MSG_REPLY, id,
	        &wire_reply(&u->why, c->out)->base);
	forget_unsent(peer, u);
	return true;
}

void peers_reply(struct ctld *c, uint64_t session, uint64_t id, const struct error *err)
{
	if (reply_unsent(c, session, id))
		return;
	arena_reset(c->out, WIRE_ARENA_CAP);
	peers_send(c, session, GPUSCHED__MSG_TYPE__MSG_REPLY, id, &wire_reply(err, c->out)->base);
}

void peers_reply_at_once(struct ctld *c, struct peer *peer, uint64_t id, const struct error *err)
{
	struct error mistake;
	uint8_t *bytes;
	size_t len;

	arena_reset(c->out, WIRE_ARENA_CAP);
	if (peer->closed || answer_pack(GPUSCHED__MSG_TYPE__MSG_REPLY, id,
	                            &wire_reply(err, c->out)->base, &bytes, &len, &mistake) < 0)
		return;
	peer->held += len;
	peers_commit_gate_send(c, peer->session, bytes, len);
	free(bytes);
}

void peers_reply_done(struct ctld *c, uint64_t session, uint64_t id, const char *warning)
{
	Gpusched__Reply m = GPUSCHED__REPLY__INIT;

	if (reply_unsent(c, session, id))
		return;
	if (warning)
		m.warning = (char *)warning;
	peers_send(c, session, GPUSCHED__MSG_TYPE__MSG_REPLY, id, &m.base);
}

void peers_commit_gate_send(void *arg, uint64_t session, const uint8_t *frames, size_t len)
{
	struct ctld *c = arg;
	struct peer *peer = peers_find(c->peers, session);
	struct session *s = session_find(c->sessions, session);
	struct error err;

	if (peer)
		peer->held -= len < peer->held ? len : peer->held;
	if (!s || !peer || peer->closed)
		return;
	if (peer->agent)
		FAILPOINT(ctld_before_order);
	else
		FAILPOINT(ctld_before_reply);
	if (session_send_bytes(s, frames, len, &err))
		peer_expel(c, peer, &err);
	if (peer->agent)
		FAILPOINT(ctld_after_order);
	else
		FAILPOINT(ctld_after_reply);
}

bool peer_has_space(struct ctld *c, const struct peer *peer)
{
	struct session *s = session_find(c->sessions, peer->session);

	return !s || (peer->held < PEER_HELD_MAX && !session_full(s) && !admission_choked(peer));
}

static void on_writable(struct session *s, void *arg)
{
	struct ctld *c = arg;

	(void)s;
	c->peers->hooks->sent(c);
}

const struct session_ops peers_ops = {
	.admit = session_admit,
	.opened = on_opened,
	.frame = on_frame,
	.writable = on_writable,
	.queued = on_queued,
	.holds = on_holds,
	.closed = on_closed,
	.refused = on_refused,
};
