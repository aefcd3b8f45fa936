/* soonest.h - nodes in the order of a time, for looking at the first few of thousands
 *
 * A tournament tree over the nodes of a set: each has a time (when so many of its GPUs are free, at
 * the earliest), changed in O(log n). A walk yields nodes by time, the first ones in O(log n) each;
 * equal times in the order of members.
 */
#ifndef CTLD_CORE_SOONEST_H
#define CTLD_CORE_SOONEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/run.h"

#define SOONEST_NEVER INT64_MAX

struct soonest;

struct soonest *soonest_new(size_t members); /* all NEVER */
void soonest_free(struct soonest *s);        /* NULL is fine */
void soonest_set(struct soonest *s, size_t member, usec_t when);

/* Start over; then the next member and its time. False: no more (those that are NEVER are not
 * shown). Nothing may be set between the two. */
void soonest_start(struct soonest *s);
bool soonest_next(struct soonest *s, size_t *member, usec_t *when);

#endif
