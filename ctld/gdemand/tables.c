/* tables.c - see tables.h */
#include "ctld/gdemand/tables.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <jansson.h>

#include "common/base/strbuf.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

#define VERSION 1
#define WIDTH   79 /* of notes */
#define GAP     2  /* between columns */

struct cell {
	char *text; /* owned; NULL: a number */
	struct interval number;
	bool ranged; /* it may have an interval: in JSON an object */
};

struct texts {
	char **v;
	size_t n, size;
};

struct sheet {
	const char *key, *title;
	const struct sheet_column *columns;
	size_t n_columns;
	struct cell *cells;
	size_t n, size;
	struct texts notes;
};

struct book {
	struct sheet **v;
	size_t n, size;
	struct texts notes;
};

struct book *book_new(void)
{
	return xcalloc(1, sizeof(struct book));
}

static void texts_clear(struct texts *t)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		free(t->v[i]);
	free(t->v);
}

static void sheet_free(struct sheet *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		free(s->cells[i].text);
	free(s->cells);
	texts_clear(&s->notes);
	free(s);
}

void book_free(struct book *b)
{
	size_t i;

	if (!b)
		return;
	for (i = 0; i < b->n; i++)
		sheet_free(b->v[i]);
	free(b->v);
	texts_clear(&b->notes);
	free(b);
}

struct sheet *book_sheet(struct book *b, const char *key, const char *title,
        const struct sheet_column *columns, size_t n)
{
	struct sheet *s = xcalloc(1, sizeof(*s));

	*s = (struct sheet){ .key = key, .title = title, .columns = columns, .n_columns = n };
	return *XADD(b->v, b->n, b->size) = s;
}

static struct cell *add_cell(struct sheet *s)
{
	s->cells = xgrow(s->cells, s->n, &s->size, sizeof(*s->cells));
	s->cells[s->n] = (struct cell){ .text = NULL };
	return &s->cells[s->n++];
}

void sheet_text(struct sheet *s, const char *text)
{
	add_cell(s)->text = text_escape_dup(text);
}

void sheet_number(struct sheet *s, double value)
{
	add_cell(s)->number = (struct interval){ .value = value };
}

void sheet_interval(struct sheet *s, const struct interval *interval)
{
	struct cell *c = add_cell(s);

	c->number = *interval;
	c->ranged = true;
}

static void __attribute__((format(printf, 2, 0))) note(
        struct texts *t, const char *fmt, va_list ap)
{
	char text[1000];

	vsnprintf(text, sizeof(text), fmt, ap);
	*XADD(t->v, t->n, t->size) = text_escape_dup(text);
}

void sheet_note(struct sheet *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	note(&s->notes, fmt, ap);
	va_end(ap);
}

void book_note(struct book *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	note(&b->notes, fmt, ap);
	va_end(ap);
}

/* --- for people ------------------------------------------------------------------------------ */

