/* list_shares.c - MSG_LIST_SHARES: the tree of accounts, in chunks
 *
 * The tree is walked at once, since what it shows belongs together and any event may change it;
 * what was found is sent as the peer takes it.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/peers.h"
#include "ctld/rpc/call/call_answer.h"
#include "ctld/rpc/call/visibility.h"
#include "ctld/rpc/rpc.h"
#include "ctld/wire/convert.h"
#include "ctld/wire/nameset.h"

struct listing {
	const struct core *core;
	struct arena *arena;
	Gpusched__Share **shares; /* in the arena */
	size_t n, room, at;
};

static void listing_free(void *data)
{
	struct listing *l = data;

	free(l->shares);
	arena_free(l->arena);
	free(l);
}

static size_t listing_size(const void *data)
{
	const struct listing *l = data;

	return sizeof(*l) + l->room * sizeof(*l->shares) + arena_used(l->arena);
}

static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	Gpusched__ShareChunk m = GPUSCHED__SHARE_CHUNK__INIT;
	struct listing *l = call->data;
	struct call_part to;

	(void)now;
	m.currency = c->conf->prices.currency;
	call_part_begin(c, call, &to, GPUSCHED__MSG_TYPE__MSG_SHARE_CHUNK, &m.base, false);
	for (; l->at < l->n && !part_full(&to.part); l->at++)
		part_add(&to.part, &l->shares[l->at]->base);
	if (!part_end(&to.part))
		peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_SHARE_CHUNK, call->id, &m.base);
	call_continue(c, call, l->at < l->n, NULL);
}

static const struct call_ops listing_ops = {
	.slice = slice, .free = listing_free, .size = listing_size
};

/* --- which of them -------------------------------------------------------------------------- */

/* A walk down the tree: the depth of an account that was asked for, and the accounts above the
 * present row that were not shown yet. */
struct walk {
	struct visibility *visibility; /* owned; NULL: the caller may see all */
	const char *user;         /* the caller */
	struct nameset accounts, users; /* that were asked for; empty: all */
	bool *found;                    /* of `accounts` */
	uint32_t inside;          /* depth of the account that was asked for; UINT32_MAX: outside */
	struct share_view *above; /* by depth */
	size_t n_above, room;
};

/* Is the row in an account that was asked for? */
static bool in_accounts(struct walk *w, const struct share_view *row)
{
	char *const *name;

	if (w->accounts.n == 0)
		return true;
	if (!*row->user && row->depth <= w->inside)
		w->inside = UINT32_MAX;
	name = *row->user ? NULL : nameset_find(&w->accounts, row->account);
	if (name) {
		w->found[name - w->accounts.v] = true;
		if (w->inside == UINT32_MAX)
			w->inside = row->depth;
	}
	return w->inside != UINT32_MAX;
}

static void add_row(struct listing *l, const struct share_view *row)
{
	*XADD(l->shares, l->n, l->room) = wire_share(l->core, row, l->arena);
}

/* Where usage is private: a user's own, and all of the accounts that the user coordinates. */
static bool sees(const struct walk *w, const struct share_view *row)
{
	return visibility_has_account(w->visibility, row->account) ||
	       strcmp(row->user, w->user) == 0;
}

static bool wanted(const struct walk *w, const struct share_view *row)
{
	return sees(w, row) &&
	       (w->users.n == 0 || (*row->user && nameset_find(&w->users, row->user)));
}

/* An account becomes the last above the rows to come. */
static void put_above(struct walk *w, const struct share_view *row)
{
	while (w->n_above && w->above[w->n_above - 1].depth >= row->depth)
		w->n_above--;
	*XADD(w->above, w->n_above, w->room) = *row;
}

/* An account is shown only once something in it is shown; the accounts above it come first. */
static void add_wanted(struct listing *l, struct walk *w, const struct share_view *row)
{
	if (!*row->user)
		put_above(w, row);
	if (!wanted(w, row))
		return;
	for (size_t i = 0; i < w->n_above; i++)
		if (w->above[i].account) {
			add_row(l, &w->above[i]);
			w->above[i].account = NULL; /* is shown */
		}
	if (*row->user)
		add_row(l, row);
}

static int check_found(const struct walk *w, struct error *err)
{
	char shown[80];

	for (size_t i = 0; i < w->accounts.n; i++)
		if (!w->found[i]) {
			text_escape(shown, sizeof(shown), w->accounts.v[i],
			        strlen(w->accounts.v[i]));
			return error_set(err, ERR_USAGE, "there is no account '%s'", shown);
		}
	return 0;
}

static int collect(struct ctld *c, const struct rpc *rpc, struct listing *l, struct error *err)
{
	const Gpusched__ListShares *m = (const Gpusched__ListShares *)rpc->msg;
	struct caller caller = peer_caller(c, rpc->peer);
	struct walk w = { .inside = UINT32_MAX, .user = caller.user };
	struct share_view row;
	size_t cursor = 0;
	int ret;

	w.visibility = visibility_new(c->conf, &caller, c->conf->roles.private_usage);
	nameset_add_all(&w.accounts, m->accounts, m->n_accounts);
	nameset_seal(&w.accounts);
	nameset_add_all(&w.users, m->users, m->n_users);
	nameset_seal(&w.users);
	w.found = xcalloc(w.accounts.n + 1, sizeof(*w.found));
	while (core_share_next(c->core, &cursor, &row))
		if (in_accounts(&w, &row))
			add_wanted(l, &w, &row);
	ret = check_found(&w, err);
	visibility_free(w.visibility);
	nameset_clear(&w.accounts);
	nameset_clear(&w.users);
	free(w.found);
	free(w.above);
	return ret;
}

int rpc_list_shares(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	struct listing *l = xcalloc(1, sizeof(*l));

	l->core = c->core;
	l->arena = arena_new(WIRE_ARENA_CAP);
	if (!l->arena)
		error_set(err, ERR_BUSY, "out of memory");
	if (!l->arena || collect(c, rpc, l, err)) {
		listing_free(l);
		return -1;
	}
	return rpc_call(c, rpc, &listing_ops, l);
}
