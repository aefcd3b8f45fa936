/* tick.c - see tick.h */
#include "config.h"

#include "ctld/loop/tick.h"

#include <stdlib.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "common/base/failpoint.h"
#include "common/base/xalloc.h"
#include "common/net/event_end.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/commit_gate.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/script_cache.h"
#include "ctld/loop/slice.h"
#include "ctld/loop/tick_impl.h"

#define WINDOW_US  60000000 /* of the longest stall */

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
	       core_dirty_bytes(t->c->core) + script_cache_pending_bytes(t->c->script_cache) >
	               TICK_DIRTY_FULL;
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
		tick_release(t, commit_gate_committed(t->c->gate));
	take_events(t, now);
	if (core_next_timer(t->c->core) <= now.mono) {
		struct core_event clock = { .kind = EV_CLOCK };

		inputs_apply(t->c, &clock, now);
	}
	if (!is_full(t))
		more = schedule(t, now);
	t->hooks->decided(t->c, now);
	tick_seal(t, now);
	inputs_tick(t->c);
	t->hooks->over(t->c);
	tick_pause_reading(t);
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
	t->tidy = evtimer_new(c->base, tick_on_tidy, t);
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
	event_end(t->beat);
	event_end(t->timer);
	event_end(t->late);
	event_end(t->age);
	event_end(t->tidy);
	free(t);
}
