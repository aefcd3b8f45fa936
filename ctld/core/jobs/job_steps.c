/* job_steps.c - see job_steps.h
 *
 * A job's running steps are one array in the order of their numbers: found by binary search, and
 * with at most STEPS_RUNNING_MAX pointers to move when one comes or goes. A report of a step that
 * is known replaces it, so a manager may repeat what it is not sure of.
 */
#include "ctld/core/jobs/job_steps.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/bisect.h"
#include "common/base/xalloc.h"
#include "ctld/core/accounts/roles.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/core/rows/dirty.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/rows/kept_rows.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/rows/state.h"

/* One that runs. The texts lie behind it. */
struct step {
	struct step_report report;
	size_t bytes; /* charged to the job's user */
	char texts[];
};

struct job_steps {
	struct step **v; /* by number */
	uint32_t n, size;
	uint8_t *ended; /* of this attempt, a bit for each number; charged to the job's user */
	uint32_t ended_bytes;
};

#define STEP_BESIDE 32 /* its place in the list, and what malloc adds */

static size_t step_bytes(const struct step_report *r)
{
	return sizeof(struct step) + strlen(r->name) + strlen(r->nodelist) + 2 + STEP_BESIDE;
}

/* One allocation: the texts follow the struct. */
static struct step *step_new(const struct step_report *r)
{
	size_t name = strlen(r->name) + 1, nodelist = strlen(r->nodelist) + 1;
	struct step *step = xcalloc(1, sizeof(*step) + name + nodelist);

	step->report = *r;
	step->bytes = step_bytes(r);
	step->report.name = memcpy(step->texts, r->name, name);
	step->report.nodelist = memcpy(step->texts + name, r->nodelist, nodelist);
	return step;
}

/* Where the step with that number is, or would be. */
static uint32_t seek(const struct job_steps *steps, int64_t number)
{
	uint32_t at;

	BISECT(at, steps ? steps->n : 0, steps->v[at]->report.step < number);
	return at;
}

static struct step *find(const struct job_steps *steps, uint32_t number)
{
	uint32_t at = seek(steps, number);

	return steps && at < steps->n && steps->v[at]->report.step == number ? steps->v[at] : NULL;
}

uint32_t job_steps_count(const struct job *job)
{
	const struct job_steps *steps = job_link_of(job)->steps;

	return steps ? steps->n : 0;
}

const struct step_report *job_step_next(const struct job *job, int64_t after)
{
	const struct job_steps *steps = job_link_of(job)->steps;
	uint32_t at = seek(steps, after + 1);

	return steps && at < steps->n ? &steps->v[at]->report : NULL;
}

/* --- those that run -------------------------------------------------------------------------- */

static void charge(struct core *core, const struct job *job, int64_t bytes)
{
	budget_add(core->budget, job_info(job)->uid, BUDGET_MEMORY, bytes);
}

static void step_free(struct core *core, const struct job *job, struct step *step)
{
	charge(core, job, -(int64_t)step->bytes);
	free(step);
}

static struct job_steps *steps_of(struct job *job)
{
	if (!job_link(job)->steps)
		job_link(job)->steps = xcalloc(1, sizeof(*job_link(job)->steps));
	return job_link(job)->steps;
}

static void add(struct core *core, struct job *job, const struct step_report *r)
{
	struct job_steps *steps = steps_of(job);
	uint32_t at = seek(steps, r->step);

	if (steps->n == steps->size) {
		steps->size = steps->size ? steps->size * 2 : 4;
		steps->v = xrealloc(steps->v, steps->size, sizeof(struct step *));
	}
	memmove(&steps->v[at + 1], &steps->v[at], (steps->n++ - at) * sizeof(struct step *));
	steps->v[at] = step_new(r);
	charge(core, job, (int64_t)steps->v[at]->bytes);
}

static void drop(struct core *core, struct job *job, uint32_t number)
{
	struct job_steps *steps = job_link(job)->steps;
	uint32_t at = seek(steps, number);

	if (!find(steps, number))
		return;
	step_free(core, job, steps->v[at]);
	memmove(&steps->v[at], &steps->v[at + 1], (--steps->n - at) * sizeof(struct step *));
	if (!steps->n) {
		free(steps->v);
		steps->v = NULL;
		steps->size = 0;
	}
}

void job_steps_forget(struct core *core, struct job *job)
{
	struct job_steps *steps = job_link(job)->steps;

	if (!steps)
		return;
	while (steps->n)
		step_free(core, job, steps->v[--steps->n]);
	charge(core, job, -(int64_t)steps->ended_bytes);
	free(steps->ended);
	free(steps->v);
	free(steps);
	job_link(job)->steps = NULL;
}

/* --- those that have ended ------------------------------------------------------------------- */

static bool has_ended(const struct job *job, uint32_t number)
{
	const struct job_steps *steps = job_link_of(job)->steps;

	return steps && number / 8 < steps->ended_bytes &&
	       steps->ended[number / 8] >> number % 8 & 1;
}

static void note_end(struct core *core, struct job *job, uint32_t number)
{
	struct job_steps *steps = steps_of(job);
	uint32_t was = steps->ended_bytes, need = number / 8 + 1;

	if (need > was) {
		if (need < 2 * was)
			need = 2 * was;
		steps->ended = xrealloc(steps->ended, need, 1);
		memset(steps->ended + was, 0, need - was);
		steps->ended_bytes = need;
		charge(core, job, need - was);
	}
	steps->ended[number / 8] |= (uint8_t)(1 << number % 8);
}

