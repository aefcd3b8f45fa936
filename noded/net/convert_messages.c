/* convert_messages.c - see convert_messages.h */
#include "noded/net/convert_messages.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "common/job/runused.h"

/* The numbers on both sides are the same; without this check a shift would go unnoticed. */
#define SAME(ours, wire) _Static_assert((int)(ours) == (int)(wire), #ours)
SAME(END_NONE, GPUSCHED__END_CAUSE__CAUSE_NONE);
SAME(END_EXIT, GPUSCHED__END_CAUSE__CAUSE_EXIT);
SAME(END_TIME_LIMIT, GPUSCHED__END_CAUSE__CAUSE_TIME_LIMIT);
SAME(END_CANCEL, GPUSCHED__END_CAUSE__CAUSE_CANCEL);
SAME(END_PREEMPT, GPUSCHED__END_CAUSE__CAUSE_PREEMPT);
SAME(END_NODE_FAIL, GPUSCHED__END_CAUSE__CAUSE_NODE_FAIL);
SAME(END_LAUNCH, GPUSCHED__END_CAUSE__CAUSE_LAUNCH);
SAME(END_LOST, GPUSCHED__END_CAUSE__CAUSE_LOST);
SAME(END_OUT_OF_MEMORY, GPUSCHED__END_CAUSE__CAUSE_OUT_OF_MEMORY);
SAME(END_DRAIN, GPUSCHED__END_CAUSE__CAUSE_DRAIN);
SAME(END_PEER, GPUSCHED__END_CAUSE__CAUSE_PEER);
SAME(END_RECLAIM, GPUSCHED__END_CAUSE__CAUSE_RECLAIM);
SAME(END_DEADLINE, GPUSCHED__END_CAUSE__CAUSE_DEADLINE);
SAME(END_GPU_MEMORY, GPUSCHED__END_CAUSE__CAUSE_GPU_MEMORY);
SAME(END_IDLE, GPUSCHED__END_CAUSE__CAUSE_IDLE);
SAME(END_SPOOL, GPUSCHED__END_CAUSE__CAUSE_SPOOL);
SAME(END_LAUNCH_OWNER, GPUSCHED__END_CAUSE__CAUSE_LAUNCH_OWNER);
SAME(END_SIGNATURE, GPUSCHED__END_CAUSE__CAUSE_SIGNATURE);
SAME(END_SCALE, GPUSCHED__END_CAUSE__CAUSE_SCALE);
SAME(END_ROLL, GPUSCHED__END_CAUSE__CAUSE_ROLL);
SAME(HEALTH_NONE, GPUSCHED__REPLICA__HEALTH__NONE);
SAME(HEALTH_LOADING, GPUSCHED__REPLICA__HEALTH__LOADING);
SAME(HEALTH_READY, GPUSCHED__REPLICA__HEALTH__READY);
SAME(HEALTH_UNREADY, GPUSCHED__REPLICA__HEALTH__UNREADY);
SAME(REPORT_STARTING, GPUSCHED__RUN_REPORT__STATE__STARTING);
SAME(REPORT_RUNNING, GPUSCHED__RUN_REPORT__STATE__RUNNING);
SAME(REPORT_ENDED, GPUSCHED__RUN_REPORT__STATE__ENDED);
SAME(REPORT_NEVER, GPUSCHED__RUN_REPORT__STATE__NEVER);

#define MAX_GPUS 64 /* of a node; a GPU set is one word */

struct convert {
	void **kept;
	size_t n, room;
};

struct convert *convert_new(void)
{
	return xcalloc(1, sizeof(struct convert));
}

void convert_clear(struct convert *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->kept[i]);
	c->n = 0;
}

void convert_free(struct convert *c)
{
	if (!c)
		return;
	convert_clear(c);
	free(c->kept);
	free(c);
}

static void *take_memory(struct convert *c, size_t n, size_t size)
{
	return *XADD(c->kept, c->n, c->room) = xcalloc(n, size);
}

/* --- runs ------------------------------------------------------------------------------------ */

/* protobuf-c leaves a message that is absent NULL: run 0, which the core refuses. */
static struct run_id id_from(const Gpusched__RunId *id)
{
	return id ? (struct run_id){ .job = id->job,
		.task = id->task,
		.attempt = id->attempt,
		.rank = id->rank }
	          : (struct run_id){ 0 };
}

static Gpusched__RunId *id_to(struct convert *c, struct run_id id)
{
	Gpusched__RunId *out = take_memory(c, 1, sizeof(*out));

	gpusched__run_id__init(out);
	COPY_FIELDS(out, &id, job, task, attempt, rank);
	return out;
}

