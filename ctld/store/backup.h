/* backup.h - a copy of the living state.db, made in slices
 *
 * Through SQLite's backup interface on the one connection: what is committed between two slices is
 * in the copy too. The copy grows under PATH.partial (mode 0600) and takes its name when it is
 * whole and synced; a file of that name that is there already is never replaced. What a backup that
 * was interrupted has left under PATH.partial is. A damaged page of state.db ends it; its own pages
 * have sums, and are read again before it is whole. */
#ifndef CTLD_STORE_BACKUP_H
#define CTLD_STORE_BACKUP_H

#include "ctld/store/db.h"

struct backup;

/* `path` is absolute; -1 otherwise. Touches nothing yet. */
struct backup *backup_new(const char *path, struct error *err);
/* Copy some pages. 1: there is more to do, 0: the copy is complete, -1: it failed and is removed.
 */
int backup_step(struct backup *backup, struct db *from, struct error *err);
/* How many pages were copied, and read again, of all that will be. */
void backup_progress(const struct backup *backup, uint64_t *pages, uint64_t *all);
/* One that is not complete is removed. NULL is fine. Before `from` is closed. */
void backup_free(struct backup *backup);

#endif
