/* class.c - see class.h
 *
 * Classes have numbers without gaps, so that a sweep over all of them can stop anywhere: the last
 * class takes over the number of one that is removed.
 *
 * A class is found by its key in a hash table. Texts and the request in the key are kept
 * (strings.h, requests.h), so that keys are compared by pointer; the class holds a reference to
 * each of them.
 *
 * Each class has two waiters an alternative: the first n stand in wait groups for capacity, the
 * next n in the lists of limits. They are made with the class, so that blocking and waking allocate
 * nothing.
 */
#include "ctld/core/sched/class.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/records/job_partitions.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

struct class
{
	struct class_info info;
	struct class_link link;
};

struct classes {
	struct strings *strings;
	struct requests *requests;
	struct table *table;
	struct class **v; /* by number */
	size_t n, size;
};

const struct class_info *class_info(const struct class *class)
{
	return &class->info;
}

struct class_link *class_link(struct class *class)
{
	return &class->link;
}

const struct class_link *class_link_of(const struct class *class)
{
	return &class->link;
}

/* Rounded up to a multiple of a step that is a minute for the shortest and at most an eighth of the
 * length for longer ones: jobs of about the same length are of one class. */
uint32_t class_length(uint32_t s)
{
	uint32_t step = 60;

	if (!s || s > UINT32_MAX / 2)
		return s;
	while (step * 16 <= s)
		step *= 2;
	return (s + step - 1) / step * step;
}

/* The longest time that a run of the class can hold its place, from the order to the report of its
 * end. PLAN_FAR: it has no time limit. */
usec_t class_length_us(uint32_t length_s, const struct conf_partition *partition)
{
	usec_t grace_s = partition ? partition->grace_s : 0;

	if (!length_s)
		return PLAN_FAR;
	return PLAN_START_TAKES + ((usec_t)length_s + grace_s) * 1000000 + PLAN_END_TAKES;
}

bool class_ready(const struct class *class)
{
	return class->link.ready.slot != HEAP_NOWHERE;
}

struct ask class_ask(const struct class *class)
{
	return (struct ask){ class->info.gpus, class->info.cpus, class->info.mem_mb,
		class->link.user };
}

/* By id, and for a record of an array by its first task. */
struct heap_key class_queue_key(const struct job *job)
{
	const struct taskset *tasks = job_tasks(job);

	return (struct heap_key){ job_id(job), tasks ? taskset_first(tasks) : job_task(job) };
}

struct queued *class_head_queued(const struct class *class)
{
	return heap_first(class->link.queue);
}

struct job *class_head(const struct class *class)
{
	return class_head_queued(class)->job;
}

const struct job *class_job(const struct class *class, uint32_t n)
{
	return ((const struct queued *)heap_at(class->link.queue, n))->job;
}

struct queued *job_queued(const struct job *job, uint32_t k)
{
	struct job_link *l = job_link((struct job *)(uintptr_t)job);
	struct queued *q = k ? k <= l->n_others ? &l->others[k - 1] : NULL : &l->queued;

	return q && q->class ? q : NULL;
}

/* In its k-th partition; *e is NULL where the job is not the first of the class, or that has none.
 * False: it has no such partition. */
static bool reservation_in(const struct class *class, uint32_t k, struct reservation **e)
{
	const struct job *head = class_head(class);
	const struct queued *q = job_link_of(head)->n_others ? job_queued(head, k) : NULL;

	*e = q && q->class != class && class_head_queued(q->class) == q
	             ? q->class->link.reservation
	             : NULL;
	return q;
}

struct reservation *class_elsewhere(const struct class *class)
{
	struct reservation *found = NULL, *e;

	for (uint32_t k = 0; reservation_in(class, k, &e); k++) {
		if (e && (!found || e->preempts))
			found = e;
	}
	return found;
}

void class_set_aside(const struct class *class, bool aside)
{
	struct reservation *e;

	for (uint32_t k = 0; reservation_in(class, k, &e); k++) {
		if (e)
			e->idle = aside;
	}
}

void waiter_link(struct waiter_list *list, struct waiter *w)
{
	LIST_INSERT_HEAD(list, w, at);
}

/* An element that is in no list has no back pointer: waiter_linked() asks for that. */
void waiter_unlink(struct waiter *w)
{
	LIST_REMOVE(w, at);
	w->at.le_prev = NULL;
}

bool waiter_linked(const struct waiter *w)
{
	return w->at.le_prev != NULL;
}

