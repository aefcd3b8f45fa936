/* internal.h - the parts of the core, for the files that wire them
 *
 * Who does what:
 *	core.c     making, dispatching events, scheduling slices, sealing
 *	load.c     from rows to a living core; another configuration
 *	intake.c   what is asked for, checked (intake.h)
 *	submit.c   EV_SUBMIT, --test-only
 *	control.c  EV_JOB_CONTROL, EV_WAIT_JOB
 *	update.c   what JOB_UPDATE changes
 *	operate.c  EV_NODE_CONTROL, fencing
 *	agent.c    EV_AGENT_UP, GONE, HEARTBEAT
 *	report.c   EV_RUN_REPORT, and what registrations say of runs
 *	life.c     a job's way from start to end: every job_move() and run_move() is there
 *	timers.c   EV_CLOCK
 *	never.c    what could never run, and why not
 *	why.c      verdicts as words
 *	view.c     listings
 *	check.c    invariants
 */
#ifndef CTLD_CORE_INTERNAL_H
#define CTLD_CORE_INTERNAL_H

#include "ctld/core/accounts.h"
#include "ctld/core/audit.h"
#include "ctld/core/core.h"
#include "ctld/core/effects.h"
#include "ctld/core/heap.h"
#include "ctld/core/job.h"
#include "ctld/core/ledger.h"
#include "ctld/core/meta.h"
#include "ctld/core/node.h"
#include "ctld/core/run.h"
#include "ctld/core/sched.h"
#include "ctld/core/waiters.h"

#define USEC_PER_S ((usec_t)1000000)
/* One EV_CLOCK does so much of each kind; the rest is due at once again. */
#define TIMER_SLICE          256
#define NO_PARTITION_GRACE_S 30 /* of runs whose partition is no longer configured */

struct core {
	const struct conf *conf; /* borrowed */
	uint64_t seed, change;
	struct clocks now; /* of the present call */
	bool started;

	struct dirty *dirty;
	struct strings *strings;
	struct requests *requests;
	struct label_sets *labels;
	struct meta *meta;
	struct nonces *nonces;
	struct jobs *jobs;
	struct runs *runs;
	struct nodes *nodes;
	struct accounts *accounts;
	struct ledger *ledger;
	struct sched *sched;
	struct waiters *waiters;
	struct audit *audit;
	struct effects *effects;
	struct heap *worries; /* unknown nodes, by when something is due */

	struct job *ended_first, *ended_last; /* in the order of link.ended */
	uint64_t disk_free_mb;
	bool takeover;
	usec_t expired_wall; /* the earliest wall time at which a signature was too old; 0: none was
	                      */
	char *suspended;     /* owned; why; NULL: not */
	uint64_t ledger_seen; /* grows with every booking and node change: dates verdicts */
	uint64_t n_events, n_started, n_ended;
};

/* --- life.c ---------------------------------------------------------------------------------- */

/* A PENDING job may start if nothing of this speaks against it; put it into or take it out of the
 * scheduler accordingly. Idempotent. */
void job_consider(struct core *core, struct job *job);
/* Take it out before what the class is made of changes. */
void job_withdraw(struct core *core, struct job *job);

/* Order a run of a PENDING job at a place. */
void job_start(struct core *core, struct job *job, const struct place *place);
/* Tell its present run to end: COMPLETING until it has. */
void job_stop(struct core *core, struct job *job, enum end_cause cause, const char *by_user,
        bool requeue);
/* A PENDING job ends without having run. */
void job_cancel_pending(struct core *core, struct job *job);

/* The node's word: the run's program runs, the run has a record, it has ended, never was. */
void run_says_starting(struct core *core, struct run *run, const struct run_report *report);
void run_says_running(struct core *core, struct run *run, const struct run_report *report);
void run_says_ended(struct core *core, struct run *run, const struct run_report *report);
void run_says_never(struct core *core, struct run *run, const struct run_report *report);
/* What ran is gone with its node. `why` is kept as the detail. */
void run_gone(struct core *core, struct run *run, enum end_cause cause, const char *why);
void node_runs_gone(struct core *core, struct node *node, const char *why);

