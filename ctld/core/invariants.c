/* invariants.c - do all invariants hold?
 *
 * Slow on purpose: everything derived is worked out again from the durable fields and compared.
 *
 * core_check() returns the first invariant that does not hold, with the object that breaks it.
 * Tests call it after every event, gsim and replays where they are asked to, and the check of a
 * database once. A new derived field belongs here: what is not checked will differ one day.
 */
#include <stdlib.h>
#include <string.h>

#include "ctld/core/attempts/attempt.h"
#include "ctld/core/attempts/bill.h"
#include "ctld/core/attempts/run_snapshot.h"
#include "ctld/core/core.h"
#include "ctld/core/depends/depends_invariants.h"
#include "ctld/core/depends/depends_open.h"
#include "ctld/core/intake/recount_queued.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/array.h"
#include "ctld/core/records/job_partitions.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/singletons.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/class.h"
#include "ctld/core/sched/sched.h"
#include "ctld/core/util/heap.h"
#include "ctld/core/util/idmap.h"

#define BROKEN(err, ...) error_set(err, ERR_INTERNAL, __VA_ARGS__)

/* --- jobs ------------------------------------------------------------------------------------ */

/* There is one attempt at a time, its ranks are in order and on different nodes. Unless the
 * attempt is being ended, none of its runs has ended badly. */
static int check_runs_of(const struct job *job, struct error *err)
{
	const struct job_info *i = job_info(job);
	unsigned long long id = i->id;
	const struct run *r, *next;

	for (r = job_link_of(job)->runs; r; r = next) {
		const struct run_info *run = run_info(r);

		next = run_link_of(r)->next_of_job;
		if (run_link_of(r)->job != job || run->id.job != i->id)
			return BROKEN(err, "job %llu: a run of another job", id);
		if (run_lives(r) && run->id.attempt != i->attempt)
			return BROKEN(err, "job %llu: attempts %u and %u at once", id, i->attempt,
			        run->id.attempt);
		if (run->id.rank >= run->nodes)
			return BROKEN(err, "job %llu: rank %u of %u", id, run->id.rank, run->nodes);
		if (run->id.attempt == i->attempt && !run_lives(r) && !run_ended_well(r) &&
		        (i->state == JOB_CONFIGURING || i->state == JOB_RUNNING ||
		                i->state == JOB_SUSPENDED))
			return BROKEN(err, "job %llu is %s, and its rank %u is %s", id,
			        job_state_name(i->state), run->id.rank, run_state_name(run->state));
		if (!next || run_info(next)->id.attempt != run->id.attempt)
			continue;
		if (run_info(next)->id.rank <= run->id.rank || run_info(next)->node == run->node ||
		        run_info(next)->nodes != run->nodes)
			return BROKEN(err, "job %llu: ranks %u and %u do not go together", id,
			        run->id.rank, run_info(next)->id.rank);
	}
	return 0;
}

/* Each task of the signed set waits under one record, or has had one: none is lost and none counts
 * twice. */
