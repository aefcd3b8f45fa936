/* event_codec.c - see event_codec.h */
#include "ctld/tape/event_codec.h"

#include <string.h>

#include "ctld/core/rows/row_codec.h"
#include "ctld/core/util/hash.h"

#define LIST_MAX   10000000 /* of anything: the bytes that are there bound it further */
#define GROUPS_MAX 65536

/* --- the parts ------------------------------------------------------------------------------- */

static const struct field caller_fields[] = {
	NUMBER(struct caller, reply, uid, role),
	TEXT(struct caller, user, host),
	LIST(struct caller, groups, n_groups, GROUPS_MAX, &form_text),
};
static const struct form caller_form = FORM("caller", struct caller, caller_fields);

/* After the first step of a bulk only the number of the request is set here. */
static const struct field bulk_caller_fields[] = {
	NUMBER(struct caller, reply, uid, role),
	MAY_TEXT(struct caller, user, host),
	LIST(struct caller, groups, n_groups, GROUPS_MAX, &form_text),
};
static const struct form bulk_caller_form = FORM("bulk-caller", struct caller, bulk_caller_fields);

static const struct field gpus_fields[] = {
	TEXT(struct gpu_request, type),
	NUMBER(struct gpu_request, count),
};
static const struct form gpus_form = FORM("gpus", struct gpu_request, gpus_fields);

static const struct field found_fields[] = {
	TEXT(struct gpu_found, type, uuid),
	MAY_TEXT(struct gpu_found, trouble, name, of, near),
	NUMBER(struct gpu_found, mem_mb, host, mig),
};
static const struct form found_form = FORM("gpu", struct gpu_found, found_fields);

static const struct field label_fields[] = {
	TEXT(struct label, key, value),
};
static const struct form label_form = FORM("label", struct label, label_fields);

static const struct field run_id_fields[] = {
	NUMBER(struct run_id, job, task, attempt, rank),
};
static const struct form run_id_form = FORM("run", struct run_id, run_id_fields);

static const struct field range_fields[] = {
	NUMBER(struct task_range, first, last, step),
};
static const struct form range_form = FORM("range", struct task_range, range_fields);

static const struct field tasks_fields[] = {
	NUMBER(struct taskset, at, count),
	LIST(struct taskset, v, n, TASK_MAX, &range_form),
};
static const struct form tasks_form = FORM("tasks", struct taskset, tasks_fields);

static const struct field service_fields[] = {
	TEXT(struct submit_service, name, burst_qos, spec),
	NUMBER(struct submit_service, policy.min, policy.max, policy.kept, policy.target_milli,
	        policy.kv_target_milli, policy.window_s, policy.burst_window_s,
	        policy.scale_down_s, policy.to_zero_s, policy.request_wait_ms, policy.surge,
	        policy.settle_s, drain_s, valid_days, update),
};
static const struct form service_form = FORM("service", struct submit_service, service_fields);

/* In an update the fields that an owner signs are not set. */
static const struct field job_fields[] = {
	MAY_TEXT(struct submit_job, name),
	TEXT(struct submit_job, partition, account, submit_host),
	MAY_TEXT(struct submit_job, array, cwd, output, error),
	TEXT(struct submit_job, qos),
	MAY_TEXT(struct submit_job, constraint, prefer, nodelist, exclude, licences, depends),
	NUMBER(struct submit_job, gid),
	SOME(struct submit_job, gpus, n_gpus, MAX_GPU_ALTERNATIVES, &gpus_form),
	NUMBER(struct submit_job, nodes_min, nodes_max, gpus_per_node, gpu_mem_min_mb, gpu_link,
	        tmp_mb, gpu_mem_mb, gpu_mem_burst_mb, gpu_share_milli, exclusive, max_wait_s, cpus,
	        mem_mb, time_limit_s),
	MAY_TEXT(struct submit_job, remark, mail_user, requeue_on),
	NUMBER(struct submit_job, requeue_delay_s, mail_types, begin_time, deadline, kill_invalid,
	        warn_signal, warn_before_s, max_attempts, steps, hold, requeue, nice),
	LIST(struct submit_job, labels, n_labels, LIST_MAX, &label_form),
	NUMBER(struct submit_job, array_at_once),
	RAW(struct submit_job, nonce),
	RAW(struct submit_job, spec_hash),
	NUMBER(struct submit_job, sign_time),
	MAY(struct submit_job, service, &service_form),
	MAY_TEXT(struct submit_job, replica_of),
	NUMBER(struct submit_job, ports, show_output),
};
static const struct form job_form = FORM("job", struct submit_job, job_fields);

