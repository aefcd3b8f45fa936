/* rlimits.h - the resource limits of a job's processes [setrlimit(2)]
 *
 * Every one is set, to what the site says (gnoded --rlimit) or to what the table here says: none is
 * the agent's or its service manager's by accident. Where the agent is not root a limit above its
 * own hard one is that hard one.
 */
#ifndef NODED_RLIMITS_H
#define NODED_RLIMITS_H

#include <stddef.h>

#include "common/error.h"
#include "common/gpusched.pb-c.h"
#include "common/rlimit.h"

/* As rlimit_parse(). */
int rlimits_parse(const char *text, Gpusched__RunRlimit *out, struct error *err);

/* All of them: the given, else the table's. -1 with errno, and the name of the one that failed. */
int rlimits_set(Gpusched__RunRlimit *const *given, size_t n, const char **name);

#endif
