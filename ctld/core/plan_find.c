/* plan_find.c - plan.h: where and when something could start */
#include "ctld/core/plan_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"

#define MAX_POINTS 64  /* moments that are tried for a gang */
#define MAX_EQUAL  64  /* nodes that are compared when all are equally early */
#define MAX_LATE   256 /* nodes that are looked at and would be too late to be of use */
#define MAX_SPLITS 8   /* numbers of nodes that equal parts are tried on */
#define PER_GPU    ((int64_t)65536) /* CPUs: more than a node has */

/* --- nodes by when they have room ------------------------------------------------------------ */

static int by_time(const void *x, const void *y)
{
	const usec_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* When so many GPUs of the kind are free on the node: entries, CPUs, memory and whose runs share
 * them may make it later. */
static usec_t free_at(struct plan *p, uint32_t node, const struct plan_kind *kind, uint32_t gpus)
{
	const struct spot *s = plan_spot(p, node);
	usec_t when[CONF_MAX_GPUS_PER_NODE];
	struct plan_room now;
	int64_t have;
	uint32_t i, n;

	if (!ledger_accepts(p->ledger, node))
		return SOONEST_NEVER;
	plan_room_now(p, node, kind, &now);
	have = kind->type == TYPE_NONE ? now.cpus > 0 : now.gpus;
	if (have >= (kind->type == TYPE_NONE ? 1 : (int64_t)gpus))
		return INT64_MIN;
	if (kind->type != TYPE_NONE && (s->shared || share_wished(&kind->wish))) {
		n = plan_cards_when(p, node, kind, when);
		if (have + n < gpus)
			return SOONEST_NEVER;
		qsort(when, n, sizeof(*when), by_time);
		return when[gpus - have - 1];
	}
	for (i = 0; i < s->n; i++) {
		have += s->releases[i].type == kind->type ? s->releases[i].gpus : 0;
		if (kind->type == TYPE_NONE || have >= (int64_t)gpus)
			return s->releases[i].end;
	}
	return SOONEST_NEVER;
}

static void update_order(struct plan *p, const struct order *o, uint32_t node)
{
	const struct conf_partition *conf = &p->conf->partitions[o->partition];
	size_t low = 0, high = conf->n_nodes;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (conf->nodes[mid] < node)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < conf->n_nodes && conf->nodes[low] == node)
		soonest_set(o->soonest, low, free_at(p, node, &o->kind, o->gpus));
}

/* Of those that are equally early, the one that has the least to offer. */
static int64_t offers(const struct plan *p, uint16_t type, uint32_t node)
{
	return __builtin_popcountll(ledger_gpus_of(p->ledger, node, type)) * PER_GPU +
	       ledger_cpus(p->ledger, node);
}

static int64_t dislike(const struct plan *p, const struct plan_want *w, uint32_t node)
{
	return offers(p, w->find.type, node) -
	       (request_prefers(w->ask.gpus, node) ? (int64_t)1 << 40 : 0);
}

/* What has changed on nodes, to all orders. */
static void update_orders(struct plan *p)
{
	size_t i, k;

	for (i = 0; i < p->n_changed; i++) {
		for (k = 0; k < p->n_orders; k++)
			update_order(p, &p->orders[k], p->changed[i]);
		p->spots[p->changed[i]].changed = false;
	}
	p->n_changed = 0;
}

/* The one that was asked for longest ago. */
static void drop_order(struct plan *p)
{
	struct order *oldest = &p->orders[0];
	size_t k;

	for (k = 1; k < p->n_orders; k++)
		oldest = p->orders[k].used < oldest->used ? &p->orders[k] : oldest;
	p->ordered -= p->conf->partitions[oldest->partition].n_nodes;
	soonest_free(oldest->soonest);
	*oldest = p->orders[--p->n_orders];
}

static struct order *make_order(
        struct plan *p, uint32_t partition, const struct plan_kind *kind, uint32_t gpus)
{
	const struct conf_partition *conf = &p->conf->partitions[partition];
	struct order *o;
	size_t i;

	while (p->n_orders == MAX_ORDERS ||
	        (p->n_orders >= MIN_ORDERS && p->ordered + conf->n_nodes > MAX_ORDERED))
		drop_order(p);
	p->orders = xrealloc(p->orders, p->n_orders + 1, sizeof(*p->orders));
	o = &p->orders[p->n_orders++];
	p->ordered += conf->n_nodes;
	*o = (struct order){ .partition = partition,
		.gpus = gpus,
		.kind = *kind,
		.least = INT64_MAX,
		.soonest = soonest_new(conf->n_nodes) };
	for (i = 0; i < conf->n_nodes; i++) {
		uint32_t node = conf->nodes[i];
		int64_t offer = offers(p, kind->type, node);

		soonest_set(o->soonest, i, free_at(p, node, kind, gpus));
		if (offer / PER_GPU >= gpus && offer < o->least)
			o->least = offer;
	}
	return o;
}

