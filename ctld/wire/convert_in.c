/* convert_in.c - from the wire to the core; see convert.h */
#include "common/conf/conf_find.h"
#include "ctld/wire/convert.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/hostlist.h"
#include "common/base/label.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "common/gpu/gpu_topology.h"
#include "common/job/depend.h"
#include "common/job/mail_types.h"
#include "common/job/requeue_on.h"
#include "common/job/runused.h"
#include "common/net/signedjob.h"
#include "ctld/core/nodes/devices_list.h"
#include "ctld/core/nodes/mig_layout.h"
#include "ctld/core/request/labels.h"
#include "ctld/wire/convert_text.h"
#include "ctld/wire/nameset.h"

/* Names with the same number here and on the wire: a difference does not compile. */
#define SAME(core, wire, name) \
	same_##wire##name = 1 / ((int)(core##name) == (int)GPUSCHED__##wire##name)
#define SAME_STATE(core, wire, name) \
	same_##wire##name = 1 / ((int)(core##name) + 1 == (int)GPUSCHED__##wire##name)
#define SAME_BIT(core, wire, name) \
	same_##wire##name = 1 / (core##name == UINT64_C(1) << (GPUSCHED__##wire##name - 1))
enum {
	EACH(SAME, END_, END_CAUSE__CAUSE_, NONE, EXIT, TIME_LIMIT, CANCEL, PREEMPT, NODE_FAIL,
	        LAUNCH, LOST, OUT_OF_MEMORY, DRAIN, PEER, RECLAIM, DEADLINE, GPU_MEMORY, IDLE,
	        SPOOL, LAUNCH_OWNER, SIGNATURE, SCALE, ROLL),
	EACH(SAME, REPORT_, RUN_REPORT__STATE__, STARTING, RUNNING, ENDED, NEVER),
	EACH(SAME, JOB_, JOB_CONTROL__VERB__, CANCEL, HOLD, RELEASE, SIGNAL, REQUEUE, SUSPEND,
	        RESUME, UPDATE, REQUEUE_HOLD),
	EACH(SAME, NODE_, NODE_CONTROL__VERB__, DRAIN, RESUME, DOWN, CLEAR),
	EACH(SAME_STATE, CONF_PARTITION_, PARTITION_CONTROL__STATE__, UP, DRAIN, DOWN, INACTIVE),
	EACH(SAME_BIT, UPDATE_, JOB_CONTROL__FIELD__, PARTITION, QOS, ACCOUNT, GPUS, NODES, CPUS,
	        MEM, TIME, NICE, CONSTRAINT, PREFER, NODELIST, EXCLUDE, LICENCES, EXCLUSIVE),
	EACH(SAME_BIT, UPDATE_, JOB_CONTROL__FIELD__, MAX_WAIT, GPU_MEM_MIN, GPU_MEM, GPU_SHARE,
	        GPU_MEM_BURST, BEGIN, DEADLINE, DEPENDENCY, KILL_INVALID_DEP, REMARK, MAIL_TYPE,
	        MAIL_USER, REQUEUE_ON, REQUEUE_DELAY, NO_REQUEUE, WARNING, LABELS, GPU_LINK, TMP),
};

static int too_much(struct error *err)
{
	return error_set(err, ERR_USAGE, "the request takes too much memory to read");
}

static int above(const char *what, uint64_t value, uint64_t max, struct error *err)
{
	return error_set(err, ERR_USAGE, "%s: %llu; at most %llu", what, (unsigned long long)value,
	        (unsigned long long)max);
}

/* --- submit -------------------------------------------------------------------------------- */

static int take_labels(const Gpusched__JobRequest *r, struct arena *arena, struct submit_job *out,
        struct error *err)
{
	Gpusched__KeyValue *const *v = r->labels;
	struct label *labels;

