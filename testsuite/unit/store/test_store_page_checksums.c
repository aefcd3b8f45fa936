/* test_store_page_checksums.c - a damaged database, or log, is never taken for a good one
 *
 * PAGES_FLIPS=10000 for that many flips of each file; PAGES_SEED=N for others.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/splitmix.h"
#include "common/base/xalloc.h"
#include "ctld/store/db.h"
#include "ctld/store/verify_copy.h"
#include "testsuite/sim/fault_vfs.h"
#include "testsuite/unit/lib/amount.h"
#include "testsuite/unit/lib/store_fixture.h"
#include "testsuite/unit/lib/store_model.h"

#define PAGE      4096
#define FRAME     (24 + PAGE)
#define WAL_HEAD  32
#define CLOSED_AT 150 /* commits until the files are closed */
#define KILLED_AT 190 /* commits until the process is gone, with a log */

static uint64_t random_state;

static uint64_t next_random(void)
{
	return splitmix_next(&random_state);
}

#define FEWEST_FLIPS 60 /* the first of a log are in its head: so many reach its last transaction too */

static unsigned flips_wanted(void)
{
	uint64_t n;

	random_state = env_number("PAGES_SEED", 1);
	n = amount("PAGES_FLIPS", 300);
	return n < FEWEST_FLIPS ? FEWEST_FLIPS : (unsigned)n;
}

/* ---- files ---- */

static void add_big_blob(struct store *store, uint64_t job)
{
	struct store_batch *batch = store_batch_new(store);
	char *script = xcalloc(1, 30000);
	struct error err;

	for (size_t i = 0; i < 30000; i++)
		script[i] = (char)next_random();
	store_batch_blob(batch, &(struct store_blob){ .job = job,
	                                .spec = "spec",
	                                .spec_len = 4,
	                                .script = script,
	                                .script_len = 30000,
	                                .credential = "credential",
	                                .credential_len = 10 });
	assert_int_equal(fixture_commit(store, NULL, batch, NULL, NULL, &err), 0);
	free(script);
}

/* Commits `first` to `last` in a process of their own, which then closes its files or just ends. */
static void work(const char *dir, uint64_t first, uint64_t last, bool close_it)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct store *store = fixture_open(dir, NULL, true, NULL);
		uint64_t acknowledged;
		struct error err;

		if (!store || model_work(store, NULL, first, last, &acknowledged, &err) != last)
			_exit(1);
		add_big_blob(store, 1000000 + first);
		if (close_it)
			store_close(store);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static char *path_in(const char *dir, const char *file)
{
	return xasprintf("%s/%s", dir, file);
}

struct bytes {
	uint8_t *p;
	size_t n;
};

static struct bytes read_file(const char *dir, const char *file)
{
	char *path = path_in(dir, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct bytes b = { 0 };
	struct stat st;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	b.n = (size_t)st.st_size;
	b.p = xcalloc(1, b.n + 1);
	assert_int_equal(pread(fd, b.p, b.n, 0), (ssize_t)b.n);
	close(fd);
	free(path);
	return b;
}

static void write_file(const char *dir, const char *file, struct bytes b)
{
	char *path = path_in(dir, file);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, b.p, b.n), (ssize_t)b.n);
	close(fd);
	free(path);
}

static void flip(const char *dir, const char *file, size_t at, unsigned bit)
{
	char *path = path_in(dir, file);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
	byte ^= (uint8_t)(1u << bit);
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	close(fd);
	free(path);
}

/* ---- what is asked of a file ---- */

/* All rows, in one number. */
static int add_row(void *arg, const struct row *row, struct error *err)
{
	uint64_t *sum = arg;

	(void)err;
	for (size_t i = 0; i < row->n; i++) {
		const uint8_t *p = row->v[i].type == VALUE_INT ? (const void *)&row->v[i].i
		                                               : row->v[i].p;
		size_t n = row->v[i].type == VALUE_INT ? 8 : row->v[i].n;

		for (size_t j = 0; j < n; j++)
			*sum = (*sum ^ p[j]) * 0x100000001b3u + row->table + i;
	}
	return 0;
}

