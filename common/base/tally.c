/* tally.c - see tally.h */
#include "common/base/tally.h"

#include <stdlib.h>

struct tally_row *tally_take(struct tally *t, uint64_t key)
{
	/* Fibonacci hashing: neighbouring addresses spread. */
	size_t b = (size_t)(key * 0x9e3779b97f4a7c15u >> 54) % TALLY_BUCKETS;
	struct tally_row *row;

	LIST_FOREACH (row, &t->buckets[b], link)
		if (row->key == key)
			break;
	if (!row) {
		row = calloc(1, sizeof(*row));
		if (!row)
			return NULL;
		row->key = key;
		LIST_INSERT_HEAD(&t->buckets[b], row, link);
	}
	row->n++;
	return row;
}

void tally_drop(struct tally_row *row)
{
	if (!row || --row->n > 0)
		return;
	LIST_REMOVE(row, link);
	free(row);
}
