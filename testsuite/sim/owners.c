/* owners.c - see owners.h */
#include "testsuite/sim/owners.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/net/msg.h"
#include "common/net/signedjob.h"

#define PATIENCE (10 * SEC) /* for an answer */
#define MAX      4          /* replicas */
#define SURGE    2
#define LAST_NAP (20 * SEC) /* from look to look, when all that is left is to go */

static const char script[] = "#!/bin/sh\nexec serve\n";

enum kind { SUBMIT, UPDATE, CONTROL, GONE };

struct owner {
	struct owners *of;
	unsigned index;
	char name[24];
	uint64_t link, turn; /* turn: later answers and timeouts are of another request */
	bool asking, exists, stopping;
	enum kind kind;
	Gpusched__ServiceControl__Verb verb; /* CONTROL */
	unsigned tokens;
	uint64_t job; /* the answer to a submit */
	uint8_t *bytes; /* the request, to be repeated as it is */
	size_t len;
	int type;
	bool sent;
};

struct owners {
	struct owners_options o;
	struct owner *v;
	bool finishing, halted;
	struct owners_count count;
	struct arena *arena;
};

struct turn {
	uint64_t turn;
};

static void request(struct owner *w, enum kind kind, unsigned type, const ProtobufCMessage *m)
{
	free(w->bytes);
	w->len = protobuf_c_message_get_packed_size(m);
	w->bytes = xcalloc(w->len + 1, 1);
	protobuf_c_message_pack(m, w->bytes);
	w->type = (int)type;
	w->kind = kind;
	w->asking = true;
	w->sent = false;
}

/* --- submits --------------------------------------------------------------------------------- */

struct submit {
	Gpusched__Submit m;
	Gpusched__SubmitJob job, *jobs[1];
	Gpusched__JobRequest req;
	Gpusched__ServiceRequest service;
	Gpusched__GpuCount gpu, *gpus[1];
	Gpusched__KeyValue bad, *labels[1];
};

static void choose_policy(struct owner *w, struct submit *s)
{
	struct engine *e = w->of->o.engine;

	gpusched__service_request__init(&s->service);
	s->service.max = (uint32_t)engine_between(e, 1, MAX + 1);
	s->service.min = s->service.max;
	if (engine_chance(e, 500000)) {
		s->service.target = 2;
		s->service.min = (uint32_t)engine_below(e, s->service.max + 1);
		s->service.window_s = 10;
		s->service.burst_window_s = 2;
		s->service.scale_down_s = 20;
		s->service.to_zero_s = 30;
	}
	s->service.kept = engine_chance(e, 500000) ? s->service.min
	                                           : (uint32_t)engine_below(e, s->service.min + 1);
	s->service.surge = (uint32_t)engine_below(e, SURGE + 1);
	s->service.settle_s = (uint32_t)engine_below(e, 6);
}

static void choose_request(struct owner *w, struct submit *s, bool update)
{
	struct engine *e = w->of->o.engine;

	gpusched__job_request__init(&s->req);
	choose_policy(w, s);
	s->service.update = update;
	s->req.service = &s->service;
	s->req.submit_host = (char *)"client";
	gpusched__gpu_count__init(&s->gpu);
	s->gpu.count = (uint32_t)engine_below(e, 2);
	if (!w->index) {
		s->gpu.type = (char *)"a";
		s->gpu.count = 1;
		s->req.account = (char *)"serving";
		s->req.qos = (char *)"steady";
		s->service.burst_qos = (char *)"scavenger";
	}
	s->gpus[0] = &s->gpu;
	s->req.gpus = s->gpus;
	s->req.n_gpus = s->gpu.count;
	if (!update || !engine_chance(e, 300000))
		return;
	gpusched__key_value__init(&s->bad);
	s->bad.key = (char *)OWNERS_LABEL_BAD;
	s->bad.value = (char *)"1";
	s->labels[0] = &s->bad;
	s->req.labels = s->labels;
	s->req.n_labels = 1;
	w->of->count.bad_updates++;
}

