/* class.h - eligible waiting jobs that are the same to the scheduler
 *
 * The key of a class: user, account, QOS, partition, request (the whole shape), CPUs, memory, nice,
 * max_wait, time limit (rounded up: class_length()). A job with a list of partitions is in a class
 * for each of them (job_partitions.h). Inside a class jobs start first in, first out:
 * its queue is ordered by job id, and for an array by its first task, so a job that comes back
 * (requeued, released) has the place that it had before. If the head of a class cannot start, no
 * job of the class can.
 *
 * A class is READY (it is to be tried) or BLOCKED (it waits for limits or capacity and keeps the
 * decision of its last try): sched.h draws it. A limit is a bound of the configuration, a
 * quota or a licence (limits.h). `struct classes` owns the classes; a class is removed with its
 * last job.
 */
#ifndef CTLD_CORE_CLASS_H
#define CTLD_CORE_CLASS_H

#include <sys/queue.h>

#include "ctld/core/accounts/accounts.h"
#include "ctld/core/records/job.h"
#include "ctld/core/sched/decide.h"
#include "ctld/core/util/heap.h"

struct class;
struct classes;
struct subgroup; /* wait_group.h */

/* A class in one of the groups or lists in which it waits. */
LIST_HEAD(waiter_list, waiter);
struct waiter {
	struct class *class;
	uint32_t alternative;
	uint32_t slot;         /* index among the candidates of its subgroup; HEAP_NOWHERE */
	struct subgroup *in;   /* set by each configuration; NULL for the list of a limit */
	LIST_ENTRY(waiter) at; /* linked: at a limit, or among the tried members of a group */
};
void waiter_link(struct waiter_list *list, struct waiter *w);
void waiter_unlink(struct waiter *w);
bool waiter_linked(const struct waiter *w);

/* What the jobs of a class have in common: its key. */
struct class_info {
	uint32_t uid, cpus, max_wait_s;
	uint32_t length_s;                     /* 0: no time limit */
	const char *account, *qos, *partition; /* kept */
	const struct request *gpus;            /* kept */
	uint64_t mem_mb;
	int32_t nice;
};

/* The state of a class in the scheduler. */
struct class_link {
	struct heap *queue; /* struct queued by class_queue_key() of its job; never empty */
	uint64_t tasks;     /* the sum over all its jobs */
	uint32_t number;    /* among all classes */
	/* Numbers in the present configuration; CONF_NONE: not there any more. */
	uint32_t partition, account, qos;
	uint32_t user; /* ledger_user(); 0 where the user makes no difference */
	struct limit_chain *chain;
	struct assoc *assoc;
	struct heap_key key; /* as of the last ordering; its first word as of its last turn */
	struct decision last;
	struct reservation *reservation; /* the planned start of its head; NULL: none */
	uint32_t position, position_of;
	usec_t planned; /* mono: the last planned start of its head; 0: none yet */
	const char
	        *broken; /* a literal: why its reservation was broken; kept until it has another */
	uint64_t broken_by; /* the job that broke the reservation, or 0 */
	const char *cause;  /* why its previous reservation was broken; NULL: this is its first */
	uint64_t cause_job;
	uint64_t ahead; /* a hash of the reservations that stood before it when it was blocked */
	usec_t retry;   /* mono: when to search for victims again; INT64_MAX: never */
	bool put_off; /* its head was refused here; searches wait until it was elsewhere, too */
	uint64_t last_searched; /* the number of the last search for its victims; 0: none yet */
	struct waiter ready;    /* a candidate: the class is ready, else it is blocked */
	/* One for each alternative and kind of list, capacity first, then limits. They are in their
	 * groups and lists while the class is blocked. */
	struct waiter *waiters;
	uint32_t n_waiters;
	/* The text of the verdict. It is made on demand and valid for one change of the ledger. */
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
bool class_ready(const struct class *class);
struct ask class_ask(const struct class *class);
/* The place of a job in its class: by id, and for arrays by the first of its tasks. */
struct heap_key class_queue_key(const struct job *job);
struct job *class_head(const struct class *class);
struct queued *class_head_queued(const struct class *class);
/* By number, from 0, in no order. */
const struct job *class_job(const struct class *class, uint32_t n);

/* The job's place in the class of the k-th of its partitions; NULL: it has no such partition or is
 * not eligible. */
struct queued *job_queued(const struct job *job, uint32_t k);
/* The planned start that the head of the class has in another of its partitions, first of all one
 * for which runs were told to end; NULL: none. */
struct reservation *class_elsewhere(const struct class *class);
/* From now on all of these count for nothing, or do again. */
void class_set_aside(const struct class *class, bool aside);

/* A time limit as classes count it, in seconds: rounded up by at most an eighth. 0 (no limit) stays
 * 0. */
uint32_t class_length(uint32_t time_limit_s);
/* How long a place is taken, in microseconds: from the start order to the end of the grace time.
 * PLAN_FAR: no limit. The partition may be NULL. */
usec_t class_length_us(uint32_t length_s, const struct conf_partition *partition);

struct classes *classes_new(struct strings *strings, struct requests *requests, uint64_t seed);
void classes_free(struct classes *cs); /* NULL is fine; no job may be left in a class */

/* The class of a job in the k-th of its partitions, made if need be. */
struct class *classes_want(struct classes *cs, const struct job_info *job, uint32_t k);
/* The class must be empty and linked nowhere. */
void classes_remove(struct classes *cs, struct class *class);
size_t classes_count(const struct classes *cs);
/* By number, from 0. When a class is removed the last class takes over its number. */
struct class *classes_at(const struct classes *cs, size_t number);
struct class *classes_each(const struct classes *cs, size_t *cursor);

#endif
