/* renew_signature.c - MSG_RESIGN: jobs get a younger signature of their owner, perhaps of another
 * spec
 *
 * A worker has munge decode the credential; the core demands of each job that it is the caller's,
 * and that its hash is one of those that were signed. The bytes of the job stay as they are, so the
 * credential alone goes to the store, in the commit of the jobs' rows.
 *
 * With specs, those that were signed before are read first (of the caller's own jobs); the worker
 * compares the two (spec_changes.h), and the core demands that the older one is still the job's,
 * and decides whether the change may be made now. Then spec and credential go to the store
 * together, in the commit of the rows that they change: a crash leaves all of it, or nothing.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "common/net/munge.h"
#include "common/net/signedjob.h"
#include "common/net/worker.h"
#include "ctld/core/core.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/fair_queue.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/script_cache.h"
#include "ctld/rpc/jobs/spec_changes.h"
#include "ctld/rpc/rpc.h"

#define ARENA_CAP(len) (((size_t)4 << 20) + 24 * (len)) /* decoded specs, old and new */

struct resign;

#define WAS_MAX ((size_t)16 << 20) /* bytes of old specs of one request */

/* Of a request that brings new specs. */
struct changes_of {
	char *cluster;
	uint8_t *bytes; /* of `is` */
	struct spec_bytes is[SIGNEDJOB_MAX];
	struct spec_bytes was[SIGNEDJOB_MAX]; /* owned; NULL: not the caller's, or unknown */
	size_t reading, was_len;              /* so many were read, one at a time; their bytes */
	struct arena *arena;
	struct respec v[SIGNEDJOB_MAX];
	struct job_error errors[SIGNEDJOB_MAX]; /* those found here come first */
	size_t n_errors;
};

struct resign {
	struct ctld *c;
	uint64_t session, id;
	uid_t uid;
	char *credential, *reason;
	uint64_t jobs[SIGNEDJOB_MAX];
	size_t n, len; /* len: of the specs, new and old: charged */
	struct changes_of *changes; /* NULL: none */
	/* the worker's */
	struct spec_hash hashes[SIGNEDJOB_MAX];
	size_t n_hashes;
	int64_t signed_at;  /* s UTC */
	struct error error; /* code 0: none */
};

static_assert(sizeof(struct spec_hash) == SIGNEDJOB_HASH_LEN, "as it is signed");

static void changes_free(struct changes_of *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < SIGNEDJOB_MAX; i++)
		free((void *)(uintptr_t)c->was[i].p);
	arena_free(c->arena);
	free(c->cluster);
	free(c->bytes);
	free(c);
}

static void resign_free(void *arg)
{
	struct resign *r = arg;

	changes_free(r->changes);
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

/* Jobs that cannot be signed again are taken out, each with its error. A job whose spec is not
 * known is left for the core to refuse. */
static int compare(struct resign *r, const struct mcred *cred, struct error *err)
{
	struct changes_of *c = r->changes;
	size_t i, kept = 0;

	if (c->was_len > WAS_MAX)
		return error_set(
		        err, ERR_USAGE, "too much was signed for these %zu jobs: name fewer", r->n);
	c->arena = arena_new(ARENA_CAP(r->len));
	if (!c->arena)
		return error_set(err, ERR_BUSY, "out of memory");
	for (i = 0; i < r->n; i++) {
		struct job_error *e = &c->errors[c->n_errors];
		struct respec *v = &c->v[kept];

		*v = (struct respec){
			.told = "", .name = "", .cwd = "", .output = "", .error = ""
		};
		e->job = r->jobs[i];
		if (c->was[i].p && respec_compare(cred, c->cluster, c->was[i], c->is[i], c->arena,
		                           v, &e->error) < 0) {
			error_wrap(&e->error, "job %llu", (unsigned long long)e->job);
			c->n_errors++;
			continue;
		}
		c->is[kept] = c->is[i];
		r->jobs[kept++] = r->jobs[i];
	}
	r->n = kept;
	return 0;
}

static void run(void *arg)
{
	struct resign *r = arg;
	struct mcred cred;

	if (r->c->mcred->decode(r->c->mcred, r->credential, &cred, &r->error) < 0)
		return;
	if (check(r, &cred, &r->error) == 0 && (!r->changes || compare(r, &cred, &r->error) == 0))
		r->error.code = ERR_NONE;
	mcred_clear(&cred);
}

/* --- on the loop --------------------------------------------------------------------------- */

static bool is_refused(const struct effect *effect, uint64_t job)
{
	size_t e = 0;

	while (e < effect->controlled.n && effect->controlled.errors[e].job != job)
		e++;
	return e < effect->controlled.n;
}

/* Stores the new signature of each job that was not refused. There are at most as many errors as
 * jobs. */
static void store_signature(struct ctld *c, const struct resign *r, const struct effect *effect)
{
	struct script_signed jobs[SIGNEDJOB_MAX];
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		struct script_signed job = { .job = r->jobs[i] };

		if (is_refused(effect, r->jobs[i]))
			continue;
		if (r->changes && r->changes->v[i].fields) {
			job.spec = r->changes->is[i].p;
			job.spec_len = r->changes->is[i].len;
		}
		jobs[n++] = job;
	}
	script_cache_sign(c->script_cache, r->uid, jobs, n, r->credential, strlen(r->credential));
}

