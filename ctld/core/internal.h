/* internal.h - the parts of the core, for the files that connect them
 *
 * What is where:
 *	core.c     making, dispatching events, scheduling slices, sealing
 *	load.c     from rows to a running core; another configuration
 *	intake.c   a job's request, checked (intake.h)
 *	submit.c   EV_SUBMIT, --test-only
 *	bulk.c     EV_BULK
 *	conditions.c  begin time, deadline and dependencies of a job
 *	depends.c  jobs that wait for other jobs
 *	correspond.c  tasks that wait for the same tasks of another array
 *	admit.c    accounts, QOS, partitions and limits of what is submitted
 *	control.c  EV_JOB_CONTROL, EV_WAIT_JOB
 *	update.c   what JOB_UPDATE changes; changes.c describes it
 *	respec.c   what JOB_RESIGN changes (respec.h)
 *	revive.c   may an ended job be requeued?
 *	operate.c  EV_NODE_CONTROL, EV_PARTITION_CONTROL, fencing
 *	hardware.c GPUs that are taken as found (hardware.h)
 *	health.c   GPUs that are drained (health.h)
 *	faults.c   EV_GPU_REPORT: GPUs with faults (faults.h)
 *	idle.c     jobs that leave their GPUs idle (idle.h)
 *	gpuview.c  the GPUs of a node for listings
 *	agent.c    EV_AGENT_UP, GONE, HEARTBEAT
 *	report.c   EV_RUN_REPORT, EV_RUNS_USED, and the runs named in registrations
 *	life.c     a job's way from start to end: every job_move() is there
 *	attempt.c  the runs of one attempt at a job, as a whole
 *	runlife.c  a run's way and its booking: every run_move() is there
 *	hold.c     what started jobs count against the limits; held.c what runs on a node
 *	array.c    the tasks of arrays (array.h)
 *	members.c  which accounts list a user (members.h)
 *	bill.c     bills what runs used to the accounts of their users
 *	timers.c   EV_CLOCK
 *	never.c    requests that could never run, and why
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
/* The most that one EV_CLOCK does of each kind; for the rest another EV_CLOCK is due at once. */
#define TIMER_SLICE          256
#define NO_PARTITION_GRACE_S 30 /* of runs whose partition is no longer configured */

/* A list of ended records, in the order of link.ended. */
struct ended {
	struct job *first, *last;
	size_t n;
};

struct core {
	const struct conf *given; /* borrowed */
	const struct conf *conf;  /* the same with what was found (hardware.h) */
	struct hardware *hardware;
	usec_t hardware_made, hardware_due; /* mono; made 0: at the start; due INT64_MAX: not due */
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
	struct waiters *waiters, *starters;        /* requests that wait for the end of a job, and
						    * for its start */
	struct audit *audit;
	struct foreign *foreign; /* runs of jobs that a restored state does not know */
	struct effects *effects;
	struct heap *worries; /* heap of unknown nodes, by the time at which something is due */
	struct heap *checks;  /* heap of nodes whose GPUs are to be checked (faults.h) */
	struct heap *alarms;  /* heap of jobs, by the wall time at which something is due */
	struct namesakes *namesakes;
	struct fates *fates;
	struct job *settle_first, *settle_last; /* depends.h */
	struct idmap *waiting;                  /* depends_terms.c: struct depends by its number */
	uint32_t waiting_last;                  /* the last number that was given out */
	uint64_t told_round;                    /* correspond.c, depends_range.c */
	uint32_t control_round;                 /* control.c */

	struct bulk *bulk;   /* the bulk that is being accepted; NULL: none (bulk.h) */
	uint64_t *left_over; /* before the start: jobs whose rows are to be deleted */
	size_t n_left_over;

	struct ended jobs_ended, tasks_ended; /* tasks: parts of arrays */
	uint64_t disk_free_mb;
	bool takeover;
	usec_t expired_wall; /* the earliest wall time at which a signature was too old; 0: none was
	                      */
	char *suspended;     /* owned; the reason; NULL: not suspended */
	usec_t counts_since; /* mono: since then `counts` classes had their blockers counted (why.c)
	                      */
	unsigned counts;
	uint64_t ledger_seen; /* grows with every booking and node change: dates verdicts */
	uint64_t n_events, n_started, n_ended;
};

/* Why a run is to end, and on whose behalf, for its interruption file. Texts may be NULL. */
struct stop {
	enum end_cause cause;
	const char *by_user, *by_account, *by_qos;
	uint64_t by_job; /* 0: none */
	bool requeue;    /* its job is requeued */
};

