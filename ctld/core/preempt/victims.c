/* victims.c - see victims.h
 *
 * Phases, each in steps: what is there without victims (for a total), an *offer* of each node,
 * that is the price at which it alone could be had, then taking the cheapest offers together. Only
 * the price is kept between steps; when an offer is taken the node is looked at again, with all
 * victims chosen so far counted as gone. So the victims suffice and may be stopped as things are
 * in the last step.
 *
 * While a step takes offers the victims are released at their limits, so that a reclaim on the
 * next node sees what is still owed; imagine_no_more() undoes that before the step returns. If an
 * offer fails beside those before it, the taking begins again with that one first: it has the
 * least choice. At the end victims that a later choice made unnecessary are spared; and if those
 * that are left take longer to drain than their grace, the places must have room from then on, too.
 *
 * Invariants of a step: `out` has the victims of the offers that are taken, and each of them counts
 * as gone once, on all of its nodes and at all limits; `index` numbers them by job. Between two
 * steps nothing of that is kept: the limits are as before, and the next step takes the offers that
 * have `taken` again.
 */
#include "ctld/core/preempt/victims.h"

#include "ctld/core/preempt/victims_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/place/gang.h"

void preemption_clear(struct preemption *p)
{
	free(p->victims);
	places_free(&p->reservation.places);
	memset(p, 0, sizeof(*p));
}

/* --- the cheapest nodes ---------------------------------------------------------------------- */

struct offer {
	struct cost cost;
	uint32_t node;
	bool required, taken;
};

/* The state of a search between two steps. */
struct victims {
	enum {
		TOTAL, /* nodes that would do for a total without victims */
		OFFERS,
		TAKE,
	} doing;
	size_t at; /* how many nodes, or offers, have been looked at in this phase */
	struct gang_candidate *do_anyway; /* owned, like the offers */
	size_t n_do_anyway;
	struct offer *offers;
	size_t n_offers;
	size_t failed; /* the first offer that could not be taken together with those before it */
	unsigned tries;
	usec_t retry;
	bool everything;
};

struct victims *victims_new(void)
{
	struct victims *v = xcalloc(1, sizeof(*v));

	v->retry = INT64_MAX;
	return v;
}

void victims_ask_everything(struct victims *v)
{
	v->everything = true;
}

void victims_free(struct victims *v)
{
	if (!v)
		return;
	free(v->do_anyway);
	free(v->offers);
	free(v);
}

/* Required nodes first, because without them the rest is of no use; then the cheapest; then by
 * number, so that the result is always the same. */
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

/* From now on the victims count as gone, at their limits too: so on the next node a reclaim checks
 * whether the account is still over quota without them. */
static void add_victims(struct search *s)
{
	struct preemption *out = s->out;

	for (size_t i = 0; i < s->n; i++) {
		const struct run_snapshot *snapshot = s->v[i].snapshot;

		if (!s->v[i].chosen)
			continue;
		if (out->n == out->size) {
			out->size = out->size ? out->size * 2 : 8;
			out->victims = xrealloc(out->victims, out->size, sizeof(*out->victims));
			s->gone = xrealloc(s->gone, out->size, sizeof(*s->gone));
		}
		s->gone[out->n] = (struct gone){ snapshot->chain, snapshot->need, snapshot->account,
			snapshot->drain_s };
		idmap_insert(s->index, snapshot->job, (void *)(uintptr_t)(out->n + 1));
		out->victims[out->n++] = (struct preempt_victim){ snapshot->job, s->v[i].reason };
		if (snapshot->chain)
			limits_release(s->view->limits, snapshot->chain, snapshot->need);
	}
	s->n = 0;
}

static void forget_victims(struct search *s)
{
	preemption_clear(s->out);
	idmap_free(s->index);
	s->index = idmap_new();
}

/* Undo it: the victims hold their limits again. */
static void imagine_no_more(struct search *s)
{
	for (size_t i = 0; i < s->out->n; i++) {
		if (s->gone[i].chain)
			limits_take(s->view->limits, s->gone[i].chain, s->gone[i].need);
	}
}

/* Is each account that must give back still over quota when the victims of other reasons are gone,
 * and those before it? An account that was over quota only by runs that end anyway owes nothing. */
