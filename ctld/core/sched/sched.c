/* sched.c - see sched.h
 *
 * One step does the first of these that is due: a part of a sweep; keys after a change of use; the
 * best turn; a part of the search; after the pass, a part of moving planned starts up. So whatever
 * is decided is decided with all keys of one ordering.
 *
 * Invariant (sched_check()): no blocked class could start.
 *
 * What is kept right between two steps: a class is in the table of classes exactly while it has
 * jobs; it is ready or blocked, never both (class_ready()); a reservation of the plan and its class
 * point to each other. All numbers of a class (partition, account, limits, groups) are of one
 * configuration: sched_configure() takes each class out of everything with the old ones, and puts
 * it in again with the new ones.
 *
 * A refusal leads to at most one search (blocked_search.c), which takes several steps. While it
 * goes on, better classes have their turn first; the class that is searched for has its own by the
 * same key.
 */
#include "ctld/core/sched/sched.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/job/reason.h"
#include "ctld/core/records/job_partitions.h"
#include "ctld/core/sched/sched_impl.h"

#define USEC_PER_S 1000000
#define LOOK_AGAIN ((usec_t)5 * USEC_PER_S) /* at a late start; then at twice its delay */
#define TURNS_STEP 256                      /* turns that one step looks at */

struct sched *sched_new(struct strings *strings, struct requests *requests,
        struct accounts *accounts, uint64_t seed, const struct plan_runs *runs)
{
	struct sched *s = xcalloc(1, sizeof(*s));
	const struct wait_words words = { key_word, key_version, s, &s->work };

	s->strings = strings;
	s->accounts = accounts;
	s->runs = *runs;
	s->classes = classes_new(strings, requests, seed);
	s->wait_groups = wait_groups_new(seed, &words);
	blocked_new(s);
	s->sweep = SWEEP_NONE;
	s->retry = INT64_MAX;
	s->search_step = SEARCH_STEP;
	s->ordered = s->replanned = INT64_MIN / 2;
	return s;
}

/* --- names ----------------------------------------------------------------------------------- */

uint32_t sched_partition_kept(const struct sched *s, const char *kept)
{
	return names_find(&s->partitions, kept);
}

uint32_t sched_account_kept(const struct sched *s, const char *kept)
{
	return names_find(&s->account_names, kept);
}

uint32_t sched_qos_kept(const struct sched *s, const char *kept)
{
	return names_find(&s->qos_names, kept);
}

static uint32_t find_text(const struct sched *s, const struct names *names, const char *name)
{
	const char *kept = name ? strings_peek(s->strings, name) : NULL;

	return kept ? names_find(names, kept) : CONF_NONE;
}

uint32_t sched_partition(const struct sched *s, const char *name)
{
	return find_text(s, &s->partitions, name);
}

uint32_t sched_account(const struct sched *s, const char *name)
{
	return find_text(s, &s->account_names, name);
}

uint32_t sched_qos(const struct sched *s, const char *name)
{
	return find_text(s, &s->qos_names, name);
}

/* Jobs name partitions, accounts and QOS by kept texts: their numbers are found by pointer. */
static void learn_names(struct sched *s, const struct conf *conf)
{
	names_drop(&s->partitions, s->strings);
	names_drop(&s->account_names, s->strings);
	names_drop(&s->qos_names, s->strings);
	for (size_t i = 0; i < conf->n_partitions; i++)
		names_add(&s->partitions, s->strings, conf->partitions[i].name);
	for (size_t i = 0; i < conf->n_accounts; i++)
		names_add(&s->account_names, s->strings, conf->accounts[i].name);
	for (size_t i = 0; i < conf->n_qos; i++)
		names_add(&s->qos_names, s->strings, conf->qos[i].name);
	names_sort(&s->partitions);
	names_sort(&s->account_names);
	names_sort(&s->qos_names);
}

/* Take the class out of all that has it but the plan, while its numbers are still valid. */
static void class_leave(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);

	unblock_class(s, class);
	if (class_ready(class))
		wait_exit(s->wait_groups, &l->ready);
	search_end(s, class);
	refill_forget(s, class);
	wait_leave(s->wait_groups, class);
	limit_chain_free(s->view.limits, l->chain);
	l->chain = NULL;
	assoc_drop(s->accounts, l->assoc);
	l->assoc = NULL;
}