static enum job_state end_state(const struct step_report *r)
{
	if (r->cancelled)
		return JOB_CANCELLED;
	if (r->timeout)
		return JOB_TIMEOUT;
	return r->exit_code || r->exit_signal ? JOB_FAILED : JOB_COMPLETED;
}

/* Times are the node's: an end in the future counts as now, and an end before the start as the
 * start. */
static void put_row(
        struct core *core, const struct job *job, uint32_t attempt, const struct step_report *r)
{
	usec_t end = r->end_time > core->now.wall ? core->now.wall : r->end_time;
	struct row row;

	row_begin(&row, TABLE_STEP, ROW_PUT);
	row.v[COL_STEP_job] = value_int((int64_t)job_id(job));
	row.v[COL_STEP_task] = value_int(job_task(job));
	row.v[COL_STEP_attempt] = value_int(attempt);
	row.v[COL_STEP_step] = value_int(r->step);
	row.v[COL_STEP_name] = value_text(r->name);
	row.v[COL_STEP_state] = value_text(job_state_name(end_state(r)));
	row.v[COL_STEP_nodelist] = value_text(r->nodelist);
	row.v[COL_STEP_nodes] = value_int(r->nodes);
	row.v[COL_STEP_tasks] = value_int(r->tasks);
	row.v[COL_STEP_cpus] = value_int(r->cpus);
	row.v[COL_STEP_gpus] = value_int(r->gpus);
	row.v[COL_STEP_start_time] = value_int(r->start_time);
	row.v[COL_STEP_end_time] = value_int(end < r->start_time ? r->start_time : end);
	row.v[COL_STEP_exit_code] = value_int(r->exit_code);
	row.v[COL_STEP_exit_signal] = value_int(r->exit_signal);
	row.v[COL_STEP_cpu_time_us] = value_int((int64_t)r->cpu_time_us);
	row.v[COL_STEP_max_rss_kb] = value_int((int64_t)r->max_rss_kb);
	kept_rows_add(core->kept_rows, &row);
	dirty_touch(core->dirty);
}

void job_steps_end(struct core *core, struct job *job)
{
	const struct job_steps *steps = job_link(job)->steps;
	usec_t end = job_info(job)->end_time ? job_info(job)->end_time : core->now.wall;

	for (uint32_t i = 0; steps && i < steps->n; i++) {
		struct step_report last = steps->v[i]->report;

		last.end_time = end;
		last.cancelled = true;
		put_row(core, job, job_info(job)->attempt, &last);
	}
	job_steps_forget(core, job);
}

/* --- reports --------------------------------------------------------------------------------- */

/* Beyond the limits a step is refused here and runs all the same: it is only not listed. */
static int take_running(
        struct core *core, struct job *job, const struct step_report *r, struct error *err)
{
	unsigned long long id = job_id(job);

	if (!attempt_lives(job))
		return error_set(err, ERR_JOB_STATE, "job %llu does not run", id);
	if (has_ended(job, r->step))
		return 0; /* said before its end, and late */
	if (!find(job_link(job)->steps, r->step) && job_steps_count(job) >= STEPS_RUNNING_MAX)
		return error_set(err, ERR_LIMIT_STEPS,
		        "%u steps of job %llu run; more are not listed", STEPS_RUNNING_MAX, id);
	if (budget_check(core->budget, job_info(job)->uid, BUDGET_MEMORY, step_bytes(r), err) < 0)
		return -1;
	drop(core, job, r->step);
	add(core, job, r);
	return 0;
}

static int take(struct core *core, struct job *job, const struct step_report *r, struct error *err)
{
	uint32_t max = core->conf->controller.max_steps;

	if (r->step >= max)
		return error_set(err, ERR_LIMIT_STEPS,
		        "step %llu.%u: controller.max_steps is %u; further steps are not listed",
		        (unsigned long long)job_id(job), r->step, max);
	if (!r->end_time)
		return take_running(core, job, r, err);
	drop(core, job, r->step);
	if (attempt_lives(job))
		note_end(core, job, r->step);
	put_row(core, job, job_info(job)->attempt, r);
	return 0;
}

/* The job, if the caller may report its steps. NULL with `err`. */
static struct job *find_job(struct core *core, const struct core_event *e, struct error *err)
{
	struct run_id run = { .job = e->steps.job, .task = e->steps.task };
	unsigned long long id = e->steps.job;
	struct job *job = jobs_of_run(core->jobs, run);
	unsigned as = job ? job_standing(core, &e->caller, job) : 0;

	if (!job || !core_sees(core, as)) {
		error_set(err, ERR_NO_JOB, "no job %llu", id);
		return NULL;
	}
	if (!verb_permits(VERB_JOB_STEPS, as)) {
		verb_refuse(VERB_JOB_STEPS, err);
		error_wrap(err, "job %llu", id);
		return NULL;
	}
	if (!e->steps.attempt || job_info(job)->attempt != e->steps.attempt) {
		error_set(err, ERR_JOB_STATE, "job %llu: attempt %u is not its present one", id,
		        e->steps.attempt);
		return NULL;
	}
	return job;
}

void step_reports_apply(struct core *core, const struct core_event *e)
{
	struct error err = { .code = ERR_NONE }, one;
	struct job *job = find_job(core, e, &err);

	for (size_t i = 0; job && i < e->steps.n; i++) {
		if (take(core, job, &e->steps.v[i], &one) < 0 && err.code == ERR_NONE)
			err = one;
	}
	effects_reply(core->effects, e->caller.reply, &err);
}
