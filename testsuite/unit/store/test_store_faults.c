/* test_store_faults.c - the store on a disk with vices (testsuite/sim/fault_vfs.h)
 *
 * The workload's commit number i puts, changes, deletes and retires rows of all tables and blobs,
 * so that the whole contents after it follow from i alone. Whatever happens to the disk, the store
 * must come up again with the contents of one commit: the last acknowledged one, or the one that
 * was under way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "testsuite/sim/fault_vfs.h"
#include "testsuite/unit/lib/amount.h"
#include "testsuite/unit/lib/store_fixture.h"
#include "testsuite/unit/lib/store_model.h"

/* Which places are tried: every one, or one of so many (odd: also those that come in pairs). */
#define STRIDE (2 * env_number("STORE_FEWER", fewer()) - 1)

#define DISK       "disk"
#define OTHER_DISK "disk after the cut"

/* ---- the files themselves, with the store closed ---- */

static int64_t ask(const char *vfs, const char *file, const char *text)
{
	sqlite3 *db;
	sqlite3_stmt *stmt;
	int64_t number;

	assert_int_equal(sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, vfs), SQLITE_OK);
	assert_int_equal(
	        sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	number = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return number;
}

static const char pieces_miscounted[] =
        "SELECT (SELECT count(*) FROM piece WHERE refs != "
        "(SELECT count(*) FROM blob WHERE script_piece = piece.id) + "
        "(SELECT count(*) FROM blob WHERE credential_piece = piece.id)) + "
        "(SELECT count(*) FROM piece_data WHERE id NOT IN (SELECT id FROM piece)) + "
        "(SELECT count(*) FROM piece WHERE id NOT IN (SELECT id FROM piece_data))";

/* Whatever has ended by `commit` is in one of the two files, and nothing else is. With `moved`, the
 * move had time to finish: no row is in both. */
static void check_history(const char *vfs, uint64_t commit, bool moved)
{
	static const struct {
		const char *staged, *moved, *staged_max, *moved_max;
		uint64_t lag;
	} kinds[] = {
		{ "SELECT count(*) FROM event", "SELECT count(*) FROM event",
		        "SELECT coalesce(max(seq), 0) FROM event",
		        "SELECT coalesce(max(seq), 0) FROM event", 0 },
		{ "SELECT count(*) FROM ended_job", "SELECT count(*) FROM job",
		        "SELECT coalesce(max(id), 0) FROM ended_job",
		        "SELECT coalesce(max(id), 0) FROM job", MODEL_LIVE_JOBS },
		{ "SELECT count(*) FROM ended_run", "SELECT count(*) FROM run",
		        "SELECT coalesce(max(job), 0) FROM ended_run",
		        "SELECT coalesce(max(job), 0) FROM run", MODEL_LIVE_JOBS },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		int64_t ended = commit > kinds[i].lag ? (int64_t)(commit - kinds[i].lag) : 0;
		int64_t staged = ask(vfs, "/state.db", kinds[i].staged);
		int64_t there = ask(vfs, "/history.db", kinds[i].moved);

		assert_true(ask(vfs, "/state.db", kinds[i].staged_max) <= ended);
		assert_true(ask(vfs, "/history.db", kinds[i].moved_max) <= ended);
		if (moved)
			assert_int_equal(staged + there, ended);
		else
			assert_true(staged + there >= ended);
	}
	assert_int_equal(ask(vfs, "/state.db", pieces_miscounted), 0);
}

static struct store *open_disk(const char *vfs, struct error *err)
{
	const struct store_options options = {
		.dir = "",
		.cluster = "test",
		.reserve_kb = 64,
		.vfs = vfs,
		.synchronous_only = true,
	};

	return store_open(&options, NULL, err);
}

/* Bring a disk up again: contents of commit `low` to `high`. Then go on for a while, long enough
 * for the move to history to catch up, and look again. */
