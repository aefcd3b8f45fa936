/* core.c - the wiring: parts made and freed, events dispatched, slices, seals
 *
 * core_apply() and core_schedule() are the only ways in, and both end in finish(): what was
 * changed since gets one number, and the effects of the call wait for the commit of that number.
 * So whatever leaves the process is on disk before.
 *
 * A part is freed after those that use it; core_free() is the order of core_new() backwards. A
 * seal passes on the rows of what changed and frees what is gone, and it does not change the
 * state: core_hash() is the same before and after.
 *
 * A core is used by one thread at a time, and no call blocks. What takes long is done in slices:
 * searches and dependencies by core_schedule(), what time makes due by the timers.
 */
#include "ctld/core/core.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/accounts/accounts.h"
#include "ctld/core/accounts/gpu_hours_window.h"
#include "ctld/core/accounts/members.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/attempts/lost_work.h"
#include "ctld/core/attempts/run_snapshot.h"
#include "ctld/core/core_impl.h"
#include "ctld/core/depends/depends_terms.h"
#include "ctld/core/explain/test_only.h"
#include "ctld/core/intake/bulk.h"
#include "ctld/core/intake/job_control.h"
#include "ctld/core/intake/submit.h"
#include "ctld/core/jobs/array_split.h"
#include "ctld/core/jobs/depends_settle.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/jobs/job_steps.h"
#include "ctld/core/jobs/job_timers.h"
#include "ctld/core/jobs/life.h"
#include "ctld/core/limits/limits.h"
#include "ctld/core/nodes/discovered_hardware.h"
#include "ctld/core/nodes/gpu_checks.h"
#include "ctld/core/nodes/gpu_faults.h"
#include "ctld/core/nodes/node_control.h"
#include "ctld/core/nodes/node_silence.h"
#include "ctld/core/nodes/registration.h"
#include "ctld/core/nodes/run_reports.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/plan/plan.h"
#include "ctld/core/preempt/preempt_rules.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/partition.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/service.h"
#include "ctld/core/records/singletons.h"
#include "ctld/core/records/wait_replies.h"
#include "ctld/core/request/labels.h"
#include "ctld/core/request/requests.h"
#include "ctld/core/rows/audit.h"
#include "ctld/core/rows/dirty.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/ended_outcomes.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/kept_rows.h"
#include "ctld/core/rows/nonce.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/foreign.h"
#include "ctld/core/sched/sched.h"
#include "ctld/core/services/services.h"
#include "ctld/core/util/heap.h"
#include "ctld/core/util/idmap.h"

/* Makes the parts without content. What depends on the rows (ledger, limits, classes) is made when
 * they are loaded: load.c. */
struct core *core_new(const struct conf *conf, uint64_t seed)
{
	struct core *core = xcalloc(1, sizeof(*core));

	core->given = core->conf = conf;
	core->hardware_due = INT64_MAX;
	core->seed = seed;
	core->disk_free_mb = UINT64_MAX;
	core->budget = budget_new();
	budget_configure(core->budget, &conf->controller);
	core->dirty = dirty_new();
	core->strings = strings_new(seed);
	core->requests = requests_new(core->strings, conf, seed);
	core->labels = label_sets_new(core->strings, seed);
	core->meta = meta_new(core->dirty);
	core->partitions = partitions_new(core->meta);
	core->nonces = nonces_new(core->dirty, seed);
	core->jobs = jobs_new(
	        core->strings, core->requests, core->labels, core->nonces, core->dirty, core->budget, seed);
	core->services = services_new(core->strings, core->dirty, core->budget);
	core->runs = runs_new(core->strings, core->dirty, seed);
	core->nodes = nodes_new(core->strings, core->dirty, seed);
	core->accounts = accounts_new(core->strings, core->dirty, seed);
	core->hours = hours_new(core->strings, core->dirty, seed);
	core->sched = sched_new(core->strings, core->requests, core->accounts, seed,
	        &(struct plan_runs){ snapshots_on_node, snapshot_work, core });
	core->wait_replies = wait_replies_new(seed);
	core->start_replies = wait_replies_new(seed);
	core->audit = audit_new();
	core->foreign = foreign_new();
	core->kept_rows = kept_rows_new();
	core->effects = effects_new();
	core->node_timers = heap_new(node_moved);
	core->job_timers = heap_new(job_timer_moved);
	core->checks = heap_new(gpu_checks_moved);
	core->outcomes = outcomes_new(core->dirty);
	core->singletons = singletons_new(seed);
	core->waiting = idmap_new();
	return core;
}

