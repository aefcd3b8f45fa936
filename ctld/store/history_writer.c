/* history_writer.c - see history_writer.h */
#include "config.h"

#include "ctld/store/history_writer.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/failpoint.h"
#include "common/base/xalloc.h"
#include "ctld/store/db.h"

#define CHECKPOINT_PAGES 1000

/* Rows whose deletion a caller waits for. */
struct drop {
	const struct store_batch *rows;
	struct error error;
	bool done, failed;
};

struct history {
	struct db db;
	sqlite3_stmt *put[TABLE_COUNT], *del[TABLE_COUNT], *trims[SQL_TRIM_COUNT];
	sqlite3_stmt *begin, *commit, *rollback;
	history_wake_fn *wake;
	void *arg;
	pthread_t thread;
	/* shared by the store's thread, the history thread, and callers of history_drop() */
	pthread_mutex_t lock;
	pthread_cond_t work, dropped;
	bool has_thread;
	bool is_broken; /* a write or sync failed: no more of them */
	struct drop *drop;
	bool scrub_wanted;
	struct scrub scrub;
	enum history_state state;
	bool closing;
	const struct store_batch *slice;
	struct store_trim trim; /* that goes with the slice */
	bool has_more;          /* as old as that, after the last slice */
	struct error error;
};

static int insert_all(struct history *history, const struct store_batch *slice, struct error *err)
{
	struct batch_item item;
	size_t offset = 0;

	while (batch_next(slice, &offset, &item)) {
		sqlite3_stmt *put = history->put[item.row.table];

		if (db_bind(&history->db, put, 1, item.row.v, item.row.n, err) < 0 ||
		        db_run(&history->db, put, NULL, err) < 0)
			return -1;
	}
	return 0;
}

/* The job that ended first, if it is too old: 1; none is: 0. */
static int trim_find(struct history *history, int64_t *id, int64_t *part, struct error *err)
{
	int64_t found[2];
	int rc;

	sqlite3_bind_int64(history->trims[TRIM_FIND], 1, history->trim.jobs);
	rc = db_integers(&history->db, history->trims[TRIM_FIND], found, 2, err);
	*id = found[0];
	*part = found[1];
	return rc;
}

static int trim_two(
        struct history *history, enum sql_trim which, int64_t a, int64_t b, struct error *err)
{
	db_bind_integers(history->trims[which], 1, (const int64_t[]){ a, b }, 2);
	return db_run(&history->db, history->trims[which], NULL, err);
}

/* What is too old goes: jobs with their runs and steps, events. */
static int trim_all(struct history *history, struct error *err)
{
	int64_t id, part;
	int found = 1, n = 0;

	for (; history->trim.jobs > 0 && n < STORE_TRIMMED_MAX; n++) {
		found = trim_find(history, &id, &part, err);
		if (found <= 0)
			break;
		if (trim_two(history, TRIM_JOB, id, part, err) < 0 ||
		        trim_two(history, TRIM_RUNS, id, part ? part - 1 : 0, err) < 0 ||
		        trim_two(history, TRIM_STEPS, id, part ? part - 1 : 0, err) < 0)
			return -1;
	}
	history->has_more = n == STORE_TRIMMED_MAX;
	if (found < 0 || history->trim.events <= 0)
		return found < 0 ? -1 : 0;
	if (trim_two(history, TRIM_EVENTS, history->trim.events, STORE_TRIMMED_MAX, err) < 0)
		return -1;
	if (sqlite3_changes(history->db.handle) == STORE_TRIMMED_MAX)
		history->has_more = true;
	return 0;
}

/* It could not be written: nothing of it is. */
static int give_up(struct history *history, const struct error *err)
{
	if (!sqlite3_get_autocommit(history->db.handle))
		db_run(&history->db, history->rollback, NULL, NULL);
	if (err->code != ERR_NO_SPACE) {
		db_abandon(&history->db);
		history->is_broken = true;
	}
	return -1;
}

static int begin_transaction(struct history *history, struct error *err)
{
	if (history->is_broken)
		return error_set(err, ERR_SYSTEM, "history.db: an earlier write failed");
	return db_run(&history->db, history->begin, NULL, err);
}

static int make_room(struct history *history, struct error *err)
{
	return history->db.wal_pages < CHECKPOINT_PAGES ? 0 : db_checkpoint(&history->db, err);
}