static int check_array(const struct job *own, struct error *err)
{
	const struct array *a = job_link_of(own)->array;
	uint32_t waiting = job_weight(own), live = 0, running = 0, alone = 0, ended = 0, ill = 0;
	const struct job *p, *w;
	size_t listed = 0, pending = job_info(own)->state == JOB_PENDING;
	int rc = 0;

	for (w = a->waiting; w; w = job_link_of(w)->next)
		listed++;
	if (taskset_common(&a->all, job_tasks(own)) != waiting)
		rc = BROKEN(err, "array %llu has tasks that were not signed",
		        (unsigned long long)job_id(own));
	for (p = idmap_next(a->parts, 0); p && rc == 0;
	        p = idmap_next(a->parts, job_info(p)->part)) {
		enum job_state s = job_info(p)->state;

		if (job_link_of(p)->own != own || !job_weight(p))
			rc = BROKEN(err, "array %llu: a part of another, or of nothing",
			        (unsigned long long)job_id(own));
		if (job_tasks(own)->count &&
		        (job_tasks(p) ? taskset_meets(job_tasks(own), job_tasks(p))
		                      : taskset_has(job_tasks(own), job_task(p))))
			rc = BROKEN(err, "array %llu: a task stands under two records",
			        (unsigned long long)job_id(own));
		live += !job_state_ended(s);
		running += !job_state_ended(s) && s != JOB_PENDING;
		pending += s == JOB_PENDING;
		alone += job_state_ended(s) ? 0 : job_weight(p);
		ended += job_state_ended(s) ? job_weight(p) : 0;
		ill += job_state_ended(s) && s != JOB_COMPLETED ? job_weight(p) : 0;
	}
	if (rc == 0 && (live != a->live || running != a->running || listed != pending))
		rc = BROKEN(err,
		        "array %llu counts %u live parts of %u, %u running of %u, %zu that wait of "
		        "%zu",
		        (unsigned long long)job_id(own), a->live, live, a->running, running, listed,
		        pending);
	if (rc == 0 && (ended != a->ended_here || ill != a->ill_here))
		rc = BROKEN(err, "array %llu counts %u tasks of parts that have ended, and has %u",
		        (unsigned long long)job_id(own), a->ended_here, ended);
	if (rc == 0 && (waiting + alone + a->ended != a->all.count || a->ended < ended))
		rc = BROKEN(err, "array %llu of %u tasks: %u wait, %u have records, %u have ended",
		        (unsigned long long)job_id(own), a->all.count, waiting, alone, a->ended);
	if (rc == 0 && job_state_ended(job_info(own)->state) != (a->ended == a->all.count))
		rc = BROKEN(err, "array %llu is %s, and %u of its %u tasks have ended",
		        (unsigned long long)job_id(own), job_state_name(job_info(own)->state),
		        a->ended, a->all.count);
	return rc;
}

/* An eligible job stands in one class for each of its partitions. */
static int check_queued(const struct job *job, struct error *err)
{
	const struct job_link *l = job_link_of(job);
	unsigned long long id = job_id(job);
	const struct queued *q;
	uint32_t k;

	for (k = 0; (q = job_queued(job, k)); k++) {
		if (q->job != job || heap_at(class_link(q->class)->queue, q->slot) != q)
			return BROKEN(err, "job %llu is not where its class has it", id);
	}
	if (l->queued.class ? k != job_choices(job_info(job)) : l->n_others || l->others)
		return BROKEN(err, "job %llu is in %u classes", id, k);
	return 0;
}

/* The states of a job and of its runs agree. The job is in a class exactly if it is eligible; its
 * timer, nonce, dependencies and list of names refer to it. */
static int check_job(const struct core *core, const struct job *job, struct error *err)
{
	const struct job_info *i = job_info(job);
	const struct job_link *l = job_link_of(job);
	unsigned long long id = i->id;
	const struct run *run = job_run(job);
	bool waits = i->state == JOB_PENDING, ended = job_state_ended(i->state);
	bool runs = attempt_lives(job), eligible, active;

	if (i->id + job_ids(job) > meta_next_job(core->meta))
		return BROKEN(err, "job %llu: its id was not handed out", id);
	if (runs != (!waits && !ended))
		return BROKEN(err, "job %llu is %s, and its run is %s", id,
		        job_state_name(i->state),
		        run ? run_state_name(run_info(run)->state) : "not there");
	/* A job with a begin time in the future has a timer; the wall clock may have been set back
	 * since. */
	eligible = waits && !i->hold && !l->expired && !job_orphan(job) && job_weight(job) &&
	           !array_full(job) && !depends_open(job);
	if (eligible && !l->queued.class && i->begin_time && l->timer != HEAP_NOWHERE)
		eligible = false;
	if ((l->queued.class != NULL) != eligible)
		return BROKEN(err, "job %llu is %s a class", id, l->queued.class ? "in" : "in not");
	if (check_queued(job, err) < 0)
		return -1;
	if (ended && (!i->end_time || i->end_time < i->start_time))
		return BROKEN(err, "job %llu ended before it started", id);
	if (!i->nonce || i->nonce->job != i->id || i->nonce->uid != i->uid)
		return BROKEN(err, "job %llu: its nonce is of another", id);
	if ((i->state == JOB_RUNNING || i->state == JOB_SUSPENDED) &&
	        (!attempt_runs(job) || attempt_suspended(job) != (i->state == JOB_SUSPENDED)))
		return BROKEN(err, "job %llu is %s, and not all of its runs are", id,
		        job_state_name(i->state));
	if (job_link_of(job)->array && check_array(job, err) < 0)
		return -1;
	/* For an array, the array parent stands in the list of its name and has the
	 * dependencies. */
	active = job_link_of(job)->array ? job_link_of(job)->array->running : !waits && !ended;
	if (!i->part && (singletons_check(job, ended, active, err) < 0 ||
	                        depends_check_job(core, job, err) < 0))
		return -1;
	if (i->part && waits && depends_check_part(core, job, err) < 0)
		return -1;
	if (l->steps && (waits || ended))
		return BROKEN(err, "job %llu does not run, and has steps", id);
	if (l->timer != HEAP_NOWHERE && heap_at(core->job_timers, l->timer) != job)
		return BROKEN(err, "job %llu is not where the alarms have it", id);
	if (i->deadline && !ended && i->state != JOB_COMPLETING && job_weight(job) &&
	        l->timer == HEAP_NOWHERE)
		return BROKEN(err, "job %llu has a deadline and no alarm", id);
	return check_runs_of(job, err);
}

