/* name_numbers.c - see name_numbers.h */
#include "ctld/gsim/history/name_numbers.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

struct name {
	uint32_t number;
	char text[];
};

struct names {
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

struct names *names_new(void)
{
	struct names *n = xcalloc(1, sizeof(*n));

	n->table = table_new(name_hash, 1);
	return n;
}

void names_free(struct names *n)
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

uint32_t names_number(struct names *n, const char *text)
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

const char *names_text(const struct names *n, uint32_t number)
{
	return n->v[number]->text;
}
