/* decide.c - see decide.h
 *
 * A decision has no state: it is a function of what it is shown. What it counts on the limits for a
 * trial it takes back before it returns.
 *
 * One try is, for each alternative and each GPU type that it accepts: the limits with the least
 * that it could need; a place now, first one that displaces no reservation; the limits with what
 * that place takes; and whether that leaves enough for the reservations ahead. The first
 * alternative that passes starts; of its types, the one whose node has the least to spare.
 * Otherwise `decision` keeps for each alternative what refused it, because that is where the class
 * waits (blocked_retry.c).
 *
 * A start later (decide_search()) goes through the same alternatives and types, and asks
 * plan_search() for the earliest start of each.
 */
#include "ctld/core/sched/decide.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/idmap.h"

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

bool decide_test(void *arg, struct place *place, uint64_t gpu_set)
{
	struct decide_look *look = arg;
	const struct candidate *who = look->who;
	usec_t now = look->view->now.mono;
	usec_t end = who->length >= PLAN_FAR ? PLAN_FAR * 2 : now + who->length - who->late;

	if (plan_allows(look->view->plan, place, gpu_set, end, who->key, look->displace_none))
		return true;
	look->refused = true;
	return false;
}

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
bool decide_fits_limits(const struct sched_view *view, const struct candidate *who,
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

size_t decide_fits_first(const struct sched_view *view, const struct candidate *who,
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

bool decide_unfit(const struct sched_view *view, const struct candidate *who,
        const struct limit_block *limit, const struct places *places, struct decide_unfit *unfit,
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

/* Find a place now: first one that delays no planned start of any class. */
static bool find_now(const struct sched_view *view, const struct candidate *who, struct find *find,
        struct decide_look *look, struct places *out)
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
		es->v = xgrow(es->v, es->n, &es->size, sizeof(const struct run_snapshot *));
		es->v[es->n++] = &snapshot[i];
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
static bool yields(const struct sched_view *view, const struct candidate *who,
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
	d->yields = !decide_fits_limits(view, who, places, d);
	reserve(view, who, &es, false);
	forget_endings(&es);
	return d->yields;
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
	struct decide_look look = { view, who, true, false };
	struct find find = { .alternative = a,
		.type = type,
		.spread = p->place == CONF_PLACE_SPREAD,
		.test = decide_test,
		.arg = &look };
	struct decide_unfit unfit = { .n = 0 };
	struct need need;
	bool found, yielded = false;

	need_at_least(view, &who->ask, a, type, &need);
	if (!limits_check(view->limits, who->chain, &need, &d->limit))
		return VERDICT_LIMIT;
	while ((found = find_now(view, who, &find, &look, out))) {
		if (decide_fits_limits(view, who, out, d)) {
			if (!yields(view, who, out, d))
				return VERDICT_START;
			yielded = true;
		}
		note_limit(d, a, d->limit.limit);
		d->planned |= look.refused;
		if (!decide_unfit(view, who, &d->limit, out, &unfit, &find))
			break;
	}
	d->planned |= look.refused || yielded;
	if (!found && !unfit.n)
		return look.refused ? VERDICT_PLANNED : VERDICT_CAPACITY;
	d->yields = yielded;
	d->other[a] = !yielded || unfit.n;
	return yielded ? VERDICT_PLANNED : VERDICT_LIMIT;
}

/* --- later ----------------------------------------------------------------------------------- */

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

/* Do the limits allow it when the runs that it waits for have ended? What their accounts then keep
 * for themselves must stay free. */
static bool fits_limits_then(const struct sched_view *view, const struct candidate *who,
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
	struct decide_unfit unfit;
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

	if (!decide_fits_limits(view, who, places, &d)) {
		other = decide_unfit(view, who, &d.limit, places, &ds->unfit, &ds->find);
		if (!other && on_fewer(want, places, &ds->shape))
			other = ds->shaped = true;
	} else if (fits_limits_then(view, who, &ds->this, &d.need) &&
	           (ds->this.start > view->now.mono || !yields(view, who, places, &d))) {
		keep_best(ds);
	}
	end_search(ds, !other);
}

/* Is what was found some steps ago still possible? */
static bool still_good(const struct decide_search *ds, const struct sched_view *view,
        const struct candidate *who, const struct plan_want *want)
{
	struct decision d;

	return decide_fits_first(view, who, ds->best.places, &d) == ds->best.places.n &&
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
