/* run.h - one attempt at a job on one of its nodes
 *
 *	ORDERED --> STARTING --> RUNNING --> ENDED
 *	   |           |                       |  ^
 *	   +-----------+--> NEVER              v  |
 *	                                     STRAY   an orphan run: given up or not known, but alive
 *
 * ORDERED: decided; a StartRun may or may not have arrived. STARTING: the launcher has a record.
 * RUNNING: the program was executed. ENDED: nothing of it is left, as its node has reported or
 * because the node is known to be off. NEVER: it was not started and never will be. Until ENDED or
 * NEVER its CPUs, memory and GPUs are booked.
 *
 * STRAY (RUN_ORPHAN): it is alive and should not be. It is a run of no known job (an operator must
 * check it), a run of an attempt that its job does not continue (after a restore), or a run that an
 * operator or a fence program declared dead too early. It stays booked until the node reports its
 * end, which changes nothing else.
 *
 * `end_wanted` is independent of the state: an EndRun is due, and is sent in every session of the
 * node until the run has ended. So is `suspend_wanted`: it is sent in every session as long as the
 * node reports something else. `suspend_time` is what the node reports of a RUNNING run.
 *
 * Runs are owned by `struct runs`. A job links its own runs, and a node those that are booked on
 * it.
 */
#ifndef CTLD_CORE_RUN_H
#define CTLD_CORE_RUN_H

#include "common/base/error.h"
#include "common/job/run.h"
#include "ctld/core/request/gpu_share.h"
#include "ctld/core/rows/dirty.h"
#include "ctld/core/util/strings.h"

#define RUN_STATES(X)                                                                       \
	X(RUN_ORDERED, "ORDERED",                                                           \
	        1u << RUN_STARTING | 1u << RUN_RUNNING | 1u << RUN_ENDED | 1u << RUN_NEVER) \
	X(RUN_STARTING, "STARTING", 1u << RUN_RUNNING | 1u << RUN_ENDED | 1u << RUN_NEVER)  \
	X(RUN_RUNNING, "RUNNING", 1u << RUN_ENDED)                                          \
	X(RUN_ENDED, "ENDED", 1u << RUN_ORPHAN)                                             \
	X(RUN_NEVER, "NEVER", 1u << RUN_ORPHAN)                                             \
	X(RUN_ORPHAN, "STRAY", 1u << RUN_ENDED)

#define X(sym, name, next) sym,
enum run_state { RUN_STATES(X) RUN_STATE_COUNT };
#undef X

const char *run_state_name(enum run_state state);
bool run_state_may(enum run_state from, enum run_state to);

struct job;
struct node;
struct run;
struct runs;

/* Durable. Texts are interned. */
struct run_info {
	struct run_id id;
	const char *node, *gpu_type, *incarnation;
	const char *account; /* to which it is billed */
	uint64_t gpus, mem_mb, epoch;
	uint64_t billed_us, cost_u;    /* how much of its time was billed, and for how much
				        * (bill.c) */
	usec_t order_time, start_time; /* wall */
	uint32_t cpus, uid;
	uint32_t nodes;      /* number of ranks of its attempt */
	uint8_t state;       /* enum run_state */
	bool suspend_wanted; /* it is to be suspended */
	uint8_t end_wanted;  /* enum end_cause */
	uint8_t end_cause;   /* enum end_cause, as reported */
};

/* The results so far. Durable too; in separate memory that is allocated once there are any,
 * because most come with the end. */
struct run_past {
	usec_t end_time;     /* wall */
	uint64_t elapsed_us; /* from start to end; while it is suspended, the time it has worked */
	uint64_t cpu_time_us, max_rss_kb;
	uint32_t exit_code, exit_signal;
	usec_t checkpoint_time; /* wall: its program says that its work up to here is safe; 0: it
				 * has not said so
				 */
	usec_t suspend_time;    /* wall: since when all of it is suspended; 0: it is not */
	uint64_t suspended_us;  /* this part of elapsed_us; while the run lives, the sum of the
				 * suspensions that are over
				 */
	const char *detail;     /* interned: a remark of its node, for people; "": none */
};

