/* job_impl.h - the inside of jobs, for their files
 *
 *	job.c         states, lookups, movers
 *	job_rows.c    records as rows
 *	job_tasks.c   records that stand for tasks of an array
 *	job_budget.c  the memory that jobs charge to their users' accounts
 */
#ifndef CTLD_CORE_JOB_IMPL_H
#define CTLD_CORE_JOB_IMPL_H

#include "ctld/core/records/job.h"

/* Of a record that may stand for several tasks. */
struct tasks {
	struct taskset set;
	char *text; /* owned; NULL: it must be written anew */
};

struct job {
	struct mark mark;
	uint32_t charged; /* bytes, to its user's account */
	bool dropped; /* history needs no row of it: it had no tasks left, or never existed */
	struct job_info info;
	struct job_link link;
	union {
		struct tasks *tasks; /* owned; NULL: no array */
		char text[8];        /* of a part that is one task, once it was requested */
	} of;
};

static inline bool job_is_task(const struct job *job)
{
	return job->info.part && job->info.part < JOB_PART_RANGES;
}
/* NULL: the record is one job, or one task. */
static inline struct tasks *job_several(const struct job *job)
{
	return job_is_task(job) ? NULL : job->of.tasks;
}

struct jobs {
	struct strings *strings;
	struct requests *requests;
	struct label_sets *labels;
	struct nonces *nonces;
	struct dirty *dirty;
	struct budget *budget; /* the core's */
	struct idmap *map; /* by id, of part 0 */
	size_t n_parts;    /* number of the other records */
	size_t in_state[JOB_STATE_COUNT];
	struct table *counts; /* struct job_count, owned */
};

struct job *job_new_blank(void);
struct array *array_blank(void);
/* Its texts or tasks have changed: charge its user with its present size. */
void job_charge(struct jobs *jobs, struct job *job);
/* Put it into its table. -1: it is there already. */
int jobs_take_in(struct jobs *jobs, struct job *job);
/* Remove it from the tables and counts. */
void jobs_take_out(struct jobs *jobs, struct job *job);
/* A part of an array takes name, files, max_attempts and time of signature from its array. */
void job_follow_array(struct jobs *jobs, struct job *job);
/* Call it around a change of a field that jobs are counted by: `in` false before, true after. */
void jobs_recount(struct jobs *jobs, struct job *job, bool in);

/* The job's texts by number, for code that does the same to each. */
#define JOB_TEXTS 17
extern const uint16_t job_texts[JOB_TEXTS]; /* where they are in a job_info */
static inline const char **job_text(struct job_info *i, size_t n)
{
	return (const char **)(void *)((char *)i + job_texts[n]);
}

#endif
