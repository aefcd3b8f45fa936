/* store_thread.c - the store of store.h, as a thread beside the loop
 *
 * The loop fills a batch, passes it on and learns of its commit through an eventfd; the store's
 * thread commits what it is given and does chores while there is nothing to commit. They share the
 * fields under the lock. What the work is stands in commit_and_chores.c. In synchronous mode there
 * is no thread and the loop's side does the same work.
 */
#include "config.h"

#include "ctld/store/store.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/failpoint.h"
#include "common/base/fd_close.h"
#include "common/base/xalloc.h"
#include "common/net/event_end.h"
#include "ctld/store/backup.h"
#include "ctld/store/commit_and_chores.h"

#define QUIET_US          500000            /* without a commit for so long: time for chores */
#define FLUSH_LOOK_US     2000              /* at most so long until a flush goes on */
#define WANTED_KEEP       (4 * 1024 * 1024) /* a larger buffer for blobs is not kept */
#define ROOM_LOOK_US      250000            /* so often a full disk is tried again */
#define SCRUB_US          1000000           /* so often some pages are read again */
#define TELL_US           250000            /* so often it is said how far a backup is */
#define SYNCHRONOUS_QUIET 16                /* the same without a clock: every so many commits */

enum phase { PHASE_IDLE, PHASE_ASKED, PHASE_FINISHED };

/* The commit in flight. The loop fills it and passes it by phase. */
struct commit {
	struct store_batch *batch;
	store_done_fn *done;
	void *arg;
	struct blob_set wanted;
	uint64_t asked_us, us;
	bool failed;
	struct error error;
};

/* The flush under way. */
struct flushing {
	store_done_fn *done; /* NULL: none */
	void *arg;
	bool failed;
	struct error error;
};

/* The backup under way, passed in the same way. */
struct copying {
	struct backup *backup; /* NULL: the path was no good */
	store_done_fn *done;
	store_progress_fn *progress; /* NULL: none; the loop's */
	void *arg;
	uint64_t told_us; /* the thread's: when the loop was last told how far it is */
	bool tell;        /* between them: these are news */
	uint64_t pages, all;
	bool failed;
	struct error error;
};

struct store {
	struct store_work *work; /* the thread's, once there is one */
	bool flush_begun;  /* likewise */
	uint64_t scrub_at; /* likewise */
	bool synchronous;
	/* the loop's side */
	struct event *wakeup;
	int wakeup_fd;
	struct store_batch *spare;
	struct commit commit;
	struct copying copying;
	struct flushing flushing;
	pthread_t thread;
	bool has_thread;
	/* between them */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	enum phase phase, copying_phase, flushing_phase;
	bool closing;
	struct store_stats stats;
};

static uint64_t now_us(void)
{
	return (uint64_t)clock_us(CLOCK_MONOTONIC);
}

/* ---- the thread's side ---- */

static void do_commit(struct store *store)
{
	struct commit *c = &store->commit;

	c->failed = store_work_commit(store->work, c->batch, &c->wanted, &c->error) < 0;
	c->us = now_us() - c->asked_us;
}

static void wait_for_work(struct store *store, uint64_t until_us);

/* The disk is full. False: there is no need to wait for space any more. */
static bool wait_for_room(struct store *store)
{
	bool wait;

	pthread_mutex_lock(&store->lock);
	store_work_stats(store->work, &store->stats);
	store->stats.waits_for_room = true;
	wait = !store->closing;
	if (wait)
		wait_for_work(store, now_us() + ROOM_LOOK_US);
	pthread_mutex_unlock(&store->lock);
	return wait;
}

/* A full disk is waited for, since the loop can still say so. */
static void commit_in_the_end(struct store *store)
{
	struct commit *c = &store->commit;

	do_commit(store);
	while (c->failed && c->error.code == ERR_NO_SPACE && wait_for_room(store))
		do_commit(store);
}

static void count_commit(struct store *store)
{
	const struct commit *c = &store->commit;
	struct store_stats *stats = &store->stats;

	store_work_stats(store->work, stats);
	stats->waits_for_room = false;
	if (c->failed)
		return;
	stats->commits++;
	stats->rows += c->batch->n_rows + c->batch->n_blobs;
	stats->bytes += c->batch->len;
	stats->last_commit_us = c->us;
	stats->sum_commit_us += c->us;
	if (c->us > stats->max_commit_us)
		stats->max_commit_us = c->us;
}

