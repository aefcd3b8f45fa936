/* mistakes.h - all that is wrong with the options of one job, to be reported at once
 *
 * Options come from the command line, from variables and from lines of a script. A reader that
 * finds a mistake adds it and continues with the next option. With NULL instead of a list the
 * first mistake ends the reading.
 */
#ifndef CMDS_MISTAKES_H
#define CMDS_MISTAKES_H

#include <stddef.h>

#include "common/base/error.h"

#define MISTAKES_MAX 20 /* more are counted and not kept */

struct mistakes {
	struct error v[MISTAKES_MAX];
	size_t n;         /* all of them, also those that are not kept */
	const char *file; /* NULL, or where it is read from: texts begin with "FILE:LINE: " */
	unsigned line;
};

/* Keep a mistake. 0: it is kept, go on; -1: `m` is NULL. */
int mistakes_add(struct mistakes *m, const struct error *err);

/* All in one error, for an answer that has one: the first one's code and hint. */
void mistakes_join(const struct mistakes *m, struct error *out);

#endif