/* --- life.c ---------------------------------------------------------------------------------- */

#define LAUNCH_TRIES 3

/* Check whether a PENDING job may start, and put it into the scheduler or remove it accordingly.
 * Idempotent. */
void job_consider(struct core *core, struct job *job);
/* Remove it from the scheduler; call it before a field changes that its class depends on. */
void job_withdraw(struct core *core, struct job *job);

/* Order an attempt at a PENDING job: a run at each place, with ranks by the names of the nodes.
 * The job counts `need` against its limits. */
void job_start(
        struct core *core, struct job *job, const struct places *places, const struct need *need);
/* Order its present attempt to end: COMPLETING until all of its runs have ended. */
void job_stop(struct core *core, struct job *job, const struct stop *stop);
/* The state of a job whose deciding run ended like this. */
enum job_state job_state_of_end(enum end_cause cause, uint32_t exit_code, uint32_t exit_signal);
/* Wall: the latest time at which a job with a deadline must start or, if it runs, end. */
usec_t job_last_chance(const struct job *job);
/* The time left of its time limit, for a job that has one; < 0: none is left. */
usec_t job_time_left(const struct core *core, const struct job *job);
/* Its timer has expired: its begin time, the end of a delay, or its deadline has come. */
void job_alarmed(struct core *core, struct job *job);
/* End a PENDING job that has not run; of an array, all that waits. */
void job_cancel_pending(struct core *core, struct job *job);
/* No task of the array waits or runs any more. */
void job_end_array(struct core *core, struct job *own, enum job_state state);
/* An ended job waits again, for its next attempt; with a part, its array too. revive.c checks
 * whether this is allowed. */
void job_revive(struct core *core, struct job *job);
/* Will it be started again when its present attempt has ended? */
bool job_comes_again(const struct job *job);
/* The same if its node ends it to reclaim GPU memory that it had borrowed. */
bool job_again_when_reclaimed(const struct core *core, const struct job *job);

/* Order its runs to be suspended, or resumed. It is SUSPENDED when all its living runs are. */
void job_suspend(struct core *core, struct job *job, bool suspend);

/* For runlife.c: a run of its present attempt runs, or is suspended or resumed; a run of it is
 * over.
 */
void job_runs(struct core *core, struct job *job);
void job_run_over(struct core *core, struct job *job, const struct run *run);
/* Does the unknown run of a report belong to this job, so that the job continues with it?
 * job_adopts(): it does. */
bool job_takes(const struct job *job, const struct run_report *report);
void job_adopts(struct core *core, struct job *job, struct run *run);

/* Put an ended job on the list for retirement; `mono` is its end, or the start of the
 * controller. */
void job_list_ended(struct core *core, struct job *job, usec_t mono);
void jobs_retire_old(struct core *core);

/* --- attempt.c ------------------------------------------------------------------------------- */

void run_attach(struct job *job, struct run *run); /* to its job's list */
/* The first known rank of the present or last attempt (NULL: none yet); the next rank. */
struct run *job_run(const struct job *job);
struct run *run_next_rank(const struct run *run);
const struct run *run_first_rank(const struct run *run); /* of its attempt */
bool run_of_present(const struct run *run);              /* of its job's present or last attempt? */

const struct run *job_stray(const struct job *job);  /* a run that is alive and should not be */
uint32_t job_starts(const struct job *job);          /* attempts that a launcher began */
uint32_t job_launch_failures(const struct job *job); /* attempts */

bool run_lives(const struct run *run);      /* neither over nor a stray */
bool run_ended_well(const struct run *run); /* by itself, with exit code 0 */

/* Of the present or last attempt: is any run alive? Are all its ranks known? Do or did all run,
 * and none ended badly? Are all living runs suspended? Did an operator or the scheduler request
 * its end? */
bool attempt_lives(const struct job *job);
bool attempt_whole(const struct job *job);
bool attempt_runs(const struct job *job);
bool attempt_suspended(const struct job *job);
bool attempt_asked(const struct job *job);
/* The run that decides what becomes of the job. */
const struct run *attempt_decisive(const struct job *job);
usec_t attempt_start_time(const struct job *job); /* wall, of the first to run; 0: none */
usec_t attempt_end_time(const struct job *job);   /* wall, of the last; 0: none */
/* Wall: a rank has reported that the work of all ranks is safe up to here; 0: none has. */
usec_t attempt_checkpoint_time(const struct job *job);
void attempt_checkpoint(struct job *job, const struct run *run); /* this run has reported so */
/* Its runs have changed: update the list of its nodes. */
void attempt_name_nodes(struct core *core, struct job *job);
const char *attempt_nodes(const struct run *run); /* hostlist, in the order of ranks */