/* Good until another one is asked for. */
static const struct order *order_for(struct plan *p, const struct plan_want *w)
{
	uint32_t gpus = w->ask.gpus->n ? request_part_gpus(w->ask.gpus, w->find.alternative) : 0;
	struct plan_kind kind = plan_kind(w);
	struct order *o = NULL;
	size_t k;

	kind.wish.user = 0;
	update_orders(p);
	for (k = 0; k < p->n_orders && !o; k++) {
		if (p->orders[k].partition == w->partition && p->orders[k].gpus == gpus &&
		        plan_same_kind(&p->orders[k].kind, &kind))
			o = &p->orders[k];
	}
	if (!o)
		o = make_order(p, w->partition, &kind, gpus);
	o->used = ++p->order_uses;
	return o;
}

static usec_t latest_of_use(const struct plan_want *w)
{
	return w->before ? w->before - 1 : INT64_MAX;
}

/* Nobody who has so many GPUs free at `when` or later is better than what was found? */
static bool is_best(const struct plan *p, const struct plan_want *w, const struct order *o,
        usec_t when, usec_t best, int64_t best_left)
{
	return best <= (when > p->now ? when : p->now) && best_left <= o->least &&
	       !w->ask.gpus->preferred;
}

static bool find_one(struct plan *p, const struct plan_want *w, struct plan_entry *found)
{
	const struct conf_partition *conf = &p->conf->partitions[w->partition];
	const struct order *order = order_for(p, w);
	usec_t best = latest_of_use(w), when;
	int64_t best_left = INT64_MAX;
	uint32_t where = UINT32_MAX, equal = 0, late = 0;
	struct plan_part part;
	struct place place;
	size_t member;

	soonest_start(order->soonest);
	while (soonest_next(order->soonest, &member, &when) && when <= best && equal < MAX_EQUAL &&
	        late < MAX_LATE && !is_best(p, w, order, when, best, best_left)) {
		uint32_t node = conf->nodes[member];
		usec_t start;
		int64_t left;

		if (!plan_may_use(p, w, node))
			continue;
		start = plan_node_earliest(p, w, node);
		late += w->before && start >= w->before;
		if (start > best || start == INT64_MAX)
			continue;
		left = dislike(p, w, node);
		equal = start < best ? 0 : equal + 1;
		if (start < best || left < best_left || where == UINT32_MAX) {
			best = start;
			best_left = left;
			where = node;
		}
	}
	if (where == UINT32_MAX)
		return false;
	plan_set_found(w, best, found);
	part = plan_part(p, w, where);
	found->places.n = 0;
	place = plan_place(p, w, where, &part);
	places_add(&found->places, &place);
	return true;
}