static bool all_owe(struct search *s)
{
	struct limits *limits = s->view->limits;
	struct preemption *out = s->out;
	bool owe = true;

	for (size_t i = 0; i < out->n; i++) {
		if (s->gone[i].chain)
			limits_release(limits, s->gone[i].chain, s->gone[i].need);
	}
	for (size_t i = out->n; i--;) {
		const struct gone *gone = &s->gone[i];

		if (out->victims[i].reason != PREEMPT_RECLAIM || !gone->chain)
			continue;
		limits_take(limits, gone->chain, gone->need);
		owe &= quota_reclaims(limits_quota(limits), s->who->account, gone->account,
		        s->want->find.type, s->milli);
	}
	for (size_t i = 0; i < out->n; i++) {
		if (out->victims[i].reason != PREEMPT_RECLAIM && s->gone[i].chain)
			limits_take(limits, s->gone[i].chain, s->gone[i].need);
	}
	return owe;
}

/* A victim that runs on one of the places. */
struct stay {
	size_t number;
	uint32_t node;
};

static int last_first(const void *x, const void *y)
{
	const struct stay *a = x, *b = y;

	return a->number > b->number ? -1 : a->number < b->number;
}

/* The victims on each of the places, in the order in which they are to be checked for being
 * needless: the last chosen first. */
static struct stay *find_stays(struct search *s, size_t *n)
{
	const struct places *places = &s->out->reservation.places;
	struct stay *v = NULL;
	size_t size = 0, i, k;

	*n = 0;
	for (i = 0; i < places->n; i++) {
		victims_look_at(s, places->v[i].node);
		for (k = 0; k < s->here.n; k++) {
			size_t number = victims_number(s, s->here.v[k].job);

			if (!number)
				continue;
			*XADD(v, *n, size) = (struct stay){ number, places->v[i].node };
		}
	}
	if (*n)
		qsort(v, *n, sizeof(*v), last_first);
	return v;
}

/* A victim without a reason has been spared. */
static void drop_spared(struct search *s)
{
	struct preemption *out = s->out;
	size_t i, n = 0;

	for (i = 0; i < out->n; i++) {
		if (out->victims[i].reason == PREEMPT_NOT)
			continue;
		out->victims[n] = out->victims[i];
		s->gone[n++] = s->gone[i];
	}
	out->n = n;
}

/* A gang that must end for one node leaves others too; a victim that this makes unnecessary is
 * spared. Nodes are ordered by cost, the cheapest first, and so are the victims of each: the last
 * ones are checked first. */
static void spare(struct search *s)
{
	struct plan_room room;
	struct plan_part part;
	size_t n, i, end;
	struct stay *v = find_stays(s, &n);

	for (i = 0; i < n; i = end) {
		struct preempt_victim *victim = &s->out->victims[v[i].number - 1];
		bool needed = false;

		for (end = i; end < n && v[end].number == v[i].number; end++)
			needed = needed || !victims_met(s, v[end].node, victim->job, &room, &part);
		if (needed)
			continue;
		victim->reason = PREEMPT_NOT;
		idmap_remove(s->index, victim->job);
	}
	free(v);
	drop_spared(s);
}

/* The reservation begins when the last victim has drained. Is there room for all of it from then on
 * as well? What is planned may begin in between. */
static bool holds_once_drained(struct search *s)
{
	const struct places *places = &s->out->reservation.places;
	usec_t drained = victims_drained(s);
	struct plan_room room;
	struct plan_part part;
	bool holds = true;

	if (drained == s->start)
		return true;
	s->start = drained;
	for (size_t i = 0; holds && i < places->n; i++)
		holds = victims_met(s, places->v[i].node, 0, &room, &part);
	if (!holds && drained < s->retry)
		s->retry = drained; /* as for one node */
	return holds;
}

/* --- step by step ---------------------------------------------------------------------------- */

/* Looking at a node costs 1, and 1 more for each eight of its runs. */
static void pay(const struct search *s, uint32_t node, size_t *work)
{
	size_t runs, cost;

	plan_snapshots(s->view->plan, node, &runs);
	cost = 1 + runs / 8;
	*work -= *work < cost ? *work : cost;
}

/* The next node to be looked at; NULL: all have been, or the work of this step is used up. */
static const uint32_t *next_node(struct search *s, struct victims *v, size_t *work)
{
	const struct conf_partition *p = &s->view->conf->partitions[s->want->partition];

	if (v->at == p->n_nodes || !*work)
		return NULL;
	pay(s, p->nodes[v->at], work);
	return &p->nodes[v->at++];
}

static bool all_seen(const struct search *s, const struct victims *v)
{
	return v->at == s->view->conf->partitions[s->want->partition].n_nodes;
}

