/* tick.c - see tick.h */
#include "config.h"

#include "ctld/loop/tick.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/session.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/blobs.h"
#include "ctld/loop/commit_gate.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/slice.h"
#include "ctld/store/store.h"

#define WINDOW_US  60000000 /* of the longest stall */
#define TIDY_ROWS  10000    /* so many rows leave memory behind that is worth giving back */
#define AGE_LOOK_S 60       /* at most so long until what is too old is looked for */

struct item {
	STAILQ_ENTRY(item) next;
	const struct tick_work *work;
	void *arg;
};

enum lane { LANE_USERS, LANE_REST, LANES };

struct tick {
	struct ctld *c;
	const struct tick_hooks *hooks;
	STAILQ_HEAD(, item) inbox[LANES];
	struct event *beat;  /* made active by hand */
	struct event *timer; /* for core_next_timer() */
	struct event *late;  /* for changes that no frame waits for: TICK_LATE_MS */
	struct event *age;   /* for what becomes too old */
	struct event *tidy;  /* for a second without a commit, after many rows */
	usec_t timer_due;    /* what `timer` is set to; INT64_MAX: not set */
	usec_t woken;        /* since when a tick is due; 0: it is not */
	usec_t woken_cpu;    /* the loop's processor time then */
	uint64_t sealed;     /* the change of the batch in flight */
	bool beating, again,
	        later; /* a tick runs; it wants another; that one is in the next round */
	bool in_flight, reading_paused;
	bool releasing;                   /* the gate has more that is due */
	bool is_late;                     /* changes that no frame waits for have waited long
					   * enough */
	bool is_older;                    /* what is kept for a time may be too old by now */
	uint64_t tidy_rows, tidy_commits; /* at the last tidying; when `tidy` was set */
	usec_t window;
	uint64_t stall_before; /* the longest stall of the window before */
	struct tick_stats stats;
};

/* --- the inbox ----------------------------------------------------------------------------- */

/* From outside a tick: still in this round of the loop. From within: in the next, so that sockets
 * are looked at between two ticks. */
void tick_wake(struct tick *t)
{
	static const struct timeval next_round = { 0, 0 };

	if (t->beating)
		t->again = true;
	if (t->beating || t->woken)
		return;
	t->woken = ctld_mono();
	t->woken_cpu = thread_cpu_time();
	if (t->later)
		event_add(t->beat, &next_round);
	else
		event_active(t->beat, 0, 0);
}

static void post(struct tick *t, enum lane lane, const struct tick_work *work, void *arg)
{
	struct item *item = xcalloc(1, sizeof(*item));

	item->work = work;
	item->arg = arg;
	STAILQ_INSERT_TAIL(&t->inbox[lane], item, next);
	t->stats.inbox++;
	tick_wake(t);
}

void tick_post(struct tick *t, const struct tick_work *work, void *arg)
{
	post(t, LANE_REST, work, arg);
}

void tick_post_user(struct tick *t, const struct tick_work *work, void *arg)
{
	post(t, LANE_USERS, work, arg);
}

static bool is_inbox_empty(const struct tick *t)
{
	return STAILQ_EMPTY(&t->inbox[LANE_USERS]) && STAILQ_EMPTY(&t->inbox[LANE_REST]);
}

static bool is_full(const struct tick *t)
{
	return t->in_flight &&
	       core_dirty_bytes(t->c->core) + blobs_pending_bytes(t->c->blobs) > TICK_DIRTY_FULL;
}

/* Which of the two is next: while both have something, the one that has taken less time. */
static enum lane next_lane(const struct tick *t, const usec_t took[LANES])
{
	if (STAILQ_EMPTY(&t->inbox[LANE_USERS]))
		return LANE_REST;
	if (STAILQ_EMPTY(&t->inbox[LANE_REST]))
		return LANE_USERS;
	return took[LANE_USERS] <= took[LANE_REST] ? LANE_USERS : LANE_REST;
}

