/* ledger.c - see ledger.h
 *
 * The ledger has one record for each node with what is free there, and derived from it the node's
 * *slots* in the buckets of each set of nodes (nodes_by_free_gpus.h). settle() brings the slots up
 * to date after any change of a node and is the only code that moves them.
 *
 * Invariant: a slot stands exactly for a node that accepts work, in the bucket of what the node
 * has free, and among the reserved ones if something is planned there. A change and its inverse
 * lead to the same state, which searches use: they book, look, and undo by the journal
 * (ledger_mark(), ledger_undo()).
 */
#include "ctld/core/place/ledger.h"

#include "ctld/core/place/ledger_impl.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/place/node_topology.h"
#include "ctld/core/records/node.h"

/* --- making ---------------------------------------------------------------------------------- */

/* Partitions with the same nodes share one set. */
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

/* Record in each node which sets it is in. */
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

/* `count` bits from `from` on: the GPUs of a node are numbered in the order of its entries. */
static uint64_t bits(uint32_t from, uint32_t count)
{
	if (from >= 64 || !count)
		return 0;
	return (count >= 64 ? UINT64_MAX : (1ull << count) - 1) << from;
}

static uint64_t all_gpus(const struct record *r)
{
	uint32_t n = 0;

	for (size_t i = 0; i < r->conf->n_gpus; i++)
		n += r->conf->gpus[i].count;
	return bits(0, n);
}

/* The map is made when the node has its first MIG instance. */
static void set_gpu(struct record *r, uint32_t index, uint32_t gpu)
{
	if (!r->gpu_of && !gpu)
		return;
	if (!r->gpu_of)
		r->gpu_of = xcalloc(CONF_MAX_GPUS_PER_NODE, sizeof(*r->gpu_of));
	r->gpu_of[index] = gpu;
}

/* Each index that the configuration has on a GPU. */
static void demand_gpus(struct record *r)
{
	uint32_t from = 0, k;

	for (size_t i = 0; i < r->conf->n_gpus; from += r->conf->gpus[i++].count) {
		for (k = from; k < from + r->conf->gpus[i].count; k++)
			set_gpu(r, k, r->conf->gpus[i].mig);
	}
}

/* Nodes with several GPUs by how close any two of them are, which says whether it matters. */
static void near_count(struct ledger *l, uint32_t node, int by)
{
	const struct record *r = &l->nodes[node];
	uint32_t kind;

	if (mask_count(all_gpus(r)) < 2)
		return;
	kind = r->near_matters ? NEAR_MIXED : r->near ? closeness_of(r->near, 0, 1) : 0;
	l->n_near_kinds -= l->near_kinds[kind] > 0;
	l->near_kinds[kind] += (uint32_t)by;
	l->n_near_kinds += l->near_kinds[kind] > 0;
}

/* The configured closeness, until an agent reports. */
static void near_written(struct ledger *l, uint32_t node)
{
	const struct conf_node *conf = l->nodes[node].conf;
	struct nearness_gpu gpus[CONF_MAX_GPUS_PER_NODE];

	if (!conf->gpu_near.n)
		return;
	nearness_written(l->conf, conf, gpus);
	ledger_gpus_near(l, node,
	        nearness_new(conf, gpus, mask_count(all_gpus(&l->nodes[node])), NULL));
}

struct ledger *ledger_new(const struct conf *conf)
{
	struct ledger *l = xcalloc(1, sizeof(*l));

	l->conf = conf;
	l->candidates = xcalloc(conf->n_nodes, sizeof(*l->candidates));
	l->leaves = xcalloc(conf->n_nodes, sizeof(*l->leaves));
	l->nodes = xcalloc(conf->n_nodes, sizeof(*l->nodes));
	for (size_t i = 0; i < conf->n_nodes; i++) {
		l->leaves[i] = conf->nodes[i].leaf;
		l->nodes[i].conf = &conf->nodes[i];
		demand_gpus(&l->nodes[i]);
		near_count(l, (uint32_t)i, 1);
		near_written(l, (uint32_t)i);
		l->nodes[i].cpus = conf->nodes[i].cpus;
		l->nodes[i].mem = conf->nodes[i].mem_mb;
	}
	l->set_of = xcalloc(conf->n_partitions, sizeof(*l->set_of));
	for (size_t i = 0; i < conf->n_partitions; i++)
		l->set_of[i] = set_want(l, &conf->partitions[i]);
	for (size_t i = 0; i < l->n_sets; i++)
		join(l, (uint32_t)i);
	shares_new(l);
	return l;
}

