/* nodes_within_limits.c - see nodes_within_limits.h */
#include "ctld/core/sched/nodes_within_limits.h"

#include <string.h>

/* The place that takes most of what the limit counts and that can be left out; places->n: there is
 * none. */
static size_t heaviest(const struct sched_view *view, const struct candidate *who,
        const struct places *places, const struct limit_block *limit)
{
	uint64_t most = 0;
	size_t best = places->n, i;

	for (i = 0; i < places->n; i++) {
		const struct places one = { .v = &places->v[i], .n = 1, .type = places->type };
		struct need need;
		uint64_t weight;

		if (request_requires(who->ask.gpus, places->v[i].node))
			continue;
		need_of_places(view, &who->ask, &one, &need);
		weight = limits_amount(view->limits, limit, &need);
		if (best < places->n && weight < most)
			continue;
		most = weight;
		best = i;
	}
	return best;
}

/* A gang of a range of sizes may be too large for a limit. Then it gets as many nodes as the limit
 * allows, without those that take most of what is limited. */
bool nodes_within_limits(const struct sched_view *view, const struct candidate *who,
        struct places *places, struct decision *d)
{
	const struct request *r = who->ask.gpus;
	size_t i;

	for (;;) {
		need_of_places(view, &who->ask, places, &d->need);
		if (limits_check(view->limits, who->chain, &d->need, &d->limit))
			return true;
		if (places->n <= r->nodes_min || (r->n && !r->per_node))
			return false;
		i = heaviest(view, who, places, &d->limit);
		if (i == places->n)
			return false;
		places->n--;
		memmove(&places->v[i], &places->v[i + 1], (places->n - i) * sizeof(*places->v));
	}
}

size_t first_nodes_within_limits(const struct sched_view *view, const struct candidate *who,
        struct places places, struct decision *d)
{
	const struct request *r = who->ask.gpus;

	for (;; places.n--) {
		need_of_places(view, &who->ask, &places, &d->need);
		if (limits_check(view->limits, who->chain, &d->need, &d->limit))
			return places.n;
		if (places.n <= r->nodes_min || (r->n && !r->per_node) ||
		        request_requires(r, places.v[places.n - 1].node))
			return 0;
	}
}

bool nodes_exclude_unfit(const struct sched_view *view, const struct candidate *who,
        const struct limit_block *limit, const struct places *places, struct unfit_nodes *unfit,
        struct find *find)
{
	size_t most = heaviest(view, who, places, limit);

	if (!who->ask.gpus->exclusive || unfit->n == MAX_UNFIT || most == places->n)
		return false;
	unfit->v[unfit->n++] = places->v[most];
	find->unfit = unfit->v;
	find->n_unfit = unfit->n;
	return true;
}
