/* life.c - a job's way from start to end
 *
 * All state changes of jobs are here. A change and its consequences stay together: the caller
 * reports what happened, and the consequences (a requeue, replies to waiting clients) follow at
 * once. Each function may be called again without harm.
 *
 * A job has one attempt at a time, on one node or on many (attempt.c). Its runs have their own
 * states (run_states.c) and report here what concerns the job: that one runs, or that one is over.
 *
 *	PENDING -> CONFIGURING -> RUNNING <-> SUSPENDED
 *	   ^            |            |             |
 *	   |            +----> COMPLETING <--------+
 *	   |                         |
 *	   +--- another attempt -----+---> an end state (attempt_outcome.c)
 *
 * A job is CONFIGURING until all ranks run, and COMPLETING from the order to end until no rank
 * lives. move() is the only code that changes the state; it does what every change entails:
 * timers, mail, dependents, the count of active jobs of one name, an effect for watchers. When a
 * job may be in the scheduler is decided in eligible.c, when it leaves memory in retire.c.
 *
 * Invariants between two events: only a PENDING job is in a class of the scheduler; a job counts
 * against the limits (job_take()) exactly while it has an attempt, CONFIGURING to COMPLETING; only
 * runs of its present attempt can be alive, all others are over or orphan runs.
 *
 * An end is decided once, after the last rank (job_after_attempt()). Until then the reason for it
 * is kept in two places: in the job that it must not run again (end_cause), in each run that it was
 * told to end (end_wanted). Both are rows, so a restart decides the same.
 */
#include "ctld/core/jobs/life.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"
#include "common/base/xalloc.h"
#include "common/job/mail_types.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/attempts/attempt_outcome.h"
#include "ctld/core/attempts/deciding_rank.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/attempts/requeue_on.h"
#include "ctld/core/depends/depends_queue.h"
#include "ctld/core/depends/depends_terms.h"
#include "ctld/core/jobs/array_split.h"
#include "ctld/core/jobs/depends_attach.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/jobs/job_steps.h"
#include "ctld/core/jobs/job_timers.h"
#include "ctld/core/jobs/notifications.h"
#include "ctld/core/jobs/replica_restart.h"
#include "ctld/core/jobs/retire.h"
#include "ctld/core/preempt/preempt_rules.h"
#include "ctld/core/preempt/victims.h"
#include "ctld/core/records/array.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/service.h"
#include "ctld/core/records/singletons.h"
#include "ctld/core/records/wait_replies.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/run_orders.h"

/* --- counting and telling -------------------------------------------------------------------- */

/* Whether it counts as active for `singleton`: an array while a part has an attempt, another job
 * from the start of its attempt to its end. */
static bool is_active(const struct job *job)
{
	const struct job_info *i = job_info(job);

	if (job_array(job))
		return job_array(job)->running;
	return i->state != JOB_PENDING && !job_state_ended((enum job_state)i->state);
}

/* The first job of a name may be one that waits until it is the only active one. An array of that
 * kind also waits until none of its own tasks runs. */
static void tell_namesakes(struct core *core, struct job *job, bool was_active)
{
	bool changed = is_active(job) != was_active;
	struct job *first;

	if (changed)
		singletons_active(job, was_active ? -1 : 1);
	first = singletons_first(job);
	if (job_state_ended((enum job_state)job_info(job)->state)) {
		first = first == job ? job_link(job)->name_after : first;
		singletons_remove(core->singletons, job);
	}
	if (first && job_link(first)->depends && (first != job || (changed && job_array(job))))
		job_consider(core, first);
}

/* It may be the only active job of its name now: check whether it can start. */
static void consider_single(struct core *core, struct job *job)
{
	if (job && job_link(job)->depends)
		job_consider(core, job);
}

/* The name is part of what is signed: the job leaves the list of its old name and enters that of
 * the new one. In both lists another job may be the first now, and free to start. */
