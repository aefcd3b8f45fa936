/* plan.c - see plan.h
 *
 * Reservations, and whether they still have room. On each node a reservation has one slot; the
 * slots of a node are a list in no order, because few stand on one node. What a slot may use is
 * what is free at each moment of its time, less the slots that count before it (node_timeline.c).
 *
 * Invariant: at every moment all reservations on a node fit together, as far as is known. A change
 * on a node only marks it; plan_broken() then checks its slots and names the first by key that
 * lost its room, and the scheduler drops or moves that one and asks again. Until something changes
 * there the answer is kept (`sound`), so the usual check costs nothing.
 *
 * A reservation names nodes and amounts, not GPUs: which GPUs of a node it gets is decided at its
 * start. Its places therefore count GPUs by number; for shares, GPUs that can serve them (struct
 * plan_kind).
 *
 * A reservation whose start has come and whose job has not started moves along with time and keeps
 * its length (plan_slot_start(), plan_slot_end()). Times are mono; PLAN_FAR stands for an end that
 * is not known, and PLAN_FAR * 2 for the end of what begins then.
 */
#include "ctld/core/plan/plan.h"

#include "ctld/core/plan/plan_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/resort.h"

struct plan *plan_new(const struct conf *conf, struct ledger *ledger, const struct plan_runs *runs)
{
	struct plan *p = xcalloc(1, sizeof(*p));

	p->conf = conf;
	p->ledger = ledger;
	p->runs = *runs;
	p->timelines = xcalloc(conf->n_nodes, sizeof(*p->timelines));
	plan_orders_init(p);
	p->counts = xcalloc(conf->n_partitions, sizeof(*p->counts));
	return p;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	while (p->n)
		plan_remove(p, p->reservations[p->n - 1]);
	for (size_t i = 0; i < p->conf->n_nodes; i++) {
		free(p->timelines[i].releases);
		free(p->timelines[i].given);
	}
	plan_orders_free(p);
	free(p->timelines);
	free(p->reservations);
	free(p->ranked);
	free(p->counts);
	step_function_free(&p->steps);
	free(p);
}

void plan_now(struct plan *p, usec_t mono)
{
	p->now = mono;
}

/* What is known of the node is made anew when it is next wanted. */
void plan_node_changed(struct plan *p, uint32_t node)
{
	p->timelines[node].fresh = false;
	p->timelines[node].sound = INT64_MIN;
	plan_log(p, node);
}

/* --- looking for a start --------------------------------------------------------------------- */

struct plan_kind plan_kind(const struct plan_want *w)
{
	return (struct plan_kind){ w->find.type, ask_share(&w->ask) };
}

struct plan_part plan_part(const struct plan *p, const struct plan_want *w, uint32_t node)
{
	const struct request *r = w->ask.gpus;
	struct plan_part part = { 0, w->ask.cpus, w->ask.mem_mb };

	if (r->n)
		part.gpus = request_part_gpus(r, w->find.alternative);
	/* It is not known which GPUs will be free: take so many that the right ones are among
	 * them. */
	if (r->link)
		part.gpus = ledger_sure(p->ledger, node, r, w->find.alternative, w->find.type);
	if (r->exclusive) {
		part.gpus = (uint32_t)__builtin_popcountll(
		        ledger_gpus_of(p->ledger, node, w->find.type));
		part.cpus = ledger_cpus(p->ledger, node);
		part.mem_mb = ledger_mem_mb(p->ledger, node);
	}
	return part;
}

bool plan_room_holds(const struct plan_room *room, const struct plan_part *part)
{
	return room->gpus >= (int64_t)part->gpus && room->cpus >= (int64_t)part->cpus &&
	       room->mem_mb >= (int64_t)part->mem_mb;
}

/* Add what runs on the node as steps up, and return the level as of now. Where GPUs are shared,
 * each GPU is a step of its own, at the time from which it serves the kind. */
static struct plan_room begin_steps(struct plan *p, uint32_t node, const struct plan_kind *kind)
{
	const struct node_timeline *s = plan_timeline(p, node);
	usec_t when[CONF_MAX_GPUS_PER_NODE];
	bool numbers = plan_by_number(s, kind);
	struct plan_room level;
	uint32_t i, n;

