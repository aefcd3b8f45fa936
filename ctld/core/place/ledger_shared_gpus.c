/* ledger_shared_gpus.c - ledger.h: GPUs that several runs share, and places with the least
 * fragmentation
 *
 * A node with `share` has a struct shared_gpu for each index: what of its memory and compute is
 * taken, and by whom. A shared GPU leaves the buckets, because no request for whole GPUs can use
 * it, and returns when its last share is released.
 *
 * What a place would cost on each node is kept for the last MAX_COSTS requests, with the stamps of
 * the node and of the workload profiles that the cost was computed from. A search compares the
 * stamps, computes again where one has changed, and takes the smallest cost. So it examines the
 * GPUs of the nodes that have changed since the same request was last searched for, and of no
 * others.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/place/ledger_impl.h"

/* The costs of a place for one request on each node. */
struct costs {
	struct fragmentation_want want;
	uint64_t used; /* when it was last used */
	struct cost {
		uint64_t stamp; /* of the node, plus 1; 0: not known */
		uint64_t profiles; /* of its types: the sum of their versions */
		uint64_t gpus;
		int64_t fragmentation;
	} * v; /* by node; owned */
};

/* --- making ---------------------------------------------------------------------------------- */

/* Which type a GPU index is of. */
static uint16_t type_at(const struct record *r, uint32_t index)
{
	for (size_t i = 0; i < r->conf->n_gpus; i++) {
		if (index < r->conf->gpus[i].count)
			return r->conf->gpus[i].type;
		index -= r->conf->gpus[i].count;
	}
	return TYPE_NONE;
}

/* What a GPU of that type keeps for itself (mem_reserve) is never shared. */
static uint64_t usable(const struct conf_gpu_type *type, uint64_t mem)
{
	return mem > type->mem_reserve_mb ? mem - type->mem_reserve_mb : 0;
}

/* `has`: by its driver; 0: not known. */
static uint64_t mem_to_share(
        const struct ledger *l, const struct record *r, uint32_t index, uint64_t has)
{
	uint16_t type = type_at(r, index);
	const struct conf_gpu_type *t = type == TYPE_NONE ? NULL : &l->conf->gpu_types[type];
	uint64_t mem = t ? t->mem_mb : 0;

	if (has && (!mem || has < mem))
		mem = has;
	return t ? usable(t, mem) : 0;
}

/* Also for a node that shares no longer, while runs with shares are still there. */
static void want_cards(const struct ledger *l, struct record *r)
{
	if (r->gpu_set)
		return;
	r->gpu_set = xcalloc(CONF_MAX_GPUS_PER_NODE, sizeof(*r->gpu_set));
	for (uint32_t i = 0; i < CONF_MAX_GPUS_PER_NODE; i++) {
		r->gpu_set[i].mem_mb = mem_to_share(l, r, i, 0);
		r->gpu_set[i].one_user = r->conf->share_users == CONF_USERS_ONE;
	}
}

/* Without any node that shares GPUs there is no workload profile, and no cost is ever computed. */
void shares_new(struct ledger *l)
{
	bool any = false;

	l->set_shares = xcalloc(l->n_sets, sizeof(*l->set_shares));
	l->set_users = xcalloc(l->n_sets, sizeof(*l->set_users));
	l->type_mem = xcalloc(l->conf->n_gpu_types, sizeof(*l->type_mem));
	for (size_t i = 0; i < l->conf->n_gpu_types; i++)
		l->type_mem[i] = usable(&l->conf->gpu_types[i], l->conf->gpu_types[i].mem_mb);
	for (size_t i = 0; i < l->conf->n_nodes; i++) {
		struct record *r = &l->nodes[i];

		if (r->conf->share == CONF_SHARE_NO)
			continue;
		any = true;
		want_cards(l, r);
		for (size_t k = 0; k < r->n_sets; k++) {
			l->set_shares[r->sets[k]] = true;
			l->set_users[r->sets[k]] |= r->conf->share_users == CONF_USERS_ONE;
		}
	}
	if (!any)
		return;
	l->room = xcalloc(l->conf->n_gpu_types, sizeof(*l->room));
	l->profile = profile_new(l->room, l->conf->n_gpu_types);
	l->costs = xcalloc(MAX_COSTS, sizeof(*l->costs));
	for (size_t i = 0; i < l->conf->n_nodes; i++) {
		struct record *r = &l->nodes[i];

		r->left = xcalloc(r->conf->n_gpus, sizeof(*r->left));
		for (size_t k = 0; k < r->conf->n_gpus; k++)
			l->room[r->conf->gpus[k].type].all +=
			        GPU_MILLI * (uint64_t)r->conf->gpus[k].count;
	}
}

