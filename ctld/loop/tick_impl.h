/* tick_impl.h - what tick.c and commit.c share of the tick; nothing else includes it */
#ifndef CTLD_TICK_IMPL_H
#define CTLD_TICK_IMPL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "common/job/run.h"
#include "ctld/loop/tick.h"

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

/* --- commit.c */

/* Send what waits at the gate for changes up to `committed`, and let stalled answers go on. */
void tick_release(struct tick *t, uint64_t committed);

/* If the store is idle: seal what is dirty into a batch and hand it over, unless that may wait. */
void tick_seal(struct tick *t, struct clocks now);

/* Read nothing more from sessions while too much waits for the disk; read again afterwards. */
void tick_pause_reading(struct tick *t);

/* For the event `tidy`. */
void tick_on_tidy(evutil_socket_t fd, short what, void *arg);

#endif
