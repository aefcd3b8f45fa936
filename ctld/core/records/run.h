/* run.h - one attempt at a job on one of its nodes
 *
 *	ORDERED --> STARTING --> RUNNING --> ENDED
 *	   |           |                       |  ^
 *	   +-----------+--> NEVER              v  |
 *	                                     STRAY   alive though given up, or not known at all
 *
 * ORDERED: decided; a StartRun may or may not have arrived. STARTING: the launcher has a record.
 * RUNNING: the program was executed. ENDED: nothing of it is left, on the node's word or because
 *the node is known to be off. NEVER: it was not started and never will be. Until ENDED or NEVER its
 * CPUs, memory and GPUs are booked.
 *
 * STRAY: what should not be there and is: a run of no job we know (somebody must look), one of an
 * attempt that its job does not go on with (after a restore), or one that an operator or a fence
 * program declared dead too early. Booked until the node says it has ended; its end changes nothing
 * but itself.
 *
 * `end_wanted` stands beside the state: an EndRun is due; it is sent in every session of the node
 * until the run has ended. So does `suspend_wanted`: as long as the node says something else, it is
 * told in every session. `suspend_time` is what the node says of a RUNNING run.
 *
 * Runs are owned by `struct runs`; a job links its own, a node those that are booked on it.
 */
#ifndef CTLD_CORE_RUN_H
#define CTLD_CORE_RUN_H

#include "common/error.h"
#include "common/run.h"
#include "ctld/core/accounts/accounts.h"
#include "ctld/core/place/cards.h"
#include "ctld/core/rows/dirty.h"
#include "ctld/core/util/strings.h"

#define RUN_STATES(X)                                                                       \
	X(RUN_ORDERED, "ORDERED",                                                           \
	        1u << RUN_STARTING | 1u << RUN_RUNNING | 1u << RUN_ENDED | 1u << RUN_NEVER) \
	X(RUN_STARTING, "STARTING", 1u << RUN_RUNNING | 1u << RUN_ENDED | 1u << RUN_NEVER)  \
	X(RUN_RUNNING, "RUNNING", 1u << RUN_ENDED)                                          \
	X(RUN_ENDED, "ENDED", 1u << RUN_STRAY)                                              \
	X(RUN_NEVER, "NEVER", 1u << RUN_STRAY)                                              \
	X(RUN_STRAY, "STRAY", 1u << RUN_ENDED)

#define X(sym, name, next) sym,
enum run_state { RUN_STATES(X) RUN_STATE_COUNT };
#undef X

const char *run_state_name(enum run_state state);
bool run_state_may(enum run_state from, enum run_state to);

struct job;
struct node;
struct run;
struct runs;

/* Durable. Texts are kept. */
struct run_info {
	struct run_id id;
	const char *node, *gpu_type, *incarnation;
	const char *account; /* to which it is billed */
	uint64_t gpus, mem_mb, epoch;
	uint64_t billed_us, cost_u;    /* so much of its time was billed, for so much (bill.c) */
	usec_t order_time, start_time; /* wall */
	uint32_t cpus, uid;
	uint32_t nodes;      /* of its attempt: that many ranks */
	uint8_t state;       /* enum run_state */
	bool suspend_wanted; /* it is to be stopped */
	uint8_t end_wanted;  /* enum end_cause */
	uint8_t end_cause;   /* enum end_cause, as reported */
};

/* What has come of it so far. Durable, too; in memory of its own once there is any of it, because
 * most of it comes with the end. */
struct run_past {
	usec_t end_time;     /* wall */
	uint64_t elapsed_us; /* from start to end; while suspended, for how long it has worked */
	uint64_t cpu_time_us, max_rss_kb;
	uint32_t exit_code, exit_signal;
	usec_t checkpoint_time; /* wall: its work up to here is safe, it says; 0: it has not said so
	                         */
	usec_t suspend_time;    /* wall: since when all of it is stopped; 0: it is not */
	uint64_t suspended_us;  /* so much of elapsed_us; while it lives, of the times that are over
	                         */
	const char *detail;     /* kept: what was noted of it, for people; "" nothing */
};

struct run_idle {
	uint64_t us;     /* so long its GPUs have been idle, as far as is known (idle.h) */
	uint64_t cpu_us; /* CPU time that it had had or waited for when that began */
	bool told;
};

/* What most runs do not have or are over before, in memory of its own. */
struct run_more {
	struct share share;   /* durable: of each of its GPUs; charge 0: all of them */
	const char *progress; /* kept: what its program says of itself; NULL: nothing */
	struct run_used used;
	struct run_idle idle;
	const char
	        *nodes; /* kept: hostlist of its attempt; NULL: one node, or not the first rank */
	usec_t end_by;  /* mono: it was told to end, and will have; 0: it was not */
	struct run_owner *owner; /* owned, its texts kept; NULL: not said. Of one without a job */
};

/* In which limits of GPU-hours it counts while it is booked. Names are kept. */
struct run_hours {
	const char *qos, *partition;
	usec_t since; /* mono */
};

