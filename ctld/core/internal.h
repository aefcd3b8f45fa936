/* internal.h - the parts of the core, for the files that wire them
 *
 * Who does what:
 *	core.c     making, dispatching events, scheduling slices, sealing
 *	load.c     from rows to a living core; another configuration
 *	intake.c   what is asked for, checked (intake.h)
 *	submit.c   EV_SUBMIT, --test-only
 *	bulk.c     EV_BULK
 *	conditions.c  when it may begin, what it waits for
 *	depends.c  jobs that wait for other jobs
 *	correspond.c  tasks that wait for the same tasks of another array
 *	admit.c    accounts, QOS, partitions and limits of what is submitted
 *	control.c  EV_JOB_CONTROL, EV_WAIT_JOB
 *	update.c   what JOB_UPDATE changes; changes.c says it
 *	respec.c   what JOB_RESIGN changes (respec.h)
 *	revive.c   requeue of what has ended: may it be?
 *	operate.c  EV_NODE_CONTROL, EV_PARTITION_CONTROL, fencing
 *	hardware.c GPUs that are taken as found (hardware.h)
 *	health.c   GPUs that are drained (health.h)
 *	faults.c   EV_GPU_REPORT: GPUs that something is wrong with (faults.h)
 *	idle.c     jobs that leave their GPUs idle (idle.h)
 *	gpuview.c  the GPUs of a node for listings
 *	agent.c    EV_AGENT_UP, GONE, HEARTBEAT
 *	report.c   EV_RUN_REPORT, EV_RUNS_USED, and what registrations say of runs
 *	life.c     a job's way from start to end: every job_move() is there
 *	attempt.c  the runs of one attempt at a job, as a whole
 *	runlife.c  a run's way and its booking: every run_move() is there
 *	hold.c     what started jobs hold of the gates; held.c what runs on a node
 *	array.c    the tasks of arrays (array.h)
 *	members.c  which accounts list a user (members.h)
 *	bill.c     what runs used, to the accounts of their users
 *	timers.c   EV_CLOCK
 *	never.c    what could never run, and why not
 *	why.c      verdicts as words
 *	view.c     listings
 *	check.c    invariants
 */
#ifndef CTLD_CORE_INTERNAL_H
#define CTLD_CORE_INTERNAL_H

#include "ctld/core/accounts/accounts.h"
#include "ctld/core/accounts/hours.h"
#include "ctld/core/accounts/members.h"
#include "ctld/core/accounts/roles.h"
#include "ctld/core/core.h"
#include "ctld/core/intake/changes.h"
#include "ctld/core/jobs/effects.h"
#include "ctld/core/limits/gates.h"
#include "ctld/core/nodes/hardware.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/budget.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/namesakes.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/partition.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/waiters.h"
#include "ctld/core/rows/audit.h"
#include "ctld/core/rows/fates.h"
#include "ctld/core/rows/meta.h"
#include "ctld/core/sched/sched.h"
#include "ctld/core/util/heap.h"

#define USEC_PER_S ((usec_t)1000000)
/* One EV_CLOCK does so much of each kind; the rest is due at once again. */
#define TIMER_SLICE          256
#define NO_PARTITION_GRACE_S 30 /* of runs whose partition is no longer configured */

/* Records that have ended, in the order of link.ended. */
struct ended {
	struct job *first, *last;
	size_t n;
};

struct core {
	const struct conf *given; /* borrowed */
	const struct conf *conf;  /* the same with what was found (hardware.h) */
	struct hardware *hardware;
	usec_t hardware_made, hardware_due; /* mono; made 0: at the start; due INT64_MAX: not */
	uint64_t seed, change;
	struct clocks now; /* of the present call */
	bool started;