static const struct field used_fields[] = {
	NUMBER(struct run_used, cpu_time_us, cpu_wait_us, mem_now_mb, mem_peak_mb, read_bytes,
	        written_bytes, gpu_seen_us, gpu_busy_us, gpu_idle_us, gpu_mem_now_mb,
	        gpu_mem_peak_mb, gpu_mem_mbs, energy_mj, gpu_now_pct, burst_job, burst_time),
};
static const struct form used_form = FORM("used", struct run_used, used_fields);

static const struct field owner_fields[] = {
	MAY_TEXT(struct run_owner, user, account, partition, qos, name, array),
	NUMBER(struct run_owner, gid),
};
static const struct form owner_form = FORM("owner", struct run_owner, owner_fields);

static const struct field replica_fields[] = {
	NUMBER(struct replica_report, health),
	MAY_TEXT(struct replica_report, text),
	NUMBER(struct replica_report, ready_time, ready_us),
	MAY_TEXT(struct replica_report, address),
	SOME(struct replica_report, ports, n_ports, REPLICA_PORTS_MAX, &form_u32),
	NUMBER(struct replica_report, requests, tokens),
};
static const struct form replica_form = FORM("replica", struct replica_report, replica_fields);

static const struct field report_fields[] = {
	PART(struct run_report, run, &run_id_form),
	NUMBER(struct run_report, state, start_time, end_time, elapsed_us, exit_code, exit_signal,
	        cause),
	TEXT(struct run_report, detail, incarnation),
	NUMBER(struct run_report, epoch, gpus),
	TEXT(struct run_report, gpu_type),
	NUMBER(struct run_report, cpus, mem_mb, cpu_time_us, max_rss_kb, uid, nodes,
	        checkpoint_time),
	MAY_TEXT(struct run_report, progress),
	NUMBER(struct run_report, suspended, suspended_us, share_charge, share_milli, share_mb,
	        share_burst_mb),
	MAY_TEXT(struct run_report, node_trouble),
	NUMBER(struct run_report, signature_refused),
	PART(struct run_report, owner, &owner_form),
	PART(struct run_report, used, &used_form),
	PART(struct run_report, replica, &replica_form),
};
static const struct form report_form = FORM("report", struct run_report, report_fields);

/* --- the events ------------------------------------------------------------------------------ */

#define EV     struct core_event
#define CALLER PART(EV, caller, &caller_form)

static const struct field submit_fields[] = {
	CALLER,
	LIST(EV, submit.jobs, submit.n, SUBMIT_JOBS_MAX, &job_form),
	NUMBER(EV, submit.test_only),
};

static const struct field bulk_fields[] = {
	PART(EV, caller, &bulk_caller_form),
	NUMBER(EV, bulk.step),
	MAY_LIST(EV, bulk.jobs, bulk.n, SUBMIT_JOBS_MAX, &job_form),
};

static const struct field hash_fields[] = { RAW(struct spec_hash, b) };
static const struct form hash_form = FORM("hash", struct spec_hash, hash_fields);

static const struct field respec_fields[] = {
	PART(struct respec, was, &hash_form),
	PART(struct respec, is, &hash_form),
	NUMBER(struct respec, fields),
	TEXT(struct respec, told, name, cwd, output, error),
	NUMBER(struct respec, max_attempts, show_output),
};
static const struct form respec_form = FORM("respec", struct respec, respec_fields);

static const struct field walk_fields[] = {
	NUMBER(struct array_walk, next, round, done, refused),
};
static const struct form walk_form = FORM("walk", struct array_walk, walk_fields);

