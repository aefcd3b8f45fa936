/* mix.c - see mix.h */
#include "ctld/core/mix.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"

#define KINDS 128 /* that are counted; the rarest gives way to a new one */
#define FIRST 16  /* tasks before there is a mix */

struct mix {
	struct mix_typical kinds[KINDS];
	size_t n;
	uint64_t counted, next; /* tasks; when to look anew */
	struct mix_typical typical[MIX_TYPICAL];
	size_t n_typical;
	uint64_t version, cpus, milli;
};

struct mix *mix_new(void)
{
	struct mix *m = xcalloc(1, sizeof(*m));

	m->next = FIRST;
	return m;
}

void mix_free(struct mix *m)
{
	free(m);
}

static bool same(const struct mix_task *x, const struct mix_task *y)
{
	return x->type == y->type && x->gpus == y->gpus && x->wish.milli == y->wish.milli &&
	       x->wish.mem_mb == y->wish.mem_mb && x->cpus == y->cpus;
}

/* The kind of a task, perhaps a new one. */
static struct mix_typical *kind_of(struct mix *m, const struct mix_task *task)
{
	struct mix_typical *rarest = &m->kinds[0];
	size_t i;

	for (i = 0; i < m->n; i++) {
		if (same(&m->kinds[i].task, task))
			return &m->kinds[i];
		if (m->kinds[i].weight < rarest->weight)
			rarest = &m->kinds[i];
	}
	if (m->n < KINDS)
		rarest = &m->kinds[m->n++];
	*rarest = (struct mix_typical){ *task, 0 };
	return rarest;
}

static int by_weight(const void *x, const void *y)
{
	const struct mix_typical *a = x, *b = y;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	if (a->task.gpus != b->task.gpus)
		return a->task.gpus < b->task.gpus ? -1 : 1;
	if (a->task.wish.milli != b->task.wish.milli)
		return a->task.wish.milli < b->task.wish.milli ? -1 : 1;
	if (a->task.wish.mem_mb != b->task.wish.mem_mb)
		return a->task.wish.mem_mb < b->task.wish.mem_mb ? -1 : 1;
	if (a->task.cpus != b->task.cpus)
		return a->task.cpus < b->task.cpus ? -1 : 1;
	return (a->task.type > b->task.type) - (a->task.type < b->task.type);
}

static void look_anew(struct mix *m)
{
	struct mix_typical v[KINDS];
	size_t i;

	memcpy(v, m->kinds, m->n * sizeof(v[0]));
	qsort(v, m->n, sizeof(v[0]), by_weight);
	m->n_typical = m->n < MIX_TYPICAL ? m->n : MIX_TYPICAL;
	memcpy(m->typical, v, m->n_typical * sizeof(v[0]));
	m->cpus = m->milli = 0;
	for (i = 0; i < m->n; i++) {
		const struct mix_task *t = &v[i].task;
		uint64_t each = t->wish.milli ? t->wish.milli : CARD_MILLI;

		/* Of memory alone nobody knows here what part of a card it is. */
		if (t->wish.mem_mb && !t->wish.milli)
			continue;
		m->cpus += v[i].weight * t->cpus;
		m->milli += v[i].weight * t->gpus * each;
	}
	m->version++;
}

void mix_note(struct mix *m, const struct mix_task *task, uint64_t tasks)
{
	size_t i, kept = 0;

	if (!task->gpus || !tasks)
		return;
	tasks = tasks < MIX_AT_ONCE ? tasks : MIX_AT_ONCE;
	kind_of(m, task)->weight += tasks;
	m->counted += tasks;
	if (m->counted < m->next)
		return;
	look_anew(m);
	if (m->counted < MIX_MEMORY) {
		m->next = m->counted * 2 < MIX_MEMORY ? m->counted * 2 : MIX_MEMORY;
		return;
	}
	for (i = 0; i < m->n; i++) {
		m->kinds[kept] = m->kinds[i];
		m->kinds[kept].weight /= 2;
		kept += m->kinds[kept].weight > 0;
	}
	m->n = kept;
	m->next = MIX_MEMORY;
	m->counted /= 2;
}

const struct mix_typical *mix_typical(const struct mix *m, size_t *n)
{
	*n = m->n_typical;
	return m->typical;
}

uint64_t mix_version(const struct mix *m)
{
	return m->version;
}

void mix_cpus(const struct mix *m, uint64_t *cpus, uint64_t *milli)
{
	*cpus = m->cpus;
	*milli = m->milli;
}
