/* workload.h - what the clients of the fault simulation submit
 *
 * One submit is one job, an array, or a bulk of different jobs. What each of them asks for is
 * chosen by the engine's chance: GPUs, gangs, time limits, other jobs to wait for, a time before or
 * until which, exit codes to come back from. A submit is made once and repeated, as its owner
 * signed it, until it is answered; then the checker is told what it is to expect of each job.
 */
#ifndef TESTSUITE_SIM_WORKLOAD_H
#define TESTSUITE_SIM_WORKLOAD_H

#include "common/gpusched.pb-c.h"
#include "common/net/munge.h"
#include "common/net/signedjob.h"
#include "testsuite/sim/checker.h"
#include "testsuite/sim/engine.h"

/* A client's mix; ppm of its submits or (where it says so) of their jobs. */
struct workload_mix {
	unsigned max_gpus;  /* of one job on one node */
	unsigned max_nodes; /* of a gang */
	unsigned gang_ppm;  /* jobs on several nodes */
	unsigned array_ppm; /* are arrays */
	unsigned bulk_ppm;  /* are bulks */
	unsigned wait_ppm;  /* jobs that wait for others, or for a time */
	unsigned again_ppm; /* jobs that come back from some exit codes */
	unsigned limit_ppm; /* jobs with a short time limit */
	unsigned part_ppm;  /* jobs with GPUs want parts of them */
	const char *type;   /* of GPUs, that some want; NULL: none is named */
	bool wordy;         /* its texts are as long as they may be */
	bool clocks_jump;   /* what is asked by the clock cannot be judged by it */
};

#define WORK_TASKS 8  /* of an array */
#define WORK_BULK  12 /* jobs of a bulk */

struct work_fact {
	const char *kind;
	char rest[120];
};

/* One job, as the checker and its client have to know it. */
struct work_job {
	unsigned token;
	uint32_t tasks;             /* 1: no array */
	char array[48];             /* of those */
	bool stays;                 /* may wait for ever */
	bool late;                  /* may be refused: its deadline is over */
	struct work_fact facts[40]; /* three ranges of WORK_TASKS, and the others */
	size_t n_facts;
};

struct work {
	Gpusched__Submit *submit; /* owned, with all that it points to */
	struct arena *arena;
	struct work_job jobs[WORK_BULK];
	size_t n;
	bool bulk;
	bool may_fail, must_fail; /* be refused, all of it */
};

/* Who submits. */
struct work_owner {
	const char *cluster;
	uint32_t uid;
	const struct mcred_ops *mcred;
};

/* A known job that others may wait for. */
struct work_known {
	uint64_t id;
	uint32_t tasks;
	char array[48]; /* of those; "": none */
	bool stays;
	struct signedjob_hash hash; /* of what its owner signed */
};

/* The next one, of at most `room` jobs and tasks, its tokens from `token` on. `known` are jobs that
 * it may wait for. */
struct work *work_new(struct engine *e, const struct workload_mix *mix,
        const struct work_owner *owner, unsigned token, unsigned room,
        const struct work_known *known, size_t n_known);
void work_free(struct work *w); /* NULL is fine */

/* Signed anew, the same bytes: it took too long. */
void work_sign(struct work *w, const struct work_owner *owner);

/* A credential for such jobs, freed by the caller. */
char *work_signature(const struct work_owner *owner, const struct signedjob_hash *hashes, size_t n);
/* What is signed of its i-th job. */
struct signedjob_hash work_hash(const struct work *w, size_t i);

/* Its i-th job got this id. */
void work_tell(const struct work *w, size_t i, uint64_t id, uint32_t uid, struct checker *checker);

#endif
