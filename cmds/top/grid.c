/* grid.c - see grid.h */
#include "cmds/top/grid.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/cli/table.h"
#include "common/base/strbuf.h"
#include "common/base/xalloc.h"

#define CUT "+"

static struct grid_cell *cell_at(const struct grid *g, unsigned row, unsigned col)
{
	return row < g->rows && col < g->cols ? &g->cells[(size_t)row * g->cols + col] : NULL;
}

void grid_clear(struct grid *g)
{
	for (size_t i = 0; i < (size_t)g->rows * g->cols; i++)
		g->cells[i] = (struct grid_cell){ .ch = L" " };
}

void grid_resize(struct grid *g, unsigned rows, unsigned cols)
{
	free(g->cells);
	g->rows = rows;
	g->cols = cols;
	g->cells = xcalloc((size_t)rows * cols, sizeof(*g->cells));
	grid_clear(g);
}

void grid_free(struct grid *g)
{
	free(g->cells);
	*g = (struct grid){ 0 };
}

/* One of two halves is overwritten: the other one becomes a blank. */
static void mend_halves(struct grid *g, unsigned row, unsigned from, unsigned to)
{
	struct grid_cell *first = cell_at(g, row, from), *before = cell_at(g, row, from - 1),
	                 *behind = cell_at(g, row, to);

	if (from && first && !first->ch[0] && before)
		wcscpy(before->ch, L" ");
	if (behind && !behind->ch[0])
		wcscpy(behind->ch, L" ");
}

/* The characters of a printable text; stops before one that does not fit. Returns the column behind
 * the last. */
static unsigned put(
        struct grid *g, unsigned row, unsigned col, unsigned end, enum look look, const char *text)
{
	size_t len = strlen(text);
	mbstate_t state = { 0 };
	struct grid_cell *last = NULL;

	while (len) {
		wchar_t wc;
		size_t n = mbrtowc(&wc, text, len, &state);
		int width;

		if (n == 0 || n > len)
			break;
		text += n;
		len -= n;
		width = wcwidth(wc);
		if (width <= 0) {
			if (last && last->ch[0] && !last->ch[1])
				last->ch[1] = wc;
			continue;
		}
		if (col + (unsigned)width > end)
			break;
		mend_halves(g, row, col, col + (unsigned)width);
		last = cell_at(g, row, col);
		*last = (struct grid_cell){ .ch = { wc }, .look = (uint8_t)look };
		if (width > 1)
			*cell_at(g, row, col + 1) = (struct grid_cell){ .look = (uint8_t)look };
		col += (unsigned)width;
	}
	return col;
}

unsigned grid_text(struct grid *g, unsigned row, unsigned col, unsigned width, enum look look,
        const char *text)
{
	unsigned needs, end, at;
	char *plain;

	if (row >= g->rows || col >= g->cols || !width)
		return 0;
	if (width > g->cols - col)
		width = g->cols - col;
	plain = table_printable(text, &needs);
	end = col + width - (needs > width);
	at = put(g, row, col, end, look, plain);
	if (needs > width)
		at = put(g, row, at, at + 1, look, CUT);
	free(plain);
	return at - col;
}

unsigned grid_textf(struct grid *g, unsigned row, unsigned col, unsigned width, enum look look,
        const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return grid_text(g, row, col, width, look, text);
}

void grid_right(struct grid *g, unsigned row, unsigned col, unsigned width, enum look look,
        const char *text)
{
	unsigned needs = table_text_width(text);

	if (needs < width)
		col += width - needs;
	grid_text(g, row, col, needs < width ? needs : width, look, text);
}

void grid_look(struct grid *g, unsigned row, unsigned col, unsigned width, enum look look)
{
	for (unsigned i = 0; i < width && cell_at(g, row, col + i); i++)
		cell_at(g, row, col + i)->look = (uint8_t)look;
}

void grid_mark(struct grid *g, unsigned row, unsigned col, unsigned width)
{
	for (unsigned i = 0; i < width && cell_at(g, row, col + i); i++)
		cell_at(g, row, col + i)->marked = true;
}

char *grid_line(const struct grid *g, unsigned row)
{
	struct strbuf s = { 0 };
	mbstate_t state = { 0 };
	char *line;
	size_t len;

	for (unsigned col = 0; col < g->cols; col++) {
		const struct grid_cell *c = cell_at(g, row, col);

		for (size_t i = 0; c && c->ch[i]; i++) {
			char bytes[32];
			size_t n = wcrtomb(bytes, c->ch[i], &state);

			if (n <= sizeof(bytes))
				strbuf_add(&s, bytes, n);
		}
	}
	line = strbuf_take(&s);
	for (len = strlen(line); len && line[len - 1] == ' '; len--)
		line[len - 1] = '\0';
	return line;
}
