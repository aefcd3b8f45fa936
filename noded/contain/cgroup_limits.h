/* cgroup_limits.h - what a run may use of its node's memory, processes and CPUs
 *
 * The kernel's cgroup controllers enforce it: those of the unified hierarchy (v2) in the run's own
 * leaf, if the cgroups above it pass the controllers on, else those of v1, each in a hierarchy of
 * its own, with a leaf for the run there. Both need root. One table names the files of each.
 *
 *	memory  bytes; beyond that the kernel kills: with v2 the whole run, with v1 one process
 *	pids    processes and threads; beyond that fork(2) fails with EAGAIN
 *	cpu     a share by booked CPUs, when more CPU time is wanted than there is; any run may
 *	        use idle CPUs
 */
#ifndef NODED_CGROUP_LIMITS_H
#define NODED_CGROUP_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"

enum limit_kind { LIMIT_MEMORY, LIMIT_PIDS, LIMIT_CPU, LIMIT_KINDS };

const char *limit_name(enum limit_kind kind); /* "memory" */

/* --- the launcher's side: where each limit is available --------------------------------------- */

struct cgroup_limits_root;

/* Below `v2`, the root of the leaves at PATH below the mount `mount`, or in v1's hierarchies at the
 * same PATH. Makes the directories. Each limit is tested, not guessed. `demanded`: words of a site
 * (process_tracking.h); of v1 only memory is used unless the words name others. A root that is NULL
 * has no limits. */
struct cgroup_limits_root *cgroup_limits_root_new(
        const char *mount, const char *v2, const char *demanded);
/* Look again, with more demanded; limits that are already there stay. */
void cgroup_limits_root_demand(
        struct cgroup_limits_root *root, const char *mount, const char *demanded);
void cgroup_limits_root_free(
        struct cgroup_limits_root *root); /* removes what is empty; NULL is fine */

bool cgroup_limits_root_has(const struct cgroup_limits_root *root, enum limit_kind kind);

/* The limits of a run; `leaf` is its v2 leaf. The list and its strings are the caller's, see
 * cgroup_limits_list_free(). A value of 0 is no limit. */
size_t cgroup_limits_list(const struct cgroup_limits_root *root, const char *leaf,
        const uint64_t values[LIMIT_KINDS], Gpusched__RunLimit ***list);
void cgroup_limits_list_free(Gpusched__RunLimit **list, size_t n);

/* Remove the v1 leaves of a run that is over. */
void cgroup_limits_root_remove(const struct cgroup_limits_root *root, const char *leaf);

/* --- the shepherd's side ---------------------------------------------------------------------- */

/* Make the v1 leaves, write all values. -1 with ERR_SYSTEM: what was made is removed again. */
int cgroup_limits_set(Gpusched__RunLimit *const *list, size_t n, struct error *err);
/* The calling process enters the v1 leaves, with all that it starts. -1 with errno. */
int cgroup_limits_enter(Gpusched__RunLimit *const *list, size_t n);
/* Has the kernel killed a process of the run for lack of memory, and had the run's own limit or the
 * node's memory run out? If the run has no memory limit this is known only with v2, from its
 * `leaf`; v1 does not say which of the two ran out, so there it counts as the run's. */
enum cgroup_limits_oom { OOM_NONE, OOM_OF_RUN, OOM_OF_NODE };
enum cgroup_limits_oom cgroup_limits_oom(
        Gpusched__RunLimit *const *list, size_t n, const char *leaf);
/* Remove the v1 leaves, once they are empty. */
void cgroup_limits_remove(Gpusched__RunLimit *const *list, size_t n);

#endif
