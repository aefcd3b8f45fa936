/* view_jobs.c - how listings read the core: values by copy, in slices
 *
 * A listing takes many slices of the loop, and jobs come and go between them. So a view is a copy
 * by value of one job or node at one moment, a listing goes on from the last ref it has shown, and
 * nothing that a view points to outlives the call. What is counted to explain a wait is kept with
 * the class (wait_reason.c), so a listing counts it once.
 *
 * Views only read, but for texts and counts that are made when they are first wanted
 * (job_tasks_text(), job_why(), sched_position(), accounts_rank()). Strings are borrowed from the
 * core, or lie in the view. A brief view has what listings filter by, so that a listing of one
 * user's jobs does not explain the waits of all.
 *
 * Array parents and parts are shown by the tasks that they stand for; an array whose tasks all have
 * records is not shown itself.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/units.h"
#include "common/conf/conf.h"
#include "common/conf/conf_find.h"
#include "common/job/mail_types.h"
#include "common/job/reason.h"
#include "ctld/core/accounts/accounts.h"
#include "ctld/core/accounts/priority_factors.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/attempts/attempt_outcome.h"
#include "ctld/core/attempts/bill.h"
#include "ctld/core/attempts/deciding_rank.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/core.h"
#include "ctld/core/depends/depends_why.h"
#include "ctld/core/explain/blockers.h"
#include "ctld/core/explain/wait_reason.h"
#include "ctld/core/jobs/job_steps.h"
#include "ctld/core/limits/limits.h"
#include "ctld/core/limits/quota.h"
#include "ctld/core/plan/plan.h"
#include "ctld/core/records/array.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/request/gpu_share.h"
#include "ctld/core/request/requests.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/run_orders.h"
#include "ctld/core/sched/class.h"
#include "ctld/core/sched/sched.h"

/* --- jobs ------------------------------------------------------------------------------------ */

/* 0: the state alone gives no reason */
static const enum reason ended_reasons[JOB_STATE_COUNT] = {
	[JOB_FAILED] = REASON_EXIT_CODE,
	[JOB_TIMEOUT] = REASON_TIME_LIMIT,
	[JOB_NODE_FAIL] = REASON_NODE_DOWN,
	[JOB_OUT_OF_MEMORY] = REASON_OUT_OF_MEMORY,
	[JOB_PREEMPTED] = REASON_PREEMPTED,
	[JOB_DEADLINE] = REASON_DEADLINE,
};

static uint64_t run_elapsed_s(const struct run *run, struct clocks now)
{
	return run_worked_us(run, now) / (uint64_t)USEC_PER_S;
}

static uint64_t run_suspended_s(const struct run *run, struct clocks now)
{
	const struct run_past *past = run_past(run);
	usec_t since = past->suspend_time ? now.wall - past->suspend_time : 0;

	return (past->suspended_us + (uint64_t)(since < 0 ? 0 : since)) / (uint64_t)USEC_PER_S;
}

/* How the run ended that the job is judged by; for several ranks, which one it was. */
static void say_ended(const struct run *run, struct job_view *v)
{
	const struct run_info *i = run_info(run);
	const struct run_past *past = run_past(run);
	char which[120] = "", how[40] = "";

	if (end_is_launch(i->end_cause))
		v->reason = reason_word(REASON_LAUNCH_FAILURE);
	if (i->end_cause == END_SIGNATURE)
		v->reason = reason_word(REASON_SIGNATURE_REFUSED);
	if (i->end_cause == END_GPU_MEMORY)
		v->reason = reason_word(REASON_GPU_MEMORY);
	if (i->end_cause == END_RECLAIM && i->end_wanted == END_NONE)
		v->reason = reason_word(REASON_GPU_BURST);
	if (i->end_cause == END_IDLE)
		v->reason = reason_word(REASON_IDLE);
	if (i->end_cause == END_SPOOL)
		v->reason = reason_word(REASON_SPOOL);
	if (i->nodes > 1 && !run_ended_well(run)) {
		snprintf(which, sizeof(which), "rank %u on %.64s: ", i->id.rank, i->node);
		if (i->end_cause <= END_EXIT && past->exit_signal)
			snprintf(how, sizeof(how), "ended with signal %u", past->exit_signal);
		else if (i->end_cause <= END_EXIT && past->exit_code)
			snprintf(how, sizeof(how), "ended with exit code %u", past->exit_code);
	}
	snprintf(v->reason_text, sizeof(v->reason_text), "%s%s%s%.80s", which, how,
	        *how && *past->detail ? ", " : "", past->detail);
}

