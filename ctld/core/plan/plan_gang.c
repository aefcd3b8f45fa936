/* plan_gang.c - plan.h: the earliest moment at which enough nodes have room together
 *
 * What a node could give changes with time: more when a run on it or something planned there ends,
 * less when something is planned there that would begin before the gang ends. So the search sweeps
 * time from now on, from one such change to the next, and keeps what all nodes could give as sums:
 * the first moment at which they suffice is the earliest start. A node is not looked at before it
 * has any GPU free, and then only when its turn comes.
 *
 * Between two steps anything may happen. Nodes that have changed are looked at again as of the
 * moment that the sweep has reached; the nodes chosen at its end are looked at once more. So the
 * result is possible as things are then, and it is the earliest start as of some hundredths of a
 * second before.
 *
 * Invariants: the sums count exactly what `seen` says of each node; a node that is known has a turn
 * in the heap at the time at which what it gives may next change, if it has any; a turn in the heap
 * that is not its node's latest one is passed over.
 *
 * The sums only say that enough nodes have room, so gang_choose() still decides which; if it finds
 * no gang, the sweep goes on to the next change (`failed`).
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/plan/plan_impl.h"

#define MOST_WEIGHT CONF_MAX_GPUS_PER_NODE

/* What is known of a node of the partition. */
struct seen {
	usec_t turn;    /* when to look at it again (mono); INT64_MAX: never */
	uint8_t weight; /* GPUs it could give to a total, else 1; 0: no room for a part */
	bool known, required;
};

struct turn {
	usec_t at;
	uint32_t member;
};

struct plan_gang {
	usec_t at;     /* mono: the moment that the sweep has reached */
	usec_t failed; /* the moment at which the sums sufficed and the choice failed */
	uint64_t upto; /* position in the log of real changes */
	struct seen *seen; /* owned, by member of the partition */
	struct turn *turns; /* owned: a heap, the earliest first */
	size_t n_turns, size;
	bool more, fetched; /* the walk may have further nodes; fetched: the next one is: */
	size_t next;
	usec_t when;
	/* the sums */
	uint32_t required, others, given, have[MOST_WEIGHT + 1];
	/* The sums suffice: nodes are collected for the choice, up to this member. */
	bool choosing;
	size_t collected, n;
	struct gang_candidate *candidates; /* owned */
};

struct plan_gang *plan_gang_new(struct plan *p, const struct plan_want *w)
{
	struct plan_gang *g = xcalloc(1, sizeof(*g));

	g->at = p->now;
	g->failed = INT64_MIN;
	g->more = true;
	g->seen = xcalloc(p->conf->partitions[w->partition].n_nodes, sizeof(*g->seen));
	plan_log_begin(&p->real.log, &g->upto);
	return g;
}

void plan_gang_free(struct plan_gang *g)
{
	if (!g)
		return;
	free(g->seen);
	free(g->turns);
	free(g->candidates);
	free(g);
}

/* --- turns ----------------------------------------------------------------------------------- */

/* A binary heap by time. Turns are never removed from its middle: see look_at_moment(). */
static void put_turn(struct plan_gang *g, usec_t at, uint32_t member)
{
	size_t i = g->n_turns++;

	g->turns = xgrow(g->turns, i, &g->size, sizeof(*g->turns));
	for (; i && at < g->turns[(i - 1) / 2].at; i = (i - 1) / 2)
		g->turns[i] = g->turns[(i - 1) / 2];
	g->turns[i] = (struct turn){ at, member };
}

static struct turn take_turn(struct plan_gang *g)
{
	struct turn top = g->turns[0], last = g->turns[--g->n_turns];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < g->n_turns; i = child) {
		if (child + 1 < g->n_turns && g->turns[child + 1].at < g->turns[child].at)
			child++;
		if (last.at <= g->turns[child].at)
			break;
		g->turns[i] = g->turns[child];
	}
	g->turns[i] = last;
	return top;
}

/* --- one node -------------------------------------------------------------------------------- */

/* Is the number of GPUs that of all nodes together? Then a node may give more or less than an equal
 * part. */
static bool is_total(const struct request *r)
{
	return r->n && !r->per_node;
}

static bool holds_at(struct plan *p, const struct plan_want *w, uint32_t node, usec_t at,
        struct plan_room *room, const struct plan_part *part)
{
	const struct plan_kind kind = plan_kind(w);

	plan_room(p, node, &kind, at, plan_end_of(at, w->length), w->key, w->displace_none, room);
	return plan_room_holds(room, part);
}

