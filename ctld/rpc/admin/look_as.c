/* look_as.c - MSG_LOOK_AS: a web user's session is told what one of its own users would be told
 *
 * So gweb needs no rule of its own for what is private: the controller narrows each answer as it does
 * for that user. What the session may send at all remains a web user's (rpc_dispatch()): it looks, and
 * hands in what the user has signed.
 */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/user_names.h"
#include "ctld/rpc/rpc.h"

/* A web user that asks for one uid after another must not fill the memory with their names. */
#define LOOK_AS_USERS_MAX 100000

/* Requests under way belong to another user: the session must have none. */
static int check_idle(const struct peer *peer, struct error *err)
{
	if (peer->n_calls || !STAILQ_EMPTY(&peer->submits) || peer->bulk)
		return error_set(err, ERR_BUSY, "other requests of this session are open");
	return 0;
}

/* The user must have a name. While it is being looked up the request is refused as busy, and the
 * client repeats it. */
static int check_user(struct ctld *c, const struct peer *peer, uid_t uid, struct error *err)
{
	enum user_state state;
	const char *name;

	if (users_count(c->users) > LOOK_AS_USERS_MAX)
		return error_set(
		        err, ERR_BUSY, "more than %d users were looked up", LOOK_AS_USERS_MAX);
	state = users_name(c->users, uid, &name);
	if (users_look_up(c->users, uid, peer->session, err) < 0)
		return -1;
	if (state == USER_NOT_KNOWN)
		return error_set(err, ERR_BUSY, "uid %u is being looked up", (unsigned)uid);
	if (state == USER_NAMELESS)
		return error_set(err, ERR_NOT_PERMITTED,
		        "uid %u is not a user of the controller's host", (unsigned)uid);
	return 0;
}

static void answer(struct ctld *c, const struct rpc *rpc)
{
	Gpusched__LookAsResult m = GPUSCHED__LOOK_AS_RESULT__INIT;
	struct caller caller = peer_caller(c, rpc->peer);

	m.user = (char *)caller.user;
	m.staff = standing(&caller) & AS_STAFF;
	m.admin = standing(&caller) & AS_ADMIN;
	m.private_jobs = c->conf->roles.private_jobs;
	m.private_usage = c->conf->roles.private_usage;
	m.accounts = xcalloc(c->conf->n_accounts + 1, sizeof(*m.accounts));
	for (uint32_t a = 0; a < c->conf->n_accounts; a++)
		if (coordinates(c->conf, &caller, a))
			m.accounts[m.n_accounts++] = c->conf->accounts[a].name;
	rpc_answer(c, rpc, GPUSCHED__MSG_TYPE__MSG_LOOK_AS_RESULT, &m.base);
	free(m.accounts);
}

int rpc_look_as(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__LookAs *m = (const Gpusched__LookAs *)rpc->msg;
	struct peer *peer = rpc->peer;

	if (check_idle(peer, err) < 0)
		return -1;
	if (!m->self && check_user(c, peer, m->uid, err) < 0)
		return -1;
	peer->looks = !m->self;
	peer->as_uid = m->self ? peer->uid : m->uid;
	answer(c, rpc);
	rpc_reply(c, rpc, NULL);
	return 0;
}
