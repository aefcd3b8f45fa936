/* life.c - a job's way from start to end
 *
 * All moves of jobs and runs are here. Update and action stay together: whoever calls says what
 * happened, and what follows from it (a release of GPUs, a requeue, waiters to be told) is done at
 * once. Each function may be called again without harm.
 */
#include <stdio.h>
#include <string.h>

#include "ctld/core/internal.h"

#define LAUNCH_TRIES 3

/* --- counting and telling -------------------------------------------------------------------- */

uint32_t job_partition(const struct core *core, const struct job *job)
{
	return sched_partition_kept(core->sched, job_info(job)->partition);
}

static void move(struct core *core, struct job *job, enum job_state state)
{
	job_move(core->jobs, job, state);
	effects_add(core->effects, EFFECT_JOB_CHANGED)->job = job_id(job);
}

/* --- eligibility ----------------------------------------------------------------------------- */

bool job_signature_old(const struct core *core, const struct job *job)
{
	usec_t age = (usec_t)core->conf->controller.signature_age_s * USEC_PER_S;
	usec_t margin = 3600 * USEC_PER_S;

	if (!age)
		return false;
	if (margin > age / 2)
		margin = age / 2;
	return core->now.wall - job_info(job)->sign_time >= age - margin;
}

void job_expires(struct core *core, struct job *job)
{
	job_link(job)->expired = true;
	if (!core->expired_wall || core->now.wall < core->expired_wall)
		core->expired_wall = core->now.wall;
	job_consider(core, job);
}

void jobs_unexpire(struct core *core)
{
	struct job *job;

	core->expired_wall = 0;
	for (job = jobs_next(core->jobs, 0); job; job = jobs_next(core->jobs, job_id(job))) {
		if (!job_link(job)->expired || job_info(job)->state != JOB_PENDING)
			continue;
		job_link(job)->expired = false;
		if (job_signature_old(core, job))
			job_expires(core, job);
		job_consider(core, job);
	}
}

void job_withdraw(struct core *core, struct job *job)
{
	if (job_link(job)->class)
		sched_remove(core->sched, job);
}

void job_consider(struct core *core, struct job *job)
{
	const struct job_info *i = job_info(job);
	bool eligible = i->state == JOB_PENDING && i->hold == HOLD_NONE &&
	                !job_link(job)->expired && !job_stray(job);

	if (!eligible)
		job_withdraw(core, job);
	else if (!job_link(job)->class)
		sched_add(core->sched, job);
}

/* --- runs and their bookings ----------------------------------------------------------------- */

void run_attach(struct job *job, struct run *run)
{
	struct run **at = &job_link(job)->runs;

	/* Attempts backwards, the ranks of each forwards. */
	while (*at && (run_info(*at)->id.attempt > run_info(run)->id.attempt ||
	                      (run_info(*at)->id.attempt == run_info(run)->id.attempt &&
	                              run_info(*at)->id.rank < run_info(run)->id.rank)))
		at = &run_link(*at)->next_of_job;
	run_link(run)->next_of_job = *at;
	run_link(run)->job = job;
	*at = run;
}

struct run *job_run(const struct job *job)
{
	struct run *run = job_link_of(job)->runs;

	/* A higher attempt is not ours: it was adopted. */
	while (run && run_info(run)->id.attempt > job_info(job)->attempt)
		run = run_link(run)->next_of_job;
	return run && run_info(run)->id.attempt == job_info(job)->attempt ? run : NULL;
}

const struct run *job_stray(const struct job *job)
{
	const struct run *run = job_link_of(job)->runs;

	while (run && run_info(run)->state != RUN_STRAY)
		run = run_link_of(run)->next_of_job;
	return run;
}

uint32_t job_starts(const struct job *job)
{
	const struct run *run;
	uint32_t n = 0;

	for (run = job_link_of(job)->runs; run; run = run_link_of(run)->next_of_job)
		n += run_started(run);
	return n;
}

uint32_t job_launch_failures(const struct job *job)
{
	const struct run *run;
	uint32_t n = 0;

	for (run = job_link_of(job)->runs; run; run = run_link_of(run)->next_of_job)
		n += run_info(run)->end_cause == END_LAUNCH;
	return n;
}

static struct place run_place(const struct run *run)
{
	const struct run_info *i = run_info(run);

	return (struct place){ .node = node_link_of(run_link_of(run)->node)->index,
		.cpus = i->cpus,
		.mem_mb = i->mem_mb,
		.gpus = run_link_of(run)->booked };
}