/* As much of the inbox as this tick may take. What is posted meanwhile waits for its turn. */
static void take_events(struct tick *t, struct clocks now)
{
	usec_t took[LANES] = { 0, 0 }, at = ctld_mono();
	unsigned n = 0;

	while (n < TICK_EVENTS && !is_full(t) && !is_inbox_empty(t)) {
		enum lane lane = next_lane(t, took);
		struct item *item = STAILQ_FIRST(&t->inbox[lane]);
		usec_t over;

		STAILQ_REMOVE_HEAD(&t->inbox[lane], next);
		t->stats.inbox--;
		FAILPOINT(ctld_before_apply);
		item->work->run(t->c, item->arg, now);
		FAILPOINT(ctld_after_apply);
		free(item);
		n++;
		over = ctld_mono();
		took[lane] += over - at;
		at = over;
		if (over - now.mono > TICK_US)
			break;
	}
	t->stats.events += n;
	if (n > t->stats.max_events)
		t->stats.max_events = n;
}

/* Send what waits for changes up to `committed`. Peers that had too much waiting have room then, and
 * nothing else says so: what leaves here may be less than a session's output takes at once. */
static void release(struct tick *t, uint64_t committed)
{
	struct commit_gate_stats before, after;

	commit_gate_stats(t->c->gate, &before);
	t->releasing = commit_gate_release(t->c->gate, committed);
	commit_gate_stats(t->c->gate, &after);
	if (after.sent > before.sent)
		t->hooks->sent(t->c);
}

/* --- sealing and committing ---------------------------------------------------------------- */

static size_t waiting_bytes(const struct tick *t)
{
	struct commit_gate_stats gate;

	commit_gate_stats(t->c->gate, &gate);
	return core_dirty_bytes(t->c->core) + blobs_pending_bytes(t->c->blobs) + gate.held_bytes;
}

/* Too many dirty bytes: what comes in must not outrun the disk. */
static void pause_or_go_on(struct tick *t)
{
	size_t bytes = waiting_bytes(t);
	bool pause = t->reading_paused ? bytes > TICK_DIRTY_LOW : bytes > TICK_DIRTY_HIGH;

	if (pause == t->reading_paused || t->c->ending_since)
		return;
	t->reading_paused = pause;
	if (pause)
		t->stats.pauses++;
	sessions_pause_reading(t->c->sessions, pause);
}

/* Exit, not abort: the state on disk is whole, and the next start begins from there. */
static void commit_failed(const struct error *err)
{
	log_error("the database does not commit: %s; ending, nothing that was told is lost",
	        err->text);
	log_flush();
	_exit(EXIT_FAILURE);
}

static void on_committed(void *arg, const struct store_result *result, const struct error *err)
{
	struct tick *t = arg;

	if (err)
		commit_failed(err);
	t->in_flight = false;
	blobs_arrived(t->c->blobs, result);
	FAILPOINT(ctld_before_release);
	release(t, t->sealed);
	FAILPOINT(ctld_after_release);
	t->hooks->durable(t->c);
	tick_wake(t); /* what became dirty meanwhile is the next batch */
}

struct sealing {
	struct store_batch *batch;
	uint64_t rows;
};

static void seal_row(void *arg, const struct row *row)
{
	struct sealing *s = arg;

	store_batch_row(s->batch, row);
	s->rows++;
}

/* A change that no frame waits for (a run that has started) is committed with the next one that a
 * frame waits for, or a moment later by itself. */
static bool may_wait(struct tick *t)
{
	static const struct timeval moment = { .tv_usec = TICK_LATE_MS * 1000 };
	struct commit_gate_stats gate;

	commit_gate_stats(t->c->gate, &gate);
	if (t->is_late || gate.held > 0 || !blobs_is_clean(t->c->blobs) ||
	        core_dirty_bytes(t->c->core) > TICK_DIRTY_LATE || t->c->ending_since)
		return false;
	if (!event_pending(t->late, EV_TIMEOUT, NULL))
		event_add(t->late, &moment);
	return true;
}

/* Before when what is kept for so long (0: for ever) is too old. */
static int64_t too_old(struct clocks now, uint32_t keep_s)
{
	return keep_s ? now.wall - (usec_t)keep_s * 1000000 : INT64_MIN;
}

/* How soon to look again for what has become too old, where nothing else is committed: a tenth of
 * the time that it is kept. */
