/* conf_told.h - what is told of a gpusched.conf that is wrong, compared line by line
 *
 * For tests of conf_parse(). The file is called "c" in what is told.
 */
#ifndef TESTSUITE_UNIT_CONF_TOLD_H
#define TESTSUITE_UNIT_CONF_TOLD_H

#include <stddef.h>

struct conf_row {
	const char *text; /* behind the head that all rows of a test have */
	const char *told; /* every line */
};

/* All that is told of a text, which must be refused. The caller frees it. */
char *conf_told(const char *text);

/* Each row is refused with exactly these lines. */
void conf_rows_are_told(const char *head, const struct conf_row *rows, size_t n);

/* A text cut anywhere is refused, or read as what it then says; no cut is a crash. */
void conf_cut_anywhere(const char *text, size_t len);

#endif
