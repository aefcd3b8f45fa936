/* store.h - the one writer of state.db
 *
 * One thread owns the one SQLite connection (WAL, synchronous=FULL, locking_mode=EXCLUSIVE). The
 * loop passes it batches: each is one transaction of rows and blobs by value, and the commit is
 * announced on the loop. One batch is in flight; what happens meanwhile merges into the next.
 *
 * A commit that fails ends the process (the callback gets the error, logs it and exits): crash is
 * rollback. Only SQLITE_FULL is tried again with the identical batch: after the reserve file has
 * been unlinked, so that ends of runs can still be recorded, after a checkpoint, and then four
 * times a second until there is space (stats: waits_for_room).
 *
 * Every message about a change waits for the commit of its batch. The store does not see the
 * messages; it only announces which batch is durable.
 *
 * sql.c has all SQL; history_writer.c moves retired rows to history.db by a thread of its own.
 */
#ifndef CTLD_STORE_STORE_H
#define CTLD_STORE_STORE_H

#include <stdbool.h>

#include "common/base/error.h"
#include "ctld/core/rows/row.h"
#include "ctld/store/batch.h"

struct store;
struct event_base;

struct store_options {
	const char *dir;       /* state directory: exists, owned by us, closed to others */
	const char *cluster;   /* written at creation, compared ever after */
	uint64_t reserve_kb;   /* size of the reserve file; 0: 4096 */
	const char *vfs;       /* SQLite VFS name; NULL: default. For the fault simulation */
	bool synchronous_only; /* no threads: store_commit() works in the caller (fault simulation)
	                        */
};

/* Lock the directory (a second controller is refused, with the pid of the first), open or create,
 * migrate, check. Refuses loose modes, a newer schema, another cluster's data. */
struct store *store_open(
        const struct store_options *options, struct event_base *base, struct error *err);
/* Finish the batch in flight (its callback is called), checkpoint, close. NULL is fine. */
void store_close(struct store *store);

/* Read all rows, tables in the order of enum row_table, in key order. Only before the first commit.
 * A row that `take` refuses stops the load with its error. META has `cluster` besides what the core
 * put there. Audit events are not read back: `next_event` in META says where to go on. */
int store_load(struct store *store, store_row_fn *take, void *arg, struct error *err);

/* All users that have some. Only before the first commit. */
int store_load_stored(struct store *store, store_stored_fn *take, void *arg, struct error *err);

/* A batch is filled on the loop (batch.h), and belongs to the store once committed. */
struct store_batch *store_batch_new(struct store *store);
/* Called when there is little to do: gives back the memory that batches needed in a burst. */
void store_tidy(struct store *store);
/* Called on the loop when the batch is durable (or a read-only request is served). `blobs`
 * (borrowed) are those wanted, in the order asked, with spec NULL for a job that has none. `err`
 * NULL: committed. Otherwise nothing of it is: end the process. */
struct store_result {
	const struct store_blob *blobs;
	void *const *tags;
	size_t n_blobs;
	const struct store_stored *stored; /* what the commit has changed; borrowed */
	size_t n_stored;
	uint64_t commit_us; /* since store_commit(), with the wait for a checkpoint */
};
typedef void store_done_fn(void *arg, const struct store_result *result, const struct error *err);
/* Must not be called while one is in flight (store_busy). Takes the batch over. */
void store_commit(struct store *store, struct store_batch *batch, store_done_fn *done, void *arg);
bool store_busy(const struct store *store);
size_t store_busy_bytes(const struct store *store); /* of the batch in flight */
/* MiB that must be free before a used reserve is made again. */
#define STORE_RESERVE_AGAIN_MB 32

/* Free space for the state directory (statvfs). */
uint64_t store_free_mb(const struct store *store);

/* Copy the live database to `path` (absolute; refused if it exists) through SQLite's backup
 * interface, in slices between commits. One at a time. `done` is called on the loop with an empty
 * result; an error here is no reason to end the process. store_close() abandons an unfinished copy
 * without a callback. To restore: put it in an empty state directory as state.db (mode 0600) and
 * start with --takeover. history.db is a separate file; rows that had not moved there yet are in
 * the copy. */
void store_backup(struct store *store, const char *path, store_done_fn *done, void *arg);

/* Called on the loop a few times a second as long as the backup that began last goes on, with the
 * `arg` of its store_backup(). */
typedef void store_progress_fn(void *arg, uint64_t pages, uint64_t all);
void store_backup_progress(struct store *store, store_progress_fn *progress);

/* Move everything to history.db that has ended, and all events, of the batches committed so far;
 * meanwhile commits continue. One at a time. `done` is called on the loop with an empty result; an
 * error (the move stands still) is no reason to end the process. store_close() does not call it. */
void store_flush(struct store *store, store_done_fn *done, void *arg);

/* Delete rows of history.db (their keys are enough), in one transaction by its own thread. Returns
 * when that is durable: for a helper thread, which must have ended before store_close(). */
int store_drop_past(struct store *store, const struct store_batch *rows, struct error *err);

struct store_stats {
	uint64_t commits, rows, bytes, last_commit_us, max_commit_us, sum_commit_us, wal_pages;
	uint64_t history_rows;   /* moved since the start */
	uint64_t history_behind; /* wait in state.db for the move */
	char history_error[512]; /* "" or why the move stands still; worth a warning, no more */
	bool reserve_used;       /* there is no reserve: the disk is (or was) full */
	uint64_t scrubbed;       /* pages of both files that were read again and had their sums */
	unsigned damaged;        /* files that have a page without: the sum, or an error */
	char damage[1040];       /* the first of them, and what to do; "": none */
	bool log_cut_short;      /* at the start a log's last transaction had a wrong bit (wal_check.h) */
	bool no_sums;            /* a file has none: the disk was too full at the start */
	bool waits_for_room;     /* a commit is tried again and again: the disk is full */
};
void store_stats(const struct store *store, struct store_stats *stats);

#endif
