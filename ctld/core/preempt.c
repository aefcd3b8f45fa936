/* preempt.c - see preempt.h */
#include "ctld/core/preempt.h"

#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"
#include "ctld/core/gang.h"

#define USEC_PER_S  ((usec_t)1000000)
#define MAX_ON_NODE 256
#define QOS_ABOVE_0 1000001.0 /* makes the lowest priority of a QOS positive */

const char *preempt_reason_name(enum preempt_reason reason)
{
	static const char *const names[] = { [PREEMPT_NOT] = "",
		[PREEMPT_TIER] = "tier",
		[PREEMPT_QOS] = "qos",
		[PREEMPT_RECLAIM] = "reclaim" };

	return names[reason];
}

void preemption_clear(struct preemption *p)
{
	free(p->victims);
	places_free(&p->entry.places);
	memset(p, 0, sizeof(*p));
}

usec_t preempt_delay(const struct conf *conf)
{
	uint32_t longest = 0;
	size_t p;

	for (p = 0; p < conf->n_partitions; p++) {
		if (conf->partitions[p].grace_s > longest)
			longest = conf->partitions[p].grace_s;
	}
	return longest * USEC_PER_S + PLAN_END_TAKES;
}

/* --- who may --------------------------------------------------------------------------------- */

static bool qos_preempts(const struct conf *conf, uint32_t x, uint32_t y)
{
	size_t i;

	if (x == CONF_NONE || y == CONF_NONE)
		return false;
	for (i = 0; i < conf->qos[x].n_preempts; i++) {
		if (conf->qos[x].preempts[i] == y)
			return true;
	}
	return false;
}

static uint32_t qos_level(const struct conf *conf, uint32_t qos)
{
	return qos == CONF_NONE ? 0 : conf->qos[qos].level;
}

enum preempt_reason preempt_may(const struct scene *sc, const struct contender *who,
        const struct held *v, uint16_t type, uint64_t milli)
{
	const struct conf *conf = sc->conf;
	uint32_t mine = conf->partitions[who->partition].tier, theirs;

	if (v->lost_cause || v->stopping || v->partition == CONF_NONE ||
	        conf->partitions[v->partition].preempt_mode == CONF_PREEMPT_OFF)
		return PREEMPT_NOT;
	theirs = conf->partitions[v->partition].tier;
	if (mine != theirs)
		return mine > theirs ? PREEMPT_TIER : PREEMPT_NOT;
	if (qos_preempts(conf, who->qos, v->qos))
		return PREEMPT_QOS;
	if (qos_level(conf, v->qos) > qos_level(conf, who->qos) ||
	        qos_preempts(conf, v->qos, who->qos))
		return PREEMPT_NOT;
	if (v->type != type || !v->gpus || !milli)
		return PREEMPT_NOT;
	return quota_reclaims(gates_quota(sc->gates), who->account, v->account, type, milli)
	               ? PREEMPT_RECLAIM
	               : PREEMPT_NOT;
}

/* --- the cheapest on one node ---------------------------------------------------------------- */

/* What a victim costs; of several, the sums. The first difference decides: a single number for all
 * of it would have no room for the last. */
struct cost {
	double within; /* 1: within quota; less, the more it is over; never 0 */
	double tier, qos, work;
};

static void cost_add(struct cost *sum, const struct cost *c)
{
	sum->within += c->within;
	sum->tier += c->tier;
	sum->qos += c->qos;
	sum->work += c->work;
}

static int cost_order(const struct cost *x, const struct cost *y)
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

struct candidate {
	struct held held;
	enum preempt_reason reason;
	struct cost cost;
	bool chosen;
};

static int by_cost(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;
	int order = cost_order(&a->cost, &b->cost);

	if (order)
		return order;
	return a->held.job > b->held.job ? -1 : a->held.job < b->held.job; /* newest first */
}

static bool met(const struct plan_room *room, const struct plan_part *part)
{
	return room->gpus >= (int64_t)part->gpus && room->cpus >= (int64_t)part->cpus &&
	       room->mem_mb >= (int64_t)part->mem_mb;
}

/* All that runs on the node that is looked at. Where some of it shares GPUs, or shares are wanted,
 * who gives back how many GPUs depends on who else goes: they are counted anew each time. */
