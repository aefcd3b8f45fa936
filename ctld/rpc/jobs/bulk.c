/* bulk.c - see bulk.h */
#include "ctld/rpc/jobs/bulk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/xalloc.h"
#include "ctld/core/core.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/disk_space.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/tick.h"
#include "ctld/rpc/jobs/submit_read.h"
#include "ctld/rpc/rpc.h"
#include "ctld/site/mail.h"

STAILQ_HEAD(parts, submit);

#define RESULT_RANGES (MSG_ELEMENTS_MAX / 2) /* of ids, in one answer */

#define DEPEND_LOOKS 64 /* jobs that are asked whether they can ever start */

struct bulk {
	STAILQ_ENTRY(bulk) next;
	struct ctld *c;
	uid_t uid;       /* the user that the bytes are charged to */
	uint64_t number; /* the number that its sender gave it */
	struct parts parts;
	size_t n_jobs;
	uint64_t bytes; /* of all parts, as they came */
	/* In the queue: */
	uint64_t session, call; /* the session and call that wait for it */
	enum bulk_step step;    /* the next one */
	/* The first job that the step has not done: */
	struct submit *part;
	size_t at;        /* in `part` */
	bool wants_mail;  /* one of its jobs does */
	uint64_t *ids;    /* of its jobs, n_ids so far */
	bool *known;      /* with each: it was there already */
	size_t n_ids;
	size_t n_kept; /* number of jobs whose part has gone to the store */
	uint64_t depend[DEPEND_LOOKS]; /* the first of them that depend on others */
	size_t n_depend;
	char *left_out;     /* owned: the first warning of that kind; NULL: none */
	struct error error; /* why it is undone */
};

struct bulks {
	struct ctld *c;
	STAILQ_HEAD(, bulk) queue;       /* the first is in the core */
	struct submit_job v[BULK_SLICE]; /* for the core: the jobs of a slice */
};

/* The frame, and about as much once more of what was decoded. */
static int64_t part_bytes(const struct submit *part)
{
	return 2 * (int64_t)part->len;
}

/* The first part has done what it came for. */
static void drop_part(struct bulk *b)
{
	struct submit *s = STAILQ_FIRST(&b->parts);

	budget_add(core_budget(b->c->core), b->uid, BUDGET_WAITS, -part_bytes(s));
	STAILQ_REMOVE_HEAD(&b->parts, next);
	submit_free(s);
}

static void bulk_free(struct bulk *b)
{
	if (!b)
		return;
	while (!STAILQ_EMPTY(&b->parts))
		drop_part(b);
	free(b->ids);
	free(b->known);
	free(b->left_out);
	free(b);
}

struct bulks *bulks_new(struct ctld *c)
{
	struct bulks *all = xcalloc(1, sizeof(*all));

	all->c = c;
	STAILQ_INIT(&all->queue);
	return all;
}

void bulks_free(struct bulks *all)
{
	struct bulk *b;

	if (!all)
		return;
	while ((b = STAILQ_FIRST(&all->queue))) {
		STAILQ_REMOVE_HEAD(&all->queue, next);
		bulk_free(b);
	}
	free(all);
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
	b->uid = peer_acts_as(peer);
	b->number = number;
	STAILQ_INIT(&b->parts);
	return b;
}

/* What it will store is charged, too. */
static int check_limits(
        struct ctld *c, const struct bulk *b, struct submit *part, struct error *err)
{
	if (part->msg->test_only)
		return error_set(err, ERR_USAGE, "--test-only is not available for a bulk");
	if (b->n_jobs + part->msg->n_jobs > SUBMIT_JOBS_MAX)
		return error_set(err, ERR_USAGE, "a bulk of more than %d jobs", SUBMIT_JOBS_MAX);
	if (budget_check(core_budget(c->core), b->uid, BUDGET_WAITS, (uint64_t)part_bytes(part),
	            err) < 0)
		return -1;
	return submit_charge(part, err);
}

