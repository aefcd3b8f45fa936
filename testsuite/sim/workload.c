/* workload.c - see workload.h */
#include "testsuite/sim/workload.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/label.h"
#include "common/base/taskset.h"
#include "common/base/xalloc.h"

#define ARENA   ((size_t)1 << 20)
#define NO_NODE 99 /* has so many GPUs */

static const char script[] = "#!/bin/sh\nexec infer\n";

/* What the choice of one job needs. */
struct choice {
	struct engine *e;
	const struct workload_mix *mix;
	const struct work_known *known;
	size_t n_known;
	struct work *work;
	struct work_job *job;
	Gpusched__SignedSpec *spec;
	Gpusched__JobRequest *req;
};

static void expect(struct work_job *job, const char *kind, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
static void expect(struct work_job *job, const char *kind, const char *fmt, ...)
{
	struct work_fact *f = &job->facts[job->n_facts++];
	va_list ap;

	f->kind = kind;
	va_start(ap, fmt);
	vsnprintf(f->rest, sizeof(f->rest), fmt, ap);
	va_end(ap);
}

/* --- what a job asks for --------------------------------------------------------------------- */

/* Of each GPU: of its compute, of its memory, or of both; some with a burst. */
static void choose_part(struct choice *c)
{
	struct engine *e = c->e;
	uint64_t what = engine_below(e, 3);

	if (what != 1)
		c->req->gpu_share_milli = (uint32_t)(100 * engine_between(e, 1, 8));
	if (what)
		c->req->gpu_mem_mb = (uint64_t)(1024 * engine_between(e, 1, 33));
	if (!what || !engine_chance(e, 500000))
		return;
	c->req->gpu_mem_burst_mb = c->req->gpu_mem_mb + (uint64_t)(1024 * engine_between(e, 0, 81));
	expect(c->job, "burst", "%" PRIu64, c->req->gpu_mem_burst_mb);
}

/* One node, or a gang of a number or a range of nodes, with GPUs by node or in all. */
static void choose_gpus(struct choice *c)
{
	Gpusched__GpuCount *gpus = arena_alloc(c->work->arena, sizeof(*gpus));
	struct engine *e = c->e;
	uint32_t nodes;

	gpusched__gpu_count__init(gpus);
	gpus->count = (uint32_t)engine_between(e, 0, c->mix->max_gpus + 1);
	if (engine_chance(e, c->mix->gang_ppm)) {
		nodes = (uint32_t)engine_between(e, 2, c->mix->max_nodes + 1);
		c->req->nodes_min = nodes;
		c->req->nodes_max = engine_chance(e, 300000) ? c->mix->max_nodes : 0;
		gpus->count = (uint32_t)engine_between(e, 0, 3);
		c->req->gpus_per_node = gpus->count && engine_chance(e, 500000);
		if (!c->req->gpus_per_node)
			gpus->count *= nodes;
	}
	c->req->gpus = arena_alloc(c->work->arena, sizeof(*c->req->gpus));
	c->req->gpus[0] = gpus;
	c->req->n_gpus = gpus->count ? 1 : 0;
	if (gpus->count && gpus->count <= 2 && !c->req->nodes_min && c->mix->type &&
	        engine_chance(e, 100000))
		gpus->type = (char *)(uintptr_t)c->mix->type;
	if (gpus->count && engine_chance(e, c->mix->part_ppm))
		choose_part(c);
}

/* A few tasks, with gaps or without, and perhaps not all at a time. */
static void choose_array(struct choice *c, unsigned room)
{
	struct engine *e = c->e;
	unsigned max = room < WORK_TASKS ? room : WORK_TASKS;
	uint32_t n = (uint32_t)engine_between(e, 2, max + 1);
	uint32_t at_once = engine_chance(e, 500000) ? (uint32_t)engine_between(e, 1, 4) : 0;
	enum { SIZE = sizeof(c->job->array) + sizeof("%4294967295") };
	char *text = arena_alloc(c->work->arena, SIZE);

	if (engine_chance(e, 600000))
		snprintf(c->job->array, sizeof(c->job->array), "0-%u", n - 1);
	else if (engine_chance(e, 500000))
		snprintf(c->job->array, sizeof(c->job->array), "1-%u:2", 2 * n - 1);
	else
		snprintf(c->job->array, sizeof(c->job->array), "3-%u,100", n + 1);
	c->job->tasks = n;
	if (at_once)
		snprintf(text, SIZE, "%s%%%u", c->job->array, at_once);
	else
		snprintf(text, SIZE, "%s", c->job->array);
	c->spec->array = text;
	expect(c->job, "array", "%s %u", c->job->array, at_once);
}

/* It comes back from some exit codes, so often; the others do when their node has failed. */
static void choose_attempts(struct choice *c)
{
	static const uint32_t attempts[] = { 1, 2, 1000, 1000 };
	struct engine *e = c->e;
	char *text = arena_alloc(c->work->arena, 32);
	uint32_t high, delay;

	c->spec->max_attempts = attempts[c->job->token % 4];
	if (engine_chance(e, c->mix->again_ppm)) {
		high = (uint32_t)engine_between(e, 100, 256);
		delay = engine_chance(e, 500000) ? (uint32_t)engine_between(e, 1, 6) : 0;
		c->spec->max_attempts = (uint32_t)engine_between(e, 2, 5);
		snprintf(text, 32, "exit:1-%u", high);
		c->req->requeue_on = text;
		c->req->requeue_delay_s = delay;
		expect(c->job, "comeback", "1 %u %" PRIu64, high,
		        c->mix->clocks_jump ? 0 : (uint64_t)(delay * SEC));
	}
	c->req->no_requeue = c->spec->max_attempts == 1;
	expect(c->job, "attempts", "%u", c->spec->max_attempts);
}

#define OTHERS 600 /* bytes of what a job waits for */

/* About half of the other's tasks, as one term: what each of them as a term would be. */
static size_t choose_range(
        struct choice *c, const char *type, const struct work_known *on, char *text, size_t size)
{
	struct taskset all;
	size_t len = (size_t)snprintf(text, size, "%s:%" PRIu64 "_", type, on->id);
	char before = '[';
	uint32_t task;

	taskset_parse(on->array, &all, NULL);
	while ((task = taskset_first(&all)) != TASK_NONE) {
		taskset_remove(&all, task);
		if (all.count ? engine_chance(c->e, 500000) : before == ',')
			continue;
		len += (size_t)snprintf(text + len, size - len, "%c%" PRIu32, before, task);
		before = ',';
		expect(c->job, "waits", "%s %" PRIu64 "_%" PRIu32, type, on->id, task);
	}
	taskset_clear(&all);
	return len + (size_t)snprintf(text + len, size - len, "]");
}

/* One to three others; `any`: one of them is enough. */
static void choose_others(struct choice *c, char *text, size_t size, bool any)
{
	static const char *const types[] = { "after", "afterok", "afternotok", "afterany",
		"aftercorr" };
	struct engine *e = c->e;
	size_t n = (size_t)engine_between(e, 1, 4), len = 0;

	while (n--) {
		const struct work_known *on = &c->known[engine_below(e, c->n_known)];
		const char *type =
		        types[engine_below(e, c->job->tasks > 1 && on->tasks > 1 ? 5 : 4)];

		/* Who waits for what waits for ever would be forgotten by nobody. */
		if (on->stays)
			continue;
		if (len)
			text[len++] = any ? '?' : ',';
		if (*on->array && strcmp(type, "aftercorr") != 0 && engine_chance(e, 400000)) {
			len += choose_range(c, type, on, text + len, size - len);
			continue;
		}
		len += (size_t)snprintf(text + len, size - len, "%s:%" PRIu64, type, on->id);
		expect(c->job, "waits", "%s %" PRIu64, type, on->id);
	}
	if (any && strchr(text, '?'))
		expect(c->job, "any", "%s", "");
	/* Not behind the name of one that waits for ever. */
	if (!any && len && !c->job->stays && engine_chance(e, 200000))
		snprintf(text + len, size - len, ",singleton");
}

/* Others, which have started or ended so or so; one of a name of which one runs at a time; a time
 * before or until which. */
static void choose_conditions(struct choice *c)
{
	struct engine *e = c->e;
	char *text;

	c->req->kill_invalid_dep = GPUSCHED__KILL_INVALID__KILL_YES;
	if (!engine_chance(e, c->mix->wait_ppm))
		return;
	text = arena_alloc(c->work->arena, OTHERS);
	text[0] = '\0';
	if (c->n_known && engine_chance(e, 600000)) {
		if (engine_chance(e, 200000)) {
			c->job->stays = true;
			c->spec->name = (char *)"stays";
			c->req->kill_invalid_dep = GPUSCHED__KILL_INVALID__KILL_NO;
			expect(c->job, "stays", "%s", "");
		}
		choose_others(c, text, OTHERS, engine_chance(e, 300000));
		c->req->dependency = text;
	} else if (engine_chance(e, 400000)) {
		c->spec->name = (char *)"alone";
		c->req->dependency = (char *)"singleton";
		expect(c->job, "alone", "alone");
	} else if (engine_chance(e, 600000)) {
		usec_t after = engine_between(e, 0, 60 * SEC);

		c->req->begin_time = engine_now(e).wall + after;
		if (!c->mix->clocks_jump)
			expect(c->job, "begin", "%" PRId64, engine_now(e).mono + after);
	} else {
		c->req->deadline_time = engine_now(e).wall + engine_between(e, SEC, 120 * SEC);
		c->req->time_limit_s = 2;
		c->job->late = true;
		expect(c->job, "deadline", "%s", "");
	}
}

/* --- a submit -------------------------------------------------------------------------------- */

static ProtobufCBinaryData kept(struct arena *arena, const void *p, size_t n)
{
	ProtobufCBinaryData out = { n, arena_alloc(arena, n + 1) };

	memcpy(out.data, p, n);
	return out;
}

static void fill_spec(struct choice *c, const struct work_owner *owner,
        struct signedjob_hash *script_hash, uint8_t *nonce)
{
	Gpusched__SignedSpec *spec = c->spec;

	memcpy(nonce, &c->job->token, sizeof(c->job->token));
	spec->version = SIGNEDJOB_VERSION;
	spec->cluster = (char *)(uintptr_t)owner->cluster;
	spec->nonce = (ProtobufCBinaryData){ SIGNEDJOB_NONCE_LEN, nonce };
	spec->uid = spec->gid = owner->uid;
	spec->script_hash = (ProtobufCBinaryData){ sizeof(script_hash->b), script_hash->b };
	spec->name = (char *)"sim";
	spec->cwd = (ProtobufCBinaryData){ 1, (uint8_t *)(uintptr_t) "/" };
	spec->output = (ProtobufCBinaryData){ 9, (uint8_t *)(uintptr_t) "/dev/null" };
	spec->tasks_per_node = 1;
}

#define WORDY_LABELS 12   /* of the largest, together as many bytes as a job may have */
#define WORDY_PATH   4000 /* bytes */

/* Some 16 KB of text, so that a list of few jobs is more than one frame takes. */
static void choose_texts(struct choice *c)
{
	struct arena *arena = c->work->arena;
	Gpusched__KeyValue **labels = arena_alloc(arena, WORDY_LABELS * sizeof(*labels));
	char *path = arena_alloc(arena, WORDY_PATH + 1);

	for (unsigned i = 0; i < WORDY_LABELS; i++) {
		labels[i] = arena_alloc(arena, sizeof(*labels[i]));
		gpusched__key_value__init(labels[i]);
		labels[i]->key = arena_alloc(arena, LABEL_KEY_MAX + 1);
		snprintf(labels[i]->key, LABEL_KEY_MAX + 1, "k%062u", i);
		labels[i]->value = arena_alloc(arena, LABEL_VALUE_MAX + 1);
		memset(labels[i]->value, 'v', LABEL_VALUE_MAX);
		labels[i]->value[LABEL_VALUE_MAX] = '\0';
	}
	c->req->labels = labels;
	c->req->n_labels = WORDY_LABELS;
	memset(path, '/', WORDY_PATH);
	path[WORDY_PATH] = '\0';
	c->spec->cwd = c->spec->output = c->spec->error =
	        (ProtobufCBinaryData){ WORDY_PATH, (uint8_t *)path };
}

static Gpusched__SubmitJob *make_job(
        struct choice *c, const struct work_owner *owner, unsigned array_room)
{
	struct arena *arena = c->work->arena;
	Gpusched__SubmitJob *out = arena_alloc(arena, sizeof(*out));
	Gpusched__SignedSpec spec = GPUSCHED__SIGNED_SPEC__INIT;
	struct signedjob_hash script_hash = signedjob_hash(script, sizeof(script) - 1);
	uint8_t nonce[SIGNEDJOB_NONCE_LEN] = { 0 };
	size_t len;

	gpusched__submit_job__init(out);
	c->spec = &spec;
	c->req = out->request = arena_alloc(arena, sizeof(*c->req));
	gpusched__job_request__init(c->req);
	fill_spec(c, owner, &script_hash, nonce);
	c->job->tasks = 1;
	if (array_room >= 2)
		choose_array(c, array_room);
	choose_gpus(c);
	choose_attempts(c);
	if (engine_chance(c->e, c->mix->limit_ppm))
		c->req->time_limit_s = 2;
	if (engine_chance(c->e, 200000))
		c->req->partition = (char *)"some,batch";
	choose_conditions(c);
	if (c->mix->wordy)
		choose_texts(c);
	c->req->submit_host = (char *)"client";
	len = gpusched__signed_spec__get_packed_size(&spec);
	out->spec = (ProtobufCBinaryData){ len, arena_alloc(arena, len + 1) };
	gpusched__signed_spec__pack(&spec, out->spec.data);
	out->script = kept(arena, script, sizeof(script) - 1);
	return out;
}

char *work_signature(const struct work_owner *owner, const struct signedjob_hash *hashes, size_t n)
{
	uint8_t payload[SIGNEDJOB_PAYLOAD_MAX];
	struct error err;
	char *cred;

	if (owner->mcred->encode(owner->mcred, payload, signedjob_payload(hashes, n, payload),
	            MCRED_ANY_UID, &cred, &err) < 0) {
		fprintf(stderr, "client: %s\n", err.text);
		abort();
	}
	return cred;
}

struct signedjob_hash work_hash(const struct work *w, size_t i)
{
	return signedjob_hash(w->submit->jobs[i]->spec.data, w->submit->jobs[i]->spec.len);
}

void work_sign(struct work *w, const struct work_owner *owner)
{
	struct signedjob_hash hashes[WORK_BULK];
	char *cred;

	for (size_t i = 0; i < w->n; i++)
		hashes[i] = work_hash(w, i);
	cred = work_signature(owner, hashes, w->n);
	w->submit->credential = kept(w->arena, cred, strlen(cred));
	free(cred);
}

struct work *work_new(struct engine *e, const struct workload_mix *mix,
        const struct work_owner *owner, unsigned token, unsigned room,
        const struct work_known *known, size_t n_known)
{
	struct work *w = xcalloc(1, sizeof(*w));
	struct choice c = { e, mix, known, n_known, w, NULL, NULL, NULL };
	bool array;
	size_t n = 1;

	w->arena = arena_new(ARENA);
	w->submit = arena_alloc(w->arena, sizeof(*w->submit));
	gpusched__submit__init(w->submit);
	w->submit->jobs = arena_alloc(w->arena, WORK_BULK * sizeof(*w->submit->jobs));
	w->bulk = room >= WORK_BULK && engine_chance(e, mix->bulk_ppm);
	array = !w->bulk && room >= 2 && engine_chance(e, mix->array_ppm);
	if (w->bulk)
		n = (size_t)engine_between(e, 2, WORK_BULK + 1);
	for (; w->n < n; w->n++) {
		c.job = &w->jobs[w->n];
		c.job->token = token + (unsigned)w->n;
		w->submit->jobs[w->n] = make_job(&c, owner, array ? room : 0);
		w->may_fail |= c.job->late;
	}
	w->submit->n_jobs = w->n;
	/* One of them fits nowhere: then none is to run. */
	if (w->bulk && engine_chance(e, 200000)) {
		Gpusched__JobRequest *req = w->submit->jobs[engine_below(e, n)]->request;

		req->n_gpus = 1;
		req->gpus[0]->count = NO_NODE;
		w->must_fail = w->may_fail = true;
	}
	work_sign(w, owner);
	return w;
}

void work_free(struct work *w)
{
	if (!w)
		return;
	arena_free(w->arena);
	free(w);
}

void work_tell(const struct work *w, size_t i, uint64_t id, uint32_t uid, struct checker *checker)
{
	const struct work_job *job = &w->jobs[i];

	checker_say(checker, "submit %" PRIu64 " %u n%u", id, uid, job->token);
	for (size_t f = 0; f < job->n_facts; f++)
		checker_say(
		        checker, "%s %" PRIu64 " %s", job->facts[f].kind, id, job->facts[f].rest);
}
