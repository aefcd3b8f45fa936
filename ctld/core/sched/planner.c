/* planner.c - planned starts and victims for the heads of blocked classes
 *
 * Which classes get an entry in the plan, what breaks an entry, and when an entry is moved up.
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
/* Work for moving entries up between two orderings, as plan_search() counts it. */
#define MOVE_WORK ((size_t)500000)

static struct plan_want want_of(struct sched *s, struct class *class, bool polite)
{
	struct class_link *l = class_link(class);
	const struct conf_partition *p = &s->scene.conf->partitions[l->partition];

	return (struct plan_want){ .ask = class_ask(class),
		.set = ledger_set_of(s->scene.ledger, l->partition),
		.partition = l->partition,
		.find = { .spread = p->place == CONF_PLACE_SPREAD },
		.length = class_length_us(class_info(class)->length_s, p),
		.key = l->key,
		.polite = polite };
}

/* --- entries --------------------------------------------------------------------------------- */

/* Record what the entry will take of the gates: jobs that leave room at a gate look there. */
static void note_need(struct sched *s, struct plan_entry *e)
{
	struct ask ask = class_ask(e->owner);

	e->path = class_link(e->owner)->path;
	decide_need_of(&s->scene, &ask, &e->places, &e->need);
}

static void wake_yielding(struct sched *s, const struct gate_path *path, const struct need *need)
{
	const uint32_t *gates;
	size_t n;

	if (!path)
		return;
	gates = gates_of(s->scene.gates, path, need, &n);
	wake_at_gates(s, gates, n, true);
}

/* Remove the entry. Other entries that break with it, here or before, break for the same cause. */
static void entry_gone(struct sched *s, struct class *class, const char *cause, uint64_t by)
{
	struct class_link *l = class_link(class);
	struct places places = l->entry->places;
	const struct gate_path *path = l->entry->path;
	struct need need = l->entry->need;
	size_t i;

	places.v = xmemdup(places.v, places.n * sizeof(*places.v));
	planner_end_move(s, class);
	plan_remove(s->scene.plan, l->entry);
	l->entry = NULL;
	wake_yielding(s, path, &need);
	for (i = 0; i < places.n; i++) {
		plan_node_changed(s->scene.plan, places.v[i].node);
		planner_recheck(s, places.v[i].node, cause, by);
		wake_fitting(s, places.v[i].node);
	}
	s->early = true;
	free(places.v);
}

void planner_drop(struct sched *s, struct class *class, uint64_t by)
{
	if (class_link(class)->entry)
		entry_gone(s, class, reason_word(REASON_PRIORITY), by);
}

/* What blocks a class that does not wait for capacity, in a word. */
static const char *closed_by(const struct decision *d)
{
	switch (d->verdict) {
	case VERDICT_GATE:
		return d->gate.reason;
	case VERDICT_STATE:
		return reason_word(REASON_PARTITION_DOWN);
	default:
		return "reconfigured";
	}
}

/* The entry gives up all but its first n places; the rest is free for others. */
static void shrink(struct sched *s, struct plan_entry *e, size_t n)
{
	struct places places = e->places;
	size_t i;

	places.v = xmemdup(places.v, places.n * sizeof(*places.v));
	wake_yielding(s, e->path, &e->need);
	plan_shrink(s->scene.plan, e, n);
	note_need(s, e);
	for (i = n; i < places.n; i++)
		sched_node_freed(s, places.v[i].node);
	free(places.v);
}

void planner_close(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	struct contender who = sched_contender(s, class);
	const char *cause;
	struct decision d;
	size_t n;

	if (!l->entry)
		return;
	if (!decide_wants_capacity(&l->last) && l->last.verdict != VERDICT_PLANNED) {
		cause = closed_by(&l->last);
	} else {
		n = decide_fits_first(&s->scene, &who, l->entry->places, &d);
		if (n && n < l->entry->places.n)
			shrink(s, l->entry, n);
		if (n)
			return;
		cause = d.gate.reason;
	}
	l->broken = cause;
	l->broken_by = 0;
	s->stats.broken++;
	entry_gone(s, class, l->broken, 0);
}

static void broke(struct sched *s, struct class *class, const char *cause, uint64_t by)
{
	struct class_link *l = class_link(class);

	l->broken = cause;
	l->broken_by = by;
	s->stats.broken++;
	entry_gone(s, class, cause, by);
}

void planner_recheck(struct sched *s, uint32_t node, const char *cause, uint64_t by)
{
	struct plan_entry *e;

	while ((e = plan_broken(s->scene.plan, node))) {
		struct class *class = e->owner;

		broke(s, class, cause, by);
		wake(s, class);
	}
}