	plan_room_now(p, node, kind, &level);
	step_function_clear(&p->steps);
	for (i = 0; i < s->n; i++) {
		bool gpus = numbers && s->releases[i].type == kind->type;

		step_function_add(&p->steps, plan_release_end(p, &s->releases[i]),
		        (struct plan_room){ gpus ? s->releases[i].gpus : 0, s->releases[i].cpus,
		                (int64_t)s->releases[i].mem_mb });
	}
	n = numbers ? 0 : plan_gpus_when(p, node, kind, when);
	for (i = 0; i < n; i++)
		step_function_add(&p->steps, when[i], (struct plan_room){ 1, 0, 0 });
	return level;
}

/* False if it has no limit and comes after something without one: both end at PLAN_FAR * 2. */
static bool has_length(const struct plan *p, const struct plan_slot *slot)
{
	return plan_slot_start(p, slot) < plan_slot_end(p, slot);
}

/* A step down at the start of the slot and a step up at its end. */
static void add_slot(struct plan *p, const struct plan_slot *slot, uint16_t type)
{
	int64_t gpus = slot->reservation->places.type == type ? slot->gpus : 0;
	int64_t cpus = slot->cpus, mem_mb = (int64_t)slot->mem_mb;

	if (!has_length(p, slot))
		return;
	step_function_add(
	        &p->steps, plan_slot_start(p, slot), (struct plan_room){ -gpus, -cpus, -mem_mb });
	step_function_add(
	        &p->steps, plan_slot_end(p, slot), (struct plan_room){ gpus, cpus, mem_mb });
}

/* The earliest moment from now on, where nothing is planned: room only grows, so one pass over the
 * ends suffices. False: something is planned, a run is overdue and its end not known, or GPUs are
 * shared. */
static bool earliest_unplanned(struct plan *p, uint32_t node, const struct plan_kind *kind,
        const struct plan_part *part, usec_t *when)
{
	const struct node_timeline *s = plan_timeline(p, node);
	struct plan_room room;

	if (s->slots || !plan_by_number(s, kind) || (s->n && s->releases[0].end <= p->now))
		return false;
	plan_room_now(p, node, kind, &room);
	*when = p->now;
	for (uint32_t i = 0; i < s->n && !plan_room_holds(&room, part); i++) {
		const struct release *r = &s->releases[i];

		room.gpus += r->type == kind->type ? r->gpus : 0;
		room.cpus += r->cpus;
		room.mem_mb += (int64_t)r->mem_mb;
		*when = r->end;
	}
	if (!plan_room_holds(&room, part))
		*when = INT64_MAX;
	return true;
}

/* Costs a sort of the node's runs and reservations; without reservations one pass over its runs. */
usec_t plan_node_earliest_from(
        struct plan *p, const struct plan_want *w, uint32_t node, usec_t from)
{
	struct plan_part part = plan_part(p, w, node);
	const struct plan_room need = { part.gpus, part.cpus, (int64_t)part.mem_mb };
	const struct plan_kind kind = plan_kind(w);
	struct plan_room level;
	usec_t when;

	if (earliest_unplanned(p, node, &kind, &part, &when))
		return when > from ? when : from;
	level = begin_steps(p, node, &kind);
	for (const struct plan_slot *slot = p->timelines[node].slots; slot; slot = slot->next) {
		if (plan_counts(slot, w->key, w->displace_none))
			add_slot(p, slot, w->find.type);
	}
	return step_function_earliest(&p->steps, from, level, &need,
	        w->length >= PLAN_FAR ? INT64_MAX : w->length, PLAN_FAR * 2);
}

usec_t plan_node_earliest(struct plan *p, const struct plan_want *w, uint32_t node)
{
	return plan_node_earliest_from(p, w, node, p->now);
}

