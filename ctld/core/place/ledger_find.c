/* ledger_find.c - where a request fits; see ledger.h
 *
 * A search for one node asks, for each GPU type that will do, the buckets of the set for their best
 * node (nodes_by_free_gpus.h), and takes the best of these. What a request says of nodes beyond
 * numbers (links, exclusive, preferred nodes, reserved nodes) is a test that the buckets call for
 * each node that they would return, so a request without these costs O(log n). Preferred nodes are
 * tried first, alone. Where GPUs are shared, the place with the least fragmentation is taken
 * instead (ledger_shared_gpus.c).
 *
 * A search for a gang first asks the buckets whether there could be enough, in O(1). Then it lists
 * every node that could give a part, with what it could give, and gang_choose() decides.
 *
 * Up to there only the number of GPUs is decided. The GPUs themselves are chosen at the end:
 * draw_close() for whole GPUs, mig_pack() for MIG instances.
 */
#include "ctld/core/place/ledger_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* --- fitting --------------------------------------------------------------------------------- */

static bool empty(const struct record *r)
{
	return !r->used && !r->cpus_used && !r->mem_used;
}

/* Has the node a part among these GPUs with the requested links? A node whose agent has not
 * reported yet may have one. */
static bool has_links(const struct ledger *l, uint32_t node, const struct request *r, uint32_t a,
        uint64_t gpus, bool now)
{
	const struct record *rec = &l->nodes[node];

	if (!r->link || (!now && !rec->near && !rec->near_told))
		return true;
	return closest_has(
	        rec->near, gpus, request_part_gpus(r, a), near_link_least(r->link));
}

/* Can GPUs of `type` (TYPE_ANY: of one type) of that node be a part of alternative `a`: now, or if
 * it were empty? */
static bool has_part(const struct ledger *l, uint32_t node, const struct ask *ask, uint32_t a,
        uint16_t type, bool now)
{
	const struct request *r = ask->gpus;
	const struct share_wish wish = ask_share(ask);
	const struct conf_node *conf = l->nodes[node].conf;
	uint32_t part = request_part_gpus(r, a);
	struct share share;

	if (!r->n)
		return type == TYPE_ANY || type == TYPE_NONE;
	for (size_t i = 0; i < conf->n_gpus; i++) {
		uint16_t this = conf->gpus[i].type;
		uint64_t gpus;

		if ((type != TYPE_ANY && type != this) || !request_type_ok(r, l->conf, a, this))
			continue;
		if (!ledger_share(l, node, this, &wish, &share) &&
		        (now || !shares_unknown(l, node, this)))
			continue;
		gpus = now ? ledger_gpus_for(l, node, this, &wish) : ledger_gpus_of(l, node, this);
		if (mask_count(gpus) >= part && has_links(l, node, r, a, gpus, now))
			return true;
	}
	return false;
}

bool ledger_fits_part(const struct ledger *l, uint32_t node, const struct ask *ask, uint32_t a)
{
	const struct record *r = &l->nodes[node];

	return r->accept && record_cpus_free(r) >= ask->cpus && record_mem_free(r) >= ask->mem_mb &&
	       (!ask->gpus->exclusive || empty(r)) && ledger_opens(l, node, ask->gpus) &&
	       has_part(l, node, ask, a, TYPE_ANY, true);
}

bool ledger_could_fit_part(
        const struct ledger *l, uint32_t node, const struct ask *ask, uint32_t a, uint16_t type)
{
	const struct record *r = &l->nodes[node];

	return (!r->cpus || r->cpus >= ask->cpus) && (!r->mem || r->mem >= ask->mem_mb) &&
	       ledger_allows(l, node, ask->gpus) && has_part(l, node, ask, a, type, false);
}

/* --- finding --------------------------------------------------------------------------------- */

void places_add(struct places *p, const struct place *place)
{
	*XADD(p->v, p->n, p->size) = *place;
}

void places_free(struct places *p)
{
	free(p->v);
	*p = (struct places){ 0 };
}