static void earlier(usec_t *next, usec_t when, usec_t at)
{
	if (when > at && when < *next)
		*next = when;
}

/* When a node with room at `at` could give more (for a total), or less. */
static usec_t next_change(struct plan *p, const struct plan_want *w, uint32_t node, usec_t at)
{
	const struct node_timeline *s = plan_timeline(p, node);
	usec_t next = INT64_MAX;

	for (uint32_t i = 0; i < s->n && is_total(w->ask.gpus); i++) {
		if (s->releases[i].gpus && s->releases[i].type == w->find.type)
			earlier(&next, plan_release_end(p, &s->releases[i]), at);
	}
	for (const struct plan_slot *slot = s->slots; slot; slot = slot->next) {
		usec_t start = plan_slot_start(p, slot);

		if (!plan_counts(slot, w->key, w->displace_none))
			continue;
		earlier(&next, plan_slot_end(p, slot), at);
		earlier(&next, w->length >= PLAN_FAR ? at : start - w->length + 1, at);
	}
	return next;
}

/* Add the node to the sums, or take it out. */
static void count(struct plan_gang *g, const struct seen *s, int sign)
{
	if (!s->weight)
		return;
	if (s->required) {
		g->required += (uint32_t)sign;
		g->given += (uint32_t)sign * s->weight;
	} else {
		g->others += (uint32_t)sign;
		g->have[s->weight] += (uint32_t)sign;
	}
}

/* See what the node gives as of the moment of the sweep, and when that may next change. The sums
 * follow. */
static void look(struct plan *p, struct plan_gang *g, const struct plan_want *w, size_t member,
        size_t *work)
{
	uint32_t node = p->conf->partitions[w->partition].nodes[member];
	struct plan_part part;
	struct plan_room room;
	struct seen *s = &g->seen[member];

	plan_pay(work, plan_cost(p, node));
	count(g, s, -1);
	*s = (struct seen){ INT64_MAX, 0, true, request_requires(w->ask.gpus, node) };
	if (!plan_may_use(p, w, node))
		return;
	part = plan_part(p, w, node);
	if (holds_at(p, w, node, g->at, &room, &part)) {
		s->weight = 1;
		if (is_total(w->ask.gpus))
			s->weight = (uint8_t)(room.gpus > MOST_WEIGHT ? MOST_WEIGHT : room.gpus);
		s->turn = next_change(p, w, node, g->at);
	} else {
		s->turn = plan_node_earliest_from(p, w, node, g->at + 1);
	}
	count(g, s, 1);
	if (s->turn <= plan_latest_of_use(w) && s->turn != INT64_MAX)
		put_turn(g, s->turn, (uint32_t)member);
}

/* --- do they suffice ------------------------------------------------------------------------- */

/* Would gang_choose() succeed, going by the sums? */
static bool enough(const struct plan_gang *g, const struct plan_want *w)
{
	const struct request *r = w->ask.gpus;
	uint32_t n = g->required + g->others, most = n < r->nodes_max ? n : r->nodes_max;
	uint32_t goal, left, weight;

	if (g->at == g->failed || most < r->nodes_min || g->required > most ||
	        g->required < r->n_required)
		return false;
	if (!is_total(r))
		return true;
	goal = request_all_gpus(r, w->find.alternative, 1);
	goal = goal > g->given ? goal - g->given : 0;
	left = most - g->required;
	for (weight = MOST_WEIGHT; weight && left && goal; weight--) {
		uint32_t these = g->have[weight] < left ? g->have[weight] : left;

		left -= these;
		goal -= goal < these * weight ? goal : these * weight;
	}
	return !goal;
}

/* Look again at nodes that have changed. False: there is more to do than this step may. */
static bool note_changes(
        struct plan *p, struct plan_gang *g, const struct plan_want *w, size_t *work)
{
	uint32_t node;
	size_t member;

	while (*work) {
		if (!plan_log_next(&p->real.log, &g->upto, &node))
			return true;
		if (plan_member(p, w->partition, node, &member))
			look(p, g, w, member, work);
	}
	return false;
}

/* Look at nodes whose first GPUs are free by now, and at those whose turn has come. False: there is
 * more to do than this step may. */
static bool look_at_moment(struct plan *p, struct plan_search *ps, const struct plan_want *w,
        const struct order *o, size_t *work)
{
	struct plan_gang *g = ps->gang;

	while (*work) {
		if (!g->fetched && g->more)
			g->more = g->fetched =
			        soonest_next(o->soonest, &ps->walk, &g->next, &g->when);
		if (g->fetched && g->when <= g->at) {
			g->fetched = false;
			if (!g->seen[g->next].known)
				look(p, g, w, g->next, work);
		} else if (g->n_turns && g->turns[0].at <= g->at) {
			struct turn turn = take_turn(g);

			if (g->seen[turn.member].turn == turn.at)
				look(p, g, w, turn.member, work);
		} else {
			return true;
		}
	}
	return false;
}

