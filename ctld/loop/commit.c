/* commit.c - commits of the controller's state, the second half of a tick (tick.h)
 *
 * Decided here: when dirty rows are sealed into a batch; what is released when the batch is durable;
 * that nothing more is read from sessions while the disk is slow; that the controller ends when the
 * disk fails.
 */
#include "config.h"

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/net/session.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/commit_gate.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/script_cache.h"
#include "ctld/loop/tick_impl.h"
#include "ctld/store/store.h"

#define TIDY_ROWS  10000 /* so many rows leave memory behind that is worth giving back */
#define AGE_LOOK_S 60    /* at most so long between two searches for what is too old */

/* Send what waits for changes up to `committed`. Peers whose output was full have room then, and no
 * other event says so: what leaves here may be less than a session's output takes at once. */
void tick_release(struct tick *t, uint64_t committed)
{
	struct commit_gate_stats before, after;

	commit_gate_stats(t->c->gate, &before);
	t->releasing = commit_gate_release(t->c->gate, committed);
	commit_gate_stats(t->c->gate, &after);
	if (after.sent > before.sent)
		t->hooks->sent(t->c);
}

static size_t waiting_bytes(const struct tick *t)
{
	struct commit_gate_stats gate;

	commit_gate_stats(t->c->gate, &gate);
	return core_dirty_bytes(t->c->core) + script_cache_pending_bytes(t->c->script_cache) +
	       gate.held_bytes;
}

/* Too many dirty bytes: what comes in must not outrun the disk. */
void tick_pause_reading(struct tick *t)
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
	script_cache_arrived(t->c->script_cache, result);
	FAILPOINT(ctld_before_release);
	tick_release(t, t->sealed);
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
	if (t->is_late || gate.held > 0 || !script_cache_is_clean(t->c->script_cache) ||
	        core_dirty_bytes(t->c->core) > TICK_DIRTY_LATE || t->c->ending_since)
		return false;
	if (!event_pending(t->late, EV_TIMEOUT, NULL))
		event_add(t->late, &moment);
	return true;
}

/* What is older than this time is too old; keep_s 0: it is kept for ever. */
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

void tick_on_tidy(evutil_socket_t fd, short what, void *arg)
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

void tick_seal(struct tick *t, struct clocks now)
{
	struct ctld *c = t->c;
	const struct conf_controller *keep = &c->conf->controller;
	struct sealing s = { 0 };
	struct timeval look;

	if (t->in_flight || store_busy(c->store))
		return;
	t->sealed = core_change(c->core);
	if (core_dirty_bytes(c->core) == 0 && script_cache_is_clean(c->script_cache) &&
	        !t->is_older) {
		tick_release(t, t->sealed); /* all is durable as it is */
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
	script_cache_seal(c->script_cache, s.batch);
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
