/* test_wait_group.c - ctld/core/sched/wait_group.h: turns, marks and the order of both
 *
 * The classes are real, the words of their accounts are made up. The random test compares each turn
 * with that of a model, which looks at all classes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/sched/wait_group.h"
#include "testsuite/unit/lib/places_conf.h"

#define ACCOUNTS 3
#define CLASSES  24

/* What accounts are over, and how often that was asked. */
static struct {
	uint64_t word[ACCOUNTS], version[ACCOUNTS], asked, work;
} over;

static uint64_t word_of(void *arg, uint64_t tier, uint32_t account, const struct request *gpus)
{
	(void)arg;
	(void)gpus;
	over.asked++;
	return tier << 48 | (account == CONF_NONE ? 0 : over.word[account]);
}

static uint64_t version_of(void *arg, uint32_t account)
{
	(void)arg;
	return over.version[account];
}

static void set_word(uint32_t account, uint64_t word)
{
	over.word[account] = word;
	over.version[account]++;
}

struct world {
	struct conf *conf;
	struct strings *strings;
	struct requests *requests;
	struct classes *classes;
	struct wait_groups *ws;
	const struct request *request;
	size_t n;
	struct class *v[CLASSES];
};

static int setup(void **state)
{
	static struct world w;
	const struct wait_words words = { word_of, version_of, NULL, &over.work };
	struct error err;

	memset(&over, 0, sizeof(over));
	w = (struct world){ .conf = places_conf() };
	w.strings = strings_new(1);
	w.requests = requests_new(w.strings, w.conf, 1);
	w.classes = classes_new(w.strings, w.requests, 1);
	w.ws = wait_groups_new(1, &words);
	w.request = requests_parse(w.requests, "h100:1|l40s:1", "", &err);
	assert_non_null(w.request);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	size_t i;

	for (i = 0; i < w->n; i++) {
		struct class_link *l = class_link(w->v[i]);
		uint32_t a;

		if (class_ready(w->v[i]))
			wait_exit(w->ws, &l->ready);
		for (a = 0; a < l->n_waiters / 2; a++) {
			if (wait_inside(&l->waiters[a]))
				wait_exit(w->ws, &l->waiters[a]);
		}
		wait_leave(w->ws, w->v[i]);
	}
	wait_groups_free(w->ws);
	classes_free(w->classes);
	requests_drop(w->requests, w->request);
	requests_free(w->requests);
	strings_free(w->strings);
	places_conf_free(w->conf);
	return 0;
}

/* A class of the account, with the second word of its key; `mem_mb` makes its group. */
static struct class *add(struct world *w, uint32_t account, uint64_t second, uint64_t mem_mb)
{
	struct job_info job = { .uid = (uint32_t)w->n,
		.cpus = 1,
		.account = strings_intern(w->strings, "a"),
		.qos = strings_intern(w->strings, ""),
		.partition = strings_intern(w->strings, "batch"),
		.partitions = "",
		.gpus = w->request,
		.mem_mb = mem_mb };
	struct class *class = classes_want(w->classes, &job, 0);
	struct class_link *l = class_link(class);

	strings_drop(w->strings, job.account);
	strings_drop(w->strings, job.qos);
	strings_drop(w->strings, job.partition);
	l->partition = 0;
	l->account = account;
	l->key.b = second;
	wait_join(w->ws, class, 1, account, true);
	w->v[w->n++] = class;
	return class;
}

static struct waiter *waiter(struct class *class)
{
	return &class_link(class)->waiters[0];
}

static struct wait_group *group(struct class *class)
{
	return waiter(class)->in->group;
}

static struct class *first(struct world *w)
{
	struct heap_key key;
	struct waiter *best = wait_first(w->ws, &key);

	if (!best)
		return NULL;
	assert_int_equal(key.a, 1ull << 48 | over.word[class_link(best->class)->account]);
	assert_int_equal(key.b, class_link(best->class)->key.b);
	return best->class;
}

/* --- ready classes --------------------------------------------------------------------------- */

static void what_others_hold_orders_ready_classes(void **state)
{
	struct world *w = *state;
	struct class *a = add(w, 0, 5, 1), *b = add(w, 1, 3, 1), *c = add(w, 1, 9, 1);

	wait_put(w->ws, &class_link(a)->ready);
	wait_put(w->ws, &class_link(b)->ready);
	wait_put(w->ws, &class_link(c)->ready);
	assert_int_equal(wait_ready(w->ws), 3);
	assert_ptr_equal(first(w), b);
	set_word(1, 7); /* a start: seen without being told */
	assert_ptr_equal(first(w), a);
	wait_exit(w->ws, &class_link(a)->ready);
	assert_ptr_equal(first(w), b);
	wait_put(w->ws, &class_link(a)->ready);
	set_word(1, 0); /* a release: all are checked */
	wait_released(w->ws);
	assert_ptr_equal(first(w), b);
	class_link(c)->key.b = 1; /* an ordering */
	wait_rekey(w->ws, &class_link(c)->ready);
	assert_ptr_equal(first(w), c);
	assert_true(wait_is_ready(w->ws, &class_link(c)->ready));
	assert_false(wait_is_ready(w->ws, waiter(c)));
}