static bool verifies(const char *dir, const char *file, uint64_t *rows, struct error *err)
{
	char *path = path_in(dir, file);
	struct verified verified;
	int rc;

	*rows = 0;
	rc = store_verify(path, add_row, rows, &verified, NULL, NULL, err);
	if (rc < 0 && !strstr(err->text, file))
		fail_msg("'%s' does not name %s", err->text, file);
	free(path);
	return rc == 0;
}

static void check_refused(const char *dir, const char *text)
{
	struct store_options options = { .dir = dir, .cluster = "test", .synchronous_only = true };
	struct error err;
	struct store *store = store_open(&options, NULL, &err);

	assert_null(store);
	if (!strstr(err.text, text))
		fail_msg("'%s' without '%s'", err.text, text);
	assert_true(err.hint[0]);
}

static void check_starts(const char *dir, uint64_t commit, bool cut_short)
{
	struct store *store = fixture_open(dir, NULL, true, NULL);
	struct store_stats stats;

	assert_non_null(store);
	store_stats(store, &stats);
	assert_int_equal(stats.log_cut_short, cut_short);
	assert_int_equal(model_check(store, NULL), commit);
	store_close(store);
}

/* ---- files that nobody has open ---- */

struct place {
	char *dir;
};

static int set_up(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));

	random_state = 1;
	p->dir = fixture_mkdir();
	work(p->dir, 1, CLOSED_AT, true);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	fixture_rmdir(p->dir);
	free(p);
	return 0;
}

static void on_done(void *arg, const struct store_result *result, const struct error *err)
{
	(void)result;
	if (err)
		fail_msg("%s", err->text);
	*(bool *)arg = true;
}

static void make_backup(const char *dir)
{
	struct store *store = fixture_open(dir, NULL, true, NULL);
	char *path = path_in(dir, "copy.db");
	bool done = false;

	store_backup(store, path, on_done, &done);
	assert_true(done);
	store_close(store);
	free(path);
}

static void test_flips(void **state)
{
	static const char *const files[] = { "state.db", "history.db", "copy.db" };
	struct place *p = *state;
	unsigned n = flips_wanted();

	make_backup(p->dir);
	for (size_t f = 0; f < sizeof(files) / sizeof(*files); f++) {
		struct bytes b = read_file(p->dir, files[f]);
		unsigned passed = 0;
		struct error err;
		uint64_t rows;

		if (!verifies(p->dir, files[f], &rows, &err))
			fail_msg("%s", err.text);
		for (unsigned i = 0; i < n; i++) {
			size_t at = next_random() % b.n;
			unsigned bit = (unsigned)(next_random() % 8);

			flip(p->dir, files[f], at, bit);
			if (verifies(p->dir, files[f], &rows, &err)) {
				print_message("%s: byte %zu bit %u\n", files[f], at, bit);
				passed++;
			}
			flip(p->dir, files[f], at, bit);
		}
		print_message("%s: %u of %u flips passed (%zu pages)\n", files[f], passed, n,
		        b.n / PAGE);
		assert_int_equal(passed, 0);
		free(b.p);
	}
}

/* Every bit of the head by itself: the size of pages, the byte that says that there are sums. */
static void test_head(void **state)
{
	struct place *p = *state;
	struct error err;
	uint64_t rows;

	for (size_t at = 0; at < 100; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			flip(p->dir, "state.db", at, bit);
			assert_false(verifies(p->dir, "state.db", &rows, &err));
			if (at >= 16 && at < 24)
				check_refused(p->dir, "damaged");
			flip(p->dir, "state.db", at, bit);
		}
	check_starts(p->dir, CLOSED_AT, false);
}

/* A start reads every page, and says of which table the damaged one is. */
static void test_each_page(void **state)
{
	struct place *p = *state;
	struct bytes b = read_file(p->dir, "state.db");
	unsigned named = 0, n = (unsigned)(b.n / PAGE);

	assert_true(n > 20);
	for (unsigned i = 0; i < n; i++) {
		struct store_options options = {
			.dir = p->dir, .cluster = "test", .synchronous_only = true
		};
		struct error err;
		char text[32];

		flip(p->dir, "state.db", (size_t)i * PAGE + next_random() % PAGE, 3);
		snprintf(text, sizeof(text), "state.db: page %u ", i + 1);
		assert_null(store_open(&options, NULL, &err));
		if (!strstr(err.text, text))
			fail_msg("'%s' without '%s'", err.text, text);
		assert_non_null(strstr(err.hint, "--takeover"));
		named += strstr(err.text, "(table '") != NULL;
		write_file(p->dir, "state.db", b);
	}
	print_message("%u of %u pages are of a table\n", named, n);
	assert_true(named > n / 2 && named < n);
	check_starts(p->dir, CLOSED_AT, false);
	free(b.p);
}