void shares_free(struct ledger *l)
{
	for (size_t i = 0; i < l->conf->n_nodes; i++) {
		free(l->nodes[i].gpu_set);
		free(l->nodes[i].left);
	}
	for (size_t i = 0; l->costs && i < MAX_COSTS; i++)
		free(l->costs[i].v);
	free(l->costs);
	free(l->set_shares);
	free(l->set_users);
	free(l->type_mem);
	profile_free(l->profile);
	free(l->room);
}

/* --- one node -------------------------------------------------------------------------------- */

bool ledger_shares(const struct ledger *l, uint32_t node)
{
	return l->nodes[node].conf->share != CONF_SHARE_NO;
}

void ledger_gpu_mem(struct ledger *l, uint32_t node, uint32_t index, uint64_t mem_mb)
{
	struct record *r = &l->nodes[node];

	uint16_t type = type_at(r, index);

	if (!ledger_shares(l, node) || type == TYPE_NONE)
		return;
	r->told = true;
	mem_mb = mem_to_share(l, r, index, mem_mb);
	if (mem_mb > l->type_mem[type])
		l->type_mem[type] = mem_mb;
	if (r->gpu_set[index].mem_mb == mem_mb)
		return;
	r->gpu_set[index].mem_mb = mem_mb;
	r->stamp++;
	shares_count(l, node);
}

uint32_t ledger_user(const struct ledger *l, uint32_t set, const struct request *gpus, uint32_t uid)
{
	return share_wished(&gpus->share) && l->set_users[set] ? uid + 1 : 0;
}

const struct shared_gpu *ledger_shared_gpu(const struct ledger *l, uint32_t node, uint32_t index)
{
	static const struct shared_gpu none;

	return l->nodes[node].gpu_set ? &l->nodes[node].gpu_set[index] : &none;
}

/* If GPUs of one type differ, the one with the least memory counts. */
static uint64_t gpu_mem(const struct ledger *l, uint32_t node, uint16_t type)
{
	uint64_t gpus = ledger_gpus_of(l, node, type), least = UINT64_MAX;

	for (; gpus; gpus &= gpus - 1) {
		uint64_t mem = l->nodes[node].gpu_set[__builtin_ctzll(gpus)].mem_mb;

		least = mem < least ? mem : least;
	}
	return least == UINT64_MAX ? 0 : least;
}

bool ledger_share(const struct ledger *l, uint32_t node, uint16_t type,
        const struct share_wish *wish, struct share *share)
{
	*share = (struct share){ .milli = 0 };
	if (!share_wished(wish))
		return true;
	return ledger_shares(l, node) && share_of(wish, gpu_mem(l, node, type), share);
}

bool shares_unknown(const struct ledger *l, uint32_t node, uint16_t type)
{
	return ledger_shares(l, node) && !l->nodes[node].told && !l->conf->gpu_types[type].mem_mb;
}

void ledger_share_of(
        const struct ledger *l, const struct request *r, uint16_t type, struct share *share)
{
	if (!share_of(&r->share, type < l->conf->n_gpu_types ? l->type_mem[type] : 0, share))
		*share = (struct share){ 0 };
}

/* Free GPUs, and shared ones with enough left for one more share of the kind. */
uint64_t ledger_gpus_for(
        const struct ledger *l, uint32_t node, uint16_t type, const struct share_wish *wish)
{
	const struct record *rec = &l->nodes[node];
	uint64_t free_now = ledger_gpus_free(l, node, type), fit = 0, left;
	struct share share;

	if (!share_wished(wish))
		return free_now;
	if (!ledger_share(l, node, type, wish, &share))
		return 0;
	left = free_now | (ledger_gpus_of(l, node, type) & rec->shared & ~rec->out);
	for (; left; left &= left - 1) {
		if (shared_gpu_holds(&rec->gpu_set[__builtin_ctzll(left)], &share))
			fit |= left & -left;
	}
	return fit;
}