struct run_idle {
	uint64_t us;     /* how long its GPUs have been idle, as far as is known (idle.h) */
	uint64_t cpu_us; /* CPU time that it had used or waited for when that began */
	bool told;
};

/* Fields that most runs do not use, or use only for a short time; in separate memory. */
struct run_more {
	struct share share;   /* durable: the share of each of its GPUs; charge 0: all of it */
	const char *progress; /* interned: the progress that its program reports; NULL: none */
	struct run_used used;
	struct run_idle idle;
	const char
	        *nodes; /* interned: hostlist of its attempt; NULL: one node, or not the first
			 * rank */
	usec_t end_by;  /* mono: it was ordered to end, and will have ended by then; 0: it was
			 * not */
	struct run_replica *replica; /* owned; NULL: it is none, or nothing was said of it yet */
	struct run_owner *owner; /* owned, its texts interned; of a run without a job; NULL: not
				  * reported */
};

/* Of a replica of a service. The first fields are durable. */
struct run_replica {
	uint8_t health;            /* enum replica_health */
	usec_t ready_time;         /* wall: when it was READY first; 0: not yet */
	uint64_t ready_us;         /* so long was it READY, as reported */
	const char *address, *ports; /* interned; "20001,20002" */
	uint64_t requests, tokens;
	const char *text;          /* interned: what the last probe found */
	usec_t ready_since;        /* mono: since when this process knows it as READY; 0: it is not */
	uint64_t answered_seen, tokens_seen; /* service_reconcile.c: `requests`, `tokens` at the last step */
	bool learned;              /* service_reconcile.c: its load time counts for its service */
	struct run_load load;      /* the last that was reported */
};

/* The limits of GPU-hours in which it counts while it is booked. Names are interned. */
struct run_hours {
	const char *qos, *partition;
	usec_t since; /* mono */
};

/* Volatile. */
struct run_link {
	struct job *job;         /* NULL: the job is not known */
	struct run *next_of_job; /* the next rank, or the previous attempt */
	struct node *node;       /* on which it is booked; NULL: not booked */
	struct run *next_of_node, *prev_of_node;
	usec_t began;        /* mono: when it was booked, as far as is known; later `started` */
	uint32_t booked_ports; /* of its node's ports for replicas */
	uint64_t booked;     /* the GPUs booked for it in the ledger: all of info.gpus, unless it
	                      * is an orphan run */
	usec_t started;      /* mono: its start by the controller's clock, once
			      * run_started_known() */
	struct assoc *assoc; /* while it is booked: the assoc that its meter counts for */
	uint64_t rate_u;     /* its hourly cost since it began */
	struct run_hours *hours;  /* owned; NULL: no limit counts its GPU-hours */
	struct run_past *past;    /* owned; NULL: nothing yet */
	struct run_more *more;    /* owned; NULL: nothing yet */
	uint64_t ordered_session; /* the session in which its StartRun was sent; 0: before this
				   * start of the controller */
};

const struct run_info *run_info(const struct run *run);
const struct run_past *run_past(const struct run *run); /* zeros and "": nothing yet */
struct run_link *run_link(struct run *run);
const struct run_link *run_link_of(const struct run *run);
const struct share *run_share(const struct run *run); /* charge 0: whole GPUs */
/* The use that its node reported last; the total once it is over, and then partly durable. Zeros:
 * not known. */
