/* test_scaler.c - how many replicas a service should have */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/services/scaler.h"

#define S  ((usec_t)1000000)
#define M  (60 * S)
#define T0 (1000 * S)

static const struct scale_policy usual = { .min = 1,
	.max = 20,
	.target = 64,
	.kv_target = 0.8,
	.window = 60 * S,
	.burst_window = 6 * S,
	.scale_down = 5 * M,
	.to_zero = 15 * M };

struct lab {
	struct scale_policy policy;
	struct scaler *s;
	struct scale_input in;
	struct scale_decision d;
};

/* The sentence begins with the number, ends within its space and has nothing odd in it. */
static void check(const struct lab *l)
{
	char begin[16];

	snprintf(begin, sizeof(begin), "%u: ", l->d.want);
	assert_memory_equal(l->d.text, begin, strlen(begin));
	assert_true(strlen(l->d.text) > strlen(begin));
	assert_true(strlen(l->d.text) < SCALE_TEXT - 1);
	assert_null(strstr(l->d.text, "nan"));
	assert_null(strstr(l->d.text, "inf"));
	assert_true(l->d.next > l->in.now);
}

static struct scale_decision *step(struct lab *l)
{
	uint32_t before = l->d.want;

	l->d = scaler_step(l->s, &l->in);
	check(l);
	assert_int_equal(l->d.changed, l->d.want != before);
	return &l->d;
}

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

static struct lab lab(const struct scale_policy *policy, uint32_t want)
{
	struct lab l = { .policy = *policy, .in = { .now = T0 }, .d = { .want = want } };

