/* libgpusched.c - the functions of gpusched.h: the public face of client.h and submit.h */
#include "cmds/api/gpusched.h"

#include <stdlib.h>
#include <string.h>

#include "cmds/api/bulk.h"
#include "cmds/api/client.h"
#include "cmds/api/gpus.h"
#include "cmds/api/reassemble.h"
#include "cmds/api/spec.h"
#include "cmds/api/submit.h"
#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"

#include "config.h"

struct gpusched {
	struct client *client;
	struct submit_queue *submits;
	void (*tell)(const struct gpusched_error *why, void *arg);
	void *tell_arg;
	char *pong_texts[3];    /* cluster, host, version */
	char *verdict_texts[3]; /* node, type, reason */
	uint32_t *verdict_gpus;
};

/* The internal and the public error have the same members, but the public one must never change. */
static int give_error(const struct error *from, struct gpusched_error *to)
{
	if (to) {
		to->code = from->code;
		memcpy(to->text, from->text, sizeof(to->text));
		memcpy(to->hint, from->hint, sizeof(to->hint));
	}
	return -1;
}

_Static_assert(sizeof(((struct gpusched_error *)0)->text) == sizeof(((struct error *)0)->text),
        "the texts of errors");
_Static_assert(sizeof(((struct gpusched_error *)0)->hint) == sizeof(((struct error *)0)->hint),
        "the hints of errors");

const char *gpusched_error_name(int code)
{
	return error_name(code);
}

int gpusched_error_exit(int code)
{
	return error_exit_status(code);
}

const char *gpusched_version(void)
{
	return PACKAGE_VERSION;
}

/* --- structs of programs that were built with another gpusched.h ---------------------------- */

/* Fill the caller's struct of `size` bytes with as much of ours as it has room for; it begins with
 * the size that is filled. */
static void give_struct(void *to, size_t size, void *ours, size_t our_size)
{
	size_t both = size < our_size ? size : our_size;

	memset(to, 0, size);
	memcpy(ours, &both, sizeof(both));
	memcpy(to, ours, both);
}

/* --- the connection ------------------------------------------------------------------------- */

struct gpusched *gpusched_open(const char *conf, struct gpusched_error *err)
{
	struct gpusched *g;
	struct error why;
	struct client *client = client_new(conf, &why);

	if (!client) {
		give_error(&why, err);
		return NULL;
	}
	g = xcalloc(1, sizeof(*g));
	g->client = client;
	g->submits = submit_queue_new(client);
	return g;
}

static void forget_texts(char **texts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(texts[i]);
		texts[i] = NULL;
	}
}

void gpusched_close(struct gpusched *g)
{
	if (!g)
		return;
	submit_queue_free(g->submits);
	client_free(g->client);
	forget_texts(g->pong_texts, 3);
	forget_texts(g->verdict_texts, 3);
	free(g->verdict_gpus);
	free(g);
}

void gpusched_set_retry(struct gpusched *g, int64_t ms)
{
	client_set_retry(g->client, ms);
}

static void tell_public(const struct error *why, void *arg)
{
	struct gpusched *g = arg;
	struct gpusched_error public;

	give_error(why, &public);
	g->tell(&public, g->tell_arg);
}

void gpusched_on_retry(
        struct gpusched *g, void (*tell)(const struct gpusched_error *why, void *arg), void *arg)
{
	g->tell = tell;
	g->tell_arg = arg;
	client_on_retry(g->client, tell ? tell_public : NULL, g);
}

void gpusched_on_warning(struct gpusched *g, void (*warn)(const char *text, void *arg), void *arg)
{
	client_on_warning(g->client, warn, arg);
}

void gpusched_on_progress(
        struct gpusched *g, void (*progress)(size_t done, size_t all, void *arg), void *arg)
{
	client_on_progress(g->client, progress, arg);
}

const char *gpusched_cluster(const struct gpusched *g)
{
	return client_conf(g->client)->cluster;
}

/* One request, unless submits use the connection. */
static int call_controller(
        struct gpusched *g, const struct client_call *call, struct gpusched_error *err)
{
	struct error why;

	if (submit_under_way(g->submits))
		error_set(&why, ERR_USAGE, "answers to earlier submits were not received yet");
	else if (client_call(g->client, call, &why) >= 0)
		return 0;
	return give_error(&why, err);
}

