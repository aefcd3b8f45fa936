/* sched_lab.h - random clusters, jobs and events around the controller's core
 *
 * A lab is a world (core_world.h) whose nodes behave: they start what they are told to, end it by
 * itself, at its time limit or within the grace time, get lost and come back. It keeps what the
 * core was seen to do - which job holds what, what is planned - for rules (sched_rules.h) that are
 * written from the documentation.
 *
 * Everything is chosen by the seed. In cases from LAB_SHARED on GPUs are shared on some nodes,
 * which a reload may change, and jobs ask for parts of them beside jobs that want whole ones. In cases
 * from LAB_LISTS on half of the jobs have a list of partitions.
 */
#ifndef TESTSUITE_UNIT_SCHED_LAB_H
#define TESTSUITE_UNIT_SCHED_LAB_H

#include "ctld/core/request/gpu_share.h"
#include "testsuite/unit/lib/core_world.h"

#define LAB_NODES  12
#define LAB_JOBS   48
#define LAB_WANTS  3
#define LAB_PARTITIONS 3
#define LAB_CARDS  16 /* of a node */
#define LAB_SHARED 10000000
#define LAB_APART  20000000 /* and on some nodes only by runs of one user */
#define LAB_LISTS  30000000 /* none is shared */
#define LAB_MILLI  1000
#define LAB_ANY    UINT16_MAX /* a GPU type: any */
#define LAB_NO_GPU (UINT16_MAX - 1)
#define LAB_SECOND ((usec_t)1000000)
#define LAB_ID(j)  ((unsigned long long)(j)->id)

struct lab_run {
	struct run_id id;
	uint32_t node, cpus;
	uint16_t type; /* LAB_NO_GPU */
	uint64_t gpus, mem_mb;
	struct share share;           /* of each GPU; charge 0: all of it */
	usec_t ordered, starts, ends; /* mono: starts and ends are the node's own plans */
	usec_t told, grace;           /* mono: to end; 0: not; within which time */
	enum end_cause cause;
	bool running, over;
};

struct lab_want {
	uint16_t type;
	uint32_t count;
};

enum lab_state { LAB_WAITS, LAB_HOLDS, LAB_ENDED };

/* What the core shows of a job. */
struct lab_seen {
	enum lab_state state;
	bool held;
	int64_t priority;
	bool has_plan;
	uint32_t plan_nodes;
	usec_t planned; /* mono; 0: none, or nobody knows when */
	char reason[40];
};

struct lab_job {
	uint64_t id;
	uint32_t partition, account, qos, uid; /* indices; account, qos may be CONF_NONE */
	/* All in which it may start; `partition` is the one in which it holds something, or for which
	 * its start is planned. */
	uint32_t list[LAB_PARTITIONS], n_list;
	struct lab_want wants[LAB_WANTS];
	size_t n_wants;
	uint32_t nodes_min, nodes_max, cpus, time_s /* 0: unlimited */, licences, lasts;
	uint64_t mem_mb;
	struct share_wish part; /* of each GPU; none: all of it */
	bool per_node, exclusive, requeue;
	struct lab_seen now, before; /* before the last step of the scheduler */
	struct lab_run runs[LAB_NODES];
	size_t n_runs;
	uint32_t attempt;   /* that the runs are of */
	bool started;       /* at least once */
	uint64_t forgotten; /* could have started: the number of the next ordering then; 0: no */
	bool preempts;      /* runs were told to end for it, and it has not started yet */
};

struct lab_stop { /* a run was told to end */
	struct run_id run;
	enum end_cause cause;
	uint64_t by_job;
	uint32_t grace_s;
	bool requeue;
};

struct lab_node {
	bool heard, drained;
	unsigned boots;
	char incarnation[16];
};

struct lab {
	struct world *w;
	uint64_t seed, random, hash;
	bool weights, quotas, limits, preempts, shares, apart, lists; /* what this case has */
	unsigned variant;                                      /* of the configuration */
	unsigned n_nodes;
	struct lab_node nodes[LAB_NODES];
	uint32_t mixed[LAB_NODES]; /* GPUs that had runs of several users when that was forbidden */
	struct lab_job jobs[LAB_JOBS];
	size_t n_jobs;
	struct run_id starts[LAB_NODES]; /* of the last step */
	uint32_t start_nodes[LAB_NODES];
	size_t n_starts;
	struct lab_stop stops[64];
	size_t n_stops;
	const char *doing; /* for messages */
	bool disturbed;    /* by what is happening plans may be given up */
	bool endless;      /* runs end only when they are told to */
	bool interrupts;   /* things happen between two steps of a search for victims */
	bool may_interrupt, interrupted; /* they may now, and have */
	void (*check)(struct lab *lab, bool scheduled);
	struct {
		unsigned long starts, waits, preempted, planned, backfilled, borrowed, gangs;
		unsigned long judged; /* victims whose necessity was checked */
		unsigned long late, closed, unsure, parts, interrupted, searched, beside;
	} seen;
	unsigned preempted_by[LAB_JOBS][LAB_JOBS]; /* [victim][by] */
};

void lab_new(struct lab *lab, uint64_t seed);
void lab_free(struct lab *lab);

unsigned lab_pick(struct lab *lab, unsigned n);
void lab_submit(struct lab *lab);
void lab_step(struct lab *lab);                 /* something happens */
void lab_pass(struct lab *lab, double seconds); /* what the nodes do meanwhile is reported */
void lab_calm(struct lab *lab); /* the first configuration, all nodes well, no holds */

struct lab_job *lab_job(struct lab *lab, uint64_t id);
void lab_fail(const struct lab *lab, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The text of its configuration. */
void lab_conf(struct lab *lab, char *text, size_t size);

#endif