static int by_start(const void *x, const void *y)
{
	const struct moment *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* All nodes that could give their part from `start` on; then who of them. */
static bool gang_at(
        struct plan *p, const struct plan_want *w, size_t n, usec_t start, struct plan_entry *found)
{
	const struct request *r = w->ask.gpus;
	const struct plan_kind kind = plan_kind(w);
	struct gang_choice choice = { 0 };
	size_t i, k = 0;
	bool ok;

	for (i = 0; i < n && p->moments[i].start <= start; i++) {
		uint32_t node = p->moments[i].node;
		struct plan_part part = plan_part(p, w, node);
		struct plan_room room;

		plan_room(p, node, &kind, start, plan_end_of(start, w->length), w->key, w->polite,
		        &room);
		if (!plan_room_holds(&room, &part))
			continue;
		p->candidates[k++] = (struct gang_candidate){
			.node = node,
			.leaf = p->conf->nodes[node].leaf,
			.gpus = (uint32_t)(room.gpus < 0 ? 0 : room.gpus),
			.required = request_requires(r, node),
			.preferred = request_prefers(r, node),
			.cpus_left = (uint32_t)(room.cpus - part.cpus),
		};
	}
	ok = gang_choose(r, w->find.alternative, w->find.spread, p->candidates, k, &choice);
	if (ok) {
		plan_set_found(w, start, found);
		found->places.n = 0;
		for (i = 0; i < choice.n; i++) {
			struct plan_part part = plan_part(p, w, choice.v[i].node);
			struct place place;

			if (!r->exclusive && !r->link)
				part.gpus = choice.v[i].gpus;
			place = plan_place(p, w, choice.v[i].node, &part);
			places_add(&found->places, &place);
		}
	}
	gang_choice_free(&choice);
	return ok;
}

/* The soonest nodes, more and more of them, until some of them can do it together. */
static bool find_gang(struct plan *p, const struct plan_want *w, struct plan_entry *found)
{
	const struct conf_partition *conf = &p->conf->partitions[w->partition];
	struct soonest *order = order_for(p, w)->soonest;
	uint32_t least = w->ask.gpus->nodes_min;
	size_t n = 0, member, tried = 0;
	usec_t when, latest = INT64_MIN, at;

	soonest_start(order);
	while (soonest_next(order, &member, &when) && when <= latest_of_use(w)) {
		at = latest > p->now ? latest : p->now;
		/* All that could be there by then are known. */
		if (n >= least && when > at && tried < MAX_POINTS) {
			qsort(p->moments, n, sizeof(*p->moments), by_start);
			if (gang_at(p, w, n, at, found))
				return true;
			tried++;
		}
		if (!plan_may_use(p, w, conf->nodes[member]))
			continue;
		at = plan_node_earliest(p, w, conf->nodes[member]);
		if (at == INT64_MAX || at > latest_of_use(w))
			continue;
		p->moments[n++] = (struct moment){ at, conf->nodes[member] };
		latest = at > latest ? at : latest;
	}
	if (n < least)
		return false;
	qsort(p->moments, n, sizeof(*p->moments), by_start);
	at = latest > p->now ? latest : p->now;
	/* At the last resort when all that runs and all that is planned has ended. */
	return gang_at(p, w, n, at, found) ||
	       (latest_of_use(w) >= PLAN_FAR * 2 && gang_at(p, w, n, PLAN_FAR * 2, found));
}

struct plan_want plan_equal_parts(
        const struct plan_want *want, uint32_t nodes, struct request *shape)
{
	struct plan_want equal = *want;
	uint32_t a = want->find.alternative;

	*shape = *want->ask.gpus;
	if (shape->n && !shape->per_node && shape->nodes_max > 1) {
		shape->v[a].count = (shape->v[a].count + nodes - 1) / nodes;
		shape->per_node = true;
		shape->nodes_min = shape->nodes_max = nodes;
	}
	equal.ask.gpus = shape;
	return equal;
}

void plan_trim(const struct plan_want *want, struct places *places)
{
	const struct request *r = want->ask.gpus;
	uint32_t sum = 0, total = r->n ? r->v[want->find.alternative].count : 0;
	size_t i;

	if (!r->n || r->per_node || r->exclusive)
		return;
	for (i = 0; i < places->n; i++)
		sum += (uint32_t)__builtin_popcountll(places->v[i].gpus);
	/* Fewer than there are places, and then each has two or more. */
	for (i = places->n; sum > total && i--; sum--)
		places->v[i].gpus >>= 1;
}

/* A node that can give something now may be able to give enough only later: where the parts may
 * differ, the first moments of the nodes are not all there are. Equal parts on few nodes have
 * theirs among them. */
static bool find_equal(struct plan *p, const struct plan_want *w, struct plan_entry *found)
{
	const struct request *r = w->ask.gpus;
	uint32_t n;

	for (n = r->nodes_min; n <= r->nodes_max && n < r->nodes_min + MAX_SPLITS; n++) {
		struct request shape;
		struct plan_want equal = plan_equal_parts(w, n, &shape);

		if ((n > 1 ? find_gang(p, &equal, found) : find_one(p, &equal, found)) &&
		        found->start < PLAN_FAR) {
			plan_trim(w, &found->places);
			return true;
		}
	}
	return false;
}

bool plan_find(struct plan *p, const struct plan_want *want, struct plan_entry *found)
{
	const struct request *r = want->ask.gpus;
	struct plan_entry equal = { .start = INT64_MAX };
	struct places places;
	bool ok;

	if (r->nodes_max <= 1)
		return find_one(p, want, found);
	ok = find_gang(p, want, found);
	if (!r->n || r->per_node || (ok && found->start <= p->now))
		return ok;
	if (find_equal(p, want, &equal) && (!ok || equal.start < found->start)) {
		places = found->places;
		found->places = equal.places;
		equal.places = places;
		found->start = equal.start;
		found->end = equal.end;
		ok = true;
	}
	places_free(&equal.places);
	return ok;
}
