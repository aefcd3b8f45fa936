/* state_dir.h - the state directory: ours alone, locked, with room kept free
 *
 * The directory and the files of gpusched in it belong to us and are closed to others; loose modes
 * are refused, not mended. The lock file is held for the life of the process and names its pid.
 * Nothing here opens a database file once SQLite has it (closing it would drop SQLite's lock).
 *
 * The reserve is a file full of bytes that is unlinked when the disk is full, so that the ends of
 * runs can still be recorded. It goes through the SQLite VFS, so that the fault simulation has it.
 *
 * With a VFS by name there is no directory: no lock, no modes, no free space to ask for.
 */
#ifndef CTLD_STORE_STATE_DIR_H
#define CTLD_STORE_STATE_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct home;

/* Check, lock, create what is missing. `reserve_kb` 0: 4096. A disk without room for the reserve is
 * no error, see home_has_reserve(). */
struct home *home_open(const char *dir, const char *vfs, uint64_t reserve_kb, struct error *err);
void home_close(struct home *home); /* NULL is fine */

const char *home_state_path(const struct home *home);
const char *home_history_path(const struct home *home);

uint64_t home_free_mb(const struct home *home); /* UINT64_MAX: not known */

bool home_has_reserve(const struct home *home);
/* Make it, where it is not there. Returns whether it is. */
bool home_make_reserve(struct home *home);
void home_drop_reserve(struct home *home);

#endif