struct place plan_place(const struct plan *p, const struct plan_want *w, uint32_t node,
        const struct plan_part *part)
{
	const struct share_wish wish = ask_share(&w->ask);
	/* Which GPUs is decided at the start: only their number counts here. */
	struct place place = { .node = node,
		.cpus = part->cpus,
		.mem_mb = part->mem_mb,
		.gpus = part->gpus >= 64 ? UINT64_MAX : (1ull << part->gpus) - 1,
		.type = w->find.type };

	ledger_share(p->ledger, node, w->find.type, &wish, &place.share);
	return place;
}

bool plan_may_use(const struct plan *p, const struct plan_want *w, uint32_t node)
{
	const struct request *r = w->ask.gpus;
	struct plan_part part;
	struct place place;

	if (!ledger_accepts(p->ledger, node) || !ledger_opens(p->ledger, node, r) ||
	        !ledger_could_fit_part(p->ledger, node, &w->ask, w->find.alternative, w->find.type))
		return false;
	if (r->link && !ledger_sure(p->ledger, node, r, w->find.alternative, w->find.type))
		return false;
	if (!w->find.n_unfit)
		return true;
	part = plan_part(p, w, node);
	place = plan_place(p, w, node, &part);
	return !find_refuses(&w->find, &w->ask, &place);
}

void plan_set_found(const struct plan_want *w, usec_t start, struct reservation *found)
{
	found->start = start;
	found->end = plan_end_of(start, w->length);
	found->places.type = w->find.type;
	found->places.alternative = w->find.alternative;
}

/* --- reservations ---------------------------------------------------------------------------- */

/* Each node of the places gets a slot at the head of its list, is marked as changed, and is
 * reserved in the ledger: from then on whatever starts there is asked about (plan_allows()). */
struct reservation *plan_add(
        struct plan *p, void *owner, const struct plan_want *want, struct reservation *found)
{
	struct reservation *e = xmemdup(found, sizeof(*found));

	e->owner = owner;
	e->key = want->key;
	e->partition = want->partition;
	e->slots = xcalloc(e->places.n, sizeof(*e->slots));
	e->index = (uint32_t)p->n;
	e->rank = UINT32_MAX;
	e->promoted = e->idle = false;
	memset(&found->places, 0, sizeof(found->places));
	for (size_t i = 0; i < e->places.n; i++) {
		const struct place *place = &e->places.v[i];
		struct plan_slot *slot = &e->slots[i], **list = &p->timelines[place->node].slots;

		*slot = (struct plan_slot){ .reservation = e,
			.node = place->node,
			.gpus = (uint32_t)__builtin_popcountll(place->gpus),
			.cpus = place->cpus,
			.mem_mb = place->mem_mb,
			.kind = { place->type, ask_share(&want->ask) },
			.next = *list,
			.back = list };
		if (slot->next)
			slot->next->back = &slot->next;
		*list = slot;
		p->timelines[place->node].sound = INT64_MIN;
		plan_log(p, place->node);
		ledger_set_reserved(p->ledger, place->node, true);
	}
	*XADD(p->reservations, p->n, p->size) = e;
	p->changes++;
	p->counts[e->partition]++;
	return e;
}

void plan_shrink(struct plan *p, struct reservation *e, size_t n)
{
	while (e->places.n > n) {
		struct plan_slot *slot = &e->slots[--e->places.n];

		*slot->back = slot->next;
		if (slot->next)
			slot->next->back = slot->back;
		plan_log(p, slot->node);
		if (!p->timelines[slot->node].slots)
			ledger_set_reserved(p->ledger, slot->node, false);
	}
}

/* The last reservation of the array takes the place of this one. */
void plan_remove(struct plan *p, struct reservation *e)
{
	plan_shrink(p, e, 0);
	if (e->rank != UINT32_MAX)
		p->ranked[e->rank] = NULL;
	p->counts[e->partition]--;
	p->changes++;
	p->reservations[e->index] = p->reservations[--p->n];
	p->reservations[e->index]->index = e->index;
	free(e->slots);
	places_free(&e->places);
	free(e);
}

bool plan_same_kind(const struct plan_kind *x, const struct plan_kind *y)
{
	return x->type == y->type && x->wish.milli == y->wish.milli &&
	       x->wish.mem_mb == y->wish.mem_mb;
}

