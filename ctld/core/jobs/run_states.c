/* run_states.c - see run_states.h
 *
 * All state changes of runs but the first are here (run_orders.c makes a run and orders it). What
 * concerns the job is passed on to life.c. Each function may be called again without harm.
 *
 * States of a run (run.h): ORDERED until its node says STARTING or RUNNING; ENDED or NEVER when it
 * is over; ORPHAN while it is alive and its attempt has given it up. It is booked on its node from
 * its order until it is over (run_booking.h), whatever its job does meanwhile, because only the
 * node knows that its GPUs are free. Orders name the run, and the wanted set of a registration
 * repeats them: so an order that was lost needs no state here.
 */
#include "ctld/core/jobs/run_states.h"

#include <string.h>

#include "common/job/run.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/attempts/bill.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/jobs/life.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/service.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/foreign.h"
#include "ctld/core/runs/node_state.h"
#include "ctld/core/runs/run_booking.h"
#include "ctld/core/runs/run_orders.h"
#include "ctld/core/sched/sched.h"

/* --- the end --------------------------------------------------------------------------------- */

/* Places are free, the bill is made and a broken node is drained before the job is considered again:
 * its next attempt is decided with all that known. */
void run_over_now(struct core *core, struct run *run, enum run_state state)
{
	struct job *job = run_link(run)->job;
	bool orphan = run_info(run)->state == RUN_ORPHAN;

	if (job)
		attempt_checkpoint(job, run);
	run_unbook(core, run);
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
	forget_run_order(core, run, node);
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
