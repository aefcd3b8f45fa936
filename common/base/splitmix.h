/* splitmix.h - chance from a seed: splitmix64 (Steele, Lea, Flood, OOPSLA'14), not for secrets */
#ifndef COMMON_SPLITMIX_H
#define COMMON_SPLITMIX_H

#include <stdint.h>

/* The next number, of all 64 bits. *state is the seed before the first call: any number. */
static inline uint64_t splitmix_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

#endif
