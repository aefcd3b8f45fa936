/* job.h - a job: what was submitted, and what has become of it
 *
 * `struct job_info` holds the durable fields. All code reads them through job_info(); only the
 * movers here write them, and each mover puts the job on the dirty list. `struct job_link` is
 * volatile: the job's places in the scheduler and the timers, rebuilt at each start.
 *
 *	PENDING --> CONFIGURING --> RUNNING --> COMPLETING --> ended
 *	   ^            |              |            |
 *	   +------------+--------------+------------+   never started, or requeued
 *
 * PENDING: waits, held or not. CONFIGURING: its present run has been ordered. RUNNING: the node
 * has reported that the program runs. COMPLETING: its run has been ordered to end and has not
 * ended yet. The ended states are final, unless a user requeues the job while it is in memory
 * (requeue_ended.c). A job leaves CONFIGURING, RUNNING and COMPLETING only after a report of its
 * node, or when its node is known to be off. An array parent goes from PENDING directly to its end.
 *
 * Jobs are owned by `struct jobs` and live until jobs_retire().
 *
 * An array is one PENDING job, the *array parent*, that stands for all of its tasks without a
 * record of their own. A task gets a record when it starts, or when it alone is held, changed or
 * cancelled; several tasks that are treated alike get one together. Such a record is a job like any
 * other, with the same id: a *part* of the array. It begins as a copy of the record from which it
 * was split (array.h), and shares texts, request and nonce with it. The array parent ends when all
 * of its parts have ended.
 *
 *	part 0			a job that is not an array; an array parent
 *	1 + task		that task
 *	JOB_PART_RANGES...	several tasks
 *
 * Each task has a *raw id* besides, as Slurm's tasks have: an array of n tasks takes the ids A to
 * A + n, and A + 1 + i is that of the i-th task of its set. A raw id is computed, never kept, and
 * commands take it for the task wherever they take an id. Arrays that were submitted before there
 * were raw ids have none.
 *
 * Id and part together are a *ref*: one number that identifies the record. The ref of part 0 is
 * the id.
 */
#ifndef CTLD_CORE_JOB_H
#define CTLD_CORE_JOB_H

#include "common/base/error.h"
#include "common/base/taskset.h"
#include "common/job/run.h"
#include "ctld/core/request/labels.h"
#include "ctld/core/request/requests.h"
#include "ctld/core/rows/dirty.h"
#include "ctld/core/rows/nonce.h"

/* X(symbol, name, code, allowed next states) */
#define JOB_ENDS                                                                            \
	(1u << JOB_COMPLETED | 1u << JOB_FAILED | 1u << JOB_CANCELLED | 1u << JOB_TIMEOUT | \
	        1u << JOB_NODE_FAIL | 1u << JOB_PREEMPTED | 1u << JOB_OUT_OF_MEMORY |       \
	        1u << JOB_DEADLINE)
#define JOB_AGAIN (1u << JOB_PENDING)
#define JOB_STATES(X)                                                                      \
	X(JOB_PENDING, "PENDING", "PD",                                                    \
	        1u << JOB_CONFIGURING | 1u << JOB_CANCELLED | 1u << JOB_DEADLINE |         \
	                1u << JOB_COMPLETED | 1u << JOB_FAILED)                            \
	X(JOB_CONFIGURING, "CONFIGURING", "CF",                                            \
	        1u << JOB_PENDING | 1u << JOB_RUNNING | 1u << JOB_COMPLETING | JOB_ENDS)   \
	X(JOB_RUNNING, "RUNNING", "R",                                                     \
	        1u << JOB_PENDING | 1u << JOB_SUSPENDED | 1u << JOB_COMPLETING | JOB_ENDS) \
	X(JOB_SUSPENDED, "SUSPENDED", "S",                                                 \
	        1u << JOB_PENDING | 1u << JOB_RUNNING | 1u << JOB_COMPLETING | JOB_ENDS)   \
	X(JOB_COMPLETING, "COMPLETING", "CG", 1u << JOB_PENDING | JOB_ENDS)                \
	X(JOB_COMPLETED, "COMPLETED", "CD", JOB_AGAIN)                                     \
	X(JOB_FAILED, "FAILED", "F", JOB_AGAIN)                                            \
	X(JOB_CANCELLED, "CANCELLED", "CA", JOB_AGAIN)                                     \
	X(JOB_TIMEOUT, "TIMEOUT", "TO", JOB_AGAIN)                                         \
	X(JOB_NODE_FAIL, "NODE_FAIL", "NF", JOB_AGAIN)                                     \
	X(JOB_PREEMPTED, "PREEMPTED", "PR", JOB_AGAIN)                                     \
	X(JOB_OUT_OF_MEMORY, "OUT_OF_MEMORY", "OOM", JOB_AGAIN)                            \
	X(JOB_DEADLINE, "DEADLINE", "DL", JOB_AGAIN)

