/* table.c - see table.h */
#include "cmds/cli/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"

#define DEFAULT_WIDTH 80
#define GAP           1    /* blanks between columns */
#define MORE          " +" /* ends lines that have more columns than fit */
#define MORE_TIGHT    "+"  /* the same where a single column leaves no room for it */

struct cell {
	char *text; /* plain and printable; owned */
	unsigned width;
	enum table_colour colour;
};

struct table {
	struct table_style style;
	const struct table_column *columns;
	size_t n;
	unsigned *widths; /* settled layout, by column */
	size_t shown;     /* columns that fit */
	bool tight;       /* not even one fits with the mark that there are more */
	bool settled;
	struct cell *cells; /* rows kept back, and the one that is being filled */
	size_t n_cells, room;
	size_t rows;
};

static const char *const colours[TABLE_COLOURS] = {
	[TABLE_PLAIN] = "",
	[TABLE_GOOD] = "\033[32m",
	[TABLE_WARN] = "\033[33m",
	[TABLE_BAD] = "\033[31m",
	[TABLE_DIM] = "\033[2m",
};

/* --- text ----------------------------------------------------------------------------------- */

static bool is_ascii(const char *s)
{
	for (; *s; s++)
		if (*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

/* The character at `s`: its bytes, and in *columns how many columns it takes; -1: not printable. */
static size_t next_char(const char *s, size_t len, mbstate_t *state, int *columns)
{
	wchar_t wc;
	size_t n = mbrtowc(&wc, s, len, state);

	if (n == 0 || n == (size_t)-1 || n == (size_t)-2) {
		memset(state, 0, sizeof(*state));
		*columns = -1;
		return 1;
	}
	*columns = iswprint((wint_t)wc) ? wcwidth(wc) : -1;
	return n;
}

char *table_printable(const char *text, unsigned *width)
{
	char *plain, *out, *to;
	mbstate_t state = { 0 };
	size_t len;

	if (is_ascii(text)) {
		*width = (unsigned)strlen(text);
		return xstrdup(text);
	}
	plain = text_escape_dup(text);
	len = strlen(plain);
	out = to = xcalloc(len * 4 + 1, 1);
	*width = 0;
	for (size_t at = 0; at < len;) {
		int columns;
		size_t n = next_char(plain + at, len - at, &state, &columns);

		if (columns >= 0) {
			memcpy(to, plain + at, n);
			to += n;
			*width += (unsigned)columns;
		} else {
			for (size_t i = 0; i < n; i++, *width += 4)
				to += snprintf(to, 5, "\\x%02X", (unsigned char)plain[at + i]);
		}
		at += n;
	}
	free(plain);
	return out;
}

unsigned table_text_width(const char *text)
{
	unsigned width;

	free(table_printable(text, &width));
	return width;
}

/* How many bytes of `text` fill at most `width` columns, which are *used. */
static size_t fit(const char *text, unsigned width, unsigned *used)
{
	size_t len = strlen(text), at = 0;
	mbstate_t state = { 0 };

	*used = 0;
	while (at < len) {
		int columns;
		size_t n = next_char(text + at, len - at, &state, &columns);

		columns = columns < 0 ? 1 : columns;
		if (*used + (unsigned)columns > width)
			break;
		*used += (unsigned)columns;
		at += n;
	}
	return at;
}

size_t table_fit(const char *text, unsigned width)
{
	unsigned used;
	size_t n = fit(text, width, &used);

	return n || !*text ? n : 1;
}

/* --- layout --------------------------------------------------------------------------------- */

/* Is it shown as wide as it is? */
static bool is_whole(const struct table *t, size_t column)
{
	unsigned flags = t->columns[column].flags;

	return !(flags & TABLE_FIXED) && ((flags & TABLE_WHOLE) || !t->style.width);
}

static unsigned min_width(const struct table_column *c)
{
	return c->min ? c->min : c->width ? c->width : 1;
}

/* How wide each column's widest cell of the sample is; of a heading only whole words count. */
static void find_needs(const struct table *t, unsigned *needs)
{
	for (size_t i = 0; i < t->n; i++)
		needs[i] = t->style.heading ? (unsigned)strlen(t->columns[i].heading) : 0;
	for (size_t i = 0; i < t->n_cells; i++)
		if (t->cells[i].width > needs[i % t->n])
			needs[i % t->n] = t->cells[i].width;
}

static unsigned total(const struct table *t, size_t n)
{
	unsigned sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += t->widths[i] + (i ? GAP : 0);
	return sum;
}

/* The cell that may still give most; NULL: none. */
static unsigned *widest(struct table *t)
{
	unsigned *best = NULL;

	for (size_t i = 0; i < t->n; i++)
		if (!(t->columns[i].flags & (TABLE_WHOLE | TABLE_FIXED)) &&
		        t->widths[i] > min_width(&t->columns[i]) && (!best || t->widths[i] > *best))
			best = &t->widths[i];
	return best;
}

static void shrink(struct table *t, const unsigned *needs)
{
	unsigned have = total(t, t->n);

	for (size_t i = 0; i < t->n && have > t->style.width; i++) {
		bool fixed = t->columns[i].flags & TABLE_FIXED;
		unsigned spare = t->widths[i] > needs[i] && !fixed ? t->widths[i] - needs[i] : 0;

		if (spare > have - t->style.width)
			spare = have - t->style.width;
		t->widths[i] -= spare;
		have -= spare;
	}
	while (have > t->style.width) {
		unsigned *w = widest(t);

		if (!w)
			break;
		--*w;
		have--;
	}
}

/* Give column `i` what it needs, as far as *spare goes. */
static void widen(struct table *t, size_t i, unsigned need, unsigned *spare)
{
	unsigned more = need > t->widths[i] ? need - t->widths[i] : 0;

	if (t->columns[i].flags & TABLE_FIXED)
		return;
	if (more > *spare)
		more = *spare;
	t->widths[i] += more;
	*spare -= more;
}

static void grow(struct table *t, const unsigned *needs)
{
	unsigned spare = t->style.width - total(t, t->n);

	for (size_t i = 0; i < t->n; i++)
		if (!t->columns[i].width)
			widen(t, i, needs[i], &spare);
	for (size_t i = 0; i < t->n; i++)
		widen(t, i, needs[i], &spare);
}

/* The column that has most room that it does not need; NULL: none has any. */
static unsigned *roomiest(struct table *t, const unsigned *needs)
{
	unsigned *best = NULL, most = 0;

	for (size_t i = 0; i < t->n; i++)
		if (!(t->columns[i].flags & TABLE_FIXED) && t->widths[i] > needs[i] + most) {
			most = t->widths[i] - needs[i];
			best = &t->widths[i];
		}
	return best;
}

static void lend(struct table *t, const unsigned *needs)
{
	for (size_t i = 0; i < t->n; i++) {
		unsigned *from;

		while ((t->columns[i].flags & TABLE_DEAR) && t->widths[i] < needs[i] &&
		        (from = roomiest(t, needs))) {
			--*from;
			t->widths[i]++;
		}
	}
}

/* Not even the minimum fits: fewer columns, and to those what is left. */
static void leave_out(struct table *t, const unsigned *needs)
{
	unsigned width = t->style.width, spare, have;

	while (t->shown > 1 && total(t, t->shown) + strlen(MORE) > width)
		t->shown--;
	have = total(t, t->shown) + (unsigned)strlen(MORE);
	t->tight = have > width;
	spare = have < width ? width - have : 0;
	for (size_t i = 0; i < t->shown; i++)
		widen(t, i, needs[i], &spare);
}

static void settle_widths(struct table *t, const unsigned *needs)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct table_column *c = &t->columns[i];
		bool whole = is_whole(t, i);

		t->widths[i] = whole && needs[i] > c->width ? needs[i] : c->width;
		if (!c->width && !whole)
			t->widths[i] = min_width(c);
	}
	t->shown = t->n;
	if (t->style.width && total(t, t->n) > t->style.width)
		shrink(t, needs);
	else if (t->style.width)
		grow(t, needs);
	if (t->style.width)
		lend(t, needs);
	if (t->style.width && total(t, t->n) > t->style.width)
		leave_out(t, needs);
	t->settled = true;
}

