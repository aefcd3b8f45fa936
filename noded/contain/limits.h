/* limits.h - what a run may use of its node's memory, processes and CPUs
 *
 * Controllers of the kernel's cgroups hold a run to it: those of the unified hierarchy (v2) in the
 * run's own leaf, where the cgroups above it pass them on, else those of v1, each in a hierarchy of
 *its own with a leaf for the run there. Both need root. One table says what each is called where.
 *
 *	memory  bytes; more, and the kernel kills: with v2 all of the run, with v1 one process
 *	pids    processes and threads; fork(2) fails with EAGAIN then
 *	cpu     a share, by CPUs booked, where more is wanted than there is; what is idle anybody
 *may use
 */
#ifndef NODED_LIMITS_H
#define NODED_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/gpusched.pb-c.h"

enum limit_kind { LIMIT_MEMORY, LIMIT_PIDS, LIMIT_CPU, LIMIT_KINDS };

const char *limit_name(enum limit_kind kind); /* "memory" */

/* --- the launcher's side: where each is to be had ------------------------------------------------
 */

struct limits_root;

/* Below `v2`, the root of the leaves at PATH below the mount `mount`, or in v1's hierarchies at the
 * same PATH. Makes the directories. Each is tried, not guessed. `demanded`: words of
 * a site (contain.h); of v1 only memory is used where it is not among them. A root that is NULL has
 * none.
 */
struct limits_root *limits_root_new(const char *mount, const char *v2, const char *demanded);
/* The same again, with more demanded: what there is already stays. */
void limits_root_demand(struct limits_root *root, const char *mount, const char *demanded);
void limits_root_free(struct limits_root *root); /* removes what is empty; NULL is fine */

bool limits_root_has(const struct limits_root *root, enum limit_kind kind);

/* Of a run: where `leaf` is its v2 leaf. The list and its strings are the caller's, see
 * limits_list_free(). A value of 0 is no limit. */
size_t limits_list(const struct limits_root *root, const char *leaf,
        const uint64_t values[LIMIT_KINDS], Gpusched__RunLimit ***list);
void limits_list_free(Gpusched__RunLimit **list, size_t n);

/* Remove what a run that is over has in v1's hierarchies. */
void limits_root_remove(const struct limits_root *root, const char *leaf);

/* --- the shepherd's side -------------------------------------------------------------------------
 */

/* Make the v1 leaves, write all values. -1 with ERR_SYSTEM: what was made is removed again. */
int limits_set(Gpusched__RunLimit *const *list, size_t n, struct error *err);
/* The calling process enters the v1 leaves, with all that it starts. -1 with errno. */
int limits_enter(Gpusched__RunLimit *const *list, size_t n);
/* Has the kernel killed some of it for want of memory, and whose? Of a run that has booked none only
 * with v2, by its `leaf`; v1 does not say whose, so there it is the run's. */
enum limits_oom { OOM_NONE, OOM_OF_RUN, OOM_OF_NODE };
enum limits_oom limits_oom(Gpusched__RunLimit *const *list, size_t n, const char *leaf);
/* Remove the v1 leaves, once nothing is in them. */
void limits_remove(Gpusched__RunLimit *const *list, size_t n);

#endif