/* Time has passed, or the order has changed: either may leave too little room for an entry
 * (plan.h). */
static void recheck_entry(struct sched *s, struct class *class, const struct plan_entry *e)
{
	size_t i;

	for (i = 0; class_link(class)->entry == e && i < e->places.n; i++) { /* it may go */
		uint32_t node = e->places.v[i].node;

		planner_recheck(s, node,
		        plan_is_late(s->scene.plan, node) ? "a run ended late"
		                                          : reason_word(REASON_PRIORITY),
		        0);
	}
}

void planner_late(struct sched *s, struct class *class)
{
	struct plan_entry *e = class_link(class)->entry;

	if (!e->claim)
		recheck_entry(s, class, e);
}

/* Is there room for one more entry, or is this class better than an owner of one? *out: the class
 * whose entry would have to go; NULL: none. */
static bool has_room(struct sched *s, struct class *class, struct class **out)
{
	struct class_link *l = class_link(class);
	uint32_t depth = s->scene.conf->partitions[l->partition].plan_depth;
	struct plan_entry *worst = NULL;
	size_t i;

	*out = NULL;
	if (plan_count_of(s->scene.plan, l->partition) < depth)
		return true;
	for (i = 0; i < plan_count(s->scene.plan); i++) {
		struct plan_entry *e = plan_at(s->scene.plan, i);

		if (e->partition == l->partition && !e->claim &&
		        (!worst || heap_key_before(worst->key, e->key)))
			worst = e;
	}
	if (!worst || !heap_key_before(l->key, worst->key))
		return false;
	*out = worst->owner;
	return true;
}

static void enter(struct sched *s, struct class *class, const struct plan_want *want,
        struct plan_entry *found)
{
	struct class_link *l = class_link(class);
	struct plan_entry *e = plan_add(s->scene.plan, class, want, found);
	size_t i;

	l->entry = e;
	note_need(s, e);
	if (!l->broken && l->planned && l->planned <= s->scene.now.mono) {
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
	/* The entry itself may be broken here, and its places freed. */
	for (i = 0; l->entry == e && i < e->places.n; i++)
		planner_recheck(s, e->places.v[i].node, reason_word(REASON_PRIORITY),
		        job_id(class_head(class)));
}

/* --- a search that goes on ------------------------------------------------------------------- */

struct class *planner_hunting(const struct sched *s)
{
	struct class *class = s->hunt.class;

	return class && class_link(class)->slot == HEAP_NOWHERE ? class : NULL;
}

static void end_kind(struct hunt *h, struct find *find)
{
	victims_free(h->victims);
	h->victims = NULL;
	h->unfit.n = find->n_unfit = 0;
}

static void end_hunt(struct sched *s)
{
	end_kind(&s->hunt, &s->hunt.find);
	decide_search_free(s->hunt.start);
	s->hunt = (struct hunt){ .class = NULL };
}

void planner_end_hunt(struct sched *s, const struct class *class)
{
	if (s->hunt.class == class)
		end_hunt(s);
	if (s->turn == class)
		s->turn = NULL;
}

/* If the search was for another class, that class is tried again and begins a new search in its
 * turn. */
static void begin_hunt(struct sched *s, struct class *class)
{
	struct class *other = planner_hunting(s);

	end_hunt(s);
	if (other && other != class)
		wake(s, other);
	s->hunt.class = class;
	s->hunt.retry = INT64_MAX;
}

/* --- a planned start ------------------------------------------------------------------------- */

enum plan_step planner_plan(struct sched *s, struct class *class)
{
	struct plan_want want = want_of(s, class, false);
	struct contender who = sched_contender(s, class);
	struct plan_entry found;
	struct class *worst;
	size_t work = s->search_step;
	enum plan_step step;

