/* planner.c - planned starts and victims for the heads of blocked classes
 *
 * Which classes get a reservation in the plan, what breaks a reservation, and when a reservation is
 * moved up.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/job/reason.h"
#include "ctld/core/sched/sched_impl.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/resort.h"

/* Searches for victims between two orderings; each looks at the runs on all nodes of a
 * partition. */
#define MAX_SEARCHES 32
#define MIN_SEARCHES 4
#define SEARCH_NODES 40000 /* in all searches together, unless that is fewer than MIN_SEARCHES */
#define WORTH_MOVING ((usec_t)1000000)
/* Work for moving reservations up between two orderings, as plan_search() counts it. */
#define MOVE_WORK ((size_t)500000)

static struct plan_want want_of(struct sched *s, struct class *class, bool displace_none)
{
	struct class_link *l = class_link(class);
	const struct conf_partition *p = &s->view.conf->partitions[l->partition];

	return (struct plan_want){ .ask = class_ask(class),
		.set = ledger_set_of(s->view.ledger, l->partition),
		.partition = l->partition,
		.find = { .spread = p->place == CONF_PLACE_SPREAD },
		.length = class_length_us(class_info(class)->length_s, p),
		.key = l->key,
		.displace_none = displace_none };
}

/* --- reservations
 * --------------------------------------------------------------------------------- */

/* Record what the reservation will take of the limits: jobs that leave room at a limit look there.
 */
static void note_need(struct sched *s, struct reservation *e)
{
	struct ask ask = class_ask(e->owner);

	e->chain = class_link(e->owner)->chain;
	need_of_places(&s->view, &ask, &e->places, &e->need);
}

static void wake_yielding(struct sched *s, const struct limit_chain *chain, const struct need *need)
{
	const uint32_t *limits;
	size_t n;

	if (!chain)
		return;
	limits = limits_of_need(s->view.limits, chain, need, &n);
	wake_at_limits(s, limits, n, true);
}

/* Remove the reservation. Other reservations that break with it, here or before, break for the same
 * cause. */
static void reservation_gone(struct sched *s, struct class *class, const char *cause, uint64_t by)
{
	struct class_link *l = class_link(class);
	struct places places = l->reservation->places;
	const struct limit_chain *chain = l->reservation->chain;
	struct need need = l->reservation->need;
	size_t i;

	places.v = xmemdup(places.v, places.n * sizeof(*places.v));
	planner_end_move(s, class);
	plan_remove(s->view.plan, l->reservation);
	l->reservation = NULL;
	wake_yielding(s, chain, &need);
	for (i = 0; i < places.n; i++) {
		plan_node_changed(s->view.plan, places.v[i].node);
		planner_recheck(s, places.v[i].node, cause, by);
		wake_fitting(s, places.v[i].node);
	}
	s->early = true;
	free(places.v);
}

void planner_drop(struct sched *s, struct class *class, uint64_t by)
{
	if (class_link(class)->reservation)
		reservation_gone(s, class, reason_word(REASON_PRIORITY), by);
}

/* What blocks a class that does not wait for capacity, in a word. */
static const char *closed_by(const struct decision *d)
{
	switch (d->verdict) {
	case VERDICT_LIMIT:
		return d->limit.reason;
	case VERDICT_STATE:
		return reason_word(REASON_PARTITION_DOWN);
	default:
		return "reconfigured";
	}
}

/* The reservation gives up all but its first n places; the rest is free for others. */
static void shrink(struct sched *s, struct reservation *e, size_t n)
{
	struct places places = e->places;
	size_t i;

	places.v = xmemdup(places.v, places.n * sizeof(*places.v));
	wake_yielding(s, e->chain, &e->need);
	plan_shrink(s->view.plan, e, n);
	note_need(s, e);
	for (i = n; i < places.n; i++)
		sched_node_freed(s, places.v[i].node);
	free(places.v);
}

void planner_close(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	struct candidate who = sched_candidate(s, class);
	const char *cause;
	struct decision d;
	size_t n;

	if (!l->reservation)
		return;
	if (!decide_wants_capacity(&l->last) && l->last.verdict != VERDICT_PLANNED) {
		cause = closed_by(&l->last);
	} else {
		n = decide_fits_first(&s->view, &who, l->reservation->places, &d);
		if (n && n < l->reservation->places.n)
			shrink(s, l->reservation, n);
		if (n)
			return;
		cause = d.limit.reason;
	}
	l->broken = cause;
	l->broken_by = 0;
	s->stats.broken++;
	reservation_gone(s, class, l->broken, 0);
}

