/* percent_format.h - columns asked for as squeue's -o does: "%.18i %.9P %T|%R"
 *
 * Each % with a letter is a column, the text between them stays as it is. "%10j" is cut or padded
 * to exactly 10, "%.10j" the same to the right; without a width a value is as wide as it is. "%%"
 * is a per cent sign.
 */
#ifndef CMDS_PERCENT_FORMAT_H
#define CMDS_PERCENT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

#define PERCENT_FORMAT_WIDTH_MAX 1000

/* What Slurm calls a column: by a letter in such a format, or by name. A list of them ends with
 * NULL. */
struct slurm_name {
	const char *name;
	const char *column; /* ours, by name */
};

struct percent_column {
	const char *column;
	const char *before; /* the text in front of it */
	unsigned width;     /* 0: as wide as it is */
	bool right;
};

struct percent_format {
	struct percent_column *v;
	size_t n; /* at least 1 */
	const char *after;
	char *text; /* what `before` and `after` are part of */
};

/* Is it such a format, where there are letters at all, and not names of columns ("JOBID,NAME%20")?
 * `known` may be NULL. */
bool percent_format_meant(const char *format, const struct slurm_name *known);

/* -1 with ERR_USAGE. */
int percent_format_parse(struct percent_format *out, const char *format,
        const struct slurm_name *known, struct error *err);
void percent_format_clear(struct percent_format *l);

#endif
