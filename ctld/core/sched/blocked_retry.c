/* blocked_retry.c - the lists in which classes wait that could not start
 *
 * A class that is woken too often costs a try; a class that is not woken would wait for ever. So a
 * class stands in the wait group (wait_group.h) of each alternative that waits for capacity, and in
 * the list of the limit that blocked it; where several limits blocked it, in the list that any
 * release wakes. Groups with members stand in a list for each node set, with the least that a part
 * needs.
 *
 * A group is *noted* if it is to be marked when the order changes, or at the next ordering: what
 * refused its members may change without any release. If that was what is planned (`recall`), all
 * are tried again; if there were no more searches for victims, those that had none.
 *
 * Invariants: a class that is ready stands in none of these lists; a group has a seat in the array
 * of its node set exactly while it has members; a noted group has members. The array of seats is
 * compact and holds what a release compares, because a release passes over all groups of the node's
 * sets.
 */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/sched/sched_impl.h"

#define NOTED_STEP 256 /* groups that one step marks */

/* A group that has members, with the least that a part of it needs. */
struct seat {
	uint32_t gpus, cpus;
	uint64_t mem_mb;
	uint16_t type; /* TYPE_ANY, TYPE_NONE */
	struct wait_group *group;
};

struct seats {
	struct seat *v; /* owned */
	size_t n, size;
};

struct blocked {
	struct seats *sets; /* by node set */
	size_t n_sets;
	struct waiter_list *limits; /* by limit */
	size_t n_limits;
	struct waiter_list any_limit;
	LIST_HEAD(, wait_group) noted;
};

void blocked_new(struct sched *s)
{
	s->blocked = xcalloc(1, sizeof(*s->blocked));
}

static void clear(struct blocked *b)
{
	for (size_t i = 0; i < b->n_sets; i++)
		free(b->sets[i].v);
	free(b->sets);
	free(b->limits);
}

void blocked_configure(struct sched *s)
{
	clear(s->blocked);
	*s->blocked = (struct blocked){ .n_sets = ledger_sets(s->view.ledger) };
	s->blocked->sets = xcalloc(s->blocked->n_sets, sizeof(*s->blocked->sets));
}

void blocked_free(struct sched *s)
{
	clear(s->blocked);
	free(s->blocked);
}

/* --- lists ----------------------------------------------------------------------------------- */

static struct waiter_list *limit_list(struct sched *s, uint32_t limit)
{
	struct blocked *b = s->blocked;
	size_t n = limits_count(s->view.limits), i;

	if (limit == DECIDE_ANY_LIMIT)
		return &b->any_limit;
	if (limit >= b->n_limits) {
		n = n < 2 * b->n_limits ? 2 * b->n_limits : n;
		b->limits = xrealloc(b->limits, n, sizeof(*b->limits));
		for (i = b->n_limits; i < n; i++)
			LIST_INIT(&b->limits[i]);
		/* The first waiter of a list points back to the list's head, which has moved. */
		for (i = 0; i < b->n_limits; i++) {
			if (!LIST_EMPTY(&b->limits[i]))
				LIST_FIRST(&b->limits[i])->at.le_prev = &LIST_FIRST(&b->limits[i]);
		}
		b->n_limits = n;
	}
	return &b->limits[limit];
}

/* Its first member comes in. */
static void take_seat(struct sched *s, struct wait_group *g)
{
	const struct request *r = g->key.gpus;
	uint32_t a = g->key.alternative;
	struct seats *list;

	g->list = ledger_set_of(s->view.ledger, g->key.partition);
	list = &s->blocked->sets[g->list];
	g->at = (uint32_t)list->n;
	*XADD(list->v, list->n, list->size) =
	        (struct seat){ .gpus = r->n ? request_part_gpus(r, a) : 0,
			.cpus = g->key.cpus,
			.mem_mb = g->key.mem_mb,
			.type = r->n ? r->v[a].number : TYPE_NONE,
			.group = g };
}

/* Its last member has left. The last seat moves into the gap. */
static void leave_seat(struct sched *s, struct wait_group *g)
{
	struct seats *list = &s->blocked->sets[g->list];

	list->v[g->at] = list->v[--list->n];
	list->v[g->at].group->at = g->at;
}

/* To be marked later; `recall`: with the members that were tried. */
static void note(struct sched *s, struct wait_group *g, bool recall)
{
	g->recall |= recall;
	if (!g->noted.le_prev)
		LIST_INSERT_HEAD(&s->blocked->noted, g, noted);
}

