/* victims_node.c - the cheapest runs that would have to be stopped on one node
 *
 * On one node victims are chosen greedily by cost until the part fits, and then let go again, the
 * dearest first, as long as it still fits: the first pass finds a set that suffices, the second
 * one with no run too many. Verdicts are kept for the step by (partition, account, QOS, type),
 * since runs that agree in these are judged alike.
 *
 * hopeless() is an early answer: if even without every run that may be stopped there would be too
 * little, nothing more is looked at. It may only say so where choose() would fail too.
 *
 * `room` is what the node will have at the start of the reservation, less what is planned there
 * before the job, plus what the runs that count as gone hold. Runs that end by then are in it from
 * the beginning (plan_room()); a victim of an earlier node that runs here too is added by
 * victims_met().
 */
#include <stdlib.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "ctld/core/preempt/victims_impl.h"

#define QOS_ABOVE_0 1000001.0 /* makes the lowest priority of a QOS positive */

static void cost_add(struct cost *sum, const struct cost *c)
{
	ADD_FIELDS(sum, c, within, tier, qos, work);
}

int cost_order(const struct cost *x, const struct cost *y)
{
	const double of[][2] = { { x->within, y->within }, { x->tier, y->tier }, { x->qos, y->qos },
		{ x->work, y->work } };

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		if (of[i][0] != of[i][1])
			return of[i][0] < of[i][1] ? -1 : 1;
	}
	return 0;
}

static int by_cost(const void *x, const void *y)
{
	const struct stoppable *a = x, *b = y;
	int order = cost_order(&a->cost, &b->cost);

	if (order)
		return order;
	return a->snapshot->job > b->snapshot->job
	               ? -1
	               : a->snapshot->job < b->snapshot->job; /* newest first */
}

uint32_t victims_gpus(const struct search *s, const struct plan_part *part)
{
	const struct request *r = s->want->ask.gpus;
	const struct plan_kind kind = plan_kind(s->want);

	if (!r->link)
		return part->gpus;
	return ledger_sure_of(s->view->ledger, s->here.node,
	        plan_free_without(
	                s->view->plan, s->here.node, &kind, s->here.v, s->here.gone, s->here.n),
	        r, s->want->find.alternative);
}

/* Does the room suffice for the part? Where the job wants linked GPUs more of them may have to be
 * free than it takes. */
static bool met(const struct search *s, const struct plan_room *room, const struct plan_part *part)
{
	uint32_t gpus;

	if (room->cpus < (int64_t)part->cpus || room->mem_mb < (int64_t)part->mem_mb)
		return false;
	gpus = victims_gpus(s, part);
	return (gpus || !part->gpus) && room->gpus >= (int64_t)gpus;
}

/* How many GPUs of the wanted kind the node would have without the runs that count as gone. */
static uint32_t gpu_set(const struct search *s)
{
	const struct plan_kind kind = plan_kind(s->want);

	return plan_gpus_without(
	        s->view->plan, s->here.node, &kind, s->here.v, s->here.gone, s->here.n);
}

/* One more of the runs counts as gone, or no longer does. */
static void add_snapshot(
        struct search *s, struct plan_room *room, const struct run_snapshot *v, bool gone)
{
	int64_t sign = gone ? 1 : -1, before;

	room->cpus += sign * (int64_t)v->cpus;
	room->mem_mb += sign * (int64_t)v->mem_mb;
	if (!s->here.by_gpu) {
		room->gpus += v->type == s->want->find.type ? sign * (int64_t)v->gpus : 0;
		return;
	}
	before = gpu_set(s);
	for (size_t i = 0; i < s->here.n; i++) {
		if (s->here.v[i].job == v->job && s->here.v[i].gpu_set == v->gpu_set)
			s->here.gone[i] = gone;
	}
	room->gpus += (int64_t)gpu_set(s) - before;
}

void victims_look_at(struct search *s, uint32_t node)
{
	struct on_node *here = &s->here;

	here->node = node;
	here->v = plan_snapshots(s->view->plan, node, &here->n);
	if (here->n > here->size) {
		here->size = here->n;
		here->gone = xrealloc(here->gone, here->size, sizeof(*here->gone));
		s->v = xrealloc(s->v, here->size, sizeof(*s->v));
	}
	here->by_gpu = share_wished(&s->want->ask.gpus->share) || s->want->ask.gpus->link;
	for (size_t i = 0; i < here->n; i++) {
		here->gone[i] = plan_run_end(s->view->plan, here->v[i].end) <= s->start;
		here->by_gpu |= here->v[i].share.charge > 0;
	}
}

size_t victims_number(const struct search *s, uint64_t job)
{
	return s->out->n ? (size_t)(uintptr_t)idmap_find(s->index, job) : 0;
}

/* Verdicts hold only while no victim is chosen, because each one changes what accounts are over
 * quota. */
static struct victims_verdict judge(const struct search *s, const struct run_snapshot *v)
{
	const struct conf *conf = s->view->conf;
	const struct quota *q = limits_quota(s->view->limits);
	struct victims_verdict verdict = { .partition = v->partition,
		.account = v->account,
		.qos = v->qos,
		.type = v->type,
		.gpus = v->gpus > 0,
		.known = !s->out->n,
		.reason = preempt_may(s->view, s->who, v, s->want->find.type, s->milli) };
	double over;