/* A run that is alive on its node and has no business to be. */
void run_stray(struct core *core, struct run *run, const struct run_report *report);
struct run *run_adopt(struct core *core, struct node *node, const struct run_report *report);

void run_book(struct core *core, struct run *run, struct node *node);
void run_hold(struct core *core, struct run *run);  /* of a linked run: in another ledger */
void run_attach(struct job *job, struct run *run);  /* to its job's list, latest first */
struct run *job_run(const struct job *job);         /* the present or last run; NULL: none yet */
const struct run *job_stray(const struct job *job); /* an attempt that should not be there */
uint32_t job_starts(const struct job *job);         /* attempts that the launcher began */
uint32_t job_launch_failures(const struct job *job);
/* Ended in this life or before it: when it may be retired. */
void job_list_ended(struct core *core, struct job *job, usec_t mono);
void jobs_retire_old(struct core *core);

void end_run_order(struct core *core, struct run *run, const char *by_user, bool requeue);

/* --- the rest -------------------------------------------------------------------------------- */

void submit_apply(struct core *core, const struct core_event *event);
void job_control_apply(struct core *core, const struct core_event *event);
/* Other demands of a PENDING job. `what` names what was changed: "gpus, time". */
int job_update(struct core *core, struct job *job, const struct core_event *event, char *what,
        size_t size, struct error *err);
void wait_apply(struct core *core, const struct core_event *event);
void node_control_apply(struct core *core, const struct core_event *event);
void fenced_apply(struct core *core, uint32_t node, bool off);
void agent_up_apply(struct core *core, const struct core_event *event);
void agent_gone_apply(struct core *core, uint32_t node, uint64_t session);
void heartbeat_apply(struct core *core, uint32_t node, uint64_t session);
void run_report_apply(struct core *core, const struct core_event *event);
/* `whole`: it is part of a registration, which says all there is. */
void report_apply(
        struct core *core, struct node *node, const struct run_report *report, bool whole);
/* Compare what a node registered with what the configuration demands. */
void node_compare(struct core *core, struct node *node);
/* The fence or the silence of an unknown node has changed: see when something is due. */
void node_worry(struct core *core, struct node *node);
void node_moved(void *item, uint32_t index);
void timers_apply(struct core *core);
usec_t timers_next(const struct core *core);

/* What the node may do has perhaps changed: tell ledger and scheduler. */
void node_settle(struct core *core, struct node *node);
/* Its session is over for us: close it. */
void node_close(struct core *core, struct node *node, const char *why);
/* Nothing of it runs any more. */
void node_is_off(struct core *core, struct node *node, const char *why);
void node_fence(struct core *core, struct node *node);

/* A signature that was too old by a clock that was wrong is looked at again. */
void job_expires(struct core *core, struct job *job);
void jobs_unexpire(struct core *core);
/* Is an order of this job's too near to the end of its signature? */
bool job_signature_old(const struct core *core, const struct job *job);
uint32_t job_partition(const struct core *core, const struct job *job);
void suspend(struct core *core, const char *node, const char *what, uint64_t theirs, uint64_t ours);

/* PENDING job's reason and its text; static strings and `text`. */
const char *job_why(
        const struct core *core, const struct job *job, struct clocks now, char *text, size_t size);
/* Why that shape does not start in a partition now: a reason, and its text. */
const char *ask_why(const struct core *core, uint32_t partition, const struct ask *ask, char *text,
        size_t size);
/* The error of a shape that the nodes of a partition could never run; 0: they could. */
int never_fits(
        const struct core *core, uint32_t partition, const struct ask *ask, struct error *err);

void audit_note(struct core *core, const char *kind, const struct caller *caller, uint64_t job,
        const char *node, const char *text);

#endif