static void forget_note(struct wait_group *g)
{
	if (g->noted.le_prev)
		LIST_REMOVE(g, noted);
	g->noted.le_prev = NULL;
	g->recall = false;
}

/* --- blocking and waking --------------------------------------------------------------------- */

/* Into the lists of what refused the class (last): for each alternative its group if it waits for
 * capacity, and the list of the limit if one refused it. With planned starts before it, it also
 * notes which these are. */
void block_class(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	const struct request *gpus = class_info(class)->gpus;
	uint32_t a, n = l->n_waiters / 2;

	if (l->last.planned)
		l->ahead = ahead_of(s, l->key);
	for (a = 0; a < n; a++) {
		uint16_t type = gpus->n ? gpus->v[a].number : TYPE_NONE;
		struct waiter *w = &l->waiters[a];

		if ((l->last.capacity[a] || l->last.other[a]) && type != TYPE_GONE) {
			if (!w->in->group->members)
				take_seat(s, w->in->group);
			wait_enter(s->wait_groups, w);
		}
		if (l->last.limit_of[a] != DECIDE_NO_LIMIT)
			waiter_link(limit_list(s, l->last.limit_of[a]), &l->waiters[n + a]);
	}
}

void unblock_class(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	uint32_t a, n = l->n_waiters / 2;

	for (a = 0; a < n; a++) {
		struct waiter *w = &l->waiters[a];

		if (waiter_linked(&w[n]))
			waiter_unlink(&w[n]);
		if (!wait_inside(w))
			continue;
		wait_exit(s->wait_groups, w);
		if (w->in->group->members)
			continue;
		forget_note(w->in->group);
		leave_seat(s, w->in->group);
	}
}

void blocked_rekey(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);

	for (uint32_t a = 0; a < l->n_waiters / 2; a++)
		wait_rekey(s->wait_groups, &l->waiters[a]);
}

void wake(struct sched *s, struct class *class)
{
	if (class_ready(class))
		return;
	unblock_class(s, class);
	class_link(class)->put_off = false;
	class_key(s, class);
	wait_put(s->wait_groups, &class_link(class)->ready);
}

/* --- refusals that hold for a whole group ---------------------------------------------------- */

static bool is_candidate_of(const struct class *class, const struct wait_group *g)
{
	const struct class_link *l = class_link_of(class);

	for (uint32_t a = 0; a < l->n_waiters / 2; a++) {
		if (wait_is_candidate(&l->waiters[a]) && l->waiters[a].in->group == g)
			return true;
	}
	return false;
}

/* A reservation does not count against the job that it is for, so the classes in this group whose
 * heads have one, here or in another of their partitions, are tried one by one. */
static void wake_planned(struct sched *s, const struct wait_group *g)
{
	size_t n = plan_count(s->view.plan), i;
	const struct queued *q;

	for (i = 0; i < n; i++) {
		const struct job *head = class_head(plan_at(s->view.plan, i)->owner);

		for (uint32_t k = 0; (q = job_queued(head, k)); k++) {
			if (class_head_queued(q->class) == q && is_candidate_of(q->class, g))
				wake(s, q->class);
		}
	}
}

bool blocked_marked(const struct class *class)
{
	const struct class_link *l = class_link_of(class);

	for (uint32_t a = 0; a < l->n_waiters / 2; a++) {
		if (wait_inside(&l->waiters[a]) && wait_marked(l->waiters[a].in->group))
			return true;
	}
	return false;
}

bool blocked_suppress(struct sched *s, struct class *class, bool again)
{
	struct class_link *l = class_link(class);
	bool all = true;

	for (uint32_t a = 0; a < l->n_waiters / 2; a++) {
		struct waiter *w = &l->waiters[a];
		bool planned = l->last.nowhere[a] == VERDICT_PLANNED;

		if (!wait_inside(w))
			continue;
		if (l->last.nowhere[a] == VERDICT_NONE) {
			all = false;
			continue;
		}
		if (planned || again)
			note(s, w->in->group, planned);
		if (!wait_marked(w->in->group))
			continue;
		wake_planned(s, w->in->group);
		wait_suppress(s->wait_groups, w->in->group);
		if (again)
			wait_untry(s->wait_groups, w);
	}
	return all;
}

