/* control.c - MSG_JOB_CONTROL: hold, release, cancel, signal, requeue, update
 *
 * Jobs that are named by id go to the core as they are, so that an unknown one is reported. Jobs
 * chosen by a filter are found in slices. Either way some are chosen, and then done to in events
 * of so much work each, as many of them in a slice as it has time for: a user with a million jobs,
 * or with one array of as many records, must not hold the loop while all are cancelled.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/net/msg.h"
#include "ctld/core/core.h"
#include "ctld/core/records/job.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/slice.h"
#include "ctld/rpc/call/job_filter.h"
#include "ctld/rpc/rpc.h"
#include "ctld/site/mail.h"
#include "ctld/wire/convert.h"

#define CHOSEN_MAX 200
#define FOUND_MAX  16  /* jobs of a filter in one event: few, so that none ends before its turn */
#define EVENT_WORK 256 /* of one event: event.h, `most` */
#define ERRORS_MAX 1000 /* told; there may be more */

/* The jobs chosen for the verb: refs, and which tasks of them (NULL: all). */
struct chosen {
	uint64_t ids[CHOSEN_MAX];
	const struct taskset *tasks[CHOSEN_MAX];
	struct taskset some[CHOSEN_MAX]; /* tasks of records that were found */
	size_t at, n;                    /* those before `at` are done with */
};

struct control {
	struct filter *filter;
	struct filter_walk walk;
	struct arena *arena;             /* owned: the message, which outlives its tick */
	struct core_event event;         /* borrows from it */
	size_t at;                       /* in the jobs that are named */
	struct chosen chosen;
	struct array_walk records; /* of the array that is next among them */
	struct error refused;      /* the error of its first record; code 0: none yet */
	unsigned unanswered;       /* events of which the effect is still to come */
	struct rpc_done done;
	struct job_error *errors;
	size_t n_errors;
	bool last; /* all are chosen */
};

static void forget_chosen(struct chosen *chosen)
{
	for (size_t i = 0; i < chosen->n; i++)
		taskset_clear(&chosen->some[i]);
	chosen->at = chosen->n = 0;
}

static void control_free(void *data)
{
	struct control *ctl = data;

	forget_chosen(&ctl->chosen);
	filter_free(ctl->filter);
	arena_free(ctl->arena);
	free(ctl->errors);
	free(ctl);
}

static size_t control_size(const void *data)
{
	const struct control *ctl = data;

	return sizeof(*ctl) + filter_size(ctl->filter) + arena_used(ctl->arena);
}

/* Was the slot before refused with the same message? Slots of a service are refused with one
 * message, which names the service. */
static bool is_said(const struct control *ctl, const struct job_error *e)
{
	const struct job_error *last = ctl->n_errors ? &ctl->errors[ctl->n_errors - 1] : NULL;

	return last && last->error.code == e->error.code &&
	       job_ref_id(last->job) == job_ref_id(e->job) &&
	       !strcmp(last->error.text, e->error.text);
}

static void add_errors(struct control *ctl, const struct job_error *v, size_t n)
{
	for (size_t i = 0; i < n && ctl->n_errors < ERRORS_MAX; i++) {
		if (is_said(ctl, &v[i]))
			continue;
		ctl->errors = xrealloc(ctl->errors, ctl->n_errors + 1, sizeof(*ctl->errors));
		ctl->errors[ctl->n_errors++] = v[i];
	}
}

/* Adds the result of an event, and records where the next event continues. */
static void add_result(struct control *ctl, const struct effect *effect)
{
	struct chosen *chosen = &ctl->chosen;
	uint64_t begun = ctl->records.next ? chosen->ids[chosen->at] : 0;
	size_t first = ctl->n_errors;

	ctl->done.jobs += effect->controlled.done;
	ctl->done.arrays += effect->controlled.arrays;
	ctl->done.tasks += effect->controlled.tasks;
	add_errors(ctl, effect->controlled.errors, effect->controlled.n);
	/* An earlier event began this array, and the verb applied to none of its records. */
	if (begun && effect->controlled.at && ctl->refused.code && first < ctl->n_errors &&
	        ctl->errors[first].job == begun && !ctl->records.done && !ctl->records.refused)
		ctl->errors[first].error = ctl->refused;
	if (effect->controlled.at)
		ctl->refused.code = ERR_NONE;
	if (effect->controlled.first && !ctl->refused.code)
		ctl->refused = *effect->controlled.first;
	chosen->at += effect->controlled.at;
	ctl->records = effect->controlled.walk;
}