	if (class_link(class)->entry || !has_room(s, class, &worst)) {
		planner_end_hunt(s, class);
		return PLAN_NOWHERE;
	}
	if (s->hunt.class != class)
		begin_hunt(s, class);
	if (!s->hunt.start)
		s->hunt.start = decide_search_new();
	step = decide_search(s->hunt.start, &s->scene, &who, &want, &work, &found);
	if (step == PLAN_MORE)
		return step;
	end_hunt(s);
	if (step == PLAN_NOWHERE)
		return step;
	if (worst)
		broke(s, worst, reason_word(REASON_PRIORITY), job_id(class_head(class)));
	enter(s, class, &want, &found);
	return step;
}

bool planner_planning(const struct sched *s, const struct class *class)
{
	return s->hunt.class == class && s->hunt.start;
}

void planner_tell(struct sched *s, struct class *class, struct sched_pick *pick)
{
	struct class_link *l = class_link(class);

	(void)s;
	pick->job = heap_first(l->queue);
	pick->planned = l->entry ? l->entry->start : PLAN_FAR;
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
	size_t nodes = s->scene.conf->partitions[class_link_of(class)->partition].n_nodes;
	size_t may = nodes ? SEARCH_NODES / nodes : MAX_SEARCHES;

	may = may < MIN_SEARCHES ? MIN_SEARCHES : may;
	return s->searches >= may || s->searches >= MAX_SEARCHES;
}

bool planner_spent(struct sched *s, struct class *class, bool *again)
{
	bool enough = searched_enough(s, class);
	struct class *worst;

	*again = s->preempts;
	if (*again && !enough && s->patience <= s->scene.now.mono)
		return false;
	s->put_off |= *again && enough;
	return !has_room(s, class, &worst);
}

/* --- the class with the extra search --------------------------------------------------------- */

/* The best classes get the searches, and they may search again and again without success. So where
 * the searches do not suffice for all, one more goes to the account, and of its classes to the one,
 * that has had none for the longest time. */
static uint64_t *hunted_of(const struct sched *s, const struct class *class)
{
	uint32_t account = class_link_of(class)->account;

	return &s->hunted[account == CONF_NONE ? s->scene.conf->n_accounts : account];
}

static bool waits_longer(const struct sched *s, const struct class *x, const struct class *y)
{
	const struct class_link *a = class_link_of(x), *b = class_link_of(y);
	uint64_t of_a = *hunted_of(s, x), of_b = *hunted_of(s, y);

	if (of_a != of_b)
		return of_a < of_b;
	if (a->hunted != b->hunted)
		return a->hunted < b->hunted;
	return heap_key_before(a->key, b->key);
}

void planner_configure(struct sched *s)
{
	free(s->hunted);
	s->hunted = xcalloc(s->scene.conf->n_accounts + 1, sizeof(*s->hunted));
	s->turn = NULL;
}

void planner_ordering(struct sched *s)
{
	s->turn = NULL;
}

void planner_consider(struct sched *s, struct class *class)
{
	const struct class_link *l = class_link(class);

	if (!s->put_off || (l->entry && l->entry->claim) || l->last.yields ||
	        !decide_wants_capacity(&l->last))
		return;
	if (!s->turn || waits_longer(s, class, s->turn))
		s->turn = class;
}

static void had_turn(struct sched *s, struct class *class)
{
	class_link(class)->hunted = *hunted_of(s, class) = ++s->hunts;
	if (s->turn == class)
		s->turn = NULL;
}

/* GPUs that runs were stopped for count as held by the claimant: otherwise an account could reclaim
 * more than its guarantee by asking twice. */
static void count_claims(struct sched *s, bool count)
{
	size_t i;

	for (i = 0; s->quotas && i < plan_count(s->scene.plan); i++) {
		const struct plan_entry *e = plan_at(s->scene.plan, i);
		struct ask ask = class_ask(e->owner);
		struct need need;

		if (!e->claim)
			continue;
		decide_need_of(&s->scene, &ask, &e->places, &need);
		quota_coming(gates_quota(s->scene.gates), class_link_of(e->owner)->account,
		        need.type, need_milli(&need), count);
	}
}

/* Search for victims on nodes of one kind, until the gates allow the places. */
static enum victims_step find_victims(
        struct sched *s, const struct contender *who, struct plan_want *want, size_t *nodes)
{
	struct hunt *h = &s->hunt;
	const struct places *places = &s->victims.entry.places;
	enum victims_step step;
	struct decision d;

	do {
		if (!h->victims)
			h->victims = victims_new();
		preemption_clear(&s->victims);
		step = victims_step(h->victims, &s->scene, who, want, nodes, &s->victims);
		if (step == VICTIMS_MORE)
			return step;
		victims_free(h->victims);
		h->victims = NULL;
		h->retry = s->victims.retry < h->retry ? s->victims.retry : h->retry;
		if (step == VICTIMS_FOUND &&
		        decide_fits_gates(&s->scene, who, &s->victims.entry.places, &d))
			return step;
	} while (step == VICTIMS_FOUND &&
	         decide_unfit(&s->scene, who, &d.gate, places, &h->unfit, &want->find));
	end_kind(h, &want->find);
	return VICTIMS_NONE;
}

/* Search one kind of places after another, as far as one step allows. */
static enum victims_step hunt(
        struct sched *s, struct class *class, const struct contender *who, struct plan_want *want)
{
	struct hunt *h = &s->hunt;
	size_t nodes = s->search_step;
	enum victims_step step = VICTIMS_NONE;

