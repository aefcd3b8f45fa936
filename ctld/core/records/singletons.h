/* singletons.h - the jobs of one user with one name that have not ended, in order of id
 *
 * For --dependency=singleton, which starts one job of such a set at a time. A singleton may start
 * when it is the first of its set and no job of the set has an attempt. Of an array one task at a
 * time may start.
 */
#ifndef CTLD_CORE_SINGLETONS_H
#define CTLD_CORE_SINGLETONS_H

#include "ctld/core/records/job.h"

struct singletons;

struct singletons *singletons_new(uint64_t seed);
void singletons_free(struct singletons *names); /* NULL is fine; all jobs must have been removed */

/* Ids mostly ascend: the place of a lower one is searched from the end. */
void singletons_add(struct singletons *names, struct job *job);
void singletons_remove(struct singletons *names, struct job *job);
/* An attempt of the job begins (1), or is over (-1): the job waits again or has ended. */
void singletons_active(struct job *job, int by);

bool singletons_first_and_idle(const struct job *job);
struct job *singletons_first(const struct job *job); /* of its set; NULL: it is in none */
int singletons_check(const struct job *job, bool ended, bool active, struct error *err);

#endif
