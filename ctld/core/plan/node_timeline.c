/* node_timeline.c - what a node will have free, and when; see plan_impl.h
 *
 * What one node has at a moment is a level that steps up where a run ends and down where a
 * reservation begins. The ends of runs are kept sorted with the node, and made again when
 * something about its runs changed (`fresh`). Where runs share GPUs the level cannot be a number:
 * which GPUs serve a request depends on which runs have gone, so the GPUs are counted one by one
 * there.
 *
 * Invariant: a timeline that is `fresh` has the runs that the node has now, by the ends that their
 * time limits give. That an end is past is not stored: plan_run_end() says what to expect of an
 * overdue run at the present time. So time makes no timeline out of date.
 */
#include "ctld/core/plan/plan_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define LATE_MOST ((usec_t)64 * PLAN_STUCK) /* up to this, the delay of a late run doubles */

int plan_by_end(const void *x, const void *y)
{
	const struct release *a = x, *b = y;

	return a->end < b->end ? -1 : a->end > b->end;
}

/* Costs a sort of the node's runs after a change there; otherwise nothing. */
struct node_timeline *plan_timeline(struct plan *p, uint32_t node)
{
	struct node_timeline *s = &p->timelines[node];
	const struct run_snapshot *snapshot;
	size_t n, i;

	if (s->fresh)
		return s;
	snapshot = plan_snapshots(p, node, &n);
	s->n = (uint32_t)n;
	s->releases = xrealloc(s->releases, s->n ? s->n : 1, sizeof(*s->releases));
	s->shared = false;
	for (i = 0; i < s->n; i++) {
		s->releases[i] = (struct release){ snapshot[i].end, snapshot[i].mem_mb,
			snapshot[i].gpus, snapshot[i].cpus, (uint32_t)i, snapshot[i].type };
		s->shared |= snapshot[i].share.charge > 0;
	}
	free(s->given);
	s->given = NULL;
	if (s->n && (s->shared || ledger_shares(p->ledger, node)))
		s->given = xcalloc(s->n, sizeof(*s->given));
	for (i = 0; s->given && i < s->n; i++)
		s->given[i] = (struct given){ snapshot[i].gpu_set, snapshot[i].share };
	qsort(s->releases, s->n, sizeof(*s->releases), plan_by_end);
	s->fresh = true;
	return s;
}

usec_t plan_run_end(const struct plan *p, usec_t end)
{
	usec_t step = PLAN_STUCK;

	if (end > p->now)
		return end;
	if (end + PLAN_STUCK > p->now)
		return p->now + PLAN_LATE;
	/* It needs as long again as it is overdue; in steps, so that what is planned behind it
	 * stays. */
	while (end + step <= p->now && step < LATE_MOST)
		step *= 2;
	return end + step > p->now ? end + step : end + ((p->now - end) / step + 1) * step;
}

usec_t plan_release_end(const struct plan *p, const struct release *r)
{
	return plan_run_end(p, r->end);
}

/* A reservation does not count for its own key. A preemption reservation counts for all keys but
 * those of higher tiers. */
bool plan_before(const struct reservation *e, struct heap_key key)
{
	bool booked = e->preempts && key.a >> 48 >= e->key.a >> 48;

	return !e->idle &&
	       (heap_key_before(e->key, key) || (booked && heap_key_before(key, e->key)));
}

bool plan_counts(const struct plan_slot *slot, struct heap_key key, bool displace_none)
{
	const struct reservation *e = slot->reservation;

	return plan_before(e, key) || (displace_none && !e->idle && heap_key_before(key, e->key));
}

/* A reservation whose start has come and that has not started holds its place now. */
usec_t plan_slot_start(const struct plan *p, const struct plan_slot *slot)
{
	return slot->reservation->start > p->now ? slot->reservation->start : p->now;
}

usec_t plan_slot_end(const struct plan *p, const struct plan_slot *slot)
{
	return slot->reservation->end + (plan_slot_start(p, slot) - slot->reservation->start);
}

void plan_room_now(
        const struct plan *p, uint32_t node, const struct plan_kind *kind, struct plan_room *room)
{
	room->gpus = kind->type == TYPE_NONE ? 0
	                                     : __builtin_popcountll(ledger_gpus_for(
	                                               p->ledger, node, kind->type, &kind->wish));
	room->cpus = ledger_cpus_free(p->ledger, node);
	room->mem_mb = (int64_t)ledger_mem_free_mb(p->ledger, node);
}

bool plan_by_number(const struct node_timeline *s, const struct plan_kind *kind)
{
	return !s->shared && !share_wished(&kind->wish);
}

/* A run on the GPU has ended. Does what is left of the GPU suffice now? */
static bool gpu_release(
        struct shared_gpu *gpu, const struct share *taken, const struct share *wanted)
{
	if (!taken->charge) {
		gpu->runs = gpu->milli_used = 0;
		gpu->mem_used = 0;
		return true;
	}
	if (gpu->runs)
		shared_gpu_book(gpu, taken, false);
	return wanted->charge ? shared_gpu_holds(gpu, wanted) : !gpu->runs;
}

/* The end of a run, and what it gives back. */
struct leaves {
	usec_t at;
	const struct given *given;
};

static int by_leaving(const void *x, const void *y)
{
	const struct leaves *a = x, *b = y;

	return a->at < b->at ? -1 : a->at > b->at;
}

/* The runs in the order of their expected ends: an overdue run may end after others. */
static void in_order(const struct plan *p, const struct node_timeline *s, struct leaves *v)
{
	for (uint32_t i = 0; i < s->n; i++)
		v[i] = (struct leaves){ plan_release_end(p, &s->releases[i]),
			&s->given[s->releases[i].given] };
	if (s->n && s->releases[0].end <= p->now)
		qsort(v, s->n, sizeof(*v), by_leaving);
}

