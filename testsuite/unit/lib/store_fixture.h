/* store_fixture.h - what the store's tests share: folders, rows made from a number, a loop */
#ifndef TESTSUITE_STORE_FIXTURE_H
#define TESTSUITE_STORE_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctld/core/rows/row.h"
#include "ctld/store/store.h"

struct event_base;

/* A private folder (mode 0700), removed with all in it by fixture_rmdir(). Caller frees. */
char *fixture_mkdir(void);
void fixture_rmdir(char *dir);

/* The column table of row.h, for tests that walk through it. */
struct fixture_column {
	const char *name, *sql_type;
	enum value_type type;
	bool key;
};
struct fixture_table {
	const char *name;
	const struct fixture_column *columns;
	size_t n_columns, n_keys;
};
extern const struct fixture_table fixture_tables[TABLE_COUNT];

/* A row whose every value follows from (table, key, version): texts and blobs of all lengths, odd
 * bytes among them, integers of all sizes. The bytes live in `room`. */
struct fixture_room {
	char bytes[ROW_MAX_COLUMNS][96];
};
void fixture_row(struct row *row, struct fixture_room *room, enum row_table table, uint64_t key,
        unsigned version);
bool fixture_rows_equal(const struct row *a, const struct row *b);

/* Commit and wait for it on the loop; err as the callback got it. Returns 0 or -1. The blobs that
 * were wanted go to `look`. */
typedef void fixture_look(void *arg, const struct store_result *result);
int fixture_commit(struct store *store, struct event_base *base, struct store_batch *batch,
        fixture_look *look, void *arg, struct error *err);

struct store *fixture_open(
        const char *dir, const char *vfs, bool synchronous, struct event_base *base);

#endif
