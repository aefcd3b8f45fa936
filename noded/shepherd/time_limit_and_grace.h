/* time_limit_and_grace.h - when a run is warned, interrupted, killed and over
 *
 * The shepherd's decisions without its I/O: events go in, actions come out (deadline_actions).
 * Times are microseconds of one monotonic clock.
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
 * - The time limit counts from when the launch reaches the steps that the run's owner can delay
 *   (launched). From then on the launch may take `launch`, and no longer than the time limit. A
 *   launch that takes longer is killed at once: no program has begun that could save anything.
 * - The warning (warn_before ahead of the limit) writes the interruption file too and does not
 *   change the phase; from then on an acknowledgement means "end me now".
 * - In GRACE the end of the main process does not end the run: if TERM ended a shell, the program
 *   that is saving its work still has its time. When no process is left, or the owner acknowledged,
 *   or at the deadline, everything that remains is killed.
 * - A later order may bring the deadline forward, never push it back. Its cause replaces the time
 *   limit's, but not an earlier order's: the first order is why the run ended. An order that is
 *   merely repeated (the agent was away, and the controller cannot know) has no effect: a second
 *   signal makes many programs abandon what the first made them save.
 * - A run that must give back borrowed GPU memory (deadline_reclaim) is interrupted like a run that
 *   is ordered to end, and continues when that is withdrawn. Any order to end replaces it.
 * - A run whose main process had ended before the first order or limit ended by itself.
 * - While the run is paused its time limit stands still, and comes later by the length of the
 *   pause; a deadline in the interruption file is rewritten when the run resumes. A run can be
 *   paused only in RUNNING: a run that is to end must be able to react.
 */
#ifndef NODED_TIME_LIMIT_AND_GRACE_H
#define NODED_TIME_LIMIT_AND_GRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/run.h"

enum deadline_phase {
	DEADLINE_LAUNCHING,
	DEADLINE_RUNNING,
	DEADLINE_GRACE,
	DEADLINE_KILLING,
	DEADLINE_OVER,
	DEADLINE_PHASES
};

/* What to do, in this order. */
enum deadline_action {
	DEADLINE_INTERRUPT = 1 << 0, /* write the interruption file, with deadline_time() */
	DEADLINE_WARN = 1 << 1,      /* send `signal`, only to processes that await it */
	DEADLINE_SIGNAL = 1 << 2,    /* send `signal` to the run */
	DEADLINE_KILL = 1 << 3,      /* kill all processes, repeatedly until none is left */
	DEADLINE_FINISH = 1 << 4,    /* write the exit record */
};

struct deadline_limits {
	usec_t limit;       /* 0: none */
	usec_t launch;      /* for the steps of a launch that its owner can delay; 0: no limit */
	usec_t warn_before; /* 0: no early warning */
	usec_t grace;       /* after the limit */
	int warn_signal;    /* of the early warning, or, without one, at the limit; 0: TERM */
};

struct run_deadline {
	struct deadline_limits limits;
	enum deadline_phase phase;
	enum end_cause cause; /* END_NONE until something other than the program ends the run */
	int signal;           /* of the last DEADLINE_WARN or DEADLINE_SIGNAL */
	usec_t started;       /* when it was launched, plus all pauses; INT64_MAX: not yet */
	usec_t deadline;      /* INT64_MAX: none */
	usec_t paused;        /* since when; INT64_MAX: not paused */
	bool warned, ackable;
	bool asked; /* GRACE: it was asked to give back, which may be withdrawn */
	unsigned todo;
};

void deadline_init(struct run_deadline *e, const struct deadline_limits *limits);

/* Events. Each may come in any phase; where it makes no sense it has no effect. */
void deadline_launched(
        struct run_deadline *e, usec_t now); /* the next steps use the owner's files */
void deadline_started(struct run_deadline *e, usec_t now); /* the program was executed */
/* It could not be executed: END_LAUNCH or END_LAUNCH_OWNER. */
void deadline_failed(struct run_deadline *e, enum end_cause cause, usec_t now);
void deadline_main_gone(struct run_deadline *e, usec_t now); /* its first process has ended */
void deadline_empty(struct run_deadline *e);                 /* no process of the run is left */
void deadline_ack(struct run_deadline *e, usec_t now);       /* the owner says: end me now */
void deadline_clock(struct run_deadline *e, usec_t now);     /* time has passed */
void deadline_order(
        struct run_deadline *e, enum end_cause cause, int signal, usec_t grace, usec_t now);

/* The run must give back borrowed GPU memory; if it does not, END_RECLAIM after the grace. False:
 * the run ends anyway, or its program has not begun. */
bool deadline_reclaim(struct run_deadline *e, int signal, usec_t grace, usec_t now);
/* The run has given the memory back, or the memory is no longer needed: the run continues. False:
 * it was not asked, or ends for another reason. */
bool deadline_withdraw(struct run_deadline *e, usec_t now);

/* Another limit; 0: none. It has no effect once the early warning was sent for the present
 * limit. */
void deadline_set_limit(struct run_deadline *e, usec_t limit);

void deadline_pause(struct run_deadline *e, usec_t now);
void deadline_resume(struct run_deadline *e, usec_t now);

unsigned deadline_actions(
        struct run_deadline *e); /* returns and clears the enum deadline_action bits */
usec_t deadline_next(
        const struct run_deadline *e); /* when deadline_clock() must run; INT64_MAX: never */
usec_t deadline_time(const struct run_deadline *e); /* end of the grace, or the limit warned of */

/* Would an acknowledgement have an effect now? */
bool deadline_wants_ack(const struct run_deadline *e);

#endif
