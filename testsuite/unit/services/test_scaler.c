/* test_scaler.c - how many replicas a service should have */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "testsuite/unit/lib/scaler_lab.h"

/* With `ready` replicas of which all is known, for `seconds`, a step each. */
static uint32_t run(struct lab *l, unsigned seconds, uint32_t ready, double load)
{
	l->in.ready = l->in.known = ready;
	l->in.running = load;
	while (seconds--) {
		l->in.now += S;
		step(l);
	}
	return l->d.want;
}

/* The same, each decision carried out at once. */
static uint32_t follow(struct lab *l, unsigned seconds, double load)
{
	while (seconds--)
		run(l, 1, l->d.want, load);
	return l->d.want;
}

/* Up for so long that a start holds nothing back any more. */
static struct lab settled(const struct scale_policy *policy, uint32_t want)
{
	struct lab l = lab(policy, want);

	run(&l, 301, want, want * policy->target);
	assert_int_equal(l.d.want, want);
	return l;
}

#define assert_says(l, words)                                                 \
	do {                                                                  \
		if (!strstr((l)->d.text, words))                              \
			fail_msg("\"%s\" has no \"%s\"", (l)->d.text, words); \
	} while (0)

/* --- the rules, one by one ------------------------------------------------------------------- */

static void test_table(void **state)
{
	static const struct {
		uint32_t ready;
		double load, kv;
		uint32_t want;
		const char *text;
	} t[] = {
		{ 4, 290, 0.1, 5, "5: 290 in flight over 1:00 / 64 a replica" },
		{ 4, 256, 0.1, 4, "4: 256 in flight over 1:00 / 64 a replica" },
		{ 4, 257, 0.1, 4, "4: 257 in flight over 1:00 / 64 a replica; within 10 %" },
		{ 4, 281.5, 0.1, 4, "4: 281.5 in flight over 1:00 / 64 a replica; within 10 %" },
		{ 4, 283, 0.1, 5, "5: 283 in flight over 1:00 / 64 a replica" },
		{ 4, 10, 1, 5, "5: 4 caches full over 1:00 / 80 %" },
		{ 4, 10, 0.85, 4, "4: 3.4 caches full over 1:00 / 80 %; within 10 %" },
		{ 12, 3000, 0, 20, "20: 3000 in flight over 1:00 / 64 a replica; the most is 20" },
		{ 1, 0, 0, 1, "1: 0 in flight over 1:00 / 64 a replica; the least is 1" },
		{ 1, 64, 0, 1, "1: 64 in flight over 1:00 / 64 a replica" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct lab l = lab(&usual, t[i].ready);

		l.in.kv = t[i].kv;
		run(&l, 70, t[i].ready, t[i].load);
		assert_says(&l, t[i].text);
		assert_int_equal(l.d.want, t[i].want);
		scaler_free(l.s);
	}
}

static void test_fixed(void **state)
{
	struct scale_policy p = usual;
	struct lab l;

	(void)state;
	p.target = 0;
	p.min = 3;
	l = lab(&p, 5);
	assert_int_equal(run(&l, 1, 5, 10000), 3);
	assert_string_equal(l.d.text, "3: the number is fixed");
	assert_true(l.d.next == INT64_MAX);
	scaler_free(l.s);
}

/* A load counts over the window, and only where it was known. */
static void test_window(void **state)
{
	struct lab l = settled(&usual, 4);

	(void)state;
	assert_int_equal(run(&l, 10, 4, 290), 4); /* the mean is 262 */
	assert_int_equal(run(&l, 50, 4, 290), 5); /* 290 */
	scaler_free(l.s);
	l = settled(&usual, 4);
	l.in.now += 10 * M; /* of which nothing is known */
	assert_int_equal(run(&l, 1, 4, 300), 5);
	assert_says(&l, "300 in flight");
	scaler_free(l.s);
}

/* Times are since any point: a window may reach below 0. */
static void test_times_about_zero(void **state)
{
	static const usec_t starts[] = { 0, -1, -3 * S - 1, 1, -10 * M };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct lab l = { .in = { .now = starts[i] }, .d = { .want = 4 } };

		l.s = scaler_new(&usual, 4, starts[i]);
		l.in.ready = l.in.known = 4;
		l.in.running = 320;
		step(&l);
		assert_int_equal(run(&l, 400, 4, 320), 5);
		assert_int_equal(run(&l, 400, 5, 64), 1);
		scaler_free(l.s);
	}
}

