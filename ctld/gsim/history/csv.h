/* csv.h - the rows of a comma-separated file, one at a time
 *
 * The first row names the columns. The file may be gzip'ed; "-" is standard input. A field may
 * stand in double quotes, a doubled quote in it is one; no field goes over the end of a line. Empty
 * lines and lines that begin with '#' are passed over.
 *
 * A row that is not as it should be is CSV_BAD: the next call goes on behind it. What the system
 * refuses, and a damaged gzip file, is CSV_FAILED and final.
 */
#ifndef GSIM_CSV_H
#define GSIM_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/job/run.h"

#define CSV_MAX_LINE    8192
#define CSV_MAX_COLUMNS 64

enum csv_result { CSV_END, CSV_ROW, CSV_BAD, CSV_FAILED };

/* A column that the caller knows; the rest of the file's are passed over. */
struct csv_column {
	const char *name;
	bool required;
};

struct csv;

/* Opens it and reads the names. NULL with `err`: what it begins with. `path` is borrowed. */
struct csv *csv_open(
        const char *path, const struct csv_column *columns, size_t n, struct error *err);
void csv_close(struct csv *c); /* NULL is fine */

/* The next row: fields[i] is that of columns[i], "" where the file has no such column or nothing
 * stands there; valid until the next call. The text of `err` begins "FILE:LINE: ". */
enum csv_result csv_next(struct csv *c, const char **fields, struct error *err);

/* "FILE:LINE: " before an error about the present row, which becomes ERR_CONFIG. Returns -1. */
int csv_blame(const struct csv *c, struct error *err);
unsigned long csv_line(const struct csv *c);

/* Values; ERR_USAGE with `what` named. The empty text leaves the value alone. */
int csv_seconds(const char *text, const char *what, usec_t *value, struct error *err);
/* A number that may have a fraction, rounded up. */
int csv_rounded_up(
        const char *text, const char *what, uint32_t max, uint32_t *value, struct error *err);
int csv_count(const char *text, const char *what, uint64_t max, uint64_t *value, struct error *err);

#endif
