/* unknown_names.c - see unknown_names.h */
#include "config.h"

#include "ctld/rpc/call/unknown_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "ctld/core/records/job_partitions.h"
#include "ctld/wire/nameset.h"

#define HINT_MAX 200

struct unknown {
	struct {
		struct nameset names;
		bool known[UNKNOWN_NAMES_MAX];
		char hint[HINT_MAX];
	} kinds[UNKNOWN_KINDS];
	size_t left; /* names that nothing found so far has */
};

/* --- what would be right -------------------------------------------------------------------- */

static void list_add(char *list, size_t size, const char *name)
{
	size_t used = strlen(list);

	snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
}

static void hint_partitions(const struct conf *conf, char *hint, size_t size)
{
	char list[160] = "";

	for (size_t i = 0; i < conf->n_partitions; i++)
		list_add(list, sizeof(list), conf->partitions[i].name);
	snprintf(hint, size, "partitions here: %s", list);
}

static void hint_qos(const struct conf *conf, char *hint, size_t size)
{
	char list[160] = "";

	for (size_t i = 0; i < conf->n_qos; i++)
		list_add(list, sizeof(list), conf->qos[i].name);
	snprintf(hint, size, "%s%s", *list ? "QOS here: " : "there are no QOS here", list);
}

static void hint_accounts(const struct conf *conf, char *hint, size_t size)
{
	snprintf(hint, size, "%s",
	        conf->n_accounts ? "gshare lists the accounts" : "there are no accounts here");
}

static void hint_nodes(const struct conf *conf, char *hint, size_t size)
{
	(void)conf;
	snprintf(hint, size, "ginfo -N lists the nodes");
}

static const struct {
	const char *what;
	int code;
	void (*hint)(const struct conf *conf, char *hint, size_t size);
} kinds[UNKNOWN_KINDS] = {
	[UNKNOWN_ACCOUNT] = { "account", ERR_NO_ACCOUNT, hint_accounts },
	[UNKNOWN_PARTITION] = { "partition", ERR_NO_PARTITION, hint_partitions },
	[UNKNOWN_QOS] = { "QOS", ERR_NO_QOS, hint_qos },
	[UNKNOWN_NODE] = { "node", ERR_NO_NODE, hint_nodes },
};

/* --- names ---------------------------------------------------------------------------------- */

static void strike_at(struct unknown *u, enum unknown_kind kind, size_t i)
{
	u->left -= !u->kinds[kind].known[i];
	u->kinds[kind].known[i] = true;
}

/* Something has that name. Nodes are named as ranges, and one of them is enough. */
static void strike(struct unknown *u, enum unknown_kind kind, const char *name)
{
	const struct nameset *names = &u->kinds[kind].names;
	char *const *found = name ? nameset_find(names, name) : NULL;

	if (found && kind != UNKNOWN_NODE)
		strike_at(u, kind, (size_t)(found - names->v));
	for (size_t i = 0; found && kind == UNKNOWN_NODE && i < names->n; i++)
		strike_at(u, kind, i);
}

static int add_node(const char *node, void *arg)
{
	struct nameset *names = arg;

	nameset_add(names, node);
	return names->n == UNKNOWN_NAMES_MAX;
}

static void take_names(struct nameset *names, enum unknown_kind kind, struct unknown_given given)
{
	for (size_t i = 0; i < given.n && names->n < UNKNOWN_NAMES_MAX; i++) {
		if (kind == UNKNOWN_NODE)
			hostlist_each(given.v[i], HOSTLIST_MAX, add_node, names, NULL);
		else if (*given.v[i])
			nameset_add(names, given.v[i]);
	}
	nameset_seal(names);
}

/* The configured names of each kind, in one pass, however many are asked for. */
static void strike_configured(struct unknown *u, const struct conf *conf)
{
	for (size_t i = 0; i < conf->n_accounts && u->kinds[UNKNOWN_ACCOUNT].names.n; i++)
		strike(u, UNKNOWN_ACCOUNT, conf->accounts[i].name);
	for (size_t i = 0; i < conf->n_partitions && u->kinds[UNKNOWN_PARTITION].names.n; i++)
		strike(u, UNKNOWN_PARTITION, conf->partitions[i].name);
	for (size_t i = 0; i < conf->n_qos && u->kinds[UNKNOWN_QOS].names.n; i++)
		strike(u, UNKNOWN_QOS, conf->qos[i].name);
	for (size_t i = 0; i < conf->n_nodes && u->kinds[UNKNOWN_NODE].names.n; i++)
		strike(u, UNKNOWN_NODE, conf->nodes[i].name);
}

struct unknown *unknown_new(
        const struct unknown_given given[UNKNOWN_KINDS], const struct conf *conf)
{
	struct unknown *u = xcalloc(1, sizeof(*u));

	for (size_t k = 0; k < UNKNOWN_KINDS; k++) {
		take_names(&u->kinds[k].names, k, given[k]);
		u->left += u->kinds[k].names.n;
		kinds[k].hint(conf, u->kinds[k].hint, HINT_MAX);
	}
	strike_configured(u, conf);
	if (u->left)
		return u;
	unknown_free(u);
	return NULL;
}

void unknown_free(struct unknown *u)
{
	if (!u)
		return;
	for (size_t k = 0; k < UNKNOWN_KINDS; k++)
		nameset_clear(&u->kinds[k].names);
	free(u);
}

static int strike_node(const char *node, void *arg)
{
	struct unknown *u = arg;

	strike(u, UNKNOWN_NODE, node);
	return u->left == 0;
}

static void strike_partitions(struct unknown *u, const char *list)
{
	char one[JOB_PARTITION_SIZE];
	const char *name;
	size_t n;

	while ((name = partition_list_next(&list, &n))) {
		snprintf(one, sizeof(one), "%.*s", (int)n, name);
		strike(u, UNKNOWN_PARTITION, one);
	}
}

void unknown_meet(struct unknown *u, const struct unknown_met *job)
{
	if (!u || !u->left)
		return;
	strike(u, UNKNOWN_ACCOUNT, job->account);
	strike_partitions(u, job->partition);
	strike(u, UNKNOWN_QOS, job->qos);
	if (u->kinds[UNKNOWN_NODE].names.n && job->nodes && *job->nodes)
		hostlist_each(job->nodes, HOSTLIST_MAX, strike_node, u, NULL);
}

int unknown_check(const struct unknown *u, struct error *err)
{
	char shown[80];

	for (size_t k = 0; u && u->left && k < UNKNOWN_KINDS; k++)
		for (size_t i = 0; i < u->kinds[k].names.n; i++) {
			const char *name = u->kinds[k].names.v[i];

			if (u->kinds[k].known[i])
				continue;
			text_escape(shown, sizeof(shown), name, strlen(name));
			error_set(err, kinds[k].code,
			        "there is no %s '%s', and nothing that was found has it",
			        kinds[k].what, shown);
			return error_hint(err, "%s", u->kinds[k].hint);
		}
	return 0;
}
