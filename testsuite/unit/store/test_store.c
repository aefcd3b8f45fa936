/* test_store.c - the store as the controller uses it: thread, loop, real files */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "testsuite/unit/lib/store_place.h"

static void test_round_trip(void **state)
{
	struct place *p = *state;
	struct store *store = fixture_open(p->dir, NULL, false, p->base);
	struct expected none = { 0 }, all = { 0 };
	struct store_batch *batch;
	struct error err;

	assert_non_null(store);
	check_load(store, &none);
	batch = store_batch_new(store);
	assert_true(store_batch_empty(batch));
	for (int t = 0; t < TABLE_COUNT; t++) {
		all.n[t] = 100 + (unsigned)t;
		all.version[t] = 7;
		for (uint64_t key = 1; key <= all.n[t] + 3; key++)
			put(batch, t, key, key % 2 ? 7 : 6);
	}
	assert_false(store_batch_empty(batch));
	assert_int_equal(fixture_commit(store, p->base, batch, NULL, NULL, &err), 0);
	batch = store_batch_new(store);
	for (int t = 0; t < TABLE_COUNT; t++) {
		for (uint64_t key = 2; key <= all.n[t]; key += 2)
			put(batch, t, key, 7);
		for (uint64_t key = all.n[t] + 1; key <= all.n[t] + 3; key++)
			change(batch, t, key, key % 2 ? ROW_DELETE : ROW_RETIRE);
		/* what is not there can be deleted too */
		change(batch, t, 100000, ROW_DELETE);
		change(batch, t, 100001, ROW_RETIRE);
	}
	assert_int_equal(fixture_commit(store, p->base, batch, NULL, NULL, &err), 0);
	store_close(store);

	store = fixture_open(p->dir, NULL, false, p->base);
	assert_non_null(store);
	check_load(store, &all);
	store_close(store);
}

static void look_at_blobs(void *arg, const struct store_result *result)
{
	const struct store_blob *want = arg;

	assert_int_equal(result->n_blobs, 5);
	for (size_t i = 0; i < 5; i++) {
		const struct store_blob *got = &result->blobs[i];

		assert_ptr_equal(result->tags[i], (void *)(uintptr_t)(1000 + i));
		assert_int_equal(got->job, want[i].job);
		if (!want[i].spec) {
			assert_null(got->spec);
			continue;
		}
		assert_int_equal(got->spec_len, want[i].spec_len);
		assert_int_equal(got->script_len, want[i].script_len);
		assert_int_equal(got->credential_len, want[i].credential_len);
		assert_memory_equal(got->spec, want[i].spec, want[i].spec_len);
		if (want[i].script_len)
			assert_memory_equal(got->script, want[i].script, want[i].script_len);
		if (want[i].credential_len)
			assert_memory_equal(
			        got->credential, want[i].credential, want[i].credential_len);
	}
}

/* Ask for the blobs of five jobs, `want` says how they must look. */
static void check_blobs(struct place *p, struct store *store, const struct store_blob *want)
{
	struct store_batch *batch = store_batch_new(store);
	struct error err;

	for (size_t i = 0; i < 5; i++)
		store_batch_want_blob(batch, want[i].job, (void *)(uintptr_t)(1000 + i));
	assert_int_equal(
	        fixture_commit(store, p->base, batch, look_at_blobs, (void *)want, &err), 0);
}

/* What the table of users says is what the blobs and pieces add up to; `user` has `bytes`. */
static void check_stored(const struct place *p, uint32_t user, int64_t bytes)
{
	static const char sums[] =
	        "SELECT uid, sum(n) FROM (SELECT uid, length(spec) + length(script) + "
	        "length(credential) AS n FROM blob UNION ALL SELECT uid, length(data) FROM piece "
	        "JOIN piece_data USING (id)) GROUP BY uid";
	static const char says[] = "SELECT uid, bytes FROM stored WHERE bytes <> 0";
	char *path = xasprintf("%s/state.db", p->dir);
	char *text = xasprintf("SELECT (SELECT count(*) FROM (%s EXCEPT %s)) + (SELECT count(*) "
	                       "FROM (%s EXCEPT %s)), (SELECT coalesce(sum(bytes), 0) "
	                       "FROM stored WHERE uid = %u)",
	        sums, says, says, sums, (unsigned)user);
	sqlite3 *db;
	sqlite3_stmt *stmt;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int64(stmt, 0), 0);
	assert_int_equal(sqlite3_column_int64(stmt, 1), bytes);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	free(text);
	free(path);
}

struct changed {
	uint32_t uid;
	int64_t bytes;
};

