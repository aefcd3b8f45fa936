/* wait_group.c - see wait_group.h
 *
 * Invariants: a waiter is a candidate (slot), tried (linked), or not in its group; a subgroup is in
 * the order of its group exactly if it has candidates; a group that is marked has candidates. Of a
 * group that is not marked the first words are whatever they were: wait_mark() computes them, and
 * while it is marked each is checked when it is the first.
 *
 * Why three heaps and not one: with a release the keys of all classes of an account change. One
 * heap of 10,000 classes would have to be made anew each time, where there are 100 accounts to
 * check.
 *
 * Cost of one operation: a change of a candidate is logarithmic in the candidates of its subgroup,
 * and if it was or becomes the first, in the subgroups and in the marked groups as well. A mark
 * computes the first word of each subgroup of the group once; what is not marked costs nothing when
 * usage changes.
 */
#include "ctld/core/sched/wait_group.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

struct wait_groups {
	struct wait_words words;
	struct table *groups, *subgroups;
	struct wait_group ready;
	struct heap *turns;
};

static uint64_t key_hash(const struct wait_key *k, uint64_t seed)
{
	uint64_t h = hash_u64((uint64_t)k->partition << 32 | k->alternative, seed);

	h = hash_u64((uint64_t)k->length_s << 32 | k->cpus, h);
	h = hash_u64((uintptr_t)k->gpus, h);
	h = hash_u64(k->user, h);
	return hash_u64(k->mem_mb, h);
}

static uint64_t group_hash(const void *item, uint64_t seed)
{
	return key_hash(&((const struct wait_group *)item)->key, seed);
}

static bool group_equal(const void *item, const void *key)
{
	const struct wait_key *x = &((const struct wait_group *)item)->key, *y = key;

	return x->partition == y->partition && x->alternative == y->alternative &&
	       x->length_s == y->length_s && x->cpus == y->cpus && x->gpus == y->gpus &&
	       x->mem_mb == y->mem_mb && x->user == y->user;
}

static uint64_t subgroup_hash(const void *item, uint64_t seed)
{
	const struct subgroup *sub = item;
	uint64_t h = hash_u64((uint64_t)sub->account << 32 | sub->tier, seed);

	return hash_u64((uintptr_t)sub->group, hash_u64((uintptr_t)sub->gpus, h));
}

static bool subgroup_equal(const void *item, const void *key)
{
	const struct subgroup *x = item, *y = key;

	return x->group == y->group && x->account == y->account && x->tier == y->tier &&
	       x->gpus == y->gpus;
}

static void candidate_moved(void *item, uint32_t index)
{
	((struct waiter *)item)->slot = index;
}

static void subgroup_moved(void *item, uint32_t index)
{
	((struct subgroup *)item)->slot = index;
}

static void group_moved(void *item, uint32_t index)
{
	((struct wait_group *)item)->turn = index;
}

struct wait_groups *wait_groups_new(uint64_t seed, const struct wait_words *words)
{
	struct wait_groups *ws = xcalloc(1, sizeof(*ws));

	ws->words = *words;
	ws->groups = table_new(group_hash, seed);
	ws->subgroups = table_new(subgroup_hash, seed);
	ws->turns = heap_new(group_moved);
	ws->ready.order = heap_new(subgroup_moved);
	ws->ready.turn = HEAP_NOWHERE;
	return ws;
}

void wait_groups_free(struct wait_groups *ws)
{
	if (!ws)
		return;
	assert(!table_count(ws->groups) && !table_count(ws->subgroups));
	table_free(ws->groups);
	table_free(ws->subgroups);
	heap_free(ws->turns);
	heap_free(ws->ready.order);
	free(ws);
}

/* --- joining --------------------------------------------------------------------------------- */

/* The group with that key, made if it is the first class that joins it. */
static struct wait_group *want_group(struct wait_groups *ws, const struct wait_key *key)
{
	struct wait_group *g =
	        table_find(ws->groups, key_hash(key, table_seed(ws->groups)), group_equal, key);

	if (g)
		return g;
	g = xcalloc(1, sizeof(*g));
	g->key = *key;
	g->order = heap_new(subgroup_moved);
	g->turn = HEAP_NOWHERE;
	table_add(ws->groups, g);
	return g;
}

/* `like` says what is equal; `ready`: NULL for a subgroup of ready classes. */
static struct subgroup *join(
        struct wait_groups *ws, const struct subgroup *like, struct subgroup *ready)
{
	struct subgroup *sub = table_find(ws->subgroups,
	        subgroup_hash(like, table_seed(ws->subgroups)), subgroup_equal, like);