static int keep_pong(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Pong *pong = (const Gpusched__Pong *)m;
	struct gpusched_pong *out = ((void **)arg)[1];
	struct gpusched *g = ((void **)arg)[0];

	(void)err;
	forget_texts(g->pong_texts, 3);
	out->cluster = g->pong_texts[0] = xstrdup(pong->cluster);
	out->host = g->pong_texts[1] = xstrdup(pong->host);
	out->version = g->pong_texts[2] = xstrdup(pong->version);
	COPY_FIELDS(out, pong, epoch, time, uid);
	return 0;
}

int gpusched_ping_sized(
        struct gpusched *g, struct gpusched_pong *pong, size_t size, struct gpusched_error *err)
{
	Gpusched__Ping ping = GPUSCHED__PING__INIT;
	struct gpusched_pong ours = { 0 };
	void *arg[2] = { g, &ours };
	int rc = call_controller(
	        g, &(struct client_call)CLIENT_ASK(PING, &ping.base, PONG, keep_pong, arg), err);

	if (rc >= 0)
		give_struct(pong, size, &ours, sizeof(ours));
	return rc;
}

/* --- submitting ------------------------------------------------------------------------------- */

int gpusched_submit(struct gpusched *g, const struct gpusched_spec *specs, size_t n, uint64_t *ids,
        struct gpusched_error *err)
{
	struct submit_answer answer;
	struct error why;
	int rc;

	if (submit_under_way(g->submits)) {
		error_set(&why, ERR_USAGE, "answers to earlier submits were not received yet");
		return give_error(&why, err);
	}
	if (submit_send(g->submits, specs, n, 0, &why) < 0)
		return give_error(&why, err);
	rc = submit_receive(g->submits, &answer, -1, &why);
	if (rc <= 0) {
		submit_forget(g->submits);
		return give_error(&why, err);
	}
	if (answer.error.code)
		return give_error(&answer.error, err);
	memcpy(ids, answer.ids, n * sizeof(*ids));
	return 0;
}

int gpusched_submit_bulk(struct gpusched *g, const struct gpusched_spec *specs, size_t n,
        const char *token, uint64_t *ids, size_t *bad, struct gpusched_error *err)
{
	struct error why;

	if (submit_under_way(g->submits)) {
		error_set(&why, ERR_USAGE, "answers to earlier submits were not received yet");
		return give_error(&why, err);
	}
	return bulk_submit(g->client, g->submits, specs, n, token, ids, bad, &why) < 0
	               ? give_error(&why, err)
	               : 0;
}

int gpusched_submit_send(struct gpusched *g, const struct gpusched_spec *specs, size_t n,
        uint64_t tag, struct gpusched_error *err)
{
	struct error why;

	return submit_send(g->submits, specs, n, tag, &why) < 0 ? give_error(&why, err) : 0;
}

int gpusched_submit_receive_sized(struct gpusched *g, struct gpusched_submitted *out, size_t size,
        int timeout_ms, struct gpusched_error *err)
{
	struct gpusched_submitted ours;
	struct submit_answer answer;
	struct error why;
	int rc = submit_receive(g->submits, &answer, timeout_ms, &why);

	if (rc < 0)
		return give_error(&why, err);
	if (rc > 0) {
		ours = (struct gpusched_submitted){
			.tag = answer.tag, .ids = answer.ids, .n = answer.n
		};
		if (answer.error.code)
			give_error(&answer.error, &ours.error);
		give_struct(out, size, &ours, sizeof(ours));
	}
	return rc;
}

int gpusched_submit_poll(const struct gpusched *g, short *events)
{
	return submit_poll(g->submits, events);
}

struct verdict_to {
	struct gpusched *g;
	struct gpusched_verdict *out;
};

static void keep_verdict(const Gpusched__SubmitResult *r, void *arg)
{
	struct verdict_to *to = arg;
	struct gpusched *g = to->g;

	forget_texts(g->verdict_texts, 3);
	free(g->verdict_gpus);
	g->verdict_gpus = xmemdup(r->gpus, r->n_gpus * sizeof(*r->gpus));
	*to->out = (struct gpusched_verdict){
		.would_start_now = r->would_start_now,
		.node = g->verdict_texts[0] = xstrdup(r->node),
		.gpu_type = g->verdict_texts[1] = xstrdup(r->gpu_type),
		.reason = g->verdict_texts[2] = xstrdup(r->reason),
		.gpus = g->verdict_gpus,
		.n_gpus = r->n_gpus,
		.n_nodes = r->n_places,
		.n_blockers = r->why ? r->why->n_blockers : 0,
		.planned_start = r->why ? r->why->planned_start_time : 0,
		.cost_max = r->cost_unlimited ? -1 : r->cost_max,
	};
}

