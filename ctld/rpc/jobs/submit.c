/* submit.c - MSG_SUBMIT: from a frame to jobs
 *
 * What costs time and touches nothing of ours is done in a worker: decoding, munge, hashes, all
 * checks of the signed jobs. Then one event tells the core, which accepts all jobs or none; what
 * was signed goes to the store together with the jobs' rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"
#include "common/base/xalloc.h"
#include "common/job/reason.h"
#include "common/net/mcred.h"
#include "common/net/msg.h"
#include "common/net/signedjob.h"
#include "common/net/worker.h"
#include "ctld/core/core.h"
#include "ctld/core/records/budget.h"
#include "ctld/ctld.h"
#include "ctld/loop/blobs.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/room.h"
#include "ctld/loop/fair_queue.h"
#include "ctld/loop/users.h"
#include "ctld/rpc/jobs/bulk.h"
#include "ctld/rpc/jobs/submit.h"
#include "ctld/rpc/rpc.h"
#include "ctld/site/mail.h"
#include "ctld/wire/convert.h"

#define SPEC_ARENA_CAP(len) (((size_t)4 << 20) + 24 * (len)) /* decoded specs, of all jobs */

void submit_free(void *arg)
{
	struct submit *s = arg;

	if (s->charged)
		budget_add(core_budget(s->c->core), s->uid, BUDGET_SCRIPTS, -(int64_t)s->charged);
	arena_free(s->arena);
	arena_free(s->specs);
	free(s->cluster);
	free(s->body);
	free(s);
}

/* --- in a worker --------------------------------------------------------------------------- */

/* An unsigned trial: the same checks except for the signature. */
static int check_unsigned(struct submit *s, const Gpusched__SubmitJob *job,
        Gpusched__SignedSpec **spec, struct error *err)
{
	*spec = (Gpusched__SignedSpec *)msg_unpack_desc(&gpusched__signed_spec__descriptor,
	        job->spec.data, job->spec.len, MSG_STRICT, s->specs, err);
	if (!*spec) {
		err->code = ERR_JOB_SPEC;
		return -1;
	}
	return signedjob_spec_check(*spec, err);
}

/* Input and output go to one node alone: the launcher would refuse more. */
static int check_interactive(const struct submit_job *job, struct error *err)
{
	char **names;
	size_t n;

	if (job->nodes_min > 1 || job->nodes_max > 1)
		return error_set(err, ERR_USAGE, "interactive: on one node only");
	if (!*job->nodelist)
		return 0;
	if (hostlist_expand(job->nodelist, HOSTLIST_MAX, &names, &n, err) < 0)
		return error_wrap(err, "--nodelist");
	free(names);
	if (n > 1)
		return error_set(err, ERR_USAGE,
		        "--nodelist=%.60s: %zu nodes, all of which it would need; an interactive "
		        "job runs on one",
		        job->nodelist, n);
	return 0;
}

static int check_job(struct submit *s, const struct mcred *cred, const Gpusched__SubmitJob *job,
        struct submit_job *out, struct error *err)
{
	struct signedjob bytes = { job->spec.data, job->spec.len, job->script.data,
		job->script.len };
	struct signedjob_hash hash;
	Gpusched__SignedSpec *spec;

	if (signedjob_script_check(bytes.script, bytes.script_len, s->max_script, err))
		return -1;
	if (cred) {
		if (signedjob_check(cred, s->cluster, &bytes, s->specs, &spec, &hash, err))
			return -1;
	} else {
		hash = signedjob_hash(bytes.spec, bytes.spec_len);
		if (check_unsigned(s, job, &spec, err))
			return -1;
	}
	if (wire_submit_job(
	            job->request, spec, &hash, cred ? cred->encode_time : 0, s->specs, out, err))
		return -1;
	if (spec->interactive && check_interactive(out, err))
		return -1;
	s->wants_mail |= out->mail_types != 0;
	if (out->nice < 0 && !verb_permits(VERB_BOOST, s->standing)) {
		verb_refuse(VERB_BOOST, err);
		return error_wrap(err, "--nice=%d", out->nice);
	}
	return 0;
}

