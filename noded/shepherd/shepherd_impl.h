/* shepherd_impl.h - the inside of gshepherd, for its four files
 *
 *	shepherd.c         from the start of a run to its end
 *	shepherd_launch.c  until its program is executed
 *	shepherd_orders.c  what it is told meanwhile
 *	shepherd_report.c  how it ended and what it used
 */
#ifndef NODED_SHEPHERD_IMPL_H
#define NODED_SHEPHERD_IMPL_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "common/gpusched.pb-c.h"
#include "common/run.h"
#include "noded/contain/contain.h"
#include "noded/exec/child.h"
#include "noded/record/rundir.h"
#include "noded/shepherd/ending.h"
#include "noded/shepherd/ends.h"
#include "noded/shepherd/notes.h"
#include "noded/shepherd/program.h"

#define SECOND ((usec_t)1000000)

struct shepherd {
	const char *id;
	int record_dir, news_dir; /* RUNDIR/runs/ID, RUNDIR */
	int spool, rundir;        /* SPOOL/runs, SPOOL/runs/ID */
	Gpusched__LaunchRecord *launch;
	struct rundir_owner owner;
	struct contain *leaf, *strays; /* strays: our descendants outside of the leaf */
	int signals, tell, watch;      /* signalfd; the child's pipe, then -1; inotify or -1 */
	int io;      /* our own proc_pid_io(5), of all that we have waited for too */
	int hold_fd; /* to ghold, -1: it is not interactive, or ghold has gone */
	struct child_ends ends;

	pid_t main;
	volatile int *step; /* of the first process until it executes; shared with it. NULL: not yet */
	unsigned stops;     /* of the first process until it executes */
	bool late;          /* it did not execute in time */
	bool main_gone, no_children, left_alone;
	int status; /* of the main process, as wait(2) has it */
	char told[CHILD_TELL_MAX];
	size_t told_len;
	char detail[CHILD_TELL_MAX];
	bool tell_detail; /* at the end of its output too */

	struct ending ending;
	Gpusched__EndRun *order; /* the last one; NULL: none */
	usec_t burst_time;       /* wall: it is to give back what it has borrowed; 0: it is not */
	usec_t start_wall, start_mono; /* when we were told to start it: charged from then on */
	usec_t kill_next, kill_pause;
	usec_t killed;   /* mono: first; 0: not yet */
	char stuck[200]; /* what does not end all the same, once that was found; "" */
	bool executed, news_wait;
	bool begun; /* the site's prolog or the user's process: what comes after a run is due */
	char trouble[PROGRAM_TROUBLE_MAX]; /* why the node is to be drained; "": it is not */

	struct notes notes;
	usec_t look_next, tell_next; /* at the notes; of them */
	bool untold;

	bool hold, holding; /* it is to be suspended; something of it was stopped for that */
	usec_t held, held_us, hold_next; /* mono: since when all is stopped, 0: not; before that */
};

static inline usec_t clock_us(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (usec_t)t.tv_sec * SECOND + t.tv_nsec / 1000;
}

static inline usec_t mono(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

/* Look at the records: there is something new. */
void shepherd_tell_launcher(struct shepherd *s);
/* From ghold: a process of the owner, which is believed nothing. */
void shepherd_hear_hold(struct shepherd *s);

/* Make what the run needs and fork its first process; or the launch has failed by then. */
void shepherd_launch(struct shepherd *s);
/* Was the program executed, or what went wrong? */
void shepherd_hear_child(struct shepherd *s);
/* Other processes of the owner may stop the first process before it executes the program: it is
 * continued, a few times. */
void shepherd_continue_child(struct shepherd *s);
/* The launch took too long: say what held it up. */
void shepherd_say_late(struct shepherd *s);
/* A process that was killed executes nothing more, but may wait in the kernel for a file system that
 * never answers. If only the first process is left and it has not executed the program, it uses
 * nothing that the run holds: the run is over without it, and others may have that. */
void shepherd_leave_alone(struct shepherd *s, usec_t now);

/* Obey what the launcher has sent. */
void shepherd_obey(struct shepherd *s);
void shepherd_signal(struct shepherd *s, const Gpusched__SignalRun *order);

/* Keep what the run says of itself, and what it was asked for, where the launcher finds it. */
void shepherd_tell_notes(struct shepherd *s, usec_t now);

/* Fill `stuck`, if all was killed so long ago that what is left hangs in the kernel. True: it is
 * new. */
bool shepherd_is_stuck(struct shepherd *s, usec_t now);

/* All of it is over: fill the report, `used` for it, and tell its user at the end of its output if
 * he wants to know. Before the programs that come after the run, which may look at that. */
void shepherd_report(struct shepherd *s, Gpusched__RunReport *r, Gpusched__RunUsed *used);

#endif
