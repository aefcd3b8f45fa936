/* portfilter.h - which of the node's service ports the processes of a cgroup may bind
 *
 * A replica loads for minutes before it listens. Meanwhile any program could listen at its port and
 * get the requests of its clients. So runs may bind those of --service-ports alone that are their
 * own; the kernel answers bind(2) of others with EPERM, also in a network namespace of the run's
 * own. Programs outside of runs are not held to it.
 */
#ifndef NODED_PORTFILTER_H
#define NODED_PORTFILTER_H

#include <stddef.h>
#include <stdint.h>

#define PORTFILTER_OWN_MAX 16

/* From now on processes in the cgroup, whose directory is open as `cgroup`, can bind none of the
 * ports from `low` to `high` but these. -1 with errno: the kernel cannot do that. */
int portfilter_attach(int cgroup, uint32_t low, uint32_t high, const uint32_t *own, size_t n_own);

#endif
