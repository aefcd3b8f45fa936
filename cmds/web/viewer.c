/* viewer.c - see viewer.h */
#include "cmds/web/viewer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

struct counted {
	struct viewer v; /* first: a viewer is one of these */
	atomic_uint refs;
};

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct viewer *viewer_new(uid_t uid, const Gpusched__LookAsResult *told)
{
	struct counted *c = xcalloc(1, sizeof(*c));
	const char **accounts = xcalloc(told->n_accounts + 1, sizeof(*accounts));

	for (size_t i = 0; i < told->n_accounts; i++)
		accounts[i] = xstrdup(told->accounts[i]);
	qsort(accounts, told->n_accounts, sizeof(*accounts), compare);
	c->v = (struct viewer){
		.known = true,
		.uid = uid,
		.name = xstrdup(told->user),
		.role = told->admin   ? VIEWER_ADMIN
		        : told->staff ? VIEWER_OPERATOR
		                      : VIEWER_USER,
		.private_jobs = told->private_jobs,
		.private_usage = told->private_usage,
		.accounts = accounts,
		.n_accounts = told->n_accounts,
	};
	atomic_init(&c->refs, 1);
	return &c->v;
}

const struct viewer *viewer_nobody(bool private_jobs, bool private_usage)
{
	static const struct counted nobody[2][2] = {
		{ { .v = { .name = "" } }, { .v = { .name = "", .private_usage = true } } },
		{ { .v = { .name = "", .private_jobs = true } },
		        { .v = { .name = "", .private_jobs = true, .private_usage = true } } },
	};

	return &nobody[private_jobs][private_usage].v;
}

struct viewer *viewer_get(const struct viewer *v)
{
	struct counted *c = (struct counted *)(uintptr_t)v;

	if (v->known)
		atomic_fetch_add(&c->refs, 1);
	return &c->v;
}

void viewer_put(struct viewer *v)
{
	struct counted *c = (struct counted *)v;

	if (!v || !v->known || atomic_fetch_sub(&c->refs, 1) > 1)
		return;
	for (size_t i = 0; i < v->n_accounts; i++)
		free((char *)(uintptr_t)v->accounts[i]);
	free((void *)(uintptr_t)v->accounts);
	free((char *)(uintptr_t)v->name);
	free(c);
}

static bool coordinates(const struct viewer *v, const char *account)
{
	return v->n_accounts &&
	       bsearch(&account, v->accounts, v->n_accounts, sizeof(account), compare);
}

bool viewer_sees_all(const struct viewer *v)
{
	return !v->private_jobs || v->role != VIEWER_USER;
}

bool viewer_sees(const struct viewer *v, uint32_t uid, const char *account)
{
	if (viewer_sees_all(v))
		return true;
	return v->known && (v->uid == uid || coordinates(v, account));
}

bool viewer_sees_usage(const struct viewer *v, const char *account, const char *user)
{
	if (!v->private_usage || v->role != VIEWER_USER || !*user)
		return true;
	return v->known && (!strcmp(user, v->name) || coordinates(v, account));
}

bool viewer_same_jobs(const struct viewer *a, const struct viewer *b)
{
	if (viewer_sees_all(a) || viewer_sees_all(b))
		return viewer_sees_all(a) && viewer_sees_all(b);
	if (a->known != b->known || a->uid != b->uid || a->n_accounts != b->n_accounts)
		return false;
	for (size_t i = 0; i < a->n_accounts; i++)
		if (strcmp(a->accounts[i], b->accounts[i]) != 0)
			return false;
	return true;
}