static const struct field job_control_fields[] = {
	CALLER,
	NUMBER(EV, job.verb),
	LIST(EV, job.ids, job.n, LIST_MAX, &form_u64),
	REFS(EV, job.tasks, job.n, LIST_MAX, &tasks_form),
	NUMBER(EV, job.most),
	PART(EV, job.walk, &walk_form),
	NUMBER(EV, job.signal, job.script_only, job.steps_only),
	MAY_TEXT(EV, job.reason),
	MAY(EV, job.change, &job_form),
	NUMBER(EV, job.fields),
	LIST(EV, job.hashes, job.n_hashes, LIST_MAX, &hash_form),
	NUMBER(EV, job.sign_time),
	LIST(EV, job.respecs, job.n_respecs, LIST_MAX, &respec_form),
};

static const struct field node_control_fields[] = {
	CALLER,
	NUMBER(EV, node.verb),
	LIST(EV, node.nodes, node.n, LIST_MAX, &form_u32),
	MAY_TEXT(EV, node.gpu, node.reason),
	NUMBER(EV, node.confirmed_off),
};

static const struct field partition_control_fields[] = {
	CALLER,
	NUMBER(EV, partition.partition, partition.state),
	MAY_TEXT(EV, partition.reason),
};

static const struct field wait_fields[] = { CALLER, NUMBER(EV, wait) };
static const struct field wait_cancel_fields[] = { NUMBER(EV, wait) };

static const struct field agent_up_fields[] = {
	NUMBER(EV, agent_up.node, agent_up.session),
	TEXT(EV, agent_up.boot_id, agent_up.incarnation, agent_up.version, agent_up.containment),
	NUMBER(EV, agent_up.cpus, agent_up.mem_mb),
	LIST(EV, agent_up.gpus, agent_up.n_gpus, LIST_MAX, &found_form),
	NUMBER(EV, agent_up.gpus_asked),
	MAY_TEXT(EV, agent_up.gpu_trouble, agent_up.health),
	NUMBER(EV, agent_up.tells_faults, agent_up.pretended),
	LIST(EV, agent_up.runs, agent_up.n_runs, LIST_MAX, &report_form),
	NUMBER(EV, agent_up.max_epoch, agent_up.max_job),
	MAY_TEXT(EV, agent_up.containment_why),
	NUMBER(EV, agent_up.no_settings, agent_up.no_programs, agent_up.no_health_check,
	        agent_up.no_private_tmp, agent_up.share_users_one, agent_up.more_runs,
	        agent_up.no_services, agent_up.service_ports, agent_up.tmp_mb),
};

static const struct field agent_fields[] = {
	NUMBER(EV, agent.node, agent.session),
};

static const struct field run_report_fields[] = {
	NUMBER(EV, run.node, run.session),
	PART(EV, run.report, &report_form),
};

static const struct field run_use_fields[] = {
	PART(struct run_use, run, &run_id_form),
	PART(struct run_use, used, &used_form),
};
static const struct form run_use_form = FORM("run-use", struct run_use, run_use_fields);

static const struct field gpu_sample_fields[] = {
	TEXT(struct gpu_sample, uuid),
	NUMBER(struct gpu_sample, index, sm_known, sm_pct, temp_c, power_mw, sm_clock_mhz,
	        mem_clock_mhz, last_xid, fb_used_mb, fb_free_mb, energy_mj, last_xid_time),
};
static const struct form gpu_sample_form = FORM("gpu-sample", struct gpu_sample, gpu_sample_fields);

static const struct field runs_used_fields[] = {
	NUMBER(EV, used.node, used.session),
	LIST(EV, used.runs, used.n, LIST_MAX, &run_use_form),
	LIST(EV, used.gpus, used.n_gpus, LIST_MAX, &gpu_sample_form),
};

static const struct field gpu_fault_fields[] = {
	NUMBER(struct gpu_fault, seq),
	TEXT(struct gpu_fault, uuid),
	NUMBER(struct gpu_fault, kind, code),
	TEXT(struct gpu_fault, text),
};
static const struct form gpu_fault_form = FORM("gpu-fault", struct gpu_fault, gpu_fault_fields);

static const struct field gpu_looked_fields[] = {
	TEXT(struct gpu_looked, uuid, trouble),
};
static const struct form gpu_looked_form = FORM("gpu-looked", struct gpu_looked, gpu_looked_fields);

static const struct field gpu_report_fields[] = {
	NUMBER(EV, gpus.node, gpus.session),
	LIST(EV, gpus.faults, gpus.n_faults, LIST_MAX, &gpu_fault_form),
	LIST(EV, gpus.looked, gpus.n_looked, LIST_MAX, &gpu_looked_form),
};