static void test_after_a_start(void **state)
{
	struct lab l = lab(&usual, 8);

	(void)state;
	assert_int_equal(run(&l, 299, 8, 10), 8);
	assert_says(&l, "none is given up for 5:00 after a start, 0:01 left");
	assert_true(l.d.next == T0 + 5 * M);
	run(&l, 70, 8, 10);
	assert_true(l.d.want < 8);
	scaler_free(l.s);
	l = lab(&usual, 2);
	assert_int_equal(run(&l, 70, 2, 640), 10); /* up it goes at once */
	scaler_free(l.s);
}

static void test_unknown_never_lowers(void **state)
{
	struct lab l = settled(&usual, 8);
	unsigned i;

	(void)state;
	for (i = 0; i < 2000; i++) {
		l.in.now += S;
		l.in.known = i % 8;
		l.in.running = 0;
		step(&l);
		assert_int_equal(l.d.want, 8);
	}
	assert_says(&l, "of 8 is not known: none is given up");
	l.in.known = 0;
	step(&l);
	assert_string_equal(
	        l.d.text, "8: no load is known; the load of 8 of 8 is not known: none is given up");
	scaler_free(l.s);
}

/* What some are known to have raises it; the others count with their target at most. */
static void test_partly_known(void **state)
{
	struct lab l = settled(&usual, 4);
	unsigned i;

	(void)state;
	for (i = 0; i < 61; i++) {
		l.in.now += S;
		l.in.known = 3;
		l.in.running = 3 * 128;
		step(&l);
	}
	assert_int_equal(l.d.want, 7);
	assert_says(&l, "7: 448 in flight");
	scaler_free(l.s);
	l = settled(&usual, 10);
	for (i = 0; i < 60; i++) {
		l.in.now += S;
		l.in.known = 1;
		l.in.running = 64;
		step(&l);
		assert_int_equal(l.d.want, 10); /* as loaded as this one: all is well */
	}
	scaler_free(l.s);
}

/* What is sudden counts within seconds, less what chance alone adds. */
static void test_burst(void **state)
{
	struct lab l = settled(&usual, 2);

	(void)state;
	run(&l, 60, 2, 100);
	assert_int_equal(run(&l, 1, 2, 600), 3); /* the mean of 6 s is 183, its root 14 */
	run(&l, 2, 3, 600);                      /* 350 and 19 */
	assert_int_equal(l.d.want, 6);
	assert_says(&l, "6: burst, 331.3 in flight over 0:06 / 64 a replica");
	assert_int_equal(run(&l, 3, 6, 600), 9);
	scaler_free(l.s);
	l = settled(&usual, 2);
	run(&l, 60, 2, 100);
	assert_int_equal(run(&l, 6, 2, 130), 2); /* that may be chance */
	scaler_free(l.s);
}

/* Requests that wait do not count like those in service: `arriving` a second come, each is in
 * service for 5 s, and more than `most` are not in service at once. */
static void queue(struct lab *l, unsigned secs, uint32_t ready, double arriving, double most)
{
	while (secs--) {
		double answered = l->in.running / 5, all;

		l->in.now += S;
		l->in.ready = l->in.known = ready;
		l->in.answered = answered;
		all = l->in.running + l->in.waiting + arriving - answered;
		l->in.running = all < most ? all : most;
		l->in.waiting = all - l->in.running;
		step(l);
	}
}

static void test_queue(void **state)
{
	struct scale_policy p = usual;
	struct lab l;

	(void)state;
	p.target = 10;
	l = lab(&p, 5);
	scaler_learn(l.s, 60 * S);
	queue(&l, 100, 5, 10, 70); /* 50 in service */
	assert_int_equal(l.d.want, 5);
	assert_says(&l, "5: 50 in service over 1:00 / 10 a replica");
	queue(&l, 10, 5, 18, 70); /* 90 would be, and 4 a second have to wait */
	assert_in_range(l.d.want, 8, 13);
	queue(&l, 50, 5, 18, 70);
	assert_true(l.in.waiting > 150);
	assert_in_range(l.d.want, 10, 18);
	assert_says(&l, " waiting / 10 a replica");
	queue(&l, 120, 12, 18, 160); /* they are ready: what waited is answered */
	assert_true(l.in.waiting <= 0);
	queue(&l, 60, 12, 18, 160);
	assert_says(&l, "90 in service over 1:00 / 10 a replica");
	scaler_free(l.s);
}