void sched_free(struct sched *s)
{
	size_t cursor = 0;
	struct class *class;

	if (!s)
		return;
	while ((class = classes_each(s->classes, &cursor))) {
		planner_end_move(s, class);
		class_leave(s, class);
	}
	sweeps_configure(s);
	ahead_free(s);
	free(s->turns.by_account);
	plan_free(s->view.plan);
	wait_groups_free(s->wait_groups);
	classes_free(s->classes);
	names_drop(&s->partitions, s->strings);
	names_drop(&s->account_names, s->strings);
	names_drop(&s->qos_names, s->strings);
	blocked_free(s);
	places_free(&s->places);
	preemption_clear(&s->victims);
	free(s);
}

void sched_patience(struct sched *s, usec_t until)
{
	s->patience = until;
}

void sched_now(struct sched *s, struct clocks now)
{
	s->view.now = now;
	if (s->view.plan)
		plan_now(s->view.plan, now.mono);
}

/* --- configurations -------------------------------------------------------------------------- */

/* What keys and searches need of the whole cluster: its size, and whether there are quotas and
 * preemption at all. */
static void measure(struct sched *s, const struct conf *conf)
{
	size_t i, g;

	s->cluster_gpus = s->cluster_cpus = 0;
	for (i = 0; i < conf->n_nodes; i++) {
		s->cluster_cpus += ledger_cpus(s->view.ledger, (uint32_t)i);
		for (g = 0; g < conf->nodes[i].n_gpus; g++)
			s->cluster_gpus += conf->nodes[i].gpus[g].count;
	}
	for (i = 0, s->quotas = false; i < conf->n_accounts; i++)
		s->quotas |= conf->accounts[i].quota.given;
	for (i = 0, s->preempts = false; i < conf->n_partitions; i++)
		s->preempts |= conf->partitions[i].preempt_mode != CONF_PREEMPT_OFF;
}

uint32_t sched_user(
        const struct sched *s, uint32_t partition, const struct request *gpus, uint32_t uid)
{
	const struct ledger *ledger = s->view.ledger;

	if (partition == CONF_NONE)
		return 0;
	return ledger_user(ledger, ledger_set_of(ledger, partition), gpus, uid);
}

/* The numbers of the class in this configuration, its limit chain, and its places in groups. It is
 * blocked in none and not ready yet. */
static void class_resolve(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	const struct class_info *i = class_info(class);

	l->partition = sched_partition_kept(s, i->partition);
	l->account = sched_account_kept(s, i->account);
	l->qos = sched_qos_kept(s, i->qos);
	l->user = sched_user(s, l->partition, i->gpus, i->uid);
	l->chain = limits_chain(s->view.limits, l->account, i->uid, l->qos, l->partition);
	l->assoc =
	        accounts_want(s->accounts, i->account, i->uid, job_info(class_head(class))->user);
	wait_join(s->wait_groups, class, sched_tier(s, l->partition),
	        s->quotas ? l->account : CONF_NONE, l->partition != CONF_NONE);
}

/* The opposite, for all that has numbers of the old configuration. A planned start is lost with
 * that. */
static void class_unresolve(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);

	class_leave(s, class);
	if (l->reservation) {
		l->broken = "reconfigured";
		l->broken_by = 0;
		s->stats.broken++;
		planner_end_move(s, class);
		plan_remove(s->view.plan, l->reservation);
		l->reservation = NULL;
	}
	free(l->text);
	l->text = NULL;
	l->last.verdict = VERDICT_NONE;
}

void sched_configure(struct sched *s, const struct conf *conf, struct ledger *ledger,
        struct limits *limits, const struct partitions *partitions)
{
	size_t cursor = 0;
	struct class *class;

	while ((class = classes_each(s->classes, &cursor)))
		class_unresolve(s, class);
	sweeps_configure(s);
	plan_free(s->view.plan);
	ahead_free(s);
	learn_names(s, conf);
	s->view.conf = conf;
	s->view.ledger = ledger;
	s->view.limits = limits;
	s->view.partitions = partitions;
	s->view.plan = plan_new(conf, ledger, &s->runs);
	plan_now(s->view.plan, s->view.now.mono);
	blocked_configure(s);
	search_configure(s);
	measure(s, conf);
	for (cursor = 0; (class = classes_each(s->classes, &cursor));) {
		class_resolve(s, class);
		wake(s, class);
	}
	s->disordered = true;
}

