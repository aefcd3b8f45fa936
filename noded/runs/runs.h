/* runs.h - the launcher's table of runs, and each run from its order to its last report
 *
 *   ASKED --> STARTING --> RUNNING --> OVER
 *     |          |            |         ^
 *     |          +-> LOST <---+---------+   the shepherd was killed (lost.h)
 *     +---------------------------------+   never
 *
 * start.h brings a run from ASKED to STARTING, recover.h adds the runs of an earlier launcher. The
 * table owns the runs. A run that is over stays until the controller forgets it.
 */
#ifndef NODED_LAUNCHER_RUNS_H
#define NODED_LAUNCHER_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "noded/record/record.h"
#include "noded/usage/overmem.h"

#define RUNS_MAX 65536 /* runs and tombstones at a time: bounds a flood of orders */

struct contain;
struct event;
struct launcher;
struct proc;
struct run_sync;
struct run_usage;
struct start;

enum run_state {
	RUN_ASKED,    /* just verified; no record yet, not reported */
	RUN_STARTING, /* record written */
	RUN_RUNNING,
	RUN_LOST, /* its shepherd is gone without an exit record; the rest is being killed */
	RUN_OVER, /* ended or never was: reported until forgotten */
};

/* Orders to a shepherd. */
enum run_order_kind {
	RUN_ORDER_SUSPEND,
	RUN_ORDER_SIGNAL,
	RUN_ORDER_NOTE,
	RUN_ORDER_GIVE_BACK,
	RUN_ORDER_END,
	RUN_ORDER_KINDS
};

struct run {
	struct launcher *l;
	struct run_id id;
	char name[RECORD_ID_MAX];
	enum run_state state;
	Gpusched__RunReport *report; /* owned; as the agent is told. NULL while ASKED */
	uint64_t gpus;               /* held while STARTING, RUNNING, LOST: bits of indices */
	bool has_parts;              /* it has parts of its GPUs, not whole ones */
	uint32_t uid;                /* of the user who has them */
	uint64_t share_mb;           /* of the memory of each, where they are parts */
	/* RUNNING: it must give back borrowed memory, for this job, by burst_time (wall); it used
	 * burst_own_mb when it was asked. ASKED: it waits for memory that the job has borrowed
	 * (gpu_reclaim.h). 0: neither */
	uint64_t burst_job, burst_own_mb;
	usec_t burst_time;
	bool mps;            /* it needs the MPS of its GPU and owner */
	struct start *start; /* ASKED: the start in progress; owned */
	int pidfd;           /* of the shepherd, -1: not known */
	struct event *life;  /* on pidfd */
	struct event *timer; /* LOST: poll again; OVER: sync to disk; else: find the shepherd,
	                      * deliver waiting orders */
	/* Orders that found the shepherd's socket full; owned. Only the latest of each kind
	 * counts. */
	struct run_order_bytes {
		void *bytes;
		size_t len;
	} waiting[RUN_ORDER_KINDS];
	unsigned looks;         /* how often the timer has polled */
	struct contain *leaf;   /* LOST; owned */
	int64_t start_mono;     /* when the program was executed, us; 0: not known */
	pid_t shepherd;         /* RUNNING */
	struct run_usage *used; /* what it uses; owned; NULL: not sampled yet */
	uint64_t suspended_us;  /* as in its NotesRecord */
	int64_t suspended_mono;
	struct run_sync *sync; /* the copy to disk in progress */
	bool on_disk;          /* SPOOL/exits has a copy */
	bool spool_told; /* it is being ended because its files fill the spool (spool_guard.h) */
};

/* --- the table -------------------------------------------------------------------------------- */

struct runs *runs_new(void);
void runs_free(struct runs *runs); /* NULL is fine; starts in progress are cancelled */
size_t runs_count(const struct launcher *l);
void runs_each(struct launcher *l, void (*fn)(struct run *r, void *arg), void *arg);

