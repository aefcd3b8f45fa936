/* park.c - the lists in which classes wait that could not start
 *
 * A class that is woken too often costs a try; a class that is not woken would wait for ever. So a
 * class stands in the crowd (crowd.h) of each alternative that waits for capacity, and in the list
 * of the gate that blocked it; where several gates blocked it, in the list that any release wakes.
 * Crowds with members stand in lists by node set and kind of GPU.
 */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/sched/sched_impl.h"

#define STIRRED_STEP 256 /* crowds that one step looks at */

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
	free(s->gated);
}

void park_configure(struct sched *s)
{
	free_lists(s);
	s->kinds = s->scene.conf->n_gpu_types + 2;
	s->n_lists = ledger_sets(s->scene.ledger) * s->kinds;
	s->lists = xcalloc(s->n_lists, sizeof(*s->lists));
	s->gated = NULL;
	s->n_gated = 0;
}

void park_free(struct sched *s)
{
	free_lists(s);
}

void park_resolve(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	uint32_t a;

	for (a = 0; a < l->n_waiters / 2 && l->partition != CONF_NONE; a++)
		l->waiters[a].camp = crowds_join(s->crowds, class, a, s->quotas);
}

void park_unresolve(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	uint32_t a;

	for (a = 0; a < l->n_waiters / 2; a++) {
		if (l->waiters[a].camp)
			crowds_leave(s->crowds, l->waiters[a].camp);
		l->waiters[a].camp = NULL;
	}
}

/* Gates may have been added. The last list is for classes that wait for any gate, and stays
 * last. */
