/* explain.h - why a job waits, in full, and what would start it: core_job_why() */
#ifndef CTLD_CORE_EXPLAIN_H
#define CTLD_CORE_EXPLAIN_H

#include "ctld/core/internal.h"

/* Add all that holds a contender: the head of a class, a job behind `before` others of it, or one
 * that is only imagined (`class` NULL, 0). */
void explain_contender(struct core *core, const struct contender *who, const struct class *class,
        uint32_t before, uint32_t uid, struct job_why *why);

void hostlist_of(const struct core *core, const struct places *places, char *text, size_t size);

/* When and where it could start, if that is in the plan's reach. */
void explain_plan(struct core *core, const struct contender *who, struct job_why *why);
/* The same where others would be stopped for it, if that is sooner. It is only imagined, of `uid`,
 * and decide() said *d. */
void explain_victims(struct core *core, const struct contender *who, const struct decision *d,
        uint32_t uid, struct job_why *why);
/* What a job would cost at those places, if it ran for all of its time limit; < 0: it has none. */
double explain_cost(
        const struct core *core, const struct job_info *info, const struct places *places);

/* How many things hold the head of a class: as many as explain_contender() would add. It tries on
 * the ledger, and undoes. */
uint32_t explain_count(struct core *core, const struct class *class);

#endif
