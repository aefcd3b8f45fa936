/* sorted_lines.h - lines of a listing, kept until all are there, and put in order
 *
 * squeue, sinfo and sprio print in an order of their own. A line is made when its object is there
 * and kept as text, with the values that it is sorted by; the objects need not outlive the call.
 */
#ifndef CMDS_SORTED_LINES_H
#define CMDS_SORTED_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cmds/slurm_commands/field_format.h"

#define ROWS_KEYS 8

struct rows_key {
	const struct slurm_cmd_field *field;
	bool descending;
};

struct rows_value {
	int64_t number;
	size_t text; /* where it begins in `texts` */
	bool is_number;
};

struct row {
	size_t at, len, number; /* its line in `lines`; in which order it came */
};

/* Begins as { 0 }. */
struct rows {
	struct rows_key keys[ROWS_KEYS];
	size_t n_keys;
	struct strbuf lines, texts;
	struct row *v;
	struct rows_value *values; /* n_keys of each row */
	size_t n, size;
};

/* "P,t,-p": fields by letter or name, "-" before one turns it round. Unknown ones are named on
 * stderr and left out. */
void rows_order(struct rows *r, const char *program, const char *order,
        const struct slurm_cmd_field *table, size_t n);
void rows_add(struct rows *r, const struct fields *f, const void *object);
void rows_print(struct rows *r, FILE *out); /* in order */
void rows_clear(struct rows *r);

#endif
