/* class.h - eligible waiting jobs that are the same to the scheduler
 *
 * Key: user, account, QOS, partition, request (the whole shape), CPUs, memory, nice, max_wait, time
 * limit (rounded up: class_length()). First in, first out inside: a queue by job id, so that a job
 * that comes back (requeued, released) stands where it stood; of an array, by its first task. If
 * the head of a class cannot start, none of the class can.
 *
 * A class is READY (in the heap of those to be tried) or PARKED (waits for gates or capacity, with
 * the decision of its last try). Classes are owned by `struct classes` and go when their last job
 * does.
 */
#ifndef CTLD_CORE_CLASS_H
#define CTLD_CORE_CLASS_H

#include "ctld/core/accounts/accounts.h"
#include "ctld/core/records/job.h"
#include "ctld/core/sched/decide.h"
#include "ctld/core/util/heap.h"

struct class;
struct classes;

struct waiter; /* crowd.h */
struct ready_group;

struct class_info {
	uint32_t uid, cpus, max_wait_s;
	uint32_t length_s;                     /* 0: no time limit */
	const char *account, *qos, *partition; /* kept */
	const struct request *gpus;            /* kept */
	uint64_t mem_mb;
	int32_t nice;
};

struct class_link {
	struct heap *queue; /* jobs by class_queue_key(); never empty */
	uint64_t tasks;     /* in all of them */
	uint32_t number;    /* among all classes */
	uint32_t slot;      /* among the ready ones of its group; HEAP_NOWHERE: parked */
	struct ready_group *group; /* ready.c */
	uint32_t refill;           /* ordering.c: its place there; HEAP_NOWHERE */
	/* Of the present configuration; CONF_NONE. */
	uint32_t partition, account, qos;
	uint32_t user; /* ledger_user(): 0 where it makes no difference */
	struct gate_path *path;
	struct assoc *assoc;
	struct heap_key key; /* as of the last ordering; the first word as of its last turn */
	struct decision last;
	struct plan_entry *entry; /* its head's planned start; NULL */
	uint32_t position, position_of;
	usec_t planned;     /* mono: the start that its head was given last; 0: none yet */
	const char *broken; /* a literal: why its entry was broken, until it has another */
	uint64_t broken_by; /* the job that did, or 0 */
	const char *cause;  /* why its entry is not the first one; NULL: it is */
	uint64_t cause_job;
	uint64_t ahead; /* which entries stood before it when it was parked: a hash */
	usec_t retry;   /* mono: when to look for victims again; INT64_MAX */
	uint64_t hunted; /* the number of the last search for its victims; 0: there was none */
	bool waking;    /* while a list is searched */
	struct class *next_waking;
	/* One for each alternative and kind of list: capacity first, then gates; linked while
	 * parked. */
	struct waiter *waiters;
	uint32_t n_waiters;
	/* The text of the verdict, made when somebody asks: good for one change of the ledger. */
	char *text;         /* owned */
	const char *reason; /* a literal */
	uint64_t text_made;
	usec_t text_mono;
	enum verdict text_of;
	uint32_t n_blockers;
};

const struct class_info *class_info(const struct class *class);
struct class_link *class_link(struct class *class);
const struct class_link *class_link_of(const struct class *class);
struct ask class_ask(const struct class *class);
/* Where a job stands in its class: by id, and of arrays by the first of its tasks. */
struct heap_key class_queue_key(const struct job *job);
const struct job *class_head(const struct class *class);

/* A time limit as classes count it: rounded up by at most an eighth. 0 stays 0: none. */
uint32_t class_length(uint32_t time_limit_s);
/* How long a place is taken, from the order to the end of the grace time; PLAN_FAR: no limit. The
 * partition may be NULL. */
usec_t class_length_us(uint32_t length_s, const struct conf_partition *partition);

struct classes *classes_new(struct strings *strings, struct requests *requests, uint64_t seed);
void classes_free(struct classes *cs); /* NULL is fine; its jobs must be out */

/* The class of a job, made if need be. */
struct class *classes_want(struct classes *cs, const struct job_info *job);
/* Only an empty one, unlinked from everything. */
void classes_remove(struct classes *cs, struct class *class);
size_t classes_count(const struct classes *cs);
/* By number, from 0. The last one gets the number of one that goes. */
struct class *classes_at(const struct classes *cs, size_t number);
struct class *classes_each(const struct classes *cs, size_t *cursor);

#endif
