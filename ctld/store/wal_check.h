/* wal_check.h - is the log of a database damaged, or does it just end?
 *
 * SQLite sums the frames of its write-ahead log, and takes the first that does not fit for its end:
 * right after a power cut, where the last transaction has come down in part. Of a bit that has
 * fallen over further in front it makes the same, and all that was committed behind it is gone
 * without a word. So the log is looked at before SQLite is.
 *
 * It is damaged, and does not just end, where
 *	- its head does not fit, and frames follow (the head is synced before the first of them); or
 *	- behind a frame that does not fit a transaction ends and another one follows: a transaction
 *	  is synced before the next one is written.
 * In the last transaction a frame that fits but for one bit may be either: a bit that has fallen
 * over, or a power cut that left an old sector which differs in one bit. A start goes on without
 * that transaction, as SQLite does, and says so. More than one wrong bit there is taken for a power
 * cut.
 */
#ifndef CTLD_STORE_WAL_CHECK_H
#define CTLD_STORE_WAL_CHECK_H

#include <sqlite3.h>
#include <stdbool.h>

#include "common/base/error.h"

/* Look at the log of the database `path`, through this VFS. 0: it is whole up to its end, or there
 * is none; -1: it is damaged (the error says where), or cannot be read. One wrong bit in the last
 * transaction sets *cut_short; without `cut_short` it is damage. */
int wal_check(sqlite3_vfs *vfs, const char *path, bool *cut_short, struct error *err);

#endif
