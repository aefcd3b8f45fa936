/* convert_orders.c - what agents are told; see convert.h */
#include "ctld/wire/convert.h"

#include <string.h>

#include "ctld/core/nodes/devices_list.h"
#include "ctld/wire/convert_text.h"

static void fill_devices(
        Gpusched__Registered *m, const struct conf *conf, uint32_t node, struct arena *arena)
{
	const struct conf_node *cn = &conf->nodes[node];
	uint32_t index = 0;

	m->gpus = arena_take(arena, CONF_MAX_GPUS_PER_NODE * sizeof(*m->gpus));
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
	COPY_FIELDS(m, &facts->conf->controller, heartbeat_ms, signature_age_s);
	m->cluster = facts->conf->cluster;
	m->takes_faults = true;
	m->takes_load = true;
	return m;
}

static void fill_programs(
        Gpusched__NodeSettings *m, const struct conf_agent *agent, struct arena *arena)
{
	m->programs = arena_take(arena, PROGRAM_KINDS * sizeof(*m->programs));
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
	COPY_FIELDS(m, a, private_tmp_mb, max_processes, kill_wait_ms, gpu_recheck_ms,
	        spool_min_free_mb, gpu_devices, sample_ms, idle_sample_ms, over_memory);
	m->devices = a->devices.v;
	m->n_devices = a->devices.n;
	fill_programs(m, a, arena);
	m->share_users_one = facts->conf->nodes[node].share_users == CONF_USERS_ONE;
	return m;
}

/* None, unless all are known. */
static char **uuids_of(const struct run_view *run, size_t *n, struct arena *arena)
{
	char **v = arena_take(arena, CONF_MAX_GPUS_PER_NODE * sizeof(*v));
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
		v[*n] = arena_take(arena, sizeof(uuid));
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
	COPY_FIELDS(m, run, epoch, share_mps, unnamed, cpus, mem_mb, grace_s);
	WIRE_SHOW(m, run, incarnation, gpu_type);
	WIRE_SHOW(m, job, user, account, partition, qos, submit_host);
	m->gpus = wire_indices(run->gpus, &m->n_gpus, arena);
	m->gpu_uuids = uuids_of(run, &m->n_gpu_uuids, arena);
	m->gpu_mem_mb = run->share.charge ? run->share.mem_mb : run->gpu_mem_mb;
	m->share_charge = run->share.charge;
	m->share_milli = run->share.milli;
	m->share_mb = run->share.mem_mb;
	m->share_burst_mb = run->share.charge ? run->share_burst_mb : 0;
	m->requeue = run->comes_again;
	COPY_FIELDS(m, job, time_limit_s, warn_signal, warn_before_s, n_labels);
	m->nodelist = wire_lend(run->nodes);
	m->nnodes = run->n_nodes;
	m->raw_id = job->raw_id;
	m->labels = wire_labels(job->labels, job->n_labels, arena);
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

/* --- orders that follow from an effect alone -------------------------------------------------- */

static ProtobufCMessage *end_run(
        const struct effect *effect, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__EndRun *m = WIRE_NEW(Gpusched__EndRun, GPUSCHED__END_RUN__INIT, arena);

	m->run = wire_run_name(effect->run.run, arena);
	m->epoch = facts->epoch;
	m->cause = (Gpusched__EndCause)effect->run.cause;
	COPY_FIELDS(m, &effect->run, signal, grace_s, by_job, requeue);
	WIRE_SHOW(m, &effect->run, by_user, by_account, by_qos);
	return &m->base;
}

static ProtobufCMessage *signal_run(
        const struct effect *effect, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__SignalRun *m = WIRE_NEW(Gpusched__SignalRun, GPUSCHED__SIGNAL_RUN__INIT, arena);

	m->run = wire_run_name(effect->run.run, arena);
	m->epoch = facts->epoch;
	COPY_FIELDS(m, &effect->run, signal, script_only, steps_only);
	return &m->base;
}

static ProtobufCMessage *suspend_run(
        const struct effect *effect, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__SuspendRun *m =
	        WIRE_NEW(Gpusched__SuspendRun, GPUSCHED__SUSPEND_RUN__INIT, arena);

	m->run = wire_run_name(effect->run.run, arena);
	m->epoch = facts->epoch;
	m->suspend = effect->run.suspend;
	m->time_limit_s = effect->run.limit_s;
	return &m->base;
}

static ProtobufCMessage *forget_run(
        const struct effect *effect, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__ForgetRun *m = WIRE_NEW(Gpusched__ForgetRun, GPUSCHED__FORGET_RUN__INIT, arena);

	(void)facts;
	m->runs = wire_run_names(&effect->run.run, 1, arena);
	m->n_runs = 1;
	return &m->base;
}

static ProtobufCMessage *ack_gpus(
        const struct effect *effect, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__GpuAck *m = WIRE_NEW(Gpusched__GpuAck, GPUSCHED__GPU_ACK__INIT, arena);

	(void)facts;
	m->seq = effect->ack;
	return &m->base;
}

static ProtobufCMessage *check_gpus(
        const struct effect *effect, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__GpuCheck *m = WIRE_NEW(Gpusched__GpuCheck, GPUSCHED__GPU_CHECK__INIT, arena);

	(void)facts;
	m->n_uuids = effect->check.n;
	m->uuids = arena_take(arena, effect->check.n * sizeof(*m->uuids));
	for (size_t i = 0; i < effect->check.n; i++)
		m->uuids[i] = wire_lend(effect->check.uuids[i]);
	return &m->base;
}

static const struct {
	unsigned type;
	ProtobufCMessage *(*make)(const struct effect *effect, const struct wire_facts *facts,
	        struct arena *arena);
} orders[] = {
	[EFFECT_END_RUN] = { GPUSCHED__MSG_TYPE__MSG_END_RUN, end_run },
	[EFFECT_SIGNAL_RUN] = { GPUSCHED__MSG_TYPE__MSG_SIGNAL_RUN, signal_run },
	[EFFECT_SUSPEND_RUN] = { GPUSCHED__MSG_TYPE__MSG_SUSPEND_RUN, suspend_run },
	[EFFECT_FORGET_RUN] = { GPUSCHED__MSG_TYPE__MSG_FORGET_RUN, forget_run },
	[EFFECT_ACK_GPUS] = { GPUSCHED__MSG_TYPE__MSG_GPU_ACK, ack_gpus },
	[EFFECT_CHECK_GPUS] = { GPUSCHED__MSG_TYPE__MSG_GPU_CHECK, check_gpus },
};

ProtobufCMessage *wire_order(const struct effect *effect, const struct wire_facts *facts,
        struct arena *arena, unsigned *type)
{
	*type = orders[effect->kind].type;
	return orders[effect->kind].make(effect, facts, arena);
}
