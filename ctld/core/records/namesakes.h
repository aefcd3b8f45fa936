/* namesakes.h - the jobs of one user with one name that have not ended, in order of id
 *
 * For --dependency=singleton: of such a set one job at a time. A singleton may start when it is the
 * first and none of them has an attempt: of an array, one task at a time.
 */
#ifndef CTLD_CORE_NAMESAKES_H
#define CTLD_CORE_NAMESAKES_H

#include "ctld/core/records/job.h"

struct namesakes;

struct namesakes *namesakes_new(uint64_t seed);
void namesakes_free(struct namesakes *names); /* NULL is fine; the jobs must be out */

/* Ids ascend mostly: one that comes late is looked for from the end. */
void namesakes_add(struct namesakes *names, struct job *job);
void namesakes_remove(struct namesakes *names, struct job *job);
/* It begins an attempt (1), is over with one and waits again or ends (-1). */
void namesakes_active(struct job *job, int by);

bool namesakes_first_and_idle(const struct job *job);
struct job *namesakes_first(const struct job *job); /* of its set; NULL: it is in none */
int namesakes_check(const struct job *job, bool ended, bool active, struct error *err);

#endif
