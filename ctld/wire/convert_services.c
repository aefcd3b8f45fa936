/* convert_services.c - services and their replicas: what comes in, and answers about them; see
 * convert.h */
#include "ctld/wire/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/text.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/run.h"
#include "ctld/core/request/requests.h"
#include "ctld/core/scale/scaler.h"
#include "ctld/core/services/services.h"
#include "ctld/wire/convert_text.h"

#define REQUESTS_MAX 1e9 /* in flight on one replica: what is more is nonsense */

/* --- submits --------------------------------------------------------------------------------- */

static int bad(const char *what, struct error *err)
{
	return error_set(err, ERR_USAGE, "%s", what);
}

/* The core keeps the signed part as a text, and knows only what it needs of it. */
static const char *spec_text(const Gpusched__ServiceSpec *spec, struct arena *arena)
{
	size_t n = gpusched__service_spec__get_packed_size(spec);
	uint8_t *bytes;
	char *text;

	if (n > SERVICE_SPEC_MAX)
		return NULL;
	bytes = arena_alloc(arena, n + 1);
	text = arena_alloc(arena, 2 * n + 1);
	if (!bytes || !text)
		return NULL;
	gpusched__service_spec__pack(spec, bytes);
	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	text[2 * n] = '\0';
	return text;
}

int wire_submit_service(const Gpusched__ServiceSpec *spec, const Gpusched__ServiceRequest *r,
        struct arena *arena, const struct submit_service **out, struct error *err)
{
	struct submit_service *s = arena_alloc(arena, sizeof(*s));

	if (!r)
		return bad("a service without its number of replicas", err);
	if (!(r->target >= 0) || r->target > REQUESTS_MAX)
		return bad("--target: requests in flight of a replica", err);
	if (text_check("burst QOS", r->burst_qos, WIRE_NAME_MAX, err))
		return -1;
	if (!s)
		return error_set(err, ERR_BUSY, "out of memory");
	*s = (struct submit_service){ .name = spec->name,
		.burst_qos = r->burst_qos,
		.spec = spec_text(spec, arena),
		.policy = { .target_milli = r->target < 4e6 ? (uint32_t)(r->target * 1000) : UINT32_MAX },
		.drain_s = spec->drain_s,
		.valid_days = spec->valid_days,
		.update = r->update };
	COPY_FIELDS(&s->policy, r, min, max, kept, kv_target_milli, window_s, burst_window_s,
	        scale_down_s, to_zero_s, request_wait_ms, surge, settle_s);
	if (!s->spec)
		return error_set(err, ERR_JOB_SPEC, "the description of service %.64s is too long",
		        spec->name);
	*out = s;
	return 0;
}

int wire_service_control(
        const Gpusched__ServiceControl *m, struct core_event *event, struct error *err)
{
	if (m->verb <= 0 || m->verb > (int)SERVICE_VERB_LAST)
		return bad("there is no such verb", err);
	if (text_check("name of a service", m->name, WIRE_NAME_MAX, err) ||
	        text_check("reason", m->reason, WIRE_TEXT_MAX, err))
		return -1;
	event->kind = EV_SERVICE_CONTROL;
	event->service.verb = (enum service_verb)m->verb;
	COPY_FIELDS(&event->service, m, name, reason, min, max, kept, held);
	return 0;
}

/* --- what nodes say -------------------------------------------------------------------------- */

int wire_replica(const Gpusched__Replica *m, struct replica_report *out, struct error *err)
{
	if (m->health < 0 || (int)m->health > (int)HEALTH_LAST || m->n_ports > REPLICA_PORTS_MAX ||
	        m->ready_time < 0 || m->ready_us > INT64_MAX || m->requests > INT64_MAX ||
	        m->tokens > INT64_MAX || text_check("probe", m->text, WIRE_TEXT_MAX, NULL) ||
	        text_check("address", m->address, WIRE_NAME_MAX, NULL))
		return error_set(err, ERR_PROTOCOL, "an agent's message with a replica that cannot be");
	*out = (struct replica_report){ .health = (enum replica_health)m->health };
	COPY_FIELDS(out, m, text, address, ready_time, ready_us, n_ports, requests, tokens);
	for (size_t i = 0; i < m->n_ports; i++) {
		if (!m->ports[i] || m->ports[i] > UINT16_MAX)
			return error_set(err, ERR_PROTOCOL, "an agent's message with port %u",
			        m->ports[i]);
		out->ports[i] = m->ports[i];
	}
	return 0;
}

