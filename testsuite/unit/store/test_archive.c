/* test_archive.c - what is old goes from history.db into a file: nothing is lost, nothing twice,
 * wherever it is interrupted */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/failpoint.h"
#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/store/archive.h"
#include "ctld/store/db.h"
#include "ctld/store/history_reader.h"
#include "testsuite/unit/lib/store_fixture.h"

#define JOBS   2500
#define BEFORE 200 /* what ended earlier is old: jobs up to 1999 */
#define OLD    (BEFORE * 10 - 1)

struct place {
	char *dir, *file;
	struct event_base *base;
	struct store *store;
};

static void text(struct row *row, size_t column, const char *s)
{
	row->v[column] = (struct value){ .type = VALUE_TEXT, .p = s, .n = strlen(s) };
}

/* Job `id` ended at id / 10; it has two runs and an event. */
static void put_job(struct store_batch *batch, uint64_t id)
{
	struct fixture_room room;
	struct row row;

	fixture_row(&row, &room, TABLE_JOB, id, 0);
	text(&row, COL_JOB_array, "");
	row.v[COL_JOB_part].i = 0;
	row.v[COL_JOB_end_time].i = (int64_t)id / 10 + 1;
	row.change = ROW_RETIRE;
	store_batch_row(batch, &row);
	for (int64_t n = 1; n <= 2; n++) {
		fixture_row(&row, &room, TABLE_RUN, id, 0);
		row.v[COL_RUN_task].i = 0;
		row.v[COL_RUN_attempt].i = n;
		row.v[COL_RUN_rank].i = 0;
		row.change = ROW_RETIRE;
		store_batch_row(batch, &row);
	}
	fixture_row(&row, &room, TABLE_EVENT, id, 0);
	row.v[COL_EVENT_time].i = (int64_t)id / 10 + 1;
	store_batch_row(batch, &row);
}

static void on_flushed(void *arg, const struct store_result *result, const struct error *err)
{
	(void)result;
	assert_null(err);
	event_base_loopbreak(arg);
}

static void open_store(struct place *p)
{
	p->base = event_base_new();
	p->store = fixture_open(p->dir, NULL, false, p->base);
	assert_non_null(p->store);
}

static void close_store(struct place *p)
{
	store_close(p->store);
	event_base_free(p->base);
	p->store = NULL;
}

static int setup(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));
	struct store_batch *batch;
	struct error err;

	p->dir = fixture_mkdir();
	p->file = xasprintf("%s/old.db", p->dir);
	open_store(p);
	batch = store_batch_new(p->store);
	for (uint64_t id = 1; id <= JOBS; id++)
		put_job(batch, id);
	assert_int_equal(fixture_commit(p->store, p->base, batch, NULL, NULL, &err), 0);
	store_flush(p->store, on_flushed, p->base);
	event_base_dispatch(p->base);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	if (p->store)
		close_store(p);
	fixture_rmdir(p->dir);
	free(p->file);
	free(p);
	return 0;
}

/* All of it; -1 and `err` as the steps say. */
static int archive(struct place *p, bool delete, struct archive_counts *counts, struct error *err)
{
	struct archive *a = archive_open(p->dir, p->file, BEFORE, err);
	struct store_batch *moved = batch_new();
	int rc = a ? 1 : -1;

	while (rc > 0) {
		rc = archive_step(a, moved, err);
		if (rc >= 0 && delete)
			assert_int_equal(store_drop_past(p->store, moved, err), 0);
	}
	if (a)
		*counts = archive_counts(a);
	archive_close(a);
	batch_free(moved);
	return rc;
}

/* --- what is where -------------------------------------------------------------------------- */

static bool want_all(void *arg, const struct row *row)
{
	(void)arg, (void)row;
	return true;
}

struct content {
	uint8_t jobs[JOBS + 1], runs[JOBS + 1], events[JOBS + 1];
};

static void read_all(struct past *past, struct content *c)
{
	const struct past_query query = { .by = PAST_BY_TIME, .wants = want_all };
	const struct past_events events = { .uid = PAST_ANYBODY };
	struct store_batch *batch = batch_new();
	struct past_cursor cursor = { 0 };
	struct batch_item item;
	struct error err;
	size_t offset;

	assert_non_null(past);
	while (!cursor.end) {
		batch_reset(batch);
		assert_int_equal(past_jobs(past, &query, &cursor, 500, batch, &err), 0);
		for (offset = 0; batch_next(batch, &offset, &item);)
			++(item.row.table == TABLE_JOB ? c->jobs : c->runs)[item.row.v[0].i];
	}
	cursor = (struct past_cursor){ 0 };
	while (!cursor.end) {
		batch_reset(batch);
		assert_int_equal(past_events(past, &events, &cursor, 500, batch, &err), 0);
		for (offset = 0; batch_next(batch, &offset, &item);)
			++c->events[item.row.v[0].i];
	}
	batch_free(batch);
	past_close(past);
}

/* Each job is in history or in the file, with all that belongs to it; old ones are in the file
 * alone if that was asked for. */
static void check_all(struct place *p, bool gone)
{
	struct content *here = xcalloc(1, sizeof(*here)), *there = xcalloc(1, sizeof(*there));
	struct error err;

	read_all(past_open(p->dir, &err), here);
	read_all(past_open_file(p->file, &err), there);
	for (uint64_t id = 1; id <= JOBS; id++) {
		unsigned old = id <= OLD - 10, left = !old || !gone;

		assert_int_equal(there->jobs[id], old);
		assert_int_equal(there->runs[id], 2 * old);
		assert_int_equal(there->events[id], old);
		assert_int_equal(here->jobs[id], left);
		assert_int_equal(here->runs[id], 2 * left);
		assert_int_equal(here->events[id], left);
	}
	free(here);
	free(there);
}

