/* class.h - eligible waiting jobs that are the same to the scheduler
 *
 * Key: user, account, partition, request, CPUs, memory, nice. First in, first out inside: a queue
 * by job id, so that a job that comes back (requeued, released) stands where it stood. If the head
 * of a class cannot start, none of the class can.
 *
 * A class is READY (in the heap of those to be tried) or PARKED (waits for capacity, with the
 * verdict of its last try). Classes are owned by `struct classes` and go when their last job does.
 */
#ifndef CTLD_CORE_CLASS_H
#define CTLD_CORE_CLASS_H

#include "ctld/core/heap.h"
#include "ctld/core/job.h"
#include "ctld/core/ledger.h"

#define CLASS_NO_PARTITION UINT32_MAX

/* Why the class did not start when it was last tried. */
enum verdict {
	VERDICT_NONE,      /* not tried yet */
	VERDICT_BLOCKED,   /* nothing in its partition has enough free */
	VERDICT_PARTITION, /* the configuration has no such partition any more */
	VERDICT_TYPE,      /* nor any of the GPU types */
};

struct class;
struct classes;

/* A parked class in the list of those that want one kind of thing of one node set. */
struct waiter {
	struct class *class;
	uint32_t alternative;
	struct waiter *next, **back;
};

struct class_info {
	uint32_t uid, cpus;
	const char *account, *partition; /* kept */
	const struct request *gpus;      /* kept */
	uint64_t mem_mb;
	int32_t nice;
};

struct class_link {
	struct heap *queue; /* jobs by id; never empty */
	uint32_t slot;      /* in the heap of ready classes; HEAP_NOWHERE: parked */
	uint32_t number;    /* of the partition; CLASS_NO_PARTITION */
	enum verdict verdict;
	bool waking; /* while a list is searched */
	struct class *next_waking;
	struct waiter *waiters; /* one for each alternative, at least one; linked while parked */
	uint32_t n_waiters;
	/* The text of the verdict, made when somebody asks: good for one change of the ledger. */
	char *text;         /* owned */
	const char *reason; /* a literal */
	uint64_t text_made;
	usec_t text_mono;
};

const struct class_info *class_info(const struct class *class);
struct class_link *class_link(struct class *class);
struct ask class_ask(const struct class *class);
const struct job *class_head(const struct class *class);

struct classes *classes_new(struct strings *strings, struct requests *requests, uint64_t seed);
void classes_free(struct classes *cs); /* NULL is fine; its jobs must be out */

/* The class of a job, made if need be. */
struct class *classes_want(struct classes *cs, const struct job_info *job);
/* Only an empty one, unlinked from everything. */
void classes_remove(struct classes *cs, struct class *class);
size_t classes_count(const struct classes *cs);
struct class *classes_each(const struct classes *cs, size_t *cursor); /* in no order */

#endif
