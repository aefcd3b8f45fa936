/* depends_world.h - one node of eight GPUs, and jobs of one user that wait for something
 *
 * Include behind cmocka.h.
 */
#ifndef TESTSUITE_UNIT_DEPENDS_WORLD_H
#define TESTSUITE_UNIT_DEPENDS_WORLD_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "testsuite/unit/lib/core_world.h"

#define OWNER  1000
#define OTHER  1001
#define MINUTE ((usec_t)60 * 1000000)

static inline uint64_t submit(struct world *w, struct submit_job *job)
{
	return world_submit_job(w, job, OWNER);
}

static inline uint64_t __attribute__((format(printf, 2, 3)))
submit_after(struct world *w, const char *depends, ...)
{
	struct submit_job job = world_job(w, "h100:1");
	char text[300];
	va_list ap;

	va_start(ap, depends);
	vsnprintf(text, sizeof(text), depends, ap);
	va_end(ap);
	job.depends = text;
	return submit(w, &job);
}

#define U(id) ((unsigned long long)(id))

static inline struct job_why why_of(struct world *w, uint64_t id)
{
	struct job_why why;

	assert_true(core_job_why(w->core, id, w->now, &why));
	return why;
}

static inline void is(struct world *w, uint64_t id, const char *state, const char *reason)
{
	if (strcmp(world_state(w, id), state) || strcmp(world_reason(w, id), reason))
		fail_msg("job %llu is %s (%s), not %s (%s)", U(id), world_state(w, id),
		        world_reason(w, id), state, reason);
}

static inline uint32_t update(
        struct world *w, uint64_t id, struct submit_job change, uint64_t fields)
{
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = world_user(OWNER),
		.job = { .verb = JOB_UPDATE,
		        .ids = &id,
		        .n = 1,
		        .change = &change,
		        .fields = fields } };

	w->error.code = 0;
	w->error.text[0] = '\0';
	world_apply(w, &e);
	world_schedule(w);
	return w->done;
}

static inline struct world *ready(void)
{
	struct world *w = world_simple(1, "h100:8");

	world_register_all(w);
	return w;
}

/* Time passes, and the node is heard of. */
static inline void pass(struct world *w, double seconds)
{
	for (double step; seconds > 0; seconds -= step) {
		struct core_event e = { .kind = EV_HEARTBEAT };

		step = seconds < 30 ? seconds : 30;
		world_pass(w, step);
		e.agent.session = world_session(w, 0);
		world_apply(w, &e);
	}
	world_schedule(w);
}

/* The job runs and ends: with a code, or < 0 cancelled. */
static inline void end(struct world *w, uint64_t id, int code)
{
	if (!strcmp(world_state(w, id), "CONFIGURING"))
		world_run_starts(w, id);
	if (code < 0) {
		struct run_report r = world_report(world_run(w, id), REPORT_ENDED);

		world_control(w, world_user(OWNER), JOB_CANCEL, id);
		r.cause = END_CANCEL;
		world_say(w, 0, r);
	} else {
		world_run_ends(w, id, (uint32_t)code);
	}
	world_schedule(w);
}

#endif