void job_respecified(struct core *core, struct job *own, const struct respec *r, bool files)
{
	bool named = !job_state_ended((enum job_state)job_info(own)->state);
	struct job *first = named ? singletons_first(own) : NULL;

	if (named) {
		first = first == own ? job_link(own)->name_after : first;
		if (is_active(own))
			singletons_active(own, -1);
		singletons_remove(core->singletons, own);
	}
	job_set_respec(core->jobs, own, r, files);
	if (!named)
		return;
	singletons_add(core->singletons, own);
	if (is_active(own))
		singletons_active(own, 1);
	consider_single(core, first); /* the first job of the name that it had */
	if (singletons_first(own) != own)
		consider_single(core, singletons_first(own));
	consider_single(core, job_link(own)->name_after);
	consider_single(core, own);
}

/* Changes the state, and does what each change entails. What belongs to the new state (start, end,
 * attempt, cause) is set before, because timers, mail and dependents read it. */
static void move(struct core *core, struct job *job, enum job_state state)
{
	bool was_active = is_active(job), full = array_full(job);
	enum job_state from = (enum job_state)job_info(job)->state;

	job_move(core->jobs, job, state);
	if (state == JOB_PENDING || job_state_ended(state))
		job_steps_end(core, job);
	tell_namesakes(core, job_own(job), was_active);
	depends_tell(core, job);
	job_timer_set(core, job);
	job_mail_moved(core, job, from);
	effects_add(core->effects, EFFECT_JOB_CHANGED)->job = job_ref(job);
	if (job_service(job))
		services_touch(core->services, job_service(job));
	if (array_full(job) != full)
		array_reconsider(core, job);
}

/* --- the start ------------------------------------------------------------------------------- */

/* A distance from attempts that a restored state may not know of: those on nodes that are not back
 * yet, and those in history. An attempt number is given out once. */
#define RESTORED_ATTEMPTS 100

/* Adopted runs may have attempt numbers that were not given out here. */
static uint32_t next_attempt(const struct core *core, const struct job *job)
{
	const struct run *latest = job_link_of(job)->runs;
	uint32_t attempt = job_info(job)->attempt;

	if (latest && run_info(latest)->id.attempt > attempt)
		attempt = run_info(latest)->id.attempt;
	if (meta_was_restored(core->meta, job_id(job), latest ? run_info(latest)->epoch : 0))
		attempt += RESTORED_ATTEMPTS;
	return attempt + 1;
}

/* A place and its sort key: ranks follow the order in which people and hostlists have the nodes. */
struct seat {
	const char *node;
	const struct place *place;
};

static int by_node(const void *x, const void *y)
{
	return hostlist_name_compare(
	        ((const struct seat *)x)->node, ((const struct seat *)y)->node);
}

void job_start(
        struct core *core, struct job *job, const struct places *places, const struct need *need)
{
	struct seat *seats = xcalloc(places->n, sizeof(*seats));
	uint32_t attempt = next_attempt(core, job), n = (uint32_t)places->n, rank;

	assert(n);
	for (rank = 0; rank < n; rank++)
		seats[rank] = (struct seat){ core->conf->nodes[places->v[rank].node].name,
			&places->v[rank] };
	qsort(seats, n, sizeof(*seats), by_node);
	job_withdraw(core, job);
	job_set_attempt(core->jobs, job, attempt);
	move(core, job, JOB_CONFIGURING);
	job_take(core, job, need);
	/* From the last rank down, so that run_attach() puts each one at the head of the list. */
	for (rank = n; rank-- > 0;) {
		/* A node has one rank: the code that chose the places must see to that. */
		assert(!rank || seats[rank].place->node != seats[rank - 1].place->node);
		run_start(core, job, (struct run_id){ job_id(job), job_task(job), attempt, rank },
		        n, seats[rank].place);
	}
	attempt_name_nodes(core, job);
	core->n_started++;
	free(seats);
}

