/* state_db.h - state.db: what lives, and what has ended and not moved on yet
 *
 * One thread at a time. Batches go in as whole transactions, with FULL synchronisation; a failed
 * one is rolled back. It may then be tried again only where it failed for want of space
 * (ERR_NO_SPACE).
 */
#ifndef CTLD_STORE_STATE_DB_H
#define CTLD_STORE_STATE_DB_H

#include "ctld/store/batch_items.h"
#include "ctld/store/db.h"

struct state;

/* The result of a commit: the blobs that its batch requested, and the users whose stored bytes
 * have changed. `v`, `tags` and `stored` are valid until the next use or clear. */
struct blob_set {
	struct store_blob *v;
	void **tags;
	size_t n, cap;
	uint8_t *bytes;
	size_t len, bytes_cap;
	struct store_stored *stored;
	size_t n_stored, stored_cap;
};
void blob_set_clear(struct blob_set *set); /* frees; zero it before the first use */

/* `cluster` is written into a new file and compared with an old one's. */
struct state *state_open(const char *path, const char *vfs, const char *cluster, struct error *err);
void state_close(struct state *state); /* NULL is fine */

int state_load(struct state *state, store_row_fn *take, void *arg, struct error *err);
int state_load_stored(struct state *state, store_stored_fn *take, void *arg, struct error *err);

/* One transaction: `batch` (NULL: none), and without the rows of `moved` (NULL: none), which are in
 * history.db. What the batch wanted is put into `wanted`. */
int state_commit(struct state *state, const struct store_batch *batch,
        const struct store_batch *moved, struct blob_set *wanted, struct error *err);

/* Copy the first ended rows, at most `max`, to `slice` (reset before). */
int state_slice(struct state *state, struct store_batch *slice, unsigned max, struct error *err);
uint64_t state_ended(const struct state *state); /* rows that wait for the move */

struct db *state_db(struct state *state);

#endif
