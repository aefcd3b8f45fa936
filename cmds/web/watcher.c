/* watcher.c - see watcher.h */
#include "cmds/web/watcher.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/api/client.h"
#include "cmds/web/controller_poll.h"
#include "cmds/web/metrics/counters.h"
#include "cmds/web/snapshot_make.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/each.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/dial.h"

#define PAUSE_MIN_MS 50
#define PAUSE_MAX_MS 1000
#define LISTEN_MS    200 /* so often the thread looks whether it is to end */
#define SEND_MS      5000

struct watcher {
	const struct watcher_config *config;
	struct snapshots *snapshots;
	struct client *asks, *waits;
	struct poll poll;
	struct counters *counters;
	int64_t counted_us; /* until then, by the monotonic clock */
	pthread_t thread;
	atomic_bool ends;
	bool started;

	uint64_t request; /* the watch that is under way; 0: none */
	uint64_t cursor;  /* of what was told */
	bool whole;       /* all is told until the cursor; else the first part is under way */
	int64_t publish_ms;
	int64_t heard_us; /* UTC: the controller has answered then */
	struct snapshot_draft draft;
	struct backoff backoff;
	char trouble[512]; /* that was logged last */
};

/* --- the watch -------------------------------------------------------------------------------- */

static void stop_watch(struct watcher *w)
{
	client_drop(w->waits);
	w->request = 0;
}

static int start_watch(struct watcher *w, struct error *err)
{
	Gpusched__WatchJobs m = GPUSCHED__WATCH_JOBS__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	struct dial *d;

	stop_watch(w);
	filter.include_ended = true;
	m.filter = &filter;
	m.since = w->cursor;
	d = client_dial(w->waits, err);
	if (d)
		w->request = dial_send(d, GPUSCHED__MSG_TYPE__MSG_WATCH_JOBS, &m.base, err);
	return w->request ? dial_flush(d, SEND_MS, err) : -1;
}

/* What was received earlier may be out of date. */
static void begin_anew(struct watcher *w)
{
	poll_drop_jobs(&w->poll);
	w->draft.fresh = w->draft.all = true;
	w->whole = false;
}

static int take_chunk(struct watcher *w, const struct frame *f, struct error *err)
{
	Gpusched__JobChunk *chunk = gpusched__job_chunk__unpack(NULL, f->len, f->body);

	if (!chunk)
		return error_set(err, ERR_PROTOCOL, "the controller's answer cannot be decoded");
	if (chunk->fresh)
		begin_anew(w);
	for (size_t i = 0; i < chunk->n_jobs; i++)
		poll_add_job(&w->poll, chunk->jobs[i], !w->whole);
	if (chunk->cursor) {
		w->cursor = chunk->cursor;
		w->whole = true;
	}
	gpusched__job_chunk__free_unpacked(chunk, NULL);
	w->heard_us = clock_us(CLOCK_REALTIME);
	return 0;
}

static int take_reply(const struct frame *f, struct error *err)
{
	Gpusched__Reply *reply = gpusched__reply__unpack(NULL, f->len, f->body);

	if (!reply || dial_reply_error(reply, err) == 0)
		error_set(err, ERR_PROTOCOL, "the controller has ended the watch");
	if (reply)
		gpusched__reply__free_unpacked(reply, NULL);
	return -1;
}

/* All that has come, and at most `ms` for more. */
static int listen_to_watch(struct watcher *w, int ms, struct error *err)
{
	struct dial *d = client_dial(w->waits, err);
	struct frame f;
	int rc;

	if (!d)
		return -1;
	while ((rc = dial_recv(d, &f, ms, err)) > 0) {
		rc = f.type == GPUSCHED__MSG_TYPE__MSG_REPLY ? take_reply(&f, err)
		                                             : take_chunk(w, &f, err);
		if (rc < 0 || clock_ms(CLOCK_MONOTONIC) >= w->publish_ms)
			return rc;
		ms = 0;
	}
	return rc;
}

/* --- publishing ------------------------------------------------------------------------------- */

/* What has happened since the snapshot before; of the first one nothing is known to have. */
static void count(struct watcher *w, const struct snapshot *before, struct snapshot_draft *d)
{
	int64_t now = clock_us(CLOCK_MONOTONIC);

	if (before) {
		for (size_t i = 0; i < d->n_set; i++) {
			struct snapshot_key key = { d->set[i]->id, d->set[i]->raw_id };
			size_t n;
			struct snapshot_job **old = snapshot_keyed(before, key, &n);

			counters_job(w->counters, n ? old[0] : NULL, d->set[i]);
		}
		counters_time(w->counters, before, (double)(now - w->counted_us) / 1e6);
	}
	w->counted_us = now;
	d->counters = counters_copy(w->counters);
}

