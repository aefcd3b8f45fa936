/* help.h - what --help prints
 *
 * Options stand in the order of their table, under its headings; nothing is wider than a terminal
 * of 80 columns. A text is filled, but for lines that begin with a blank: these are examples.
 */
#ifndef CMDS_HELP_H
#define CMDS_HELP_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

#define HELP_OPTION_INDENT 29 /* where the text of an option begins */

/* Paragraphs, each on a line of `text`. */
void help_text(FILE *out, const char *text);

/* Is it the row of nothing at the end of a table? */
static inline bool help_is_end(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc;
}

/* All options with their headings; they end with a row of nothing. */
void help_options(FILE *out, const struct argp_option *options);

/* One row of a list: "  LEFT   TEXT", the text from column `indent` on. */
void help_row(FILE *out, const char *left, unsigned indent, const char *text);

#endif