const struct run_used *run_used(const struct run *run);
struct run_idle *run_idle(struct run *run);
const struct run_owner *run_owner(const struct run *run); /* "": not said */
const char *run_progress(const struct run *run); /* NULL: it says nothing */
struct run_replica *run_replica_known(struct run *run); /* NULL: nothing was said yet */
const struct run_replica *run_replica(const struct run *run); /* zeros and "": nothing yet */
const char *run_nodes(const struct run *run);    /* of the first rank; NULL: as in run_more */
bool run_started_known(const struct run *run);
bool run_imagined_over(const struct run *run); /* true only inside a what-if (whatif.h) */
usec_t run_end_by(const struct run *run);      /* mono; 0: it was not ordered to end */
bool run_over(const struct run *run);          /* ENDED or NEVER */
bool run_started(const struct run *run);       /* the launcher had a record of it */
/* How long it has worked: the time since its start without suspensions (run_worked_time.c). */
uint64_t run_worked_us(const struct run *run, struct clocks now);

struct runs *runs_new(struct strings *strings, struct dirty *dirty, uint64_t seed);
void runs_free(struct runs *runs);                                /* NULL is fine */
struct run *runs_find(const struct runs *runs, struct run_id id); /* NULL: none */
size_t runs_count(const struct runs *runs);
/* Every run in the order of ids (it sorts: for start and checks). Caller frees the array. */
struct run **runs_sorted(const struct runs *runs, size_t *n);
uint64_t runs_hash(const struct runs *runs);

/* --- movers ---------------------------------------------------------------------------------- */

/* A new run in info->state (RUN_ORDERED or RUN_ORPHAN), with the share of each of its GPUs; texts
 * are copied. */
struct run *runs_add(struct runs *runs, const struct run_info *info, const struct share *share);
/* asserts that the move is legal */
void run_move(struct runs *runs, struct run *run, enum run_state state);
void run_set_end_wanted(struct runs *runs, struct run *run, enum end_cause cause);
void run_set_start(struct runs *runs, struct run *run, usec_t start_time);
void run_set_suspend_wanted(struct runs *runs, struct run *run, bool wanted);
/* Its node reports: suspended as of `wall`, or not; the report has the rest. */
void run_set_suspended(
        struct runs *runs, struct run *run, const struct run_report *report, usec_t wall);
/* The checkpoint that its program reports. It never moves back. */
void run_set_checkpoint(struct runs *runs, struct run *run, usec_t checkpoint_time);
/* A remark of its node about the living run. */
void run_set_detail(struct runs *runs, struct run *run, const char *detail);
void run_set_progress(struct runs *runs, struct run *run, const char *progress); /* not durable */
void run_set_used(struct run *run, const struct run_used *used);                 /* not durable */
/* Not durable: its node reports it again. Copied; without effect if it is empty. */
void run_set_owner(struct runs *runs, struct run *run, const struct run_owner *owner);
void run_set_started(struct run *run, usec_t mono);                              /* not durable */
void run_set_end_by(struct run *run, usec_t mono);                               /* not durable */
void run_imagine_over(struct run *run, bool over);
/* Not durable. NULL: none; else it is copied. */
void run_set_nodes(struct runs *runs, struct run *run, const char *hostlist);
/* Owned by the run; made if it has none. */
struct run_hours *run_want_hours(
        struct runs *runs, struct run *run, const char *qos, const char *partition);
void run_drop_hours(struct runs *runs, struct run *run);
/* What its node says of a replica; true: something durable has changed, or its text. */
bool run_set_replica(
        struct runs *runs, struct run *run, const struct replica_report *report, usec_t mono);
void run_set_load(struct run *run, const struct run_load *load); /* not durable */
/* Copy how it ended from a report. */
void run_set_end(struct runs *runs, struct run *run, const struct run_report *report);
void run_set_billed(struct runs *runs, struct run *run, uint64_t billed_us, uint64_t cost_u);
/* Move it into history; the next seal frees it. It must be over and unlinked. */
void runs_retire(struct runs *runs, struct run *run);

/* --- rows ------------------------------------------------------------------------------------ */

int runs_load(struct runs *runs, const struct row *row, struct error *err);
void run_encode(const struct run *run, struct row *row, enum row_change change);
void run_free(struct runs *runs, struct run *run);

#endif