	if (!sub) {
		sub = xmemdup(like, sizeof(*like));
		sub->ready = ready ? ready : sub;
		sub->slot = HEAP_NOWHERE;
		sub->candidates = heap_new(candidate_moved);
		sub->group->subgroups++;
		table_add(ws->subgroups, sub);
	}
	sub->classes++;
	return sub;
}

/* The last class of a subgroup frees it, the last subgroup its group. Neither can have candidates
 * or members then. The group of ready classes always exists. */
static void leave(struct wait_groups *ws, struct waiter *w)
{
	struct subgroup *sub = w->in;
	struct wait_group *g;

	w->in = NULL;
	if (!sub || --sub->classes)
		return;
	assert(sub->slot == HEAP_NOWHERE);
	g = sub->group;
	table_remove(ws->subgroups, sub);
	heap_free(sub->candidates);
	free(sub);
	if (--g->subgroups || g == &ws->ready)
		return;
	assert(!g->members && !g->noted.le_prev);
	table_remove(ws->groups, g);
	heap_free(g->order);
	free(g);
}

void wait_join(
        struct wait_groups *ws, struct class *class, uint32_t tier, uint32_t account, bool groups)
{
	struct class_link *l = class_link(class);
	const struct class_info *i = class_info(class);
	struct wait_key key = { .partition = l->partition,
		.cpus = i->cpus,
		.length_s = i->length_s,
		.user = l->user,
		.gpus = i->gpus,
		.mem_mb = i->mem_mb };
	struct subgroup like = { .group = &ws->ready,
		.account = account,
		.tier = tier,
		.gpus = account == CONF_NONE ? NULL : i->gpus };

	l->ready.in = join(ws, &like, NULL);
	for (; groups && key.alternative < l->n_waiters / 2; key.alternative++) {
		like.group = want_group(ws, &key);
		l->waiters[key.alternative].in = join(ws, &like, l->ready.in);
	}
}

void wait_leave(struct wait_groups *ws, struct class *class)
{
	struct class_link *l = class_link(class);

	for (uint32_t a = 0; a < l->n_waiters / 2; a++)
		leave(ws, &l->waiters[a]);
	leave(ws, &l->ready);
}

/* --- first words ----------------------------------------------------------------------------- */

/* The first word as of now. It is kept in the subgroup of ready classes, which all subgroups with
 * the same account, tier and request share, and computed again only if the account's usage has
 * another version. */
static uint64_t word_now(struct wait_groups *ws, struct subgroup *sub)
{
	struct subgroup *of = sub->ready;
	uint64_t version = 1; /* 0: never computed */

	if (of->account != CONF_NONE)
		version += ws->words.version(ws->words.arg, of->account);
	if (of->version != version) {
		++*ws->words.work;
		of->version = version;
		of->word = ws->words.word(ws->words.arg, of->tier, of->account, of->gpus);
	}
	return of->word;
}

uint64_t wait_word(struct wait_groups *ws, const struct class *class)
{
	return word_now(ws, class_link_of(class)->ready.in);
}

/* Compute the key that the subgroup stands by. */
static struct heap_key subgroup_key_now(void *arg, void *item)
{
	struct wait_groups *ws = arg;
	struct subgroup *sub = item;

	++*ws->words.work;
	sub->stands = word_now(ws, sub);
	return (struct heap_key){ sub->stands, heap_first_key(sub->candidates).b };
}

static struct heap_key group_key_now(void *arg, void *item)
{
	struct wait_group *g = item;

	heap_rekey_all(g->order, subgroup_key_now, arg);
	return heap_first_key(g->order);
}

void wait_released(struct wait_groups *ws)
{
	heap_rekey_all(ws->turns, group_key_now, ws);
}

/* --- candidates ------------------------------------------------------------------------------ */

/* Marked, or the ready classes, which always have a turn. */
static bool has_turn(const struct wait_groups *ws, const struct wait_group *g)
{
	return g == &ws->ready || g->turn != HEAP_NOWHERE;
}

/* Its first subgroup may have changed: put the group in its place. */
static void place_group(struct wait_groups *ws, struct wait_group *g)
{
	if (!has_turn(ws, g))
		return;
	if (g->turn == HEAP_NOWHERE)
		heap_put(ws->turns, heap_first_key(g->order), g);
	else if (heap_count(g->order))
		heap_rekey(ws->turns, g->turn, heap_first_key(g->order));
	else
		heap_remove(ws->turns, g->turn);
}

