/* plan_cards.c - plan.h: which GPUs of a node may serve a share beside what is planned there
 *
 * A share leaves its GPU usable for some entries and takes it from others, so it matters which GPUs
 * are taken. First the GPUs that the ledger chose are tried, as if the job ran on them: do all
 * entries that count still have room? If not, other sets are tried, the fullest GPUs first, one GPU
 * after another. Taking a share never makes room: an entry that a set delays is delayed by all
 * larger sets too. Of GPUs that are the same for all runs there only one is tried.
 */
#include "ctld/core/plan/plan_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define MAX_TRIES 512 /* sets that are tried; enough for nodes with 8 GPUs */

struct choice {
	struct plan *plan;
	struct place *place; /* with the GPUs chosen so far */
	usec_t end;
	struct heap_key key;
	bool polite;
	unsigned tries;
};

/* The entry with this key on the node; NULL: there is none. */
static struct plan_entry *entry_of(const struct spot *s, struct heap_key key)
{
	const struct plan_slot *slot = s->slots;

	while (slot && (slot->entry->key.a != key.a || slot->entry->key.b != key.b))
		slot = slot->next;
	return slot ? slot->entry : NULL;
}

/* If the job ran there, and its own entry did not count: would all entries that count have room? */
static bool others_hold(const struct choice *c)
{
	struct plan *p = c->plan;
	const struct place *place = c->place;
	struct spot *s = plan_spot(p, place->node);
	const struct spot kept = *s;
	struct plan_entry *own = entry_of(s, c->key);
	const struct plan_slot *slot;
	bool hold = true, idle = own && own->idle;

	if (own)
		own->idle = true;
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
	for (slot = s->slots; slot && hold; slot = slot->next)
		hold = !plan_counts(slot, c->key, c->polite) || plan_slot_holds(p, slot);
	ledger_undo(p->ledger);
	if (own)
		own->idle = idle;
	free(s->releases);
	free(s->given);
	s->releases = kept.releases;
	s->given = kept.given;
	s->n = kept.n;
	s->shared = kept.shared;
	return hold;
}

static const struct card *card_at(const struct choice *c, uint64_t bit)
{
	return ledger_card(c->plan->ledger, c->place->node, (uint32_t)__builtin_ctzll(bit));
}

/* The GPU with the least left; of equal ones the first. */
static uint64_t fullest(const struct choice *c, uint64_t cards)
{
	uint64_t best = cards & -cards, left;

	for (left = cards & ~best; left; left &= left - 1) {
		if (card_left(card_at(c, left & -left)) < card_left(card_at(c, best)))
			best = left & -left;
	}
	return best;
}

static bool same_card(const struct card *x, const struct card *y)
{
	return x->mem_mb == y->mem_mb && x->mem_used == y->mem_used &&
	       x->milli_used == y->milli_used && x->runs == y->runs && x->user == y->user &&
	       x->one_user == y->one_user;
}

/* The GPUs of `cards` that are like this one, now and later: the same runs are on them. */
static uint64_t twins(const struct choice *c, uint64_t bit, uint64_t cards)
{
	const struct spot *s = plan_spot(c->plan, c->place->node);
	uint64_t same = 0, left;
	uint32_t i;

	for (left = cards; left; left &= left - 1) {
		if (same_card(card_at(c, bit), card_at(c, left & -left)))
			same |= left & -left;
	}
	for (i = 0; i < s->n; i++)
		same &= s->given[i].cards & bit ? s->given[i].cards : ~s->given[i].cards;
	return same;
}

/* Choose n more GPUs out of `cards`. */
static bool add_cards(struct choice *c, uint64_t cards, uint32_t n)
{
	while (n && (uint32_t)__builtin_popcountll(cards) >= n && c->tries < MAX_TRIES) {
		uint64_t bit = fullest(c, cards);

		c->tries++;
		cards &= ~bit;
		c->place->gpus |= bit;
		if (others_hold(c) && add_cards(c, cards, n - 1))
			return true;
		c->place->gpus &= ~bit;
		cards &= ~twins(c, bit, cards);
	}
	return !n;
}

bool plan_choose_cards(struct plan *p, struct place *place, uint64_t cards, usec_t end,
        struct heap_key key, bool polite)
{
	struct choice c = { p, place, end, key, polite, 0 };
	uint64_t given = place->gpus;

	if (others_hold(&c))
		return true;
	if (!(cards & ~given))
		return false;
	place->gpus = 0;
	if (add_cards(&c, cards, (uint32_t)__builtin_popcountll(given)))
		return true;
	place->gpus = given;
	return false;
}
