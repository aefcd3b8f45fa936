/* overmem.h - a run that uses more memory of a GPU than it may; no I/O
 *
 * Whoever shares a card may use so much of its memory, and nothing in the card holds him to that:
 * what he takes beyond it his neighbours lack. So the launcher looks every second at what the
 * processes of such runs have (lwatch.c), and does as the site says:
 *
 *   note  it is logged and kept with the run: the log of events, `gctl show job`, gacct
 *   warn  its owner is told too, in a line at the end of the job's output
 *   end   it is killed at once: OUT_OF_MEMORY, GpuMemory. A grace would be at the cost of others
 *
 * Who has a burst and uses what others come for is asked to give back before that: burst.h.
 *
 * Only what NVML says of processes that are the run's counts, not what nobody knows the owner of.
 */
#ifndef NODED_OVERMEM_H
#define NODED_OVERMEM_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/nodewords.h"

struct used_gpu;

#define OVERMEM_TEXT  96

enum overmem_policy { OVERMEM_NOTE, OVERMEM_WARN, OVERMEM_END };

/* -1 with ERR_USAGE. */
int overmem_parse(const char *word, enum overmem_policy *out, struct error *err);

/* What a run with the part `share_mb` may use of a card: that, and up to `burst_mb` (0: no more) of
 * what is in nobody's part, where those of others are `others_mb`. So who has more than his part
 * must be prepared to lose it when somebody comes. `card_mb` 0: not known. */
uint64_t overmem_allowed(
        uint64_t share_mb, uint64_t burst_mb, uint64_t card_mb, uint64_t others_mb);

/* Of the run's GPUs that of which its processes have most beyond what they may, but for those that
 * it is asked back of; -1: none. */
int overmem_find(const struct used_gpu *gpus, size_t n);

/* "used 24.3G of 20G of GPU 2", and where it may use less of its burst than it asked for "; others
 * have the rest of its burst of 30G". */
void overmem_text(char out[OVERMEM_TEXT], const struct used_gpu *gpu, uint64_t burst_mb);

#endif