static void add_changes(void *arg, const struct store_result *result)
{
	struct changed *changed = arg;

	for (size_t i = 0; i < result->n_stored; i++)
		if (result->stored[i].uid == changed->uid)
			changed->bytes += result->stored[i].bytes;
}

static void note_stored(void *arg, const struct store_stored *stored)
{
	struct changed *changed = arg;

	if (stored->uid == changed->uid)
		changed->bytes += stored->bytes;
}

/* Bytes are their owners' from when they are stored until they are erased; what jobs share counts
 * once, and users share nothing. A commit tells what it has changed, a start what there is. */
static void test_whose_bytes(void **state)
{
	struct place *p = *state;
	struct store *store = fixture_open(p->dir, NULL, false, p->base);
	static char script[1000];
	const struct store_blob v[] = {
		{ 1, "spec one", script, "cred", 8, sizeof(script), 4, 1000, 0 },
		{ 2, "spec two", script, "cred", 8, sizeof(script), 4, 1000, 0 },
		{ 3, "spec three", script, "cred", 10, sizeof(script), 4, 1001, 0 },
		{ 4, "four", "small", "", 4, 5, 0, 1000, 0 },
	};
	struct store_blob again = { .job = 2, .uid = 1000, .credential = "signed", .credential_len = 6 };
	struct changed had = { .uid = 1000 }, has = { .uid = 1000 };
	struct store_batch *batch;
	struct error err;

	assert_non_null(store);
	batch = store_batch_new(store);
	for (size_t i = 0; i < 4; i++)
		store_batch_blob(batch, &v[i]);
	assert_int_equal(fixture_commit(store, p->base, batch, add_changes, &had, &err), 0);
	assert_int_equal(had.bytes, 8 + 8 + 4 + sizeof(script) + 4 + 5);
	/* the script of a recent job once more; another signature; and one goes with what it has alone */
	batch = store_batch_new(store);
	put(batch, TABLE_JOB, 4, 0);
	change(batch, TABLE_JOB, 4, ROW_RETIRE);
	store_batch_blob(batch, &(struct store_blob){ 5, "5", script, "", 1, sizeof(script), 0, 1000, 0 });
	store_batch_sign(batch, &again);
	assert_int_equal(fixture_commit(store, p->base, batch, add_changes, &had, &err), 0);
	assert_int_equal(had.bytes, 8 + 8 + 4 + sizeof(script) + 1 + 6);
	store_close(store);
	check_stored(p, 1000, had.bytes);
	check_stored(p, 1001, 10 + sizeof(script) + 4);
	store = fixture_open(p->dir, NULL, false, p->base);
	assert_int_equal(store_load_stored(store, note_stored, &has, &err), 0);
	assert_int_equal(has.bytes, had.bytes);
	batch = store_batch_new(store);
	for (uint64_t job = 1; job <= 5; job++)
		change(batch, TABLE_JOB, job, ROW_DELETE);
	assert_int_equal(fixture_commit(store, p->base, batch, add_changes, &had, &err), 0);
	assert_int_equal(had.bytes, 0);
	store_close(store);
	check_stored(p, 1000, 0);
}

