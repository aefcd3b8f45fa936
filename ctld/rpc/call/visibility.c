/* visibility.c - see visibility.h */
#include "ctld/rpc/call/visibility.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/accounts/roles.h"

struct visibility {
	uint32_t uid;
	char **accounts; /* sorted */
	size_t n;
};

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct visibility *visibility_new(
        const struct conf *conf, const struct caller *caller, bool private)
{
	struct visibility *s;

	if (!private || verb_permits(VERB_JOB_SEE, standing(caller)))
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->uid = caller->uid;
	s->accounts = xcalloc(conf->n_accounts, sizeof(*s->accounts));
	for (uint32_t a = 0; a < conf->n_accounts; a++)
		if (coordinates(conf, caller, a))
			s->accounts[s->n++] = xstrdup(conf->accounts[a].name);
	if (s->n)
		qsort(s->accounts, s->n, sizeof(*s->accounts), compare);
	return s;
}

void visibility_free(struct visibility *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		free(s->accounts[i]);
	free(s->accounts);
	free(s);
}

bool visibility_same(const struct visibility *a, const struct visibility *b)
{
	if (!a || !b)
		return a == b;
	if (a->uid != b->uid || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->accounts[i], b->accounts[i]) != 0)
			return false;
	return true;
}

bool visibility_has_account(const struct visibility *s, const char *account)
{
	return !s || (s->n && bsearch(&account, s->accounts, s->n, sizeof(account), compare));
}

bool visibility_has(const struct visibility *s, uint32_t uid, const char *account)
{
	return !s || s->uid == uid || visibility_has_account(s, account);
}
