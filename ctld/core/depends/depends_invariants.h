/* depends_invariants.h - what must hold of terms and of the lists that they are in (core_check()) */
#ifndef CTLD_CORE_DEPENDS_INVARIANTS_H
#define CTLD_CORE_DEPENDS_INVARIANTS_H

struct core;
struct error;
struct job;

/* -1, ERR_INTERNAL: something does not hold for the job. */
int depends_check_job(const struct core *core, const struct job *job, struct error *err);
/* The same for a part of an array that waits. */
int depends_check_part(const struct core *core, const struct job *part, struct error *err);

#endif
