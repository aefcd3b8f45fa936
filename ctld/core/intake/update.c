/* update.c - JOB_UPDATE: changes the request of a waiting job
 *
 * The job's present request, with the changes applied, goes through the checks of a submit
 * (job_checks.h): an update is refused exactly where that submit would be, and then nothing of it is
 * applied. The signed spec is not part of the request: its owner changes it (replace_spec.h).
 */
#include "ctld/core/intake/update.h"

#include <stdio.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/units.h"
#include "common/job/mail_types.h"
#include "ctld/core/accounts/roles.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/depends/depends_why.h"
#include "ctld/core/intake/admit.h"
#include "ctld/core/intake/job_checks.h"
#include "ctld/core/intake/update_audit.h"
#include "ctld/core/jobs/depends_attach.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/jobs/job_timers.h"
#include "ctld/core/jobs/notifications.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/run_orders.h"
#include "ctld/core/sched/sched.h"

#define MEMBER(bit, member)                                           \
	{                                                             \
		bit, offsetof(struct submit_job, member),             \
		        sizeof(((struct submit_job *)(NULL))->member) \
	}

/* What of a change goes where; a field may have several members. */
static const struct {
	uint64_t field;
	size_t offset, size;
} members[] = {
	MEMBER(UPDATE_PARTITION, partition),
	MEMBER(UPDATE_ACCOUNT, account),
	MEMBER(UPDATE_GPUS, gpus),
	MEMBER(UPDATE_GPUS, n_gpus),
	MEMBER(UPDATE_GPUS, gpus_per_node),
	MEMBER(UPDATE_GPU_MEM_MIN, gpu_mem_min_mb),
	MEMBER(UPDATE_GPU_LINK, gpu_link),
	MEMBER(UPDATE_TMP, tmp_mb),
	MEMBER(UPDATE_GPU_MEM, gpu_mem_mb),
	MEMBER(UPDATE_GPU_SHARE, gpu_share_milli),
	MEMBER(UPDATE_GPU_MEM_BURST, gpu_mem_burst_mb),
	MEMBER(UPDATE_NODES, nodes_min),
	MEMBER(UPDATE_NODES, nodes_max),
	MEMBER(UPDATE_CPUS, cpus),
	MEMBER(UPDATE_MEM, mem_mb),
	MEMBER(UPDATE_TIME, time_limit_s),
	MEMBER(UPDATE_NICE, nice),
	MEMBER(UPDATE_CONSTRAINT, constraint),
	MEMBER(UPDATE_PREFER, prefer),
	MEMBER(UPDATE_NODELIST, nodelist),
	MEMBER(UPDATE_EXCLUDE, exclude),
	MEMBER(UPDATE_EXCLUSIVE, exclusive),
	MEMBER(UPDATE_QOS, qos),
	MEMBER(UPDATE_MAX_WAIT, max_wait_s),
	MEMBER(UPDATE_LICENCES, licences),
	MEMBER(UPDATE_BEGIN, begin_time),
	MEMBER(UPDATE_DEADLINE, deadline),
	MEMBER(UPDATE_DEPENDENCY, depends),
	MEMBER(UPDATE_REMARK, remark),
	MEMBER(UPDATE_MAIL_TYPE, mail_types),
	MEMBER(UPDATE_MAIL_USER, mail_user),
	MEMBER(UPDATE_REQUEUE_ON, requeue_on),
	MEMBER(UPDATE_REQUEUE_DELAY, requeue_delay_s),
	MEMBER(UPDATE_KILL_INVALID_DEP, kill_invalid),
	MEMBER(UPDATE_NO_REQUEUE, requeue),
	MEMBER(UPDATE_WARNING, warn_signal),
	MEMBER(UPDATE_WARNING, warn_before_s),
	MEMBER(UPDATE_LABELS, labels),
	MEMBER(UPDATE_LABELS, n_labels),
};
#define N_MEMBERS (sizeof(members) / sizeof(members[0]))

/* CPUs and memory that are what its partition gives for each GPU were not asked for: they follow
 * the GPUs. Nor was what differs among its partitions. */
static void leave_to_defaults(const struct core *core, const struct job *job, struct submit_job *in)
{
	const struct job_info *i = job_info(job);
	struct submit_job nothing = { .n_gpus = in->n_gpus };
	struct intake t = { .in = &nothing, .info = { .gpus = i->gpus } };
	bool cpus = in->n_gpus, mem = in->n_gpus, known = false;
	struct job_choice first, c;

	job_choice(i, 0, &first);
	for (uint32_t k = 0; k < job_choices(i); k++) {
		job_choice(i, k, &c);
		in->cpus = c.cpus == first.cpus ? in->cpus : 0;
		in->mem_mb = c.mem_mb == first.mem_mb ? in->mem_mb : 0;
		in->time_limit_s = c.time_limit_s == first.time_limit_s ? in->time_limit_s : 0;
		t.partition = sched_partition(core->sched, c.partition);
		if (t.partition == CONF_NONE || !in->n_gpus)
			continue;
		known = true;
		admit_defaults(core, &t);
		cpus &= core->conf->partitions[t.partition].per_gpu_cpus && t.info.cpus == c.cpus;
		mem &= core->conf->partitions[t.partition].per_gpu_mem_mb &&
		       t.info.mem_mb == c.mem_mb;
	}
	in->cpus = known && cpus ? 0 : in->cpus;
	in->mem_mb = known && mem ? 0 : in->mem_mb;
}