/* Signed by its owner: the slots, and who it is. */
static void make_spec(struct owner *w, struct submit *s)
{
	Gpusched__SignedSpec spec = GPUSCHED__SIGNED_SPEC__INIT;
	Gpusched__ServiceSpec service = GPUSCHED__SERVICE_SPEC__INIT;
	struct signedjob_hash hash = signedjob_hash(script, sizeof(script) - 1);
	uint8_t nonce[SIGNEDJOB_NONCE_LEN] = { 0 };
	char array[32];

	snprintf(array, sizeof(array), "0-%u", 2 * MAX + SURGE - 1);
	memcpy(nonce, &w->tokens, sizeof(w->tokens));
	spec.version = SIGNEDJOB_VERSION;
	spec.cluster = (char *)(uintptr_t)w->of->o.cluster;
	spec.nonce = (ProtobufCBinaryData){ SIGNEDJOB_NONCE_LEN, nonce };
	spec.uid = spec.gid = w->of->o.first_uid + w->index;
	spec.script_hash = (ProtobufCBinaryData){ sizeof(hash.b), hash.b };
	spec.name = w->name;
	spec.cwd = (ProtobufCBinaryData){ 1, (uint8_t *)(uintptr_t) "/" };
	spec.output = (ProtobufCBinaryData){ 9, (uint8_t *)(uintptr_t) "/dev/null" };
	spec.tasks_per_node = 1;
	spec.max_attempts = 1000;
	spec.array = array;
	service.name = w->name;
	service.probe_every_ms = 1000;
	service.probe_timeout_ms = 500;
	service.probe_fails = 3;
	service.load_time_s = 60;
	service.drain_s = 1;
	service.starts_per_day = 10000;
	service.valid_days = 1;
	service.ports = 1;
	spec.service = &service;
	s->job.spec.len = gpusched__signed_spec__get_packed_size(&spec);
	s->job.spec.data = xcalloc(s->job.spec.len + 1, 1);
	gpusched__signed_spec__pack(&spec, s->job.spec.data);
	s->job.script = (ProtobufCBinaryData){ sizeof(script) - 1, (uint8_t *)(uintptr_t)script };
}

static char *sign(const struct owner *w, const Gpusched__SubmitJob *job)
{
	struct signedjob_hash hash = signedjob_hash(job->spec.data, job->spec.len);
	const struct mcred_ops *mcred = w->of->o.mcred[w->index];
	uint8_t payload[SIGNEDJOB_PAYLOAD_MAX];
	struct error err;
	char *cred;

	if (mcred->encode(mcred, payload, signedjob_payload(&hash, 1, payload), MCRED_ANY_UID,
	            &cred, &err) < 0) {
		fprintf(stderr, "owner: %s\n", err.text);
		abort();
	}
	return cred;
}

static void make_submit(struct owner *w, bool update)
{
	struct submit s = { 0 };
	char *cred;

	gpusched__submit__init(&s.m);
	gpusched__submit_job__init(&s.job);
	choose_request(w, &s, update);
	make_spec(w, &s);
	s.job.request = &s.req;
	s.jobs[0] = &s.job;
	s.m.jobs = s.jobs;
	s.m.n_jobs = 1;
	cred = sign(w, &s.job);
	s.m.credential = (ProtobufCBinaryData){ strlen(cred), (uint8_t *)cred };
	request(w, update ? UPDATE : SUBMIT, GPUSCHED__MSG_TYPE__MSG_SUBMIT, &s.m.base);
	free(cred);
	free(s.job.spec.data);
}

/* It took too long: signed anew, the same bytes with the same nonce. */
static void sign_again(struct owner *w)
{
	Gpusched__Submit *m = gpusched__submit__unpack(NULL, w->len, w->bytes);
	ProtobufCBinaryData before = m->credential;
	char *cred = sign(w, m->jobs[0]);

	m->credential = (ProtobufCBinaryData){ strlen(cred), (uint8_t *)cred };
	request(w, w->kind, GPUSCHED__MSG_TYPE__MSG_SUBMIT, &m->base);
	m->credential = before;
	gpusched__submit__free_unpacked(m, NULL);
	free(cred);
}

/* --- other requests -------------------------------------------------------------------------- */

static void make_control(struct owner *w, Gpusched__ServiceControl__Verb verb)
{
	struct engine *e = w->of->o.engine;
	Gpusched__ServiceControl m = GPUSCHED__SERVICE_CONTROL__INIT;

	m.verb = w->verb = verb;
	m.name = w->name;
	if (verb == GPUSCHED__SERVICE_CONTROL__VERB__SCALE) {
		m.max = (uint32_t)engine_between(e, 1, MAX + 1);
		m.min = engine_chance(e, 700000) ? m.max : (uint32_t)engine_below(e, m.max + 1);
		m.kept = (uint32_t)engine_below(e, m.min + 1);
		if (engine_chance(e, 500000))
			m.kept = UINT32_MAX;
	} else if (verb == GPUSCHED__SERVICE_CONTROL__VERB__WAKE) {
		m.held = (uint32_t)engine_below(e, 8);
	} else if (verb == GPUSCHED__SERVICE_CONTROL__VERB__STOP) {
		checker_say(w->of->o.checker, "endservice %s", w->name);
		w->stopping = true;
	}
	request(w, CONTROL, GPUSCHED__MSG_TYPE__MSG_SERVICE_CONTROL, &m.base);
}