void run_hold(struct core *core, struct run *run)
{
	uint32_t index = node_link(run_link(run)->node)->index;
	struct place place;

	core->ledger_seen++;
	run_link(run)->booked = run_info(run)->gpus;
	if (index == NODE_LEFT)
		return;
	/* A stray may sit on GPUs that were given to somebody else: they are booked once. */
	run_link(run)->booked &= ~ledger_gpus_used(core->ledger, index);
	place = run_place(run);
	ledger_take(core->ledger, &place);
}

static void unbook(struct core *core, struct run *run)
{
	struct node *node = run_link(run)->node;
	uint32_t index;

	if (!node)
		return;
	index = node_link(node)->index;
	core->ledger_seen++;
	if (index != NODE_LEFT) {
		struct place place = run_place(run);

		ledger_release(core->ledger, &place);
	}
	node_unlink_run(run);
	if (index != NODE_LEFT)
		sched_node_freed(core->sched, index);
}

void run_book(struct core *core, struct run *run, struct node *node)
{
	node_link_run(node, run);
	run_hold(core, run);
}

/* An order to the run's node; NULL: it cannot be told now. It will be when it registers. */
static struct effect *order(
        struct core *core, enum effect_kind kind, const struct run *run, const struct node *node)
{
	const struct node_link *l = node ? node_link_of(node) : NULL;
	struct effect *e;

	if (!l || !l->session || core->suspended)
		return NULL;
	e = effects_add(core->effects, kind);
	e->node = l->index;
	e->session = l->session;
	e->run.run = run_info(run)->id;
	return e;
}

void end_run_order(struct core *core, struct run *run, const char *by_user, bool requeue)
{
	const char *user = effects_text(core->effects, by_user);
	const struct job *job = run_link(run)->job;
	uint32_t p = job ? job_partition(core, job) : CLASS_NO_PARTITION;
	struct effect *e = order(core, EFFECT_END_RUN, run, run_link(run)->node);

	if (!e)
		return;
	e->run.cause = run_info(run)->end_wanted;
	e->run.grace_s =
	        p == CLASS_NO_PARTITION ? NO_PARTITION_GRACE_S : core->conf->partitions[p].grace_s;
	e->run.by_user = user;
	e->run.requeue = requeue;
}

/* The node may drop its record, once the end is committed here. */
static void forget_order(struct core *core, const struct run *run, const struct node *node)
{
	order(core, EFFECT_FORGET_RUN, run, node);
}

/* Adopted runs may have numbers of their own. */
static uint32_t next_attempt(const struct job *job)
{
	const struct run *latest = job_link_of(job)->runs;
	uint32_t attempt = job_info(job)->attempt;

	if (latest && run_info(latest)->id.attempt > attempt)
		attempt = run_info(latest)->id.attempt;
	return attempt + 1;
}

/* --- the start ------------------------------------------------------------------------------- */

void job_start(struct core *core, struct job *job, const struct place *place)
{
	struct node *node = nodes_at(core->nodes, place->node);
	const struct job_info *i = job_info(job);
	struct run_info info = {
		.id = { i->id, 0, next_attempt(job) },
		.node = node_info(node)->name,
		.gpu_type = place->gpus ? core->conf->gpu_types[place->type].name : "",
		.incarnation = node_info(node)->incarnation,
		.gpus = place->gpus,
		.mem_mb = place->mem_mb,
		.cpus = place->cpus,
		.epoch = meta_epoch(core->meta),
		.order_time = core->now.wall,
		.uid = i->uid,
		.state = RUN_ORDERED,
	};
	struct run *run;

	job_withdraw(core, job);
	job_set_attempt(core->jobs, job, info.id.attempt);
	move(core, job, JOB_CONFIGURING);
	run = runs_add(core->runs, &info);
	run_attach(job, run);
	run_book(core, run, node);
	run_link(run)->ordered_session = node_link(node)->session;
	order(core, EFFECT_START_RUN, run, node);
	core->n_started++;
}

/* --- the end --------------------------------------------------------------------------------- */

void job_list_ended(struct core *core, struct job *job, usec_t mono)
{
	job_link(job)->ended = mono;
	job_link(job)->next = NULL;
	if (core->ended_last)
		job_link(core->ended_last)->next = job;
	else
		core->ended_first = job;
	core->ended_last = job;
}

