/* decide.c - see decide.h
 *
 * A decision has no state: it is a function of what it is shown. What it counts on the limits for a
 * trial it takes back before it returns. Of the questions of one try backfill.h answers those about
 * planned starts, nodes_within_limits.h those about limits.
 *
 * One try is, for each alternative and each GPU type that it accepts: the limits with the least
 * that it could need; a place now, first one that displaces no reservation; the limits with what
 * that place takes; and whether that leaves enough for the reservations ahead. The first
 * alternative that passes starts; of its types, the one whose node has the least to spare.
 * Otherwise `decision` keeps for each alternative what refused it, because that is where the class
 * waits (blocked_retry.c).
 *
 * A start later goes through the same alternatives and types (earliest_start.h).
 */
#include "ctld/core/sched/decide.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/records/partition.h"
#include "ctld/core/sched/backfill.h"
#include "ctld/core/sched/nodes_within_limits.h"

uint32_t decide_alternatives(const struct ask *ask)
{
	return ask->gpus->n ? ask->gpus->n : 1;
}

bool decide_types(const struct sched_view *view, const struct ask *ask, uint32_t a,
        uint32_t *cursor, uint16_t *type)
{
	const struct request *r = ask->gpus;
	uint16_t number = r->n ? r->v[a].number : TYPE_NONE;

	if (number == TYPE_GONE)
		return false;
	if (number != TYPE_ANY) {
		*type = number;
		return !(*cursor)++ &&
		       (number == TYPE_NONE || request_type_ok(r, view->conf, a, number));
	}
	while (*cursor < view->conf->n_gpu_types) {
		*type = (uint16_t)(*cursor)++;
		if (request_type_ok(r, view->conf, a, *type))
			return true;
	}
	return false;
}

/* --- one type -------------------------------------------------------------------------------- */

/* Find a place now: first one that delays no planned start of any class. */
static bool find_now(const struct sched_view *view, const struct candidate *who, struct find *find,
        struct backfill_look *look, struct places *out)
{
	uint32_t set = ledger_set_of(view->ledger, who->partition);

	look->displace_none = true;
	look->refused = false;
	if (ledger_find(view->ledger, set, &who->ask, find, out))
		return true;
	if (!look->refused)
		return false;
	look->displace_none = look->refused = false;
	return ledger_find(view->ledger, set, &who->ask, find, out);
}

/* Note that the alternative waits for this limit; for several, DECIDE_ANY_LIMIT. */
static void note_limit(struct decision *d, uint32_t a, uint32_t limit)
{
	d->limit_of[a] = d->limit_of[a] == DECIDE_NO_LIMIT || d->limit_of[a] == limit
	                         ? limit
	                         : DECIDE_ANY_LIMIT;
}

/* One alternative and one type. Where a whole node exceeds a limit (--exclusive), the search goes
 * on without that node, up to MAX_UNFIT times. */
static enum verdict try_type(const struct sched_view *view, const struct candidate *who, uint32_t a,
        uint16_t type, struct places *out, struct decision *d)
{
	const struct conf_partition *p = &view->conf->partitions[who->partition];
	struct backfill_look look = { view, who, true, false };
	struct find find = { .alternative = a,
		.type = type,
		.spread = p->place == CONF_PLACE_SPREAD,
		.test = backfill_test,
		.arg = &look };
	struct unfit_nodes unfit = { .n = 0 };
	struct need need;
	bool found, yielded = false;

	need_at_least(view, &who->ask, a, type, &need);
	if (!limits_check(view->limits, who->chain, &need, &d->limit))
		return VERDICT_LIMIT;
	while ((found = find_now(view, who, &find, &look, out))) {
		if (nodes_within_limits(view, who, out, d)) {
			if (!backfill_yields(view, who, out, d))
				return VERDICT_START;
			yielded = true;
		}
		note_limit(d, a, d->limit.limit);
		d->planned |= look.refused;
		if (!nodes_exclude_unfit(view, who, &d->limit, out, &unfit, &find))
			break;
	}
	d->planned |= look.refused || yielded;
	if (!found && !unfit.n)
		return look.refused ? VERDICT_PLANNED : VERDICT_CAPACITY;
	d->yields = yielded;
	d->other[a] = !yielded || unfit.n;
	return yielded ? VERDICT_PLANNED : VERDICT_LIMIT;
}

/* --- all of them ----------------------------------------------------------------------------- */

#define STRANDS_MOST INT64_MAX

/* How nodes of different types are compared: as the ledger compares nodes of one type. */
struct rank {
	bool disliked;
	int64_t fragmentation;
	uint32_t gpus, cpus, node;
};