static void a_word_is_computed_once(void **state)
{
	struct world *w = *state;
	size_t i;

	for (i = 0; i < CLASSES; i++) {
		struct class *class = add(w, 0, i, i % 3);

		if (i % 2)
			wait_put(w->ws, &class_link(class)->ready);
		else
			wait_enter(w->ws, waiter(class));
	}
	wait_mark(w->ws, group(w->v[0]), 0, true);
	assert_int_equal(over.asked, 1);
	assert_non_null(first(w));
	assert_int_equal(over.asked, 1);
	set_word(0, 4);
	assert_non_null(first(w));
	assert_int_equal(wait_word(w->ws, w->v[3]), 1ull << 48 | 4);
	assert_int_equal(over.asked, 2);
}

/* --- groups ---------------------------------------------------------------------------------- */

static void classes_that_ask_for_the_same_are_a_group(void **state)
{
	struct world *w = *state;
	struct class *a = add(w, 0, 1, 1), *b = add(w, 1, 2, 1), *c = add(w, 0, 3, 2);

	assert_ptr_equal(group(a), group(b));
	assert_ptr_not_equal(waiter(a)->in, waiter(b)->in);
	assert_ptr_not_equal(group(a), group(c));
	assert_ptr_not_equal(group(a), class_link(a)->waiters[1].in->group);
	assert_int_equal(group(a)->key.alternative, 0);
	assert_int_equal(class_link(a)->waiters[1].in->group->key.alternative, 1);
	assert_int_equal(wait_group_ask(group(c)).mem_mb, 2);
}

static void only_a_marked_group_has_a_turn(void **state)
{
	struct world *w = *state;
	struct class *a = add(w, 0, 1, 1), *b = add(w, 0, 2, 1);

	wait_mark(w->ws, group(a), 0, true); /* it has no members */
	assert_false(wait_marked(group(a)));
	wait_enter(w->ws, waiter(b));
	wait_enter(w->ws, waiter(a));
	assert_null(first(w));
	assert_true(wait_none(w->ws));
	wait_mark(w->ws, group(a), 0, true);
	assert_true(wait_marked(group(a)));
	assert_ptr_equal(first(w), a);
	wait_suppress(w->ws, group(a));
	assert_null(first(w));
	wait_mark(w->ws, group(a), 0, true);
	wait_exit(w->ws, waiter(a));
	wait_exit(w->ws, waiter(b));
	assert_false(wait_marked(group(a))); /* no candidates are left */
	wait_enter(w->ws, waiter(a));
	assert_null(first(w));
}

/* A member that comes back while its group is marked has been tried. */
static void tried_members_wait_for_a_recall(void **state)
{
	struct world *w = *state;
	struct class *a = add(w, 0, 1, 1), *b = add(w, 0, 2, 1);

	wait_enter(w->ws, waiter(a));
	wait_enter(w->ws, waiter(b));
	wait_mark(w->ws, group(a), 0, true);
	wait_exit(w->ws, waiter(a));
	wait_enter(w->ws, waiter(a));
	assert_true(wait_inside(waiter(a)));
	assert_false(wait_is_candidate(waiter(a)));
	assert_ptr_equal(first(w), b);
	wait_suppress(w->ws, group(a));
	wait_mark(w->ws, group(a), 0, false);
	assert_ptr_equal(first(w), b);
	wait_mark(w->ws, group(a), 0, true);
	assert_ptr_equal(first(w), a);
	wait_exit(w->ws, waiter(a));
	wait_enter(w->ws, waiter(a));
	wait_untry(w->ws, waiter(a));
	assert_ptr_equal(first(w), a);
	wait_exit(w->ws, waiter(a));
	wait_enter(w->ws, waiter(a));
	wait_exit(w->ws, waiter(a)); /* out of those that were tried */
	wait_mark(w->ws, group(a), 0, true);
	assert_ptr_equal(first(w), b);
	assert_int_equal(group(b)->members, 1);
}

