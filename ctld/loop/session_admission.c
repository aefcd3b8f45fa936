/* session_admission.c - see session_admission.h */
#include "ctld/loop/session_admission.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/accounts/roles.h"
#include "ctld/core/core.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/core/util/idmap.h"
#include "ctld/ctld.h"
#include "ctld/loop/node_names.h"
#include "ctld/loop/peer.h"
#include "ctld/loop/user_names.h"

/* Descriptors that are no users' sessions: handshakes, the store's, logs, workers. */
#define OTHER_DESCRIPTORS 2048

TAILQ_HEAD(peer_list, peer);

struct user_sessions {
	TAILQ_ENTRY(user_sessions) next;
	uid_t uid;
	unsigned n;
	struct peer_list peers; /* the longest idle first */
	bool choked;
};

struct admission {
	const struct admission_hooks *hooks;
	struct idmap *map; /* by uid + 1 */
	TAILQ_HEAD(, user_sessions) users;
	unsigned n;          /* sessions of users */
	struct idmap *agents; /* by node + 1: how many, as a pointer */
};

struct admission *admission_new(const struct admission_hooks *hooks)
{
	struct admission *u = xcalloc(1, sizeof(*u));

	u->hooks = hooks;
	u->map = idmap_new();
	u->agents = idmap_new();
	TAILQ_INIT(&u->users);
	return u;
}

void admission_free(struct admission *u)
{
	struct user_sessions *us;

	if (!u)
		return;
	while ((us = TAILQ_FIRST(&u->users))) {
		TAILQ_REMOVE(&u->users, us, next);
		free(us);
	}
	idmap_free(u->map);
	idmap_free(u->agents);
	free(u);
}

static struct user_sessions *find(const struct admission *u, uid_t uid)
{
	return idmap_find(u->map, (uint64_t)uid + 1);
}

/* --- making room ----------------------------------------------------------------------------- */

static bool is_idle(const struct peer *peer)
{
	return !peer->n_calls && !peer->n_streams && !peer->work && !peer->unread && !peer->bulk;
}

/* The longest idle session of a user; with `any` the first of those that are not, if there is none.
 * NULL: no session that may end. */
static struct peer *to_end(const struct user_sessions *us, bool any)
{
	struct peer *peer;

	if (!us)
		return NULL;
	TAILQ_FOREACH (peer, &us->peers, of_user)
		if (is_idle(peer))
			return peer;
	return any ? TAILQ_FIRST(&us->peers) : NULL;
}

static struct user_sessions *user_with_most(const struct admission *u)
{
	struct user_sessions *us, *most = TAILQ_FIRST(&u->users);

	TAILQ_FOREACH (us, &u->users, next)
		if (us->n > most->n)
			most = us;
	return most;
}

static bool is_staff(struct ctld *c, uid_t uid)
{
	struct caller caller = { .uid = uid, .host = "" };

	if (uid == 0 || uid == c->self)
		return true;
	users_name(c->users, uid, &caller.user);
	caller.groups = users_groups(c->users, uid, &caller.n_groups);
	return role_of(c->conf, &caller) != ROLE_USER;
}

/* How many there may be, of all users. */
static unsigned most_sessions(const struct ctld *c)
{
	unsigned agents = ADMISSION_AGENT * (unsigned)c->conf->n_nodes;
	unsigned others = OTHER_DESCRIPTORS + ADMISSION_KEPT + agents;
	unsigned left = c->descriptors > 2 * others ? c->descriptors - others : c->descriptors / 2;

	return c->conf->controller.max_sessions < left ? c->conf->controller.max_sessions : left;
}

static int space_of_user(struct ctld *c, uid_t uid, struct error *err)
{
	struct error why;
	struct peer *old;

	if (budget_check(core_budget(c->core), uid, BUDGET_SESSIONS, 1, err) == 0)
		return 0;
	old = to_end(find(c->admission, uid), false);
	if (!old) {
		if (err)
			err->code = ERR_SESSIONS;
		return -1;
	}
	error_set(&why, ERR_BUSY, "idle, and its user has another one instead");
	c->admission->hooks->end(c, old, &why);
	return 0;
}

static int space_of_all(struct ctld *c, uid_t uid, struct error *err)
{
	const struct user_sessions *mine = find(c->admission, uid), *most;
	unsigned limit = most_sessions(c) + (is_staff(c, uid) ? ADMISSION_KEPT : 0);
	bool others;
	struct error why;
	struct peer *old;

	if (c->admission->n < limit)
		return 0;
	most = user_with_most(c->admission);
	others = most && most->n > (mine ? mine->n : 0) + 1;
	old = to_end(others ? most : mine, others);
	if (!old)
		return error_set(err, ERR_SESSIONS,
		        "all %u connections of users are in use (controller.max_sessions), %u of "
		        "them by you and none of those idle",
		        limit, mine ? mine->n : 0);
	error_set(&why, ERR_BUSY, "all %u connections of users are in use, and its user has %u",
	        limit, most->n);
	c->admission->hooks->end(c, old, &why);
	return 0;
}

int admission_admit(struct ctld *c, uid_t uid, struct error *err)
{
	return space_of_user(c, uid, err) < 0 ? -1 : space_of_all(c, uid, err);
}

/* --- agents ---------------------------------------------------------------------------------- */

static uintptr_t agents_of(const struct admission *u, uint32_t node)
{
	return (uintptr_t)idmap_find(u->agents, (uint64_t)node + 1);
}

static void count_agent(struct admission *u, uint32_t node, bool in)
{
	uint64_t key = (uint64_t)node + 1;
	uintptr_t n = agents_of(u, node) + (in ? 1 : -(uintptr_t)1);

	if (node == UINT32_MAX)
		return;
	idmap_take(u->agents, key);
	if (n)
		idmap_insert(u->agents, key, (void *)n);
}

