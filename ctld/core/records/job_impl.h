/* job_impl.h - the inside of jobs, for their files
 *
 *	job.c        states, rows, finding, movers
 *	job_tasks.c  records that stand for tasks of an array
 *	job_memory.c what they take of their users' accounts
 */
#ifndef CTLD_CORE_JOB_IMPL_H
#define CTLD_CORE_JOB_IMPL_H

#include "ctld/core/records/job.h"

/* Of a record that may stand for several tasks. */
struct tasks {
	struct taskset set;
	char *text; /* owned; NULL: it is to be written again */
};

struct job {
	struct mark mark;
	uint32_t charged; /* bytes, to its user's account */
	bool dropped; /* of no interest to history: it had no tasks left, or was never there */
	struct job_info info;
	struct job_link link;
	union {
		struct tasks *tasks; /* owned; NULL: no array */
		char text[8];        /* of a part that is one task, once it was asked for */
	} of;
};

static inline bool job_is_task(const struct job *job)
{
	return job->info.part && job->info.part < JOB_PART_RANGES;
}
/* NULL: one job, or one task. */
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
	struct idmap *map; /* by id, part 0 */
	size_t n_parts;    /* the others */
	size_t in_state[JOB_STATE_COUNT];
	struct table *counts; /* struct job_count, owned */
};

struct job *job_new_blank(void);
/* Its texts or tasks are others: its user is charged with what it takes now. */
void job_charge(struct jobs *jobs, struct job *job);
/* Into the table it belongs in. -1: it is there. */
int jobs_take_in(struct jobs *jobs, struct job *job);
/* Out of what finds and counts it. */
void jobs_take_out(struct jobs *jobs, struct job *job);
/* Around a change of what it is counted by: `in` false before it, true after it. */
/* Name, files, max_attempts and time of signature of an array's part become its array's. */
void job_follow_array(struct jobs *jobs, struct job *job);
void jobs_recount(struct jobs *jobs, struct job *job, bool in);

/* The job's texts, for those who do the same to each. */
#define JOB_TEXTS 15
const char **job_text(struct job_info *i, size_t n);

#endif