#define X(sym, name, code, next) sym,
enum job_state { JOB_STATES(X) JOB_STATE_COUNT };
#undef X

const char *job_state_name(enum job_state state);
const char *job_state_code(enum job_state state);
bool job_state_ended(enum job_state state);
bool job_state_may(enum job_state from, enum job_state to);

/* Why a job is held, and which authority may release it: only the same or a higher one (roles.h).
 * HOLD_ADMIN: by an operator or administrator. HOLD_SELF: by the controller, because of how its
 * last attempt ended; its owner may release it. HOLD_COORDINATOR: by a coordinator of its account,
 * not by its owner. HOLD_SIGNATURE: a node refused its signature; a new signature ends the hold,
 * and its owner may release it. While it is held, the job's comment says more. */
enum job_hold {
	HOLD_NONE,
	HOLD_USER,
	HOLD_ADMIN,
	HOLD_SELF,
	HOLD_COORDINATOR,
	HOLD_SIGNATURE,
};

struct dependents;
struct budget;
struct class;
struct depends;
struct idmap;
struct job;
struct job_choice;
struct job_steps;
struct jobs;
struct name_set;
struct run;
struct service;
struct taken;

#define JOB_REF_BITS    40 /* of the id; above it the part */
#define RAW_IDS_END     (UINT64_C(1) << 39) /* arrays that would reach beyond take one id each */
#define JOB_PART_RANGES (1u << 22)
#define JOB_PART_LAST   ((1u << 23) - 2)
#define JOB_PART_WAITS  ((1u << 23) - 1) /* in a ref: the tasks that wait under the array parent */

static inline uint64_t job_ref_of(uint64_t id, uint64_t part)
{
	return part << JOB_REF_BITS | id;
}
static inline uint64_t job_ref_id(uint64_t ref)
{
	return ref & ((UINT64_C(1) << JOB_REF_BITS) - 1);
}
static inline uint32_t job_ref_part(uint64_t ref)
{
	return (uint32_t)(ref >> JOB_REF_BITS);
}

/* Durable. Texts are interned (strings.h). The fields are ordered without padding, because there
 * are as many of these as jobs. */
struct job_info {
	uint64_t id;
	uint32_t part;
	uint32_t uid, gid, cpus;
	const char *user, *account, *partition, *name, *qos;
	const char *submit_host, *cwd, *output, *error, *array, *comment;
	const char *partitions, *partition_needs; /* job_partitions.h */
	const struct request *gpus;
	const struct labels *labels;
	const struct nonce *nonce; /* borrowed from the nonces */
	uint64_t mem_mb;
	usec_t sign_time, submit_time, start_time, end_time; /* wall; 0: none yet */
	usec_t planned_start; /* wall: the first planned start it was given; 0: none yet */
	usec_t eligible_time; /* wall: since when it is, or at its first start was, eligible; 0: it
			       * is not, or not known */
	uint32_t max_wait_s;  /* it should start within this time; 0: as its QOS says */
	uint32_t time_limit_s, warn_signal, warn_before_s;
	uint32_t attempt, max_attempts;
	uint32_t requeue_delay_s;
	int32_t nice;
	/* Wall times: it starts not before the first and not after the second; 0: no such limit.
	 * `depends`: what it waits for (depends_terms.h); "": nothing. */
	usec_t begin_time, deadline;
	const char *depends;
	const char *remark, *mail_user; /* "": none; mail goes to the job's user then */
	const char *requeue_on; /* ends after which it is requeued, with which delay:
				 * common/job/requeue_on.h */
	uint8_t exit_code, exit_signal; /* a node reports no larger number */
	uint8_t mail_types;     /* common/job/mail_types.h; of an array also MAIL_BEGUN */
	uint8_t kill_invalid;   /* enum kill_invalid: for a dependency that can never be
				 * satisfied */
	uint8_t state;          /* enum job_state */
	uint8_t hold;           /* enum job_hold */
	uint8_t end_cause; /* enum end_cause; END_CANCEL while RUNNING: the job will not be
			    * requeued */
	uint8_t steps; /* Gpusched__Steps__Mode: its script runs on the first node alone, whose end is
			* the job's; 0: on each */
	bool raw_ids; /* of an array: the next ids are its tasks', by position in its set */
	bool requeue;
	bool show_output; /* its owner agreed (SignedSpec); nodes go by what was signed */
	bool limit_set; /* the limit changed after its attempt was started: the controller enforces
			 * it, too */
};