/* Its first candidate or its first word may have changed: put the subgroup in its place. */
static void place(struct wait_groups *ws, struct subgroup *sub)
{
	struct wait_group *g = sub->group;
	struct heap_key key;

	if (!heap_count(sub->candidates)) {
		if (sub->slot == HEAP_NOWHERE)
			return;
		heap_remove(g->order, sub->slot);
	} else {
		if (has_turn(ws, g))
			sub->stands = word_now(ws, sub);
		key = (struct heap_key){ sub->stands, heap_first_key(sub->candidates).b };
		if (sub->slot == HEAP_NOWHERE)
			heap_put(g->order, key, sub);
		else
			heap_rekey(g->order, sub->slot, key);
	}
	place_group(ws, g);
}

static struct heap_key rest_of_key(const struct waiter *w)
{
	return (struct heap_key){ 0, class_link(w->class)->key.b };
}

static void add_candidate(struct wait_groups *ws, struct waiter *w)
{
	heap_put(w->in->candidates, rest_of_key(w), w);
	place(ws, w->in);
}

void wait_put(struct wait_groups *ws, struct waiter *w)
{
	w->in->group->members++;
	add_candidate(ws, w);
}

void wait_enter(struct wait_groups *ws, struct waiter *w)
{
	struct wait_group *g = w->in->group;

	if (g->turn == HEAP_NOWHERE) {
		wait_put(ws, w);
		return;
	}
	g->members++;
	waiter_link(&g->tried, w);
}

void wait_exit(struct wait_groups *ws, struct waiter *w)
{
	w->in->group->members--;
	if (waiter_linked(w)) {
		waiter_unlink(w);
		return;
	}
	heap_remove(w->in->candidates, w->slot);
	place(ws, w->in);
}

void wait_rekey(struct wait_groups *ws, struct waiter *w)
{
	if (!wait_is_candidate(w))
		return;
	heap_rekey(w->in->candidates, w->slot, rest_of_key(w));
	place(ws, w->in);
}

bool wait_is_candidate(const struct waiter *w)
{
	return w->slot != HEAP_NOWHERE;
}

bool wait_inside(const struct waiter *w)
{
	return wait_is_candidate(w) || waiter_linked(w);
}

/* --- marks ----------------------------------------------------------------------------------- */

/* Which nodes the group was marked for: up to WAIT_GROUP_NODES of them; with more, or with
 * WAIT_ANY_NODE, any node may have room. */
static void remember(struct wait_group *g, uint32_t node)
{
	for (uint32_t i = 0; i < g->n_nodes && i < WAIT_GROUP_NODES; i++) {
		if (g->nodes[i] == node)
			return;
	}
	if (node == WAIT_ANY_NODE || g->n_nodes >= WAIT_GROUP_NODES)
		g->n_nodes = WAIT_GROUP_NODES + 1;
	else
		g->nodes[g->n_nodes++] = node;
}

void wait_untry(struct wait_groups *ws, struct waiter *w)
{
	if (!waiter_linked(w))
		return;
	waiter_unlink(w);
	add_candidate(ws, w);
}

void wait_mark(struct wait_groups *ws, struct wait_group *g, uint32_t node, bool recall)
{
	while (recall && !LIST_EMPTY(&g->tried))
		wait_untry(ws, LIST_FIRST(&g->tried));
	if (!heap_count(g->order))
		return;
	if (g->turn == HEAP_NOWHERE) {
		g->n_nodes = 0;
		heap_put(ws->turns, group_key_now(ws, g), g);
	}
	remember(g, node);
}

bool wait_marked(const struct wait_group *g)
{
	return g->turn != HEAP_NOWHERE;
}

void wait_suppress(struct wait_groups *ws, struct wait_group *g)
{
	if (g->turn != HEAP_NOWHERE)
		heap_remove(ws->turns, g->turn);
}

/* --- turns ----------------------------------------------------------------------------------- */

/* What stands first goes by a word that may be too small by now. Then it moves back, and another
 * may be first: at most each subgroup once. */
struct waiter *wait_first(struct wait_groups *ws, struct heap_key *key)
{
	struct wait_group *g;

	while ((g = heap_first(ws->turns))) {
		struct subgroup *sub = heap_first(g->order);

		*key = heap_first_key(ws->turns);
		if (word_now(ws, sub) == key->a)
			return heap_first(sub->candidates);
		place(ws, sub);
	}
	return NULL;
}

bool wait_none(const struct wait_groups *ws)
{
	return !heap_count(ws->turns);
}

size_t wait_ready(const struct wait_groups *ws)
{
	return ws->ready.members;
}

bool wait_is_ready(const struct wait_groups *ws, const struct waiter *w)
{
	return w->in->group == &ws->ready;
}

struct ask wait_group_ask(const struct wait_group *g)
{
	return (struct ask){ g->key.gpus, g->key.cpus, g->key.mem_mb, g->key.user };
}