void ledger_free(struct ledger *l)
{
	if (!l)
		return;
	shares_free(l);
	for (size_t i = 0; i < l->conf->n_nodes; i++) {
		free(l->nodes[i].sets);
		free(l->nodes[i].slots);
		free(l->nodes[i].gpu_of);
		free(l->nodes[i].near);
		free(l->nodes[i].worths);
	}
	for (size_t i = 0; i < l->n_sets; i++)
		capacity_free(l->sets[i]);
	free(l->nodes);
	free(l->sets);
	free(l->set_of);
	free(l->journal);
	free(l->marks);
	free(l->candidates);
	free(l->leaves);
	gang_choice_free(&l->choice);
	free(l);
}

/* --- nodes ----------------------------------------------------------------------------------- */

uint64_t ledger_gpus_of(const struct ledger *l, uint32_t node, uint16_t type)
{
	const struct conf_node *conf = l->nodes[node].conf;
	uint32_t from = 0;
	uint64_t mask = 0;

	for (size_t i = 0; i < conf->n_gpus; i++) {
		if (conf->gpus[i].type == type)
			mask |= bits(from, conf->gpus[i].count);
		from += conf->gpus[i].count;
	}
	return mask;
}

uint64_t ledger_gpus_free(const struct ledger *l, uint32_t node, uint16_t type)
{
	return ledger_gpus_of(l, node, type) & ~(l->nodes[node].used | l->nodes[node].out);
}

