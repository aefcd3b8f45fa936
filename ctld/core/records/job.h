/* job.h - a job: what was submitted, and what has become of it
 *
 * `struct job_info` holds the durable fields; everybody reads them through job_info(), only the
 * movers here write them, and each puts the job on the dirty list. `struct job_link` is volatile:
 * where the job stands in the scheduler and the timers, rebuilt at each start.
 *
 *	PENDING --> CONFIGURING --> RUNNING --> COMPLETING --> ended
 *	   ^            |              |            |
 *	   +------------+--------------+------------+   never started, or requeued
 *
 * PENDING: waits, held or not. CONFIGURING: its present run has been ordered. RUNNING: the node
 *said that the program runs. COMPLETING: its run has been told to end and has not yet. The ended
 *states are final, unless somebody has the job requeued as long as it is here (revive.c). A job
 *leaves CONFIGURING, RUNNING and COMPLETING only by the word of its node, or when its node is known
 *to be off. An array's own record goes from PENDING to its end.
 *
 * Jobs are owned by `struct jobs` and live until jobs_retire().
 *
 * An array is one job, PENDING, that stands for all of its tasks that have no record of their own.
 * A task gets one when it starts, or when it alone is held, changed or cancelled; several tasks
 * that are treated alike get one together. Such a record is a job like any other, of the same id:
 * its *part*. It begins as a copy of the record it was split from (array.h), and shares texts,
 * request and nonce with it. The array's own record ends when all of its parts have.
 *
 *	part 0			a job that is no array; an array's own record
 *	1 + task		that task
 *	JOB_PART_RANGES...	several tasks
 *
 * Id and part together are a *ref*: what names a job in one number. Of part 0 it is the id.
 */
#ifndef CTLD_CORE_JOB_H
#define CTLD_CORE_JOB_H

#include "common/error.h"
#include "common/run.h"
#include "common/taskset.h"
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

/* Who holds a job: only the same or a higher one may release it (roles.h). HOLD_ADMIN: an operator
 * or administrator. HOLD_SELF: nobody asked for it; how its last attempt ended is the reason, and
 * its owner may release it. HOLD_COORDINATOR: of its account, and not its owner. HOLD_SIGNATURE: a
 * node refused its signature; another one ends that, and its owner may release it. The job's comment
 * says more, as long as it is held. */
enum job_hold {
	HOLD_NONE,
	HOLD_USER,
	HOLD_ADMIN,
	HOLD_SELF,
	HOLD_COORDINATOR,
	HOLD_SIGNATURE,
};

struct job;
struct jobs;
struct run;
struct class;
struct taken;
struct depends;
struct awaited;
struct name_set;
struct idmap;
struct budget;

#define JOB_REF_BITS    40 /* of the id; above it the part */
#define JOB_PART_RANGES (1u << 22)
#define JOB_PART_LAST   ((1u << 23) - 2)
#define JOB_PART_WAITS  ((1u << 23) - 1) /* in a ref: what waits under an array's own record */

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

/* Durable. Texts are kept (strings.h). In an order without holes: there are as many of them as
 * there are jobs. */
struct job_info {
	uint64_t id;
	uint32_t part;
	uint32_t uid, gid, cpus;
	const char *user, *account, *partition, *name, *qos;
	const char *submit_host, *cwd, *output, *error, *array, *comment;
	const struct request *gpus;
	const struct labels *labels;
	const struct nonce *nonce; /* borrowed from the nonces */
	uint64_t mem_mb;
	usec_t sign_time, submit_time, start_time, end_time; /* wall; 0: none yet */
	usec_t planned_start; /* wall: the first that it was given; 0: none yet */
	uint32_t max_wait_s;  /* it wishes to start within; 0: its QOS's wish */
	uint32_t time_limit_s, warn_signal, warn_before_s;
	uint32_t attempt, max_attempts, exit_code, exit_signal;
	uint32_t requeue_delay_s;
	int32_t nice;
	/* Not before this (wall), not after that; 0: whenever. What it waits for: depends.h, ""
	 * nothing. */
	usec_t begin_time, deadline;
	const char *depends;
	const char *remark, *mail_user; /* "" none; mail goes to the user then */
	const char *requeue_on; /* ends after which it is run again, so late: common/comeback.h */
	uint8_t mail_types;     /* common/mailwish.h; of an array MAIL_BEGUN too */
	uint8_t kill_invalid;   /* enum kill_invalid: when that can never come true */
	uint8_t state;          /* enum job_state */
	uint8_t hold;           /* enum job_hold */
	uint8_t end_cause; /* enum end_cause: END_CANCEL while RUNNING: it is not to come back */
	bool requeue;
	bool limit_set; /* its attempt was started with another limit: it is ended here, too */
};