/* A total on several nodes need not be split into equal parts. */
static bool parts_may_differ(const struct plan_want *want)
{
	const struct request *r = want->ask.gpus;

	return r->n && !r->per_node && r->nodes_max > 1;
}

/* Collect the nodes that have something for the total by then without victims. */
static void look_for_total(
        struct search *s, struct victims *v, const struct plan_want *total, size_t *work)
{
	const struct request *r = total->ask.gpus;
	const struct conf_partition *p = &s->view->conf->partitions[total->partition];
	const struct plan_want *even = s->want;
	const uint32_t *node;
	struct plan_room room;
	struct plan_part part;

	if (!v->do_anyway)
		v->do_anyway = xcalloc(p->n_nodes, sizeof(*v->do_anyway));
	s->want = total;
	while ((node = next_node(s, v, work))) {
		if (!plan_may_use(s->view->plan, total, *node) ||
		        !victims_met(s, *node, 0, &room, &part))
			continue;
		v->do_anyway[v->n_do_anyway++] = (struct gang_candidate){ .node = *node,
			.leaf = s->view->conf->nodes[*node].leaf,
			.gpus = (uint32_t)room.gpus,
			.required = request_requires(r, *node),
			.preferred = request_prefers(r, *node) };
	}
	s->want = even;
}

/* Is the total there on some of them together? */
static bool total_anyway(struct search *s, const struct victims *v, const struct plan_want *total)
{
	struct gang_choice choice = { 0 };
	struct places places = { .type = total->find.type };
	struct need need;
	bool ok;

	ok = gang_choose(total->ask.gpus, total->find.alternative, total->find.spread, v->do_anyway,
	        v->n_do_anyway, &choice);
	for (size_t i = 0; i < choice.n; i++) {
		struct plan_part part = plan_part(s->view->plan, total, choice.v[i].node);
		struct place place;

		part.gpus = choice.v[i].gpus;
		place = plan_place(s->view->plan, total, choice.v[i].node, &part);
		places_add(&places, &place);
	}
	need_of_places(s->view, &total->ask, &places, &need);
	ok = ok && limits_check(s->view->limits, s->who->chain, &need, NULL);
	gang_choice_free(&choice);
	places_free(&places);
	return ok;
}

/* What each node would cost by itself. */
static void look_for_offers(struct search *s, struct victims *v, size_t *work)
{
	const uint32_t *node;
	struct cost cost;

	if (!v->offers)
		v->offers = xcalloc(
		        s->view->conf->partitions[s->want->partition].n_nodes, sizeof(*v->offers));
	while ((node = next_node(s, v, work))) {
		if (victims_make_room(s, *node, &cost))
			v->offers[v->n_offers++] = (struct offer){ .cost = cost,
				.node = *node,
				.required = request_requires(s->want->ask.gpus, *node) };
	}
}

/* Take the first offers that can be had together, as many as are wanted: first again those that
 * earlier steps took, then the next ones. False: there are more to look at, in another step. */
static bool take_offers(struct search *s, struct victims *v, uint32_t wanted, size_t *work)
{
	struct places *places = &s->out->reservation.places;

	places->type = s->want->find.type;
	for (size_t i = 0; i < v->n_offers && places->n < wanted; i++) {
		struct offer *o = &v->offers[i];
		struct plan_part part;
		struct place place;
		struct cost cost;

		if (i < v->at && !o->taken)
			continue;
		if (i == v->at) {
			if (!*work)
				return false;
			pay(s, o->node, work);
			v->at++;
		}
		part = plan_part(s->view->plan, s->want, o->node);
		o->taken = victims_make_room(s, o->node, &cost);
		part.gpus = o->taken ? victims_gpus(s, &part) : part.gpus;
		place = plan_place(s->view->plan, s->want, o->node, &part);
		if (o->taken) {
			add_victims(s);
			places_add(places, &place);
			continue;
		}
		v->failed = i < v->failed ? i : v->failed;
		if (o->required)
			break;
	}
	return true;
}

#define MAX_ORDERS 4 /* of the offers: how many are tried */

/* Put the offer that failed first: it has the least choice of victims. */
static void take_failed_first(struct victims *v)
{
	struct offer first = v->offers[v->failed];

	memmove(&v->offers[1], &v->offers[0], v->failed * sizeof(*v->offers));
	v->offers[0] = first;
	for (size_t i = 0; i < v->n_offers; i++)
		v->offers[i].taken = false;
	v->at = 0;
	v->failed = v->n_offers;
}

