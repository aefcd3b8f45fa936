/* convert_orders.c - what agents are told; see convert.h */
#include "ctld/wire/convert.h"

#include <string.h>

#include "ctld/core/nodes/devices.h"
#include "ctld/wire/convert_parts.h"

static void fill_devices(
        Gpusched__Registered *m, const struct conf *conf, uint32_t node, struct arena *arena)
{
	const struct conf_node *cn = &conf->nodes[node];
	uint32_t index = 0;

	m->gpus = wire_take(arena, CONF_MAX_GPUS_PER_NODE * sizeof(*m->gpus));
	for (size_t i = 0; i < cn->n_gpus; i++) {
		const struct conf_gpu_type *type = &conf->gpu_types[cn->gpus[i].type];

		for (unsigned k = 0; k < cn->gpus[i].count; k++) {
			Gpusched__GpuDevice *d =
			        WIRE_NEW(Gpusched__GpuDevice, GPUSCHED__GPU_DEVICE__INIT, arena);

			d->index = index++;
			d->type = type->name;
			d->mem_mb = type->mem_mb;
			m->gpus[m->n_gpus++] = d;
		}
	}
}

Gpusched__Registered *wire_registered(
        const struct effect *effect, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__Registered *m = WIRE_NEW(Gpusched__Registered, GPUSCHED__REGISTERED__INIT, arena);

	m->epoch = facts->epoch;
	m->wanted = wire_run_names(effect->registered.wanted, effect->registered.n, arena);
	m->n_wanted = effect->registered.n;
	fill_devices(m, facts->conf, effect->node, arena);
	m->heartbeat_ms = facts->conf->controller.heartbeat_ms;
	m->signature_age_s = facts->conf->controller.signature_age_s;
	m->cluster = facts->conf->cluster;
	m->takes_faults = true;
	return m;
}

static void fill_programs(
        Gpusched__NodeSettings *m, const struct conf_agent *agent, struct arena *arena)
{
	m->programs = wire_take(arena, PROGRAM_KINDS * sizeof(*m->programs));
	for (uint32_t k = 0; k < PROGRAM_KINDS; k++) {
		const struct conf_program *program = &agent->programs[k];
		Gpusched__RunProgram *p;

		if (!program->path || !*program->path)
			continue;
		p = WIRE_NEW(Gpusched__RunProgram, GPUSCHED__RUN_PROGRAM__INIT, arena);
		p->kind = k;
		p->path = (ProtobufCBinaryData){ strlen(program->path), (uint8_t *)program->path };
		p->timeout_ms = program->timeout_ms;
		m->programs[m->n_programs++] = p;
	}
	m->health_interval_s = agent->health_interval_s;
}

Gpusched__NodeSettings *wire_node_settings(
        uint32_t node, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__NodeSettings *m =
	        WIRE_NEW(Gpusched__NodeSettings, GPUSCHED__NODE_SETTINGS__INIT, arena);
	const struct conf_agent *a = &facts->conf->nodes[node].agent;

	m->epoch = facts->epoch;
	m->containment = a->containment.v;
	m->n_containment = a->containment.n;
	m->private_kinds = a->private_kinds.v;
	m->n_private_kinds = a->private_kinds.n;
	m->rlimits = a->rlimits.v;
	m->n_rlimits = a->rlimits.n;
	m->private_tmp_mb = a->private_tmp_mb;
	m->max_processes = a->max_processes;
	m->kill_wait_ms = a->kill_wait_ms;
	m->gpu_recheck_ms = a->gpu_recheck_ms;
	m->spool_min_free_mb = a->spool_min_free_mb;
	m->gpu_devices = a->gpu_devices;
	m->devices = a->devices.v;
	m->n_devices = a->devices.n;
	m->sample_ms = a->sample_ms;
	m->over_memory = a->over_memory;
	fill_programs(m, a, arena);
	m->share_users_one = facts->conf->nodes[node].share_users == CONF_USERS_ONE;
	return m;
}

/* None, unless all are known. */
static char **uuids_of(const struct run_view *run, size_t *n, struct arena *arena)
{
	char **v = wire_take(arena, CONF_MAX_GPUS_PER_NODE * sizeof(*v));
	char uuid[DEVICE_UUID_MAX];

	*n = 0;
	for (uint32_t i = 0; i < CONF_MAX_GPUS_PER_NODE; i++) {
		if (!(run->gpus >> i & 1))
			continue;
		device_uuid(run->gpu_uuids, i, uuid);
		if (!*uuid) {
			*n = 0;
			break;
		}
		v[*n] = wire_take(arena, sizeof(uuid));
		memcpy(v[(*n)++], uuid, sizeof(uuid));
	}
	return v;
}

static void fill_summary(Gpusched__StartRun *m, const struct run_view *run,
        const struct job_view *job, const char *currency)
{
	/* One that starts in the instant of its submit has waited for 0:00, which is known. */
	if (run->id.attempt == 1)
		m->waited_us = run->order_time > job->submit_time
		                       ? (uint64_t)(run->order_time - job->submit_time)
		                       : 1;
	m->cost_hour_u = run->cost_hour_u;
	m->currency = wire_lend(currency);
}

