/* ledger.c - see ledger.h */
#include "ctld/core/ledger.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"
#include "ctld/core/capacity.h"
#include "ctld/core/node.h"

struct record {
	const struct conf_node *conf;
	uint32_t cpus, cpus_used;
	uint64_t mem, mem_used;
	uint64_t used; /* GPUs */
	bool accept;
	uint32_t *sets; /* owned */
	size_t n_sets;
	struct capacity_slot *slots; /* owned: where it stands in each set, by kind */
	size_t n_slots;
};

struct entry {
	struct place place;
	bool take;
};

struct ledger {
	const struct conf *conf;
	struct record *nodes;
	struct capacity **sets;
	size_t n_sets;
	uint32_t *set_of; /* by partition */
	bool noting;
	struct entry *journal;
	size_t n_journal, journal_size;
};

/* --- making ---------------------------------------------------------------------------------- */

static uint32_t set_want(struct ledger *l, const struct conf_partition *p)
{
	uint32_t s;

	for (s = 0; s < l->n_sets; s++) {
		if (capacity_is(l->sets[s], p->nodes, p->n_nodes))
			return s;
	}
	l->sets = xrealloc(l->sets, l->n_sets + 1, sizeof(struct capacity *));
	l->sets[l->n_sets++] = capacity_new(l->conf, p->nodes, p->n_nodes);
	return s;
}

/* Tell each node in which sets it is. */
static void join(struct ledger *l, uint32_t set)
{
	size_t n, i;
	const uint32_t *nodes = capacity_nodes(l->sets[set], &n);

	for (i = 0; i < n; i++) {
		struct record *r = &l->nodes[nodes[i]];

		r->sets = xrealloc(r->sets, r->n_sets + 1, sizeof(*r->sets));
		r->sets[r->n_sets++] = set;
		r->slots = xrealloc(r->slots, r->n_slots + r->conf->n_gpus + 1, sizeof(*r->slots));
		r->n_slots += capacity_slots(l->sets[set], set, nodes[i], r->slots + r->n_slots);
	}
}

struct ledger *ledger_new(const struct conf *conf)
{
	struct ledger *l = xcalloc(1, sizeof(*l));
	size_t i;

	l->conf = conf;
	l->nodes = xcalloc(conf->n_nodes, sizeof(*l->nodes));
	for (i = 0; i < conf->n_nodes; i++) {
		l->nodes[i].conf = &conf->nodes[i];
		l->nodes[i].cpus = conf->nodes[i].cpus;
		l->nodes[i].mem = conf->nodes[i].mem_mb;
	}
	l->set_of = xcalloc(conf->n_partitions, sizeof(*l->set_of));
	for (i = 0; i < conf->n_partitions; i++)
		l->set_of[i] = set_want(l, &conf->partitions[i]);
	for (i = 0; i < l->n_sets; i++)
		join(l, (uint32_t)i);
	return l;
}

void ledger_free(struct ledger *l)
{
	size_t i;

	if (!l)
		return;
	for (i = 0; i < l->conf->n_nodes; i++) {
		free(l->nodes[i].sets);
		free(l->nodes[i].slots);
	}
	for (i = 0; i < l->n_sets; i++)
		capacity_free(l->sets[i]);
	free(l->nodes);
	free(l->sets);
	free(l->set_of);
	free(l->journal);
	free(l);
}

/* --- nodes ----------------------------------------------------------------------------------- */

static uint32_t cpus_free(const struct record *r)
{
	return r->cpus > r->cpus_used ? r->cpus - r->cpus_used : 0;
}

static uint64_t mem_free(const struct record *r)
{
	return r->mem > r->mem_used ? r->mem - r->mem_used : 0;
}

static uint64_t bits(uint32_t from, uint32_t count)
{
	if (from >= 64 || !count)
		return 0;
	return (count >= 64 ? UINT64_MAX : (1ull << count) - 1) << from;
}

static uint64_t all_gpus(const struct record *r)
{
	uint32_t n = 0;
	size_t i;

	for (i = 0; i < r->conf->n_gpus; i++)
		n += r->conf->gpus[i].count;
	return bits(0, n);
}