static void job_end(struct core *core, struct job *job, enum job_state state)
{
	uint64_t reply;

	job_withdraw(core, job);
	move(core, job, state);
	job_list_ended(core, job, core->now.mono);
	core->n_ended++;
	while (waiters_take(core->waiters, job_id(job), &reply)) {
		struct effect *e = effects_add(core->effects, EFFECT_JOB_ENDED);

		e->reply = reply;
		e->job = job_id(job);
	}
}

void job_cancel_pending(struct core *core, struct job *job)
{
	job_set_end_cause(core->jobs, job, END_CANCEL);
	job_set_end(core->jobs, job, core->now.wall, 0, 0);
	job_end(core, job, JOB_CANCELLED);
}

void job_stop(
        struct core *core, struct job *job, enum end_cause cause, const char *by_user, bool requeue)
{
	struct run *run = job_run(job);

	/* What is to become of the job is its own; that the run must end is the run's. */
	job_set_end_cause(core->jobs, job, requeue ? END_NONE : cause);
	if (job_info(job)->state != JOB_COMPLETING)
		move(core, job, JOB_COMPLETING);
	if (run_info(run)->end_wanted == END_NONE) {
		run_set_end_wanted(core->runs, run, cause);
		end_run_order(core, run, by_user, requeue);
	}
}

/* What becomes of a job whose run ended for this cause, when nobody asked for it. */
static const struct {
	enum job_state state;
	bool again; /* requeue, where its owner allows */
} outcomes[] = {
	[END_NONE] = { JOB_COMPLETED, false },
	[END_EXIT] = { JOB_COMPLETED, false },
	[END_TIME_LIMIT] = { JOB_TIMEOUT, false },
	[END_CANCEL] = { JOB_CANCELLED, false },
	[END_PREEMPT] = { JOB_PREEMPTED, true },
	[END_NODE_FAIL] = { JOB_NODE_FAIL, true },
	[END_LAUNCH] = { JOB_FAILED, true },
	[END_LOST] = { JOB_NODE_FAIL, true },
	[END_OUT_OF_MEMORY] = { JOB_OUT_OF_MEMORY, false },
	[END_DRAIN] = { JOB_NODE_FAIL, true },
};

static void job_again(struct core *core, struct job *job)
{
	job_set_end_cause(core->jobs, job, END_NONE);
	move(core, job, JOB_PENDING);
	job_consider(core, job);
}

/* A node on which nothing can be started must not hold the whole queue, job by job. Three failures
 * in a row, and not of one user alone: then it is the node's fault, and it takes no more. */
static void node_not_launched(struct core *core, const struct run *run)
{
	struct node *node = nodes_find(core->nodes, run_info(run)->node);
	struct node_link *l = node_link(node);
	char text[300];

	l->others_failed |= l->launch_failures && l->failed_uid != run_info(run)->uid;
	l->failed_uid = run_info(run)->uid;
	if (++l->launch_failures < LAUNCH_TRIES || !l->others_failed || node_info(node)->drain)
		return;
	snprintf(text, sizeof(text), "%u launches in a row failed, the last: %.200s",
	        l->launch_failures, run_info(run)->detail);
	node_set_admin(core->nodes, node, true, node_info(node)->down, text, 0, core->now.wall);
	audit_note(core, "node.drain", NULL, 0, node_info(node)->name, text);
	node_settle(core, node);
}

/* It could not be started: try again, elsewhere if it comes so, and at last hold it. */
static void job_not_launched(struct core *core, struct job *job, const struct run *run)
{
	uint32_t failures = job_launch_failures(job);
	char text[300];

	if (run_info(run)->end_cause == END_LAUNCH)
		node_not_launched(core, run);
	if (run_info(run)->end_cause == END_LAUNCH && failures % LAUNCH_TRIES == 0) {
		snprintf(text, sizeof(text), "launch failed %u times, the last on %s: %.180s",
		        failures, run_info(run)->node, run_info(run)->detail);
		job_set_hold(core->jobs, job, HOLD_USER);
		job_set_comment(core->jobs, job, text);
		audit_note(core, "job.hold", NULL, job_id(job), run_info(run)->node, text);
	}
	job_again(core, job);
}

/* Nobody asked for it: say why it waits again. */
static void say_requeued(struct core *core, struct job *job, const struct run *run)
{
	char text[300];

	snprintf(text, sizeof(text), "requeued: attempt %u on %.80s: %.180s",
	        run_info(run)->id.attempt, run_info(run)->node, run_info(run)->detail);
	job_set_comment(core->jobs, job, text);
	audit_note(core, "job.requeue", NULL, job_id(job), run_info(run)->node, text);
}

