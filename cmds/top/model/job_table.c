/* job_table.c - see job_table.h */
#include "cmds/top/model/job_table.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

#define SIZE_MIN 64

static size_t home_of(const struct jobs *jobs, struct job_key key)
{
	uint64_t h = (key.id ^ ((uint64_t)key.part << 40) ^ key.part) * 0x9e3779b97f4a7c15ULL;

	return (size_t)(h >> 20) & (jobs->size - 1);
}

/* The slot that has it, or the empty one where it would be. */
static size_t slot_of(const struct jobs *jobs, struct job_key key)
{
	size_t i = home_of(jobs, key);

	while (jobs->slots[i] && !job_key_same(jobs->slots[i]->key, key))
		i = (i + 1) & (jobs->size - 1);
	return i;
}

struct top_job *jobs_find(const struct jobs *jobs, struct job_key key)
{
	return jobs->size ? jobs->slots[slot_of(jobs, key)] : NULL;
}

static void resize(struct jobs *jobs, size_t size)
{
	struct jobs old = *jobs;

	jobs->slots = xcalloc(size, sizeof(*jobs->slots));
	jobs->size = size;
	JOBS_EACH (&old, i, job)
		jobs->slots[slot_of(jobs, job->key)] = job;
	free(old.slots);
}

void jobs_put(struct jobs *jobs, struct top_job *job)
{
	size_t at;

	if (jobs->n * 2 >= jobs->size)
		resize(jobs, jobs->size ? jobs->size * 2 : SIZE_MIN);
	at = slot_of(jobs, job->key);
	if (jobs->slots[at])
		free(jobs->slots[at]);
	else
		jobs->n++;
	jobs->slots[at] = job;
}

/* A slot becomes empty: what stands behind it moves up unless it is at home there. */
static void close_gap(struct jobs *jobs, size_t gap)
{
	size_t mask = jobs->size - 1;

	for (size_t i = (gap + 1) & mask; jobs->slots[i]; i = (i + 1) & mask) {
		size_t home = home_of(jobs, jobs->slots[i]->key);

		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		jobs->slots[gap] = jobs->slots[i];
		jobs->slots[i] = NULL;
		gap = i;
	}
}

void jobs_remove(struct jobs *jobs, struct job_key key)
{
	size_t at;

	if (!jobs_find(jobs, key))
		return;
	at = slot_of(jobs, key);
	free(jobs->slots[at]);
	jobs->slots[at] = NULL;
	jobs->n--;
	close_gap(jobs, at);
}

void jobs_keep_round(struct jobs *jobs, unsigned round)
{
	struct jobs old = *jobs;

	*jobs = (struct jobs){ 0 };
	JOBS_EACH (&old, i, job) {
		if (job->round == round)
			jobs_put(jobs, job);
		else
			free(job);
	}
	free(old.slots);
}

void jobs_clear(struct jobs *jobs)
{
	JOBS_EACH (jobs, i, job)
		free(job);
	free(jobs->slots);
	*jobs = (struct jobs){ 0 };
}