static void say_unknown(const struct run *run, struct job_view *v)
{
	const struct node *node = run_link_of(run)->node;

	if (!node || run_over(run) || node_link_of(node)->hearing == NODE_HEARD)
		return;
	v->reason = reason_word(REASON_NODE_UNKNOWN);
	snprintf(v->reason_text, sizeof(v->reason_text),
	        "node %.80s does not respond: the state of the job is not known",
	        run_info(run)->node);
}

/* Memory of a GPU was borrowed and is needed back: which job waits for which, and how long at
 * most. */
static void say_burst(
        const struct core *core, const struct run *run, struct clocks now, struct job_view *v)
{
	const struct run_used *used = run_used(run);
	const struct job *job = run_link_of(run)->job, *other;
	usec_t left = used->burst_time - now.wall;
	char label[JOB_LABEL + 4] = "another job", time[UNITS_TEXT];

	if (!used->burst_job || run_over(run) || !job)
		return;
	other = jobs_find(core->jobs, used->burst_job);
	if (!core->conf->roles.private_jobs ||
	        (other && job_info(other)->uid == job_info(job)->uid))
		snprintf(label, sizeof(label), "job %llu", (unsigned long long)used->burst_job);
	duration_format(time, left > 0 ? (uint64_t)((left + USEC_PER_S - 1) / USEC_PER_S) : 0);
	v->reason = reason_word(REASON_GPU_BURST);
	snprintf(v->reason_text, sizeof(v->reason_text),
	        run_info(run)->state == RUN_RUNNING
	                ? "%s needs the GPU memory that this job has borrowed: return it within %s"
	                : "waits for GPU memory that %s has borrowed: returned within %s",
	        label, time);
}

/* Of the present or last attempt: sums over its ranks, the longest times, and what there is to say
 * of one of them. */
static void view_runs(
        const struct core *core, const struct job *job, struct clocks now, struct job_view *v)
{
	const struct run *first = job_run(job), *run;

	v->gpu_type = run_info(first)->gpu_type;
	v->gpu_set = run_info(first)->gpus;
	v->checkpoint_time = attempt_checkpoint_time(job);
	if (v->ended)
		say_ended(attempt_decisive(job), v);
	for (run = first; run; run = run_next_rank(run)) {
		uint64_t elapsed = run_elapsed_s(run, now);

		v->gpus_held += (uint32_t)__builtin_popcountll(run_info(run)->gpus);
		if (elapsed > v->elapsed_s)
			v->elapsed_s = elapsed;
		if (run_suspended_s(run, now) > v->suspended_s)
			v->suspended_s = run_suspended_s(run, now);
		if (!*v->progress && run_progress(run))
			v->progress = run_progress(run);
		say_burst(core, run, now, v);
		say_unknown(run, v);
	}
}

static void view_gpus(const struct job_info *i, struct job_view *v)
{
	v->n_gpus = i->gpus->n;
	for (uint32_t a = 0; a < i->gpus->n; a++) {
		v->gpus[a].type = i->gpus->v[a].type;
		v->gpus[a].count = i->gpus->v[a].count;
	}
}

/* Priority for each job; position, planned start and blockers only for the head of a class: the
 * others wait behind it. */
