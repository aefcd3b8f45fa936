/* tick.h - the heartbeat of the controller
 *
 * What has happened waits in an inbox, first in first out: what users sent in one (fair_queue.h),
 * and the rest, of which most is agents', in another. A tick
 *
 *	1. takes at most TICK_EVENTS of them, or what fits in TICK_US; while both have something
 *	   each has half of that time, so that much of the one does not delay the other,
 *	2. lets timers that are due happen (EV_CLOCK),
 *	3. lets the scheduler decide for one slice,
 *	4. carries out the effects (tick_hooks),
 *	5. if the store is idle, seals what is dirty into one batch and hands it over; at once if
 *	   a frame waits for it in the gate, else TICK_LATE_MS later,
 *
 * and comes again at once while there is more. One batch is in flight; when it is durable, the gate
 * releases what waited for it, a slice with each tick, and the next is sealed. A commit that fails
 * ends the process; on a full disk it waits for room (disk_space.h).
 *
 * The loop's longest stall is the longest time from when something had happened until a tick was
 * over that had begun after it: the wait for the tick, and the tick.
 */
#ifndef CTLD_TICK_H
#define CTLD_TICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/job/run.h"

struct ctld;
struct tick;

#define TICK_EVENTS 256
#define TICK_US     2000
/* One call of the scheduler: classes or placements looked at, some 0.2 us to 20 us each. A tick
 * makes calls until their slice (slice.h) is over. */
#define TICK_SCHEDULE 16
/* How long changes may stay uncommitted while no frame waits for them, and how many bytes of
 * them. */
#define TICK_LATE_MS    5
#define TICK_DIRTY_LATE ((size_t)64 << 10)
/* Dirty bytes at which no more is taken while a commit is in flight. What is taken now would wait
 * for the next commit anyway, so this costs nothing, and it bounds the next seal to some 2 ms. */
#define TICK_DIRTY_FULL ((size_t)1 << 20)
/* Dirty bytes at which reading stops, and goes on: a second of what a slow disk takes. */
#define TICK_DIRTY_HIGH ((size_t)64 << 20)
#define TICK_DIRTY_LOW  ((size_t)16 << 20)

/* Something to do in a tick. Exactly one of the two is called, and frees `arg` or hands it on. */
struct tick_work {
	void (*run)(struct ctld *c, void *arg, struct clocks now);
	void (*drop)(void *arg); /* the controller ends first; NULL: `arg` owns nothing */
};
static inline void tick_work_drop(const struct tick_work *work, void *arg)
{
	if (work->drop)
		work->drop(arg);
}

/* What the parts above have to do with a tick. */
struct tick_hooks {
	/* Carry out what the core has decided. */
	void (*decided)(struct ctld *c, struct clocks now);
	/* More of what has happened is on disk: commit_gate_committed(). */
	void (*durable)(struct ctld *c);
	/* The frames that waited for it have left, or some of them. */
	void (*sent)(struct ctld *c);
	/* The tick is over. */
	void (*over)(struct ctld *c);
};

struct tick *tick_new(struct ctld *c, const struct tick_hooks *hooks, struct error *err);
void tick_free(struct tick *t); /* NULL is fine */

void tick_post(struct tick *t, const struct tick_work *work, void *arg);
/* The same for users' work; fair_queue.c alone calls it. */
void tick_post_user(struct tick *t, const struct tick_work *work, void *arg);

/* There is something to do that is not in the inbox: a batch to seal, a timer. */
void tick_wake(struct tick *t);

/* Is every change committed, and the inbox empty? */
bool tick_is_settled(const struct tick *t);

struct tick_stats {
	uint64_t ticks, events, max_events; /* events of one tick, the most */
	uint64_t commits, rows, max_rows;   /* rows of one batch, the most */
	uint64_t batch_bytes;
	uint64_t stall_us, stall_ever_us; /* the longest of the last minute or two, and ever */
	uint64_t work_ever_us; /* processor time of the loop from request to end of a tick */
	uint64_t busy_us;      /* spent in ticks */
	uint64_t pauses;       /* times that reading stopped: too many dirty bytes */
	size_t inbox;
};
void tick_stats(const struct tick *t, struct tick_stats *out);

#endif
