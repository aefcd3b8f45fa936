/* whatif.h - what would happen if some jobs had ended and some limits were wider
 *
 * The changes are made on the ledger, the limits and the plan themselves and are undone exactly.
 * Between whatif_begin() and whatif_end() nothing else may change them.
 */
#ifndef CTLD_CORE_WHATIF_H
#define CTLD_CORE_WHATIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctld/core/limits/limits.h"
#include "ctld/core/rows/view.h"

struct class;
struct candidate;

#define WHATIF_NAMED  4
#define WHATIF_STARTS 128 /* starts of other jobs that are tried */
#define WHATIF_PLANS  32  /* planned starts that other classes would get */
#define WHATIF_TRIES  256 /* classes that are tried before it */

struct whatif {
	struct core *core;
	struct job **over; /* owned */
	size_t n_over, over_size;
	struct limit_block lifted[WHY_BLOCKERS];
	size_t n_lifted;
	struct reservation *ignored;  /* set by whatif_ignore(); NULL */
	uint64_t ahead[WHATIF_NAMED]; /* of whatif_starts(): jobs that would start before it */
	size_t n_ahead;               /* how many there are in all */
};

void whatif_begin(struct whatif *w, struct core *core);
/* The job has ended: what its runs hold of nodes and limits is free. */
void whatif_over(struct whatif *w, struct job *job);
/* The limit is wider by what it lacked. */
void whatif_lift(struct whatif *w, const struct limit_block *block);
/* The reservation is given up, and its place is free for others. At most one. */
void whatif_ignore(struct whatif *w, struct reservation *reservation);
/* How many classes stand before the candidate, not counting its own. */
size_t whatif_before(
        const struct whatif *w, const struct candidate *who, const struct class *class);
/* Would the candidate start after all classes before it had their chance? `class` is its own, in
 * which `before` jobs come first (NULL and 0: none). Also false if there are too many classes to
 * try. */
bool whatif_starts(
        struct whatif *w, const struct candidate *who, const struct class *class, uint32_t before);
void whatif_end(struct whatif *w);

#endif