static void publish(struct watcher *w)
{
	struct snapshot_draft *d = &w->draft;
	struct snapshot *before, *now;

	d->taken_us = w->heard_us;
	d->cursor = w->cursor;
	d->ended_since = w->heard_us - w->config->keep_ended_ms * 1000;
	COPY_FIELDS(d, w->config, ended_max, made, arg);
	poll_take(&w->poll, d);
	snapshot_draft_sort(d);
	before = snapshot_get(w->snapshots);
	count(w, before, d);
	snapshots_publish(w->snapshots, d);
	now = snapshot_get(w->snapshots);
	if (before)
		counters_xids(w->counters, before, now);
	snapshot_put(now);
	snapshot_put(before);
	poll_taken(&w->poll);
	*d = (struct snapshot_draft){ 0 };
	snapshots_tell(w->snapshots, "");
	if (*w->trouble)
		log_info("the controller answers again");
	*w->trouble = '\0';
	if (w->config->published)
		w->config->published(w->config->arg);
}

/* One period: listen, ask, publish. */
static int period(struct watcher *w, struct error *err)
{
	int64_t left;

	if (!w->request && start_watch(w, err) < 0)
		return -1;
	while ((left = w->publish_ms - clock_ms(CLOCK_MONOTONIC)) > 0 && !w->ends)
		if (listen_to_watch(w, (int)(left < LISTEN_MS ? left : LISTEN_MS), err) < 0)
			return -1;
	if (!w->whole || w->ends)
		return w->ends ? 0 : listen_to_watch(w, LISTEN_MS, err);
	if (poll_ask(&w->poll, w->asks, clock_ms(CLOCK_MONOTONIC), err) < 0)
		return -1;
	w->heard_us = clock_us(CLOCK_REALTIME);
	publish(w);
	backoff_reset(&w->backoff);
	w->publish_ms = clock_ms(CLOCK_MONOTONIC) + w->config->period_ms;
	return 0;
}

/* The watch goes on from the cursor; what of it has come since stays in the draft. */
static void fail(struct watcher *w, const struct error *why)
{
	int64_t until = clock_ms(CLOCK_MONOTONIC) + backoff_next_ms(&w->backoff);

	if (strcmp(why->text, w->trouble) != 0)
		log_warning("%s", why->text);
	snprintf(w->trouble, sizeof(w->trouble), "%s", why->text);
	snapshots_tell(w->snapshots, why->text);
	client_drop(w->asks);
	stop_watch(w);
	poll_failed(&w->poll);
	if (!w->whole) {
		poll_drop_jobs(&w->poll);
		w->cursor = 0; /* the first part was not heard to its end */
	}
	while (clock_ms(CLOCK_MONOTONIC) < until && !w->ends)
		usleep(PAUSE_MIN_MS * 1000);
}

static void *run(void *arg)
{
	struct watcher *w = arg;
	struct error err;

	while (!w->ends)
		if (period(w, &err) < 0)
			fail(w, &err);
	return NULL;
}

/* --- life ------------------------------------------------------------------------------------- */

static int start(struct watcher *w, struct error *err)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = pthread_create(&w->thread, NULL, run, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc)
		return error_set(err, ERR_SYSTEM, "no thread: %s", strerror(rc));
	w->started = true;
	return 0;
}

struct watcher *watcher_new(
        const struct watcher_config *config, struct snapshots *snapshots, struct error *err)
{
	struct watcher *w = xcalloc(1, sizeof(*w));

	w->config = config;
	w->snapshots = snapshots;
	poll_init(&w->poll);
	w->counters = counters_new(w->poll.texts);
	w->asks = client_new(config->client_conf, err);
	w->waits = w->asks ? client_new(config->client_conf, err) : NULL;
	if (w->waits) {
		client_set_retry(w->asks, 0);
		client_set_retry(w->waits, 0);
		backoff_init(&w->backoff, PAUSE_MIN_MS, PAUSE_MAX_MS,
		        (uint64_t)clock_us(CLOCK_MONOTONIC) ^ ((uint64_t)getpid() << 32));
	}
	if (!w->waits || start(w, err) < 0) {
		watcher_free(w);
		return NULL;
	}
	return w;
}

void watcher_stop(struct watcher *w)
{
	if (!w || !w->started)
		return;
	w->ends = true;
	pthread_join(w->thread, NULL);
	w->started = false;
}

void watcher_free(struct watcher *w)
{
	if (!w)
		return;
	watcher_stop(w);
	counters_free(w->counters);
	poll_clear(&w->poll);
	client_free(w->asks);
	client_free(w->waits);
	free(w);
}