int gpusched_test_sized(struct gpusched *g, const struct gpusched_spec *spec,
        struct gpusched_verdict *verdict, size_t size, struct gpusched_error *err)
{
	struct gpusched_verdict ours = { 0 };
	struct verdict_to to = { g, &ours };
	struct error why;

	if (submit_test(g->client, spec, NULL, keep_verdict, &to, &why) < 0)
		return give_error(&why, err);
	give_struct(verdict, size, &ours, sizeof(ours));
	return 0;
}

/* --- jobs ------------------------------------------------------------------------------------- */

void gpusched_filter_init_sized(struct gpusched_filter *filter, size_t size)
{
	memset(filter, 0, size);
	filter->size = size;
}

/* The caller's filter as a message that borrows everything; NULL is all jobs. */
static int filter_message(const struct gpusched_filter *filter, Gpusched__JobFilter *out,
        struct gpusched_error *err)
{
	Gpusched__JobFilter m = GPUSCHED__JOB_FILTER__INIT;
	struct gpusched_filter ours, *f = &ours;
	struct error why;

	*out = m;
	if (!filter)
		return 0;
	gpusched_filter_init(f);
	if (spec_adopt_struct("gpusched_filter", filter, offsetof(struct gpusched_filter, users),
	            &ours, sizeof(ours), &why) < 0)
		return give_error(&why, err);
	m.ids = (uint64_t *)f->ids;
	m.n_ids = f->n_ids;
	m.users = (char **)f->users;
	m.n_users = spec_list_length(f->users);
	m.partitions = (char **)f->partitions;
	m.n_partitions = spec_list_length(f->partitions);
	m.states = (char **)f->states;
	m.n_states = spec_list_length(f->states);
	m.names = (char **)f->names;
	m.n_names = spec_list_length(f->names);
	m.nodes = (char **)f->nodes;
	m.n_nodes = spec_list_length(f->nodes);
	m.include_ended = f->ended;
	m.accounts = (char **)f->accounts;
	m.n_accounts = spec_list_length(f->accounts);
	m.qos = (char **)f->qos;
	m.n_qos = spec_list_length(f->qos);
	*out = m;
	return 0;
}

/* A callback of the caller, and what it returned. */
struct callback {
	union {
		gpusched_on_job *job;
		gpusched_on_node *node;
		gpusched_on_partition *partition;
		gpusched_on_stat *stat;
	} on;
	void *arg;
	int result;
};

/* End the request because the callback wants it so. */
static int ended(struct error *err)
{
	return error_set(err, ERR_USAGE, "ended by the caller");
}

/* A request whose answer goes to a callback: the callback's own result counts first. */
static int ask_for(struct gpusched *g, const struct client_call *call, struct callback *cb,
        struct gpusched_error *err)
{
	int rc = call_controller(g, call, err);

	return cb->result ? cb->result : rc;
}

/* The same for a listing of complete items. */
static int list_for(struct gpusched *g, unsigned type, const ProtobufCMessage *request,
        struct reassembly *w, struct callback *cb, struct gpusched_error *err)
{
	const struct client_call call = { .type = type,
		.request = request,
		.answer = GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK,
		.on_chunk = reassembly_chunk,
		.arg = w,
		.repeatable = true };
	int rc = ask_for(g, &call, cb, err);

	reassembly_clear(w);
	return rc;
}

static int give_job(const Gpusched__Job *j, struct callback *cb)
{
	char gpus[1024];
	struct gpusched_job job = {
		.size = sizeof(struct gpusched_job),
		.id = j->id,
		.name = j->name,
		.user = j->user,
		.account = j->account,
		.partition = j->partition,
		.state = j->state,
		.reason = j->reason,
		.reason_text = j->reason_text,
		.gpus = gpus_format(gpus, sizeof(gpus), j->gpus, j->n_gpus),
		.uid = j->uid,
		.cpus = j->cpus,
		.mem_mb = j->mem_mb,
		.time_limit_s = j->time_limit_s,
		.submit_time = j->submit_time,
		.start_time = j->start_time,
		.end_time = j->end_time,
		.elapsed_s = j->elapsed_s,
		.exit_code = j->exit_code,
		.exit_signal = j->exit_signal,
		.node = j->node,
		.gpu_type = j->gpu_type,
		.gpu_indices = j->gpu_indices,
		.n_gpu_indices = j->n_gpu_indices,
		.attempt = j->attempt,
		.priority = j->priority,
		.comment = j->comment,
		.qos = j->qos,
		.nodes_min = j->nodes_min,
		.nodes_max = j->nodes_max,
		.n_nodes = j->n_nodes,
		.nodes = j->nodes,
		.n_blockers = j->n_blockers,
		.position = j->position,
		.planned_start = j->planned_start_time,
		.planned_nodes = j->planned_nodes,
		.cost_max = j->cost_unlimited ? -1 : j->cost_max,
		.gpus_held = j->gpus_held,
		.checkpoint_time = j->checkpoint_time,
		.progress = j->progress,
	};

	return cb->on.job ? cb->on.job(&job, cb->arg) : 0;
}

