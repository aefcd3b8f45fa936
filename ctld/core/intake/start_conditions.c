/* start_conditions.c - see start_conditions.h
 *
 * The conditions, set by its owner, that keep a job from being eligible. The first half checks and
 * fills in a request (conditions_take()); the second says of an accepted job which of the
 * conditions it still waits for (conditions_why()).
 */
#include "ctld/core/intake/start_conditions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/units.h"
#include "common/job/reason.h"
#include "ctld/core/depends/depends_check.h"
#include "ctld/core/depends/depends_open.h"
#include "ctld/core/depends/depends_why.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/rows/view.h"

/* A deadline must leave the whole time limit after the begin time. */
static int check_times(const struct core *core, const struct intake *t, struct error *err)
{
	const struct submit_job *in = t->in;
	usec_t now = core->now.wall, from = in->begin_time > now ? in->begin_time : now;
	char limit[UNITS_TEXT], left[UNITS_TEXT];

	if (in->begin_time < 0 || in->deadline < 0)
		return error_set(err, ERR_JOB_SPEC, "--begin, --deadline: a time before 1970");
	if (!in->deadline)
		return 0;
	if (in->deadline <= from)
		return error_set(err, ERR_JOB_SPEC, "--deadline: it is over before %s",
		        from > now ? "--begin" : "the job is submitted");
	if (t->info.time_limit_s && in->deadline - from < (usec_t)t->info.time_limit_s * USEC_PER_S)
		return error_set(err, ERR_JOB_SPEC,
		        "--deadline: the time limit is %s, and only %s are left",
		        duration_format(limit, t->info.time_limit_s),
		        duration_format(left, (uint64_t)((in->deadline - from) / USEC_PER_S)));
	return 0;
}

int conditions_take(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err)
{
	const struct submit_job *in = t->in;
	const struct job *job = t->updated ? jobs_find(core->jobs, t->updated->id) : NULL;
	const struct array *array = job ? job_link_of(job)->array : NULL;
	const struct taskset *tasks = array ? &array->all : NULL;

	if (check_times(core, t, err) < 0)
		return -1;
	if (in->kill_invalid > KILL_NO)
		return error_set(err, ERR_JOB_SPEC, "--kill-on-invalid-dep: no such choice");
	if (!job && t->tasks.count)
		tasks = &t->tasks;
	if (in->depends &&
	        depends_check(core, caller, job, tasks, in->depends, &t->depends, err) < 0)
		return -1;
	COPY_FIELDS(&t->info, in, begin_time, deadline, kill_invalid);
	t->info.depends = t->depends;
	return 0;
}

/* The time that is left, rounded up to seconds. */
static const char *say_begin(const struct core *core, usec_t begin, char *text, size_t size)
{
	char in[UNITS_TEXT];
	usec_t s = (begin - core->now.wall + USEC_PER_S - 1) / USEC_PER_S;

	snprintf(text, size, "starts in %s at the earliest", duration_format(in, (uint64_t)s));
	return reason_word(REASON_BEGIN_TIME);
}

bool conditions_hold(const struct core *core, const struct intake *t, struct why_blocker *b)
{
	*b = (struct why_blocker){ .reason = reason_word(REASON_DEPENDENCY) };
	if (t->depends && *t->depends) {
		snprintf(b->text, sizeof(b->text), "%.250s", t->depends);
		return true;
	}
	if (t->info.begin_time <= core->now.wall)
		return false;
	b->reason = say_begin(core, t->info.begin_time, b->text, sizeof(b->text));
	b->clears = t->info.begin_time;
	return true;
}

const char *conditions_why(const struct core *core, const struct job *job, char *text, size_t size)
{
	if (depends_open(job))
		return depends_why(core, job, text, size);
	if (job_info(job)->begin_time > core->now.wall && !job_link_of(job)->queued.class)
		return say_begin(core, job_info(job)->begin_time, text, size);
	return NULL;
}
