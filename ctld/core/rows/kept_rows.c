/* kept_rows.c - see kept_rows.h
 *
 * Rows are kept by value with their texts in scratch memory, in the order in which they came, and
 * are written first in a seal.
 */
#include "ctld/core/rows/kept_rows.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/util/scratch.h"

struct kept {
	enum row_table table;
	enum row_change change;
	size_t n;
	struct value *v; /* in scratch, with their texts */
};

struct kept_rows {
	struct kept *rows;
	size_t n, size, bytes;
	struct scratch *scratch;
};

struct kept_rows *kept_rows_new(void)
{
	struct kept_rows *k = xcalloc(1, sizeof(*k));

	k->scratch = scratch_new();
	return k;
}

void kept_rows_free(struct kept_rows *k)
{
	if (!k)
		return;
	scratch_free(k->scratch);
	free(k->rows);
	free(k);
}

static void keep_value(struct kept_rows *k, struct value *v)
{
	void *copy;

	if (v->type == VALUE_INT)
		return;
	copy = scratch_alloc(k->scratch, v->n + 1);
	memcpy(copy, v->p, v->n);
	v->p = copy;
}

void kept_rows_add(struct kept_rows *k, const struct row *row)
{
	struct kept *kept = XADD(k->rows, k->n, k->size);

	COPY_FIELDS(kept, row, table, change, n);
	kept->v = scratch_alloc(k->scratch, row->n * sizeof(*kept->v));
	memcpy(kept->v, row->v, row->n * sizeof(*kept->v));
	for (size_t i = 0; i < row->n; i++)
		keep_value(k, &kept->v[i]);
	k->bytes += row_bytes(row);
}

size_t kept_rows_seal(struct kept_rows *k, core_row_sink *sink, void *arg)
{
	size_t i, n = sink ? k->n : 0;
	struct row row;

	for (i = 0; i < n; i++) {
		const struct kept *kept = &k->rows[i];

		COPY_FIELDS(&row, kept, table, change, n);
		memcpy(row.v, kept->v, kept->n * sizeof(*kept->v));
		sink(arg, &row);
	}
	k->n = k->bytes = 0;
	scratch_clear(k->scratch);
	return n;
}

size_t kept_rows_bytes(const struct kept_rows *k)
{
	return k->bytes;
}
