/* victims_node.c - the cheapest runs that would have to be stopped on one node */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/preempt/victims_impl.h"

#define QOS_ABOVE_0 1000001.0 /* makes the lowest priority of a QOS positive */

static void cost_add(struct cost *sum, const struct cost *c)
{
	sum->within += c->within;
	sum->tier += c->tier;
	sum->qos += c->qos;
	sum->work += c->work;
}

int cost_order(const struct cost *x, const struct cost *y)
{
	const double of[][2] = { { x->within, y->within }, { x->tier, y->tier }, { x->qos, y->qos },
		{ x->work, y->work } };
	size_t i;

	for (i = 0; i < sizeof(of) / sizeof(*of); i++) {
		if (of[i][0] != of[i][1])
			return of[i][0] < of[i][1] ? -1 : 1;
	}
	return 0;
}

static int by_cost(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;
	int order = cost_order(&a->cost, &b->cost);

	if (order)
		return order;
	return a->held->job > b->held->job ? -1 : a->held->job < b->held->job; /* newest first */
}

uint32_t victims_gpus(const struct search *s, const struct plan_part *part)
{
	const struct request *r = s->want->ask.gpus;
	const struct plan_kind kind = plan_kind(s->want);

	if (!r->link)
		return part->gpus;
	return ledger_sure_of(s->scene->ledger, s->here.node,
	        plan_free_without(s->scene->plan, s->here.node, &kind, s->here.v, s->here.gone,
	                s->here.n),
	        r, s->want->find.alternative);
}

static bool met(const struct search *s, const struct plan_room *room, const struct plan_part *part)
{
	uint32_t gpus;

	if (room->cpus < (int64_t)part->cpus || room->mem_mb < (int64_t)part->mem_mb)
		return false;
	gpus = victims_gpus(s, part);
	return (gpus || !part->gpus) && room->gpus >= (int64_t)gpus;
}

static uint32_t cards(const struct search *s)
{
	const struct plan_kind kind = plan_kind(s->want);

	return plan_cards_without(
	        s->scene->plan, s->here.node, &kind, s->here.v, s->here.gone, s->here.n);
}

/* One more of the runs counts as gone, or no longer does. */
static void add_held(struct search *s, struct plan_room *room, const struct held *v, bool gone)
{
	int64_t sign = gone ? 1 : -1, before;
	size_t i;

	room->cpus += sign * (int64_t)v->cpus;
	room->mem_mb += sign * (int64_t)v->mem_mb;
	if (!s->here.by_card) {
		room->gpus += v->type == s->want->find.type ? sign * (int64_t)v->gpus : 0;
		return;
	}
	before = cards(s);
	for (i = 0; i < s->here.n; i++) {
		if (s->here.v[i].job == v->job && s->here.v[i].cards == v->cards)
			s->here.gone[i] = gone;
	}
	room->gpus += (int64_t)cards(s) - before;
}

void victims_look_at(struct search *s, uint32_t node)
{
	struct on_node *here = &s->here;
	size_t i;

	here->node = node;
	here->v = plan_held(s->scene->plan, node, &here->n);
	if (here->n > here->size) {
		here->size = here->n;
		here->gone = xrealloc(here->gone, here->size, sizeof(*here->gone));
		s->v = xrealloc(s->v, here->size, sizeof(*s->v));
	}
	here->by_card = share_wished(&s->want->ask.gpus->share) || s->want->ask.gpus->link;
	for (i = 0; i < here->n; i++) {
		here->gone[i] = plan_run_end(s->scene->plan, here->v[i].end) <= s->start;
		here->by_card |= here->v[i].share.charge > 0;
	}
}

size_t victims_number(const struct search *s, uint64_t job)
{
	return s->out->n ? (size_t)(uintptr_t)idmap_find(s->index, job) : 0;
}

static struct victims_verdict judge(const struct search *s, const struct held *v)
{
	const struct conf *conf = s->scene->conf;
	const struct quota *q = gates_quota(s->scene->gates);
	struct victims_verdict verdict = { .partition = v->partition,
		.account = v->account,
		.qos = v->qos,
		.type = v->type,
		.gpus = v->gpus > 0,
		.known = !s->out->n,
		.reason = preempt_may(s->scene, s->who, v, s->want->find.type, s->milli) };
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
static const struct victims_verdict *verdict_of(struct search *s, const struct held *v)
{
	uint32_t hash = v->account * 31 + v->qos * 7 + v->partition * 5 + v->type * 3;
	struct victims_verdict *known = &s->verdicts[(hash * 2 + (v->gpus > 0)) % VERDICTS];
	static const struct victims_verdict never = { .reason = PREEMPT_NOT };

	if (v->lost_cause || v->stopping)
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
	const struct held *held = s->here.v;
	size_t i;

	s->n = 0;
	for (i = 0; i < s->here.n; i++) {
		const struct victims_verdict *verdict;
		struct candidate *c = &s->v[s->n];

		/* What ends by then is counted as room already. */
		if (held[i].end <= s->start || victims_number(s, held[i].job))
			continue;
		verdict = verdict_of(s, &held[i]);
		if (verdict->reason == PREEMPT_NOT)
			continue;
		if (held[i].protected_until > s->scene->now.mono) {
			if (held[i].protected_until < s->retry)
				s->retry = held[i].protected_until;
			continue;
		}
		*c = (struct candidate){ &held[i], verdict->reason, verdict->cost, false };
		c->cost.work = plan_work(s->scene->plan, &held[i]);
		s->n++;
	}
	if (s->n)
		qsort(s->v, s->n, sizeof(s->v[0]), by_cost);
}

/* Release what the run holds at the gates. It is taken back, and the run left alone, if the gates
 * would then refuse the contender: the victim's account would keep for itself what it gives back,
 * and the contender could not have it. */
static bool release(struct search *s, const struct held *v)
{
	struct gates *gates = s->scene->gates;

	if (!v->path)
		return true;
	gates_release(gates, v->path, v->need);
	if (gates_check(gates, s->who->path, &s->need, NULL))
		return true;
	gates_take(gates, v->path, v->need);
	return false;
}

/* Choose victims until there is room. The account that a reclaim takes from must still be over
 * quota when its turn comes. */
static bool choose(struct search *s, struct plan_room *room, const struct plan_part *part)
{
	struct gates *gates = s->scene->gates;
	uint16_t type = s->want->find.type;
	size_t i;

	for (i = 0; i < s->n && !met(s, room, part); i++) {
		struct candidate *c = &s->v[i];

		if (c->reason == PREEMPT_RECLAIM &&
		        !quota_reclaims(gates_quota(gates), s->who->account, c->held->account, type,
		                s->milli))
			continue;
		if (!release(s, c->held))
			continue;
		c->chosen = true;
		add_held(s, room, c->held, true);
	}
	for (i = 0; i < s->n; i++) {
		if (s->v[i].chosen && s->v[i].held->path)
			gates_take(gates, s->v[i].held->path, s->v[i].held->need);
	}
	return met(s, room, part);
}

static void let_go(struct search *s, struct plan_room *room, const struct plan_part *part)
{
	size_t i;

	for (i = s->n; i--;) {
		struct candidate *c = &s->v[i];

		if (!c->chosen)
			continue;
		add_held(s, room, c->held, false);
		if (met(s, room, part))
			c->chosen = false;
		else
			add_held(s, room, c->held, true);
	}
}

/* What the job takes there, without what is kept for links. */
static struct plan_part least_part(const struct search *s, uint32_t node)
{
	const struct request *r = s->want->ask.gpus;
	struct plan_part part = plan_part(s->scene->plan, s->want, node);

