/* bulk.c - see bulk.h */
#include "ctld/rpc/bulk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/xalloc.h"
#include "ctld/calls.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/peers.h"
#include "ctld/rpc/rpc.h"
#include "ctld/rpc/submit.h"
#include "ctld/users.h"

STAILQ_HEAD(parts, submit);

struct bulk {
	struct ctld *c;
	uid_t uid;       /* whose bytes they are */
	uint64_t number; /* as its sender calls it */
	struct parts parts;
	size_t n_parts, n_jobs, bytes;
	struct submit_job *jobs; /* of all parts, for the core */
};

static void bulk_free(void *arg)
{
	struct bulk *b = arg;
	struct submit *s;

	if (!b)
		return;
	if (b->c->users)
		users_add_bulk(b->c->users, b->uid, -(ptrdiff_t)b->bytes);
	while ((s = STAILQ_FIRST(&b->parts))) {
		STAILQ_REMOVE_HEAD(&b->parts, next);
		submit_free(s);
	}
	free(b->jobs);
	free(b);
}

void bulk_drop(struct ctld *c, struct peer *peer)
{
	(void)c;
	bulk_free(peer->bulk);
	peer->bulk = NULL;
}

/* --- parts --------------------------------------------------------------------------------- */

static struct bulk *bulk_of(struct ctld *c, struct peer *peer, uint64_t number)
{
	struct bulk *b = peer->bulk;

	if (b && b->number == number)
		return b;
	bulk_drop(c, peer);
	b = peer->bulk = xcalloc(1, sizeof(*b));
	b->c = c;
	b->uid = peer->uid;
	b->number = number;
	STAILQ_INIT(&b->parts);
	return b;
}

static int check_room(
        struct ctld *c, const struct bulk *b, const struct submit *part, struct error *err)
{
	if (part->msg->test_only)
		return error_set(err, ERR_USAGE, "a bulk cannot be a trial");
	if (b->n_jobs + part->msg->n_jobs > SUBMIT_JOBS_MAX)
		return error_set(err, ERR_USAGE, "a bulk of more than %d jobs", SUBMIT_JOBS_MAX);
	if (users_add_bulk(c->users, b->uid, 0) + part->len > BULK_BYTES_MAX)
		return error_set(err, ERR_USAGE,
		        "bulks of more than %zu MiB; smaller environments (--export) make them "
		        "smaller",
		        BULK_BYTES_MAX >> 20);
	return 0;
}

void bulk_stage(struct ctld *c, struct peer *peer, struct submit *part)
{
	struct bulk *b = bulk_of(c, peer, part->msg->bulk);
	struct error err;

	if (check_room(c, b, part, &err)) {
		peers_reply(c, peer->session, part->id, &err);
		submit_free(part);
		bulk_drop(c, peer);
		return;
	}
	STAILQ_INSERT_TAIL(&b->parts, part, next);
	b->n_parts++;
	b->n_jobs += part->msg->n_jobs;
	b->bytes += part->len;
	users_add_bulk(c->users, b->uid, (ptrdiff_t)part->len);
	peers_reply(c, peer->session, part->id, NULL);
}

/* --- all of it ----------------------------------------------------------------------------- */

static void keep_blobs(struct ctld *c, const struct bulk *b, const struct effect *effect)
{
	const struct submit *s;
	size_t at = 0;

	STAILQ_FOREACH (s, &b->parts, next) {
		submit_keep_blobs(c, s, effect->submitted.ids + at, effect->submitted.known + at);
		at += s->msg->n_jobs;
	}
}

/* The ids as ranges: one, but where some jobs had been there before. */
static void send_ids(struct ctld *c, const struct call *call, const struct effect *effect)
{
	Gpusched__BulkResult m = GPUSCHED__BULK_RESULT__INIT;
	const uint64_t *ids = effect->submitted.ids;
	size_t n = effect->submitted.n;

	m.first = xcalloc(n, sizeof(*m.first));
	m.count = xcalloc(n, sizeof(*m.count));
	for (size_t i = 0; i < n; i++) {
		if (i && ids[i] == ids[i - 1] + 1) {
			m.count[m.n_count - 1]++;
			continue;
		}
		m.first[m.n_first++] = ids[i];
		m.count[m.n_count++] = 1;
	}
	peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_BULK_RESULT, call->id, &m.base);
	free(m.first);
	free(m.count);
}

static void answered(struct ctld *c, struct call *call, const struct effect *effect)
{
	if (effect->kind != EFFECT_SUBMITTED) {
		call_done(c, call, effect->error);
		return;
	}
	send_ids(c, call, effect);
	keep_blobs(c, call->data, effect);
	call_done(c, call, NULL);
}

static const struct call_ops bulk_ops = { .effect = answered, .free = bulk_free };

static void gather(struct bulk *b)
{
	const struct submit *s;
	size_t at = 0;

	b->jobs = xcalloc(b->n_jobs, sizeof(*b->jobs));
	STAILQ_FOREACH (s, &b->parts, next) {
		memcpy(b->jobs + at, s->jobs, s->msg->n_jobs * sizeof(*s->jobs));
		at += s->msg->n_jobs;
	}
}

void rpc_submit_bulk(struct ctld *c, const struct rpc *rpc)
{
	const Gpusched__SubmitBulk *m = (const Gpusched__SubmitBulk *)rpc->msg;
	struct core_event ev = { .kind = EV_SUBMIT };
	struct bulk *b = rpc->peer->bulk;
	struct error err;
	struct call *call;

	if (!b || b->number != m->bulk || b->n_jobs != m->jobs) {
		error_set(&err, ERR_BULK, "a bulk of %llu jobs, of which %zu are here",
		        (unsigned long long)m->jobs, b && b->number == m->bulk ? b->n_jobs : 0);
		rpc_reply(c, rpc, &err);
		bulk_drop(c, rpc->peer);
		return;
	}
	rpc->peer->bulk = NULL;
	gather(b);
	call = call_new(c, rpc->peer, rpc->id, &bulk_ops, b);
	if (!call)
		return;
	ev.caller = call_caller(c, call);
	ev.submit.jobs = b->jobs;
	ev.submit.n = b->n_jobs;
	core_apply(c->core, &ev, rpc->now);
}