static int check_jobs(struct submit *s, const struct mcred *cred, struct error *err)
{
	s->jobs = arena_alloc(s->specs, s->msg->n_jobs * sizeof(*s->jobs));
	if (!s->jobs)
		return error_set(err, ERR_USAGE, "the request takes too much memory to read");
	for (size_t i = 0; i < s->msg->n_jobs; i++)
		if (check_job(s, cred, s->msg->jobs[i], &s->jobs[i], err)) {
			if (s->msg->n_jobs > 1)
				error_wrap(err, "job %zu of %zu", i + 1, s->msg->n_jobs);
			return -1;
		}
	return 0;
}

/* The credential as text; munge takes no other. */
static char *cred_text(const ProtobufCBinaryData *b, struct error *err)
{
	if (b->len == 0)
		error_set(err, ERR_SIGNATURE, "the jobs are not signed");
	else if (b->len > MCRED_TEXT_MAX || memchr(b->data, '\0', b->len))
		error_set(err, ERR_SIGNATURE, "the signature is no munge credential");
	else
		return xstrndup((const char *)b->data, b->len);
	return NULL;
}

static int check_cred(struct submit *s, struct mcred *cred, struct error *err)
{
	char *text = cred_text(&s->msg->credential, err);
	int ret;

	if (!text)
		return -1;
	ret = s->c->mcred->decode(s->c->mcred, text, cred, err);
	free(text);
	if (ret)
		return -1;
	if (cred->uid != s->uid)
		error_set(err, ERR_SIGNATURE, "the jobs were signed by uid %u, not by uid %u",
		        (unsigned)cred->uid, (unsigned)s->uid);
	else if (signedjob_cred_check(cred, err) >= 0 && signedjob_cred_fresh(cred, err) == 0)
		return 0;
	mcred_clear(cred);
	return -1;
}

static int check(struct submit *s, struct error *err)
{
	struct mcred cred;
	int ret;

	s->arena = arena_new(0);
	s->specs = arena_new(SPEC_ARENA_CAP(s->len));
	if (!s->arena || !s->specs)
		return error_set(err, ERR_BUSY, "out of memory");
	s->msg = (Gpusched__Submit *)msg_unpack(
	        GPUSCHED__MSG_TYPE__MSG_SUBMIT, s->body, s->len, s->arena, err);
	if (!s->msg)
		return -1;
	if (s->msg->n_jobs == 0)
		return error_set(err, ERR_USAGE, "a submit without a job");
	if (s->msg->test_only && s->msg->credential.len == 0)
		return check_jobs(s, NULL, err);
	if (check_cred(s, &cred, err))
		return -1;
	ret = check_jobs(s, &cred, err);
	mcred_clear(&cred);
	return ret;
}

static void run(void *arg)
{
	struct submit *s = arg;

	if (check(s, &s->error) == 0)
		s->error.code = ERR_NONE;
}

/* --- on the loop --------------------------------------------------------------------------- */

static struct store_blob blob_of(const struct submit *s, size_t i, uint64_t id)
{
	const Gpusched__SubmitJob *job = s->msg->jobs[i];

	return (struct store_blob){
		.job = id,
		.uid = s->uid,
		.spec = job->spec.data,
		.spec_len = job->spec.len,
		.script = job->script.data,
		.script_len = job->script.len,
		.credential = s->msg->credential.data,
		.credential_len = s->msg->credential.len,
	};
}

void submit_keep_blobs(
        struct ctld *c, const struct submit *s, const uint64_t *ids, const bool *known)
{
	struct store_blob *v = xcalloc(s->msg->n_jobs, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < s->msg->n_jobs; i++)
		if (!known[i])
			v[n++] = blob_of(s, i, ids[i]);
	blobs_put(c->blobs, v, n);
	free(v);
}

/* What was taken in before is not stored again. */
static uint64_t new_bytes(const struct submit *s)
{
	struct store_blob *v = xcalloc(s->msg->n_jobs, sizeof(*v));
	uint64_t bytes;
	size_t n = 0;

	for (size_t i = 0; i < s->msg->n_jobs; i++)
		if (!core_knows_token(s->c->core, s->uid, s->jobs[i].nonce))
			v[n++] = blob_of(s, i, 0);
	bytes = blobs_bytes(v, n);
	free(v);
	return bytes;
}

