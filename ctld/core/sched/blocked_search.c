/* blocked_search.c - the search for victims and a planned start, for one class at a time
 *
 * Each is a search of several steps, between which anything may happen:
 *
 *	none -> victims    a class that waits for capacity was refused; runs may be stopped
 *	victims -> start   there are none, and the class is among the best of its partition
 *	victims -> none    victims were found; the class has gone or waits for something else
 *	start -> none      it was found or there is none; the class has gone
 *	any -> victims     of another class: it took over, and the first class is tried again
 *
 * While it goes on the class is blocked and keeps its turn; if it is woken it is tried again, and
 * the search goes on if it is refused again.
 *
 * Between two orderings there are a bounded number of searches for victims, each of which looks at
 * the runs on all nodes of a partition. The best classes have them; where they do not suffice, one
 * more goes to the account that has had none for the longest time.
 */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/job/reason.h"
#include "ctld/core/sched/sched_impl.h"

/* Searches for victims between two orderings. */
#define MAX_SEARCHES 32
#define MIN_SEARCHES 4
#define SEARCH_NODES 40000 /* in all searches together, unless that is fewer than MIN_SEARCHES */

/* --- a search that goes on ------------------------------------------------------------------- */

struct class *search_class(const struct sched *s)
{
	struct class *class = s->search.class;

	return class && !class_ready(class) ? class : NULL;
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

void search_end(struct sched *s, const struct class *class)
{
	if (s->search.class == class)
		end_search(s);
	if (s->turns.turn == class)
		s->turns.turn = NULL;
}

/* If the search was for another class, that class is tried again and begins a new search in its
 * turn. */
static void begin_search(struct sched *s, struct class *class)
{
	struct class *other = search_class(s);

	end_search(s);
	if (other && other != class)
		wake(s, other);
	s->search.class = class;
	s->search.retry = INT64_MAX;
}

/* --- after a refusal ------------------------------------------------------------------------- */

/* The class of the first job of `class` in its k-th partition, if the job is the first there too,
 * and that is not `class` itself. False: there are no more. */
static bool other_class(const struct class *class, uint32_t k, struct class **other)
{
	const struct job *head = class_head(class);
	const struct queued *q = job_link_of(head)->n_others ? job_queued(head, k) : NULL;

	*other = q && q->class != class && class_head_queued(q->class) == q ? q->class : NULL;
	return q;
}

/* The class was refused. No run is stopped for its first job, and no start is planned, before that
 * was refused in all of its partitions: it may start at once in another one. Then the searches are
 * made in the order of the classes. True: the class is put off until its turn. */
bool search_put_off(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	struct class *other;
	bool yields = false;

	l->put_off = false;
	for (uint32_t k = 0; other_class(class, k, &other); k++)
		l->put_off |= other && class_ready(other) && !class_link(other)->put_off;
	for (uint32_t k = 0; !l->put_off && other_class(class, k, &other); k++) {
		if (!other || !class_link(other)->put_off)
			continue;
		wake(s, other);
		class_link(other)->put_off = true;
		yields |= heap_key_before(class_link(other)->key, l->key);
	}
	l->put_off |= yields;
	if (!l->put_off)
		return false;
	search_end(s, class);
	planner_retry_at(s, class, s->view.now.mono + ORDER_EVERY);
	return true;
}

/* --- a planned start ------------------------------------------------------------------------- */

/* A planned start stays while one of its job's classes with a worse key looks for a sooner one.
 * What it gave up could go to a job between the two keys, which would then push the sooner one
 * aside, and so on for ever. */
static bool stays(const struct reservation *e, const struct class *class)
{
	return e->preempts || heap_key_before(e->key, class_link_of(class)->key);
}

enum plan_step search_start(struct sched *s, struct class *class)
{
	struct candidate who = sched_candidate(s, class);
	struct plan_want want = planner_want(s, &who);
	struct reservation found, *elsewhere = class_elsewhere(class);
	struct class *worst;
	size_t work = s->search_step;
	enum plan_step step;