static int on_job_item(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct callback *cb = arg;

	cb->result = give_job((const Gpusched__Job *)m, cb);
	return cb->result ? ended(err) : 0;
}

int gpusched_list_jobs(struct gpusched *g, const struct gpusched_filter *filter,
        gpusched_on_job *on_job, void *arg, struct gpusched_error *err)
{
	Gpusched__ListJobs list = GPUSCHED__LIST_JOBS__INIT;
	Gpusched__JobFilter f;
	struct callback cb = { .on.job = on_job, .arg = arg };

	if (filter_message(filter, &f, err) < 0)
		return -1;
	list.filter = &f;
	list.whole = true;
	return list_for(g, GPUSCHED__MSG_TYPE__MSG_LIST_JOBS, &list.base,
	        &(struct reassembly){ GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, on_job_item, &cb, NULL },
	        &cb, err);
}

/* The jobs that the call waits for. Jobs that have ended are removed, so that a repeat after a
 * break asks only for the others. */
struct waiting {
	uint64_t *ids;
	size_t n;
	struct callback cb;
};

static int on_ended(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__JobChunk *chunk = (const Gpusched__JobChunk *)m;
	struct waiting *w = arg;

	for (size_t i = 0; i < chunk->n_jobs && !w->cb.result; i++) {
		size_t before = w->n;

		for (size_t k = w->n; k-- > 0;)
			if (w->ids[k] == chunk->jobs[i]->id ||
			        w->ids[k] == chunk->jobs[i]->raw_id)
				w->ids[k] = w->ids[--w->n];
		if (w->n < before)
			w->cb.result = give_job(chunk->jobs[i], &w->cb);
	}
	return w->cb.result ? ended(err) : 0;
}

int gpusched_wait(struct gpusched *g, const uint64_t *ids, size_t n, gpusched_on_job *on_job,
        void *arg, struct gpusched_error *err)
{
	struct waiting w = { .n = n, .cb = { .on.job = on_job, .arg = arg } };
	Gpusched__WaitJobs wait = GPUSCHED__WAIT_JOBS__INIT;
	struct error why;
	int rc = 0;

	if (submit_under_way(g->submits)) {
		error_set(&why, ERR_USAGE, "answers to earlier submits were not received yet");
		return give_error(&why, err);
	}
	w.ids = xmemdup(ids, n * sizeof(*ids));
	while (w.n && !w.cb.result) {
		size_t before = w.n;
		struct client_call call = {
			CLIENT_CALL(WAIT_JOBS, &wait.base, JOB_CHUNK, on_ended, &w),
			.timeout_ms = -1,
			.repeatable = true };

		wait.ids = w.ids;
		wait.n_ids = w.n;
		rc = client_call(g->client, &call, &why);
		if (rc >= 0 && w.n) {
			error_set(&why, ERR_PROTOCOL, "%zu jobs were not answered", w.n);
			rc = -1;
			break;
		}
		if (rc < 0 && (w.n == before || !client_pause(g->client, &why)))
			break;
	}
	free(w.ids);
	if (w.cb.result)
		return w.cb.result;
	return rc < 0 ? give_error(&why, err) : 0;
}

/* What a control request did. */
struct controlled {
	uint32_t done;
	struct error first; /* code 0: none */
	size_t errors;
};

static int on_control(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__JobControlResult *r = (const Gpusched__JobControlResult *)m;
	struct controlled *c = arg;

	(void)err;
	c->done += r->done;
	if (r->n_errors && !c->first.code)
		error_set(&c->first, (int)r->errors[0]->code, "job %llu: %s",
		        (unsigned long long)r->errors[0]->job, r->errors[0]->text);
	c->errors += r->n_errors;
	return 0;
}

int gpusched_control(struct gpusched *g, enum gpusched_verb verb,
        const struct gpusched_filter *filter, int sig, const char *reason, uint32_t *done,
        struct gpusched_error *err)
{
	Gpusched__JobControl control = GPUSCHED__JOB_CONTROL__INIT;
	Gpusched__JobFilter f;
	struct controlled result = { .done = 0 };
	int rc;

