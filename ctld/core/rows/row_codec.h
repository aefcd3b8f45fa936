/* row_codec.h - durable fields to rows and back
 *
 * Each kind of object has a table with one entry for each column, in the order of row.h: where the
 * field is, and its C type. Encoding and decoding use the same table, so they cannot differ. A
 * column that is neither a plain number nor an interned text (states, requests, hashes) is
 * CODEC_OWN: the object's own code converts it.
 */
#ifndef CTLD_CORE_ROW_CODEC_H
#define CTLD_CORE_ROW_CODEC_H

#include "common/base/error.h"
#include "ctld/core/rows/row.h"
#include "ctld/core/util/strings.h"

enum codec {
	CODEC_OWN,
	CODEC_BOOL,
	CODEC_U8,
	CODEC_U32,
	CODEC_I32,
	CODEC_U64, /* stored as the signed number with the same 64 bits */
	CODEC_I64,
	CODEC_TEXT, /* interned; TEXT or BLOB as the column is */
};

struct codec_column {
	enum codec codec;
	size_t offset;
};

/* The entry of a column for a field: COLUMN(struct job, info.uid). */
#define COLUMN(type, field)                                                  \
	{                                                                    \
		_Generic(((type *)0)->field,                               \
		bool: CODEC_BOOL,                                    \
		uint8_t: CODEC_U8,                                   \
		uint32_t: CODEC_U32,                                 \
		int32_t: CODEC_I32,                                  \
		uint64_t: CODEC_U64,                                 \
		int64_t: CODEC_I64,                                  \
		const char *: CODEC_TEXT),                           \
	  offsetof(type, field) \
	}

/* Positions of columns: COL_JOB_id, ..., and how many there are: COL_JOB_COUNT. */
#define COLUMN_PLACE(tag, name, type, key) COL_##tag##_##name,
#define TABLE_PLACES(tag, name, columns) \
	enum name##_column { columns(COLUMN_PLACE) COL_##tag##_COUNT };
ROW_TABLES(TABLE_PLACES)
#undef TABLE_PLACES
#undef COLUMN_PLACE

const char *row_table_name(enum row_table table);
size_t row_columns(enum row_table table);
size_t row_keys(enum row_table table);
const char *row_column_name(enum row_table table, size_t column);
enum value_type row_column_type(enum row_table table, size_t column);

struct value value_int(int64_t i);
struct value value_text(const char *s);
struct value value_blob(const void *p, size_t n);

/* Begin a row with all columns (PUT) or only the key's (DELETE, RETIRE). */
void row_begin(struct row *row, enum row_table table, enum row_change change);

/* Fill the columns that are not CODEC_OWN, row->n of them. */
void codec_encode(const struct codec_column *columns, const void *object, struct row *row);

/* Number, types and ranges of `row`, and no NUL inside a text. */
int row_check(const struct row *row, struct error *err);

/* Fill the fields from a row that row_check() accepted; texts are interned in `strings`. On
 * failure (a number that does not fit its field) some fields may have been filled. */
int codec_decode(const struct codec_column *columns, void *object, const struct row *row,
        struct strings *strings, struct error *err);

/* ERR_INTERNAL, "job 17: state: no such state 'X'" */
int row_error(const struct row *row, size_t column, struct error *err, const char *what);

uint64_t row_hash(const struct row *row);
size_t row_bytes(const struct row *row);

#endif
