/* depends_queue.h - jobs whose start or end decides terms of others, in order */
#ifndef CTLD_CORE_DEPENDS_QUEUE_H
#define CTLD_CORE_DEPENDS_QUEUE_H

struct core;
struct job;

/* The job has started or ended: queue it, so that its dependents are updated. */
void depends_tell(struct core *core, struct job *job);
/* Puts the job into the queue of jobs to settle. A part only if other tasks wait for those of its
 * array. */
void depends_queue(struct core *core, struct job *job);

/* For depends_settle.c. core->settle_first leaves the queue; or goes to its end. */
void depends_queue_pop(struct core *core);
void depends_queue_defer(struct core *core);

#endif
