/* members.c - see members.h
 *
 * A hash table with an entry for each name in each account, and one for each name in any account:
 * it knows the first account that lists the name. So the cost is one look for the user, one for "*"
 * and one for each group of the user's.
 */
#include "ctld/core/accounts/members.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

/* One name in one account; of all accounts with that name the first has an entry for ANY too. */
struct entry {
	const char *name; /* the configuration's */
	size_t len;
	char kind; /* 'u' a user, '@' a group, '*' all users */
	uint32_t account;
	uint32_t first; /* of ANY: the account */
};

#define ANY CONF_NONE

struct members {
	const struct conf *conf;
	struct table *table;
	struct entry *v; /* owned */
	size_t n;
};

static uint64_t entry_hash(const void *item, uint64_t seed)
{
	const struct entry *e = item;

	return hash_bytes(
	        e->name, e->len, hash_u64((uint64_t)e->account << 8 | (uint8_t)e->kind, seed));
}

static bool entry_equal(const void *item, const void *key)
{
	const struct entry *x = item, *y = key;

	return x->account == y->account && x->kind == y->kind && x->len == y->len &&
	       !memcmp(x->name, y->name, x->len);
}

static struct entry *find(const struct members *m, uint32_t account, char kind, const char *name)
{
	const struct entry key = {
		.name = name, .len = strlen(name), .kind = kind, .account = account
	};

	return table_find(m->table, entry_hash(&key, table_seed(m->table)), entry_equal, &key);
}

/* A name that is there already only gets the account that is first in the file. */
static void add(struct members *m, uint32_t account, uint32_t first, const char *text)
{
	char kind = !strcmp(text, "*") ? '*' : *text == '@' ? '@' : 'u';
	const char *name = kind == '@' ? text + 1 : text;
	struct entry *e = find(m, account, kind, name);

	if (e) {
		if (m->conf->accounts[first].rank < m->conf->accounts[e->first].rank)
			e->first = first;
		return;
	}
	e = &m->v[m->n++];
	*e = (struct entry){ name, strlen(name), kind, account, first };
	table_add(m->table, e);
}

struct members *members_new(const struct conf *conf, uint64_t seed)
{
	struct members *m = xcalloc(1, sizeof(*m));
	size_t i, k, n = 0;

	m->conf = conf;
	m->table = table_new(entry_hash, seed);
	for (i = 0; i < conf->n_accounts; i++)
		n += conf->accounts[i].members.n;
	m->v = xcalloc(n ? 2 * n : 1, sizeof(*m->v));
	for (i = 0; i < conf->n_accounts; i++) {
		for (k = 0; k < conf->accounts[i].members.n; k++) {
			add(m, (uint32_t)i, (uint32_t)i, conf->accounts[i].members.v[k]);
			add(m, ANY, (uint32_t)i, conf->accounts[i].members.v[k]);
		}
	}
	return m;
}

void members_free(struct members *m)
{
	if (!m)
		return;
	table_free(m->table);
	free(m->v);
	free(m);
}

/* The first entry of `account` (or ANY) that lists the user. */
static uint32_t look(const struct members *m, uint32_t account, const struct caller *caller)
{
	const struct entry *e[2] = { find(m, account, '*', "*"),
		find(m, account, 'u', caller->user) };
	uint32_t best = CONF_NONE;

	for (size_t i = 0; i < 2 + caller->n_groups; i++) {
		const struct entry *it =
		        i < 2 ? e[i] : find(m, account, '@', caller->groups[i - 2]);

		if (it && (best == CONF_NONE ||
		                  m->conf->accounts[it->first].rank < m->conf->accounts[best].rank))
			best = it->first;
	}
	return best;
}

bool members_lists(const struct members *m, uint32_t account, const struct caller *caller)
{
	return look(m, account, caller) != CONF_NONE;
}

uint32_t members_first(const struct members *m, const struct caller *caller)
{
	return look(m, ANY, caller);
}
