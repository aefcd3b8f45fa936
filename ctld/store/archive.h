/* archive.h - moves old rows of history.db into a file of its own
 *
 * The file is a history.db like the first: the same schema, for past_open_file(). Rows come in
 * slices, each a transaction that is durable before the slice is reported. So code that deletes
 * the reported rows from history.db loses nothing, wherever it is killed. What is in the file
 * already stays as it is: a repeat with the same file continues where it was, and reports nothing
 * twice.
 *
 * For one thread at a time.
 */
#ifndef CTLD_STORE_ARCHIVE_H
#define CTLD_STORE_ARCHIVE_H

#include "common/base/error.h"
#include "ctld/store/batch_items.h"

struct archive;

/* Into `path` (absolute): a new file (mode 0600), or one that was made like this of the same
 * cluster. From history.db of a state directory that this process has open: the jobs with their
 * runs, and the events, that ended and were before `before` (wall us). NULL with `err`. */
struct archive *archive_open(const char *dir, const char *path, int64_t before, struct error *err);

/* The next slice; `moved` (emptied first) has its rows. 1: there is more; 0: that was all; -1. */
int archive_step(struct archive *archive, struct store_batch *moved, struct error *err);

/* How many it was until now. */
struct archive_counts {
	uint64_t jobs, runs, steps, events;
};
struct archive_counts archive_counts(const struct archive *archive);

/* The log goes into the file. NULL is fine. */
void archive_close(struct archive *archive);

#endif
