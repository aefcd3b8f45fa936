/* client.c - see client.h */
#include "testsuite/sim/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg.h"
#include "common/signedjob.h"
#include "common/xalloc.h"

enum { SUBMIT, CONTROL, LOOK };

static const char script[] = "#!/bin/sh\nexec infer\n";

struct sim_client {
	struct sim_client_options o;
	uint64_t link;
	uint64_t turn; /* of the request under way: later answers and timeouts are of another */
	bool asking;
	int kind;       /* of the request under way */
	uint8_t *bytes; /* and its message, to be repeated as it is */
	size_t len;
	int type;
	/* What is to be done to jobs, one after another; CONTROL: the one under way. */
	struct deed {
		uint64_t job;
		Gpusched__JobControl__Verb verb;
	} * deeds, deed;
	size_t n_deeds;
	unsigned submitted;
	uint64_t *jobs;
	bool *ended;
	size_t n_jobs;
	uint64_t answer; /* the id of a SubmitResult */
	/* Of the submit under way; 0: it waits for no job. */
	uint64_t waits_for;
	const char *waits_type;
	char waits[80];
	bool look;
	struct arena *arena;
};

struct turn {
	uint64_t turn;
};

static void next(struct sim_client *c);

static void request(struct sim_client *c, int kind, unsigned type, const ProtobufCMessage *m)
{
	free(c->bytes);
	c->len = protobuf_c_message_get_packed_size(m);
	c->bytes = xcalloc(c->len + 1, 1);
	protobuf_c_message_pack(m, c->bytes);
	c->type = (int)type;
	c->kind = kind;
	c->asking = true;
}

/* One node, or a gang of a number or a range of nodes, with GPUs by node or in all. */
static void choose_request(
        struct sim_client *c, Gpusched__JobRequest *req, Gpusched__GpuCount *gpus)
{
	struct engine *e = c->o.engine;
	uint32_t nodes;

	gpus->type = (char *)"";
	gpus->count = (uint32_t)engine_between(e, 0, c->o.max_gpus + 1);
	if (!engine_chance(e, c->o.gang_ppm))
		return;
	nodes = (uint32_t)engine_between(e, 2, c->o.max_nodes + 1);
	req->nodes_min = nodes;
	req->nodes_max = engine_chance(e, 300000) ? c->o.max_nodes : 0;
	gpus->count = (uint32_t)engine_between(e, 0, 3);
	req->gpus_per_node = gpus->count && engine_chance(e, 500000);
	if (!req->gpus_per_node)
		gpus->count *= nodes;
}

/* Another job, the end of which it waits for; one of a name of which one runs at a time; some time.
 */
static void choose_conditions(
        struct sim_client *c, Gpusched__SignedSpec *spec, Gpusched__JobRequest *req)
{
	static const char *const types[] = { "after", "afterok", "afternotok", "afterany" };
	struct engine *e = c->o.engine;

	c->waits_for = 0;
	if (!engine_chance(e, c->o.wait_ppm))
		return;
	req->kill_invalid_dep = GPUSCHED__KILL_INVALID__KILL_YES;
	if (c->n_jobs && engine_chance(e, 700000)) {
		c->waits_for = c->jobs[engine_below(e, c->n_jobs)];
		c->waits_type = types[engine_below(e, 4)];
		snprintf(c->waits, sizeof(c->waits), "%s:%" PRIu64 "%s", c->waits_type,
		        c->waits_for, engine_chance(e, 200000) ? ",singleton" : "");
		req->dependency = c->waits;
	} else if (engine_chance(e, 500000)) {
		spec->name = (char *)"alone";
		req->dependency = (char *)"singleton";
	} else {
		req->begin_time = engine_now(e).wall + (int64_t)engine_between(e, 0, 60 * SEC);
	}
}