static void settle_sample(struct table *t)
{
	unsigned *needs = xcalloc(t->n, sizeof(*needs));

	find_needs(t, needs);
	settle_widths(t, needs);
	free(needs);
}

size_t table_widths(const struct table_style *style, const struct table_column *columns, size_t n,
        const unsigned *needs, unsigned *widths)
{
	struct table t = { .style = *style, .columns = columns, .n = n, .widths = widths };

	settle_widths(&t, needs);
	return t.shown;
}

/* --- printing ------------------------------------------------------------------------------- */

static void pad(FILE *out, unsigned n)
{
	static const char blanks[] = "                                ";

	for (; n >= sizeof(blanks); n -= sizeof(blanks) - 1)
		fwrite_unlocked(blanks, 1, sizeof(blanks) - 1, out);
	if (n)
		fwrite_unlocked(blanks, 1, n, out);
}

/* `final`: nothing follows on the line. */
static void print_cell(const struct table *t, size_t column, const struct cell *cell, bool final)
{
	const char *text = cell->text;
	const struct table_column *c = &t->columns[column];
	unsigned room = t->widths[column], used = cell->width;
	bool cut = cell->width > room && !is_whole(t, column);
	size_t bytes = cut ? fit(text, room - 1, &used) : strlen(text);
	bool coloured = t->style.colour && cell->colour != TABLE_PLAIN && bytes;
	FILE *out = t->style.out;

	used += cut;
	if (c->flags & TABLE_RIGHT)
		pad(out, room > used ? room - used : 0);
	if (coloured)
		fputs(colours[cell->colour], out);
	fwrite_unlocked(text, 1, bytes, out);
	if (cut)
		putc_unlocked('+', out);
	if (coloured)
		fputs("\033[0m", out);
	if (!final && !(c->flags & TABLE_RIGHT))
		pad(out, room > used ? room - used : 0);
}