/* Of an array's own record. The last numbers are durable. */
struct array {
	struct taskset all;  /* tasks, as they were signed */
	struct idmap *parts; /* struct job by part */
	/* Tasks of parts that have ended and are here; of these, those that did not go well. */
	uint32_t ended_here, ill_here;
	struct taskset gone; /* tasks that have ended and left memory, where gone_known */
	bool gone_known;
	uint32_t live;       /* parts that have not ended */
	uint32_t running;    /* parts that have an attempt */
	struct job *waiting; /* its records that are PENDING, the own one among them */
	uint32_t at_once;    /* so many may run; 0: any number */
	uint32_t next_part;
	uint32_t ended, failed, cancelled; /* tasks; ended: all of them */
};

/* How many jobs of one partition wait, and have a run; of arrays, tasks. */
struct job_count {
	const char *partition; /* kept */
	uint32_t pending, running;
};

/* Volatile. */
struct job_link {
	struct run *runs;        /* all its runs in memory, latest attempt first */
	struct class *class;     /* in which it waits; NULL: it is not eligible */
	struct taken *taken;     /* of the gates, by its present attempt; NULL: nothing (hold.c) */
	uint32_t slot;           /* its place in the class's queue */
	uint32_t counted;        /* tasks that the class counts for it */
	uint32_t controlled;     /* the last round of control over its array that it was done to */
	usec_t checkpoint;       /* wall: the latest of its present attempt; 0: none */
	struct depends *depends; /* what it still waits for; NULL: nothing */
	struct awaited *awaited; /* who waits for it; NULL: never anybody */
	struct name_set *namesakes; /* namesakes.h; NULL: it has ended */
	struct job *name_before, *name_after;
	bool expired;        /* its signature is too old to be started */
	bool leaving;        /* it was told to end: it will give back what it has taken */
	uint32_t alarm;      /* in the heap of alarms; HEAP_NOWHERE */
	usec_t ended;        /* mono */
	struct array *array; /* owned; of an array's own record; NULL */
	struct job *own;     /* of a part: its array's own record; NULL */
	/* Among those of its array that wait; among those that have ended. */
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
/* The task of a part that is one task, as runs name it; 0 of a job that is no array. */
uint32_t job_task(const struct job *job);
/* The array of a part or of an array's own record; NULL: it is no array. */
struct array *job_array(const struct job *job);
struct job *job_own(const struct job *job); /* the array's own record; itself of other jobs */
/* The tasks of a record that stands for several, or may; NULL: it is one job or one task. */
const struct taskset *job_tasks(const struct job *job);
/* What waits or runs under this record: 1, or its tasks; 0: an array's own without any. */
uint32_t job_weight(const struct job *job);
/* "7", "3-9,12"; "" for a job that is no array. Good until its tasks change. */
const char *job_tasks_text(const struct job *job);

#define JOB_LABEL 96
/* "4812", "4812_7", "4812_[3-9,12]", and what does not fit ends in "...". Returns buf. */
const char *job_label(const struct job *job, char buf[JOB_LABEL]);
const char *job_ref_label(uint64_t ref, char buf[JOB_LABEL]); /* of a record that is gone */

/* Wall: since when it could have run, had there been room. Its age counts from there. */
static inline usec_t job_waits_since(const struct job_info *info)
{
	return info->begin_time > info->submit_time ? info->begin_time : info->submit_time;
}

/* Memory that a job takes, about, with all that hangs on it: by its texts (NULL is ""), its labels
 * as text, and the ranges of its array. Charged to its user as long as it is here. */
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
/* In the order of ids, and of parts; NULL: no more. */
struct job *jobs_next(const struct jobs *jobs, uint64_t after_ref);
struct job *jobs_of_run(const struct jobs *jobs, struct run_id id);
/* The record under which a task stands with others, waiting or cancelled; NULL: none. */
struct job *jobs_stands_in(const struct jobs *jobs, uint64_t id, uint32_t task);
/* Are two records of an array treated alike, but for what they wait for and since when? */
bool job_alike(const struct job *a, const struct job *b);
size_t jobs_count(const struct jobs *jobs);
size_t jobs_count_in(const struct jobs *jobs, enum job_state state);
/* The counts of a partition, whether it is configured or not; NULL: it never had a job. */
const struct job_count *jobs_count_of(const struct jobs *jobs, const char *partition);

/* --- movers ---------------------------------------------------------------------------------- */

/* Take over a new job, PENDING. `info`'s counted members (gpus, labels, nonce) belong to the job
 * afterwards, its texts are copied. The id must be above all others. */
struct job *jobs_add(struct jobs *jobs, const struct job_info *info);
/* The same for an array: takes over `tasks`. */
struct job *jobs_add_array(
        struct jobs *jobs, const struct job_info *info, struct taskset *tasks, uint32_t at_once);
/* The same in steps, for a bulk (bulk.h): it is made (`tasks` NULL: no array) and is nowhere; it
 * gets its id and its row; it is found and counted, also below ids that came after it. */
struct job *jobs_stage(
        struct jobs *jobs, const struct job_info *info, struct taskset *tasks, uint32_t at_once);
void jobs_stage_row(struct jobs *jobs, struct job *job, uint64_t id, usec_t submit_time);
void jobs_show(struct jobs *jobs, struct job *job);
/* The next seal deletes the row of a job that is not there. */
void jobs_forget(struct jobs *jobs, uint64_t id);
/* A record of its own for one task of `from`, or for several (takes over `tasks`, which are in
 * `from` and not all of it). It is PENDING, and as `from` is. */
struct job *jobs_split_task(struct jobs *jobs, struct job *from, uint32_t task);
struct job *jobs_split_tasks(struct jobs *jobs, struct job *from, struct taskset *tasks);
/* From one record that waits to another one, of several tasks, of the same array. */
void jobs_move_tasks(struct jobs *jobs, struct job *from, struct job *to,
        struct taskset *tasks); /* taken over */
/* A range that has no task left; freed by the next seal. Out of the scheduler. */
void jobs_drop_empty(struct jobs *jobs, struct job *job);
bool job_dropped(const struct job *job);
void job_set_at_once(struct jobs *jobs, struct job *own, uint32_t at_once);
/* So many of an array's tasks have ended, in that state. */
void job_add_outcome(struct jobs *jobs, struct job *own, const struct job_info *part);
void job_count_ended(struct jobs *jobs, struct job *own, uint32_t tasks, enum job_state state);
/* They had ended so, and wait again. */
void job_count_again(struct jobs *jobs, struct job *own, uint32_t tasks, enum job_state state);

void job_move(struct jobs *jobs, struct job *job, enum job_state state); /* asserts that it may */
void job_runs_changed(struct job *job); /* see node_runs_changed() */
void job_set_hold(struct jobs *jobs, struct job *job, enum job_hold hold);
/* What is asked for: takes over the counted `asked->gpus` and `labels`; copies partition, account,
 * cpus, mem_mb, time_limit_s, nice, begin_time, deadline, kill_invalid, the warning. The job must
 * be out of the scheduler. */
void job_set_asked(struct jobs *jobs, struct job *job, const struct job_info *asked);
/* Another time limit of its present attempt. */
void job_set_limit(struct jobs *jobs, struct job *job, uint32_t time_limit_s);
/* Its owner has signed it once more, then (wall). */
void job_set_signed(struct jobs *jobs, struct job *job, usec_t sign_time);
/* Another spec that its owner has signed: name and max_attempts, and where it was not started yet
 * (`files`) cwd, output and error. Its nonce, which an array's parts share, is told of the hash
 * once. */
struct respec;
void job_set_respec(struct jobs *jobs, struct job *job, const struct respec *r, bool files);
void jobs_set_hash(struct jobs *jobs, struct job *own, const uint8_t *spec_hash);
void job_set_planned(struct jobs *jobs, struct job *job, usec_t planned_start);
void job_set_depends(struct jobs *jobs, struct job *job, const char *depends);
void job_set_begin(struct jobs *jobs, struct job *job, usec_t begin_time);
/* An array has told that it began. */
void job_set_mail_begun(struct jobs *jobs, struct job *own);
/* Copies remark, mail_types (but for MAIL_BEGUN), mail_user, requeue_on, requeue_delay_s. */
void job_set_wishes(struct jobs *jobs, struct job *job, const struct job_info *wished);
void job_set_comment(struct jobs *jobs, struct job *job, const char *comment);
void job_set_end_cause(struct jobs *jobs, struct job *job, enum end_cause cause);
/* A run of this attempt is ordered: forgets what the last one left behind. */
void job_set_attempt(struct jobs *jobs, struct job *job, uint32_t attempt);
void job_set_start(struct jobs *jobs, struct job *job, usec_t start_time);
void job_set_end(struct jobs *jobs, struct job *job, usec_t end_time, uint32_t exit_code,
        uint32_t exit_signal);
/* It is to run again: how it ended is forgotten, and its signature is that of its array. */
void job_unset_end(struct jobs *jobs, struct job *job);

/* Out of memory into history; the job is freed by the next seal. */
void jobs_retire(struct jobs *jobs, struct job *job);

/* --- rows ------------------------------------------------------------------------------------ */

int jobs_load(struct jobs *jobs, const struct row *row, struct error *err);
void job_encode(const struct job *job, struct row *row, enum row_change change);
void job_free(struct jobs *jobs, struct job *job); /* a retired one */

#endif
