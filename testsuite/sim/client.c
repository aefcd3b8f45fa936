/* client.c - see client.h */
#include "testsuite/sim/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/taskset.h"
#include "common/base/xalloc.h"
#include "common/net/msg.h"

/* Of a bulk first its jobs are sent, then all are asked for. */
enum { SUBMIT, PART, ALL, CONTROL, LOOK };

/* What is to be done to a job, or to some tasks of an array. */
struct deed {
	uint64_t job;
	Gpusched__JobControl__Verb verb;
	char tasks[48];   /* "": all of it */
	uint32_t at_once; /* UPDATE */
	bool resign;      /* sign it anew; `verb` says nothing */
};

struct known {
	struct work_known job;
	uint32_t over; /* of its tasks, at this look: ended, or will never be more than waiting */
};

struct sim_client {
	struct sim_client_options o;
	struct work_owner owner;
	uint64_t link;
	uint64_t turn; /* of the request under way: later answers and timeouts are of another */
	bool asking;
	int kind;       /* of the request under way */
	uint8_t *bytes; /* and its message, to be repeated as it is */
	size_t len;
	int type;
	struct work *work;        /* until it is answered */
	uint64_t bulk;            /* its number in this session */
	struct deed *deeds, deed; /* one after another; CONTROL: the one under way */
	size_t n_deeds;
	unsigned tokens, submitted; /* of the latter's jobs and tasks */
	struct known *known;
	size_t n_known, n_bulks, n_in_bulks, n_tasks, n_resigned;
	uint64_t answer[WORK_BULK]; /* ids */
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

/* --- requests -------------------------------------------------------------------------------- */

static void make_part(struct sim_client *c)
{
	c->work->submit->bulk = ++c->bulk;
	request(c, PART, GPUSCHED__MSG_TYPE__MSG_SUBMIT, &c->work->submit->base);
}

static void make_all(struct sim_client *c)
{
	Gpusched__SubmitBulk m = GPUSCHED__SUBMIT_BULK__INIT;

	m.bulk = c->bulk;
	m.jobs = c->work->n;
	request(c, ALL, GPUSCHED__MSG_TYPE__MSG_SUBMIT_BULK, &m.base);
}

/* The jobs that it knows, as far as the next may wait for them. */
static struct work_known *awaitable(const struct sim_client *c, size_t *n)
{
	struct work_known *v = xcalloc(c->n_known + 1, sizeof(*v));

