/* workload_profile.c - see workload_profile.h
 *
 * Kinds of tasks are counted as they are submitted. From the counts each GPU type has a list of its
 * PROFILE_TYPICAL weightiest kinds. Lists are made anew when the number of counted tasks has
 * doubled, and from PROFILE_MEMORY tasks on all counts are halved each time, so that old tasks
 * fade. Between two such moments a list changes only if the scarcity of its types does (follow()).
 *
 * A profile decides between places that are all possible. So it is not durable, and a rare kind
 * that is forgotten does no harm.
 */
#include "ctld/core/place/workload_profile.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define KINDS 256 /* kinds that are counted; a new one replaces the rarest */
#define FIRST 16  /* tasks before there is a profile */

struct kind {
	struct profile_task task;
	uint64_t tasks;
	uint64_t factor; /* as of the last look; PROFILE_WEIGHT: it may have any type */
};

/* The mix of one type. */
struct list {
	struct profile_typical v[PROFILE_TYPICAL];
	size_t n;
	uint64_t weight, version;
};

struct profile {
	const struct profile_room *room; /* borrowed */
	size_t n_types;
	struct list *lists; /* by type; owned */
	bool *stale;        /* by type: the list is to be made again; owned */
	struct kind kinds[KINDS];
	size_t n;
	uint64_t counted, next; /* tasks; when to make it anew */
	uint64_t look;          /* tasks until the factors are looked at */
	uint64_t cpus, milli, all;
};

struct profile *profile_new(const struct profile_room *room, size_t n_types)
{
	struct profile *m = xcalloc(1, sizeof(*m));

	m->room = room;
	m->n_types = n_types;
	m->lists = xcalloc(n_types, sizeof(*m->lists));
	m->stale = xcalloc(n_types, sizeof(*m->stale));
	m->next = FIRST;
	return m;
}

void profile_free(struct profile *m)
{
	if (!m)
		return;
	free(m->lists);
	free(m->stale);
	free(m);
}

/* --- kinds ----------------------------------------------------------------------------------- */

