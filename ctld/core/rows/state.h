/* state.h - struct core: the parts that core.c makes and frees, and the state of the core itself
 *
 * A part is found by its pointer here; what it is says its own header.
 */
#ifndef CTLD_CORE_STATE_H
#define CTLD_CORE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf/conf.h"
#include "common/job/run.h"

struct accounts;
struct audit;
struct budget;
struct bulk;
struct dirty;
struct effects;
struct outcomes;
struct foreign;
struct limits;
struct hardware;
struct heap;
struct hours;
struct idmap;
struct job;
struct jobs;
struct kept_rows;
struct label_sets;
struct ledger;
struct members;
struct meta;
struct singletons;
struct nodes;
struct nonces;
struct partitions;
struct requests;
struct runs;
struct sched;
struct services;
struct strings;
struct wait_replies;

#define USEC_PER_S ((usec_t)1000000)
/* The most that one EV_CLOCK does of each kind; for the rest another EV_CLOCK is due at once. */
#define TIMER_SLICE 256

/* A list of ended records, in the order of link.ended. */
struct ended {
	struct job *first, *last;
	size_t n;
};

struct core {
	const struct conf *given; /* borrowed */
	const struct conf *conf;  /* the same with what was found (discovered_hardware.h) */
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
	struct services *services;
	struct nodes *nodes;
	struct accounts *accounts;
	struct hours *hours;
	struct limits *limits;   /* of this configuration; from core_start() on */
	struct members *members; /* the same */
	struct ledger *ledger;
	struct sched *sched;
	uint32_t gpus_counted[CONF_MAX_GPU_TYPES]; /* for quotas: accepting work, or in use */
	struct wait_replies *wait_replies, *start_replies; /* requests that wait for the end of a
	                                                    * job, and for its start */
	struct audit *audit;
	struct kept_rows *kept_rows;
	struct foreign *foreign; /* runs of jobs that a restored state does not know */
	struct effects *effects;
	struct heap *node_timers; /* heap of unknown nodes, by the time at which something is due */
	struct heap *checks;  /* heap of nodes whose GPUs are to be checked (gpu_checks.h) */
	struct heap *job_timers; /* heap of jobs, by the wall time at which something is due */
	struct singletons *singletons;
	struct outcomes *outcomes;
	struct job *settle_first, *settle_last; /* depends_queue.h */
	struct idmap *waiting;                  /* depends_terms.c: struct depends by its number */
	uint32_t waiting_last;                  /* the last number that was given out */
	uint64_t told_round;                    /* depends_aftercorr.c, depends_range.c */
	uint32_t control_round;                 /* job_control.c */

	struct bulk *bulk;   /* the bulk that is being accepted; NULL: none (bulk.h) */
	uint64_t *left_over; /* before the start: jobs whose rows are to be deleted */
	size_t n_left_over;

	struct ended jobs_ended, tasks_ended; /* tasks: parts of arrays */
	uint64_t disk_free_mb;
	bool takeover;
	usec_t expired_wall; /* the earliest wall time at which a signature was too old; 0: none was
	                      */
	char *suspended;     /* owned; the reason; NULL: not suspended */
	/* Mono: since then `counts` classes had their blockers counted (wait_reason.c). */
	usec_t counts_since;
	unsigned counts;
	uint64_t ledger_seen; /* grows with every booking and node change: dates verdicts */
	uint64_t n_events, n_started, n_ended;
	uint64_t n_preempted[4]; /* by enum preempt_reason */
};

#endif