/* Where the request prefers nodes, those first; then the least fragmentation, the fewest free GPUs
 * and CPUs; the number of the node decides a tie, so that the result is always the same. */
static struct rank rank_of(
        const struct sched_view *view, const struct candidate *who, const struct places *places)
{
	uint32_t node = places->v[0].node;

	return (struct rank){ !request_prefers(who->ask.gpus, node), places->fragmentation,
		(uint32_t)__builtin_popcountll(ledger_gpus_free(view->ledger, node, places->type)),
		ledger_cpus_free(view->ledger, node), node };
}

static bool ranks_before(const struct rank *x, const struct rank *y)
{
	if (x->disliked != y->disliked)
		return y->disliked;
	if (x->fragmentation != y->fragmentation)
		return x->fragmentation < y->fragmentation;
	if (x->gpus != y->gpus)
		return x->gpus < y->gpus;
	if (x->cpus != y->cpus)
		return x->cpus < y->cpus;
	return x->node < y->node;
}

/* If the job may not start: which verdict says more? */
static int weight(enum verdict v)
{
	static const int weights[] = { [VERDICT_TYPE] = 1,
		[VERDICT_CAPACITY] = 2,
		[VERDICT_PLANNED] = 3,
		[VERDICT_LIMIT] = 4,
		[VERDICT_START] = 5 };

	return (size_t)v < sizeof(weights) / sizeof(weights[0]) ? weights[v] : 0;
}

/* A type that the configuration no longer has is no reason to wait. */
static void note_block(struct decision *d, uint32_t a, enum verdict v, uint32_t limit)
{
	if (v == VERDICT_LIMIT)
		note_limit(d, a, limit);
	else if (v != VERDICT_TYPE)
		d->capacity[a] = true;
}

/* Try one alternative: of the types that may start, take the one that leaves the least behind. */
static enum verdict try_alternative(const struct sched_view *view, const struct candidate *who,
        uint32_t a, struct places *out, struct decision *d)
{
	enum verdict best = VERDICT_TYPE;
	bool nowhere = true;
	struct limit_block limit = d->limit;
	struct places other = { 0 };
	struct rank least = { true, STRANDS_MOST, UINT32_MAX, UINT32_MAX, UINT32_MAX };
	uint32_t cursor = 0;
	uint16_t type;

	while (decide_types(view, &who->ask, a, &cursor, &type)) {
		struct decision this = *d;
		enum verdict v;

		this.yields = false;
		v = try_type(view, who, a, type, &other, &this);

		if (v == VERDICT_START) {
			struct rank rank = rank_of(view, who, &other);

			if (ranks_before(&rank, &least)) {
				struct places swap = *out;

				*out = other;
				other = swap;
				d->need = this.need;
				least = rank;
			}
			best = v;
			continue;
		}
		d->limit_of[a] = this.limit_of[a];
		note_block(d, a, this.yields ? VERDICT_LIMIT : v, this.limit.limit);
		nowhere &= v != VERDICT_LIMIT && !this.yields;
		d->other[a] |= this.other[a];
		d->yields |= this.yields;
		d->planned |= this.planned;
		if (v == VERDICT_LIMIT)
			limit = this.limit;
		if (weight(v) > weight(best))
			best = v;
	}
	places_free(&other);
	d->limit = limit;
	if (nowhere && (best == VERDICT_CAPACITY || best == VERDICT_PLANNED))
		d->nowhere[a] = best;
	return best;
}

enum verdict decide(const struct sched_view *view, const struct candidate *who, struct places *out,
        struct decision *d)
{
	memset(d, 0, sizeof(*d));
	memset(d->limit_of, 0xff, sizeof(d->limit_of));
	d->verdict = VERDICT_TYPE;
	if (who->partition == CONF_NONE) {
		d->verdict = VERDICT_PARTITION;
		return d->verdict;
	}
	if (!partition_starts(view->partitions, who->partition)) {
		d->verdict = VERDICT_STATE;
		return d->verdict;
	}
	for (uint32_t a = 0; a < decide_alternatives(&who->ask); a++) {
		struct limit_block limit = d->limit;
		enum verdict v = try_alternative(view, who, a, out, d);

		if (d->verdict == VERDICT_LIMIT)
			d->limit = limit; /* the first limit that blocked */
		if (weight(v) > weight(d->verdict))
			d->verdict = v;
		if (v == VERDICT_START)
			break;
	}
	return d->verdict;
}

bool decide_wants_capacity(const struct decision *d)
{
	for (size_t a = 0; a < MAX_GPU_ALTERNATIVES; a++) {
		if (d->capacity[a] || d->other[a])
			return true;
	}
	return false;
}
