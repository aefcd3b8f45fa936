/* conf_accounts.c - accounts as a tree, and lists of them; see conf_check.h */
#include "common/conf/conf_check.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define NONE SIZE_MAX

/* The parents as indices; in the file's order, as everything here until the accounts are sorted. */
static void parents_find(struct conf_checker *c)
{
	struct conf *conf = &c->reader->raw.conf;

	for (size_t i = 0; i < conf->n_accounts; i++) {
		struct conf_account *a = &conf->accounts[i];
		const struct conf_named *parent = NULL;

		if (a->parent_name && *a->parent_name)
			parent = conf_names_resolve(
			        &c->accounts, c->reader, "accounts", i, "parent", a->parent_name);
		a->rank = (uint32_t)i;
		a->parent = parent ? (uint32_t)parent->index : CONF_NONE;
	}
}

/* place_of[i] is where account i of the file goes. */
static void places_find(const struct conf *conf, size_t *place_of)
{
	size_t n = conf->n_accounts, place = 0, at;
	size_t *first = xcalloc(n + 1, sizeof(*first)), *next = xcalloc(n + 1, sizeof(*next));

	for (size_t i = 0; i <= n; i++) /* n is the root */
		first[i] = next[i] = NONE;
	for (size_t i = n; i-- > 0;) {
		uint32_t parent = conf->accounts[i].parent;
		size_t of = parent == CONF_NONE ? n : parent;

		next[i] = first[of];
		first[of] = i;
	}
	for (at = first[n]; at != NONE;) {
		place_of[at] = place++;
		if (first[at] != NONE) {
			at = first[at];
			continue;
		}
		while (next[at] == NONE && conf->accounts[at].parent != CONF_NONE)
			at = conf->accounts[at].parent;
		at = next[at];
	}
	free(first);
	free(next);
}

static void sort(struct conf *conf)
{
	size_t n = conf->n_accounts, *place_of = xcalloc(n, sizeof(*place_of));
	struct conf_account *sorted = xcalloc(n, sizeof(*sorted));

	places_find(conf, place_of);
	for (size_t i = 0; i < n; i++) {
		struct conf_account *a = &sorted[place_of[i]];

		*a = conf->accounts[i];
		if (a->parent != CONF_NONE)
			a->parent = (uint32_t)place_of[a->parent];
	}
	for (size_t i = 0; i < n; i++)
		sorted[i].depth =
		        sorted[i].parent == CONF_NONE ? 0 : sorted[sorted[i].parent].depth + 1;
	free(conf->accounts);
	free(place_of);
	conf->accounts = sorted;
}

static void check_depths(struct conf_reader *r)
{
	const struct conf *conf = &r->raw.conf;

	for (size_t i = 0; i < conf->n_accounts; i++) {
		const struct conf_account *a = &conf->accounts[i];

		if (a->depth == CONF_MAX_ACCOUNT_DEPTH)
			conf_reader_problem(r, conf_setting_at(r, "accounts", a->rank, "parent"),
			        "accounts[%u].parent: \"%s\": more than %d accounts within one "
			        "another",
			        a->rank, a->parent_name, CONF_MAX_ACCOUNT_DEPTH);
	}
}

static void default_find(struct conf_checker *c)
{
	struct conf *conf = &c->reader->raw.conf;
	const char *name = conf->default_account_name;
	const struct conf_named *found = NULL;

	if (name && *name)
		found = conf_names_resolve(&c->accounts, c->reader, "", 0, "default_account", name);
	conf->default_account = found ? (uint32_t)found->index : CONF_NONE;
}

void conf_check_accounts(struct conf_checker *c)
{
	struct conf_raw *raw = &c->reader->raw;

	conf_names_of(&c->accounts, "accounts", raw);
	parents_find(c);
	conf_circles_cut(c->reader, "accounts", "parent", offsetof(struct conf_account, parent),
	        "an account cannot be a part of itself");
	sort(&raw->conf);
	check_depths(c->reader);
	free(c->accounts.v);
	conf_names_of(&c->accounts, "accounts", raw);
	default_find(c);
}

void conf_accounts_resolve(struct conf_checker *c, const char *section, size_t i,
        const struct conf_texts *texts, uint32_t **accounts, size_t *n)
{
	const struct conf *conf = &c->reader->raw.conf;
	bool *in;

	if (!texts->n)
		return;
	in = xcalloc(conf->n_accounts, sizeof(*in));
	for (size_t t = 0; t < texts->n; t++) {
		const struct conf_named *found = conf_names_resolve(
		        &c->accounts, c->reader, section, i, "accounts", texts->v[t]);

		if (found)
			in[found->index] = true;
	}
	*accounts = xcalloc(conf->n_accounts, sizeof(**accounts));
	for (size_t a = 0; a < conf->n_accounts; a++) {
		uint32_t parent = conf->accounts[a].parent;

		in[a] = in[a] || (parent != CONF_NONE && in[parent]);
		if (in[a])
			(*accounts)[(*n)++] = (uint32_t)a;
	}
	free(in);
}