static void broke(struct sched *s, struct class *class, const char *cause, uint64_t by)
{
	struct class_link *l = class_link(class);

	l->broken = cause;
	l->broken_by = by;
	s->stats.broken++;
	reservation_gone(s, class, cause, by);
}

void planner_recheck(struct sched *s, uint32_t node, const char *cause, uint64_t by)
{
	struct reservation *e;

	while ((e = plan_broken(s->view.plan, node))) {
		struct class *class = e->owner;

		broke(s, class, cause, by);
		wake(s, class);
	}
}

/* Time has passed, or the order has changed: either may leave too little room for a reservation
 * (plan.h). */
static void recheck_reservation(struct sched *s, struct class *class, const struct reservation *e)
{
	size_t i;

	for (i = 0; class_link(class)->reservation == e && i < e->places.n; i++) { /* it may go */
		uint32_t node = e->places.v[i].node;

		planner_recheck(s, node,
		        plan_is_late(s->view.plan, node) ? "a run ended late"
		                                         : reason_word(REASON_PRIORITY),
		        0);
	}
}

void planner_late(struct sched *s, struct class *class)
{
	struct reservation *e = class_link(class)->reservation;

	if (!e->preempts)
		recheck_reservation(s, class, e);
}

/* Is there room for one more reservation, or is this class better than an owner of one? *out: the
 * class whose reservation would have to go; NULL: none. */
static bool has_room(struct sched *s, struct class *class, struct class **out)
{
	struct class_link *l = class_link(class);
	uint32_t depth = s->view.conf->partitions[l->partition].plan_depth;
	struct reservation *worst = NULL;
	size_t i;

	*out = NULL;
	if (plan_count_of(s->view.plan, l->partition) < depth)
		return true;
	for (i = 0; i < plan_count(s->view.plan); i++) {
		struct reservation *e = plan_at(s->view.plan, i);

		if (e->partition == l->partition && !e->preempts &&
		        (!worst || heap_key_before(worst->key, e->key)))
			worst = e;
	}
	if (!worst || !heap_key_before(l->key, worst->key))
		return false;
	*out = worst->owner;
	return true;
}

static void enter(struct sched *s, struct class *class, const struct plan_want *want,
        struct reservation *found)
{
	struct class_link *l = class_link(class);
	struct reservation *e = plan_add(s->view.plan, class, want, found);
	size_t i;

	l->reservation = e;
	note_need(s, e);
	if (!l->broken && l->planned && l->planned <= s->view.now.mono) {
		l->broken = "a run ended late"; /* otherwise it would have started */
		l->broken_by = 0;
	}
	if (l->broken) {
		l->cause = l->broken;
		l->cause_job = l->broken_by;
	} else if (l->planned && e->start > l->planned + WORTH_MOVING) {
		s->stats.unexplained++;
	}
	l->broken = NULL;
	l->planned = e->start;
	/* The reservation itself may be broken here, and its places freed. */
	for (i = 0; l->reservation == e && i < e->places.n; i++)
		planner_recheck(s, e->places.v[i].node, reason_word(REASON_PRIORITY),
		        job_id(class_head(class)));
}

/* --- a search that goes on ------------------------------------------------------------------- */

struct class *planner_searching(const struct sched *s)
{
	struct class *class = s->search.class;

	return class && class_link(class)->slot == HEAP_NOWHERE ? class : NULL;
}

static void end_kind(struct preemption_search *h, struct find *find)
{
	victims_free(h->victims);
	h->victims = NULL;
	h->unfit.n = find->n_unfit = 0;
}

static void end_search(struct sched *s)
{
	end_kind(&s->search, &s->search.find);
	decide_search_free(s->search.start);
	s->search = (struct preemption_search){ .class = NULL };
}

void planner_end_search(struct sched *s, const struct class *class)
{
	if (s->search.class == class)
		end_search(s);
	if (s->turn == class)
		s->turn = NULL;
}

/* If the search was for another class, that class is tried again and begins a new search in its
 * turn. */
static void begin_search(struct sched *s, struct class *class)
{
	struct class *other = planner_searching(s);

	end_search(s);
	if (other && other != class)
		wake(s, other);
	s->search.class = class;
	s->search.retry = INT64_MAX;
}

