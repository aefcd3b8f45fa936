/* field_format.h - fields of Slurm's listings: one table each, three ways to ask for them
 *
 *	squeue, sinfo, sprio -o   "%.18i %.9P %j|%T": letters, as wide as they are or cut and padded
 *	squeue, sinfo -O          "JobID:.18,Name,State:": names, 20 wide unless they say otherwise,
 *	                          and any text behind each
 *	sacct, sshare and others  "JobID,State%20,NodeList%-30": names, each as wide as its row says
 *
 * Values are foreign text: what is not plain is shown as \xNN. Widths count characters.
 */
#ifndef CMDS_FIELD_FORMAT_H
#define CMDS_FIELD_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cmds/cli/view.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"

#define FIELD_LONG_WIDTH 20 /* of a name without a width in -O */
#define FIELD_WIDTH_MAX  4096

struct slurm_cmd_field {
	char letter; /* of -o; 0: none */
	const char *name, *heading;
	int width;        /* of print_fields listings; < 0: to the left */
	const char *text; /* without `show`: its value, always; else how it differs, or NULL */
	void (*show)(const void *object, struct view_cell *cell);
	unsigned flags; /* of the listing */
	/* Instead of both: it says what the field `like` of another listing says. */
	const struct slurm_cmd_field *(*listing)(size_t *n);
	const char *like;
};

#define SLURM_CMD_FIELD(letter, name, heading, width, text, show, flags)    \
	{                                                                   \
		letter, name, heading, width, text, show, flags, NULL, NULL \
	}
#define SLURM_CMD_LIKE(letter, name, heading, listing, like, flags)        \
	{                                                                  \
		letter, name, heading, 0, NULL, NULL, flags, listing, like \
	}

/* The function that a table is known by: its rows, and how many. */
#define SLURM_CMD_TABLE(kind, function, table)             \
	const struct slurm_cmd_##kind *function(size_t *n) \
	{                                                  \
		*n = sizeof(table) / sizeof((table)[0]);   \
		return table;                              \
	}

struct field_column {
	const struct slurm_cmd_field *field; /* NULL: only text */
	unsigned width;                  /* 0: as it is */
	bool right;
	char *behind; /* text behind it, owned; NULL: none */
};

/* Begins as { 0 }. */
struct fields {
	struct field_column *v;
	size_t n;
	char *before; /* text in front of the first; owned */
};

/* Of `-o`: text that is no field is copied as it is, and named on stderr, as in Slurm. */
void fields_letters(struct fields *f, const char *program, const char *format,
        const struct slurm_cmd_field *table, size_t n);
/* Of `-O`. */
void fields_long(struct fields *f, const char *program, const char *format,
        const struct slurm_cmd_field *table, size_t n);
/* Of print_fields. -1: the name that there is not is in `err`. */
int fields_names(struct fields *f, const char *format, const struct slurm_cmd_field *table,
        size_t n, struct error *err);
void fields_clear(struct fields *f);

const struct slurm_cmd_field *field_by_name(
        const char *name, size_t len, const struct slurm_cmd_field *table, size_t n);
const struct slurm_cmd_field *field_by_letter(
        char letter, const struct slurm_cmd_field *table, size_t n);

/* What a field says of an object, in `cell`. */
const char *field_value(
        const struct slurm_cmd_field *field, const void *object, struct view_cell *cell);

/* One line with its newline; object NULL: the headings. */
void fields_line(const struct fields *f, const void *object, struct strbuf *out);
/* The headings on stdout; `dated`: below a line with the present time, as Slurm writes it. */
void fields_heading(const struct fields *f, bool dated);

/* How a print_fields listing is laid out. */
struct fields_style {
	bool parsable, ended; /* "|" between; also behind the last */
	const char *between;  /* instead of "|" */
	bool no_heading;
};
void fields_print_heading(const struct fields *f, const struct fields_style *s, FILE *out);
/* For --helpformat: the names of the fields. Returns 0. */
int fields_print_names(const struct slurm_cmd_field *table, size_t n);
/* One line, its newline included. */
void fields_print(const struct fields *f, const struct fields_style *s, const void *object,
        struct strbuf *out);

#endif
