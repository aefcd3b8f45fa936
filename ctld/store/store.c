/* store.c - see store.h
 *
 * Two sides. The loop's: fill a batch, hand it over, hear of its commit through an eventfd. The
 * thread's: commit what it is given; with nothing to commit, do a chore (checkpoint, a slice of the
 * move to history.db). They meet in the fields under the lock. In synchronous mode there is no
 * thread and the loop's side calls the same work.
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

#include "common/failpoint.h"
#include "common/xalloc.h"
#include "ctld/store/batch.h"
#include "ctld/store/home.h"
#include "ctld/store/state.h"

/* A checkpoint costs some ten milliseconds for each thousand pages, so it waits for a quiet moment:
 * a quiet fifth of a second from the first mark on, any moment without a batch from the second on,
 * none at all from the third on (the log would grow without end under a load that never pauses). */
#define CHECKPOINT_QUIET_PAGES 1000
#define CHECKPOINT_SOON_PAGES  4000
#define CHECKPOINT_NOW_PAGES   32000
#define QUIET_MS               200

enum phase { PHASE_IDLE, PHASE_ASKED, PHASE_FINISHED };

/* The commit in flight. The loop fills it and passes it by phase. */
struct commit {
	struct store_batch *batch;
	store_done_fn *done;
	void *arg;
	struct blob_set wanted;
	uint64_t us;
	bool failed;
	struct error error;
};

struct store {
	struct home *home;
	struct state *state;
	bool synchronous;
	/* the loop's side */
	struct event *wakeup;
	int wakeup_fd;
	struct store_batch *spare;
	struct commit commit;
	/* the thread's side */
	pthread_t thread;
	bool has_thread;
	bool is_broken; /* a chore failed: so will the next commit */
	struct error broken;
	/* between them */
	pthread_mutex_t lock;
	pthread_cond_t work;
	enum phase phase;
	bool closing;
	struct store_stats stats;
};

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* ---- the thread's side: what it does ---- */

/* Commit the batch in flight; on a full disk once more, without the reserve. */
static void work_commit(struct store *store)
{
	struct commit *c = &store->commit;
	uint64_t start = now_us();

	FAILPOINT(store_before_batch);
	if (store->is_broken) {
		c->failed = true;
		c->error = store->broken;
		return;
	}
	c->failed = state_commit(store->state, c->batch, NULL, &c->wanted, &c->error) < 0;
	if (c->failed && c->error.code == ERR_NO_SPACE && home_has_reserve(store->home)) {
		home_drop_reserve(store->home);
		FAILPOINT(store_reserve_unlinked);
		c->failed = state_commit(store->state, c->batch, NULL, &c->wanted, &c->error) < 0;
	}
	FAILPOINT(store_after_commit);
	c->us = now_us() - start;
}