/* The place of one part on that node; an exclusive job gets the whole node. */
static struct place place_at(const struct search *s, uint32_t node, uint32_t gpus)
{
	const struct record *r = &s->l->nodes[node];
	const struct share_wish wish = ask_share(s->ask);
	uint64_t mask = gpus ? ledger_gpus_for(s->l, node, s->type, &wish) : 0;
	struct place place = { .node = node,
		.cpus = s->ask->cpus,
		.mem_mb = s->ask->mem_mb,
		.ports = s->ask->gpus->ports,
		.gpus = mig_pack(r, mask, gpus),
		.type = s->type };

	if (gpus)
		ledger_share(s->l, node, s->type, &wish, &place.share);
	if (!s->ask->gpus->exclusive)
		return place;
	place.cpus = r->cpus;
	place.mem_mb = r->mem;
	place.gpus = mask;
	return place;
}

/* For a chosen place of which only the number of GPUs is known: the whole GPUs that are closest. */
static void draw_close(const struct search *s, struct place *place)
{
	const struct record *r = &s->l->nodes[place->node];

	if (!r->near_matters ||
	        !(ledger_gpus_free(s->l, place->node, place->type) & r->near->known) ||
	        share_wished(&s->ask->gpus->share))
		return;
	place->gpus = closest(
	        r->near, ledger_gpus_free(s->l, place->node, place->type), mask_count(place->gpus));
}

static bool as_large(const struct place *x, const struct place *y)
{
	return x->cpus >= y->cpus && x->mem_mb >= y->mem_mb &&
	       __builtin_popcountll(x->gpus) >= __builtin_popcountll(y->gpus);
}

/* A whole node that a limit refused, and on one node also any other that has at least as much. */
bool find_refuses(const struct find *find, const struct ask *ask, const struct place *whole)
{
	for (size_t i = 0; i < find->n_unfit; i++) {
		if (whole->node == find->unfit[i].node ||
		        (ask->gpus->nodes_max == 1 && as_large(whole, &find->unfit[i])))
			return true;
	}
	return false;
}

static bool empty_and_fit(const struct search *s, uint32_t node)
{
	struct place whole = place_at(s, node, s->gpus);

	return empty(&s->l->nodes[node]) && !find_refuses(s->find, s->ask, &whole);
}

static uint64_t worth(void *arg, uint32_t node);

/* Are the requested links there among the free GPUs? The stored worth contains the answer. */
static bool links_enough(const struct search *s, uint32_t node)
{
	return s->gpus < 2 || closest_worst(worth((void *)s, node)) >=
	                              near_link_least(s->ask->gpus->link);
}

/* Does it ask for more of a node than what nodes_by_free_gpus.h knows? */
static bool asks_node(const struct request *r)
{
	return r->tmp_mb || *r->service;
}

/* In addition to the set of nodes that the request allows. */
bool search_may_use(const struct search *s, uint32_t node)
{
	const struct request *r = s->ask->gpus;

	return (!asks_node(r) || ledger_opens(s->l, node, r)) &&
	       (!r->link || links_enough(s, node)) && (!r->exclusive || empty_and_fit(s, node)) &&
	       (!s->preferred_only || request_prefers(r, node));
}

static bool may_use(void *arg, uint32_t node)
{
	return search_may_use(arg, node);
}

bool search_test(const struct search *s, struct place *place)
{
	const struct share_wish wish = ask_share(s->ask);
	uint64_t gpu_set = place->share.charge ? ledger_gpus_for(s->l, place->node, s->type, &wish)
	                                       : place->gpus;

	return s->find->test(s->find->arg, place, gpu_set);
}

/* What was found there: the closest GPUs; of parts the same as when it was tested. */
static bool place_found(const struct search *s, uint32_t node, uint32_t gpus, struct place *place)
{
	*place = place_at(s, node, gpus);
	draw_close(s, place);
	return !place->share.charge || !s->l->nodes[node].reserved || search_test(s, place);
}