/* A warning for a caller that has changed a running job; NULL: none. */
static const char *warning(
        struct ctld *c, const struct resign *r, const struct effect *effect, struct clocks now)
{
	struct job_view view;

	for (size_t i = 0; r->changes && i < r->n; i++) {
		if (!r->changes->v[i].fields || is_refused(effect, r->jobs[i]) ||
		        !core_job_view(c->core, r->jobs[i], now, &view))
			continue;
		if (view.tasks_running ||
		        (!view.ended && !*view.array && strcmp(view.state, "PENDING") != 0))
			return "what runs goes on as it was started; the change is for what is "
			       "started "
			       "from now on";
	}
	return NULL;
}

/* The errors that were found before come first. */
static void answer(struct ctld *c, struct call *call, struct resign *r, struct rpc_done done,
        const struct job_error *errors, size_t n)
{
	struct changes_of *changes = r->changes;

	if (!changes) {
		rpc_controlled(c, call, done, errors, n);
		return;
	}
	if (n)
		memcpy(&changes->errors[changes->n_errors], errors, n * sizeof(*errors));
	rpc_controlled(c, call, done, changes->errors, changes->n_errors + n);
}

static void answered(struct ctld *c, struct call *call, const struct effect *effect)
{
	struct resign *r = call->data;
	struct rpc_done done = { .jobs = 0 };

	if (effect->kind != EFFECT_CONTROLLED) {
		call_done(c, call, effect->error);
		return;
	}
	store_signature(c, r, effect);
	done.jobs = effect->controlled.done;
	done.warning = warning(c, r, effect, ctld_now());
	answer(c, call, r, done, effect->controlled.errors, effect->controlled.n);
}

static const struct call_ops resign_ops = { .effect = answered, .free = resign_free };

static void apply(struct ctld *c, void *arg, struct clocks now)
{
	struct resign *r = arg;
	struct peer *peer = peers_find(c->peers, r->session);
	struct core_event ev = { .kind = EV_JOB_CONTROL };
	struct call *call;

	if (peer)
		peer_add_work(c, peer, -1, -(ptrdiff_t)r->len);
	if (!peer || r->error.code) {
		if (peer)
			peers_reply(c, r->session, r->id, &r->error);
		resign_free(r);
		return;
	}
	call = call_new(c, peer, r->id, &resign_ops, r);
	if (!call)
		return;
	if (!r->n) {
		answer(c, call, r, (struct rpc_done){ .jobs = 0 }, NULL, 0);
		return;
	}
	ev.caller = call_caller(c, call);
	ev.job.verb = JOB_RESIGN;
	ev.job.ids = r->jobs;
	COPY_FIELDS(&ev.job, r, n, hashes, n_hashes);
	ev.job.sign_time = r->signed_at * 1000000;
	ev.job.reason = r->reason;
	if (r->changes) {
		ev.job.respecs = r->changes->v;
		ev.job.n_respecs = r->n;
	}
	inputs_apply(c, &ev, now);
}

static const struct tick_work apply_work = { apply, resign_free };

static void resign_done(void *arg)
{
	struct resign *r = arg;

	fair_queue_post(r->c->fair_queue, r->uid, &apply_work, r);
}

static const struct worker_ops worker_ops = { run, resign_done, resign_free };

/* --- reading what was signed ------------------------------------------------------------------ */

static void to_worker(struct resign *r)
{
	struct ctld *c = r->c;
	struct peer *peer = peers_find(c->peers, r->session);
	struct error err;

	if (worker_submit(c->pool, (uint64_t)r->uid + 1, &worker_ops, r, &err))
		return;
	if (peer) {
		peer_add_work(c, peer, -1, -(ptrdiff_t)r->len);
		peers_reply(c, r->session, r->id, &err);
	}
	resign_free(r);
}

/* What was read is charged to the user, like the request. -1: that is too much. */
static int have_read(struct resign *r, const struct store_blob *blob)
{
	struct peer *peer = peers_find(r->c->peers, r->session);
	struct changes_of *changes = r->changes;

	if (budget_check(core_budget(r->c->core), r->uid, BUDGET_REQUESTS, blob->spec_len,
	            &r->error) < 0)
		return -1;
	if (blob->spec)
		changes->was[changes->reading] =
		        (struct spec_bytes){ xmemdup(blob->spec, blob->spec_len), blob->spec_len };
	changes->was_len += blob->spec_len;
	r->len += blob->spec_len;
	if (peer)
		peer_add_work(r->c, peer, 0, (ptrdiff_t)blob->spec_len);
	changes->reading++;
	return 0;
}