static void view_waiting(const struct core *core, const struct job *job, struct job_view *v)
{
	struct class *class = sched_class_of(job);
	struct factors factors;
	struct prio_parts parts;
	const struct reservation *reservation;
	uint32_t of;

	sched_priority(core->sched, job, &factors, &parts);
	v->priority = parts.total;
	v->n_blockers = *v->reason != '\0';
	if (!class)
		return;
	sched_position(core->sched, class, &v->order, &of);
	if (class_head(class) != job)
		return;
	if (class_link(class)->n_blockers > 1)
		v->n_blockers = class_link(class)->n_blockers;
	v->position = v->order;
	v->position_of = of;
	reservation = class_link(class)->reservation;
	if (!reservation)
		return;
	if (reservation->start < PLAN_FAR)
		v->planned_start = core->now.wall + (reservation->start - core->now.mono);
	hostlist_of(core, &reservation->places, v->planned_nodes, sizeof(v->planned_nodes));
}

static void view_array(const struct job *job, struct job_view *v)
{
	const struct array *a = job_array(job);

	if (!a)
		return;
	v->at_once = a->at_once;
	v->tasks_running = a->running;
	v->tasks_ended = a->ended;
	v->tasks_failed = a->failed;
}

/* User, place and state: the members that listings filter by. */
static void view_brief(const struct job *job, struct job_view *v)
{
	const struct job_info *i = job_info(job);
	const struct run *first = job_run(job), *run;

	*v = (struct job_view){
		.id = i->id,
		.ref = job_ref(job),
		.array = i->array,
		.tasks = "",
		.set = job_tasks(job),
		.several = job_tasks(job),
		.task_count = job_weight(job),
		.uid = i->uid,
		.name = i->name,
		.user = i->user,
		.account = i->account,
		.partition =
		        i->state == JOB_PENDING && *i->partitions ? i->partitions : i->partition,
		.qos = i->qos,
		.state = job_state_name(i->state),
		.state_code = job_state_code(i->state),
		.ended = job_state_ended(i->state),
		.node = "",
		.nodes = "",
		.gpu_type = "",
		.labels = i->labels->v,
		.n_labels = i->labels->n,
	};
	if (!v->several)
		v->tasks = job_tasks_text(job);
	if (job_link_of(job)->array)
		v->ref = job_ref_of(i->id, JOB_PART_WAITS);
	if (i->state == JOB_PENDING || !first)
		return;
	v->node = run_info(first)->node;
	v->nodes = attempt_nodes(first);
	for (run = first; run; run = run_next_rank(run))
		v->n_nodes++;
}

/* The time within which the job should start; 0: neither the job nor its QOS has one. */
static uint32_t wait_target_s(const struct conf *conf, const struct job_info *i)
{
	uint32_t qos = i->max_wait_s ? CONF_NONE : CONF_FIND(conf, qos, i->qos);

	return qos == CONF_NONE ? i->max_wait_s : conf->qos[qos].max_wait_s;
}

/* The request, and the other durable members. */
static void view_asked(const struct core *core, const struct job *job, struct job_view *v)
{
	const struct job_info *i = job_info(job);

	v->gid = i->gid;
	v->reason = "";
	COPY_FIELDS(v, i, cpus, time_limit_s, mem_mb, submit_time, start_time, end_time, attempt,
	        max_attempts, warn_signal, warn_before_s, nice, cwd, output, error, submit_host,
	        comment, requeue, show_output, max_wait_s);
	COPY_FIELDS(v, i, begin_time, deadline, remark, mail_user, requeue_on, requeue_delay_s);
	/* An array parent keeps the highest codes of its tasks, for its own end. */
	v->exit_code = i->state == JOB_PENDING ? 0 : i->exit_code;
	v->exit_signal = i->state == JOB_PENDING ? 0 : i->exit_signal;
	v->first_planned = i->planned_start;
	v->wait_target_s = wait_target_s(core->conf, i);
	COPY_FIELDS(v, i->gpus, nodes_min, nodes_max, exclusive, gpu_mem_min_mb, tmp_mb,
	        gpu_mem_burst_mb, constraint, prefer, nodelist, exclude);
	v->gpus_per_node = i->gpus->per_node;
	v->cost_max = job_cost_max(core, i);
	v->gpu_link = i->gpus->link;
	v->gpu_mem_mb = i->gpus->share.mem_mb;
	v->gpu_share_milli = i->gpus->share.milli;
	v->licences = request_licences(i->gpus);
	v->progress = "";
	v->mail_types = i->mail_types & MAIL_ALL_BITS;
}

