/* verify.h - is a copy of state.db good to be restored? */
#ifndef CTLD_STORE_VERIFY_H
#define CTLD_STORE_VERIFY_H

#include "ctld/store/store.h"

/* Check all of the file: that every page is whole and every index agrees, that it is ours and of
 * the present schema; then hand every row to `take`, as store_load() does. Nothing is written, and
 * the file must not be in use: a backup, or the state of a controller that has ended in good order.
 */
int store_verify(const char *path, store_row_fn *take, void *arg, struct error *err);

#endif