static void make_submit(struct sim_client *c)
{
	static const uint32_t attempts[] = { 1, 2, 1000, 1000 };
	struct engine *e = c->o.engine;
	Gpusched__SignedSpec spec = GPUSCHED__SIGNED_SPEC__INIT;
	Gpusched__JobRequest req = GPUSCHED__JOB_REQUEST__INIT;
	Gpusched__SubmitJob job = GPUSCHED__SUBMIT_JOB__INIT, *jobs[1] = { &job };
	Gpusched__Submit m = GPUSCHED__SUBMIT__INIT;
	Gpusched__GpuCount gpus = GPUSCHED__GPU_COUNT__INIT, *alternatives[1] = { &gpus };
	struct signedjob_hash script_hash = signedjob_hash(script, sizeof(script) - 1), hash;
	uint8_t nonce[SIGNEDJOB_NONCE_LEN] = { 0 }, payload[SIGNEDJOB_PAYLOAD_MAX], *bytes;
	struct error err;
	char *cred;
	size_t len;

	memcpy(nonce, &c->submitted, sizeof(c->submitted));
	spec.version = SIGNEDJOB_VERSION;
	spec.cluster = (char *)(uintptr_t)c->o.cluster;
	spec.nonce = (ProtobufCBinaryData){ sizeof(nonce), nonce };
	spec.uid = spec.gid = c->o.uid;
	spec.script_hash = (ProtobufCBinaryData){ sizeof(script_hash.b), script_hash.b };
	spec.name = (char *)"sim";
	spec.cwd = (ProtobufCBinaryData){ 1, (uint8_t *)(uintptr_t) "/" };
	spec.output = (ProtobufCBinaryData){ 9, (uint8_t *)(uintptr_t) "/dev/null" };
	spec.max_attempts = attempts[c->submitted % 4];
	spec.tasks_per_node = 1;
	choose_request(c, &req, &gpus);
	choose_conditions(c, &spec, &req);
	req.gpus = alternatives;
	req.n_gpus = gpus.count ? 1 : 0;
	req.time_limit_s = engine_chance(e, c->o.limit_ppm) ? 2 : 0;
	req.submit_host = (char *)"client";
	req.no_requeue = spec.max_attempts == 1;
	len = gpusched__signed_spec__get_packed_size(&spec);
	bytes = xcalloc(len, 1);
	gpusched__signed_spec__pack(&spec, bytes);
	hash = signedjob_hash(bytes, len);
	if (c->o.mcred->encode(c->o.mcred, payload, signedjob_payload(&hash, 1, payload),
	            MCRED_ANY_UID, &cred, &err) < 0) {
		fprintf(stderr, "client: %s\n", err.text);
		abort();
	}
	job.spec = (ProtobufCBinaryData){ len, bytes };
	job.script = (ProtobufCBinaryData){ sizeof(script) - 1, (uint8_t *)(uintptr_t)script };
	job.request = &req;
	m.credential = (ProtobufCBinaryData){ strlen(cred), (uint8_t *)cred };
	m.jobs = jobs;
	m.n_jobs = 1;
	request(c, SUBMIT, GPUSCHED__MSG_TYPE__MSG_SUBMIT, &m.base);
	free(cred);
	free(bytes);
}

static void plan(struct sim_client *c, uint64_t job, Gpusched__JobControl__Verb verb)
{
	c->deeds = xrealloc(c->deeds, c->n_deeds + 1, sizeof(*c->deeds));
	c->deeds[c->n_deeds++] = (struct deed){ job, verb };
}

/* Any of them, so that a job may be suspended or resumed at any time, or never. */
static void make_control(struct sim_client *c)
{
	size_t i = (size_t)engine_below(c->o.engine, c->n_deeds);
	Gpusched__JobControl m = GPUSCHED__JOB_CONTROL__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;

	c->deed = c->deeds[i];
	c->deeds[i] = c->deeds[--c->n_deeds];
	filter.ids = &c->deed.job;
	filter.n_ids = 1;
	m.verb = c->deed.verb;
	m.filter = &filter;
	if (m.verb == GPUSCHED__JOB_CONTROL__VERB__SUSPEND)
		checker_say(c->o.checker, "suspend %" PRIu64, c->deed.job);
	request(c, CONTROL, GPUSCHED__MSG_TYPE__MSG_JOB_CONTROL, &m.base);
}