/* "3d 4h", "12m 5s", "0.4s": the two largest units. */
static void format_time(char buf[SHEET_CELL_TEXT], double s)
{
	static const struct {
		double s;
		char unit;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	size_t i;

	if (s < 10) {
		snprintf(buf, SHEET_CELL_TEXT, "%.1fs", s);
		return;
	}
	for (i = 0; i < 3 && s < units[i].s; i++)
		;
	if (i == 3)
		snprintf(buf, SHEET_CELL_TEXT, "%.0fs", s);
	else
		snprintf(buf, SHEET_CELL_TEXT, "%.0f%c %.0f%c", floor(s / units[i].s),
		        units[i].unit, floor(fmod(s, units[i].s) / units[i + 1].s),
		        units[i + 1].unit);
}

char *sheet_format(char buf[SHEET_CELL_TEXT], enum sheet_unit unit, double value)
{
	if (!isfinite(value))
		snprintf(buf, SHEET_CELL_TEXT, "-");
	else if (unit == SHEET_TIME)
		format_time(buf, value);
	else if (unit == SHEET_PART)
		snprintf(buf, SHEET_CELL_TEXT, "%.1f%%", value * 100);
	else if (unit == SHEET_RATIO)
		snprintf(buf, SHEET_CELL_TEXT, "%.2f", value);
	else if (unit == SHEET_GPUS && value != floor(value))
		snprintf(buf, SHEET_CELL_TEXT, "%.1f", value);
	else
		snprintf(buf, SHEET_CELL_TEXT, "%.0f", value);
	return buf;
}

#define CELL_WIDTH 256
static char *cell_text(char buf[CELL_WIDTH], const struct cell *c, enum sheet_unit unit)
{
	char value[SHEET_CELL_TEXT], low[SHEET_CELL_TEXT], high[SHEET_CELL_TEXT];

	if (c->text)
		snprintf(buf, CELL_WIDTH, "%s", c->text);
	else if (c->number.known)
		snprintf(buf, CELL_WIDTH, "%s [%s, %s]", sheet_format(value, unit, c->number.value),
		        sheet_format(low, unit, c->number.low),
		        sheet_format(high, unit, c->number.high));
	else
		snprintf(buf, CELL_WIDTH, "%s", sheet_format(value, unit, c->number.value));
	return buf;
}

/* In columns of a terminal, as far as they are known. */
static size_t columns_of(const char *text)
{
	size_t n = mbstowcs(NULL, text, 0);

	return n == (size_t)-1 ? strlen(text) : n;
}

static void pad(FILE *out, size_t n)
{
	fprintf(out, "%*s", (int)n, "");
}

static void put_cell(
        const struct sheet *s, const char *text, size_t column, const size_t *widths, FILE *out)
{
	size_t room = widths[column] - columns_of(text);
	bool last = column + 1 == s->n_columns;

	if (s->columns[column].unit != SHEET_TEXT)
		pad(out, room);
	fputs(text, out);
	if (s->columns[column].unit == SHEET_TEXT && !last)
		pad(out, room);
	if (last)
		putc('\n', out);
	else
		pad(out, GAP);
}

static void put_rows(const struct sheet *s, FILE *out)
{
	size_t *widths = xcalloc(s->n_columns, sizeof(*widths)), i, width;
	char buf[CELL_WIDTH];

	for (i = 0; i < s->n_columns; i++)
		widths[i] = columns_of(s->columns[i].head);
	for (i = 0; i < s->n; i++) {
		size_t c = i % s->n_columns;

		width = columns_of(cell_text(buf, &s->cells[i], s->columns[c].unit));
		widths[c] = width > widths[c] ? width : widths[c];
	}
	for (i = 0; i < s->n_columns && *s->columns[0].head; i++)
		put_cell(s, s->columns[i].head, i, widths, out);
	for (i = 0; i < s->n; i++) {
		size_t c = i % s->n_columns;

		put_cell(s, cell_text(buf, &s->cells[i], s->columns[c].unit), c, widths, out);
	}
	free(widths);
}

/* A sentence in lines of a terminal's width. */
static void put_note(const char *text, FILE *out)
{
	size_t at = 0, n;

	while (*text) {
		n = strcspn(text, " ");
		if (at && at + 1 + n > WIDTH) {
			putc('\n', out);
			at = 0;
		}
		at += (size_t)fprintf(out, "%s%.*s", at ? " " : "  ", (int)n, text);
		text += n + (text[n] == ' ');
	}
	putc('\n', out);
}

void book_print(const struct book *b, FILE *out)
{
	size_t i, k;

	for (i = 0; i < b->n; i++) {
		fprintf(out, "%s%s\n", i ? "\n" : "", b->v[i]->title);
		if (b->v[i]->n)
			put_rows(b->v[i], out);
		for (k = 0; k < b->v[i]->notes.n; k++)
			put_note(b->v[i]->notes.v[k], out);
	}
	if (b->notes.n)
		fprintf(out, "\nWhat this history does not show\n");
	for (k = 0; k < b->notes.n; k++)
		put_note(b->notes.v[k], out);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *json_number_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *json_cell(const struct cell *c)
{
	json_t *o;

	if (c->text)
		return json_string(c->text);
	if (!c->ranged)
		return json_number_or_null(c->number.value);
	o = json_object();
	json_object_set_new(o, "value", json_number_or_null(c->number.value));
	json_object_set_new(o, "low", json_number_or_null(c->number.known ? c->number.low : NAN));
	json_object_set_new(o, "high", json_number_or_null(c->number.known ? c->number.high : NAN));
	return o;
}

static json_t *json_texts(const struct texts *t)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < t->n; i++)
		json_array_append_new(list, json_string(t->v[i]));
	return list;
}

static json_t *json_sheet(const struct sheet *s)
{
	json_t *o = json_object(), *rows = json_array(), *row = NULL;
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (i % s->n_columns == 0)
			json_array_append_new(rows, row = json_object());
		json_object_set_new(row, s->columns[i % s->n_columns].key, json_cell(&s->cells[i]));
	}
	json_object_set_new(o, "rows", rows);
	json_object_set_new(o, "notes", json_texts(&s->notes));
	return o;
}

void book_print_json(const struct book *b, FILE *out)
{
	json_t *o = json_object();
	size_t i;

	json_object_set_new(o, "version", json_integer(VERSION));
	for (i = 0; i < b->n; i++)
		json_object_set_new(o, b->v[i]->key, json_sheet(b->v[i]));
	json_object_set_new(o, "notes", json_texts(&b->notes));
	json_dumpf(o, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	putc('\n', out);
	json_decref(o);
}
