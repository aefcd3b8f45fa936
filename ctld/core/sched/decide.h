/* decide.h - may this job start now, and where? Used by the scheduler, --test-only and --why
 *
 * All three get the same answer, so that what is explained is what happens. A candidate is a
 * waiting job as the scheduler sees it, or an imagined one. Nothing is changed; to learn what would
 * be under other conditions, a caller books or releases on the ledger, asks, and undoes it.
 *
 * Alternatives are tried in their order; for a request for any type, the type is taken whose node
 * has the least to spare. For each: first the limits (of the configuration, of quotas, of
 * licences: limits.h), then a place now (ledger.h) that delays no planned start (plan.h) of a
 * class before it: first a place that touches no reservation, then one that pushes aside
 * reservations behind it. At last: would what the job takes of the limits be missing for a planned
 * start before it that begins before the job ends?
 */
#ifndef CTLD_CORE_DECIDE_H
#define CTLD_CORE_DECIDE_H

#include "ctld/core/plan/candidate.h"
#include "ctld/core/sched/decision.h"

/* Fills *out (of VERDICT_START) and *d. */
enum verdict decide(const struct sched_view *view, const struct candidate *who, struct places *out,
        struct decision *d);

/* Does the job have an alternative that waits for capacity or for another place, whatever blocks
 * the others? */
bool decide_wants_capacity(const struct decision *d);

/* The GPU types that an alternative may take, one after another: start with *cursor 0. False: no
 * more. A request without GPUs has one type, TYPE_NONE. */
bool decide_types(const struct sched_view *view, const struct ask *ask, uint32_t alternative,
        uint32_t *cursor, uint16_t *type);
uint32_t decide_alternatives(const struct ask *ask); /* at least 1 */

#endif