/* One order of the offers after another, at most MAX_ORDERS: a full search would be exponential in
 * the nodes. If no victims are needed, there will be room without any. */
static enum victims_step take_some(
        struct search *s, struct victims *v, uint32_t wanted, size_t *work)
{
	struct preemption *out = s->out;
	struct need need;
	bool all, found;

	for (;;) {
		all = take_offers(s, v, wanted, work);
		need_of_places(s->view, &s->want->ask, &out->reservation.places, &need);
		found = all && out->reservation.places.n == wanted && out->n &&
		        limits_check(s->view->limits, s->who->chain, &need, NULL);
		imagine_no_more(s);
		if (!all || found)
			return found ? VICTIMS_FOUND : VICTIMS_MORE;
		if (v->failed == v->n_offers || ++v->tries == MAX_ORDERS)
			return VICTIMS_NONE;
		take_failed_first(v);
		forget_victims(s);
	}
}

/* All nodes have been looked at: begin with the cheapest. */
static void begin_to_take(struct victims *v)
{
	if (v->n_offers)
		qsort(v->offers, v->n_offers, sizeof(*v->offers), by_offer);
	v->doing = TAKE;
	v->at = 0;
	v->failed = v->n_offers;
}

/* Go through the phases, as far as this step comes. */
static enum victims_step go_on(struct search *s, struct victims *v, const struct plan_want *total,
        uint32_t wanted, size_t *work)
{
	struct preemption *out = s->out;
	enum victims_step step = VICTIMS_NONE;

	if (v->doing == TOTAL && parts_may_differ(total)) {
		look_for_total(s, v, total, work);
		if (!all_seen(s, v))
			return VICTIMS_MORE;
		if (total_anyway(s, v, total)) {
			s->retry = s->start; /* or it should have been there already */
			return VICTIMS_NONE;
		}
		v->at = 0;
	}
	if (v->doing != TAKE) {
		v->doing = OFFERS;
		look_for_offers(s, v, work);
		if (!all_seen(s, v))
			return VICTIMS_MORE;
		begin_to_take(v);
	}
	if (v->n_offers >= wanted)
		step = take_some(s, v, wanted, work);
	if (step == VICTIMS_NONE && out->reservation.places.n == wanted && !out->n)
		s->retry = s->start < s->retry ? s->start : s->retry;
	if (step != VICTIMS_FOUND)
		return step;
	if (wanted > 1)
		spare(s);
	return all_owe(s) && holds_once_drained(s) ? VICTIMS_FOUND : VICTIMS_NONE;
}

/* A gang is searched for in equal parts on its fewest nodes: with victims a total is not split in
 * other ways. The reservation begins when the longest grace of all partitions has passed, and all
 * replicas among the victims may have drained. */
enum victims_step victims_step(struct victims *v, const struct sched_view *view,
        const struct candidate *who, const struct plan_want *want, size_t *work,
        struct preemption *out)
{
	struct request shape;
	struct plan_want even = plan_equal_parts(want, want->ask.gpus->nodes_min, &shape);
	struct search s = { .view = view,
		.who = who,
		.want = &even,
		.everything = v->everything,
		.retry = INT64_MAX,
		.out = out };
	enum victims_step step;
	struct share share;

	memset(out, 0, sizeof(*out));
	s.index = idmap_new();
	s.start = view->now.mono + preempt_delay(view->conf);
	ledger_share_of(view->ledger, want->ask.gpus, want->find.type, &share);
	s.milli = share.charge ? share.charge : GPU_MILLI;
	s.milli *= shape.n ? shape.v[want->find.alternative].count : 0;
	if (shape.per_node)
		s.milli *= shape.nodes_min;
	need_at_least(view, &even.ask, even.find.alternative, even.find.type, &s.need);
	step = go_on(&s, v, want, shape.nodes_min, work);
	idmap_free(s.index);
	free(s.gone);
	free(s.here.gone);
	free(s.v);
	plan_trim(want, &out->reservation.places);
	out->reservation.start = s.start;
	out->reservation.end = want->length >= PLAN_FAR ? PLAN_FAR * 2 : s.start + want->length;
	out->reservation.places.type = want->find.type;
	out->reservation.places.alternative = want->find.alternative;
	out->reservation.preempts = true;
	v->retry = s.retry < v->retry ? s.retry : v->retry;
	out->retry = v->retry;
	return step;
}
