/* resign.c - MSG_RESIGN: jobs get a younger signature of their owner
 *
 * A worker has munge decode the credential; the core demands of each job that it is the caller's,
 * has not ended, and that its hash is one of those that were signed. The bytes of the job stay as
 * they are, so the credential alone goes to the store, in the commit of the jobs' rows.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/mcred.h"
#include "common/msg.h"
#include "common/signedjob.h"
#include "common/worker.h"
#include "common/xalloc.h"
#include "ctld/blobs.h"
#include "ctld/calls.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/inputs.h"
#include "ctld/peers.h"
#include "ctld/rpc/rpc.h"
#include "ctld/turns.h"

struct resign {
	struct ctld *c;
	uint64_t session, id;
	uid_t uid;
	char *credential, *reason;
	uint64_t jobs[SIGNEDJOB_MAX];
	size_t n;
	/* the worker's */
	struct spec_hash hashes[SIGNEDJOB_MAX];
	size_t n_hashes;
	int64_t signed_at;  /* s UTC */
	struct error error; /* code 0: none */
};

static_assert(sizeof(struct spec_hash) == SIGNEDJOB_HASH_LEN, "as it is signed");

static void resign_free(void *arg)
{
	struct resign *r = arg;

	free(r->credential);
	free(r->reason);
	free(r);
}

/* --- in a worker --------------------------------------------------------------------------- */

static int check(struct resign *r, const struct mcred *cred, struct error *err)
{
	int n = signedjob_cred_check(cred, err);

	if (n < 0)
		return -1;
	if (cred->uid != r->uid)
		return error_set(err, ERR_SIGNATURE, "signed by uid %u, not by uid %u",
		        (unsigned)cred->uid, (unsigned)r->uid);
	if (signedjob_cred_fresh(cred, err) < 0)
		return -1;
	memcpy(r->hashes, (const uint8_t *)cred->payload + SIGNEDJOB_TAG_LEN,
	        (size_t)n * sizeof(*r->hashes));
	r->n_hashes = (size_t)n;
	r->signed_at = cred->encode_time;
	return 0;
}

static void run(void *arg)
{
	struct resign *r = arg;
	struct mcred cred;

	if (r->c->mcred->decode(r->c->mcred, r->credential, &cred, &r->error) < 0)
		return;
	if (check(r, &cred, &r->error) == 0)
		r->error.code = ERR_NONE;
	mcred_clear(&cred);
}

/* --- on the loop --------------------------------------------------------------------------- */

/* More errors than jobs there are not, and a refused one is not signed. */
static void keep(struct ctld *c, const struct resign *r, const struct effect *effect)
{
	uint64_t jobs[SIGNEDJOB_MAX];
	size_t n = 0, e;

	for (size_t i = 0; i < r->n; i++) {
		for (e = 0; e < effect->controlled.n; e++)
			if (effect->controlled.errors[e].job == r->jobs[i])
				break;
		if (e == effect->controlled.n)
			jobs[n++] = r->jobs[i];
	}
	blobs_sign(c->blobs, jobs, n, r->credential, strlen(r->credential));
}

static void answered(struct ctld *c, struct call *call, const struct effect *effect)
{
	const struct resign *r = call->data;

	if (effect->kind != EFFECT_CONTROLLED) {
		call_done(c, call, effect->error);
		return;
	}
	keep(c, r, effect);
	rpc_controlled(c, call, (struct rpc_done){ .jobs = effect->controlled.done },
	        effect->controlled.errors, effect->controlled.n);
}

static const struct call_ops resign_ops = { .effect = answered, .free = resign_free };

static void apply(struct ctld *c, void *arg, struct clocks now)
{
	struct resign *r = arg;
	struct peer *peer = peers_find(c->peers, r->session);
	struct core_event ev = { .kind = EV_JOB_CONTROL };
	struct call *call;

	if (!peer || r->error.code) {
		if (peer)
			peers_reply(c, r->session, r->id, &r->error);
		resign_free(r);
		return;
	}
	call = call_new(c, peer, r->id, &resign_ops, r);
	if (!call)
		return;
	ev.caller = call_caller(c, call);
	ev.job.verb = JOB_RESIGN;
	ev.job.ids = r->jobs;
	ev.job.n = r->n;
	ev.job.hashes = r->hashes;
	ev.job.n_hashes = r->n_hashes;
	ev.job.sign_time = r->signed_at * 1000000;
	ev.job.reason = r->reason;
	inputs_apply(c, &ev, now);
}

static const struct tick_work apply_work = { apply, resign_free };

static void done(void *arg)
{
	struct resign *r = arg;

	turns_post(r->c->turns, r->uid, &apply_work, r);
}

static const struct worker_ops worker_ops = { run, done, resign_free };

static int check_request(const Gpusched__Resign *m, struct error *err)
{
	if (m->n_jobs == 0 || m->n_jobs > SIGNEDJOB_MAX)
		return error_set(err, ERR_USAGE, "%zu jobs to be signed; must be 1 to %d",
		        m->n_jobs, SIGNEDJOB_MAX);
	if (m->credential.len == 0 || m->credential.len > MCRED_TEXT_MAX ||
	        memchr(m->credential.data, '\0', m->credential.len))
		return error_set(err, ERR_SIGNATURE, "the signature is no munge credential");
	return 0;
}

void rpc_resign(struct ctld *c, const struct rpc *rpc)
{
	const Gpusched__Resign *m = (const Gpusched__Resign *)rpc->msg;
	struct resign *r;
	struct error err;

	if (check_request(m, &err)) {
		rpc_reply(c, rpc, &err);
		return;
	}
	if (!rpc_reason(c, rpc, m->reason))
		return;
	r = xcalloc(1, sizeof(*r));
	r->c = c;
	r->session = rpc->peer->session;
	r->id = rpc->id;
	r->uid = rpc->peer->uid;
	r->credential = xstrndup((const char *)m->credential.data, m->credential.len);
	r->reason = xstrdup(m->reason);
	r->n = m->n_jobs;
	memcpy(r->jobs, m->jobs, m->n_jobs * sizeof(*m->jobs));
	if (!worker_submit(c->pool, (uint64_t)rpc->peer->uid + 1, &worker_ops, r, &err)) {
		resign_free(r);
		rpc_reply(c, rpc, &err);
	}
}
