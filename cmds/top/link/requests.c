/* requests.c - see requests.h */
#include "cmds/top/link/requests.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/net/msg.h"

#define ORDER_MS 5000
#define WHY_MAX  8    /* results that are shown: an array may have thousands */
#define RETRY_MS 1000 /* after a refusal */

struct ask_row {
	unsigned answer;       /* MsgType of its parts */
	enum update_kind kind; /* that it becomes */
	int64_t every_ms;      /* 0: only when there is a reason */
	int64_t least_ms;      /* between an answer and the next question, in any case */
	int64_t rest;          /* and so many times as long as the answer took */
	unsigned wants;        /* only while the screen wants one of these; 0: always */
	bool follows;          /* not while paused */
	uint64_t (*send)(struct asks *a, struct dial *d, struct error *err);
	void (*part)(struct asks *a, struct update *u, const ProtobufCMessage *m);
};

static void push(struct asks *a, struct update *u)
{
	a->push(u, a->arg);
}

/* --- requests --------------------------------------------------------------------------------- */

static uint64_t send_watch(struct asks *a, struct dial *d, struct error *err)
{
	Gpusched__WatchJobs m = GPUSCHED__WATCH_JOBS__INIT;

	m.since = a->cursor;
	a->listed = false;
	return dial_send(d, GPUSCHED__MSG_TYPE__MSG_WATCH_JOBS, &m.base, err);
}

static uint64_t send_ping(struct asks *a, struct dial *d, struct error *err)
{
	Gpusched__Ping m = GPUSCHED__PING__INIT;

	(void)a;
	return dial_send(d, GPUSCHED__MSG_TYPE__MSG_PING, &m.base, err);
}

static uint64_t send_nodes(struct asks *a, struct dial *d, struct error *err)
{
	Gpusched__ListNodes m = GPUSCHED__LIST_NODES__INIT;

	(void)a;
	m.devices = true;
	return dial_send(d, GPUSCHED__MSG_TYPE__MSG_LIST_NODES, &m.base, err);
}

/* The waiting tasks of an array are left to ASK_ORDER: their id stands for all tasks of the
 * array. */
static uint64_t send_shown(struct asks *a, struct dial *d, struct error *err)
{
	Gpusched__ListJobs m = GPUSCHED__LIST_JOBS__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	Gpusched__JobTasks tasks[COMMAND_SHOWN_MAX], *pointers[COMMAND_SHOWN_MAX];
	char texts[COMMAND_SHOWN_MAX][12];
	uint64_t ids[COMMAND_SHOWN_MAX];

	for (size_t i = 0; i < a->look.n_shown; i++) {
		struct job_key key = a->look.shown[i];
		size_t n = filter.n_tasks;

		if (!key.part)
			ids[filter.n_ids++] = key.id;
		if (!key.part || key.part == JOB_WAITING_TASKS)
			continue;
		tasks[n] = (Gpusched__JobTasks)GPUSCHED__JOB_TASKS__INIT;
		snprintf(texts[n], sizeof(texts[n]), "%" PRIu32, key.part - 1);
		tasks[n].job = key.id;
		tasks[n].tasks = texts[n];
		pointers[filter.n_tasks++] = &tasks[n];
	}
	filter.ids = ids;
	filter.tasks = pointers;
	m.filter = &filter;
	m.with_runs = true;
	return dial_send(d, GPUSCHED__MSG_TYPE__MSG_LIST_JOBS, &m.base, err);
}

static uint64_t send_order(struct asks *a, struct dial *d, struct error *err)
{
	Gpusched__ListJobs m = GPUSCHED__LIST_JOBS__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	char *states[] = { "PENDING" };

	(void)a;
	filter.states = states;
	filter.n_states = 1;
	m.filter = &filter;
	return dial_send(d, GPUSCHED__MSG_TYPE__MSG_LIST_JOBS, &m.base, err);
}

static uint64_t send_shares(struct asks *a, struct dial *d, struct error *err)
{
	Gpusched__ListShares m = GPUSCHED__LIST_SHARES__INIT;

	(void)a;
	return dial_send(d, GPUSCHED__MSG_TYPE__MSG_LIST_SHARES, &m.base, err);
}