/* --- a planned start ------------------------------------------------------------------------- */

enum plan_step planner_plan(struct sched *s, struct class *class)
{
	struct plan_want want = want_of(s, class, false);
	struct candidate who = sched_candidate(s, class);
	struct reservation found;
	struct class *worst;
	size_t work = s->search_step;
	enum plan_step step;

	if (class_link(class)->reservation || !has_room(s, class, &worst)) {
		planner_end_search(s, class);
		return PLAN_NOWHERE;
	}
	if (s->search.class != class)
		begin_search(s, class);
	if (!s->search.start)
		s->search.start = decide_search_new();
	step = decide_search(s->search.start, &s->view, &who, &want, &work, &found);
	if (step == PLAN_MORE)
		return step;
	end_search(s);
	if (step == PLAN_NOWHERE)
		return step;
	if (worst)
		broke(s, worst, reason_word(REASON_PRIORITY), job_id(class_head(class)));
	enter(s, class, &want, &found);
	return step;
}

bool planner_planning(const struct sched *s, const struct class *class)
{
	return s->search.class == class && s->search.start;
}

void planner_tell(struct sched *s, struct class *class, struct sched_pick *pick)
{
	struct class_link *l = class_link(class);

	(void)s;
	pick->job = heap_first(l->queue);
	pick->planned = l->reservation ? l->reservation->start : PLAN_FAR;
}

/* --- victims --------------------------------------------------------------------------------- */

void planner_retry_at(struct sched *s, struct class *class, usec_t when)
{
	class_link(class)->retry = when;
	if (when < s->retry)
		s->retry = when;
}

static bool searched_enough(const struct sched *s, const struct class *class)
{
	size_t nodes = s->view.conf->partitions[class_link_of(class)->partition].n_nodes;
	size_t may = nodes ? SEARCH_NODES / nodes : MAX_SEARCHES;

	may = may < MIN_SEARCHES ? MIN_SEARCHES : may;
	return s->searches >= may || s->searches >= MAX_SEARCHES;
}

bool planner_spent(struct sched *s, struct class *class, bool *again)
{
	bool enough = searched_enough(s, class);
	struct class *worst;

	*again = s->preempts;
	if (*again && !enough && s->patience <= s->view.now.mono)
		return false;
	s->put_off |= *again && enough;
	return !has_room(s, class, &worst);
}

/* --- the class with the extra search --------------------------------------------------------- */

/* The best classes get the searches, and they may search again and again without success. So where
 * the searches do not suffice for all, one more goes to the account, and of its classes to the one,
 * that has had none for the longest time. */
static uint64_t *last_searched_of(const struct sched *s, const struct class *class)
{
	uint32_t account = class_link_of(class)->account;

	return &s->last_searched[account == CONF_NONE ? s->view.conf->n_accounts : account];
}

static bool waits_longer(const struct sched *s, const struct class *x, const struct class *y)
{
	const struct class_link *a = class_link_of(x), *b = class_link_of(y);
	uint64_t of_a = *last_searched_of(s, x), of_b = *last_searched_of(s, y);

	if (of_a != of_b)
		return of_a < of_b;
	if (a->last_searched != b->last_searched)
		return a->last_searched < b->last_searched;
	return heap_key_before(a->key, b->key);
}

void planner_configure(struct sched *s)
{
	free(s->last_searched);
	s->last_searched = xcalloc(s->view.conf->n_accounts + 1, sizeof(*s->last_searched));
	s->turn = NULL;
}

void planner_ordering(struct sched *s)
{
	s->turn = NULL;
}

void planner_consider(struct sched *s, struct class *class)
{
	const struct class_link *l = class_link(class);

	if (!s->put_off || (l->reservation && l->reservation->preempts) || l->last.yields ||
	        !decide_wants_capacity(&l->last))
		return;
	if (!s->turn || waits_longer(s, class, s->turn))
		s->turn = class;
}

static void had_turn(struct sched *s, struct class *class)
{
	class_link(class)->last_searched = *last_searched_of(s, class) = ++s->last_search;
	if (s->turn == class)
		s->turn = NULL;
}

/* GPUs that runs were stopped for count as held by the claimant: otherwise an account could reclaim
 * more than its guarantee by asking twice. */
