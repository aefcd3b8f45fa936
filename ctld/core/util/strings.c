/* strings.c - see strings.h
 *
 * A table of texts with a count of references each. Two kept texts are equal exactly if their
 * pointers are, so comparing names of users, accounts or directories costs nothing, and a million
 * jobs hold each of them once.
 */
#include "ctld/core/util/strings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

struct string {
	uint32_t refs, length;
	char text[];
};

struct strings {
	struct table *table;
	struct string *empty; /* the empty text, if it is kept: most texts of a job are empty */
};

struct span {
	const char *p;
	size_t n;
};

static struct string *string_of(const char *kept)
{
	return (struct string *)(uintptr_t)(kept - offsetof(struct string, text));
}

static uint64_t string_hash(const void *item, uint64_t seed)
{
	const struct string *s = item;

	return hash_bytes(s->text, s->length, seed);
}

static bool string_equal(const void *item, const void *key)
{
	const struct string *s = item;
	const struct span *span = key;

	return s->length == span->n && !memcmp(s->text, span->p, span->n);
}

struct strings *strings_new(uint64_t seed)
{
	struct strings *s = xcalloc(1, sizeof(*s));

	s->table = table_new(string_hash, seed);
	return s;
}

void strings_free(struct strings *s)
{
	size_t cursor = 0;
	void *item;

	if (!s)
		return;
	while ((item = table_each(s->table, &cursor)))
		free(item);
	table_free(s->table);
	free(s);
}

static struct string *find(const struct strings *s, const struct span *span)
{
	uint64_t hash;

	if (!span->n)
		return s->empty;
	hash = hash_bytes(span->p, span->n, table_seed(s->table));
	return table_find(s->table, hash, string_equal, span);
}

const char *strings_keep_n(struct strings *s, const char *text, size_t n)
{
	struct span span = { text, n };
	struct string *found = find(s, &span);

	if (!found) {
		assert(n < UINT32_MAX);
		found = xcalloc(1, sizeof(*found) + n + 1);
		found->length = (uint32_t)n;
		memcpy(found->text, text, n);
		table_add(s->table, found);
		s->empty = n ? s->empty : found;
	}
	found->refs++;
	return found->text;
}

const char *strings_intern(struct strings *s, const char *text)
{
	return strings_keep_n(s, text, strlen(text));
}

const char *strings_again(const char *kept)
{
	string_of(kept)->refs++;
	return kept;
}

void strings_drop(struct strings *s, const char *kept)
{
	struct string *string;

	if (!kept)
		return;
	string = string_of(kept);
	assert(string->refs);
	if (--string->refs)
		return;
	table_remove(s->table, string);
	s->empty = string == s->empty ? NULL : s->empty;
	free(string);
}

const char *strings_peek(const struct strings *s, const char *text)
{
	struct span span = { text, strlen(text) };
	struct string *found = find(s, &span);

	return found ? found->text : NULL;
}

void strings_keep(struct strings *s, const char **field)
{
	*field = strings_intern(s, *field ? *field : "");
}

int strings_set(struct strings *s, const char **field, const char *text)
{
	const char *kept = strings_intern(s, text);
	int changed = *field != kept;

	strings_drop(s, *field);
	*field = kept;
	return changed;
}

size_t strings_length(const char *kept)
{
	return string_of(kept)->length;
}

size_t strings_count(const struct strings *s)
{
	return table_count(s->table);
}