	if (filter_message(filter, &f, err) < 0)
		return -1;
	control.verb = (Gpusched__JobControl__Verb)verb;
	control.filter = &f;
	control.signal = (uint32_t)sig;
	control.reason = (char *)(reason ? reason : "");
	rc = call_controller(g,
	        &(struct client_call){ CLIENT_CALL(
	                JOB_CONTROL, &control.base, JOB_CONTROL_RESULT, on_control, &result) },
	        err);
	if (done)
		*done = result.done;
	if (rc < 0)
		return -1;
	return result.first.code ? give_error(&result.first, err) : (int)result.done;
}

/* --- the cluster ------------------------------------------------------------------------------ */

static struct gpusched_gpu_use *gpu_uses(Gpusched__GpuUse *const *v, size_t n)
{
	struct gpusched_gpu_use *uses = xcalloc(n, sizeof(*uses));

	for (size_t i = 0; i < n; i++)
		uses[i] = (struct gpusched_gpu_use){ v[i]->type, v[i]->total, v[i]->free,
			v[i]->largest, v[i]->largest_node };
	return uses;
}

static int on_node_item(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Node *n = (const Gpusched__Node *)m;
	struct gpusched_gpu_use *gpus = gpu_uses(n->gpus, n->n_gpus);
	struct gpusched_node node = { sizeof(node), n->name, n->state, n->reason, n->cpus,
		n->cpus_free, n->mem_mb, n->mem_free_mb, gpus, n->n_gpus, n->last_heard };
	struct callback *cb = arg;

	cb->result = cb->on.node(&node, cb->arg);
	free(gpus);
	return cb->result ? ended(err) : 0;
}

int gpusched_list_nodes(struct gpusched *g, const char *const *names, gpusched_on_node *on_node,
        void *arg, struct gpusched_error *err)
{
	Gpusched__ListNodes list = GPUSCHED__LIST_NODES__INIT;
	struct callback cb = { .on.node = on_node, .arg = arg };

	list.names = (char **)names;
	list.n_names = spec_list_length(names);
	list.whole = true;
	return list_for(g, GPUSCHED__MSG_TYPE__MSG_LIST_NODES, &list.base,
	        &(struct reassembly){ GPUSCHED__MSG_TYPE__MSG_NODE_CHUNK, on_node_item, &cb, NULL },
	        &cb, err);
}

static int on_partition_item(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Partition *p = (const Gpusched__Partition *)m;
	struct gpusched_gpu_use *gpus = gpu_uses(p->gpus, p->n_gpus);
	struct gpusched_partition partition = { sizeof(partition), p->name, p->state, p->nodes,
		p->is_default, p->tier, p->default_time_s, p->max_time_s, p->nodes_total, p->nodes_ok, p->nodes_drain,
		p->nodes_down, p->jobs_pending, p->jobs_running, gpus, p->n_gpus };
	struct callback *cb = arg;

	cb->result = cb->on.partition(&partition, cb->arg);
	free(gpus);
	return cb->result ? ended(err) : 0;
}

int gpusched_list_partitions(struct gpusched *g, const char *const *names,
        gpusched_on_partition *on_partition, void *arg, struct gpusched_error *err)
{
	Gpusched__ListPartitions list = GPUSCHED__LIST_PARTITIONS__INIT;
	struct callback cb = { .on.partition = on_partition, .arg = arg };

	list.names = (char **)names;
	list.n_names = spec_list_length(names);
	list.whole = true;
	return list_for(g, GPUSCHED__MSG_TYPE__MSG_LIST_PARTITIONS, &list.base,
	        &(struct reassembly){
	                GPUSCHED__MSG_TYPE__MSG_PARTITION_CHUNK, on_partition_item, &cb, NULL },
	        &cb, err);
}

static int on_stats(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__StatsResult *r = (const Gpusched__StatsResult *)m;
	struct callback *cb = arg;

	for (size_t i = 0; i < r->n_stats && !cb->result; i++) {
		struct gpusched_stat stat = { sizeof(stat), r->stats[i]->name, r->stats[i]->unit,
			r->stats[i]->help, r->stats[i]->value };

		cb->result = cb->on.stat(&stat, cb->arg);
	}
	return cb->result ? ended(err) : 0;
}

int gpusched_stats(
        struct gpusched *g, gpusched_on_stat *on_stat, void *arg, struct gpusched_error *err)
{
	Gpusched__Stats stats = GPUSCHED__STATS__INIT;
	struct callback cb = { .on.stat = on_stat, .arg = arg };

	return ask_for(g,
	        &(struct client_call)CLIENT_ASK(STATS, &stats.base, STATS_RESULT, on_stats, &cb),
	        &cb, err);
}