static struct run_id *ids_from(struct convert *c, Gpusched__RunId *const *ids, size_t n)
{
	struct run_id *out = take_memory(c, n, sizeof(*out));

	for (size_t i = 0; i < n; i++)
		out[i] = id_from(ids[i]);
	return out;
}

static int gpus_from(const uint32_t *indices, size_t n, uint64_t *set, struct error *err)
{
	*set = 0;
	for (size_t i = 0; i < n; i++) {
		if (indices[i] >= MAX_GPUS)
			return error_set(err, ERR_PROTOCOL, "GPU %u: a node has at most %d",
			        indices[i], MAX_GPUS);
		*set |= (uint64_t)1 << indices[i];
	}
	return 0;
}

/* Fields with one name in struct run_owner and in its message. */
#define OWNER_TEXTS(X) X(user) X(account) X(partition) X(qos) X(name) X(array)
#define OWNER_FROM(f)  out->f = m ? m->f : "";
#define OWNER_TO(f)    m->f = (char *)owner->f;

static void owner_from(const Gpusched__RunOwner *m, struct run_owner *out)
{
	OWNER_TEXTS(OWNER_FROM)
	out->gid = m ? m->gid : 0;
}

static Gpusched__RunOwner *owner_to(struct convert *c, const struct run_owner *owner)
{
	Gpusched__RunOwner *m = take_memory(c, 1, sizeof(*m));

	gpusched__run_owner__init(m);
	OWNER_TEXTS(OWNER_TO)
	m->gid = owner->gid;
	return m;
}

static int replica_from(const Gpusched__Replica *m, struct replica_report *out, struct error *err)
{
	*out = (struct replica_report){ 0 };
	if (!m)
		return 0;
	if (m->health < GPUSCHED__REPLICA__HEALTH__NONE || (int)m->health > HEALTH_LAST)
		return error_set(err, ERR_PROTOCOL, "a replica of health %d", (int)m->health);
	if (m->n_ports > REPLICA_PORTS_MAX)
		return error_set(err, ERR_PROTOCOL, "a replica with %zu ports", m->n_ports);
	*out = (struct replica_report){ .health = (enum replica_health)m->health,
		.text = m->text,
		.ready_time = m->ready_time,
		.ready_us = m->ready_us,
		.address = m->address,
		.n_ports = m->n_ports,
		.requests = m->requests,
		.tokens = m->tokens };
	for (size_t i = 0; i < m->n_ports; i++) {
		if (m->ports[i] > UINT16_MAX)
			return error_set(err, ERR_PROTOCOL, "a replica at port %u", m->ports[i]);
		out->ports[i] = m->ports[i];
	}
	return 0;
}

static Gpusched__Replica *replica_to(struct convert *c, const struct replica_report *replica)
{
	Gpusched__Replica *m = take_memory(c, 1, sizeof(*m));

	gpusched__replica__init(m);
	m->health = (Gpusched__Replica__Health)replica->health;
	if (replica->text)
		m->text = (char *)replica->text;
	m->ready_time = replica->ready_time;
	m->ready_us = replica->ready_us;
	if (replica->address)
		m->address = (char *)replica->address;
	m->n_ports = replica->n_ports;
	m->ports = take_memory(c, REPLICA_PORTS_MAX, sizeof(*m->ports));
	for (size_t i = 0; i < replica->n_ports; i++)
		m->ports[i] = replica->ports[i];
	m->requests = replica->requests;
	m->tokens = replica->tokens;
	return m;
}

/* Fields with one name in struct run_report and in its message. */
#define REPORT_TEXTS(X) X(detail) X(incarnation) X(gpu_type) X(progress) X(node_trouble)
/* clang-format off */
#define REPORT_NUMBERS(X) \
	X(start_time) X(end_time) X(elapsed_us) X(suspended) X(suspended_us) X(checkpoint_time) \
	X(exit_code) X(exit_signal) X(signature_refused) X(epoch) X(uid) X(cpus) X(mem_mb) \
	X(cpu_time_us) X(max_rss_kb) X(share_charge) X(share_milli) X(share_mb) X(share_burst_mb)
/* clang-format on */
#define FIELD_FROM(f) out->f = r->f;
#define TEXT_TO(f)    out->f = (char *)report->f;
#define NUMBER_TO(f)  out->f = report->f;

