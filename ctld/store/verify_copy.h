/* verify_copy.h - is a copy of a database good to be restored? */
#ifndef CTLD_STORE_VERIFY_COPY_H
#define CTLD_STORE_VERIFY_COPY_H

#include "ctld/store/store.h"

struct verified {
	bool summed;         /* its pages have sums: what a program of before wrote has none */
	bool is_history;     /* history.db, or an archive of it; else a state.db */
	uint64_t jobs, runs; /* of a history */
};

/* Called many times meanwhile; may be NULL. `done`: steps of the check of pages, or rows taken. */
enum verify_part { VERIFY_PAGES, VERIFY_ROWS };
typedef void verify_progress_fn(void *arg, enum verify_part part, uint64_t done);

/* Check all of a state.db, or of a history.db: that it is ours, that its log is whole, that every
 * page has its sum, also those that nothing is in, that every page is what SQLite makes and every
 * index agrees; then hand every row of a state.db to `take`, as store_load() does. One of an older
 * schema is brought up to date in a copy, as a start would. Nothing is written. */
int store_verify(const char *path, store_row_fn *take, void *arg, struct verified *verified,
        verify_progress_fn *progress, void *progress_arg, struct error *err);

#endif
