/* hash.h - one mixing function for tables and for core_hash()
 *
 * Keyed, so that users cannot choose names and nonces that all fall into one slot. Not a
 * cryptographic hash. The same on every machine (values are mixed as little-endian words).
 */
#ifndef CTLD_CORE_HASH_H
#define CTLD_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_u64(uint64_t x, uint64_t seed);
uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);

#endif
