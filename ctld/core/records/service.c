/* service.c - see service.h
 *
 * Services are few, at most some thousands: they stand in one array, sorted by name. Those that
 * have changed are a list, those for which something is due a heap, so that a round of the
 * controller looks at no others.
 */
#include "ctld/core/records/service.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/scale/scaler.h"
#include "ctld/core/util/heap.h"
#include "ctld/core/util/strings.h"

struct service {
	struct mark mark; /* first */
	struct service_info info;
	struct service_link link;
	uint64_t serial; /* for the heap: of equal times the older service is first */
};

struct services {
	struct strings *strings;
	struct dirty *dirty;
	struct budget *budget;
	struct service **v; /* by name */
	size_t n, room;
	uint64_t serial;
	struct service *touched, *touched_last;
	struct heap *due;
};

/* What a service costs its user besides its jobs: the record, and the memory of its loads. */
#define SERVICE_MEMORY 16384

#define F(field) [COL_SERVICE_##field] = COLUMN(struct service, info.field)
#define POLICY(field) [COL_SERVICE_##field] = COLUMN(struct service, info.policy.field),
#define GEN(word, role, field) \
	[COL_SERVICE_##word##_##field] = COLUMN(struct service, info.gens[role].field)
#define GENERATION(word, role) EACH(GEN, word, role, job, number, slots, drain_s, valid_days, spec)
static const struct codec_column columns[COL_SERVICE_COUNT] = {
	F(name), F(user), F(uid), F(account), F(burst_qos), F(wanted), F(paused), F(stopping),
	SERVICE_POLICY(POLICY)
	GENERATION(present, GEN_PRESENT), GENERATION(next, GEN_NEXT), GENERATION(undo, GEN_UNDO),
	GENERATION(leaving, GEN_LEAVING),
	F(last_number), F(submit_time), F(decision), F(decision_time), F(trouble),
	F(avoids),
};
#undef F

const struct service_info *service_info(const struct service *s)
{
	return &s->info;
}

struct service_link *service_link(struct service *s)
{
	return &s->link;
}

const struct service_link *service_link_of(const struct service *s)
{
	return &s->link;
}

static void moved(void *item, uint32_t index)
{
	((struct service *)item)->link.place = index;
}

struct services *services_new(struct strings *strings, struct dirty *dirty, struct budget *budget)
{
	struct services *all = xcalloc(1, sizeof(*all));

	all->strings = strings;
	all->dirty = dirty;
	all->budget = budget;
	all->due = heap_new(moved);
	return all;
}

void service_free(struct services *all, struct service *s)
{
	struct service_info *i = &s->info;

	DROP_TEXTS(all->strings, i, name, user, account, burst_qos, decision, trouble, avoids);
	for (int g = 0; g < GEN_COUNT; g++)
		strings_drop(all->strings, i->gens[g].spec);
	service_forget_avoids(s);
	scaler_free(s->link.scaler);
	free(s);
}

void services_free(struct services *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->n; i++)
		service_free(all, all->v[i]);
	heap_free(all->due);
	free(all->v);
	free(all);
}

/* --- finding --------------------------------------------------------------------------------- */

