/* bench_store.c - the store beside what the disk and SQLite give it, in one run
 *
 * Prints lines "NAME VALUE UNIT". The raw figures use the same rows, tables and settings without
 * the store; what the store loses against them is what its own work costs (copies into batches, the
 * hand-over to its thread and back through the loop).
 * usage: bench_store FOLDER
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/store/db.h"
#include "testsuite/unit/lib/store_fixture.h"

#define MEASURE_S 1.0
#define LOAD_ROWS 100000

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	fprintf(stderr, "bench_store: error: %s\n", what);
	exit(1);
}

static void say(const char *name, double value, const char *unit)
{
	printf("%-28s %12.0f %s\n", name, value, unit);
	fflush(stdout);
}

static char *folder(const char *in, const char *name)
{
	char *path = xasprintf("%s/%s", in, name);

	if (mkdir(path, 0700) < 0)
		die(strerror(errno));
	return path;
}

/* ---- the disk ---- */

static void bench_append(const char *dir, const char *name, size_t size)
{
	char *path = xasprintf("%s/append", dir), *bytes = xcalloc(1, size);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	double start = now_s(), end;
	long n = 0;

	if (fd < 0)
		die(strerror(errno));
	do {
		if (write(fd, bytes, size) != (ssize_t)size || fdatasync(fd) < 0)
			die(strerror(errno));
		n++;
		end = now_s();
	} while (end - start < MEASURE_S);
	close(fd);
	unlink(path);
	say(name, (double)n / (end - start), "syncs/s");
	free(path);
	free(bytes);
}

/* ---- rows as a cluster has them ---- */

struct job_texts {
	char nonce[16], hash[32], output[64];
	char spec[2000], credential[400];
};

static void set_int(struct value *v, int64_t i)
{
	*v = (struct value){ .type = VALUE_INT, .i = i };
}

static void set_bytes(struct value *v, const void *p, size_t n)
{
	v->p = p;
	v->n = n;
}

/* A job row: short texts where users have short texts. */
static void job_row(struct row *row, struct job_texts *texts, uint64_t id)
{
	const struct fixture_table *shape = &fixture_tables[TABLE_JOB];

	row->table = TABLE_JOB;
	row->change = ROW_PUT;
	row->n = shape->n_columns;
	for (size_t i = 0; i < 8; i++)
		memcpy(texts->nonce + 8 * (i % 2), &id, 8);
	for (size_t i = 0; i < row->n; i++) {
		struct value *v = &row->v[i];

		v->type = shape->columns[i].type;
		if (v->type == VALUE_INT)
			set_int(v, (int64_t)(id * 31 + i) % 100000);
		else
			set_bytes(v, "inference", 9);
	}
	set_int(&row->v[COL_JOB_id], (int64_t)id);
	set_int(&row->v[COL_JOB_part], 0);
	for (size_t i = 0; i < row->n; i++) {
		const char *name = shape->columns[i].name;

		if (!strcmp(name, "nonce"))
			set_bytes(&row->v[i], texts->nonce, sizeof(texts->nonce));
		else if (!strcmp(name, "spec_hash"))
			set_bytes(&row->v[i], texts->hash, sizeof(texts->hash));
		else if (!strcmp(name, "cwd") || !strcmp(name, "output"))
			set_bytes(&row->v[i], texts->output, sizeof(texts->output));
		else if (!strcmp(name, "comment") || !strcmp(name, "labels"))
			set_bytes(&row->v[i], "", 0);
	}
}

static void nonce_row(struct row *row, const struct job_texts *texts, uint64_t id)
{
	row->table = TABLE_NONCE;
	row->change = ROW_PUT;
	row->n = 5;
	set_int(&row->v[0], 1000);
	row->v[1] = (struct value){ VALUE_BLOB, 0, texts->nonce, sizeof(texts->nonce) };
	row->v[2] = (struct value){ VALUE_BLOB, 0, texts->hash, sizeof(texts->hash) };
	set_int(&row->v[3], (int64_t)id);
	set_int(&row->v[4], 0);
}

