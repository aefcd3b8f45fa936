/* cards.c - see cards.h */
#include "ctld/core/place/cards.h"

#include <assert.h>

/* mem_mb of all, in thousandths, rounded up. */
static uint64_t milli_of(uint64_t mem_mb, uint64_t all)
{
	return (mem_mb * CARD_MILLI + all - 1) / all;
}

bool share_of(const struct share_wish *wish, uint64_t card_mem_mb, struct share *share)
{
	uint64_t milli = wish->milli;

	*share = (struct share){ .milli = wish->milli, .mem_mb = wish->mem_mb, .user = wish->user };
	if (!share_wished(wish))
		return true;
	if (!wish->mem_mb)
		share->mem_mb = card_mem_mb * wish->milli / CARD_MILLI;
	else if (wish->mem_mb > card_mem_mb)
		return false;
	else if (milli_of(wish->mem_mb, card_mem_mb) > milli)
		milli = milli_of(wish->mem_mb, card_mem_mb);
	share->charge = (uint32_t)milli;
	return milli <= CARD_MILLI;
}

bool card_holds(const struct card *card, const struct share *share)
{
	if (card->one_user && card->runs && share->user && card->user != share->user)
		return false;
	return card->milli_used + share->milli <= CARD_MILLI &&
	       (!share->mem_mb || card->mem_used + share->mem_mb <= card->mem_mb);
}

void card_book(struct card *card, const struct share *share, bool take)
{
	if (take) {
		if (card->one_user)
			card->user =
			        !card->runs || card->user == share->user ? share->user : CARD_MIXED;
		card->milli_used += share->milli;
		card->mem_used += share->mem_mb;
		card->runs++;
		return;
	}
	assert(card->runs && card->milli_used >= share->milli && card->mem_used >= share->mem_mb);
	card->milli_used -= share->milli;
	card->mem_used -= share->mem_mb;
	if (!--card->runs)
		card->user = 0;
}

uint32_t card_left(const struct card *card)
{
	uint64_t used = card->milli_used;

	if (card->mem_mb && milli_of(card->mem_used, card->mem_mb) > used)
		used = milli_of(card->mem_used, card->mem_mb);
	return used < CARD_MILLI ? CARD_MILLI - (uint32_t)used : 0;
}
