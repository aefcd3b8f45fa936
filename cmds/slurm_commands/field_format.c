/* field_format.c - see field_format.h */
#include "cmds/slurm_commands/field_format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"

#define COLUMNS_MAX 256

const struct slurm_cmd_field *field_by_letter(
        char letter, const struct slurm_cmd_field *table, size_t n)
{
	for (size_t i = 0; letter && i < n; i++)
		if (table[i].letter == letter)
			return &table[i];
	return NULL;
}

const struct slurm_cmd_field *field_by_name(
        const char *name, size_t len, const struct slurm_cmd_field *table, size_t n)
{
	for (size_t i = 0; len && i < n; i++)
		if (table[i].name && !strncasecmp(table[i].name, name, len) && !table[i].name[len])
			return &table[i];
	return NULL;
}

static void complain(const char *program, const char *what, size_t len)
{
	char shown[80];

	text_escape(shown, sizeof(shown), what, len);
	fprintf(stderr, "%s: error: Invalid job format specification: %s\n", program, shown);
}

static struct field_column *add(struct fields *f, const struct slurm_cmd_field *field)
{
	f->v = xrealloc(f->v, f->n + 1, sizeof(*f->v));
	f->v[f->n] = (struct field_column){ .field = field };
	return &f->v[f->n++];
}

/* Text behind what there is so far. */
static void add_text(struct fields *f, const char *text, size_t len)
{
	char **to = f->n ? &f->v[f->n - 1].behind : &f->before, *was = *to;

	*to = xasprintf("%s%.*s", was ? was : "", (int)len, text);
	free(was);
}

static unsigned take_width(const char **s)
{
	unsigned width = 0;

	for (; isdigit((unsigned char)**s); ++*s)
		width = width > FIELD_WIDTH_MAX ? width : width * 10 + (unsigned)(**s - '0');
	return width > FIELD_WIDTH_MAX ? FIELD_WIDTH_MAX : width;
}

void fields_letters(struct fields *f, const char *program, const char *format,
        const struct slurm_cmd_field *table, size_t n)
{
	for (const char *s = format; *s && f->n < COLUMNS_MAX;) {
		const char *start = s;
		const struct slurm_cmd_field *field;
		struct field_column *c;
		unsigned width;
		bool right;

		if (*s != '%') {
			s += strcspn(s, "%");
			add_text(f, start, (size_t)(s - start));
			continue;
		}
		if (s[1] == '%') {
			add_text(f, "%", 1);
			s += 2;
			continue;
		}
		s++;
		s += *s == '#';
		right = *s == '.';
		s += right;
		width = take_width(&s);
		field = field_by_letter(*s, table, n);
		if (!field) {
			complain(program, s, *s != '\0');
			s += *s != '\0';
			add_text(f, start, (size_t)(s - start));
			continue;
		}
		s++;
		c = add(f, field);
		c->width = width;
		c->right = right;
	}
}

void fields_long(struct fields *f, const char *program, const char *format,
        const struct slurm_cmd_field *table, size_t n)
{
	for (const char *s = format; *s && f->n < COLUMNS_MAX;) {
		size_t all = strcspn(s, ","), len = strcspn(s, ":,");
		const struct slurm_cmd_field *field = field_by_name(s, len, table, n);
		const char *rest = s + len;
		struct field_column *c;

		if (!field) {
			complain(program, s, len);
			s += all + (s[all] == ',');
			continue;
		}
		c = add(f, field);
		c->width = FIELD_LONG_WIDTH;
		if (*rest == ':') {
			rest++;
			c->right = *rest == '.';
			rest += c->right;
			c->width = take_width(&rest);
			if (rest < s + all)
				c->behind = xstrndup(rest, (size_t)(s + all - rest));
		}
		s += all + (s[all] == ',');
	}
}

int fields_names(struct fields *f, const char *format, const struct slurm_cmd_field *table,
        size_t n, struct error *err)
{
	for (const char *s = format; *s && f->n < COLUMNS_MAX;) {
		size_t all = strcspn(s, ","), len = strcspn(s, "%,");
		const struct slurm_cmd_field *field;
		struct field_column *c;
		char shown[80];
		int width;

		while (len && isspace((unsigned char)*s))
			s++, len--, all--;
		field = field_by_name(s, len, table, n);
		for (size_t i = 0; !field && len && i < n; i++)
			if (!strncasecmp(table[i].name, s, len))
				field = &table[i]; /* names may be abbreviated */
		if (!all) {
			s += *s == ',';
			continue;
		}
		if (!field) {
			text_escape(shown, sizeof(shown), s, len);
			return error_set(err, ERR_USAGE, "Invalid field requested: \"%s\"", shown);
		}
		width = s[len] == '%' ? atoi(s + len + 1) : field->width;
		width = width ? width : field->width;
		c = add(f, field);
		c->right = width > 0;
		c->width = (unsigned)(width < 0 ? -width : width);
		c->width = c->width > FIELD_WIDTH_MAX ? FIELD_WIDTH_MAX : c->width;
		s += all + (s[all] == ',');
	}
	return 0;
}

