/* verify.h - is a copy of state.db good to be restored? */
#ifndef CTLD_STORE_VERIFY_H
#define CTLD_STORE_VERIFY_H

#include "ctld/store/store.h"

/* Check all of the file: that it is ours, that its bytes still have the sum that the backup gave
 * them, that every page is whole and every index agrees; then hand every row to `take`, as
 * store_load() does. One of an older schema is brought up to date in a copy, as a start would.
 * Nothing is written. `summed`: it has a sum; what a controller writes itself, and backups of
 * before there were sums, have none. */
int store_verify(const char *path, store_row_fn *take, void *arg, bool *summed, struct error *err);

#endif