static int report_from(const Gpusched__RunReport *r, struct run_report *out, struct error *err)
{
	if (gpus_from(r->gpus, r->n_gpus, &out->gpus, err) < 0)
		return -1;
	if (r->state < GPUSCHED__RUN_REPORT__STATE__STARTING ||
	        r->state > GPUSCHED__RUN_REPORT__STATE__NEVER)
		return error_set(err, ERR_PROTOCOL, "a run in state %d", (int)r->state);
	REPORT_TEXTS(FIELD_FROM)
	REPORT_NUMBERS(FIELD_FROM)
	out->run = id_from(r->run);
	out->state = (enum run_report_state)r->state;
	out->cause = (enum end_cause)r->cause;
	out->nodes = r->nnodes;
	owner_from(r->owner, &out->owner);
	run_used_from_message(r->used, &out->used);
	return replica_from(r->replica, &out->replica, err);
}

void convert_report(struct convert *c, const struct run_report *report, Gpusched__RunReport *out)
{
	gpusched__run_report__init(out);
	REPORT_TEXTS(TEXT_TO)
	REPORT_NUMBERS(NUMBER_TO)
	out->run = id_to(c, report->run);
	out->state = (Gpusched__RunReport__State)report->state;
	out->cause = (Gpusched__EndCause)report->cause;
	out->nnodes = report->nodes;
	if (report->owner.user && *report->owner.user)
		out->owner = owner_to(c, &report->owner);
	if (report->replica.health)
		out->replica = replica_to(c, &report->replica);
	if (report->state == REPORT_ENDED) {
		out->used = take_memory(c, 1, sizeof(*out->used));
		run_used_to_message(&report->used, out->used);
	}
	if (!report->gpus)
		return;
	out->gpus = take_memory(c, (size_t)__builtin_popcountll(report->gpus), sizeof(*out->gpus));
	for (uint32_t gpu = 0; gpu < MAX_GPUS; gpu++) {
		if (report->gpus >> gpu & 1)
			out->gpus[out->n_gpus++] = gpu;
	}
}

/* --- events ---------------------------------------------------------------------------------- */

/* Signatures of the functions that turn messages into events, and effects into messages; not each
 * function uses all of its arguments. */
#define EVENT(name)                                                                           \
	int name(struct convert *c __attribute__((unused)), const ProtobufCMessage *msg,      \
	        struct agent_event *event, struct error *err __attribute__((unused)))
typedef EVENT(event_fn);

static EVENT(hello_event)
{
	const Gpusched__LauncherHello *m = (const Gpusched__LauncherHello *)msg;
	struct run_report *runs = take_memory(c, m->n_runs, sizeof(*runs));

	for (size_t i = 0; i < m->n_runs; i++) {
		if (report_from(m->runs[i], &runs[i], err) < 0)
			return -1;
	}
	event->kind = AGENT_LAUNCHER_HELLO;
	COPY_FIELDS(&event->hello, m, incarnation, boot_id, containment, max_epoch, max_job);
	event->hello.runs = runs;
	event->hello.n_runs = m->n_runs;
	return 0;
}

static EVENT(run_event)
{
	event->kind = AGENT_LAUNCHER_RUN;
	return report_from((const Gpusched__RunReport *)msg, &event->report, err);
}

static EVENT(registered_event)
{
	const Gpusched__Registered *m = (const Gpusched__Registered *)msg;

	event->kind = AGENT_REGISTERED;
	event->registered.epoch = m->epoch;
	event->registered.wanted = ids_from(c, m->wanted, m->n_wanted);
	COPY_FIELDS(&event->registered, m, n_wanted, heartbeat_ms, signature_age_s);
	return 0;
}

static EVENT(start_event)
{
	const Gpusched__StartRun *m = (const Gpusched__StartRun *)msg;
	uint64_t gpus;

	if (gpus_from(m->gpus, m->n_gpus, &gpus, err) < 0)
		return -1;
	event->kind = AGENT_START;
	event->start.run = id_from(m->run);
	event->start.epoch = m->epoch;
	event->start.incarnation = m->incarnation;
	event->start.order = msg;
	return 0;
}

static EVENT(end_event)
{
	const Gpusched__EndRun *m = (const Gpusched__EndRun *)msg;

	event->kind = AGENT_END;
	event->end = (struct agent_end){ .run = id_from(m->run),
		.epoch = m->epoch,
		.cause = (enum end_cause)m->cause,
		.signal = m->signal,
		.grace_s = m->grace_s,
		.by_user = m->by_user,
		.by_account = m->by_account,
		.by_qos = m->by_qos,
		.by_job = m->by_job,
		.requeue = m->requeue };
	return 0;
}