void core_free(struct core *core)
{
	const struct job *job;

	if (!core)
		return;
	core_drain(core, NULL, NULL);
	bulk_free(core);
	/* Jobs drop their dependencies before the jobs that these name are freed. */
	for (job = jobs_next(core->jobs, 0); job; job = jobs_next(core->jobs, job_ref(job)))
		depends_detach(core, jobs_find(core->jobs, job_ref(job)));
	for (job = jobs_next(core->jobs, 0); job; job = jobs_next(core->jobs, job_ref(job)))
		depends_forget(core, jobs_find(core->jobs, job_ref(job)));
	for (job = jobs_next(core->jobs, 0); job; job = jobs_next(core->jobs, job_ref(job)))
		job_steps_forget(core, jobs_find(core->jobs, job_ref(job)));
	for (job = core->limits ? jobs_next(core->jobs, 0) : NULL; job;
	        job = jobs_next(core->jobs, job_ref(job)))
		job_forget_taken(core, jobs_find(core->jobs, job_ref(job)));
	effects_free(core->effects);
	audit_free(core->audit);
	foreign_free(core->foreign);
	kept_rows_free(core->kept_rows);
	wait_replies_free(core->wait_replies);
	wait_replies_free(core->start_replies);
	sched_free(core->sched);
	limits_free(core->limits);
	members_free(core->members);
	ledger_free(core->ledger);
	heap_free(core->node_timers);
	heap_free(core->job_timers);
	heap_free(core->checks);
	outcomes_free(core->outcomes);
	singletons_free(core->singletons);
	idmap_free(core->waiting);
	services_free(core->services);
	runs_free(core->runs);
	jobs_free(core->jobs);
	nodes_free(core->nodes);
	accounts_free(core->accounts);
	hours_free(core->hours);
	nonces_free(core->nonces);
	partitions_free(core->partitions);
	meta_free(core->meta);
	label_sets_free(core->labels);
	requests_free(core->requests);
	strings_free(core->strings);
	dirty_free(core->dirty);
	budget_free(core->budget);
	hardware_free(core->hardware);
	free(core->suspended);
	free(core);
}

/* --- events ---------------------------------------------------------------------------------- */

static void on_wait_cancel(struct core *core, const struct core_event *e)
{
	wait_replies_cancel(core->wait_replies, e->wait);
	wait_replies_cancel(core->start_replies, e->wait);
}

static void on_agent_gone(struct core *core, const struct core_event *e)
{
	agent_gone_apply(core, e->agent.node, e->agent.session);
}

static void on_heartbeat(struct core *core, const struct core_event *e)
{
	heartbeat_apply(core, e->agent.node, e->agent.session);
}

static void on_fenced(struct core *core, const struct core_event *e)
{
	fenced_apply(core, e->fenced.node, e->fenced.off);
}

static void on_disk_free(struct core *core, const struct core_event *e)
{
	core->disk_free_mb = e->disk_free_mb;
}

static void on_note(struct core *core, const struct core_event *e)
{
	audit_note(core, e->note.kind, e->note.nobody ? NULL : &e->caller, 0, "", e->note.text);
}

static void on_clock(struct core *core, const struct core_event *e)
{
	(void)e;
	timers_apply(core);
}

/* The process ends in an orderly way: the ids that are left of its leases are given back. */
static void on_ending(struct core *core, const struct core_event *e)
{
	(void)e;
	meta_give_back(core->meta);
}

static void on_submit(struct core *core, const struct core_event *e)
{
	if (e->submit.test_only)
		test_only_apply(core, e);
	else
		submit_apply(core, e);
}

typedef void apply_fn(struct core *core, const struct core_event *e);
static apply_fn *const handlers[] = {
	[EV_SUBMIT] = on_submit,
	[EV_BULK] = bulk_apply,
	[EV_JOB_CONTROL] = job_control_apply,
	[EV_NODE_CONTROL] = node_control_apply,
	[EV_PARTITION_CONTROL] = partition_control_apply,
	[EV_WAIT_JOB] = wait_apply,
	[EV_WAIT_START] = wait_apply,
	[EV_WAIT_CANCEL] = on_wait_cancel,
	[EV_AGENT_UP] = agent_up_apply,
	[EV_AGENT_GONE] = on_agent_gone,
	[EV_HEARTBEAT] = on_heartbeat,
	[EV_RUN_REPORT] = run_report_apply,
	[EV_RUNS_USED] = runs_used_apply,
	[EV_GPU_REPORT] = gpu_report_apply,
	[EV_STEP_REPORTS] = step_reports_apply,
	[EV_SERVICE_CONTROL] = service_control_apply,
	[EV_RUNS_LOAD] = runs_load_apply,
	[EV_FENCED] = on_fenced,
	[EV_DISK_FREE] = on_disk_free,
	[EV_NOTE] = on_note,
	[EV_ENDING] = on_ending,
	[EV_CLOCK] = on_clock,
};

/* Gives all changes since the last call one number; the effects wait until it is committed. */
static void finish(struct core *core)
{
	core->change += dirty_touched(core->dirty) + audit_touched(core->audit);
	effects_number(core->effects, core->change);
}

/* An event of an unknown kind changes nothing. After it, its effects have the number of the change
 * that they wait for. */
void core_apply(struct core *core, const struct core_event *event, struct clocks now)
{
	core->now = now;
	if (core->started)
		sched_now(core->sched, now);
	core->n_events++;
	if ((size_t)event->kind < sizeof(handlers) / sizeof(handlers[0]))
		handlers[event->kind](core, event);
	if (core->started)
		services_apply(core);
	finish(core);
}