/* When the first attempt began is not known any more of a job that has had several. */
static void view_eligible(const struct job_info *i, struct clocks now, struct job_view *v)
{
	usec_t to = 0;

	v->eligible_time = i->eligible_time;
	if (!i->attempt)
		to = i->state == JOB_PENDING ? now.wall : i->end_time;
	else if (i->attempt == 1)
		to = i->start_time;
	if (i->eligible_time && to > i->eligible_time)
		v->eligible_s = (uint64_t)(to - i->eligible_time) / USEC_PER_S;
}

/* The whole view of one record. */
static void view(
        const struct core *core, const struct job *job, struct clocks now, struct job_view *v)
{
	const struct job_info *i = job_info(job);
	const struct run *run = job_run(job);

	view_brief(job, v);
	v->tasks = job_tasks_text(job);
	view_asked(core, job, v);
	view_eligible(i, now, v);
	depends_say(job, v->dependency, sizeof(v->dependency));
	view_gpus(i, v);
	view_array(job, v);
	v->steps_running = job_steps_count(job);
	v->raw_id = job_raw_id(job);
	if (i->state == JOB_PENDING) {
		v->reason = job_why(core, job, now, v->reason_text, sizeof(v->reason_text));
		view_waiting(core, job, v);
		return;
	}
	if (v->ended && ended_reasons[i->state])
		v->reason = reason_word(ended_reasons[i->state]);
	if (run)
		view_runs(core, job, now, v);
}

/* In the order of refs; `after` need not exist any more. */
static const struct job *next_job(const struct core *core, uint64_t after)
{
	const struct job *job;

	if (job_ref_part(after) == JOB_PART_WAITS)
		after = job_ref_id(after);
	job = jobs_next(core->jobs, after);
	/* An array in which every task has a record is shown by those records. */
	while (job && !job_weight(job))
		job = jobs_next(core->jobs, job_ref(job));
	return job;
}

bool core_job_next(const struct core *core, uint64_t after, struct clocks now, struct job_view *v)
{
	const struct job *job = next_job(core, after);

	if (job)
		view(core, job, now, v);
	return job;
}

bool core_job_next_brief(const struct core *core, uint64_t after, struct job_view *v)
{
	const struct job *job = next_job(core, after);

	if (job)
		view_brief(job, v);
	return job;
}

/* `ref` may name a task without a record of its own: then it is the record that the task waits
 * under. */
bool core_job_view(const struct core *core, uint64_t ref, struct clocks now, struct job_view *v)
{
	uint32_t before;
	const struct job *job = jobs_find_waiting(core->jobs, ref, &before);

	if (job)
		view(core, job, now, v);
	return job;
}

bool core_job_brief(const struct core *core, uint64_t ref, struct job_view *v)
{
	uint32_t before;
	const struct job *job = jobs_find_waiting(core->jobs, ref, &before);

	if (job)
		view_brief(job, v);
	return job;
}

const char *core_job_user(const struct core *core, uint64_t ref)
{
	uint32_t before;
	const struct job *job = jobs_find_waiting(core->jobs, ref, &before);

	return job ? job_info(job)->user : "";
}

bool core_raw_task(const struct core *core, uint64_t raw_id, uint64_t *array, uint32_t *task)
{
	const struct job *own = jobs_of_raw_id(core->jobs, raw_id, task);

	if (own)
		*array = job_id(own);
	return own;
}

uint64_t core_task_ref(uint64_t id, uint32_t task)
{
	return job_ref_of(id, (uint64_t)task + 1);
}

uint64_t core_run_ref(const struct core *core, struct run_id id)
{
	const struct job *job = jobs_of_run(core->jobs, id);

	return job ? job_ref(job) : id.job;
}

/* --- runs ------------------------------------------------------------------------------------ */

