/* random.h - chance from a seed, in the shapes that gsim draws */
#ifndef GSIM_RANDOM_H
#define GSIM_RANDOM_H

#include <stdint.h>

#include "common/base/splitmix.h"

/* Below `n`, which is far below 2^64. */
static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
	return splitmix_next(state) % n;
}

/* From 0, below 1. */
static inline double random_unit(uint64_t *state)
{
	return (double)(splitmix_next(state) >> 11) * 0x1.0p-53;
}

#endif