/* The planner's answer about a node with reservations: for the place as it would be taken there. */
static bool may_use_reserved(void *arg, uint32_t node)
{
	const struct search *s = arg;
	struct place place = place_at(s, node, s->gpus);

	return search_test(s, &place);
}

/* Does it matter between nodes how close their free GPUs are? */
static bool near_matters(const struct search *s)
{
	const struct request *r = s->ask->gpus;

	return (s->l->near_kinds[NEAR_MIXED] || s->l->n_near_kinds > 1) && r->n && !r->exclusive && !share_wished(&r->share) &&
	       (r->nodes_max == 1 || r->per_node);
}

/* What the best set of GPUs on that node is worth (closest_gpus.h). Kept with the node for the last
 * numbers of GPUs that were asked for; the node's stamp says whether it is still true. */
static uint64_t worth(void *arg, uint32_t node)
{
	const struct search *s = arg;
	const struct record *r = &s->l->nodes[node];
	uint64_t from = ledger_gpus_free(s->l, node, s->type);
	struct worth *known;

	if (!r->near || s->gpus > mask_count(from))
		return closest_worth(NULL, from, s->gpus);
	known = &r->worths[s->gpus % WORTHS];
	if (known->stamp != r->stamp || known->gpus != s->gpus || known->type != s->type)
		*known = (struct worth){ r->stamp, closest_worth(r->near, from, s->gpus), s->type,
			(uint8_t)s->gpus };
	return known->worth;
}

static struct capacity_want search_want(struct search *s)
{
	const struct request *r = s->ask->gpus;

	return (struct capacity_want){ .type = s->type,
		.gpus = share_wished(&r->share) ? 0 : s->gpus,
		.cpus = s->ask->cpus,
		.mem = s->ask->mem_mb,
		.spread = s->find->spread,
		.only = r->allowed,
		.n_only = r->n_allowed,
		.test = r->exclusive || r->link || asks_node(r) || s->preferred_only ? may_use
		                                                                     : NULL,
		.reserved = s->find->test ? may_use_reserved : NULL,
		.worth = near_matters(s) ? worth : NULL,
		.arg = s };
}

/* The best node; of all types that will do the one with the best. */
static bool find_node(struct search *s, uint32_t set, struct capacity_find *best)
{
	struct capacity_want want = search_want(s);
	struct capacity_find this;
	bool any = false;

	if (s->find->type != TYPE_ANY)
		return capacity_find(s->l->sets[set], &want, best);
	for (size_t t = 0; t < s->l->conf->n_gpu_types; t++) {
		if (!request_type_ok(s->ask->gpus, s->l->conf, s->find->alternative, (uint16_t)t))
			continue;
		want.type = s->type = (uint16_t)t;
		if (!capacity_find(s->l->sets[set], &want, &this) ||
		        (any && !capacity_better(&want, &this, best)))
			continue;
		*best = this;
		any = true;
	}
	return any;
}

/* On nodes whose GPUs may be shared: the place that causes the least fragmentation. */
static bool find_least(struct search *s, uint32_t set, struct places *out)
{
	struct place place;

	s->preferred_only = s->ask->gpus->preferred;
	if (!shares_find(s, set, &place, &out->fragmentation)) {
		if (!s->preferred_only)
			return false;
		s->preferred_only = false;
		if (!shares_find(s, set, &place, &out->fragmentation))
			return false;
	}
	draw_close(s, &place);
	out->n = 0;
	out->type = place.type;
	places_add(out, &place);
	return true;
}

/* A place on one node. The preferred nodes have the first try, then all. */
static bool find_one(struct search *s, uint32_t set, struct places *out)
{
	struct capacity_find found;
	struct place place;

	if (shares_decide(s, set))
		return find_least(s, set, out);
	out->fragmentation = 0;
	s->preferred_only = s->ask->gpus->preferred;
	if (!find_node(s, set, &found)) {
		if (!s->preferred_only)
			return false;
		s->preferred_only = false;
		if (!find_node(s, set, &found))
			return false;
	}
	s->type = found.type;
	if (!place_found(s, found.node, s->gpus, &place))
		return false;
	out->n = 0;
	out->type = found.type;
	places_add(out, &place);
	return true;
}