/* Volatile. */
struct run_link {
	struct job *job;         /* NULL: of no job we know */
	struct run *next_of_job; /* the next rank, or the attempt before */
	struct node *node;       /* on which it is booked; NULL: not booked */
	struct run *next_of_node, *prev_of_node;
	usec_t began;        /* mono: booked, as far as we know; then `started` */
	uint64_t booked;     /* the GPUs it holds in the ledger: all of info.gpus, unless stray */
	usec_t started;      /* mono: its start on our own clock, once run_started_known() */
	struct assoc *assoc; /* while it is booked: whom its meter counts for */
	uint64_t rate_u;     /* what it has cost an hour since it began */
	struct run_hours *hours;  /* owned; NULL: no limit counts its GPU-hours */
	struct run_past *past;    /* owned; NULL: nothing yet */
	struct run_more *more;    /* owned; NULL: nothing yet */
	uint64_t ordered_session; /* in which its StartRun went out; 0: in an earlier life */
};

const struct run_info *run_info(const struct run *run);
const struct run_past *run_past(const struct run *run); /* zeros and "": nothing yet */
struct run_link *run_link(struct run *run);
const struct run_link *run_link_of(const struct run *run);
const struct share *run_share(const struct run *run); /* charge 0: whole GPUs */
/* As its node said last; all in all, and durable (some of it), once it is over. Zeros: nothing is
 * known. */
const struct run_used *run_used(const struct run *run);
struct run_idle *run_idle(struct run *run);
const struct run_owner *run_owner(const struct run *run); /* "": not said */
const char *run_progress(const struct run *run); /* NULL: it says nothing */
const char *run_nodes(const struct run *run);    /* of the first rank; NULL: as in run_more */
bool run_started_known(const struct run *run);
bool run_imagined_over(const struct run *run); /* only while whatif.h wonders */
usec_t run_end_by(const struct run *run);      /* mono; 0: it was not told to end */
bool run_over(const struct run *run);          /* ENDED or NEVER */
bool run_started(const struct run *run);       /* the launcher had a record of it */
/* For how long it has worked: since its start, and while it was not suspended. */
uint64_t run_worked_us(const struct run *run, struct clocks now);

struct runs *runs_new(struct strings *strings, struct dirty *dirty, uint64_t seed);
void runs_free(struct runs *runs);                                /* NULL is fine */
struct run *runs_find(const struct runs *runs, struct run_id id); /* NULL: none */
size_t runs_count(const struct runs *runs);
/* Every run in the order of ids (it sorts: for start and checks). Caller frees the array. */
struct run **runs_sorted(const struct runs *runs, size_t *n);
uint64_t runs_hash(const struct runs *runs);

/* --- movers ---------------------------------------------------------------------------------- */

/* A new run in info->state (ORDERED or STRAY), with that of each of its GPUs; texts are copied. */
struct run *runs_add(struct runs *runs, const struct run_info *info, const struct share *share);
void run_move(struct runs *runs, struct run *run, enum run_state state); /* asserts that it may */
void run_set_end_wanted(struct runs *runs, struct run *run, enum end_cause cause);
void run_set_start(struct runs *runs, struct run *run, usec_t start_time);
void run_set_suspend_wanted(struct runs *runs, struct run *run, bool wanted);
/* What its node says: suspended, as of `wall`, or not; what else is in the report. */
void run_set_suspended(
        struct runs *runs, struct run *run, const struct run_report *report, usec_t wall);
/* What its program says of itself. A checkpoint never goes back. */
void run_set_checkpoint(struct runs *runs, struct run *run, usec_t checkpoint_time);
/* What its node has noted of it while it runs. */
void run_set_detail(struct runs *runs, struct run *run, const char *detail);
void run_set_progress(struct runs *runs, struct run *run, const char *progress); /* not durable */
void run_set_used(struct run *run, const struct run_used *used);                 /* not durable */
/* Not durable: its node says it again. Copied; nothing happens if it says nothing. */
void run_set_owner(struct runs *runs, struct run *run, const struct run_owner *owner);
void run_set_started(struct run *run, usec_t mono);                              /* not durable */
void run_set_end_by(struct run *run, usec_t mono);                               /* not durable */
void run_imagine_over(struct run *run, bool over);
/* Not durable. NULL: none; else it is copied. */
void run_set_nodes(struct runs *runs, struct run *run, const char *hostlist);
/* Owned by the run: made if it has none; dropped. */
struct run_hours *run_want_hours(
        struct runs *runs, struct run *run, const char *qos, const char *partition);
void run_drop_hours(struct runs *runs, struct run *run);
/* Take over how it ended from a report. */
void run_set_end(struct runs *runs, struct run *run, const struct run_report *report);
void run_set_billed(struct runs *runs, struct run *run, uint64_t billed_us, uint64_t cost_u);
/* Into history; freed by the next seal. Must be over and unlinked. */
void runs_retire(struct runs *runs, struct run *run);

/* --- rows ------------------------------------------------------------------------------------ */

int runs_load(struct runs *runs, const struct row *row, struct error *err);
void run_encode(const struct run *run, struct row *row, enum row_change change);
void run_free(struct runs *runs, struct run *run);

#endif