/* A target that replicas cannot reach is what they take. */
static void test_target_out_of_reach(void **state)
{
	struct lab l = lab(&usual, 2);

	(void)state;
	queue(&l, 200, 2, 12, 40); /* 8 a second are answered, 20 in service each */
	assert_says(&l, " / 20 a replica");
	assert_true(l.d.want >= 3);
	scaler_free(l.s);
}

/* What was needed fades; 1/7 of it is left after `scale_down`. */
static void test_fades(void **state)
{
	struct lab l = settled(&usual, 16);
	uint32_t last = 16;
	int i;

	(void)state;
	follow(&l, 62, 32);
	assert_in_range(l.d.want, 10, 12);
	assert_says(&l, "is kept");
	for (i = 0; i < 1900; i++) {
		follow(&l, 1, 32);
		assert_true(l.d.want <= last);
		last = l.d.want;
		if (i == 300)
			assert_in_range(last, 2, 3);
	}
	assert_int_equal(last, 1);
	scaler_free(l.s);
}

/* For so many seconds `high` requests, then `low` ones; what is wanted then. */
static uint32_t burst(struct lab *l, unsigned seconds, double high, unsigned rest, double low)
{
	follow(l, seconds, high);
	return follow(l, rest, low);
}

/* Bursts that come again and again keep replicas; one burst does not, nor a slow rise. */
static void test_bursts(void **state)
{
	struct lab l = settled(&usual, 2);
	int i;

	(void)state;
	scaler_learn(l.s, M);
	follow(&l, 3600, 100);
	assert_int_equal(burst(&l, 120, 640, 900, 100), 2);
	for (i = 0; i < 12; i++)
		burst(&l, 120, 640, 600, 100);
	assert_in_range(l.d.want, 8, 12);
	assert_says(&l, "are kept for bursts: the load needed so many sooner than a start takes in 6.7 %");
	assert_int_equal(follow(&l, 10000, 100), 2); /* they came no more */
	scaler_free(l.s);
	l = settled(&usual, 2);
	scaler_learn(l.s, M);
	for (i = 0; i < 8 * 1800; i++) /* up and down in an hour */
		follow(&l, 1, 100 + 0.3 * (i / 1800 % 2 ? 1800 - i % 1800 : i % 1800));
	follow(&l, 1800, 100);
	assert_int_equal(l.d.want, 2);
	scaler_free(l.s);
}

/* What bursts need does not keep a service awake that may be zero. */
static void test_bursts_and_zero(void **state)
{
	struct scale_policy p = usual;
	struct lab l;
	int i;

	(void)state;
	p.min = 0;
	l = settled(&p, 2);
	scaler_learn(l.s, M);
	for (i = 0; i < 6; i++)
		burst(&l, 120, 640, 600, 100);
	assert_true(l.d.want > 2);
	assert_true(follow(&l, 14 * 60, 0) > 0);
	assert_int_equal(follow(&l, 3 * 60, 0), 0);
	scaler_free(l.s);
}

static void test_at_most_half(void **state)
{
	struct scale_policy p = usual;
	struct lab l;
	uint32_t before[400];
	unsigned i, k;

	(void)state;
	p.scale_down = S;
	l = settled(&p, 17);
	for (i = 0; i < 400; i++) {
		before[i] = l.d.want;
		follow(&l, 1, 0);
		for (k = i > 59 ? i - 59 : 0; k <= i; k++)
			assert_true(l.d.want * 2 >= before[k]);
	}
	assert_int_equal(l.d.want, 1);
	scaler_free(l.s);
}