void fields_clear(struct fields *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].behind);
	free(f->v);
	free(f->before);
	*f = (struct fields){ .n = 0 };
}

/* --- values ---------------------------------------------------------------------------------- */

const char *field_value(
        const struct slurm_cmd_field *field, const void *object, struct view_cell *cell)
{
	const struct slurm_cmd_field *table;
	size_t n;

	cell->text = "";
	cell->is_number = false;
	if (field->like) {
		table = field->listing(&n);
		return field_value(
		        field_by_name(field->like, strlen(field->like), table, n), object, cell);
	}
	if (!field->show)
		return cell->text = field->text ? field->text : "";
	field->show(object, cell);
	return cell->text;
}

/* The first byte behind `max` characters, and how many there are until then. */
static size_t cut(const char *s, size_t max, size_t *characters)
{
	size_t i = 0, n = 0;

	while (s[i] && n < max) {
		i++;
		while (((unsigned char)s[i] & 0xc0) == 0x80)
			i++;
		n++;
	}
	*characters = n;
	return i;
}

static void pad(struct strbuf *out, size_t n)
{
	static const char blanks[] =
	        "                                                                ";

	for (; n; n -= n < sizeof(blanks) - 1 ? n : sizeof(blanks) - 1)
		strbuf_add(out, blanks, n < sizeof(blanks) - 1 ? n : sizeof(blanks) - 1);
}

/* `mark`: what is cut ends in "+". */
static void put(struct strbuf *out, const char *text, unsigned width, bool right, bool mark)
{
	char *plain = NULL;
	size_t characters, len;

	if (text_plain_prefix(text, strlen(text)) != strlen(text))
		text = plain = text_escape_dup(text);
	if (!width) {
		strbuf_adds(out, text);
		free(plain);
		return;
	}
	len = cut(text, width, &characters);
	if (mark && text[len])
		len = cut(text, width - 1, &characters);
	else
		mark = false;
	characters += mark;
	if (right)
		pad(out, width - characters);
	strbuf_add(out, text, len);
	if (mark)
		strbuf_add(out, "+", 1);
	if (!right)
		pad(out, width - characters);
	free(plain);
}

void fields_line(const struct fields *f, const void *object, struct strbuf *out)
{
	struct view_cell cell;

	if (f->before)
		strbuf_adds(out, f->before);
	for (size_t i = 0; i < f->n; i++) {
		const struct field_column *c = &f->v[i];

		put(out, object ? field_value(c->field, object, &cell) : c->field->heading,
		        c->width, c->right, false);
		if (c->behind)
			strbuf_adds(out, c->behind);
	}
	strbuf_add(out, "\n", 1);
}

void fields_heading(const struct fields *f, bool dated)
{
	struct strbuf line = { 0 };
	time_t now = time(NULL);
	struct tm tm;
	char text[64];

	if (dated && localtime_r(&now, &tm) &&
	        strftime(text, sizeof(text), "%a %b %d %H:%M:%S %Y", &tm))
		puts(text);
	fields_line(f, NULL, &line);
	fwrite(line.s, 1, line.len, stdout);
	strbuf_free(&line);
}

/* --- print_fields ---------------------------------------------------------------------------- */

static void print_one(const struct fields_style *s, const struct field_column *c, const char *text,
        bool last, bool mark, struct strbuf *out)
{
	if (!s->parsable) {
		put(out, text, c->width, c->right, mark);
		strbuf_add(out, " ", 1);
		return;
	}
	put(out, text, 0, false, false);
	if (!last || s->ended)
		strbuf_adds(out, s->between ? s->between : "|");
}

void fields_print_heading(const struct fields *f, const struct fields_style *s, FILE *out)
{
	struct strbuf line = { 0 };

	if (s->no_heading)
		return;
	for (size_t i = 0; i < f->n; i++)
		print_one(s, &f->v[i], f->v[i].field->heading, i + 1 == f->n, false, &line);
	strbuf_add(&line, "\n", 1);
	for (size_t i = 0; !s->parsable && i < f->n; i++) {
		for (unsigned k = 0; k < f->v[i].width; k++)
			strbuf_add(&line, "-", 1);
		strbuf_adds(&line, i + 1 < f->n ? " " : " \n");
	}
	fwrite(line.s, 1, line.len, out);
	strbuf_free(&line);
}

void fields_print(const struct fields *f, const struct fields_style *s, const void *object,
        struct strbuf *out)
{
	struct view_cell cell;

	for (size_t i = 0; i < f->n; i++)
		print_one(s, &f->v[i], field_value(f->v[i].field, object, &cell), i + 1 == f->n,
		        true, out);
	strbuf_add(out, "\n", 1);
}

int fields_print_names(const struct slurm_cmd_field *table, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%-19s%s", table[i].name, i + 1 == n || i % 4 == 3 ? "\n" : " ");
	return 0;
}