static int copy(struct history *history, const struct store_batch *slice, struct error *err)
{
	if (begin_transaction(history, err) < 0)
		return -1;
	if (insert_all(history, slice, err) < 0 || trim_all(history, err) < 0)
		return give_up(history, err);
	FAILPOINT(history_before_commit);
	if (db_run(&history->db, history->commit, NULL, err) < 0)
		return give_up(history, err);
	FAILPOINT(history_after_commit);
	return make_room(history, err) < 0 ? give_up(history, err) : 0;
}

static int delete_all(struct history *history, const struct store_batch *rows, struct error *err)
{
	struct batch_item item;
	size_t offset = 0;

	while (batch_next(rows, &offset, &item)) {
		sqlite3_stmt *del = history->del[item.row.table];
		size_t n_keys = (size_t)sqlite3_bind_parameter_count(del);

		if (db_bind(&history->db, del, 1, item.row.v, n_keys, err) < 0 ||
		        db_run(&history->db, del, NULL, err) < 0)
			return -1;
	}
	return 0;
}

static int drop_all(struct history *history, const struct store_batch *rows, struct error *err)
{
	if (begin_transaction(history, err) < 0)
		return -1;
	if (delete_all(history, rows, err) < 0)
		return give_up(history, err);
	FAILPOINT(archive_before_drop);
	if (db_run(&history->db, history->commit, NULL, err) < 0)
		return give_up(history, err);
	FAILPOINT(archive_after_drop);
	return make_room(history, err) < 0 ? give_up(history, err) : 0;
}

/* Under the lock, which it leaves meanwhile. */
static void do_drop(struct history *history)
{
	struct drop *drop = history->drop;

	pthread_mutex_unlock(&history->lock);
	drop->failed = drop_all(history, drop->rows, &drop->error) < 0;
	pthread_mutex_lock(&history->lock);
	history->drop = NULL;
	drop->done = true;
	pthread_cond_broadcast(&history->dropped);
}

/* Likewise. */
static void do_scrub(struct history *history)
{
	struct scrub scrub = history->scrub;

	history->scrub_wanted = false;
	pthread_mutex_unlock(&history->lock);
	db_scrub(&history->db, &scrub);
	pthread_mutex_lock(&history->lock);
	history->scrub = scrub;
}

static void *history_thread(void *arg)
{
	struct history *history = arg;
	struct error err;
	int rc;

	pthread_mutex_lock(&history->lock);
	while (history->state == HISTORY_WORKING || history->drop || !history->closing) {
		if (history->state != HISTORY_WORKING && history->drop) {
			do_drop(history);
			continue;
		}
		if (history->state != HISTORY_WORKING && history->scrub_wanted) {
			do_scrub(history);
			continue;
		}
		if (history->state != HISTORY_WORKING) {
			pthread_cond_wait(&history->work, &history->lock);
			continue;
		}
		pthread_mutex_unlock(&history->lock);
		rc = copy(history, history->slice, &err);
		pthread_mutex_lock(&history->lock);
		history->state = rc < 0 ? HISTORY_FAILED : HISTORY_COPIED;
		if (rc < 0)
			history->error = err;
		pthread_mutex_unlock(&history->lock);
		history->wake(history->arg);
		pthread_mutex_lock(&history->lock);
	}
	pthread_mutex_unlock(&history->lock);
	return NULL;
}

static int start_thread(struct history *history, struct error *err)
{
	sigset_t all, old;
	int rc;

	if (history->has_thread)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&history->thread, NULL, history_thread, history);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc != 0)
		return error_set(err, ERR_SYSTEM, "pthread_create: %s", strerror(rc));
	history->has_thread = true;
	return 0;
}

int history_give(struct history *history, const struct store_batch *slice, struct store_trim trim,
        struct error *err)
{
	int rc;

	assert(history->state == HISTORY_IDLE);
	if (!history->wake) {
		history->trim = trim;
		history->slice = slice;
		history->state =
		        copy(history, slice, &history->error) < 0 ? HISTORY_FAILED : HISTORY_COPIED;
		return 0;
	}
	pthread_mutex_lock(&history->lock);
	rc = start_thread(history, err);
	if (rc == 0) {
		history->slice = slice;
		history->trim = trim;
		history->state = HISTORY_WORKING;
		pthread_cond_signal(&history->work);
	}
	pthread_mutex_unlock(&history->lock);
	return rc;
}

