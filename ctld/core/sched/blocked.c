/* blocked.c - the lists in which classes wait that could not start
 *
 * A class that is woken too often costs a try; a class that is not woken would wait for ever. So a
 * class stands in the wait group (wait_group.h) of each alternative that waits for capacity, and in
 * the list of the limit that blocked it; where several limits blocked it, in the list that any
 * release wakes. Crowds with members stand in lists by node set and kind of GPU.
 */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/sched/sched_impl.h"

#define MARKED_STEP 256 /* wait groups that one step looks at */

static size_t kind_number(const struct sched *s, uint16_t type)
{
	if (type == TYPE_NONE)
		return s->kinds - 1;
	return type == TYPE_ANY ? s->kinds - 2 : type;
}

static void free_lists(struct sched *s)
{
	size_t i;

	for (i = 0; i < s->n_lists; i++)
		free(s->lists[i].v);
	free(s->lists);
	free(s->limited);
}

void blocked_configure(struct sched *s)
{
	free_lists(s);
	s->kinds = s->view.conf->n_gpu_types + 2;
	s->n_lists = ledger_sets(s->view.ledger) * s->kinds;
	s->lists = xcalloc(s->n_lists, sizeof(*s->lists));
	s->limited = NULL;
	s->n_limited = 0;
}

void blocked_free(struct sched *s)
{
	free_lists(s);
}

void blocked_resolve(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	uint32_t a;

	for (a = 0; a < l->n_waiters / 2 && l->partition != CONF_NONE; a++)
		l->waiters[a].subgroup = wait_groups_join(s->wait_groups, class, a, s->quotas);
}

void blocked_unresolve(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	uint32_t a;

	for (a = 0; a < l->n_waiters / 2; a++) {
		if (l->waiters[a].subgroup)
			wait_groups_leave(s->wait_groups, l->waiters[a].subgroup);
		l->waiters[a].subgroup = NULL;
	}
}

/* Limits may have been added. The last list is for classes that wait for any limit, and stays
 * last. */
static void grow_gated(struct sched *s)
{
	size_t n = limits_count(s->view.limits) + 1, old = s->n_limited;
	struct waiter *any = old ? s->limited[old - 1] : NULL;
	size_t i;

	if (n <= old)
		return;
	n = n < 2 * old ? 2 * old : n;
	s->limited = xrealloc(s->limited, n, sizeof(struct waiter *));
	for (i = old ? old - 1 : 0; i < n; i++)
		s->limited[i] = NULL;
	s->limited[n - 1] = any;
	s->n_limited = n;
	/* The first waiter of a list points back to the list's head, which has moved. */
	for (i = 0; i < n; i++) {
		if (s->limited[i])
			s->limited[i]->back = &s->limited[i];
	}
}

static void join(struct waiter **list, struct waiter *w)
{
	w->next = *list;
	w->back = list;
	if (w->next)
		w->next->back = &w->next;
	*list = w;
}

static void leave(struct waiter *w)
{
	*w->back = w->next;
	if (w->next)
		w->next->back = w->back;
	w->back = NULL;
	w->next = NULL;
}

/* --- wait groups
 * ---------------------------------------------------------------------------------- */

static void take_seat(struct sched *s, struct wait_group *c)
{
	uint16_t type = c->gpus->n ? c->gpus->v[c->alternative].number : TYPE_NONE;
	struct wait_group_list *list;

	c->list = (uint32_t)(ledger_set_of(s->view.ledger, c->partition) * s->kinds +
	                     kind_number(s, type));
	list = &s->lists[c->list];
	if (list->n == list->size) {
		list->size = list->size ? list->size * 2 : 16;
		list->v = xrealloc(list->v, list->size, sizeof(*list->v));
	}
	c->at = (uint32_t)list->n;
	list->v[list->n++] =
	        (struct seat){ .gpus = c->gpus->n ? request_part_gpus(c->gpus, c->alternative) : 0,
		        .cpus = c->cpus,
		        .mem_mb = c->mem_mb,
		        .wait_group = c };
}

static void leave_seat(struct sched *s, struct wait_group *c)
{
	struct wait_group_list *list = &s->lists[c->list];

	list->v[c->at] = list->v[--list->n];
	list->v[c->at].wait_group->at = c->at;
}

static void forget_note(struct wait_group *c)
{
	if (!c->back_noted)
		return;
	*c->back_noted = c->next_noted;
	if (c->next_noted)
		c->next_noted->back_noted = c->back_noted;
	c->back_noted = NULL;
	c->next_noted = NULL;
	c->behind = c->again = false;
}