/* Only what counts before the reservation counts against it, so of two that do not fit together the
 * one behind breaks. */
bool plan_slot_holds(struct plan *p, const struct plan_slot *slot)
{
	struct plan_part part = { slot->gpus, slot->cpus, slot->mem_mb };
	struct plan_room room;

	if (!ledger_accepts(p->ledger, slot->node))
		return false;
	plan_room(p, slot->node, &slot->kind, plan_slot_start(p, slot), plan_slot_end(p, slot),
	        slot->reservation->key, false, &room);
	return plan_room_holds(&room, &part);
}

/* The same for a reservation that is not in the plan yet. */
bool plan_holds(struct plan *p, const struct plan_want *want, const struct reservation *e)
{
	const struct plan_kind kind = { e->places.type, ask_share(&want->ask) };
	struct plan_room room;

	for (size_t i = 0; i < e->places.n; i++) {
		const struct place *place = &e->places.v[i];
		struct plan_part part = { (uint32_t)__builtin_popcountll(place->gpus), place->cpus,
			place->mem_mb };

		if (!ledger_accepts(p->ledger, place->node))
			return false;
		plan_room(p, place->node, &kind, e->start, e->end, want->key, want->displace_none,
		        &room);
		if (!plan_room_holds(&room, &part))
			return false;
	}
	return true;
}

bool plan_allows(struct plan *p, struct place *place, uint64_t gpu_set, usec_t end,
        struct heap_key key, bool displace_none)
{
	struct plan_part part = { (uint32_t)__builtin_popcountll(place->gpus), place->cpus,
		place->mem_mb };
	/* For a share the GPU itself is checked below. */
	struct plan_kind kind = { place->share.charge ? TYPE_NONE : place->type, { 0 } };
	struct plan_room room;

	if (place->share.charge)
		part.gpus = 0;
	plan_room(p, place->node, &kind, p->now, end, key, displace_none, &room);
	return plan_room_holds(&room, &part) &&
	       (!place->share.charge ||
	               plan_choose_gpus(p, place, gpu_set, end, key, displace_none));
}

/* Do all reservations on the node have room together? One pass, which suffices if all of them are
 * of one kind: the level must never fall below 0. False: check each of them. */
static bool all_hold(struct plan *p, uint32_t node)
{
	static const struct plan_room nothing = { 0, 0, 0 };
	const struct plan_slot *slot = p->timelines[node].slots;
	struct plan_kind kind = slot ? slot->kind : (struct plan_kind){ .type = TYPE_NONE };
	struct plan_room level;

	if (!slot || !ledger_accepts(p->ledger, node))
		return !slot;
	level = begin_steps(p, node, &kind);
	for (; slot; slot = slot->next) {
		if (!plan_same_kind(&slot->kind, &kind) || slot->kind.wish.user != kind.wish.user ||
		        !has_length(p, slot))
			return false;
		add_slot(p, slot, kind.type);
	}
	return step_function_earliest(&p->steps, p->now, level, &nothing, INT64_MAX, INT64_MAX) ==
	       p->now;
}

/* The first moment at which something changes by time alone: a run is overdue, or a start has
 * come. */
static usec_t first_moment(const struct node_timeline *s)
{
	usec_t first = s->n ? s->releases[0].end : INT64_MAX;

	for (const struct plan_slot *slot = s->slots; slot; slot = slot->next)
		first = slot->reservation->start < first ? slot->reservation->start : first;
	return first;
}

/* The check of one node. Only if not all hold is each of its reservations checked by itself. */
struct reservation *plan_broken(struct plan *p, uint32_t node)
{
	struct reservation *worst = NULL;
	struct node_timeline *s = &p->timelines[node];

	if (s->sound > p->now)
		return NULL;
	if (all_hold(p, node)) {
		s->sound = s->slots ? first_moment(plan_timeline(p, node)) : INT64_MIN;
		return NULL;
	}
	for (const struct plan_slot *slot = p->timelines[node].slots; slot; slot = slot->next) {
		if (!plan_slot_holds(p, slot) &&
		        (!worst || heap_key_before(slot->reservation->key, worst->key)))
			worst = slot->reservation;
	}
	return worst;
}

