/* bad_rows.h - the broken rows of a history, on standard error: the first few, then "and more" */
#ifndef GSIM_BAD_ROWS_H
#define GSIM_BAD_ROWS_H

#include <stdint.h>

#include "common/base/error.h"
#include "common/base/progress.h"

struct bad_rows {
	const char *program;  /* stands before each */
	struct progress *bar; /* makes room for it; NULL: none */
	uint64_t n;           /* so far */
};

/* For `bad` of struct history_options; `arg` there is a struct bad_rows. */
void bad_rows_show(void *rows, const struct error *err);

#endif