/* Checks one of the lists of ended records, from which jobs leave memory. */
static int check_ended(const struct ended *list, bool parts, struct error *err)
{
	size_t n = 0;

	for (const struct job *job = list->first; job; job = job_link_of(job)->next, n++) {
		if (!job_state_ended(job_info(job)->state) || (job_info(job)->part != 0) != parts)
			return BROKEN(err, "job %llu is listed as ended",
			        (unsigned long long)job_id(job));
	}
	if (n != list->n)
		return BROKEN(err, "%zu jobs are listed as ended, %zu are counted", n, list->n);
	return 0;
}

static int check_jobs(const struct core *core, struct error *err)
{
	size_t in_state[JOB_STATE_COUNT] = { 0 }, ended = 0;
	const struct job *job;

	for (job = jobs_next(core->jobs, 0); job; job = jobs_next(core->jobs, job_ref(job))) {
		if (check_job(core, job, err) < 0)
			return -1;
		in_state[job_info(job)->state] += job_weight(job);
		ended += job_state_ended(job_info(job)->state);
	}
	for (int s = 0; s < JOB_STATE_COUNT; s++) {
		if (in_state[s] != jobs_count_in(core->jobs, s))
			return BROKEN(err, "%zu jobs are %s, %zu are counted", in_state[s],
			        job_state_name(s), jobs_count_in(core->jobs, s));
	}
	if (check_ended(&core->jobs_ended, false, err) < 0 ||
	        check_ended(&core->tasks_ended, true, err) < 0)
		return -1;
	if (core->jobs_ended.n + core->tasks_ended.n != ended)
		return BROKEN(err, "%zu jobs have ended, %zu are listed", ended,
		        core->jobs_ended.n + core->tasks_ended.n);
	return 0;
}

/* The numbers of jobs by partition, as listings of partitions show them. */
static int check_counts(const struct core *core, struct error *err)
{
	uint32_t pending = 0, running = 0;
	const struct job_count *c;
	const struct job *job, *first;

	first = jobs_next(core->jobs, 0);
	if (!first)
		return 0;
	/* Only the partition of the first job is counted: the same code keeps the counts of the
	 * others. */
	for (job = first; job; job = jobs_next(core->jobs, job_ref(job))) {
		if (job_state_ended(job_info(job)->state))
			continue;
		if (job_info(job)->state == JOB_PENDING)
			pending += job_may_choose(job_info(job), job_info(first)->partition)
			                   ? job_weight(job)
			                   : 0;
		else if (job_info(job)->partition == job_info(first)->partition)
			running += job_weight(job);
	}
	c = jobs_count_of(core->jobs, job_info(first)->partition);
	if (c->pending != pending || c->running != running)
		return BROKEN(err, "partition %s: %u jobs wait and %u run, %u and %u are counted",
		        c->partition, pending, running, c->pending, c->running);
	return 0;
}

/* --- runs and nodes -------------------------------------------------------------------------- */

/* A run is booked, on its own node and with its own GPUs, exactly while it is not over; an orphan
 * run may have fewer. */