static void count_commit(struct store *store)
{
	const struct commit *c = &store->commit;
	struct store_stats *stats = &store->stats;

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

static void count_state(struct store *store)
{
	store->stats.wal_pages = state_db(store->state)->wal_pages;
	store->stats.history_behind = state_ended(store->state);
	store->stats.reserve_used = !home_has_reserve(store->home);
}

static void work_checkpoint(struct store *store)
{
	FAILPOINT(store_before_checkpoint);
	if (db_checkpoint(state_db(store->state), &store->broken) < 0)
		store->is_broken = true;
	FAILPOINT(store_after_checkpoint);
}

/* One chore, if one is due. `quiet`: there has been nothing to commit for a while. */
static bool work_chore(struct store *store, bool quiet)
{
	unsigned pages = state_db(store->state)->wal_pages;

	if (store->is_broken)
		return false;
	if (pages >= (quiet ? CHECKPOINT_QUIET_PAGES : CHECKPOINT_SOON_PAGES)) {
		work_checkpoint(store);
		return true;
	}
	return false;
}

/* ---- the thread's side: when it does it ---- */

static void wake_loop(struct store *store)
{
	uint64_t one = 1;
	ssize_t n;

	do
		n = write(store->wakeup_fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
	assert(n == sizeof(one));
}

static bool is_chore_likely(const struct store *store)
{
	return !store->is_broken && state_db(store->state)->wal_pages >= CHECKPOINT_QUIET_PAGES;
}

/* Wait for work, at most until it counts as quiet if there may be a chore. Returns whether it is.
 */
static bool wait_for_work(struct store *store)
{
	struct timespec until;

	if (!is_chore_likely(store)) {
		pthread_cond_wait(&store->work, &store->lock);
		return false;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += QUIET_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	return pthread_cond_timedwait(&store->work, &store->lock, &until) == ETIMEDOUT;
}

static void *store_thread(void *arg)
{
	struct store *store = arg;
	bool quiet = false, did;

	pthread_mutex_lock(&store->lock);
	while (store->phase == PHASE_ASKED || !store->closing) {
		if (store->phase == PHASE_ASKED &&
		        state_db(store->state)->wal_pages < CHECKPOINT_NOW_PAGES) {
			pthread_mutex_unlock(&store->lock);
			work_commit(store);
			pthread_mutex_lock(&store->lock);
			count_commit(store);
			count_state(store);
			store->phase = PHASE_FINISHED;
			wake_loop(store);
			quiet = false;
			continue;
		}
		pthread_mutex_unlock(&store->lock);
		did = work_chore(store, quiet);
		pthread_mutex_lock(&store->lock);
		count_state(store);
		if (!did && store->phase != PHASE_ASKED && !store->closing)
			quiet = wait_for_work(store);
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
static void finish(struct store *store)
{
	struct commit c = store->commit;
	struct store_result result = {
		.blobs = c.wanted.v,
		.tags = c.wanted.tags,
		.n_blobs = c.wanted.n,
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
	if (store->commit.batch)
		blob_set_clear(&c.wanted);
	else
		store->commit.wanted = c.wanted;
}

static void on_wakeup(evutil_socket_t fd, short what, void *arg)
{
	struct store *store = arg;
	bool finished;
	uint64_t n;

	(void)what;
	if (read(fd, &n, sizeof(n)) < 0)
		return;
	pthread_mutex_lock(&store->lock);
	finished = store->phase == PHASE_FINISHED;
	if (finished)
		store->phase = PHASE_IDLE;
	pthread_mutex_unlock(&store->lock);
	if (finished)
		finish(store);
}

bool store_busy(const struct store *store)
{
	return store->commit.batch != NULL;
}

static void commit_here(struct store *store)
{
	work_commit(store);
	count_commit(store);
	work_chore(store, true);
	count_state(store);
	finish(store);
}

void store_commit(struct store *store, struct store_batch *batch, store_done_fn *done, void *arg)
{
	assert(!store_busy(store));
	store->commit.batch = batch;
	store->commit.done = done;
	store->commit.arg = arg;
	if (store->synchronous) {
		commit_here(store);
		return;
	}
	if (start_thread(store) != 0)
		abort();
	pthread_mutex_lock(&store->lock);
	store->phase = PHASE_ASKED;
	pthread_cond_signal(&store->work);
	pthread_mutex_unlock(&store->lock);
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

int store_load(struct store *store, store_row_fn *take, void *arg, struct error *err)
{
	assert(!store->has_thread);
	return state_load(store->state, take, arg, err);
}

uint64_t store_free_mb(const struct store *store)
{
	return home_free_mb(store->home);
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
	pthread_cond_init(&store->work, &attr);
	pthread_condattr_destroy(&attr);

	store->home = home_open(options->dir, options->vfs, options->reserve_kb, err);
	if (store->home)
		store->state = state_open(
		        home_state_path(store->home), options->vfs, options->cluster, err);
	if (store->state && open_wakeup(store, base, err) == 0) {
		count_state(store);
		return store;
	}
	store_close(store);
	return NULL;
}

void store_close(struct store *store)
{
	struct store_batch *batch;

	if (!store)
		return;
	if (store->has_thread) {
		pthread_mutex_lock(&store->lock);
		store->closing = true;
		pthread_cond_signal(&store->work);
		pthread_mutex_unlock(&store->lock);
		pthread_join(store->thread, NULL);
		if (store->phase == PHASE_FINISHED)
			finish(store);
	}
	if (store->wakeup)
		event_free(store->wakeup);
	if (store->wakeup_fd >= 0)
		close(store->wakeup_fd);
	state_close(store->state);
	home_close(store->home);
	blob_set_clear(&store->commit.wanted);
	while ((batch = store->spare)) {
		store->spare = batch->next;
		batch_free(batch);
	}
	pthread_cond_destroy(&store->work);
	pthread_mutex_destroy(&store->lock);
	free(store);
}
