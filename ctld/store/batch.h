/* batch.h - rows and blobs by value, one after another in one stretch of bytes
 *
 * The loop writes a batch, the store thread reads it; slices of history travel in the same form.
 * Nothing is allocated per value: a value is bound to its statement right out of the batch.
 *
 * Jobs of one submit come one after another with one and the same credential (and often script):
 * what equals that of the blob just before, of the same user, is written once, and marked, so that
 * the store can keep it once without looking for it.
 */
#ifndef CTLD_STORE_BATCH_H
#define CTLD_STORE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "ctld/core/rows/row.h"

/* --- filling it ----------------------------------------------------------------------------- */

/* What the owner signed, byte by byte. The core never sees these. */
struct store_blob {
	uint64_t job;
	const void *spec, *script, *credential;
	size_t spec_len, script_len, credential_len;
	uint32_t uid;  /* the user that they belong to */
	int64_t ended; /* wall us; 0: the job is in memory. Read, never written */
};

struct store_batch;

/* Everything is copied. */
void store_batch_row(struct store_batch *batch, const struct row *row);
void store_batch_blob(struct store_batch *batch, const struct store_blob *blob);
/* Another credential of the same owner, for the same spec or for another one of the same script
 * (`spec`, unless it is NULL). Nothing happens to a job that has no blob. */
void store_batch_sign(struct store_batch *batch, const struct store_blob *blob);
/* Ask for a job's blob together with the commit, for a start that waits on it. */
void store_batch_want_blob(struct store_batch *batch, uint64_t job, void *tag);
/* The bytes of jobs that ended before that time (wall us) go; those of a job that is retired and
 * ended later stay, for so long. Without it those of every retired job go with it. A batch erases
 * STORE_ERASED_MAX of those that had stayed, the longest ended first. */
#define STORE_ERASED_MAX 256
void store_batch_erase(struct store_batch *batch, int64_t before);
/* Jobs that ended, and events, before these times (wall us; INT64_MIN: none) leave history.db,
 * along with whatever moves there next, or when nothing moves: up to STORE_TRIMMED_MAX of each at a
 * time. */
#define STORE_TRIMMED_MAX 1000
struct store_trim {
	int64_t jobs, events;
};
void store_batch_trim(struct store_batch *batch, struct store_trim before);
size_t store_batch_bytes(const struct store_batch *batch);
bool store_batch_empty(const struct store_batch *batch);

/* --- what the store reads ------------------------------------------------------------------- */

/* How many bytes of blobs a user has in the database, or so many more (less) after a commit. Bytes
 * that several jobs of a user share count once. */
struct store_stored {
	uint32_t uid;
	int64_t bytes;
};

/* A receiver of what is in the database. */
typedef int store_row_fn(void *arg, const struct row *row, struct error *err);
typedef void store_stored_fn(void *arg, const struct store_stored *stored);

#endif