static void event_row(struct row *row, uint64_t seq)
{
	row->table = TABLE_EVENT;
	row->change = ROW_PUT;
	row->n = 8;
	set_int(&row->v[0], (int64_t)seq);
	set_int(&row->v[1], (int64_t)seq);
	row->v[2] = (struct value){ VALUE_TEXT, 0, "job.submit", 10 };
	set_int(&row->v[3], 1000);
	row->v[4] = (struct value){ VALUE_TEXT, 0, "login", 5 };
	set_int(&row->v[5], (int64_t)seq);
	row->v[6] = row->v[7] = (struct value){ VALUE_TEXT, 0, "", 0 };
}

/* ---- SQLite without the store ---- */

static double bench_raw(const char *in, const char *name, unsigned rows_a_commit, const char *unit)
{
	char *dir = folder(in, name), *path = xasprintf("%s/state.db", dir);
	struct job_texts texts = { .nonce = { 0 } };
	sqlite3_stmt *put, *begin, *commit;
	struct error err;
	struct row row;
	struct db db;
	double start, end, rate;
	uint64_t id = 0;

	if (db_open(&db, path, NULL, &sql_state_schema, &err) < 0)
		die(err.text);
	if (db_prepare_table(&db, TABLE_JOB, SQL_PUT, &put, &err) < 0)
		die(err.text);
	begin = db_prepare(&db, sql_statements[SQL_BEGIN], &err);
	commit = db_prepare(&db, sql_statements[SQL_COMMIT], &err);
	start = now_s();
	do {
		int rc = db_run(&db, begin, NULL, &err);

		for (unsigned i = 0; i < rows_a_commit && rc == 0; i++) {
			job_row(&row, &texts, ++id);
			rc = db_bind(&db, put, 1, row.v, row.n, &err) < 0 ||
			     db_run(&db, put, NULL, &err) < 0;
		}
		if (rc != 0 || db_run(&db, commit, NULL, &err) < 0)
			die(err.text);
		if (db.wal_pages > 4000 && db_checkpoint(&db, &err) < 0)
			die(err.text);
		end = now_s();
	} while (end - start < MEASURE_S);
	sqlite3_finalize(put);
	sqlite3_finalize(begin);
	sqlite3_finalize(commit);
	db_close(&db);
	rate = (double)id / (end - start);
	say(name, rate, unit);
	free(path);
	fixture_rmdir(dir);
	return rate;
}

/* ---- the store ---- */

enum load { LOAD_ROW, LOAD_SUBMIT, LOAD_LIFE };

struct run {
	struct store *store;
	struct event_base *base;
	struct job_texts texts;
	enum load load;
	unsigned jobs_a_commit;
	uint64_t next, committed, events;
	double start, end;
};

static void fill(struct run *run, struct store_batch *batch)
{
	struct row row;

	for (unsigned i = 0; i < run->jobs_a_commit; i++) {
		uint64_t id = ++run->next;
		const struct store_blob blob = { .job = id,
			.spec = run->texts.spec,
			.spec_len = sizeof(run->texts.spec),
			.script = "#!/bin/sh\nexec infer \"$@\"\n",
			.script_len = 26,
			.credential = run->texts.credential,
			.credential_len = sizeof(run->texts.credential) };

		job_row(&row, &run->texts, id);
		store_batch_row(batch, &row);
		if (run->load == LOAD_ROW)
			continue;
		nonce_row(&row, &run->texts, id);
		store_batch_row(batch, &row);
		event_row(&row, ++run->events);
		store_batch_row(batch, &row);
		memcpy(run->texts.credential, &id, sizeof(id));
		store_batch_blob(batch, &blob);
		if (run->load != LOAD_LIFE || id <= 1000)
			continue;
		job_row(&row, &run->texts, id - 1000);
		store_batch_row(batch, &row);
		event_row(&row, ++run->events);
		store_batch_row(batch, &row);
		row.table = TABLE_JOB;
		row.change = ROW_RETIRE;
		row.n = fixture_tables[TABLE_JOB].n_keys;
		set_int(&row.v[0], (int64_t)id - 1000);
		set_int(&row.v[1], 0);
		store_batch_row(batch, &row);
	}
}

static void next_commit(struct run *run);