static uint64_t send_services(struct asks *a, struct dial *d, struct error *err)
{
	Gpusched__ListServices m = GPUSCHED__LIST_SERVICES__INIT;

	(void)a;
	return dial_send(d, GPUSCHED__MSG_TYPE__MSG_LIST_SERVICES, &m.base, err);
}

static uint64_t send_why(struct asks *a, struct dial *d, struct error *err)
{
	Gpusched__JobWhy m = GPUSCHED__JOB_WHY__INIT;
	Gpusched__JobTasks task = GPUSCHED__JOB_TASKS__INIT, *tasks[] = { &task };
	struct job_key key = a->order.key;
	char text[12];

	if (!key.part || key.part == JOB_WAITING_TASKS) {
		m.ids = &key.id;
		m.n_ids = 1;
	} else {
		snprintf(text, sizeof(text), "%" PRIu32, key.part - 1);
		task.job = key.id;
		task.tasks = text;
		m.tasks = tasks;
		m.n_tasks = 1;
	}
	return dial_send(d, GPUSCHED__MSG_TYPE__MSG_JOB_WHY, &m.base, err);
}

static const struct {
	Gpusched__JobControl__Verb verb;
	const char *done;
} verbs[COMMAND_KINDS] = {
	[COMMAND_CANCEL] = { GPUSCHED__JOB_CONTROL__VERB__CANCEL, "Cancelled" },
	[COMMAND_HOLD] = { GPUSCHED__JOB_CONTROL__VERB__HOLD, "Held" },
	[COMMAND_RELEASE] = { GPUSCHED__JOB_CONTROL__VERB__RELEASE, "Released" },
};

static uint64_t send_control(struct asks *a, struct dial *d, struct error *err)
{
	Gpusched__JobControl m = GPUSCHED__JOB_CONTROL__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	Gpusched__JobTasks task = GPUSCHED__JOB_TASKS__INIT, *tasks[] = { &task };

	if (*a->order.tasks) {
		task.job = a->order.key.id;
		task.tasks = a->order.tasks;
		filter.tasks = tasks;
		filter.n_tasks = 1;
	} else {
		filter.ids = &a->order.key.id;
		filter.n_ids = 1;
	}
	m.verb = verbs[a->order.kind].verb;
	m.filter = &filter;
	return dial_send(d, GPUSCHED__MSG_TYPE__MSG_JOB_CONTROL, &m.base, err);
}

/* --- parts of answers ------------------------------------------------------------------------- */

static void add_copy(struct update *u, const ProtobufCMessage *m)
{
	ProtobufCMessage *copy = msg_copy(m);

	if (copy)
		update_add(u, copy);
}

static void push_jobs(struct asks *a, int64_t now_us, const Gpusched__JobChunk *chunk)
{
	struct update *u = update_new(UPDATE_JOBS, now_us);

	for (size_t i = 0; i < chunk->n_jobs; i++)
		update_add_job(u, chunk->jobs[i]);
	u->fresh = chunk->fresh;
	u->complete = chunk->cursor != 0;
	push(a, u);
}

/* Changes go on at once; the nodes are asked for, since GPUs have changed hands. */
static void part_watch(struct asks *a, struct update *u, const ProtobufCMessage *m)
{
	const Gpusched__JobChunk *chunk = (const Gpusched__JobChunk *)m;

	if (chunk->cursor) {
		a->cursor = chunk->cursor;
		/* The places in the queue were told with the jobs. */
		if (!a->listed)
			a->v[ASK_ORDER].due_ms = a->now_ms + ORDER_MS;
		a->listed = true;
	}
	push_jobs(a, u->when_us, chunk);
	if (chunk->n_jobs)
		a->v[ASK_NODES].due_ms = 0;
}

static void part_order(struct asks *a, struct update *u, const ProtobufCMessage *m)
{
	push_jobs(a, u->when_us, (const Gpusched__JobChunk *)m);
}

static void part_shown(struct asks *a, struct update *u, const ProtobufCMessage *m)
{
	const Gpusched__JobChunk *chunk = (const Gpusched__JobChunk *)m;

	push_jobs(a, u->when_us, chunk);
	for (size_t i = 0; i < chunk->n_jobs; i++)
		add_copy(u, &chunk->jobs[i]->base);
}

static void part_nodes(struct asks *a, struct update *u, const ProtobufCMessage *m)
{
	const Gpusched__NodeChunk *chunk = (const Gpusched__NodeChunk *)m;

	(void)a;
	for (size_t i = 0; i < chunk->n_nodes; i++)
		add_copy(u, &chunk->nodes[i]->base);
}