static int check_run(const struct core *core, const struct run *run, struct error *err)
{
	const struct run_info *i = run_info(run);
	const struct run_past *past = run_past(run);
	const struct run_link *l = run_link_of(run);
	unsigned long long id = i->id.job;

	if ((l->node != NULL) == run_over(run))
		return BROKEN(err, "run %llu.%u.%u is %s and %sbooked", id, i->id.attempt,
		        i->id.rank, run_state_name(i->state), l->node ? "" : "not ");
	if (l->node && node_info(l->node)->name != i->node)
		return BROKEN(err, "run %llu.%u.%u is booked on the wrong node", id, i->id.attempt,
		        i->id.rank);
	if (l->node && i->state != RUN_ORPHAN && l->booked != i->gpus)
		return BROKEN(err, "run %llu.%u.%u has GPUs that are not booked for it", id,
		        i->id.attempt, i->id.rank);
	if (l->job != jobs_of_run(core->jobs, i->id))
		return BROKEN(
		        err, "run %llu.%u.%u has lost its job", id, i->id.attempt, i->id.rank);
	if (!l->job && i->state != RUN_ORPHAN && !run_over(run))
		return BROKEN(err, "run %llu.%u.%u has no job", id, i->id.attempt, i->id.rank);
	if ((past->suspend_time && i->state != RUN_RUNNING) || (run_over(run) && i->suspend_wanted))
		return BROKEN(err, "run %llu.%u.%u is suspended and %s", id, i->id.attempt,
		        i->id.rank, run_state_name(i->state));
	if (past->end_time && past->end_time < i->start_time)
		return BROKEN(err, "run %llu.%u.%u ended before it started", id, i->id.attempt,
		        i->id.rank);
	return 0;
}

static int check_runs(const struct core *core, struct error *err)
{
	size_t n, i;
	struct run **v = runs_sorted(core->runs, &n);
	int rc = 0;

	for (i = 0; i < n && rc == 0; i++)
		rc = check_run(core, v[i], err);
	if (rc == 0)
		rc = bill_check(core, v, n, err);
	free(v);
	return rc;
}

/* What the ledger has taken of a shared GPU is the sum over its runs, and no more than the GPU has,
 * unless a new configuration made the GPU smaller or an orphan run is among them. */
static int check_shares(const struct core *core, const struct node *node, struct error *err)
{
	const struct node_link *l = node_link_of(node);
	struct shared_gpu sums[CONF_MAX_GPUS_PER_NODE] = { { 0 } };

	for (uint32_t i = 0; i < CONF_MAX_GPUS_PER_NODE; i++)
		sums[i].one_user = true;
	for (const struct run *run = l->runs; run; run = run_link_of(run)->next_of_node) {
		uint64_t left = run_share(run)->charge ? run_link_of(run)->booked : 0;

		for (; left; left &= left - 1)
			shared_gpu_book(&sums[__builtin_ctzll(left)], run_share(run), true);
	}
	for (uint32_t i = 0; i < CONF_MAX_GPUS_PER_NODE; i++) {
		const struct shared_gpu *gpu = ledger_shared_gpu(core->ledger, l->index, i);

		if (gpu->runs != sums[i].runs || gpu->milli_used != sums[i].milli_used ||
		        gpu->mem_used != sums[i].mem_used)
			return BROKEN(err, "node %s: the ledger has other shares of GPU %u booked",
			        node_info(node)->name, i);
		if (gpu->one_user && gpu->user != GPU_MIXED && gpu->user != sums[i].user)
			return BROKEN(err, "node %s: the ledger has GPU %u booked for another user",
			        node_info(node)->name, i);
		if (!l->n_orphans && gpu->milli_used > GPU_MILLI)
			return BROKEN(err, "node %s: more than all of GPU %u is given away",
			        node_info(node)->name, i);
	}
	return 0;
}