/* Pages that are cut off, zeroed, or in each other's place. */
static void test_whole_pages(void **state)
{
	struct place *p = *state;
	struct bytes b = read_file(p->dir, "state.db"), cut;
	size_t last = b.n - PAGE;
	struct error err;
	uint64_t rows;
	uint8_t *copy;

	for (size_t n = 1; n < b.n; n += b.n / 40) {
		cut = (struct bytes){ b.p, n };
		write_file(p->dir, "state.db", cut);
		assert_false(verifies(p->dir, "state.db", &rows, &err));
	}
	copy = xmemdup(b.p, b.n);
	cut = (struct bytes){ copy, b.n };
	for (size_t at = 0; at < b.n; at += PAGE) {
		memset(copy + at, 0, PAGE);
		write_file(p->dir, "state.db", cut);
		assert_false(verifies(p->dir, "state.db", &rows, &err));
		memcpy(copy + at, b.p + (at == last ? PAGE : last), PAGE);
		write_file(p->dir, "state.db", cut);
		assert_true(at == last || !verifies(p->dir, "state.db", &rows, &err));
		memcpy(copy + at, b.p + at, PAGE);
	}
	free(copy);
	free(b.p);
}

/* SQLite reads parts of pages where that is cheap: they are checked as a whole too. */
static void test_parts_of_pages(void **state)
{
	struct place *p = *state;
	char *path = xasprintf("%s/state.db%c", p->dir, 0);
	struct pages *pages = pages_new(NULL);
	sqlite3_vfs *vfs = sqlite3_vfs_find(pages_vfs(pages));
	sqlite3_file *file = xcalloc(1, (size_t)vfs->szOsFile);
	int flags = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_READWRITE;
	struct bytes b = read_file(p->dir, "state.db");
	uint8_t part[PAGE];

	assert_int_equal(vfs->xOpen(vfs, path, file, flags, &flags), SQLITE_OK);
	assert_int_equal(file->pMethods->xRead(file, part, 100, 0), SQLITE_OK);
	assert_int_equal(file->pMethods->xRead(file, part, 50, PAGE + 4), SQLITE_IOERR_READ);
	assert_int_equal(file->pMethods->xRead(file, part, PAGE, 0), SQLITE_OK);
	assert_int_equal(pages_sums(pages), PAGES_SUMMED);
	assert_int_equal(file->pMethods->xRead(file, part, 50, PAGE + 4), SQLITE_OK);
	assert_memory_equal(part, b.p + PAGE + 4, 50);
	flip(p->dir, "state.db", PAGE + 3000, 0);
	assert_int_equal(file->pMethods->xRead(file, part, 50, PAGE + 4), SQLITE_IOERR_DATA);
	assert_int_equal(pages_damaged(pages), 2);
	assert_int_equal(file->pMethods->xRead(file, part, PAGE, PAGE * 2), SQLITE_OK);
	file->pMethods->xClose(file);
	pages_free(pages);
	free(file);
	free(path);
	free(b.p);
}

static void on_failed(void *arg, const struct store_result *result, const struct error *err)
{
	(void)result;
	assert_non_null(err);
	*(struct error *)arg = *err;
}

/* A backup of what is damaged fails, and says so. */
static void test_backup_of_damage(void **state)
{
	struct place *p = *state;
	struct store *store = fixture_open(p->dir, NULL, true, NULL);
	char *path = path_in(p->dir, "copy.db");
	struct bytes b = read_file(p->dir, "state.db");
	struct error err = { 0 };

	assert_non_null(store);
	flip(p->dir, "state.db", b.n - 1000, 5);
	store_backup(store, path, on_failed, &err);
	assert_non_null(strstr(err.text, "page"));
	assert_non_null(strstr(err.text, "is damaged"));
	assert_true(access(path, F_OK) < 0);
	store_close(store);
	free(path);
	free(b.p);
}