static void note(struct sched *s, struct wait_group *c, bool behind, bool again)
{
	c->behind |= behind;
	c->again |= again;
	if (c->back_noted || (!behind && !again))
		return;
	c->next_noted = s->noted;
	c->back_noted = &s->noted;
	if (c->next_noted)
		c->next_noted->back_noted = &c->next_noted;
	s->noted = c;
}

/* The best candidate of the wait group may have changed. */
static void place_marked(struct sched *s, struct wait_group *c)
{
	if (!heap_count(c->order))
		heap_remove(s->marked, c->marked);
	else
		heap_rekey(s->marked, c->marked, wait_group_first_key(c));
}

static bool is_member(const struct waiter *w)
{
	return w->slot != HEAP_NOWHERE || w->back;
}

static void enter_wait_group(struct sched *s, struct waiter *w)
{
	struct wait_group *c = w->subgroup->wait_group;

	if (!c->n++)
		take_seat(s, c);
	if (c->marked != HEAP_NOWHERE) {
		join(&c->done, w);
		return;
	}
	wait_group_put(w);
	subgroup_rekey(w->subgroup, class_link(w->class)->key.a);
}

static void leave_wait_group(struct sched *s, struct waiter *w)
{
	struct wait_group *c = w->subgroup->wait_group;

	if (w->back)
		leave(w);
	else
		wait_group_take(w);
	if (c->marked != HEAP_NOWHERE)
		place_marked(s, c);
	if (--c->n)
		return;
	forget_note(c);
	leave_seat(s, c);
}

/* Compute the key of its first candidate again. */
static void rekey_subgroup(struct sched *s, struct subgroup *subgroup)
{
	subgroup_rekey(
	        subgroup, class_over(s, ((struct waiter *)heap_first(subgroup->order))->class));
}

/* The members that were tried are candidates again. */
static void recall(struct sched *s, struct wait_group *c)
{
	while (c->done) {
		struct waiter *w = c->done;

		leave(w);
		wait_group_put(w);
		rekey_subgroup(s, w->subgroup);
	}
}

static struct heap_key subgroup_key_now(void *arg, void *item)
{
	struct subgroup *subgroup = item;
	const struct waiter *first = heap_first(subgroup->order);

	((struct sched *)arg)->work++;
	subgroup->over = class_over(arg, first->class);
	return (struct heap_key){ subgroup->over, heap_first_key(subgroup->order).b };
}

#define ANY_NODE UINT32_MAX

/* Mark for retry: the candidates are to be tried, each in its turn; by then classes before them may
 * have taken the room. */
static void mark(struct sched *s, struct wait_group *c, uint32_t node)
{
	uint32_t i;

	if (!heap_count(c->order))
		return;
	heap_rekey_all(c->order, subgroup_key_now, s);
	if (c->marked == HEAP_NOWHERE) {
		c->n_nodes = 0;
		heap_put(s->marked, wait_group_first_key(c), c);
	} else {
		place_marked(s, c);
	}
	for (i = 0; i < c->n_nodes && i < WAIT_GROUP_NODES; i++) {
		if (c->nodes[i] == node)
			return;
	}
	if (node == ANY_NODE || c->n_nodes >= WAIT_GROUP_NODES)
		c->n_nodes = WAIT_GROUP_NODES + 1;
	else
		c->nodes[c->n_nodes++] = node;
}

static bool still_fits(const struct sched *s, const struct wait_group *c)
{
	struct ask ask = wait_group_ask(c);
	uint32_t i;

	for (i = 0; i < c->n_nodes && c->n_nodes <= WAIT_GROUP_NODES; i++) {
		if (ledger_fits_part(s->view.ledger, c->nodes[i], &ask, c->alternative))
			return true;
	}
	return c->n_nodes > WAIT_GROUP_NODES;
}

void blocked_rekey(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	uint32_t a;

	for (a = 0; a < l->n_waiters / 2; a++) {
		struct waiter *w = &l->waiters[a];

		if (w->slot == HEAP_NOWHERE)
			continue;
		wait_group_rekey(w);
		if (w->subgroup->wait_group->marked != HEAP_NOWHERE)
			place_marked(s, w->subgroup->wait_group);
	}
}

static struct heap_key wait_group_key_now(void *arg, void *item)
{
	struct wait_group *c = item;

	heap_rekey_all(c->order, subgroup_key_now, arg);
	return wait_group_first_key(c);
}

void blocked_released(struct sched *s)
{
	heap_rekey_all(s->marked, wait_group_key_now, s);
}

/* A reservation does not count against the class that owns it, so the owners in this wait group are
 * tried one by one. */
