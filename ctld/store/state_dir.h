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

struct state_dir;

/* Check, lock, create what is missing. `reserve_kb` 0: 4096. A disk without room for the reserve is
 * no error, see state_dir_has_reserve(). */
struct state_dir *state_dir_open(
        const char *dir, const char *vfs, uint64_t reserve_kb, struct error *err);
void state_dir_close(struct state_dir *home); /* NULL is fine */

const char *state_dir_state_path(const struct state_dir *home);
const char *state_dir_history_path(const struct state_dir *home);

uint64_t state_dir_free_mb(const struct state_dir *home); /* UINT64_MAX: not known */

bool state_dir_has_reserve(const struct state_dir *home);
/* Make it, where it is not there. Returns whether it is. */
bool state_dir_make_reserve(struct state_dir *home);
void state_dir_drop_reserve(struct state_dir *home);

#endif
