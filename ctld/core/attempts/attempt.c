/* attempt.c - an attempt at a job, on all its nodes
 *
 * An attempt has one run on each node; the runs are distinguished by rank. An attempt starts with
 * all its runs or not at all. When one of them ends badly (other than by itself with exit code 0),
 * the others are ordered to end with the cause PEER. When none is alive any more, one of them
 * decides what becomes of the job (deciding_rank.h).
 *
 * An orphan run does not count as alive for its attempt: it was given up.
 *
 * A job's runs of all attempts are one list, the latest attempt first and its ranks in order, so
 * that each attempt is a stretch of it. All functions here walk that list: their cost is the number
 * of the job's runs in memory.
 */
#include "ctld/core/attempts/attempt.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/hostlist.h"
#include "common/base/xalloc.h"
#include "common/job/run.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"

/* --- the runs of a job ----------------------------------------------------------------------- */

/* Attempts backwards, the ranks of each forwards. */
static bool stands_before(const struct run_id *x, const struct run_id *y)
{
	return x->attempt != y->attempt ? x->attempt > y->attempt : x->rank < y->rank;
}

void run_attach(struct job *job, struct run *run)
{
	struct run **at = &job_link(job)->runs;

	while (*at && stands_before(&run_info(*at)->id, &run_info(run)->id))
		at = &run_link(*at)->next_of_job;
	run_link(run)->next_of_job = *at;
	run_link(run)->job = job;
	node_runs_changed(run_link(run)->node);
	*at = run;
	attempt_checkpoint(job, run);
}

struct run *job_run(const struct job *job)
{
	struct run *run = job_link_of(job)->runs;

	/* A run of a higher attempt does not count: it was adopted. */
	while (run && run_info(run)->id.attempt > job_info(job)->attempt)
		run = run_link(run)->next_of_job;
	return run && run_info(run)->id.attempt == job_info(job)->attempt ? run : NULL;
}

struct run *run_next_rank(const struct run *run)
{
	struct run *next = run_link_of(run)->next_of_job;

	return next && run_info(next)->id.attempt == run_info(run)->id.attempt ? next : NULL;
}

/* The first known rank of the run's own attempt, which may be an older one. A run of no known job
 * stands for itself. */
static const struct run *run_first_rank(const struct run *run)
{
	const struct job *job = run_link_of(run)->job;
	const struct run *first = job ? job_link_of(job)->runs : run;

	while (run_info(first)->id.attempt != run_info(run)->id.attempt)
		first = run_link_of(first)->next_of_job;
	return first;
}

bool run_of_present(const struct run *run)
{
	const struct job *job = run_link_of(run)->job;

	return job && run_info(run)->id.attempt == job_info(job)->attempt;
}

const struct run *job_orphan(const struct job *job)
{
	const struct run *run = job_link_of(job)->runs;

	while (run && run_info(run)->state != RUN_ORPHAN)
		run = run_link_of(run)->next_of_job;
	return run;
}

/* --- counting attempts ----------------------------------------------------------------------- */

static bool launch_failed(const struct run *run)
{
	return end_is_launch(run_info(run)->end_cause);
}

/* The number of attempts in which this is true of at least one run. Attempts count from 1. */
static uint32_t count_attempts(const struct job *job, bool (*is)(const struct run *run))
{
	const struct run *run;
	uint32_t n = 0, counted = 0;

	for (run = job_link_of(job)->runs; run; run = run_link_of(run)->next_of_job) {
		if (run_info(run)->id.attempt == counted || !is(run))
			continue;
		counted = run_info(run)->id.attempt;
		n++;
	}
	return n;
}

uint32_t job_starts(const struct job *job)
{
	return count_attempts(job, run_started);
}

uint32_t job_launch_failures(const struct job *job)
{
	return count_attempts(job, launch_failed);
}

/* --- the present attempt --------------------------------------------------------------------- */

bool run_lives(const struct run *run)
{
	return !run_over(run) && run_info(run)->state != RUN_ORPHAN;
}

bool run_ended_well(const struct run *run)
{
	const struct run_info *i = run_info(run);

	return i->state == RUN_ENDED && i->end_cause <= END_EXIT && !run_past(run)->exit_code &&
	       !run_past(run)->exit_signal;
}

bool attempt_lives(const struct job *job)
{
	const struct run *run = job_run(job);

	while (run && !run_lives(run))
		run = run_next_rank(run);
	return run;
}

/* After a backup was restored, ranks become known one by one; each says how many there are. */
bool attempt_whole(const struct job *job)
{
	const struct run *run = job_run(job);
	uint32_t wanted = run ? run_info(run)->nodes : 0, n = 0;

	for (; run; run = run_next_rank(run))
		n++;
	return n >= wanted;
}

bool attempt_runs(const struct job *job)
{
	const struct run *run = job_run(job);

	while (run && (run_info(run)->state == RUN_RUNNING || run_ended_well(run)))
		run = run_next_rank(run);
	return !run && attempt_whole(job);
}

bool attempt_suspended(const struct job *job)
{
	const struct run *run = job_run(job);
	bool any = false;

	for (; run; run = run_next_rank(run)) {
		if (run_lives(run) && !run_past(run)->suspend_time)
			return false;
		any |= run_lives(run);
	}
	return any;
}

/* PEER and NODE_FAIL follow from something else that happened to the attempt: these orders are no
 * request to end it. */
bool attempt_asked(const struct job *job)
{
	const struct run *run = job_run(job);

	for (; run; run = run_next_rank(run)) {
		enum end_cause wanted = run_info(run)->end_wanted;

		if (wanted != END_NONE && wanted != END_PEER && wanted != END_NODE_FAIL)
			return true;
	}
	return false;
}

usec_t attempt_start_time(const struct job *job)
{
	const struct run *run = job_run(job);
	usec_t start = 0;

	for (; run; run = run_next_rank(run)) {
		usec_t t = run_info(run)->start_time;

		if (t && (!start || t < start))
			start = t;
	}
	return start;
}

usec_t attempt_end_time(const struct job *job)
{
	const struct run *run = job_run(job);
	usec_t end = 0;

	for (; run; run = run_next_rank(run)) {
		if (run_past(run)->end_time > end)
			end = run_past(run)->end_time;
	}
	return end;
}

usec_t attempt_checkpoint_time(const struct job *job)
{
	return job_link_of(job)->checkpoint;
}

void attempt_checkpoint(struct job *job, const struct run *run)
{
	usec_t at = run_past(run)->checkpoint_time;

	if (run_of_present(run) && at > job_link(job)->checkpoint)
		job_link(job)->checkpoint = at;
}

/* --- its nodes ------------------------------------------------------------------------------- */

/* The first known rank keeps the list of all. An attempt on one node needs none: its run names the
 * node. */
void attempt_name_nodes(struct core *core, struct job *job)
{
	struct run *first = job_run(job), *run;
	const char **names;
	size_t n = 0;
	char *text;

	for (run = first; run; run = run_next_rank(run))
		n++;
	if (n < 2)
		return;
	names = xcalloc(n, sizeof(*names));
	n = 0;
	for (run = first; run; run = run_next_rank(run)) {
		run_set_nodes(core->runs, run, NULL);
		names[n++] = run_info(run)->node;
	}
	text = hostlist_compress(names, n);
	run_set_nodes(core->runs, first, text);
	free(text);
	free(names);
}

const char *attempt_nodes(const struct run *run)
{
	const char *text = run_nodes(run_first_rank(run));

	return text ? text : run_info(run)->node;
}
