/* world_impl.h - the inside of a world, for its files
 *
 *	world.c       core and clocks
 *	world_jobs.c  jobs, from the history to the core
 *	world_runs.c  their runs
 *	saved_work.c   what a stop of a run loses
 */
#ifndef GSIM_WORLD_IMPL_H
#define GSIM_WORLD_IMPL_H

#include "ctld/core/core.h"
#include "ctld/core/util/heap.h"
#include "ctld/core/util/idmap.h"
#include "ctld/gsim/history/text_numbers.h"
#include "ctld/gsim/world.h"

#define WORLD_FIRST_UID 1000 /* user 0 of the history */

/* What a node's runs hold, as the node would know it. */
struct world_node {
	uint32_t cpus, cpus_used, n_gpus;
	uint64_t mem_mb, mem_used_mb;
	struct world_card {
		uint32_t milli; /* used */
		uint32_t type;
		struct memory_burst_gpu memory_bursts;
	} cards[CONF_MAX_GPUS_PER_NODE];
};

struct world_run {
	struct run_id id;
	struct world_job *job;
	struct world_run *next; /* of its job */
	uint32_t node, cpus, slot;
	uint64_t mem_mb, gpus;
	uint64_t part_mb, burst_mb; /* of each GPU's memory, if it has parts of them; 0 */
	uint32_t milli;             /* of each GPU */
	uint32_t charge;            /* what that counts as */
	near_t near;                /* of several whole GPUs: how close the farthest are */
	uint64_t number;            /* runs started before it */
	usec_t start, end;
	usec_t told; /* when it was told to end; WORLD_NEVER: it was not */
	enum end_cause cause;
};

struct world_job {
	uint64_t id; /* 0: not in the core */
	/* from the history */
	char *name;
	size_t result; /* its number, where results are kept */
	uint32_t user, account, partition, type, group; /* names */
	uint32_t gpus, gpu_milli, nodes, cpus, time_limit_s;
	uint64_t mem_mb, gpu_mem_mb, gpu_mem_burst_mb;
	usec_t arrival, duration, remaining;
	/* so far */
	struct world_run *runs;
	uint32_t given; /* name of the account that the core took */
	uint64_t gpu_us;
	usec_t work;  /* run time that it needs: duration, or what its limit leaves of it */
	usec_t saved; /* of the present attempt, so that it need not be done again */
	usec_t start, estimate; /* the first; estimate -1: none was planned */
	uint32_t attempts;
	bool started, told; /* at least once; the present attempt */
};

/* An effect that asks for something. */
struct order {
	enum effect_kind kind; /* START_RUN, END_RUN */
	struct run_id run;
	uint32_t node, grace_s;
	enum end_cause cause;
};

struct world {
	const struct conf *conf;
	struct world_options o;
	struct core *core;
	struct clocks start, now;
	struct heap *ends; /* runs, by end and number */
	struct idmap *jobs;
	struct world_node *nodes;
	uint32_t *
	        largest; /* [partition * (types + 1) + type, or types for any]: cluster_largest() */
	struct text_numbers *names; /* users, accounts, partitions, types, groups */
	struct measures m;
	struct order *orders;
	size_t n_orders, orders_size;
	uint64_t n_events, n_jobs, n_submits, n_runs, n_sealed;
	/* of the last submission */
	uint64_t submitted; /* the id; 0: refused */
	struct error refusal;
	bool failed;
	struct error error;
};

/* Give the core an event and take what it wants. */
void world_apply(struct world *w, const struct core_event *event);
/* What must never be. The first is kept. */
void world_fail(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void world_job_forget(struct world *w, struct world_job *job);

void world_run_start(struct world *w, const struct order *order);
void world_run_stop(struct world *w, const struct order *order);
void world_run_ends(struct world *w, struct world_run *run);
void world_run_result(struct world *w, const struct world_run *run, usec_t end);

/* The attempt begins; a run of it is over; all are over, and the job waits again. */
void saved_work_begin(struct world_job *job);
void saved_work_add(struct world *w, const struct world_run *run);
void saved_work_requeue(struct world_job *job);

#endif