	want->find = h->find;
	count_claims(s, true);
	while (step == VICTIMS_NONE &&
	        (h->victims || decide_next_open(&s->scene, who, &h->cursor, &want->find))) {
		/* What is free would suffice, but a limit of its own blocks the job: no run is
		 * stopped for that. */
		if (class_link(class)->last.capacity[want->find.alternative])
			step = find_victims(s, who, want, &nodes);
		else
			end_kind(h, &want->find);
	}
	count_claims(s, false);
	h->find = want->find;
	return step;
}

bool sched_would_stop(struct sched *s, const struct contender *who, const struct decision *d,
        struct preemption *out)
{
	const struct conf_partition *p = &s->scene.conf->partitions[who->partition];
	struct plan_want want = { .ask = who->ask,
		.set = ledger_set_of(s->scene.ledger, who->partition),
		.partition = who->partition,
		.find = { .spread = p->place == CONF_PLACE_SPREAD },
		.length = who->length,
		.key = who->key };
	enum victims_step step = VICTIMS_NONE;
	size_t nodes = SEARCH_ASKED;
	uint32_t cursor = 0;
	struct decision fits;

	if (!s->preempts || d->yields || s->patience > s->scene.now.mono)
		return false;
	count_claims(s, true);
	while (step == VICTIMS_NONE && decide_next_open(&s->scene, who, &cursor, &want.find)) {
		struct victims *v;

		if (!d->capacity[want.find.alternative])
			continue;
		v = victims_new();
		preemption_clear(out);
		step = victims_step(v, &s->scene, who, &want, &nodes, out);
		victims_free(v);
		if (step == VICTIMS_FOUND &&
		        !decide_fits_gates(&s->scene, who, &out->entry.places, &fits))
			step = VICTIMS_NONE;
	}
	count_claims(s, false);
	return step == VICTIMS_FOUND;
}

/* Its planned start comes before any victim could have ended. */
static bool starts_soon(const struct sched *s, const struct plan_entry *e)
{
	usec_t now = s->scene.now.mono;

	return e->start > now && e->start <= now + preempt_delay(s->scene.conf);
}

/* May runs be stopped for the class now? If not, *retry says when to try it again (mono);
 * INT64_MAX: when something changes. */
static bool may_hunt(struct sched *s, struct class *class, usec_t *retry)
{
	struct class_link *l = class_link(class);
	usec_t now = s->scene.now.mono;

	*retry = INT64_MAX;
	if ((l->entry && l->entry->claim) || !s->preempts)
		return false;
	if (l->entry && starts_soon(s, l->entry)) {
		*retry = l->entry->start + ORDER_EVERY;
	} else if (s->patience > now) {
		*retry = now + ORDER_EVERY;
	} else if (s->hunt.class != class && s->turn != class && searched_enough(s, class)) {
		*retry = s->ordered + ORDER_EVERY;
		s->put_off = true;
	}
	return *retry == INT64_MAX;
}

bool planner_preempt(struct sched *s, struct class *class, struct sched_pick *pick)
{
	struct contender who = sched_contender(s, class);
	struct plan_want want = want_of(s, class, false);
	enum victims_step step;
	usec_t retry;

	if (!may_hunt(s, class, &retry)) {
		planner_end_hunt(s, class);
		planner_retry_at(s, class, retry);
		return false;
	}
	if (s->hunt.class != class) {
		begin_hunt(s, class);
		s->hunt.find = want.find;
		s->searches += s->turn != class;
	}
	pick->searched = true;
	step = hunt(s, class, &who, &want);
	planner_retry_at(s, class, step == VICTIMS_NONE ? s->hunt.retry : INT64_MAX);
	if (step == VICTIMS_MORE)
		return false;
	had_turn(s, class);
	end_hunt(s);
	if (step == VICTIMS_NONE)
		return false;
	planner_drop(s, class, job_id(class_head(class)));
	planner_tell(s, class, pick);
	pick->victims = s->victims.victims;
	pick->n_victims = s->victims.n;
	pick->planned = s->victims.entry.start;
	return true;
}

void planner_claim(struct sched *s, struct class *class)
{
	struct plan_want want = want_of(s, class, false);
	const struct plan_entry *e;

	want.find.alternative = s->victims.entry.places.alternative;
	want.find.type = s->victims.entry.places.type;
	enter(s, class, &want, &s->victims.entry);
	/* The victims may hold more of the guarantees than the claim will take. */
	e = class_link(class)->entry;
	if (e)
		wake_yielding(s, e->path, &e->need);
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
        struct plan_entry *found)
{
	struct class_link *l = class_link(class);
	struct plan_entry *e = l->entry;
	struct places old = e->places;
	uint32_t rank = e->rank;
	size_t i;

