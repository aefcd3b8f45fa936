/* cards.h - what is left of a GPU that several runs share
 *
 * A GPU (a *card*) is free, whole (one run has all of it) or shared. Of a shared one each run has a
 * *share*: MiB of its memory, thousandths of its compute, or both. On a card the sums of neither
 * exceed what the card has. A share of memory alone takes no compute from anybody: whoever asks so
 * takes what is left at the moment.
 *
 * The memory that can be shared is what the driver reports, or the type's nominal `mem` where that
 * is given and less or nothing is reported, less its `mem_reserve`; 0: not known, then nothing of
 * it can be had in MiB.
 *
 * Where a node says so (`share_users = "one"`) a card is shared by runs of one user at a time.
 * Users are told apart by their uid + 1; 0 is nobody: who asks so does not mind whose runs are
 * there.
 *
 * A share counts in usage and prices as that fraction of a GPU which is the larger of the two, in
 * thousandths (`charge`), rounded up.
 */
#ifndef CTLD_CORE_CARDS_H
#define CTLD_CORE_CARDS_H

#include <stdbool.h>
#include <stdint.h>

#define CARD_MILLI 1000 /* all of a card */

/* Of each card of a place. charge 0: whole cards. */
struct share {
	uint32_t milli, charge;
	uint64_t mem_mb;
	uint32_t user; /* whose: uid + 1 */
};

struct card {
	uint64_t mem_mb, mem_used;
	uint32_t milli_used, runs; /* 0 runs: it is not shared */
	/* one_user: it is only ever shared by runs of one. Of such a card, whose they are;
	 * CARD_MIXED: of several, who were there before the configuration said so, until it is
	 * free. */
	uint32_t user;
	bool one_user;
};

#define CARD_MIXED UINT32_MAX

/* What a job asks of each card: 0 and 0 is all of it. Of compute alone it has the same share of the
 * memory. */
struct share_wish {
	uint32_t milli;
	uint64_t mem_mb;
	uint32_t user; /* who asks: uid + 1; 0 where that makes no difference */
};

static inline bool share_wished(const struct share_wish *wish)
{
	return wish->milli || wish->mem_mb;
}

/* What that comes to on cards with so much memory. False: they never have it. */
bool share_of(const struct share_wish *wish, uint64_t card_mem_mb, struct share *share);

bool card_holds(const struct card *card, const struct share *share);
void card_book(struct card *card, const struct share *share, bool take);

/* Thousandths that another share could have at most; 1000: nobody shares it. */
uint32_t card_left(const struct card *card);

#endif