void bulk_stage(struct ctld *c, struct peer *peer, struct submit *part)
{
	struct bulk *b = bulk_of(c, peer, part->msg->bulk);
	struct error err;

	if (check_limits(c, b, part, &err)) {
		peers_reply(c, peer->session, part->id, &err);
		submit_free(part);
		bulk_drop(c, peer);
		return;
	}
	STAILQ_INSERT_TAIL(&b->parts, part, next);
	b->n_jobs += part->msg->n_jobs;
	b->bytes += part->len;
	b->wants_mail |= part->wants_mail;
	budget_add(core_budget(c->core), b->uid, BUDGET_WAITS, part_bytes(part));
	peers_reply(c, peer->session, part->id, NULL);
}

/* --- steps --------------------------------------------------------------------------------- */

/* The jobs of the next slice into v, up to BULK_SLICE of them; the bulk goes behind them. Returns
 * their number. */
static size_t take_slice(struct bulk *b, struct submit_job *v)
{
	size_t weight = 0, n = 0;

	while (b->part) {
		const struct submit_job *job = &b->part->jobs[b->at];

		weight += bulk_weight(job);
		if (n && weight > BULK_SLICE)
			break;
		v[n++] = *job;
		if (++b->at == b->part->msg->n_jobs) {
			b->part = STAILQ_NEXT(b->part, next);
			b->at = 0;
		}
	}
	return n;
}

static void check(struct ctld *c, struct bulk *b, struct core_event *ev)
{
	ev->caller = peer_caller(c, peers_find(c->peers, b->session));
	ev->bulk.jobs = c->bulks->v;
	ev->bulk.n = take_slice(b, c->bulks->v);
}

static void give_step(struct ctld *c);

/* The ids as ranges: one, but where some jobs had been there before. In several messages, if there
 * are so many. */
static void send_ids(struct ctld *c, const struct call *call, const uint64_t *ids, size_t n)
{
	Gpusched__BulkResult m = GPUSCHED__BULK_RESULT__INIT;

	m.first = xcalloc(RESULT_RANGES, sizeof(*m.first));
	m.count = xcalloc(RESULT_RANGES, sizeof(*m.count));
	for (size_t i = 0; i < n; i++) {
		if (i && ids[i] == ids[i - 1] + 1) {
			m.count[m.n_count - 1]++;
			continue;
		}
		if (m.n_first == RESULT_RANGES) {
			peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_BULK_RESULT, call->id,
			        &m.base);
			m.n_first = m.n_count = 0;
		}
		m.first[m.n_first++] = ids[i];
		m.count[m.n_count++] = 1;
	}
	peers_send(c, call->session, GPUSCHED__MSG_TYPE__MSG_BULK_RESULT, call->id, &m.base);
	free(m.first);
	free(m.count);
}

/* All were accepted, or (its error says why) none. */
static void finish(struct ctld *c, struct bulk *b)
{
	struct call *call = call_find(c, b->call);
	char never[SUBMIT_NEVER_TEXT];
	bool found = false;

	if (call && b->error.code) {
		call_done(c, call, &b->error);
	} else if (call) {
		send_ids(c, call, b->ids, b->n_ids);
		for (size_t i = 0; i < b->n_depend && !found; i++)
			found = submit_never(c, b->depend[i], never);
		call_done_but(c, call,
		        found           ? never
		        : b->left_out   ? b->left_out
		        : b->wants_mail ? mail_warning(c->mail)
		                        : NULL);
	}
	STAILQ_REMOVE_HEAD(&c->bulks->queue, next);
	bulk_free(b);
}

static void run_step(struct ctld *c, void *arg, struct clocks now)
{
	struct bulk *b = STAILQ_FIRST(&c->bulks->queue);
	struct core_event ev = { .kind = EV_BULK };

	(void)arg;
	/* Nothing of it is durable: without its session it is not wanted. */
	if (b->step == BULK_CHECK && !peers_find(c->peers, b->session)) {
		error_set(&b->error, ERR_BULK, "the session that sent it has ended");
		if (b->part == STAILQ_FIRST(&b->parts) && !b->at) {
			finish(c, b);
			give_step(c);
			return;
		}
		b->step = BULK_UNDO;
	}
	if (b->step == BULK_CHECK) {
		disk_space_report(c, b->bytes, now);
		check(c, b, &ev);
	} else {
		ev.bulk.n = BULK_SLICE;
	}
	ev.bulk.step = b->step;
	ev.caller.reply = b->call;
	inputs_apply(c, &ev, now);
}