	if (verdict.reason == PREEMPT_NOT)
		return verdict;
	over = v->type == TYPE_NONE ? 0 : quota_over(q, v->account, v->type, 0);
	verdict.cost = (struct cost){ .within = 1 / (1 + over),
		.tier = conf->partitions[v->partition].tier,
		.qos = QOS_ABOVE_0 + (v->qos == CONF_NONE ? 0 : conf->qos[v->qos].priority) };
	return verdict;
}

/* May the run be stopped (unless it is protected), and at what cost, without the work? Valid until
 * the next call. */
static const struct victims_verdict *verdict_of(struct search *s, const struct run_snapshot *v)
{
	uint32_t hash = v->account * 31 + v->qos * 7 + v->partition * 5 + v->type * 3;
	struct victims_verdict *known = &s->verdicts[(hash * 2 + (v->gpus > 0)) % VERDICTS];
	static const struct victims_verdict never = { .reason = PREEMPT_NOT };

	if (v->lost_cause || v->stopping || v->guarded)
		return &never;
	if (!known->known || s->everything || s->out->n || known->account != v->account ||
	        known->qos != v->qos || known->partition != v->partition ||
	        known->type != v->type || known->gpus != (v->gpus > 0))
		*known = judge(s, v);
	return known;
}

/* The runs on the node that may be stopped, cheapest first. */
static void gather(struct search *s)
{
	const struct run_snapshot *snapshot = s->here.v;

	s->n = 0;
	for (size_t i = 0; i < s->here.n; i++) {
		const struct victims_verdict *verdict;
		struct stoppable *c = &s->v[s->n];

		/* What ends by then is counted as room already. */
		if (snapshot[i].end <= s->start || victims_number(s, snapshot[i].job))
			continue;
		verdict = verdict_of(s, &snapshot[i]);
		if (verdict->reason == PREEMPT_NOT)
			continue;
		if (snapshot[i].protected_until > s->view->now.mono) {
			if (snapshot[i].protected_until < s->retry)
				s->retry = snapshot[i].protected_until;
			continue;
		}
		*c = (struct stoppable){ &snapshot[i], verdict->reason, verdict->cost, false };
		c->cost.work = plan_work(s->view->plan, &snapshot[i]);
		s->n++;
	}
	if (s->n)
		qsort(s->v, s->n, sizeof(s->v[0]), by_cost);
}

/* Release what the run holds at the limits. It is taken back, and the run left alone, if the limits
 * would then refuse the candidate: the victim's account would keep for itself what it gives back,
 * and the candidate could not have it. */
static bool release(struct search *s, const struct run_snapshot *v)
{
	struct limits *limits = s->view->limits;

	if (!v->chain)
		return true;
	limits_release(limits, v->chain, v->need);
	if (limits_check(limits, s->who->chain, &s->need, NULL))
		return true;
	limits_take(limits, v->chain, v->need);
	return false;
}

/* Choose victims until there is room. The account that a reclaim takes from must still be over
 * quota when its turn comes. */
static bool choose(struct search *s, struct plan_room *room, const struct plan_part *part)
{
	struct limits *limits = s->view->limits;
	uint16_t type = s->want->find.type;

	for (size_t i = 0; i < s->n && !met(s, room, part); i++) {
		struct stoppable *c = &s->v[i];

		if (c->reason == PREEMPT_RECLAIM &&
		        !quota_reclaims(limits_quota(limits), s->who->account, c->snapshot->account,
		                type, s->milli))
			continue;
		if (!release(s, c->snapshot))
			continue;
		c->chosen = true;
		add_snapshot(s, room, c->snapshot, true);
	}
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].chosen && s->v[i].snapshot->chain)
			limits_take(limits, s->v[i].snapshot->chain, s->v[i].snapshot->need);
	}
	return met(s, room, part);
}

static void let_go(struct search *s, struct plan_room *room, const struct plan_part *part)
{
	for (size_t i = s->n; i--;) {
		struct stoppable *c = &s->v[i];

		if (!c->chosen)
			continue;
		add_snapshot(s, room, c->snapshot, false);
		if (met(s, room, part))
			c->chosen = false;
		else
			add_snapshot(s, room, c->snapshot, true);
	}
}

/* What the job takes there, without what is kept for links. */
static struct plan_part least_part(const struct search *s, uint32_t node)
{
	const struct request *r = s->want->ask.gpus;
	struct plan_part part = plan_part(s->view->plan, s->want, node);

	if (r->link)
		part.gpus = request_part_gpus(r, s->want->find.alternative);
	return part;
}

/* The run should have ended long ago. When it will end is not known, so no run is stopped to wait
 * for it. */
static bool stuck(const struct sched_view *view, const struct run_snapshot *v)
{
	return v->end + PLAN_STUCK <= view->now.mono;
}

/* The first run that should have ended is late by so much that its end is not known. */
static bool has_stuck(const struct search *s, uint32_t node)
{
	return plan_first_end(s->view->plan, node) + PLAN_STUCK <= s->view->now.mono;
}