/* What rots while a controller runs is found by reading all pages again and again. Of the pages at the
 * end of the file some are written anew before they are read. */
#define ROTTEN_PAGES 8
static void scrub(struct place *p, const char *file)
{
	struct store *store = fixture_open(p->dir, NULL, true, NULL);
	struct bytes b = read_file(p->dir, file);
	struct store_stats stats = { 0 };
	uint64_t acknowledged, i = model_check(store, NULL);
	struct error err;

	while (stats.scrubbed < 1000) {
		i++;
		assert_int_equal(model_work(store, NULL, i, i, &acknowledged, &err), i);
		store_stats(store, &stats);
	}
	assert_int_equal(stats.damaged, 0);
	for (size_t k = 0; k < ROTTEN_PAGES; k++)
		flip(p->dir, file, b.n - 500 - k * 4096, 2);
	while (!stats.damaged) {
		i++;
		if (model_work(store, NULL, i, i, &acknowledged, &err) != i)
			break; /* its work met one of these pages first */
		store_stats(store, &stats);
		assert_true(i < 10000);
	}
	if (stats.damaged) {
		assert_non_null(strstr(stats.damage, file));
		assert_non_null(strstr(stats.damage, "is damaged"));
	} else {
		assert_non_null(strstr(err.text, "is damaged"));
	}
	store_close(store);
	free(b.p);
}

static void test_scrub_state(void **state)
{
	scrub(*state, "state.db");
}

static void test_scrub_history(void **state)
{
	scrub(*state, "history.db");
}

/* ---- files with a log, as a killed process leaves them ---- */

static int set_up_log(void **state)
{
	struct place *p;

	set_up(state);
	p = *state;
	work(p->dir, CLOSED_AT + 1, KILLED_AT, false);
	return 0;
}

static void test_flips_of_the_log(void **state)
{
	struct place *p = *state;
	unsigned n = flips_wanted(), passed = 0, last = 0;
	struct bytes log = read_file(p->dir, "state.db-wal"), db = read_file(p->dir, "state.db");
	struct error err;
	uint64_t rows;

	assert_int_equal((log.n - WAL_HEAD) % FRAME, 0);
	if (!verifies(p->dir, "state.db", &rows, &err))
		fail_msg("%s", err.text);
	for (unsigned i = 0; i < n; i++) {
		size_t at = i < WAL_HEAD  ? i
		            : i % 10 == 0 && i % 20 ? log.n - 1 - next_random() % (4 * FRAME)
		                                    : next_random() % log.n;
		unsigned bit = (unsigned)(next_random() % 8);

		flip(p->dir, "state.db-wal", at, bit);
		if (verifies(p->dir, "state.db", &rows, &err)) {
			print_message("the log: byte %zu bit %u\n", at, bit);
			passed++;
		}
		/* The last transaction, which is of a blob, could be a power cut's. */
		if (i % 10 == 0 && strstr(err.text, "last transaction")) {
			check_starts(p->dir, KILLED_AT, true);
			write_file(p->dir, "state.db", db);
			write_file(p->dir, "state.db-wal", log);
			last++;
			continue;
		}
		if (i % 10 == 0)
			check_refused(p->dir, "the log is damaged in");
		flip(p->dir, "state.db-wal", at, bit);
	}
	print_message("the log: %u of %u flips passed (%zu frames)\n", passed, n, log.n / FRAME);
	assert_int_equal(passed, 0);
	assert_true(last > 0);
	check_starts(p->dir, KILLED_AT, false);
	free(log.p);
	free(db.p);
}

/* What is in the log too does not count in the file: it is as if nothing were wrong there. */
static void test_flips_under_a_log(void **state)
{
	struct place *p = *state;
	unsigned n = flips_wanted(), covered = 0;
	struct bytes db = read_file(p->dir, "state.db");
	struct error err;
	uint64_t good, rows;

	assert_true(verifies(p->dir, "state.db", &good, &err));
	for (unsigned i = 0; i < n; i++) {
		size_t at = next_random() % db.n;
		unsigned bit = (unsigned)(next_random() % 8);

		flip(p->dir, "state.db", at, bit);
		if (verifies(p->dir, "state.db", &rows, &err)) {
			assert_int_equal(rows, good);
			covered++;
		}
		flip(p->dir, "state.db", at, bit);
	}
	print_message("%u of %u flips were of pages that the log has\n", covered, n);
	assert_true(covered < n);
	free(db.p);
}

