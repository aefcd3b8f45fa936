/* directives.h - the options that a script carries in its head
 *
 *	#!/bin/bash
 *	# any comment, blank lines
 *	#GPUSCHED -J embed --gpus=h100:8     # and so on
 *	#GPUSCHED --label "note=two words"
 *	python embed.py                      <- from here on nothing is read
 *
 * A directive is a line that begins, in its first column, with the mark and white space. Reading
 * stops at the first line that is neither empty nor a comment, as sbatch's does. "##GPUSCHED" and
 * "# GPUSCHED" are comments. A mark that something else follows at once ("#GPUSCHED--gpus=1") is an
 * error, and so is a carriage return in the head: a script from DOS would fail in odd ways later.
 *
 * Words are separated by blanks and tabs. '...' is taken as it is; in "..." and outside of quotes a
 * backslash takes the next character as it is; a # that begins a word begins a comment. A quote
 * that is not closed on its line is an error.
 *
 * Lines that begin with #SBATCH are read as sbatch reads them, which differs: a blank behind the
 * mark may miss where an option follows at once ("#SBATCH--time=5"), a backslash takes the next
 * character as it is also in '...', and a # outside of quotes begins a comment wherever it stands
 * ("--comment=a#b" is "--comment=a").
 *
 * Pure; foreign bytes: any input is fine, with NUL bytes too (they are refused inside directives).
 */
#ifndef CMDS_DIRECTIVES_H
#define CMDS_DIRECTIVES_H

#include <stddef.h>

#include "common/base/error.h"

enum directives_of { DIRECTIVES_GPUSCHED, DIRECTIVES_SBATCH };

#define DIRECTIVES_LINE_MAX  65536 /* bytes of one directive */
#define DIRECTIVES_WORDS_MAX 1024  /* words of one directive */

/* One directive: its words, which the callee may change but which die when it returns. A result
 * other than 0 ends the scan and is returned; with -1 `err` is set. */
typedef int directives_on_line(
        void *arg, unsigned line, size_t n_words, char **words, struct error *err);

/* Hand over the directives of a script in order. On success *late is the number of the first line
 * that begins with the mark but stands behind the first command (0: none): it is not read, and
 * its author should know. ERR_USAGE; its text begins with the line's number ("3: ..."). `late` may
 * be NULL. */
int directives_scan(const char *script, size_t len, enum directives_of of,
        directives_on_line *on_line, void *arg, unsigned *late, struct error *err);

/* The first line of a script's head that begins with `mark` and a blank; 0: none. */
unsigned directives_first(const char *script, size_t len, const char *mark);

const char *directives_mark(enum directives_of of); /* "#GPUSCHED" */

#endif
