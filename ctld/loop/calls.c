/* calls.c - see calls.h */
#include "ctld/loop/calls.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/accounts/roles.h"
#include "ctld/core/core.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/core/util/idmap.h"
#include "ctld/ctld.h"
#include "ctld/loop/fair_queue.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/user_names.h"

struct calls {
	struct idmap *map;
	uint64_t last;
	TAILQ_HEAD(, call) stalled; /* for room in their peer's output */
};

struct calls *calls_new(void)
{
	struct calls *r = xcalloc(1, sizeof(*r));

	r->map = idmap_new();
	TAILQ_INIT(&r->stalled);
	return r;
}

static void forget(struct ctld *c, struct call *call)
{
	idmap_take(c->calls->map, call->number);
	if (call->stalled)
		TAILQ_REMOVE(&c->calls->stalled, call, stalled_next);
	LIST_REMOVE(call, of_peer);
	call->peer->n_calls--;
	budget_add(core_budget(c->core), call->peer->uid, BUDGET_WAITS, -(int64_t)call->size);
	if (call->ops->free)
		call->ops->free(call->data);
	free(call);
}

void calls_free(struct calls *r)
{
	if (!r)
		return;
	idmap_free(r->map);
	free(r);
}

static int check_limits(struct ctld *c, const struct peer *peer, size_t size, struct error *err)
{
	if (peer->n_calls >= PEER_CALLS_MAX)
		return error_set(err, ERR_BUSY, "%d requests of this session are still open",
		        PEER_CALLS_MAX);
	return size ? budget_check(core_budget(c->core), peer->uid, BUDGET_WAITS, size, err) : 0;
}

struct call *call_new(
        struct ctld *c, struct peer *peer, uint64_t id, const struct call_ops *ops, void *data)
{
	size_t size = ops->size ? ops->size(data) : 0;
	struct call *call;
	struct error err;

	if (check_limits(c, peer, size, &err)) {
		peers_reply(c, peer->session, id, &err);
		if (ops->free)
			ops->free(data);
		return NULL;
	}
	call = xcalloc(1, sizeof(*call));
	call->number = ++c->calls->last;
	call->session = peer->session;
	call->id = id;
	call->ops = ops;
	call->data = data;
	call->peer = peer;
	call->size = size;
	budget_add(core_budget(c->core), peer->uid, BUDGET_WAITS, (int64_t)size);
	LIST_INSERT_HEAD(&peer->calls, call, of_peer);
	peer->n_calls++;
	idmap_insert(c->calls->map, call->number, call);
	return call;
}

struct call *call_find(struct ctld *c, uint64_t number)
{
	return idmap_find(c->calls->map, number);
}

void calls_answer(struct ctld *c, const struct effect *effect, struct clocks now)
{
	struct call *call = call_find(c, effect->reply);

	(void)now;
	if (!call)
		return;
	if (call->ops->effect)
		call->ops->effect(c, call, effect);
	else
		call_done(c, call, effect->kind == EFFECT_REPLY ? effect->error : NULL);
}

static struct caller caller_of(struct ctld *c, const struct peer *peer, uid_t uid)
{
	struct caller caller = { .uid = uid, .host = peer->address };

	users_name(c->users, uid, &caller.user);
	caller.groups = users_groups(c->users, uid, &caller.n_groups);
	caller.role = uid == 0 || uid == c->self ? ROLE_ADMIN : role_of(c->conf, &caller);
	return caller;
}

struct caller peer_caller(struct ctld *c, const struct peer *peer)
{
	return caller_of(c, peer, peer_acts_as(peer));
}

struct caller peer_caller_itself(struct ctld *c, const struct peer *peer)
{
	return caller_of(c, peer, peer->uid);
}

struct caller call_caller(struct ctld *c, const struct call *call)
{
	struct caller caller = peer_caller(c, call->peer);

	caller.reply = call->number;
	return caller;
}

void call_done(struct ctld *c, struct call *call, const struct error *err)
{
	peers_reply(c, call->session, call->id, err);
	forget(c, call);
}

void call_done_but(struct ctld *c, struct call *call, const char *warning)
{
	peers_reply_done(c, call->session, call->id, warning);
	forget(c, call);
}

/* --- slices -------------------------------------------------------------------------------- */

/* May its next slice be made? Else it waits for room. */
static bool may_go_on(struct ctld *c, struct call *call)
{
	if (call->posted || call->stalled)
		return false;
	if (peer_has_space(c, call->peer))
		return true;
	/* The youngest continues first: it is the one that may, if its user is choked by sessions
	 * that read nothing. */
	call->stalled = true;
	TAILQ_INSERT_HEAD(&c->calls->stalled, call, stalled_next);
	return false;
}

/* Other slices may have taken the room since it was posted. */
static void run_slice(struct ctld *c, void *arg, struct clocks now)
{
	struct call *call = call_find(c, (uint64_t)(uintptr_t)arg);

	if (!call)
		return;
	call->posted = false;
	if (may_go_on(c, call))
		call->ops->slice(c, call, now);
}

static const struct tick_work slice_work = { run_slice, NULL };

void call_slice_now(struct ctld *c, struct call *call)
{
	if (may_go_on(c, call))
		call->ops->slice(c, call, ctld_now());
}

void call_go_on(struct ctld *c, struct call *call)
{
	if (!may_go_on(c, call))
		return;
	call->posted = true;
	fair_queue_post(
	        c->fair_queue, call->peer->uid, &slice_work, (void *)(uintptr_t)call->number);
}

void call_continue(struct ctld *c, struct call *call, bool more, const struct error *err)
{
	if (more)
		call_go_on(c, call);
	else
		call_done(c, call, err);
}

void calls_output_sent(struct ctld *c)
{
	struct call *call, *next;

	for (call = TAILQ_FIRST(&c->calls->stalled); call; call = next) {
		next = TAILQ_NEXT(call, stalled_next);
		if (!peer_has_space(c, call->peer))
			continue;
		TAILQ_REMOVE(&c->calls->stalled, call, stalled_next);
		call->stalled = false;
		call_go_on(c, call);
	}
}

void calls_drop(struct ctld *c, struct peer *peer, struct clocks now)
{
	struct call *call;

	while ((call = LIST_FIRST(&peer->calls))) {
		if (call->ops->gone)
			call->ops->gone(c, call, now);
		forget(c, call);
	}
}

size_t calls_count(const struct calls *r)
{
	return idmap_count(r->map);
}
