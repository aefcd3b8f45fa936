/* byid.c - see byid.h; linear probing, deletion by moving back (Knuth, 6.4, algorithm R) */
#include "ctld/loop/byid.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

struct entry {
	uint64_t id; /* 0: free */
	void *value;
};

struct byid {
	struct entry *v;
	size_t mask; /* a power of two less one */
	size_t n;
};

static size_t home_of(const struct byid *m, uint64_t id)
{
	return (size_t)(id * 0x9e3779b97f4a7c15ULL >> 20) & m->mask;
}

struct byid *byid_new(void)
{
	struct byid *m = xcalloc(1, sizeof(*m));

	m->mask = 63;
	m->v = xcalloc(m->mask + 1, sizeof(*m->v));
	return m;
}

void byid_free(struct byid *m)
{
	if (!m)
		return;
	free(m->v);
	free(m);
}

static size_t find(const struct byid *m, uint64_t id)
{
	size_t i = home_of(m, id);

	while (m->v[i].id && m->v[i].id != id)
		i = (i + 1) & m->mask;
	return i;
}

static void grow(struct byid *m)
{
	struct entry *old = m->v;
	size_t n = m->mask + 1;

	m->mask = 2 * n - 1;
	m->v = xcalloc(2 * n, sizeof(*m->v));
	for (size_t i = 0; i < n; i++)
		if (old[i].id)
			m->v[find(m, old[i].id)] = old[i];
	free(old);
}

void byid_put(struct byid *m, uint64_t id, void *value)
{
	size_t i;

	assert(id && value);
	if (m->n * 4 >= (m->mask + 1) * 3)
		grow(m);
	i = find(m, id);
	m->n += m->v[i].id == 0;
	m->v[i] = (struct entry){ id, value };
}

void *byid_get(const struct byid *m, uint64_t id)
{
	return id ? m->v[find(m, id)].value : NULL;
}

void *byid_take(struct byid *m, uint64_t id)
{
	size_t hole = id ? find(m, id) : 0;
	void *value = id ? m->v[hole].value : NULL;

	if (!value)
		return NULL;
	m->n--;
	for (size_t i = (hole + 1) & m->mask; m->v[i].id; i = (i + 1) & m->mask) {
		size_t home = home_of(m, m->v[i].id);

		/* may it move back to the hole? not past its home */
		if (((i - home) & m->mask) >= ((i - hole) & m->mask)) {
			m->v[hole] = m->v[i];
			hole = i;
		}
	}
	m->v[hole] = (struct entry){ 0, NULL };
	return value;
}

size_t byid_count(const struct byid *m)
{
	return m->n;
}

void *byid_any(const struct byid *m, uint64_t *id)
{
	for (size_t i = 0; m->n && i <= m->mask; i++)
		if (m->v[i].id) {
			*id = m->v[i].id;
			return m->v[i].value;
		}
	return NULL;
}
