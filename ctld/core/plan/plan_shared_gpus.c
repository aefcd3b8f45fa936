/* plan_shared_gpus.c - plan.h: which GPUs of a node may serve a share beside what is planned there
 *
 * A share leaves its GPU usable for some reservations and takes it from others, so it matters which
 * GPUs are taken. First the GPUs that the ledger chose are tried, as if the job ran on them: do all
 * reservations that count still have room? If not, other sets are tried, the fullest GPUs first,
 * one GPU after another. Taking a share never makes room: a reservation that a set delays is
 * delayed by all larger sets too. Of GPUs that are the same for all runs there only one is tried.
 */
#include "ctld/core/plan/plan_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"

#define MAX_TRIES 512 /* sets that are tried; enough for nodes with 8 GPUs */

struct choice {
	struct plan *plan;
	struct place *place; /* with the GPUs chosen so far */
	usec_t end;
	struct heap_key key;
	bool displace_none;
	unsigned tries;
};

/* The reservation with this key on the node; NULL: there is none. */
static struct reservation *entry_of(const struct node_timeline *s, struct heap_key key)
{
	const struct plan_slot *slot = s->slots;

	while (slot && (slot->reservation->key.a != key.a || slot->reservation->key.b != key.b))
		slot = slot->next;
	return slot ? slot->reservation : NULL;
}

/* If the job ran there, and its own reservation did not count: would all reservations that count
 * have room? */
static bool others_hold(const struct choice *c)
{
	struct plan *p = c->plan;
	const struct place *place = c->place;
	struct node_timeline *s = plan_timeline(p, place->node);
	const struct node_timeline kept = *s;
	struct reservation *own = entry_of(s, c->key);
	bool hold = true, idle = own && own->idle;

	if (own)
		own->idle = true;
	/* For the trial the timeline has one run more, and the ledger too; both are restored
	 * below. */
	s->releases = xcalloc(s->n + 1, sizeof(*s->releases));
	s->given = xcalloc(s->n + 1, sizeof(*s->given));
	if (s->n) {
		memcpy(s->releases, kept.releases, s->n * sizeof(*s->releases));
		memcpy(s->given, kept.given, s->n * sizeof(*s->given));
	}
	s->releases[s->n] = (struct release){ c->end, place->mem_mb,
		(uint32_t)__builtin_popcountll(place->gpus), place->cpus, s->n, place->type };
	s->given[s->n++] = (struct given){ place->gpus, place->share };
	qsort(s->releases, s->n, sizeof(*s->releases), plan_by_end);
	s->shared = true;
	ledger_mark(p->ledger);
	ledger_take(p->ledger, place);
	for (const struct plan_slot *slot = s->slots; slot && hold; slot = slot->next)
		hold = !plan_counts(slot, c->key, c->displace_none) || plan_slot_holds(p, slot);
	ledger_undo(p->ledger);
	if (own)
		own->idle = idle;
	free(s->releases);
	free(s->given);
	COPY_FIELDS(s, &kept, releases, given, n, shared);
	return hold;
}

static const struct shared_gpu *gpu_at(const struct choice *c, uint64_t bit)
{
	return ledger_shared_gpu(c->plan->ledger, c->place->node, (uint32_t)__builtin_ctzll(bit));
}

/* The GPU with the least left; of equal ones the first. */
static uint64_t fullest(const struct choice *c, uint64_t gpu_set)
{
	uint64_t best = gpu_set & -gpu_set, left;

	for (left = gpu_set & ~best; left; left &= left - 1) {
		if (shared_gpu_left(gpu_at(c, left & -left)) < shared_gpu_left(gpu_at(c, best)))
			best = left & -left;
	}
	return best;
}

/* Is as much taken of both, by as many runs, for the same user? */
static bool same_card(const struct shared_gpu *x, const struct shared_gpu *y)
{
	return x->mem_mb == y->mem_mb && x->mem_used == y->mem_used &&
	       x->milli_used == y->milli_used && x->runs == y->runs && x->user == y->user &&
	       x->one_user == y->one_user;
}

/* The GPUs of `gpu_set` that are like this one, now and later: the same runs are on them. */
static uint64_t twins(const struct choice *c, uint64_t bit, uint64_t gpu_set)
{
	const struct node_timeline *s = plan_timeline(c->plan, c->place->node);
	uint64_t same = 0, left;

	for (left = gpu_set; left; left &= left - 1) {
		if (same_card(gpu_at(c, bit), gpu_at(c, left & -left)))
			same |= left & -left;
	}
	for (uint32_t i = 0; i < s->n; i++)
		same &= s->given[i].gpu_set & bit ? s->given[i].gpu_set : ~s->given[i].gpu_set;
	return same;
}

/* Choose n more GPUs out of `gpu_set`, by a depth-first search: add one, go on if all others still
 * have room, else take it back and never try it or its twins again at this depth. */
static bool add_cards(struct choice *c, uint64_t gpu_set, uint32_t n)
{
	while (n && (uint32_t)__builtin_popcountll(gpu_set) >= n && c->tries < MAX_TRIES) {
		uint64_t bit = fullest(c, gpu_set);

		c->tries++;
		gpu_set &= ~bit;
		c->place->gpus |= bit;
		if (others_hold(c) && add_cards(c, gpu_set, n - 1))
			return true;
		c->place->gpus &= ~bit;
		gpu_set &= ~twins(c, bit, gpu_set);
	}
	return !n;
}

bool plan_choose_gpus(struct plan *p, struct place *place, uint64_t gpu_set, usec_t end,
        struct heap_key key, bool displace_none)
{
	struct choice c = { p, place, end, key, displace_none, 0 };
	uint64_t given = place->gpus;

	if (others_hold(&c))
		return true;
	if (!(gpu_set & ~given))
		return false;
	place->gpus = 0;
	if (add_cards(&c, gpu_set, (uint32_t)__builtin_popcountll(given)))
		return true;
	place->gpus = given;
	return false;
}