void admission_renumber(struct ctld *c, struct peer *peer, uint32_t from)
{
	count_agent(c->admission, from, false);
	count_agent(c->admission, peer->node, true);
}

static int admit_agent(struct ctld *c, uint32_t node, struct error *err)
{
	if (agents_of(c->admission, node) < ADMISSION_AGENT)
		return 0;
	return error_set(err, ERR_BUSY, "%d agents of node %s are connected already",
	        ADMISSION_AGENT, c->conf->nodes[node].name);
}

/* --- beginning and end ----------------------------------------------------------------------- */

static struct user_sessions *take_user(struct admission *u, uid_t uid)
{
	struct user_sessions *us = find(u, uid);

	if (us)
		return us;
	us = xcalloc(1, sizeof(*us));
	us->uid = uid;
	TAILQ_INIT(&us->peers);
	TAILQ_INSERT_TAIL(&u->users, us, next);
	idmap_insert(u->map, (uint64_t)uid + 1, us);
	return us;
}

int session_admit(struct sessions *ss, const struct session_peer *sp, void *arg, struct error *err)
{
	struct ctld *c = arg;
	uint32_t node;

	(void)ss;
	if (!sp->node[0])
		return admission_admit(c, sp->uid, err) < 0 ? err->code : 0;
	if (sp->uid != 0 && sp->uid != c->agent_uid) {
		error_set(err, ERR_NOT_PERMITTED, "uid %u may not speak for node %s",
		        (unsigned)sp->uid, sp->node);
		return ERR_NOT_PERMITTED;
	}
	if (!node_names_find(c->node_names, sp->node, &node)) {
		error_set(err, ERR_NO_NODE, "node %s is not in the configuration", sp->node);
		return ERR_NO_NODE;
	}
	return admit_agent(c, node, err) < 0 ? err->code : 0;
}

void admission_add(struct ctld *c, struct peer *peer)
{
	struct admission *u = c->admission;

	if (peer->agent) {
		count_agent(u, peer->node, true);
		return;
	}
	peer->user = take_user(u, peer->uid);
	TAILQ_INSERT_TAIL(&peer->user->peers, peer, of_user);
	peer->user->n++;
	u->n++;
	budget_add(core_budget(c->core), peer->uid, BUDGET_SESSIONS, 1);
}

void admission_remove(struct ctld *c, struct peer *peer)
{
	struct user_sessions *us = peer->user;
	struct admission *u = c->admission;

	if (peer->agent) {
		count_agent(u, peer->node, false);
		return;
	}
	if (!us)
		return;
	peer->user = NULL;
	TAILQ_REMOVE(&us->peers, peer, of_user);
	us->n--;
	u->n--;
	budget_add(core_budget(c->core), peer->uid, BUDGET_SESSIONS, -1);
	if (us->n)
		return;
	TAILQ_REMOVE(&u->users, us, next);
	idmap_take(u->map, (uint64_t)us->uid + 1);
	free(us);
}

void admission_used(struct peer *peer)
{
	if (!peer->user)
		return;
	TAILQ_REMOVE(&peer->user->peers, peer, of_user);
	TAILQ_INSERT_TAIL(&peer->user->peers, peer, of_user);
}

/* --- users that hold too much ---------------------------------------------------------------- */

static const enum budget_kind choking[] = { BUDGET_UNREAD, BUDGET_REQUESTS };
#define N_CHOKING (sizeof(choking) / sizeof(choking[0]))

static bool holds_too_much(const struct ctld *c, uid_t uid)
{
	for (size_t i = 0; i < N_CHOKING; i++)
		if (budget_full(core_budget(c->core), uid, choking[i]))
			return true;
	return false;
}

static bool holds_half(const struct ctld *c, uid_t uid)
{
	const struct budget *b = core_budget(c->core);

	for (size_t i = 0; i < N_CHOKING; i++)
		if (budget_used(b, uid, choking[i]) > budget_limit(b, choking[i]) / 2)
			return false;
	return true;
}

bool admission_choked(const struct peer *peer)
{
	return peer->user && peer->user->choked;
}

void admission_charged(struct ctld *c, uid_t uid)
{
	struct user_sessions *us = find(c->admission, uid);
	struct peer *peer;

	if (!us || us->choked == (us->choked ? !holds_half(c, us->uid) : holds_too_much(c, us->uid)))
		return;
	us->choked = !us->choked;
	if (us->choked)
		return; /* its sessions stop with the next frame of each */
	TAILQ_FOREACH (peer, &us->peers, of_user)
		c->admission->hooks->go_on(c, peer);
	c->admission->hooks->sent(c);
}

static bool is_stuck(const struct peer *peer, usec_t now)
{
	return peer->unread && now - peer->taken > ADMISSION_STUCK_S * (usec_t)1000000;
}

static void end_stuck(struct ctld *c, struct user_sessions *us)
{
	struct peer *peer, *next;
	usec_t now = ctld_mono();
	struct error why;

	error_set(&why, ERR_BUSY,
	        "nothing of its answers was read for %d s, and the answers of uid %u that were not "
	        "read take all that one user may have (controller.unread_per_user)",
	        ADMISSION_STUCK_S, (unsigned)us->uid);
	for (peer = TAILQ_FIRST(&us->peers); peer; peer = next) {
		next = TAILQ_NEXT(peer, of_user);
		if (is_stuck(peer, now))
			c->admission->hooks->end(c, peer, &why);
	}
}

void admission_end_stuck(struct ctld *c)
{
	struct user_sessions *us, *next;

	for (us = TAILQ_FIRST(&c->admission->users); us; us = next) {
		next = TAILQ_NEXT(us, next);
		if (us->choked)
			end_stuck(c, us);
	}
}