/* May a part of a gang go there, and how many GPUs could it get? */
static bool offer(const struct search *s, const struct capacity_find *found, uint32_t *gpus)
{
	const struct request *r = s->ask->gpus;
	bool total = r->n && !r->per_node && !r->exclusive;
	uint32_t part = total || r->exclusive ? found->gpus : s->gpus;

	*gpus = found->gpus;
	if (!found->reserved)
		return true;
	if (!s->find->test)
		return false;
	for (;; part--) {
		struct place place = place_at(s, found->node, r->n ? part : 0);

		if (search_test(s, &place))
			break;
		if (!total || part == s->gpus)
			return false;
	}
	if (total)
		*gpus = part;
	return true;
}

/* Fills l->candidates with all nodes of the set that could give the gang a part. */
static size_t find_candidates(struct search *s, uint32_t set)
{
	const struct request *r = s->ask->gpus;
	const struct share_wish wish = ask_share(s->ask);
	struct capacity_want want = search_want(s);
	struct gang_candidate *v = s->l->candidates;
	struct capacity_find found;
	uint32_t cursor = 0, gpus;
	size_t n = 0;

	while (capacity_next(s->l->sets[set], &want, &cursor, &found)) {
		if (share_wished(&wish))
			found.gpus = mask_count(ledger_gpus_for(s->l, found.node, s->type, &wish));
		if (found.gpus < s->gpus || !search_may_use(s, found.node) ||
		        !offer(s, &found, &gpus))
			continue;
		v[n++] = (struct gang_candidate){ .node = found.node,
			.leaf = s->l->leaves[found.node],
			.gpus = gpus,
			.required = request_requires(r, found.node),
			.preferred = request_prefers(r, found.node),
			.worth = want.worth ? worth(s, found.node) : 0,
			.cpus_left = found.cpus - s->ask->cpus };
	}
	return n;
}

/* gang_choose() decides by numbers; then each place gets its GPUs. If a reservation there refuses
 * these GPUs after all, there is no place now. */
static bool find_gang(struct ledger *l, struct search *s, uint32_t set, struct places *out)
{
	const struct request *r = s->ask->gpus;
	uint32_t a = s->find->alternative, all = request_all_gpus(r, a, r->nodes_min);
	struct capacity_want want = search_want(s);

	if ((!share_wished(&r->share) &&
	            !capacity_could(l->sets[set], &want, r->nodes_min, r->nodes_max, all)) ||
	        !gang_choose(
	                r, a, s->find->spread, l->candidates, find_candidates(s, set), &l->choice))
		return false;
	out->n = 0;
	out->fragmentation = 0;
	out->type = s->type;
	for (size_t i = 0; i < l->choice.n; i++) {
		const struct gang_part *part = &l->choice.v[i];
		struct place place;

		if (!place_found(s, part->node, part->gpus, &place))
			return false;
		places_add(out, &place);
	}
	return true;
}

bool ledger_find(struct ledger *l, uint32_t set, const struct ask *ask, const struct find *find,
        struct places *out)
{
	uint32_t a = find->alternative;
	struct search s = { .l = l,
		.ask = ask,
		.find = find,
		.type = find->type,
		.gpus = request_part_gpus(ask->gpus, a) };

	out->alternative = a;
	if (find->type != TYPE_ANY && !request_type_ok(ask->gpus, l->conf, a, find->type))
		return false;
	if (ask->gpus->nodes_max == 1)
		return find_one(&s, set, out);
	if (find->type != TYPE_ANY)
		return find_gang(l, &s, set, out);
	for (size_t t = 0; t < l->conf->n_gpu_types; t++) {
		s.type = (uint16_t)t;
		if (request_type_ok(ask->gpus, l->conf, a, s.type) && find_gang(l, &s, set, out))
			return true;
	}
	return false;
}