static EVENT(signal_event)
{
	const Gpusched__SignalRun *m = (const Gpusched__SignalRun *)msg;

	event->kind = AGENT_SIGNAL;
	event->signal.run = id_from(m->run);
	COPY_FIELDS(&event->signal, m, epoch, signal, script_only);
	return 0;
}

static EVENT(suspend_event)
{
	const Gpusched__SuspendRun *m = (const Gpusched__SuspendRun *)msg;

	event->kind = AGENT_SUSPEND;
	event->suspend =
	        (struct agent_suspend){ id_from(m->run), m->epoch, m->suspend, m->time_limit_s };
	return 0;
}

static EVENT(forget_event)
{
	const Gpusched__ForgetRun *m = (const Gpusched__ForgetRun *)msg;

	event->kind = AGENT_FORGET;
	event->forget.runs = ids_from(c, m->runs, m->n_runs);
	event->forget.n = m->n_runs;
	return 0;
}

static const struct event_row {
	unsigned type;
	event_fn *convert;
} event_rows[] = {
	{ GPUSCHED__MSG_TYPE__MSG_LAUNCHER_HELLO, hello_event },
	{ GPUSCHED__MSG_TYPE__MSG_LAUNCHER_RUN, run_event },
	{ GPUSCHED__MSG_TYPE__MSG_REGISTERED, registered_event },
	{ GPUSCHED__MSG_TYPE__MSG_START_RUN, start_event },
	{ GPUSCHED__MSG_TYPE__MSG_END_RUN, end_event },
	{ GPUSCHED__MSG_TYPE__MSG_SIGNAL_RUN, signal_event },
	{ GPUSCHED__MSG_TYPE__MSG_SUSPEND_RUN, suspend_event },
	{ GPUSCHED__MSG_TYPE__MSG_FORGET_RUN, forget_event },
};

int convert_event(struct convert *c, unsigned type, const ProtobufCMessage *msg, uint64_t session,
        struct agent_event *event, struct error *err)
{
	struct agent_event out = { .session = session };

	for (size_t i = 0; i < sizeof(event_rows) / sizeof(*event_rows); i++) {
		if (event_rows[i].type != type)
			continue;
		if (event_rows[i].convert(c, msg, &out, err) < 0)
			return -1;
		*event = out;
		return 0;
	}
	return error_set(err, ERR_PROTOCOL, "message type %u is not for an agent", type);
}

/* --- effects --------------------------------------------------------------------------------- */

#define MESSAGE(name)                                                            \
	const ProtobufCMessage *name(struct convert *c __attribute__((unused)),  \
	        const struct agent_effect *effect __attribute__((unused)),       \
	        const struct node_facts *facts __attribute__((unused)))
typedef MESSAGE(message_fn);

/* The launcher does not know where clients reach the node. */
static void add_address(Gpusched__RunReport *r, const struct node_facts *facts)
{
	if (r->replica && !*r->replica->address && facts->service_address)
		r->replica->address = (char *)facts->service_address;
}

static MESSAGE(register_message)
{
	Gpusched__Register *m = take_memory(c, 1, sizeof(*m));
	Gpusched__RunReport *reports = take_memory(c, effect->reg.n_runs, sizeof(*reports));

	gpusched__register__init(m);
	m->node = (char *)facts->node;
	m->version = (char *)facts->version;
	m->boot_id = (char *)effect->reg.boot_id;
	m->incarnation = (char *)effect->reg.incarnation;
	m->cpus = facts->cpus;
	m->mem_mb = facts->mem_mb;
	m->containment = (char *)effect->reg.containment;
	m->max_epoch = effect->reg.max_epoch;
	m->max_job = effect->reg.max_job;
	m->pretended = facts->pretended;
	m->settings = m->takes_programs = m->takes_health_check = m->takes_private_tmp = true;
	m->share_users_one = facts->share_users_one;
	m->takes_services = true;
	m->service_ports = facts->service_ports;
	m->tmp_mb = facts->tmp_mb;
	if (facts->inventory) {
		m->gpus = facts->inventory->gpus;
		m->n_gpus = facts->inventory->n_gpus;
		m->gpus_asked = facts->inventory->asked;
		m->gpu_trouble = facts->inventory->trouble;
		m->health = facts->inventory->health;
		if (*facts->inventory->containment)
			m->containment = facts->inventory->containment;
		m->containment_why = facts->inventory->containment_why;
		m->tells_faults = true;
	}
	m->runs = take_memory(c, effect->reg.n_runs, sizeof(*m->runs));
	m->n_runs = effect->reg.n_runs;
	m->more_runs = effect->reg.more_runs;
	for (size_t i = 0; i < m->n_runs; i++) {
		convert_report(c, &effect->reg.runs[i], &reports[i]);
		add_address(&reports[i], facts);
		m->runs[i] = &reports[i];
	}
	return &m->base;
}