static void a_group_remembers_where(void **state)
{
	struct world *w = *state;
	struct class *a = add(w, 0, 1, 1);
	uint32_t i;

	wait_enter(w->ws, waiter(a));
	for (i = 0; i < WAIT_GROUP_NODES; i++) {
		wait_mark(w->ws, group(a), 100 + i, true);
		wait_mark(w->ws, group(a), 100, true); /* known already */
		assert_int_equal(group(a)->n_nodes, i + 1);
		assert_int_equal(group(a)->nodes[i], 100 + i);
	}
	wait_mark(w->ws, group(a), 99, true); /* one too many: anywhere */
	assert_int_equal(group(a)->n_nodes, WAIT_GROUP_NODES + 1);
	wait_suppress(w->ws, group(a));
	wait_mark(w->ws, group(a), 7, true); /* a new mark forgets them */
	assert_int_equal(group(a)->n_nodes, 1);
	wait_mark(w->ws, group(a), WAIT_ANY_NODE, true);
	assert_int_equal(group(a)->n_nodes, WAIT_GROUP_NODES + 1);
}

/* --- a model --------------------------------------------------------------------------------- */

enum member { OUTSIDE, READY, CANDIDATE, TRIED };

static unsigned pick(uint64_t *random, unsigned n)
{
	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(*random >> 33) % n;
}

static bool has_candidates(const enum member *at, size_t which)
{
	size_t i;

	for (i = which; i < CLASSES; i += 2) {
		if (at[i] == CANDIDATE)
			return true;
	}
	return false;
}

/* The best of all whose turn it may be; group 0 has the even classes. */
static struct class *model_first(struct world *w, const enum member *at, const bool marked[2])
{
	struct class *best = NULL;
	struct heap_key least = { UINT64_MAX, UINT64_MAX };
	size_t i;

	for (i = 0; i < CLASSES; i++) {
		const struct class_link *l = class_link(w->v[i]);
		struct heap_key key = { over.word[l->account], l->key.b };

		if (at[i] != READY && !(at[i] == CANDIDATE && marked[i % 2]))
			continue;
		if (heap_key_before(key, least)) {
			least = key;
			best = w->v[i];
		}
	}
	return best;
}

static void leaves(struct world *w, enum member *at, bool marked[2], size_t i)
{
	if (at[i] == READY)
		wait_exit(w->ws, &class_link(w->v[i])->ready);
	else if (at[i] != OUTSIDE)
		wait_exit(w->ws, waiter(w->v[i]));
	at[i] = OUTSIDE;
	marked[i % 2] &= has_candidates(at, i % 2);
}

static void marks(struct world *w, enum member *at, bool marked[2], size_t which, bool recall)
{
	size_t i;

	wait_mark(w->ws, group(w->v[which]), 0, recall);
	for (i = which; recall && i < CLASSES; i += 2)
		at[i] = at[i] == TRIED ? CANDIDATE : at[i];
	marked[which] = has_candidates(at, which);
}

static void something(struct world *w, enum member *at, bool marked[2], uint64_t *random)
{
	size_t i = pick(random, CLASSES);
	struct class_link *l = class_link(w->v[i]);

	switch (pick(random, 7)) {
	case 0:
		leaves(w, at, marked, i);
		wait_put(w->ws, &l->ready);
		at[i] = READY;
		break;
	case 1:
		leaves(w, at, marked, i);
		wait_enter(w->ws, waiter(w->v[i]));
		at[i] = marked[i % 2] ? TRIED : CANDIDATE;
		break;
	case 2:
		leaves(w, at, marked, i);
		break;
	case 3:
		marks(w, at, marked, i % 2, pick(random, 2));
		break;
	case 4:
		wait_suppress(w->ws, group(w->v[i]));
		marked[i % 2] = false;
		break;
	case 5: /* what is held changes; only where it falls must the groups be told */
		set_word(l->account, pick(random, 4));
		wait_released(w->ws);
		break;
	default:
		l->key.b = (uint64_t)pick(random, 100) << 8 | i;
		wait_rekey(w->ws, at[i] == READY ? &l->ready : waiter(w->v[i]));
	}
}

static void as_the_model_says(void **state)
{
	struct world *w = *state;
	enum member at[CLASSES] = { OUTSIDE };
	bool marked[2] = { false, false };
	uint64_t random = 1;
	unsigned i;

	for (i = 0; i < CLASSES; i++)
		add(w, i / 2 % ACCOUNTS, i, i % 2);
	for (i = 0; i < 20000; i++) {
		something(w, at, marked, &random);
		assert_ptr_equal(first(w), model_first(w, at, marked));
		assert_int_equal(wait_marked(group(w->v[0])), marked[0]);
		assert_int_equal(wait_marked(group(w->v[1])), marked[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		        what_others_hold_orders_ready_classes, setup, teardown),
		cmocka_unit_test_setup_teardown(a_word_is_computed_once, setup, teardown),
		cmocka_unit_test_setup_teardown(
		        classes_that_ask_for_the_same_are_a_group, setup, teardown),
		cmocka_unit_test_setup_teardown(only_a_marked_group_has_a_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(tried_members_wait_for_a_recall, setup, teardown),
		cmocka_unit_test_setup_teardown(a_group_remembers_where, setup, teardown),
		cmocka_unit_test_setup_teardown(as_the_model_says, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
