/* runlife.c - a run from its order over its node's reports to its end
 *
 * All state changes of runs are here, and with them their bookings. What concerns the job is
 * passed on to life.c. Each function may be called again without harm.
 *
 * States of a run (run.h): ORDERED until its node says STARTING or RUNNING; ENDED or NEVER when it
 * is over; ORPHAN while it is alive and its attempt has given it up. It is booked on its node from
 * its order until it is over, whatever its job does meanwhile, because only the node knows that
 * its GPUs are free. Orders name the run, and the wanted set of a registration repeats them: so an
 * order that was lost needs no state here.
 *
 * Invariants: a run is linked to its node exactly while it is booked there (run_book(), unbook()),
 * also if the node has left the configuration and the ledger no longer knows it. What is booked
 * (`booked`) may be less than what the run has, because each GPU is booked once: an orphan run may
 * sit on a GPU that was given to another run meanwhile, and books it when that one ends.
 */
#include "ctld/core/jobs/runlife.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/conf/conf.h"
#include "common/job/run.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/attempts/bill.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/jobs/attempt_outcome.h"
#include "ctld/core/jobs/effects.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/jobs/foreign.h"
#include "ctld/core/jobs/life.h"
#include "ctld/core/jobs/node_state.h"
#include "ctld/core/request/gpu_share.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/service.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"

struct job;

/* --- bookings -------------------------------------------------------------------------------- */

struct place run_place(const struct run *run)
{
	const struct run_info *i = run_info(run);

	return (struct place){ .node = node_link_of(run_link_of(run)->node)->index,
		.cpus = i->cpus,
		.mem_mb = i->mem_mb,
		.ports = run_link_of(run)->booked_ports,
		.gpus = run_link_of(run)->booked,
		.share = *run_share(run) };
}

/* The time since its start, or since its order if it has not started, in microseconds. Taken from
 * the wall clock, once: that clock may jump. */
static usec_t run_age(const struct core *core, const struct run *run)
{
	const struct run_info *i = run_info(run);
	usec_t began = i->start_time ? i->start_time : i->order_time;

	return began && began < core->now.wall ? core->now.wall - began : 0;
}

void run_hold(struct core *core, struct run *run)
{
	uint32_t index = node_link(run_link(run)->node)->index;
	struct place place;

	core->ledger_seen++;
	run_link(run)->booked = run_info(run)->gpus;
	run_link(run)->booked_ports =
	        run_link(run)->job ? job_info(run_link(run)->job)->gpus->ports : 0;
	if (!run_link(run)->began)
		run_link(run)->began = core->now.mono - run_age(core, run);
	if (index == NODE_LEFT)
		return;
	/* An orphan run may still occupy GPUs that were given to another run: they are booked
	 * once. A part of a GPU may lie beside other parts, but not on a GPU that is booked as a
	 * whole. */
	run_link(run)->booked &=
	        ~(run_share(run)->charge ? ledger_gpus_used(core->ledger, index) &
	                                           ~ledger_gpus_shared(core->ledger, index)
	                                 : ledger_gpus_used(core->ledger, index));
	node_runs_changed(run_link(run)->node);
	place = run_place(run);
	ledger_take(core->ledger, &place);
	node_count_gpus(core, run_link(run)->node);
	sched_node_taken(core->sched, index, run_info(run)->id.job);
}

/* GPUs have become free. A run that occupies them but could not book them, because they were
 * booked for another run, books them now. */
static void book_rest(struct core *core, struct node *node)
{
	for (struct run *run = node_link(node)->runs; run; run = run_link(run)->next_of_node) {
		struct place place = run_place(run);

		if (run_link(run)->booked == run_info(run)->gpus)
			continue;
		ledger_release(core->ledger, &place);
		run_hold(core, run);
	}
}

/* The run is over. It leaves its node's list before the others there book what it had, and the
 * scheduler hears of the release after that: it sees only what is free in the end. */
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
		node_count_gpus(core, node);
	}
	node_unlink_run(run);
	bill_stops(core, run);
	if (index != NODE_LEFT) {
		book_rest(core, node);
		sched_node_freed(core->sched, index);
		node_hardware_freed(core, node);
	}
}

void run_book(struct core *core, struct run *run, struct node *node)
{
	node_link_run(node, run);
	run_hold(core, run);
	bill_starts(core, run);
}

/* --- orders ---------------------------------------------------------------------------------- */

/* An effect for the run's node; NULL: the node is not connected. It gets its orders when it
 * registers. */
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

