/* bad_rows.c - see bad_rows.h */
#include "ctld/gsim/history/bad_rows.h"

#include <stdio.h>

#define SHOWN 20

void bad_rows_show(void *rows, const struct error *err)
{
	struct bad_rows *bad = rows;

	progress_hide(bad->bar);
	if (++bad->n <= SHOWN)
		fprintf(stderr, "%s: %s\n", bad->program, err->text);
	else if (bad->n == SHOWN + 1)
		fprintf(stderr, "%s: and more\n", bad->program);
}
