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

struct work;

/* `wake` as for history_open(): a chore may have become due. */
struct work *work_open(
        const struct store_options *options, history_wake_fn *wake, void *arg, struct error *err);
void work_close(struct work *work);                    /* NULL is fine */
struct history *work_history(const struct work *work); /* for history_drop() */

int work_load(struct work *work, store_row_fn *take, void *arg, struct error *err);
int work_load_stored(struct work *work, store_stored_fn *take, void *arg, struct error *err);

/* One transaction; on a full disk once more without the reserve, and after a checkpoint. -1: nothing
 * of it is durable, and so it will be with all later ones, unless `err` is ERR_NO_SPACE: that may
 * be tried again. */
int work_commit(struct work *work, const struct store_batch *batch, struct blob_set *wanted,
        struct error *err);

/* Nothing but a checkpoint before the next commit: the log has grown too long. */
bool work_must_rest(const struct work *work);
/* Do one chore, if one is due. `quiet`: there has been nothing to commit for a while. */
bool work_chore(struct work *work, bool quiet);
/* May one become due by waiting? */
bool work_has_chore(const struct work *work);

/* Read some more pages of both files, and see whether they have their sums. */
void work_scrub(struct work *work);

/* From now on chores move what has ended to history.db, until work_flush() (asked after each)
 * says that all of it is there that had been committed when it began. 1: not yet; 0: it is; -1: the
 * move stands still. */
void work_flush_begin(struct work *work);
int work_flush(struct work *work, struct error *err);

/* One slice of a backup, as backup_step(). */
struct backup;
int work_backup(struct work *work, struct backup *backup, struct error *err);

/* Fill in what is not counted by commits: the state of the files. */
void work_stats(const struct work *work, struct store_stats *stats);
uint64_t work_free_mb(const struct work *work); /* from any thread */

#endif
