/* test_history_reader.c - a flush brings everything to history.db; slices give each job once, in order */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/store/batch_items.h"
#include "ctld/store/commit_and_chores.h"
#include "ctld/store/history_reader.h"
#include "ctld/store/state_db.h"
#include "testsuite/unit/lib/store_fixture.h"

#define JOBS 3000

struct place {
	char *dir;
	struct event_base *base;
	struct store *store;
	struct past *past;
};

static const char *const users[] = { "ann", "bob", "zoe" };

static void text(struct row *row, size_t column, const char *s)
{
	row->v[column] = (struct value){ .type = VALUE_TEXT, .p = s, .n = strlen(s) };
}

/* Job `id` of user id % 3 ended at id / 10; it has id % 3 + 1 runs. */
static void put_job(struct store_batch *batch, uint64_t id)
{
	struct fixture_room room;
	struct row row;

	fixture_row(&row, &room, TABLE_JOB, id, 0);
	text(&row, COL_JOB_user, users[id % 3]);
	text(&row, COL_JOB_array, "");
	text(&row, COL_JOB_account, id % 2 ? "odd" : "even");
	row.v[COL_JOB_end_time].i = (int64_t)id / 10;
	row.change = ROW_RETIRE;
	store_batch_row(batch, &row);
	for (uint64_t n = 0; n <= id % 3; n++) {
		fixture_row(&row, &room, TABLE_RUN, id, 0);
		row.v[COL_RUN_task].i = 0;
		row.v[COL_RUN_attempt].i = (int64_t)n + 1;
		row.v[COL_RUN_rank].i = 0;
		row.change = ROW_RETIRE;
		store_batch_row(batch, &row);
	}
	fixture_row(&row, &room, TABLE_EVENT, id, 0);
	row.v[COL_EVENT_time].i = (int64_t)id / 10;
	row.v[COL_EVENT_job].i = (int64_t)id;
	row.v[COL_EVENT_uid].i = (int64_t)id % 3;
	store_batch_row(batch, &row);
}

static void commit_jobs(struct place *p, uint64_t from, uint64_t to)
{
	struct store_batch *batch = store_batch_new(p->store);
	struct error err;

	for (uint64_t id = from; id < to; id++)
		put_job(batch, id);
	assert_int_equal(fixture_commit(p->store, p->base, batch, NULL, NULL, &err), 0);
}

static void on_flushed(void *arg, const struct store_result *result, const struct error *err)
{
	struct place *p = arg;

	(void)result;
	assert_null(err);
	event_base_loopbreak(p->base);
}

static void flush(struct place *p)
{
	store_flush(p->store, on_flushed, p);
	event_base_dispatch(p->base);
}

static int setup(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));
	struct error err;

	p->dir = fixture_mkdir();
	p->base = event_base_new();
	p->store = fixture_open(p->dir, NULL, false, p->base);
	assert_non_null(p->store);
	p->past = past_open(p->dir, &err);
	assert_non_null(p->past);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	past_close(p->past);
	store_close(p->store);
	event_base_free(p->base);
	fixture_rmdir(p->dir);
	free(p);
	return 0;
}

static bool want_all(void *arg, const struct row *row)
{
	(void)arg;
	return row->v[COL_JOB_id].i > 0;
}

static bool want_third(void *arg, const struct row *row)
{
	(void)arg;
	return row->v[COL_JOB_id].i % 3 == 0;
}

/* Every job that a query gives, its runs counted; slices of `max`. */
static size_t read_all(struct place *p, const struct past_query *query, unsigned max, uint8_t *seen,
        size_t *slices)
{
	struct store_batch *batch = batch_new();
	struct past_cursor cursor = { 0 };
	struct batch_item item;
	size_t n = 0, runs = 0, offset;
	int64_t id = 0;
	struct error err;

	memset(seen, 0, JOBS + 1);
	*slices = 0;
	while (!cursor.end) {
		batch_reset(batch);
		assert_int_equal(past_jobs(p->past, query, &cursor, max, batch, &err), 0);
		++*slices;
		for (offset = 0; batch_next(batch, &offset, &item); n++) {
			if (item.row.table == TABLE_RUN) {
				assert_int_equal(item.row.v[COL_RUN_job].i, id);
				assert_int_equal(item.row.v[COL_RUN_attempt].i, ++runs);
				n--;
				continue;
			}
			if (id)
				assert_int_equal(runs, id % 3 + 1);
			id = item.row.v[COL_JOB_id].i;
			runs = 0;
			assert_int_equal(seen[id]++, 0);
		}
	}
	batch_free(batch);
	return n;
}

static void test_flush_brings_all(void **state)
{
	struct place *p = *state;
	struct past_query all = { .by = PAST_BY_TIME, .wants = want_all };
	uint8_t seen[JOBS + 1];
	size_t slices;

	flush(p); /* of nothing */
	for (uint64_t id = 1; id <= JOBS; id += 500) {
		commit_jobs(p, id, id + 500);
		flush(p);
		assert_int_equal(read_all(p, &all, 1000, seen, &slices), id + 499);
	}
	commit_jobs(p, JOBS + 1, JOBS + 1);
	flush(p);
}

