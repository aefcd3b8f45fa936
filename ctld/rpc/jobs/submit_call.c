/* submit_call.c - MSG_SUBMIT: from a frame to jobs
 *
 * What costs time and touches nothing of ours is done in a worker (submit_read()): decoding, munge,
 * hashes, all checks of the signed jobs. Then one event tells the core, which accepts all jobs or
 * none; what was signed goes to the store together with the jobs' rows.
 */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/net/worker.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/disk_space.h"
#include "ctld/loop/fair_queue.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/user_names.h"
#include "ctld/rpc/jobs/bulk.h"
#include "ctld/rpc/jobs/submit_read.h"
#include "ctld/rpc/rpc.h"
#include "ctld/site/mail.h"
#include "ctld/wire/convert.h"

/* One warning is told: of the first job that never starts, else of partitions, else of mail. */
static void warn_and_end(
        struct ctld *c, struct call *call, const struct submit *s, const struct effect *effect)
{
	const char *mail = s->wants_mail ? mail_warning(c->mail) : NULL;
	char never[SUBMIT_NEVER_TEXT];
	bool found = false;

	for (size_t i = 0; i < s->msg->n_jobs && !found; i++)
		found = submit_depends(&s->jobs[i]) &&
		        submit_never(c, effect->submitted.ids[i], never);
	call_done_but(c, call,
	        found                        ? never
	        : effect->submitted.left_out ? effect->submitted.left_out
	                                     : mail);
}

static void answered(struct ctld *c, struct call *call, const struct effect *effect)
{
	const struct submit *s = call->data;

	if (effect->kind != EFFECT_SUBMITTED) {
		call_done(c, call, effect->error);
		return;
	}
	arena_reset(c->out, WIRE_ARENA_CAP);
	peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_SUBMIT_RESULT, call->id,
	        &wire_submitted(effect, c->conf, c->out)->base);
	if (effect->submitted.test_only) {
		call_done_but(c, call,
		        effect->submitted.left_out ? effect->submitted.left_out
		        : s->wants_mail            ? mail_warning(c->mail)
		                                   : NULL);
		return;
	}
	submit_keep_blobs(c, s, effect->submitted.ids, effect->submitted.known);
	warn_and_end(c, call, s, effect);
}

static const struct call_ops submit_ops = { .effect = answered, .free = submit_free };

static void apply(struct ctld *c, void *arg, struct clocks now)
{
	struct submit *s = arg;
	struct peer *peer = peers_find(c->peers, s->session);
	struct core_event ev = { .kind = EV_SUBMIT };
	struct call *call;

	if (!peer) { /* the client has gone; with its token it can ask again */
		submit_free(s);
		return;
	}
	peer_add_work(c, peer, -1, -(ptrdiff_t)s->len);
	if (s->error.code == ERR_PROTOCOL) {
		peer_expel(c, peer, &s->error);
		submit_free(s);
		return;
	}
	if (s->error.code) {
		if (s->msg && s->msg->bulk)
			bulk_drop(c, peer);
		peers_reply(c, s->session, s->id, &s->error);
		submit_free(s);
		return;
	}
	if (s->msg->bulk) {
		bulk_stage(c, peer, s);
		return;
	}
	if (submit_charge(s, &s->error) < 0) {
		peers_reply(c, s->session, s->id, &s->error);
		submit_free(s);
		return;
	}
	call = call_new(c, peer, s->id, &submit_ops, s);
	if (!call)
		return;
	ev.caller = call_caller(c, call);
	ev.submit.jobs = s->jobs;
	ev.submit.n = s->msg->n_jobs;
	ev.submit.test_only = s->msg->test_only;
	disk_space_report(c, s->len, now);
	inputs_apply(c, &ev, now);
}

static const struct tick_work apply_work = { apply, submit_free };

/* Workers finish in any order; jobs of one session get their ids in the order they were sent. */
static void submit_done(void *arg)
{
	struct submit *s = arg;
	struct ctld *c = s->c;
	struct peer *peer;

	if (s->orphan) { /* with its token it can be asked again */
		submit_free(s);
		return;
	}
	s->ready = true;
	peer = peers_find(c->peers, s->session);
	while ((s = STAILQ_FIRST(&peer->submits)) && s->ready) {
		STAILQ_REMOVE_HEAD(&peer->submits, next);
		fair_queue_post(c->fair_queue, s->uid, &apply_work, s);
	}
}

/* At the end of the process: whatever else is with the workers goes the same way. */
static void submit_drop(void *arg)
{
	struct submit *s = arg;
	struct peer *peer = s->orphan ? NULL : peers_find(s->c->peers, s->session);

	if (peer)
		STAILQ_REMOVE(&peer->submits, s, submit, next);
	submit_free(s);
}

void rpc_submits_orphan(struct peer *peer)
{
	struct submit *s, *next;

	for (s = STAILQ_FIRST(&peer->submits); s; s = next) {
		next = STAILQ_NEXT(s, next);
		s->orphan = true;
		if (s->ready)
			submit_free(s);
	}
	STAILQ_INIT(&peer->submits);
}

static void run_submit(void *arg)
{
	struct submit *s = arg;

	if (submit_read(s, &s->error) == 0)
		s->error.code = ERR_NONE;
}

static const struct worker_ops worker_ops = { run_submit, submit_done, submit_drop };

/* A web user only passes on what one of its users has signed. */
static int may_submit(struct ctld *c, const struct caller *caller, struct error *err)
{
	const char *name;

	if (caller->role == ROLE_WEB)
		return error_set(err, ERR_NOT_PERMITTED, "%s is a web user and has no jobs of its own",
		        caller->user);
	if (users_name(c->users, caller->uid, &name) == USER_NAMELESS)
		return error_set(err, ERR_NOT_PERMITTED,
		        "uid %u is not a user of the controller's host", (unsigned)caller->uid);
	return 0;
}

int rpc_submit(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	struct peer *peer = rpc->peer;
	struct caller caller = peer_caller(c, peer);
	struct submit *s;

	if (may_submit(c, &caller, err))
		return -1;
	s = xcalloc(1, sizeof(*s));
	s->c = c;
	s->session = peer->session;
	s->id = rpc->id;
	s->uid = caller.uid;
	s->standing = standing(&caller);
	s->cluster = xstrdup(c->conf->cluster);
	s->max_script = c->conf->controller.max_script_kb * 1024;
	s->body = xmemdup(rpc->body, rpc->len);
	s->len = rpc->len;
	if (!worker_submit(c->pool, (uint64_t)caller.uid + 1, &worker_ops, s, err)) {
		submit_free(s);
		return -1;
	}
	STAILQ_INSERT_TAIL(&peer->submits, s, next);
	peer_add_work(c, peer, 1, (ptrdiff_t)s->len);
	return 0;
}
