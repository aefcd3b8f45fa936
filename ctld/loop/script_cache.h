/* script_cache.h - the signed bytes of jobs: on their way to the store, and those used lately
 *
 * The core has no signed bytes. Those of a job that was just submitted are here until they are in a
 * batch. After that they stay for a while, because many jobs start soon after their submit and then
 * nothing has to be read. Other bytes are requested from the store with the next batch.
 *
 * Bytes are charged to their owner (BUDGET_SCRIPTS) as long as they exist: with their size here
 * until their batch is durable, and from then on with their size in the store, which may be
 * smaller.
 *
 * The bytes are copies. The jobs of one submit share one piece of memory, which is freed with the
 * last of them; so nothing else of the request is kept alive by them.
 */
#ifndef CTLD_SCRIPT_CACHE_H
#define CTLD_SCRIPT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctld/store/store.h"

#define SCRIPT_CACHE_KEPT_BYTES ((size_t)8 << 20) /* of those that are in the store already */

struct script_cache;
struct budget;

/* `budget` is charged for what is pending here, and after each commit for what the store has. */
struct script_cache *script_cache_new(struct budget *budget);
void script_cache_free(struct script_cache *b); /* NULL is fine */

/* The bytes of new jobs, `n` of one submit and one user; they are copied and go into the next
 * batch. A script or credential that is the same as that of the job before is there once. */
void script_cache_put(struct script_cache *b, const struct store_blob *v, size_t n);

/* The most bytes that the store keeps of them: what equals the previous job's counts once. */
size_t script_cache_bytes(const struct store_blob *v, size_t n);

/* A job that was signed anew; `spec` NULL: as it is. */
struct script_signed {
	uint64_t job;
	const void *spec;
	size_t spec_len;
};

/* Another credential of their owner for jobs that are there, perhaps with other specs; they are
 * copied and go into the next batch. Until then the jobs are not at hand. */
void script_cache_sign(struct script_cache *b, uint32_t uid, const struct script_signed *jobs,
        size_t n, const void *credential, size_t len);

/* Those of a job, if they are at hand; borrowed until the next call. */
const struct store_blob *script_cache_get(struct script_cache *b, uint64_t job);

/* Let the store read them with the next batch. `got` is called exactly once: when that batch is
 * durable (blob->spec NULL: the store has none), or with NULL from script_cache_free(). */
typedef void script_cache_got_fn(void *arg, const struct store_blob *blob);
void script_cache_want(struct script_cache *b, uint64_t job, script_cache_got_fn *got, void *arg);

/* The same for a client that only wants to read them: SCRIPT_CACHE_READS with each batch, in the
 * order of the requests, so that the answers do not all come at once. */
#define SCRIPT_CACHE_READS 2
void script_cache_want_read(
        struct script_cache *b, uint64_t job, script_cache_got_fn *got, void *arg);

/* Have the next batch erase what is due, even if it has nothing else to do. */
void script_cache_erase(struct script_cache *b);

/* --- for the tick -------------------------------------------------------------------------- */
bool script_cache_is_clean(const struct script_cache *b); /* nothing for the next batch */
void script_cache_seal(struct script_cache *b, struct store_batch *batch);
void script_cache_arrived(struct script_cache *b, const struct store_result *result);
size_t script_cache_pending_bytes(const struct script_cache *b);

struct script_cache_stats {
	size_t kept, kept_bytes; /* jobs; memory, all told */
	uint64_t hits, reads;
};
void script_cache_stats(const struct script_cache *b, struct script_cache_stats *out);

#endif
