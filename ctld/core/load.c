/* load.c - from rows to a living core; from one configuration to another
 *
 * Everything that is not in rows is made here, by the same code at a start and at a change of the
 * configuration: bookings, classes, counts. Before the start rows only fill the tables.
 *
 * Order matters, at a start and at a change alike. What was found on nodes is filled into the
 * configuration first; requests and nodes get their numbers by it; ledger and limits are made
 * empty; classes are configured; then runs are booked, jobs count at the limits and enter their
 * classes. Rows that cannot all be true stop the start with the row named, because a controller
 * that goes on with a wrong state would make it durable.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/accounts/accounts.h"
#include "ctld/core/accounts/gpu_hours_window.h"
#include "ctld/core/accounts/members.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/attempts/bill.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/core.h"
#include "ctld/core/core_impl.h"
#include "ctld/core/intake/bulk.h"
#include "ctld/core/intake/recount_queued.h"
#include "ctld/core/jobs/depends_attach.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/jobs/job_timers.h"
#include "ctld/core/jobs/retire.h"
#include "ctld/core/limits/limits.h"
#include "ctld/core/nodes/discovered_hardware.h"
#include "ctld/core/nodes/gpu_checks.h"
#include "ctld/core/nodes/node_silence.h"
#include "ctld/core/nodes/registration_check.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/partition.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/service.h"
#include "ctld/core/records/singletons.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/ended_outcomes.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/foreign.h"
#include "ctld/core/runs/node_state.h"
#include "ctld/core/runs/run_booking.h"
#include "ctld/core/sched/sched.h"
#include "ctld/core/services/services.h"
#include "ctld/core/util/heap.h"

int core_load(struct core *core, const struct row *row, struct error *err)
{
	if (core->started)
		return error_set(err, ERR_INTERNAL, "a row after the start");
	if (row_check(row, err) < 0)
		return -1;
	switch (row->table) {
	case TABLE_META:
		return meta_load(core->meta, row, err);
	case TABLE_NODE:
		return nodes_load(core->nodes, row, err);
	case TABLE_JOB:
		return bulk_left_over(core, row) ? 0 : jobs_load(core->jobs, row, err);
	case TABLE_RUN:
		return runs_load(core->runs, row, err);
	case TABLE_NONCE:
		return nonces_load(core->nonces, row, err);
	case TABLE_USAGE:
		return accounts_load(core->accounts, row, err);
	case TABLE_HOURS:
		return hours_load(core->hours, row, err);
	case TABLE_FATE:
		return outcomes_load(core->outcomes, row, err);
	case TABLE_SERVICE:
		return services_load(core->services, row, err);
	case TABLE_EVENT:
	case TABLE_STEP:
	case TABLE_COUNT:
		break;
	}
	return 0; /* events and ended steps are for people */
}

/* --- runs ------------------------------------------------------------------------------------ */

static int bad_run(const struct run *run, struct error *err, const char *what)
{
	const struct run_info *i = run_info(run);

	return error_set(err, ERR_INTERNAL, "run %llu.%u.%u, %s on %s: %s",
	        (unsigned long long)i->id.job, i->id.attempt, i->id.rank, run_state_name(i->state),
	        i->node, what);
}

/* Give each run to its job. A run that is not over keeps its CPUs, memory and GPUs. Orphan runs
 * come last: they get what is left. */