/* --- jobs ------------------------------------------------------------------------------------ */

/* The class has taken over the planned start of another job, and its new head has one elsewhere:
 * one goes, for which no run was told to end. */
static void plan_once(struct sched *s, struct class *class)
{
	struct reservation *own = class_link(class)->reservation, *other = class_elsewhere(class);

	if (own && other)
		planner_break(s, own->preempts ? other->owner : class, PLANNED_ELSEWHERE, 0);
}

/* A job that does not become the head wakes nothing: if the head cannot start, it cannot either. */
static void enter(struct sched *s, struct queued *q, uint32_t k)
{
	struct job *job = q->job;
	struct class *class = classes_want(s->classes, job_info(job), k);
	struct class_link *l = class_link(class);
	bool empty = !heap_count(l->queue), head;

	assert(!q->class);
	q->class = class;
	heap_put(l->queue, class_queue_key(job), q);
	q->counted = job_weight(job);
	l->tasks += q->counted;
	head = class_head_queued(class) == q;
	if (empty) {
		class_resolve(s, class);
		wake(s, class);
	} else if (head) {
		/* The start was planned for the job that is now behind this one, and serves this
		 * one too. */
		l->planned = 0;
		wake(s, class); /* it may come before what blocked the class */
		class_rekey(s, class);
		plan_once(s, class);
	}
}

void sched_add(struct sched *s, struct job *job)
{
	struct job_link *l = job_link(job);
	uint32_t n = job_choices(job_info(job)), k;

	if (n > 1) {
		l->n_others = n - 1;
		l->others = xcalloc(l->n_others, sizeof(*l->others));
	}
	enter(s, &l->queued, 0);
	for (k = 1; k < n; k++) {
		l->others[k - 1].job = job;
		enter(s, &l->others[k - 1], k);
	}
	s->disordered = true;
}

/* The first job of the class is no longer in it or has changed. */
static void next_head(struct sched *s, struct class *class, uint64_t by)
{
	struct class_link *l = class_link(class);

	planner_drop(s, class, by);
	l->broken = l->cause = NULL;
	l->planned = 0;
	/* The place of the last head may do for the next one: it is tried. */
	wake(s, class);
	class_rekey(s, class);
}

static void leave(struct sched *s, struct queued *q)
{
	struct class *class = q->class;
	struct class_link *l = class_link(class);
	bool head = class_head_queued(class) == q;

	heap_remove(l->queue, q->slot);
	q->class = NULL;
	l->tasks -= q->counted;
	if (!heap_count(l->queue)) {
		unblock_class(s, class); /* without a head it cannot be woken */
		planner_drop(s, class, job_id(q->job));
		class_leave(s, class);
		classes_remove(s->classes, class);
	} else if (head) {
		next_head(s, class, job_id(q->job));
	}
}

void sched_remove(struct sched *s, struct job *job)
{
	struct job_link *l = job_link(job);

	while (l->n_others)
		leave(s, &l->others[--l->n_others]);
	free(l->others);
	l->others = NULL;
	leave(s, &l->queued);
}

/* The first task of the record may be another one now, and with it the place in the queue. If the
 * record is the head, the task that was tried last has gone. */
static void shrunk(struct sched *s, struct queued *q)
{
	struct class *class = q->class;
	struct class_link *l = class_link(class);
	bool head = class_head_queued(class) == q;
	uint32_t weight = job_weight(q->job);

	l->tasks -= q->counted - weight;
	q->counted = weight;
	heap_rekey(l->queue, q->slot, class_queue_key(q->job));
	if (head)
		next_head(s, class, job_id(q->job));
}

void sched_shrunk(struct sched *s, struct job *job)
{
	struct queued *q;

	for (uint32_t k = 0; (q = job_queued(job, k)); k++)
		shrunk(s, q);
}

/* Only a node with reservations concerns a class here: one without has nothing that could break,
 * and what gets free there is told by sched_node_freed(). */
static void node_changed(struct sched *s, uint32_t node, const char *cause, uint64_t by)
{
	plan_node_changed(s->view.plan, node);
	if (!plan_first(s->view.plan, node))
		return;
	wake_beside_claims(s, node);
	planner_recheck(s, node, cause, by);
	/* What ends earlier than expected leaves room beside what is planned. */
	wake_fitting(s, node);
}