/* --- runlife.c ------------------------------------------------------------------------------- */

/* Make a run of an attempt on `nodes` nodes, book it and order it. */
void run_start(struct core *core, struct job *job, struct run_id id, uint32_t nodes,
        const struct place *place);
void run_book(struct core *core, struct run *run, struct node *node);
void run_hold(struct core *core, struct run *run); /* book a linked run in a new ledger */
/* Its end is wanted: send the order, if its node is connected. */
void end_run_order(struct core *core, struct run *run, const struct stop *stop);
/* suspend_run_order(): its node reports another suspension or time limit than is wanted: send the
 * order, if the node is connected. */
/* Must its node receive a changed time limit? */
bool run_limit_changed(const struct run *run);
void suspend_run_order(struct core *core, const struct run *run);

/* Its node reports: the program runs; the run has a record; it has ended; it never was there. */
void run_says_starting(struct core *core, struct run *run, const struct run_report *report);
void run_says_running(struct core *core, struct run *run, const struct run_report *report);
void run_says_ended(struct core *core, struct run *run, const struct run_report *report);
void run_says_never(struct core *core, struct run *run, const struct run_report *report);
/* What ran is gone together with its node. `why` is kept as the detail. */
void run_gone(struct core *core, struct run *run, enum end_cause cause, const char *why);
void node_runs_gone(struct core *core, struct node *node, const char *why);
/* Move it to history, unlinked from its job. */
void run_retire(struct core *core, struct run *run);

/* An unknown run that is over: record and bill it; nothing else changes. */
struct run *run_learn(struct core *core, struct node *node, const struct run_report *report);
/* A run that is alive on its node and should not be. */
void run_stray(struct core *core, struct run *run, const struct run_report *report);
struct run *run_adopt(struct core *core, struct node *node, const struct run_report *report);

/* --- bill.c ---------------------------------------------------------------------------------- */

/* Bill the run's present record, less what has been billed. Idempotent. */
void bill_run(struct core *core, struct run *run);
/* The run is booked, or no longer is: until its bill it counts by its meter. */
void bill_starts(struct core *core, struct run *run);
void bill_stops(struct core *core, struct run *run);
void bill_reconfigured(struct core *core); /* the same again for all booked runs */
/* It goes to history. */
void bill_retires(struct core *core, const struct run *run);
/* The cost of a run for so much time, at the present prices; millionths. */
uint64_t bill_cost_u(const struct core *core, const struct run *run, uint64_t us);
/* The factor of that QOS for costs; 1 if the QOS does not exist. */
double qos_factor(const struct core *core, const char *name);
/* Process all runs at a start; at a check. */
int bill_start(struct core *core, struct run *const *v, size_t n, struct error *err);
int bill_check(const struct core *core, struct run *const *v, size_t n, struct error *err);

/* --- hold.c ---------------------------------------------------------------------------------- */

/* What an attempt counts against the limits. */
struct taken {
	struct gate_path *path;
	struct need need;
};

/* An attempt counts against the limits from its start until it is over. Idempotent: */
void job_take(struct core *core, struct job *job, const struct need *need);
void job_give_back(struct core *core, struct job *job);
void job_take_again(struct core *core, struct job *job);   /* against other limits, by its runs */
void job_forget_taken(struct core *core, struct job *job); /* before the limits are freed */
bool job_takes_gate(struct core *core, const struct job *job, uint32_t gate);
/* For --why: count as if the job were over, and undo that. */
void job_imagine_over(struct core *core, struct job *job, bool over);

/* The run was ordered to end. */
void run_stopping(struct core *core, struct run *run, uint32_t grace_s);
/* Update which of its GPUs count for quotas. */
void node_count_gpus(struct core *core, struct node *node);
/* It has a planned start now. */
void job_note_plan(struct core *core, struct job *job, usec_t planned_mono);
/* Stop a running job for another one. */
void job_preempt(struct core *core, const struct preempt_victim *victim, const struct job *for_job);
struct place run_place(const struct run *run); /* of a booked run */
/* The number of a GPU type; TYPE_GONE; TYPE_NONE for "". */
uint16_t gpu_type_number(const struct conf *conf, const char *name);

/* --- held.c ---------------------------------------------------------------------------------- */

/* Fills in what the scheduler needs to know of a run. */
void run_held(const struct core *core, const struct run *run, struct held *held);
/* The runs of a node, kept until one of them changes; the work that the end of one would lose
 * (struct plan_runs). */
