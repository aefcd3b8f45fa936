/* sum_by_labels.c - see sum_by_labels.h */
#include "cmds/web/metrics/sum_by_labels.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

static uint64_t hash_more(uint64_t hash, const char *s)
{
	for (; *s; s++)
		hash = (hash ^ (unsigned char)*s) * 0x100000001b3U;
	return (hash ^ 0xff) * 0x100000001b3U;
}

static size_t slot_of(const struct label_sums *t, const char *a, const char *b, const char *c)
{
	uint64_t hash = hash_more(hash_more(hash_more(0xcbf29ce484222325U, a), b), c);

	hash ^= hash >> 32;
	for (size_t i = hash & (t->n_slots - 1);; i = (i + 1) & (t->n_slots - 1)) {
		const struct label_sums_entry *e = t->slots[i] ? &t->v[t->slots[i] - 1] : NULL;

		if (!e || (!strcmp(e->a, a) && !strcmp(e->b, b) && !strcmp(e->c, c)))
			return i;
	}
}

static void place_all(struct label_sums *t)
{
	memset(t->slots, 0, t->n_slots * sizeof(*t->slots));
	for (size_t i = 0; i < t->n; i++)
		t->slots[slot_of(t, t->v[i].a, t->v[i].b, t->v[i].c)] = (uint32_t)i + 1;
}

void label_sums_add(struct label_sums *t, const char *a, const char *b, const char *c, double n)
{
	size_t slot;

	if ((t->n + 1) * 2 > t->n_slots) {
		t->n_slots = t->n_slots ? t->n_slots * 2 : 64;
		free(t->slots);
		t->slots = xcalloc(t->n_slots, sizeof(*t->slots));
		place_all(t);
	}
	slot = slot_of(t, a, b, c);
	if (!t->slots[slot]) {
		*XADD(t->v, t->n, t->size) = (struct label_sums_entry){ a, b, c, 0 };
		t->slots[slot] = (uint32_t)t->n;
	}
	t->v[t->slots[slot] - 1].n += n;
}

double label_sums_get(const struct label_sums *t, const char *a, const char *b, const char *c)
{
	size_t slot = t->n ? slot_of(t, a, b, c) : 0;

	return t->n && t->slots[slot] ? t->v[t->slots[slot] - 1].n : 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct label_sums_entry *x = a, *y = b;
	int order = strcmp(x->a, y->a);

	order = order ? order : strcmp(x->b, y->b);
	return order ? order : strcmp(x->c, y->c);
}

void label_sums_sort(struct label_sums *t)
{
	if (!t->n)
		return;
	qsort(t->v, t->n, sizeof(*t->v), compare_entries);
	place_all(t);
}

void label_sums_free(struct label_sums *t)
{
	free(t->v);
	free(t->slots);
	*t = (struct label_sums){ .n = 0 };
}