void sched_node_changed(struct sched *s, uint32_t node, const char *cause)
{
	node_changed(s, node, cause, 0);
}

void sched_node_taken(struct sched *s, uint32_t node, uint64_t by)
{
	node_changed(s, node, reason_word(REASON_PRIORITY), by);
}

/* --- deciding -------------------------------------------------------------------------------- */

/* When a planned start has come, the class is tried again: a job whose own start has come no longer
 * leaves room at a limit to others; and if what it waits for is late, it gets a later start. */
static void look_at_start(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	usec_t start = l->reservation->start, late = s->view.now.mono - start;

	if (late >= 0 && l->last.verdict == VERDICT_CAPACITY) {
		start += late < LOOK_AGAIN ? LOOK_AGAIN : 2 * late;
		planner_late(s, class);
	}
	if (l->reservation && start < l->retry && start < PLAN_FAR)
		planner_retry_at(s, class, start);
}

/* If possible, suppress the groups of the class: the members after it need not be tried. */
static void suppress(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	bool again;

	if ((!s->preempts && !blocked_marked(class)) || !decide_wants_capacity(&l->last) ||
	        !search_spent(s, class, &again))
		return;
	if (blocked_suppress(s, class, again) && again)
		l->retry = INT64_MAX; /* the groups are tried again at that time */
}

/* The class cannot start now: search for victims, or else for a planned start. Each is a search of
 * several steps. */
static enum sched_step refused(struct sched *s, struct class *class, struct sched_pick *pick)
{
	struct class_link *l = class_link(class);
	enum sched_step step = SCHED_BLOCKED;
	bool wants = decide_wants_capacity(&l->last);

	if (!search_planning(s, class)) {
		l->retry = INT64_MAX;
		if (!wants || l->last.yields)
			search_end(s, class);
		else if (search_victims(s, class, pick))
			step = SCHED_PREEMPT;
		if (search_class(s) == class)
			return SCHED_BLOCKED; /* the search goes on in the next step */
	}
	if (wants && step == SCHED_BLOCKED) {
		enum plan_step planned = search_start(s, class);

		pick->searched |= planned == PLAN_MORE;
		if (planned == PLAN_MORE)
			return SCHED_BLOCKED;
		step = planned == PLAN_FOUND ? SCHED_PLANNED : SCHED_BLOCKED;
	} else {
		search_end(s, class);
	}
	if (l->reservation)
		look_at_start(s, class);
	if (step == SCHED_BLOCKED && !l->reservation)
		suppress(s, class);
	if (step == SCHED_PLANNED)
		planner_tell(class, pick);
	return step;
}

/* The class was ready and has the best turn. It leaves the ready classes only if it is refused:
 * after a start the caller takes the job out (sched_remove()), and the next head is tried. */
static enum sched_step try_class(struct sched *s, struct class *class, struct sched_pick *pick)
{
	struct class_link *l = class_link(class);

	s->stats.tried++;
	if (sched_decide(s, class, &s->places, &l->last) == VERDICT_START) {
		search_end(s, class);
		pick->job = class_head(class);
		pick->choice = sched_choice(class);
		pick->places = &s->places;
		pick->need = l->last.need;
		s->usage_changed = s->quotas;
		return SCHED_PICKED;
	}
	wait_exit(s->wait_groups, &l->ready);
	block_class(s, class);
	planner_close(s, class);
	return search_put_off(s, class) ? SCHED_BLOCKED : refused(s, class, pick);
}

uint32_t sched_choice(const struct class *class)
{
	const struct queued *head = class_head_queued(class);
	const struct job_link *l = job_link_of(head->job);

	return head == &l->queued ? 0 : (uint32_t)(head - l->others) + 1;
}

/* The next turn. A wait group has its turn only as long as a node may have room for a part of it.
 * False: there was more to look at than one step may. *first: NULL: there is none. */
