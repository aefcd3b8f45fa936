/* plan_find.c - plan.h: where and when a job could start, searched in steps
 *
 * For one node: nodes are looked at in the order in which they have so many GPUs free, until no
 * later one can be better. For gangs see plan_gang.c.
 *
 * The search visits nodes in the order of plan_node_order.c, so the first ones are the earliest by
 * runs alone; what is planned on them can only make them later. It ends when the next node of the
 * order could not be earlier than the best one found. Of nodes that are equally early up to
 * PLAN_EQUAL are compared, and the one with the least to spare is taken; the bounds keep a step
 * short where thousands of nodes are alike.
 *
 * Invariant of a search on one node: of the nodes walked so far, `where` could start the job at
 * `best`, and none of them earlier; of those that could at that time, it has the least to spare
 * (`best_left`). If a node that was walked changes, only the chosen one is looked at again
 * (take_one()).
 */
#include "ctld/core/plan/plan_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

struct plan_search *plan_search_new(void)
{
	struct plan_search *ps = xcalloc(1, sizeof(*ps));

	ps->where = UINT32_MAX;
	return ps;
}

static void clear(struct plan_search *ps)
{
	soonest_walk_free(&ps->walk);
	plan_gang_free(ps->gang);
	*ps = (struct plan_search){ .where = UINT32_MAX };
}

void plan_search_free(struct plan_search *ps)
{
	if (!ps)
		return;
	clear(ps);
	free(ps);
}

usec_t plan_latest_of_use(const struct plan_want *w)
{
	return w->before ? w->before - 1 : INT64_MAX;
}

/* What the node has in all, so that small nodes are taken first; a preferred node comes before all
 * that are not. */
static int64_t dislike(const struct plan *p, const struct plan_want *w, uint32_t node)
{
	return plan_offers(p, w->find.type, node) -
	       (request_prefers(w->ask.gpus, node) ? (int64_t)1 << 40 : 0);
}

/* --- on one node ----------------------------------------------------------------------------- */

/* Can no node that has its GPUs free at `when` or later be better than what was found? */
static bool is_best(const struct plan *p, const struct plan_want *w, const struct order *o,
        const struct plan_search *ps, usec_t when)
{
	return ps->best <= (when > p->now ? when : p->now) && ps->best_left <= o->least &&
	       !w->ask.gpus->preferred;
}

/* Keep the node if it is better than those before it. */
static void compare(
        struct plan *p, const struct plan_want *w, struct plan_search *ps, uint32_t node)
{
	usec_t start;
	int64_t left;

	if (!plan_may_use(p, w, node))
		return;
	start = plan_node_earliest(p, w, node);
	ps->late += w->before && start >= w->before;
	if (start > ps->best || start == INT64_MAX)
		return;
	left = dislike(p, w, node);
	ps->equal = start < ps->best ? 0 : ps->equal + 1;
	if (start < ps->best || left < ps->best_left || ps->where == UINT32_MAX) {
		ps->best = start;
		ps->best_left = left;
		ps->where = node;
	}
}

/* Look at nodes until none that is left can be better. False: there is more to do than this step
 * may. */
static bool seen_enough(struct plan *p, const struct plan_want *w, struct plan_search *ps,
        const struct order *o, size_t *work)
{
	const struct conf_partition *conf = &p->conf->partitions[w->partition];
	size_t member;
	usec_t when;

	while (*work) {
		if (!soonest_next(o->soonest, &ps->walk, &member, &when) || when > ps->best ||
		        ps->equal >= PLAN_EQUAL || ps->late >= PLAN_LATE_LOOKS ||
		        is_best(p, w, o, ps, when))
			return true;
		plan_pay(work, plan_cost(p, conf->nodes[member]));
		compare(p, w, ps, conf->nodes[member]);
	}
	return false;
}

/* A search of several steps has to look at its node again: if it is not that good any more, the
 * search begins anew. */
static enum plan_step take_one(struct plan *p, const struct plan_want *w, struct plan_search *ps,
        struct reservation *found)
{
	usec_t start = ps->best > p->now ? ps->best : p->now;
	struct plan_part part;
	struct place place;

	if (ps->where == UINT32_MAX)
		return PLAN_NOWHERE;
	if (ps->steps > 1 && (!plan_may_use(p, w, ps->where) ||
	                             plan_node_earliest(p, w, ps->where) > start)) {
		clear(ps); /* it was possible when it was looked at, and is not any more */
		return PLAN_MORE;
	}
	plan_set_found(w, start, found);
	part = plan_part(p, w, ps->where);
	found->places.n = 0;
	place = plan_place(p, w, ps->where, &part);
	places_add(&found->places, &place);
	return PLAN_FOUND;
}

static enum plan_step find_one(struct plan *p, struct plan_search *ps, const struct plan_want *w,
        const struct order *o, size_t *work, struct reservation *found)
{
	if (!ps->begun) {
		ps->best = plan_latest_of_use(w);
		ps->best_left = INT64_MAX;
		soonest_start(o->soonest, &ps->walk);
	}
	ps->begun = true;
	return seen_enough(p, w, ps, o, work) ? take_one(p, w, ps, found) : PLAN_MORE;
}

/* --- either ---------------------------------------------------------------------------------- */

enum plan_step plan_search(struct plan *p, struct plan_search *ps, const struct plan_want *w,
        size_t *work, struct reservation *found)
{
	const struct order *o = plan_order(p, w, work);

	if (!o)
		return PLAN_MORE;
	if (ps->order != o->number)
		clear(ps); /* the order was made again: the walk's position is lost */
	ps->order = o->number;
	ps->steps++;
	if (w->ask.gpus->nodes_max <= 1)
		return find_one(p, ps, w, o, work, found);
	if (!ps->gang) {
		ps->gang = plan_gang_new(p, w);
		soonest_start(o->soonest, &ps->walk);
	}
	return plan_gang_search(p, ps, w, o, work, found);
}

/* All in one call, with the orders that are kept for questions. */
bool plan_find(struct plan *p, const struct plan_want *want, struct reservation *found)
{
	struct plan_search *ps = plan_search_new();
	bool wondering = p->wondering;
	enum plan_step step;

	plan_wonder(p, true);
	do {
		size_t work = SIZE_MAX;

		step = plan_search(p, ps, want, &work, found);
	} while (step == PLAN_MORE);
	plan_wonder(p, wondering);
	plan_search_free(ps);
	return step == PLAN_FOUND;
}

/* --- equal parts of a total ------------------------------------------------------------------ */

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

	if (!r->n || r->per_node || r->exclusive)
		return;
	for (size_t i = 0; i < places->n; i++)
		sum += (uint32_t)__builtin_popcountll(places->v[i].gpus);
	/* By fewer than there are places, and then each place has at least two. */
	for (size_t i = places->n; sum > total && i--; sum--)
		places->v[i].gpus >>= 1;
}