static void grow_gated(struct sched *s)
{
	size_t n = gates_count(s->scene.gates) + 1, old = s->n_gated;
	struct waiter *any = old ? s->gated[old - 1] : NULL;
	size_t i;

	if (n <= old)
		return;
	n = n < 2 * old ? 2 * old : n;
	s->gated = xrealloc(s->gated, n, sizeof(struct waiter *));
	for (i = old ? old - 1 : 0; i < n; i++)
		s->gated[i] = NULL;
	s->gated[n - 1] = any;
	s->n_gated = n;
	/* The first waiter of a list points back to the list's head, which has moved. */
	for (i = 0; i < n; i++) {
		if (s->gated[i])
			s->gated[i]->back = &s->gated[i];
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

/* --- crowds ---------------------------------------------------------------------------------- */

static void take_seat(struct sched *s, struct crowd *c)
{
	uint16_t type = c->gpus->n ? c->gpus->v[c->alternative].number : TYPE_NONE;
	struct crowd_list *list;

	c->list = (uint32_t)(ledger_set_of(s->scene.ledger, c->partition) * s->kinds +
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
		        .crowd = c };
}

static void leave_seat(struct sched *s, struct crowd *c)
{
	struct crowd_list *list = &s->lists[c->list];

	list->v[c->at] = list->v[--list->n];
	list->v[c->at].crowd->at = c->at;
}

static void forget_note(struct crowd *c)
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

static void note(struct sched *s, struct crowd *c, bool behind, bool again)
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

/* The best candidate of the crowd may have changed. */
static void place_stirred(struct sched *s, struct crowd *c)
{
	if (!heap_count(c->order))
		heap_remove(s->stirred, c->stirred);
	else
		heap_rekey(s->stirred, c->stirred, crowd_first_key(c));
}

static bool is_member(const struct waiter *w)
{
	return w->slot != HEAP_NOWHERE || w->back;
}

static void enter_crowd(struct sched *s, struct waiter *w)
{
	struct crowd *c = w->camp->crowd;

	if (!c->n++)
		take_seat(s, c);
	if (c->stirred != HEAP_NOWHERE) {
		join(&c->done, w);
		return;
	}
	crowd_put(w);
	camp_rekey(w->camp, class_link(w->class)->key.a);
}

static void leave_crowd(struct sched *s, struct waiter *w)
{
	struct crowd *c = w->camp->crowd;

	if (w->back)
		leave(w);
	else
		crowd_take(w);
	if (c->stirred != HEAP_NOWHERE)
		place_stirred(s, c);
	if (--c->n)
		return;
	forget_note(c);
	leave_seat(s, c);
}

/* Compute the key of its first candidate again. */
static void rekey_camp(struct sched *s, struct camp *camp)
{
	camp_rekey(camp, class_over(s, ((struct waiter *)heap_first(camp->order))->class));
}

/* The members that were tried are candidates again. */
static void recall(struct sched *s, struct crowd *c)
{
	while (c->done) {
		struct waiter *w = c->done;

		leave(w);
		crowd_put(w);
		rekey_camp(s, w->camp);
	}
}

static struct heap_key camp_key_now(void *arg, void *item)
{
	struct camp *camp = item;
	const struct waiter *first = heap_first(camp->order);

	((struct sched *)arg)->work++;
	camp->over = class_over(arg, first->class);
	return (struct heap_key){ camp->over, heap_first_key(camp->order).b };
}

#define ANY_NODE UINT32_MAX

/* Stir: the candidates are to be tried, each in its turn; by then classes before them may have
 * taken the room. */
static void stir(struct sched *s, struct crowd *c, uint32_t node)
{
	uint32_t i;

	if (!heap_count(c->order))
		return;
	heap_rekey_all(c->order, camp_key_now, s);
	if (c->stirred == HEAP_NOWHERE) {
		c->n_nodes = 0;
		heap_put(s->stirred, crowd_first_key(c), c);
	} else {
		place_stirred(s, c);
	}
	for (i = 0; i < c->n_nodes && i < CROWD_NODES; i++) {
		if (c->nodes[i] == node)
			return;
	}
	if (node == ANY_NODE || c->n_nodes >= CROWD_NODES)
		c->n_nodes = CROWD_NODES + 1;
	else
		c->nodes[c->n_nodes++] = node;
}

static bool still_fits(const struct sched *s, const struct crowd *c)
{
	struct ask ask = crowd_ask(c);
	uint32_t i;

	for (i = 0; i < c->n_nodes && c->n_nodes <= CROWD_NODES; i++) {
		if (ledger_fits_part(s->scene.ledger, c->nodes[i], &ask, c->alternative))
			return true;
	}
	return c->n_nodes > CROWD_NODES;
}

void park_rekey(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	uint32_t a;

	for (a = 0; a < l->n_waiters / 2; a++) {
		struct waiter *w = &l->waiters[a];

		if (w->slot == HEAP_NOWHERE)
			continue;
		crowd_rekey(w);
		if (w->camp->crowd->stirred != HEAP_NOWHERE)
			place_stirred(s, w->camp->crowd);
	}
}

static struct heap_key crowd_key_now(void *arg, void *item)
{
	struct crowd *c = item;

	heap_rekey_all(c->order, camp_key_now, arg);
	return crowd_first_key(c);
}

void park_released(struct sched *s)
{
	heap_rekey_all(s->stirred, crowd_key_now, s);
}

/* An entry does not count against the class that owns it, so the owners in this crowd are tried one
 * by one. */
static void wake_planned(struct sched *s, const struct crowd *c)
{
	size_t n = plan_count(s->scene.plan), i;
	uint32_t a;

	for (i = 0; i < n; i++) {
		struct class *owner = plan_at(s->scene.plan, i)->owner;
		struct class_link *l = class_link(owner);

		for (a = 0; a < l->n_waiters / 2; a++) {
			if (l->waiters[a].slot == HEAP_NOWHERE || l->waiters[a].camp->crowd != c)
				continue;
			wake(s, owner);
			break;
		}
	}
}

bool park_stirred(const struct class *class)
{
	const struct class_link *l = class_link_of(class);
	uint32_t a;

	for (a = 0; a < l->n_waiters / 2; a++) {
		if (is_member(&l->waiters[a]) && l->waiters[a].camp->crowd->stirred != HEAP_NOWHERE)
			return true;
	}
	return false;
}

bool park_settle(struct sched *s, struct class *class, bool again)
{
	struct class_link *l = class_link(class);
	bool all = true;
	uint32_t a;

	for (a = 0; a < l->n_waiters / 2; a++) {
		struct waiter *w = &l->waiters[a];
		struct crowd *c;

		if (!is_member(w) || !w->camp)
			continue;
		c = w->camp->crowd;
		if (l->last.nowhere[a] == VERDICT_NONE) {
			all = false;
			continue;
		}
		note(s, c, l->last.nowhere[a] == VERDICT_PLANNED, again);
		if (c->stirred == HEAP_NOWHERE)
			continue;
		wake_planned(s, c);
		if (c->stirred != HEAP_NOWHERE)
			heap_remove(s->stirred, c->stirred);
		if (again && w->back) {
			leave(w);
			crowd_put(w);
		}
	}
	return all;
}

bool park_note_behind(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	bool any = false;
	uint32_t a;

	for (a = 0; a < l->n_waiters / 2; a++) {
		if (l->last.nowhere[a] != VERDICT_PLANNED || !is_member(&l->waiters[a]))
			continue;
		note(s, l->waiters[a].camp->crowd, true, false);
		any = true;
	}
	return any;
}

bool park_stir_noted(struct sched *s)
{
	unsigned n;

	for (n = 0; n < STIRRED_STEP && s->noted; n++) {
		struct crowd *c = s->noted;

		if (c->behind)
			recall(s, c);
		forget_note(c);
		stir(s, c, ANY_NODE);
	}
	return !s->noted;
}

/* --- parking --------------------------------------------------------------------------------- */

void park(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	const struct request *gpus = class_info(class)->gpus;
	uint32_t a, n = l->n_waiters / 2, gate;

	if (l->last.planned)
		l->ahead = planner_ahead(s, l->key);
	for (a = 0; a < n; a++) {
		uint16_t type = gpus->n ? gpus->v[a].number : TYPE_NONE;

		if ((l->last.capacity[a] || l->last.other[a]) && type != TYPE_GONE)
			enter_crowd(s, &l->waiters[a]);
		gate = l->last.gate_of[a];
		if (gate == DECIDE_NO_GATE)
			continue;
		grow_gated(s);
		join(&s->gated[gate == DECIDE_ANY_GATE ? s->n_gated - 1 : gate],
		        &l->waiters[n + a]);
	}
}

void unpark(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	uint32_t a, n = l->n_waiters / 2;

	for (a = 0; a < l->n_waiters; a++) {
		struct waiter *w = &l->waiters[a];

		if (!is_member(w))
			continue;
		if (a < n)
			leave_crowd(s, w);
		else
			leave(w);
	}
}

void wake(struct sched *s, struct class *class)
{
	if (class_link(class)->slot != HEAP_NOWHERE)
		return;
	unpark(s, class);
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

/* Stir the crowds of one list of which a part fits on the node. `least` is the free amount there: a
 * crowd that needs more of anything is passed over. */
static void stir_fitting(
        struct sched *s, const struct crowd_list *list, uint32_t node, const struct seat *least)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		const struct seat *seat = &list->v[i];
		struct ask ask;

		if (seat->gpus > least->gpus || seat->cpus > least->cpus ||
		        seat->mem_mb > least->mem_mb)
			continue;
		ask = crowd_ask(seat->crowd);
		if (!ledger_fits_part(s->scene.ledger, node, &ask, seat->crowd->alternative))
			continue;
		recall(s, seat->crowd);
		stir(s, seat->crowd, node);
	}
}

void wake_fitting(struct sched *s, uint32_t node)
{
	const struct conf_node *conf = &s->scene.conf->nodes[node];
	const struct ledger *ledger = s->scene.ledger;
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
		const struct crowd_list *lists = &s->lists[sets[i] * s->kinds];

		for (g = 0; g < conf->n_gpus; g++)
			stir_fitting(s, &lists[conf->gpus[g].type], node, &room);
		if (conf->n_gpus)
			stir_fitting(s, &lists[kind_number(s, TYPE_ANY)], node, &room);
		stir_fitting(s, &lists[kind_number(s, TYPE_NONE)], node, &room);
	}
}