	old.v = xmemdup(old.v, old.n * sizeof(*old.v));
	wake_yielding(s, e->path, &e->need);
	plan_remove(s->scene.plan, e);
	l->entry = NULL;
	enter(s, class, want, found);
	if (l->entry)
		plan_rank(s->scene.plan, l->entry, rank);
	s->stats.moved_up++;
	for (i = 0; i < old.n; i++)
		sched_node_freed(s, old.v[i].node);
	free(old.v);
}

/* Search for an earlier start. The entry of the class does not count against it, and is replaced
 * only if there is an earlier one. */
static enum plan_step move_up(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	struct plan_want want = want_of(s, class, !l->entry->rose);
	struct contender who = sched_contender(s, class);
	struct plan_entry found;
	size_t work = s->search_step < s->move_work ? s->search_step : s->move_work, left = work;
	enum plan_step step;

	want.before = l->entry->start - WORTH_MOVING + 1;
	if (!s->move.class)
		s->move = (struct move){ class, decide_search_new() };
	step = decide_search(s->move.search, &s->scene, &who, &want, &left, &found);
	s->move_work -= work - left;
	if (step == PLAN_MORE)
		return step;
	planner_end_move(s, class);
	if (step == PLAN_FOUND) {
		replace(s, class, &want, &found);
	} else {
		l->entry->rose = false;
		note_need(s, l->entry);
	}
	return step;
}

bool planner_compress(struct sched *s, struct class **moved, struct sched_pick *pick)
{
	struct class *class = s->move.class;
	struct plan_entry *e;
	uint64_t changes;
	enum plan_step step;

	*moved = NULL;
	e = class ? class_link(class)->entry : plan_by_rank(s->scene.plan, s->compress);
	if (!e)
		return false;
	if (!s->move_work) { /* the next ordering continues here */
		s->early = s->move_pauses = true;
		return false;
	}
	changes = plan_changes(s->scene.plan);
	recheck_entry(s, e->owner, e);
		/* A class that has lost its start here is tried before this entry moves into the
		 * place. That gives the same result as a search in steps, because woken classes are
		 * tried between two of its steps. */
	if (plan_changes(s->scene.plan) != changes)
		return true;
	if (!class)
		s->compress = e->rank + 1;
	class = e->owner;
	if (class_link(class)->entry != e || e->claim ||
	        e->start <= s->scene.now.mono + WORTH_MOVING) {
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

static uint64_t owner_hash(const struct plan_entry *e)
{
	return hash_u64(job_id(class_head(e->owner)), 1);
}

struct aheads planner_aheads(const struct sched *s)
{
	size_t n = plan_count(s->scene.plan), i;
	struct aheads all = { .v = xcalloc(n ? n : 1, sizeof(*all.v)) };
	uint64_t sum = 0;

	for (i = 0; i < n; i++) {
		const struct plan_entry *e = plan_at(s->scene.plan, i);

		if (e->claim)
			all.claims += owner_hash(e);
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
	return all->claims + (low ? all->v[low - 1].before + all->v[low - 1].own : 0);
}

uint64_t planner_ahead(const struct sched *s, struct heap_key key)
{
	const struct plan *plan = s->scene.plan;
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < plan_count(plan); i++) {
		const struct plan_entry *e = plan_at(plan, i);

		if (e->claim || heap_key_before(e->key, key))
			sum += owner_hash(e);
	}
	return sum;
}

void planner_wake_if_risen(struct sched *s, struct class *class, const struct aheads *all)
{
	const struct class_link *l = class_link(class);

	if (l->slot != HEAP_NOWHERE || !l->last.planned || l->ahead == ahead_of(all, l->key))
		return;
	/* Members of a crowd that nodes refused are tried in the order of the crowd, until one is
	 * refused for all. */
	if (l->entry || l->last.yields || !park_note_behind(s, class))
		wake(s, class);
}

void planner_rekeyed(struct sched *s)
{
	const struct plan *plan = s->scene.plan;
	bool changed = false;
	struct aheads all;
	size_t i;

	s->work += plan_count(plan);
	for (i = 0; i < plan_count(plan); i++) {
		struct plan_entry *e = plan_at(plan, i);
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
	if (!s->early && !s->rose)
		return;
	if (!s->move_pauses)
		s->compress = 0;
	s->early = s->move_pauses = false;
	s->compressing = true;
	s->replan = false;
	refill_begin(s);
}
