/* unconfigured.h - nodes and partitions that another configuration drops although they are in use
 *
 * No reports arrive from a node that the configuration no longer names. Its runs go on; they stay
 * on record as last known, and are updated when the node is configured again. Jobs that wait in a
 * partition that was dropped wait until it is configured again; its running jobs go on.
 */
#ifndef CTLD_CORE_UNCONFIGURED_H
#define CTLD_CORE_UNCONFIGURED_H

#include <stddef.h>

#include "common/conf/conf.h"

struct core;

#define UNCONFIGURED_MAX 100 /* lines; one more line says how many it leaves out */

/* One line for each partition with jobs and each node with runs that is not in `to`. The caller
 * frees *lines and each line. */
size_t core_unconfigured(const struct core *core, const struct conf *to, char ***lines);

#endif