static void count_preemptions(struct sched *s, bool count)
{
	size_t i;

	for (i = 0; s->quotas && i < plan_count(s->view.plan); i++) {
		const struct reservation *e = plan_at(s->view.plan, i);
		struct ask ask = class_ask(e->owner);
		struct need need;

		if (!e->preempts)
			continue;
		need_of_places(&s->view, &ask, &e->places, &need);
		quota_coming(limits_quota(s->view.limits), class_link_of(e->owner)->account,
		        need.type, need_milli(&need), count);
	}
}

/* Search for victims on nodes of one kind, until the limits allow the places. */
static enum victims_step find_victims(
        struct sched *s, const struct candidate *who, struct plan_want *want, size_t *nodes)
{
	struct preemption_search *h = &s->search;
	const struct places *places = &s->victims.reservation.places;
	enum victims_step step;
	struct decision d;

	do {
		if (!h->victims)
			h->victims = victims_new();
		preemption_clear(&s->victims);
		step = victims_step(h->victims, &s->view, who, want, nodes, &s->victims);
		if (step == VICTIMS_MORE)
			return step;
		victims_free(h->victims);
		h->victims = NULL;
		h->retry = s->victims.retry < h->retry ? s->victims.retry : h->retry;
		if (step == VICTIMS_FOUND &&
		        decide_fits_limits(&s->view, who, &s->victims.reservation.places, &d))
			return step;
	} while (step == VICTIMS_FOUND &&
	         decide_unfit(&s->view, who, &d.limit, places, &h->unfit, &want->find));
	end_kind(h, &want->find);
	return VICTIMS_NONE;
}

/* Search one kind of places after another, as far as one step allows. */
static enum victims_step search(
        struct sched *s, struct class *class, const struct candidate *who, struct plan_want *want)
{
	struct preemption_search *h = &s->search;
	size_t nodes = s->search_step;
	enum victims_step step = VICTIMS_NONE;

	want->find = h->find;
	count_preemptions(s, true);
	while (step == VICTIMS_NONE &&
	        (h->victims || decide_next_open(&s->view, who, &h->cursor, &want->find))) {
		/* What is free would suffice, but a limit of its own blocks the job: no run is
		 * stopped for that. */
		if (class_link(class)->last.capacity[want->find.alternative])
			step = find_victims(s, who, want, &nodes);
		else
			end_kind(h, &want->find);
	}
	count_preemptions(s, false);
	h->find = want->find;
	return step;
}

bool sched_would_stop(struct sched *s, const struct candidate *who, const struct decision *d,
        struct preemption *out)
{
	const struct conf_partition *p = &s->view.conf->partitions[who->partition];
	struct plan_want want = { .ask = who->ask,
		.set = ledger_set_of(s->view.ledger, who->partition),
		.partition = who->partition,
		.find = { .spread = p->place == CONF_PLACE_SPREAD },
		.length = who->length,
		.key = who->key };
	enum victims_step step = VICTIMS_NONE;
	size_t nodes = SEARCH_ASKED;
	uint32_t cursor = 0;
	struct decision fits;

	if (!s->preempts || d->yields || s->patience > s->view.now.mono)
		return false;
	count_preemptions(s, true);
	while (step == VICTIMS_NONE && decide_next_open(&s->view, who, &cursor, &want.find)) {
		struct victims *v;

		if (!d->capacity[want.find.alternative])
			continue;
		v = victims_new();
		preemption_clear(out);
		step = victims_step(v, &s->view, who, &want, &nodes, out);
		victims_free(v);
		if (step == VICTIMS_FOUND &&
		        !decide_fits_limits(&s->view, who, &out->reservation.places, &fits))
			step = VICTIMS_NONE;
	}
	count_preemptions(s, false);
	return step == VICTIMS_FOUND;
}

/* Its planned start comes before any victim could have ended. */
static bool starts_soon(const struct sched *s, const struct reservation *e)
{
	usec_t now = s->view.now.mono;

	return e->start > now && e->start <= now + preempt_delay(s->view.conf);
}

/* May runs be stopped for the class now? If not, *retry says when to try it again (mono);
 * INT64_MAX: when something changes. */