/* --- tests ---------------------------------------------------------------------------------- */

static void test_copies(void **state)
{
	struct place *p = *state;
	struct archive_counts n;
	struct stat st;
	struct error err;

	assert_int_equal(archive(p, false, &n, &err), 0);
	assert_int_equal(n.jobs, OLD - 10);
	assert_int_equal(n.runs, 2 * (OLD - 10));
	assert_int_equal(n.events, OLD - 10);
	check_all(p, false);
	assert_int_equal(stat(p->file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* Once more: it is all there already. */
	assert_int_equal(archive(p, true, &n, &err), 0);
	check_all(p, true);
	assert_int_equal(archive(p, true, &n, &err), 0);
	assert_int_equal(n.jobs + n.runs + n.events, 0);
	check_all(p, true);
}

static void write_file(const char *path, const char *what)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(what, f);
	assert_int_equal(fclose(f), 0);
}

static void refused(struct place *p, const char *path, int code, const char *why)
{
	struct error err = { .code = ERR_NONE };
	struct archive *a = archive_open(p->dir, path, BEFORE, &err);

	assert_null(a);
	if (err.code != code || !strstr(err.text, why))
		fail_msg("%s: %d, %s", path, err.code, err.text);
}

static void test_what_is_no_archive(void **state)
{
	struct place *p = *state;
	char *other = xasprintf("%s/other", p->dir), *own = xasprintf("%s/history.db", p->dir);
	char *link_to = xasprintf("%s/link", p->dir), *of_state = xasprintf("%s/state.db", p->dir);
	struct error err;
	struct db db;
	struct past *past;

	refused(p, "old.db", ERR_USAGE, "absolute");
	refused(p, "/nonexistent/old.db", ERR_SYSTEM, "No such file");
	refused(p, p->dir, ERR_SYSTEM, "directory");
	/* Into itself, by any name. */
	refused(p, own, ERR_USAGE, "own history.db");
	refused(p, of_state, ERR_USAGE, "own state.db");
	assert_int_equal(link(own, link_to), 0);
	refused(p, link_to, ERR_USAGE, "own history.db");
	unlink(link_to);
	assert_int_equal(symlink(own, link_to), 0);
	refused(p, link_to, ERR_SYSTEM, "symbolic");
	/* What is no database stays as it is. */
	write_file(other, "The words of somebody, which are not to be lost by anything.\n");
	refused(p, other, ERR_SYSTEM, "not a database");
	past = past_open_file(other, &err);
	assert_null(past);
	unlink(other);
	/* Nor is one of another cluster. */
	assert_int_equal(db_open(&db, other, NULL, &sql_history_schema, &err), 0);
	assert_int_equal(db_cluster(&db, "elsewhere", &err), 0);
	db_close(&db);
	refused(p, other, ERR_CLUSTER, "elsewhere");
	past = past_open_file(other, &err);
	assert_non_null(past);
	past_close(past);
	assert_null(past_open_file("/nonexistent", &err));
	free(other);
	free(own);
	free(link_to);
	free(of_state);
}

/* One that an older program has made is read as it is. */
static void test_older(void **state)
{
	struct place *p = *state;
	struct sql_schema older = sql_history_schema;
	struct stat before, after;
	struct error err;
	struct past *past;
	struct db db;

	older.version = 9;
	assert_int_equal(db_open(&db, p->file, NULL, &older, &err), 0);
	db_close(&db);
	assert_int_equal(stat(p->file, &before), 0);
	past = past_open_file(p->file, &err);
	assert_non_null(past);
	past_close(past);
	assert_int_equal(stat(p->file, &after), 0);
	assert_int_equal(before.st_size, after.st_size);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

#ifdef ENABLE_FAILPOINTS
/* The child that is killed. */
static int child(char *dir)
{
	struct place p = { .dir = dir, .file = xasprintf("%s/old.db", dir) };
	struct archive_counts n;
	struct error err;

	open_store(&p);
	archive(&p, true, &n, &err);
	return 1;
}

/* Killed at every point; whoever does it again has the same in the end. */
static void test_killed(void **state)
{
	static const char *const points[] = { "archive_before_commit:2", "archive_after_commit",
		"archive_before_drop", "archive_after_drop", "archive_after_commit:3" };
	struct place *p = *state;
	struct archive_counts n;
	struct error err;
	int status;

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		pid_t pid;

		close_store(p);
		pid = fork();
		if (pid == 0) {
			setenv("GPUSCHED_FAILPOINT", points[i], 1);
			execl("/proc/self/exe", "child", p->dir, (char *)NULL);
			_exit(127);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGKILL);
		open_store(p);
	}
	assert_int_equal(archive(p, true, &n, &err), 0);
	check_all(p, true);
}
#endif

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_copies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_no_archive, setup, teardown),
		cmocka_unit_test_setup_teardown(test_older, setup, teardown),
#ifdef ENABLE_FAILPOINTS
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
#endif
	};

#ifdef ENABLE_FAILPOINTS
	if (argc == 2)
		return child(argv[1]);
#endif
	(void)argc, (void)argv;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