/* The ledger has booked on the node just what its runs say, and no GPU twice as a whole. */
static int check_node(const struct core *core, const struct node *node, struct error *err)
{
	const struct node_link *l = node_link_of(node);
	const char *name = node_info(node)->name;
	uint64_t gpus = 0, mem = 0, cpus = 0, whole = 0;
	uint32_t n = 0, orphans = 0;

	for (const struct run *run = l->runs; run; run = run_link_of(run)->next_of_node) {
		bool share = run_share(run)->charge;

		if ((share ? whole : gpus) & run_link_of(run)->booked)
			return BROKEN(err, "node %s: a GPU is booked twice", name);
		gpus |= run_link_of(run)->booked;
		whole |= share ? 0 : run_link_of(run)->booked;
		cpus += run_info(run)->cpus;
		mem += run_info(run)->mem_mb;
		orphans += run_info(run)->state == RUN_ORPHAN;
		n++;
	}
	if (n != l->n_runs || orphans != l->n_orphans)
		return BROKEN(err, "node %s: the runs are counted wrong", name);
	if (l->index == NODE_LEFT)
		return 0;
	if (!snapshots_check(core, node))
		return BROKEN(err, "node %s: what is known of its runs is out of date", name);
	if (ledger_gpus_used(core->ledger, l->index) != gpus)
		return BROKEN(err, "node %s: the ledger has other GPUs booked", name);
	if (check_shares(core, node, err) < 0)
		return -1;
	if (ledger_cpus_free(core->ledger, l->index) + cpus !=
	                ledger_cpus(core->ledger, l->index) &&
	        cpus < ledger_cpus(core->ledger, l->index))
		return BROKEN(err, "node %s: the ledger has other CPUs booked", name);
	if (ledger_mem_free_mb(core->ledger, l->index) + mem !=
	                ledger_mem_mb(core->ledger, l->index) &&
	        mem < ledger_mem_mb(core->ledger, l->index))
		return BROKEN(err, "node %s: the ledger has other memory booked", name);
	if (ledger_accepts(core->ledger, l->index) != node_accepts(node))
		return BROKEN(
		        err, "node %s: the ledger does not know whether it accepts work", name);
	if (l->hearing == NODE_HEARD && !l->session)
		return BROKEN(err, "node %s is heard without a session", name);
	return 0;
}

static int check_nodes(const struct core *core, struct error *err)
{
	size_t n, i;
	struct node **v = nodes_sorted(core->nodes, &n);
	char text[200];
	int rc = 0;

	for (i = 0; i < n && rc == 0; i++)
		rc = check_node(core, v[i], err);
	free(v);
	if (rc == 0 && !ledger_check(core->ledger, text, sizeof(text)))
		rc = BROKEN(err, "%s", text);
	return rc;
}

/* --- classes --------------------------------------------------------------------------------- */

/* A class has at least one job, each of its jobs refers to it, and its head is the first of
 * them. */
static int check_class(struct class *class, struct error *err)
{
	const struct class_link *l = class_link(class);
	size_t n = heap_count(l->queue), i;
	struct heap_key first = { UINT64_MAX, UINT64_MAX }, key;
	uint64_t tasks = 0;

	if (!n)
		return BROKEN(err, "a class without jobs");
	for (i = 0; i < n; i++) {
		const struct queued *q = heap_at(l->queue, (uint32_t)i);
		const struct job *job = q->job;

		if (q->class != class)
			return BROKEN(err, "job %llu stands in a class that it is not in",
			        (unsigned long long)job_id(job));
		key = class_queue_key(job);
		first = key.a != first.a ? (key.a < first.a ? key : first)
		                         : (key.b < first.b ? key : first);
		tasks += job_weight(job);
	}
	key = class_queue_key(class_head(class));
	if (key.a != first.a || key.b != first.b)
		return BROKEN(err, "the head of a class is not its first job");
	if (tasks != l->tasks)
		return BROKEN(err, "a class has %llu jobs, and %llu are counted",
		        (unsigned long long)tasks, (unsigned long long)l->tasks);
	return 0;
}

/* Only an idle scheduler has tried all that may start. */
static int check_classes(const struct core *core, struct error *err)
{
	size_t cursor = 0;
	struct class *class;
	char text[200];

	while ((class = sched_each_class(core->sched, &cursor))) {
		if (check_class(class, err) < 0)
			return -1;
	}
	if (sched_idle(core->sched) && !sched_check(core->sched, text, sizeof(text)))
		return BROKEN(err, "%s", text);
	return 0;
}

int core_check(const struct core *core, struct error *err)
{
	if (check_jobs(core, err) < 0 || check_counts(core, err) < 0 || check_runs(core, err) < 0 ||
	        check_nodes(core, err) < 0)
		return -1;
	return jobs_check_queued(core, err) < 0 ? -1 : check_classes(core, err);
}