const struct reservation *plan_first(const struct plan *p, uint32_t node)
{
	const struct reservation *first = NULL;

	for (const struct plan_slot *slot = p->timelines[node].slots; slot; slot = slot->next) {
		if (!first || heap_key_before(slot->reservation->key, first->key))
			first = slot->reservation;
	}
	return first;
}

bool plan_has_preemption(const struct plan *p, uint32_t node)
{
	const struct plan_slot *slot = p->timelines[node].slots;

	while (slot && !slot->reservation->preempts)
		slot = slot->next;
	return slot != NULL;
}

usec_t plan_first_end(struct plan *p, uint32_t node)
{
	const struct node_timeline *s = plan_timeline(p, node);

	return s->n ? s->releases[0].end : PLAN_FAR;
}

const struct run_snapshot *plan_snapshots(const struct plan *p, uint32_t node, size_t *n)
{
	return p->runs.on_node(p->runs.arg, node, n);
}

double plan_work(const struct plan *p, const struct run_snapshot *snapshot)
{
	return p->runs.work(p->runs.arg, snapshot);
}

size_t plan_count(const struct plan *p)
{
	return p->n;
}

uint64_t plan_changes(const struct plan *p)
{
	return p->changes;
}

size_t plan_count_of(const struct plan *p, uint32_t partition)
{
	return p->counts[partition];
}

struct reservation *plan_at(const struct plan *p, size_t i)
{
	return p->reservations[i];
}

static int by_key(const void *x, const void *y)
{
	const struct reservation *a = *(struct reservation *const *)x,
	                         *b = *(struct reservation *const *)y;

	return heap_key_before(a->key, b->key) ? -1 : heap_key_before(b->key, a->key);
}

/* Ranks make moving up resumable: it goes on at a rank, whatever came or went meanwhile. The sort
 * begins with the last order, which is nearly right (resort.h). */
void plan_sort(struct plan *p)
{
	uint32_t least = UINT32_MAX;

	resort(p->reservations, p->n, sizeof(struct reservation *), by_key);
	for (size_t i = p->n; i--;) {
		struct reservation *e = p->reservations[i];

		/* A reservation that stood before it now stands behind it. */
		e->promoted |= e->rank != UINT32_MAX && least < e->rank;
		least = e->rank < least ? e->rank : least;
	}
	p->ranked = xrealloc(p->ranked, p->n ? p->n : 1, sizeof(struct reservation *));
	p->n_ranked = p->n;
	for (size_t i = 0; i < p->n; i++) {
		p->reservations[i]->index = (uint32_t)i;
		plan_rank(p, p->reservations[i], (uint32_t)i);
	}
}

struct reservation *plan_by_rank(const struct plan *p, size_t rank)
{
	for (; rank < p->n_ranked; rank++) {
		if (p->ranked[rank])
			return p->ranked[rank];
	}
	return NULL;
}

void plan_rank(struct plan *p, struct reservation *e, uint32_t rank)
{
	e->rank = rank;
	p->ranked[rank] = e;
}

bool plan_is_late(struct plan *p, uint32_t node)
{
	const struct node_timeline *s = plan_timeline(p, node);

	for (const struct plan_slot *slot = s->slots; slot; slot = slot->next) {
		if (slot->reservation->start <= p->now + PLAN_LATE)
			return true;
	}
	return s->n && s->releases[0].end <= p->now + PLAN_LATE;
}

/* For core_check(): what the head states, less what time alone may have broken since the last
 * check. */
bool plan_check(struct plan *p, char *text, size_t size)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct reservation *e = p->reservations[i];

		for (size_t k = 0; k < e->places.n; k++) {
			/* The end of a run without a limit is not known: what is planned behind it
			 * is no promise. */
			if (e->start >= PLAN_FAR || plan_is_late(p, e->slots[k].node) ||
			        plan_slot_holds(p, &e->slots[k]))
				continue;
			snprintf(text, size, "node %s: what is planned there does not fit",
			        p->conf->nodes[e->slots[k].node].name);
			return false;
		}
	}
	return true;
}
