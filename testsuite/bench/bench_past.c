/* bench_past.c - questions about the past of a large history.db, while it is written to
 *
 * Prints lines "NAME VALUE UNIT". Makes a history of JOBS jobs of 20 users over a year, one run
 * each, and asks for one user's last day: alone, and while slices of ended jobs are committed
 * without a pause. A history that is there already is filled up to JOBS; one that has as many, or
 * JOBS 0, is only asked.
 * usage: bench_past FOLDER [JOBS]
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sqlite3.h>

#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/store/batch_items.h"
#include "ctld/store/db.h"
#include "ctld/store/history_reader.h"
#include "ctld/store/history_writer.h"
#include "testsuite/unit/lib/store_fixture.h"

#define USERS      20
#define YEAR       (365 * 86400LL * 1000000)
#define DAY        (86400LL * 1000000)
#define NOW        (1800000000LL * 1000000)
#define SLICE      256
#define TIMES      20000 /* at most */
#define MEASURE_MS 1000

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void die(const char *what)
{
	fprintf(stderr, "bench_past: error: %s\n", what);
	exit(1);
}

static void say(const char *name, double value, const char *unit)
{
	printf("%-28s %12.3f %s\n", name, value, unit);
	fflush(stdout);
}

static char user_names[USERS][16];

static void text(struct row *row, size_t column, const char *s)
{
	row->v[column] = (struct value){ .type = VALUE_TEXT, .p = s, .n = strlen(s) };
}

/* As long as usual: names, paths. */
static void shorten(struct row *row)
{
	for (size_t i = 0; i < row->n; i++)
		if (row->v[i].type == VALUE_TEXT && row->v[i].n > 20)
			row->v[i].n = 20;
}

/* Job `id` of `jobs` and its run. */
static void put_job(struct store_batch *batch, uint64_t id, uint64_t jobs)
{
	struct fixture_room room;
	struct row row;

	fixture_row(&row, &room, TABLE_RUN, id, 0);
	row.v[COL_RUN_attempt].i = 1;
	shorten(&row);
	store_batch_row(batch, &row);
	fixture_row(&row, &room, TABLE_JOB, id, 0);
	shorten(&row);
	text(&row, COL_JOB_user, user_names[id * 7919 % USERS]);
	text(&row, COL_JOB_account, id % 3 ? "research" : "serving");
	row.v[COL_JOB_end_time].i =
	        NOW - YEAR + (int64_t)((double)YEAR * (double)id / (double)jobs);
	store_batch_row(batch, &row);
}

static void give(struct history *history, struct store_batch *batch)
{
	struct error err;

	if (history_give(history, batch, (struct store_trim){ 0 }, &err) < 0 ||
	        history_look(history, &err) != HISTORY_COPIED)
		die(err.text);
	history_rest(history);
	batch_reset(batch);
}

/* The jobs that are there, and when the last of them ended. */
static uint64_t there(const char *path, int64_t *last)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	uint64_t jobs;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
	        sqlite3_prepare_v2(db,
	                "SELECT (SELECT max(id) FROM job), (SELECT max(end_time) FROM job)", -1,
	                &stmt, NULL) != SQLITE_OK ||
	        sqlite3_step(stmt) != SQLITE_ROW)
		die("the history cannot be read");
	jobs = (uint64_t)sqlite3_column_int64(stmt, 0);
	*last = sqlite3_column_int64(stmt, 1);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return jobs;
}

static void fill(struct history *history, uint64_t have, uint64_t jobs)
{
	struct store_batch *batch = batch_new();

	for (uint64_t id = have + 1; id <= jobs; id++) {
		put_job(batch, id, jobs);
		if (id % 20000 == 0 || id == jobs)
			give(history, batch);
	}
	batch_free(batch);
}

static bool want(void *arg, const struct row *row)
{
	++*(size_t *)arg;
	return row->n > 0;
}

/* One user's last day, all slices. */
static double ask(struct past *past, const char *user, int64_t last, size_t *jobs)
{
	char *keys[] = { (char *)user };
	const struct past_query query = { .by = PAST_BY_USER,
		.keys = keys,
		.n = 1,
		.since = last - DAY,
		.wants = want,
		.arg = jobs };
	struct store_batch *batch = batch_new();
	struct past_cursor cursor = { 0 };
	double begin = now_ms();
	struct error err;

	*jobs = 0;
	while (!cursor.end) {
		batch_reset(batch);
		if (past_jobs(past, &query, &cursor, PAST_SLICE, batch, &err) < 0)
			die(err.text);
	}
	begin = now_ms() - begin;
	batch_free(batch);
	return begin;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(struct past *past, const char *name, int64_t last)
{
	static double ms[TIMES];
	size_t jobs = 0, asked = 0, n;
	double begin = now_ms();
	char line[64];

	for (; asked < TIMES && now_ms() - begin < MEASURE_MS; asked++) {
		ms[asked] = ask(past, user_names[asked * 17 % USERS], last, &n);
		jobs += n;
	}
	qsort(ms, asked, sizeof(*ms), compare);
	snprintf(line, sizeof(line), "past_%s_p50", name);
	say(line, ms[asked / 2], "ms");
	snprintf(line, sizeof(line), "past_%s_max", name);
	say(line, ms[asked - 1], "ms");
	snprintf(line, sizeof(line), "past_%s_jobs", name);
	say(line, (double)jobs / (double)asked, "");
}

/* The writer beside the questions. */
struct writer {
	struct history *history;
	uint64_t jobs;
	atomic_bool stop;
	uint64_t commits;
	double ms;
};

static void *write_on(void *arg)
{
	struct store_batch *batch = batch_new();
	struct writer *w = arg;
	uint64_t id = w->jobs;
	double begin = now_ms();

	while (!w->stop) {
		for (int i = 0; i < SLICE / 2; i++)
			put_job(batch, ++id, w->jobs);
		give(w->history, batch);
		w->commits++;
	}
	w->ms = now_ms() - begin;
	batch_free(batch);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t jobs = argc > 2 ? strtoull(argv[2], NULL, 10) : 200000, have;
	struct writer w = { 0 };
	struct history *history;
	struct past *past;
	pthread_t thread;
	struct error err;
	int64_t last;
	double begin;
	char *path;

	if (argc < 2)
		die("usage: bench_past FOLDER [JOBS]");
	for (size_t i = 0; i < USERS; i++)
		snprintf(user_names[i], sizeof(user_names[i]), "user%zu", i);
	path = xasprintf("%s/history.db", argv[1]);
	history = history_open(path, NULL, "bench", NULL, NULL, &err);
	if (!history)
		die(err.text);
	begin = now_ms();
	have = there(path, &last);
	if (have < jobs) {
		fill(history, have, jobs);
		say("past_fill", (double)(jobs - have) / (now_ms() - begin) * 1e3, "jobs/s");
	}
	w.jobs = there(path, &last);
	if (!w.jobs)
		die("the history is empty");
	say("past_jobs", (double)w.jobs, "");
	past = past_open(argv[1], &err);
	if (!past)
		die(err.text);
	measure(past, "first", last); /* most of it is not in SQLite's memory */
	measure(past, "alone", last);
	w.history = history;
	if (pthread_create(&thread, NULL, write_on, &w) != 0)
		die("no thread");
	measure(past, "written", last);
	w.stop = true;
	pthread_join(thread, NULL);
	say("past_commits", (double)w.commits / w.ms * 1e3, "/s");
	past_close(past);
	history_close(history);
	free(path);
	return 0;
}
