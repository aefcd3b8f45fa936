/* commit_and_chores.h - what the store does, apart from when and in which thread
 *
 * Commits, and the chores that fill the time between them: one piece of a checkpoint, of the move
 * to history.db, of a backup. One thread at a time.
 */
#ifndef CTLD_STORE_COMMIT_AND_CHORES_H
#define CTLD_STORE_COMMIT_AND_CHORES_H

#include "ctld/store/history_writer.h"
#include "ctld/store/state_db.h"
#include "ctld/store/store.h"

struct store_work;

/* `wake` as for history_open(): a chore may have become due. */
struct store_work *store_work_open(
        const struct store_options *options, history_wake_fn *wake, void *arg, struct error *err);
void store_work_close(struct store_work *work);                    /* NULL is fine */
struct history *store_work_history(const struct store_work *work); /* for history_drop() */

int store_work_load(struct store_work *work, store_row_fn *take, void *arg, struct error *err);
int store_work_load_stored(
        struct store_work *work, store_stored_fn *take, void *arg, struct error *err);

/* One transaction; on a full disk once more without the reserve, and after a checkpoint. -1: nothing
 * of it is durable, and so it will be with all later ones, unless `err` is ERR_NO_SPACE: that may
 * be tried again. */
int store_work_commit(struct store_work *work, const struct store_batch *batch,
        struct blob_set *wanted, struct error *err);

/* Nothing but a checkpoint before the next commit: the log has grown too long. */
bool store_work_must_rest(const struct store_work *work);
/* Do one chore, if one is due. `quiet`: there has been nothing to commit for a while. */
bool store_work_chore(struct store_work *work, bool quiet);
/* May one become due by waiting? */
bool store_work_has_chore(const struct store_work *work);

/* Read some more pages of both files, and see whether they have their sums. */
void store_work_scrub(struct store_work *work);

/* From now on chores move what has ended to history.db, until store_work_flush() (asked after each)
 * says that all of it is there that had been committed when it began. 1: not yet; 0: it is; -1: the
 * move stands still. */
void store_work_flush_begin(struct store_work *work);
int store_work_flush(struct store_work *work, struct error *err);

/* One slice of a backup, as backup_step(). */
struct backup;
int store_work_backup(struct store_work *work, struct backup *backup, struct error *err);

/* Fill in what is not counted by commits: the state of the files. */
void store_work_stats(const struct store_work *work, struct store_stats *stats);
uint64_t store_work_free_mb(const struct store_work *work); /* from any thread */

#endif