static void test_zero_and_wake(void **state)
{
	struct scale_policy p = usual;
	struct lab l;

	(void)state;
	p.min = 0;
	l = settled(&p, 1);
	assert_int_equal(follow(&l, 15 * 60 - 1, 0), 1);
	assert_says(&l, "awake until 15:00 without a request");
	assert_true(l.d.next == l.in.now + S);
	assert_int_equal(follow(&l, 1, 0), 0);
	assert_int_equal(follow(&l, 1000, 0), 0);
	assert_true(l.d.next == INT64_MAX);
	l.in.held = 1;
	assert_int_equal(follow(&l, 1, 0), 1);
	l.in.held = 0;
	assert_int_equal(follow(&l, 15 * 60 - 1, 0), 1);
	l.in.answered = 0.1; /* a request came and went between two looks */
	follow(&l, 1, 0);
	l.in.answered = 0;
	assert_int_equal(follow(&l, 15 * 60 - 1, 0), 1);
	assert_int_equal(follow(&l, 1, 0), 0);
	scaler_wake(l.s, l.in.now + S);
	assert_int_equal(follow(&l, 15 * 60, 0), 1);
	assert_int_equal(follow(&l, 1, 0), 0);
	scaler_free(l.s);
	l = lab(&p, 0); /* a start of the controller wakes nothing */
	assert_int_equal(follow(&l, 10, 0), 0);
	scaler_free(l.s);
}

/* Many that are held at zero are a burst. */
/* What stays in a cache after the last request keeps no replica. */
static void test_full_cache_at_rest(void **state)
{
	struct scale_policy p = usual;
	struct lab l;

	(void)state;
	p.min = 0;
	l = lab(&p, 2);
	l.in.kv = 0.5;
	assert_int_equal(run(&l, 400, 2, 100), 2);
	run(&l, 20 * 60, 1, 0);
	assert_int_equal(l.d.want, 0);
	scaler_free(l.s);
}

static void test_woken_by_many(void **state)
{
	struct scale_policy p = usual;
	struct lab l;

	(void)state;
	p.min = 0;
	l = lab(&p, 0);
	follow(&l, 100, 0);
	l.in.held = 640;
	assert_true(follow(&l, 1, 0) >= 2);
	run(&l, 6, 0, 0);
	assert_int_equal(l.d.want, 10);
	scaler_free(l.s);
}

/* More came than the replicas are for, and then less: the window still asks for more. */
static void test_noise(void **state)
{
	static const struct {
		usec_t request_wait, load_time;
		double waiting, after; /* requests; a second, after the change */
		bool held_back;
	} t[] = {
		{ 10 * S, 120 * S, 10, 18, true },
		{ 10 * S, 0, 10, 18, false },       /* nothing is learned */
		{ 0, 120 * S, 10, 18, false },      /* not asked for */
		{ S / 10, 120 * S, 10, 18, false }, /* waits half a second */
		{ 10 * S, 120 * S, 10, 29, false }, /* nothing is spare */
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct scale_policy p = usual;
		struct lab l;

		p.max = 4;
		p.request_wait = t[i].request_wait;
		l = lab(&p, 4);
		if (t[i].load_time)
			scaler_learn(l.s, t[i].load_time);
		l.in.answered = 30;
		run(&l, 60, 4, 330);
		p.max = 20;
		scaler_set_policy(l.s, &p);
		l.in.answered = t[i].after;
		l.in.waiting = t[i].waiting;
		run(&l, 1, 4, t[i].after * 11);
		assert_int_equal(l.d.want == 4, t[i].held_back);
		if (t[i].held_back)
			assert_says(&l, "10 wait and are answered before another replica is ready");
		scaler_free(l.s);
	}
}

static void test_load_time(void **state)
{
	struct scaler *s = scaler_new(&usual, 1, T0);
	int i;

	(void)state;
	assert_true(scaler_load_time(s) == 0);
	scaler_learn(s, 7 * S);
	assert_true(scaler_load_time(s) == 7 * S);
	for (i = 1; i <= 100; i++)
		scaler_learn(s, i * S);
	assert_true(scaler_load_time(s) == 99 * S); /* of 85 to 100 */
	scaler_learn(s, -5);
	scaler_learn(s, INT64_MAX);
	assert_true(scaler_load_time(s) > 0);
	scaler_free(s);
}

static void test_late(void **state)
{
	struct lab l = lab(&usual, 6);

	(void)state;
	scaler_learn(l.s, 90 * S);
	l.in.loading = 3;
	l.in.late = 2;
	assert_int_equal(run(&l, 1, 3, 6 * 64), 8);
	assert_says(&l,
	        "8: 384 in flight over 1:00 / 64 a replica; 2 for those that load for more than "
	        "twice 1:30");
	l.in.late = l.in.loading = 100;
	assert_int_equal(run(&l, 1, 3, 6 * 64), 20);
	l.in.late = 0;
	assert_int_equal(run(&l, 1, 3, 6 * 64), 6);
	scaler_free(l.s);
}

