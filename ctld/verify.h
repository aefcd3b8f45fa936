/* verify.h - gctld --verify: would a controller start from this file? */
#ifndef CTLD_VERIFY_H
#define CTLD_VERIFY_H

#include "common/conf.h"
#include "common/error.h"

/* All that a start does but write: the file's pages and schema, every row through the core, the
 * rows against each other, every invariant of the core. `told` (malloc'd) says what is in it. */
int verify_state(const struct conf *conf, const char *path, char **told, struct error *err);

#endif
