/* sim_launcher_impl.h - the inside of sim_launcher.h, for its files
 *
 *	sim_launcher.c	orders, how runs begin and end, and the reports of them
 *	sim_gpu_memory.c	GPU memory that runs borrow and give back
 *	sim_replica.c	replicas of services
 */
#ifndef NODED_SIM_LAUNCHER_IMPL_H
#define NODED_SIM_LAUNCHER_IMPL_H

#include "noded/sim/sim_launcher.h"

#define SECOND         ((usec_t)1000000)
#define NEVER_AT       INT64_MAX
#define SIGTERM_NUMBER 15
#define SIGKILL_NUMBER 9

struct record {
	struct run_report report;   /* the true state; its strings are owned */
	Gpusched__SignedSpec *spec; /* owned; NULL: it could not be read */
	enum run_report_state told; /* the last reported state; 0: none yet */
	struct sim_course course;
	usec_t start, begin_at,
	        end_at; /* mono; NEVER_AT: not by itself, or past. start: once it ran */
	usec_t ended;
	bool ran; /* was RUNNING */
	uint32_t limit_s, grace_s;
	bool hold, ending; /* it is to be suspended, now or once it runs; was ordered to end */
	bool told_suspended;
	usec_t since; /* mono: of the present suspension */
	usec_t left;  /* from the suspension to end_at; NEVER_AT: it has no end_at */
	struct {
		uint32_t exit_code, exit_signal;
		enum end_cause cause;
	} ends; /* how, at end_at */
	/* Memory of its GPUs (sim_gpu_memory.c) */
	uint64_t own_mb;         /* memory that it uses of each GPU */
	usec_t take_at, give_at; /* mono; NEVER_AT: not planned */
	bool waits;              /* its start waits for its part, which may be lent; not reported */
	Gpusched__StartRun *order; /* the order of that start; owned */
	bool asked;                /* it was asked to give back what it has borrowed, */
	usec_t asked_at;           /* mono: at this time */
	uint64_t burst_job;        /* the last reported values, as in run_used */
	usec_t burst_time;
	/* Of a replica of a service (sim_replica.c) */
	usec_t ready_at;    /* mono: when it has loaded; NEVER_AT: it has, or does not run yet */
	usec_t ready_since; /* mono: READY, and ready_us is up to then */
	enum replica_health told_health;
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
	uint32_t ports;  /* given to replicas so far */
	usec_t check_at; /* mono: next check of GPU memory; NEVER_AT */
	usec_t born;     /* mono: when it said hello */
};

static inline bool alive(const struct record *r)
{
	return r->report.state == REPORT_STARTING || r->report.state == REPORT_RUNNING;
}

/* --- sim_launcher.c -------------------------------------------------------------------------- */

/* Something is due at that time (mono). */
void sim_due(struct sim_launcher *l, usec_t at);
/* Set when the run ends, if nothing intervenes; not while it is suspended. */
void sim_schedule(struct sim_launcher *l, struct record *r);
/* TERM at `at`, and KILL after the grace. */
void sim_stop_at(struct sim_launcher *l, struct record *r, usec_t at, enum end_cause cause,
        uint32_t grace_s);
/* Suspend or resume a running run. */
void sim_suspend(struct sim_launcher *l, struct record *r, bool suspend, struct clocks now);
/* Start a run that has waited, or refuse it: then the record is replaced by another. */
void sim_start_waiting(struct sim_launcher *l, struct record *r, struct clocks now);

/* --- sim_replica.c --------------------------------------------------------------------------- */

/* All of them do nothing for a run that is no replica. It will be started; it is RUNNING. */
void sim_replica_starts(struct sim_launcher *l, struct record *r);
void sim_replica_begins(struct sim_launcher *l, struct record *r, struct clocks now);
/* It becomes READY, if it is time. */
void sim_replica_pass(struct sim_launcher *l, struct record *r, struct clocks now);
/* It is to end, or is suspended: `why`, as long as the process. It goes on. It is over. */
void sim_replica_hides(
        struct sim_launcher *l, struct record *r, const char *why, struct clocks now);
void sim_replica_resumes(struct sim_launcher *l, struct record *r, struct clocks now);
void sim_replica_ends(struct record *r);
void sim_replica_refresh(struct record *r, struct clocks now); /* ready_us up to now */

/* --- sim_gpu_memory.c ------------------------------------------------------------------------- */

/* A run is to be started. True: not before a check, since a run may have borrowed on its GPUs. */
bool sim_memory_waits(struct sim_launcher *l, struct record *r, const Gpusched__StartRun *order);
/* The run will not be started. */
void sim_memory_waived(struct sim_launcher *l, struct record *r);
void sim_memory_begins(struct sim_launcher *l, struct record *r); /* it is RUNNING */
void sim_memory_over(struct sim_launcher *l, struct record *r);
/* The run takes or gives back memory, if it is time: the program does that without a launcher. */
void sim_memory_pass(struct sim_launcher *l, struct record *r, struct clocks now);
void sim_memory_hello(struct sim_launcher *l, struct clocks now); /* there is a new launcher */
/* Decide which runs must give back, which need not any more, and which can start. */
void sim_memory_check(struct sim_launcher *l, struct clocks now);

#endif
