/* column_table.c - see column_table.h */
#include "cmds/top/screens/column_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

void list_view_use(struct list_view *v, const struct list_kind *kinds, const char *names)
{
	if (v->names == names)
		return;
	*v = (struct list_view){ .names = names };
	for (const char *s = names; *s;) {
		size_t len = strcspn(s, ",");
		const struct view_column *column = NULL;
		unsigned object = 0;

		for (unsigned i = 0; i < LIST_OBJECTS && !column; i++) {
			object = i;
			if (kinds->kind[i])
				column = view_find(kinds->kind[i], s, len);
		}
		assert(column && v->n < LIST_COLUMNS_MAX);
		v->columns[v->n] = column;
		v->layout[v->n] = column->table;
		v->object[v->n++] = object;
		s += len + (s[len] == ',');
	}
}

void list_view_reset(struct list_view *v)
{
	v->cols = 0;
}

/* --- cells ------------------------------------------------------------------------------------ */

struct cell {
	char *text; /* owned; NULL: the row is gone */
	enum look look;
};

static enum look look_of(enum table_colour colour)
{
	static const enum look looks[TABLE_COLOURS] = { [TABLE_PLAIN] = LOOK_PLAIN,
		[TABLE_GOOD] = LOOK_GOOD,
		[TABLE_WARN] = LOOK_WARN,
		[TABLE_BAD] = LOOK_BAD,
		[TABLE_DIM] = LOOK_DIM };

	return looks[colour];
}

static void make_row(
        struct list_view *v, struct cell *cells, size_t i, const struct list_source *from)
{
	const void *objects[LIST_OBJECTS] = { NULL };
	struct view_cell shown;

	if (!from->row(i, objects, from->arg))
		return;
	for (size_t c = 0; c < v->n; c++) {
		unsigned width;

		view_show(v->columns[c], objects[v->object[c]], false, &shown);
		cells[c].text = table_printable(shown.text, &width);
		cells[c].look = look_of(shown.colour);
		if (width > v->needs[c])
			v->needs[c] = width;
	}
	if (from->done)
		from->done(objects, from->arg);
}

/* --- the table -------------------------------------------------------------------------------- */

static void begin_needs(struct list_view *v, unsigned cols)
{
	if (v->cols == cols)
		return;
	v->cols = cols;
	for (size_t i = 0; i < v->n; i++)
		v->needs[i] = (unsigned)strlen(v->layout[i].heading);
}

static void put_cell(const struct list_view *v, size_t column, struct grid *g, unsigned row,
        unsigned col, unsigned width, const struct cell *cell)
{
	if (v->layout[column].flags & TABLE_RIGHT)
		grid_right(g, row, col, width, cell->look, cell->text);
	else
		grid_text(g, row, col, width, cell->look, cell->text);
}

static void put_row(const struct list_view *v, struct grid *g, struct area a,
        const unsigned *widths, size_t shown, const struct cell *cells)
{
	unsigned at = 0;

	for (size_t c = 0; c < shown && at < a.cols && cells[c].text; c++) {
		unsigned width = widths[c] < a.cols - at ? widths[c] : a.cols - at;

		put_cell(v, c, g, a.row, a.col + at, width, &cells[c]);
		at += widths[c] + 1;
	}
	if (shown < v->n)
		grid_text(g, a.row, a.col + a.cols - 1, 1, LOOK_DIM, "+");
}

static void put_heading(const struct list_view *v, struct grid *g, struct area a,
        const unsigned *widths, size_t shown)
{
	struct cell cells[LIST_COLUMNS_MAX];

	for (size_t c = 0; c < v->n; c++)
		cells[c] = (struct cell){ (char *)v->layout[c].heading, LOOK_HEADING };
	put_row(v, g, a, widths, shown, cells);
	grid_look(g, a.row, a.col, a.cols, LOOK_HEADING);
}

void list_draw(struct list_view *v, struct grid *g, struct area a, const struct list_source *source,
        struct cursor *cursor)
{
	unsigned widths[LIST_COLUMNS_MAX] = { 0 };
	struct table_style style = { .width = a.cols, .heading = true };
	size_t height = a.rows > 1 ? a.rows - 1 : 0, shown, rows;
	struct cell *cells;

	cursor_fit(cursor, source->n, height);
	rows = source->n - cursor->top < height ? source->n - cursor->top : height;
	cells = xcalloc(rows * v->n, sizeof(*cells));
	begin_needs(v, a.cols);
	for (size_t i = 0; i < rows; i++)
		make_row(v, &cells[i * v->n], cursor->top + i, source);
	shown = table_widths(&style, v->layout, v->n, v->needs, widths);
	if (a.rows)
		put_heading(v, g, a, widths, shown);
	for (size_t i = 0; i < rows; i++) {
		struct area line = { a.row + 1 + (unsigned)i, a.col, 1, a.cols };

		put_row(v, g, line, widths, shown, &cells[i * v->n]);
		if (cursor->top + i == cursor->index)
			grid_mark(g, line.row, line.col, line.cols);
	}
	for (size_t i = 0; i < rows * v->n; i++)
		free(cells[i].text);
	free(cells);
}
