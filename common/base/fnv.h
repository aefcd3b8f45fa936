/* fnv.h - FNV-1a (Fowler, Noll, Vo), 64 bits: a checksum or a tag, not against an attacker */
#ifndef COMMON_FNV_H
#define COMMON_FNV_H

#include <stddef.h>
#include <stdint.h>

/* Of the `n` bytes at `p`. It stands in files: the number is the same for ever. */
static inline uint64_t fnv(const void *p, size_t n)
{
	const uint8_t *b = p;
	uint64_t h = 0xcbf29ce484222325u;

	while (n--)
		h = (h ^ *b++) * 0x100000001b3u;
	return h;
}

#endif