static MESSAGE(report_message)
{
	Gpusched__RunReport *m = take_memory(c, 1, sizeof(*m));

	convert_report(c, &effect->report, m);
	add_address(m, facts);
	return &m->base;
}

static MESSAGE(heartbeat_message)
{
	Gpusched__Heartbeat *m = take_memory(c, 1, sizeof(*m));

	gpusched__heartbeat__init(m);
	m->load = facts->load;
	m->mem_free_mb = facts->mem_free_mb;
	return &m->base;
}

static MESSAGE(start_message)
{
	return effect->start.order;
}

static MESSAGE(end_message)
{
	const struct agent_end *end = &effect->end;
	Gpusched__EndRun *m = take_memory(c, 1, sizeof(*m));

	gpusched__end_run__init(m);
	m->run = id_to(c, end->run);
	m->epoch = end->epoch;
	m->cause = (Gpusched__EndCause)end->cause;
	m->signal = end->signal;
	m->grace_s = end->grace_s;
	m->by_user = (char *)end->by_user;
	m->by_job = end->by_job;
	m->by_account = (char *)end->by_account;
	m->by_qos = (char *)end->by_qos;
	m->requeue = end->requeue;
	return &m->base;
}

static MESSAGE(signal_message)
{
	Gpusched__SignalRun *m = take_memory(c, 1, sizeof(*m));

	gpusched__signal_run__init(m);
	m->run = id_to(c, effect->signal.run);
	COPY_FIELDS(m, &effect->signal, epoch, signal, script_only);
	return &m->base;
}

static MESSAGE(suspend_message)
{
	Gpusched__SuspendRun *m = take_memory(c, 1, sizeof(*m));

	gpusched__suspend_run__init(m);
	m->run = id_to(c, effect->suspend.run);
	COPY_FIELDS(m, &effect->suspend, epoch, suspend, time_limit_s);
	return &m->base;
}

static MESSAGE(forget_message)
{
	Gpusched__ForgetRun *m = take_memory(c, 1, sizeof(*m));

	gpusched__forget_run__init(m);
	m->runs = take_memory(c, 1, sizeof(*m->runs));
	m->runs[0] = id_to(c, effect->forget);
	m->n_runs = 1;
	return &m->base;
}

static MESSAGE(epoch_message)
{
	Gpusched__LauncherEpoch *m = take_memory(c, 1, sizeof(*m));

	gpusched__launcher_epoch__init(m);
	m->epoch = effect->epoch;
	m->signature_age_s = effect->signature_age_s;
	return &m->base;
}

const ProtobufCMessage *convert_effect(struct convert *c, const struct agent_effect *effect,
        const struct node_facts *facts, unsigned *type)
{
	static const struct {
		unsigned type;
		message_fn *message;
	} rows[AGENT_EFFECT_COUNT] = {
		[AGENT_SEND_REGISTER] = { GPUSCHED__MSG_TYPE__MSG_REGISTER, register_message },
		[AGENT_SEND_REPORT] = { GPUSCHED__MSG_TYPE__MSG_RUN_REPORT, report_message },
		[AGENT_SEND_HEARTBEAT] = { GPUSCHED__MSG_TYPE__MSG_HEARTBEAT, heartbeat_message },
		[AGENT_TELL_START] = { GPUSCHED__MSG_TYPE__MSG_START_RUN, start_message },
		[AGENT_TELL_END] = { GPUSCHED__MSG_TYPE__MSG_END_RUN, end_message },
		[AGENT_TELL_SIGNAL] = { GPUSCHED__MSG_TYPE__MSG_SIGNAL_RUN, signal_message },
		[AGENT_TELL_SUSPEND] = { GPUSCHED__MSG_TYPE__MSG_SUSPEND_RUN, suspend_message },
		[AGENT_TELL_FORGET] = { GPUSCHED__MSG_TYPE__MSG_FORGET_RUN, forget_message },
		[AGENT_TELL_EPOCH] = { GPUSCHED__MSG_TYPE__MSG_LAUNCHER_EPOCH, epoch_message },
	};

	if (effect->kind >= AGENT_EFFECT_COUNT || !rows[effect->kind].message)
		return NULL;
	*type = rows[effect->kind].type;
	return rows[effect->kind].message(c, effect, facts);
}
