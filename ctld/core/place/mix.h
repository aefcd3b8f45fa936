/* mix.h - the workload profile: what jobs typically request; placements are judged by it
 *
 * Tasks are counted as they are submitted (an array counts each task, up to MIX_AT_ONCE), by what
 * one task requests of a node: GPUs or shares of them, CPUs, and the acceptable GPU types. A gang
 * counts as its parts. When MIX_MEMORY tasks have been counted, all counts are halved: older
 * requests matter less.
 *
 * There is one profile for each type of GPU, because a node of one type is only useful to tasks
 * that accept this type: the MIX_TYPICAL kinds of such tasks with the most weight. A profile is
 * rebuilt when twice as many tasks have been counted, and has the counts of that time. So it
 * changes seldom, and the same submissions give the same profile. Nothing of it is durable: after
 * a start it is built from the requests of the jobs in memory.
 *
 * A task that accepts any type has the weight 1. A task that names types weighs more, the less of
 * them is left: (all that is left) / (what is left of its types), at most MIX_SCARCEST. An eighth
 * of the capacity is added to both quantities, so that the last few GPUs of a type do not
 * dominate. In this way the GPUs that only few tasks can do without are left to these tasks while
 * other GPUs suffice. These factors are checked every MIX_LOOK tasks and updated when one is off
 * by an eighth; then only the profiles of the types named change.
 */
#ifndef CTLD_CORE_MIX_H
#define CTLD_CORE_MIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctld/core/place/cards.h"
#include "ctld/core/rows/event.h"

#define MIX_TYPICAL  32
#define MIX_AT_ONCE  100
#define MIX_MEMORY   20000
#define MIX_LOOK     16
#define MIX_WEIGHT   16 /* the weight of one task that may have any type */
#define MIX_SCARCEST 64

struct mix_task {
	uint16_t types[MAX_GPU_ALTERNATIVES]; /* the acceptable types, ascending */
	uint16_t n_types;                     /* 0: any */
	uint32_t gpus;                        /* of one node, of one type; 1 or more */
	struct share_wish wish;
	uint32_t cpus;
};

/* How much of a type there is, and how much is left: thousandths of GPUs. */
struct mix_room {
	uint64_t all, left;
};

struct mix_typical {
	struct mix_task task; /* without its types */
	uint64_t weight;
};

struct mix;

/* `room` is by type and borrowed; it is read again whenever the factors are checked. */
struct mix *mix_new(const struct mix_room *room, size_t n_types);
void mix_free(struct mix *m); /* NULL is fine */

/* Count `tasks` submitted tasks of this kind. Tasks without GPUs are not counted. True: the
 * profile of some type has changed. */
bool mix_note(struct mix *m, const struct mix_task *task, uint64_t tasks);

/* The profile of a type, the kind with the most weight first. */
const struct mix_typical *mix_typical(const struct mix *m, uint16_t type, size_t *n);

/* The sum of all weights that count for a type, including kinds that are not typical. */
uint64_t mix_weight(const struct mix *m, uint16_t type);

/* The same for all types together, as if all tasks accepted any type: weights are fractions of
 * this. */
uint64_t mix_weight_of_all(const struct mix *m);

/* Grows when the profile of the type changes. */
uint64_t mix_version(const struct mix *m, uint16_t type);

/* The average number of CPUs for so many thousandths of a GPU: 0 and 0 while nothing is known. */
void mix_cpus(const struct mix *m, uint64_t *cpus, uint64_t *milli);

#endif