static void wake_planned(struct sched *s, const struct wait_group *c)
{
	size_t n = plan_count(s->view.plan), i;
	uint32_t a;

	for (i = 0; i < n; i++) {
		struct class *owner = plan_at(s->view.plan, i)->owner;
		struct class_link *l = class_link(owner);

		for (a = 0; a < l->n_waiters / 2; a++) {
			if (l->waiters[a].slot == HEAP_NOWHERE ||
			        l->waiters[a].subgroup->wait_group != c)
				continue;
			wake(s, owner);
			break;
		}
	}
}

bool blocked_marked(const struct class *class)
{
	const struct class_link *l = class_link_of(class);
	uint32_t a;

	for (a = 0; a < l->n_waiters / 2; a++) {
		if (is_member(&l->waiters[a]) &&
		        l->waiters[a].subgroup->wait_group->marked != HEAP_NOWHERE)
			return true;
	}
	return false;
}

bool blocked_suppress(struct sched *s, struct class *class, bool again)
{
	struct class_link *l = class_link(class);
	bool all = true;
	uint32_t a;

	for (a = 0; a < l->n_waiters / 2; a++) {
		struct waiter *w = &l->waiters[a];
		struct wait_group *c;

		if (!is_member(w) || !w->subgroup)
			continue;
		c = w->subgroup->wait_group;
		if (l->last.nowhere[a] == VERDICT_NONE) {
			all = false;
			continue;
		}
		note(s, c, l->last.nowhere[a] == VERDICT_PLANNED, again);
		if (c->marked == HEAP_NOWHERE)
			continue;
		wake_planned(s, c);
		if (c->marked != HEAP_NOWHERE)
			heap_remove(s->marked, c->marked);
		if (again && w->back) {
			leave(w);
			wait_group_put(w);
		}
	}
	return all;
}

bool blocked_note_behind(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	bool any = false;
	uint32_t a;

	for (a = 0; a < l->n_waiters / 2; a++) {
		if (l->last.nowhere[a] != VERDICT_PLANNED || !is_member(&l->waiters[a]))
			continue;
		note(s, l->waiters[a].subgroup->wait_group, true, false);
		any = true;
	}
	return any;
}

bool blocked_mark_noted(struct sched *s)
{
	unsigned n;

	for (n = 0; n < MARKED_STEP && s->noted; n++) {
		struct wait_group *c = s->noted;

		if (c->behind)
			recall(s, c);
		forget_note(c);
		mark(s, c, ANY_NODE);
	}
	return !s->noted;
}

/* --- parking --------------------------------------------------------------------------------- */

void block_class(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	const struct request *gpus = class_info(class)->gpus;
	uint32_t a, n = l->n_waiters / 2, limit;

	if (l->last.planned)
		l->ahead = planner_ahead(s, l->key);
	for (a = 0; a < n; a++) {
		uint16_t type = gpus->n ? gpus->v[a].number : TYPE_NONE;

		if ((l->last.capacity[a] || l->last.other[a]) && type != TYPE_GONE)
			enter_wait_group(s, &l->waiters[a]);
		limit = l->last.limit_of[a];
		if (limit == DECIDE_NO_LIMIT)
			continue;
		grow_gated(s);
		join(&s->limited[limit == DECIDE_ANY_LIMIT ? s->n_limited - 1 : limit],
		        &l->waiters[n + a]);
	}
}

void unblock_class(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	uint32_t a, n = l->n_waiters / 2;

	for (a = 0; a < l->n_waiters; a++) {
		struct waiter *w = &l->waiters[a];

		if (!is_member(w))
			continue;
		if (a < n)
			leave_wait_group(s, w);
		else
			leave(w);
	}
}

void wake(struct sched *s, struct class *class)
{
	if (class_link(class)->slot != HEAP_NOWHERE)
		return;
	unblock_class(s, class);
	class_key(s, class);
	ready_put(s, class);
}

/* Waking takes a class out of all lists, perhaps twice out of the list being walked. So the classes
 * are chosen first and woken afterwards. */
static void choose(struct class **chosen, struct class *class)
{
	struct class_link *l = class_link(class);

	if (l->waking)
		return;
	l->waking = true;
	l->next_waking = *chosen;
	*chosen = class;
}

static void wake_chosen(struct sched *s, struct class *chosen)
{
	while (chosen) {
		struct class *class = chosen;

		chosen = class_link(class)->next_waking;
		class_link(class)->waking = false;
		wake(s, class);
	}
}

/* Mark the wait groups of one list of which a part fits on the node. `least` is the free amount
 * there: a wait group that needs more of anything is passed over. */