/* The queue has what is left. */
static const struct tick_work step_work = { run_step, NULL };

static void give_step(struct ctld *c)
{
	if (!STAILQ_EMPTY(&c->bulks->queue))
		tick_post(c->tick, &step_work, c->bulks);
}

/* A part goes to the store when its last job is made: a start that finds the range of ids open
 * deletes what there is of it. */
static void made(struct ctld *c, struct bulk *b, const struct effect *effect)
{
	struct submit *s;

	memcpy(b->ids + b->n_ids, effect->bulk.ids, effect->bulk.n * sizeof(*b->ids));
	memcpy(b->known + b->n_ids, effect->bulk.known, effect->bulk.n * sizeof(*b->known));
	b->n_ids += effect->bulk.n;
	while ((s = STAILQ_FIRST(&b->parts)) && b->n_kept + s->msg->n_jobs <= b->n_ids) {
		submit_keep_blobs(c, s, b->ids + b->n_kept, b->known + b->n_kept);
		for (size_t i = 0; i < s->msg->n_jobs && b->n_depend < DEPEND_LOOKS; i++)
			if (submit_depends(&s->jobs[i]))
				b->depend[b->n_depend++] = b->ids[b->n_kept + i];
		b->n_kept += s->msg->n_jobs;
		drop_part(b);
	}
}

/* What comes after a step that is done. */
static enum bulk_step next_step(struct bulk *b, const struct effect *effect)
{
	if (effect->bulk.error) {
		b->error = *effect->bulk.error;
		return BULK_UNDO;
	}
	if (effect->bulk.more)
		return effect->bulk.step;
	if (effect->bulk.step == BULK_MAKE)
		return BULK_SHOW;
	if (b->part)
		return BULK_CHECK;
	b->ids = xcalloc(b->n_jobs, sizeof(*b->ids));
	b->known = xcalloc(b->n_jobs, sizeof(*b->known));
	return BULK_MAKE;
}

void bulk_stepped(struct ctld *c, const struct effect *effect, struct clocks now)
{
	struct bulk *b = STAILQ_FIRST(&c->bulks->queue);
	enum bulk_step step = effect->bulk.step;

	(void)now;
	if (step == BULK_MAKE)
		made(c, b, effect);
	if (step == BULK_CHECK && !b->left_out && effect->bulk.left_out)
		b->left_out = xstrdup(effect->bulk.left_out);
	if ((step == BULK_SHOW || step == BULK_UNDO) && !effect->bulk.more)
		finish(c, b);
	else
		b->step = next_step(b, effect);
	give_step(c);
}

static const struct call_ops bulk_ops = { 0 };

int rpc_submit_bulk(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__SubmitBulk *m = (const Gpusched__SubmitBulk *)rpc->msg;
	bool idle = STAILQ_EMPTY(&c->bulks->queue);
	struct bulk *b = rpc->peer->bulk;
	struct call *call;

	if (!b || b->number != m->bulk || b->n_jobs != m->jobs) {
		error_set(err, ERR_BULK, "a bulk of %llu jobs, of which %zu are here",
		        (unsigned long long)m->jobs, b && b->number == m->bulk ? b->n_jobs : 0);
		bulk_drop(c, rpc->peer);
		return -1;
	}
	rpc->peer->bulk = NULL;
	call = call_new(c, rpc->peer, rpc->id, &bulk_ops, NULL);
	if (!call) {
		bulk_free(b);
		return 0;
	}
	b->session = call->session;
	b->call = call->number;
	b->step = BULK_CHECK;
	b->part = STAILQ_FIRST(&b->parts);
	STAILQ_INSERT_TAIL(&c->bulks->queue, b, next);
	if (idle)
		give_step(c);
	return 0;
}