/* Is nothing known of that attempt that would keep the job from going on with it? A rank that was
 * reported while the job was at another attempt is an orphan run and stays one, and the other ranks
 * of its attempt cannot go on without it. A rank that has ended well does no harm: it could as well
 * have ended later. */
static bool attempt_untouched(const struct job *job, const struct run_report *r)
{
	const struct run *run = job_link_of(job)->runs;

	for (; run; run = run_link_of(run)->next_of_job) {
		if (run_info(run)->id.attempt == r->run.attempt &&
		        (!run_ended_well(run) || run_info(run)->nodes != r->nodes))
			return false;
	}
	return true;
}

bool job_takes(const struct job *job, const struct run_report *r)
{
	const struct job_info *i = job_info(job);
	const struct run *run = job_run(job);

	if (i->uid != r->uid || job_state_ended(i->state))
		return false;
	if (i->state == JOB_PENDING)
		return r->run.attempt > i->attempt && attempt_untouched(job, r);
	/* Another rank of an attempt that is being taken over. */
	return r->run.attempt == i->attempt && r->nodes == run_info(run)->nodes &&
	       !attempt_whole(job);
}

void job_adopts(struct core *core, struct job *job, struct run *run)
{
	if (job_info(job)->state == JOB_PENDING) {
		job_withdraw(core, job);
		job_set_attempt(core->jobs, job, run_info(run)->id.attempt);
		move(core, job, JOB_CONFIGURING);
	}
	/* In this state the attempt is being ended; the node learns this from the reply to its
	 * registration. */
	if (job_info(job)->state == JOB_COMPLETING)
		run_set_end_wanted(core->runs, run, END_PEER);
	attempt_name_nodes(core, job);
	job_forget_taken(core, job); /* the attempt takes more now */
	job_take_again(core, job);
}

static void tell_waiters(
        struct core *core, struct wait_replies *wait_replies, const struct job *job)
{
	uint64_t reply;

	while (wait_replies_take(wait_replies, job_ref(job), &reply)) {
		struct effect *e = effects_add(core->effects, EFFECT_JOB_ENDED);

		e->reply = reply;
		e->job = job_ref(job);
	}
}

/* A gang is RUNNING when the last rank runs, with the start of the first one. It is SUSPENDED when
 * no living rank works. */
void job_runs(struct core *core, struct job *job)
{
	if (job_info(job)->state == JOB_CONFIGURING && attempt_runs(job)) {
		job_set_start(core->jobs, job, attempt_start_time(job));
		move(core, job, JOB_RUNNING);
		tell_waiters(core, core->start_replies, job);
	}
	if (job_info(job)->state == JOB_RUNNING && attempt_suspended(job))
		move(core, job, JOB_SUSPENDED);
	else if (job_info(job)->state == JOB_SUSPENDED && !attempt_suspended(job))
		move(core, job, JOB_RUNNING);
}

void job_suspend(struct core *core, struct job *job, bool suspend)
{
	for (struct run *run = job_run(job); run; run = run_next_rank(run)) {
		const struct run_info *i = run_info(run);

		/* This is what was last ordered, and its node has reported it. */
		if (!run_lives(run) || (i->suspend_wanted == suspend &&
		                               (run_past(run)->suspend_time != 0) == suspend))
			continue;
		run_set_suspend_wanted(core->runs, run, suspend);
		suspend_run_order(core, run);
	}
}

/* --- the end --------------------------------------------------------------------------------- */

/* The end of a record, with its end time, cause and exit status already set. It leaves the
 * scheduler, its dependencies and the limits before its state changes; clients that wait for it
 * hear of it after. Last of all its array, which may end with it. */
