/* rlimits.h - the resource limits of a job's processes [setrlimit(2)]
 *
 * Every limit is set, to the site's value (gnoded --rlimit) or to the table's value here, so that
 * none is inherited by accident from the agent or its service manager. An agent that is not root
 * cannot raise its own hard limit: a higher value becomes that hard limit.
 */
#ifndef NODED_RLIMITS_H
#define NODED_RLIMITS_H

#include <stddef.h>

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"
#include "common/job/rlimit.h"

/* As rlimit_parse(). */
int rlimits_parse(const char *text, Gpusched__RunRlimit *out, struct error *err);

/* Set all limits: the given ones, else the table's. -1 with errno and the name that failed. */
int rlimits_set(Gpusched__RunRlimit *const *given, size_t n, const char **name);

#endif