static void test_script_cache(void **state)
{
	struct place *p = *state;
	struct store *store = fixture_open(p->dir, NULL, false, p->base);
	static char script[200000];
	struct store_blob want[5] = {
		{ 1, "spec one", "small", "cred", 8, 5, 4, 0, 0 },
		{ 2, "spec two", script, "cred", 8, sizeof(script), 4, 0, 0 },
		{ 3, "spec three", script, "cred", 10, sizeof(script), 4, 0, 0 },
		{ 4, "s\0pec", "", "", 5, 0, 0, 0, 0 },
		{ .job = 99 },
	};
	const struct store_blob none[5] = { { .job = 1 }, { .job = 2 }, { .job = 3 }, { .job = 4 },
		{ .job = 3 } };
	struct store_batch *batch;
	struct error err;

	for (size_t i = 0; i < sizeof(script); i++)
		script[i] = (char)(i * 7 + i / 256);
	assert_non_null(store);
	batch = store_batch_new(store);
	for (size_t i = 0; i < 4; i++)
		store_batch_blob(batch, &want[i]);
	/* shared ones are there once */
	assert_true(store_batch_bytes(batch) < sizeof(script) + 1000);
	/* and wishes see what the same batch brings */
	for (size_t i = 0; i < 5; i++)
		store_batch_want_blob(batch, want[i].job, (void *)(uintptr_t)(1000 + i));
	assert_int_equal(fixture_commit(store, p->base, batch, look_at_blobs, want, &err), 0);
	check_blobs(p, store, want);

	/* one goes, one is signed again; the others keep what they shared with them */
	batch = store_batch_new(store);
	put(batch, TABLE_JOB, 2, 0);
	change(batch, TABLE_JOB, 2, ROW_RETIRE);
	want[1] = (struct store_blob){ .job = 2 };
	want[0].credential = "another";
	want[0].credential_len = 7;
	store_batch_blob(batch, &want[0]);
	assert_int_equal(fixture_commit(store, p->base, batch, NULL, NULL, &err), 0);
	check_blobs(p, store, want);
	store_close(store);
	store = fixture_open(p->dir, NULL, false, p->base);
	check_blobs(p, store, want);

	/* two get another signature, and what has gone stays away */
	batch = store_batch_new(store);
	for (size_t i = 0; i < 3; i++) {
		struct store_blob again = { .job = want[i].job, .credential = "third" };

		again.credential_len = 5;
		if (i == 1)
			assert_null(want[i].spec);
		else
			want[i].credential = "third", want[i].credential_len = 5;
		if (i == 2) { /* with another spec */
			want[i].spec = again.spec = "three, changed";
			want[i].spec_len = again.spec_len = 14;
		}
		store_batch_sign(batch, &again);
	}
	assert_int_equal(fixture_commit(store, p->base, batch, NULL, NULL, &err), 0);
	check_blobs(p, store, want);

	batch = store_batch_new(store);
	for (uint64_t job = 1; job <= 4; job++)
		change(batch, TABLE_JOB, job, ROW_DELETE);
	assert_int_equal(fixture_commit(store, p->base, batch, NULL, NULL, &err), 0);
	check_blobs(p, store, none);
	store_close(store);
}

/* What the owner of a job signed stays for as long as it is to, and then goes. */
static void test_kept_blobs(void **state)
{
	struct place *p = *state;
	struct store *store = fixture_open(p->dir, NULL, false, p->base);
	struct store_blob want[5] = {
		{ 1, "spec one", "script", "cred", 8, 6, 4, 0, 0 },
		{ 2, "spec two", "script", "cred", 8, 6, 4, 0, 0 },
		{ 3, "spec three", "script", "cred", 10, 6, 4, 0, 0 },
		{ 4, "spec four", "script", "cred", 9, 6, 4, 0, 0 },
		{ .job = 99 },
	};
	struct store_batch *batch;
	struct error err;

	assert_non_null(store);
	batch = store_batch_new(store);
	for (size_t i = 0; i < 4; i++) {
		store_batch_blob(batch, &want[i]);
		put(batch, TABLE_JOB, want[i].job, 0);
	}
	assert_int_equal(fixture_commit(store, p->base, batch, NULL, NULL, &err), 0);
	/* all that ends from now on is kept */
	batch = store_batch_new(store);
	store_batch_erase(batch, INT64_MIN);
	change(batch, TABLE_JOB, 1, ROW_RETIRE);
	change(batch, TABLE_JOB, 2, ROW_RETIRE);
	change(batch, TABLE_JOB, 3, ROW_DELETE);
	assert_int_equal(fixture_commit(store, p->base, batch, NULL, NULL, &err), 0);
	store_close(store);
	store = fixture_open(p->dir, NULL, false, p->base);
	want[2] = (struct store_blob){ .job = 3 };
	batch = store_batch_new(store);
	store_batch_erase(batch, INT64_MIN);
	for (size_t i = 0; i < 5; i++)
		store_batch_want_blob(batch, want[i].job, (void *)(uintptr_t)(1000 + i));
	assert_int_equal(fixture_commit(store, p->base, batch, look_at_blobs, want, &err), 0);
	/* and nothing any more: what is there is the job that is */
	want[0] = (struct store_blob){ .job = 1 };
	want[1] = (struct store_blob){ .job = 2 };
	check_blobs(p, store, want);
	store_close(store);
}

static void test_second_is_refused(void **state)
{
	struct place *p = *state;
	struct store *store = fixture_open(p->dir, NULL, false, p->base);
	struct store_options options = { .dir = p->dir, .cluster = "test" };
	struct error err;
	char pid[32];

	assert_non_null(store);
	assert_null(store_open(&options, p->base, &err));
	snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
	assert_non_null(strstr(err.text, pid));
	/* the refused one has not taken the lock away */
	assert_null(store_open(&options, p->base, &err));
	store_close(store);
	store = fixture_open(p->dir, NULL, false, p->base);
	assert_non_null(store);
	store_close(store);
}