void rpc_controlled(struct ctld *c, struct call *call, struct rpc_done done,
        const struct job_error *errors, size_t n)
{
	Gpusched__JobControlResult m = GPUSCHED__JOB_CONTROL_RESULT__INIT;
	Gpusched__JobError *v = xcalloc(n, sizeof(*v));
	char *cut[] = { "errors" };

	m.done = done.jobs;
	m.arrays = done.arrays;
	m.tasks = done.tasks;
	m.n_errors = n;
	m.errors = xcalloc(n, sizeof(*m.errors));
	for (size_t i = 0; i < n; i++) {
		gpusched__job_error__init(&v[i]);
		v[i].job = job_ref_id(errors[i].job);
		v[i].code = (uint32_t)errors[i].error.code;
		v[i].text = (char *)errors[i].error.text;
		v[i].hint = (char *)errors[i].error.hint;
		m.errors[i] = &v[i];
	}
	m.cut = cut;
	m.n_cut = n == ERRORS_MAX;
	peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_JOB_CONTROL_RESULT, call->id, &m.base);
	free(m.errors);
	free(v);
	/* nothing done and one fault: that fault is the answer */
	if (done.jobs == 0 && n == 1)
		call_done(c, call, &errors[0].error);
	else
		call_done_but(c, call, done.jobs ? done.warning : NULL);
}

static bool wants_mail(const struct core_event *e)
{
	return e->job.verb == JOB_UPDATE && e->job.fields & UPDATE_MAIL_TYPE &&
	       e->job.change->mail_types;
}

static void finish(struct ctld *c, struct call *call)
{
	struct control *ctl = call->data;
	struct error err;

	if (wants_mail(&ctl->event))
		ctl->done.warning = mail_warning(c->mail);
	if (filter_check_names(ctl->filter, &err) < 0) {
		if (ctl->done.jobs == 0 && ctl->n_errors == 0) {
			call_done(c, call, &err);
			return;
		}
		ctl->done.warning = err.text;
	}
	rpc_controlled(c, call, ctl->done, ctl->errors, ctl->n_errors);
}

/* The result was read in slice(): now it may be reported, or the next slice begins. */
static void answered(struct ctld *c, struct call *call, const struct effect *effect)
{
	struct control *ctl = call->data;

	if (effect->kind != EFFECT_CONTROLLED) {
		call_done(c, call, effect->error);
		return;
	}
	if (--ctl->unanswered)
		return;
	if (ctl->last && ctl->chosen.at == ctl->chosen.n)
		finish(c, call);
	else
		call_go_on(c, call);
}

/* Adds a record that was found; of several tasks perhaps only some are meant. */
static void found_one(struct control *ctl, const struct job_view *job)
{
	struct chosen *out = &ctl->chosen;
	size_t n = out->n++;
	struct taskset all;

	out->ids[n] = job->ref;
	out->tasks[n] = NULL;
	out->some[n] = (struct taskset){ 0 };
	if (!ctl->walk.tasks || !job->set)
		return;
	taskset_copy(&all, job->set);
	taskset_take(&all, ctl->walk.tasks, &out->some[n]);
	taskset_clear(&all);
	out->ids[n] = job->id;
	out->tasks[n] = &out->some[n];
}

/* A service whose job the request does not name is not cancelled with other jobs; one error says
 * so. */
static bool leave_service(struct control *ctl, const struct job_view *job)
{
	const char *name = filter_service_of(job);
	struct job_error left = { .job = job->ref };
	size_t n;

	filter_named(ctl->filter, &n);
	if (!name || n || ctl->event.job.verb != JOB_CANCEL)
		return false;
	error_set(&left.error, ERR_JOB_STATE, "service %s is not cancelled with jobs", name);
	error_hint(&left.error, "gserve stop %s ends it", name);
	for (n = 0; n < ctl->n_errors; n++)
		if (!strcmp(ctl->errors[n].error.text, left.error.text))
			return true;
	add_errors(ctl, &left, 1);
	return true;
}