	struct budget *budget;
	struct dirty *dirty;
	struct strings *strings;
	struct requests *requests;
	struct label_sets *labels;
	struct meta *meta;
	struct partitions *partitions;
	struct nonces *nonces;
	struct jobs *jobs;
	struct runs *runs;
	struct nodes *nodes;
	struct accounts *accounts;
	struct hours *hours;
	struct gates *gates;     /* of this configuration; from core_start() on */
	struct members *members; /* the same */
	struct ledger *ledger;
	struct sched *sched;
	uint32_t gpus_counted[CONF_MAX_GPU_TYPES]; /* for quotas: accepting work, or in use */
	struct waiters *waiters, *starters;        /* for the end of a job, for its start */
	struct audit *audit;
	struct foreign *foreign; /* runs of jobs that a restored state does not know */
	struct effects *effects;
	struct heap *worries; /* unknown nodes, by when something is due */
	struct heap *checks;  /* nodes with GPUs that are to be looked at (faults.h) */
	struct heap *alarms;  /* jobs, by the wall time at which something is due */
	struct namesakes *namesakes;
	struct fates *fates;
	struct job *settle_first, *settle_last; /* depends.h */
	struct idmap *waiting;                  /* depends_terms.c: struct depends by its number */
	uint32_t waiting_last;                  /* the last number that was given */
	uint64_t told_round;                    /* correspond.c, depends_range.c */
	uint32_t control_round;                 /* control.c */

	struct bulk *bulk;   /* that is being accepted; NULL: none (bulk.h) */
	uint64_t *left_over; /* before the start: jobs whose rows are to be deleted */
	size_t n_left_over;

	struct ended jobs_ended, tasks_ended; /* tasks: parts of arrays */
	uint64_t disk_free_mb;
	bool takeover;
	usec_t expired_wall; /* the earliest wall time at which a signature was too old; 0: none was
	                      */
	char *suspended;     /* owned; why; NULL: not */
	usec_t counts_since; /* mono: since then `counts` classes had their blockers counted (why.c)
	                      */
	unsigned counts;
	uint64_t ledger_seen; /* grows with every booking and node change: dates verdicts */
	uint64_t n_events, n_started, n_ended;
};

/* Why a run is to end, and on whose behalf: what its interruption file says. Texts may be NULL. */
struct stop {
	enum end_cause cause;
	const char *by_user, *by_account, *by_qos;
	uint64_t by_job; /* 0: none */
	bool requeue;    /* its job comes back */
};

/* --- life.c ---------------------------------------------------------------------------------- */

#define LAUNCH_TRIES 3

/* A PENDING job may start if nothing of this speaks against it; put it into or take it out of the
 * scheduler accordingly. Idempotent. */
void job_consider(struct core *core, struct job *job);
/* Take it out before what the class is made of changes. */
void job_withdraw(struct core *core, struct job *job);

/* Order an attempt at a PENDING job: a run at each place, ranks by the names of the nodes. It takes
 * from the gates what it needs. */
void job_start(
        struct core *core, struct job *job, const struct places *places, const struct need *need);
/* Tell its present attempt to end: COMPLETING until all of it has. */
void job_stop(struct core *core, struct job *job, const struct stop *stop);
/* What becomes of a job by the run that decides it. */
enum job_state job_state_of_end(enum end_cause cause, uint32_t exit_code, uint32_t exit_signal);
/* Wall: when a job with a deadline must have started, or, running, ended. */
usec_t job_last_chance(const struct job *job);
/* Of its time limit, < 0: none; for one that has it. */
usec_t job_time_left(const struct core *core, const struct job *job);
/* Its alarm: it may begin, a delay is over, its deadline has come. */
void job_alarmed(struct core *core, struct job *job);
/* A PENDING job ends without having run; of an array all that waits. */
void job_cancel_pending(struct core *core, struct job *job);
/* Nothing of the array waits or runs any more. */
void job_end_array(struct core *core, struct job *own, enum job_state state);
/* One that has ended waits again, with its next attempt; a part, and with it its array. Whether
 * that may be is revive.c's. */
void job_revive(struct core *core, struct job *job);
/* Will it be started again when its present attempt has ended? */
bool job_comes_again(const struct job *job);
/* If its node ends it for what it has borrowed of a GPU. */
bool job_again_when_reclaimed(const struct core *core, const struct job *job);

