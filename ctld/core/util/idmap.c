/* idmap.c - see idmap.h
 *
 * Pages of 64 consecutive ids in an ascending array, found by their number or by bisection. Ids are
 * given out in ascending order and most objects live near the end, so an insert is an append to the
 * last page, and a walk in order of ids is a walk over arrays. A page is freed with its last
 * object: what has left memory leaves no hole behind.
 */
#include "ctld/core/util/idmap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bisect.h"
#include "common/base/xalloc.h"

#define PAGE_BITS 6
#define PAGE_IDS  (1u << PAGE_BITS)

struct page {
	uint64_t number; /* id >> PAGE_BITS */
	void **v;        /* PAGE_IDS of them */
	size_t used;
};

struct idmap {
	struct page *pages; /* ascending */
	size_t n, size, count;
	uint64_t last;
};

struct idmap *idmap_new(void)
{
	return xcalloc(1, sizeof(struct idmap));
}

void idmap_free(struct idmap *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		free(m->pages[i].v);
	free(m->pages);
	free(m);
}

/* The first page whose number is `number` or above; m->n if there is none. */
static size_t seek(const struct idmap *m, uint64_t number)
{
	size_t at = m->n ? number - m->pages[0].number : 0;

	/* Where no page is missing before it, its number says where it is. */
	if (at < m->n && m->pages[at].number == number)
		return at;
	BISECT(at, m->n, m->pages[at].number < number);
	return at;
}

/* Any id: in the middle the pages behind a new one move. */
void idmap_insert(struct idmap *m, uint64_t id, void *object)
{
	size_t i = seek(m, id >> PAGE_BITS);
	struct page *p;

	assert(object && id);
	m->last = id > m->last ? id : m->last;
	m->count++;
	if (i == m->n || m->pages[i].number != id >> PAGE_BITS) {
		if (m->n == m->size) {
			m->size = m->size ? m->size * 2 : 4;
			m->pages = xrealloc(m->pages, m->size, sizeof(*m->pages));
		}
		p = &m->pages[i];
		memmove(p + 1, p, (m->n++ - i) * sizeof(*p));
		*p = (struct page){ id >> PAGE_BITS, xcalloc(PAGE_IDS, sizeof(*p->v)), 0 };
	}
	p = &m->pages[i];
	assert(!p->v[id % PAGE_IDS]);
	p->v[id % PAGE_IDS] = object;
	p->used++;
}

void idmap_add(struct idmap *m, uint64_t id, void *object)
{
	assert(id > m->last);
	idmap_insert(m, id, object);
}

void idmap_remove(struct idmap *m, uint64_t id)
{
	size_t i = seek(m, id >> PAGE_BITS);
	struct page *p = &m->pages[i];

	assert(i < m->n && p->number == id >> PAGE_BITS && p->v[id % PAGE_IDS]);
	p->v[id % PAGE_IDS] = NULL;
	m->count--;
	if (--p->used)
		return;
	free(p->v);
	m->n--;
	memmove(p, p + 1, (m->n - i) * sizeof(*p));
}

void *idmap_take(struct idmap *m, uint64_t id)
{
	void *object = idmap_find(m, id);

	if (object)
		idmap_remove(m, id);
	return object;
}

void *idmap_take_any(struct idmap *m)
{
	const struct page *p = m->n ? &m->pages[m->n - 1] : NULL;
	size_t k = 0;

	while (p && !p->v[k])
		k++;
	return p ? idmap_take(m, (p->number << PAGE_BITS) + k) : NULL;
}

void *idmap_find(const struct idmap *m, uint64_t id)
{
	size_t i = seek(m, id >> PAGE_BITS);

	if (i == m->n || m->pages[i].number != id >> PAGE_BITS)
		return NULL;
	return m->pages[i].v[id % PAGE_IDS];
}

/* The object with the highest id below; NULL: there is none. */
void *idmap_below(const struct idmap *m, uint64_t id)
{
	size_t i = seek(m, id >> PAGE_BITS), k;

	/* A page has an id at least: what is below is in this one or in the one before. */
	if (i < m->n && m->pages[i].number == id >> PAGE_BITS) {
		for (k = id % PAGE_IDS; k > 0; k--) {
			if (m->pages[i].v[k - 1])
				return m->pages[i].v[k - 1];
		}
	}
	for (k = PAGE_IDS; i > 0 && k > 0; k--) {
		if (m->pages[i - 1].v[k - 1])
			return m->pages[i - 1].v[k - 1];
	}
	return NULL;
}

void *idmap_next(const struct idmap *m, uint64_t after)
{
	uint64_t id = after + 1;
	size_t i, k;

	if (!id)
		return NULL;
	for (i = seek(m, id >> PAGE_BITS); i < m->n; i++) {
		const struct page *p = &m->pages[i];

		for (k = p->number == id >> PAGE_BITS ? id % PAGE_IDS : 0; k < PAGE_IDS; k++) {
			if (p->v[k])
				return p->v[k];
		}
	}
	return NULL;
}

uint64_t idmap_last(const struct idmap *m)
{
	return m->last;
}

size_t idmap_count(const struct idmap *m)
{
	return m->count;
}
