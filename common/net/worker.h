/* worker.h - helper threads for whatever blocks: munge, key exchange, name services, files
 *
 * The threads own no state. A job has a run() that is called in some thread and may touch only its
 * argument, and a done() that is called later on the event loop with the same argument.
 *
 * A slow user or address must not delay others: jobs carry a key (a uid, an address); each key has
 * its own first-in-first-out queue, the threads serve the keys in turn, and no key may occupy all
 * threads at once. Queues are bounded, for each key and in total: a full one refuses with
 * ERR_BUSY.
 *
 * Ownership of `arg`: the job's from worker_submit() on. Exactly one of done() or drop() is called
 * for each job, on the loop's thread: done() when run() has finished, drop() when the job was
 * cancelled or the pool was freed before its done() was delivered. Both free or pass on the
 * argument. drop() of a running job waits until run() has returned, without blocking the loop. All
 * functions below are for the loop's thread only.
 */
#ifndef COMMON_WORKER_H
#define COMMON_WORKER_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct event_base;
struct worker_pool;
struct worker_job;

struct worker_limits {
	unsigned threads;     /* 1 to 64 */
	unsigned max_queued;  /* jobs waiting, in total */
	unsigned max_per_key; /* jobs waiting, of one key */
};

struct worker_ops {
	void (*run)(void *arg);  /* in a thread */
	void (*done)(void *arg); /* on the loop */
	void (*drop)(void *arg); /* on the loop: free what done() would have taken care of */
};

/* The threads block all signals. NULL with ERR_SYSTEM. */
struct worker_pool *worker_pool_new(
        struct event_base *base, const struct worker_limits *limits, struct error *err);

/* Waits for the jobs that are running (so a stalled munge daemon delays it by munge's own time
 * limits), drops all others. NULL is fine. */
void worker_pool_free(struct worker_pool *pool);

/* NULL with ERR_BUSY (then arg is still the caller's), never for another reason. `ops` must outlive
 * the job. The returned job is valid until its done() or drop() begins. */
struct worker_job *worker_submit(struct worker_pool *pool, uint64_t key,
        const struct worker_ops *ops, void *arg, struct error *err);

/* The owner goes away: done() will not be called, drop() will, before this returns if the job has
 * not begun, else when it has ended. */
void worker_cancel(struct worker_job *job);

struct worker_stats {
	uint64_t done;
	uint64_t refused; /* ERR_BUSY */
	unsigned queued;
	unsigned running;
};
void worker_pool_stats(const struct worker_pool *pool, struct worker_stats *out);

/* A key for a peer's address: the address alone, without the port. */
struct sockaddr;
uint64_t worker_key_address(const struct sockaddr *sa);

#endif
