/* tables.h - what was found, as tables: for people, and as JSON
 *
 * A book has sheets, a sheet has columns, rows and notes, in the order in which they were added. A
 * cell is a text, or a number that may have an interval.
 */
#ifndef GDEMAND_TABLES_H
#define GDEMAND_TABLES_H

#include <stdio.h>

#include "ctld/gdemand/bootstrap.h"

/* What a number is, which says how people read it; JSON has it in seconds, parts of 1, GPUs. */
enum sheet_unit {
	SHEET_TEXT,
	SHEET_COUNT, /* 12,345 */
	SHEET_GPUS,  /* 12.5 */
	SHEET_TIME,  /* 3d 4h */
	SHEET_PART,  /* 12 % */
	SHEET_RATIO, /* 1.23 */
	SHEET_HOURS, /* GPU-hours, or money */
};

struct sheet_column {
	const char *key;  /* in JSON */
	const char *head; /* above the column */
	enum sheet_unit unit;
};

struct book;
struct sheet;

struct book *book_new(void);
void book_free(struct book *b); /* NULL is fine */

/* `key` names it in JSON, `title` stands above it. The columns, key and title are borrowed. */
struct sheet *book_sheet(struct book *b, const char *key, const char *title,
        const struct sheet_column *columns, size_t n);
#define BOOK_SHEET(b, key, title, columns) \
	book_sheet(b, key, title, columns, sizeof(columns) / sizeof((columns)[0]))

/* The cells of a row from left to right; texts are copied. */
void sheet_text(struct sheet *s, const char *text);
void sheet_number(struct sheet *s, double value); /* NAN: not known */
void sheet_interval(struct sheet *s, const struct interval *interval);

/* A sentence below the table; of a book, at its end: what limits all that was found. */
void sheet_note(struct sheet *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void book_note(struct book *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void book_print(const struct book *b, FILE *out);
void book_print_json(const struct book *b, FILE *out);

/* A number as people read it. */
#define SHEET_CELL_TEXT 64
char *sheet_format(char buf[SHEET_CELL_TEXT], enum sheet_unit unit, double value);

#endif
