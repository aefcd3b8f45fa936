/* backfill_limits.c - what a job must leave of the limits for planned starts before it; see backfill.h
 *
 * Limits have no times of their own. So what reservations will take is counted for the length of
 * one question, and taken back before it is answered.
 */
#include "ctld/core/sched/backfill.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/sched/nodes_within_limits.h"
#include "ctld/core/util/idmap.h"

/* Does the job have to leave what this reservation takes of the limits: is it before the job, and
 * does it begin before the job ends? */
static bool overlaps(
        const struct sched_view *view, const struct candidate *who, const struct reservation *e)
{
	usec_t now = view->now.mono;
	usec_t end = who->length >= PLAN_FAR ? PLAN_FAR * 2 : now + who->length;

	/* A planned start that has come is a promise too: it yields only to higher tiers. */
	if (who->due && who->key.a >> 48 <= e->key.a >> 48)
		return false;
	return e->chain && e->start < end && plan_before(e, who->key);
}

/* The runs that a reservation waits for, each job once, with what they hold of the limits. */
struct endings {
	struct idmap *jobs;
	const struct run_snapshot **v;
	size_t n, size;
};

/* A run on a node of the reservation that ends by its start: what it holds of the limits is free
 * then. */
static void note_endings_on(struct endings *es, const struct sched_view *view,
        const struct reservation *e, uint32_t node)
{
	size_t runs, i;
	const struct run_snapshot *snapshot = plan_snapshots(view->plan, node, &runs);

	for (i = 0; i < runs; i++) {
		if (snapshot[i].end > e->start || !snapshot[i].chain ||
		        idmap_find(es->jobs, snapshot[i].job))
			continue;
		/* When a preemption reservation goes, only jobs that wait at limits of its GPU type
		 * are woken. */
		if (e->preempts && snapshot[i].need->type != e->need.type)
			continue;
		idmap_insert(es->jobs, snapshot[i].job, es);
		*XADD(es->v, es->n, es->size) = &snapshot[i];
	}
}

static void note_endings(
        struct endings *es, const struct sched_view *view, const struct reservation *e)
{
	if (!es->jobs)
		es->jobs = idmap_new();
	for (size_t i = 0; i < e->places.n; i++)
		note_endings_on(es, view, e, e->places.v[i].node);
}

static void forget_endings(struct endings *es)
{
	idmap_free(es->jobs);
	free(es->v);
}

/* Begin or end to count what the reservations before the job will take of the limits. A preemption
 * reservation counts at the guarantees too, and there the runs that it waits for (*es) count as
 * ended. Otherwise the job could take what may be lent, and the preemption reservation would be
 * lost; the victim would come back by its guarantee, and all of that would happen again and again.
 */
static void reserve(const struct sched_view *view, const struct candidate *who,
        const struct endings *es, bool on)
{
	struct quota *q = limits_quota(view->limits);

	for (size_t i = 0; i < plan_count(view->plan); i++) {
		const struct reservation *e = plan_at(view->plan, i);

		if (!overlaps(view, who, e))
			continue;
		limits_reserve(view->limits, e->chain, &e->need, on);
		if (e->preempts)
			quota_imagine(q, limit_chain_account(e->chain), e->need.type,
			        need_milli(&e->need), true, on);
	}
	for (size_t i = 0; i < es->n; i++)
		quota_imagine(q, limit_chain_account(es->v[i]->chain), es->v[i]->need->type,
		        need_milli(es->v[i]->need), false, on);
}

/* Does the job have to leave room at a limit? The limits must suffice for it and for all
 * reservations before it that begin before it ends. Of a range of nodes, it keeps as many as that
 * leaves. Runs of now are assumed to run on, but for what reserve() says. */
bool backfill_yields(const struct sched_view *view, const struct candidate *who,
        struct places *places, struct decision *d)
{
	struct endings es = { .n = 0 };
	size_t i;

	for (i = 0; quota_any_reserved(limits_quota(view->limits)) && i < plan_count(view->plan);
	        i++) {
		const struct reservation *e = plan_at(view->plan, i);

		if (e->preempts && overlaps(view, who, e))
			note_endings(&es, view, e);
	}
	reserve(view, who, &es, true);
	d->yields = !nodes_within_limits(view, who, places, d);
	reserve(view, who, &es, false);
	forget_endings(&es);
	return d->yields;
}

/* Do the limits allow it when the runs that it waits for have ended? What their accounts then keep
 * for themselves must stay free. */
bool backfill_fits_limits_then(const struct sched_view *view, const struct candidate *who,
        const struct reservation *e, const struct need *need)
{
	struct endings es = { .n = 0 };
	bool fits;

	if (!quota_any_reserved(limits_quota(view->limits)))
		return true;
	note_endings(&es, view, e);
	for (size_t i = 0; i < es.n; i++)
		limits_release(view->limits, es.v[i]->chain, es.v[i]->need);
	fits = limits_check(view->limits, who->chain, need, NULL);
	for (size_t i = 0; i < es.n; i++)
		limits_take(view->limits, es.v[i]->chain, es.v[i]->need);
	forget_endings(&es);
	return fits;
}
