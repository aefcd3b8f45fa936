/* snapshot_intern.c - what jobs have alike: texts, requests and statuses, each once
 *
 * Requests and statuses are counted, by the thread that makes and frees jobs. Of each a table finds
 * the one that has the same bytes. The bytes are the users', so the hashes are keyed: no user can
 * choose texts that all fall into one place.
 */
#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/web/snapshot_intern.h"
#include "common/base/xalloc.h"

struct parts {
	struct snapshot_part **v; /* by hash */
	size_t n, size;
};

struct snapshot_texts {
	uint8_t key[crypto_shorthash_KEYBYTES]; /* of the hashes */
	char **v;                               /* open addressing */
	size_t n, size;
	struct parts parts[PART_KINDS];
};

static uint64_t hash_of(const struct snapshot_texts *t, const void *bytes, size_t n)
{
	uint64_t hash;

	static_assert(sizeof(hash) == crypto_shorthash_BYTES, "a hash is one number");
	crypto_shorthash((uint8_t *)&hash, bytes, n, t->key);
	return hash;
}

/* --- texts ------------------------------------------------------------------------------------ */

static size_t place_of(const struct snapshot_texts *t, const char *text)
{
	uint64_t hash = hash_of(t, text, strlen(text));

	for (size_t i = hash & (t->size - 1);; i = (i + 1) & (t->size - 1))
		if (!t->v[i] || !strcmp(t->v[i], text))
			return i;
}

static void grow(struct snapshot_texts *t)
{
	char **old = t->v;
	size_t n = t->size;

	t->size *= 2;
	t->v = xcalloc(t->size, sizeof(*t->v));
	for (size_t i = 0; i < n; i++)
		if (old[i])
			t->v[place_of(t, old[i])] = old[i];
	free(old);
}

struct snapshot_texts *snapshot_texts_new(void)
{
	struct snapshot_texts *t = xcalloc(1, sizeof(*t));

	randombytes_buf(t->key, sizeof(t->key));
	t->size = 256;
	t->v = xcalloc(t->size, sizeof(*t->v));
	return t;
}

/* All jobs are freed before. */
void snapshot_texts_free(struct snapshot_texts *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->size; i++)
		free(t->v[i]);
	free(t->v);
	for (int i = 0; i < PART_KINDS; i++)
		free(t->parts[i].v);
	free(t);
}

const char *snapshot_text(struct snapshot_texts *t, const char *text)
{
	size_t i;

	if (!*text)
		return "";
	i = place_of(t, text);
	if (t->v[i])
		return t->v[i];
	if (t->n >= SNAPSHOT_TEXTS_MAX)
		return "(other)";
	if (++t->n > t->size / 2) {
		grow(t);
		i = place_of(t, text);
	}
	return t->v[i] = xstrdup(text);
}

/* --- requests and statuses -------------------------------------------------------------------- */

static void grow_parts(struct parts *parts)
{
	struct snapshot_part **old = parts->v;
	size_t n = parts->size;

	parts->size = n ? 2 * n : 64;
	parts->v = xcalloc(parts->size, sizeof(*parts->v));
	for (size_t i = 0; i < n; i++)
		for (struct snapshot_part *p = old[i], *next; p; p = next) {
			next = p->next;
			p->next = parts->v[p->hash & (parts->size - 1)];
			parts->v[p->hash & (parts->size - 1)] = p;
		}
	free(old);
}

struct snapshot_part *snapshot_part_get(struct snapshot_texts *t, enum part_kind kind,
        const Gpusched__Job *m, size_t size, bool *made)
{
	struct parts *parts = &t->parts[kind];
	size_t len = gpusched__job__get_packed_size(m);
	struct snapshot_part *part = xcalloc(1, size + len), *found;
	uint8_t *packed = (uint8_t *)part + size;

	gpusched__job__pack(m, packed);
	part->packed = packed;
	part->len = (uint32_t)len;
	part->hash = (uint32_t)hash_of(t, packed, len);
	found = parts->size ? parts->v[part->hash & (parts->size - 1)] : NULL;
	while (found && (found->hash != part->hash || found->len != part->len ||
	                        memcmp(found->packed, packed, len) != 0))
		found = found->next;
	*made = !found;
	if (found) {
		free(part);
		found->refs++;
		return found;
	}
	if (++parts->n > parts->size)
		grow_parts(parts);
	part->refs = 1;
	part->of = t;
	part->next = parts->v[part->hash & (parts->size - 1)];
	parts->v[part->hash & (parts->size - 1)] = part;
	return part;
}

void snapshot_part_put(const struct snapshot_part *p, enum part_kind kind)
{
	struct snapshot_part *part = (struct snapshot_part *)(uintptr_t)p, **at;
	struct parts *parts = &part->of->parts[kind];

	if (--part->refs)
		return;
	at = &parts->v[part->hash & (parts->size - 1)];
	while (*at != part)
		at = &(*at)->next;
	*at = part->next;
	parts->n--;
	free(part);
}