uint64_t ledger_gpus_of(const struct ledger *l, uint32_t node, uint16_t type)
{
	const struct conf_node *conf = l->nodes[node].conf;
	uint32_t from = 0;
	uint64_t mask = 0;
	size_t i;

	for (i = 0; i < conf->n_gpus; i++) {
		if (conf->gpus[i].type == type)
			mask |= bits(from, conf->gpus[i].count);
		from += conf->gpus[i].count;
	}
	return mask;
}

static uint64_t gpus_free(const struct ledger *l, uint32_t node, uint16_t type)
{
	return ledger_gpus_of(l, node, type) & ~l->nodes[node].used;
}

static uint32_t count(uint64_t mask)
{
	return (uint32_t)__builtin_popcountll(mask);
}

/* Where the node stands, after something about it changed. */
static void settle(struct ledger *l, uint32_t node)
{
	struct record *r = &l->nodes[node];
	size_t i;

	for (i = 0; i < r->n_slots; i++) {
		const struct capacity_slot *s = &r->slots[i];
		uint64_t mask =
		        s->type == TYPE_NONE ? all_gpus(r) & ~r->used : gpus_free(l, node, s->type);

		if (r->accept)
			capacity_put(l->sets[s->set], s, count(mask), cpus_free(r), mem_free(r));
		else
			capacity_drop(l->sets[s->set], s);
	}
}

void ledger_inventory(struct ledger *l, uint32_t node, uint32_t cpus, uint64_t mem_mb)
{
	struct record *r = &l->nodes[node];

	r->cpus = r->conf->cpus ? r->conf->cpus : cpus;
	r->mem = r->conf->mem_mb ? r->conf->mem_mb : mem_mb;
	settle(l, node);
}

void ledger_accept(struct ledger *l, uint32_t node, bool accept)
{
	if (l->nodes[node].accept == accept)
		return;
	l->nodes[node].accept = accept;
	settle(l, node);
}

bool ledger_accepts(const struct ledger *l, uint32_t node)
{
	return l->nodes[node].accept;
}

uint32_t ledger_cpus(const struct ledger *l, uint32_t node)
{
	return l->nodes[node].cpus;
}

uint64_t ledger_mem_mb(const struct ledger *l, uint32_t node)
{
	return l->nodes[node].mem;
}

uint32_t ledger_cpus_free(const struct ledger *l, uint32_t node)
{
	return cpus_free(&l->nodes[node]);
}

uint64_t ledger_mem_free_mb(const struct ledger *l, uint32_t node)
{
	return mem_free(&l->nodes[node]);
}

uint64_t ledger_gpus_used(const struct ledger *l, uint32_t node)
{
	return l->nodes[node].used;
}

const uint32_t *ledger_node_sets(const struct ledger *l, uint32_t node, size_t *n)
{
	*n = l->nodes[node].n_sets;
	return l->nodes[node].sets;
}

/* --- sets ------------------------------------------------------------------------------------ */

size_t ledger_sets(const struct ledger *l)
{
	return l->n_sets;
}

uint32_t ledger_set_of(const struct ledger *l, uint32_t partition)
{
	return l->set_of[partition];
}

bool ledger_set_gpus(const struct ledger *l, uint32_t set, uint16_t type, uint32_t *total,
        uint32_t *free_now, uint32_t *most, uint32_t *where)
{
	struct capacity_sum sum;

	if (!capacity_sum(l->sets[set], type, &sum))
		return false;
	*total = sum.total;
	*free_now = sum.free;
	*most = sum.most;
	*where = sum.most ? sum.where : NODE_LEFT;
	return true;
}

/* --- fitting --------------------------------------------------------------------------------- */

/* Has one type of the node `want` GPUs in `mask_of`? */
static bool enough(
        const struct ledger *l, uint32_t node, const struct alternative *alt, uint64_t used)
{
	const struct conf_node *conf = l->nodes[node].conf;
	size_t i;

	if (alt->number != TYPE_ANY)
		return count(ledger_gpus_of(l, node, alt->number) & ~used) >= alt->count;
	for (i = 0; i < conf->n_gpus; i++) {
		if (count(ledger_gpus_of(l, node, conf->gpus[i].type) & ~used) >= alt->count)
			return true;
	}
	return false;
}