static const struct field step_fields[] = {
	NUMBER(struct step_report, step),
	TEXT(struct step_report, name, nodelist),
	NUMBER(struct step_report, nodes, tasks, cpus, gpus, start_time, end_time, exit_code,
	        exit_signal, cancelled, timeout, cpu_time_us, max_rss_kb),
};
static const struct form step_form = FORM("step", struct step_report, step_fields);

static const struct field step_reports_fields[] = {
	CALLER,
	NUMBER(EV, steps.job, steps.task, steps.attempt),
	LIST(EV, steps.v, steps.n, LIST_MAX, &step_form),
};

static const struct field run_load_fields[] = {
	PART(struct run_load, run, &run_id_form),
	NUMBER(struct run_load, known, kv_milli, running_milli, waiting_milli, requests, tokens),
};
static const struct form run_load_form = FORM("run-load", struct run_load, run_load_fields);

static const struct field runs_load_fields[] = {
	NUMBER(EV, load.node, load.session),
	LIST(EV, load.runs, load.n, LIST_MAX, &run_load_form),
};

static const struct field service_control_fields[] = {
	CALLER,
	NUMBER(EV, service.verb),
	TEXT(EV, service.name),
	MAY_TEXT(EV, service.reason),
	NUMBER(EV, service.min, service.max, service.kept, service.held),
};

static const struct field fenced_fields[] = {
	NUMBER(EV, fenced.node, fenced.off),
};

static const struct field disk_free_fields[] = { NUMBER(EV, disk_free_mb) };

/* For what the controller did by itself there is no caller: its texts may be NULL. */
static const struct field note_fields[] = {
	PART(EV, caller, &bulk_caller_form),
	TEXT(EV, note.kind, note.text),
	NUMBER(EV, note.nobody),
};

static const struct form forms[EVENT_KINDS] = {
	[EV_SUBMIT] = FORM("submit", EV, submit_fields),
	[EV_BULK] = FORM("bulk", EV, bulk_fields),
	[EV_JOB_CONTROL] = FORM("job-control", EV, job_control_fields),
	[EV_NODE_CONTROL] = FORM("node-control", EV, node_control_fields),
	[EV_PARTITION_CONTROL] = FORM("partition-control", EV, partition_control_fields),
	[EV_WAIT_JOB] = FORM("wait-job", EV, wait_fields),
	[EV_WAIT_START] = FORM("wait-start", EV, wait_fields),
	[EV_WAIT_CANCEL] = FORM("wait-cancel", EV, wait_cancel_fields),
	[EV_AGENT_UP] = FORM("agent-up", EV, agent_up_fields),
	[EV_AGENT_GONE] = FORM("agent-gone", EV, agent_fields),
	[EV_HEARTBEAT] = FORM("heartbeat", EV, agent_fields),
	[EV_RUN_REPORT] = FORM("run-report", EV, run_report_fields),
	[EV_RUNS_USED] = FORM("runs-used", EV, runs_used_fields),
	[EV_GPU_REPORT] = FORM("gpu-report", EV, gpu_report_fields),
	[EV_STEP_REPORTS] = FORM("step-reports", EV, step_reports_fields),
	[EV_SERVICE_CONTROL] = FORM("service-control", EV, service_control_fields),
	[EV_RUNS_LOAD] = FORM("runs-load", EV, runs_load_fields),
	[EV_FENCED] = FORM("fenced", EV, fenced_fields),
	[EV_DISK_FREE] = FORM("disk-free", EV, disk_free_fields),
	[EV_NOTE] = FORM("note", EV, note_fields),
	[EV_ENDING] = { "ending", sizeof(EV), NULL, 0 },
	[EV_CLOCK] = { "clock", sizeof(EV), NULL, 0 },
};

const struct form *event_form(enum event_kind kind)
{
	return (size_t)kind < EVENT_KINDS ? &forms[kind] : NULL;
}

static const char *event_name(enum event_kind kind)
{
	return (size_t)kind < EVENT_KINDS ? forms[kind].name : "?";
}

void event_write(const struct core_event *e, struct bytes *out)
{
	bytes_u64(out, e->kind);
	form_write(&forms[e->kind], e, out);
}

