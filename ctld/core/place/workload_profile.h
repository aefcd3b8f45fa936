/* workload_profile.h - the workload profile: what jobs typically request; placements are judged by
 * it
 *
 * Tasks are counted as they are submitted (an array counts each task, up to PROFILE_AT_ONCE), by
 * what one task requests of a node: GPUs or shares of them, CPUs, and the acceptable GPU types. A
 * gang counts as its parts. When PROFILE_MEMORY tasks have been counted, all counts are halved:
 * older requests matter less.
 *
 * There is one profile for each type of GPU, because a node of one type is only useful to tasks
 * that accept this type: the PROFILE_TYPICAL kinds of such tasks with the most weight. A profile is
 * rebuilt when twice as many tasks have been counted, and has the counts of that time. So it
 * changes seldom, and the same submissions give the same profile. Nothing of it is durable: after
 * a start it is built from the requests of the jobs in memory.
 *
 * A task that accepts any type has the weight 1. A task that names types weighs more, the less of
 * them is left: (all that is left) / (what is left of its types), at most PROFILE_SCARCEST. An
 * eighth of the capacity is added to both quantities, so that the last few GPUs of a type do not
 * dominate. In this way the GPUs that only few tasks can do without are left to these tasks while
 * other GPUs suffice. These factors are checked every PROFILE_LOOK tasks and updated when one is
 * off by an eighth; then only the profiles of the types named change.
 */
#ifndef CTLD_CORE_WORKLOAD_PROFILE_H
#define CTLD_CORE_WORKLOAD_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctld/core/request/gpu_share.h"
#include "ctld/core/rows/event.h"

#define PROFILE_TYPICAL  32
#define PROFILE_AT_ONCE  100
#define PROFILE_MEMORY   20000
#define PROFILE_LOOK     16
#define PROFILE_WEIGHT   16 /* the weight of one task that may have any type */
#define PROFILE_SCARCEST 64

struct profile_task {
	uint16_t types[MAX_GPU_ALTERNATIVES]; /* the acceptable types, ascending */
	uint16_t n_types;                     /* 0: any */
	uint32_t gpus;                        /* of one node, of one type; 1 or more */
	struct share_wish wish;
	uint32_t cpus;
};

/* How much of a type there is, and how much is left: thousandths of GPUs. */
struct profile_room {
	uint64_t all, left;
};

struct profile_typical {
	struct profile_task task; /* without its types */
	uint64_t weight;
};

struct profile;

/* `room` is by type and borrowed; it is read again whenever the factors are checked. */
struct profile *profile_new(const struct profile_room *room, size_t n_types);
void profile_free(struct profile *m); /* NULL is fine */

/* Count `tasks` submitted tasks of this kind. Tasks without GPUs are not counted. True: the
 * profile of some type has changed. */
bool profile_note(struct profile *m, const struct profile_task *task, uint64_t tasks);

/* The profile of a type, the kind with the most weight first. */
const struct profile_typical *profile_typical(const struct profile *m, uint16_t type, size_t *n);

/* The sum of all weights that count for a type, including kinds that are not typical. */
uint64_t profile_weight(const struct profile *m, uint16_t type);

/* The same for all types together, as if all tasks accepted any type: weights are fractions of
 * this. */
uint64_t profile_weight_of_all(const struct profile *m);

/* Grows when the profile of the type changes. */
uint64_t profile_version(const struct profile *m, uint16_t type);

/* The average number of CPUs for so many thousandths of a GPU: 0 and 0 while nothing is known. */
void profile_cpus(const struct profile *m, uint64_t *cpus, uint64_t *milli);

#endif