static struct timeval age_look(const struct conf_controller *keep)
{
	const uint32_t kept[] = { keep->keep_history_s, keep->keep_events_s, keep->keep_scripts_s };
	struct timeval tv = { .tv_sec = AGE_LOOK_S };

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (kept[i] && kept[i] / 10 < tv.tv_sec)
			tv.tv_sec = kept[i] >= 10 ? kept[i] / 10 : 1;
	return tv;
}

/* The memory that a burst needed for a short time (frames that waited for their commit, rows) has
 * left holes between what stays. In a quiet moment no request is delayed: the pages are returned
 * to the system. */
static void set_tidy(struct tick *t)
{
	static const struct timeval quiet = { .tv_sec = 1 };

	t->tidy_commits = t->stats.commits;
	event_add(t->tidy, &quiet);
}

static void on_tidy(evutil_socket_t fd, short what, void *arg)
{
	struct tick *t = arg;

	(void)fd;
	(void)what;
	if (t->stats.commits != t->tidy_commits) {
		set_tidy(t);
		return;
	}
	t->tidy_rows = t->stats.rows;
	store_tidy(t->c->store);
	malloc_trim(0);
}

static void seal(struct tick *t, struct clocks now)
{
	struct ctld *c = t->c;
	const struct conf_controller *keep = &c->conf->controller;
	struct sealing s = { 0 };
	struct timeval look;

	if (t->in_flight || store_busy(c->store))
		return;
	t->sealed = core_change(c->core);
	if (core_dirty_bytes(c->core) == 0 && blobs_is_clean(c->blobs) && !t->is_older) {
		release(t, t->sealed); /* all is durable as it is */
		t->hooks->durable(c);
		return;
	}
	if (!t->is_older && may_wait(t))
		return;
	event_del(t->late);
	t->is_late = false;
	t->is_older = false;
	look = age_look(keep);
	event_add(t->age, &look);
	FAILPOINT(ctld_before_seal);
	s.batch = store_batch_new(c->store);
	inputs_seal(c, seal_row, &s);
	blobs_seal(c->blobs, s.batch);
	store_batch_erase(s.batch, now.wall - (usec_t)keep->keep_scripts_s * 1000000);
	store_batch_trim(s.batch, (struct store_trim){ too_old(now, keep->keep_history_s),
	                                  too_old(now, keep->keep_events_s) });
	FAILPOINT(ctld_after_seal);
	t->stats.commits++;
	t->stats.rows += s.rows;
	t->stats.batch_bytes += store_batch_bytes(s.batch);
	if (s.rows > t->stats.max_rows)
		t->stats.max_rows = s.rows;
	if (t->stats.rows - t->tidy_rows >= TIDY_ROWS && !event_pending(t->tidy, EV_TIMEOUT, NULL))
		set_tidy(t);
	t->in_flight = true;
	store_commit(c->store, s.batch, on_committed, t);
}

/* --- the tick ------------------------------------------------------------------------------ */

static void set_timer(struct tick *t)
{
	usec_t due = core_next_timer(t->c->core);
	struct timeval tv = { 0, 0 };
	usec_t in;

	if (due == t->timer_due)
		return;
	t->timer_due = due;
	if (due == INT64_MAX) {
		event_del(t->timer);
		return;
	}
	in = due - ctld_mono();
	if (in > 0) {
		in = in < 86400000000LL ? in : 86400000000LL; /* a day is far enough */
		tv.tv_sec = in / 1000000;
		tv.tv_usec = in % 1000000;
	}
	event_add(t->timer, &tv);
}

static void note_stall(struct tick *t, usec_t begin, usec_t end)
{
	uint64_t stall = (uint64_t)(end - (t->woken ? t->woken : begin));
	uint64_t work = t->woken ? (uint64_t)(thread_cpu_time() - t->woken_cpu) : 0;

	t->stats.ticks++;
	t->stats.busy_us += (uint64_t)(end - begin);
	if (end - t->window > WINDOW_US) {
		t->stall_before = end - t->window > 2 * WINDOW_US ? 0 : t->stats.stall_us;
		t->stats.stall_us = 0;
		t->window = end;
	}
	if (stall > t->stats.stall_us)
		t->stats.stall_us = stall;
	if (stall > t->stats.stall_ever_us)
		t->stats.stall_ever_us = stall;
	if (work > t->stats.work_ever_us)
		t->stats.work_ever_us = work;
}