void event_read(struct core_event *e, struct taker *in, struct pool *pool)
{
	memset(e, 0, sizeof(*e));
	e->kind = (enum event_kind)take_up_to(in, EVENT_KINDS - 1);
	if (!in->bad)
		form_read(&forms[e->kind], e, in, pool);
}

/* --- what makes sense ------------------------------------------------------------------------ */

static int cannot_be(
        const struct core_event *e, const char *what, uint64_t value, struct error *err)
{
	return error_set(err, ERR_CONFIG, "%s: %s %llu: there is none", event_name(e->kind), what,
	        (unsigned long long)value);
}

static int check_caller(const struct core_event *e, struct error *err)
{
	return e->caller.role <= ROLE_WEB ? 0 : cannot_be(e, "role", e->caller.role, err);
}

static int check_node(
        const struct core_event *e, const struct conf *conf, uint32_t node, struct error *err)
{
	return node < conf->n_nodes ? 0 : cannot_be(e, "node", node, err);
}

static int check_report(const struct core_event *e, const struct run_report *r, struct error *err)
{
	if (r->state < REPORT_STARTING || r->state > REPORT_NEVER)
		return cannot_be(e, "state", r->state, err);
	return r->cause <= END_CAUSE_LAST ? 0 : cannot_be(e, "cause", r->cause, err);
}

static int check_jobs(
        const struct core_event *e, const struct submit_job *v, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct submit_job *j = &v[i];

		if (!j->name || !j->array || !j->cwd || !j->output || !j->error)
			return error_set(err, ERR_CONFIG, "%s: job %zu lacks a text",
			        event_name(e->kind), i);
		if (j->kill_invalid > KILL_NO)
			return cannot_be(e, "kill_invalid", j->kill_invalid, err);
	}
	return 0;
}

static int check_submit(const struct core_event *e, const struct conf *conf, struct error *err)
{
	(void)conf;
	return check_jobs(e, e->submit.jobs, e->submit.n, err);
}

static int check_bulk(const struct core_event *e, const struct conf *conf, struct error *err)
{
	(void)conf;
	if (e->bulk.step > BULK_UNDO)
		return cannot_be(e, "step", e->bulk.step, err);
	if (e->bulk.step != BULK_CHECK)
		return 0;
	if (!e->caller.user || !e->caller.host || !e->bulk.jobs)
		return error_set(err, ERR_CONFIG, "bulk: a check without jobs or a caller");
	return check_jobs(e, e->bulk.jobs, e->bulk.n, err);
}

/* Ranges in order, as taskset.h has them. */
static bool is_taskset(const struct taskset *t)
{
	for (size_t r = 0; r < t->n; r++) {
		const struct task_range *x = &t->v[r];

		if (x->first > x->last || x->last > TASK_MAX || !x->step ||
		        (x->last - x->first) % x->step || (r && x->first <= x[-1].last))
			return false;
	}
	return t->at <= t->n;
}

static int check_job_control(const struct core_event *e, const struct conf *conf, struct error *err)
{
	(void)conf;
	if (e->job.verb < JOB_CANCEL || e->job.verb > JOB_VERB_LAST)
		return cannot_be(e, "verb", e->job.verb, err);
	if (e->job.verb == JOB_UPDATE && !e->job.change)
		return error_set(err, ERR_CONFIG, "job-control: an update without a change");
	if (e->job.n_respecs && e->job.n_respecs != e->job.n)
		return error_set(err, ERR_CONFIG, "job-control: specs for some jobs only");
	for (size_t i = 0; e->job.tasks && i < e->job.n; i++) {
		if (e->job.tasks[i] && !is_taskset(e->job.tasks[i]))
			return error_set(err, ERR_CONFIG, "job-control: tasks");
	}
	return 0;
}

static int check_node_control(
        const struct core_event *e, const struct conf *conf, struct error *err)
{
	if (e->node.verb < NODE_DRAIN || e->node.verb > NODE_CLEAR)
		return cannot_be(e, "verb", e->node.verb, err);
	for (size_t i = 0; i < e->node.n; i++) {
		if (check_node(e, conf, e->node.nodes[i], err))
			return -1;
	}
	return 0;
}