/* Its runs are to be suspended, or to go on. It is SUSPENDED when all that live are. */
void job_suspend(struct core *core, struct job *job, bool suspend);

/* For runlife.c: a run of its present attempt runs, is suspended or goes on; a run of it is over.
 */
void job_runs(struct core *core, struct job *job);
void job_run_over(struct core *core, struct job *job, const struct run *run);
/* Is the unknown run of a report one of this job's, so that the job goes on with it? It does. */
bool job_takes(const struct job *job, const struct run_report *report);
void job_adopts(struct core *core, struct job *job, struct run *run);

/* Ended in this life or before it: when it may be retired. */
void job_list_ended(struct core *core, struct job *job, usec_t mono);
void jobs_retire_old(struct core *core);

/* --- attempt.c ------------------------------------------------------------------------------- */

void run_attach(struct job *job, struct run *run); /* to its job's list */
/* The first rank that is known of the present or last attempt (NULL: none yet); the next. */
struct run *job_run(const struct job *job);
struct run *run_next_rank(const struct run *run);
const struct run *run_first_rank(const struct run *run); /* of its attempt */
bool run_of_present(const struct run *run);              /* of its job's present or last attempt? */

const struct run *job_stray(const struct job *job);  /* a run that should not be there */
uint32_t job_starts(const struct job *job);          /* attempts that a launcher began */
uint32_t job_launch_failures(const struct job *job); /* attempts */

bool run_lives(const struct run *run);      /* neither over nor a stray */
bool run_ended_well(const struct run *run); /* by itself, with exit code 0 */

/* Of the present or last attempt: does any run live? Are all its ranks known? Do or did all run,
 * and none ended badly? Are all that live suspended? Was its end asked for, by an operator or by
 * the scheduler? */
bool attempt_lives(const struct job *job);
bool attempt_whole(const struct job *job);
bool attempt_runs(const struct job *job);
bool attempt_suspended(const struct job *job);
bool attempt_asked(const struct job *job);
/* The run by which the job is judged. */
const struct run *attempt_decisive(const struct job *job);
usec_t attempt_start_time(const struct job *job); /* wall, of the first to run; 0: none */
usec_t attempt_end_time(const struct job *job);   /* wall, of the last; 0: none */
/* Wall: the work of all its ranks is safe up to here, says any of them; 0: none has said so. */
usec_t attempt_checkpoint_time(const struct job *job);
void attempt_checkpoint(struct job *job, const struct run *run); /* this one has said so */
/* Its runs have become others: know its nodes again. */
void attempt_name_nodes(struct core *core, struct job *job);
const char *attempt_nodes(const struct run *run); /* hostlist, in the order of ranks */

/* --- runlife.c ------------------------------------------------------------------------------- */

/* A run of an attempt on `nodes` nodes is made, booked and ordered. */
void run_start(struct core *core, struct job *job, struct run_id id, uint32_t nodes,
        const struct place *place);
void run_book(struct core *core, struct run *run, struct node *node);
void run_hold(struct core *core, struct run *run); /* of a linked run: in another ledger */
/* Its end is wanted: tell the node, if it can be told now. */
void end_run_order(struct core *core, struct run *run, const struct stop *stop);
/* What is wanted of it is not what its node says: the same. */
/* Does its node have to be told of a time limit? */
bool run_limit_changed(const struct run *run);
void suspend_run_order(struct core *core, const struct run *run);

/* The node's word: the run's program runs, the run has a record, it has ended, never was. */
void run_says_starting(struct core *core, struct run *run, const struct run_report *report);
void run_says_running(struct core *core, struct run *run, const struct run_report *report);
void run_says_ended(struct core *core, struct run *run, const struct run_report *report);
void run_says_never(struct core *core, struct run *run, const struct run_report *report);
/* What ran is gone with its node. `why` is kept as the detail. */
void run_gone(struct core *core, struct run *run, enum end_cause cause, const char *why);
void node_runs_gone(struct core *core, struct node *node, const char *why);
/* Into history, unlinked from its job. */
void run_retire(struct core *core, struct run *run);