static void choose_named(struct control *ctl, const struct filter_named *named, size_t n_named)
{
	struct chosen *out = &ctl->chosen;

	for (; out->n < CHOSEN_MAX && ctl->at < n_named; ctl->at++, out->n++) {
		out->ids[out->n] = named[ctl->at].id;
		out->tasks[out->n] = named[ctl->at].some ? &named[ctl->at].tasks : NULL;
		out->some[out->n] = (struct taskset){ 0 };
	}
	ctl->last = ctl->at == n_named;
}

/* Chooses the next jobs: named ones, or found ones. Sets ctl->last. */
static void choose(struct ctld *c, struct control *ctl, struct clocks now, struct slice *slice)
{
	struct job_view job;
	size_t n_named;
	const struct filter_named *named = filter_only_named(ctl->filter, &n_named);
	int found = 1;

	forget_chosen(&ctl->chosen);
	if (named) {
		choose_named(ctl, named, n_named);
		return;
	}
	while (ctl->chosen.n < FOUND_MAX &&
	        (found = filter_next(ctl->filter, &ctl->walk, c->core, now, slice, &job)) > 0)
		if (!leave_service(ctl, &job))
			found_one(ctl, &job);
	ctl->last = found == 0;
}

/* Applies one event to the chosen jobs. False: the core refuses all of it, and has replied. */
static bool control_some(struct ctld *c, struct call *call, struct clocks now)
{
	struct control *ctl = call->data;
	struct chosen *chosen = &ctl->chosen;
	struct core_event ev = ctl->event;
	const struct effect *effects;
	size_t n;

	ev.caller = call_caller(c, call);
	ev.job.ids = &chosen->ids[chosen->at];
	ev.job.tasks = &chosen->tasks[chosen->at];
	ev.job.n = chosen->n - chosen->at;
	ev.job.most = EVENT_WORK;
	ev.job.walk = ctl->records;
	inputs_apply(c, &ev, now);
	effects = core_effects(c->core, &n);
	if (effects[n - 1].kind != EFFECT_CONTROLLED)
		return false;
	ctl->unanswered++;
	add_result(ctl, &effects[n - 1]);
	return true;
}

static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	struct slice slice = slice_begin(SLICE_US);
	struct control *ctl = call->data;

	do {
		if (ctl->chosen.at == ctl->chosen.n && !ctl->last)
			choose(c, ctl, now, &slice);
		if (ctl->chosen.at == ctl->chosen.n)
			break;
		if (!control_some(c, call, now))
			return;
	} while (!slice_over_now(&slice));
	if (ctl->unanswered)
		return;
	if (ctl->last)
		finish(c, call);
	else
		call_go_on(c, call);
}

static const struct call_ops control_ops = {
	.effect = answered,
	.slice = slice,
	.free = control_free,
	.size = control_size,
};

/* An empty filter would select the jobs of all users: this is never meant, so it is refused. */
static int check_filter(const Gpusched__JobFilter *f, struct error *err)
{
	if (f && (f->n_ids || f->n_tasks || f->n_users || f->n_accounts || f->n_partitions ||
	                 f->n_qos || f->n_states || f->n_names || f->n_nodes))
		return 0;
	return error_set(err, ERR_USAGE,
	        "no job is selected: ids, users, accounts, partitions, QOS, states, names or nodes "
	        "must be given");
}

int rpc_job_control(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	struct control *ctl = xcalloc(1, sizeof(*ctl));
	const Gpusched__JobControl *m;

	ctl->walk.brief = true;
	error_set(err, ERR_BUSY, "out of memory");
	ctl->arena = arena_new(0);
	m = ctl->arena
	            ? (const Gpusched__JobControl *)msg_unpack(GPUSCHED__MSG_TYPE__MSG_JOB_CONTROL,
	                      rpc->body, rpc->len, ctl->arena, err)
	            : NULL;
	if (m && wire_job_control(m, ctl->arena, &ctl->event, err) == 0 &&
	        check_filter(m->filter, err) == 0)
		ctl->filter = rpc_filter(c, rpc, m->filter, err);
	if (!ctl->filter) {
		control_free(ctl);
		return -1;
	}
	return rpc_call(c, rpc, &control_ops, ctl);
}
