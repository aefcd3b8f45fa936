/* mix.h - what jobs typically ask for: the workload that placements are judged by
 *
 * Tasks are counted as they are submitted (an array counts each, up to MIX_AT_ONCE), by what one of
 * them asks of a node: GPUs or shares of them, CPUs. Of the first alternative; gangs count as their
 * parts. When MIX_MEMORY have been counted all counts are halved: what was asked for long ago
 * matters less. Only the MIX_TYPICAL most frequent kinds are the mix, as of the last time it was
 * looked at anew, which is when twice as many tasks have been counted: so it changes seldom, and
 * the same submissions give the same mix. Nothing of it is durable: after a start it is what the
 * jobs in memory ask for.
 */
#ifndef CTLD_CORE_MIX_H
#define CTLD_CORE_MIX_H

#include <stddef.h>
#include <stdint.h>

#include "ctld/core/cards.h"

#define MIX_TYPICAL 32
#define MIX_AT_ONCE 100
#define MIX_MEMORY  20000

struct mix_task {
	uint16_t type; /* of GPU; UINT16_MAX: any */
	uint32_t gpus; /* of one node; 1 or more */
	struct share_wish wish;
	uint32_t cpus;
};

struct mix_typical {
	struct mix_task task;
	uint64_t weight;
};

struct mix;

struct mix *mix_new(void);
void mix_free(struct mix *m); /* NULL is fine */

/* So many such tasks were submitted. Tasks without GPUs are not counted. */
void mix_note(struct mix *m, const struct mix_task *task, uint64_t tasks);

/* The mix, the most frequent first. */
const struct mix_typical *mix_typical(const struct mix *m, size_t *n);

/* Another number for another mix. */
uint64_t mix_version(const struct mix *m);

/* CPUs for so many thousandths of a GPU, on average: 0 and 0 while nothing is known. */
void mix_cpus(const struct mix *m, uint64_t *cpus, uint64_t *milli);

#endif