int submit_charge(struct submit *s, struct error *err)
{
	struct budget *budget = core_budget(s->c->core);
	uint64_t bytes = new_bytes(s);

	if (!bytes)
		return 0;
	if (budget_check(budget, s->uid, BUDGET_SCRIPTS, bytes, err) < 0)
		return -1;
	budget_add(budget, s->uid, BUDGET_SCRIPTS, (int64_t)bytes);
	s->charged = bytes;
	return 0;
}

bool submit_never(struct ctld *c, uint64_t id, char text[SUBMIT_NEVER_TEXT])
{
	const char *never = reason_word(REASON_NEVER_SATISFIED);
	unsigned long long shown = id;
	struct job_view job;

	if (!core_job_view(c->core, id, ctld_now(), &job))
		return false;
	if (!strcmp(job.reason, never)) {
		snprintf(text, SUBMIT_NEVER_TEXT,
		        "job %llu can never start: %s; it waits until it is cancelled, or its "
		        "dependency changed: gctl update %llu --dependency=...",
		        shown, job.reason_text, shown);
		return true;
	}
	if (!job.ended || strncmp(job.comment, never, strlen(never)) != 0)
		return false;
	snprintf(text, SUBMIT_NEVER_TEXT,
	        "job %llu could never start, and was cancelled (--kill-on-invalid-dep): %s", shown,
	        job.comment + strlen(never) + strlen(": "));
	return true;
}

/* One warning is told: of the first job that never starts, or else of mail. */
static void warn_and_end(
        struct ctld *c, struct call *call, const struct submit *s, const uint64_t *ids)
{
	const char *mail = s->wants_mail ? mail_warning(c->mail) : NULL;
	char never[SUBMIT_NEVER_TEXT];
	bool found = false;

	for (size_t i = 0; i < s->msg->n_jobs && !found; i++)
		found = submit_depends(&s->jobs[i]) && submit_never(c, ids[i], never);
	call_done_but(c, call, found ? never : mail);
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
		call_done_but(c, call, s->wants_mail ? mail_warning(c->mail) : NULL);
		return;
	}
	submit_keep_blobs(c, s, effect->submitted.ids, effect->submitted.known);
	warn_and_end(c, call, s, effect->submitted.ids);
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
	room_tell(c, s->len, now);
	inputs_apply(c, &ev, now);
}

static const struct tick_work apply_work = { apply, submit_free };

/* Workers finish in any order; jobs of one session get their ids in the order they were sent. */
static void done(void *arg)
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
static void drop(void *arg)
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

static const struct worker_ops worker_ops = { run, done, drop };

static int may_submit(struct ctld *c, const struct peer *peer, struct error *err)
{
	const char *name;

	if (users_name(c->users, peer->uid, &name) == USER_NAMELESS)
		return error_set(err, ERR_NOT_PERMITTED,
		        "uid %u is no user that the controller's host knows", (unsigned)peer->uid);
	return 0;
}

void rpc_submit(struct ctld *c, const struct rpc *rpc)
{
	struct peer *peer = rpc->peer;
	struct caller caller = peer_caller(c, peer);
	struct error err;
	struct submit *s;

	if (may_submit(c, peer, &err)) {
		rpc_reply(c, rpc, &err);
		return;
	}
	s = xcalloc(1, sizeof(*s));
	s->c = c;
	s->session = peer->session;
	s->id = rpc->id;
	s->uid = peer->uid;
	s->standing = standing(&caller);
	s->cluster = xstrdup(c->conf->cluster);
	s->max_script = c->conf->controller.max_script_kb * 1024;
	s->body = xmemdup(rpc->body, rpc->len);
	s->len = rpc->len;
	if (!worker_submit(c->pool, (uint64_t)peer->uid + 1, &worker_ops, s, &err)) {
		submit_free(s);
		rpc_reply(c, rpc, &err);
		return;
	}
	STAILQ_INSERT_TAIL(&peer->submits, s, next);
	peer_add_work(c, peer, 1, (ptrdiff_t)s->len);
}