static void job_end(struct core *core, struct job *job, enum job_state state)
{
	struct job *own = job_own(job);
	enum job_state array_end;

	job_withdraw(core, job);
	depends_detach(core, job);
	job_give_back(core, job);
	move(core, job, state);
	job_count(core, job_info(job), -(int)job_weight(job));
	job_list_ended(core, job, core->now.mono);
	core->n_ended += job_weight(job);
	tell_waiters(core, core->wait_replies, job);
	tell_waiters(core, core->start_replies, job);
	if (job_info(job)->part && array_part_ended(core, job, &array_end)) {
		job_set_end(core->jobs, own, core->now.wall, job_info(own)->exit_code,
		        job_info(own)->exit_signal);
		job_end(core, own, array_end);
	}
}

/* The first job of the name may be one that waits to be the only active one; it must wait again if
 * this job is before it. */
static void name_again(struct core *core, struct job *job)
{
	struct job *next;

	singletons_add(core->singletons, job);
	next = job_link(job)->name_after;
	if (next && job_link(next)->depends)
		job_consider(core, next);
}

void job_revive(struct core *core, struct job *job)
{
	struct job *own = job_own(job);
	enum job_state state = (enum job_state)job_info(job)->state;

	/* First the array: a part never waits under one that has ended. */
	if (own != job && job_state_ended((enum job_state)job_info(own)->state))
		job_revive(core, own);
	job_unlist_ended(core, job);
	job_unset_end(core->jobs, job);
	job_count(core, job_info(job), (int)job_weight(job));
	job_requested(core, job);
	if (own != job)
		job_count_again(core->jobs, own, job_weight(job), state);
	else
		name_again(core, job);
	move(core, job, JOB_PENDING);
	if (own == job) {
		depends_catch_up(core, job);
		depends_attach(core, job);
	}
	job_consider(core, job);
}

void job_end_waiting(
        struct core *core, struct job *job, enum end_cause cause, enum job_state state)
{
	/* The array parent stays, counts them, and ends with the last task. */
	if (job_tasks(job))
		job = array_split(core, job, job_tasks(job), false);
	job_set_end_cause(core->jobs, job, cause);
	job_set_end(core->jobs, job, core->now.wall, 0, 0);
	job_end(core, job, state);
}

void job_cancel_pending(struct core *core, struct job *job)
{
	struct array *a = job_link(job)->array;
	struct job *w, *next;

	if (!a) {
		job_end_waiting(core, job, END_CANCEL, JOB_CANCELLED);
		return;
	}
	/* The array parent ends together with the last of the others. */
	for (w = a->waiting; w; w = next) {
		next = job_link(w)->next;
		if (w != job)
			job_end_waiting(core, w, END_CANCEL, JOB_CANCELLED);
	}
	/* Its own tasks end as a part: the array parent only counts them, and ends with the
	 * last. */
	if (job_weight(job))
		job_end_waiting(core, job, END_CANCEL, JOB_CANCELLED);
}

/* Order all living runs to end; those that already have an order keep it. */
static void end_attempt(struct core *core, struct job *job, const struct stop *stop)
{
	if (job_info(job)->state != JOB_COMPLETING)
		move(core, job, JOB_COMPLETING);
	for (struct run *run = job_run(job); run; run = run_next_rank(run)) {
		if (run_lives(run) && run_info(run)->end_wanted == END_NONE) {
			run_set_end_wanted(core->runs, run, stop->cause);
			end_run_order(core, run, stop);
		}
	}
}

void job_stop(struct core *core, struct job *job, const struct stop *stop)
{
	/* What becomes of the job is recorded with the job; that its runs must end, with the
	 * runs. */
	job_set_end_cause(core->jobs, job, stop->requeue ? END_NONE : stop->cause);
	end_attempt(core, job, stop);
}

/* The attempt is over, and the job waits for the next one. Its runs stay in its list, for what they
 * say of starts and failures. */
static void job_again(struct core *core, struct job *job)
{
	job_give_back(core, job);
	job_set_end_cause(core->jobs, job, END_NONE);
	move(core, job, JOB_PENDING);
	tell_waiters(core, core->start_replies, job);
	job_consider(core, job);
}