/* Returns whether the backup has come to its end. */
static bool do_backup_slice(struct store *store)
{
	struct copying *c = &store->copying;
	int rc = c->backup ? store_work_backup(store->work, c->backup, &c->error) : -1;

	c->failed = rc < 0;
	return rc <= 0;
}

/* Returns whether all is in history.db, or never will be. */
static bool do_flush_slice(struct store *store)
{
	int rc = store_work_flush(store->work, &store->flushing.error);

	store->flushing.failed = rc < 0;
	return rc <= 0;
}

static void wake_loop(struct store *store)
{
	uint64_t one = 1;
	ssize_t n;

	do
		n = write(store->wakeup_fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
	assert(n == sizeof(one));
}

/* The history's thread has news. */
static void wake_thread(void *arg)
{
	struct store *store = arg;

	pthread_mutex_lock(&store->lock);
	pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->lock);
}

/* Wait until there is something to do; no longer than until `until_us`. */
static void wait_for_work(struct store *store, uint64_t until_us)
{
	struct timespec until = {
		.tv_sec = (time_t)(until_us / 1000000),
		.tv_nsec = (long)(until_us % 1000000) * 1000,
	};

	pthread_cond_timedwait(&store->wake, &store->lock, &until);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Under the lock. */
static void note_progress(struct store *store, uint64_t now)
{
	struct copying *c = &store->copying;

	if (!c->backup || now - c->told_us < TELL_US)
		return;
	c->told_us = now;
	backup_progress(c->backup, &c->pages, &c->all);
	c->tell = true;
	wake_loop(store);
}

/* One chore or slice outside the lock, else wait. */
static void rest(struct store *store, uint64_t last_commit)
{
	bool copying = store->copying_phase == PHASE_ASKED, did, copied = false;
	bool flushing = store->flushing_phase == PHASE_ASKED, flushed = false;
	uint64_t now = now_us(), quiet_at = last_commit + QUIET_US, until;

	pthread_mutex_unlock(&store->lock);
	if (flushing && !store->flush_begun)
		store_work_flush_begin(store->work);
	did = store_work_chore(store->work, flushing || now >= quiet_at);
	if (flushing)
		flushed = do_flush_slice(store);
	store->flush_begun = flushing && !flushed;
	if (copying)
		copied = do_backup_slice(store);
	if (now >= store->scrub_at) {
		store_work_scrub(store->work);
		store->scrub_at = now + SCRUB_US;
	}
	until = store->scrub_at;
	if (store_work_has_chore(store->work))
		until = earlier(until, now >= quiet_at ? now + QUIET_US : quiet_at);
	if (store->flush_begun)
		until = earlier(until, now + FLUSH_LOOK_US);
	pthread_mutex_lock(&store->lock);
	store_work_stats(store->work, &store->stats);
	if (flushed) {
		store->flushing_phase = PHASE_FINISHED;
		wake_loop(store);
	}
	if (copying && !copied)
		note_progress(store, now);
	if (copied) {
		store->copying_phase = PHASE_FINISHED;
		wake_loop(store);
	}
	if (!did && !copying && store->phase != PHASE_ASKED &&
	        store->copying_phase != PHASE_ASKED &&
	        (store->flush_begun || store->flushing_phase != PHASE_ASKED) && !store->closing)
		wait_for_work(store, until);
}

static void *store_thread(void *arg)
{
	struct store *store = arg;
	uint64_t last_commit = now_us();

	pthread_mutex_lock(&store->lock);
	while (store->phase == PHASE_ASKED || !store->closing) {
		if (store->phase != PHASE_ASKED || store_work_must_rest(store->work)) {
			rest(store, last_commit);
			continue;
		}
		pthread_mutex_unlock(&store->lock);
		commit_in_the_end(store);
		last_commit = now_us();
		pthread_mutex_lock(&store->lock);
		count_commit(store);
		store->phase = PHASE_FINISHED;
		wake_loop(store);
	}
	pthread_mutex_unlock(&store->lock);
	return NULL;
}

static int start_thread(struct store *store)
{
	sigset_t all, old;
	int rc;

	if (store->synchronous || store->has_thread)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&store->thread, NULL, store_thread, store);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	store->has_thread = rc == 0;
	return rc;
}

