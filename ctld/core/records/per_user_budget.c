/* per_user_budget.c - see per_user_budget.h
 *
 * An account is made when a user is first charged, and stays: there are as many as users that ever
 * came. The core asserts that nothing is released that was not charged.
 */
#include "ctld/core/records/per_user_budget.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/conf/conf.h"
#include "ctld/core/util/idmap.h"

#define X(sym, word, key, unit, code, what, advice) \
	[sym] = { { word, #key, unit, what }, code, advice },
static const struct {
	struct budget_kind_info info;
	int code;
	const char *advice;
} kinds[BUDGET_COUNT] = { BUDGETS(X) };
#undef X

struct budget {
	struct idmap *accounts; /* by uid + 1 */
	uint64_t limits[BUDGET_COUNT];
};

const struct budget_kind_info *budget_kind(enum budget_kind kind)
{
	return &kinds[kind].info;
}

struct budget *budget_new(void)
{
	struct budget *b = xcalloc(1, sizeof(*b));

	b->accounts = idmap_new();
	for (int k = 0; k < BUDGET_COUNT; k++)
		b->limits[k] = UINT64_MAX;
	return b;
}

static struct budget_account *find(const struct budget *b, uint32_t uid)
{
	return idmap_find(b->accounts, (uint64_t)uid + 1);
}

void budget_free(struct budget *b)
{
	struct budget_account *a;

	if (!b)
		return;
	while ((a = idmap_next(b->accounts, 0))) {
		idmap_remove(b->accounts, (uint64_t)a->uid + 1);
		free(a);
	}
	idmap_free(b->accounts);
	free(b);
}

void budget_configure(struct budget *b, const struct conf_controller *conf)
{
	b->limits[BUDGET_SESSIONS] = conf->sessions_per_user;
	b->limits[BUDGET_STREAMS] = conf->streams_per_user;
	b->limits[BUDGET_REQUESTS] = conf->requests_per_user;
	b->limits[BUDGET_WAITS] = conf->waits_per_user;
	b->limits[BUDGET_UNREAD] = conf->unread_per_user;
	b->limits[BUDGET_MEMORY] = conf->memory_per_user;
	b->limits[BUDGET_SCRIPTS] = conf->scripts_per_user;
}

void budget_add(struct budget *b, uint32_t uid, enum budget_kind kind, int64_t change)
{
	struct budget_account *a = find(b, uid);

	if (!change)
		return;
	if (!a) {
		a = xcalloc(1, sizeof(*a));
		a->uid = uid;
		idmap_insert(b->accounts, (uint64_t)uid + 1, a);
	}
	assert(change > 0 || a->used[kind] >= (uint64_t)-change);
	a->used[kind] += (uint64_t)change;
}

uint64_t budget_used(const struct budget *b, uint32_t uid, enum budget_kind kind)
{
	const struct budget_account *a = find(b, uid);

	return a ? a->used[kind] : 0;
}

uint64_t budget_limit(const struct budget *b, enum budget_kind kind)
{
	return b->limits[kind];
}

bool budget_full(const struct budget *b, uint32_t uid, enum budget_kind kind)
{
	return budget_used(b, uid, kind) >= b->limits[kind];
}

static char *amount(char buf[UNITS_TEXT], enum budget_kind kind, uint64_t n)
{
	if (*kinds[kind].info.unit)
		return size_format(buf, n);
	snprintf(buf, UNITS_TEXT, "%" PRIu64, n);
	return buf;
}

/* Is there room for so much more? It charges nothing. */
int budget_check(const struct budget *b, uint32_t uid, enum budget_kind kind, uint64_t more,
        struct error *err)
{
	char has[UNITS_TEXT], asked[UNITS_TEXT], most[UNITS_TEXT];
	uint64_t used = budget_used(b, uid, kind), limit = b->limits[kind];

	if (used <= limit && more <= limit - used)
		return 0;
	error_set(err, kinds[kind].code,
	        "%s: you have %s, this needs %s more, and one user may have %s "
	        "(controller.%s)",
	        kinds[kind].info.what, amount(has, kind, used), amount(asked, kind, more),
	        amount(most, kind, limit), kinds[kind].info.key);
	return error_hint(err, "%s", kinds[kind].advice);
}

static bool empty(const struct budget_account *a)
{
	for (int k = 0; k < BUDGET_COUNT; k++)
		if (a->used[k])
			return false;
	return true;
}

/* In order of uid; accounts with nothing charged are left out. */
bool budget_next(const struct budget *b, uint64_t uid, struct budget_account *out)
{
	const struct budget_account *a = idmap_next(b->accounts, uid);

	while (a && empty(a))
		a = idmap_next(b->accounts, (uint64_t)a->uid + 1);
	if (a)
		*out = *a;
	return a != NULL;
}