static uint64_t info_hash(const struct class_info *i, uint64_t seed)
{
	uint64_t h = hash_u64((uint64_t)i->uid << 32 | i->cpus, seed);

	h = hash_u64((uint64_t)i->max_wait_s << 32 | i->length_s, h);
	h = hash_u64((uintptr_t)i->account, h);
	h = hash_u64((uintptr_t)i->qos, h);
	h = hash_u64((uintptr_t)i->partition, h);
	h = hash_u64((uintptr_t)i->gpus, h);
	h = hash_u64(i->mem_mb, h);
	return hash_u64((uint32_t)i->nice, h);
}

static uint64_t class_hash(const void *item, uint64_t seed)
{
	return info_hash(&((const struct class *)item)->info, seed);
}

static bool class_equal(const void *item, const void *key)
{
	const struct class_info *x = &((const struct class *)item)->info, *y = key;

	return x->uid == y->uid && x->cpus == y->cpus && x->max_wait_s == y->max_wait_s &&
	       x->length_s == y->length_s && x->account == y->account && x->qos == y->qos &&
	       x->partition == y->partition && x->gpus == y->gpus && x->mem_mb == y->mem_mb &&
	       x->nice == y->nice;
}

struct classes *classes_new(struct strings *strings, struct requests *requests, uint64_t seed)
{
	struct classes *cs = xcalloc(1, sizeof(*cs));

	cs->strings = strings;
	cs->requests = requests;
	cs->table = table_new(class_hash, seed);
	return cs;
}

static void class_free(struct classes *cs, struct class *class)
{
	DROP_TEXTS(cs->strings, &class->info, account, qos, partition);
	requests_drop(cs->requests, class->info.gpus);
	heap_free(class->link.queue);
	free(class->link.waiters);
	free(class->link.text);
	free(class);
}

void classes_free(struct classes *cs)
{
	size_t cursor = 0;
	struct class *class;

	if (!cs)
		return;
	while ((class = classes_each(cs, &cursor)))
		class_free(cs, class);
	free(cs->v);
	table_free(cs->table);
	free(cs);
}

static void job_moved(void *item, uint32_t index)
{
	((struct queued *)item)->slot = index;
}

static struct class *want(struct classes *cs, const struct class_info *info)
{
	struct class_info key = *info;
	struct class *class =
	        table_find(cs->table, info_hash(&key, table_seed(cs->table)), class_equal, &key);
	uint32_t a, alternatives;

	if (class)
		return class;
	class = xcalloc(1, sizeof(*class));
	class->info = key;
	strings_again(key.account);
	strings_again(key.qos);
	strings_again(key.partition);
	requests_again(key.gpus);
	class->link.queue = heap_new(job_moved);
	class->link.ready = (struct waiter){ .class = class, .slot = HEAP_NOWHERE };
	class->link.partition = class->link.account = class->link.qos = CONF_NONE;
	class->link.retry = INT64_MAX;
	alternatives = key.gpus->n ? key.gpus->n : 1;
	class->link.n_waiters = 2 * alternatives;
	class->link.waiters = xcalloc(class->link.n_waiters, sizeof(struct waiter));
	for (a = 0; a < class->link.n_waiters; a++) {
		class->link.waiters[a].class = class;
		class->link.waiters[a].alternative = a % alternatives;
		class->link.waiters[a].slot = HEAP_NOWHERE;
	}
	class->link.number = (uint32_t)cs->n;
	*XADD(cs->v, cs->n, cs->size) = class;
	table_add(cs->table, class);
	return class;
}

struct class *classes_want(struct classes *cs, const struct job_info *i, uint32_t k)
{
	struct class_info info = { .length_s = class_length(i->time_limit_s) };
	struct job_choice choice;
	struct class *class;

	COPY_FIELDS(&info, i, uid, cpus, max_wait_s, account, qos, partition, gpus, mem_mb, nice);
	if (!*i->partitions)
		return want(cs, &info);
	job_choice(i, k, &choice);
	info.cpus = choice.cpus;
	info.mem_mb = choice.mem_mb;
	info.length_s = class_length(choice.time_limit_s);
	info.partition = strings_intern(cs->strings, choice.partition);
	class = want(cs, &info);
	strings_drop(cs->strings, info.partition);
	return class;
}

/* The last class takes the number that becomes free; see the head. */
void classes_remove(struct classes *cs, struct class *class)
{
	struct class *last = cs->v[--cs->n];

	cs->v[class->link.number] = last;
	last->link.number = class->link.number;
	table_remove(cs->table, class);
	class_free(cs, class);
}

size_t classes_count(const struct classes *cs)
{
	return cs->n;
}

struct class *classes_at(const struct classes *cs, size_t number)
{
	return cs->v[number];
}

struct class *classes_each(const struct classes *cs, size_t *cursor)
{
	return *cursor < cs->n ? cs->v[(*cursor)++] : NULL;
}