static void read_on(struct resign *r);

static void refuse(struct resign *r)
{
	struct peer *peer = peers_find(r->c->peers, r->session);

	if (peer) {
		peer->script_asked = false;
		peer_add_work(r->c, peer, -1, -(ptrdiff_t)r->len);
		peers_reply(r->c, r->session, r->id, &r->error);
	}
	resign_free(r);
}

static void got(void *arg, const struct store_blob *blob)
{
	struct resign *r = arg;

	if (!blob) { /* the store goes */
		resign_free(r);
		return;
	}
	if (have_read(r, blob) < 0)
		refuse(r);
	else
		read_on(r);
}

/* Of the caller's own jobs: the next that is not at hand. */
static void read_on(struct resign *r)
{
	struct changes_of *changes = r->changes;
	struct ctld *c = r->c;
	struct peer *peer = peers_find(c->peers, r->session);
	struct job_view view;

	while (changes->reading < r->n && changes->was_len <= WAS_MAX) {
		uint64_t job = r->jobs[changes->reading];
		const struct store_blob *blob;

		if (!core_job_view(c->core, job, ctld_now(), &view) || view.uid != r->uid) {
			changes->reading++;
			continue;
		}
		blob = script_cache_get(c->script_cache, job);
		if (!blob) {
			script_cache_want_read(c->script_cache, job, got, r);
			return;
		}
		if (have_read(r, blob) < 0) {
			refuse(r);
			return;
		}
	}
	if (peer)
		peer->script_asked = false;
	to_worker(r);
}

static struct changes_of *take_specs(const Gpusched__Resign *m, const char *cluster, size_t *len)
{
	struct changes_of *changes = xcalloc(1, sizeof(*changes));
	uint8_t *to;

	for (size_t i = 0; i < m->n_specs; i++)
		*len += m->specs[i].len;
	changes->cluster = xstrdup(cluster);
	changes->bytes = to = xcalloc(*len + 1, 1);
	for (size_t i = 0; i < m->n_specs; i++) {
		if (m->specs[i].len)
			memcpy(to, m->specs[i].data, m->specs[i].len);
		changes->is[i] = (struct spec_bytes){ to, m->specs[i].len };
		to += m->specs[i].len;
	}
	return changes;
}

/* --- the request ------------------------------------------------------------------------------ */

static int check_request(const Gpusched__Resign *m, const struct peer *peer, struct error *err)
{
	if (m->n_jobs == 0 || m->n_jobs > SIGNEDJOB_MAX)
		return error_set(err, ERR_USAGE, "%zu jobs to be signed; must be 1 to %d",
		        m->n_jobs, SIGNEDJOB_MAX);
	for (size_t i = 0; i < m->n_jobs; i++) {
		if (job_ref_part(m->jobs[i]))
			return error_set(err, ERR_USAGE, "jobs are signed as a whole");
		for (size_t k = 0; k < i; k++)
			if (m->jobs[k] == m->jobs[i])
				return error_set(err, ERR_USAGE, "job %llu is named twice",
				        (unsigned long long)m->jobs[i]);
	}
	if (m->n_specs && m->n_specs != m->n_jobs)
		return error_set(err, ERR_USAGE, "%zu specs of %zu jobs", m->n_specs, m->n_jobs);
	if (m->n_specs && peer->script_asked)
		return error_set(err, ERR_BUSY, "one request at a time: another is in progress");
	if (m->credential.len == 0 || m->credential.len > MCRED_TEXT_MAX ||
	        memchr(m->credential.data, '\0', m->credential.len))
		return error_set(err, ERR_SIGNATURE, "the signature is no munge credential");
	return 0;
}

int rpc_resign(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__Resign *m = (const Gpusched__Resign *)rpc->msg;
	struct resign *r;

	if (check_request(m, rpc->peer, err))
		return -1;
	if (rpc_reason(m->reason, err) < 0)
		return -1;
	r = xcalloc(1, sizeof(*r));
	r->c = c;
	COPY_FIELDS(r, rpc->peer, session, uid);
	r->id = rpc->id;
	r->credential = xstrndup((const char *)m->credential.data, m->credential.len);
	r->reason = xstrdup(m->reason);
	r->n = m->n_jobs;
	memcpy(r->jobs, m->jobs, m->n_jobs * sizeof(*m->jobs));
	if (m->n_specs)
		r->changes = take_specs(m, c->conf->cluster, &r->len);
	peer_add_work(c, rpc->peer, 1, (ptrdiff_t)r->len);
	if (!r->changes) {
		to_worker(r);
		return 0;
	}
	rpc->peer->script_asked = true;
	read_on(r);
	return 0;
}