static bool may_search(struct sched *s, struct class *class, usec_t *retry)
{
	struct class_link *l = class_link(class);
	usec_t now = s->view.now.mono;

	*retry = INT64_MAX;
	if ((l->reservation && l->reservation->preempts) || !s->preempts)
		return false;
	if (l->reservation && starts_soon(s, l->reservation)) {
		*retry = l->reservation->start + ORDER_EVERY;
	} else if (s->patience > now) {
		*retry = now + ORDER_EVERY;
	} else if (s->search.class != class && s->turn != class && searched_enough(s, class)) {
		*retry = s->ordered + ORDER_EVERY;
		s->put_off = true;
	}
	return *retry == INT64_MAX;
}

bool planner_preempt(struct sched *s, struct class *class, struct sched_pick *pick)
{
	struct candidate who = sched_candidate(s, class);
	struct plan_want want = want_of(s, class, false);
	enum victims_step step;
	usec_t retry;

	if (!may_search(s, class, &retry)) {
		planner_end_search(s, class);
		planner_retry_at(s, class, retry);
		return false;
	}
	if (s->search.class != class) {
		begin_search(s, class);
		s->search.find = want.find;
		s->searches += s->turn != class;
	}
	pick->searched = true;
	step = search(s, class, &who, &want);
	planner_retry_at(s, class, step == VICTIMS_NONE ? s->search.retry : INT64_MAX);
	if (step == VICTIMS_MORE)
		return false;
	had_turn(s, class);
	end_search(s);
	if (step == VICTIMS_NONE)
		return false;
	planner_drop(s, class, job_id(class_head(class)));
	planner_tell(s, class, pick);
	pick->victims = s->victims.victims;
	pick->n_victims = s->victims.n;
	pick->planned = s->victims.reservation.start;
	return true;
}

void planner_reserve_preemption(struct sched *s, struct class *class)
{
	struct plan_want want = want_of(s, class, false);
	const struct reservation *e;

	want.find.alternative = s->victims.reservation.places.alternative;
	want.find.type = s->victims.reservation.places.type;
	enter(s, class, &want, &s->victims.reservation);
	/* The victims may hold more of the guarantees than the preemption reservation will take. */
	e = class_link(class)->reservation;
	if (e)
		wake_yielding(s, e->chain, &e->need);
}

/* --- moving up ------------------------------------------------------------------------------- */

void planner_end_move(struct sched *s, const struct class *class)
{
	if (s->move.class != class)
		return;
	decide_search_free(s->move.search);
	s->move = (struct move){ .class = NULL };
}

static void replace(struct sched *s, struct class *class, const struct plan_want *want,
        struct reservation *found)
{
	struct class_link *l = class_link(class);
	struct reservation *e = l->reservation;
	struct places old = e->places;
	uint32_t rank = e->rank;
	size_t i;

	old.v = xmemdup(old.v, old.n * sizeof(*old.v));
	wake_yielding(s, e->chain, &e->need);
	plan_remove(s->view.plan, e);
	l->reservation = NULL;
	enter(s, class, want, found);
	if (l->reservation)
		plan_rank(s->view.plan, l->reservation, rank);
	s->stats.moved_up++;
	for (i = 0; i < old.n; i++)
		sched_node_freed(s, old.v[i].node);
	free(old.v);
}

/* Search for an earlier start. The reservation of the class does not count against it, and is
 * replaced only if there is an earlier one. */
static enum plan_step move_up(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	struct plan_want want = want_of(s, class, !l->reservation->promoted);
	struct candidate who = sched_candidate(s, class);
	struct reservation found;
	size_t work = s->search_step < s->move_work ? s->search_step : s->move_work, left = work;
	enum plan_step step;

	want.before = l->reservation->start - WORTH_MOVING + 1;
	if (!s->move.class)
		s->move = (struct move){ class, decide_search_new() };
	step = decide_search(s->move.search, &s->view, &who, &want, &left, &found);
	s->move_work -= work - left;
	if (step == PLAN_MORE)
		return step;
	planner_end_move(s, class);
	if (step == PLAN_FOUND) {
		replace(s, class, &want, &found);
	} else {
		l->reservation->promoted = false;
		note_need(s, l->reservation);
	}
	return step;
}