/* Each GPU of the place. With its first share it is used and shared, and after its last one
 * neither. */
void shares_book(struct ledger *l, const struct place *p, bool take)
{
	struct record *r = &l->nodes[p->node];

	want_cards(l, r);
	assert(!(r->used & ~r->shared & p->gpus));
	for (uint64_t left = p->gpus; left; left &= left - 1) {
		uint64_t bit = left & -left;
		struct shared_gpu *gpu = &r->gpu_set[__builtin_ctzll(left)];

		shared_gpu_book(gpu, &p->share, take);
		r->used = gpu->runs ? r->used | bit : r->used & ~bit;
		r->shared = gpu->runs ? r->shared | bit : r->shared & ~bit;
	}
}

/* GPU_MIXED: runs of several users on a GPU that only one user should have. No booking leads back
 * to it. */
uint64_t shares_mixed(const struct ledger *l, const struct place *p)
{
	const struct record *r = &l->nodes[p->node];
	uint64_t left, mixed = 0;

	for (left = p->gpus & r->shared; left; left &= left - 1) {
		if (r->gpu_set[__builtin_ctzll(left)].user == GPU_MIXED)
			mixed |= left & -left;
	}
	return mixed;
}

void shares_mix(struct ledger *l, uint32_t node, uint64_t gpus)
{
	for (; gpus; gpus &= gpus - 1)
		l->nodes[node].gpu_set[__builtin_ctzll(gpus)].user = GPU_MIXED;
}

/* What is left of one entry of the node's GPUs, the first of which is `from`: thousandths. */
static uint64_t left_of(const struct record *r, uint32_t from, uint32_t count)
{
	uint64_t all = (count == 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1) << from;
	uint64_t left = GPU_MILLI * (uint64_t)mask_count(all & ~(r->used | r->out));
	uint64_t shared = all & r->shared & ~r->out;

	if (r->conf->share == CONF_SHARE_NO)
		return left;
	for (; shared; shared &= shared - 1)
		left += shared_gpu_left(&r->gpu_set[__builtin_ctzll(shared)]);
	return left;
}

/* The sums of what is left, by type, change by the difference to what was last counted of this
 * node. */
void shares_count(struct ledger *l, uint32_t node)
{
	struct record *r = &l->nodes[node];
	uint32_t from = 0;

	for (size_t i = 0; l->profile && i < r->conf->n_gpus; i++) {
		const struct conf_gpu_count *gpus = &r->conf->gpus[i];
		uint64_t left = r->accept ? left_of(r, from, gpus->count) : 0;

		l->room[gpus->type].left += left - r->left[i];
		r->left[i] = left;
		from += gpus->count;
	}
}

bool shares_check(const struct ledger *l, uint32_t node)
{
	const struct record *r = &l->nodes[node];
	uint32_t from = 0, i;

	for (i = 0; l->profile && i < r->conf->n_gpus; i++) {
		uint32_t count = r->conf->gpus[i].count;

		if (r->left[i] != (r->accept ? left_of(r, from, count) : 0))
			return false;
		from += count;
	}
	if (!r->gpu_set)
		return !r->shared;
	for (i = 0; i < CONF_MAX_GPUS_PER_NODE; i++) {
		if (!r->gpu_set[i].runs != !(r->shared >> i & 1))
			return false;
		if (!r->gpu_set[i].runs && (r->gpu_set[i].milli_used || r->gpu_set[i].mem_used))
			return false;
	}
	return !(r->shared & ~r->used);
}

/* --- the profile ----------------------------------------------------------------------------- */

static int by_number(const void *x, const void *y)
{
	const uint16_t *a = x, *b = y;

	return *a - *b;
}

/* The types of the first alternative, and of those that want as many GPUs. False: all are gone. */
static bool types_of(const struct request *r, struct profile_task *task)
{
	for (uint32_t i = 0; i < r->n; i++) {
		if (request_part_gpus(r, i) != task->gpus || r->v[i].number == TYPE_GONE)
			continue;
		if (r->v[i].number == TYPE_ANY) {
			task->n_types = 0;
			return true;
		}
		task->types[task->n_types++] = r->v[i].number;
	}
	qsort(task->types, task->n_types, sizeof(task->types[0]), by_number);
	return task->n_types;
}