/* For each GPU that does not serve the kind now the runs are let go in the order of their ends,
 * until what is left of it does. Costs GPUs times runs of the node. */
uint32_t plan_gpus_when(const struct plan *p, uint32_t node, const struct plan_kind *kind,
        usec_t when[CONF_MAX_GPUS_PER_NODE])
{
	const struct node_timeline *s = &p->timelines[node];
	uint64_t left = ledger_gpus_used(p->ledger, node);
	struct leaves *v;
	struct share share;
	uint32_t n = 0, i;

	if (!ledger_share(p->ledger, node, kind->type, &kind->wish, &share))
		return 0;
	left &= ledger_gpus_of(p->ledger, node, kind->type);
	left &= ~ledger_gpus_for(p->ledger, node, kind->type, &kind->wish);
	if (!left)
		return 0;
	v = xcalloc(s->n ? s->n : 1, sizeof(*v));
	in_order(p, s, v);
	for (; left; left &= left - 1) {
		struct shared_gpu gpu =
		        *ledger_shared_gpu(p->ledger, node, (uint32_t)__builtin_ctzll(left));

		for (i = 0; i < s->n; i++) {
			const struct given *g = v[i].given;

			if (!(g->gpu_set & left & -left) || !gpu_release(&gpu, &g->share, &share))
				continue;
			when[n++] = v[i].at;
			break;
		}
	}
	free(v);
	return n;
}

/* The same for some runs that are imagined to end, whatever their ends are. */
uint64_t plan_free_without(const struct plan *p, uint32_t node, const struct plan_kind *kind,
        const struct run_snapshot *v, const bool *gone, size_t n)
{
	uint64_t now = ledger_gpus_for(p->ledger, node, kind->type, &kind->wish), left, all = now;
	struct share share;

	if (!ledger_share(p->ledger, node, kind->type, &kind->wish, &share))
		return 0;
	left = ledger_gpus_used(p->ledger, node) & ledger_gpus_of(p->ledger, node, kind->type);
	for (left &= ~now; left; left &= left - 1) {
		struct shared_gpu gpu =
		        *ledger_shared_gpu(p->ledger, node, (uint32_t)__builtin_ctzll(left));

		for (size_t i = 0; i < n; i++) {
			if (!gone[i] || !(v[i].gpu_set & left & -left) ||
			        !gpu_release(&gpu, &v[i].share, &share))
				continue;
			all |= left & -left;
			break;
		}
	}
	return all;
}

uint32_t plan_gpus_without(const struct plan *p, uint32_t node, const struct plan_kind *kind,
        const struct run_snapshot *v, const bool *gone, size_t n)
{
	return (uint32_t)__builtin_popcountll(plan_free_without(p, node, kind, v, gone, n));
}

/* What is free at one moment beside all slots that count. */
static void room_at(struct plan *p, const struct node_timeline *s, uint32_t node,
        const struct plan_kind *kind, usec_t at, struct heap_key key, bool displace_none,
        struct plan_room *room)
{
	usec_t when[CONF_MAX_GPUS_PER_NODE];
	bool numbers = plan_by_number(s, kind);
	uint32_t i, n;

	plan_room_now(p, node, kind, room);
	for (i = 0; i < s->n && s->releases[i].end <= at; i++) {
		if (plan_release_end(p, &s->releases[i]) > at)
			continue;
		if (numbers && s->releases[i].type == kind->type)
			room->gpus += s->releases[i].gpus;
		room->cpus += s->releases[i].cpus;
		room->mem_mb += (int64_t)s->releases[i].mem_mb;
	}
	n = numbers ? 0 : plan_gpus_when(p, node, kind, when);
	for (i = 0; i < n; i++)
		room->gpus += when[i] <= at;
	for (const struct plan_slot *slot = s->slots; slot; slot = slot->next) {
		if (!plan_counts(slot, key, displace_none) || plan_slot_start(p, slot) > at ||
		        plan_slot_end(p, slot) <= at)
			continue;
		room->gpus -= slot->reservation->places.type == kind->type ? slot->gpus : 0;
		room->cpus -= slot->cpus;
		room->mem_mb -= (int64_t)slot->mem_mb;
	}
}

/* The least of both, for each resource. */
static void narrow(struct plan_room *room, const struct plan_room *other)
{
	room->gpus = other->gpus < room->gpus ? other->gpus : room->gpus;
	room->cpus = other->cpus < room->cpus ? other->cpus : room->cpus;
	room->mem_mb = other->mem_mb < room->mem_mb ? other->mem_mb : room->mem_mb;
}

/* Room only shrinks where a slot starts: those moments and the start are checked. */
void plan_room(struct plan *p, uint32_t node, const struct plan_kind *kind, usec_t start,
        usec_t end, struct heap_key key, bool displace_none, struct plan_room *room)
{
	const struct node_timeline *s = plan_timeline(p, node);
	struct plan_room other;

	room_at(p, s, node, kind, start, key, displace_none, room);
	for (const struct plan_slot *slot = s->slots; slot; slot = slot->next) {
		usec_t at = plan_slot_start(p, slot);

		if (at <= start || at >= end || !plan_counts(slot, key, displace_none))
			continue;
		room_at(p, s, node, kind, at, key, displace_none, &other);
		narrow(room, &other);
	}
}

usec_t plan_end_of(usec_t start, usec_t length)
{
	return length >= PLAN_FAR ? PLAN_FAR * 2 : start + length;
}
