/* verify.h - gctld --verify: would a controller start from this file? Is this history whole? */
#ifndef CTLD_VERIFY_H
#define CTLD_VERIFY_H

#include "common/base/error.h"
#include "common/conf/conf.h"

/* Checks a state.db as a start does, without writing: the file's pages and schema, every row
 * through the core, the rows against each other, every invariant of the core. Of a history.db it
 * checks the pages and the schema. `told` (malloc'd) describes the contents. */
int verify_state(const struct conf *conf, const char *path, char **told, struct error *err);

#endif
