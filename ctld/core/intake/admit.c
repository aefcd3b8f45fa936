/* admit.c - see admit.h
 *
 * Policy before the job exists: nothing is changed here. The order is that of dependence: the
 * account decides what labels are required and which QOS are allowed, the partition decides
 * defaults, and only a filled-in request can be compared with limits. A job that could never start
 * within the limits is refused now, because in the queue it would wait for ever.
 */
#include "ctld/core/intake/admit.h"

#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/units.h"
#include "ctld/core/accounts/accounts.h"
#include "ctld/core/accounts/members.h"
#include "ctld/core/accounts/roles.h"
#include "ctld/core/limits/limits.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/partition.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/decide.h"
#include "ctld/core/sched/sched.h"

#define LIST_SIZE 200

static const char *shown(char buf[80], const char *name)
{
	text_escape(buf, 80, name, strlen(name));
	return buf;
}

/* Add a name to a list: "a, b". */
static void list_add(char *list, size_t *used, const char *name)
{
	if (*used < LIST_SIZE)
		*used += (size_t)snprintf(
		        list + *used, LIST_SIZE - *used, "%s%s", *used ? ", " : "", name);
}

static bool same(const char *x, const char *y)
{
	return !strcmp(x, y);
}

/* --- accounts -------------------------------------------------------------------------------- */

static int hint_accounts(const struct core *core, const struct caller *caller, struct error *err)
{
	const struct conf *conf = core->conf;
	char list[LIST_SIZE] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < conf->n_accounts; i++) {
		if (members_lists(core->members, i, caller))
			list_add(list, &used, conf->accounts[i].name);
	}
	if (!used && conf->default_account != CONF_NONE)
		list_add(list, &used, conf->accounts[conf->default_account].name);
	if (!used)
		return -1;
	return error_hint(err, "accounts that you may use: %s", list);
}

/* Without -A: the first account that lists the user, else the default one. */
static uint32_t own_account(const struct core *core, const struct caller *caller)
{
	uint32_t first = members_first(core->members, caller);

	return first == CONF_NONE ? core->conf->default_account : first;
}

/* The account by its name or, without one, the user's own. A user's own account needs no
 * membership: it may be the default. */
static int choose(struct core *core, const struct caller *caller, const char *name,
        uint32_t *account, struct error *err)
{
	char buf[80];

	*account = *name ? accounts_find(core->accounts, name) : own_account(core, caller);
	if (*name && *account == CONF_NONE) {
		error_set(err, ERR_NO_ACCOUNT, "--account=%s: there is no such account",
		        shown(buf, name));
		return hint_accounts(core, caller, err);
	}
	if (*account == CONF_NONE)
		return error_set(err, ERR_ACCOUNT_MEMBER,
		        "no account lists %.64s as a member, and there is no default account",
		        caller->user);
	if (!*name || verb_permits(VERB_ANY_ACCOUNT, standing(caller)) ||
	        members_lists(core->members, *account, caller) ||
	        *account == own_account(core, caller))
		return 0;
	error_set(err, ERR_ACCOUNT_MEMBER, "--account=%s: %.64s is not a member of this account",
	        shown(buf, name), caller->user);
	return hint_accounts(core, caller, err);
}

/* Those that the account requires, and all above it. */
static int check_labels(const struct core *core, const struct intake *t, struct error *err)
{
	size_t i, k;

	for (uint32_t a = t->account; a != CONF_NONE; a = core->conf->accounts[a].parent) {
		const struct conf_account *account = &core->conf->accounts[a];

		for (i = 0; i < account->required_labels.n; i++) {
			const char *key = account->required_labels.v[i];

			for (k = 0; k < t->in->n_labels && !same(t->in->labels[k].key, key); k++)
				;
			if (k == t->in->n_labels)
				return error_set(err, ERR_ACCOUNT_LABELS,
				        "account %s requires --label %s=NAME", account->name, key);
		}
	}
	return 0;
}

/* Where no accounts are configured any name is taken. A job that keeps its account is not asked
 * again. */