bool ledger_fits(const struct ledger *l, uint32_t node, const struct ask *ask, uint32_t a)
{
	const struct record *r = &l->nodes[node];

	return r->accept && cpus_free(r) >= ask->cpus && mem_free(r) >= ask->mem_mb &&
	       (!ask->gpus->n || enough(l, node, &ask->gpus->v[a], r->used));
}

bool ledger_could_fit(const struct ledger *l, uint32_t node, const struct ask *ask, uint32_t a)
{
	const struct record *r = &l->nodes[node];

	return (!r->cpus || r->cpus >= ask->cpus) && (!r->mem || r->mem >= ask->mem_mb) &&
	       (!ask->gpus->n || enough(l, node, &ask->gpus->v[a], 0));
}

/* The lowest `n` bits of `mask`. */
static uint64_t lowest(uint64_t mask, uint32_t n)
{
	uint64_t taken = 0;

	for (; n && mask; n--) {
		taken |= mask & -mask;
		mask &= mask - 1;
	}
	return taken;
}

bool ledger_can_start(
        const struct ledger *l, uint32_t set, const struct ask *ask, struct place *place)
{
	uint32_t a, n = ask->gpus->n ? ask->gpus->n : 1;
	struct capacity_find found;

	for (a = 0; a < n; a++) {
		uint16_t type = ask->gpus->n ? ask->gpus->v[a].number : TYPE_NONE;
		uint32_t gpus = ask->gpus->n ? ask->gpus->v[a].count : 0;

		if (!capacity_find(l->sets[set], type, gpus, ask->cpus, ask->mem_mb, &found))
			continue;
		*place = (struct place){ .node = found.node,
			.cpus = ask->cpus,
			.mem_mb = ask->mem_mb,
			.type = found.type };
		if (gpus)
			place->gpus = lowest(gpus_free(l, found.node, found.type), gpus);
		return true;
	}
	return false;
}

/* --- booking --------------------------------------------------------------------------------- */

static void book(struct ledger *l, const struct place *p, bool take)
{
	struct record *r = &l->nodes[p->node];

	if (take) {
		assert(!(r->used & p->gpus));
		r->used |= p->gpus;
		r->cpus_used += p->cpus;
		r->mem_used += p->mem_mb;
	} else {
		assert((r->used & p->gpus) == p->gpus);
		assert(r->cpus_used >= p->cpus && r->mem_used >= p->mem_mb);
		r->used &= ~p->gpus;
		r->cpus_used -= p->cpus;
		r->mem_used -= p->mem_mb;
	}
	settle(l, p->node);
}

static void note(struct ledger *l, const struct place *p, bool take)
{
	if (!l->noting)
		return;
	if (l->n_journal == l->journal_size) {
		l->journal_size = l->journal_size ? l->journal_size * 2 : 16;
		l->journal = xrealloc(l->journal, l->journal_size, sizeof(*l->journal));
	}
	l->journal[l->n_journal++] = (struct entry){ *p, take };
}

void ledger_take(struct ledger *l, const struct place *place)
{
	note(l, place, true);
	book(l, place, true);
}

void ledger_release(struct ledger *l, const struct place *place)
{
	note(l, place, false);
	book(l, place, false);
}

void ledger_mark(struct ledger *l)
{
	assert(!l->noting);
	l->noting = true;
	l->n_journal = 0;
}

void ledger_undo(struct ledger *l)
{
	assert(l->noting);
	l->noting = false;
	while (l->n_journal) {
		const struct entry *e = &l->journal[--l->n_journal];

		book(l, &e->place, !e->take);
	}
}

bool ledger_check(const struct ledger *l, char *text, size_t size)
{
	size_t n, i;

	for (n = 0; n < l->conf->n_nodes; n++) {
		const struct record *r = &l->nodes[n];

		for (i = 0; i < r->n_slots; i++) {
			const struct capacity_slot *s = &r->slots[i];
			uint64_t mask = s->type == TYPE_NONE ? all_gpus(r) & ~r->used
			                                     : gpus_free(l, (uint32_t)n, s->type);

			if (capacity_stands(l->sets[s->set], s, r->accept, count(mask),
			            cpus_free(r), mem_free(r)))
				continue;
			snprintf(text, size, "node %s: the capacity index of set %u is wrong",
			        r->conf->name, s->set);
			return false;
		}
	}
	return true;
}