/* The present run of the job is over: what now? */
static void job_after_run(struct core *core, struct job *job, const struct run *run)
{
	const struct run_info *r = run_info(run);
	const struct job_info *i = job_info(job);
	enum job_state state = outcomes[r->end_cause].state;
	bool asked = r->end_wanted != END_NONE && i->end_cause == END_NONE;
	bool left = job_starts(job) < i->max_attempts;

	if (i->end_cause == END_CANCEL) {
		state = JOB_CANCELLED;
	} else if (r->state == RUN_NEVER || r->end_cause == END_LAUNCH) {
		job_not_launched(core, job, run);
		return;
	} else if (left && (asked || (outcomes[r->end_cause].again && i->requeue))) {
		if (!asked)
			say_requeued(core, job, run);
		job_again(core, job);
		return;
	} else if (state == JOB_COMPLETED && (r->exit_code || r->exit_signal)) {
		state = JOB_FAILED;
	}
	if (i->end_cause == END_NONE)
		job_set_end_cause(core->jobs, job, r->end_cause);
	job_set_end(core->jobs, job, r->end_time ? r->end_time : core->now.wall, r->exit_code,
	        r->exit_signal);
	job_end(core, job, state);
}

/* The run is over, and its record is set. */
static void run_over_now(struct core *core, struct run *run, enum run_state state)
{
	struct job *job = run_link(run)->job;
	bool stray = run_info(run)->state == RUN_STRAY;

	unbook(core, run);
	run_move(core->runs, run, state);
	if (!job) {
		runs_retire(core->runs, run);
		return;
	}
	if (stray)
		job_consider(core, job);
	/* An attempt that was given up, or superseded, changes nothing but itself. */
	if (!stray && run == job_run(job) && job_info(job)->state != JOB_PENDING &&
	        !job_state_ended(job_info(job)->state)) {
		if (run_info(run)->start_time)
			job_set_start(core->jobs, job, run_info(run)->start_time);
		job_after_run(core, job, run);
	}
}

/* --- what nodes say -------------------------------------------------------------------------- */

void run_says_starting(struct core *core, struct run *run, const struct run_report *report)
{
	(void)report;
	if (run_info(run)->state == RUN_ORDERED)
		run_move(core->runs, run, RUN_STARTING);
}

void run_says_running(struct core *core, struct run *run, const struct run_report *report)
{
	struct job *job = run_link(run)->job;
	usec_t elapsed = report->elapsed_us > INT64_MAX / 2 ? 0 : (usec_t)report->elapsed_us;

	if (!run_link(run)->started_known) {
		run_link(run)->started = core->now.mono - elapsed;
		run_link(run)->started_known = true;
	}
	if (run_info(run)->state != RUN_ORDERED && run_info(run)->state != RUN_STARTING)
		return;
	run_move(core->runs, run, RUN_RUNNING);
	if (run_link(run)->node) {
		node_link(run_link(run)->node)->launch_failures = 0;
		node_link(run_link(run)->node)->others_failed = false;
	}
	run_set_start(core->runs, run, report->start_time ? report->start_time : core->now.wall);
	if (!job || run != job_run(job))
		return;
	job_set_start(core->jobs, job, run_info(run)->start_time);
	if (job_info(job)->state == JOB_CONFIGURING)
		move(core, job, JOB_RUNNING);
}

void run_says_ended(struct core *core, struct run *run, const struct run_report *report)
{
	struct node *node = run_link(run)->node;

	if (!node)
		node = nodes_find(core->nodes, run_info(run)->node);
	forget_order(core, run, node);
	if (!run_over(run)) {
		run_set_end(core->runs, run, report);
		run_over_now(core, run, RUN_ENDED);
	} else if (run_info(run)->state == RUN_ENDED && run_info(run)->end_cause == END_NODE_FAIL &&
	           report->cause != END_NODE_FAIL) {
		/* Given up too early, and here is its true record: the run's and its usage's. */
		run_set_end(core->runs, run, report);
	}
}

void run_says_never(struct core *core, struct run *run, const struct run_report *report)
{
	struct node *node = run_link(run)->node;
	struct run_report end = *report;
	const struct run_info *i = run_info(run);
	bool refused;

	if (!node)
		node = nodes_find(core->nodes, i->node);
	forget_order(core, run, node);
	if (run_over(run))
		return;
	end.start_time = end.elapsed_us = 0;
	end.end_time = core->now.wall;
	if (i->state == RUN_RUNNING || i->state == RUN_STRAY) {
		/* It was there, and the node knows nothing of it any more. */
		run_gone(core, run, END_LOST, "its node has no record of it any more");
		return;
	}
	/* The order was lost with the session it went out in, or the launcher refused it. */
	refused = i->state == RUN_STARTING ||
	          (node && run_link(run)->ordered_session == node_link(node)->session &&
	                  i->end_wanted == END_NONE);
	end.cause = refused ? END_LAUNCH : END_NONE;
	run_set_end(core->runs, run, &end);
	run_over_now(core, run, RUN_NEVER);
}

