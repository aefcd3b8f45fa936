/* mix.h - what jobs typically ask for: the workload that placements are judged by
 *
 * Tasks are counted as they are submitted (an array counts each, up to MIX_AT_ONCE), by what one of
 * them asks of a node: GPUs or shares of them, CPUs, and the types of GPU that do. Gangs count as
 * their parts. When MIX_MEMORY have been counted all counts are halved: what was asked for long ago
 * matters less.
 *
 * The mix is kept for each type of GPU, because a node of one type is only of use to tasks that
 * may have that type: the MIX_TYPICAL kinds of such tasks that weigh most. The counts in it are
 * those of the last time it was made, which is when twice as many tasks have been counted: so it
 * changes seldom, and the same submissions give the same mix. Nothing of it is durable: after a
 * start it is what the jobs in memory ask for.
 *
 * A task that may have any type weighs 1. One that names types weighs more, the less there is left
 * for it: (all that is left) / (what is left of its types), at most MIX_SCARCEST. To both
 * quantities an eighth of the capacity is added, so that the last few GPUs of a type do not decide
 * alone. So the GPUs that only few tasks can do without are left to them while others will do.
 * These factors are looked at every MIX_LOOK tasks and follow when one is off by an eighth; only
 * the mix of the types named changes then.
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
	uint16_t types[MAX_GPU_ALTERNATIVES]; /* ascending; those that do */
	uint16_t n_types;                     /* 0: any */
	uint32_t gpus;                        /* of one node, of one type; 1 or more */
	struct share_wish wish;
	uint32_t cpus;
};

/* So much of each type there is: thousandths of GPUs. */
struct mix_room {
	uint64_t all, left;
};

struct mix_typical {
	struct mix_task task; /* without its types */
	uint64_t weight;
};

struct mix;

/* `room` is by type, borrowed, and read again whenever the factors are looked at. */
struct mix *mix_new(const struct mix_room *room, size_t n_types);
void mix_free(struct mix *m); /* NULL is fine */

/* So many such tasks were submitted. Tasks without GPUs are not counted. True: the mix of some type
 * is another one. */
bool mix_note(struct mix *m, const struct mix_task *task, uint64_t tasks);

/* The mix of a type, what asks for most first. */
const struct mix_typical *mix_typical(const struct mix *m, uint16_t type, size_t *n);

/* The sum of all weights that count for a type, also of kinds that are not typical. */
uint64_t mix_weight(const struct mix *m, uint16_t type);

/* The same for all types together, as if all tasks might have any: what weights are parts of. */
uint64_t mix_weight_of_all(const struct mix *m);

/* Grows when the mix of the type changes. */
uint64_t mix_version(const struct mix *m, uint16_t type);

/* CPUs for so many thousandths of a GPU, on average: 0 and 0 while nothing is known. */
void mix_cpus(const struct mix *m, uint64_t *cpus, uint64_t *milli);

#endif
