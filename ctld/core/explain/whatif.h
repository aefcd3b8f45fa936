/* whatif.h - what would be if some jobs were over and some limits wider
 *
 * Tried on the ledger, the gates and the plan themselves, and taken back exactly. Between
 * whatif_begin() and whatif_end() nothing else may change them.
 */
#ifndef CTLD_CORE_WHATIF_H
#define CTLD_CORE_WHATIF_H

#include "ctld/core/internal.h"

#define WHATIF_NAMED  4
#define WHATIF_STARTS 128 /* starts of others that are tried */
#define WHATIF_PLANS  32  /* planned starts that others would get */
#define WHATIF_TRIES  256 /* classes that are tried before it */

struct whatif {
	struct core *core;
	struct job **over; /* owned */
	size_t n_over, over_size;
	struct gate_block lifted[WHY_BLOCKERS];
	size_t n_lifted;
	struct plan_entry *aside;     /* by whatif_aside(); NULL */
	uint64_t ahead[WHATIF_NAMED]; /* of whatif_starts(): whose place it would have to take */
	size_t n_ahead;               /* all of them */
};

void whatif_begin(struct whatif *w, struct core *core);
/* The job has ended: what its runs hold of nodes and gates is free. */
void whatif_over(struct whatif *w, struct job *job);
/* The gate is as much wider as it lacked. */
void whatif_lift(struct whatif *w, const struct gate_block *block);
/* A planned start is given up, and left to others. One at most. */
void whatif_aside(struct whatif *w, struct plan_entry *entry);
/* How many classes stand before it, its own left out. */
size_t whatif_before(
        const struct whatif *w, const struct contender *who, const struct class *class);
/* Would a contender start, after all who stand before it had their chance? `class` is its own, of
 * which `before` jobs come first (NULL and 0: none). False too if there are too many to try. */
bool whatif_starts(
        struct whatif *w, const struct contender *who, const struct class *class, uint32_t before);
void whatif_end(struct whatif *w);

#endif