/* Texts and labels are borrowed from the job. A dependency is not part of it: it stays as it is
 * unless the update names one. */
struct submit_job job_as_asked(const struct core *core, const struct job *job)
{
	const struct job_info *i = job_info(job);
	const struct request *r = i->gpus;
	struct submit_job in = {
		.partition = *i->partitions ? i->partitions : i->partition,
		.licences = request_licences(r),
		.n_gpus = r->n,
		.gpus_per_node = r->per_node,
		.gpu_link = r->link,
		.replica_of = r->service,
		.gpu_mem_mb = r->share.mem_mb,
		.gpu_share_milli = r->share.milli,
		.time_limit_s = i->time_limit_s ? i->time_limit_s : TIME_LIMIT_NONE,
		.mail_types = i->mail_types & MAIL_ALL_BITS,
		.labels = i->labels->v,
		.n_labels = i->labels->n,
	};

	COPY_FIELDS(&in, i, name, account, submit_host, array, cwd, output, error, qos, max_wait_s,
	        gid, cpus, mem_mb, warn_signal, warn_before_s, max_attempts, steps, begin_time,
	        deadline, kill_invalid, remark, mail_user, requeue_on, requeue_delay_s, requeue);
	COPY_FIELDS(&in, r, constraint, prefer, nodelist, exclude, nodes_min, nodes_max,
	        gpu_mem_min_mb, tmp_mb, ports, gpu_mem_burst_mb, exclusive);
	for (uint32_t a = 0; a < r->n; a++)
		in.gpus[a] = (struct gpu_request){ r->v[a].type, r->v[a].count };
	leave_to_defaults(core, job, &in);
	return in;
}

/* Lay the changes over `in`. Returns the fields that were known. */
static uint64_t lay_over(struct submit_job *in, const struct submit_job *change, uint64_t fields)
{
	uint64_t known = 0;

	for (size_t m = 0; m < N_MEMBERS; m++) {
		if (!(fields & members[m].field))
			continue;
		memcpy((char *)in + members[m].offset, (const char *)change + members[m].offset,
		        members[m].size);
		known |= members[m].field;
	}
	return known;
}

/* "gpus, time"; what is not known here by its number in the protocol: "field 20". */
static void name_fields(uint64_t fields, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (unsigned bit = 0; bit < 64 && used < size; bit++) {
		const char *name = change_name(1ull << bit);

		if (!(fields >> bit & 1))
			continue;
		if (name)
			used += (size_t)snprintf(
			        text + used, size - used, "%s%s", used ? ", " : "", name);
		else
			used += (size_t)snprintf(
			        text + used, size - used, "%sfield %u", used ? ", " : "", bit + 1);
	}
}

/* These fields concern only the owner. */
static int update_notifications(
        struct core *core, struct job *job, const struct submit_job *in, struct error *err)
{
	struct job_info wished;

	if (notifications_take(in, &wished, err) < 0)
		return -1;
	job_set_notifications(core->jobs, job, &wished);
	return 0;
}

/* A job that runs: may it have that limit? */
static int check_limit(const struct core *core, const struct job *job, const struct caller *by,
        uint32_t limit_s, struct error *err)
{
	const struct job_info *i = job_info(job);
	bool longer = i->time_limit_s && (limit_s == TIME_LIMIT_NONE || limit_s > i->time_limit_s);
	char is[UNITS_TEXT];

	duration_format(is, i->time_limit_s ? i->time_limit_s : DURATION_FOREVER);
	if (i->state == JOB_COMPLETING)
		return error_set(err, ERR_JOB_STATE, "it is being ended");
	if (!limit_s || limit_s == i->time_limit_s ||
	        (limit_s == TIME_LIMIT_NONE && !i->time_limit_s))
		return error_set(err, ERR_JOB_STATE, "--time: it runs with a limit of %s", is);
	if (!longer)
		return 0;
	if (!verb_permits(VERB_JOB_LONGER, job_standing(core, by, job))) {
		verb_refuse(VERB_JOB_LONGER, err);
		return error_wrap(err, "--time: it runs, with a limit of %s", is);
	}
	if (job_time_left(core, job) <= (usec_t)i->warn_before_s * USEC_PER_S)
		return error_set(err, ERR_JOB_STATE,
		        "--time: the job was already told that it ends at its limit of %s", is);
	return 0;
}

/* The job's nodes get the new limit and enforce it; so does the job's timer here, for agents that
 * do not know the order. */
