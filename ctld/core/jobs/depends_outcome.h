/* depends_outcome.h - a term is decided: is its job free, does it wait on, or can it never start? */
#ifndef CTLD_CORE_DEPENDS_OUTCOME_H
#define CTLD_CORE_DEPENDS_OUTCOME_H

struct core;
struct job;

/* A term was decided, or a range of tasks became smaller: update the job. It may be over
 * afterwards. */
void depends_weigh(struct core *core, struct job *job);
/* Decide the terms whose delay has ended. */
void depends_delays(struct core *core, struct job *job);

#endif