/* More than a bit: in the middle it is damage, in the last transaction a power cut. */
static void test_damaged_log(void **state)
{
	struct place *p = *state;
	struct bytes log = read_file(p->dir, "state.db-wal"), db = read_file(p->dir, "state.db");
	size_t frames = (log.n - WAL_HEAD) / FRAME, last = frames - 1;
	uint8_t *copy = xmemdup(log.p, log.n);
	uint64_t rows;
	struct error err;

	for (size_t i = 0; i < frames / 2; i += 3) {
		memset(copy + WAL_HEAD + i * FRAME + i % 7 * 500, 0xa5, 100);
		write_file(p->dir, "state.db-wal", (struct bytes){ copy, log.n });
		assert_false(verifies(p->dir, "state.db", &rows, &err));
		check_refused(p->dir, "the log is damaged in frame");
		memcpy(copy, log.p, log.n);
	}
	memset(copy + 8, 0xa5, 20);
	write_file(p->dir, "state.db-wal", (struct bytes){ copy, log.n });
	check_refused(p->dir, "the log is damaged in its head");

	memcpy(copy, log.p, log.n);
	memset(copy + WAL_HEAD + last * FRAME + 1000, 0xa5, 100);
	write_file(p->dir, "state.db-wal", (struct bytes){ copy, log.n });
	assert_true(verifies(p->dir, "state.db", &rows, &err));
	check_starts(p->dir, KILLED_AT, false);
	free(copy);
	free(log.p);
	free(db.p);
}

/* A power cut tears the head of a frame in the last transaction: the size behind a commit is from an
 * older log, the rest is new, and so are the frames behind it. No transaction ends there. */
static void test_torn_head(void **state)
{
	struct place *p = *state;
	struct bytes log = read_file(p->dir, "state.db-wal");
	size_t last = (log.n - WAL_HEAD) / FRAME - 1, i = last - 2;
	uint8_t *head = log.p + WAL_HEAD + i * FRAME;
	uint64_t rows;
	struct error err;

	memcpy(head + 4, "\0\0\0\x2e", 4);
	write_file(p->dir, "state.db-wal", log);
	assert_memory_equal(head + FRAME + 4, "\0\0\0", 4); /* nor in the next one */
	assert_true(verifies(p->dir, "state.db", &rows, &err));
	check_starts(p->dir, KILLED_AT, false);
	free(log.p);
}

/* ---- files of before there were sums ---- */

#define DISK       "pages disk"
#define OTHER_DISK "pages disk after the cut"
#define FEW        300
#define SUMS_VERSION 24 /* of state.db: the first whose pages have sums */
#define MANY       20000 /* rows: some 2 MB */

/* A state.db of the version before sums, with enough rows for some pages. */
static void make_old(const char *vfs, const char *path, unsigned rows)
{
	char text[400];
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs),
	        SQLITE_OK);
	sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL", NULL, NULL,
	        NULL);
	for (int step = 0; step < SUMS_VERSION - 1; step++)
		assert_int_equal(
		        sqlite3_exec(db, sql_state_schema.steps[step], NULL, NULL, NULL), SQLITE_OK);
	snprintf(text, sizeof(text),
	        "PRAGMA user_version = %d;"
	        "INSERT INTO meta VALUES ('cluster', 'test'), ('sum', 'of before');"
	        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %u) "
	        "INSERT INTO nonce SELECT 1000, randomblob(60), x'01', i, i FROM n",
	        SUMS_VERSION - 1, rows);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static struct store *open_store(const char *dir, const char *vfs)
{
	struct store_options options = { .dir = dir,
		.cluster = "test",
		.reserve_kb = 64,
		.vfs = vfs,
		.synchronous_only = true };
	struct error err;
	struct store *store = store_open(&options, NULL, &err);

	if (!store)
		fail_msg("%s", err.text);
	return store;
}