struct on_node {
	uint32_t node;
	bool by_card;
	struct held v[MAX_ON_NODE];
	bool gone[MAX_ON_NODE];
	size_t n;
};

struct search {
	const struct scene *scene;
	const struct contender *who;
	const struct plan_want *want;
	usec_t start, retry;
	uint64_t milli; /* of GPUs, of the whole job */
	struct candidate v[MAX_ON_NODE];
	size_t n;
	struct on_node here;
	struct preemption *out;
	struct gone *gone; /* what the victims in `out` hold of the gates; owned */
	/* How far over quota an account is in a type, [account * types + type], while nobody counts
	 * as gone; below 0: not asked yet. The same few are asked for on all nodes. Owned. */
	double *over;
};

struct gone {
	const struct gate_path *path; /* NULL: nothing */
	const struct need *need;
	uint32_t account;
};

static uint32_t cards(const struct search *s)
{
	const struct plan_kind kind = plan_kind(s->want);

	return plan_cards_without(
	        s->scene->plan, s->here.node, &kind, s->here.v, s->here.gone, s->here.n);
}

/* One more of them has gone, or is there after all. */
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

/* What runs on the node; what ends by the start has gone. */
static void look_at(struct search *s, uint32_t node)
{
	struct on_node *here = &s->here;
	size_t i;

	here->node = node;
	here->n = plan_held(s->scene->plan, node, here->v, MAX_ON_NODE);
	here->n = here->n < MAX_ON_NODE ? here->n : MAX_ON_NODE;
	here->by_card = share_wished(&s->want->ask.gpus->share);
	for (i = 0; i < here->n; i++) {
		here->gone[i] = plan_run_end(s->scene->plan, here->v[i].end) <= s->start;
		here->by_card |= here->v[i].share.charge > 0;
	}
}

static bool is_victim(const struct preemption *out, uint64_t job, size_t *index)
{
	for (*index = 0; *index < out->n; (*index)++) {
		if (out->victims[*index].job == job)
			return true;
	}
	return false;
}

static double over_quota(struct search *s, const struct held *v)
{
	const struct conf *conf = s->scene->conf;
	const struct quota *q = gates_quota(s->scene->gates);
	double *known;

	if (v->type == TYPE_NONE)
		return 0;
	if (s->out->n || v->account >= conf->n_accounts || v->type >= conf->n_gpu_types)
		return quota_over(q, v->account, v->type, 0);
	known = &s->over[v->account * conf->n_gpu_types + v->type];
	if (*known < 0)
		*known = quota_over(q, v->account, v->type, 0);
	return *known;
}

static struct cost cost_of(struct search *s, const struct held *v)
{
	const struct conf *conf = s->scene->conf;

	return (struct cost){ .within = 1 / (1 + over_quota(s, v)),
		.tier = conf->partitions[v->partition].tier,
		.qos = QOS_ABOVE_0 + (v->qos == CONF_NONE ? 0 : conf->qos[v->qos].priority),
		.work = v->work };
}

/* Who might be stopped on the node. */
static void gather(struct search *s)
{
	const struct held *held = s->here.v;
	size_t i, at;

	s->n = 0;
	for (i = 0; i < s->here.n; i++) {
		enum preempt_reason why;

		/* What ends by then is in the room already. */
		if (held[i].end <= s->start || is_victim(s->out, held[i].job, &at))
			continue;
		why = preempt_may(s->scene, s->who, &held[i], s->want->find.type, s->milli);
		if (why == PREEMPT_NOT)
			continue;
		if (held[i].protected_until > s->scene->now.mono) {
			if (held[i].protected_until < s->retry)
				s->retry = held[i].protected_until;
			continue;
		}
		s->v[s->n++] = (struct candidate){ held[i], why, cost_of(s, &held[i]), false };
	}
	qsort(s->v, s->n, sizeof(s->v[0]), by_cost);
}

/* Released, and back where that would close the gates for the contender: what the victim's account
 * keeps for itself it would have to leave free. */
static bool release(struct search *s, const struct held *v)
{
	struct gates *gates = s->scene->gates;
	struct need need;

	if (!v->path)
		return true;
	decide_need(s->scene, &s->want->ask, s->want->find.alternative, s->want->find.type, &need);
	gates_release(gates, v->path, v->need);
	if (gates_check(gates, s->who->path, &need, NULL))
		return true;
	gates_take(gates, v->path, v->need);
	return false;
}

