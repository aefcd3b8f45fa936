/* grid.h - what a screen shows: characters and their looks, without a terminal
 *
 * Screens draw into a grid; term.c brings it to the terminal, once.c prints it, tests read it. All
 * text is foreign text: it is made plain on its way in (table_printable()), so no job name can move
 * a cursor. What does not fit is cut and ends in "+". Nothing is ever drawn outside the grid.
 */
#ifndef CMDS_TOP_GRID_H
#define CMDS_TOP_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <wchar.h>

/* Looks, which the terminal shows as colours. A look only repeats what a letter says. */
enum look {
	LOOK_PLAIN,
	LOOK_GOOD,
	LOOK_WARN,
	LOOK_BAD,
	LOOK_DIM,
	LOOK_STRONG,
	LOOK_HEADING, /* of a table */
	LOOK_FREE,    /* and what else a GPU may be: gpu_map.h */
	LOOK_BUSY,
	LOOK_IDLE,
	LOOK_SHARED,
	LOOK_DRAINED,
	LOOK_LOST,
	LOOKS
};

struct grid_cell {
	wchar_t ch
	        [3]; /* a character and perhaps a mark above it; "": the right half of the one before */
	uint8_t look; /* enum look */
	bool marked;  /* the cursor is here */
};

struct grid {
	unsigned rows, cols;
	struct grid_cell *cells; /* row by row; NULL: 0 rows */
};

/* A part of a grid in which a screen draws. */
struct area {
	unsigned row, col, rows, cols;
};

/* Begins as { 0 }. Blank afterwards. */
void grid_resize(struct grid *g, unsigned rows, unsigned cols);
void grid_clear(struct grid *g);
void grid_free(struct grid *g);

/* Put `text` there, on at most `width` columns. Returns how many it takes. */
unsigned grid_text(struct grid *g, unsigned row, unsigned col, unsigned width, enum look look,
        const char *text);
unsigned grid_textf(struct grid *g, unsigned row, unsigned col, unsigned width, enum look look,
        const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* The same aligned to the right end of these columns. */
void grid_right(struct grid *g, unsigned row, unsigned col, unsigned width, enum look look,
        const char *text);

/* Give the cells there another look, or mark them as the cursor. */
void grid_look(struct grid *g, unsigned row, unsigned col, unsigned width, enum look look);
void grid_mark(struct grid *g, unsigned row, unsigned col, unsigned width);

/* One row as text in the present locale, without blanks at its end; the caller frees. */
char *grid_line(const struct grid *g, unsigned row);

#endif
