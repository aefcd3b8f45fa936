/* depends_attach.h - a job gets the terms of its text, and they hang on the jobs that they name */
#ifndef CTLD_CORE_DEPENDS_ATTACH_H
#define CTLD_CORE_DEPENDS_ATTACH_H

#include <stdint.h>

struct core;
struct depends;
struct job;

/* The text is new, or comes from a row: hang its edges, unless the job has ended. */
void depends_attach(struct core *core, struct job *job);
/* The text was checked a while ago: decide the terms whose jobs have gone to history since. Call
 * it before depends_attach(). */
void depends_catch_up(struct core *core, struct job *job);
/* Replace the dependencies of the job. */
void depends_set(struct core *core, struct job *job, const char *kept);

/* Hangs an open term on the job that it names. A task that has no record of its own gets one. */
void depends_hang(struct core *core, struct depends *p, uint32_t n);
/* The array has a new text: update the copies that its parts have of it. */
void depends_retext(struct core *core, struct job *own);

#endif
