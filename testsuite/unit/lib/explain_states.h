/* explain_states.h - random clusters in the middle of their work, made again from a number
 *
 * Up to 8 nodes with features, in each third state with shared GPUs, accounts with limits and
 * guarantees, QOS, partitions, licences; jobs that run and jobs that wait. The same seed makes the
 * same state again, so that each question can be asked of a fresh copy; with other limits
 * (state_raise) before it is asked.
 */
#ifndef TESTSUITE_UNIT_EXPLAIN_STATES_H
#define TESTSUITE_UNIT_EXPLAIN_STATES_H

#include "testsuite/unit/lib/core_world.h"

#define STATE_NODES 8
#define STATE_KNOBS 48
#define STATE_JOBS  40

/* One number of the configuration. */
struct knob {
	const char *scope; /* "accounts", "qos", "partitions", "licences" */
	unsigned index;    /* in there */
	const char *part;  /* "limits", "per_user", "quota"; licences: "" */
	const char *key;   /* "gpus", "cpus", "running"; quota: "guaranteed" */
	const char *type;  /* GPU type of "gpus" and "guaranteed"; else "" */
	uint32_t value;
};

struct state {
	uint64_t seed, random;
	struct world *w;
	unsigned n_nodes, n_accounts, n_qos, n_partitions, n_licences;
	struct knob knobs[STATE_KNOBS];
	size_t n_knobs;
	bool quotas;               /* some account has a guarantee */
	bool shares;               /* some nodes share GPUs, and jobs ask for parts */
	uint64_t jobs[STATE_JOBS]; /* that were taken, in the order of their submits */
	uint32_t uids[STATE_JOBS];
	size_t n_jobs;
	char *text; /* of the configuration */
};

/* Scheduled until nothing is to be done. */
void state_make(struct state *s, uint64_t seed);
void state_free(struct state *s);

/* The knob that the text of a blocker names; NULL: none. */
struct knob *state_knob(struct state *s, const char *text);
/* Reconfigure with the knobs as they are now. */
void state_reconfigure(struct state *s);

/* Time goes on, and all nodes are heard of. */
void state_pass(struct state *s, unsigned seconds);
/* What was to start runs; what has reached its time limit ends. */
void state_go_on(struct state *s);
/* The job ends, on all of its nodes; nothing is scheduled yet. */
void state_end(struct state *s, uint64_t job);
uint32_t state_uid(const struct state *s, uint64_t job);

#endif