static int update_limit(struct core *core, struct job *job, const struct caller *by,
        uint32_t limit_s, struct error *err)
{
	if (check_limit(core, job, by, limit_s, err) < 0)
		return -1;
	job_set_limit(core->jobs, job, limit_s == TIME_LIMIT_NONE ? 0 : limit_s);
	for (struct run *run = job_run(job); run; run = run_next_rank(run)) {
		const struct node *node = run_link_of(run)->node;

		if (!run_lives(run) || !node || node_link_of(node)->index == NODE_LEFT)
			continue;
		suspend_run_order(core, run);
		sched_node_changed(
		        core->sched, node_link_of(node)->index, "a time limit was changed");
	}
	job_timer_set(core, job);
	return 0;
}

/* A partition that the job waits in, or is to wait in, would be left out: nothing is changed. */
static int refused_by_some(const struct intake *t, struct error *err)
{
	if (t->left_out)
		*err = *t->left_out;
	return t->left_out ? -1 : 0;
}

/* A job that waits is as if it had been submitted with that. */
static int update_asked(struct core *core, struct job *job, const struct core_event *e,
        struct submit_job *in, struct error *err)
{
	const struct job_info *i = job_info(job);
	struct caller owner = { .uid = i->uid, .role = e->caller.role, .user = i->user };
	struct intake t = { .in = in, .updated = i, .weight = job_weight(job) };

	if (e->caller.uid == i->uid) {
		owner.groups = e->caller.groups;
		owner.n_groups = e->caller.n_groups;
	}
	/* It counts as what it is to be, or as what it is. */
	job_count(core, i, -(int)t.weight);
	if (intake_fill(core, &owner, &t, err) < 0 || refused_by_some(&t, err) < 0 ||
	        ((t.depends || t.info.labels != i->labels) &&
	                intake_charge(core, &owner, &t, err) < 0)) {
		intake_clear(core, &t);
		job_count(core, i, (int)t.weight);
		return -1;
	}
	COPY_FIELDS(&t.info, in, max_wait_s, warn_signal, warn_before_s);
	t.info.nice = e->job.fields & UPDATE_NICE ? in->nice : i->nice;
	job_withdraw(core, job);
	job_set_asked(core->jobs, job, &t.info);
	job_set_notifications(core->jobs, job, &t.info);
	t.info.gpus = NULL; /* the job has them now, and counts */
	t.info.labels = NULL;
	t.counted = false;
	job_requested(core, job);
	if (t.depends)
		depends_set(core, job, t.depends);
	job_consider(core, job);
	intake_clear(core, &t);
	return 0;
}

/* Of these fields, what the job has now. */
static void show_now(
        const struct core *core, const struct job *job, uint64_t fields, struct changes *to)
{
	struct submit_job in = job_as_asked(core, job);
	char depends[CHANGES_VALUE];

	depends_say(job, depends, sizeof(depends));
	in.depends = depends;
	in.nice = job_info(job)->nice;
	in.cpus = job_info(job)->cpus;
	in.mem_mb = job_info(job)->mem_mb;
	changes_show(to, &in, fields, core->now.wall);
}

/* Three kinds: fields that concern only the owner, at any time; the time limit of a job that runs;
 * all else, while it waits. */
int job_update(struct core *core, struct job *job, const struct core_event *e, char *what,
        size_t size, char told[CHANGES_TEXT], struct error *err)
{
	const struct job_info *i = job_info(job);
	struct submit_job in = job_as_asked(core, job);
	uint64_t fields = e->job.fields & ~(uint64_t)UPDATE_AT_ONCE;
	uint64_t unknown = fields & ~lay_over(&in, e->job.change, fields);
	struct changes was, is;
	char names[160];
	int rc;

	if (!fields)
		return error_set(err, ERR_USAGE, "no change is requested");
	name_fields(
	        unknown ? unknown : fields & ~(uint64_t)UPDATE_NOTIFICATIONS, names, sizeof(names));
	if (unknown)
		return error_set(err, ERR_JOB_SPEC,
		        "%s of the update is not known to this controller, which is older than "
		        "what "
		        "sent it; nothing was changed",
		        names);
	name_fields(fields, what, size);
	if (fields & UPDATE_NO_REQUEUE && in.requeue && i->max_attempts <= 1) {
		error_set(err, ERR_JOB_SPEC,
		        "--requeue: its owner signed that it is started only once");
		return error_hint(err, "the owner can sign more: gctl update %llu --max-attempts=100",
		        (unsigned long long)i->id);
	}
	show_now(core, job, fields, &was);
	if (!(e->job.fields & ~(uint64_t)UPDATE_NOTIFICATIONS))
		rc = update_notifications(core, job, &in, err);
	else if (i->state != JOB_PENDING && e->job.fields == UPDATE_TIME)
		rc = update_limit(core, job, &e->caller, in.time_limit_s, err);
	else if (i->state != JOB_PENDING)
		rc = error_set(err, ERR_JOB_STATE,
		        "%s can only be changed while it is PENDING; it is %s", names,
		        job_state_name((enum job_state)i->state));
	else
		rc = update_asked(core, job, e, &in, err);
	if (rc < 0)
		return -1;
	show_now(core, job, fields, &is);
	changes_tell(told, &was, &is, fields);
	return 0;
}
