/* earliest_start.h - the earliest start of a job that may not start now, by what is planned
 *
 * Over all alternatives and GPU types of its request, at places that the limits allow.
 */
#ifndef CTLD_CORE_EARLIEST_START_H
#define CTLD_CORE_EARLIEST_START_H

#include "ctld/core/sched/decide.h"

/* The next (alternative, type) whose least need passes the limits: start with find->alternative and
 * *cursor 0. */
bool decide_next_open(const struct sched_view *view, const struct candidate *who, uint32_t *cursor,
        struct find *find);

/* The earliest start over all alternatives and types, at places that the limits allow; of equally
 * early ones, the first in the order of alternatives. Sets want->find. */
bool decide_later(const struct sched_view *view, const struct candidate *who,
        struct plan_want *want, struct reservation *best);

/* The same in steps of bounded work, between which anything may happen: as plan_search(). *want and
 * *who describe the same job in all steps. */
struct decide_search;
struct decide_search *decide_search_new(void);
void decide_search_free(struct decide_search *ds); /* NULL is fine */
enum plan_step decide_search(struct decide_search *ds, const struct sched_view *view,
        const struct candidate *who, struct plan_want *want, size_t *work,
        struct reservation *best);

#endif
