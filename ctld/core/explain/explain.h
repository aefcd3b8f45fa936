/* explain.h - why a job waits, in full, and what would start it: see core_job_why() */
#ifndef CTLD_CORE_EXPLAIN_H
#define CTLD_CORE_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

struct class;
struct candidate;
struct core;
struct decision;
struct job_info;
struct job_why;
struct places;

/* Add all that blocks a candidate: the head of a class, a job behind `before` others of its class,
 * or an imagined one (`class` NULL, `before` 0). */
void explain_candidate(struct core *core, const struct candidate *who, const struct class *class,
        uint32_t before, uint32_t uid, struct job_why *why);

void hostlist_of(const struct core *core, const struct places *places, char *text, size_t size);

/* "h07 with h100:4 (GPUs 2,3,6,7)", "n[1-2] with h100:16". */
void say_places(const struct core *core, const struct places *places, char *text, size_t size);

/* When and where it could start, if the plan can tell. */
void explain_plan(struct core *core, const struct candidate *who, struct job_why *why);
/* The same with other jobs stopped for it, if that is sooner. The candidate is an imagined job of
 * user `uid`, for which decide() gave *d. */
void explain_victims(struct core *core, const struct candidate *who, const struct decision *d,
        uint32_t uid, struct job_why *why);
/* What a job would cost at those places if it ran for all of its time limit; < 0: it has no
 * limit. */
double explain_cost(
        const struct core *core, const struct job_info *info, const struct places *places);

/* How many things block the head of a class: as many as explain_candidate() would add. It tries
 * changes on the ledger and undoes them. */
uint32_t explain_count(struct core *core, const struct class *class);

#endif