static uint64_t check_recovery(const char *vfs, uint64_t low, uint64_t high, bool go_on)
{
	struct error err = { .text = "" };
	struct store *store = open_disk(vfs, &err);
	uint64_t commit, acknowledged = 0;

	if (!store)
		fail_msg("%s", err.text);
	commit = model_check(store, NULL);
	if (commit < low || commit > high)
		fail_msg("commit %llu, not %llu to %llu", (unsigned long long)commit,
		        (unsigned long long)low, (unsigned long long)high);
	if (go_on)
		commit = model_work(store, NULL, commit + 1, commit + 20, &acknowledged, &err);
	store_close(store);
	check_history(vfs, commit, go_on);
	return commit;
}

/* ---- the tests ---- */

struct cutter {
	struct fault_vfs *disk;
	uint64_t acknowledged, cuts, seen;
	uint64_t every;
};

static void cut_here(void *arg, enum fault_op op)
{
	struct cutter *cutter = arg;
	struct fault_vfs *left;

	if (cutter->seen++ % (op == FAULT_WRITE ? cutter->every : STRIDE))
		return;
	left = fault_vfs_after_cut(cutter->disk, OTHER_DISK, cutter->cuts * 7919 + 1);
	check_recovery(
	        OTHER_DISK, cutter->acknowledged, cutter->acknowledged + 1, cutter->cuts % 8 == 0);
	fault_vfs_free(left);
	cutter->cuts++;
}

/* A cut before every sync, name change, truncation and every 16th write of 200 commits. */
static void test_power_cuts(void **state)
{
	struct fault_vfs *disk = fault_vfs_new(DISK, 1);
	struct cutter cutter = { .disk = disk, .every = 16 * sparse() };
	struct error err;
	struct store *store;

	(void)state;
	fault_vfs_hook(disk, FAULT_CHANGES, cut_here, &cutter);
	store = open_disk(DISK, &err);
	assert_non_null(store);
	assert_int_equal(model_work(store, NULL, 1, 200, &cutter.acknowledged, &err), 200);
	store_close(store);
	fault_vfs_hook(disk, 0, NULL, NULL);
	print_message("%llu cuts\n", (unsigned long long)cutter.cuts);
	assert_true(cutter.cuts > 400 / STRIDE);
	check_history(DISK, 200, false);
	fault_vfs_free(disk);
}

/* Again and again: work, cut, come up again on what is left. */
static void test_repeated_cuts(void **state)
{
	struct fault_vfs *disk = fault_vfs_new(DISK, 4711);
	uint64_t commit = 0, rounds = amount("STORE_CUTS", 100);
	struct error err;

	(void)state;
	for (unsigned round = 0; round < rounds; round++) {
		struct store *store = open_disk(DISK, &err);
		uint64_t acknowledged;

		assert_non_null(store);
		acknowledged = commit = model_check(store, NULL);
		fault_vfs_fail(disk, FAULT_CHANGES, 1 + round * 37 % 400, SQLITE_IOERR, true);
		model_work(store, NULL, commit + 1, commit + 40, &acknowledged, &err);
		fault_vfs_cut_power(disk);
		fault_vfs_fail(disk, 0, 0, 0, false);
		store_close(store);
		commit = check_recovery(DISK, acknowledged, acknowledged + 1, round % 2);
	}
	assert_true(commit > (rounds < 100 ? 0 : 1000));
	fault_vfs_free(disk);
}

enum after { AFTER_PROCESS_CRASH, AFTER_POWER_CUT, AFTER_CASES };

/* The Nth change of the disk fails; the process ends, or the power fails, or first the one and
 * later the other. Returns false when N is beyond the end of the work. */