/* The columns of a line from the last one that is not empty on need no padding. */
static size_t last_cell(const struct table *t, const struct cell *row)
{
	size_t last = t->shown;

	while (last && !row[last - 1].text[0])
		last--;
	return last;
}

static void print_row(const struct table *t, const struct cell *row)
{
	bool more = t->shown < t->n;
	size_t last = more ? t->shown : last_cell(t, row);
	FILE *out = t->style.out;

	for (size_t i = 0; i < last; i++) {
		if (i)
			pad(out, GAP);
		print_cell(t, i, &row[i], i + 1 == last && !more);
	}
	if (more)
		fputs(t->tight ? MORE_TIGHT : MORE, out);
	putc_unlocked('\n', out);
}

static void print_heading(const struct table *t)
{
	struct cell *row = xcalloc(t->n, sizeof(*row));

	for (size_t i = 0; i < t->n; i++) {
		row[i].text = (char *)t->columns[i].heading;
		row[i].width = (unsigned)strlen(row[i].text);
	}
	print_row(t, row);
	free(row);
}

/* --- values with commas between ------------------------------------------------------------- */

static void csv_value(const struct table *t, size_t column, const char *text)
{
	FILE *out = t->style.out;
	bool quoted = strpbrk(text, ",\"\r\n") || text[0] == ' ';

	if (quoted)
		putc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', out);
		putc(*text, out);
	}
	if (quoted)
		putc('"', out);
	putc(column + 1 == t->n ? '\n' : ',', out);
}

/* --- values between given texts --------------------------------------------------------------- */

