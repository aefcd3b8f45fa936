/* measures.h - the measures of a simulation
 *
 * Levels (jobs that wait, resources in use) are updated by the world and integrated as time
 * passes. Everything here follows from the history alone, and no clock of this machine is used.
 *
 *	wait         from submission to the first start
 *	completion   from submission to the end
 *	estimate     the first start that was planned for a job, minus the start it got: below 0 it
 *	             was late
 *	slowdown     completion / max(work, 10 s), at least 1; work: the run time it needed
 *	allocation   GPU time booked, of capacity x time from the first submission to the last event
 *	utilisation  the same without what was lost because runs were stopped
 *	closeness    of runs with several GPUs of a node: NVLinks between each two, or else what
 *	             PCIe has between the two that are the farthest from each other
 */
#ifndef GSIM_MEASURES_H
#define GSIM_MEASURES_H

#include <stdint.h>
#include <stdio.h>

#include "common/base/error.h"
#include "common/gpu/gpu_topology.h"
#include "common/job/run.h"
#include "ctld/gsim/history/text_numbers.h"
#include "ctld/gsim/job_results.h"
#include "ctld/gsim/memory_bursts.h"
#include "ctld/gsim/percentiles.h"
#include "ctld/gsim/timeline.h"

#define SLOWDOWN_BOUND ((usec_t)10 * 1000000)
#define SLOWDOWN_UNIT  1000 /* slowdowns are kept in thousandths */

struct state_use {
	const char *state; /* "COMPLETED": the core's literal */
	uint64_t jobs, gpu_us;
};

/* Of an account by name, as the core gave it to the jobs. */
struct account_use {
	uint64_t jobs, gpu_us; /* ended; booked by its runs */
	double wait;           /* sum, us */
	uint64_t waits;
};

/* Runs that have ended and had several whole GPUs, by what is between the two that are the farthest
 * from each other. */
struct near_use {
	uint64_t runs, gpu_us;
};
#define MEASURES_NVLINK NEAR_LEVEL_COUNT /* behind the levels of PCIe */

struct refusal {
	int code; /* enum error_code */
	uint64_t jobs;
	char *text; /* the first's; owned */
};

#define MEASURES_STATES   16
#define MEASURES_REFUSALS 32

struct measures {
	/* levels */
	uint64_t capacity;   /* GPUs */
	uint64_t used_milli; /* thousandths of GPUs */
	uint64_t waiting, running;
	/* over time; times since the first submission */
	usec_t first; /* submission, as the history counts */
	usec_t now;
	double capacity_us, used_us, waiting_us, running_us, busy_capacity_us, busy_used_us;
	uint64_t most_waiting;
	struct timeline queue, use;
	FILE *series; /* NULL: none */
	usec_t series_step, series_next;
	FILE *each; /* a row for each job that has ended; NULL: none */
	struct results *results; /* of all jobs and runs; borrowed, NULL: none are kept */
	/* counts */
	uint64_t jobs, without_duration, skipped_shared, refused, started, ended;
	uint64_t stopped, preempted, requeued; /* attempts; preempted ones are among the stopped */
	uint64_t lost_us;                      /* GPU time */
	uint64_t late;                         /* started after their estimates */
	struct samples wait, completion, slowdown, estimate;
	struct state_use states[MEASURES_STATES];
	size_t n_states;
	struct refusal refusals[MEASURES_REFUSALS];
	size_t n_refusals;
	bool has_near; /* it is known of some node how close its GPUs are */
	struct near_use near[NEAR_LEVEL_COUNT + 1];
	struct memory_bursts memory_bursts;
	struct text_numbers *accounts;
	struct account_use *use_of; /* [account] */
	uint32_t n_use_of;
};

void measures_init(struct measures *m, uint64_t capacity);
void measures_clear(struct measures *m);

/* Samples of the levels, every `step` from 0, as rows of a CSV file; borrowed. */
void measures_series(struct measures *m, FILE *file, usec_t step);

/* A row for each job that has ended; borrowed. */
void measures_each(struct measures *m, FILE *file);

/* Time passes: the levels have been as they are since m->now. */
void measures_pass(struct measures *m, usec_t now);

void measures_refused(struct measures *m, const struct error *why);
void measures_started(struct measures *m, const char *account, usec_t wait);
void measures_estimated(struct measures *m, usec_t minus_actual);
void measures_run_ended(struct measures *m, const char *account, uint64_t gpu_us);

/* Of one that had several whole GPUs. */
void measures_near(struct measures *m, near_t near, uint64_t gpu_us);

/* `work`: the run time that it needed. */
struct measured_end {
	const char *name, *state, *account, *partition;
	usec_t arrival, start; /* the first */
	usec_t estimate;       /* of it, the first; -1: none */
	usec_t completion, work;
	uint64_t gpu_us; /* of all its runs */
	uint32_t gpus, attempts;
};
void measures_ended(struct measures *m, const struct measured_end *end);

#endif