static bool next_turn(struct sched *s, struct waiter **first)
{
	const struct class *searching = search_class(s);
	struct heap_key key;

	for (unsigned n = 0; n < TURNS_STEP; n++) {
		s->work++;
		*first = wait_first(s->wait_groups, &key);
		/* It may be the class that the search is for: then that is tried. A job may have
		 * the same key in two partitions: then the search goes on. */
		if (*first && searching && (*first)->class != searching &&
		        !heap_key_before(key, class_link_of(searching)->key))
			*first = NULL;
		if (!*first || wait_is_ready(s->wait_groups, *first) ||
		        blocked_fits(s, (*first)->in->group))
			return true;
		/* When the room that it was marked for is gone, it is gone for most others too. */
		wait_suppress(s->wait_groups, (*first)->in->group);
	}
	return false;
}

/* Nothing is to be tried: what is done then. */
static enum sched_step end_pass(struct sched *s, struct sched_pick *pick)
{
	struct class *class;

	s->stats.passes += s->in_pass;
	s->in_pass = false;
	if (s->risen) {
		s->risen = false;
		s->sweeps |= 1u << SWEEP_RISE;
		return SCHED_BLOCKED;
	}
	if (!s->move.on)
		return SCHED_IDLE;
	s->move.on = planner_compress(s, &class, pick);
	if (!class)
		return SCHED_BLOCKED;
	planner_tell(class, pick);
	return SCHED_PLANNED;
}

/* A wait group's turn makes its best member ready and tries it at once. The first word of its key
 * is of now, the second as of the last ordering. */
static enum sched_step next_step(struct sched *s, struct sched_pick *pick)
{
	struct waiter *first;

	if (sweeps_step(s))
		return SCHED_BLOCKED;
	if (s->usage_changed)
		ordering_over(s);
	if (!next_turn(s, &first))
		return SCHED_BLOCKED;
	if (first) {
		s->in_pass = true;
		wake(s, first->class);
		class_link(first->class)->key.a = wait_word(s->wait_groups, first->class);
		return try_class(s, first->class, pick);
	}
	if (search_class(s))
		return refused(s, search_class(s), pick);
	return end_pass(s, pick);
}

enum sched_step sched_step(struct sched *s, struct sched_pick *pick)
{
	enum sched_step step;

	memset(pick, 0, sizeof(*pick));
	s->work = 0;
	step = next_step(s, pick);
	s->stats.work_most = s->work > s->stats.work_most ? s->work : s->stats.work_most;
	return step;
}

void sched_reserve_preemption(struct sched *s, const struct sched_pick *pick)
{
	planner_reserve_preemption(s, job_queued(pick->job, pick->choice)->class);
}

bool sched_idle(const struct sched *s)
{
	return wait_none(s->wait_groups) && !sweeps_due(s) && !s->move.on && !s->usage_changed &&
	       !s->risen && !search_class(s);
}

void sched_search_step(struct sched *s, size_t work)
{
	s->search_step = work;
}

bool sched_searching(const struct sched *s)
{
	return search_class(s) != NULL;
}

bool sched_busy_before(struct sched *s, struct heap_key key)
{
	const struct class *searching = search_class(s);

	struct heap_key first;

	return (wait_first(s->wait_groups, &first) && heap_key_before(first, key)) ||
	       (searching && heap_key_before(class_link_of(searching)->key, key));
}

/* An ordering comes at most every ORDER_EVERY, and only if something makes it due: a change that
 * may alter the order, an early end, or a retry. */
usec_t sched_next(const struct sched *s)
{
	usec_t order = s->ordered + ORDER_EVERY;

	if (!classes_count(s->classes))
		return INT64_MAX;
	if (s->replan && s->replanned + REPLAN_EVERY < order)
		return s->replanned + REPLAN_EVERY;
	if (s->early || s->disordered)
		return order;
	return s->retry == INT64_MAX ? INT64_MAX : s->retry > order ? s->retry : order;
}

struct class *sched_class_of(const struct job *job)
{
	struct class *best = NULL;
	const struct queued *q;

	for (uint32_t k = 0; (q = job_queued(job, k)); k++) {
		const struct reservation *e = class_link(q->class)->reservation;

		if (e && class_head_queued(q->class) == q && (!best || e->preempts))
			best = q->class;
	}
	return best ? best : job_link_of(job)->queued.class;
}

enum verdict sched_decide(const struct sched *s, const struct class *class, struct places *out,
        struct decision *d)
{
	struct candidate who = sched_candidate(s, class);
	enum verdict verdict;

	class_set_aside(class, true);
	verdict = decide(&s->view, &who, out, d);
	class_set_aside(class, false);
	return verdict;
}

const struct sched_view *sched_view(const struct sched *s)
{
	return &s->view;
}