static void test_other_cluster_is_refused(void **state)
{
	struct place *p = *state;
	struct store *store = fixture_open(p->dir, NULL, false, p->base);
	struct store_options options = { .dir = p->dir, .cluster = "tests" };
	struct error err;

	assert_non_null(store);
	store_close(store);
	assert_null(store_open(&options, p->base, &err));
	assert_int_equal(err.code, ERR_CLUSTER);
	assert_non_null(strstr(err.text, "'test'"));
	assert_non_null(strstr(err.text, "'tests'"));
}

static void test_loose_modes_are_refused(void **state)
{
	static const struct {
		const char *name;
		mode_t mode;
	} loose[] = { { ".", 0750 }, { ".", 0701 }, { "state.db", 0640 }, { "state.db", 0604 },
		{ "history.db", 0644 }, { "lock", 0602 } };
	struct place *p = *state;
	struct store *store = fixture_open(p->dir, NULL, false, p->base);
	struct store_options options = { .dir = p->dir, .cluster = "test" };
	struct error err;

	store_close(store);
	for (size_t i = 0; i < sizeof(loose) / sizeof(*loose); i++) {
		char *path = xasprintf("%s/%s", p->dir, loose[i].name);

		assert_int_equal(chmod(path, loose[i].mode), 0);
		assert_null(store_open(&options, p->base, &err));
		assert_non_null(strstr(err.text, "open to others"));
		assert_non_null(strstr(err.hint, "chmod"));
		assert_int_equal(chmod(path, strcmp(loose[i].name, ".") ? 0600 : 0700), 0);
		free(path);
	}
	store = fixture_open(p->dir, NULL, false, p->base);
	assert_non_null(store);
	store_close(store);
}

static void test_odd_files_are_refused(void **state)
{
	struct place *p = *state;
	struct store *store = fixture_open(p->dir, NULL, false, p->base);
	struct store_options options = { .dir = p->dir, .cluster = "test" };
	char *path = xasprintf("%s/state.db", p->dir), *other = xasprintf("%s/other", p->dir);
	struct error err;
	int fd;

	store_close(store);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_null(store_open(&options, p->base, &err));
	assert_non_null(strstr(err.text, "plain file"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(link(other, path), 0);
	assert_null(store_open(&options, p->base, &err));
	assert_non_null(strstr(err.text, "plain file"));
	assert_int_equal(unlink(path), 0);

	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "no database, just a text of some length", 39), 39);
	close(fd);
	assert_null(store_open(&options, p->base, &err));
	assert_non_null(strstr(err.text, "state.db"));
	unlink(path);

	options.dir = "/nonexistent";
	assert_null(store_open(&options, p->base, &err));
	assert_non_null(strstr(err.text, "/nonexistent"));
	free(path);
	free(other);
}

/* A controller that is killed leaves its log behind; what was committed is found again. */
static void test_killed(void **state)
{
	struct place *p = *state;
	struct expected all = { 0 };
	struct store *store;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct event_base *base = event_base_new();

		store = fixture_open(p->dir, NULL, false, base);
		for (uint64_t key = 1; key <= 50; key++) {
			struct store_batch *batch = store_batch_new(store);

			put(batch, TABLE_JOB, key, 3);
			if (fixture_commit(store, base, batch, NULL, NULL, NULL) < 0)
				_exit(1);
		}
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	store = fixture_open(p->dir, NULL, false, p->base);
	assert_non_null(store);
	all.n[TABLE_JOB] = 50;
	all.version[TABLE_JOB] = 3;
	check_load(store, &all);
	store_close(store);
}

/* Each allocation of SQLite's would take a lock to be counted. */
static void test_memory_is_not_counted(void **state)
{
	int now = -1, most = -1;

	(void)state;
	assert_int_equal(sqlite3_status(SQLITE_STATUS_MEMORY_USED, &now, &most, 0), SQLITE_OK);
	assert_int_equal(most, 0);
}

static void test_stats(void **state)
{
	struct place *p = *state;
	struct store *store = fixture_open(p->dir, NULL, false, p->base);
	struct store_batch *batch = store_batch_new(store);
	struct store_stats stats;

	assert_false(store_busy(store));
	put(batch, TABLE_JOB, 1, 0);
	put(batch, TABLE_NONCE, 1, 0);
	put(batch, TABLE_EVENT, 1, 0);
	assert_int_equal(fixture_commit(store, p->base, batch, NULL, NULL, NULL), 0);
	store_stats(store, &stats);
	assert_int_equal(stats.commits, 1);
	assert_int_equal(stats.rows, 3);
	assert_true(stats.bytes > 100);
	assert_true(stats.last_commit_us > 0 && stats.max_commit_us >= stats.last_commit_us);
	assert_int_equal(stats.history_behind, 1);
	assert_true(stats.wal_pages > 0);
	assert_false(stats.reserve_used);
	assert_true(store_free_mb(store) > 0 && store_free_mb(store) < UINT64_MAX);
	store_close(store);
	store_close(NULL);
}

