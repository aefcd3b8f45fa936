/* table.h - tables as the commands print them
 *
 * Rows are handed over cell by cell and printed as they come, so that the first of a hundred
 * thousand is on the screen before the last is known. Only the first TABLE_SAMPLE rows are kept
 * back, to see how wide things are. (libsmartcols, which lsblk prints with, keeps the whole table
 * and does not mark what it cuts: it would cost more than fetching the rows.)
 *
 * Layout: every column has a width that makes the whole at home on 80 columns. On a wider terminal
 * columns grow as far as their cells need it, first the one that takes what is left over, then the
 * others in order. On a narrower one they give back what they do not need and then shrink to their
 * minimum, the widest first. A TABLE_DEAR column that would be cut gets what others do not need,
 * also on 80 columns. Columns that still do not fit are left out, and each line then ends in " +".
 * What is cut ends in "+"; a TABLE_WHOLE cell is never cut. Without a limit (width 0) nothing is.
 * There are no blanks at the end of lines.
 *
 * Cells are foreign text: whatever is not plain (common/base/text.h), or not printable in the
 * present locale, is shown as \xNN.
 */
#ifndef CMDS_TABLE_H
#define CMDS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_SAMPLE 256 /* rows looked at before widths are settled */

enum table_flags {
	TABLE_RIGHT = 1 << 0, /* aligned to the right: numbers */
	TABLE_WHOLE = 1 << 1, /* never cut: ids, numbers, times */
	TABLE_FIXED = 1 << 2, /* exactly `width` in any case: the user has set it */
	TABLE_DEAR = 1 << 3,  /* not cut while another column has room that it does not need */
};

struct table_column {
	const char *heading;
	unsigned width; /* on 80 columns; 0: whatever is left (for the last one) */
	unsigned min;   /* never narrower; 0: as `width` */
	unsigned flags; /* enum table_flags */
};

enum table_colour { TABLE_PLAIN, TABLE_GOOD, TABLE_WARN, TABLE_BAD, TABLE_DIM, TABLE_COLOURS };

struct table_style {
	FILE *out;
	unsigned width; /* 0: no limit */
	bool heading, colour;
	bool csv; /* values with commas between (RFC 4180, LF), as they come: no layout at all */
	/* Not NULL: also printed as they come, each cut or padded to its column's `width` (0: as it
	 * is), with these texts in front of each and, one more, behind the last. */
	const char *const *between;
};

struct table;

/* How to print to `out`: as wide as COLUMNS says, else as the terminal is, with colours unless
 * NO_COLOR or TERM=dumb say otherwise; 80 columns (or COLUMNS) and no colours if it is no terminal.
 * With a heading. */
struct table_style table_style_for(FILE *out);

/* `columns` (n of them, at least 1) are borrowed until table_end(). */
struct table *table_new(
        const struct table_style *style, const struct table_column *columns, size_t n);

/* The next cell of the row; each n-th ends it. */
void table_cell(struct table *t, const char *text, enum table_colour colour);

/* Print what was kept back, now: widths are settled by what is there until here. */
void table_flush(struct table *t);

/* Print what was kept back (of an empty table: the heading) and free the table. Returns the rows.
 */
size_t table_end(struct table *t);

void table_drop(struct table *t); /* print nothing more; NULL is fine */

/* The column widths of a table whose cells the caller lays out itself. `needs`: the width of the
 * widest cell or heading of each column. Returns how many columns fit; if not all do, there is room
 * for " +" behind them. */
size_t table_widths(const struct table_style *style, const struct table_column *columns, size_t n,
        const unsigned *needs, unsigned *widths);

/* `text` as this terminal can show it, and how many columns it takes. The caller frees. */
char *table_printable(const char *text, unsigned *width);

/* How many bytes of a printable text fill at most so many columns; of a text that is not empty at
 * least one. */
size_t table_fit(const char *text, unsigned width);

/* How many columns of a terminal `text` takes once it was made plain. */
unsigned table_text_width(const char *text);

#endif
