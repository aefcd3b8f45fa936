/* sim_launcher_impl.h - the inside of sim_launcher.h, for its files
 *
 *	sim_launcher.c	orders, how runs begin and end, and what is told of them
 *	sim_memory.c	memory of GPUs that is borrowed, and given back to whose it is
 */
#ifndef NODED_SIM_LAUNCHER_IMPL_H
#define NODED_SIM_LAUNCHER_IMPL_H

#include "noded/sim/sim_launcher.h"

#define SECOND         ((usec_t)1000000)
#define NEVER_AT       INT64_MAX
#define SIGTERM_NUMBER 15
#define SIGKILL_NUMBER 9

struct record {
	struct run_report report;   /* what is true; its strings are owned */
	Gpusched__SignedSpec *spec; /* owned; NULL: it could not be read */
	enum run_report_state told; /* what was said last; 0: nothing yet */
	struct sim_course course;
	usec_t start, begin_at,
	        end_at; /* mono; NEVER_AT: not by itself, or past. start: once it ran */
	usec_t ended;
	bool ran; /* was RUNNING */
	uint32_t limit_s, grace_s;
	bool hold, ending; /* it is to be suspended, now or once it runs; was told to end */
	bool told_suspended;
	usec_t since; /* mono: of the present suspension */
	usec_t left;  /* from the suspension to end_at; NEVER_AT: no such */
	struct {
		uint32_t exit_code, exit_signal;
		enum end_cause cause;
	} ends; /* how, at end_at */
	/* Memory of its GPUs (sim_memory.c) */
	uint64_t own_mb;         /* it uses so much of each */
	usec_t take_at, give_at; /* mono; NEVER_AT: not to come */
	bool waits; /* to be started: its part is lent, perhaps; its report says nothing */
	Gpusched__StartRun *order; /* of that; owned */
	bool asked;                /* to give back what it has borrowed, */
	usec_t asked_at;           /* mono: then */
	uint64_t burst_job;        /* what was told last, as in run_used */
	usec_t burst_time;
	struct record *next;
};

struct sim_launcher {
	struct sim_world world;
	char *incarnation;
	uint64_t max_epoch, max_job;
	struct record *first, **last;
	size_t n;
	bool hello_due;
	struct run_report *hello_runs;
	usec_t next_due; /* not later than the earliest begin_at or end_at */
	bool changed;    /* some record has told != report.state */
	usec_t look_at;  /* mono: at the memory of GPUs; NEVER_AT */
	usec_t born;     /* mono: its hello */
};

static inline bool alive(const struct record *r)
{
	return r->report.state == REPORT_STARTING || r->report.state == REPORT_RUNNING;
}

/* --- sim_launcher.c -------------------------------------------------------------------------- */

/* There is something to do at that time (mono). */
void sim_due(struct sim_launcher *l, usec_t at);
/* When it ends, if nothing comes between; not while it is suspended. */
void sim_schedule(struct sim_launcher *l, struct record *r);
/* TERM at `at`, and KILL after the grace. */
void sim_stop_at(struct sim_launcher *l, struct record *r, usec_t at, enum end_cause cause,
        uint32_t grace_s);
/* What runs is stopped, or goes on. */
void sim_suspend(struct sim_launcher *l, struct record *r, bool suspend, struct clocks now);
/* Who waited starts, or is refused: then the record is another. */
void sim_start_waiting(struct sim_launcher *l, struct record *r, struct clocks now);

/* --- sim_memory.c ---------------------------------------------------------------------------- */

/* It is to be started. True: not before a look, for somebody may borrow on its GPUs. */
bool sim_memory_waits(struct sim_launcher *l, struct record *r, const Gpusched__StartRun *order);
/* It will not be started. */
void sim_memory_waived(struct sim_launcher *l, struct record *r);
void sim_memory_begins(struct sim_launcher *l, struct record *r); /* it is RUNNING */
void sim_memory_over(struct sim_launcher *l, struct record *r);
/* It takes or gives back, if it is time: the program does that, with or without a launcher. */
void sim_memory_pass(struct sim_launcher *l, struct record *r, struct clocks now);
void sim_memory_hello(struct sim_launcher *l, struct clocks now); /* there is a new launcher */
/* Who is to give back, who need not any more, who can start? */
void sim_memory_look(struct sim_launcher *l, struct clocks now);

#endif