/* A run that is not known, and is over: it is recorded and billed, and changes nothing else. */
struct run *run_learn(struct core *core, struct node *node, const struct run_report *report);
/* A run that is alive on its node and has no business to be. */
void run_stray(struct core *core, struct run *run, const struct run_report *report);
struct run *run_adopt(struct core *core, struct node *node, const struct run_report *report);

/* --- bill.c ---------------------------------------------------------------------------------- */

/* Bill what is true of the run now and has not been billed. Idempotent. */
void bill_run(struct core *core, struct run *run);
/* It is booked, is not any more: until its bill it counts by its meter. */
void bill_starts(struct core *core, struct run *run);
void bill_stops(struct core *core, struct run *run);
void bill_reconfigured(struct core *core); /* the same anew for all that is booked */
/* It goes to history. */
void bill_retires(struct core *core, const struct run *run);
/* What a run costs for so long, at the present prices; millionths. */
uint64_t bill_cost_u(const struct core *core, const struct run *run, uint64_t us);
/* What the cost of a job of that QOS counts; 1 of one that there is not. */
double qos_factor(const struct core *core, const char *name);
/* All runs of a start; of a check. */
int bill_start(struct core *core, struct run *const *v, size_t n, struct error *err);
int bill_check(const struct core *core, struct run *const *v, size_t n, struct error *err);

/* --- hold.c ---------------------------------------------------------------------------------- */

/* What an attempt holds of the gates. */
struct taken {
	struct gate_path *path;
	struct need need;
};

/* An attempt takes from the gates when it starts, and gives back when it is over. Idempotent: */
void job_take(struct core *core, struct job *job, const struct need *need);
void job_give_back(struct core *core, struct job *job);
void job_take_again(struct core *core, struct job *job);   /* of other gates, what its runs hold */
void job_forget_taken(struct core *core, struct job *job); /* before the gates go */
bool job_takes_gate(struct core *core, const struct job *job, uint32_t gate);
/* For --why: as if it were over, and back. */
void job_imagine_over(struct core *core, struct job *job, bool over);

/* Its run has been told to end. */
void run_stopping(struct core *core, struct run *run, uint32_t grace_s);
/* Which of its GPUs count for quotas has perhaps changed. */
void node_count_gpus(struct core *core, struct node *node);
/* It has a planned start now. */
void job_note_plan(struct core *core, struct job *job, usec_t planned_mono);
/* Stop a running job for another one. */
void job_preempt(struct core *core, const struct preempt_victim *victim, const struct job *for_job);
struct place run_place(const struct run *run); /* of a booked one */
/* The number of a GPU type; TYPE_GONE; TYPE_NONE for "". */
uint16_t gpu_type_number(const struct conf *conf, const char *name);

/* --- held.c ---------------------------------------------------------------------------------- */

/* What the scheduler should know of a run. */
void run_held(const struct core *core, const struct run *run, struct held *held);
/* The runs of a node, kept until one of them changes; what one would lose (struct plan_runs). */
const struct held *held_on_node(void *core, uint32_t node, size_t *n);
double held_work(void *core, const struct held *held);
/* While whatif.h wonders: one more run, at that place, with all else from `held`. It is forgotten
 * with the next node_runs_changed(). */
void held_imagine(struct core *core, const struct place *place, const struct held *held);
/* Is what is kept of a node what it is? For checks. */
bool held_check(const struct core *core, const struct node *node);

/* --- the rest -------------------------------------------------------------------------------- */