static int count_nonces(void *arg, const struct row *row, struct error *err)
{
	(void)err;
	*(unsigned *)arg += row->table == TABLE_NONCE;
	return 0;
}

static void check_nonces(struct store *store, unsigned rows)
{
	unsigned n = 0;
	struct error err;

	assert_int_equal(store_load(store, count_nonces, &n, &err), 0);
	assert_int_equal(n, rows);
}

static void test_old_file(void **state)
{
	char *dir = fixture_mkdir(), *path = path_in(dir, "state.db");
	struct verified verified;
	struct bytes b;
	uint64_t rows;
	struct error err;

	(void)state;
	make_old(NULL, path, FEW);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(store_verify(path, add_row, &rows, &verified, NULL, NULL, &err), 0);
	assert_false(verified.summed);
	for (int i = 0; i < 2; i++) {
		struct store *store = open_store(dir, NULL);

		check_nonces(store, FEW);
		store_close(store);
	}
	assert_int_equal(store_verify(path, add_row, &rows, &verified, NULL, NULL, &err), 0);
	assert_true(verified.summed);
	b = read_file(dir, "state.db");
	flip(dir, "state.db", b.n - 10, 1);
	check_refused(dir, "damaged");
	free(b.p);
	free(path);
	fixture_rmdir(dir);
}

struct cutter {
	struct fault_vfs *disk;
	unsigned seen, cuts;
};

static void cut_here(void *arg, enum fault_op op)
{
	struct cutter *cutter = arg;
	struct fault_vfs *left;
	struct store *store;

	if (op == FAULT_WRITE && cutter->seen++ % 4)
		return;
	left = fault_vfs_after_cut(cutter->disk, OTHER_DISK, cutter->cuts * 7919 + 1);
	for (int i = 0; i < 2; i++) {
		store = open_store("", OTHER_DISK);
		check_nonces(store, FEW);
		store_close(store);
	}
	fault_vfs_free(left);
	cutter->cuts++;
}

/* The power fails while it gets them. */
static void test_old_file_cut(void **state)
{
	struct fault_vfs *disk = fault_vfs_new(DISK, 1);
	struct cutter cutter = { .disk = disk };
	struct store *store;

	(void)state;
	make_old(DISK, "/state.db", FEW);
	fault_vfs_hook(disk, FAULT_CHANGES, cut_here, &cutter);
	store = open_store("", DISK);
	fault_vfs_hook(disk, 0, NULL, NULL);
	check_nonces(store, FEW);
	store_close(store);
	print_message("%u cuts\n", cutter.cuts);
	assert_true(cutter.cuts > 40);
	fault_vfs_free(disk);
}

/* Without room for it the file stays as it is, and gets them at a later start. */
static void test_old_file_full_disk(void **state)
{
	struct fault_vfs *disk = fault_vfs_new(DISK, 1);
	struct store_stats stats;
	struct store *store;

	(void)state;
	make_old(DISK, "/state.db", MANY);
	fault_vfs_capacity(disk, fault_vfs_used(disk) + 1000000);
	store = open_store("", DISK);
	store_stats(store, &stats);
	assert_true(stats.no_sums);
	check_nonces(store, MANY);
	store_close(store);
	fault_vfs_capacity(disk, 0);
	store = open_store("", DISK);
	store_stats(store, &stats);
	assert_false(stats.no_sums);
	check_nonces(store, MANY);
	store_close(store);
	fault_vfs_free(disk);
}

int main(void)
{
#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define WITH_LOG(test)   cmocka_unit_test_setup_teardown(test, set_up_log, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_FILES(test_flips),
		WITH_FILES(test_head),
		WITH_FILES(test_each_page),
		WITH_FILES(test_whole_pages),
		WITH_FILES(test_parts_of_pages),
		WITH_FILES(test_backup_of_damage),
		WITH_FILES(test_scrub_state),
		WITH_LOG(test_flips_of_the_log),
		WITH_FILES(test_scrub_history),
		WITH_LOG(test_flips_of_the_log),
		WITH_LOG(test_flips_under_a_log),
		WITH_LOG(test_damaged_log),
		WITH_LOG(test_torn_head),
		cmocka_unit_test(test_old_file),
		cmocka_unit_test(test_old_file_cut),
		cmocka_unit_test(test_old_file_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