static bool can_be(double requests)
{
	return requests >= 0 && requests <= REQUESTS_MAX; /* NaN is not */
}

int wire_runs_load(const Gpusched__RunsLoad *m, struct arena *arena, struct core_event *event,
        struct error *err)
{
	struct run_load *runs = arena_alloc(arena, (m->n_runs + 1) * sizeof(*runs));

	if (!runs)
		return error_set(err, ERR_PROTOCOL, "an agent's message with too many loads");
	for (size_t i = 0; i < m->n_runs; i++) {
		const Gpusched__RunLoad *l = m->runs[i];

		if (!l->run || l->requests > INT64_MAX || l->tokens > INT64_MAX)
			return error_set(
			        err, ERR_PROTOCOL, "an agent's message with a load that cannot be");
		runs[i] = (struct run_load){
			.run = { l->run->job, l->run->task, l->run->attempt, l->run->rank },
			.known = l->known && can_be(l->running) && can_be(l->waiting),
			.kv_milli = l->kv_milli < 1000 ? l->kv_milli : 1000,
			.requests = l->requests,
			.tokens = l->tokens,
		};
		if (runs[i].known) {
			runs[i].running_milli = (uint64_t)(l->running * 1000);
			runs[i].waiting_milli = (uint64_t)(l->waiting * 1000);
		}
	}
	event->kind = EV_RUNS_LOAD;
	event->load.runs = runs;
	event->load.n = m->n_runs;
	return 0;
}

/* --- answers --------------------------------------------------------------------------------- */

static int digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

static Gpusched__ServiceSpec *spec_message(const char *text, struct arena *arena)
{
	size_t n = strlen(text) / 2;
	uint8_t *bytes = arena_take(arena, n + 1);

	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
	return gpusched__service_spec__unpack(arena_allocator(arena), n, bytes);
}

static Gpusched__ServiceRequest *request_message(const struct service_info *i, struct arena *arena)
{
	Gpusched__ServiceRequest *m =
	        WIRE_NEW(Gpusched__ServiceRequest, GPUSCHED__SERVICE_REQUEST__INIT, arena);

	COPY_FIELDS(m, &i->policy, min, max, kept, kv_target_milli, window_s, burst_window_s,
	        scale_down_s, to_zero_s, request_wait_ms, surge, settle_s);
	m->target = i->policy.target_milli / 1000.0;
	m->burst_qos = wire_copied(i->burst_qos, arena);
	return m;
}

static void put_ports(const char *text, Gpusched__ServiceReplica *m, struct arena *arena)
{
	m->ports = arena_take(arena, REPLICA_PORTS_MAX * sizeof(uint32_t));
	while (*text && m->n_ports < REPLICA_PORTS_MAX) {
		m->ports[m->n_ports++] = (uint32_t)strtoul(text, NULL, 10);
		text += strcspn(text, ",");
		text += *text == ',';
	}
}

static Gpusched__ServiceReplica *replica_message(
        const struct service *s, const struct replica *r, struct arena *arena)
{
	Gpusched__ServiceReplica *m =
	        WIRE_NEW(Gpusched__ServiceReplica, GPUSCHED__SERVICE_REPLICA__INIT, arena);
	const struct run_replica *told = r->run ? run_replica(r->run) : NULL;

	m->slot = r->slot;
	m->generation = service_info(s)->gens[r->role].number;
	m->job = job_id(r->job);
	m->qos = wire_copied(job_info(r->job)->qos, arena);
	m->attempt = job_info(r->job)->attempt;
	m->reason = wire_copied(job_info(r->job)->comment, arena);
	m->state = wire_lend(replica_state_name(r->state));
	if (!r->run)
		return m;
	m->node = wire_copied(run_info(r->run)->node, arena);
	m->start_time = run_info(r->run)->start_time;
	m->ready_time = told->ready_time;
	m->address = wire_copied(*told->address ? told->address : run_info(r->run)->node, arena);
	put_ports(told->ports, m, arena);
	m->reason = wire_copied(r->lost ? "its node does not answer" : told->text, arena);
	m->load_known = told->load.known;
	m->running = (double)told->load.running_milli / 1000;
	m->waiting = (double)told->load.waiting_milli / 1000;
	m->kv_milli = told->load.kv_milli;
	m->serves = r->serves;
	return m;
}