static void make_look(struct sim_client *c)
{
	Gpusched__ListJobs m = GPUSCHED__LIST_JOBS__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;

	filter.include_ended = true;
	m.filter = &filter;
	request(c, LOOK, GPUSCHED__MSG_TYPE__MSG_LIST_JOBS, &m.base);
}

static void again(void *arg, void **own);

static void pause_then_next(struct sim_client *c)
{
	struct turn *t = xcalloc(1, sizeof(*t));

	t->turn = ++c->turn;
	engine_at(c->o.engine, engine_between(c->o.engine, c->o.pause_low, c->o.pause_high), again,
	        c, t);
}

static void hang_up(struct sim_client *c)
{
	if (c->link)
		link_drop_end(c->o.engine, c->link, SIDE_NODE, SEC);
	c->link = 0;
}

/* No answer: the connection may have died without a word. Repeat on a new one. */
static void timed_out(void *arg, void **own)
{
	struct sim_client *c = arg;
	struct turn *t = *own;

	if (t->turn != c->turn || !c->asking)
		return;
	hang_up(c);
	pause_then_next(c);
}

/* Facts of a look; a job that is not in the list any more has been retired or was lost. */
static void seen(struct sim_client *c, const Gpusched__Job *job)
{
	for (size_t i = 0; i < c->n_jobs; i++) {
		if (c->jobs[i] != job->id)
			continue;
		checker_say(c->o.checker, "state %" PRIu64 " %s %u %u %u", job->id, job->state,
		        job->exit_code, job->exit_signal, job->attempt);
		/* It may be that its last word was to suspend it. */
		if (c->look && !strcmp(job->state, "SUSPENDED"))
			plan(c, job->id, GPUSCHED__JOB_CONTROL__VERB__RESUME);
		c->ended[i] = strcmp(job->state, "PENDING") != 0 &&
		              strcmp(job->state, "CONFIGURING") != 0 &&
		              strcmp(job->state, "RUNNING") != 0 &&
		              strcmp(job->state, "SUSPENDED") != 0 &&
		              strcmp(job->state, "COMPLETING") != 0;
	}
}

static void answered(struct sim_client *c, const Gpusched__Reply *reply)
{
	if (c->kind == SUBMIT && reply->code == ERR_MUNGE_CLOCK) {
		/* It took too long: signed anew, the same bytes with the same nonce. */
	} else if (c->kind == SUBMIT) {
		if (reply->code != ERR_NONE) {
			fprintf(stderr, "client: a submit was refused: %s\n", reply->text);
			abort();
		}
		c->jobs = xrealloc(c->jobs, c->n_jobs + 1, sizeof(*c->jobs));
		c->ended = xrealloc(c->ended, c->n_jobs + 1, sizeof(*c->ended));
		c->jobs[c->n_jobs] = c->answer;
		c->ended[c->n_jobs++] = false;
		checker_say(c->o.checker, "submit %" PRIu64 " %u n%u", c->answer, c->o.uid,
		        c->submitted);
		if (c->waits_for)
			checker_say(c->o.checker, "waits %" PRIu64 " %s %" PRIu64, c->answer,
			        c->waits_type, c->waits_for);
		if (engine_chance(c->o.engine, c->o.cancel_ppm))
			plan(c, c->answer, GPUSCHED__JOB_CONTROL__VERB__CANCEL);
		for (int n = 0; n < 3 && engine_chance(c->o.engine, c->o.suspend_ppm); n++) {
			plan(c, c->answer, GPUSCHED__JOB_CONTROL__VERB__SUSPEND);
			plan(c, c->answer, GPUSCHED__JOB_CONTROL__VERB__RESUME);
		}
		c->submitted++;
	} else if (c->kind == CONTROL && reply->code == ERR_NONE &&
	           c->deed.verb == GPUSCHED__JOB_CONTROL__VERB__CANCEL) {
		checker_say(c->o.checker, "cancel %" PRIu64, c->deed.job);
	} else if (c->kind == LOOK) {
		c->look = false;
	}
	c->asking = false;
	pause_then_next(c);
}