/* Choose until there is room. What is reclaimed must still be over quota when its turn comes. */
static bool choose(struct search *s, struct plan_room *room, const struct plan_part *part)
{
	struct gates *gates = s->scene->gates;
	uint16_t type = s->want->find.type;
	size_t i;

	for (i = 0; i < s->n && !met(room, part); i++) {
		struct candidate *c = &s->v[i];

		if (c->reason == PREEMPT_RECLAIM &&
		        !quota_reclaims(gates_quota(gates), s->who->account, c->held.account, type,
		                s->milli))
			continue;
		if (!release(s, &c->held))
			continue;
		c->chosen = true;
		add_held(s, room, &c->held, true);
	}
	for (i = 0; i < s->n; i++) {
		if (s->v[i].chosen && s->v[i].held.path)
			gates_take(gates, s->v[i].held.path, s->v[i].held.need);
	}
	return met(room, part);
}

static void let_go(struct search *s, struct plan_room *room, const struct plan_part *part)
{
	size_t i;

	for (i = s->n; i--;) {
		struct candidate *c = &s->v[i];

		if (!c->chosen)
			continue;
		add_held(s, room, &c->held, false);
		if (met(room, part))
			c->chosen = false;
		else
			add_held(s, room, &c->held, true);
	}
}

/* It should have ended long ago: nobody knows when it will, and nobody is stopped to wait for it.
 */
static bool stuck(const struct scene *sc, const struct held *v)
{
	return v->end + PLAN_STUCK <= sc->now.mono;
}

static bool has_stuck(const struct search *s, uint32_t node)
{
	return plan_first_end(s->scene->plan, node) + PLAN_STUCK <= s->scene->now.mono;
}

/* What the node has when the victims that were found so far have ended, all but one. */
static bool met_without(
        struct search *s, uint32_t node, size_t but, struct plan_room *room, struct plan_part *part)
{
	struct plan *plan = s->scene->plan;
	usec_t end = s->want->length >= PLAN_FAR ? PLAN_FAR * 2 : s->start + s->want->length;
	const struct plan_kind kind = plan_kind(s->want);
	const struct held *held = s->here.v;
	size_t i, at;

	*part = plan_part(plan, s->want, node);
	plan_room(plan, node, &kind, s->start, end, s->want->key, false, room);
	look_at(s, node);
	for (i = 0; i < s->here.n; i++) {
		if (stuck(s->scene, &held[i]) && plan_run_end(plan, held[i].end) <= s->start)
			add_held(s, room, &held[i], false);
		if (held[i].end > s->start && is_victim(s->out, held[i].job, &at) && at != but)
			add_held(s, room, &held[i], true);
	}
	return met(room, part);
}

/* Whom else to stop so that there is room on the node: the chosen of s->v, and what they cost
 * together. False: it cannot be. */