int admit_account(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err)
{
	const struct conf *conf = core->conf;

	t->info.account = t->in->account;
	t->account = CONF_NONE;
	if (!conf->n_accounts)
		return 0;
	if (t->updated && same(t->in->account, t->updated->account)) {
		t->account = accounts_find(core->accounts, t->in->account);
		return 0;
	}
	if (choose(core, caller, t->in->account, &t->account, err) < 0)
		return -1;
	t->info.account = conf->accounts[t->account].name;
	return check_labels(core, t, err);
}

/* --- QOS and partition ----------------------------------------------------------------------- */

/* Is the account in the list (in which each account includes all below it)? An empty list includes
 * all accounts. */
static bool among(const uint32_t *accounts, size_t n, uint32_t account)
{
	for (size_t i = 0; i < n; i++) {
		if (accounts[i] == account)
			return true;
	}
	return n == 0;
}

/* Always -1, with the accounts that may. */
static int hint_only(const struct conf_texts *accounts, struct error *err)
{
	char list[LIST_SIZE] = "";
	size_t used = 0, i;

	for (i = 0; i < accounts->n; i++)
		list_add(list, &used, accounts->v[i]);
	return error_hint(err, "it is for the accounts %s", list);
}

static uint32_t find_qos(const struct conf *conf, const char *name)
{
	for (uint32_t q = 0; q < conf->n_qos; q++) {
		if (same(conf->qos[q].name, name))
			return q;
	}
	return CONF_NONE;
}

int admit_qos(const struct core *core, struct intake *t, struct error *err)
{
	const struct conf *conf = core->conf;
	const char *name = t->in->qos;
	bool asked = !t->updated || !same(name, t->updated->qos);
	bool changed = asked || !same(t->info.account, t->updated->account);
	char buf[80];

	t->qos = *name ? find_qos(conf, name) : conf->default_qos;
	if (t->qos == CONF_NONE && *name && asked) {
		char list[LIST_SIZE] = "none";
		size_t used = 0, q;

		for (q = 0; q < conf->n_qos; q++)
			list_add(list, &used, conf->qos[q].name);
		error_set(err, ERR_NO_QOS, "--qos=%s: there is no such QOS", shown(buf, name));
		return error_hint(err, "QOS here: %s", list);
	}
	t->info.qos = t->qos == CONF_NONE ? name : conf->qos[t->qos].name;
	if (t->qos == CONF_NONE || !changed ||
	        among(conf->qos[t->qos].accounts, conf->qos[t->qos].n_accounts, t->account))
		return 0;
	error_set(err, ERR_QOS_ACCOUNT, "%s%s: account %.64s may not use it",
	        *name ? "--qos=" : "the default QOS ", t->info.qos, t->info.account);
	return hint_only(&conf->qos[t->qos].accounts_names, err);
}

int admit_partition(const struct core *core, const struct intake *t, struct error *err)
{
	const struct conf_partition *p = &core->conf->partitions[t->partition];
	bool stays = t->updated && job_may_choose(t->updated, p->name);

	if (!stays && !partition_takes(core->partitions, t->partition))
		return error_set(err, ERR_PARTITION_STATE,
		        "--partition=%s: it takes no jobs, it is %s", p->name,
		        partition_starts(core->partitions, t->partition) ? "drained" : "inactive");
	if (t->in->service && !p->services)
		return error_set(err, ERR_JOB_SPEC,
		        "--partition=%s: it takes no services (services = true in gpusched.conf)",
		        p->name);
	if (p->require_gpu && !t->in->n_gpus)
		return error_set(err, ERR_REQUIRE_GPU,
		        "partition %s is for jobs with GPUs: --gpus is missing", p->name);
	if ((stays && same(t->info.account, t->updated->account)) ||
	        among(p->accounts, p->n_accounts, t->account))
		return 0;
	error_set(err, ERR_PARTITION_ACCOUNT, "--partition=%s: account %.64s may not use it",
	        p->name, t->info.account);
	return hint_only(&p->accounts_names, err);
}

/* --- defaults and limits --------------------------------------------------------------------- */

