/* depends_why.h - what a job waits for of other jobs, as text for people */
#ifndef CTLD_CORE_DEPENDS_WHY_H
#define CTLD_CORE_DEPENDS_WHY_H

#include <stddef.h>

struct core;
struct job;

/* "Dependency" or "DependencyNeverSatisfied", and for people the jobs and their states. */
const char *depends_why(const struct core *core, const struct job *job, char *text, size_t size);

/* For people: the dependencies that are not yet satisfied; cut with "...". */
void depends_say(const struct job *job, char *text, size_t size);

#endif