static void mark_fitting(struct sched *s, const struct wait_group_list *list, uint32_t node,
        const struct seat *least)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		const struct seat *seat = &list->v[i];
		struct ask ask;

		if (seat->gpus > least->gpus || seat->cpus > least->cpus ||
		        seat->mem_mb > least->mem_mb)
			continue;
		ask = wait_group_ask(seat->wait_group);
		if (!ledger_fits_part(s->view.ledger, node, &ask, seat->wait_group->alternative))
			continue;
		recall(s, seat->wait_group);
		mark(s, seat->wait_group, node);
	}
}

void wake_fitting(struct sched *s, uint32_t node)
{
	const struct conf_node *conf = &s->view.conf->nodes[node];
	const struct ledger *ledger = s->view.ledger;
	size_t n, i, g;
	const uint32_t *sets = ledger_node_sets(ledger, node, &n);
	struct seat room = { .cpus = ledger_cpus_free(ledger, node),
		.mem_mb = ledger_mem_free_mb(ledger, node) };
	uint64_t gpus = 0;

	if (!ledger_accepts(ledger, node))
		return;
	for (g = 0; g < conf->n_gpus; g++)
		gpus |= ledger_gpus_free(ledger, node, conf->gpus[g].type);
	gpus |= ledger_gpus_shared(ledger, node); /* their free parts may do for shares */
	room.gpus = (uint32_t)__builtin_popcountll(gpus);
	for (i = 0; i < n; i++) {
		const struct wait_group_list *lists = &s->lists[sets[i] * s->kinds];

		for (g = 0; g < conf->n_gpus; g++)
			mark_fitting(s, &lists[conf->gpus[g].type], node, &room);
		if (conf->n_gpus)
			mark_fitting(s, &lists[kind_number(s, TYPE_ANY)], node, &room);
		mark_fitting(s, &lists[kind_number(s, TYPE_NONE)], node, &room);
	}
}

/* The marked wait group whose first candidate is the best of all; NULL: none is. */
static struct wait_group *first_marked(struct sched *s)
{
	struct wait_group *c;

	/* A start only moves candidates back, so a key may be too small and is computed again
	 * here. */
	while ((c = heap_first(s->marked))) {
		struct subgroup *subgroup = heap_first(c->order);
		uint64_t stood = subgroup->over;

		rekey_subgroup(s, subgroup);
		if (subgroup->over == stood)
			break;
		place_marked(s, c);
	}
	return c;
}

bool marked_before(struct sched *s, struct heap_key key)
{
	const struct wait_group *c = first_marked(s);

	return c && heap_key_before(wait_group_first_key(c), key);
}

bool wake_marked(struct sched *s)
{
	unsigned n;
	struct wait_group *c;

	/* No marked candidate comes before the best one. When the room that it was marked for retry
	 * for is gone, it is gone for most other wait groups too. */
	for (n = 0; n < MARKED_STEP; n++) {
		s->work++;
		c = first_marked(s);
		if (!c || sched_busy_before(s, wait_group_first_key(c)))
			return true;
		if (still_fits(s, c))
			wake(s, wait_group_first(c)->class);
		else
			heap_remove(s->marked, c->marked);
	}
	return false;
}

void sched_node_freed(struct sched *s, uint32_t node)
{
	sched_node_changed(s, node,
	        ledger_accepts(s->view.ledger, node) ? "a run ended late" : "a node was lost");
	s->early = true;
	wake_fitting(s, node);
}

void sched_node_returned(struct sched *s, uint32_t node)
{
	sched_node_freed(s, node);
	s->replan = true;
}

void wake_at_limits(struct sched *s, const uint32_t *limits, size_t n, bool yielding)
{
	struct class *chosen = NULL;
	const struct waiter *w;
	size_t i;

	if (!s->n_limited)
		return;
	for (i = 0; i <= n; i++) {
		size_t list = i < n ? limits[i] : s->n_limited - 1;

		for (w = list < s->n_limited ? s->limited[list] : NULL; w; w = w->next) {
			if (!yielding || class_link(w->class)->last.yields)
				choose(&chosen, w->class);
		}
	}
	wake_chosen(s, chosen);
}

void wake_beside_claims(struct sched *s, uint32_t node)
{
	const struct conf_node *conf = &s->view.conf->nodes[node];
	uint32_t limits[2] = { limits_guarantee(s->view.limits, CONF_ANY_TYPE) };
	size_t g;

	if (!quota_any_reserved(limits_quota(s->view.limits)) ||
	        !plan_has_preemption(s->view.plan, node))
		return;
	for (g = 0; g < conf->n_gpus; g++) {
		limits[1] = limits_guarantee(s->view.limits, conf->gpus[g].type);
		wake_at_limits(s, limits, 2, true);
	}
}

void sched_limits_released(struct sched *s, const uint32_t *limits, size_t n)
{
	s->usage_changed = s->quotas;
	wake_at_limits(s, limits, n, false);
}
