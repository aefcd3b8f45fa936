/* control.c - MSG_JOB_CONTROL: hold, release, cancel, signal, requeue, update
 *
 * Jobs that are named by id go to the core as they are, so that an unknown one is reported. Jobs
 * chosen by a filter are found in slices; each slice is an event of its own, since a user with a
 * million jobs must not hold the loop while all are cancelled.
 */
#include <stdlib.h>
#include <string.h>

#include "common/msg.h"
#include "common/xalloc.h"
#include "ctld/calls.h"
#include "ctld/core/core.h"
#include "ctld/core/job.h"
#include "ctld/ctld.h"
#include "ctld/inputs.h"
#include "ctld/mail.h"
#include "ctld/peers.h"
#include "ctld/rpc/convert.h"
#include "ctld/rpc/filter.h"
#include "ctld/rpc/rpc.h"

#define SLICE_JOBS   200
#define SLICE_VISITS 2000
#define ERRORS_MAX   1000 /* told; there may be more */

struct control {
	struct filter *filter;
	struct filter_walk walk;
	struct arena *arena;             /* owned: the message, which outlives its tick */
	struct core_event event;         /* borrows from it */
	size_t at;                       /* in the jobs that are named */
	struct taskset some[SLICE_JOBS]; /* tasks of records that were found */
	struct rpc_done done;
	struct job_error *errors;
	size_t n_errors;
	bool last; /* slice */
};

