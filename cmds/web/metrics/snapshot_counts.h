/* snapshot_counts.h - counts that several metrics share, made in one walk over a snapshot */
#ifndef CMDS_WEB_METRICS_SNAPSHOT_COUNTS_H
#define CMDS_WEB_METRICS_SNAPSHOT_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "cmds/web/metrics/sum_by_labels.h"
#include "common/gpusched.pb-c.h"

struct snapshot;

#define SUMS_USERS_MAX 500 /* groups of users; the others are one, "(other)" */

/* The counts of jobs; a task of an array counts as one. */
enum job_count {
	JOBS_NONE, /* what Slurm has and this project has not: 0 */
	JOBS_ALL,
	JOBS_PENDING,
	JOBS_HELD, /* of those pending */
	JOBS_DEPENDENT,
	JOBS_CONFIGURING,
	JOBS_RUNNING,
	JOBS_SUSPENDED,
	JOBS_COMPLETING,
	JOBS_STARTED, /* what has resources, and what ended after it had */
	JOBS_FINISHED,
	JOBS_COMPLETED,
	JOBS_FAILED,
	JOBS_CANCELLED,
	JOBS_TIMEOUT,
	JOBS_NODE_FAIL,
	JOBS_PREEMPTED,
	JOBS_OOM,
	JOBS_DEADLINE,
	JOBS_CPUS,
	JOBS_CPUS_PENDING,
	JOBS_MEM_BYTES,
	JOBS_NODES,
	JOBS_GPUS,
	JOBS_GPUS_PENDING,
	JOBS_NODES_MAX,      /* the most nodes that a waiting job asks for */
	JOBS_NODES_MAX_FREE, /* the same without those held */
	JOBS_COUNTS
};

struct job_group {
	const char *name;
	double n[JOBS_COUNTS];
};
struct job_groups {
	struct job_group *v; /* by name */
	size_t n, size;
	uint32_t *slots;
	size_t n_slots;
};
/* The group of that name; NULL: nothing was counted. */
const struct job_group *job_groups_find(const struct job_groups *g, const char *name);

/* The counts of nodes. */
enum node_count {
	NODES_NONE,
	NODES_ALL,
	NODES_IDLE,
	NODES_MIXED,
	NODES_ALLOCATED,
	NODES_DRAINED,
	NODES_DRAINING,
	NODES_DRAIN, /* both */
	NODES_UNKNOWN,
	NODES_DOWN,
	NODES_CPUS,
	NODES_CPUS_ALLOC,
	NODES_CPUS_IDLE, /* on nodes that take work */
	NODES_CPUS_OTHER,
	NODES_MEM_BYTES,
	NODES_MEM_ALLOC_BYTES,
	NODES_MEM_FREE_BYTES,
	NODES_GPUS,
	NODES_GPUS_ALLOC,
	NODES_GPUS_IDLE, /* on nodes that take work */
	NODES_COUNTS
};
struct node_group {
	const char *name;
	double n[NODES_COUNTS];
};

struct snapshot_counts {
	struct job_group jobs; /* all */
	struct job_groups by_partition, by_user, by_account;
	struct label_sums states;  /* partition, state */
	struct label_sums waiting; /* reason */
	struct label_sums oldest; /* partition: when the one that waits longest could first start */
	struct label_sums held;   /* account, type: GPUs */
	struct node_group nodes;  /* all */
	struct node_group *node_groups; /* by partition, in the order of the snapshot */
	struct label_sums gpus;         /* type, state */
	struct label_sums idle;         /* type: held, and without compute at the last sample */
};

struct snapshot_counts *snapshot_counts_new(const struct snapshot *snap); /* NULL: all of it is empty */
void snapshot_counts_free(struct snapshot_counts *s);                     /* NULL is fine */

/* Of one node. */
void node_counts(const Gpusched__Node *node, double n[NODES_COUNTS]);
/* The state of a GPU, for labels: free, held, shared, draining, drained, missing, trouble, or
 * unavailable where its node takes no work. */
const char *gpu_state(const Gpusched__Node *node, const Gpusched__NodeGpu *gpu);

#endif