static void put_counts(const struct service *s, Gpusched__Service *m)
{
	const struct service_link *l = service_link_of(s);
	uint32_t alive = 0;

	for (int g = 0; g < GEN_COUNT; g++) {
		const struct service_counts *c = &l->counts[g];

		ADD_FIELDS(m, c, ready, loading, unready, draining);
		alive += c->alive;
	}
	m->pending = service_info(s)->wanted > alive ? service_info(s)->wanted - alive : 0;
	m->in_flight = l->in_flight;
	m->waiting = l->waiting;
	m->load_time_ms = (uint64_t)(scaler_load_time(l->scaler) / 1000);
}

static void put_gpus(const struct request *asked, Gpusched__Service *m, struct arena *arena)
{
	m->gpus = arena_take(arena, asked->n * sizeof(*m->gpus));
	for (m->n_gpus = 0; m->n_gpus < asked->n; m->n_gpus++) {
		Gpusched__GpuCount *g =
		        WIRE_NEW(Gpusched__GpuCount, GPUSCHED__GPU_COUNT__INIT, arena);

		g->type = wire_copied(asked->v[m->n_gpus].type, arena);
		g->count = asked->v[m->n_gpus].count;
		m->gpus[m->n_gpus] = g;
	}
}

static void put_generations(const struct service *s, Gpusched__Service *m, struct arena *arena)
{
	const struct service_info *i = service_info(s);
	const struct job *own = service_link_of(s)->jobs[GEN_PRESENT];

	m->job = i->gens[GEN_PRESENT].job;
	m->generation = i->gens[GEN_PRESENT].number;
	m->next_job = i->gens[GEN_NEXT].job;
	m->undo_job = i->gens[GEN_UNDO].job;
	m->spec = spec_message(i->gens[GEN_PRESENT].spec, arena);
	if (!own)
		return;
	m->partition = wire_copied(job_info(own)->partition, arena);
	m->qos = wire_copied(job_info(own)->qos, arena);
	put_gpus(job_info(own)->gpus, m, arena);
	m->expires = job_info(own)->sign_time +
	             (int64_t)i->gens[GEN_PRESENT].valid_days * 86400 * 1000000;
}

static void put_avoided(const struct service *s, Gpusched__Service *m, struct arena *arena)
{
	const struct service_link *l = service_link_of(s);

	m->avoided = arena_take(arena, (l->n_avoids + 1) * sizeof(*m->avoided));
	for (uint32_t i = 0; i < l->n_avoids; i++) {
		Gpusched__ServiceAvoided *a = WIRE_NEW(
		        Gpusched__ServiceAvoided, GPUSCHED__SERVICE_AVOIDED__INIT, arena);

		if (!service_avoids(&l->avoids[i]))
			continue;
		a->node = wire_copied(l->avoids[i].node, arena);
		a->times = l->avoids[i].times;
		a->until_time = l->avoids[i].until;
		m->avoided[m->n_avoided++] = a;
	}
}

Gpusched__Service *wire_service(
        const struct core *core, const struct service *s, bool replicas, struct arena *arena)
{
	Gpusched__Service *m = WIRE_NEW(Gpusched__Service, GPUSCHED__SERVICE__INIT, arena);
	const struct service_info *i = service_info(s);
	struct replica_walk at = { 0 };
	struct replica r;
	char text[400];
	size_t room = 0;

	m->name = wire_copied(i->name, arena);
	m->user = wire_copied(i->user, arena);
	m->uid = i->uid;
	m->account = wire_copied(i->account, arena);
	m->state = wire_lend(service_state_name(service_state(core, s, text, sizeof(text))));
	m->reason = wire_copied(text, arena);
	m->wanted = i->wanted;
	m->decision = wire_copied(i->decision, arena);
	COPY_FIELDS(m, i, decision_time, submit_time, paused);
	m->request = request_message(i, arena);
	put_generations(s, m, arena);
	put_counts(s, m);
	put_avoided(s, m, arena);
	while (service_each(s, &at, &r))
		room++;
	m->replicas = arena_take(arena, (room + 1) * sizeof(Gpusched__ServiceReplica *));
	memset(&at, 0, sizeof(at));
	while (service_each(s, &at, &r)) {
		if (r.run) {
			m->requests += run_replica(r.run)->requests;
			m->tokens += run_replica(r.run)->tokens;
		}
		if (replicas)
			m->replicas[m->n_replicas++] = replica_message(s, &r, arena);
	}
	return m;
}
