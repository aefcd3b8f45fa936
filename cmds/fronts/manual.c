/* manual.c - see manual.h */
#include "cmds/fronts/manual.h"

#include <ctype.h>
#include <string.h>

#include "cmds/fronts/front.h"
#include "cmds/fronts/records.h"

static const char *const verdicts[] = {
	[FRONT_YES] = "yes",
	[FRONT_DIFFERS] = "differs",
	[FRONT_NO] = "no",
};

/* What mdoc would take for its own: a backslash, a point or a quote in front. */
static void put(FILE *out, const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c == '\\')
			fputs("\\e", out);
		else if (*c == '-')
			fputs("\\-", out);
		else
			fputc(*c, out);
}

static void print_options(FILE *out, const struct front *f)
{
	size_t n;
	const struct front_option *o = f->options(&n);

	fprintf(out, ".Pp\nOptions:\n.Bl -tag -width Ds -compact\n");
	for (size_t i = 0; i < n; i++) {
		fprintf(out, ".It Fl -%s", o[i].name);
		if (o[i].key < FRONT_KEY)
			fprintf(out, " , Fl %c", o[i].key);
		fprintf(out, "\n%s%s", verdicts[o[i].says], o[i].text ? ": " : "\n");
		if (o[i].text) {
			put(out, o[i].text);
			fputc('\n', out);
		}
	}
	fprintf(out, ".El\n");
}

static void print_words(FILE *out, const struct front *f)
{
	size_t n;
	const struct front_word *w = f->words(&n);

	fprintf(out, ".Pp\nCommands:\n.Bl -tag -width Ds -compact\n");
	for (size_t i = 0; i < n; i++) {
		fprintf(out, ".It Cm %s\n%s%s", w[i].name, verdicts[w[i].says], w[i].text ? ": " : "\n");
		if (w[i].text) {
			put(out, w[i].text);
			fputc('\n', out);
		}
	}
	fprintf(out, ".El\n");
}

static void print_field(FILE *out, const struct front_field *f)
{
	fprintf(out, ".It");
	if (f->letter)
		fprintf(out, " Cm %%%c", f->letter);
	if (f->letter && f->name)
		fprintf(out, " ,");
	if (f->name)
		fprintf(out, " Cm %s", f->name);
	if (f->show) {
		fprintf(out, "\n%s%s", f->text ? "differs: " : "yes", f->text ? "" : "\n");
		if (!f->text)
			return;
		put(out, f->text);
		fputc('\n', out);
		return;
	}
	fprintf(out, "\nno: ");
	if (f->text && *f->text) {
		fprintf(out, "always ");
		put(out, f->text);
	} else {
		fprintf(out, "always empty");
	}
	fputc('\n', out);
}

static void print_table(FILE *out, const char *title, const struct front_field *f, size_t n)
{
	fprintf(out, ".Pp\n%s:\n.Bl -tag -width Ds -compact\n", title);
	for (size_t i = 0; i < n; i++)
		print_field(out, &f[i]);
	fprintf(out, ".El\n");
}

static void print_records(FILE *out)
{
	static const struct {
		const char *title;
		const struct front_field *(*table)(size_t *n);
	} tables[] = {
		{ "Keys of show job", record_job },
		{ "Keys of show node", record_node },
		{ "Keys of show partition", record_partition },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		size_t n;
		const struct front_field *f = tables[i].table(&n);

		print_table(out, tables[i].title, f, n);
	}
}

void front_manual(FILE *out)
{
	for (size_t i = 0; i < n_fronts; i++) {
		const struct front *f = &fronts[i];
		size_t n;

		fprintf(out, ".Ss %s\n.Nm %s\n%s.\n", f->name, f->name, f->about);
		print_options(out, f);
		if (f->words)
			print_words(out, f);
		if (f->fields) {
			const struct front_field *table = f->fields(&n);

			print_table(out, "Fields", table, n);
		}
		if (!strcmp(f->name, "scontrol"))
			print_records(out);
	}
}
