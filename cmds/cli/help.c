/* help.c - see help.h */
#include "cmds/cli/help.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/strbuf.h"

#define WIDTH 79

/* Fill `text` from `indent` on; the line is at `column` already. Ends it. */
static void fill_text(FILE *out, const char *text, size_t len, unsigned column, unsigned indent)
{
	bool first = true;

	while (len) {
		size_t blanks = strspn(text, " "), word;

		if (blanks >= len)
			break;
		text += blanks;
		len -= blanks;
		word = strcspn(text, " \n");
		word = word < len ? word : len;
		if (!first && column + 1 + word > WIDTH) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			putc(' ', out);
			column++;
		}
		fwrite(text, 1, word, out);
		column += (unsigned)word;
		text += word;
		len -= word;
		first = false;
	}
	putc('\n', out);
}

void help_text(FILE *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		if (*text == ' ')
			fprintf(out, "%.*s\n", (int)len, text);
		else
			fill_text(out, text, len, 0, 0);
		text += len + (text[len] != '\0');
	}
}

void help_row(FILE *out, const char *left, unsigned indent, const char *text)
{
	unsigned column = (unsigned)strlen(left) + 2;

	fprintf(out, "  %s", left);
	if (column + 2 > indent) {
		putc('\n', out);
		column = 0;
	}
	fprintf(out, "%*s", (int)(indent - column), "");
	fill_text(out, text, strlen(text), indent, indent);
}

static const char *letter_text(const struct argp_option *o, char text[8])
{
	text[0] = '\0';
	if (o->key > ' ' && o->key < 127)
		snprintf(text, 8, "-%c, ", o->key);
	return text;
}

/* An option with its other names: "-n, --nodelist=NODES, --nodes=NODES". Returns the row behind. */
static const struct argp_option *print_option(FILE *out, const struct argp_option *o)
{
	const struct argp_option *first = o;
	struct strbuf letters = { 0 }, names = { 0 };
	bool maybe = o->flags & OPTION_ARG_OPTIONAL;
	char letter[8], *left, *right;

	do {
		strbuf_adds(&letters, letter_text(o, letter));
		strbuf_addf(&names, "%s--%s", names.len ? ", " : "", o->name);
		if (first->arg)
			strbuf_addf(&names, maybe ? "[=%s]" : "=%s", first->arg);
	} while ((++o)->flags & OPTION_ALIAS);
	left = strbuf_take(&letters);
	right = strbuf_take(&names);
	strbuf_addf(&letters, "%s%s", *left ? left : "    ", right);
	free(left);
	free(right);
	left = strbuf_take(&letters);
	if (!(first->flags & OPTION_HIDDEN))
		help_row(out, left, HELP_OPTION_INDENT, first->doc ? first->doc : "");
	free(left);
	return o;
}

void help_options(FILE *out, const struct argp_option *options)
{
	int group = 0;

	for (const struct argp_option *o = options; !help_is_end(o);) {
		if (o->group != group && !(o->flags & OPTION_HIDDEN)) {
			putc('\n', out);
			group = o->group;
		}
		if (o->name) {
			o = print_option(out, o);
		} else {
			if (!(o->flags & OPTION_HIDDEN))
				fill_text(out, o->doc, strlen(o->doc), 0, 0);
			o++;
		}
	}
}