/* Decide until the slice is over. Each call is a record of its own on the tape, so that a replay,
 * which has no clock, makes the same ones. */
static bool schedule(struct tick *t, struct clocks now)
{
	struct slice slice = slice_begin(SLICE_US);
	bool more;

	do {
		more = inputs_schedule(t->c, now, TICK_SCHEDULE);
	} while (more && !slice_over_now(&slice));
	return more;
}

static void on_beat(evutil_socket_t fd, short what, void *arg)
{
	struct tick *t = arg;
	struct clocks now = ctld_now();
	bool more = false;

	(void)fd;
	(void)what;
	t->beating = true;
	t->again = false;
	if (t->releasing)
		release(t, commit_gate_committed(t->c->gate));
	take_events(t, now);
	if (core_next_timer(t->c->core) <= now.mono) {
		struct core_event clock = { .kind = EV_CLOCK };

		inputs_apply(t->c, &clock, now);
	}
	if (!is_full(t))
		more = schedule(t, now);
	t->hooks->decided(t->c, now);
	seal(t, now);
	inputs_tick(t->c);
	t->hooks->over(t->c);
	pause_or_go_on(t);
	note_stall(t, now.mono, ctld_mono());
	t->woken = 0;
	t->beating = false;
	/* if it is full, the end of the commit is the next beat */
	if (t->releasing || (!is_full(t) && (more || t->again || !is_inbox_empty(t)))) {
		t->later = true;
		tick_wake(t);
		t->later = false;
	}
	set_timer(t);
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
	struct tick *t = arg;

	(void)fd;
	(void)what;
	t->is_late = true;
	tick_wake(t);
}

static void on_age(evutil_socket_t fd, short what, void *arg)
{
	struct tick *t = arg;

	(void)fd;
	(void)what;
	t->is_older = true;
	tick_wake(t);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct tick *t = arg;

	(void)fd;
	(void)what;
	t->timer_due = INT64_MAX;
	tick_wake(t);
}

bool tick_is_settled(const struct tick *t)
{
	return !t->in_flight && is_inbox_empty(t) && core_dirty_bytes(t->c->core) == 0;
}

void tick_stats(const struct tick *t, struct tick_stats *out)
{
	*out = t->stats;
	if (t->stall_before > out->stall_us)
		out->stall_us = t->stall_before;
}

struct tick *tick_new(struct ctld *c, const struct tick_hooks *hooks, struct error *err)
{
	struct tick *t = xcalloc(1, sizeof(*t));

	t->c = c;
	t->hooks = hooks;
	for (size_t i = 0; i < LANES; i++)
		STAILQ_INIT(&t->inbox[i]);
	t->timer_due = INT64_MAX;
	t->window = ctld_mono();
	t->beat = event_new(c->base, -1, 0, on_beat, t);
	t->timer = evtimer_new(c->base, on_timer, t);
	t->late = evtimer_new(c->base, on_late, t);
	t->age = evtimer_new(c->base, on_age, t);
	t->tidy = evtimer_new(c->base, on_tidy, t);
	if (!t->beat || !t->timer || !t->late || !t->age || !t->tidy) {
		tick_free(t);
		error_set(err, ERR_SYSTEM, "event loop: out of memory");
		return NULL;
	}
	return t;
}

void tick_free(struct tick *t)
{
	struct item *item;

	if (!t)
		return;
	for (size_t i = 0; i < LANES; i++)
		while ((item = STAILQ_FIRST(&t->inbox[i]))) {
			STAILQ_REMOVE_HEAD(&t->inbox[i], next);
			tick_work_drop(item->work, item->arg);
			free(item);
		}
	if (t->beat)
		event_free(t->beat);
	if (t->timer)
		event_free(t->timer);
	if (t->late)
		event_free(t->late);
	if (t->age)
		event_free(t->age);
	if (t->tidy)
		event_free(t->tidy);
	free(t);
}