/* Of an array parent. The last three are durable. */
struct array {
	struct taskset all;  /* tasks, as they were signed */
	struct idmap *parts; /* struct job by part */
	/* Tasks of ended parts that are in memory; of these, those that did not end well. */
	uint32_t ended_here, ill_here;
	struct taskset gone; /* tasks that have ended and left memory, if gone_known */
	bool gone_known;
	uint32_t live;       /* parts that have not ended */
	uint32_t running;    /* parts that have an attempt */
	struct job *waiting; /* its PENDING records, including the own one */
	uint32_t at_once;    /* number of tasks that may run; 0: any, and of a service none */
	struct service *service; /* whose replicas its tasks are (service.h); NULL: no array of one */
	uint32_t next_part;
	uint32_t ended, failed, cancelled; /* numbers of tasks; ended: of all outcomes */
};

/* How many jobs wait in one partition, and how many have a run there; of arrays, tasks. */
struct job_count {
	const char *partition; /* kept */
	uint32_t pending, running;
};

/* The place of a job in the queue of one class. */
struct queued {
	struct job *job;
	struct class *class; /* NULL: it is not eligible */
	uint32_t slot;       /* its place in the class's queue */
	uint32_t counted;    /* number of tasks that the class counts for it */
};

/* Volatile. */
struct job_link {
	struct run *runs;        /* all its runs in memory, latest attempt first */
	struct queued queued;    /* for the first of its partitions */
	struct queued *others;   /* owned: for its other partitions, while it is eligible */
	struct taken *taken;     /* what its present attempt counts against the limits; NULL:
				  * nothing (limit_usage.c) */
	uint32_t n_others;
	uint32_t controlled;     /* the last round of control of its array that was applied to it */
	usec_t checkpoint;       /* wall: the latest of its present attempt; 0: none */
	struct depends *depends; /* its unsatisfied dependencies; NULL: none */
	struct dependents *dependents; /* the jobs that wait for it; NULL: there never were any */
	struct job_steps *steps; /* those that run (job_steps.h); NULL: none */
	struct name_set *singletons; /* singletons.h; NULL: it has ended */
	struct job *name_before, *name_after;
	uint8_t restarts;    /* of a slot of a service: failures in a row */
	bool expired : 1;    /* its signature is too old to be started */
	bool leaving : 1;    /* it was ordered to end: it will release what it has taken */
	bool kept : 1;       /* a replica that its service keeps as long as there is a choice */
	bool guarded : 1;    /* it is, and the guarantee of its account covers what it has taken */
	uint32_t timer;      /* in the heap of job timers; HEAP_NOWHERE */
	usec_t ended;        /* mono */
	struct array *array; /* owned; of an array parent; NULL */
	struct job *own;     /* of a part: its array parent; NULL */
	/* Links in the list of its array's waiting records, or of ended records. */
	struct job *next, *prev;
};

const struct job_info *job_info(const struct job *job);
struct job_link *job_link(struct job *job);
const struct job_link *job_link_of(const struct job *job);
static inline uint64_t job_id(const struct job *job)
{
	return job_info(job)->id;
}
static inline uint64_t job_ref(const struct job *job)
{
	return job_ref_of(job_info(job)->id, job_info(job)->part);
}
/* The task of a part that is one task, as runs name it; 0 for a job that is no array. */
uint32_t job_task(const struct job *job);
/* The array of a part or of an array parent; NULL: it is not an array. */
struct array *job_array(const struct job *job);
struct job *job_own(const struct job *job); /* the array parent; itself of other jobs */
struct service *job_service(const struct job *job); /* NULL: it is not of a service */
/* Of a service: the tasks that are pending and that it does not want at present. */
uint32_t array_in_reserve(const struct array *a);
/* The tasks of a record that stands for several tasks, or may; NULL: it is one job or one task. */
const struct taskset *job_tasks(const struct job *job);
/* The number of jobs that wait or run under this record: 1, or the number of its tasks; 0: an array
 * parent without any task. */