/* --- views ----------------------------------------------------------------------------------- */

void sched_stats(const struct sched *s, struct sched_stats *stats)
{
	*stats = s->stats;
	stats->classes = classes_count(s->classes);
	stats->blocked = stats->classes - wait_ready(s->wait_groups);
	stats->planned = plan_count(s->view.plan);
}

struct class *sched_each_class(const struct sched *s, size_t *cursor)
{
	return classes_each(s->classes, cursor);
}

size_t sched_class_count(const struct sched *s)
{
	return classes_count(s->classes);
}

uint32_t sched_before(const struct class *class, const struct job *job)
{
	struct heap_key mine = class_queue_key(job);
	uint32_t n = 0, i;

	for (i = 0; i < heap_count(class_link_of(class)->queue); i++) {
		const struct job *other = class_job(class, i);
		struct heap_key key = class_queue_key(other);

		if (key.a < mine.a || (key.a == mine.a && key.b < mine.b))
			n += job_weight(other);
	}
	return n;
}

/* By partition, then by key: the order in which people see the queue. */
static int by_key(const void *x, const void *y)
{
	const struct class_link *a = class_link(*(struct class *const *)x),
	                        *b = class_link(*(struct class *const *)y);

	if (a->partition != b->partition)
		return a->partition < b->partition ? -1 : 1;
	if (a->key.a != b->key.a)
		return a->key.a < b->key.a ? -1 : 1;
	return a->key.b < b->key.b ? -1 : a->key.b > b->key.b;
}

/* The tasks of a class that may start. Of a service not all slots are wanted. */
static uint32_t tasks_wanted(const struct class *class)
{
	const struct class_link *l = class_link_of(class);
	const struct array *a = job_array(class_head(class));
	uint64_t n = l->tasks;

	if (a && a->service && a->at_once < a->running + n)
		n = a->at_once > a->running ? a->at_once - a->running : 0;
	return (uint32_t)n;
}

/* Count the positions of all classes: a sort of all of them, once after an ordering and only if it
 * is asked for. */
static void count_positions(struct sched *s)
{
	size_t n = 0, i, k, end, cursor = 0;
	struct class **v, *class;

	s->positions_of = s->stats.orderings;
	s->positions_mono = s->view.now.mono;
	v = xcalloc(classes_count(s->classes), sizeof(struct class *));
	while ((class = classes_each(s->classes, &cursor)))
		v[n++] = class;
	qsort(v, n, sizeof(struct class *), by_key);
	for (i = 0; i < n; i = end) {
		uint32_t jobs = 0;

		for (end = i;
		        end < n && class_link(v[end])->partition == class_link(v[i])->partition;
		        end++) {
			class_link(v[end])->position = jobs + 1;
			jobs += tasks_wanted(v[end]);
		}
		for (k = i; k < end; k++)
			class_link(v[k])->position_of = jobs;
	}
	free(v);
}

void sched_position(struct sched *s, const struct class *class, uint32_t *position, uint32_t *of)
{
	bool missing = !class_link_of(class)->position &&
	               s->view.now.mono - s->positions_mono >= COUNT_EVERY;

	if (s->positions_of != s->stats.orderings || missing)
		count_positions(s);
	*position = class_link_of(class)->position;
	*of = class_link_of(class)->position_of;
}

/* The invariant itself: each blocked class is decided anew, and must be refused. Costs a try for
 * each class; core_check() calls it. */
bool sched_check(struct sched *s, char *text, size_t size)
{
	size_t cursor = 0, i;
	struct class *class;

	for (i = 0; i < plan_count(s->view.plan); i++) {
		const struct reservation *e = plan_at(s->view.plan, i);

		if (class_link(e->owner)->reservation != e) {
			snprintf(text, size, "an entry of the plan is not its class's");
			return false;
		}
	}
	while ((class = classes_each(s->classes, &cursor))) {
		struct places places = { 0 };
		struct decision d;
		enum verdict v;

		if (class_ready(class))
			continue;
		v = sched_decide(s, class, &places, &d);
		places_free(&places);
		if (v != VERDICT_START)
			continue;
		snprintf(text, size, "job %llu could start and was blocked",
		        (unsigned long long)job_id(class_head(class)));
		return false;
	}
	return plan_check(s->view.plan, text, size);
}
