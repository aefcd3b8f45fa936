/* text_numbers.c - see text_numbers.h */
#include "ctld/gsim/history/text_numbers.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

struct name {
	uint32_t number;
	char text[];
};

struct text_numbers {
	struct table *table;
	struct name **v;
	uint32_t n;
	size_t size;
};

static uint64_t text_hash(const char *text, uint64_t seed)
{
	return hash_bytes(text, strlen(text), seed);
}

static uint64_t name_hash(const void *item, uint64_t seed)
{
	return text_hash(((const struct name *)item)->text, seed);
}

static bool name_equal(const void *item, const void *key)
{
	return !strcmp(((const struct name *)item)->text, key);
}

struct text_numbers *text_numbers_new(void)
{
	struct text_numbers *n = xcalloc(1, sizeof(*n));

	n->table = table_new(name_hash, 1);
	return n;
}

void text_numbers_free(struct text_numbers *n)
{
	uint32_t i;

	if (!n)
		return;
	for (i = 0; i < n->n; i++)
		free(n->v[i]);
	free(n->v);
	table_free(n->table);
	free(n);
}

uint32_t text_numbers_get(struct text_numbers *n, const char *text)
{
	struct name *name =
	        table_find(n->table, text_hash(text, table_seed(n->table)), name_equal, text);
	size_t len = strlen(text);

	if (name)
		return name->number;
	n->v = xgrow(n->v, n->n, &n->size, sizeof(struct name *));
	name = xcalloc(1, sizeof(*name) + len + 1);
	memcpy(name->text, text, len + 1);
	name->number = n->n;
	n->v[n->n++] = name;
	table_add(n->table, name);
	return name->number;
}

const char *text_numbers_text(const struct text_numbers *n, uint32_t number)
{
	return n->v[number]->text;
}