const struct held *held_on_node(void *core, uint32_t node, size_t *n);
double held_work(void *core, const struct held *held);
/* For a what-if (whatif.h): one more run, at that place, with all else from `held`. The next
 * node_runs_changed() removes it. */
void held_imagine(struct core *core, const struct place *place, const struct held *held);
/* For checks: is what is kept of a node up to date? */
bool held_check(const struct core *core, const struct node *node);

/* --- the rest -------------------------------------------------------------------------------- */

/* The caller's roles towards a job; may a caller with these roles know of the job? */
unsigned job_standing(const struct core *core, const struct caller *caller, const struct job *job);
bool core_sees(const struct core *core, unsigned standing);
void submit_apply(struct core *core, const struct core_event *event);
void job_control_apply(struct core *core, const struct core_event *event);
/* May an ended job be run again? */
int revive_check(struct core *core, const struct job *job, struct error *err);
/* Refuses if `set` (NULL: all tasks) has tasks of the array that have ended and left memory. */
int revive_check_here(const struct job *own, const struct taskset *set, struct error *err);
/* Changes the request of a PENDING job. `what` names the changed fields: "gpus, time"; `told`
 * (changes.h) has old and new values. */
int job_update(struct core *core, struct job *job, const struct core_event *event, char *what,
        size_t size, char told[CHANGES_TEXT], struct error *err);
/* The submit that would make this job; CPUs and memory are 0 where they are the partition's
 * default for each GPU. The niceness was checked when it was given. */
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
/* `whole`: the report is part of a registration, and is complete. */
void report_apply(
        struct core *core, struct node *node, const struct run_report *report, bool whole);
/* Nodes have turned out to have other GPUs: use another configuration for the whole core. */
void core_rehardware(struct core *core);
/* Compare what a node registered with what the configuration demands. */
void node_compare(struct core *core, struct node *node);
/* The fence or the silence of an unknown node has changed: set the time at which something is
 * due. */
void node_worry(struct core *core, struct node *node);
void node_moved(void *item, uint32_t index);
/* Set the time at which something is due for a job. */
void job_alarm(struct core *core, struct job *job);
void job_alarm_moved(void *item, uint32_t index);
void timers_apply(struct core *core);
usec_t timers_next(const struct core *core);

/* What may start on the node has perhaps changed: update ledger and scheduler. */
void node_settle(struct core *core, struct node *node);
/* Close its session. */
void node_close(struct core *core, struct node *node, const char *why);
/* Nothing runs on it any more. */
void node_is_off(struct core *core, struct node *node, const char *why);
void node_fence(struct core *core, struct node *node);

/* A signature was found too old by a wrong clock: check it again. */
void job_expires(struct core *core, struct job *job);
void jobs_unexpire(struct core *core);
/* Its owner has signed it again. */
void job_signed(struct core *core, struct job *job, usec_t sign_time);
/* Its owner has signed another spec (job_set_respec()); the job is not a part of an array. */
void job_respecified(struct core *core, struct job *own, const struct respec *r, bool files);
/* Is the end of the job's signature too near for an order? */
bool job_signature_old(const struct core *core, const struct job *job);
uint32_t job_partition(const struct core *core, const struct job *job);
void suspend(struct core *core, const char *node, const char *what, uint64_t theirs, uint64_t ours);

/* The record of a ref. For a task without a record of its own: the record that it waits under, and
 * *before is the number of tasks before it there. NULL: none. */
const struct job *job_or_waiting(const struct core *core, uint64_t ref, uint32_t *before);
/* A PENDING job's reason and its text; static strings and `text`. */
const char *job_why(
        const struct core *core, const struct job *job, struct clocks now, char *text, size_t size);
/* Why that request does not start in a partition now: a reason, and its text. */
const char *ask_why(const struct core *core, uint32_t partition, const struct ask *ask, char *text,
        size_t size);
/* The error of a request that the nodes of a partition could never satisfy; 0: they could. */
int never_fits(
        const struct core *core, uint32_t partition, const struct ask *ask, struct error *err);
/* Could they satisfy one alternative, with that GPU type? */
bool alternative_could(const struct core *core, uint32_t partition, const struct ask *ask,
        uint32_t alternative, uint16_t type);

/* The cost by the prices, if the job runs to its limit on the most expensive GPUs that its first
 * alternative allows; < 0: it has no limit. */
double job_cost_max(const struct core *core, const struct job_info *info);

void audit_note(struct core *core, const char *kind, const struct caller *caller, uint64_t ref,
        const char *node, const char *text);

#endif
