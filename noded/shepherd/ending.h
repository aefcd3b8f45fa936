/* ending.h - when a run is warned, interrupted, killed and over
 *
 * The shepherd's decisions without its I/O: what happened goes in, what to do comes out
 * (ending_take). Times are microseconds of one monotonic clock.
 *
 *              started               order, or the time limit
 *   LAUNCHING ---------> RUNNING --------------------------------> GRACE
 *       |                   | main process gone                      | all gone, deadline, ack
 *       | failed, order,    v                                        v
 *       | too late       KILLING <----------------------------------+
 *       +-------------------^
 *                           | nothing is left
 *                           v
 *                          OVER
 *
 * - The time limit counts from when the launch came to what its owner can delay (launched). From
 *   then on the launch may take `launch`, and no longer than the time limit; a launch that takes
 *   longer is killed at once, since no program has begun that could save anything.
 * - The warning (warn_before ahead of the limit) writes the interruption file too and changes no
 *   phase; from then on an acknowledgement means "end me now".
 * - In GRACE the end of the main process is not the end: a shell that TERM ended leaves the program
 *   that is saving its work its time. When nothing is left, or the owner acknowledged, or at the
 *   deadline, whatever there is is killed.
 * - A later order may bring the deadline forward, never back. Its cause replaces the time limit's,
 *   not another order's: who ended it first is why it ended. An order that is only said again (the
 *   agent was away, and the controller cannot know) is nothing: a second signal makes many a
 *   program give up what the first made it save.
 * - Who is asked to give something back (ending_ask) is interrupted like who is ordered to end, and
 *   runs on when that is withdrawn; any order to end counts instead of it.
 * - A run whose main process was gone before the first order or limit ended by itself.
 * - While it is paused its time limit stands still, and comes later by so much: what was written of
 * a deadline is written anew when it goes on. Only RUNNING is paused: what is to end must be able
 * to react.
 */
#ifndef NODED_ENDING_H
#define NODED_ENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/run.h"

enum ending_phase {
	ENDING_LAUNCHING,
	ENDING_RUNNING,
	ENDING_GRACE,
	ENDING_KILLING,
	ENDING_OVER,
	ENDING_PHASES
};

/* What to do, in this order. */
enum ending_do {
	ENDING_DO_INTERRUPT = 1 << 0, /* write the interruption file, with ending_deadline() */
	ENDING_DO_WARN = 1 << 1,      /* `signal`, to processes that await it only */
	ENDING_DO_SIGNAL = 1 << 2,    /* `signal`, to the run */
	ENDING_DO_KILL = 1 << 3,      /* kill all; again and again until nothing is left */
	ENDING_DO_FINISH = 1 << 4,    /* write the exit record */
};

struct ending_limits {
	usec_t limit;       /* 0: none */
	usec_t launch;      /* for the part of a launch that its owner can delay; 0: none */
	usec_t warn_before; /* 0: no early warning */
	usec_t grace;       /* after the limit */
	int warn_signal;    /* of the early warning, or, without one, at the limit; 0: TERM */
};

struct ending {
	struct ending_limits limits;
	enum ending_phase phase;
	enum end_cause cause;     /* END_NONE until something other than the program ends it */
	int signal;               /* of the last DO_WARN or DO_SIGNAL */
	usec_t started;           /* or launched; later by all pauses. INT64_MAX: not yet */
	usec_t deadline;          /* INT64_MAX: none */
	usec_t paused;            /* since when; INT64_MAX: it is not */
	bool warned, ackable;
	bool asked; /* GRACE: not ordered to end; it may be withdrawn */
	unsigned todo;
};

void ending_init(struct ending *e, const struct ending_limits *limits);

/* What happened. Each may come in any phase; what makes no sense there is nothing. */
void ending_launched(struct ending *e, usec_t now);  /* its owner's files are next */
void ending_started(struct ending *e, usec_t now);   /* the program was executed */
/* It could not be: END_LAUNCH or END_LAUNCH_OWNER. */
void ending_failed(struct ending *e, enum end_cause cause, usec_t now);
void ending_main_gone(struct ending *e, usec_t now); /* its first process has ended */
void ending_empty(struct ending *e);                 /* no process of it is left */
void ending_ack(struct ending *e, usec_t now);       /* the owner says: end me now */
void ending_clock(struct ending *e, usec_t now);     /* time has passed */
void ending_order(struct ending *e, enum end_cause cause, int signal, usec_t grace, usec_t now);

/* Give back, or END_RECLAIM after the grace. False: it ends anyway, or nothing of it has begun. */
bool ending_ask(struct ending *e, int signal, usec_t grace, usec_t now);
/* It was not in vain, or nobody needs it any more: it runs as before. False: it was not asked, or
 * ends for another reason. */
bool ending_withdraw(struct ending *e, usec_t now);

/* Another limit, 0: none. Not of what was warned of the one that it has. */
void ending_set_limit(struct ending *e, usec_t limit);

void ending_pause(struct ending *e, usec_t now);
void ending_go_on(struct ending *e, usec_t now);

unsigned ending_take(struct ending *e);     /* enum ending_do bits; then there are none */
usec_t ending_next(const struct ending *e); /* when ending_clock() is wanted; INT64_MAX: never */
usec_t ending_deadline(const struct ending *e); /* of the grace, or of what the warning is for */

/* May an acknowledgement be looked for? */
bool ending_wants_ack(const struct ending *e);

#endif