bool victims_met(struct search *s, uint32_t node, uint64_t but, struct plan_room *room,
        struct plan_part *part)
{
	struct plan *plan = s->view->plan;
	usec_t end = s->want->length >= PLAN_FAR ? PLAN_FAR * 2 : s->start + s->want->length;
	const struct plan_kind kind = plan_kind(s->want);
	const struct run_snapshot *snapshot;

	*part = least_part(s, node);
	plan_room(plan, node, &kind, s->start, end, s->want->key, false, room);
	victims_look_at(s, node);
	snapshot = s->here.v;
	for (size_t i = 0; i < s->here.n; i++) {
		if (stuck(s->view, &snapshot[i]) && plan_run_end(plan, snapshot[i].end) <= s->start)
			add_snapshot(s, room, &snapshot[i], false);
		if (snapshot[i].end > s->start && snapshot[i].job != but &&
		        victims_number(s, snapshot[i].job))
			add_snapshot(s, room, &snapshot[i], true);
	}
	return met(s, room, part);
}

/* Would there be too little room even without all runs that end by then or may be stopped? For most
 * nodes nothing else needs checking. As in gather(), s->retry is set to when a run loses its
 * protection. */
static bool hopeless(struct search *s, uint32_t node)
{
	const struct ledger *ledger = s->view->ledger;
	const struct plan_kind kind = plan_kind(s->want);
	const struct plan_part part = least_part(s, node);
	uint64_t gpu_set = 0, mem_mb = ledger_mem_free_mb(ledger, node);
	uint64_t cpus = ledger_cpus_free(ledger, node);
	usec_t retry = s->retry;
	size_t n, i;
	const struct run_snapshot *snapshot = plan_snapshots(s->view->plan, node, &n);

	for (i = 0; i < n; i++) {
		if (snapshot[i].end > s->start && !victims_number(s, snapshot[i].job)) {
			if (verdict_of(s, &snapshot[i])->reason == PREEMPT_NOT)
				continue;
			if (snapshot[i].protected_until > s->view->now.mono) {
				if (snapshot[i].protected_until < retry)
					retry = snapshot[i].protected_until;
				continue;
			}
		}
		gpu_set |= snapshot[i].type == kind.type ? snapshot[i].gpu_set : 0;
		cpus += snapshot[i].cpus;
		mem_mb += snapshot[i].mem_mb;
	}
	if (kind.type != TYPE_NONE)
		gpu_set |= ledger_gpus_for(ledger, node, kind.type, &kind.wish);
	if (part.gpus <= (uint32_t)__builtin_popcountll(gpu_set) && part.cpus <= cpus &&
	        part.mem_mb <= mem_mb)
		return false;
	if (retry < s->retry && plan_may_use(s->view->plan, s->want, node) && !has_stuck(s, node))
		s->retry = retry;
	return true;
}

usec_t victims_drained(const struct search *s)
{
	uint32_t longest = 0;
	usec_t drained;

	for (size_t i = 0; i < s->out->n; i++)
		longest = s->gone[i].drain_s > longest ? s->gone[i].drain_s : longest;
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].chosen && s->v[i].snapshot->drain_s > longest)
			longest = s->v[i].snapshot->drain_s;
	}
	drained = s->view->now.mono + (usec_t)longest * 1000000 + PLAN_END_TAKES;
	return longest && drained > s->start ? drained : s->start;
}

/* Is there room on the node at s->start without all victims and the chosen? */
static bool met_without_chosen(struct search *s, uint32_t node)
{
	struct plan_part part;
	struct plan_room room;

	victims_met(s, node, 0, &room, &part);
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].chosen && s->v[i].snapshot->end > s->start)
			add_snapshot(s, &room, s->v[i].snapshot, true);
	}
	return met(s, &room, &part);
}

/* The same for when they have drained, which is when the job would start. If not, what is in the
 * way then may be over when they could have drained: tried again. s->here stays that of
 * s->start. */
static bool met_once_drained(struct search *s, uint32_t node)
{
	usec_t start = s->start;
	bool ok;

	s->start = victims_drained(s);
	if (s->start == start)
		return true;
	ok = met_without_chosen(s, node);
	if (!ok && s->start < s->retry)
		s->retry = s->start;
	s->start = start;
	met_without_chosen(s, node);
	return ok;
}

bool victims_make_room(struct search *s, uint32_t node, struct cost *cost)
{
	struct plan_part part;
	struct plan_room room;

	*cost = (struct cost){ .within = 0 };
	s->n = 0;
	if ((!s->everything && hopeless(s, node)) || !plan_may_use(s->view->plan, s->want, node))
		return false;
	if (victims_met(s, node, 0, &room, &part))
		return met_once_drained(s, node);
	if (has_stuck(s, node))
		return false; /* the victims would be back before it ends */
	gather(s);
	if (!choose(s, &room, &part))
		return false;
	let_go(s, &room, &part);
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].chosen)
			cost_add(cost, &s->v[i].cost);
	}
	return met_once_drained(s, node);
}