bool ledger_note_asked(struct ledger *l, const struct ask *ask, uint64_t tasks)
{
	const struct request *r = ask->gpus;
	struct profile_task task = { .cpus = ask->cpus, .wish = r->share };

	if (!l->profile || !r->n)
		return false;
	task.gpus = request_part_gpus(r, 0);
	return types_of(r, &task) && profile_note(l->profile, &task, tasks);
}

/* --- what causes the least fragmentation ----------------------------------------------------- */

/* The node as fragmentation.h sees it: GPUs that are free or shared, and free CPUs. */
static void fill(const struct ledger *l, uint32_t node, struct fragmentation_node *n)
{
	const struct record *r = &l->nodes[node];
	uint32_t from = 0, k;

	n->n = 0;
	n->cpus = record_cpus_free(r);
	n->shares = r->conf->share != CONF_SHARE_NO;
	for (size_t i = 0; i < r->conf->n_gpus; i++) {
		for (k = from; k < from + r->conf->gpus[i].count; k++) {
			struct fragmentation_gpu *c = &n->v[n->n];

			if (((r->used & ~r->shared) | r->out) >> k & 1)
				continue;
			*c = (struct fragmentation_gpu){
				.index = k, .left = GPU_MILLI, .type = r->conf->gpus[i].type
			};
			if (r->gpu_set)
				c->gpu = r->gpu_set[k];
			if (c->gpu.runs)
				c->left = shared_gpu_left(&c->gpu);
			n->n++;
		}
		from += r->conf->gpus[i].count;
	}
}

/* Equal except for the user: cost_at(). */
static bool same_want(const struct fragmentation_want *x, const struct fragmentation_want *y)
{
	return x->type == y->type && x->gpus == y->gpus && x->cpus == y->cpus &&
	       x->wish.milli == y->wish.milli && x->wish.mem_mb == y->wish.mem_mb;
}

/* The costs of the request; the least recently used ones are replaced. */
static struct costs *costs_of(const struct ledger *l, const struct fragmentation_want *want)
{
	struct costs *oldest = &l->costs[0], *c;
	uint64_t latest = 0;
	size_t i;

	for (i = 0, c = l->costs; i < MAX_COSTS; i++, c++) {
		latest = c->used > latest ? c->used : latest;
		if (c->used < oldest->used)
			oldest = c;
	}
	for (i = 0, c = l->costs; i < MAX_COSTS; i++, c++) {
		if (c->v && same_want(&c->want, want))
			break;
	}
	if (i == MAX_COSTS) {
		c = oldest;
		c->want = *want;
		if (!c->v)
			c->v = xcalloc(l->conf->n_nodes, sizeof(*c->v));
		else
			memset(c->v, 0, l->conf->n_nodes * sizeof(*c->v));
	}
	c->used = latest + 1;
	return c;
}

/* A number that changes when the profile of one of its types changes. */
static uint64_t profiles_of(const struct ledger *l, const struct record *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->conf->n_gpus; i++)
		sum += profile_version(l->profile, r->conf->gpus[i].type);
	return sum;
}

/* Where GPUs are one user's, the cost depends on the user if some GPU is shared now: then it is not
 * kept. */
static const struct cost *cost_at(const struct ledger *l, struct costs *c,
        const struct fragmentation_want *want, uint32_t node)
{
	const struct record *r = &l->nodes[node];
	bool personal = want->wish.user && r->shared && r->conf->share_users == CONF_USERS_ONE;
	struct cost *cost = &c->v[node];
	uint64_t profiles = profiles_of(l, r);
	struct fragmentation_node n;

	if (!personal && cost->stamp == r->stamp + 1 && cost->profiles == profiles)
		return cost;
	fill(l, node, &n);
	cost->fragmentation = fragmentation_cost(l->profile, &n, want, &cost->gpus);
	cost->stamp = personal ? 0 : r->stamp + 1;
	cost->profiles = profiles;
	return cost;
}

/* With just these GPUs. */
static int64_t cost_of(
        const struct ledger *l, const struct fragmentation_want *want, const struct place *place)
{
	struct fragmentation_node n;

	fill(l, place->node, &n);
	return fragmentation_cost_of(l->profile, &n, want, place->gpus);
}

