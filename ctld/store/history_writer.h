/* history_writer.h - history.db: ended jobs and runs, and the audit trail
 *
 * Rows come in slices that the store has read from state.db and deletes there only after the slice
 * has been committed here. A slice that comes twice (a crash between the two) changes nothing:
 * rows that exist stay. A thread of its own does the copying, so that it never delays a commit.
 *
 * With each slice rows that are too old are deleted: in the same transaction, so that after a
 * crash either all or nothing has changed, and a slice at a time, so that no reader waits for
 * long.
 *
 * Archived rows are deleted in the same way, slice by slice between those that come.
 *
 * The thread works on one slice at a time. All calls come from one thread, the store's, except
 * history_drop().
 */
#ifndef CTLD_STORE_HISTORY_WRITER_H
#define CTLD_STORE_HISTORY_WRITER_H

#include "ctld/store/batch_items.h"
#include "ctld/store/db.h"

struct history;

enum history_state {
	HISTORY_IDLE,
	HISTORY_WORKING,
	HISTORY_COPIED, /* durable in history.db: may be deleted from state.db */
	HISTORY_FAILED, /* nothing of the slice is in history.db */
};

/* `wake` (from the history's thread) says that history_look() has news. NULL: no thread,
 * history_give() does the work itself. */
typedef void history_wake_fn(void *arg);
struct history *history_open(const char *path, const char *vfs, const char *cluster,
        history_wake_fn *wake, void *arg, struct error *err);
/* Its connection, to be looked at before the first slice. */
const struct db *history_db(const struct history *history);
void history_close(struct history *history); /* finishes what it has begun; NULL is fine */

/* Hand a slice (an empty one is fine), and what is too old by now; only when idle. It is borrowed
 * until history_rest(). */
int history_give(struct history *history, const struct store_batch *slice, struct store_trim trim,
        struct error *err);

/* How far is it? FAILED: the reason is in `err` (ERR_NO_SPACE: worth another try). */
enum history_state history_look(struct history *history, struct error *err);
/* After COPIED: is there more that is too old than goes with one slice? */
bool history_has_more(const struct history *history);
/* After COPIED or FAILED: the slice is the caller's again, the next may come. */
void history_rest(struct history *history);

/* Have the thread read some more pages (db_scrub()), soon. Never waits for it. */
void history_scrub(struct history *history);
/* How far that is. */
struct scrub history_scrubbed(struct history *history);

/* Delete these rows, in one transaction. Returns when that is durable. From a thread that may wait:
 * any but the loop's and the store's. */
int history_drop(struct history *history, const struct store_batch *rows, struct error *err);

#endif