static void test_slices(void **state)
{
	static char *names[] = { "ann", "nobody", "zoe" }, *even[] = { "even" };
	static const uint64_t ids[] = { 7, 8, JOBS + 5 };
	struct place *p = *state;
	struct past_query q = { .by = PAST_BY_TIME, .wants = want_all };
	uint8_t seen[JOBS + 1];
	size_t slices;

	commit_jobs(p, 1, JOBS + 1);
	flush(p);
	assert_int_equal(read_all(p, &q, 7, seen, &slices), JOBS);
	assert_in_range(slices, JOBS / 7, JOBS / 7 + 2);
	q.since = 100;
	assert_int_equal(read_all(p, &q, 64, seen, &slices), JOBS - 999);
	assert_int_equal(seen[999] + seen[1000], 1);
	q.wants = want_third;
	assert_int_equal(read_all(p, &q, 64, seen, &slices), (JOBS - 999) / 3);

	q = (struct past_query){ .by = PAST_BY_USER, .keys = names, .n = 3, .wants = want_all };
	assert_int_equal(read_all(p, &q, 100, seen, &slices), JOBS * 2 / 3);
	assert_int_equal(seen[1] + seen[2] + seen[3], 2); /* ann and zoe */
	q = (struct past_query){ .by = PAST_BY_ACCOUNT, .keys = even, .n = 1, .wants = want_all };
	assert_int_equal(read_all(p, &q, 999, seen, &slices), JOBS / 2);
	q = (struct past_query){ .by = PAST_BY_ID, .ids = ids, .n = 3, .wants = want_all };
	assert_int_equal(read_all(p, &q, 1, seen, &slices), 2);
	assert_int_equal(seen[7] + seen[8], 2);
}

static size_t count_events(struct place *p, const struct past_events *query, unsigned max)
{
	struct store_batch *batch = batch_new();
	struct past_cursor cursor = { 0 };
	struct batch_item item;
	size_t offset = 0, n = 0;
	int64_t last = 0;
	struct error err;

	while (!cursor.end)
		assert_int_equal(past_events(p->past, query, &cursor, max, batch, &err), 0);
	for (; batch_next(batch, &offset, &item); n++) {
		assert_in_range(item.row.v[COL_EVENT_time].i, last, INT64_MAX);
		last = item.row.v[COL_EVENT_time].i;
	}
	batch_free(batch);
	return n;
}

static void test_events(void **state)
{
	struct place *p = *state;

	commit_jobs(p, 1, JOBS + 1);
	flush(p);
	assert_int_equal(count_events(p, &(struct past_events){ .uid = PAST_ANYBODY }, 7), JOBS);
	assert_int_equal(
	        count_events(p, &(struct past_events){ .uid = PAST_ANYBODY, .since = 300 }, 50), 1);
	assert_int_equal(count_events(p, &(struct past_events){ .uid = 1 }, 50), JOBS / 3);
	assert_int_equal(
	        count_events(p, &(struct past_events){ .uid = PAST_ANYBODY, .job = 17 }, 50), 1);
	assert_int_equal(count_events(p, &(struct past_events){ .uid = 2, .job = 17 }, 50), 1);
	assert_int_equal(count_events(p, &(struct past_events){ .uid = 1, .job = 17 }, 50), 0);
	/* By number: nothing behind the last, all but the first ten, those of one user or job. */
	for (unsigned max = 7; max <= JOBS + 1; max += JOBS / 2) {
		struct past_events by_seq = { .uid = PAST_ANYBODY, .by_seq = true };

		assert_int_equal(count_events(p, &by_seq, max), JOBS);
		by_seq.after = 10;
		assert_int_equal(count_events(p, &by_seq, max), JOBS - 10);
		by_seq.job = 17;
		assert_int_equal(count_events(p, &by_seq, max), 1);
		by_seq.after = 17;
		assert_int_equal(count_events(p, &by_seq, max), 0);
	}
}

/* A reader does not hinder the writer, and sees what came meanwhile or not; never half of it. */
static void test_while_written(void **state)
{
	struct place *p = *state;
	struct past_query all = { .by = PAST_BY_TIME, .wants = want_all };
	uint8_t seen[JOBS + 1];
	size_t slices;

	for (uint64_t id = 1; id <= JOBS; id += 100) {
		commit_jobs(p, id, id + 100);
		assert_in_range(read_all(p, &all, 200, seen, &slices), 0, id + 99);
	}
	flush(p);
	assert_int_equal(read_all(p, &all, 200, seen, &slices), JOBS);
}

/* Jobs end with every commit, and between two commits there is time for one chore: a flush comes to
 * its end all the same, and without one the rows that wait do not become more and more. */
static void test_flush_under_load(void **state)
{
	const struct store_options options = { .dir = fixture_mkdir(), .cluster = "test" };
	struct blob_set wanted = { 0 };
	struct store_batch *batch = batch_new();
	struct store_stats stats;
	struct error err;
	struct store_work *work = store_work_open(&options, NULL, NULL, &err);
	uint64_t id = 1;
	int commits, left = 1;

	(void)state;
	assert_non_null(work);
	for (commits = 0; commits < 60 && left; commits++) {
		batch_reset(batch);
		for (int n = 0; n < 400; n++)
			put_job(batch, id++);
		assert_int_equal(store_work_commit(work, batch, &wanted, &err), 0);
		store_work_chore(work, false);
		store_work_stats(work, &stats);
		assert_true(stats.history_behind < 10000);
		if (commits == 30)
			store_work_flush_begin(work);
		if (commits >= 30)
			left = store_work_flush(work, &err);
		assert_true(left >= 0);
	}
	assert_int_equal(left, 0);
	store_work_close(work);
	batch_free(batch);
	blob_set_clear(&wanted);
	fixture_rmdir((char *)(uintptr_t)options.dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_flush_brings_all, setup, teardown),
		cmocka_unit_test(test_flush_under_load),
		cmocka_unit_test_setup_teardown(test_slices, setup, teardown),
		cmocka_unit_test_setup_teardown(test_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_while_written, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