static bool fail_nth(uint64_t nth, unsigned ops, enum after after)
{
	struct fault_vfs *disk = fault_vfs_new(DISK, nth);
	struct error err = { .text = "" };
	struct store *store;
	uint64_t acknowledged = 0, last = 0;
	bool failed;

	fault_vfs_fail(disk, ops, nth, 0, false);
	store = open_disk(DISK, &err);
	if (store) {
		model_work(store, NULL, 1, 40, &acknowledged, &err);
		failed = acknowledged < 40;
	} else {
		failed = true;
	}
	if (failed) {
		assert_int_equal(err.code, ERR_SYSTEM);
		/* nobody tried anything on the disk that had lied */
		if (store)
			assert_int_equal(fault_vfs_changes_after_failure(disk), 0);
	}
	if (after == AFTER_POWER_CUT)
		fault_vfs_cut_power(disk);
	else
		fault_vfs_crash_process(disk);
	failed = fault_vfs_count(disk, ops) >= nth;
	store_close(store);
	fault_vfs_fail(disk, 0, 0, 0, false);
	last = check_recovery(DISK, acknowledged, acknowledged + 1, true);
	/* What was acknowledged after the crash is not built on what the failed sync has lost. */
	fault_vfs_cut_power(disk);
	check_recovery(DISK, last, last, false);
	fault_vfs_free(disk);
	return failed;
}

static void test_every_change_fails(void **state)
{
	static const unsigned ops[] = { FAULT_CHANGES, FAULT_SYNC };

	(void)state;
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		for (int after = 0; after < AFTER_CASES; after++) {
			uint64_t nth = 1;

			while (fail_nth(nth, ops[i], after))
				nth += (ops[i] == FAULT_SYNC ? 1 : 11) * STRIDE;
			print_message("%llu operations\n", (unsigned long long)nth - 1);
			assert_true(nth > 40);
		}
}

/* A checkpoint that fails: the next commit says so, and neither it nor the closing touches the file
 * that lied. */
static void test_failed_checkpoint(void **state)
{
	static const struct {
		const char *file;
		unsigned op;
	} places[] = { { "/state.db", FAULT_WRITE }, { "/state.db", FAULT_SYNC } };

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct fault_vfs *disk = fault_vfs_new(DISK, i);
		struct error err = { 0 };
		struct store *store = open_disk(DISK, &err);
		uint64_t acknowledged = 0;

		assert_non_null(store);
		fault_vfs_fail_path(disk, places[i].file);
		fault_vfs_fail(disk, places[i].op, 1, 0, false);
		model_work(store, NULL, 1, 1000, &acknowledged, &err);
		assert_true(acknowledged > 10 && acknowledged < 1000);
		assert_int_equal(err.code, ERR_SYSTEM);
		assert_non_null(strstr(err.text, "checkpoint"));
		assert_int_equal(fixture_commit(store, NULL, model_batch(store, acknowledged + 1),
		                         NULL, NULL, &err),
		        -1);
		store_close(store);
		assert_int_equal(fault_vfs_changes_after_failure(disk), 0);
		fault_vfs_crash_process(disk);
		check_recovery(DISK, acknowledged, acknowledged, true);
		fault_vfs_free(disk);
	}
}

/* The process dies at each change of the disk; the disk itself is well. */
static void test_process_crashes(void **state)
{
	struct error err;

	(void)state;
	for (uint64_t nth = 1;; nth += 11 * STRIDE) {
		struct fault_vfs *disk = fault_vfs_new(DISK, nth);
		uint64_t acknowledged = 0;
		struct store *store;

		/* From then on nothing works: as if the process had gone. */
		fault_vfs_fail(disk, FAULT_CHANGES, nth, SQLITE_IOERR, true);
		store = open_disk(DISK, &err);
		if (store)
			model_work(store, NULL, 1, 40, &acknowledged, &err);
		fault_vfs_crash_process(disk);
		store_close(store);
		fault_vfs_fail(disk, 0, 0, 0, false);
		check_recovery(DISK, acknowledged, acknowledged + 1, true);
		fault_vfs_free(disk);
		if (acknowledged == 40)
			break;
	}
}

