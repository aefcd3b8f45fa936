/* runfile.h - short files of RUN_DIR, which the replica's own programs may change at any time */
#ifndef CMDS_SERVICES_RUNFILE_H
#define CMDS_SERVICES_RUNFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

bool runfile_exists(const char *dir, const char *name);

/* Read at most `size` bytes of a plain file; never blocks. `age_s` is the time since it was written
 * (NULL: not asked). Returns the length, or -1 with `err`. */
int runfile_read(const char *dir, const char *name, char *out, size_t size, int64_t *age_s,
        struct error *err);

#endif
