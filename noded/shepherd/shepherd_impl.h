/* shepherd_impl.h - the inside of gshepherd, for its seven files
 *
 *	shepherd.c              from the start of a run to its end
 *	shepherd_launch.c       until its program is executed
 *	shepherd_orders.c       the orders it gets meanwhile
 *	suspend_run.c           stopped for a while, and its time limit with it
 *	unkillable_processes.c  killed processes that do not end
 *	end_cause.c             why it ended
 *	shepherd_report.c       its exit record, with what it used
 */
#ifndef NODED_SHEPHERD_IMPL_H
#define NODED_SHEPHERD_IMPL_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "noded/contain/process_tracking.h"
#include "noded/exec/job_process.h"
#include "noded/exec/prolog_epilog.h"
#include "noded/record/rundir.h"
#include "noded/shepherd/checkpoint_and_progress.h"
#include "noded/shepherd/ghold_ends.h"
#include "noded/shepherd/gprobe_messages.h"
#include "noded/shepherd/time_limit_and_grace.h"

#define SECOND ((usec_t)1000000)

struct shepherd {
	const char *id;
	int record_dir, news_dir; /* RUNDIR/runs/ID, RUNDIR */
	int spool, rundir;        /* SPOOL/runs, SPOOL/runs/ID */
	Gpusched__LaunchRecord *launch;
	struct rundir_owner owner;
	struct contain *leaf, *outside_leaf; /* outside_leaf: our descendants outside the leaf */
	int signals, tell, watch;      /* signalfd; the child's pipe, then -1; inotify or -1 */
	int io;      /* our own proc_pid_io(5), which includes all reaped children */
	int hold_fd; /* to ghold; -1: not interactive, or ghold has ended */
	struct child_ends ends;

	pid_t main;
	volatile int *step; /* enum child_step, shared with the first process; NULL: not yet */
	unsigned stops;     /* how often the first process was stopped before it executed */
	bool late;          /* it did not execute in time */
	bool main_gone, no_children, left_alone;
	int status; /* of the main process, from wait(2) */
	char told[CHILD_TELL_MAX];
	size_t told_len;
	char detail[CHILD_TELL_MAX];
	bool tell_detail; /* write `detail` at the end of the run's output too */

	struct run_deadline ending;
	Gpusched__EndRun *order; /* the last one; NULL: none */
	usec_t burst_time;       /* wall: deadline to give borrowed memory back; 0: none */
	/* when the start was ordered: the run is charged from then on */
	usec_t start_wall, start_mono;
	usec_t kill_next, kill_pause;
	usec_t killed;   /* mono: the first kill; 0: not yet */
	char stuck[200]; /* names a process that survives KILL, once found; "" */
	bool executed, news_wait;
	bool begun; /* the prolog or the user's process has begun: programs after the run are due */
	char trouble[PROGRAM_TROUBLE_MAX]; /* why the node must be drained; "": it need not be */

	struct replica replica;
	struct notes notes;
	usec_t look_next, tell_next; /* next poll of the notes; next report of them */
	bool untold;

	bool hold, holding; /* the run is to be suspended; some of it was stopped for that */
	/* held: when all of the run was stopped (mono), 0: it is not suspended; held_us: total of
	 * earlier suspensions */
	usec_t held, held_us, hold_next;
};

static inline usec_t mono(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

static inline struct clocks both_clocks(void)
{
	return (struct clocks){ .wall = clock_us(CLOCK_REALTIME), .mono = mono() };
}

/* Notify the launcher: the run's records have changed. */
void shepherd_notify(struct shepherd *s);
/* Read a message of ghold, which is a process of the owner: nothing in it is trusted. */
void shepherd_read_hold(struct shepherd *s);

/* Make what the run needs and fork its first process; on error the launch has failed on return. */
void shepherd_launch(struct shepherd *s);
/* Read the child's pipe: was the program executed, or what went wrong? */
void shepherd_hear_child(struct shepherd *s);
/* Other processes of the owner may stop the first process before it executes the program: continue
 * it, a limited number of times. */
void shepherd_continue_child(struct shepherd *s);
/* The launch took too long: record the step that delayed it. */
void shepherd_say_late(struct shepherd *s);
/* A killed process executes nothing more, but may hang in the kernel on a file system that never
 * answers. If only the first process is left and it has not executed the program, it uses nothing
 * that the run holds: the run ends without it, and its GPUs are free for other runs. */
void shepherd_leave_alone(struct shepherd *s, usec_t now);

/* Read and obey the launcher's orders. */
void shepherd_obey(struct shepherd *s);
void shepherd_signal(struct shepherd *s, const Gpusched__SignalRun *order);

/* Stop all of the run if it is to be suspended, again and again for what was started meanwhile; let
 * it go on if it no longer is, or is to end. */
void shepherd_suspend_or_resume(struct shepherd *s, usec_t now);

/* Write the notes record: what the program reports, and what the run was asked for. */
void shepherd_tell_notes(struct shepherd *s, usec_t now);

/* Fill `stuck` if all was killed so long ago that what is left must hang in the kernel. True: it is
 * new. */
bool shepherd_is_stuck(struct shepherd *s, usec_t now);

/* What the exit record borrows. */
struct exit_parts {
	Gpusched__RunUsed used;
	Gpusched__Replica replica;
};

/* What ended the run, as far as the shepherd knows. */
Gpusched__EndCause shepherd_ended_by(const struct shepherd *s);
/* The run is over: fill in its exit code or signal and the text on its end, and change the cause to
 * OUT_OF_MEMORY if lack of memory has ended it. */
void shepherd_end_cause(struct shepherd *s, Gpusched__RunReport *r);

/* The run is over: fill the report, with `parts`, and write a summary at the end of its output
 * if the user wants one. To be called before the programs that come after the run, since these may
 * read that output. */
void shepherd_report(struct shepherd *s, Gpusched__RunReport *r, struct exit_parts *parts);

#endif
