/* nameset.c - see nameset.h */
#include "ctld/wire/nameset.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"
#include "common/base/xalloc.h"

#define BLOCK_MIN 32 /* what malloc(3) takes for the shortest text */

void nameset_add(struct nameset *names, const char *name)
{
	*XADD(names->v, names->n, names->room) = xstrdup(name);
}

void nameset_add_all(struct nameset *names, char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		nameset_add(names, v[i]);
}

static int add_host(const char *name, void *arg)
{
	nameset_add(arg, name);
	return 0;
}

int nameset_add_hosts(
        struct nameset *names, char *const *lists, size_t n, size_t max, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (hostlist_each(lists[i], max - names->n, add_host, names, err))
			return error_wrap(err, "nodes");
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool in_order(const struct nameset *names)
{
	for (size_t i = 1; i < names->n; i++)
		if (strcmp(names->v[i - 1], names->v[i]) > 0)
			return false;
	return true;
}

void nameset_seal(struct nameset *names)
{
	size_t n = 0;

	if (!in_order(names))
		qsort(names->v, names->n, sizeof(*names->v), compare);
	for (size_t i = 0; i < names->n; i++)
		if (n == 0 || strcmp(names->v[n - 1], names->v[i]) != 0)
			names->v[n++] = names->v[i];
		else
			free(names->v[i]);
	names->n = n;
}

/* Accounts are in the order of their tree: all below one follow it, deeper than it is. */
void nameset_take_accounts(
        struct nameset *names, char *const *v, size_t n, const struct conf *conf)
{
	struct nameset given = { NULL, 0, 0 };
	unsigned above = UINT_MAX; /* how deep the given one is that we are below; UINT_MAX: none */

	nameset_add_all(&given, v, n);
	nameset_seal(&given);
	for (size_t i = 0; given.n && i < conf->n_accounts; i++) {
		const struct conf_account *a = &conf->accounts[i];

		if (above != UINT_MAX && a->depth > above)
			nameset_add(names, a->name);
		else
			above = nameset_find(&given, a->name) ? a->depth : UINT_MAX;
	}
	nameset_add_all(names, given.v, given.n);
	nameset_clear(&given);
	nameset_seal(names);
}

void nameset_clear(struct nameset *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
}

char *const *nameset_find(const struct nameset *names, const char *name)
{
	return names->n ? bsearch(&name, names->v, names->n, sizeof(*names->v), compare) : NULL;
}

bool nameset_fit(const struct nameset *names, const char *name)
{
	return names->n == 0 || nameset_find(names, name);
}

size_t nameset_size(const struct nameset *names)
{
	size_t size = names->room * sizeof(*names->v);

	for (size_t i = 0; i < names->n; i++)
		size += BLOCK_MIN + strlen(names->v[i]);
	return size;
}