static void control_free(void *data)
{
	struct control *ctl = data;

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

static void add_result(struct control *ctl, const struct effect *effect)
{
	size_t room = ERRORS_MAX - ctl->n_errors;
	size_t n = effect->controlled.n < room ? effect->controlled.n : room;

	ctl->done.jobs += effect->controlled.done;
	ctl->done.arrays += effect->controlled.arrays;
	ctl->done.tasks += effect->controlled.tasks;
	if (n == 0)
		return;
	ctl->errors = xrealloc(ctl->errors, ctl->n_errors + n, sizeof(*ctl->errors));
	memcpy(&ctl->errors[ctl->n_errors], effect->controlled.errors, n * sizeof(*ctl->errors));
	ctl->n_errors += n;
}

void rpc_controlled(struct ctld *c, struct call *call, struct rpc_done done,
        const struct job_error *errors, size_t n)
{
	Gpusched__JobControlResult m = GPUSCHED__JOB_CONTROL_RESULT__INIT;
	Gpusched__JobError *v = xcalloc(n, sizeof(*v));
	char *cut[] = { "errors" };
	size_t i;

	m.done = done.jobs;
	m.arrays = done.arrays;
	m.tasks = done.tasks;
	m.n_errors = n;
	m.errors = xcalloc(n, sizeof(*m.errors));
	for (i = 0; i < n; i++) {
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

static bool wishes_mail(const struct core_event *e)
{
	return e->job.verb == JOB_UPDATE && e->job.fields & UPDATE_MAIL_TYPE &&
	       e->job.change->mail_types;
}

static void finish(struct ctld *c, struct call *call)
{
	struct control *ctl = call->data;

	if (wishes_mail(&ctl->event))
		ctl->done.warning = mail_warning(c->mail);
	rpc_controlled(c, call, ctl->done, ctl->errors, ctl->n_errors);
}

static void answered(struct ctld *c, struct call *call, const struct effect *effect)
{
	struct control *ctl = call->data;

	if (effect->kind != EFFECT_CONTROLLED) {
		call_done(c, call, effect->error);
		return;
	}
	add_result(ctl, effect);
	if (ctl->last)
		finish(c, call);
	else
		call_go_on(c, call);
}

/* What a verb is for: refs, and which tasks of them (NULL: all). */
struct chosen {
	uint64_t ids[SLICE_JOBS];
	const struct taskset *tasks[SLICE_JOBS];
	size_t n;
};

/* A record that was found: of several tasks perhaps only some are meant. */
static void found_one(struct control *ctl, const struct job_view *job, struct chosen *out)
{
	struct taskset all;
	size_t n = out->n++;

	out->ids[n] = job->ref;
	out->tasks[n] = NULL;
	if (!ctl->walk.tasks || !job->several || taskset_parse_kept(job->tasks, &all, NULL))
		return;
	taskset_take(&all, ctl->walk.tasks, &ctl->some[n]);
	taskset_clear(&all);
	out->ids[n] = job->id;
	out->tasks[n] = &ctl->some[n];
}

/* The next jobs: named, or found. Sets ctl->last. */
static void choose(struct ctld *c, struct control *ctl, struct clocks now, struct chosen *out)
{
	unsigned budget = SLICE_VISITS;
	struct job_view job;
	size_t n_named;
	const struct filter_named *named = filter_only_named(ctl->filter, &n_named);

	out->n = 0;
	if (named) {
		for (; out->n < SLICE_JOBS && ctl->at < n_named; ctl->at++, out->n++) {
			out->ids[out->n] = named[ctl->at].id;
			out->tasks[out->n] = named[ctl->at].some ? &named[ctl->at].tasks : NULL;
		}
		ctl->last = ctl->at == n_named;
		return;
	}
	while (out->n < SLICE_JOBS) {
		int found = filter_next(ctl->filter, &ctl->walk, c->core, now, &budget, &job);

		if (found <= 0) {
			ctl->last = found == 0;
			break;
		}
		found_one(ctl, &job, out);
	}
}

static void slice(struct ctld *c, struct call *call, struct clocks now)
{
	struct control *ctl = call->data;
	struct core_event ev = ctl->event;
	struct chosen chosen;

	choose(c, ctl, now, &chosen);
	if (chosen.n > 0) {
		ev.caller = call_caller(c, call);
		ev.job.ids = chosen.ids;
		ev.job.tasks = chosen.tasks;
		ev.job.n = chosen.n;
		inputs_apply(c, &ev, now);
		for (size_t i = 0; i < chosen.n; i++)
			taskset_clear(&ctl->some[i]);
	} else if (ctl->last) {
		finish(c, call);
	} else {
		call_go_on(c, call);
	}
}

static const struct call_ops control_ops = {
	.effect = answered,
	.slice = slice,
	.free = control_free,
	.size = control_size,
};

/* An empty filter is everybody's jobs: never meant, so never done. */
static int check_filter(const Gpusched__JobFilter *f, struct error *err)
{
	if (f && (f->n_ids || f->n_tasks || f->n_users || f->n_accounts || f->n_partitions ||
	                 f->n_qos || f->n_states || f->n_names || f->n_nodes))
		return 0;
	return error_set(err, ERR_USAGE,
	        "which jobs? ids, users, accounts, partitions, QOS, states, names or nodes must be "
	        "given");
}

void rpc_job_control(struct ctld *c, const struct rpc *rpc)
{
	struct control *ctl = xcalloc(1, sizeof(*ctl));
	const Gpusched__JobControl *m;
	struct call *call;
	struct error err;

	error_set(&err, ERR_BUSY, "out of memory");
	ctl->arena = arena_new(0);
	m = ctl->arena
	            ? (const Gpusched__JobControl *)msg_unpack(GPUSCHED__MSG_TYPE__MSG_JOB_CONTROL,
	                      rpc->body, rpc->len, ctl->arena, &err)
	            : NULL;
	if (m && wire_job_control(m, ctl->arena, &ctl->event, &err) == 0 &&
	        check_filter(m->filter, &err) == 0)
		ctl->filter = rpc_filter(c, rpc, m->filter, &err);
	if (!ctl->filter) {
		control_free(ctl);
		rpc_reply(c, rpc, &err);
		return;
	}
	call = call_new(c, rpc->peer, rpc->id, &control_ops, ctl);
	if (call)
		call_go_on(c, call);
}