uint32_t job_weight(const struct job *job);
/* How many ids the record has that begin with its own: of an array parent one for each task. */
uint32_t job_ids(const struct job *job);
/* The partitions in which it may start (job_partitions.h): how many, the k-th of them from 0, and
 * is one of that name among them? */
uint32_t job_choices(const struct job_info *info);
void job_choice(const struct job_info *info, uint32_t k, struct job_choice *out);
bool job_may_choose(const struct job_info *info, const char *partition);
/* Of one task of an array its own id; of everything else the id. */
uint64_t job_raw_id(const struct job *job);
/* "7", "3-9,12"; "" for a job that is no array. Valid until its tasks change. */
const char *job_tasks_text(const struct job *job);

#define JOB_LABEL 96
/* "4812", "4812_7", "4812_[3-9,12]"; a text that is too long ends in "...". Returns buf. */
const char *job_label(const struct job *job, char buf[JOB_LABEL]);
/* of a record that no longer exists */
const char *job_ref_label(uint64_t ref, char buf[JOB_LABEL]);

/* Wall time from which the job could have run, given free resources. Its age counts from there. */
static inline usec_t job_waits_since(const struct job_info *info)
{
	return info->begin_time > info->submit_time ? info->begin_time : info->submit_time;
}

/* The approximate memory of a job, with all that belongs to it: its texts (NULL is ""), its labels
 * as text, and the ranges of its array. Charged to its user as long as the job is in memory. */
struct job_size {
	const char *const *texts;
	size_t n_texts, ranges;
	const char *labels, *depends;
};
size_t job_memory(const struct job_size *size);

struct jobs *jobs_new(struct strings *strings, struct requests *requests, struct label_sets *labels,
        struct nonces *nonces, struct dirty *dirty, struct budget *budget, uint64_t seed);
void jobs_free(struct jobs *jobs); /* NULL is fine */

struct job *jobs_find(const struct jobs *jobs, uint64_t ref); /* NULL: none */
/* Is the id, which no job has, that of an array's task? The array in memory, and its task. O(log n)
 * in jobs, O(n) in the ranges of the array's tasks. */
const struct job *jobs_of_raw_id(const struct jobs *jobs, uint64_t raw_id, uint32_t *task);
/* In the order of ids, and of parts; NULL: no more. */
struct job *jobs_next(const struct jobs *jobs, uint64_t after_ref);
struct job *jobs_of_run(const struct jobs *jobs, struct run_id id);
/* The record that a task shares with others, waiting or cancelled; NULL: none. */
struct job *jobs_stands_in(const struct jobs *jobs, uint64_t id, uint32_t task);
/* Are two records of an array equal, except for what they wait for and since when? */
bool job_alike(const struct job *a, const struct job *b);
size_t jobs_count(const struct jobs *jobs);
size_t jobs_count_in(const struct jobs *jobs, enum job_state state);
/* The counts of a partition, whether it is configured or not; NULL: it never had a job. */
const struct job_count *jobs_count_of(const struct jobs *jobs, const char *partition);

/* --- movers ---------------------------------------------------------------------------------- */

/* Add a new PENDING job. The job takes ownership of `info`'s references (gpus, labels, nonce);
 * texts are copied. The id must be above all others. */
struct job *jobs_add(struct jobs *jobs, const struct job_info *info);
/* The same for an array: takes over `tasks`. */
struct job *jobs_add_array(
        struct jobs *jobs, const struct job_info *info, struct taskset *tasks, uint32_t at_once);
/* The same in steps, for a bulk (bulk.h): jobs_stage() creates the job (`tasks` NULL: no array)
 * outside of all tables. Then it gets its id and its row. At last it enters the tables and is
 * counted, even if higher ids were added meanwhile. */
struct job *jobs_stage(
        struct jobs *jobs, const struct job_info *info, struct taskset *tasks, uint32_t at_once);
void jobs_stage_row(struct jobs *jobs, struct job *job, uint64_t id, usec_t submit_time);
void jobs_show(struct jobs *jobs, struct job *job);
/* The next seal deletes the row of a job that is not in memory. */
void jobs_forget(struct jobs *jobs, uint64_t id);
/* Make a record of its own for one task of `from`, or for several (takes over `tasks`, which are
 * some but not all tasks of `from`). It is PENDING, with the properties of `from`. */