/* Update the node's slots after something about it changed. */
static void settle(struct ledger *l, uint32_t node)
{
	struct record *r = &l->nodes[node];

	r->stamp++;
	shares_count(l, node);
	for (size_t i = 0; i < r->n_slots; i++) {
		const struct capacity_slot *s = &r->slots[i];
		uint64_t mask = s->type == TYPE_NONE ? all_gpus(r) & ~(r->used | r->out)
		                                     : ledger_gpus_free(l, node, s->type);

		if (r->accept)
			capacity_put(l->sets[s->set], s, mask_count(mask), record_cpus_free(r),
			        record_mem_free(r), r->reserved);
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

void ledger_offers(struct ledger *l, uint32_t node, const struct node_offers *offers)
{
	l->nodes[node].offers = *offers;
}

const struct node_offers *ledger_offers_of(const struct ledger *l, uint32_t node)
{
	return &l->nodes[node].offers;
}

uint32_t ledger_ports_free(const struct ledger *l, uint32_t node)
{
	const struct record *r = &l->nodes[node];

	return r->offers.ports > r->ports_used ? r->offers.ports - r->ports_used : 0;
}

static bool allows(const struct record *record, uint32_t node, const struct request *r)
{
	const struct node_offers *has = &record->offers;

	if (!request_allows(r, node))
		return false;
	return !has->known ||
	       (has->tmp_mb >= r->tmp_mb &&
	               (!*r->service || (!has->no_services && has->ports >= r->ports)));
}

bool ledger_allows(const struct ledger *l, uint32_t node, const struct request *r)
{
	return request_any_node(r) || allows(&l->nodes[node], node, r);
}

bool ledger_opens(const struct ledger *l, uint32_t node, const struct request *r)
{
	return request_any_node(r) ||
	       (allows(&l->nodes[node], node, r) && !request_avoids(r, node) &&
	               (!r->ports || ledger_ports_free(l, node) >= r->ports));
}

void ledger_gpu_shared(struct ledger *l, uint32_t node, uint32_t index, uint32_t gpu)
{
	struct record *r = &l->nodes[node];

	/* Numbers of the configuration and of the host are not the same. */
	if (!r->gpu_of || !r->gpu_of[index] || r->gpu_of[index] > CONF_MAX_GPUS_PER_NODE)
		set_gpu(r, index, gpu ? CONF_MAX_GPUS_PER_NODE + gpu : 0);
}

void ledger_gpus_near(struct ledger *l, uint32_t node, struct closeness *near)
{
	struct record *r = &l->nodes[node];

	near_count(l, node, -1);
	free(r->near);
	free(r->worths);
	r->near = near;
	r->near_matters = near && closeness_matters(near);
	r->worths = near ? xcalloc(WORTHS, sizeof(*r->worths)) : NULL;
	near_count(l, node, 1);
}

void ledger_near_told(struct ledger *l, uint32_t node)
{
	l->nodes[node].near_told = true;
}

uint32_t ledger_sure_of(const struct ledger *l, uint32_t node, uint64_t gpus,
        const struct request *r, uint32_t a)
{
	return closest_sure(
	        l->nodes[node].near, gpus, request_part_gpus(r, a), near_link_least(r->link));
}

uint32_t ledger_sure(const struct ledger *l, uint32_t node, const struct request *r, uint32_t a,
        uint16_t type)
{
	return ledger_sure_of(l, node, ledger_gpus_of(l, node, type) & ~l->nodes[node].out, r, a);
}

const struct closeness *ledger_near(const struct ledger *l, uint32_t node)
{
	return l->nodes[node].near;
}

void ledger_gpus_out(struct ledger *l, uint32_t node, uint64_t out)
{
	if (l->nodes[node].out == out)
		return;
	l->nodes[node].out = out;
	settle(l, node);
}

void ledger_accept(struct ledger *l, uint32_t node, bool accept)
{
	if (l->nodes[node].accept == accept)
		return;
	l->nodes[node].accept = accept;
	settle(l, node);
}

void ledger_set_reserved(struct ledger *l, uint32_t node, bool reserved)
{
	if (l->nodes[node].reserved == reserved)
		return;
	l->nodes[node].reserved = reserved;
	settle(l, node);
}

bool ledger_is_reserved(const struct ledger *l, uint32_t node)
{
	return l->nodes[node].reserved;
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
	return record_cpus_free(&l->nodes[node]);
}

uint64_t ledger_mem_free_mb(const struct ledger *l, uint32_t node)
{
	return record_mem_free(&l->nodes[node]);
}

uint64_t ledger_gpus_used(const struct ledger *l, uint32_t node)
{
	return l->nodes[node].used;
}

uint64_t ledger_gpus_shared(const struct ledger *l, uint32_t node)
{
	return l->nodes[node].shared;
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

/* --- booking --------------------------------------------------------------------------------- */

/* A GPU is taken as a whole by one place, or in parts by several. Both ways are exact inverses of
 * each other. */
static void book(struct ledger *l, const struct place *p, bool take)
{
	struct record *r = &l->nodes[p->node];

	if (p->share.charge) {
		shares_book(l, p, take);
	} else if (take) {
		assert(!(r->used & p->gpus));
		r->used |= p->gpus;
	} else {
		assert((r->used & ~r->shared & p->gpus) == p->gpus);
		r->used &= ~p->gpus;
	}
	assert(take || (r->cpus_used >= p->cpus && r->mem_used >= p->mem_mb));
	r->cpus_used += take ? p->cpus : -p->cpus;
	r->mem_used += take ? p->mem_mb : -p->mem_mb;
	assert(take || r->ports_used >= p->ports);
	r->ports_used += take ? p->ports : -p->ports;
	settle(l, p->node);
}

/* For ledger_undo(), if there is a mark. What no booking restores is kept beside the place. */
static void note(struct ledger *l, const struct place *p, bool take)
{
	if (!l->n_marks)
		return;
	*XADD(l->journal, l->n_journal, l->journal_size) =
	        (struct entry){ *p, take, shares_mixed(l, p) };
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
	*XADD(l->marks, l->n_marks, l->marks_size) = l->n_journal;
}

/* Backwards to the last mark: each entry is booked the other way round. */
void ledger_undo(struct ledger *l)
{
	size_t mark;

	assert(l->n_marks);
	mark = l->marks[--l->n_marks];
	while (l->n_journal > mark) {
		const struct entry *e = &l->journal[--l->n_journal];

		book(l, &e->place, !e->take);
		shares_mix(l, e->place.node, e->mixed);
	}
}

/* The invariant of the head, for all nodes and sets. */
bool ledger_check(const struct ledger *l, char *text, size_t size)
{
	for (size_t n = 0; n < l->conf->n_nodes; n++) {
		const struct record *r = &l->nodes[n];

		if (!shares_check(l, (uint32_t)n)) {
			snprintf(text, size, "node %s: what is shared is booked wrong",
			        r->conf->name);
			return false;
		}
		for (size_t i = 0; i < r->n_slots; i++) {
			const struct capacity_slot *s = &r->slots[i];
			uint64_t mask = s->type == TYPE_NONE
			                        ? all_gpus(r) & ~(r->used | r->out)
			                        : ledger_gpus_free(l, (uint32_t)n, s->type);

			if (capacity_stands(l->sets[s->set], s, r->accept, mask_count(mask),
			            record_cpus_free(r), record_mem_free(r), r->reserved))
				continue;
			snprintf(text, size, "node %s: the capacity index of set %u is wrong",
			        r->conf->name, s->set);
			return false;
		}
	}
	for (size_t n = 0; n < l->n_sets; n++) {
		if (!capacity_check(l->sets[n])) {
			snprintf(text, size, "the counts of set %zu are wrong", n);
			return false;
		}
	}
	return true;
}
