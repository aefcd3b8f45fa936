/* fault_vfs.h - a disk in memory for SQLite, with all its vices
 *
 * Every file keeps two images: what a reader sees now, and what is on the platter. Writes and
 * truncations wait, in order, until a sync of their file brings them down; creations and removals
 * of names wait for a sync of the directory (SQLite syncs it when it first syncs a new log or
 * journal, or when asked to at a removal).
 *
 * A power cut keeps what is on the platter, a seeded part of the waiting names (a beginning of
 * their order, as journalling file systems do) and a seeded part of the waiting writes: none, all,
 * any subset, torn at sectors of 512 bytes, lengths that arrived before their bytes. A crash of the
 * process alone keeps what a reader sees; the rest goes on waiting.
 *
 * A sync that fails has lost a seeded half of what waited: readers still see it, later syncs
 * succeed without bringing it down. That is what Linux does, and why nobody may go on after a
 * failed sync.
 *
 * The seed decides everything; the same calls give the same disk. Locks are not modelled. Calls may
 * come from several threads.
 */
#ifndef TESTSUITE_SIM_FAULT_VFS_H
#define TESTSUITE_SIM_FAULT_VFS_H

#include <stdbool.h>
#include <stdint.h>

struct fault_vfs;

/* Register an empty disk as SQLite VFS `name` (copied). Aborts where that fails. */
struct fault_vfs *fault_vfs_new(const char *name, uint64_t seed);
/* Unregister. All its files must have been closed. NULL is fine. */
void fault_vfs_free(struct fault_vfs *vfs);

/* Kinds of operations, to count and to fail; combine with |. */
enum fault_op {
	FAULT_OPEN = 1,
	FAULT_READ = 2,
	FAULT_WRITE = 4,
	FAULT_TRUNCATE = 8,
	FAULT_SYNC = 16,
	FAULT_DELETE = 32,
	FAULT_CHANGES = FAULT_WRITE | FAULT_TRUNCATE | FAULT_SYNC | FAULT_DELETE,
};

/* How many such operations there have been (failed ones included). */
uint64_t fault_vfs_count(const struct fault_vfs *vfs, unsigned ops);

/* Let the `nth` such operation from now on (1: the next) fail, and with `forever` all after it.
 * `rc` is SQLite's code; 0: the I/O error of the operation, SQLITE_FULL works for writes. A failed
 * write may have written a beginning of its bytes. nth 0: no more failures. */
void fault_vfs_fail(struct fault_vfs *vfs, unsigned ops, uint64_t nth, int rc, bool forever);
/* Only operations on files whose path ends so are counted down and fail. NULL: all. */
void fault_vfs_fail_path(struct fault_vfs *vfs, const char *suffix);
/* Changes (FAULT_CHANGES) attempted after the first failure that was no SQLITE_FULL, on the
 * database that it hit (the file itself, its log and its journal). */
uint64_t fault_vfs_changes_after_failure(const struct fault_vfs *vfs);

/* The disk holds so many bytes (0: no limit); a write that needs more gets SQLITE_FULL. */
void fault_vfs_capacity(struct fault_vfs *vfs, uint64_t bytes);
uint64_t fault_vfs_used(const struct fault_vfs *vfs);

/* Called before each operation of kind `ops`, without the lock held. NULL: none. */
typedef void fault_vfs_hook_fn(void *arg, enum fault_op op);
void fault_vfs_hook(struct fault_vfs *vfs, unsigned ops, fault_vfs_hook_fn *hook, void *arg);

/* The file as a reader sees it now, under another name too, and safe there; what had that name is
 * gone, also where there is nothing to copy. */
void fault_vfs_copy(struct fault_vfs *vfs, const char *from, const char *to);

/* Files that are open are dead from here on: each operation on them fails. */
void fault_vfs_crash_process(struct fault_vfs *vfs);
void fault_vfs_cut_power(struct fault_vfs *vfs);

/* A new disk: what this one would be if the power were cut now, by another seed. */
struct fault_vfs *fault_vfs_after_cut(const struct fault_vfs *vfs, const char *name, uint64_t seed);

#endif