/* Hold the job, and record the reason. */
static void hold_back(struct core *core, struct job *job, const struct run *run,
        enum job_hold hold, const char *text)
{
	job_set_hold(core->jobs, job, hold);
	job_set_comment(core->jobs, job, text);
	audit_note(core, "job.hold", NULL, job_ref(job), run_info(run)->node, text);
}

/* Another try would have the same result, and a signature covers all tasks of an array: hold the
 * array's waiting records until the job is signed anew. */
static void job_signature_refused(struct core *core, struct job *job, const struct run *run)
{
	struct job *w = job_array(job) ? job_array(job)->waiting : NULL, *next;
	char text[300];

	snprintf(text, sizeof(text), "its signature was refused on %.80s: %.180s",
	        run_info(run)->node, run_past(run)->detail);
	hold_back(core, job, run, HOLD_SIGNATURE, text);
	for (; w; w = next) {
		next = job_link(w)->next;
		if (job_info(w)->hold)
			continue;
		hold_back(core, w, run, HOLD_SIGNATURE, text);
		job_consider(core, w);
	}
}

/* The job could not be started: try again, perhaps on other nodes, and hold it after several tries.
 * Failures are counted over all attempts: a job that is released gets as many tries again. */
static void job_not_launched(struct core *core, struct job *job, const struct run *run)
{
	uint32_t failures = job_launch_failures(job);
	char text[300];

	if (run_info(run)->end_cause == END_SIGNATURE) {
		job_signature_refused(core, job, run);
	} else if (end_is_launch(run_info(run)->end_cause) && failures % LAUNCH_TRIES == 0) {
		snprintf(text, sizeof(text), "launch failed %u times, the last on %s: %.180s",
		        failures, run_info(run)->node, run_past(run)->detail);
		hold_back(core, job, run, HOLD_SELF, text);
	} else if (*run_past(run)->detail) {
		snprintf(text, sizeof(text), "not started on %.80s: %.180s", run_info(run)->node,
		        run_past(run)->detail);
		job_set_comment(core->jobs, job, text);
	}
	job_again(core, job);
}

/* Some ranks of an adopted attempt were never reported. They may be alive on some node, so the
 * next attempt must not start beside them without an operator's release. */
static void job_not_whole(struct core *core, struct job *job, const struct run *run)
{
	char text[300];

	snprintf(text, sizeof(text),
	        "attempt %u had %u nodes, and not all of them have said how it ended: release the "
	        "job when nothing of it runs any more",
	        run_info(run)->id.attempt, run_info(run)->nodes);
	hold_back(core, job, run, HOLD_SELF, text);
	job_again(core, job);
}

/* The requeue was not requested: record why the job waits again. */
static void say_requeued(struct core *core, struct job *job, const struct run *run)
{
	const struct run_info *r = run_info(run);
	const struct run_past *past = run_past(run);
	char text[300];
	int n = snprintf(
	        text, sizeof(text), "requeued: attempt %u on %.80s: ", r->id.attempt, r->node);

	if (*past->detail)
		snprintf(text + n, sizeof(text) - (size_t)n, "%.180s", past->detail);
	else if (r->state == RUN_ENDED && r->end_cause <= END_EXIT)
		snprintf(text + n, sizeof(text) - (size_t)n, "%s %u",
		        past->exit_signal ? "signal" : "exit code",
		        past->exit_signal ? past->exit_signal : past->exit_code);
	else
		snprintf(text + n, sizeof(text) - (size_t)n, "%s",
		        job_state_name(attempt_end_state(job, run)));
	job_set_comment(core->jobs, job, text);
	audit_note(core, "job.requeue", NULL, job_ref(job), run_info(run)->node, text);
}

