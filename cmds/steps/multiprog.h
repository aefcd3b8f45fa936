/* multiprog.h - the file of --multi-prog: which task runs which program
 *
 *	# tasks   program and arguments
 *	0         ./master -v
 *	1-3,7     ./worker %t %o "an argument with blanks"
 *	*         ./rest
 *
 * %t is the task's number, %o its place in its line. The first line with a task counts. A backslash
 * at a line's end continues it.
 */
#ifndef CMDS_STEPS_MULTIPROG_H
#define CMDS_STEPS_MULTIPROG_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* The words of the program of a task: owned (multiprog_free()), NULL behind the last. NULL with
 * ERR_USAGE: no line has it, or the file is not such a one. */
char **multiprog_words(const char *text, size_t len, uint32_t task, struct error *err);
void multiprog_free(char **words);

#endif