/* Is it gone? */
static void make_list(struct owner *w)
{
	Gpusched__ListServices m = GPUSCHED__LIST_SERVICES__INIT;
	char *names[1] = { w->name };

	m.names = names;
	m.n_names = 1;
	m.replicas = true;
	request(w, GONE, GPUSCHED__MSG_TYPE__MSG_LIST_SERVICES, &m.base);
}

static void choose(struct owner *w)
{
	static const Gpusched__ServiceControl__Verb verbs[] = {
		GPUSCHED__SERVICE_CONTROL__VERB__SCALE, GPUSCHED__SERVICE_CONTROL__VERB__SCALE,
		GPUSCHED__SERVICE_CONTROL__VERB__PAUSE, GPUSCHED__SERVICE_CONTROL__VERB__RESUME,
		GPUSCHED__SERVICE_CONTROL__VERB__RESUME, GPUSCHED__SERVICE_CONTROL__VERB__UNDO,
		GPUSCHED__SERVICE_CONTROL__VERB__WAKE
	};
	struct engine *e = w->of->o.engine;

	if (w->stopping)
		make_list(w);
	else if (!w->exists)
		make_submit(w, false);
	else if (w->of->finishing || engine_chance(e, 50000))
		make_control(w, GPUSCHED__SERVICE_CONTROL__VERB__STOP);
	else if (engine_chance(e, 300000))
		make_submit(w, true);
	else if (engine_chance(e, 200000))
		make_list(w);
	else
		make_control(w, verbs[engine_below(e, sizeof(verbs) / sizeof(*verbs))]);
}

/* --- answers --------------------------------------------------------------------------------- */

static void later(struct owner *w, usec_t low, usec_t high);

static bool asks_stop(const struct owner *w)
{
	return w->kind == CONTROL && w->verb == GPUSCHED__SERVICE_CONTROL__VERB__STOP;
}

/* A stop that is under way on a session which has ended must not meet the next service of that
 * name. */
static void repeat(struct owner *w)
{
	if (asks_stop(w))
		later(w, 5 * SEC, 6 * SEC);
	else
		later(w, 10 * MS, 2 * SEC);
}

static void hang_up(struct owner *w)
{
	if (w->link)
		link_drop_end(w->of->o.engine, w->link, SIDE_NODE, SEC);
	w->link = 0;
}

static void stop(const struct owner *w, const Gpusched__Reply *reply)
{
	fprintf(stderr, "owner of %s: request %d, verb %d, was answered %u: %s\n", w->name, w->kind,
	        w->verb, reply->code, reply->text);
	abort();
}

static void know(struct owner *w)
{
	struct checker *c = w->of->o.checker;

	checker_say(c, "submit %" PRIu64 " %u o%u", w->job, w->of->o.first_uid + w->index,
	        w->tokens);
	checker_say(c, "array %" PRIu64 " 0-%d 0", w->job, 2 * MAX + SURGE - 1);
	checker_say(c, "service %s %" PRIu64, w->name, w->job);
	w->exists = true;
	w->of->count.submits += w->kind == SUBMIT;
	w->of->count.updates += w->kind == UPDATE;
}

static void is_gone(struct owner *w)
{
	checker_say(w->of->o.checker, "noservice %s", w->name);
	w->of->count.stops += w->stopping;
	w->exists = w->stopping = false;
}

static void submit_answered(struct owner *w, const Gpusched__Reply *reply)
{
	if (reply->code == ERR_MUNGE_CLOCK) {
		sign_again(w);
		return;
	}
	w->tokens++;
	if (reply->code == ERR_NONE)
		know(w);
	else if (reply->code == ERR_NO_SERVICE && w->kind == UPDATE)
		is_gone(w);
	else if (reply->code == ERR_JOB_STATE && w->kind == SUBMIT)
		checker_say(w->of->o.checker, "takenservice %s", w->name);
	else if (reply->code != ERR_JOB_STATE)
		stop(w, reply);
}

static void control_answered(struct owner *w, const Gpusched__Reply *reply)
{
	if (reply->code == ERR_NO_SERVICE)
		is_gone(w);
	else if (reply->code == ERR_NONE)
		w->of->count.undone += w->verb == GPUSCHED__SERVICE_CONTROL__VERB__UNDO;
	else if (reply->code != ERR_JOB_STATE)
		stop(w, reply);
}

static void list_answered(struct owner *w, const Gpusched__Reply *reply)
{
	if (reply->code == ERR_NO_SERVICE)
		is_gone(w);
	else if (reply->code != ERR_NONE)
		stop(w, reply);
}

