/* departures.h - what leaves with another configuration although it is in use
 *
 * A node that the configuration does not name any more is not heard of: its runs go on, stay on record
 * as they were last known, and are known again when it is configured again. Jobs that wait in a
 * partition that left wait until it is there again; those that run go on.
 */
#ifndef CTLD_CORE_DEPARTURES_H
#define CTLD_CORE_DEPARTURES_H

#include <stddef.h>

#include "common/conf.h"
#include "ctld/core/core.h"

#define DEPARTURES_MAX 100 /* lines of them; beyond, one more says how many */

/* One line for each partition with jobs and each node with runs that is not in `to`. The caller frees
 * *lines and each of them. */
size_t core_departures(const struct core *core, const struct conf *to, char ***lines);

#endif