	if (elsewhere)
		want.before = elsewhere->start - WORTH_MOVING + 1;
	if (class_link(class)->reservation || !planner_has_room(s, class, &worst) ||
	        (elsewhere && (want.before <= s->view.now.mono || stays(elsewhere, class)))) {
		search_end(s, class);
		return PLAN_NOWHERE;
	}
	if (s->search.class != class)
		begin_search(s, class);
	if (!s->search.start)
		s->search.start = decide_search_new();
	class_set_aside(class, true);
	step = decide_search(s->search.start, &s->view, &who, &want, &work, &found);
	class_set_aside(class, false);
	if (step == PLAN_MORE)
		return step;
	end_search(s);
	if (step == PLAN_NOWHERE)
		return step;
	if (worst)
		planner_break(s, worst, reason_word(REASON_PRIORITY), job_id(class_head(class)));
	if ((elsewhere = class_elsewhere(class)))
		planner_break(s, elsewhere->owner, PLANNED_ELSEWHERE, 0);
	planner_enter(s, class, &want, &found);
	return step;
}

bool search_planning(const struct sched *s, const struct class *class)
{
	return s->search.class == class && s->search.start;
}

/* The number of searches between two orderings, fewer where a partition has many nodes, because
 * each looks at all of them. */
static bool searched_enough(const struct sched *s, const struct class *class)
{
	size_t nodes = s->view.conf->partitions[class_link_of(class)->partition].n_nodes;
	size_t may = nodes ? SEARCH_NODES / nodes : MAX_SEARCHES;

	may = may < MIN_SEARCHES ? MIN_SEARCHES : may;
	return s->turns.searches >= may || s->turns.searches >= MAX_SEARCHES;
}

bool search_spent(struct sched *s, struct class *class, bool *again)
{
	bool enough = searched_enough(s, class);
	struct class *worst;

	*again = s->preempts;
	if (*again && !enough && s->patience <= s->view.now.mono)
		return false;
	s->turns.put_off |= *again && enough;
	return !planner_has_room(s, class, &worst);
}

/* --- the class with the extra search --------------------------------------------------------- */

/* The best classes get the searches, and they may search again and again without success. So where
 * the searches do not suffice for all, one more goes to the account, and of its classes to the one,
 * that has had none for the longest time. */
static uint64_t *last_searched_of(const struct sched *s, const struct class *class)
{
	uint32_t account = class_link_of(class)->account;

	return &s->turns.by_account[account == CONF_NONE ? s->view.conf->n_accounts : account];
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

void search_configure(struct sched *s)
{
	free(s->turns.by_account);
	s->turns.by_account = xcalloc(s->view.conf->n_accounts + 1, sizeof(*s->turns.by_account));
	s->turns.turn = NULL;
}

void search_ordering(struct sched *s)
{
	s->turns.turn = NULL;
}

void search_ordered(struct sched *s)
{
	s->turns.searches = 0;
	s->turns.put_off = false;
	if (s->turns.turn)
		wake(s, s->turns.turn);
}

void search_consider(struct sched *s, struct class *class)
{
	const struct class_link *l = class_link(class);

	if (!s->turns.put_off || (l->reservation && l->reservation->preempts) || l->last.yields ||
	        !decide_wants_capacity(&l->last))
		return;
	if (!s->turns.turn || waits_longer(s, class, s->turns.turn))
		s->turns.turn = class;
}

/* Counts the search as the latest of its class and of its account. */
static void had_turn(struct sched *s, struct class *class)
{
	class_link(class)->last_searched = *last_searched_of(s, class) = ++s->turns.last;
	if (s->turns.turn == class)
		s->turns.turn = NULL;
}

/* GPUs that runs were stopped for count as held by the preemptor: otherwise an account could
 * reclaim more than its guarantee by asking twice. */
static void count_preemptions(struct sched *s, bool count)
{
	for (size_t i = 0; s->quotas && i < plan_count(s->view.plan); i++) {
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
static enum victims_step find_victims(struct sched *s, struct preemption_search *ps,
        const struct candidate *who, struct plan_want *want, size_t *nodes, struct preemption *out)
{
	const struct places *places = &out->reservation.places;
	enum victims_step step;
	struct decision d;

	do {
		if (!ps->victims)
			ps->victims = victims_new();
		preemption_clear(out);
		step = victims_step(ps->victims, &s->view, who, want, nodes, out);
		if (step == VICTIMS_MORE)
			return step;
		victims_free(ps->victims);
		ps->victims = NULL;
		ps->retry = out->retry < ps->retry ? out->retry : ps->retry;
		if (step == VICTIMS_FOUND &&
		        nodes_within_limits(&s->view, who, &out->reservation.places, &d))
			return step;
	} while (step == VICTIMS_FOUND &&
	         nodes_exclude_unfit(&s->view, who, &d.limit, places, &ps->unfit, &want->find));
	end_kind(ps, &want->find);
	return VICTIMS_NONE;
}

/* Search one kind of places after another, as far as `nodes` allows. `d`: what refused the job. */
static enum victims_step search_kinds(struct sched *s, struct preemption_search *ps,
        const struct candidate *who, const struct decision *d, struct plan_want *want, size_t nodes,
        struct preemption *out)
{
	enum victims_step step = VICTIMS_NONE;

	want->find = ps->find;
	count_preemptions(s, true);
	while (step == VICTIMS_NONE &&
	        (ps->victims || decide_next_open(&s->view, who, &ps->cursor, &want->find))) {
		/* What is free would suffice, but a limit of its own blocks the job: no run is
		 * stopped for that. */
		if (d->capacity[want->find.alternative])
			step = find_victims(s, ps, who, want, &nodes, out);
		else
			end_kind(ps, &want->find);
	}
	count_preemptions(s, false);
	ps->find = want->find;
	return step;
}

bool sched_would_stop(struct sched *s, const struct candidate *who, const struct decision *d,
        struct preemption *out)
{
	struct plan_want want = planner_want(s, who);
	struct preemption_search ps = { .find = want.find, .retry = INT64_MAX };
	enum victims_step step;

	if (!s->preempts || d->yields || s->patience > s->view.now.mono)
		return false;
	step = search_kinds(s, &ps, who, d, &want, SEARCH_ASKED, out);
	victims_free(ps.victims);
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
	const struct reservation *own = class_link(class)->reservation;
	usec_t now = s->view.now.mono;

	*retry = INT64_MAX;
	if ((own && own->preempts) || !s->preempts)
		return false;
	own = own ? own : class_elsewhere(class);
	if (own && own->preempts) {
		*retry = now + ORDER_EVERY;
	} else if (own && starts_soon(s, own)) {
		*retry = own->start + ORDER_EVERY;
	} else if (s->patience > now) {
		*retry = now + ORDER_EVERY;
	} else if (s->search.class != class && s->turns.turn != class &&
	           searched_enough(s, class)) {
		*retry = s->ordered + ORDER_EVERY;
		s->turns.put_off = true;
	}
	return *retry == INT64_MAX;
}

/* Victims replace a planned start: the class gives that up, and the caller reserves what the
 * victims will free (planner_reserve_preemption()). */
bool search_victims(struct sched *s, struct class *class, struct sched_pick *pick)
{
	struct candidate who = sched_candidate(s, class);
	struct plan_want want = planner_want(s, &who);
	struct reservation *elsewhere;
	enum victims_step step;
	usec_t retry;

	if (!may_search(s, class, &retry)) {
		search_end(s, class);
		planner_retry_at(s, class, retry);
		return false;
	}
	if (s->search.class != class) {
		begin_search(s, class);
		s->search.find = want.find;
		s->turns.searches += s->turns.turn != class;
	}
	pick->searched = true;
	class_set_aside(class, true);
	step = search_kinds(
	        s, &s->search, &who, &class_link(class)->last, &want, s->search_step, &s->victims);
	class_set_aside(class, false);
	planner_retry_at(s, class, step == VICTIMS_NONE ? s->search.retry : INT64_MAX);
	if (step == VICTIMS_MORE)
		return false;
	had_turn(s, class);
	end_search(s);
	if (step == VICTIMS_NONE)
		return false;
	planner_drop(s, class, job_id(class_head(class)));
	elsewhere = class_elsewhere(class);
	if (elsewhere && !stays(elsewhere, class))
		planner_break(s, elsewhere->owner, PLANNED_ELSEWHERE, 0);
	planner_tell(class, pick);
	pick->victims = s->victims.victims;
	pick->n_victims = s->victims.n;
	pick->planned = s->victims.reservation.start;
	return true;
}
