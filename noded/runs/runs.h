/* runs.h - the launcher's table of runs
 *
 *   ASKED --> STARTING --> RUNNING --> OVER
 *     |          |            |         ^
 *     |          +-> LOST <---+---------+   the shepherd was killed (shepherd_lost.h)
 *     +---------------------------------+   never
 *
 * start_run.h brings a run from ASKED to STARTING, recover.h adds the runs of an earlier launcher,
 * and run_life.h has the rest. The table owns the runs. A run that is over stays until the
 * controller forgets it.
 */
#ifndef NODED_RUNS_H
#define NODED_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "noded/record/record.h"

#define GPU_INDEX_MAX 64    /* GPUs of a node, as the controller counts them: a set is one word */
#define RUNS_MAX      65536 /* runs and tombstones at a time: bounds a flood of orders */

struct contain;
struct event;
struct launcher;
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
	RUN_ORDER_RECLAIM,
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
	bool mps;                        /* it needs the MPS of its GPU and owner */
	struct start *start;             /* ASKED: the start in progress; owned */
	const Gpusched__StartRun *order; /* ASKED: the order to start it; the start's */
	int pidfd;                       /* of the shepherd, -1: not known */
	struct event *life;              /* on pidfd */
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
	/* Of a replica, as in its NotesRecord; all 0 of other runs (replica_status.h) */
	uint64_t ready_us;
	int64_t ready_mono;
	struct run_load load;  /* without the run */
	int64_t load_time;     /* wall: when it was measured; 0: not told yet */
	bool load_changed;     /* since it was sent */
	int64_t load_sent;     /* mono */
	struct run_sync *sync; /* the copy to disk in progress */
	bool on_disk;          /* SPOOL/exits has a copy */
	bool spool_told; /* it is being ended because its files fill the spool (spool_full.h) */
};

/* --- the table -------------------------------------------------------------------------------- */

struct runs *runs_new(void);
void runs_free(struct runs *runs); /* NULL is fine; starts in progress are cancelled */
size_t runs_count(const struct launcher *l);
void runs_each(struct launcher *l, void (*fn)(struct run *r, void *arg), void *arg);

struct run *run_find(struct launcher *l, struct run_id id); /* NULL: there is none */
struct run *run_add(struct launcher *l, struct run_id id);  /* ASKED; NULL: RUNS_MAX, logged */
void run_remove(struct run *r);                             /* from the table; records stay */

/* --- one run ---------------------------------------------------------------------------------- */

/* Report the run to the agent. run_refresh() brings the report up to date for that. */
void run_send_report(struct run *r);
void run_refresh(struct run *r);

/* Do what is due (run_due() in run_life.h) in so many milliseconds. */
void run_set_timer(struct run *r, unsigned ms);
void run_stop_following(struct run *r); /* its shepherd */

#endif
