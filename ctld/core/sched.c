/* sched.c - see sched.h */
#include "ctld/core/sched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"

struct sched {
	struct strings *strings;
	const struct conf *conf;
	struct ledger *ledger;
	struct places places; /* of the pick */
	struct classes *classes;
	struct heap *ready;
	const char **partitions; /* kept names, by number */
	size_t n_partitions;
	struct waiter **waiting; /* [set * kinds + kind] */
	size_t kinds;            /* GPU types, any, none */
	uint64_t passes, tried;
	bool in_pass;
};

static void class_moved(void *item, uint32_t index)
{
	class_link(item)->slot = index;
}

struct sched *sched_new(struct strings *strings, struct requests *requests, uint64_t seed)
{
	struct sched *s = xcalloc(1, sizeof(*s));

	s->strings = strings;
	s->classes = classes_new(strings, requests, seed);
	s->ready = heap_new(class_moved);
	return s;
}

static void partitions_drop(struct sched *s)
{
	size_t p;

	for (p = 0; p < s->n_partitions; p++)
		strings_drop(s->strings, s->partitions[p]);
	free(s->partitions);
}

void sched_free(struct sched *s)
{
	if (!s)
		return;
	heap_free(s->ready);
	classes_free(s->classes);
	partitions_drop(s);
	places_free(&s->places);
	free(s->waiting);
	free(s);
}

int64_t sched_priority(int32_t nice)
{
	return -(int64_t)nice;
}

/* Smallest first: the highest tier, the highest priority, the lowest id. */
static struct heap_key class_key(const struct sched *s, struct class *class)
{
	uint32_t number = class_link(class)->number;
	uint64_t tier = number == CLASS_NO_PARTITION ? 0 : s->conf->partitions[number].tier;
	int64_t priority = sched_priority(class_info(class)->nice);
	uint32_t biased;

	priority = priority < INT32_MIN ? INT32_MIN : priority > INT32_MAX ? INT32_MAX : priority;
	biased = (uint32_t)(priority - INT32_MIN);
	return (struct heap_key){ ~(tier << 32 | biased), job_id(class_head(class)) };
}

/* --- parking --------------------------------------------------------------------------------- */

static size_t kind_number(const struct sched *s, uint16_t type)
{
	if (type == TYPE_NONE)
		return s->kinds - 1;
	return type == TYPE_ANY ? s->kinds - 2 : type;
}

static void park(struct sched *s, struct class *class, enum verdict verdict)
{
	struct class_link *l = class_link(class);
	const struct request *gpus = class_info(class)->gpus;
	uint32_t a;

	l->verdict = verdict;
	if (verdict == VERDICT_PARTITION)
		return;
	for (a = 0; a < l->n_waiters; a++) {
		uint16_t type = gpus->n ? gpus->v[a].number : TYPE_NONE;
		struct waiter *w = &l->waiters[a], **list;

		if (type == TYPE_GONE)
			continue;
		list = &s->waiting[ledger_set_of(s->ledger, l->number) * s->kinds +
		                   kind_number(s, type)];
		w->next = *list;
		w->back = list;
		if (w->next)
			w->next->back = &w->next;
		*list = w;
	}
}

static void unlink_waiters(struct class *class)
{
	struct class_link *l = class_link(class);
	uint32_t a;

	for (a = 0; a < l->n_waiters; a++) {
		struct waiter *w = &l->waiters[a];

		if (!w->back)
			continue;
		*w->back = w->next;
		if (w->next)
			w->next->back = w->back;
		w->back = NULL;
		w->next = NULL;
	}
}

static void wake(struct sched *s, struct class *class)
{
	if (class_link(class)->slot != HEAP_NOWHERE)
		return;
	unlink_waiters(class);
	heap_put(s->ready, class_key(s, class), class);
}

/* Wake those of one list that fit on the node. Waking takes a class out of all lists, perhaps twice
 * out of this one: so first choose, then wake. */
static void wake_list(struct sched *s, struct waiter **list, uint32_t node)
{
	struct class *chosen = NULL;
	struct waiter *w;

	for (w = *list; w; w = w->next) {
		struct class_link *l = class_link(w->class);
		struct ask ask = class_ask(w->class);

		if (l->waking || !ledger_fits_part(s->ledger, node, &ask, w->alternative))
			continue;
		l->waking = true;
		l->next_waking = chosen;
		chosen = w->class;
	}
	while (chosen) {
		struct class *class = chosen;

		chosen = class_link(class)->next_waking;
		class_link(class)->waking = false;
		wake(s, class);
	}
}

void sched_node_freed(struct sched *s, uint32_t node)
{
	const struct conf_node *conf = &s->conf->nodes[node];
	size_t n, i, g;
	const uint32_t *sets = ledger_node_sets(s->ledger, node, &n);

	for (i = 0; i < n; i++) {
		struct waiter **lists = &s->waiting[sets[i] * s->kinds];

		for (g = 0; g < conf->n_gpus; g++)
			wake_list(s, &lists[conf->gpus[g].type], node);
		if (conf->n_gpus)
			wake_list(s, &lists[kind_number(s, TYPE_ANY)], node);
		wake_list(s, &lists[kind_number(s, TYPE_NONE)], node);
	}
}

void sched_wake_all(struct sched *s)
{
	size_t cursor = 0;
	struct class *class;

	while ((class = classes_each(s->classes, &cursor)))
		wake(s, class);
}