/* Move on to the next change. False: there is none. */
static bool advance(struct plan_gang *g, const struct plan_want *w)
{
	usec_t next = INT64_MAX;

	if (g->n_turns)
		next = g->turns[0].at;
	if (g->fetched && g->when < next)
		next = g->when;
	if (next == INT64_MAX || next > plan_latest_of_use(w))
		return false;
	g->at = next;
	return true;
}

/* --- which of the nodes ---------------------------------------------------------------------- */

/* Collect what each node could give. False: there is more to do than this step may. */
static bool collect(struct plan *p, struct plan_gang *g, const struct plan_want *w, size_t *work)
{
	const struct conf_partition *conf = &p->conf->partitions[w->partition];
	const struct request *r = w->ask.gpus;
	struct plan_room room;

	if (!g->candidates)
		g->candidates = xcalloc(conf->n_nodes, sizeof(*g->candidates));
	for (; g->collected < conf->n_nodes && *work; g->collected++) {
		uint32_t node = conf->nodes[g->collected];
		struct plan_part part;

		if (!g->seen[g->collected].weight || !plan_may_use(p, w, node))
			continue;
		plan_pay(work, plan_cost(p, node));
		part = plan_part(p, w, node);
		if (!holds_at(p, w, node, g->at, &room, &part))
			continue;
		g->candidates[g->n++] = (struct gang_candidate){
			.node = node,
			.leaf = p->conf->nodes[node].leaf,
			.gpus = (uint32_t)(room.gpus < 0 ? 0 : room.gpus),
			.required = request_requires(r, node),
			.preferred = request_prefers(r, node),
			.cpus_left = (uint32_t)(room.cpus - part.cpus),
		};
	}
	return g->collected == conf->n_nodes;
}

/* The places on the chosen nodes, as things are now. False: one of them has less than before. */
static bool take_places(struct plan *p, const struct plan_gang *g, const struct plan_want *w,
        const struct gang_choice *choice, struct reservation *found)
{
	const struct request *r = w->ask.gpus;

	found->places.n = 0;
	for (size_t i = 0; i < choice->n; i++) {
		uint32_t node = choice->v[i].node;
		struct plan_part part = plan_part(p, w, node);
		struct plan_room room;
		struct place place;

		if (!r->exclusive && !r->link)
			part.gpus = choice->v[i].gpus;
		if (!plan_may_use(p, w, node) || !holds_at(p, w, node, g->at, &room, &part))
			return false;
		place = plan_place(p, w, node, &part);
		places_add(&found->places, &place);
	}
	plan_set_found(w, g->at, found);
	return true;
}

/* Which of the nodes, as few leaf switches as possible (gang.h), and whether they still have what
 * was seen. */
static bool choose(
        struct plan *p, struct plan_gang *g, const struct plan_want *w, struct reservation *found)
{
	struct gang_choice choice = { 0 };
	bool ok = gang_choose(w->ask.gpus, w->find.alternative, w->find.spread, g->candidates, g->n,
	                  &choice) &&
	          take_places(p, g, w, &choice, found);

	gang_choice_free(&choice);
	return ok;
}

/* --- step by step ---------------------------------------------------------------------------- */

enum plan_step plan_gang_search(struct plan *p, struct plan_search *ps, const struct plan_want *w,
        const struct order *o, size_t *work, struct reservation *found)
{
	struct plan_gang *g = ps->gang;

	if (plan_log_lost(&p->real.log, g->upto)) {
		plan_gang_free(g);
		g = ps->gang = plan_gang_new(p, w);
		soonest_start(o->soonest, &ps->walk);
	}
	g->at = g->at > p->now ? g->at : p->now;
	for (;;) {
		if (!note_changes(p, g, w, work))
			return PLAN_MORE;
		if (!g->choosing) {
			if (!look_at_moment(p, ps, w, o, work))
				return PLAN_MORE;
			if (!enough(g, w)) {
				if (!advance(g, w))
					return PLAN_NOWHERE;
				continue;
			}
			g->choosing = true;
			g->collected = g->n = 0;
		}
		if (!collect(p, g, w, work))
			return PLAN_MORE;
		g->choosing = false;
		if (choose(p, g, w, found))
			return PLAN_FOUND;
		g->failed = g->at;
	}
}
