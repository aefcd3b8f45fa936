/* job_table.h - all jobs that gtop knows, by key */
#ifndef CMDS_TOP_MODEL_JOB_TABLE_H
#define CMDS_TOP_MODEL_JOB_TABLE_H

#include <stddef.h>

#include "cmds/top/model/job.h"

/* Begins as { 0 }. An open hash table: a slot is NULL or a job. */
struct jobs {
	struct top_job **slots;
	size_t size, n; /* of slots, a power of two; of jobs */
};

struct top_job *jobs_find(const struct jobs *jobs, struct job_key key); /* NULL */
void jobs_put(struct jobs *jobs, struct top_job *job); /* takes it over; frees the one before */
void jobs_remove(struct jobs *jobs, struct job_key key);
/* Those that came in another round go. */
void jobs_keep_round(struct jobs *jobs, unsigned round);
void jobs_clear(struct jobs *jobs);

#define JOBS_EACH(jobs, i, job)                   \
	for (size_t i = 0; i < (jobs)->size; i++) \
		for (struct top_job *job = (jobs)->slots[i]; job; job = NULL)

#endif
