/* cpus_and_memory.h - what this node has
 *
 * CPUs are those that we may run on (sched_getaffinity(2), so also cpusets), and not more than the
 * CPU quota of our control group allows; memory is MemTotal, or the control group's limit where
 * that is less. Limits count along the whole path up to the root, of cgroup v2 and v1 alike
 * (proc_pid_cgroup(5)): inside a container the node is what the container was given.
 */
#ifndef NODED_CPUS_AND_MEMORY_H
#define NODED_CPUS_AND_MEMORY_H

#include <stdint.h>

#include "common/base/error.h"

struct inventory {
	uint32_t cpus;   /* at least 1 */
	uint64_t mem_mb; /* rounded down */
};

/* `root` is a prefix of /proc and /sys: "" except in tests. -1 with ERR_SYSTEM. */
int inventory_find(const char *root, struct inventory *out, struct error *err);

/* "cpus=N,mem=SIZE" replaces one or both values. -1 with ERR_USAGE. */
int inventory_pretend(const char *text, struct inventory *out, struct error *err);

/* The load average of the last minute, and the memory available without swapping. 0: unknown. */
void inventory_now(const char *root, double *load, uint64_t *mem_free_mb);

#endif