static void value_between(const struct table *t, size_t column, const char *text)
{
	const struct table_column *c = &t->columns[column];
	FILE *out = t->style.out;
	unsigned width, used;
	char *plain = table_printable(text, &width);
	size_t bytes = strlen(plain);

	used = width;
	if (c->width && width > c->width)
		bytes = fit(plain, c->width, &used);
	fputs(t->style.between[column], out);
	if (c->flags & TABLE_RIGHT)
		pad(out, c->width > used ? c->width - used : 0);
	fwrite_unlocked(plain, 1, bytes, out);
	if (!(c->flags & TABLE_RIGHT))
		pad(out, c->width > used ? c->width - used : 0);
	if (column + 1 == t->n) {
		fputs(t->style.between[t->n], out);
		putc('\n', out);
	}
	free(plain);
}

/* --- values as they come ---------------------------------------------------------------------- */

static bool comes_at_once(const struct table *t)
{
	return t->style.csv || t->style.between;
}

static void loose_heading(const struct table *t)
{
	for (size_t i = 0; t->style.heading && i < t->n; i++) {
		if (t->style.csv)
			csv_value(t, i, t->columns[i].heading);
		else
			value_between(t, i, t->columns[i].heading);
	}
}

static void loose_cell(struct table *t, const char *text)
{
	char *plain = text_escape_dup(text);

	if (t->style.csv)
		csv_value(t, t->n_cells, plain);
	else
		value_between(t, t->n_cells, plain);
	free(plain);
	if (++t->n_cells == t->n) {
		t->n_cells = 0;
		t->rows++;
	}
}

/* --- lines ---------------------------------------------------------------------------------- */

/* Settle the layout if need be and print all whole rows. */
void table_flush(struct table *t)
{
	size_t i;

	if (comes_at_once(t))
		return;
	if (!t->settled) {
		settle_sample(t);
		if (t->style.heading)
			print_heading(t);
	}
	for (i = 0; i + t->n <= t->n_cells; i += t->n)
		print_row(t, t->cells + i);
	for (i = 0; i < t->n_cells; i++)
		free(t->cells[i].text);
	t->n_cells = 0;
}

/* --- the table ------------------------------------------------------------------------------ */

/* COLUMNS, which watch(1) sets for what it shows; 0: it says nothing. */
static unsigned columns_wanted(void)
{
	const char *text = getenv("COLUMNS");
	size_t digits = text ? strspn(text, "0123456789") : 0;

	return digits && digits < 5 && !text[digits] ? (unsigned)strtoul(text, NULL, 10) : 0;
}

struct table_style table_style_for(FILE *out)
{
	struct table_style style = { .out = out, .width = DEFAULT_WIDTH, .heading = true };
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	unsigned wanted = columns_wanted();
	struct winsize size;

	if (wanted)
		style.width = wanted;
	if (!isatty(fileno(out)))
		return style;
	if (!wanted && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col)
		style.width = size.ws_col;
	style.colour = (!no_color || !*no_color) && term && strcmp(term, "dumb") != 0;
	return style;
}

struct table *table_new(
        const struct table_style *style, const struct table_column *columns, size_t n)
{
	struct table *t = xcalloc(1, sizeof(*t));

	t->style = *style;
	t->columns = columns;
	t->n = n;
	t->widths = xcalloc(n, sizeof(*t->widths));
	t->room = n * TABLE_SAMPLE;
	t->cells = xcalloc(t->room, sizeof(*t->cells));
	if (comes_at_once(t))
		loose_heading(t);
	return t;
}

void table_cell(struct table *t, const char *text, enum table_colour colour)
{
	struct cell *cell;

	if (comes_at_once(t)) {
		loose_cell(t, text);
		return;
	}
	cell = &t->cells[t->n_cells++];
	cell->text = table_printable(text, &cell->width);
	cell->colour = colour;
	if (t->n_cells % t->n)
		return;
	t->rows++;
	if (t->settled || t->n_cells == t->room)
		table_flush(t);
}

void table_drop(struct table *t)
{
	if (!t)
		return;
	for (size_t i = 0; !comes_at_once(t) && i < t->n_cells; i++)
		free(t->cells[i].text);
	free(t->cells);
	free(t->widths);
	free(t);
}

size_t table_end(struct table *t)
{
	size_t rows = t->rows;

	table_flush(t);
	table_drop(t);
	return rows;
}