struct run *run_find(struct launcher *l, struct run_id id); /* NULL: there is none */
struct run *run_add(struct launcher *l, struct run_id id);  /* ASKED; NULL: RUNS_MAX, logged */
void run_remove(struct run *r);                             /* from the table; records stay */

/* --- a run's life ----------------------------------------------------------------------------- */

/* The run never existed and must never start: write that down and report it. `why` is for people;
 * `never` says whether the node must be drained for it. Frees the run's start. */
enum never {
	NEVER_RUN,       /* the cause is the run's own, or no fault at all */
	NEVER_NODE,      /* the node can start no run: it must be drained */
	NEVER_SIGNATURE, /* its owner's signature was refused */
};
void run_never(struct run *r, const char *why, enum never never);

/* The run has a record and a shepherd: follow it. `shepherd` 0: run_forked() or run_not_forked()
 * is called later. Takes `report` over. */
void run_started(struct run *r, Gpusched__RunReport *report, pid_t shepherd);
/* The shepherd's process id, which another process may have by now; 0: it is not known whether the
 * shepherd was started. The lock of the run's record tells, since the launcher no longer holds
 * it. */
void run_forked(struct launcher *l, struct run_id id, pid_t shepherd);
void run_not_forked(struct launcher *l, struct run_id id, const char *why);

/* The same for a run that was found: `p` is its shepherd, pid 0 if that is not known yet. */
void run_follow(struct run *r, const struct proc *p);
void run_stop_following(struct run *r);

/* Read the records again. -1: they cannot be read now; the state is unchanged, and they will be
 * read later. */
int run_poll(struct run *r);
/* Do what is due (run.timer) in so many milliseconds. */
void run_set_timer(struct run *r, unsigned ms);

/* The run is over, with this report, which is taken over. */
void run_over(struct run *r, Gpusched__RunReport *report, bool on_disk);
/* The controller knows its end: remove the run and its records. Ignored unless it is over. */
void run_forget(struct launcher *l, struct run_id id);

/* --- orders ----------------------------------------------------------------------------------- */

/* From the controller; those of an old epoch are ignored. */
void run_end(struct launcher *l, const Gpusched__EndRun *order);
void run_signal(struct launcher *l, const Gpusched__SignalRun *order);
void run_suspend(struct launcher *l, const Gpusched__SuspendRun *order);

/* The run uses more memory of a GPU than it may; `text` says how much. */
void run_over_memory(struct run *r, enum overmem_policy policy, const char *text);
/* The run's files have filled the spool: it is ended at once. */
void run_spool_full(struct run *r, const char *text);
/* The run must give back borrowed memory, or no longer (give_back of the order). */
void run_give_back(struct run *r, const Gpusched__EndRun *order);

/* --- records ---------------------------------------------------------------------------------- */

/* A descriptor of its record directory, made if need be; -1 with errno. */
int run_dir(const struct run *r, bool make);
/* 1; 0: there is no record, or a torn one, which is logged; -1: it cannot be read now. *m is the
 * caller's to free. */
int run_read(const struct run *r, const char *name, const ProtobufCMessageDescriptor *desc,
        ProtobufCMessage **m);
void run_write_exit(struct run *r, const Gpusched__RunReport *report);
/* A launch that executed nothing does not count as a use of the signature: take it back. */
void run_take_back_use(struct run *r);
/* Remove RUN_DIR and its private directories in the background. */
void run_remove_rundir(struct launcher *l, const char *name);

/* --- reports ---------------------------------------------------------------------------------- */

/* Report the run to the agent. run_refresh() brings the report up to date for that. */
void run_send_report(struct run *r);
void run_refresh(struct run *r);

struct run_id run_id_of(const Gpusched__RunId *id);
Gpusched__RunReport *run_report_copy(const Gpusched__RunReport *r);
Gpusched__RunReport *run_report_new(struct run_id id); /* all else empty */
void run_report_free(Gpusched__RunReport *r);          /* NULL is fine */
void run_report_set(char **field, const char *value);  /* of a report of our own */

#endif
