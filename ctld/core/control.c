/* control.c - EV_JOB_CONTROL, EV_WAIT_JOB: what owners and administrators do to jobs
 *
 * Each job is done or refused for itself. Whoever did it, from where and why is in the audit trail
 * and in the job's comment.
 */
#include <stdio.h>
#include <string.h>

#include "ctld/core/internal.h"

#define MAX_ERRORS 1000

struct control {
	struct core *core;
	const struct core_event *event;
	struct job *job;
	char what[200]; /* of an update: what was changed */
};

static int wrong_state(const struct job *job, const char *verb, struct error *err)
{
	return error_set(err, ERR_JOB_STATE, "job %llu cannot be %s: it is %s",
	        (unsigned long long)job_id(job), verb, job_state_name(job_info(job)->state));
}

/* "cancelled by ana from login1: reason" as comment and audit text. */
static void remember(struct control *c, const char *done)
{
	const struct caller *by = &c->event->caller;
	const char *reason = c->event->job.reason ? c->event->job.reason : "";
	char text[400];

	snprintf(text, sizeof(text), "%s by %.64s from %.64s%s%.200s", done, by->user, by->host,
	        *reason ? ": " : "", reason);
	job_set_comment(c->core->jobs, c->job, text);
}

/* Attempts that should not be there any more, and are. Returns how many were told to end. */
static unsigned end_strays(struct control *c)
{
	struct run *run = job_link(c->job)->runs;
	unsigned n = 0;

	for (; run; run = run_link(run)->next_of_job) {
		if (run_info(run)->state != RUN_STRAY)
			continue;
		run_set_end_wanted(c->core->runs, run, END_CANCEL);
		end_run_order(c->core, run, &(struct stop){ .by_user = c->event->caller.user });
		n++;
	}
	return n;
}

static int cancel(struct control *c, struct error *err)
{
	struct job *job = c->job;
	enum job_state state = job_info(job)->state;
	unsigned strays = end_strays(c);

	if (job_state_ended(state))
		return strays ? 0 : wrong_state(job, "cancelled", err);
	remember(c, "cancelled");
	if (state == JOB_PENDING)
		job_cancel_pending(c->core, job);
	else
		job_stop(c->core, job,
		        &(struct stop){ .cause = END_CANCEL, .by_user = c->event->caller.user });
	return 0;
}

static int hold(struct control *c, struct error *err)
{
	const struct job_info *i = job_info(c->job);
	enum job_hold want = c->event->caller.admin ? HOLD_ADMIN : HOLD_USER;

	if (i->state != JOB_PENDING)
		return wrong_state(c->job, "held", err);
	if (i->hold == want || i->hold == HOLD_ADMIN)
		return 0;
	remember(c, "held");
	job_set_hold(c->core->jobs, c->job, want);
	job_consider(c->core, c->job);
	return 0;
}

static int release(struct control *c, struct error *err)
{
	const struct job_info *i = job_info(c->job);

	if (i->state != JOB_PENDING)
		return wrong_state(c->job, "released", err);
	if (i->hold == HOLD_NONE)
		return 0;
	if (i->hold == HOLD_ADMIN && !c->event->caller.admin)
		return error_set(err, ERR_NOT_PERMITTED,
		        "job %llu is held by an administrator, who must release it",
		        (unsigned long long)i->id);
	remember(c, "released");
	job_set_hold(c->core->jobs, c->job, HOLD_NONE);
	job_consider(c->core, c->job);
	return 0;
}

/* To all of its runs that live, or to none. */
static int send_signal(struct control *c, struct error *err)
{
	const struct job_info *i = job_info(c->job);
	const struct run *run;

	if (i->state != JOB_RUNNING && i->state != JOB_COMPLETING)
		return wrong_state(c->job, "signalled", err);
	for (run = job_run(c->job); run; run = run_next_rank(run)) {
		if (run_lives(run) && !node_link_of(run_link_of(run)->node)->session)
			return error_set(err, ERR_NODE_STATE,
			        "job %llu: its node %s is not connected", (unsigned long long)i->id,
			        run_info(run)->node);
	}
	for (run = job_run(c->job); run; run = run_next_rank(run)) {
		const struct node *node = run_link_of(run)->node;
		struct effect *e;

		if (!run_lives(run))
			continue;
		e = effects_add(c->core->effects, EFFECT_SIGNAL_RUN);
		e->node = node_link_of(node)->index;
		e->session = node_link_of(node)->session;
		e->run.run = run_info(run)->id;
		e->run.signal = c->event->job.signal;
		e->run.script_only = c->event->job.script_only;
	}
	return 0;
}

/* Is any of its runs to be suspended? Then it is, or will be. */
static bool is_held(const struct job *job)
{
	const struct run *run = job_run(job);

	while (run && !(run_lives(run) && run_info(run)->suspend_wanted))
		run = run_next_rank(run);
	return run;
}

static int suspend_job(struct control *c, struct error *err)
{
	enum job_state state = job_info(c->job)->state;

	if (state != JOB_RUNNING && state != JOB_SUSPENDED)
		return wrong_state(c->job, "suspended", err);
	if (!is_held(c->job))
		remember(c, "suspended");
	job_suspend(c->core, c->job, true);
	return 0;
}