/* No run of the present attempt is alive any more: decide what becomes of the job. */
static void job_after_attempt(struct core *core, struct job *job)
{
	const struct run *run = attempt_decisive(job);
	const struct run_info *r = run_info(run);
	usec_t end = attempt_end_time(job);
	bool again = attempt_comes_again(job, run);

	/* The node has ended the run, so the core has not yet decided whether the job is
	 * requeued. */
	if (r->end_cause == END_RECLAIM && r->end_wanted == END_NONE && !attempt_asked(job))
		again = again && job_again_when_reclaimed(core, job);

	if (attempt_start_time(job))
		job_set_start(core->jobs, job, attempt_start_time(job));
	if (again && job_service(job) && r->end_cause != END_SIGNATURE) {
		replica_restart(core, job, run);
		job_again(core, job);
	} else if (again && !attempt_whole(job)) {
		job_not_whole(core, job, run);
	} else if (again && attempt_not_launched(run)) {
		job_not_launched(core, job, run);
	} else if (again) {
		if (!attempt_asked(job)) {
			say_requeued(core, job, run);
			job_delay_requeue(core, job);
		}
		job_mail(core, job, MAIL_REQUEUE);
		job_again(core, job);
	} else {
		enum job_state state = attempt_end_state(job, run);

		if (job_info(job)->end_cause == END_NONE)
			job_set_end_cause(core->jobs, job, r->end_cause);
		job_set_end(core->jobs, job, end ? end : core->now.wall, run_past(run)->exit_code,
		        run_past(run)->exit_signal);
		job_end(core, job, state);
	}
}

void job_run_over(struct core *core, struct job *job, const struct run *run)
{
	enum job_state state = job_info(job)->state;

	/* The end of an attempt that was given up or superseded changes nothing else. */
	if (!run_of_present(run) || state == JOB_PENDING || job_state_ended(state))
		return;
	/* Three cases: it was the last one alive; it ended well and the other ranks go on; or it
	 * takes the whole attempt with it. */
	if (!attempt_lives(job))
		job_after_attempt(core, job);
	else if (run_ended_well(run) && !attempt_is_decided_by(job, run))
		job_runs(core, job);
	else
		end_attempt(core, job, &(struct stop){ .cause = END_PEER });
}

/* --- for another job ------------------------------------------------------------------------- */

/* Only the first planned start is kept, as wall time; one whose time is not known does not
 * count. */
void job_note_plan(struct core *core, struct job *job, usec_t planned)
{
	if (planned >= PLAN_FAR || job_info(job)->planned_start)
		return;
	job_set_planned(core->jobs, job, core->now.wall + (planned - core->now.mono));
}

/* The victim was chosen in a step of the scheduler; it may have ended since. */
void job_preempt(struct core *core, const struct preempt_victim *victim, const struct job *for_job)
{
	struct job *job = jobs_find(core->jobs, victim->job);
	const struct job_info *by = job_info(for_job);
	uint32_t p = job ? job_partition(core, job) : CONF_NONE;
	bool again, named;
	char text[260], label[JOB_LABEL];

	if (!job || p == CONF_NONE)
		return;
	again = core->conf->partitions[p].preempt_mode == CONF_PREEMPT_REQUEUE &&
	        job_info(job)->requeue;
	/* Where jobs are private, the owner of a preempted job must not learn whose job preempted
	 * it, and neither must the owner's programs. */
	named = !core->conf->roles.private_jobs || by->uid == job_info(job)->uid;
	snprintf(text, sizeof(text), "preempted for another's job (%s)",
	        preempt_reason_name(victim->reason));
	if (named)
		snprintf(text, sizeof(text), "preempted for job %s of %.60s (%s)",
		        job_label(for_job, label), by->user, preempt_reason_name(victim->reason));
	core->n_preempted[victim->reason]++;
	job_set_comment(core->jobs, job, text);
	audit_note(core, "job.preempt", NULL, victim->job, "", text);
	job_stop(core, job,
	        &(struct stop){
	                .cause = victim->reason == PREEMPT_RECLAIM ? END_RECLAIM : END_PREEMPT,
	                .by_user = named ? by->user : "",
	                .by_account = named ? by->account : "",
	                .by_qos = by->qos,
	                .by_job = named ? by->id : 0,
	                .requeue = again });
}
