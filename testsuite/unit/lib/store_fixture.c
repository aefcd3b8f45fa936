/* store_fixture.c - see store_fixture.h */
#include "testsuite/unit/lib/store_fixture.h"

#include <event2/event.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/splitmix.h"
#include "common/base/xalloc.h"

char *fixture_mkdir(void)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = xasprintf("%s/gpusched-store-XXXXXX", tmp ? tmp : "/tmp");

	if (!mkdtemp(dir)) {
		perror(dir);
		abort();
	}
	return dir;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void fixture_rmdir(char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(dir);
}

#define IS_K       true
#define IS__       false
#define SQL_INT    "INTEGER"
#define SQL_TEXT   "TEXT"
#define SQL_BLOB   "BLOB"
#define COLUMN_OF(tag, n, t, k) { #n, SQL_##t, VALUE_##t, IS_##k },
#define COLUMNS(tag, name, columns) \
	static const struct fixture_column name##_columns[] = { columns(COLUMN_OF) };
ROW_TABLES(COLUMNS)

#define COUNT_KEY(tag, n, t, k) +IS_##k
#define X(tag, name, columns)                                                              \
	[TABLE_##tag] = { #name, name##_columns, sizeof(name##_columns) / sizeof(*name##_columns), \
		0 columns(COUNT_KEY) },
const struct fixture_table fixture_tables[TABLE_COUNT] = { ROW_TABLES(X) };
#undef X

static uint64_t mix(uint64_t x)
{
	return splitmix_next(&x);
}

static int64_t odd_integer(uint64_t h)
{
	static const int64_t ends[] = { 0, 1, -1, INT64_MAX, INT64_MIN, 127, 128, 65536 };

	return h % 3 ? (int64_t)(h >> (h % 64)) : ends[(h >> 8) % 8];
}

void fixture_row(struct row *row, struct fixture_room *room, enum row_table table, uint64_t key,
        unsigned version)
{
	const struct fixture_table *shape = &fixture_tables[table];

	row->table = table;
	row->change = ROW_PUT;
	row->n = shape->n_columns;
	for (size_t i = 0; i < row->n; i++) {
		bool is_key = shape->columns[i].key;
		uint64_t h = mix(mix(key * 64 + i) + (is_key ? 0 : version) + table * 1000003u);
		struct value *v = &row->v[i];

		v->type = shape->columns[i].type;
		if (v->type == VALUE_INT) {
			/* The second number of a job's key: the row has a blob only with 0. */
			v->i = !is_key                        ? odd_integer(h)
			       : table == TABLE_JOB && i == 1 ? 0
			                                      : (int64_t)key;
			continue;
		}
		v->p = room->bytes[i];
		v->n = is_key ? 24 : h % sizeof(room->bytes[i]);
		for (size_t j = 0; j < v->n; j++)
			room->bytes[i][j] = (char)mix(h + j);
		if (is_key) /* ordered by key, for all types */
			v->n = (size_t)snprintf(room->bytes[i], sizeof(room->bytes[i]), "%020llu",
			        (unsigned long long)key);
	}
}

bool fixture_rows_equal(const struct row *a, const struct row *b)
{
	if (a->table != b->table || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct value *v = &a->v[i], *w = &b->v[i];

		if (v->type != w->type)
			return false;
		if (v->type == VALUE_INT ? v->i != w->i
		                         : v->n != w->n || memcmp(v->p, w->p, v->n) != 0)
			return false;
	}
	return true;
}

struct waiter {
	struct event_base *base;
	fixture_look *look;
	void *arg;
	struct error error;
	bool done, failed;
};

static void on_done(void *arg, const struct store_result *result, const struct error *err)
{
	struct waiter *w = arg;

	w->done = true;
	w->failed = err != NULL;
	if (err)
		w->error = *err;
	else if (w->look)
		w->look(w->arg, result);
	if (w->base)
		event_base_loopbreak(w->base);
}

int fixture_commit(struct store *store, struct event_base *base, struct store_batch *batch,
        fixture_look *look, void *arg, struct error *err)
{
	struct waiter w = { .base = base, .look = look, .arg = arg };

	store_commit(store, batch, on_done, &w);
	while (!w.done)
		event_base_dispatch(base);
	if (w.failed && err)
		*err = w.error;
	return w.failed ? -1 : 0;
}

struct store *fixture_open(
        const char *dir, const char *vfs, bool synchronous, struct event_base *base)
{
	struct store_options options = {
		.dir = dir,
		.cluster = "test",
		.reserve_kb = 64,
		.vfs = vfs,
		.synchronous_only = synchronous,
	};
	struct error err;
	struct store *store = store_open(&options, base, &err);

	if (!store)
		fprintf(stderr, "store_open: %s\n", err.text);
	return store;
}