static int resume_job(struct control *c, struct error *err)
{
	enum job_state state = job_info(c->job)->state;

	if (state != JOB_SUSPENDED && !(state == JOB_RUNNING && is_held(c->job)))
		return wrong_state(c->job, "resumed", err);
	if (is_held(c->job))
		remember(c, "resumed");
	job_suspend(c->core, c->job, false);
	return 0;
}

static int requeue(struct control *c, struct error *err)
{
	const struct job_info *i = job_info(c->job);
	uint32_t starts = job_starts(c->job);

	if (i->state != JOB_RUNNING && i->state != JOB_SUSPENDED && i->state != JOB_CONFIGURING)
		return wrong_state(c->job, "requeued", err);
	if (starts >= i->max_attempts)
		return error_set(err, ERR_JOB_STATE,
		        "job %llu cannot be requeued: it has been started %u times of %u that its "
		        "owner signed",
		        (unsigned long long)i->id, starts, i->max_attempts);
	remember(c, "requeued");
	job_stop(c->core, c->job,
	        &(struct stop){
	                .cause = END_CANCEL, .by_user = c->event->caller.user, .requeue = true });
	return 0;
}

static int update(struct control *c, struct error *err)
{
	char done[240];

	if (job_state_ended((enum job_state)job_info(c->job)->state))
		return wrong_state(c->job, "updated", err);
	if (job_update(c->core, c->job, c->event, c->what, sizeof(c->what), err) < 0)
		return error_wrap(err, "job %llu", (unsigned long long)job_id(c->job));
	snprintf(done, sizeof(done), "updated (%s)", c->what);
	if (!job_info(c->job)->hold) /* else its comment says who holds it and why */
		remember(c, done);
	return 0;
}

static const struct {
	const char *kind; /* in the audit trail */
	int (*apply)(struct control *c, struct error *err);
} verbs[] = {
	[JOB_CANCEL] = { "job.cancel", cancel },
	[JOB_HOLD] = { "job.hold", hold },
	[JOB_RELEASE] = { "job.release", release },
	[JOB_SIGNAL] = { "job.signal", send_signal },
	[JOB_REQUEUE] = { "job.requeue", requeue },
	[JOB_SUSPEND] = { "job.suspend", suspend_job },
	[JOB_RESUME] = { "job.resume", resume_job },
	[JOB_UPDATE] = { "job.update", update },
};

static int control_one(struct control *c, uint64_t id, struct error *err)
{
	const struct caller *by = &c->event->caller;
	const char *reason = c->event->job.reason ? c->event->job.reason : "";
	char text[512];

	c->what[0] = '\0';
	c->job = jobs_find(c->core->jobs, id);
	if (!c->job)
		return error_set(err, ERR_NO_JOB, "there is no job %llu", (unsigned long long)id);
	if (!by->admin && by->uid != job_info(c->job)->uid)
		return error_set(err, ERR_NOT_PERMITTED, "job %llu belongs to %.64s, not to %.64s",
		        (unsigned long long)id, job_info(c->job)->user, by->user);
	if (verbs[c->event->job.verb].apply(c, err) < 0)
		return -1;
	snprintf(
	        text, sizeof(text), "%s%s%.300s", c->what, *c->what && *reason ? ": " : "", reason);
	audit_note(c->core, verbs[c->event->job.verb].kind, by, id, "", text);
	effects_add(c->core->effects, EFFECT_JOB_CHANGED)->job = id;
	return 0;
}

void job_control_apply(struct core *core, const struct core_event *e)
{
	struct control c = { .core = core, .event = e };
	size_t max = e->job.n < MAX_ERRORS ? e->job.n : MAX_ERRORS, n = 0, i;
	struct job_error *errors;
	struct error err = { 0 };
	struct effect *fx;
	uint32_t done = 0;

	if (core->suspended)
		error_set(&err, ERR_EPOCH, "%s", core->suspended);
	else if (e->job.verb < JOB_CANCEL || e->job.verb > JOB_UPDATE)
		error_set(&err, ERR_USAGE, "unknown verb %d", (int)e->job.verb);
	else if (e->job.verb == JOB_SIGNAL && (e->job.signal < 1 || e->job.signal > 64))
		error_set(&err, ERR_USAGE, "signal %u: want 1 to 64", e->job.signal);
	if (err.code) {
		effects_reply(core->effects, e->caller.reply, &err);
		return;
	}
	errors = effects_alloc(core->effects, max * sizeof(*errors));
	for (i = 0; i < e->job.n; i++) {
		if (control_one(&c, e->job.ids[i], &err) == 0) {
			done++;
		} else if (n < max) {
			errors[n].job = e->job.ids[i];
			errors[n++].error = err;
		}
	}
	fx = effects_add(core->effects, EFFECT_CONTROLLED);
	fx->reply = e->caller.reply;
	fx->controlled.done = done;
	fx->controlled.errors = errors;
	fx->controlled.n = n;
}

void wait_apply(struct core *core, const struct core_event *e)
{
	struct job *job = jobs_find(core->jobs, e->wait);
	struct error err = { 0 };
	struct effect *fx;

	if (!job) {
		error_set(&err, ERR_NO_JOB, "there is no job %llu", (unsigned long long)e->wait);
		effects_reply(core->effects, e->caller.reply, &err);
	} else if (!job_state_ended(job_info(job)->state)) {
		waiters_add(core->waiters, e->wait, e->caller.reply);
	} else {
		fx = effects_add(core->effects, EFFECT_JOB_ENDED);
		fx->reply = e->caller.reply;
		fx->job = e->wait;
	}
}