static void part_shares(struct asks *a, struct update *u, const ProtobufCMessage *m)
{
	const Gpusched__ShareChunk *chunk = (const Gpusched__ShareChunk *)m;

	(void)a;
	for (size_t i = 0; i < chunk->n_shares; i++)
		add_copy(u, &chunk->shares[i]->base);
}

static void part_services(struct asks *a, struct update *u, const ProtobufCMessage *m)
{
	const Gpusched__ServiceChunk *chunk = (const Gpusched__ServiceChunk *)m;

	(void)a;
	for (size_t i = 0; i < chunk->n_services; i++)
		add_copy(u, &chunk->services[i]->base);
}

static void part_why(struct asks *a, struct update *u, const ProtobufCMessage *m)
{
	(void)a;
	if (u->n_items < WHY_MAX)
		add_copy(u, m);
}

static void part_control(struct asks *a, struct update *u, const ProtobufCMessage *m)
{
	const Gpusched__JobControlResult *r = (const Gpusched__JobControlResult *)m;
	char label[JOB_KEY_TEXT];

	if (u->text)
		return;
	u->ok = !r->n_errors;
	if (r->n_errors)
		u->text = xstrdup(r->errors[0]->text);
	else if (r->tasks > 1)
		u->text = xasprintf("%s %" PRIu32 " tasks of job %" PRIu64,
		        verbs[a->order.kind].done, r->tasks, a->order.key.id);
	else
		u->text = xasprintf(
		        "%s job %s", verbs[a->order.kind].done, job_key_text(label, a->order.key));
}

#define MSG(name) GPUSCHED__MSG_TYPE__MSG_##name
static const struct ask_row rows[ASK_KINDS] = {
	[ASK_WATCH] = { MSG(JOB_CHUNK), UPDATE_HEARD, 0, 0, 0, 0, true, send_watch, part_watch },
	[ASK_PING] = { MSG(PONG), UPDATE_HEARD, 2000, 0, 0, 0, false, send_ping, NULL },
	[ASK_NODES] = { MSG(NODE_CHUNK), UPDATE_NODES, 10000, 2000, 20, 0, true, send_nodes,
	        part_nodes },
	[ASK_SHOWN] = { MSG(JOB_CHUNK), UPDATE_USED, 2000, 500, 20, WANT_USED | WANT_ORDER, true,
	        send_shown, part_shown },
	[ASK_ORDER] = { MSG(JOB_CHUNK), UPDATE_HEARD, ORDER_MS, 0, 100, WANT_ORDER, true,
	        send_order, part_order },
	[ASK_SHARES] = { MSG(SHARE_CHUNK), UPDATE_SHARES, 5000, 500, 20, WANT_SHARES, true,
	        send_shares, part_shares },
	[ASK_SERVICES] = { MSG(SERVICE_CHUNK), UPDATE_SERVICES, 2000, 500, 20, WANT_SERVICES, true,
	        send_services, part_services },
	[ASK_WHY] = { MSG(WHY_RESULT), UPDATE_WHY, 0, 0, 0, 0, false, send_why, part_why },
	[ASK_CONTROL] = { MSG(JOB_CONTROL_RESULT), UPDATE_DONE, 0, 0, 0, 0, false, send_control,
	        part_control },
};

/* --- when ------------------------------------------------------------------------------------- */

static bool is_wanted(const struct asks *a, enum ask_kind kind, bool paused)
{
	const struct ask_row *row = &rows[kind];

	if ((paused && row->follows) || (row->wants && !(row->wants & a->look.wants)))
		return false;
	if (kind == ASK_ORDER)
		return a->listed;
	return kind != ASK_SHOWN || a->look.n_shown;
}

/* When this one may be sent. */
static int64_t time_of(const struct asks *a, enum ask_kind kind, bool paused)
{
	const struct ask *ask = &a->v[kind];

	if (ask->id || !is_wanted(a, kind, paused))
		return INT64_MAX;
	return ask->due_ms > ask->rest_ms ? ask->due_ms : ask->rest_ms;
}

int64_t asks_next_ms(const struct asks *a, bool paused)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < ASK_KINDS; i++)
		if (time_of(a, i, paused) < next)
			next = time_of(a, i, paused);
	return next;
}

