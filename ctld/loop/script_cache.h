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

#define BLOBS_KEPT_BYTES ((size_t)8 << 20) /* of those that are in the store already */

struct blobs;
struct budget;

/* `budget` is charged for what is pending here, and after each commit for what the store has. */
struct blobs *blobs_new(struct budget *budget);
void blobs_free(struct blobs *b); /* NULL is fine */

/* The bytes of new jobs, `n` of one submit and one user; they are copied and go into the next
 * batch. A script or credential that is the same as that of the job before is there once. */
void blobs_put(struct blobs *b, const struct store_blob *v, size_t n);

/* The most bytes that the store keeps of them: what equals the previous job's counts once. */
size_t blobs_bytes(const struct store_blob *v, size_t n);

/* A job that was signed anew; `spec` NULL: as it is. */
struct blob_signed {
	uint64_t job;
	const void *spec;
	size_t spec_len;
};

/* Another credential of their owner for jobs that are there, perhaps with other specs; they are
 * copied and go into the next batch. Until then the jobs are not at hand. */
void blobs_sign(struct blobs *b, uint32_t uid, const struct blob_signed *jobs, size_t n,
        const void *credential, size_t len);

/* Those of a job, if they are at hand; borrowed until the next call. */
const struct store_blob *blobs_get(struct blobs *b, uint64_t job);

/* Let the store read them with the next batch. `got` is called exactly once: when that batch is
 * durable (blob->spec NULL: the store has none), or with NULL from blobs_free(). */
typedef void blobs_got_fn(void *arg, const struct store_blob *blob);
void blobs_want(struct blobs *b, uint64_t job, blobs_got_fn *got, void *arg);

/* The same for a client that only wants to read them: BLOBS_READS with each batch, in the order of
 * the requests, so that the answers do not all come at once. */
#define BLOBS_READS 2
void blobs_want_read(struct blobs *b, uint64_t job, blobs_got_fn *got, void *arg);

/* Have the next batch erase what is due, even if it has nothing else to do. */
void blobs_erase(struct blobs *b);

/* --- for the tick -------------------------------------------------------------------------- */
bool blobs_is_clean(const struct blobs *b); /* nothing for the next batch */
void blobs_seal(struct blobs *b, struct store_batch *batch);
void blobs_arrived(struct blobs *b, const struct store_result *result);
size_t blobs_pending_bytes(const struct blobs *b);

struct blobs_stats {
	size_t kept, kept_bytes; /* jobs; memory, all told */
	uint64_t hits, reads;
};
void blobs_stats(const struct blobs *b, struct blobs_stats *out);

#endif
