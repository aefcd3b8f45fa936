/* show_script.c - MSG_SHOW_SCRIPT: what the owner of a job signed, for the owner and
 * administrators
 *
 * For a job that the core has forgotten the store still knows the owner, until the bytes are
 * erased; for other users such a job does not exist. A session has one request at a time, and the
 * store is asked only when there is space for the answer: while it reads, the largest possible
 * answer counts as unread.
 */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/net/msg.h"
#include "ctld/core/core.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/script_cache.h"
#include "ctld/loop/session_admission.h"
#include "ctld/rpc/rpc.h"

/* A request; the store has been asked for its answer, and may tell when the request has gone. */
struct asked {
	struct ctld *c;
	uint64_t session, call, job;
	uid_t uid;
	bool permitted; /* the core knew the job */
};

static void charge(const struct asked *asked, int sign)
{
	const struct msg_type *answer = msg_type(GPUSCHED__MSG_TYPE__MSG_SCRIPT_RESULT);

	budget_add(core_budget(asked->c->core), asked->uid, BUDGET_UNREAD,
	        sign * (int64_t)answer->max_len);
	admission_charged(asked->c, asked->uid);
}

static void send_script(struct ctld *c, struct call *call, const struct store_blob *blob)
{
	Gpusched__ScriptResult m = GPUSCHED__SCRIPT_RESULT__INIT;

	m.job = blob->job;
	m.script.data = (uint8_t *)(uintptr_t)blob->script;
	m.script.len = blob->script_len;
	m.spec.data = (uint8_t *)(uintptr_t)blob->spec;
	m.spec.len = blob->spec_len;
	m.credential.data = (uint8_t *)(uintptr_t)blob->credential;
	m.credential.len = blob->credential_len;
	peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_SCRIPT_RESULT, call->id, &m.base);
	call_done(c, call, NULL);
}

/* The owner of a job that the core had forgotten was not known before the store's answer. A job
 * that was submitted meanwhile is refused. */
static bool may_have(
        const struct asked *asked, const struct peer *peer, const struct store_blob *blob)
{
	struct caller caller = peer_caller(asked->c, peer);

	return asked->permitted ||
	       (blob->ended && verb_permits(VERB_JOB_SCRIPT,
	                               standing_to(asked->c->conf, &caller, blob->uid, CONF_NONE)));
}

static void got(void *arg, const struct store_blob *blob)
{
	struct asked *asked = arg;
	struct peer *peer = blob ? peers_find(asked->c->peers, asked->session) : NULL;
	struct call *call = peer ? call_find(asked->c, asked->call) : NULL;
	struct error err;

	charge(asked, -1);
	if (peer)
		peer->script_asked = false;
	if (call && blob->spec && may_have(asked, peer, blob)) {
		send_script(asked->c, call, blob);
	} else if (call) {
		error_set(&err, ERR_NO_JOB, "there is no job %llu, or its script was erased",
		        (unsigned long long)asked->job);
		call_done(asked->c, call, &err);
	}
	free(asked);
}

/* There is room. What the call has goes with it, so the store gets a copy. */
static void read_script(struct ctld *c, struct call *call, struct clocks now)
{
	struct asked *asked = xmemdup(call->data, sizeof(*asked));

	(void)now;
	asked->call = call->number;
	charge(asked, 1);
	script_cache_want_read(c->script_cache, asked->job, got, asked);
}

static const struct call_ops script_ops = { .slice = read_script, .free = free };

/* What is neither refused nor permitted here has its owner checked by got(). */
static int check(
        struct ctld *c, const struct rpc *rpc, uint64_t job, bool *permitted, struct error *err)
{
	struct job_view view;

	if (rpc->peer->script_asked)
		return error_set(err, ERR_BUSY, "one script at a time: another is in progress");
	*permitted = core_job_view(c->core, job, rpc->now, &view);
	if (!*permitted)
		return 0;
	if (!rpc_sees(c, rpc, &view))
		return error_set(err, ERR_NO_JOB, "there is no job %llu, or its script was erased",
		        (unsigned long long)job);
	if (verb_permits(VERB_JOB_SCRIPT, rpc_standing(c, rpc, &view)))
		return 0;
	verb_refuse(VERB_JOB_SCRIPT, err);
	return error_wrap(err, "job %llu is %s's", (unsigned long long)job, view.user);
}

int rpc_show_script(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__ShowScript *m = (const Gpusched__ShowScript *)rpc->msg;
	struct asked *asked;
	struct call *call;
	uint64_t job = m->job;
	uint32_t task;
	bool permitted;

	core_raw_task(c->core, m->job, &job, &task);
	if (check(c, rpc, job, &permitted, err) < 0)
		return -1;
	asked = xcalloc(1, sizeof(*asked));
	asked->c = c;
	asked->session = rpc->peer->session;
	asked->uid = rpc->peer->uid;
	asked->permitted = permitted;
	asked->job = job;
	call = call_new(c, rpc->peer, rpc->id, &script_ops, asked);
	if (!call)
		return 0;
	rpc->peer->script_asked = true;
	call_slice_now(c, call);
	return 0;
}