static void on_message(void *owner, uint64_t link, int type, const void *bytes, size_t n)
{
	struct sim_client *c = owner;
	struct error err;
	ProtobufCMessage *m;
	const Gpusched__JobChunk *chunk;

	if (link != c->link || !c->asking)
		return;
	m = msg_unpack((unsigned)type, bytes, n, c->arena, &err);
	if (!m) {
		fprintf(stderr, "client: %s: %s\n", msg_name((unsigned)type), err.text);
		abort();
	}
	switch (type) {
	case GPUSCHED__MSG_TYPE__MSG_SUBMIT_RESULT:
		c->answer = ((Gpusched__SubmitResult *)m)->job_ids[0];
		break;
	case GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK:
		chunk = (const void *)m;
		for (size_t i = 0; i < chunk->n_jobs; i++)
			seen(c, chunk->jobs[i]);
		break;
	case GPUSCHED__MSG_TYPE__MSG_REPLY:
		answered(c, (const void *)m);
		break;
	default:
		break;
	}
}

static void on_gone(void *owner, uint64_t link)
{
	struct sim_client *c = owner;

	if (link != c->link)
		return;
	c->link = 0;
	if (c->asking)
		pause_then_next(c);
}

static const struct link_ops client_link_ops = { on_message, on_gone };

static void ask(struct sim_client *c)
{
	struct turn *t;

	if (!c->link)
		c->link =
		        sim_controller_connect(c->o.controller, -1, c->o.uid, &client_link_ops, c);
	if (!c->link) {
		pause_then_next(c);
		return;
	}
	link_send(c->o.engine, c->link, SIDE_NODE, c->type, c->bytes, c->len);
	t = xcalloc(1, sizeof(*t));
	t->turn = c->turn;
	engine_at(c->o.engine, 10 * SEC, timed_out, c, t);
}

static void next(struct sim_client *c)
{
	if (!c->asking) {
		if (c->n_deeds && engine_chance(c->o.engine, 500000))
			make_control(c);
		else if (c->submitted < c->o.jobs)
			make_submit(c);
		else if (c->n_deeds)
			make_control(c);
		else if (c->look)
			make_look(c);
		else
			return;
	}
	ask(c);
}

static void again(void *arg, void **own)
{
	struct sim_client *c = arg;
	struct turn *t = *own;

	if (t->turn == c->turn)
		next(c);
}

struct sim_client *sim_client_new(const struct sim_client_options *options)
{
	struct sim_client *c = xcalloc(1, sizeof(*c));

	c->o = *options;
	c->arena = arena_new(1 << 20);
	return c;
}

void sim_client_start(struct sim_client *c)
{
	pause_then_next(c);
}

bool sim_client_is_done(const struct sim_client *c)
{
	return !c->asking && !c->n_deeds && !c->look && c->submitted == c->o.jobs;
}

void sim_client_look(struct sim_client *c)
{
	c->look = true;
	if (!c->asking)
		pause_then_next(c);
}

bool sim_client_all_ended(const struct sim_client *c)
{
	for (size_t i = 0; i < c->n_jobs; i++) {
		if (!c->ended[i])
			return false;
	}
	return true;
}

size_t sim_client_jobs(const struct sim_client *c)
{
	return c->n_jobs;
}

void sim_client_free(struct sim_client *c)
{
	if (!c)
		return;
	arena_free(c->arena);
	free(c->bytes);
	free(c->jobs);
	free(c->ended);
	free(c->deeds);
	free(c);
}
