/* store_place.h - a folder and a loop for a store; what a load must find in it
 *
 * Include behind cmocka.h.
 */
#ifndef TESTSUITE_UNIT_STORE_PLACE_H
#define TESTSUITE_UNIT_STORE_PLACE_H

#include <event2/event.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "testsuite/unit/lib/store_fixture.h"

struct place {
	char *dir;
	struct event_base *base;
};

static inline int set_up(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));

	p->dir = fixture_mkdir();
	p->base = event_base_new();
	*state = p;
	return 0;
}

static inline int tear_down(void **state)
{
	struct place *p = *state;

	event_base_free(p->base);
	fixture_rmdir(p->dir);
	free(p);
	return 0;
}

/* What a load must find: rows made by fixture_row() with keys 1.. and these versions. */
struct expected {
	unsigned version[TABLE_COUNT];
	uint64_t n[TABLE_COUNT], seen[TABLE_COUNT];
	int last_table;
	bool extra_meta;
};

static inline int take(void *arg, const struct row *row, struct error *err)
{
	struct expected *e = arg;
	struct fixture_room room;
	struct row want;

	(void)err;
	assert_true((int)row->table >= e->last_table);
	e->last_table = row->table;
	if (row->table == TABLE_META && row->v[0].n == 7 && !memcmp(row->v[0].p, "cluster", 7)) {
		assert_int_equal(row->v[1].n, 4);
		assert_memory_equal(row->v[1].p, "test", 4);
		e->extra_meta = true;
		return 0;
	}
	fixture_row(&want, &room, row->table, ++e->seen[row->table], e->version[row->table]);
	assert_true(fixture_rows_equal(row, &want));
	return 0;
}

static inline void check_load(struct store *store, struct expected *e)
{
	struct error err;

	assert_int_equal(store_load(store, take, e, &err), 0);
	assert_true(e->extra_meta);
	for (int t = 0; t < TABLE_COUNT; t++)
		assert_int_equal(e->seen[t], t == TABLE_EVENT || t == TABLE_STEP ? 0 : e->n[t]);
}

static inline void put(
        struct store_batch *batch, enum row_table table, uint64_t key, unsigned version)
{
	struct fixture_room room;
	struct row row;

	fixture_row(&row, &room, table, key, version);
	store_batch_row(batch, &row);
}

static inline void change(
        struct store_batch *batch, enum row_table table, uint64_t key, enum row_change what)
{
	struct fixture_room room;
	struct row row;

	fixture_row(&row, &room, table, key, 0);
	row.n = fixture_tables[table].n_keys;
	row.change = what;
	store_batch_row(batch, &row);
}

/* Turn the loop until `reached` says so; the store's threads work meanwhile. */
static inline void wait_until(struct place *p, bool (*reached)(void *arg), void *arg)
{
	const struct timeval tick = { .tv_usec = 2000 };

	for (int i = 0; i < 30000; i++) {
		if (reached(arg))
			return;
		event_base_loopexit(p->base, &tick);
		event_base_dispatch(p->base);
	}
	fail_msg("not reached in time");
}

/* The number that a query has for answer. */
static inline int64_t ask(const char *dir, const char *file, const char *text)
{
	char *path = xasprintf("%s/%s", dir, file);
	sqlite3_stmt *stmt;
	int64_t number;
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	number = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	free(path);
	return number;
}

#endif