void end_run_order(struct core *core, struct run *run, const struct stop *stop)
{
	const struct job *job = run_link(run)->job;
	uint32_t p = job ? job_partition(core, job) : CONF_NONE;
	uint32_t grace = p == CONF_NONE ? NO_PARTITION_GRACE_S : core->conf->partitions[p].grace_s;
	struct effect *e = order(core, EFFECT_END_RUN, run, run_link(run)->node);

	if (job && grace < service_drain_s(job))
		grace = service_drain_s(job);
	run_stopping(core, run, grace);
	if (!e)
		return;
	e->run.cause = run_info(run)->end_wanted;
	e->run.grace_s = grace;
	e->run.by_user = effects_text(core->effects, stop->by_user ? stop->by_user : "");
	e->run.by_account = effects_text(core->effects, stop->by_account ? stop->by_account : "");
	e->run.by_qos = effects_text(core->effects, stop->by_qos ? stop->by_qos : "");
	e->run.by_job = stop->by_job;
	e->run.requeue = job && run_of_present(run) && run_lives(run) && job_comes_again(job);
}

/* One order for both: whether the run is suspended, and its time limit if that was changed. */
void suspend_run_order(struct core *core, const struct run *run)
{
	struct effect *e = order(core, EFFECT_SUSPEND_RUN, run, run_link_of(run)->node);
	const struct job *job = run_link_of(run)->job;

	if (!e)
		return;
	e->run.suspend = run_info(run)->suspend_wanted;
	if (run_limit_changed(run))
		e->run.limit_s =
		        job_info(job)->time_limit_s ? job_info(job)->time_limit_s : TIME_LIMIT_NONE;
}

bool run_limit_changed(const struct run *run)
{
	const struct job *job = run_link_of(run)->job;

	return job && run_of_present(run) && run_lives(run) && job_info(job)->limit_set;
}

/* Confirm to the node that it may drop the run's record, once the end is committed here. */
static void forget_order(struct core *core, const struct run *run, const struct node *node)
{
	order(core, EFFECT_FORGET_RUN, run, node);
}

/* The order is an effect of the event that makes the run, so it leaves when the run is on disk.
 * `ordered_session` tells later whether a node that says NEVER has refused the order or never got
 * it. */
void run_start(struct core *core, struct job *job, struct run_id id, uint32_t nodes,
        const struct place *place)
{
	struct node *node = nodes_at(core->nodes, place->node);
	struct run_info info = {
		.id = id,
		.node = node_info(node)->name,
		.account = job_info(job)->account,
		.gpu_type = place->gpus ? core->conf->gpu_types[place->type].name : "",
		.incarnation = node_info(node)->incarnation,
		.gpus = place->gpus,
		.mem_mb = place->mem_mb,
		.cpus = place->cpus,
		.epoch = meta_epoch(core->meta),
		.order_time = core->now.wall,
		.uid = job_info(job)->uid,
		.nodes = nodes,
		.state = RUN_ORDERED,
	};
	struct run *run;

	/* Never on a GPU that is drained, missing or faulty. */
	assert(!(place->gpus & node_link(node)->gpus_out));
	run = runs_add(core->runs, &info, &place->share);
	run_attach(job, run);
	run_book(core, run, node);
	run_link(run)->ordered_session = node_link(node)->session;
	order(core, EFFECT_START_RUN, run, node);
}

/* --- the end --------------------------------------------------------------------------------- */

/* The run is over, and its record is set. Places are free, the bill is made and a broken node is
 * drained before the job is considered again: its next attempt is decided with all that known. */
static void run_over_now(struct core *core, struct run *run, enum run_state state)
{
	struct job *job = run_link(run)->job;
	bool orphan = run_info(run)->state == RUN_ORPHAN;

	if (job)
		attempt_checkpoint(job, run);
	unbook(core, run);
	run_set_progress(core->runs, run, "");
	run_move(core->runs, run, state);
	bill_run(core, run);
	if (end_is_launch(run_info(run)->end_cause))
		node_launch_failed(core, run);
	if (!job)
		foreign_over(core, run);
	else if (orphan)
		job_consider(core, job);
	else
		job_run_over(core, job, run);
}

/* --- what nodes say -------------------------------------------------------------------------- */

/* The node has reported a remark about the run: keep it with the run and in the log of events. If
 * it says that a process of the run cannot be killed, the node is drained; once only, because an
 * operator may undo the drain. */
static void run_noted(struct core *core, struct run *run, const struct run_report *report)
{
	const struct job *job = run_link(run)->job;
	const char *note = report->detail;

	if (!note || !*note || strcmp(note, run_past(run)->detail) == 0)
		return;
	run_set_detail(core->runs, run, note);
	audit_note(core, "run.note", NULL, job ? job_ref(job) : 0, run_info(run)->node, note);
	node_in_trouble(core, run_link(run)->node, report->node_trouble);
}