static int compare(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

/* What is asked of one node of a type that does. */
static int by_size(const void *x, const void *y)
{
	const struct profile_task *a = x, *b = y;
	int rc = compare(a->gpus, b->gpus);

	rc = rc ? rc : compare(a->wish.milli, b->wish.milli);
	rc = rc ? rc : compare(a->wish.mem_mb, b->wish.mem_mb);
	return rc ? rc : compare(a->cpus, b->cpus);
}

static bool same_types(const struct profile_task *x, const struct profile_task *y)
{
	return x->n_types == y->n_types &&
	       !memcmp(x->types, y->types, x->n_types * sizeof(x->types[0]));
}

/* The kind of a task, perhaps a new one. */
static struct kind *kind_of(struct profile *m, const struct profile_task *task)
{
	struct kind *rarest = &m->kinds[0];

	for (size_t i = 0; i < m->n; i++) {
		if (!by_size(&m->kinds[i].task, task) && same_types(&m->kinds[i].task, task))
			return &m->kinds[i];
		if (m->kinds[i].tasks < rarest->tasks)
			rarest = &m->kinds[i];
	}
	if (m->n < KINDS)
		rarest = &m->kinds[m->n++];
	*rarest = (struct kind){ .task = *task };
	return rarest;
}

static bool may_have(const struct profile_task *task, uint16_t type)
{
	for (size_t i = 0; i < task->n_types; i++) {
		if (task->types[i] == type)
			return true;
	}
	return !task->n_types;
}

/* --- factors --------------------------------------------------------------------------------- */

/* Thousandths that are left, and an eighth of all. */
static uint64_t room_of(const struct profile_room *room)
{
	return room->left + room->all / 8;
}

/* How scarce the types are that the task can have: all room, over the room of its types; at most
 * PROFILE_SCARCEST. */
static uint64_t factor_of(
        const struct profile *m, const struct profile_task *task, uint64_t everywhere)
{
	uint64_t here = 0;

	if (!task->n_types)
		return PROFILE_WEIGHT;
	for (size_t i = 0; i < task->n_types; i++)
		here += room_of(&m->room[task->types[i]]);
	if (everywhere / PROFILE_SCARCEST >= here)
		return PROFILE_WEIGHT * PROFILE_SCARCEST;
	return PROFILE_WEIGHT * everywhere / here;
}

/* Update the factor if it is off by an eighth. A new kind counts when the profile is rebuilt
 * next. */
static void follow(struct profile *m, struct kind *k, uint64_t everywhere)
{
	uint64_t now = factor_of(m, &k->task, everywhere), before = k->factor;

	if (now * 8 <= before * 9 && before * 8 <= now * 9)
		return;
	k->factor = now;
	for (size_t i = 0; before && i < k->task.n_types; i++)
		m->stale[k->task.types[i]] = true;
}

static void look_at_factors(struct profile *m)
{
	uint64_t everywhere = 0;

	for (size_t i = 0; i < m->n_types; i++)
		everywhere += room_of(&m->room[i]);
	for (size_t i = 0; i < m->n; i++)
		follow(m, &m->kinds[i], everywhere);
}

/* --- lists ----------------------------------------------------------------------------------- */

/* Thousandths of GPUs. For a share of memory alone it is not known here which part of a GPU it
 * is. */
static uint64_t milli_of(const struct profile_task *task)
{
	return task->gpus * (uint64_t)(task->wish.milli ? task->wish.milli : GPU_MILLI);
}

/* Few tasks with many GPUs matter as much as many with few. */
static int by_demand(const void *x, const void *y)
{
	const struct profile_typical *a = x, *b = y;
	int rc = compare(b->weight * milli_of(&b->task), a->weight * milli_of(&a->task));

	return rc ? rc : by_size(&a->task, &b->task);
}

/* Kinds that ask the same of one node count together, whichever types they could have besides. */
static void make_list(struct profile *m, uint16_t type)
{
	struct profile_typical v[KINDS];
	struct list *list = &m->lists[type];
	size_t n = 0, kept = 0, i;

	list->weight = 0;
	for (i = 0; i < m->n; i++) {
		const struct kind *k = &m->kinds[i];

		if (!may_have(&k->task, type))
			continue;
		v[n++] = (struct profile_typical){ k->task, k->tasks * k->factor };
		list->weight += k->tasks * k->factor;
	}
	qsort(v, n, sizeof(v[0]), by_size);
	for (i = 0; i < n; i++) {
		if (kept && !by_size(&v[kept - 1].task, &v[i].task))
			v[kept - 1].weight += v[i].weight;
		else
			v[kept++] = v[i];
	}
	qsort(v, kept, sizeof(v[0]), by_demand);
	list->n = kept < PROFILE_TYPICAL ? kept : PROFILE_TYPICAL;
	memcpy(list->v, v, list->n * sizeof(v[0]));
	list->version++;
}

/* Those that are stale. */
static bool make_lists(struct profile *m)
{
	bool any = false;

	for (size_t i = 0; i < m->n_types; i++) {
		if (m->stale[i])
			make_list(m, (uint16_t)i);
		any |= m->stale[i];
		m->stale[i] = false;
	}
	return any;
}

/* CPUs for each GPU of all tasks; a task that wants memory alone is left out, because its part of a
 * GPU is not known. */
static void count_all(struct profile *m)
{
	m->cpus = m->milli = m->all = 0;
	for (size_t i = 0; i < m->n; i++) {
		const struct profile_task *t = &m->kinds[i].task;

		m->all += m->kinds[i].tasks * PROFILE_WEIGHT;
		if (t->wish.mem_mb && !t->wish.milli)
			continue;
		m->cpus += m->kinds[i].tasks * t->cpus;
		m->milli += m->kinds[i].tasks * milli_of(t);
	}
}

/* A kind of which nothing is left is forgotten. */
static void fade(struct profile *m)
{
	size_t i, kept = 0;

	for (i = 0; i < m->n; i++) {
		m->kinds[kept] = m->kinds[i];
		m->kinds[kept].tasks /= 2;
		kept += m->kinds[kept].tasks > 0;
	}
	m->n = kept;
	m->counted /= 2;
}

/* All factors, sums and lists. */
static void make_anew(struct profile *m)
{
	look_at_factors(m);
	count_all(m);
	for (size_t i = 0; i < m->n_types; i++)
		m->stale[i] = true;
}

bool profile_note(struct profile *m, const struct profile_task *task, uint64_t tasks)
{
	bool full, changed;

	if (!task->gpus || !tasks)
		return false;
	tasks = tasks < PROFILE_AT_ONCE ? tasks : PROFILE_AT_ONCE;
	kind_of(m, task)->tasks += tasks;
	m->counted += tasks;
	m->look += tasks;
	full = m->counted >= m->next;
	if (!full && (m->look < PROFILE_LOOK || m->next == FIRST))
		return false;
	m->look = 0;
	if (full)
		make_anew(m);
	else
		look_at_factors(m);
	changed = make_lists(m);
	if (full && m->counted >= PROFILE_MEMORY)
		fade(m);
	if (full)
		m->next = m->counted * 2 < PROFILE_MEMORY ? m->counted * 2 : PROFILE_MEMORY;
	return changed;
}

/* --- what it is ------------------------------------------------------------------------------ */

const struct profile_typical *profile_typical(const struct profile *m, uint16_t type, size_t *n)
{
	*n = m->lists[type].n;
	return m->lists[type].v;
}

uint64_t profile_weight(const struct profile *m, uint16_t type)
{
	return m->lists[type].weight;
}

uint64_t profile_weight_of_all(const struct profile *m)
{
	return m->all;
}

uint64_t profile_version(const struct profile *m, uint16_t type)
{
	return m->lists[type].version;
}

void profile_cpus(const struct profile *m, uint64_t *cpus, uint64_t *milli)
{
	*cpus = m->cpus;
	*milli = m->milli;
}