static void test_policy_changes(void **state)
{
	struct lab l = settled(&usual, 8);
	struct scale_policy p = usual;

	(void)state;
	p.max = 5;
	scaler_set_policy(l.s, &p);
	assert_int_equal(run(&l, 1, 8, 512), 5); /* at once */
	p.max = 30;
	p.min = 12;
	scaler_set_policy(l.s, &p);
	assert_int_equal(run(&l, 1, 5, 320), 12);
	p.min = 1;
	p.scale_down = p.window = M / 2;
	scaler_set_policy(l.s, &p);
	assert_int_equal(run(&l, 20, 12, 64), 6); /* a new window begins with what there is */
	assert_true(run(&l, 20, 6, 64) < 6);
	scaler_free(l.s);
}

/* --- hostile numbers ------------------------------------------------------------------------- */

static const double odd[] = { 0, -1, -0.0, 1e300, -1e300, 1e-300, INFINITY, -INFINITY, NAN, 64,
	0.5 };
static const uint32_t counts[] = { 0, 1, 2, 7, 1000, UINT32_MAX };
static const usec_t times[] = { 0, -1, INT64_MIN, INT64_MAX, S, 60 * S, 3600 * S };

#define ANY(list) ((list)[(uint32_t)rand() % (sizeof(list) / sizeof((list)[0]))])

static void odd_policy(struct scale_policy *p)
{
	*p = usual;
	p->min = ANY(counts);
	p->max = ANY(counts);
	p->target = ANY(odd);
	p->kv_target = ANY(odd);
	p->window = ANY(times);
	p->burst_window = ANY(times);
	p->scale_down = ANY(times);
	p->to_zero = ANY(times);
	p->request_wait = ANY(times);
}

static void test_hostile(void **state)
{
	int i, k;

	(void)state;
	srand(1);
	for (i = 0; i < 3000; i++) {
		struct scale_policy p;
		struct lab l;
		uint32_t max;

		odd_policy(&p);
		l = lab(&p, ANY(counts));
		max = p.max < p.min ? p.min : p.max;
		for (k = 0; k < 40; k++) {
			l.in = (struct scale_input){ l.in.now + (rand() % 5000 - 1000) * (S / 1000),
				ANY(counts), ANY(counts), ANY(counts), ANY(counts), ANY(odd),
				ANY(odd), ANY(odd), ANY(odd), ANY(odd) };
			if (rand() % 8 == 0)
				scaler_learn(l.s, ANY(times));
			l.d = scaler_step(l.s, &l.in);
			assert_in_range(l.d.want, p.min, max);
			assert_null(strstr(l.d.text, "nan"));
			assert_null(strstr(l.d.text, "inf "));
			assert_true(strlen(l.d.text) < SCALE_TEXT - 1);
			assert_true(strtoul(l.d.text, NULL, 10) == l.d.want);
		}
		scaler_free(l.s);
	}
}

static void test_no_numbers_are_unknown(void **state)
{
	struct lab l = settled(&usual, 8);
	size_t i;

	(void)state;
	for (i = 0; i < 4000; i++) {
		static const double none[] = { NAN, INFINITY, -1, -INFINITY };

		l.in.now += S;
		*(i % 2 ? &l.in.running : &l.in.waiting) = none[i / 2 % 4];
		step(&l);
		assert_int_equal(l.d.want, 8);
		l.in.running = l.in.waiting = 0;
	}
	scaler_free(l.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_times_about_zero),
		cmocka_unit_test(test_after_a_start),
		cmocka_unit_test(test_unknown_never_lowers),
		cmocka_unit_test(test_partly_known),
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_target_out_of_reach),
		cmocka_unit_test(test_fades),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_bursts_and_zero),
		cmocka_unit_test(test_at_most_half),
		cmocka_unit_test(test_zero_and_wake),
		cmocka_unit_test(test_full_cache_at_rest),
		cmocka_unit_test(test_woken_by_many),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_load_time),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_policy_changes),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_no_numbers_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