static bool has_moved(void *arg)
{
	struct store_stats stats;

	store_stats(arg, &stats);
	return stats.history_behind == 0;
}

/* What has ended moves on by itself: soon when it is much, after a while when it is quiet. */
static void test_history(void **state)
{
	enum { BATCHES = 20, ROWS = 300 };
	struct place *p = *state;
	struct store *store = fixture_open(p->dir, NULL, false, p->base);
	struct store_stats stats;
	struct error err;

	assert_non_null(store);
	for (uint64_t i = 0; i < BATCHES; i++) {
		struct store_batch *batch = store_batch_new(store);

		for (uint64_t key = i * ROWS + 1; key <= (i + 1) * ROWS; key++) {
			put(batch, TABLE_EVENT, key, 0);
			put(batch, TABLE_JOB, key, 2);
			put(batch, TABLE_RUN, key, 2);
			change(batch, TABLE_JOB, key, ROW_RETIRE);
			change(batch, TABLE_RUN, key, ROW_RETIRE);
		}
		assert_int_equal(fixture_commit(store, p->base, batch, NULL, NULL, &err), 0);
	}
	wait_until(p, has_moved, store);
	store_stats(store, &stats);
	assert_int_equal(stats.history_rows, 3 * BATCHES * ROWS);
	assert_string_equal(stats.history_error, "");
	store_close(store);
	assert_int_equal(ask(p->dir, "history.db", "SELECT count(*) FROM job"), BATCHES * ROWS);
	assert_int_equal(ask(p->dir, "history.db", "SELECT count(*) FROM run"), BATCHES * ROWS);
	assert_int_equal(ask(p->dir, "history.db", "SELECT max(seq) FROM event"), BATCHES * ROWS);
	assert_int_equal(ask(p->dir, "state.db",
	                         "SELECT (SELECT count(*) FROM ended_job) + (SELECT count(*) FROM "
	                         "ended_run) + (SELECT count(*) FROM event)"),
	        0);
}

/* A retired row may come whole: it then need not have been there. */
static void test_retire_whole(void **state)
{
	struct place *p = *state;
	struct store *store = fixture_open(p->dir, NULL, false, p->base);
	struct store_batch *batch = store_batch_new(store);
	struct fixture_room room;
	struct expected none = { 0 };
	struct store_stats stats;
	struct error err;
	struct row row;

	put(batch, TABLE_JOB, 1, 0);
	for (uint64_t key = 1; key <= 2; key++) {
		fixture_row(&row, &room, TABLE_JOB, key, 5);
		row.change = ROW_RETIRE;
		store_batch_row(batch, &row);
	}
	assert_int_equal(fixture_commit(store, p->base, batch, NULL, NULL, &err), 0);
	store_stats(store, &stats);
	assert_int_equal(stats.history_behind, 2);
	store_close(store);
	store = fixture_open(p->dir, NULL, false, p->base);
	check_load(store, &none);
	store_close(store);
	assert_int_equal(ask(p->dir, "state.db", "SELECT count(*) FROM ended_job"), 2);
}

/* A row with the wrong number of values, or a value of the wrong type, fails its whole batch. */
static void test_bad_rows(void **state)
{
	for (int kind = 0; kind < 2; kind++) {
		struct place *p = *state;
		struct store *store = fixture_open(p->dir, NULL, false, p->base);
		struct store_batch *batch = store_batch_new(store);
		struct expected none = { 0 };
		struct fixture_room room;
		struct error err = { 0 };
		struct row row;

		put(batch, TABLE_JOB, 1, 0);
		fixture_row(&row, &room, TABLE_JOB, 2, 0);
		if (kind == 0) {
			row.n--;
		} else {
			row.v[1] = (struct value){ .type = VALUE_TEXT, .p = "nobody", .n = 6 };
		}
		store_batch_row(batch, &row);
		assert_int_equal(fixture_commit(store, p->base, batch, NULL, NULL, &err), -1);
		assert_int_not_equal(err.code, ERR_NONE);
		store_close(store);
		store = fixture_open(p->dir, NULL, false, p->base);
		check_load(store, &none);
		store_close(store);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_script_cache, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kept_blobs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_whose_bytes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_second_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_cluster_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_loose_modes_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_odd_files_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_history, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_retire_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bad_rows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stats, set_up, tear_down),
		cmocka_unit_test(test_memory_is_not_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
