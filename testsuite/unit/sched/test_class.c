/* test_class.c - ctld/core/sched/class.h: which jobs are one class */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/sched/class.h"
#include "testsuite/unit/lib/places_conf.h"

struct world {
	struct conf *conf;
	struct strings *strings;
	struct requests *requests;
	struct classes *classes;
	const struct request *one, *either;
	const char *a, *b, *none;
};

static int setup(void **state)
{
	static struct world w;
	struct error err;

	w = (struct world){ .conf = places_conf(), .strings = strings_new(1) };
	w.requests = requests_new(w.strings, w.conf, 1);
	w.classes = classes_new(w.strings, w.requests, 1);
	w.one = requests_parse(w.requests, "h100:1", "", &err);
	w.either = requests_parse(w.requests, "h100:1|l40s:2", "", &err);
	w.a = strings_intern(w.strings, "a");
	w.b = strings_intern(w.strings, "b");
	w.none = strings_intern(w.strings, "");
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	while (classes_count(w->classes))
		classes_remove(w->classes, classes_at(w->classes, 0));
	classes_free(w->classes);
	requests_drop(w->requests, w->one);
	requests_drop(w->requests, w->either);
	strings_drop(w->strings, w->a);
	strings_drop(w->strings, w->b);
	strings_drop(w->strings, w->none);
	requests_free(w->requests);
	strings_free(w->strings);
	places_conf_free(w->conf);
	return 0;
}

static struct job_info job(const struct world *w)
{
	return (struct job_info){ .uid = 1000,
		.cpus = 2,
		.max_wait_s = 60,
		.time_limit_s = 3600,
		.account = w->a,
		.qos = w->none,
		.partition = w->a,
		.partitions = "",
		.partition_needs = "",
		.gpus = w->one,
		.mem_mb = 1024 };
}

static void jobs_that_differ_in_nothing_are_one_class(void **state)
{
	struct world *w = *state;
	struct job_info j = job(w);
	struct class *class = classes_want(w->classes, &j, 0);

	j.id = 7;
	j.name = "another";
	j.submit_time = 5;
	j.time_limit_s = 3590; /* the same when it is rounded up */
	assert_ptr_equal(classes_want(w->classes, &j, 0), class);
	assert_int_equal(classes_count(w->classes), 1);
	assert_int_equal(class_info(class)->length_s, 3600);
	assert_int_equal(class_ask(class).cpus, 2);
	assert_false(class_ready(class));
}

/* Each part of the key makes a class of its own. */
static void each_part_of_the_key_counts(void **state)
{
	struct world *w = *state;
	struct job_info v[11];
	size_t i, k;

	for (i = 0; i < 11; i++)
		v[i] = job(w);
	v[1].uid++;
	v[2].cpus++;
	v[3].max_wait_s++;
	v[4].time_limit_s = 3601;
	v[5].account = w->b;
	v[6].qos = w->b;
	v[7].partition = w->b;
	v[8].gpus = w->either;
	v[9].mem_mb++;
	v[10].nice = -1;
	for (i = 0; i < 11; i++) {
		classes_want(w->classes, &v[i], 0);
		assert_int_equal(classes_count(w->classes), i + 1);
	}
	for (i = 0; i < 11; i++) {
		for (k = 0; k < i; k++)
			assert_ptr_not_equal(
			        classes_want(w->classes, &v[i], 0), classes_want(w->classes, &v[k], 0));
	}
}

/* A job with a list is in a class of each of its partitions, with what it has there: those in which
 * jobs are that ask for that partition alone. */
static void a_list_makes_a_class_for_each_partition(void **state)
{
	struct world *w = *state;
	struct job_info j = job(w), one = job(w);
	struct class *first, *second;

	j.partitions = "b,a";
	j.partition_needs = "4/2048/3600,2/1024/3600";
	first = classes_want(w->classes, &j, 0);
	second = classes_want(w->classes, &j, 1);
	assert_ptr_not_equal(first, second);
	assert_int_equal(class_info(first)->cpus, 4);
	assert_int_equal(class_info(first)->mem_mb, 2048);
	assert_ptr_equal(classes_want(w->classes, &one, 0), second);
	one.partition = w->b;
	assert_ptr_not_equal(classes_want(w->classes, &one, 0), first);
	one.cpus = 4;
	one.mem_mb = 2048;
	assert_ptr_equal(classes_want(w->classes, &one, 0), first);
}