/* The place of the first service whose name is not before this one. */
static size_t place_of(const struct services *all, const char *name)
{
	size_t lo = 0, hi = all->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (strcmp(all->v[mid]->info.name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct service *services_find(const struct services *all, const char *name)
{
	size_t at = place_of(all, name);

	return at < all->n && !strcmp(all->v[at]->info.name, name) ? all->v[at] : NULL;
}

struct service *services_next(const struct services *all, const char *after)
{
	size_t at = after ? place_of(all, after) : 0;

	if (after && at < all->n && !strcmp(all->v[at]->info.name, after))
		at++;
	return at < all->n ? all->v[at] : NULL;
}

uint64_t services_hash(const struct services *all)
{
	uint64_t sum = 0;
	struct row row;

	for (size_t i = 0; i < all->n; i++) {
		service_encode(all->v[i], &row, ROW_PUT);
		sum += row_hash(&row);
	}
	return sum;
}

/* --- when to look at one --------------------------------------------------------------------- */

void services_touch(struct services *all, struct service *s)
{
	if (s->link.listed)
		return;
	s->link.listed = true;
	s->link.next_listed = NULL;
	*(all->touched_last ? &all->touched_last->link.next_listed : &all->touched) = s;
	all->touched_last = s;
}

struct service *services_take_touched(struct services *all)
{
	struct service *s = all->touched;

	if (!s)
		return NULL;
	all->touched = s->link.next_listed;
	if (!all->touched)
		all->touched_last = NULL;
	s->link.listed = false;
	return s;
}

bool services_touched(const struct services *all)
{
	return all->touched;
}

void services_set_due(struct services *all, struct service *s, usec_t due)
{
	struct heap_key key = { (uint64_t)due, s->serial };

	s->link.due = due;
	if (due == INT64_MAX) {
		if (s->link.place != HEAP_NOWHERE)
			heap_remove(all->due, s->link.place);
	} else if (s->link.place == HEAP_NOWHERE) {
		heap_put(all->due, key, s);
	} else {
		heap_rekey(all->due, s->link.place, key);
	}
}

struct service *services_first_due(const struct services *all)
{
	return heap_first(all->due);
}

#define DRAIN_MARGIN_S 5 /* from TERM to its end */

uint32_t service_drain_s(const struct job *job)
{
	const struct service *s = job_service(job);

	for (int g = 0; s && g < GEN_COUNT; g++) {
		if (s->info.gens[g].job == job_id(job))
			return s->info.gens[g].drain_s + DRAIN_MARGIN_S;
	}
	return 0;
}

void service_note_load(struct service *s, const struct job *own, bool failed)
{
	if (s->link.jobs[GEN_NEXT] != own)
		return;
	s->link.failed_loads = failed ? s->link.failed_loads + 1 : 0;
}

/* --- movers ---------------------------------------------------------------------------------- */

static void changed(struct services *all, struct service *s)
{
	dirty_put(all->dirty, &s->mark);
	services_touch(all, s);
}

static void insert(struct services *all, struct service *s)
{
	size_t at = place_of(all, s->info.name);

	all->v = xgrow(all->v, all->n, &all->room, sizeof(struct service *));
	memmove(all->v + at + 1, all->v + at, (all->n - at) * sizeof(struct service *));
	all->v[at] = s;
	all->n++;
	s->mark.table = TABLE_SERVICE;
	s->mark.bytes = 4096;
	s->serial = ++all->serial;
	s->link.place = HEAP_NOWHERE;
	s->link.due = INT64_MAX;
	budget_add(all->budget, s->info.uid, BUDGET_MEMORY, SERVICE_MEMORY);
}

struct service *services_add(struct services *all, const struct service_info *info)
{
	struct service *s = xcalloc(1, sizeof(*s));
	struct service_info *i = &s->info;

	assert(!services_find(all, info->name));
	*i = *info;
	i->avoids = "";
	KEEP_TEXTS(all->strings, i, name, user, account, burst_qos, decision, trouble, avoids);
	for (int g = 0; g < GEN_COUNT; g++)
		strings_keep(all->strings, &i->gens[g].spec);
	insert(all, s);
	changed(all, s);
	return s;
}

static void unlist(struct services *all, struct service *s)
{
	struct service *before = NULL, *at = all->touched;

	if (!s->link.listed)
		return;
	for (; at != s; before = at, at = at->link.next_listed)
		;
	*(before ? &before->link.next_listed : &all->touched) = s->link.next_listed;
	if (all->touched_last == s)
		all->touched_last = before;
	s->link.listed = false;
}

void services_remove(struct services *all, struct service *s)
{
	size_t at = place_of(all, s->info.name);

	assert(all->v[at] == s);
	unlist(all, s);
	services_set_due(all, s, INT64_MAX);
	memmove(all->v + at, all->v + at + 1, (all->n - at - 1) * sizeof(struct service *));
	all->n--;
	budget_add(all->budget, s->info.uid, BUDGET_MEMORY, -SERVICE_MEMORY);
	dirty_gone(all->dirty, &s->mark);
}

void service_set_policy(struct services *all, struct service *s,
        const struct service_policy *policy, const char *burst_qos)
{
	bool other = strings_set(all->strings, &s->info.burst_qos, burst_qos);

	if (!other && !memcmp(&s->info.policy, policy, sizeof(*policy)))
		return;
	s->info.policy = *policy;
	changed(all, s);
}

void service_set_wanted(struct services *all, struct service *s, uint32_t wanted,
        const char *decision, usec_t wall)
{
	s->info.wanted = wanted;
	s->info.decision_time = wall;
	strings_set(all->strings, &s->info.decision, decision);
	changed(all, s);
}

void service_set_paused(struct services *all, struct service *s, bool paused)
{
	if (s->info.paused == paused)
		return;
	s->info.paused = paused;
	changed(all, s);
}

void service_set_stopping(struct services *all, struct service *s)
{
	if (s->info.stopping)
		return;
	s->info.stopping = true;
	changed(all, s);
}

void service_set_trouble(struct services *all, struct service *s, const char *trouble)
{
	if (strings_set(all->strings, &s->info.trouble, trouble))
		changed(all, s);
}

void service_set_avoids(struct services *all, struct service *s)
{
	char *text = service_avoids_text(&s->link);

	if (strings_set(all->strings, &s->info.avoids, text))
		changed(all, s);
	free(text);
}

void service_set_generation(struct services *all, struct service *s, enum generation_role role,
        const struct generation *gen)
{
	struct generation *g = &s->info.gens[role];
	const char *spec = strings_intern(all->strings, gen->spec ? gen->spec : "");

	strings_drop(all->strings, g->spec);
	*g = *gen;
	g->spec = spec;
	if (g->number > s->info.last_number)
		s->info.last_number = g->number;
	changed(all, s);
}

/* --- rows ------------------------------------------------------------------------------------ */

void service_encode(const struct service *s, struct row *row, enum row_change change)
{
	row_begin(row, TABLE_SERVICE, change);
	codec_encode(columns, s, row);
}

int services_load(struct services *all, const struct row *row, struct error *err)
{
	struct service *s = xcalloc(1, sizeof(*s));

	if (codec_decode(columns, s, row, all->strings, err) < 0) {
		service_free(all, s);
		return -1;
	}
	if (services_find(all, s->info.name)) {
		service_free(all, s);
		return row_error(row, COL_SERVICE_name, err, "twice the same service");
	}
	if (service_read_avoids(&s->link, s->info.avoids, err) < 0) {
		service_free(all, s);
		return row_error(row, COL_SERVICE_avoids, err, "not as they are kept");
	}
	insert(all, s);
	return 0;
}
