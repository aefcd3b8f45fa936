/* depends_check.h - may a job wait for this? */
#ifndef CTLD_CORE_DEPENDS_CHECK_H
#define CTLD_CORE_DEPENDS_CHECK_H

#include <stdbool.h>

struct caller;
struct core;
struct error;
struct job;
struct taskset;

/* May a job (an array of these tasks; NULL: no array) wait for this? `job` NULL: a new job. Each
 * id must be that of a job in memory that the caller may see, or of a job in history whose end is
 * known (ended_outcomes.h, which does not say whose job it was); such an end decides the term at
 * once. A job may not wait for itself, and no named job may wait for `job`, directly or through
 * others. *kept becomes the text as rows keep it; the caller owns it. */
int depends_check(const struct core *core, const struct caller *caller, const struct job *job,
        const struct taskset *tasks, const char *text, char **kept, struct error *err);

/* Counts the terms on ranges of tasks (12_[1-3]) of jobs that are checked together, because their
 * number is bounded: adds those of one more text to *n. True: too many. */
bool range_many_in(const char *kept, unsigned *n);

/* A job that has ended is to wait again, with the text that it has: can that still be satisfied,
 * and without a circle? */
int depends_revivable(const struct core *core, const struct job *job, struct error *err);

#endif