static void the_last_class_takes_over_a_number(void **state)
{
	struct world *w = *state;
	struct job_info j = job(w);
	struct class *v[3];
	size_t i, cursor = 0;

	for (i = 0; i < 3; i++) {
		j.uid = (uint32_t)i;
		v[i] = classes_want(w->classes, &j, 0);
		assert_ptr_equal(classes_at(w->classes, i), v[i]);
	}
	classes_remove(w->classes, v[0]);
	assert_ptr_equal(classes_at(w->classes, 0), v[2]);
	assert_int_equal(class_link(v[2])->number, 0);
	assert_int_equal(class_link(v[1])->number, 1);
	for (i = 0; classes_each(w->classes, &cursor); i++)
		;
	assert_int_equal(i, 2);
}

/* One waiter for each alternative and kind of list. */
static void a_class_has_its_waiters(void **state)
{
	struct world *w = *state;
	struct job_info j = job(w);
	struct waiter_list list = LIST_HEAD_INITIALIZER(list);
	const struct class_link *l;
	struct class *class;
	uint32_t i;

	j.gpus = w->either;
	class = classes_want(w->classes, &j, 0);
	l = class_link(class);
	assert_int_equal(l->n_waiters, 4);
	for (i = 0; i < 4; i++) {
		assert_ptr_equal(l->waiters[i].class, class);
		assert_int_equal(l->waiters[i].alternative, i % 2);
		assert_false(waiter_linked(&l->waiters[i]));
	}
	waiter_link(&list, &l->waiters[0]);
	waiter_link(&list, &l->waiters[3]);
	assert_ptr_equal(LIST_FIRST(&list), &l->waiters[3]);
	waiter_unlink(&l->waiters[3]);
	assert_false(waiter_linked(&l->waiters[3]));
	assert_true(waiter_linked(&l->waiters[0]));
	assert_ptr_equal(LIST_FIRST(&list), &l->waiters[0]);
	waiter_unlink(&l->waiters[0]);
	assert_true(LIST_EMPTY(&list));
}

/* Never shorter, at most an eighth longer or up to the next minute, and in order. */
static void lengths_are_rounded_up(void **state)
{
	uint32_t s, before = 0;

	(void)state;
	assert_int_equal(class_length(0), 0);
	assert_int_equal(class_length(1), 60);
	assert_int_equal(class_length(60), 60);
	assert_int_equal(class_length(61), 120);
	assert_int_equal(class_length(UINT32_MAX), UINT32_MAX);
	for (s = 1; s < 40 * 86400; s += s < 10000 ? 1 : 997) {
		uint32_t n = class_length(s);

		assert_true(n >= s && n >= before);
		assert_true(n < s + 60 || n <= s + s / 8);
		assert_int_equal(class_length(n), n);
		before = n;
	}
}

static void a_place_is_taken_until_its_grace_is_over(void **state)
{
	struct conf_partition p = { .grace_s = 30 };

	(void)state;
	assert_true(class_length_us(0, &p) == PLAN_FAR);
	assert_true(class_length_us(60, NULL) == PLAN_START_TAKES + 60 * 1000000 + PLAN_END_TAKES);
	assert_true(class_length_us(60, &p) == PLAN_START_TAKES + 90 * 1000000 + PLAN_END_TAKES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		        jobs_that_differ_in_nothing_are_one_class, setup, teardown),
		cmocka_unit_test_setup_teardown(each_part_of_the_key_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(
		        a_list_makes_a_class_for_each_partition, setup, teardown),
		cmocka_unit_test_setup_teardown(
		        the_last_class_takes_over_a_number, setup, teardown),
		cmocka_unit_test_setup_teardown(a_class_has_its_waiters, setup, teardown),
		cmocka_unit_test(lengths_are_rounded_up),
		cmocka_unit_test(a_place_is_taken_until_its_grace_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
