/* random_model.h - test_core_random: the model of a cluster, and what its nodes do */
#ifndef TESTSUITE_UNIT_RANDOM_MODEL_H
#define TESTSUITE_UNIT_RANDOM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "testsuite/unit/lib/core_world.h"

#define NODES    4
#define GPUS     4
#define MAX_RUNS 4000
#define CARD_MB  81920 /* of each GPU */

struct model_run {
	struct run_report report;
	bool here; /* the node has a record of it */
	bool alive;
	enum end_cause told; /* an EndRun has come */
	bool hold;           /* a SuspendRun has: it is to be suspended */
	bool counted_start;
};

struct model_node {
	uint64_t session; /* ours; 0: none */
	char incarnation[16];
	unsigned boots;
	struct model_run *runs;
	size_t n_runs, size;
};

struct outgoing {
	struct effect effect;
	struct run_id *wanted;
	uint64_t gpus;
	struct share share;
	uint64_t burst_mb;
	uint32_t nodes; /* of the attempt */
	char incarnation[16];
};

struct model {
	struct world *w;
	uint64_t random;
	struct model_node nodes[NODES];
	struct outgoing *queue;
	size_t n_queue, queue_size;
	uint64_t *jobs;
	uint32_t *specs; /* of each: which one it has, or a later one that never was committed */
	size_t n_jobs;
	unsigned long starts, suspended, parts, respecs, reclaimed;
	unsigned conf; /* of policies[] */
	bool lied;     /* an operator or fence program was wrong about a node */
	bool quiet;    /* no more faults */
};

/* A number below n, at random. */
unsigned model_pick(struct model *m, unsigned n);
/* What a run with so much of a GPU's memory may borrow. */
uint64_t model_burst(uint64_t mem_mb);

void node_gets(struct model *m, unsigned node, const struct outgoing *o);
void node_registers(struct model *m, unsigned node);
void node_loses_session(struct model *m, unsigned node);
void node_reboots(struct model *m, unsigned node);
/* Something happens to one of its runs. */
void node_goes_on(struct model *m, unsigned node);

#endif