/* --- jobs ------------------------------------------------------------------------------------ */

uint32_t sched_partition_kept(const struct sched *s, const char *kept)
{
	uint32_t p;

	for (p = 0; p < s->n_partitions; p++) {
		if (s->partitions[p] == kept)
			return p;
	}
	return CLASS_NO_PARTITION;
}

uint32_t sched_partition(const struct sched *s, const char *name)
{
	const char *kept = strings_peek(s->strings, name);

	return kept ? sched_partition_kept(s, kept) : CLASS_NO_PARTITION;
}

void sched_add(struct sched *s, struct job *job)
{
	struct class *class = classes_want(s->classes, job_info(job));
	struct class_link *l = class_link(class);
	bool empty = !heap_count(l->queue);

	assert(!job_link(job)->class);
	job_link(job)->class = class;
	heap_put(l->queue, (struct heap_key){ job_id(job), 0 }, job);
	if (empty) {
		l->number = sched_partition_kept(s, class_info(class)->partition);
		wake(s, class);
	} else if (l->slot != HEAP_NOWHERE && class_head(class) == job) {
		heap_rekey(s->ready, l->slot, class_key(s, class));
	}
}

void sched_remove(struct sched *s, struct job *job)
{
	struct class *class = job_link(job)->class;
	struct class_link *l = class_link(class);
	bool head = class_head(class) == job;

	heap_remove(l->queue, job_link(job)->slot);
	job_link(job)->class = NULL;
	if (!heap_count(l->queue)) {
		unlink_waiters(class);
		if (l->slot != HEAP_NOWHERE)
			heap_remove(s->ready, l->slot);
		classes_remove(s->classes, class);
	} else if (head && l->slot != HEAP_NOWHERE) {
		heap_rekey(s->ready, l->slot, class_key(s, class));
	}
}

void sched_configure(struct sched *s, const struct conf *conf, struct ledger *ledger)
{
	size_t cursor = 0, p;
	struct class *class;

	/* Take every class out of lists and heap under the old numbers first. */
	while ((class = classes_each(s->classes, &cursor))) {
		unlink_waiters(class);
		if (class_link(class)->slot != HEAP_NOWHERE)
			heap_remove(s->ready, class_link(class)->slot);
	}
	partitions_drop(s);
	free(s->waiting);
	s->conf = conf;
	s->ledger = ledger;
	s->n_partitions = conf->n_partitions;
	s->partitions = xcalloc(s->n_partitions, sizeof(char *));
	for (p = 0; p < s->n_partitions; p++)
		s->partitions[p] = strings_keep(s->strings, conf->partitions[p].name);
	s->kinds = conf->n_gpu_types + 2;
	s->waiting = xcalloc(ledger_sets(ledger) * s->kinds, sizeof(struct waiter *));
	for (cursor = 0; (class = classes_each(s->classes, &cursor));) {
		class_link(class)->number = sched_partition_kept(s, class_info(class)->partition);
		free(class_link(class)->text);
		class_link(class)->text = NULL;
		wake(s, class);
	}
}

/* --- deciding -------------------------------------------------------------------------------- */

static bool all_gone(const struct request *gpus)
{
	uint32_t a;

	for (a = 0; a < gpus->n; a++) {
		if (gpus->v[a].number != TYPE_GONE)
			return false;
	}
	return gpus->n > 0;
}

/* The best places now, alternatives in their order. */
static bool find_places(struct sched *s, uint32_t partition, const struct ask *ask)
{
	const struct request *r = ask->gpus;
	uint32_t a;

	for (a = 0; a < (r->n ? r->n : 1); a++) {
		const struct find find = { .alternative = a,
			.type = r->n ? r->v[a].number : TYPE_NONE };

		if (find.type != TYPE_GONE &&
		        ledger_find(s->ledger, ledger_set_of(s->ledger, partition), ask, &find,
		                &s->places))
			return true;
	}
	return false;
}

enum sched_step sched_step(struct sched *s, struct sched_pick *pick)
{
	struct class *class = heap_first(s->ready);
	enum verdict verdict = VERDICT_BLOCKED;
	struct class_link *l;
	struct ask ask;

	if (!class) {
		s->passes += s->in_pass;
		s->in_pass = false;
		return SCHED_IDLE;
	}
	s->in_pass = true;
	s->tried++;
	l = class_link(class);
	ask = class_ask(class);
	if (l->number == CLASS_NO_PARTITION)
		verdict = VERDICT_PARTITION;
	else if (all_gone(ask.gpus))
		verdict = VERDICT_TYPE;
	else if (find_places(s, l->number, &ask)) {
		pick->job = heap_first(l->queue);
		pick->places = &s->places;
		return SCHED_PICKED;
	}
	heap_remove(s->ready, l->slot);
	park(s, class, verdict);
	return SCHED_BLOCKED;
}

bool sched_idle(const struct sched *s)
{
	return !heap_count(s->ready);
}

void sched_stats(const struct sched *s, struct sched_stats *stats)
{
	stats->classes = classes_count(s->classes);
	stats->parked = stats->classes - heap_count(s->ready);
	stats->passes = s->passes;
	stats->tried = s->tried;
}

struct class *sched_each_class(const struct sched *s, size_t *cursor)
{
	return classes_each(s->classes, cursor);
}
