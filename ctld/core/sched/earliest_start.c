/* earliest_start.c - see earliest_start.h
 *
 * The search asks plan_search() for the earliest start of each alternative and type.
 */
#include "ctld/core/sched/earliest_start.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/sched/backfill.h"
#include "ctld/core/sched/nodes_within_limits.h"

bool decide_next_open(const struct sched_view *view, const struct candidate *who, uint32_t *cursor,
        struct find *find)
{
	struct need need;

	while (find->alternative < decide_alternatives(&who->ask)) {
		while (decide_types(view, &who->ask, find->alternative, cursor, &find->type)) {
			need_at_least(view, &who->ask, find->alternative, find->type, &need);
			if (limits_check(view->limits, who->chain, &need, NULL))
				return true;
		}
		find->alternative++;
		*cursor = 0;
	}
	return false;
}

/* A total on fewer nodes may pass the limits where this one did not, though later. */
static bool on_fewer(struct plan_want *want, const struct places *places, struct request **shape)
{
	const struct request *r = want->ask.gpus;

	if (!r->n || r->per_node || r->exclusive || places->n <= r->nodes_min)
		return false;
	if (!*shape)
		*shape = xcalloc(1, sizeof(**shape));
	**shape = *r;
	(*shape)->nodes_max = (uint32_t)places->n - 1;
	want->ask.gpus = *shape;
	return true;
}

/* The search goes through alternatives and types in order. If the limits refuse what was found for
 * one, it searches that one again. */
struct decide_search {
	uint32_t cursor;
	struct find find;
	bool open; /* one alternative and type is being searched */
	struct plan_search *search;
	struct unfit_nodes unfit;
	struct request *shape; /* the request, for a total on fewer nodes; owned; NULL: not needed
				* yet */
	bool shaped, found;
	struct reservation this, best;
	unsigned steps;
};

struct decide_search *decide_search_new(void)
{
	return xcalloc(1, sizeof(struct decide_search));
}

static void search_clear(struct decide_search *ds)
{
	plan_search_free(ds->search);
	places_free(&ds->this.places);
	places_free(&ds->best.places);
	free(ds->shape);
	memset(ds, 0, sizeof(*ds));
}

void decide_search_free(struct decide_search *ds)
{
	if (!ds)
		return;
	search_clear(ds);
	free(ds);
}

/* `kind_too`: this alternative and type is done; else it is searched again, under other
 * conditions. */
static void end_search(struct decide_search *ds, bool kind_too)
{
	plan_search_free(ds->search);
	ds->search = NULL;
	if (!kind_too)
		return;
	ds->open = ds->shaped = false;
	ds->unfit.n = ds->find.n_unfit = 0;
}

/* Of equally early starts the first found stays: that of the earlier alternative. */
static void keep_best(struct decide_search *ds)
{
	struct reservation swap = ds->best;

	if (ds->found && ds->this.start >= ds->best.start)
		return;
	ds->best = ds->this;
	ds->this = swap;
	ds->found = true;
}

/* A start was found: keep it if the limits allow it. Otherwise search for another one, if there may
 * be one. */
static void judge_start(struct decide_search *ds, const struct sched_view *view,
        const struct candidate *who, struct plan_want *want)
{
	struct places *places = &ds->this.places;
	struct decision d;
	bool other = false;

	if (!nodes_within_limits(view, who, places, &d)) {
		other = nodes_exclude_unfit(view, who, &d.limit, places, &ds->unfit, &ds->find);
		if (!other && on_fewer(want, places, &ds->shape))
			other = ds->shaped = true;
	} else if (backfill_fits_limits_then(view, who, &ds->this, &d.need) &&
	           (ds->this.start > view->now.mono || !backfill_yields(view, who, places, &d))) {
		keep_best(ds);
	}
	end_search(ds, !other);
}

/* Is what was found some steps ago still possible? */
static bool still_good(const struct decide_search *ds, const struct sched_view *view,
        const struct candidate *who, const struct plan_want *want)
{
	struct decision d;

	return first_nodes_within_limits(view, who, ds->best.places, &d) == ds->best.places.n &&
	       plan_holds(view->plan, want, &ds->best);
}

/* All kinds are done. A result that took several steps is checked once more, because the cluster
 * has changed meanwhile; if it does not hold, the search begins again. */
static enum plan_step finish(struct decide_search *ds, const struct sched_view *view,
        const struct candidate *who, struct plan_want *want, struct reservation *best)
{
	if (ds->found && ds->steps > 1 && !still_good(ds, view, who, want)) {
		search_clear(ds);
		return PLAN_MORE;
	}
	want->find.alternative = ds->best.places.alternative;
	want->find.type = ds->best.places.type;
	if (!ds->found)
		return PLAN_NOWHERE;
	*best = ds->best;
	ds->best = (struct reservation){ .start = 0 };
	return PLAN_FOUND;
}

enum plan_step decide_search(struct decide_search *ds, const struct sched_view *view,
        const struct candidate *who, struct plan_want *want, size_t *work, struct reservation *best)
{
	memset(best, 0, sizeof(*best));
	ds->steps++;
	ds->find.spread = want->find.spread;
	while (ds->open || decide_next_open(view, who, &ds->cursor, &ds->find)) {
		struct plan_want this = *want;
		enum plan_step step;

		ds->open = true;
		this.find = ds->find;
		if (ds->shaped)
			this.ask.gpus = ds->shape;
		if (!ds->search)
			ds->search = plan_search_new();
		step = *work ? plan_search(view->plan, ds->search, &this, work, &ds->this)
		             : PLAN_MORE;
		if (step == PLAN_MORE)
			return step;
		if (step == PLAN_FOUND)
			judge_start(ds, view, who, &this);
		else
			end_search(ds, true);
	}
	return finish(ds, view, who, want, best);
}

bool decide_later(const struct sched_view *view, const struct candidate *who,
        struct plan_want *want, struct reservation *best)
{
	struct decide_search *ds = decide_search_new();
	enum plan_step step;

	do {
		size_t work = SIZE_MAX;

		step = decide_search(ds, view, who, want, &work, best);
	} while (step == PLAN_MORE);
	decide_search_free(ds);
	return step == PLAN_FOUND;
}
