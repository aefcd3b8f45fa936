/* history_jobs.h - the jobs of a history in memory, as demand looks at them
 *
 * Levels of GPUs are counted in thousandths, so that parts of GPUs add up. Times are since the
 * first submission of the history. What the history does not know of a job is said beside each
 * field; that it does not know it of any is in `has`.
 */
#ifndef GDEMAND_HISTORY_JOBS_H
#define GDEMAND_HISTORY_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/conf/conf.h"
#include "ctld/gsim/history/history.h"
#include "ctld/gsim/history/text_numbers.h"

#define PAST_UNKNOWN (-1) /* a time */

enum job_kind { KIND_BATCH, KIND_INTERACTIVE, KIND_SERVICE, KINDS };
extern const char *const job_kind_names[KINDS];

struct past_job {
	usec_t submit, eligible; /* eligible: submit where the history does not say more */
	usec_t start;            /* the first; PAST_UNKNOWN: it never started, or the history has
				  * none */
	usec_t left;             /* it was cancelled while it waited; PAST_UNKNOWN: it was not */
	usec_t duration;         /* of its work; PAST_UNKNOWN */
	usec_t cold_start;       /* of a replica; 0 */
	usec_t time_limit;       /* 0: none */
	/* names */
	uint32_t user, account, partition, qos, type, model;
	uint32_t asked; /* types that it asked for: "h100|l40s" */
	enum job_kind kind;
	uint32_t gpus, nodes, cpus, gpu_milli;
	uint64_t mem_mb, gpu_mem_mb, gpu_mem_burst_mb;
	int64_t milli;  /* of GPUs, all together */
	usec_t target;  /* it should start within; 0: not stated */
	bool declared;  /* `target` is the job's own, or its QOS's */
	bool held;      /* a user's hold was on it at its end */
	uint32_t block; /* of time, by `eligible` */
	double gpu_us, seen_us, busy_us, idle_us, mem_mbs, cost; /* 0: not known */
	uint64_t id;
	uint32_t part;
};

/* What was wrong with the history, and passed over. */
struct past_flaws {
	uint64_t bad_rows, repeated;
	uint64_t clock_steps; /* started before it was submitted */
	uint64_t endless;     /* no duration is known */
	uint64_t never_ran;   /* cancelled, or refused, before it started */
	uint64_t no_gpus;     /* jobs of CPUs alone: nothing of them is counted */
};

enum block_length { BLOCKS_NONE, BLOCKS_HOURS, BLOCKS_DAYS, BLOCKS_WEEKS };

struct past {
	struct past_job *v; /* by `eligible` */
	size_t n, size;
	struct text_numbers *names;
	usec_t origin;   /* of the first submission, in the history's time */
	bool dated;      /* that time is a date: us UTC */
	usec_t from, to; /* the time that is examined */
	enum block_length block_length;
	uint32_t blocks;
	struct past_flaws flaws;
	struct {
		bool starts;   /* when jobs started; `simulated`: as gsim has them */
		bool eligible; /* since when only room and limits kept them */
		bool memory;   /* GPU memory over time */
		bool use;      /* compute use */
		bool cost, states, labels;
	} has;
	bool simulated;
};

struct past_options {
	const char *const *files;
	size_t n_files;
	struct history_options history;
	const char *interactive; /* partitions and QOS whose jobs are, "a,b" */
	usec_t max_wait;         /* of jobs that name none */
	usec_t from, until;      /* look at this time only; until 0: to the end */
	const struct conf *conf; /* may be NULL; its QOS say how long jobs may wait */
	void (*progress)(void *arg, uint64_t jobs);
	void *progress_arg;
};

/* -1: the history cannot be used; `err` says why. */
int past_read(struct past *p, const struct past_options *o, struct error *err);
void past_clear(struct past *p);

/* Is the job examined? It has GPUs and became eligible within from and to. */
static inline bool past_counts(const struct past *p, const struct past_job *j)
{
	return j->milli > 0 && j->eligible >= p->from && j->eligible <= p->to;
}

/* The time from when it could start until it started or was cancelled; PAST_UNKNOWN. */
static inline usec_t past_wait(const struct past_job *j)
{
	if (j->start != PAST_UNKNOWN)
		return j->start - j->eligible;
	return j->left != PAST_UNKNOWN ? j->left - j->eligible : PAST_UNKNOWN;
}

usec_t past_block_span(enum block_length length);
uint32_t past_block_at(const struct past *p, usec_t at); /* of a time within from and to */

/* The same jobs as a history for gsim: names are indices, submissions are `eligible`. The options'
 * arg is a struct past_replay. */
struct past_replay {
	const struct past *past;
	bool one_partition; /* all jobs go to the default partition */
};
extern const struct history_reader past_reader;

/* The kind of a file by its first bytes; standard input is CSV. NULL with `err`. */
const struct history_reader *past_format(const char *path, struct error *err);

#endif