/* How he stands to a job; does one who stands so know that it is there? */
unsigned job_standing(const struct core *core, const struct caller *caller, const struct job *job);
bool core_sees(const struct core *core, unsigned standing);
void submit_apply(struct core *core, const struct core_event *event);
void job_control_apply(struct core *core, const struct core_event *event);
/* May a job that has ended be run again? */
int revive_check(struct core *core, const struct job *job, struct error *err);
/* The tasks of an array that have ended and left memory: are they meant (set NULL: all are)? */
int revive_check_here(const struct job *own, const struct taskset *set, struct error *err);
/* Other demands of a PENDING job. `what` names what was changed: "gpus, time"; `told` (changes.h)
 * says from what to what. */
int job_update(struct core *core, struct job *job, const struct core_event *event, char *what,
        size_t size, char told[CHANGES_TEXT], struct error *err);
/* The submit that would make this job; CPUs and memory 0 where they are what its partition gives
 * for each GPU. Its niceness was judged when it was given. */
struct submit_job job_as_asked(const struct core *core, const struct job *job);
/* "h07 with h100:4 (GPUs 2,3,6,7)", "n[1-2] with h100:16". */
void say_places(const struct core *core, const struct places *places, char *text, size_t size);
void wait_apply(struct core *core, const struct core_event *event);
void node_control_apply(struct core *core, const struct core_event *event);
void partition_control_apply(struct core *core, const struct core_event *event);
void fenced_apply(struct core *core, uint32_t node, bool off);
void agent_up_apply(struct core *core, const struct core_event *event);
void agent_gone_apply(struct core *core, uint32_t node, uint64_t session);
void heartbeat_apply(struct core *core, uint32_t node, uint64_t session);
void run_report_apply(struct core *core, const struct core_event *event);
void runs_used_apply(struct core *core, const struct core_event *event);
/* `whole`: it is part of a registration, which says all there is. */
void report_apply(
        struct core *core, struct node *node, const struct run_report *report, bool whole);
/* Nodes have turned out to have other GPUs: the whole core by another configuration. */
void core_rehardware(struct core *core);
/* Compare what a node registered with what the configuration demands. */
void node_compare(struct core *core, struct node *node);
/* The fence or the silence of an unknown node has changed: see when something is due. */
void node_worry(struct core *core, struct node *node);
void node_moved(void *item, uint32_t index);
/* See when something is due of a job. */
void job_alarm(struct core *core, struct job *job);
void job_alarm_moved(void *item, uint32_t index);
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
/* Its owner has signed it anew. */
void job_signed(struct core *core, struct job *job, usec_t sign_time);
/* Its owner has signed another spec (job_set_respec()): of a job that is no array's part. */
void job_respecified(struct core *core, struct job *own, const struct respec *r, bool files);
/* Is an order of this job's too near to the end of its signature? */
bool job_signature_old(const struct core *core, const struct job *job);
uint32_t job_partition(const struct core *core, const struct job *job);
void suspend(struct core *core, const char *node, const char *what, uint64_t theirs, uint64_t ours);

/* The record of a ref. A task may wait without one of its own: then what it waits under, and so
 * many of it come before it. NULL: none. */
const struct job *job_or_waiting(const struct core *core, uint64_t ref, uint32_t *before);
/* PENDING job's reason and its text; static strings and `text`. */
const char *job_why(
        const struct core *core, const struct job *job, struct clocks now, char *text, size_t size);
/* Why that shape does not start in a partition now: a reason, and its text. */
const char *ask_why(const struct core *core, uint32_t partition, const struct ask *ask, char *text,
        size_t size);
/* The error of a shape that the nodes of a partition could never run; 0: they could. */
int never_fits(
        const struct core *core, uint32_t partition, const struct ask *ask, struct error *err);
/* Could they run one alternative, with that GPU type? */
bool alternative_could(const struct core *core, uint32_t partition, const struct ask *ask,
        uint32_t alternative, uint16_t type);

/* By the prices, if it runs to its limit on what it asks for at most; < 0: it has no limit. */
double job_cost_max(const struct core *core, const struct job_info *info);

void audit_note(struct core *core, const char *kind, const struct caller *caller, uint64_t ref,
        const char *node, const char *text);

#endif