/* ---- the loop's side ---- */

/* A commit has finished: say so. */
static void finish_commit(struct store *store)
{
	struct commit c = store->commit;
	struct store_result result = {
		.blobs = c.wanted.v,
		.tags = c.wanted.tags,
		.n_blobs = c.wanted.n,
		.stored = c.wanted.stored,
		.n_stored = c.wanted.n_stored,
		.commit_us = c.us,
	};

	batch_reset(c.batch);
	c.batch->next = store->spare;
	store->spare = c.batch;
	/* The callback may commit again: what it reads is no longer the store's. */
	store->commit = (struct commit){ 0 };
	FAILPOINT(store_before_done);
	c.done(c.arg, &result, c.failed ? &c.error : NULL);
	FAILPOINT(store_after_done);
	if (store->commit.batch || c.wanted.bytes_cap > WANTED_KEEP)
		blob_set_clear(&c.wanted);
	else
		store->commit.wanted = c.wanted;
}

static void finish_backup(struct store *store)
{
	const struct store_result none = { 0 };
	struct copying c = store->copying;

	backup_free(c.backup);
	store->copying = (struct copying){ 0 };
	c.done(c.arg, &none, c.failed ? &c.error : NULL);
}

static void tell_progress(struct store *store)
{
	struct copying *c = &store->copying;
	uint64_t pages, all;
	bool tell;

	pthread_mutex_lock(&store->lock);
	tell = c->tell;
	pages = c->pages;
	all = c->all;
	c->tell = false;
	pthread_mutex_unlock(&store->lock);
	if (tell && c->progress)
		c->progress(c->arg, pages, all);
}

static void finish_flush(struct store *store)
{
	const struct store_result none = { 0 };
	struct flushing f = store->flushing;

	store->flushing = (struct flushing){ 0 };
	f.done(f.arg, &none, f.failed ? &f.error : NULL);
}

/* If `phase` says finished, make it idle and say so. */
static bool take_finished(struct store *store, enum phase *phase)
{
	bool finished;

	pthread_mutex_lock(&store->lock);
	finished = *phase == PHASE_FINISHED;
	if (finished)
		*phase = PHASE_IDLE;
	pthread_mutex_unlock(&store->lock);
	return finished;
}

static void on_wakeup(evutil_socket_t fd, short what, void *arg)
{
	struct store *store = arg;
	uint64_t n;

	(void)what;
	if (read(fd, &n, sizeof(n)) < 0)
		return;
	if (take_finished(store, &store->phase))
		finish_commit(store);
	tell_progress(store);
	if (take_finished(store, &store->copying_phase))
		finish_backup(store);
	if (take_finished(store, &store->flushing_phase))
		finish_flush(store);
}

int store_drop_past(struct store *store, const struct store_batch *rows, struct error *err)
{
	return history_drop(store_work_history(store->work), rows, err);
}

size_t store_busy_bytes(const struct store *store)
{
	return store->commit.batch ? store->commit.batch->len : 0;
}

bool store_busy(const struct store *store)
{
	return store->commit.batch != NULL;
}

static void commit_here(struct store *store)
{
	bool quiet;

	do_commit(store);
	count_commit(store);
	quiet = store->stats.commits % SYNCHRONOUS_QUIET == 0;
	while (store_work_chore(store->work, quiet))
		;
	if (quiet)
		store_work_scrub(store->work);
	store_work_stats(store->work, &store->stats);
	finish_commit(store);
}

/* Give the thread something to do. */
static void request_phase(struct store *store, enum phase *phase)
{
	if (start_thread(store) != 0)
		abort();
	pthread_mutex_lock(&store->lock);
	assert(*phase == PHASE_IDLE);
	*phase = PHASE_ASKED;
	pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->lock);
}

void store_commit(struct store *store, struct store_batch *batch, store_done_fn *done, void *arg)
{
	assert(!store_busy(store));
	store->commit.batch = batch;
	store->commit.done = done;
	store->commit.arg = arg;
	store->commit.asked_us = now_us();
	if (store->synchronous)
		commit_here(store);
	else
		request_phase(store, &store->phase);
}