bool blocked_note(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	bool any = false;

	for (uint32_t a = 0; a < l->n_waiters / 2; a++) {
		if (l->last.nowhere[a] != VERDICT_PLANNED || !wait_inside(&l->waiters[a]))
			continue;
		note(s, l->waiters[a].in->group, true);
		any = true;
	}
	return any;
}

bool blocked_mark_noted(struct sched *s)
{
	struct wait_group *g;

	for (unsigned n = 0; n < NOTED_STEP && (g = LIST_FIRST(&s->blocked->noted)); n++) {
		wait_mark(s->wait_groups, g, WAIT_ANY_NODE, g->recall);
		forget_note(g);
	}
	return LIST_EMPTY(&s->blocked->noted);
}

/* --- releases -------------------------------------------------------------------------------- */

static bool has_type(const struct conf_node *conf, uint16_t type)
{
	if (type == TYPE_NONE || type == TYPE_ANY)
		return type == TYPE_NONE || conf->n_gpus;
	for (size_t g = 0; g < conf->n_gpus; g++) {
		if (conf->gpus[g].type == type)
			return true;
	}
	return false;
}

/* Mark the groups of one list of which a part fits on the node. `room` is the free amount there: a
 * group that needs more of anything is passed over. */
static void mark_fitting(
        struct sched *s, const struct seats *list, uint32_t node, const struct seat *room)
{
	const struct conf_node *conf = &s->view.conf->nodes[node];

	for (size_t i = 0; i < list->n; i++) {
		const struct seat *seat = &list->v[i];
		struct ask ask;

		if (seat->gpus > room->gpus || seat->cpus > room->cpus ||
		        seat->mem_mb > room->mem_mb || !has_type(conf, seat->type))
			continue;
		ask = wait_group_ask(seat->group);
		if (ledger_fits_part(s->view.ledger, node, &ask, seat->group->key.alternative))
			wait_mark(s->wait_groups, seat->group, node, true);
	}
}

/* A node has more room. Each group in a list of one of its node sets is compared with what is free
 * there, cheaply first; where that suffices, whether a part really fits. */
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
	for (i = 0; i < n; i++)
		mark_fitting(s, &s->blocked->sets[sets[i]], node, &room);
}

/* Asks again before a group has its turn: what it was marked for may have been taken since. */
bool blocked_fits(const struct sched *s, const struct wait_group *g)
{
	struct ask ask = wait_group_ask(g);

	for (uint32_t i = 0; i < g->n_nodes && g->n_nodes <= WAIT_GROUP_NODES; i++) {
		if (ledger_fits_part(s->view.ledger, g->nodes[i], &ask, g->key.alternative))
			return true;
	}
	return g->n_nodes > WAIT_GROUP_NODES;
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

/* A class that is woken leaves the list with all its waiters; they stand there side by side. */
static void wake_list(struct sched *s, const struct waiter_list *list, bool yielding)
{
	struct waiter *w, *next;

	for (w = LIST_FIRST(list); w; w = next) {
		next = LIST_NEXT(w, at);
		while (next && next->class == w->class)
			next = LIST_NEXT(next, at);
		if (!yielding || class_link(w->class)->last.yields)
			wake(s, w->class);
	}
}

void wake_at_limits(struct sched *s, const uint32_t *limits, size_t n, bool yielding)
{
	const struct blocked *b = s->blocked;

	for (size_t i = 0; i < n; i++) {
		if (limits[i] < b->n_limits)
			wake_list(s, &b->limits[limits[i]], yielding);
	}
	wake_list(s, &b->any_limit, yielding);
}

void wake_beside_claims(struct sched *s, uint32_t node)
{
	const struct conf_node *conf = &s->view.conf->nodes[node];
	uint32_t limits[2] = { limits_guarantee(s->view.limits, CONF_ANY_TYPE) };

	if (!quota_any_reserved(limits_quota(s->view.limits)) ||
	        !plan_has_preemption(s->view.plan, node))
		return;
	for (size_t g = 0; g < conf->n_gpus; g++) {
		limits[1] = limits_guarantee(s->view.limits, conf->gpus[g].type);
		wake_at_limits(s, limits, 2, true);
	}
}

/* With quotas each release changes how far accounts are over theirs. */
void sched_limits_released(struct sched *s, const uint32_t *limits, size_t n)
{
	s->usage_changed = s->quotas;
	wake_at_limits(s, limits, n, false);
}