/* The stirred crowd whose first candidate is the best of all; NULL: none is. */
static struct crowd *first_stirred(struct sched *s)
{
	struct crowd *c;

	/* A start only moves candidates back, so a key may be too small and is computed again
	 * here. */
	while ((c = heap_first(s->stirred))) {
		struct camp *camp = heap_first(c->order);
		uint64_t stood = camp->over;

		rekey_camp(s, camp);
		if (camp->over == stood)
			break;
		place_stirred(s, c);
	}
	return c;
}

bool stirred_before(struct sched *s, struct heap_key key)
{
	const struct crowd *c = first_stirred(s);

	return c && heap_key_before(crowd_first_key(c), key);
}

bool wake_stirred(struct sched *s)
{
	unsigned n;
	struct crowd *c;

	/* No stirred candidate comes before the best one. When the room that it was stirred for is
	 * gone, it is gone for most other crowds too. */
	for (n = 0; n < STIRRED_STEP; n++) {
		s->work++;
		c = first_stirred(s);
		if (!c || sched_busy_before(s, crowd_first_key(c)))
			return true;
		if (still_fits(s, c))
			wake(s, crowd_first(c)->class);
		else
			heap_remove(s->stirred, c->stirred);
	}
	return false;
}

void sched_node_freed(struct sched *s, uint32_t node)
{
	sched_node_changed(s, node,
	        ledger_accepts(s->scene.ledger, node) ? "a run ended late" : "a node was lost");
	s->early = true;
	wake_fitting(s, node);
}

void sched_node_returned(struct sched *s, uint32_t node)
{
	sched_node_freed(s, node);
	s->replan = true;
}

void wake_at_gates(struct sched *s, const uint32_t *gates, size_t n, bool yielding)
{
	struct class *chosen = NULL;
	const struct waiter *w;
	size_t i;

	if (!s->n_gated)
		return;
	for (i = 0; i <= n; i++) {
		size_t list = i < n ? gates[i] : s->n_gated - 1;

		for (w = list < s->n_gated ? s->gated[list] : NULL; w; w = w->next) {
			if (!yielding || class_link(w->class)->last.yields)
				choose(&chosen, w->class);
		}
	}
	wake_chosen(s, chosen);
}

void wake_beside_claims(struct sched *s, uint32_t node)
{
	const struct conf_node *conf = &s->scene.conf->nodes[node];
	uint32_t gates[2] = { gates_kept(s->scene.gates, CONF_ANY_TYPE) };
	size_t g;

	if (!quota_any_kept(gates_quota(s->scene.gates)) || !plan_claimed(s->scene.plan, node))
		return;
	for (g = 0; g < conf->n_gpus; g++) {
		gates[1] = gates_kept(s->scene.gates, conf->gpus[g].type);
		wake_at_gates(s, gates, 2, true);
	}
}

void sched_gates_released(struct sched *s, const uint32_t *gates, size_t n)
{
	s->held_changed = s->quotas;
	wake_at_gates(s, gates, n, false);
}