bool planner_compress(struct sched *s, struct class **moved, struct sched_pick *pick)
{
	struct class *class = s->move.class;
	struct reservation *e;
	uint64_t changes;
	enum plan_step step;

	*moved = NULL;
	e = class ? class_link(class)->reservation : plan_by_rank(s->view.plan, s->compress);
	if (!e)
		return false;
	if (!s->move_work) { /* the next ordering continues here */
		s->early = s->move_pauses = true;
		return false;
	}
	changes = plan_changes(s->view.plan);
	recheck_reservation(s, e->owner, e);
	/* A class that has lost its start here is tried before this reservation moves into the
	 * place. That gives the same result as a search in steps, because woken classes are
	 * tried between two of its steps. */
	if (plan_changes(s->view.plan) != changes)
		return true;
	if (!class)
		s->compress = e->rank + 1;
	class = e->owner;
	if (class_link(class)->reservation != e || e->preempts ||
	        e->start <= s->view.now.mono + WORTH_MOVING) {
		planner_end_move(s, class);
		return true;
	}
	step = move_up(s, class);
	pick->searched = step == PLAN_MORE;
	if (step == PLAN_FOUND)
		*moved = class;
	return true;
}

struct ahead {
	struct heap_key key;
	uint64_t own, before;
};

static int by_ahead_key(const void *x, const void *y)
{
	const struct ahead *a = x, *b = y;

	return heap_key_before(a->key, b->key) ? -1 : heap_key_before(b->key, a->key);
}

static uint64_t owner_hash(const struct reservation *e)
{
	return hash_u64(job_id(class_head(e->owner)), 1);
}

struct aheads planner_aheads(const struct sched *s)
{
	size_t n = plan_count(s->view.plan), i;
	struct aheads all = { .v = xcalloc(n ? n : 1, sizeof(*all.v)) };
	uint64_t sum = 0;

	for (i = 0; i < n; i++) {
		const struct reservation *e = plan_at(s->view.plan, i);

		if (e->preempts)
			all.preempts += owner_hash(e);
		else
			all.v[all.n++] = (struct ahead){ .key = e->key, .own = owner_hash(e) };
	}
	resort(all.v, all.n, sizeof(*all.v), by_ahead_key);
	for (i = 0; i < all.n; i++) {
		all.v[i].before = sum;
		sum += all.v[i].own;
	}
	return all;
}

static uint64_t ahead_of(const struct aheads *all, struct heap_key key)
{
	size_t low = 0, high = all->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (heap_key_before(all->v[mid].key, key))
			low = mid + 1;
		else
			high = mid;
	}
	return all->preempts + (low ? all->v[low - 1].before + all->v[low - 1].own : 0);
}

uint64_t planner_ahead(const struct sched *s, struct heap_key key)
{
	const struct plan *plan = s->view.plan;
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < plan_count(plan); i++) {
		const struct reservation *e = plan_at(plan, i);

		if (e->preempts || heap_key_before(e->key, key))
			sum += owner_hash(e);
	}
	return sum;
}

void planner_wake_if_risen(struct sched *s, struct class *class, const struct aheads *all)
{
	const struct class_link *l = class_link(class);

	if (l->slot != HEAP_NOWHERE || !l->last.planned || l->ahead == ahead_of(all, l->key))
		return;
	/* Members of a wait group that nodes refused are tried in the order of the wait group,
	 * until one is refused for all. */
	if (l->reservation || l->last.yields || !blocked_note_behind(s, class))
		wake(s, class);
}

void planner_rekeyed(struct sched *s)
{
	const struct plan *plan = s->view.plan;
	bool changed = false;
	struct aheads all;
	size_t i;

	s->work += plan_count(plan);
	for (i = 0; i < plan_count(plan); i++) {
		struct reservation *e = plan_at(plan, i);
		struct heap_key old = e->key;

		if (class_over(s, e->owner) == old.a)
			continue;
		class_rekey(s, e->owner);
		s->risen |= heap_key_before(old, e->key);
		changed = true;
	}
	if (!changed && s->plan_changes == plan_changes(plan))
		return;
	s->plan_changes = plan_changes(plan);
	all = planner_aheads(s);
	for (i = 0; i < plan_count(plan); i++)
		planner_wake_if_risen(s, plan_at(plan, i)->owner, &all);
	free(all.v);
}

void planner_ordered(struct sched *s)
{
	s->searches = 0;
	s->put_off = false;
	if (s->turn)
		wake(s, s->turn);
	s->move_work = MOVE_WORK;
	if (!s->early && !s->promoted)
		return;
	if (!s->move_pauses)
		s->compress = 0;
	s->early = s->move_pauses = false;
	s->compressing = true;
	s->replan = false;
	refill_begin(s);
}