static int check_partition_control(
        const struct core_event *e, const struct conf *conf, struct error *err)
{
	if (e->partition.partition >= conf->n_partitions)
		return cannot_be(e, "partition", e->partition.partition, err);
	if (e->partition.state > CONF_PARTITION_INACTIVE)
		return cannot_be(e, "state", e->partition.state, err);
	return 0;
}

static int check_agent_up(const struct core_event *e, const struct conf *conf, struct error *err)
{
	(void)conf;
	if (!e->agent_up.session)
		return cannot_be(e, "session", 0, err);
	for (size_t i = 0; i < e->agent_up.n_runs; i++) {
		if (check_report(e, &e->agent_up.runs[i], err))
			return -1;
	}
	return 0;
}

static int check_run_report(const struct core_event *e, const struct conf *conf, struct error *err)
{
	(void)conf;
	return check_report(e, &e->run.report, err);
}

typedef int check_fn(const struct core_event *e, const struct conf *conf, struct error *err);
#define NODE(field) offsetof(struct core_event, field)
static const struct {
	check_fn *check;
	size_t node; /* offset of the number of its one node; 0: it has none */
} checks[EVENT_KINDS] = {
	[EV_SUBMIT] = { check_submit, 0 },
	[EV_BULK] = { check_bulk, 0 },
	[EV_JOB_CONTROL] = { check_job_control, 0 },
	[EV_NODE_CONTROL] = { check_node_control, 0 },
	[EV_PARTITION_CONTROL] = { check_partition_control, 0 },
	[EV_AGENT_UP] = { check_agent_up, NODE(agent_up.node) },
	[EV_AGENT_GONE] = { NULL, NODE(agent.node) },
	[EV_HEARTBEAT] = { NULL, NODE(agent.node) },
	[EV_RUN_REPORT] = { check_run_report, NODE(run.node) },
	[EV_RUNS_USED] = { NULL, NODE(used.node) },
	[EV_GPU_REPORT] = { NULL, NODE(gpus.node) },
	[EV_FENCED] = { NULL, NODE(fenced.node) },
};

int event_check(const struct core_event *e, const struct conf *conf, struct error *err)
{
	check_fn *check = checks[e->kind].check;
	size_t node = checks[e->kind].node;

	if (check_caller(e, err) ||
	        (node && check_node(e, conf, *(const uint32_t *)((const char *)e + node), err)))
		return -1;
	return check ? check(e, conf, err) : 0;
}

/* --- rows ------------------------------------------------------------------------------------ */

void row_write(const struct row *row, struct bytes *out)
{
	bytes_u64(out, row->table);
	bytes_u64(out, row->change);
	bytes_u64(out, row->n);
	for (size_t i = 0; i < row->n; i++) {
		const struct value *v = &row->v[i];

		bytes_u64(out, v->type);
		if (v->type == VALUE_INT) {
			bytes_i64(out, v->i);
		} else {
			bytes_u64(out, v->n);
			bytes_raw(out, v->p, v->n);
		}
	}
}

void row_read(struct row *row, struct taker *in)
{
	memset(row, 0, sizeof(*row));
	row->table = (enum row_table)take_up_to(in, TABLE_COUNT - 1);
	row->change = (enum row_change)take_up_to(in, ROW_RETIRE);
	row->n = (size_t)take_up_to(in, ROW_MAX_COLUMNS);
	for (size_t i = 0; i < row->n && !in->bad; i++) {
		struct value *v = &row->v[i];

		v->type = (enum value_type)take_up_to(in, VALUE_BLOB);
		if (v->type == VALUE_INT) {
			v->i = take_i64(in);
		} else {
			v->n = (size_t)take_up_to(in, take_left(in));
			v->p = take_raw(in, v->n);
		}
	}
}

/* --- the format ------------------------------------------------------------------------------ */

uint64_t tape_format(void)
{
	uint64_t h = 0;

	for (size_t i = 0; i < EVENT_KINDS; i++)
		h = form_hash(&forms[i], h);
	for (size_t i = 0; i < TABLE_COUNT; i++) {
		for (size_t c = 0; c < row_columns((enum row_table)i); c++) {
			const char *name = row_column_name((enum row_table)i, c);

			h = hash_bytes(name, strlen(name), h);
			h = hash_u64(row_column_type((enum row_table)i, c), h);
		}
	}
	return h;
}