void run_gone(struct core *core, struct run *run, enum end_cause cause, const char *why)
{
	const struct run_info *i = run_info(run);
	struct run_report end = { .start_time = i->start_time,
		.end_time = core->now.wall,
		.cause = cause,
		.detail = why };

	if (run_over(run))
		return;
	if (run_link(run)->started_known)
		end.elapsed_us = (uint64_t)(core->now.mono - run_link(run)->started);
	else if (i->start_time && core->now.wall > i->start_time)
		end.elapsed_us = (uint64_t)(core->now.wall - i->start_time);
	run_set_end(core->runs, run, &end);
	run_over_now(core, run, RUN_ENDED);
}

void node_runs_gone(struct core *core, struct node *node, const char *why)
{
	while (node_link(node)->runs)
		run_gone(core, node_link(node)->runs, END_NODE_FAIL, why);
}

/* --- strays ---------------------------------------------------------------------------------- */

void run_stray(struct core *core, struct run *run, const struct run_report *report)
{
	struct node *node = nodes_find(core->nodes, run_info(run)->node);

	(void)report;
	run_move(core->runs, run, RUN_STRAY);
	run_book(core, run, node);
	run_set_end_wanted(core->runs, run, END_NODE_FAIL);
	end_run_order(core, run, "", false);
	/* If its job waits for another attempt: not beside this one. */
	if (run_link(run)->job)
		job_consider(core, run_link(run)->job);
	audit_note(core, "run.stray", NULL, run_info(run)->id.job, run_info(run)->node,
	        "alive, though it was given up: told to end");
}

struct run *run_adopt(struct core *core, struct node *node, const struct run_report *r)
{
	struct job *job = jobs_find(core->jobs, r->run.job);
	struct run_info info = {
		.id = r->run,
		.node = node_info(node)->name,
		.gpu_type = r->gpu_type,
		.incarnation = r->incarnation,
		.gpus = r->gpus,
		.mem_mb = r->mem_mb,
		.cpus = r->cpus,
		.epoch = r->epoch,
		.order_time = r->start_time,
		.start_time = r->start_time,
		.uid = r->uid,
		.state = RUN_STRAY,
	};
	bool ours = job && job_info(job)->state == JOB_PENDING && job_info(job)->uid == r->uid &&
	            r->run.attempt > job_info(job)->attempt;
	struct run *run;

	if (ours)
		info.state = RUN_ORDERED;
	run = runs_add(core->runs, &info);
	if (job)
		run_attach(job, run);
	run_book(core, run, node);
	if (job && !ours)
		job_consider(core, job);
	if (ours) {
		job_withdraw(core, job);
		job_set_attempt(core->jobs, job, r->run.attempt);
		move(core, job, JOB_CONFIGURING);
	}
	audit_note(core, "run.adopt", NULL, r->run.job, node_info(node)->name,
	        ours ? "alive, and unknown until now: taken over"
	             : "alive, and of no job that is known: its GPUs stay booked");
	return run;
}

/* --- history --------------------------------------------------------------------------------- */

void jobs_retire_old(struct core *core)
{
	usec_t keep = (usec_t)core->conf->controller.keep_ended_s * USEC_PER_S;
	struct job *job, *last = core->ended_last;
	unsigned n;

	for (n = 0; n < TIMER_SLICE && (job = core->ended_first); n++) {
		struct job_link *l = job_link(job);
		struct run *run;

		if (core->now.mono - l->ended < keep)
			break;
		core->ended_first = l->next;
		if (!l->next)
			core->ended_last = NULL;
		for (run = l->runs; run && run_over(run); run = run_link(run)->next_of_job)
			;
		if (run) {
			/* An attempt that was given up is still alive somewhere. */
			job_list_ended(core, job, core->now.mono);
			if (job == last)
				break;
			continue;
		}
		while ((run = l->runs)) {
			l->runs = run_link(run)->next_of_job;
			run_link(run)->job = NULL;
			runs_retire(core->runs, run);
		}
		jobs_retire(core->jobs, job);
		if (job == last)
			break;
	}
}