bool shares_decide(const struct search *s, uint32_t set)
{
	const struct request *r = s->ask->gpus;

	return share_wished(&r->share) ||
	       (s->l->set_shares[set] && !r->exclusive && !s->find->spread);
}

struct best {
	int64_t fragmentation;
	uint32_t gpus, cpus;
	struct place place;
};

/* Among places with equal fragmentation: where the fewest GPUs, then the fewest CPUs are free. */
static bool better(const struct best *x, const struct best *y)
{
	if (x->fragmentation != y->fragmentation)
		return x->fragmentation < y->fragmentation;
	if (x->gpus != y->gpus)
		return x->gpus < y->gpus;
	return x->cpus < y->cpus;
}

/* TYPE_NONE: of all types. */
static uint32_t free_gpus(const struct ledger *l, uint32_t node, uint16_t type)
{
	const struct record *r = &l->nodes[node];
	uint32_t free_now = 0;

	if (type != TYPE_NONE)
		return mask_count(ledger_gpus_free(l, node, type));
	for (size_t i = 0; i < r->conf->n_gpus; i++)
		free_now += r->conf->gpus[i].count;
	return free_now - mask_count(r->used | r->out);
}

/* One node: compare its cost with the best, and only if it is better ask what is planned there,
 * which takes longer. The plan may demand other GPUs than those that cost least. */
static bool look(const struct search *s, struct costs *costs, const struct fragmentation_want *want,
        uint32_t node, struct best *best)
{
	const struct record *r = &s->l->nodes[node];
	const struct cost *cost;
	struct best this;

	if (!r->accept || record_mem_free(r) < s->ask->mem_mb || (r->reserved && !s->find->test) ||
	        !request_allows(s->ask->gpus, node) || !search_may_use(s, node))
		return false;
	cost = cost_at(s->l, costs, want, node);
	if (cost->fragmentation == FRAGMENTATION_NEVER)
		return false;
	this = (struct best){ .fragmentation = cost->fragmentation,
		.gpus = free_gpus(s->l, node, s->type),
		.cpus = record_cpus_free(r),
		.place = { .node = node,
		        .cpus = s->ask->cpus,
		        .mem_mb = s->ask->mem_mb,
		        .ports = s->ask->gpus->ports,
		        .gpus = cost->gpus,
		        .type = s->type } };
	if (best->fragmentation != FRAGMENTATION_NEVER && !better(&this, best))
		return false;
	if (s->type != TYPE_NONE)
		ledger_share(s->l, node, s->type, &want->wish, &this.place.share);
	if (r->reserved) {
		if (!search_test(s, &this.place))
			return false;
		if (this.place.gpus != cost->gpus)
			this.fragmentation = cost_of(s->l, want, &this.place);
		if (best->fragmentation != FRAGMENTATION_NEVER && !better(&this, best))
			return false;
	}
	*best = this;
	return true;
}

/* Looks at all nodes of the set. For most of them that is a comparison of stamps. */
static bool find_type(struct search *s, uint32_t set, struct best *best)
{
	struct fragmentation_want want = {
		.type = s->type, .gpus = s->gpus, .wish = ask_share(s->ask), .cpus = s->ask->cpus
	};
	struct costs *costs = costs_of(s->l, &want);
	bool found = false;
	size_t n, i;
	const uint32_t *nodes = capacity_nodes(s->l->sets[set], &n);

	for (i = 0; i < n; i++)
		found |= look(s, costs, &want, nodes[i], best);
	return found;
}

bool shares_find(
        const struct search *search, uint32_t set, struct place *place, int64_t *fragmentation)
{
	struct search s = *search;
	struct best best = { .fragmentation = FRAGMENTATION_NEVER };

	if (!s.l->profile)
		return false;
	if (s.type != TYPE_ANY) {
		find_type(&s, set, &best);
	} else {
		for (size_t t = 0; t < s.l->conf->n_gpu_types; t++) {
			s.type = (uint16_t)t;
			if (request_type_ok(s.ask->gpus, s.l->conf, s.find->alternative, s.type))
				find_type(&s, set, &best);
		}
	}
	if (best.fragmentation == FRAGMENTATION_NEVER)
		return false;
	*place = best.place;
	*fragmentation = best.fragmentation;
	return true;
}
