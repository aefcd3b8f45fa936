/* park.c - the lists in which classes wait that could not start
 *
 * Over-waking costs a try, under-waking would be a job that waits for ever. So a class stands in
 * the list of every kind of capacity that it could use, and in that of the gate that held it; where
 * several gates held it, in the list that any release wakes.
 */
#include <stdlib.h>

#include "common/xalloc.h"
#include "ctld/core/sched_impl.h"

static size_t kind_number(const struct sched *s, uint16_t type)
{
	if (type == TYPE_NONE)
		return s->kinds - 1;
	return type == TYPE_ANY ? s->kinds - 2 : type;
}

void park_configure(struct sched *s)
{
	free(s->waiting);
	free(s->gated);
	s->kinds = s->scene.conf->n_gpu_types + 2;
	s->waiting = xcalloc(ledger_sets(s->scene.ledger) * s->kinds, sizeof(struct waiter *));
	s->gated = NULL;
	s->n_gated = 0;
}

void park_free(struct sched *s)
{
	free(s->waiting);
	free(s->gated);
}

/* Gates may have been added. The last list is for any of them: it stays the last. */
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
	/* The heads of the lists know where they hang. */
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

void park(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	const struct request *gpus = class_info(class)->gpus;
	uint32_t a, n = l->n_waiters / 2, gate;

	if (l->last.verdict == VERDICT_PLANNED)
		l->ahead = planner_ahead(s, l->key);
	for (a = 0; a < n; a++) {
		uint16_t type = gpus->n ? gpus->v[a].number : TYPE_NONE;

		if ((l->last.capacity[a] || l->last.other[a]) && type != TYPE_GONE)
			join(&s->waiting[ledger_set_of(s->scene.ledger, l->partition) * s->kinds +
			                 kind_number(s, type)],
			        &l->waiters[a]);
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
	uint32_t a;

	if (l->stirred != HEAP_NOWHERE)
		heap_remove(s->stirred, l->stirred);
	for (a = 0; a < l->n_waiters; a++) {
		struct waiter *w = &l->waiters[a];

		if (!w->back)
			continue;
		*w->back = w->next;
		if (w->next)
			w->next->back = w->back;
		w->back = NULL;
		w->next = NULL;
	}
}

void wake(struct sched *s, struct class *class)
{
	if (class_link(class)->slot != HEAP_NOWHERE)
		return;
	unpark(s, class);
	heap_put(s->ready, class_key(s, class), class);
}

/* Waking takes a class out of all lists, perhaps twice out of this one: so first choose, then wake.
 */
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

/* To be tried when it is its turn: by then others before it may have taken what there is. */
static void stir(struct sched *s, struct class *class, uint32_t node)
{
	struct class_link *l = class_link(class);

	if (l->stirred == HEAP_NOWHERE) {
		l->stirred_by = node;
		heap_put(s->stirred, l->key, class);
	} else if (l->stirred_by != node) {
		l->stirred_by = SCHED_SEVERAL;
	}
}

/* Those of one list of which a part fits on the node. */
static void stir_fitting(struct sched *s, const struct waiter *list, uint32_t node)
{
	const struct waiter *w;

	for (w = list; w; w = w->next) {
		struct ask ask = class_ask(w->class);

		if (ledger_fits_part(s->scene.ledger, node, &ask, w->alternative))
			stir(s, w->class, node);
	}
}

void wake_fitting(struct sched *s, uint32_t node)
{
	const struct conf_node *conf = &s->scene.conf->nodes[node];
	size_t n, i, g;
	const uint32_t *sets = ledger_node_sets(s->scene.ledger, node, &n);

	for (i = 0; i < n; i++) {
		struct waiter **lists = &s->waiting[sets[i] * s->kinds];

		for (g = 0; g < conf->n_gpus; g++)
			stir_fitting(s, lists[conf->gpus[g].type], node);
		if (conf->n_gpus)
			stir_fitting(s, lists[kind_number(s, TYPE_ANY)], node);
		stir_fitting(s, lists[kind_number(s, TYPE_NONE)], node);
	}
}

static bool still_fits(const struct sched *s, const struct class *class)
{
	const struct class_link *l = class_link_of(class);
	struct ask ask = class_ask(class);
	uint32_t a;

	if (l->stirred_by == SCHED_SEVERAL)
		return true;
	for (a = 0; a < l->n_waiters / 2; a++) {
		if (l->waiters[a].back && ledger_fits_part(s->scene.ledger, l->stirred_by, &ask, a))
			return true;
	}
	return false;
}

void wake_stirred(struct sched *s)
{
	struct class *class;

	/* Nobody stirred is before the first of them. */
	while ((class = heap_first(s->stirred)) && !sched_busy_before(s, class_link(class)->key)) {
		if (still_fits(s, class))
			wake(s, class);
		else
			heap_remove(s->stirred, class_link(class)->stirred);
	}
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

void wake_at_gates(struct sched *s, const uint32_t *gates, size_t n, enum verdict only)
{
	struct class *chosen = NULL;
	const struct waiter *w;
	size_t i;

	if (!s->n_gated)
		return;
	for (i = 0; i <= n; i++) {
		size_t list = i < n ? gates[i] : s->n_gated - 1;

		for (w = list < s->n_gated ? s->gated[list] : NULL; w; w = w->next) {
			if (only == VERDICT_NONE || class_link(w->class)->last.verdict == only)
				choose(&chosen, w->class);
		}
	}
	wake_chosen(s, chosen);
}

void sched_gates_released(struct sched *s, const uint32_t *gates, size_t n)
{
	s->held_changed = s->quotas;
	wake_at_gates(s, gates, n, VERDICT_NONE);
}

void sched_wake_all(struct sched *s)
{
	size_t cursor = 0;
	struct class *class;

	while ((class = classes_each(s->classes, &cursor)))
		wake(s, class);
}
