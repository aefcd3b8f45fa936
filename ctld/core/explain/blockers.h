/* blockers.h - everything that blocks a waiting job: a part of core_job_why() (job_why.c) */
#ifndef CTLD_CORE_BLOCKERS_H
#define CTLD_CORE_BLOCKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job/run.h"

struct class;
struct candidate;
struct core;
struct decision;
struct job;
struct job_why;
struct places;
struct why_blocker;

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
/* May user `uid` not be told of the other job? */
bool explain_hidden(const struct core *core, uint32_t uid, const struct job *other);
/* Another blocker of the list, zeroed but for its reason; NULL: the list is full. */
struct why_blocker *explain_add(struct job_why *why, const char *reason);
/* The wall time of a moment of the plan; 0: it is not known. */
usec_t explain_wall(const struct core *core, usec_t mono);

/* How many things block the head of a class: as many as explain_candidate() would add. It tries
 * changes on the ledger and undoes them. */
uint32_t explain_count(struct core *core, const struct class *class);

#endif