void admit_defaults(const struct core *core, struct intake *t)
{
	const struct conf_partition *p = &core->conf->partitions[t->partition];
	const struct request *r = t->info.gpus;
	uint64_t gpus = 0, cpus;

	if (r->n)
		gpus = r->per_node ? r->v[0].count
		                   : (r->v[0].count + r->nodes_min - 1) / r->nodes_min;
	cpus = gpus * p->per_gpu_cpus;
	t->info.cpus = t->in->cpus         ? t->in->cpus
	               : cpus > UINT32_MAX ? UINT32_MAX
	               : cpus              ? (uint32_t)cpus
	                                   : 1;
	t->info.mem_mb = t->in->mem_mb               ? t->in->mem_mb
	                 : gpus && p->per_gpu_mem_mb ? gpus * p->per_gpu_mem_mb
	                                             : p->default_mem_mb;
}

static struct limit_chain *chain_of(struct core *core, const struct intake *t, uint32_t uid)
{
	return limits_chain(core->limits, t->account, uid, t->qos, t->partition);
}

int admit_time(struct core *core, struct intake *t, struct error *err)
{
	const struct conf_partition *p = &core->conf->partitions[t->partition];
	uint32_t asked = t->in->time_limit_s, *limit = &t->info.time_limit_s, least;
	char want[UNITS_TEXT], most[UNITS_TEXT];
	struct limit_chain *chain;

	if (t->in->service) { /* they stay up: the partition allows that */
		*limit = 0;
		return 0;
	}
	if (asked) {
		*limit = asked == TIME_LIMIT_NONE ? 0 : asked;
		if (!p->max_time_s || (*limit && *limit <= p->max_time_s))
			return 0;
		return error_set(err, ERR_TIME_LIMIT, "--time=%s: partition %s allows at most %s",
		        duration_format(want, *limit ? *limit : DURATION_FOREVER), p->name,
		        duration_format(most, p->max_time_s));
	}
	chain = chain_of(core, t, 0);
	least = limits_time_s(core->limits, chain);
	limit_chain_free(core->limits, chain);
	*limit = p->default_time_s ? p->default_time_s : p->max_time_s;
	if (p->max_time_s && *limit > p->max_time_s)
		*limit = p->max_time_s;
	if (least != CONF_NONE && (!*limit || *limit > least))
		*limit = least;
	return 0;
}

/* A product that stops at `most`. */
static uint64_t times(uint64_t each, uint32_t n, uint64_t most)
{
	return each && n > most / each ? most : each * n;
}

/* The least that an alternative takes, of a type that it may have. */
static struct need need_of(
        const struct core *core, const struct job_info *i, uint32_t a, uint16_t type)
{
	const struct request *r = i->gpus;
	struct need need = { .type = type,
		.gpus = r->n ? request_all_gpus(r, a, r->nodes_min) : 0,
		.cpus = (uint32_t)times(i->cpus, r->nodes_min, UINT32_MAX),
		.mem_mb = times(i->mem_mb, r->nodes_min, INT64_MAX),
		.nodes = r->nodes_min,
		.licences = r->licences,
		.n_licences = (uint16_t)r->n_licences };
	struct share share;

	if (type >= core->conf->n_gpu_types)
		return need;
	ledger_share_of(core->ledger, r, type, &share);
	need.charge = share.charge;
	need.gpu_mem_mb =
	        need.gpus * (share.charge ? share.mem_mb : core->conf->gpu_types[type].mem_mb);
	return need;
}

/* Refused only if no alternative with any of its types could start within the limits: one that
 * could is enough. */
int admit_limits(
        struct core *core, const struct caller *caller, const struct intake *t, struct error *err)
{
	struct limit_chain *chain = chain_of(core, t, caller->uid);
	struct ask ask = { .gpus = t->info.gpus };
	struct error other;
	uint16_t type;
	int rc = 1;

	/* If none may, the best liked says why. */
	for (uint32_t a = 0; rc && a < decide_alternatives(&ask); a++) {
		for (uint32_t cursor = 0;
		        rc && decide_types(sched_view(core->sched), &ask, a, &cursor, &type);) {
			struct need need = need_of(core, &t->info, a, type);

			/* No limit of time is for services. */
			rc = limits_submit(core->limits, chain, &need,
			        t->in->service ? 1 : t->info.time_limit_s,
			        t->weight, rc < 0 ? &other : err);
		}
	}
	limit_chain_free(core->limits, chain);
	return rc < 0 ? -1 : 0;
}