static bool make_room(struct search *s, uint32_t node, struct cost *cost)
{
	struct plan_part part;
	struct plan_room room;
	size_t i;

	*cost = (struct cost){ .within = 0 };
	s->n = 0;
	if (met_without(s, node, SIZE_MAX, &room, &part))
		return true;
	if (has_stuck(s, node))
		return false; /* whoever is stopped there has a place again before it ends */
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

/* --- the cheapest nodes ---------------------------------------------------------------------- */

struct offer {
	struct cost cost;
	uint32_t node;
	bool required;
};

static int by_offer(const void *x, const void *y)
{
	const struct offer *a = x, *b = y;
	int order = cost_order(&a->cost, &b->cost);

	if (a->required != b->required)
		return a->required ? -1 : 1;
	if (order)
		return order;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* From now on they count as gone: of their gates too, so that whoever is asked to give back on the
 * next node is still over his quota then. */
static void add_victims(struct search *s)
{
	struct preemption *out = s->out;
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct held *held = &s->v[i].held;

		if (!s->v[i].chosen)
			continue;
		if (out->n == out->size) {
			out->size = out->size ? out->size * 2 : 8;
			out->victims = xrealloc(out->victims, out->size, sizeof(*out->victims));
			s->gone = xrealloc(s->gone, out->size, sizeof(*s->gone));
		}
		s->gone[out->n] = (struct gone){ held->path, held->need, held->account };
		out->victims[out->n++] = (struct preempt_victim){ held->job, s->v[i].reason };
		if (held->path)
			gates_release(s->scene->gates, held->path, held->need);
	}
}

/* They are all back. */
static void imagine_no_more(struct search *s)
{
	size_t i;

	for (i = 0; i < s->out->n; i++) {
		if (s->gone[i].path)
			gates_take(s->scene->gates, s->gone[i].path, s->gone[i].need);
	}
}

/* Is who is asked to give back a borrower still when all who go for other reasons are gone, and
 * those before him? Who had gone over quota by what goes anyway owes nothing. */
static bool all_owe(struct search *s)
{
	struct gates *gates = s->scene->gates;
	struct preemption *out = s->out;
	bool owe = true;
	size_t i;

	for (i = 0; i < out->n; i++) {
		if (s->gone[i].path)
			gates_release(gates, s->gone[i].path, s->gone[i].need);
	}
	for (i = out->n; i--;) {
		const struct gone *gone = &s->gone[i];

		if (out->victims[i].reason != PREEMPT_RECLAIM || !gone->path)
			continue;
		gates_take(gates, gone->path, gone->need);
		owe &= quota_reclaims(gates_quota(gates), s->who->account, gone->account,
		        s->want->find.type, s->milli);
	}
	for (i = 0; i < out->n; i++) {
		if (out->victims[i].reason != PREEMPT_RECLAIM && s->gone[i].path)
			gates_take(gates, s->gone[i].path, s->gone[i].need);
	}
	return owe;
}

/* A gang that must go for one node leaves others too: whom that makes unnecessary stays. The nodes
 * come with the cheapest first, and so do the victims of each. */
static void spare(struct search *s)
{
	struct preemption *out = s->out;
	struct plan_room room;
	struct plan_part part;
	size_t v, i;

	for (v = out->n; v--;) {
		for (i = 0; i < out->entry.places.n; i++) {
			if (!met_without(s, out->entry.places.v[i].node, v, &room, &part))
				break;
		}
		if (i < out->entry.places.n)
			continue;
		out->n--;
		memmove(&out->victims[v], &out->victims[v + 1],
		        (out->n - v) * sizeof(*out->victims));
		memmove(&s->gone[v], &s->gone[v + 1], (out->n - v) * sizeof(*s->gone));
	}
}

/* What each node would cost by itself, the cheapest first. */
static size_t find_offers(struct search *s, const struct conf_partition *p, struct offer *offers)
{
	size_t i, n = 0;

	for (i = 0; i < p->n_nodes; i++) {
		struct cost cost;

		if (plan_may_use(s->scene->plan, s->want, p->nodes[i]) &&
		        make_room(s, p->nodes[i], &cost))
			offers[n++] = (struct offer){ cost, p->nodes[i],
				request_requires(s->want->ask.gpus, p->nodes[i]) };
	}
	qsort(offers, n, sizeof(*offers), by_offer);
	return n;
}

/* A total on several nodes need not come in equal parts: is it there by then, if nobody is stopped?
 */
static bool total_anyway(struct search *s, const struct plan_want *total)
{
	const struct request *r = total->ask.gpus;
	const struct conf_partition *p = &s->scene->conf->partitions[total->partition];
	const struct plan_want *even = s->want;
	struct gang_candidate *v;
	struct gang_choice choice = { 0 };
	struct places places = { .type = total->find.type };
	struct plan_room room;
	struct plan_part part;
	struct need need;
	size_t i, n = 0;
	bool ok;

	if (!r->n || r->per_node || r->nodes_max == 1)
		return false;
	v = xcalloc(p->n_nodes, sizeof(*v));
	s->want = total;
	for (i = 0; i < p->n_nodes; i++) {
		uint32_t node = p->nodes[i];

		if (!plan_may_use(s->scene->plan, total, node) ||
		        !met_without(s, node, SIZE_MAX, &room, &part))
			continue;
		v[n++] = (struct gang_candidate){ .node = node,
			.leaf = s->scene->conf->nodes[node].leaf,
			.gpus = (uint32_t)room.gpus,
			.required = request_requires(r, node),
			.preferred = request_prefers(r, node) };
	}
	s->want = even;
	ok = gang_choose(r, total->find.alternative, total->find.spread, v, n, &choice);
	for (i = 0; i < choice.n; i++) {
		struct place place;

		part = plan_part(s->scene->plan, total, choice.v[i].node);
		part.gpus = choice.v[i].gpus;
		place = plan_place(s->scene->plan, total, choice.v[i].node, &part);
		places_add(&places, &place);
	}
	decide_need_of(s->scene, &total->ask, &places, &need);
	ok = ok && gates_check(s->scene->gates, s->who->path, &need, NULL);
	gang_choice_free(&choice);
	places_free(&places);
	free(v);
	return ok;
}

/* So many of them that can be had together. Where no victims are needed there will be room by
 * itself. *failed: the first that could not be had beside those before it; n: none. */
static bool take_offers(
        struct search *s, const struct offer *offers, size_t n, uint32_t nodes, size_t *failed)
{
	struct places *places = &s->out->entry.places;
	struct need need;
	bool found;
	size_t i;

	*failed = n;
	places->type = s->want->find.type;
	for (i = 0; i < n && places->n < nodes; i++) {
		struct plan_part part = plan_part(s->scene->plan, s->want, offers[i].node);
		struct place place = plan_place(s->scene->plan, s->want, offers[i].node, &part);
		struct cost cost;

		if (make_room(s, offers[i].node, &cost)) {
			add_victims(s);
			places_add(places, &place);
			continue;
		}
		*failed = *failed < n ? *failed : i;
		if (offers[i].required)
			break;
	}
	decide_need_of(s->scene, &s->want->ask, places, &need);
	found = places->n == nodes && s->out->n &&
	        gates_check(s->scene->gates, s->who->path, &need, NULL);
	imagine_no_more(s);
	return found;
}

#define MAX_ORDERS 4 /* of offers, in which they are tried */

/* Who has least to choose from chooses first. */
static bool take_some(struct search *s, struct offer *offers, size_t n, uint32_t nodes)
{
	unsigned tries;
	size_t failed;

	for (tries = 0; tries < MAX_ORDERS; tries++) {
		struct offer first;

		preemption_clear(s->out);
		if (take_offers(s, offers, n, nodes, &failed))
			return true;
		if (failed == n)
			return false;
		first = offers[failed];
		memmove(&offers[1], &offers[0], failed * sizeof(*offers));
		offers[0] = first;
	}
	return false;
}

bool preempt_find(const struct scene *sc, const struct contender *who, const struct plan_want *want,
        struct preemption *out)
{
	const struct conf_partition *p = &sc->conf->partitions[want->partition];
	struct search s = { .scene = sc, .who = who, .retry = INT64_MAX, .out = out };
	struct offer *offers = xcalloc(p->n_nodes, sizeof(*offers));
	struct request shape;
	struct plan_want even = plan_equal_parts(want, want->ask.gpus->nodes_min, &shape);
	uint32_t nodes = shape.nodes_min;
	struct share share;
	bool found, anyway;
	size_t n, i;

	memset(out, 0, sizeof(*out));
	n = sc->conf->n_accounts * sc->conf->n_gpu_types;
	s.over = xcalloc(n ? n : 1, sizeof(*s.over));
	for (i = 0; i < n; i++)
		s.over[i] = -1;
	s.want = &even;
	s.start = sc->now.mono + preempt_delay(sc->conf);
	request_share(want->ask.gpus, sc->conf, want->find.type, &share);
	s.milli = share.charge ? share.charge : CARD_MILLI;
	s.milli *= shape.n ? shape.v[want->find.alternative].count : 0;
	if (shape.per_node)
		s.milli *= nodes;
	anyway = total_anyway(&s, want);
	n = anyway ? 0 : find_offers(&s, p, offers);
	found = n >= nodes && take_some(&s, offers, n, nodes);
	if (anyway || (n >= nodes && out->entry.places.n == nodes && !out->n))
		s.retry = s.start < s.retry ? s.start : s.retry; /* or it should have been */
	if (found && nodes > 1)
		spare(&s);
	found = found && all_owe(&s);
	free(s.gone);
	free(s.over);
	plan_trim(want, &out->entry.places);
	out->entry.start = s.start;
	out->entry.end = want->length >= PLAN_FAR ? PLAN_FAR * 2 : s.start + want->length;
	out->entry.places.type = want->find.type;
	out->entry.places.alternative = want->find.alternative;
	out->entry.claim = true;
	out->retry = s.retry;
	free(offers);
	return found;
}