static int adopt_rows(struct core *core, struct run **v, size_t n, struct error *err)
{
	/* Backwards: each is then the first of its job, or near it. */
	for (size_t i = n; i-- > 0;) {
		struct job *job = jobs_of_run(core->jobs, run_info(v[i])->id);

		if (job)
			run_attach(job, v[i]);
		else if (!run_over(v[i]) && run_info(v[i])->state != RUN_ORPHAN)
			return bad_run(v[i], err, "there is no such job");
	}
	for (int orphans = 0; orphans <= 1; orphans++) {
		for (size_t i = 0; i < n; i++) {
			if (run_over(v[i]) || (run_info(v[i])->state == RUN_ORPHAN) != orphans)
				continue;
			run_book(core, v[i], nodes_want(core->nodes, run_info(v[i])->node));
			if (!orphans && run_link(v[i])->booked != run_info(v[i])->gpus)
				return bad_run(v[i], err, "its GPUs are held by another run too");
		}
	}
	if (bill_start(core, v, n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (run_over(v[i]) && !run_link(v[i])->job)
			foreign_keep(core, v[i]);
	}
	return 0;
}

/* --- jobs ------------------------------------------------------------------------------------ */

/* A row may contain anything: check what the rest of the core asserts of a job. */
static int check_job(const struct core *core, const struct job *job, struct error *err)
{
	const struct job_info *i = job_info(job);
	const struct run *run = job_run(job);
	bool runs = attempt_lives(job);
	bool should = i->state != JOB_PENDING && !job_state_ended(i->state);

	if (i->id + job_ids(job) > meta_next_job(core->meta))
		return error_set(err, ERR_INTERNAL, "job %llu: its id was never handed out",
		        (unsigned long long)i->id);
	if (runs != should)
		return error_set(err, ERR_INTERNAL, "job %llu is %s, and its run %s",
		        (unsigned long long)i->id, job_state_name(i->state),
		        run ? run_state_name(run_info(run)->state) : "is not there");
	return 0;
}

static int by_end(const void *x, const void *y)
{
	const struct job_info *a = job_info(*(struct job *const *)x);
	const struct job_info *b = job_info(*(struct job *const *)y);

	if (a->end_time != b->end_time)
		return a->end_time < b->end_time ? -1 : 1;
	return a->id < b->id ? -1 : 1;
}

/* Lists the jobs that have ended, each with its end time converted to this process's monotonic
 * clock. */
static void list_ended(struct core *core)
{
	size_t n = 0, i;
	struct job **v = xcalloc(jobs_count(core->jobs), sizeof(struct job *)), *job;

	for (job = jobs_next(core->jobs, 0); job; job = jobs_next(core->jobs, job_ref(job))) {
		if (job_state_ended(job_info(job)->state))
			v[n++] = job;
	}
	qsort(v, n, sizeof(struct job *), by_end);
	for (i = 0; i < n; i++) {
		usec_t ago = core->now.wall - job_info(v[i])->end_time;

		job_list_ended(core, v[i], core->now.mono - (ago < 0 ? 0 : ago));
	}
	free(v);
}

/* Adds the job to the list of its name, as active if it has an attempt. */
static void name_job(struct core *core, struct job *job)
{
	enum job_state state = (enum job_state)job_info(job)->state;

	const struct array *a = job_array(job);

	if (job_state_ended(state) || job_info(job)->part)
		return;
	singletons_add(core->singletons, job);
	if (a ? a->running : state != JOB_PENDING)
		singletons_active(job, 1);
}

static int take_jobs(struct core *core, struct error *err)
{
	struct job *job;

	for (job = jobs_next(core->jobs, 0); job; job = jobs_next(core->jobs, job_ref(job))) {
		if (check_job(core, job, err) < 0)
			return -1;
		attempt_name_nodes(core, job);
		name_job(core, job);
		/* A part waits for what its array waits for. */
		if (!job_info(job)->part)
			depends_attach(core, job);
		if (job_info(job)->state == JOB_PENDING && job_signature_old(core, job))
			job_expires(core, job);
		job_take_again(core, job);
		job_timer_set(core, job);
	}
	/* Only now: whether a job is eligible may depend on all other jobs of its name. */
	for (job = jobs_next(core->jobs, 0); job; job = jobs_next(core->jobs, job_ref(job)))
		job_consider(core, job);
	list_ended(core);
	return 0;
}

/* --- the start ------------------------------------------------------------------------------- */

/* Called when all rows are loaded. No order goes to a node before the node registers. */
int core_start(struct core *core, struct clocks now, struct error *err)
{
	struct run **v;
	size_t n;
	int rc;

	core->now = now;
	if (core->started)
		return error_set(err, ERR_INTERNAL, "started twice");
	if (meta_start(core->meta, core->conf->cluster, err) < 0)
		return -1;
	core->hardware = hardware_new(core->given, core->nodes);
	core->conf = hardware_conf(core->hardware);
	requests_resolve(core->requests, core->conf);
	nodes_configure(core->nodes, core->conf, now.mono);
	nodes_start(core->nodes, now);
	core->ledger = ledger_new(core->conf);
	core->limits = limits_new(core->conf, core->seed);
	core->members = members_new(core->conf, core->seed);
	limits_set_hours(core->limits, core->hours);
	limits_time(core->limits, now);
	hours_configure(core->hours, core->conf, now);
	partitions_configure(core->partitions, core->conf);
	accounts_configure(core->accounts, core->conf, now);
	sched_now(core->sched, now);
	sched_configure(core->sched, core->conf, core->ledger, core->limits, core->partitions);
	for (n = 0; n < core->conf->n_nodes; n++)
		node_settle(core, nodes_at(core->nodes, (uint32_t)n));
	v = runs_sorted(core->runs, &n);
	rc = adopt_rows(core, v, n, err);
	free(v);
	nodes_expect(core->nodes);
	if (nodes_expected(core->nodes))
		sched_patience(core->sched, now.mono + START_PATIENCE);
	/* Which slots may run, and for how long they were signed, is the service's affair. */
	if (rc < 0 || services_start(core, err) < 0 || take_jobs(core, err) < 0)
		return -1;
	jobs_count_queued(core);
	bulk_start(core);
	nonces_start(core->nonces, now);
	core->started = true;
	core->change += dirty_touched(core->dirty);
	effects_number(core->effects, core->change);
	return 0;
}

/* More events than happen after a backup: history.db may have them, and a number is given out
 * once. */
#define TAKEOVER_EVENTS 1000000000

static uint64_t last_known_job(const struct core *core)
{
	uint64_t last = outcomes_last(core->outcomes);
	const struct job *job;

	for (job = jobs_next(core->jobs, 0); job; job = jobs_next(core->jobs, job_ref(job)))
		last = job_id(job) + job_ids(job) > last + 1 ? job_id(job) + job_ids(job) - 1 : last;
	return last;
}

void core_takeover(struct core *core, uint64_t epoch_above, uint64_t job_above)
{
	core->takeover = true;
	free(core->suspended);
	core->suspended = NULL;
	meta_raise(core->meta, epoch_above, job_above);
	meta_taken_over(core->meta, last_known_job(core));
	meta_skip_events(core->meta, TAKEOVER_EVENTS);
	core->change += dirty_touched(core->dirty);
}

/* --- another configuration ------------------------------------------------------------------- */

/* All runs that are booked, into a new ledger; orphan runs get what is left. */
static void book_again(struct core *core)
{
	size_t cursor = 0;
	struct node *node;

	while ((node = nodes_each(core->nodes, &cursor))) {
		for (int orphans = 0; orphans <= 1; orphans++) {
			struct run *run = node_link(node)->runs;

			for (; run; run = run_link(run)->next_of_node) {
				if ((run_info(run)->state == RUN_ORPHAN) == orphans)
					run_hold(core, run);
			}
		}
	}
}

/* Nodes that this configuration no longer has: their sessions end and their timers are stopped.
 * Their runs stay booked. */
static void close_left(struct core *core)
{
	size_t cursor = 0;
	struct node *node;

	while ((node = nodes_each(core->nodes, &cursor))) {
		struct node_link *l = node_link(node);

		if (l->index != NODE_LEFT)
			continue;
		if (l->slot != HEAP_NOWHERE)
			heap_remove(core->node_timers, l->slot);
		gpu_checks_later(core, node);
		node_close(core, node, "the node has left the configuration");
		foreign_forgotten(core, node, NULL);
	}
}

/* Moves what jobs count from the old limits to the new ones. */
static void take_again(struct core *core, bool forget)
{
	struct job *job;

	for (job = jobs_next(core->jobs, 0); job; job = jobs_next(core->jobs, job_ref(job))) {
		if (forget)
			job_forget_taken(core, job);
		else
			job_take_again(core, job);
	}
}

/* The counts of capacity belong to the old limits; the new ones have none yet. */
static void forget_counted(struct core *core)
{
	memset(core->gpus_counted, 0, sizeof(core->gpus_counted));
	for (uint32_t i = 0; i < core->conf->n_nodes; i++)
		node_link(nodes_at(core->nodes, i))->counted = 0;
}

const struct conf *core_conf(const struct core *core)
{
	return core->conf;
}

struct budget *core_budget(const struct core *core)
{
	return core->budget;
}

/* The new configuration includes the known hardware: check each node against it. */
static void settle_nodes(struct core *core)
{
	for (uint32_t i = 0; i < core->conf->n_nodes; i++)
		node_link(nodes_at(core->nodes, i))->stale = false;
	for (uint32_t i = 0; i < core->conf->n_nodes; i++) {
		struct node *node = nodes_at(core->nodes, i);

		if (node_link(node)->session)
			node_compare(core, node);
		node_timer_set(core, node);
		node_settle(core, node);
	}
}

/* Replaces core->conf by core->given with the hardware found on the nodes filled in. */
static void reconfigure(struct core *core)
{
	struct ledger *old = core->ledger;
	struct limits *old_limits = core->limits;
	struct hardware *old_hardware = core->hardware;
	struct clocks now = core->now;
	const struct conf *conf;

	take_again(core, true);
	core->hardware = hardware_new(core->given, core->nodes);
	core->hardware_due = INT64_MAX;
	core->hardware_made = now.mono;
	core->conf = conf = hardware_conf(core->hardware);
	requests_resolve(core->requests, conf);
	nodes_configure(core->nodes, conf, now.mono);
	core->ledger = ledger_new(conf);
	core->limits = limits_new(conf, core->seed);
	members_free(core->members);
	core->members = members_new(conf, core->seed);
	forget_counted(core);
	limits_set_hours(core->limits, core->hours);
	limits_time(core->limits, now);
	bill_reconfigured(core);
	for (uint32_t i = 0; i < conf->n_nodes; i++)
		node_link(nodes_at(core->nodes, i))->counted = 0;
	partitions_configure(core->partitions, conf);
	accounts_configure(core->accounts, conf, now);
	sched_configure(core->sched, conf, core->ledger, core->limits, core->partitions);
	jobs_count_queued(core);
	ledger_free(old);
	limits_free(old_limits);
	book_again(core);
	take_again(core, false);
	close_left(core);
	settle_nodes(core);
	/* The nodes that a service avoids are kept in its requests by number, and the numbers have
	 * changed: a step of the service sets them again. */
	for (struct service *s = services_next(core->services, NULL); s;
	        s = services_next(core->services, service_info(s)->name))
		services_touch(core->services, s);
	hardware_free(old_hardware);
}

void core_rehardware(struct core *core)
{
	reconfigure(core);
}

void core_reconfigure(struct core *core, const struct conf *conf, struct clocks now)
{
	core->now = now;
	sched_now(core->sched, now);
	core->given = conf;
	budget_configure(core->budget, &conf->controller);
	reconfigure(core);
	core->change += dirty_touched(core->dirty);
	effects_number(core->effects, core->change);
}
