/* job_budget.c - what jobs take of their users' accounts; see job_impl.h
 *
 * Texts are counted for each job that has them, also where they are kept once, and terms of
 * dependencies as depends_terms.h keeps them: so the sum is never below what the user holds, by
 * much.
 */
#include <string.h>

#include "ctld/core/records/job_impl.h"
#include "ctld/core/records/per_user_budget.h"

#define BESIDE     400 /* its nonce, its places in indexes and lists, its runs */
#define ROW_FIXED  440 /* of its row, besides texts */
#define TERM       16  /* a dependency, where it stands and where it hangs */
#define TERM_LARGE 112 /* one with a delay, several tasks, or task by task */

static size_t length(const char *text)
{
	return text ? strlen(text) + 1 : 1;
}

static size_t terms(const char *depends)
{
	size_t bytes = 0;

	for (const char *p = depends ? depends : ""; (p = strpbrk(p, ":+*[")); p++)
		bytes += *p == ':' ? TERM : TERM_LARGE;
	return bytes;
}

static size_t texts_of(const struct job_size *size)
{
	size_t bytes = length(size->labels) + length(size->depends) +
	               size->ranges * sizeof("4000000-4000000:");

	for (size_t i = 0; i < size->n_texts; i++)
		bytes += length(size->texts[i]);
	return bytes;
}

size_t job_memory(const struct job_size *size)
{
	return sizeof(struct job) + BESIDE + texts_of(size) + length(size->labels) +
	       terms(size->depends) + size->ranges * sizeof(struct task_range);
}

void job_charge(struct jobs *jobs, struct job *job)
{
	const struct array *a = job->link.array;
	const char *texts[JOB_TEXTS];
	struct job_size size = { .texts = texts,
		.labels = job->info.labels ? job->info.labels->text : NULL,
		.depends = job->info.depends };
	size_t bytes;

	for (size_t t = 0; t < JOB_TEXTS; t++)
		if (job_text(&job->info, t) != &job->info.depends)
			texts[size.n_texts++] = *job_text(&job->info, t);
	if (job_several(job))
		size.ranges += job_several(job)->set.n;
	if (a)
		size.ranges += a->all.n + a->gone.n;
	bytes = job_memory(&size);
	job->mark.bytes = (uint32_t)(ROW_FIXED + texts_of(&size));
	budget_add(jobs->budget, job->info.uid, BUDGET_MEMORY,
	        (int64_t)bytes - (int64_t)job->charged);
	job->charged = (uint32_t)bytes;
}