/* What its node says of a replica. That it is READY, or no longer, is a change of its job. */
static void replica_says(struct core *core, struct run *run, const struct run_report *report)
{
	struct job *job = run_link(run)->job;
	usec_t ready_since = run_replica(run)->ready_since;
	bool changed = run_set_replica(core->runs, run, &report->replica, core->now.mono);

	if (!changed || !job || !job_service(job) || !run_of_present(run))
		return;
	if (ready_since && report->replica.health == HEALTH_UNREADY &&
	        job_info(job)->state == JOB_RUNNING)
		service_note_unready(core->services, job_service(job), run_info(run)->node,
		        ready_since, core->now);
	if (report->replica.health == HEALTH_READY)
		service_note_load(job_service(job), job_own(job), false);
	services_touch(core->services, job_service(job));
	effects_add(core->effects, EFFECT_JOB_CHANGED)->job = job_ref(job);
}

void run_says_starting(struct core *core, struct run *run, const struct run_report *report)
{
	replica_says(core, run, report);
	if (run_info(run)->state == RUN_ORDERED)
		run_move(core->runs, run, RUN_STARTING);
	if (report->node_trouble && *report->node_trouble)
		run_noted(core, run, report);
}

/* A program runs: this ends the node's row of failed launches. */
static void run_runs(struct core *core, struct run *run, const struct run_report *report)
{
	run_move(core->runs, run, RUN_RUNNING);
	if (run_link(run)->node) {
		node_link(run_link(run)->node)->launch_failures = 0;
		node_link(run_link(run)->node)->others_failed = false;
	}
	run_set_start(core->runs, run, report->start_time ? report->start_time : core->now.wall);
}

/* The run is suspended or resumed: its time limit moves. */
static void run_suspends(struct core *core, struct run *run, const struct run_report *report)
{
	const struct node *node = run_link_of(run)->node;
	bool was = run_past(run)->suspend_time != 0;

	run_set_suspended(core->runs, run, report, core->now.wall);
	/* The node has carried out an older order late, and the order that revoked it was lost
	 * with a session. */
	if (was != report->suspended && run_info(run)->suspend_wanted != report->suspended)
		suspend_run_order(core, run);
	if (was != report->suspended && node && node_link_of(node)->index != NODE_LEFT)
		sched_node_changed(
		        core->sched, node_link_of(node)->index, "a job was suspended or resumed");
}

void run_says_running(struct core *core, struct run *run, const struct run_report *report)
{
	struct job *job = run_link(run)->job;
	/* A node may report any number: one that would overflow counts as 0. */
	usec_t elapsed = report->elapsed_us > INT64_MAX / 2 ? 0 : (usec_t)report->elapsed_us;

	if (!run_started_known(run)) {
		run_set_started(run, core->now.mono - elapsed);
		if (run_link(run)->node && node_link(run_link(run)->node)->index != NODE_LEFT)
			sched_node_changed(core->sched, node_link(run_link(run)->node)->index,
			        "a run started late");
	}
	run_set_checkpoint(core->runs, run, report->checkpoint_time);
	if (job)
		attempt_checkpoint(job, run);
	run_set_progress(core->runs, run, report->progress ? report->progress : "");
	replica_says(core, run, report);
	if (run_info(run)->state == RUN_ORDERED || run_info(run)->state == RUN_STARTING) {
		run_runs(core, run, report);
		if (run_limit_changed(run)) /* it changed before the node had the run */
			suspend_run_order(core, run);
	}
	if (run_info(run)->state != RUN_RUNNING)
		return;
	run_suspends(core, run, report);
	run_noted(core, run, report);
	if (job && run_of_present(run))
		job_runs(core, job);
}

