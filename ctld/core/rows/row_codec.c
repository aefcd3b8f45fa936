/* row_codec.c - see row_codec.h
 *
 * One table for a kind of object, with one entry for each column: where the field lies in the
 * object, and how it is written and read. Writing and loading go by the same table, so they cannot
 * disagree, and hashing the state is hashing what would be written. Columns that are more than a
 * field (CODEC_OWN) are filled in by the object's own code after the table's.
 */
#include "ctld/core/rows/row_codec.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "ctld/core/util/hash.h"

#define KEY_K 1
#define KEY__ 0

struct schema_column {
	const char *name;
	enum value_type type;
	bool key;
};

#define COLUMN_OF(tag, name, type, key) { #name, VALUE_##type, KEY_##key },
#define SCHEMA(tag, name, columns) \
	static const struct schema_column name##_schema[] = { columns(COLUMN_OF) };
ROW_TABLES(SCHEMA)

#define X(tag, name, columns) \
	[TABLE_##tag] = { #name, name##_schema, sizeof(name##_schema) / sizeof(name##_schema[0]) },
static const struct {
	const char *name;
	const struct schema_column *v;
	size_t n;
} schemas[TABLE_COUNT] = { ROW_TABLES(X) };
#undef X

_Static_assert(COL_JOB_COUNT <= ROW_MAX_COLUMNS, "a job's row is too wide");

const char *row_table_name(enum row_table table)
{
	return schemas[table].name;
}

size_t row_columns(enum row_table table)
{
	return schemas[table].n;
}

size_t row_keys(enum row_table table)
{
	size_t n = 0;

	while (n < schemas[table].n && schemas[table].v[n].key)
		n++;
	return n;
}

const char *row_column_name(enum row_table table, size_t column)
{
	return schemas[table].v[column].name;
}

enum value_type row_column_type(enum row_table table, size_t column)
{
	return schemas[table].v[column].type;
}

struct value value_int(int64_t i)
{
	return (struct value){ .type = VALUE_INT, .i = i };
}

struct value value_text(const char *s)
{
	return (struct value){ .type = VALUE_TEXT, .p = s, .n = strlen(s) };
}

struct value value_blob(const void *p, size_t n)
{
	return (struct value){ .type = VALUE_BLOB, .p = p, .n = n };
}

/* A row that only removes has its key columns and nothing else. */
void row_begin(struct row *row, enum row_table table, enum row_change change)
{
	row->table = table;
	row->change = change;
	row->n = change == ROW_PUT ? row_columns(table) : row_keys(table);
}

static struct value encode(enum codec codec, enum value_type type, const void *field)
{
	switch (codec) {
	case CODEC_BOOL:
		return value_int(*(const bool *)field);
	case CODEC_U8:
		return value_int(*(const uint8_t *)field);
	case CODEC_U32:
		return value_int(*(const uint32_t *)field);
	case CODEC_I32:
		return value_int(*(const int32_t *)field);
	case CODEC_U64:
	case CODEC_I64:
		return value_int(*(const int64_t *)field);
	case CODEC_TEXT: {
		const char *text = *(const char *const *)field;

		return (struct value){ .type = type, .p = text, .n = strings_length(text) };
	}
	case CODEC_OWN:
		break;
	}
	assert(!"codec");
	return value_int(0);
}

/* As many columns as the row has: all, or the keys. Texts are borrowed. */
void codec_encode(const struct codec_column *columns, const void *object, struct row *row)
{
	for (size_t i = 0; i < row->n; i++) {
		if (columns[i].codec != CODEC_OWN)
			row->v[i] = encode(columns[i].codec, row_column_type(row->table, i),
			        (const char *)object + columns[i].offset);
	}
}

int row_error(const struct row *row, size_t column, struct error *err, const char *what)
{
	char key[40] = "";

	if (row->n && row->v[0].type == VALUE_INT)
		snprintf(key, sizeof(key), " %lld", (long long)row->v[0].i);
	else if (row->n && row->v[0].type == VALUE_TEXT)
		snprintf(key, sizeof(key), " %.*s", (int)(row->v[0].n < 32 ? row->v[0].n : 32),
		        (const char *)row->v[0].p);
	return error_set(err, ERR_INTERNAL, "%s%s: %s: %s", row_table_name(row->table), key,
	        row_column_name(row->table, column), what);
}

/* For rows of the world: the right table, number of columns and types. The values are checked by
 * what they become. */
int row_check(const struct row *row, struct error *err)
{
	if (row->table >= TABLE_COUNT)
		return error_set(err, ERR_INTERNAL, "row of unknown table %d", (int)row->table);
	if (row->n != row_columns(row->table))
		return error_set(err, ERR_INTERNAL, "%s: a row of %zu columns instead of %zu",
		        row_table_name(row->table), row->n, row_columns(row->table));
	for (size_t i = 0; i < row->n; i++) {
		const struct value *v = &row->v[i];

		if (v->type != row_column_type(row->table, i))
			return row_error(row, i, err, "wrong type");
		if (v->type == VALUE_TEXT && memchr(v->p, '\0', v->n))
			return row_error(row, i, err, "NUL inside a text");
	}
	return 0;
}

/* -1: the value does not fit the field. */
static int decode(enum codec codec, void *field, const struct value *v, struct strings *strings)
{
	const char *kept;

	switch (codec) {
	case CODEC_BOOL:
		*(bool *)field = v->i != 0;
		return v->i == 0 || v->i == 1 ? 0 : -1;
	case CODEC_U8:
		*(uint8_t *)field = (uint8_t)v->i;
		return v->i >= 0 && v->i <= UINT8_MAX ? 0 : -1;
	case CODEC_U32:
		*(uint32_t *)field = (uint32_t)v->i;
		return v->i >= 0 && v->i <= UINT32_MAX ? 0 : -1;
	case CODEC_I32:
		*(int32_t *)field = (int32_t)v->i;
		return v->i >= INT32_MIN && v->i <= INT32_MAX ? 0 : -1;
	case CODEC_U64:
	case CODEC_I64:
		*(int64_t *)field = v->i;
		return 0;
	case CODEC_TEXT:
		if (v->n && memchr(v->p, '\0', v->n))
			return -1;
		/* Keep first: the same text must stay at the same address, it may be a table's key.
		 */
		kept = strings_keep_n(strings, v->p, v->n);
		strings_drop(strings, *(const char **)field);
		*(const char **)field = kept;
		return 0;
	case CODEC_OWN:
		break;
	}
	return 0;
}

int codec_decode(const struct codec_column *columns, void *object, const struct row *row,
        struct strings *strings, struct error *err)
{
	for (size_t i = 0; i < row->n; i++) {
		void *field = (char *)object + columns[i].offset;

		if (columns[i].codec != CODEC_OWN &&
		        decode(columns[i].codec, field, &row->v[i], strings) < 0)
			return row_error(row, i, err, "does not fit");
	}
	return 0;
}

/* Of the values in order, and of the table. */
uint64_t row_hash(const struct row *row)
{
	uint64_t h = hash_u64(row->table, row->n);

	for (size_t i = 0; i < row->n; i++) {
		const struct value *v = &row->v[i];

		h = v->type == VALUE_INT ? hash_u64((uint64_t)v->i, h) : hash_bytes(v->p, v->n, h);
	}
	return h;
}

size_t row_bytes(const struct row *row)
{
	size_t n = 0, i;

	for (i = 0; i < row->n; i++)
		n += row->v[i].type == VALUE_INT ? 8 : row->v[i].n;
	return n;
}