	if (r->link)
		part.gpus = request_part_gpus(r, s->want->find.alternative);
	return part;
}

/* The run should have ended long ago. When it will end is not known, so no run is stopped to wait
 * for it. */
static bool stuck(const struct scene *sc, const struct held *v)
{
	return v->end + PLAN_STUCK <= sc->now.mono;
}

static bool has_stuck(const struct search *s, uint32_t node)
{
	return plan_first_end(s->scene->plan, node) + PLAN_STUCK <= s->scene->now.mono;
}

bool victims_met(struct search *s, uint32_t node, uint64_t but, struct plan_room *room,
        struct plan_part *part)
{
	struct plan *plan = s->scene->plan;
	usec_t end = s->want->length >= PLAN_FAR ? PLAN_FAR * 2 : s->start + s->want->length;
	const struct plan_kind kind = plan_kind(s->want);
	const struct held *held;
	size_t i;

	*part = least_part(s, node);
	plan_room(plan, node, &kind, s->start, end, s->want->key, false, room);
	victims_look_at(s, node);
	held = s->here.v;
	for (i = 0; i < s->here.n; i++) {
		if (stuck(s->scene, &held[i]) && plan_run_end(plan, held[i].end) <= s->start)
			add_held(s, room, &held[i], false);
		if (held[i].end > s->start && held[i].job != but && victims_number(s, held[i].job))
			add_held(s, room, &held[i], true);
	}
	return met(s, room, part);
}

/* Would there be too little room even without all runs that end by then or may be stopped? For most
 * nodes nothing else needs checking. As in gather(), s->retry is set to when a run loses its
 * protection. */
static bool hopeless(struct search *s, uint32_t node)
{
	const struct ledger *ledger = s->scene->ledger;
	const struct plan_kind kind = plan_kind(s->want);
	const struct plan_part part = least_part(s, node);
	uint64_t cards = 0, mem_mb = ledger_mem_free_mb(ledger, node);
	uint64_t cpus = ledger_cpus_free(ledger, node);
	usec_t retry = s->retry;
	size_t n, i;
	const struct held *held = plan_held(s->scene->plan, node, &n);

	for (i = 0; i < n; i++) {
		if (held[i].end > s->start && !victims_number(s, held[i].job)) {
			if (verdict_of(s, &held[i])->reason == PREEMPT_NOT)
				continue;
			if (held[i].protected_until > s->scene->now.mono) {
				if (held[i].protected_until < retry)
					retry = held[i].protected_until;
				continue;
			}
		}
		cards |= held[i].type == kind.type ? held[i].cards : 0;
		cpus += held[i].cpus;
		mem_mb += held[i].mem_mb;
	}
	if (kind.type != TYPE_NONE)
		cards |= ledger_gpus_for(ledger, node, kind.type, &kind.wish);
	if (part.gpus <= (uint32_t)__builtin_popcountll(cards) && part.cpus <= cpus &&
	        part.mem_mb <= mem_mb)
		return false;
	if (retry < s->retry && plan_may_use(s->scene->plan, s->want, node) && !has_stuck(s, node))
		s->retry = retry;
	return true;
}

bool victims_make_room(struct search *s, uint32_t node, struct cost *cost)
{
	struct plan_part part;
	struct plan_room room;
	size_t i;

	*cost = (struct cost){ .within = 0 };
	s->n = 0;
	if ((!s->everything && hopeless(s, node)) || !plan_may_use(s->scene->plan, s->want, node))
		return false;
	if (victims_met(s, node, 0, &room, &part))
		return true;
	if (has_stuck(s, node))
		return false; /* the victims would be back before it ends */
	gather(s);
	if (!choose(s, &room, &part))
		return false;
	let_go(s, &room, &part);
	for (i = 0; i < s->n; i++) {
		if (s->v[i].chosen)
			cost_add(cost, &s->v[i].cost);
	}
	return true;
}