void run_says_ended(struct core *core, struct run *run, const struct run_report *report)
{
	struct node *node = run_link(run)->node;

	if (!node)
		node = nodes_find(core->nodes, run_info(run)->node);
	forget_order(core, run, node);
	if (!run_over(run)) {
		/* Before the job is considered again, so that it does not go to this node. */
		node_in_trouble(core, node, report->node_trouble);
		run_set_end(core->runs, run, report);
		run_over_now(core, run, RUN_ENDED);
	} else if (run_info(run)->state == RUN_ENDED && run_info(run)->end_cause == END_NODE_FAIL &&
	           report->cause != END_NODE_FAIL) {
		/* The run was given up too early, and this is its true record: correct the run and
		 * its bill. */
		run_set_end(core->runs, run, report);
		bill_run(core, run);
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
	if (i->state == RUN_RUNNING || i->state == RUN_ORPHAN) {
		/* The node had the run, and has no record of it any more. */
		run_gone(core, run, END_LOST, "its node has no record of it any more");
		return;
	}
	/* The order was lost with its session, or the launcher refused it. */
	refused = i->end_wanted == END_NONE &&
	          (i->state == RUN_STARTING ||
	                  (node && run_link(run)->ordered_session == node_link(node)->session));
	end.cause = !refused                 ? END_NONE
	            : report->signature_refused ? END_SIGNATURE
	                                        : END_LAUNCH;
	node_in_trouble(core, node, report->node_trouble); /* before its job is considered again */
	run_set_end(core->runs, run, &end);
	run_over_now(core, run, RUN_NEVER);
}

/* The record of an end that no node reports, from what was last known. The elapsed time is that of
 * the monotonic clock if this controller knows the start by it, else the difference of wall times;
 * what was not worked of it counts as suspended. */
void run_gone(struct core *core, struct run *run, enum end_cause cause, const char *why)
{
	const struct run_info *i = run_info(run);
	struct run_report end = { .start_time = i->start_time,
		.end_time = core->now.wall,
		.cause = cause,
		.detail = why,
		.cpu_time_us = run_used(run)->cpu_time_us,
		.max_rss_kb = run_used(run)->mem_peak_mb * 1024,
		.used = *run_used(run) };

	if (run_over(run))
		return;
	if (run_started_known(run))
		end.elapsed_us = (uint64_t)(core->now.mono - run_link(run)->started);
	else if (i->start_time && core->now.wall > i->start_time)
		end.elapsed_us = (uint64_t)(core->now.wall - i->start_time);
	if (i->start_time && end.elapsed_us > run_worked_us(run, core->now))
		end.suspended_us = end.elapsed_us - run_worked_us(run, core->now);
	run_set_end(core->runs, run, &end);
	run_over_now(core, run, RUN_ENDED);
}

void node_runs_gone(struct core *core, struct node *node, const char *why)
{
	while (node_link(node)->runs)
		run_gone(core, node_link(node)->runs, END_NODE_FAIL, why);
}

/* --- orphan runs ----------------------------------------------------------------------------- */

void run_orphan(struct core *core, struct run *run, const struct run_report *report)
{
	struct node *node = nodes_find(core->nodes, run_info(run)->node);

	(void)report;
	run_move(core->runs, run, RUN_ORPHAN);
	run_book(core, run, node);
	run_set_end_wanted(core->runs, run, END_NODE_FAIL);
	end_run_order(core, run, &(struct stop){ .cause = END_NODE_FAIL });
	/* If its job waits for another attempt, that must not start beside this run. */
	if (run_link(run)->job)
		job_consider(core, run_link(run)->job);
	audit_note(core, "run.stray", NULL, run_info(run)->id.job, run_info(run)->node,
	        "alive, though it was given up: told to end");
}

/* Makes a run that was not known before from its node's report. ORPHAN, unless it belongs to its
 * job's present attempt (`ours`). */
static struct run *new_to_us(struct core *core, const struct node *node, struct job *job,
        const struct run_report *r, bool ours)
{
	struct run_info info = {
		.id = r->run,
		.node = node_info(node)->name,
		.account = job ? job_info(job)->account : r->owner.account,
		.order_time = r->start_time,
		.nodes = r->nodes ? r->nodes : 1,
		.state = ours ? RUN_ORDERED : RUN_ORPHAN,
		.suspend_wanted = ours && r->suspended,
	};
	const struct share share = { .milli = r->share_milli,
		.charge = r->share_charge,
		.mem_mb = r->share_mb };
	struct run *run;

	COPY_FIELDS(&info, r, gpu_type, incarnation, gpus, mem_mb, cpus, epoch, start_time, uid);
	run = runs_add(core->runs, &info, &share);
	if (job)
		run_attach(job, run);
	else
		run_set_owner(core->runs, run, &r->owner);
	return run;
}

struct run *run_learn(struct core *core, struct node *node, const struct run_report *report)
{
	struct job *job = jobs_of_run(core->jobs, report->run);
	struct run *run = new_to_us(core, node, job, report, false);

	run_set_end(core->runs, run, report);
	run_move(core->runs, run, RUN_ENDED);
	bill_run(core, run);
	if (!job)
		foreign_over(core, run);
	audit_note(core, "run.learn", NULL, report->run.job, node_info(node)->name,
	        "ended, and unknown until now: it is billed");
	return run;
}

/* Alive, and unknown here: the database is older than the run. It is never killed for that, because
 * the database may be what is wrong; it is booked, and goes on with its job or as an orphan run. */
struct run *run_adopt(struct core *core, struct node *node, const struct run_report *r)
{
	struct job *job = jobs_of_run(core->jobs, r->run);
	bool ours = job && job_takes(job, r);
	struct run *run = new_to_us(core, node, job, r, ours);

	run_book(core, run, node);
	if (ours)
		job_adopts(core, job, run);
	else if (job)
		job_consider(core, job);
	audit_note(core, "run.adopt", NULL, r->run.job, node_info(node)->name,
	        ours  ? "unknown until now: taken over"
	        : job ? "alive, but not of its job's present attempt: its GPUs stay booked"
	              : "alive, but of no known job: its GPUs stay booked");
	return run;
}
