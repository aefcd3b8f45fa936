/* backfill.h - may a job start ahead of planned starts (backfill)?
 *
 * It may if it delays none that is before it in the order of classes: not on the nodes that are
 * reserved, and not at a limit, where what the reservation will take must stay free if it begins
 * before the job ends (backfill_limits.c).
 */
#ifndef CTLD_CORE_BACKFILL_H
#define CTLD_CORE_BACKFILL_H

#include "ctld/core/plan/candidate.h"
#include "ctld/core/sched/decision.h"

/* A ledger_test: does this place respect what is planned? */
struct backfill_look {
	const struct sched_view *view;
	const struct candidate *who;
	bool displace_none; /* no reservation may be delayed; else only those before the key */
	bool refused; /* set by the test: some place was refused */
};
bool backfill_test(void *arg, struct place *place, uint64_t gpu_set);

/* Does the job have to leave room at a limit? The limits must suffice for it and for all
 * reservations before it that begin before it ends. Of a range of nodes, *places keeps as many as
 * that leaves. */
bool backfill_yields(const struct sched_view *view, const struct candidate *who,
        struct places *places, struct decision *d);

/* Do the limits allow the reservation when the runs that it waits for have ended? */
bool backfill_fits_limits_then(const struct sched_view *view, const struct candidate *who,
        const struct reservation *e, const struct need *need);

#endif