void history_scrub(struct history *history)
{
	struct error err;

	pthread_mutex_lock(&history->lock);
	history->scrub_wanted = true;
	if (!history->wake)
		do_scrub(history);
	else if (start_thread(history, &err) == 0)
		pthread_cond_signal(&history->work);
	pthread_mutex_unlock(&history->lock);
}

struct scrub history_scrubbed(struct history *history)
{
	struct scrub scrub;

	pthread_mutex_lock(&history->lock);
	scrub = history->scrub;
	pthread_mutex_unlock(&history->lock);
	return scrub;
}

int history_drop(struct history *history, const struct store_batch *rows, struct error *err)
{
	struct drop drop = { .rows = rows };
	int rc;

	if (!history->wake)
		return drop_all(history, rows, err);
	pthread_mutex_lock(&history->lock);
	rc = start_thread(history, err);
	while (rc == 0 && history->drop)
		pthread_cond_wait(&history->dropped, &history->lock);
	if (rc == 0) {
		history->drop = &drop;
		pthread_cond_signal(&history->work);
		while (!drop.done)
			pthread_cond_wait(&history->dropped, &history->lock);
	}
	pthread_mutex_unlock(&history->lock);
	if (!drop.failed)
		return rc;
	*err = drop.error;
	return -1;
}

enum history_state history_look(struct history *history, struct error *err)
{
	enum history_state state;

	pthread_mutex_lock(&history->lock);
	state = history->state;
	if (state == HISTORY_FAILED)
		*err = history->error;
	pthread_mutex_unlock(&history->lock);
	return state;
}

bool history_has_more(const struct history *history)
{
	return history->has_more;
}

void history_rest(struct history *history)
{
	pthread_mutex_lock(&history->lock);
	assert(history->state == HISTORY_COPIED || history->state == HISTORY_FAILED);
	history->state = HISTORY_IDLE;
	history->slice = NULL;
	pthread_mutex_unlock(&history->lock);
}

static int prepare_all(struct history *history, struct error *err)
{
	const struct db *db = &history->db;

	for (int t = 0; t < TABLE_COUNT; t++)
		if (db_prepare_table(db, t, SQL_HISTORY_PUT, &history->put[t], err) < 0 ||
		        db_prepare_table(db, t, SQL_HISTORY_DELETE, &history->del[t], err) < 0)
			return -1;
	for (int t = 0; t < SQL_TRIM_COUNT; t++) {
		history->trims[t] = db_prepare(&history->db, sql_trims[t], err);
		if (!history->trims[t])
			return -1;
	}
	history->begin = db_prepare(&history->db, sql_statements[SQL_BEGIN], err);
	history->commit = db_prepare(&history->db, sql_statements[SQL_COMMIT], err);
	history->rollback = db_prepare(&history->db, sql_statements[SQL_ROLLBACK], err);
	return history->begin && history->commit && history->rollback ? 0 : -1;
}

struct history *history_open(const char *path, const char *vfs, const char *cluster,
        history_wake_fn *wake, void *arg, struct error *err)
{
	struct history *history = xcalloc(1, sizeof(*history));

	if (db_open(&history->db, path, vfs, &sql_history_schema, err) < 0) {
		free(history);
		return NULL;
	}
	history->wake = wake;
	history->arg = arg;
	pthread_mutex_init(&history->lock, NULL);
	pthread_cond_init(&history->work, NULL);
	pthread_cond_init(&history->dropped, NULL);
	if (db_cluster(&history->db, cluster, err) == 0 && prepare_all(history, err) == 0)
		return history;
	history_close(history);
	return NULL;
}

const struct db *history_db(const struct history *history)
{
	return &history->db;
}

void history_close(struct history *history)
{
	if (!history)
		return;
	if (history->has_thread) {
		pthread_mutex_lock(&history->lock);
		history->closing = true;
		pthread_cond_signal(&history->work);
		pthread_mutex_unlock(&history->lock);
		pthread_join(history->thread, NULL);
	}
	for (int t = 0; t < TABLE_COUNT; t++) {
		sqlite3_finalize(history->put[t]);
		sqlite3_finalize(history->del[t]);
	}
	for (int t = 0; t < SQL_TRIM_COUNT; t++)
		sqlite3_finalize(history->trims[t]);
	sqlite3_finalize(history->begin);
	sqlite3_finalize(history->commit);
	sqlite3_finalize(history->rollback);
	db_close(&history->db);
	pthread_cond_destroy(&history->work);
	pthread_cond_destroy(&history->dropped);
	pthread_mutex_destroy(&history->lock);
	free(history);
}