Gpusched__StartRun *wire_start_run(const struct run_view *run, const struct job_view *job,
        const char *currency, struct arena *arena)
{
	Gpusched__StartRun *m = WIRE_NEW(Gpusched__StartRun, GPUSCHED__START_RUN__INIT, arena);

	m->run = wire_run_name(run->id, arena);
	m->epoch = run->epoch;
	m->incarnation = wire_shown(run->incarnation, arena);
	m->user = wire_shown(job->user, arena);
	m->account = wire_shown(job->account, arena);
	m->partition = wire_shown(job->partition, arena);
	m->qos = wire_shown(job->qos, arena);
	m->gpus = wire_indices(run->gpus, &m->n_gpus, arena);
	m->gpu_uuids = uuids_of(run, &m->n_gpu_uuids, arena);
	m->gpu_type = wire_shown(run->gpu_type, arena);
	m->gpu_mem_mb = run->share.charge ? run->share.mem_mb : run->gpu_mem_mb;
	m->share_charge = run->share.charge;
	m->share_milli = run->share.milli;
	m->share_mb = run->share.mem_mb;
	m->share_mps = run->share_mps;
	m->share_burst_mb = run->share.charge ? run->share_burst_mb : 0;
	m->requeue = run->comes_again;
	m->unnamed = run->unnamed;
	m->cpus = run->cpus;
	m->mem_mb = run->mem_mb;
	m->time_limit_s = job->time_limit_s;
	m->warn_signal = job->warn_signal;
	m->warn_before_s = job->warn_before_s;
	m->grace_s = run->grace_s;
	m->nodelist = wire_lend(run->nodes);
	m->nnodes = run->n_nodes;
	m->raw_id = job->raw_id;
	m->submit_host = wire_shown(job->submit_host, arena);
	m->labels = wire_labels(job->labels, job->n_labels, arena);
	m->n_labels = job->n_labels;
	fill_summary(m, run, job, currency);
	return m;
}

Gpusched__StartRun *wire_start_bytes(const struct store_blob *blob, struct arena *arena)
{
	Gpusched__StartRun *m = WIRE_NEW(Gpusched__StartRun, GPUSCHED__START_RUN__INIT, arena);

	m->spec = wire_lend_bytes(blob->spec, blob->spec_len);
	m->script = wire_lend_bytes(blob->script, blob->script_len);
	m->credential = wire_lend_bytes(blob->credential, blob->credential_len);
	return m;
}

Gpusched__EndRun *wire_end_run(
        const struct effect *effect, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__EndRun *m = WIRE_NEW(Gpusched__EndRun, GPUSCHED__END_RUN__INIT, arena);

	m->run = wire_run_name(effect->run.run, arena);
	m->epoch = facts->epoch;
	m->cause = (Gpusched__EndCause)effect->run.cause;
	m->signal = effect->run.signal;
	m->grace_s = effect->run.grace_s;
	m->by_user = wire_shown(effect->run.by_user, arena);
	m->by_account = wire_shown(effect->run.by_account, arena);
	m->by_qos = wire_shown(effect->run.by_qos, arena);
	m->by_job = effect->run.by_job;
	m->requeue = effect->run.requeue;
	return m;
}

Gpusched__SignalRun *wire_signal_run(
        const struct effect *effect, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__SignalRun *m = WIRE_NEW(Gpusched__SignalRun, GPUSCHED__SIGNAL_RUN__INIT, arena);

	m->run = wire_run_name(effect->run.run, arena);
	m->epoch = facts->epoch;
	m->signal = effect->run.signal;
	m->script_only = effect->run.script_only;
	m->steps_only = effect->run.steps_only;
	return m;
}

Gpusched__SuspendRun *wire_suspend_run(
        const struct effect *effect, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__SuspendRun *m =
	        WIRE_NEW(Gpusched__SuspendRun, GPUSCHED__SUSPEND_RUN__INIT, arena);

	m->run = wire_run_name(effect->run.run, arena);
	m->epoch = facts->epoch;
	m->suspend = effect->run.suspend;
	m->time_limit_s = effect->run.limit_s;
	return m;
}

Gpusched__ForgetRun *wire_forget_run(const struct run_id *runs, size_t n, struct arena *arena)
{
	Gpusched__ForgetRun *m = WIRE_NEW(Gpusched__ForgetRun, GPUSCHED__FORGET_RUN__INIT, arena);

	m->runs = wire_run_names(runs, n, arena);
	m->n_runs = n;
	return m;
}

Gpusched__GpuAck *wire_gpu_ack(const struct effect *effect, struct arena *arena)
{
	Gpusched__GpuAck *m = WIRE_NEW(Gpusched__GpuAck, GPUSCHED__GPU_ACK__INIT, arena);

	m->seq = effect->ack;
	return m;
}

Gpusched__GpuCheck *wire_gpu_check(const struct effect *effect, struct arena *arena)
{
	Gpusched__GpuCheck *m = WIRE_NEW(Gpusched__GpuCheck, GPUSCHED__GPU_CHECK__INIT, arena);

	m->n_uuids = effect->check.n;
	m->uuids = wire_take(arena, effect->check.n * sizeof(*m->uuids));
	for (size_t i = 0; i < effect->check.n; i++)
		m->uuids[i] = wire_lend(effect->check.uuids[i]);
	return m;
}