static void answered(struct owner *w, const Gpusched__Reply *reply)
{
	w->asking = false;
	w->turn++;
	if (w->kind == CONTROL)
		control_answered(w, reply);
	else if (w->kind == GONE)
		list_answered(w, reply);
	else
		submit_answered(w, reply);
	if (w->stopping && w->of->finishing)
		later(w, SEC, LAST_NAP);
	else
		later(w, MS, w->of->o.pause);
}

static void on_message(void *owner, uint64_t link, int type, const void *bytes, size_t n)
{
	struct owner *w = owner;
	ProtobufCMessage *m;
	struct error err;

	if (link != w->link || !w->asking)
		return;
	m = msg_unpack((unsigned)type, bytes, n, w->of->arena, &err);
	if (!m) {
		fprintf(stderr, "owner: %s: %s\n", msg_name((unsigned)type), err.text);
		abort();
	}
	if (type == GPUSCHED__MSG_TYPE__MSG_SUBMIT_RESULT)
		w->job = ((const Gpusched__SubmitResult *)m)->job_ids[0];
	else if (type == GPUSCHED__MSG_TYPE__MSG_REPLY)
		answered(w, (const Gpusched__Reply *)m);
}

static void on_gone(void *owner, uint64_t link)
{
	struct owner *w = owner;

	if (link != w->link)
		return;
	w->link = 0;
	if (w->asking)
		repeat(w);
}

static const struct link_ops owner_link_ops = { on_message, on_gone };

/* --- turns ----------------------------------------------------------------------------------- */

/* No answer: the session may have died without a word. */
static void timed_out(void *arg, void **own)
{
	struct owner *w = arg;
	struct turn *t = *own;

	if (t->turn != w->turn || !w->asking)
		return;
	hang_up(w);
	repeat(w);
}

static void at(struct owner *w, usec_t after, engine_fn *fn)
{
	struct turn *t = xcalloc(1, sizeof(*t));

	t->turn = ++w->turn;
	engine_at(w->of->o.engine, after, fn, w, t);
}

static void act(void *arg, void **own)
{
	struct owner *w = arg;
	struct turn *t = *own;

	if (t->turn != w->turn || w->of->halted)
		return;
	if (!w->asking && w->of->finishing && !w->exists && !w->stopping)
		return;
	if (!w->link)
		w->link = sim_controller_connect(w->of->o.controller, -1,
		        w->of->o.first_uid + w->index, &owner_link_ops, w);
	if (!w->link) {
		later(w, 100 * MS, 2 * SEC);
		return;
	}
	if (!w->asking)
		choose(w);
	w->of->count.repeats += w->sent;
	link_send(w->of->o.engine, w->link, SIDE_NODE, w->type, w->bytes, w->len);
	w->sent = true;
	/* Some are impatient: what was asked is done, and its answer is lost. */
	if (!asks_stop(w) && engine_chance(w->of->o.engine, 50000)) {
		hang_up(w);
		later(w, MS, SEC);
	} else {
		at(w, PATIENCE, timed_out);
	}
}

static void later(struct owner *w, usec_t low, usec_t high)
{
	at(w, engine_between(w->of->o.engine, low, high), act);
}

struct owners *owners_new(const struct owners_options *options)
{
	struct owners *o = xcalloc(1, sizeof(*o));

	o->o = *options;
	o->arena = arena_new(1 << 20);
	o->v = xcalloc(o->o.n + 1, sizeof(*o->v));
	for (unsigned i = 0; i < o->o.n; i++) {
		o->v[i].of = o;
		o->v[i].index = i;
		snprintf(o->v[i].name, sizeof(o->v[i].name), "service-%u", i);
		later(&o->v[i], MS, o->o.pause);
	}
	return o;
}

void owners_free(struct owners *o)
{
	if (!o)
		return;
	for (unsigned i = 0; i < o->o.n; i++)
		free(o->v[i].bytes);
	free(o->v);
	arena_free(o->arena);
	free(o);
}

void owners_finish(struct owners *o)
{
	o->finishing = true;
}

void owners_halt(struct owners *o)
{
	o->halted = true;
	for (unsigned i = 0; i < o->o.n; i++) {
		hang_up(&o->v[i]);
		o->v[i].asking = false;
	}
}

bool owners_are_done(const struct owners *o)
{
	for (unsigned i = 0; i < o->o.n; i++)
		if (o->v[i].asking || o->v[i].exists || o->v[i].stopping)
			return false;
	return true;
}

void owners_count(const struct owners *o, struct owners_count *count)
{
	const uint64_t *from = (const uint64_t *)&o->count;
	uint64_t *to = (uint64_t *)count;

	for (size_t i = 0; i < sizeof(*count) / sizeof(*to); i++)
		to[i] += from[i];
}