	if (r->n_labels > LABELS_MAX)
		return above("--label", r->n_labels, LABELS_MAX, err);
	labels = arena_alloc(arena, (r->n_labels + 1) * sizeof(*labels));
	if (!labels)
		return too_much(err);
	for (size_t i = 0; i < r->n_labels; i++) {
		if (label_key_check(v[i]->key, strlen(v[i]->key), err) ||
		        text_check("label value", v[i]->value, LABEL_VALUE_MAX, err))
			return -1;
		for (size_t j = 0; j < i; j++)
			if (strcmp(labels[j].key, v[i]->key) == 0)
				return error_set(
				        err, ERR_USAGE, "label '%s' is given twice", v[i]->key);
		if (strcmp(v[i]->key, LABEL_OF_SERVICE) == 0)
			return error_set(err, ERR_USAGE,
			        "label '" LABEL_OF_SERVICE "' is for jobs of services, which have it "
			        "by themselves");
		labels[i] = (struct label){ v[i]->key, v[i]->value };
	}
	out->labels = labels;
	out->n_labels = r->n_labels;
	return 0;
}

static int take_gpus(const Gpusched__JobRequest *r, struct submit_job *out, struct error *err)
{
	if (r->n_gpus > MAX_GPU_ALTERNATIVES)
		return above("GPU alternatives", r->n_gpus, MAX_GPU_ALTERNATIVES, err);
	for (size_t i = 0; i < r->n_gpus; i++) {
		const Gpusched__GpuCount *g = r->gpus[i];

		if (text_check("GPU type", g->type, WIRE_NAME_MAX, err))
			return -1;
		if (g->count < 1 || g->count > WIRE_GPUS_MAX)
			return error_set(err, ERR_USAGE, "--gpus=%s%s%u: a job has 1 to %d GPUs",
			        g->type, *g->type ? ":" : "", g->count, WIRE_GPUS_MAX);
		out->gpus[i] = (struct gpu_request){ g->type, g->count };
	}
	out->n_gpus = r->n_gpus;
	return 0;
}

static int check_numbers(const Gpusched__JobRequest *r, struct error *err)
{
	enum near_link link;

	if (r->cpus > WIRE_CPUS_MAX)
		return above("CPUs", r->cpus, WIRE_CPUS_MAX, err);
	if (r->mem_mb > WIRE_MEM_MB_MAX)
		return above("memory in MiB", r->mem_mb, WIRE_MEM_MB_MAX, err);
	if (r->time_limit_s > INT32_MAX && r->time_limit_s != TIME_LIMIT_NONE)
		return above("time limit in seconds", r->time_limit_s, INT32_MAX, err);
	if (r->warn_signal > WIRE_SIGNAL_MAX)
		return above("warning signal", r->warn_signal, WIRE_SIGNAL_MAX, err);
	if (r->warn_before_s > INT32_MAX)
		return above("seconds of warning", r->warn_before_s, INT32_MAX, err);
	if (r->nodes_min > CONF_MAX_NODES || r->nodes_max > CONF_MAX_NODES)
		return above("nodes", r->nodes_max > r->nodes_min ? r->nodes_max : r->nodes_min,
		        CONF_MAX_NODES, err);
	if (r->nodes_max && r->nodes_max < r->nodes_min)
		return error_set(err, ERR_USAGE, "nodes: %u to %u; the second must not be less",
		        r->nodes_min, r->nodes_max);
	if (r->max_wait_s > INT32_MAX)
		return above("seconds of waiting", r->max_wait_s, INT32_MAX, err);
	if (r->begin_time < 0 || r->deadline_time < 0)
		return error_set(err, ERR_USAGE, "begin, deadline: times from 1970 on");
	if (r->kill_invalid_dep < 0 || (int)r->kill_invalid_dep > KILL_NO)
		return error_set(err, ERR_USAGE, "kill_invalid_dep: no such choice");
	if (r->gpu_mem_mb > WIRE_MEM_MB_MAX)
		return above("memory of a GPU in MiB", r->gpu_mem_mb, WIRE_MEM_MB_MAX, err);
	if (r->gpu_mem_burst_mb > WIRE_MEM_MB_MAX)
		return above("memory of a GPU in MiB", r->gpu_mem_burst_mb, WIRE_MEM_MB_MAX, err);
	if (r->gpu_share_milli > 1000)
		return above("thousandths of a GPU", r->gpu_share_milli, 1000, err);
	if (near_link_parse(r->gpu_link, &link, err) < 0)
		return error_wrap(err, "--gpu-link=%.40s", r->gpu_link);
	if (r->gpu_mem_min_mb > WIRE_MEM_MB_MAX)
		return above("memory of a GPU in MiB", r->gpu_mem_min_mb, WIRE_MEM_MB_MAX, err);
	if (r->tmp_mb > WIRE_MEM_MB_MAX)
		return above("temporary space in MiB", r->tmp_mb, WIRE_MEM_MB_MAX, err);
	if (r->nice > NICE_MAX || r->nice < -NICE_MAX)
		return error_set(err, ERR_USAGE, "--nice=%d: must be -%d to %d", r->nice, NICE_MAX,
		        NICE_MAX);
	return 0;
}