/* A full disk: the reserve lets one batch through as it is; the next failure ends it. */
static void test_full_disk(void **state)
{
	struct error err = { 0 };

	(void)state;
	for (uint64_t room = 1000; room < 400000; room += 7777 * sparse()) {
		struct fault_vfs *disk = fault_vfs_new(DISK, room);
		struct store *store = open_disk(DISK, &err);
		uint64_t acknowledged = 0;
		struct store_stats stats;

		assert_non_null(store);
		store_stats(store, &stats);
		assert_false(stats.reserve_used);
		model_work(store, NULL, 1, 10, &acknowledged, &err);
		fault_vfs_capacity(disk, fault_vfs_used(disk) + room);
		model_work(store, NULL, 11, 200, &acknowledged, &err);
		assert_true(acknowledged >= 10 && acknowledged < 200);
		assert_int_equal(err.code, ERR_NO_SPACE);
		store_stats(store, &stats);
		assert_true(stats.reserve_used);
		fault_vfs_crash_process(disk);
		store_close(store);

		/* with the disk still full it says so, or comes up */
		store = open_disk(DISK, &err);
		if (store)
			assert_true(model_check(store, NULL) >= acknowledged);
		else
			assert_int_equal(err.code, ERR_NO_SPACE);
		store_close(store);
		fault_vfs_capacity(disk, 0);
		check_recovery(DISK, acknowledged, acknowledged + 1, true);
		store = open_disk(DISK, &err);
		store_stats(store, &stats);
		assert_false(stats.reserve_used); /* there is one again */
		store_close(store);
		fault_vfs_free(disk);
	}
}

/* What the reserve is for: without it the batch at which the disk was full would be lost. */
static void test_reserve_saves_a_batch(void **state)
{
	struct fault_vfs *disk = fault_vfs_new(DISK, 5);
	struct error err = { 0 };
	struct store *store = open_disk(DISK, &err);
	uint64_t acknowledged = 0;
	struct store_stats stats = { 0 };

	(void)state;
	fault_vfs_capacity(disk, fault_vfs_used(disk) + 20000);
	for (uint64_t i = 1; !stats.reserve_used; i++) {
		assert_int_equal(model_work(store, NULL, i, i, &acknowledged, &err), i);
		store_stats(store, &stats);
		assert_true(i < 100);
	}
	store_close(store);
	fault_vfs_capacity(disk, 0);
	assert_int_equal(check_recovery(DISK, acknowledged, acknowledged, false), acknowledged);
	fault_vfs_free(disk);
}

/* A history that cannot be written stops the move and nothing else. */
static void test_broken_history(void **state)
{
	static const int codes[] = { SQLITE_IOERR_WRITE, SQLITE_FULL };

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		struct fault_vfs *disk = fault_vfs_new(DISK, 6);
		struct error err = { 0 };
		struct store *store = open_disk(DISK, &err);
		struct store_stats stats;
		uint64_t acknowledged = 0;

		fault_vfs_fail_path(disk, "/history.db-wal");
		assert_int_equal(model_work(store, NULL, 1, 15, &acknowledged, &err), 15);
		fault_vfs_fail(disk, FAULT_WRITE, 1, codes[i], true);
		assert_int_equal(model_work(store, NULL, 16, 100, &acknowledged, &err), 100);
		store_stats(store, &stats);
		assert_int_equal(stats.history_behind, 100 + 2 * (100 - MODEL_LIVE_JOBS));
		assert_int_equal(stats.history_rows, 0);
		assert_non_null(strstr(stats.history_error, "history.db"));
		fault_vfs_fail(disk, 0, 0, 0, false);
		model_work(store, NULL, 101, 132, &acknowledged, &err);
		store_stats(store, &stats);
		if (codes[i] == SQLITE_FULL) { /* tried again as soon as there is room */
			assert_string_equal(stats.history_error, "");
			assert_true(stats.history_behind < 100);
		} else {
			assert_int_equal(stats.history_rows, 0);
		}
		store_close(store);
		check_recovery(DISK, 132, 132, true);
		fault_vfs_free(disk);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_power_cuts),
		cmocka_unit_test(test_repeated_cuts),
		cmocka_unit_test(test_every_change_fails),
		cmocka_unit_test(test_failed_checkpoint),
		cmocka_unit_test(test_process_crashes),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_reserve_saves_a_batch),
		cmocka_unit_test(test_broken_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
