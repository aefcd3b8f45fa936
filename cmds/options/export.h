/* export.h - which variables a job gets from the environment of its submit: --export
 *
 *	ALL               every variable (the default)
 *	ALL,A=1           the same with A set
 *	NONE              none but the basics
 *	PATH,A=1,B        the basics, A as given, PATH and B as they are
 *
 * The basics are HOME, LANG, LOGNAME, PATH, SHELL and USER, as far as they are set. A value runs
 * to the next comma; a comma inside it is written in quotes: A='1,2'. Values are bytes; newlines
 * are fine. Variables that gpusched itself sets in a job (GPUSCHED_JOB_ID and so on) and the
 * shell's `_` are never copied; those that its commands read (GPUSCHED_CONF and so on) are.
 */
#ifndef CMDS_EXPORT_H
#define CMDS_EXPORT_H

#include "common/base/error.h"

/* Is the rule well formed? ERR_USAGE; the caller puts the value before it. */
int export_check(const char *rule, struct error *err);

/* A NULL-terminated list in one block (free it) that borrows nothing of `environment`. *missing is
 * the first listed name that is not set ("": none), in the block too. `rule` was checked. */
char **export_apply(const char *rule, char *const *environment, const char **missing);

#endif