/* One call of core_schedule() settles so many dependencies. */
#define SETTLE_SLICE 256

/* Carries out what the scheduler has decided in one step. The scheduler itself changes no job. */
static void do_pick(struct core *core, enum sched_step step, const struct sched_pick *pick)
{
	struct job *job;

	switch (step) {
	case SCHED_IDLE:
	case SCHED_BLOCKED:
		break;
	case SCHED_PICKED:
		if (job_signature_old(core, pick->job)) {
			job_expires(core, pick->job);
			break;
		}
		job = array_first(core, pick->job);
		job_choose(core, job, pick->choice);
		job_start(core, job, pick->places, &pick->need);
		break;
	case SCHED_PREEMPT:
		for (size_t i = 0; i < pick->n_victims; i++)
			job_preempt(core, &pick->victims[i], pick->job);
		sched_reserve_preemption(core->sched, pick);
		job_note_plan(core, pick->job, pick->planned);
		break;
	case SCHED_PLANNED:
		job_note_plan(core, pick->job, pick->planned);
		break;
	}
}

/* Dependencies come first, since they make jobs eligible. Then up to `budget` steps of the
 * scheduler, fewer if one of them was a step of a search. True: there is more to do at once. */
bool core_schedule(struct core *core, struct clocks now, unsigned budget)
{
	struct sched_pick pick;
	bool settling;

	core->now = now;
	sched_now(core->sched, now);
	if (core->suspended)
		return false;
	if (!nodes_expected(core->nodes))
		sched_patience(core->sched, 0);
	settling = depends_settle(core, SETTLE_SLICE);
	for (; budget; budget--) {
		enum sched_step step = sched_step(core->sched, &pick);

		if (step == SCHED_IDLE)
			break;
		do_pick(core, step, &pick);
		if (pick.searched)
			break; /* as long as a slice may be */
	}
	services_apply(core);
	finish(core);
	return settling || core->settle_first || !sched_idle(core->sched);
}

usec_t core_next_timer(const struct core *core)
{
	return timers_next(core);
}

const struct effect *core_effects(const struct core *core, size_t *n)
{
	return effects_get(core->effects, n);
}

void core_effects_clear(struct core *core)
{
	effects_clear(core->effects);
}

uint64_t core_last_event(const struct core *core)
{
	return meta_last_event(core->meta);
}

uint64_t core_change(const struct core *core)
{
	return core->change;
}

uint64_t core_hash(const struct core *core)
{
	uint64_t sum = meta_hash(core->meta) + nodes_hash(core->nodes) + runs_hash(core->runs) +
	               nonces_hash(core->nonces) + accounts_hash(core->accounts) +
	               hours_hash(core->hours) + services_hash(core->services) + outcomes_hash(core->outcomes) + bulk_hash(core);
	const struct job *job;
	struct row row;

	for (job = jobs_next(core->jobs, 0); job; job = jobs_next(core->jobs, job_ref(job))) {
		job_encode(job, &row, ROW_PUT);
		sum += row_hash(&row);
	}
	return sum;
}

const struct service *core_service(const struct core *core, const char *name)
{
	return services_find(core->services, name);
}

const struct service *core_service_after(const struct core *core, const char *after)
{
	return services_next(core->services, after);
}

bool core_is_suspended(const struct core *core, const char **text)
{
	if (core->suspended && text)
		*text = core->suspended;
	return core->suspended;
}

/* Each number is kept up to date elsewhere: nothing is counted here. */
void core_stats(const struct core *core, struct core_stats *stats)
{
	struct sched_stats sched;

	static_assert(sizeof(core->n_preempted) / sizeof(core->n_preempted[0]) == PREEMPT_REASONS,
	        "a count for each reason");
	sched_stats(core->sched, &sched);
	*stats = (struct core_stats){
		.epoch = meta_epoch(core->meta),
		.change = core->change,
		.next_job = meta_next_job(core->meta),
		.jobs = jobs_count(core->jobs),
		.jobs_pending = jobs_count_in(core->jobs, JOB_PENDING),
		.jobs_running = jobs_count_in(core->jobs, JOB_CONFIGURING) +
		                jobs_count_in(core->jobs, JOB_RUNNING) +
		                jobs_count_in(core->jobs, JOB_SUSPENDED) +
		                jobs_count_in(core->jobs, JOB_COMPLETING),
		.runs = runs_count(core->runs),
		.classes = sched.classes,
		.classes_parked = sched.blocked,
		.events = core->n_events,
		.passes = sched.passes,
		.placements_tried = sched.tried,
		.started = core->n_started,
		.ended = core->n_ended,
		.preempted_tier = core->n_preempted[PREEMPT_TIER],
		.preempted_qos = core->n_preempted[PREEMPT_QOS],
		.preempted_reclaim = core->n_preempted[PREEMPT_RECLAIM],
		.nodes = core->conf->n_nodes,
		.nodes_up = nodes_heard(core->nodes),
	};
}