	l.s = scaler_new(policy, want, T0);
	return l;
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
	assert_int_equal(run(&l, 10, 4, 300), 4); /* the mean is 263 */
	assert_int_equal(run(&l, 50, 4, 300), 5); /* 300 */
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
		assert_int_equal(run(&l, 400, 5, 64), 2);
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

static void test_burst(void **state)
{
	struct scale_policy p = usual;
	struct lab l;
	usec_t until;

	(void)state;
	p.scale_down = 10 * S;
	l = settled(&p, 2);
	run(&l, 60, 2, 100);
	assert_int_equal(l.d.want, 2);
	assert_int_equal(run(&l, 1, 2, 600), 2);
	run(&l, 2, 2, 600); /* (3 x 100 + 3 x 600) / 6 */
	assert_int_equal(l.d.want, 6);
	assert_says(&l, "6: burst, 350 in flight over 0:06 / 64 a replica");
	until = l.in.now + M;
	while (l.in.now + S < until) {
		run(&l, 1, 6, 0);
		assert_int_equal(l.d.want, 6);
	}
	assert_says(&l, "none is given up for 1:00 after a burst, 0:01 left");
	assert_true(l.d.next == until);
	run(&l, 20, 6, 0);
	assert_int_equal(l.d.want, 3);
	scaler_free(l.s);
}

static void test_down_to_the_highest(void **state)
{
	struct lab l = settled(&usual, 10);

	(void)state;
	follow(&l, 120, 6 * 64);
	follow(&l, 179, 2 * 64);
	assert_int_equal(l.d.want, 10);
	assert_says(&l, "the most that was needed in 5:00");
	follow(&l, 70, 2 * 64);
	assert_int_equal(l.d.want, 6); /* in between it was asked for */
	follow(&l, 120, 2 * 64);
	assert_int_equal(l.d.want, 3); /* at most half in a window */
	assert_says(&l, "at most half is given up in 1:00");
	follow(&l, 65, 2 * 64);
	assert_int_equal(l.d.want, 2);
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
	assert_says(&l, "10: burst, 640 in flight over 0:06 / 64 a replica");
	scaler_free(l.s);
}

static void test_noise(void **state)
{
	static const struct {
		double running, waiting, answered;
		usec_t load_time;
		bool held_back;
	} t[] = {
		{ 200, 60, 20, 120 * S, true },  /* spare 20 * (256 / 200 - 1) = 5.6/s: 11 s */
		{ 200, 60, 20, 5 * S, false },   /* a new one is there before that */
		{ 200, 60, 20, 0, false },       /* nothing is learned */
		{ 200, 60, 4, 120 * S, false },  /* waits 15 s */
		{ 260, 60, 20, 120 * S, false }, /* nothing is spare */
		{ 200, 60, 0, 120 * S, false },
	};
	struct scale_policy p = usual;
	size_t i;

	(void)state;
	p.request_wait = 10 * S;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct lab l = lab(&p, 4);

		run(&l, 60, 4, 400);
		scaler_free(l.s);
		l = lab(&p, 4);
		if (t[i].load_time)
			scaler_learn(l.s, t[i].load_time);
		l.in.waiting = t[i].waiting + 30;
		l.in.answered = t[i].answered;
		run(&l, 1, 4, t[i].running);
		l.in.waiting = t[i].waiting + 30;
		run(&l, 60, 4, t[i].running);
		assert_int_equal(l.d.want, t[i].held_back ? 4 : t[i].running > 250 ? 6 : 5);
		if (t[i].held_back)
			assert_says(&l, "90 wait and are answered before another replica is ready");
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
	assert_int_equal(run(&l, 20, 12, 64), 12); /* a new window begins with what there is */
	assert_int_equal(run(&l, 20, 12, 64), 6);
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

/* --- against a slow model -------------------------------------------------------------------- */

#define MODEL_STEPS 1500

/* All that ever was, at whole seconds. */
struct model {
	struct scale_policy p;
	double level[MODEL_STEPS];
	bool known[MODEL_STEPS];
	uint32_t asked[MODEL_STEPS], want[MODEL_STEPS];
	int burst_until;
	bool unsure; /* the last decision hangs on the last bit */
	int sure;    /* steps that did not */
};

static double model_mean(const struct model *m, int now, usec_t window)
{
	double sum = 0;
	int n = 0, i;

	for (i = now; i > now - window / S && i >= 0; i--) {
		sum += m->known[i] ? m->level[i] : 0;
		n += m->known[i];
	}
	return n ? sum / n : m->level[now];
}

static uint32_t model_most(const uint32_t *v, int from, int now)
{
	uint32_t most = 0;

	for (; from <= now; from++)
		most = from >= 0 && v[from] > most ? v[from] : most;
	return most;
}

static uint32_t model_clamp(const struct model *m, uint32_t v)
{
	return v < m->p.min ? m->p.min : v > m->p.max ? m->p.max : v;
}

/* At second `now` after the start; [0] is the start itself. */
static uint32_t model_step(struct model *m, int now, uint32_t ready, bool known, double level)
{
	uint32_t present = m->want[now - 1], asked, half;
	int buckets = (int)(m->p.scale_down / 60 / S);
	double load, recent, need;
	bool burst = false;

	m->level[now] = level;
	m->known[now] = known;
	load = model_mean(m, now, m->p.window) / m->p.target;
	recent = model_mean(m, now, m->p.burst_window) / m->p.target;
	need = load;
	m->unsure = fabs(recent - 2.0 * ready) < 1e-6 ||
	            (recent > 0 && fabs(recent - 1.01 * load) < 1e-9);
	if (recent >= 2.0 * ready && recent > 1.01 * load) {
		need = recent;
		burst = true;
		m->burst_until = now + (int)(m->p.window / S);
	}
	m->unsure |= (need > 0 && fabs(need - round(need)) < 1e-6) ||
	             fabs(fabs(need - present) - 0.1 * present) < 1e-6;
	m->asked[now] = asked = model_clamp(m, (uint32_t)ceil(need));
	m->want[now] = present;
	if (asked != present && fabs(need - present) <= 0.1 * present && !burst)
		return present;
	if (asked > present) {
		m->want[now] = known ? asked : present;
	} else if (asked < present && known && now >= m->p.scale_down / S &&
	           now >= m->burst_until) {
		int first =
		        ((int)(T0 / S) + now) / buckets * buckets - 60 * buckets - (int)(T0 / S);

		/* what was asked for holds until the next step */
		asked = model_most(m->asked, first - 1, now);
		half = model_most(m->want, now - 60, now);
		half = half > 1 ? half - half / 2 : 0;
		asked = asked > half ? asked : half;
		m->want[now] = asked < present ? asked : present;
	}
	return m->want[now];
}

/* The steps that were compared. */
static int against_model(unsigned seed)
{
	struct model *m = xcalloc(1, sizeof(*m));
	struct lab l;
	double level = 100;
	bool known = true;
	int i;

	srand(seed);
	m->p = usual;
	m->p.kv_target = 0;
	m->p.target = 1 + rand() % 64;
	m->p.min = 1 + (uint32_t)rand() % 3;
	m->p.max = m->p.min + (uint32_t)rand() % 30;
	m->p.scale_down = (1 + rand() % 8) * M;
	m->burst_until = -1;
	m->asked[0] = m->want[0] = m->p.min;
	l = lab(&m->p, m->p.min);
	for (i = 1; i < MODEL_STEPS; i++) {
		uint32_t ready = l.d.want;

		if (rand() % 40 == 0)
			level = rand() % (int)(m->p.target * (m->p.max + 5));
		level = level * (0.9 + (rand() % 200) / 1000.0);
		if (rand() % 50 == 0)
			known = !known || rand() % 2;
		model_step(m, i, ready, known, known ? level : 0);
		l.in.now += S;
		l.in.ready = ready;
		l.in.known = known ? ready : 0;
		l.in.running = known ? level : 0;
		step(&l);
		if (m->unsure)
			break;
		m->sure = i;
		if (l.d.want != m->want[i])
			fail_msg("seed %u, step %d: %u instead of %u: %s", seed, i, l.d.want,
			        m->want[i], l.d.text);
	}
	scaler_free(l.s);
	i = m->sure;
	free(m);
	return i;
}

static void test_against_model(void **state)
{
	const char *one = getenv("SCALER_SEED");
	unsigned seed;
	long sure = 0;

	(void)state;
	if (one) {
		against_model((unsigned)strtoul(one, NULL, 10));
		return;
	}
	for (seed = 1; seed <= 300; seed++)
		sure += against_model(seed);
	print_message("%ld steps compared\n", sure);
	assert_true(sure > 200 * MODEL_STEPS);
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
		cmocka_unit_test(test_down_to_the_highest),
		cmocka_unit_test(test_at_most_half),
		cmocka_unit_test(test_zero_and_wake),
		cmocka_unit_test(test_woken_by_many),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_load_time),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_policy_changes),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_no_numbers_are_unknown),
		cmocka_unit_test(test_against_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