/* 0 for a type that the configuration does not have. */
static uint64_t nominal_mb(const struct conf *conf, const char *type)
{
	uint16_t number = gpu_type_number(conf, type);

	return number < conf->n_gpu_types ? conf->gpu_types[number].mem_mb : 0;
}

/* Does an MPS daemon enforce the run's share? */
static bool held_by_mps(const struct core *core, const struct run *run)
{
	const struct node *node = run_link_of(run)->node;
	uint32_t index = node ? node_link_of(node)->index : NODE_LEFT;

	return run_share(run)->charge && index != NODE_LEFT &&
	       core->conf->nodes[index].share == CONF_SHARE_MPS;
}

/* At the prices of when it was booked. */
static uint64_t attempt_cost_hour_u(const struct run *run)
{
	const struct job *job = run_link_of(run)->job;
	uint64_t sum = 0;

	for (const struct run *r = job ? job_run(job) : NULL; r; r = run_next_rank(r))
		if (run_info(r)->id.attempt == run_info(run)->id.attempt && run_link_of(r)->node)
			sum += run_link_of(r)->rate_u;
	return sum;
}

static void view_run(
        const struct core *core, const struct run *run, struct clocks now, struct run_view *v)
{
	const struct job *job = run_link_of(run)->job;
	const struct run_info *i = run_info(run);
	const struct run_past *past = run_past(run);
	uint32_t p = CONF_NONE;

	if (job)
		p = job_partition(core, job);
	*v = (struct run_view){
		.id = i->id,
		.node = i->node,
		.state = past->suspend_time ? job_state_name(JOB_SUSPENDED)
		                            : run_state_name(i->state),
		.gpu_type = i->gpu_type,
		.incarnation = i->incarnation,
		.nodes = attempt_nodes(run),
		.n_nodes = i->nodes,
		.gpus = i->gpus,
		.share = *run_share(run),
		.share_mps = held_by_mps(core, run),
		.share_burst_mb = job ? job_info(job)->gpus->gpu_mem_burst_mb : 0,
		.comes_again = job && job_again_when_reclaimed(core, job) &&
		               job_starts(job) + 1 < job_info(job)->max_attempts,
		.unnamed = core->conf->roles.private_jobs,
		.gpu_uuids = run_link_of(run)->node ? node_info(run_link_of(run)->node)->gpus : "",
		.cpus = i->cpus,
		.grace_s =
		        p == CONF_NONE ? NO_PARTITION_GRACE_S : core->conf->partitions[p].grace_s,
		.uid = i->uid,
		.mem_mb = i->mem_mb,
		.epoch = i->epoch,
		.gpu_mem_mb = nominal_mb(core->conf, i->gpu_type),
		.cost_hour_u = attempt_cost_hour_u(run),
		.order_time = i->order_time,
		.start_time = i->start_time,
		.end_time = past->end_time,
		.elapsed_s = run_elapsed_s(run, now),
		.exit_code = past->exit_code,
		.exit_signal = past->exit_signal,
		.cause = i->end_cause,
		.detail = past->detail,
		.used = run_used(run),
	};
}

bool core_run_view(const struct core *core, struct run_id id, struct clocks now, struct run_view *v)
{
	const struct run *run = runs_find(core->runs, id);

	if (run)
		view_run(core, run, now, v);
	return run;
}

const struct step_report *core_step_next(const struct core *core, uint64_t ref, int64_t after)
{
	const struct job *job = jobs_find(core->jobs, ref);

	return job ? job_step_next(job, after) : NULL;
}

bool core_job_run_next(const struct core *core, uint64_t ref, uint32_t *rank, struct clocks now,
        struct run_view *v)
{
	const struct job *job = jobs_find(core->jobs, ref);
	const struct run *run = job ? job_run(job) : NULL;

	while (run && run_info(run)->id.rank < *rank)
		run = run_next_rank(run);
	if (!run)
		return false;
	view_run(core, run, now, v);
	*rank = run_info(run)->id.rank + 1;
	return true;
}