void store_backup(struct store *store, const char *path, store_done_fn *done, void *arg)
{
	const struct store_result none = { 0 };
	struct error err;

	if (store->copying.done) {
		error_set(&err, ERR_BUSY, "another backup is under way");
		done(arg, &none, &err);
		return;
	}
	store->copying.done = done;
	store->copying.arg = arg;
	store->copying.backup = backup_new(path, &store->copying.error);
	if (!store->synchronous) {
		request_phase(store, &store->copying_phase);
		return;
	}
	while (!do_backup_slice(store))
		;
	finish_backup(store);
}

void store_backup_progress(struct store *store, store_progress_fn *progress)
{
	if (store->copying.done)
		store->copying.progress = progress;
}

void store_flush(struct store *store, store_done_fn *done, void *arg)
{
	assert(!store->flushing.done);
	store->flushing.done = done;
	store->flushing.arg = arg;
	if (!store->synchronous) {
		request_phase(store, &store->flushing_phase);
		return;
	}
	store_work_flush_begin(store->work);
	while (!do_flush_slice(store))
		store_work_chore(store->work, true);
	finish_flush(store);
}

struct store_batch *store_batch_new(struct store *store)
{
	struct store_batch *batch = store->spare;

	if (!batch)
		return batch_new();
	store->spare = batch->next;
	batch->next = NULL;
	return batch;
}

static void free_spare(struct store *store)
{
	struct store_batch *batch;

	while ((batch = store->spare)) {
		store->spare = batch->next;
		batch_free(batch);
	}
}

void store_tidy(struct store *store)
{
	free_spare(store);
}

int store_load(struct store *store, store_row_fn *take, void *arg, struct error *err)
{
	assert(!store->has_thread);
	return store_work_load(store->work, take, arg, err);
}

int store_load_stored(struct store *store, store_stored_fn *take, void *arg, struct error *err)
{
	return store_work_load_stored(store->work, take, arg, err);
}

uint64_t store_free_mb(const struct store *store)
{
	return store_work_free_mb(store->work);
}

void store_stats(const struct store *store, struct store_stats *stats)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&store->lock;

	pthread_mutex_lock(lock);
	*stats = store->stats;
	pthread_mutex_unlock(lock);
}

/* ---- opening and closing ---- */

static int open_wakeup(struct store *store, struct event_base *base, struct error *err)
{
	if (store->synchronous)
		return 0;
	store->wakeup_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (store->wakeup_fd < 0)
		return error_set(err, ERR_SYSTEM, "eventfd: %s", strerror(errno));
	store->wakeup = event_new(base, store->wakeup_fd, EV_READ | EV_PERSIST, on_wakeup, store);
	if (!store->wakeup || event_add(store->wakeup, NULL) < 0)
		return error_set(err, ERR_SYSTEM, "libevent refused an event");
	return 0;
}

struct store *store_open(
        const struct store_options *options, struct event_base *base, struct error *err)
{
	struct store *store = xcalloc(1, sizeof(*store));
	pthread_condattr_t attr;

	store->wakeup_fd = -1;
	store->synchronous = options->synchronous_only;
	pthread_mutex_init(&store->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&store->wake, &attr);
	pthread_condattr_destroy(&attr);

	store->work = store_work_open(options, store->synchronous ? NULL : wake_thread, store, err);
	if (store->work && open_wakeup(store, base, err) == 0) {
		store_work_stats(store->work, &store->stats);
		return store;
	}
	store_close(store);
	return NULL;
}

static void stop_thread(struct store *store)
{
	pthread_mutex_lock(&store->lock);
	store->closing = true;
	pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->lock);
	pthread_join(store->thread, NULL);
	store->has_thread = false;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	if (store->has_thread)
		stop_thread(store);
	if (store->phase == PHASE_FINISHED)
		finish_commit(store);
	event_end(store->wakeup);
	fd_close(store->wakeup_fd);
	backup_free(store->copying.backup);
	store_work_close(store->work);
	blob_set_clear(&store->commit.wanted);
	free_spare(store);
	pthread_cond_destroy(&store->wake);
	pthread_mutex_destroy(&store->lock);
	free(store);
}