static void on_done(void *arg, const struct store_result *result, const struct error *err)
{
	struct run *run = arg;

	(void)result;
	if (err)
		die(err->text);
	run->committed = run->next;
	run->end = now_s();
	if (run->end - run->start < MEASURE_S)
		next_commit(run);
	else
		event_base_loopbreak(run->base);
}

static void next_commit(struct run *run)
{
	struct store_batch *batch = store_batch_new(run->store);

	fill(run, batch);
	store_commit(run->store, batch, on_done, run);
}

static struct store *open_store(const char *dir, struct event_base *base)
{
	struct store_options options = { .dir = dir, .cluster = "bench" };
	struct error err;
	struct store *store = store_open(&options, base, &err);

	if (!store)
		die(err.text);
	return store;
}

static void bench_store(
        const char *in, const char *name, enum load load, unsigned jobs_a_commit, const char *unit)
{
	char *dir = folder(in, name), text[64];
	struct run run = { .base = event_base_new(), .load = load, .jobs_a_commit = jobs_a_commit };
	struct store_stats stats;

	run.store = open_store(dir, run.base);
	run.start = now_s();
	next_commit(&run);
	event_base_dispatch(run.base);
	store_stats(run.store, &stats);
	say(name, (double)run.committed / (run.end - run.start), unit);
	snprintf(text, sizeof(text), "%s_longest", name);
	say(text, (double)stats.max_commit_us, "us");
	if (load == LOAD_LIFE) {
		snprintf(text, sizeof(text), "%s_moved", name);
		say(text, (double)stats.history_rows / (run.end - run.start), "rows/s");
		snprintf(text, sizeof(text), "%s_behind", name);
		say(text, (double)stats.history_behind, "rows");
	}
	store_close(run.store);
	event_base_free(run.base);
	fixture_rmdir(dir);
}

/* ---- a restart ---- */

static int take(void *arg, const struct row *row, struct error *err)
{
	(void)err;
	*(uint64_t *)arg += row->table == TABLE_JOB;
	return 0;
}

static void bench_load(const char *in)
{
	char *dir = folder(in, "load");
	struct run run = { .base = event_base_new(), .load = LOAD_SUBMIT, .jobs_a_commit = 1000 };
	uint64_t n = 0;
	struct error err;
	double start;

	run.store = open_store(dir, run.base);
	while (run.next < LOAD_ROWS) {
		struct store_batch *batch = store_batch_new(run.store);

		fill(&run, batch);
		if (fixture_commit(run.store, run.base, batch, NULL, NULL, &err) < 0)
			die(err.text);
	}
	store_close(run.store);
	start = now_s();
	run.store = open_store(dir, run.base);
	if (store_load(run.store, take, &n, &err) < 0 || n != LOAD_ROWS)
		die("load");
	say("store_open_and_load", (double)n / (now_s() - start), "jobs/s");
	store_close(run.store);
	event_base_free(run.base);
	fixture_rmdir(dir);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: bench_store FOLDER\n");
		return 2;
	}
	bench_append(argv[1], "append_4_KiB_fdatasync", 4096);
	bench_append(argv[1], "append_64_KiB_fdatasync", 65536);
	bench_raw(argv[1], "sqlite_1_row", 1, "commits/s");
	bench_raw(argv[1], "sqlite_100_rows", 100, "rows/s");
	bench_raw(argv[1], "sqlite_1000_rows", 1000, "rows/s");
	bench_store(argv[1], "store_1_row", LOAD_ROW, 1, "commits/s");
	bench_store(argv[1], "store_100_rows", LOAD_ROW, 100, "rows/s");
	bench_store(argv[1], "store_1000_rows", LOAD_ROW, 1000, "rows/s");
	bench_store(argv[1], "store_1_submit", LOAD_SUBMIT, 1, "submits/s");
	bench_store(argv[1], "store_100_submits", LOAD_SUBMIT, 100, "submits/s");
	bench_store(argv[1], "store_1000_submits", LOAD_SUBMIT, 1000, "submits/s");
	bench_store(argv[1], "store_100_whole_lives", LOAD_LIFE, 100, "jobs/s");
	bench_load(argv[1]);
	return 0;
}