int asks_send_due(struct asks *a, struct dial *d, int64_t now_ms, bool paused, struct error *err)
{
	for (size_t i = 0; i < ASK_KINDS; i++) {
		struct ask *ask = &a->v[i];

		if (time_of(a, i, paused) > now_ms)
			continue;
		ask->id = rows[i].send(a, d, err);
		if (!ask->id)
			return -1;
		ask->sent_ms = now_ms;
		ask->due_ms = INT64_MAX;
	}
	return 0;
}

int64_t asks_oldest_ms(const struct asks *a, int64_t now_ms)
{
	int64_t oldest = now_ms;

	for (size_t i = 0; i < ASK_KINDS; i++)
		if (i != ASK_WATCH && a->v[i].id && a->v[i].sent_ms < oldest)
			oldest = a->v[i].sent_ms;
	return now_ms - oldest;
}

void asks_want(struct asks *a, enum ask_kind kind)
{
	a->v[kind].due_ms = 0;
	if (rows[kind].every_ms == 0)
		a->v[kind].rest_ms = 0;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void end(struct asks *a, enum ask_kind kind, const Gpusched__Reply *reply, int64_t now_ms)
{
	const struct ask_row *row = &rows[kind];
	struct ask *ask = &a->v[kind];
	struct update *u = ask->so_far;
	int64_t took = now_ms - ask->sent_ms, pause = took * row->rest;
	bool ok = !reply->code;

	ask->so_far = NULL;
	ask->id = 0;
	if (pause < row->least_ms)
		pause = row->least_ms;
	ask->rest_ms = now_ms + (ok ? pause : RETRY_MS);
	/* What changed meanwhile has asked for it again. */
	if (row->every_ms && now_ms + row->every_ms < ask->due_ms)
		ask->due_ms = now_ms + row->every_ms;
	/* It has ended because other jobs are visible now: all of them are asked for. */
	if (kind == ASK_WATCH)
		ask->due_ms = a->cursor = 0;
	if (kind == ASK_WHY || kind == ASK_CONTROL) {
		if (!u->text && !ok)
			u->text = xstrdup(reply->text);
	} else if (!ok) {
		update_free(u);
		return;
	}
	push(a, u);
}

static void take_part(struct asks *a, enum ask_kind kind, const ProtobufCMessage *m, int64_t now_us)
{
	struct ask *ask = &a->v[kind];

	if (!ask->so_far)
		ask->so_far = update_new(rows[kind].kind, now_us);
	ask->so_far->when_us = now_us;
	if (m && rows[kind].part)
		rows[kind].part(a, ask->so_far, m);
}

int asks_take(
        struct asks *a, const struct frame *f, int64_t now_ms, int64_t now_us, struct error *err)
{
	ProtobufCMessage *m = msg_unpack(f->type, f->body, f->len, a->arena, err);
	size_t kind = 0;

	a->now_ms = now_ms;
	if (!m)
		return -1;
	while (kind < ASK_KINDS && (!f->id || a->v[kind].id != f->id))
		kind++;
	if (kind == ASK_KINDS)
		return error_set(err, ERR_PROTOCOL, "the controller answers what was not asked");
	if (f->type == GPUSCHED__MSG_TYPE__MSG_REPLY) {
		take_part(a, kind, NULL, now_us);
		end(a, kind, (const Gpusched__Reply *)m, now_ms);
		return 0;
	}
	if (f->type != rows[kind].answer)
		return error_set(err, ERR_PROTOCOL, "the controller answers with something else");
	take_part(a, kind, m, now_us);
	return 0;
}

void asks_forget(struct asks *a, int64_t now_ms, int64_t now_us)
{
	for (size_t i = 0; i < ASK_KINDS; i++) {
		struct ask *ask = &a->v[i];
		bool under_way = ask->id != 0;
		struct update *u;

		update_free(ask->so_far);
		ask->so_far = NULL;
		ask->id = 0;
		if (rows[i].every_ms || i == ASK_WATCH) {
			ask->due_ms = now_ms;
			continue;
		}
		if (!under_way)
			continue;
		u = update_new(rows[i].kind, now_us);
		u->text = xstrdup(i == ASK_WHY
		                          ? "the connection broke before the answer: w asks again"
		                          : "the connection broke: whether it was done is not "
		                            "known");
		push(a, u);
	}
}