static int check_texts(const Gpusched__JobRequest *r, struct error *err)
{
	const struct {
		const char *what, *text;
		size_t max;
	} texts[] = {
		{ "partition", r->partition, WIRE_NAME_MAX },
		{ "account", r->account, WIRE_NAME_MAX },
		{ "submit host", r->submit_host, WIRE_NAME_MAX },
		{ "qos", r->qos, WIRE_NAME_MAX },
		{ "constraint", r->constraint, WIRE_TEXT_MAX },
		{ "prefer", r->prefer, WIRE_TEXT_MAX },
		{ "nodelist", r->nodelist, WIRE_HOSTS_MAX },
		{ "exclude", r->exclude, WIRE_HOSTS_MAX },
		{ "licences", r->licences, WIRE_TEXT_MAX },
		{ "dependency", r->dependency, DEPEND_TEXT_MAX },
		{ "comment", r->remark, WIRE_HOSTS_MAX },
		{ "mail_type", r->mail_type, WIRE_NAME_MAX },
		{ "mail_user", r->mail_user, MAIL_ADDRESS_MAX },
		{ "requeue_on", r->requeue_on, REQUEUE_ON_TEXT_MAX },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (text_check(texts[i].what, texts[i].text, texts[i].max, err))
			return -1;
	return 0;
}

static void take_places(const Gpusched__JobRequest *r, struct submit_job *out)
{
	enum near_link link;

	COPY_FIELDS(out, r, nodes_min, nodes_max, gpus_per_node, gpu_mem_min_mb, gpu_mem_mb,
	        gpu_share_milli, gpu_mem_burst_mb, constraint, prefer, nodelist, exclude, licences,
	        exclusive, tmp_mb);
	near_link_parse(r->gpu_link, &link, NULL);
	out->gpu_link = link;
}

static int take_request(const Gpusched__JobRequest *r, struct arena *arena, struct submit_job *out,
        struct error *err)
{
	if (check_texts(r, err) || check_numbers(r, err) || take_gpus(r, out, err) ||
	        take_labels(r, arena, out, err))
		return -1;
	take_places(r, out);
	COPY_FIELDS(out, r, qos, max_wait_s, begin_time, mail_user, remark, requeue_on,
	        requeue_delay_s, partition, account, submit_host, cpus, mem_mb, time_limit_s,
	        warn_signal, warn_before_s, hold, nice);
	out->deadline = r->deadline_time;
	if (*r->mail_type && mail_types_parse(r->mail_type, &out->mail_types, err))
		return -1;
	out->depends = r->dependency;
	out->kill_invalid = (uint8_t)r->kill_invalid_dep;
	out->requeue = !r->no_requeue;
	out->array_at_once = r->array_throttle;
	return 0;
}

/* Jobs of services have a label that accounting finds them by. */
static int label_service(
        const char *name, struct arena *arena, struct submit_job *job, struct error *err)
{
	struct label *labels = arena_alloc(arena, (job->n_labels + 1) * sizeof(*labels));

	if (!labels)
		return too_much(err);
	for (size_t i = 0; i < job->n_labels; i++)
		labels[i] = job->labels[i];
	labels[job->n_labels] = (struct label){ LABEL_OF_SERVICE, name };
	job->labels = labels;
	job->n_labels++;
	return 0;
}

int wire_submit_job(const Gpusched__JobRequest *request, const Gpusched__SignedSpec *spec,
        const struct signedjob_hash *hash, int64_t sign_time_s, struct arena *arena,
        struct submit_job *out, struct error *err)
{
	static const Gpusched__JobRequest defaults = GPUSCHED__JOB_REQUEST__INIT;
	struct submit_job job = { .gid = spec->gid, .max_attempts = spec->max_attempts };

	if (take_request(request ? request : &defaults, arena, &job, err))
		return -1;
	COPY_FIELDS(&job, spec, name, array, show_output);
	if (spec->service && (wire_submit_service(spec->service, request ? request->service : NULL,
	                              arena, &job.service, err) ||
	                             label_service(spec->service->name, arena, &job, err)))
		return -1;
	if (spec->service) {
		job.replica_of = spec->service->name;
		job.ports = spec->service->ports;
	}
	job.steps = spec->steps ? (uint8_t)spec->steps->mode : 0;
	job.cwd = wire_string(&spec->cwd, arena);
	job.output = wire_string(&spec->output, arena);
	job.error = wire_string(&spec->error, arena);
	if (!job.cwd || !job.output || !job.error)
		return too_much(err);
	memcpy(job.nonce, spec->nonce.data, sizeof(job.nonce));
	memcpy(job.spec_hash, hash->b, sizeof(job.spec_hash));
	job.sign_time = sign_time_s * 1000000;
	*out = job;
	return 0;
}

/* --- control ------------------------------------------------------------------------------- */

static int take_fields(const Gpusched__JobControl *m, uint64_t *fields, struct error *err)
{
	*fields = 0;
	for (size_t i = 0; i < m->n_fields; i++) {
		if (m->fields[i] == GPUSCHED__JOB_CONTROL__FIELD__FIELD_NONE || m->fields[i] > 64)
			return error_set(
			        err, ERR_USAGE, "a change of something that is not known here");
		*fields |= UINT64_C(1) << (m->fields[i] - 1);
	}
	return *fields ? 0 : error_set(err, ERR_USAGE, "no change is requested");
}

static int take_change(const Gpusched__JobControl *m, struct arena *arena, struct core_event *event,
        struct error *err)
{
	struct submit_job *change = arena_alloc(arena, sizeof(*change));

	if (!change)
		return too_much(err);
	*change = (struct submit_job){ .name = "" };
	if (!m->change)
		return error_set(err, ERR_USAGE, "no change is requested");
	event->job.change = change;
	return take_fields(m, &event->job.fields, err) ||
	                       take_request(m->change, arena, change, err)
	               ? -1
	               : 0;
}

int wire_job_control(const Gpusched__JobControl *m, struct arena *arena, struct core_event *event,
        struct error *err)
{
	if (m->verb == GPUSCHED__JOB_CONTROL__VERB__NONE)
		return error_set(err, ERR_USAGE, "job control without a verb that is known here");
	if (text_check("reason", m->reason, WIRE_TEXT_MAX, err))
		return -1;
	if (m->signal > WIRE_SIGNAL_MAX)
		return above("signal", m->signal, WIRE_SIGNAL_MAX, err);
	if (m->verb == GPUSCHED__JOB_CONTROL__VERB__SIGNAL && m->signal == 0)
		return error_set(err, ERR_USAGE, "signal: 0; must be 1 to %d", WIRE_SIGNAL_MAX);
	if (m->verb == GPUSCHED__JOB_CONTROL__VERB__UPDATE && take_change(m, arena, event, err))
		return -1;
	event->kind = EV_JOB_CONTROL;
	event->job.verb = (enum job_verb)m->verb;
	COPY_FIELDS(&event->job, m, signal, script_only, steps_only, reason);
	return 0;
}

/* All nodes are walked once and looked up among the names, since these are usually few. */
static int find_nodes(
        const struct conf *conf, const struct nameset *names, uint32_t *out, struct error *err)
{
	bool *seen = xcalloc(names->n, sizeof(*seen));
	size_t found = 0;

	for (size_t i = 0; i < conf->n_nodes && found < names->n; i++) {
		char *const *at = nameset_find(names, conf->nodes[i].name);

		if (at) {
			seen[at - names->v] = true;
			out[found++] = (uint32_t)i;
		}
	}
	for (size_t i = 0; found < names->n && i < names->n; i++)
		if (!seen[i]) {
			error_set(err, ERR_NO_NODE, "no node '%s'", names->v[i]);
			break;
		}
	free(seen);
	return found < names->n ? -1 : 0;
}

int wire_node_list(char *const *lists, size_t n, const struct conf *conf, struct arena *arena,
        uint32_t **nodes, size_t *n_nodes, struct error *err)
{
	struct nameset names = { NULL, 0, 0 };
	int ret = nameset_add_hosts(&names, lists, n, CONF_MAX_NODES, err);

	if (ret == 0) {
		nameset_seal(&names);
		*nodes = arena_alloc(arena, (names.n + 1) * sizeof(**nodes));
		*n_nodes = names.n;
		ret = *nodes ? find_nodes(conf, &names, *nodes, err) : too_much(err);
	}
	nameset_clear(&names);
	return ret;
}

int wire_node_control(const Gpusched__NodeControl *m, const struct conf *conf, struct arena *arena,
        struct core_event *event, struct error *err)
{
	uint32_t *nodes;
	size_t n;

	if (m->verb == GPUSCHED__NODE_CONTROL__VERB__NONE)
		return error_set(err, ERR_USAGE, "node control without a verb that is known here");
	if (text_check("reason", m->reason, WIRE_TEXT_MAX, err))
		return -1;
	if (m->verb != GPUSCHED__NODE_CONTROL__VERB__RESUME && !m->reason[0])
		return error_set(err, ERR_USAGE, "a reason is needed");
	if (m->confirmed_off && m->verb != GPUSCHED__NODE_CONTROL__VERB__DOWN)
		return error_set(err, ERR_USAGE, "confirmed-off goes with down only");
	if (text_check("GPU", m->gpu, DEVICE_UUID_MAX, err) ||
	        wire_node_list(&m->nodes, 1, conf, arena, &nodes, &n, err))
		return -1;
	event->kind = EV_NODE_CONTROL;
	event->node.gpu = m->gpu;
	event->node.verb = (enum node_verb)m->verb;
	event->node.nodes = nodes;
	event->node.n = n;
	COPY_FIELDS(&event->node, m, reason, confirmed_off);
	return 0;
}

int wire_partition_control(const Gpusched__PartitionControl *m, const struct conf *conf,
        struct core_event *event, struct error *err)
{
	uint32_t partition = CONF_FIND(conf, partitions, m->name);
	char escaped[80];

	if (m->state == GPUSCHED__PARTITION_CONTROL__STATE__NONE)
		return error_set(err, ERR_USAGE, "a partition's state that is not known here");
	if (text_check("reason", m->reason, WIRE_TEXT_MAX, err))
		return -1;
	if (partition == CONF_NONE) {
		text_escape(escaped, sizeof(escaped), m->name, strlen(m->name));
		return error_set(err, ERR_NO_PARTITION, "no partition '%s'", escaped);
	}
	event->kind = EV_PARTITION_CONTROL;
	event->partition.partition = partition;
	event->partition.state = (enum conf_partition_state)(m->state - 1);
	event->partition.reason = m->reason;
	return 0;
}

/* --- agents -------------------------------------------------------------------------------- */

static int bad_agent(const char *what, struct error *err)
{
	return error_set(err, ERR_PROTOCOL, "an agent's message with %s", what);
}

/* An agent's texts go on to people: what is too long is the agent's fault. */
static int agent_text(const char *what, const char *s, struct error *err)
{
	if (text_check(what, s, WIRE_TEXT_MAX, err) == 0)
		return 0;
	if (err)
		err->code = ERR_PROTOCOL;
	return -1;
}

static bool numbers_can_be(const Gpusched__RunReport *m)
{
	return m->start_time >= 0 && m->end_time >= 0 && m->checkpoint_time >= 0 &&
	       m->elapsed_us <= INT64_MAX && m->suspended_us <= INT64_MAX &&
	       m->epoch <= INT64_MAX && m->mem_mb <= INT64_MAX && m->cpu_time_us <= INT64_MAX &&
	       m->max_rss_kb <= INT64_MAX && m->exit_code <= 255 &&
	       m->exit_signal <= WIRE_SIGNAL_MAX && m->nnodes <= CONF_MAX_NODES &&
	       m->share_charge <= 1000 && m->share_milli <= m->share_charge &&
	       m->share_mb <= WIRE_MEM_MB_MAX && m->share_burst_mb <= WIRE_MEM_MB_MAX;
}

static bool used_can_be(const Gpusched__RunUsed *m)
{
	return m->cpu_time_us <= INT64_MAX && m->cpu_wait_us <= INT64_MAX &&
	       m->mem_now_mb <= INT64_MAX / 1024 && m->mem_peak_mb <= INT64_MAX / 1024 &&
	       m->read_bytes <= INT64_MAX && m->written_bytes <= INT64_MAX &&
	       m->gpu_seen_us <= INT64_MAX && m->gpu_busy_us <= m->gpu_seen_us &&
	       m->gpu_idle_us <= m->gpu_seen_us && m->gpu_mem_now_mb <= INT64_MAX &&
	       m->gpu_mem_peak_mb <= INT64_MAX && m->gpu_mem_mbs <= INT64_MAX &&
	       m->energy_mj <= INT64_MAX && m->gpu_now_pct <= 100 && m->burst_job <= INT64_MAX &&
	       m->burst_time >= 0;
}

static int take_gpu_set(const Gpusched__RunReport *m, uint64_t *set, struct error *err)
{
	*set = 0;
	for (size_t i = 0; i < m->n_gpus; i++) {
		if (m->gpus[i] >= CONF_MAX_GPUS_PER_NODE)
			return bad_agent("a GPU index that cannot be", err);
		if (*set & 1ULL << m->gpus[i])
			return bad_agent("a GPU held twice by one run", err);
		*set |= 1ULL << m->gpus[i];
	}
	return 0;
}

static int take_owner(const Gpusched__RunOwner *m, struct run_owner *out, struct error *err)
{
	if (agent_text("user", m->user, err) || agent_text("account", m->account, err) ||
	        agent_text("partition", m->partition, err) || agent_text("QOS", m->qos, err) ||
	        agent_text("job's name", m->name, err) || agent_text("array", m->array, err))
		return -1;
	*out = (struct run_owner){ m->user, m->account, m->partition, m->qos, m->name, m->array,
		m->gid };
	return 0;
}

int wire_report(const Gpusched__RunReport *m, struct run_report *out, struct error *err)
{
	struct run_report r = { 0 };

	if (!m->run || m->run->job == 0 || m->run->attempt == 0 || m->run->job > INT64_MAX)
		return bad_agent("a run that has no name", err);
	if (m->state == GPUSCHED__RUN_REPORT__STATE__NONE)
		return bad_agent("a run in no state", err);
	if (!numbers_can_be(m) || (m->used && !used_can_be(m->used)))
		return bad_agent("a number that cannot be", err);
	if (agent_text("detail", m->detail, err) ||
	        agent_text("incarnation", m->incarnation, err) ||
	        agent_text("GPU type", m->gpu_type, err) ||
	        agent_text("progress", m->progress, err) ||
	        agent_text("trouble", m->node_trouble, err) || take_gpu_set(m, &r.gpus, err))
		return -1;
	r.run = (struct run_id){ m->run->job, m->run->task, m->run->attempt, m->run->rank };
	r.state = (enum run_report_state)m->state;
	COPY_FIELDS(&r, m, start_time, end_time, elapsed_us, exit_code, exit_signal);
	r.cause = (enum end_cause)m->cause;
	COPY_FIELDS(&r, m, detail, incarnation, epoch, share_charge, share_milli, share_mb,
	        share_burst_mb, gpu_type, cpus, mem_mb, cpu_time_us, max_rss_kb, uid);
	r.nodes = m->nnodes;
	COPY_FIELDS(&r, m, checkpoint_time, progress, node_trouble, signature_refused);
	if (m->owner && take_owner(m->owner, &r.owner, err))
		return -1;
	COPY_FIELDS(&r, m, suspended, suspended_us);
	run_used_from_message(m->used, &r.used);
	if (m->replica && wire_replica(m->replica, &r.replica, err))
		return -1;
	*out = r;
	return 0;
}

/* Bounds of samples, as of noded/gpu/nvml_usage.h. */
#define SAMPLE_TEMP_MAX  1000
#define SAMPLE_POWER_MAX 10000000
#define SAMPLE_CLOCK_MAX 100000

static bool sample_can_be(const Gpusched__GpuSample *m)
{
	return strlen(m->uuid) < DEVICE_UUID_MAX && !strpbrk(m->uuid, ", ") && m->sm_pct <= 100 &&
	       m->fb_used_mb <= WIRE_MEM_MB_MAX && m->fb_free_mb <= WIRE_MEM_MB_MAX &&
	       m->temp_c <= SAMPLE_TEMP_MAX && m->power_mw <= SAMPLE_POWER_MAX &&
	       m->energy_mj <= INT64_MAX && m->sm_clock_mhz <= SAMPLE_CLOCK_MAX &&
	       m->mem_clock_mhz <= SAMPLE_CLOCK_MAX && m->last_xid_time >= 0;
}

static int take_samples(const Gpusched__RunsUsed *m, struct arena *arena, struct core_event *event,
        struct error *err)
{
	struct gpu_sample *v;

	event->used.n_gpus = 0;
	event->used.gpus = NULL;
	if (m->n_gpus > CONF_MAX_GPUS_PER_NODE)
		return bad_agent("samples of more GPUs than can be", err);
	v = arena_alloc(arena, (m->n_gpus + 1) * sizeof(*v));
	if (!v)
		return bad_agent("more samples than can be", err);
	for (size_t i = 0; i < m->n_gpus; i++) {
		const Gpusched__GpuSample *s = m->gpus[i];

		if (!sample_can_be(s) || agent_text("UUID", s->uuid, err))
			return bad_agent("a GPU's sample that cannot be", err);
		v[i] = (struct gpu_sample){ 0 };
		COPY_FIELDS(&v[i], s, uuid, index, sm_known, sm_pct, fb_used_mb, fb_free_mb, temp_c,
		        power_mw, energy_mj, sm_clock_mhz, mem_clock_mhz, last_xid, last_xid_time);
	}
	event->used.gpus = v;
	event->used.n_gpus = m->n_gpus;
	return 0;
}

int wire_runs_used(const Gpusched__RunsUsed *m, struct arena *arena, struct core_event *event,
        struct error *err)
{
	struct run_use *runs = arena_alloc(arena, (m->n_runs + 1) * sizeof(*runs));

	if (!runs)
		return bad_agent("more runs than can be", err);
	for (size_t i = 0; i < m->n_runs; i++) {
		const Gpusched__RunUsed *u = m->runs[i];

		if (!u->run || !used_can_be(u))
			return bad_agent("use that cannot be", err);
		runs[i].run =
		        (struct run_id){ u->run->job, u->run->task, u->run->attempt, u->run->rank };
		run_used_from_message(u, &runs[i].used);
	}
	event->kind = EV_RUNS_USED;
	event->used.runs = runs;
	event->used.n = m->n_runs;
	return take_samples(m, arena, event, err);
}

#define MAX_DEVICES 256 /* of one node, with those that are no slots */

/* Its UUIDs are kept in lists with "," between. */
static int device_text(const Gpusched__GpuDevice *d, struct error *err)
{
	if (strlen(d->uuid) >= DEVICE_UUID_MAX || strpbrk(d->uuid, ", "))
		return bad_agent("a GPU's UUID that cannot be", err);
	if (d->mem_mb > WIRE_MEM_MB_MAX || d->host >= LAYOUT_HOSTS)
		return bad_agent("a GPU's memory or number that cannot be", err);
	return agent_text("GPU type", d->type, err) || agent_text("UUID", d->uuid, err) ||
	                       agent_text("name", d->name, err) ||
	                       agent_text("trouble", d->trouble, err)
	               ? -1
	               : 0;
}

/* The type of the GPU that a MIG instance is on. */
static const char *parent_type(const Gpusched__Register *m, const Gpusched__GpuDevice *mig)
{
	for (size_t i = 0; i < m->n_gpus; i++) {
		if (!m->gpus[i]->mig && m->gpus[i]->host == mig->host)
			return m->gpus[i]->type;
	}
	return "";
}

/* The closeness of the GPU to the others. What an agent reports in another form is left out. */
static const char *take_near(const Gpusched__GpuDevice *d, struct arena *arena, struct error *err)
{
	struct near_place place = { .grouped = !d->mig && d->n_pcie_groups == NEAR_GROUPS };
	/* older agents only report the peers */
	bool counted = d->n_peer_nvlinks == d->n_nvlink_peers;
	char text[NEAR_PLACE_TEXT];

	for (size_t i = 0; place.grouped && i < NEAR_GROUPS; i++) {
		if (d->pcie_groups[i] >= NEAR_HOSTS)
			return bad_agent("a GPU's PCIe group that cannot be", err), NULL;
		place.groups[i] = (uint8_t)d->pcie_groups[i];
	}
	for (size_t i = 0; !d->mig && i < d->n_nvlink_peers; i++) {
		uint32_t n = counted ? d->peer_nvlinks[i] : 1;

		if (d->nvlink_peers[i] >= NEAR_HOSTS)
			return bad_agent("a GPU's NVLink to one that cannot be", err), NULL;
		place.links[d->nvlink_peers[i]] =
		        (uint8_t)(n < NEAR_LINKS_MAX ? n : NEAR_LINKS_MAX);
	}
	near_place_write(&place, text);
	return wire_copied(text, arena);
}

/* The GPUs and MIG instances that can be used, and what could be if it were not in trouble. */
static int take_devices(const Gpusched__Register *m, struct arena *arena, struct core_event *event,
        struct error *err)
{
	struct gpu_found *found = arena_alloc(arena, (m->n_gpus + 1) * sizeof(*found));
	size_t n = 0;

	if (!found || m->n_gpus > MAX_DEVICES)
		return bad_agent("more GPUs than can be", err);
	for (size_t i = 0; i < m->n_gpus; i++) {
		const Gpusched__GpuDevice *d = m->gpus[i];
		const char *near = take_near(d, arena, err);

		if (!near || device_text(d, err) < 0)
			return -1;
		for (size_t k = 0; k < n && *d->uuid && !*d->trouble; k++) {
			if (!*found[k].trouble && strcmp(found[k].uuid, d->uuid) == 0)
				return bad_agent("a GPU twice", err);
		}
		if (d->mig || !d->mig_mode || *d->trouble)
			found[n++] = (struct gpu_found){ .type = d->type,
				.uuid = d->uuid,
				.trouble = d->trouble,
				.name = d->name,
				.of = d->mig ? parent_type(m, d) : "",
				.near = near,
				.mem_mb = d->mem_mb,
				.host = d->host,
				.mig = d->mig };
	}
	event->agent_up.gpus = found;
	event->agent_up.n_gpus = n;
	COPY_FIELDS(&event->agent_up, m, gpus_asked, gpu_trouble, health);
	return 0;
}

int wire_register(const Gpusched__Register *m, struct arena *arena, struct core_event *event,
        struct error *err)
{
	struct run_report *runs;

	if (agent_text("boot id", m->boot_id, err) ||
	        agent_text("incarnation", m->incarnation, err) ||
	        agent_text("version", m->version, err) ||
	        agent_text("containment", m->containment, err) ||
	        agent_text("reason", m->containment_why, err) ||
	        agent_text("trouble", m->gpu_trouble, err) || agent_text("health", m->health, err))
		return -1;
	if (!m->incarnation[0])
		return bad_agent("no incarnation", err);
	if (m->cpus > WIRE_CPUS_MAX || m->mem_mb > WIRE_MEM_MB_MAX || m->tmp_mb > WIRE_MEM_MB_MAX ||
	        m->max_epoch > INT64_MAX / 2 || m->max_job > INT64_MAX / 2)
		return bad_agent("a number that cannot be", err);
	runs = arena_alloc(arena, (m->n_runs + 1) * sizeof(*runs));
	if (!runs)
		return bad_agent("more runs than can be read", err);
	for (size_t i = 0; i < m->n_runs; i++)
		if (wire_report(m->runs[i], &runs[i], err))
			return -1;
	if (take_devices(m, arena, event, err))
		return -1;
	event->kind = EV_AGENT_UP;
	COPY_FIELDS(&event->agent_up, m, boot_id, incarnation, version, containment,
	        containment_why, cpus, mem_mb, pretended, tells_faults, n_runs, more_runs,
	        max_epoch, max_job, service_ports, tmp_mb);
	event->agent_up.no_services = !m->takes_services;
	event->agent_up.no_settings = !m->settings;
	event->agent_up.no_programs = !m->takes_programs;
	event->agent_up.no_health_check = !m->takes_health_check;
	event->agent_up.no_private_tmp = !m->takes_private_tmp;
	event->agent_up.share_users_one = m->share_users_one;
	event->agent_up.runs = runs;
	return 0;
}