	for (*n = 0; *n < c->n_known; ++*n)
		v[*n] = c->known[*n].job;
	return v;
}

static void make_submit(struct sim_client *c)
{
	size_t n;
	struct work_known *known = awaitable(c, &n);

	c->work = work_new(
	        c->o.engine, &c->o.mix, &c->owner, c->tokens, c->o.jobs - c->submitted, known, n);
	free(known);
	if (c->work->bulk)
		make_part(c);
	else
		request(c, SUBMIT, GPUSCHED__MSG_TYPE__MSG_SUBMIT, &c->work->submit->base);
}

static void plan(struct sim_client *c, uint64_t job, Gpusched__JobControl__Verb verb)
{
	c->deeds = xrealloc(c->deeds, c->n_deeds + 1, sizeof(*c->deeds));
	c->deeds[c->n_deeds++] = (struct deed){ job, verb, "", 0, false };
}

/* Once, of whatever else is planned. */
static void plan_resign(struct sim_client *c, uint64_t job)
{
	for (size_t i = 0; i < c->n_deeds; i++)
		if (c->deeds[i].resign && c->deeds[i].job == job)
			return;
	plan(c, job, GPUSCHED__JOB_CONTROL__VERB__RELEASE);
	c->deeds[c->n_deeds - 1].resign = true;
}

/* Some of its tasks, perhaps such as it has not. */
static void plan_tasks(struct sim_client *c, uint64_t job, Gpusched__JobControl__Verb verb)
{
	uint64_t first = engine_below(c->o.engine, 6);

	plan(c, job, verb);
	snprintf(c->deeds[c->n_deeds - 1].tasks, sizeof(c->deed.tasks), "%" PRIu64 "-%" PRIu64,
	        first, first + engine_below(c->o.engine, 5));
}

/* What is done to a new job of so many tasks, sooner or later. */
static void plan_deeds(struct sim_client *c, uint64_t job, uint32_t tasks)
{
	struct engine *e = c->o.engine;

	if (engine_chance(e, c->o.resign_ppm))
		plan_resign(c, job);
	if (engine_chance(e, c->o.cancel_ppm))
		plan(c, job, GPUSCHED__JOB_CONTROL__VERB__CANCEL);
	if (engine_chance(e, c->o.requeue_ppm))
		plan(c, job, GPUSCHED__JOB_CONTROL__VERB__REQUEUE);
	for (int n = 0; n < 3 && engine_chance(e, c->o.suspend_ppm); n++) {
		plan(c, job, GPUSCHED__JOB_CONTROL__VERB__SUSPEND);
		plan(c, job, GPUSCHED__JOB_CONTROL__VERB__RESUME);
	}
	if (tasks < 2)
		return;
	if (engine_chance(e, 2 * c->o.requeue_ppm))
		plan_tasks(c, job, GPUSCHED__JOB_CONTROL__VERB__REQUEUE);
	if (engine_chance(e, 2 * c->o.cancel_ppm))
		plan_tasks(c, job, GPUSCHED__JOB_CONTROL__VERB__CANCEL);
	if (engine_chance(e, 2 * c->o.cancel_ppm)) {
		plan_tasks(c, job, GPUSCHED__JOB_CONTROL__VERB__HOLD);
		plan_tasks(c, job, GPUSCHED__JOB_CONTROL__VERB__RELEASE);
	}
	if (engine_chance(e, c->o.cancel_ppm)) {
		plan(c, job, GPUSCHED__JOB_CONTROL__VERB__UPDATE);
		c->deeds[c->n_deeds - 1].at_once = (uint32_t)engine_between(e, 0, 4);
	}
}

/* The deed, as a fact of all its tasks. */
static void say_deed(struct sim_client *c, const char *fact)
{
	struct taskset set;
	struct error err;

	if (!c->deed.tasks[0]) {
		checker_say(c->o.checker, "%s %" PRIu64, fact, c->deed.job);
		return;
	}
	if (taskset_parse(c->deed.tasks, &set, &err) < 0)
		abort();
	for (; set.count; taskset_remove(&set, taskset_first(&set)))
		checker_say(
		        c->o.checker, "%s %" PRIu64 "_%u", fact, c->deed.job, taskset_first(&set));
	taskset_clear(&set);
}

/* What was signed before, with the time of now. */
static void make_resign(struct sim_client *c)
{
	Gpusched__Resign m = GPUSCHED__RESIGN__INIT;
	size_t k = 0;
	char *cred;

	while (c->known[k].job.id != c->deed.job)
		k++;
	cred = work_signature(&c->owner, &c->known[k].job.hash, 1);
	m.credential = (ProtobufCBinaryData){ strlen(cred), (uint8_t *)cred };
	m.jobs = &c->deed.job;
	m.n_jobs = 1;
	request(c, CONTROL, GPUSCHED__MSG_TYPE__MSG_RESIGN, &m.base);
	free(cred);
}

/* Any of them, so that a job may be suspended or resumed at any time, or never. */
static void make_control(struct sim_client *c)
{
	static Gpusched__JobControl__Field at_once = GPUSCHED__JOB_CONTROL__FIELD__ARRAY_THROTTLE;
	size_t i = (size_t)engine_below(c->o.engine, c->n_deeds);
	Gpusched__JobControl m = GPUSCHED__JOB_CONTROL__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	Gpusched__JobTasks tasks = GPUSCHED__JOB_TASKS__INIT, *some[1] = { &tasks };
	Gpusched__JobRequest change = GPUSCHED__JOB_REQUEST__INIT;

	c->deed = c->deeds[i];
	c->deeds[i] = c->deeds[--c->n_deeds];
	if (c->deed.resign) {
		make_resign(c);
		return;
	}
	m.verb = c->deed.verb;
	m.filter = &filter;
	if (c->deed.tasks[0]) {
		tasks.job = c->deed.job;
		tasks.tasks = c->deed.tasks;
		filter.tasks = some;
		filter.n_tasks = 1;
	} else {
		filter.ids = &c->deed.job;
		filter.n_ids = 1;
	}
	if (m.verb == GPUSCHED__JOB_CONTROL__VERB__UPDATE) {
		change.array_throttle = c->deed.at_once;
		m.change = &change;
		m.fields = &at_once;
		m.n_fields = 1;
		checker_say(c->o.checker, "throttle %" PRIu64 " %u", c->deed.job, c->deed.at_once);
	}
	if (m.verb == GPUSCHED__JOB_CONTROL__VERB__SUSPEND)
		say_deed(c, "suspend");
	if (m.verb == GPUSCHED__JOB_CONTROL__VERB__CANCEL)
		say_deed(c, "kill");
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

/* --- answers --------------------------------------------------------------------------------- */

static bool has_ended(const char *state)
{
	static const char *const open[] = { "PENDING", "CONFIGURING", "RUNNING", "SUSPENDED",
		"COMPLETING" };

	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		if (!strcmp(state, open[i]))
			return false;
	return true;
}

/* Its state, and that it is so for what is borrowed of a GPU. */
static void say_shown(const struct sim_client *c, const Gpusched__Job *job, const char *task)
{
	if (!strcmp(job->reason, "GpuBurst"))
		checker_say(c->o.checker, "lent %" PRIu64 "%s %s %u", job->id, task, job->state,
		        job->attempt);
	checker_say(c->o.checker, "state %" PRIu64 "%s %s %u %u %u", job->id, task, job->state,
	        job->exit_code, job->exit_signal, job->attempt);
}

static void say_state(const struct sim_client *c, const Gpusched__Job *job)
{
	char task[16];
	struct taskset set;
	struct error err;

	if (!*job->array) {
		say_shown(c, job, "");
		return;
	}
	if (taskset_parse_kept(job->tasks, &set, &err) < 0) {
		fprintf(stderr, "client: the tasks of a job: %s\n", err.text);
		abort();
	}
	for (; set.count; taskset_remove(&set, taskset_first(&set))) {
		snprintf(task, sizeof(task), "_%u", taskset_first(&set));
		say_shown(c, job, task);
	}
	taskset_clear(&set);
}

/* Facts of a look; a job that is not in the list any more has been retired or was lost. */
static void seen(struct sim_client *c, const Gpusched__Job *job)
{
	for (size_t i = 0; i < c->n_known; i++) {
		struct known *k = &c->known[i];

		if (k->job.id != job->id)
			continue;
		say_state(c, job);
		/* It may be that its last word was to suspend it, or to hold it. */
		if (c->look && !strcmp(job->state, "SUSPENDED"))
			plan(c, job->id, GPUSCHED__JOB_CONTROL__VERB__RESUME);
		if (!strcmp(job->reason, "SignatureExpired")) {
			plan_resign(c, job->id);
			c->n_resigned++;
		}
		if (c->look && !strcmp(job->reason, "JobHeldUser"))
			plan(c, job->id, GPUSCHED__JOB_CONTROL__VERB__RELEASE);
		if (has_ended(job->state) ||
		        (k->job.stays && !strcmp(job->reason, "DependencyNeverSatisfied")))
			k->over += *job->array ? job->task_count : 1;
	}
}

/* Its jobs are promised: the checker and the next submits know them. */
static void know(struct sim_client *c)
{
	const struct work *w = c->work;

	c->known = xrealloc(c->known, c->n_known + w->n, sizeof(*c->known));
	for (size_t i = 0; i < w->n; i++) {
		work_tell(w, i, c->answer[i], c->o.uid, c->o.checker);
		struct work_known job = { .id = c->answer[i],
			.tasks = w->jobs[i].tasks,
			.stays = w->jobs[i].stays,
			.hash = work_hash(w, i) };

		memcpy(job.array, w->jobs[i].array, sizeof(job.array));
		c->known[c->n_known++] = (struct known){ job, 0 };
		plan_deeds(c, c->answer[i], w->jobs[i].tasks);
		c->n_tasks += w->jobs[i].tasks > 1 ? w->jobs[i].tasks : 0;
	}
	c->n_bulks += w->bulk;
	c->n_in_bulks += w->bulk ? w->n : 0;
}

static void submit_done(struct sim_client *c)
{
	for (size_t i = 0; i < c->work->n; i++) {
		c->tokens++;
		c->submitted += c->work->jobs[i].tasks;
	}
	work_free(c->work);
	c->work = NULL;
	c->asking = false;
}

static void submit_answered(struct sim_client *c, const Gpusched__Reply *reply)
{
	if (reply->code == ERR_MUNGE_CLOCK) {
		/* It took too long: signed anew, the same bytes with the same nonce. */
		work_sign(c->work, &c->owner);
		if (c->kind == SUBMIT)
			request(c, SUBMIT, GPUSCHED__MSG_TYPE__MSG_SUBMIT, &c->work->submit->base);
		else
			make_part(c);
	} else if (reply->code == ERR_BULK || reply->code == ERR_BUSY) {
		make_part(c);
	} else if (reply->code != ERR_NONE && c->work->may_fail) {
		submit_done(c);
	} else if (reply->code != ERR_NONE || (c->kind != PART && c->work->must_fail)) {
		fprintf(stderr, "client: a submit was %s: %s\n",
		        reply->code ? "refused" : "accepted", reply->text);
		abort();
	} else if (c->kind == PART) {
		make_all(c);
	} else {
		know(c);
		submit_done(c);
	}
}

static void answered(struct sim_client *c, const Gpusched__Reply *reply)
{
	if (c->kind == SUBMIT || c->kind == PART || c->kind == ALL) {
		submit_answered(c, reply);
	} else {
		c->asking = false;
		if (c->kind == LOOK)
			c->look = false;
		else if (c->deed.resign && reply->code == ERR_MUNGE_CLOCK)
			plan_resign(c, c->deed.job); /* it took too long */
		else if (reply->code == ERR_NONE &&
		         c->deed.verb == GPUSCHED__JOB_CONTROL__VERB__CANCEL)
			say_deed(c, "cancel");
	}
	pause_then_next(c);
}

/* The ids of a bulk, as ranges. */
static void take_ids(struct sim_client *c, const Gpusched__BulkResult *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_first; i++)
		for (uint64_t id = m->first[i]; id < m->first[i] + m->count[i] && n < WORK_BULK;
		        id++)
			c->answer[n++] = id;
	if (n != c->work->n) {
		fprintf(stderr, "client: %zu ids for a bulk of %zu\n", n, c->work->n);
		abort();
	}
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
		c->answer[0] = ((Gpusched__SubmitResult *)m)->job_ids[0];
		break;
	case GPUSCHED__MSG_TYPE__MSG_BULK_RESULT:
		take_ids(c, (const void *)m);
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

	if (!c->link) {
		c->link =
		        sim_controller_connect(c->o.controller, -1, c->o.uid, &client_link_ops, c);
		/* What was sent before has gone with the session. */
		if (c->kind == ALL)
			make_part(c);
	}
	if (!c->link) {
		pause_then_next(c);
		return;
	}
	for (size_t i = 0; c->kind == LOOK && i < c->n_known; i++)
		c->known[i].over = 0;
	/* Each time: what was sent before may have been done, and the answer been lost. */
	if (c->kind == CONTROL && c->deed.verb == GPUSCHED__JOB_CONTROL__VERB__REQUEUE)
		say_deed(c, "again");
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
	c->owner = (struct work_owner){ options->cluster, options->uid, options->mcred };
	c->arena = arena_new(1 << 20);
	return c;
}

void sim_client_start(struct sim_client *c)
{
	pause_then_next(c);
}

void sim_client_stop(struct sim_client *c)
{
	hang_up(c);
	c->turn++;
	c->asking = false;
}

bool sim_client_is_done(const struct sim_client *c)
{
	return !c->asking && !c->n_deeds && !c->look && c->submitted >= c->o.jobs;
}

void sim_client_look(struct sim_client *c)
{
	c->look = true;
	if (!c->asking)
		pause_then_next(c);
}

bool sim_client_all_ended(const struct sim_client *c)
{
	for (size_t i = 0; i < c->n_known; i++) {
		if (c->known[i].over < c->known[i].job.tasks)
			return false;
	}
	return true;
}

void sim_client_count(const struct sim_client *c, struct sim_client_count *count)
{
	count->jobs += c->n_known;
	count->tasks += c->n_tasks;
	count->bulks += c->n_bulks;
	count->in_bulks += c->n_in_bulks;
	count->resigned += c->n_resigned;
}

void sim_client_free(struct sim_client *c)
{
	if (!c)
		return;
	arena_free(c->arena);
	work_free(c->work);
	free(c->bytes);
	free(c->known);
	free(c->deeds);
	free(c);
}
