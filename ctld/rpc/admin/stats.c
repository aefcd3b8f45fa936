/* stats.c - MSG_STATS: the controller's figures, or what each user holds of it */
#include "ctld/rpc/admin/stats_figures.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/core.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/user_names.h"
#include "ctld/rpc/rpc.h"

#define USERS_A_PART 256

/* --- by user --------------------------------------------------------------------------------- */

struct user_part {
	Gpusched__UserStat users[USERS_A_PART], *list[USERS_A_PART];
	Gpusched__UserBudget budgets[USERS_A_PART][BUDGET_COUNT], *lists[USERS_A_PART][BUDGET_COUNT];
	char names[USERS_A_PART][64];
	size_t n;
};

static void add_user(
        struct ctld *c, struct user_part *part, const struct budget_account *account)
{
	const struct budget *b = core_budget(c->core);
	Gpusched__UserStat *user = &part->users[part->n];
	const char *name;

	users_name(c->users, account->uid, &name);
	snprintf(part->names[part->n], sizeof(part->names[part->n]), "%s", name);
	gpusched__user_stat__init(user);
	user->uid = account->uid;
	user->name = part->names[part->n];
	user->n_budgets = BUDGET_COUNT;
	user->budgets = part->lists[part->n];
	for (int k = 0; k < BUDGET_COUNT; k++) {
		Gpusched__UserBudget *to = &part->budgets[part->n][k];
		const struct budget_kind_info *kind = budget_kind(k);

		gpusched__user_budget__init(to);
		to->name = (char *)kind->word;
		to->unit = (char *)kind->unit;
		to->used = account->used[k];
		to->limit = *kind->key ? budget_limit(b, k) : 0;
		part->lists[part->n][k] = to;
	}
	part->list[part->n++] = user;
}

static void send_part(struct ctld *c, const struct rpc *rpc, struct user_part *part)
{
	Gpusched__StatsResult m = GPUSCHED__STATS_RESULT__INIT;

	m.users = part->list;
	m.n_users = part->n;
	rpc_answer(c, rpc, GPUSCHED__MSG_TYPE__MSG_STATS_RESULT, &m.base);
	part->n = 0;
}

static void users_stats(struct ctld *c, const struct rpc *rpc)
{
	struct caller caller = peer_caller(c, rpc->peer);
	bool all = verb_permits(VERB_BUDGETS, standing(&caller));
	struct user_part *part = xcalloc(1, sizeof(*part));
	struct budget_account account;
	uint64_t uid = all ? 0 : caller.uid;

	for (; budget_next(core_budget(c->core), uid, &account); uid = (uint64_t)account.uid + 1) {
		if (!all && account.uid != caller.uid)
			break;
		add_user(c, part, &account);
		if (part->n == USERS_A_PART)
			send_part(c, rpc, part);
	}
	if (part->n)
		send_part(c, rpc, part);
	free(part);
	rpc_reply(c, rpc, NULL);
}

/* --- the controller -------------------------------------------------------------------------- */

static void figures(struct ctld *c, const struct rpc *rpc)
{
	Gpusched__StatsResult m = GPUSCHED__STATS_RESULT__INIT;
	Gpusched__Stat stats[FIGURES_MAX], *list[FIGURES_MAX];
	struct figure values[FIGURES_MAX];

	m.n_stats = figures_take(c, values);
	m.stats = list;
	for (size_t i = 0; i < m.n_stats; i++) {
		gpusched__stat__init(&stats[i]);
		stats[i].name = (char *)values[i].name;
		stats[i].unit = (char *)values[i].unit;
		stats[i].help = (char *)values[i].help;
		stats[i].value = values[i].value;
		list[i] = &stats[i];
	}
	rpc_answer(c, rpc, GPUSCHED__MSG_TYPE__MSG_STATS_RESULT, &m.base);
	rpc_reply(c, rpc, NULL);
}

int rpc_stats(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__Stats *m = (const Gpusched__Stats *)rpc->msg;

	(void)err;
	if (m->by_user)
		users_stats(c, rpc);
	else
		figures(c, rpc);
	return 0;
}