struct job *jobs_split_task(struct jobs *jobs, struct job *from, uint32_t task);
struct job *jobs_split_tasks(struct jobs *jobs, struct job *from, struct taskset *tasks);
/* Move tasks from one waiting record to another one with several tasks, of the same array. */
void jobs_move_tasks(struct jobs *jobs, struct job *from, struct job *to,
        struct taskset *tasks); /* taken over */
/* Drop a range without tasks; the next seal frees it. It must be out of the scheduler. */
void jobs_drop_empty(struct jobs *jobs, struct job *job);
bool job_dropped(const struct job *job);
void job_set_at_once(struct jobs *jobs, struct job *own, uint32_t at_once);
/* Count so many of an array's tasks as ended in that state. */
void job_add_outcome(struct jobs *jobs, struct job *own, const struct job_info *part);
void job_count_ended(struct jobs *jobs, struct job *own, uint32_t tasks, enum job_state state);
/* Undo that: they had ended so, and wait again. */
void job_count_again(struct jobs *jobs, struct job *own, uint32_t tasks, enum job_state state);

/* asserts that the move is legal */
void job_move(struct jobs *jobs, struct job *job, enum job_state state);
void job_runs_changed(struct job *job); /* see node_runs_changed() */
void job_set_hold(struct jobs *jobs, struct job *job, enum job_hold hold);
/* Change the request: takes over the references `asked->gpus` and `labels`; copies partition(s),
 * account, cpus, mem_mb, time_limit_s, nice, begin_time, deadline, kill_invalid, the warning. The
 * job must be out of the scheduler. */
void job_set_asked(struct jobs *jobs, struct job *job, const struct job_info *asked);
/* The job must be out of the scheduler. */
void job_set_qos(struct jobs *jobs, struct job *job, const char *qos);
/* It starts in the k-th of its partitions, with what it has there. */
void job_set_choice(struct jobs *jobs, struct job *job, uint32_t k);
/* Change the time limit of its present attempt. */
void job_set_limit(struct jobs *jobs, struct job *job, uint32_t time_limit_s);
/* Its owner has signed it again, at this time (wall). */
void job_set_signed(struct jobs *jobs, struct job *job, usec_t sign_time);
/* Its owner has signed another spec: set name and max_attempts and, if it has not been started yet
 * (`files`), cwd, output and error. The nonce, which an array's parts share, gets the new hash
 * once. */
struct respec;
void job_set_respec(struct jobs *jobs, struct job *job, const struct respec *r, bool files);
void jobs_set_hash(struct jobs *jobs, struct job *own, const uint8_t *spec_hash);
void job_set_planned(struct jobs *jobs, struct job *job, usec_t planned_start);
void job_set_eligible(struct jobs *jobs, struct job *job, usec_t eligible_time);
void job_set_depends(struct jobs *jobs, struct job *job, const char *depends);
void job_set_begin(struct jobs *jobs, struct job *job, usec_t begin_time);
/* The mail about the array's begin has been sent. */
void job_set_mail_begun(struct jobs *jobs, struct job *own);
/* Copies remark, mail_types (except MAIL_BEGUN), mail_user, requeue_on, requeue_delay_s. */
void job_set_notifications(struct jobs *jobs, struct job *job, const struct job_info *wished);
void job_set_comment(struct jobs *jobs, struct job *job, const char *comment);
void job_set_end_cause(struct jobs *jobs, struct job *job, enum end_cause cause);
/* A run of this attempt is being ordered: clears what the previous attempt has left. */
void job_set_attempt(struct jobs *jobs, struct job *job, uint32_t attempt);
void job_set_start(struct jobs *jobs, struct job *job, usec_t start_time);
void job_set_end(struct jobs *jobs, struct job *job, usec_t end_time, uint32_t exit_code,
        uint32_t exit_signal);
/* The job is to run again: clear how it ended, and take the signature of its array. */
void job_unset_end(struct jobs *jobs, struct job *job);

/* Move the job from memory into history; the next seal frees it. */
void jobs_retire(struct jobs *jobs, struct job *job);

/* --- rows ------------------------------------------------------------------------------------ */

int jobs_load(struct jobs *jobs, const struct row *row, struct error *err);
void job_encode(const struct job *job, struct row *row, enum row_change change);
void job_free(struct jobs *jobs, struct job *job); /* one that was retired */

/* The record of a ref. For a task without a record of its own: the record that it waits under, and
 * *before is the number of tasks before it there. NULL: none. */
const struct job *jobs_find_waiting(const struct jobs *jobs, uint64_t ref, uint32_t *before);

#endif
