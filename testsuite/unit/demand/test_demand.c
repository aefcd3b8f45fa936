/* test_demand.c - the statistics behind gdemand, against what is known of them (ctld/gdemand/) */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/gdemand/bootstrap.h"
#include "ctld/gdemand/erlang.h"
#include "ctld/gdemand/level_over_time.h"
#include "ctld/gdemand/survival.h"
#include "ctld/gdemand/tables.h"
#include "ctld/gdemand/weighted_stats.h"
#include "ctld/gsim/random.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define S      ((usec_t)1000000)

static void near(double have, double want, double part)
{
	if (!(fabs(have - want) <= part * fabs(want)))
		fail_msg("%.9g is not within %g of %.9g", have, part, want);
}

/* --- weighted -------------------------------------------------------------------------------- */

static void weighted_numbers(void **state)
{
	static const double q[] = { 0, 0.05, 0.5, 0.95, 1 };
	static const uint32_t only_second[] = { 0, 3 };
	struct weighted w = { 0 };
	double got[LEN(q)];

	(void)state;
	weighted_add(&w, 10, 90, 0);
	weighted_add(&w, 2, 4, 0);
	weighted_add(&w, 30, 5, 1);
	weighted_add(&w, 30, 1, 1);
	weighted_add(&w, NAN, 7, 1);
	weighted_add(&w, INFINITY, 7, 1);
	weighted_add(&w, 99, 0, 1);
	weighted_seal(&w);
	assert_int_equal(w.n, 3);
	weighted_quantiles(&w, q, LEN(q), NULL, got);
	near(got[0], 2, 0);
	near(got[1], 10, 0);
	near(got[2], 10, 0);
	near(got[3], 30, 0);
	near(got[4], 30, 0);
	near(weighted_mean(&w, NULL), (900 + 8 + 180) / 100.0, 1e-12);
	near(weighted_quantile(&w, 0.01, only_second), 30, 0);
	near(weighted_total(&w, only_second), 18, 0);
	assert_true(weighted_cv(&w, only_second) == 0);
	weighted_clear(&w);
	assert_true(isnan(weighted_quantile(&w, 0.5, NULL)) && isnan(weighted_mean(&w, NULL)));
	weighted_seal(&w);
}

/* Of 1 to 1001, each of the same weight. */
static void weighted_quantiles_of_many(void **state)
{
	struct weighted w = { 0 };
	int i;

	(void)state;
	for (i = 0; i <= 1000; i++)
		weighted_add(&w, 1 + (i * 379) % 1001, 0.125, 0);
	weighted_seal(&w);
	for (i = 1; i <= 1001; i++)
		near(weighted_quantile(&w, i / 1001.0, NULL), i, 0);
	near(weighted_cv(&w, NULL), sqrt((1001.0 * 1001 - 1) / 12) / 501, 1e-9);
	weighted_clear(&w);
}

/* --- bootstrap ------------------------------------------------------------------------------- */

static void ask_mean(const void *arg, const uint32_t *times, double *out)
{
	*out = weighted_mean(arg, times);
}

static double normal(uint64_t *state)
{
	double sum = -6;
	int i;

	for (i = 0; i < 12; i++)
		sum += random_unit(state);
	return sum;
}

/* The interval of a mean of independent blocks holds the truth in about 95 of 100 histories. */
static void bootstrap_covers(void **state)
{
	uint64_t chance = 7;
	int history, holds = 0;
	uint32_t i;

	(void)state;
	for (history = 0; history < 400; history++) {
		const struct bootstrap b = { 40, 200, (uint64_t)history };
		struct weighted w = { 0 };
		struct interval mean;

		for (i = 0; i < 400; i++)
			weighted_add(&w, 5 + normal(&chance), 1, i % 40);
		weighted_seal(&w);
		bootstrap(&b, ask_mean, &w, 1, &mean);
		assert_true(mean.known && mean.low <= mean.value && mean.value <= mean.high);
		holds += mean.low <= 5 && 5 <= mean.high;
		weighted_clear(&w);
	}
	assert_in_range(holds, 360, 392);
}

static void bootstrap_needs_blocks(void **state)
{
	struct weighted w = { 0 };
	struct bootstrap b = { BOOTSTRAP_LEAST - 1, 100, 1 };
	struct interval one, two;

	(void)state;
	weighted_add(&w, 3, 1, 0);
	weighted_add(&w, 5, 1, 1);
	weighted_seal(&w);
	bootstrap(&b, ask_mean, &w, 1, &one);
	assert_true(one.value == 4 && !one.known);
	b.blocks = BOOTSTRAP_LEAST;
	bootstrap(&b, ask_mean, &w, 1, &one);
	bootstrap(&b, ask_mean, &w, 1, &two);
	assert_true(one.known && one.low == two.low && one.high == two.high);
	b.rounds = 0;
	bootstrap(&b, ask_mean, &w, 1, &one);
	assert_false(one.known);
	weighted_clear(&w);
	bootstrap(&b, ask_mean, &w, 1, &one);
	assert_true(isnan(one.value) && !one.known);
}

/* --- survival -------------------------------------------------------------------------------- */

/* Worked out by hand: of six, 1 gives up at 1, 2 is censored, 3 gives up twice, 4 is censored, 5. */
static void survival_by_hand(void **state)
{
	static const struct {
		double time;
		bool gave_up;
	} v[] = { { 5, true }, { 3, true }, { 1, true }, { 2, false }, { 3, true }, { 4, false } };
	struct survival s = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < LEN(v); i++)
		survival_add(&s, v[i].time, v[i].gave_up, 0);
	survival_add(&s, NAN, true, 0);
	survival_add(&s, -1, true, 0);
	survival_seal(&s);
	assert_int_equal(s.n, 6);
	near(survival_quantile(&s, 1.0 / 6, NULL), 1, 0); /* 5/6 stay */
	near(survival_quantile(&s, 0.17, NULL), 3, 0);    /* 5/6 * 2/4 = 5/12 */
	near(survival_quantile(&s, 7.0 / 12, NULL), 3, 0);
	near(survival_quantile(&s, 0.6, NULL), 5, 0); /* none stays */
	survival_clear(&s);
	survival_add(&s, 9, false, 0);
	survival_seal(&s);
	assert_true(isnan(survival_quantile(&s, 0.1, NULL)));
	survival_clear(&s);
	survival_seal(&s);
	assert_true(isnan(survival_quantile(&s, 0.1, NULL)));
}

/* Users' patience is exponential with mean 100 s, waits are uniform below 80 s: what is censored does
 * not bias the estimate. */
static void survival_is_unbiased(void **state)
{
	struct survival s = { 0 };
	uint64_t chance = 3;
	int i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		double patience = -100 * log1p(-random_unit(&chance));
		double wait = 80 * random_unit(&chance);

		survival_add(&s, patience < wait ? patience : wait, patience < wait, 0);
	}
	survival_seal(&s);
	near(survival_quantile(&s, 0.1, NULL), -100 * log(0.9), 0.02);
	near(survival_quantile(&s, 0.5, NULL), -100 * log(0.5), 0.02);
	survival_clear(&s);
}

/* --- levels ---------------------------------------------------------------------------------- */

struct pieces {
	int64_t level[8];
	usec_t until[8];
	size_t n;
};

static void take_piece(void *arg, usec_t from, usec_t to, int64_t level)
{
	struct pieces *p = arg;

	assert_true(from < to && p->n < 8);
	assert_true(!p->n || p->until[p->n - 1] == from);
	p->level[p->n] = level;
	p->until[p->n++] = to;
}

static void level_in_pieces(void **state)
{
	static const int64_t want[] = { 1, 3, 2, 5, 0 };
	static const usec_t until[] = { 10, 20, 30, 40, 50 };
	struct level l = { 0 };
	struct pieces p = { .n = 0 };

	(void)state;
	level_add(&l, 0, 20, 1);
	level_add(&l, 10, 40, 2);
	level_add(&l, 30, 40, 3);
	level_add(&l, 40, 40, 9);
	level_add(&l, 50, 40, 9);
	level_seal(&l);
	level_walk(&l, 5, 50, take_piece, &p);
	assert_int_equal(p.n, LEN(want));
	assert_memory_equal(p.level, want, sizeof(want));
	assert_memory_equal(p.until, until, sizeof(until));
	near(level_mean(&l, 0, 50), (10 + 30 + 20 + 50) / 50.0, 1e-12);
	assert_int_equal(level_at(&l, 9), 1);
	assert_int_equal(level_at(&l, 10), 3);
	assert_int_equal(level_at(&l, -1), 0);
	assert_int_equal(level_at(&l, 99), 0);
	assert_int_equal(level_kept(&l, 0, 50, 10), 5);
	assert_int_equal(level_kept(&l, 0, 50, 11), 2);
	assert_int_equal(level_kept(&l, 0, 50, 30), 2);
	assert_int_equal(level_kept(&l, 0, 50, 40), 1);
	assert_int_equal(level_kept(&l, 0, 50, 41), 0);
	level_clear(&l);
	level_seal(&l);
	assert_int_equal(level_kept(&l, 0, 50, 1), 0);
	assert_true(level_mean(&l, 0, 50) == 0 && level_mean(&l, 50, 50) == 0);
}

struct peaks {
	usec_t length[8];
	int64_t peak[8];
	size_t n;
};

static void take_peak(void *arg, usec_t from, usec_t to, int64_t peak)
{
	struct peaks *p = arg;

	p->length[p->n] = to - from;
	p->peak[p->n++] = peak;
}

static void level_above(void **state)
{
	struct level l = { 0 };
	struct peaks p = { .n = 0 };

	(void)state;
	level_add(&l, 10, 20, 4);
	level_add(&l, 15, 18, 2);
	level_add(&l, 30, 31, 5);
	level_add(&l, 40, 90, 7);
	level_seal(&l);
	level_excursions(&l, 0, 60, 3, take_peak, &p);
	assert_int_equal(p.n, 3);
	assert_true(p.length[0] == 10 && p.peak[0] == 6);
	assert_true(p.length[1] == 1 && p.peak[1] == 5);
	assert_true(p.length[2] == 20 && p.peak[2] == 7); /* it is cut at the end */
	level_clear(&l);
}

/* --- Erlang ---------------------------------------------------------------------------------- */

/* Values of tables: c = 1 is M/M/1; c = 10, load 8 has C = 0.4092; C(2, 1) = 1/3. */
static void erlang_known(void **state)
{
	(void)state;
	near(erlang_waits(0.5, 1), 0.5, 1e-12);
	near(erlang_waits(1, 2), 1.0 / 3, 1e-12);
	near(erlang_waits(8, 10), 0.40918, 1e-4);
	near(erlang_waits_over(0.8, 1, 100, 300), 0.8 * exp(-0.2 * 3), 1e-12);
	assert_true(erlang_waits(0, 5) == 0 && erlang_waits(5, 5) == 1 && erlang_waits(9, 5) == 1);
	assert_true(erlang_waits_over(5, 5, 1, 9) == 1);
	/* Ten thousand servers: nothing overflows. */
	assert_true(erlang_waits(9900, 10000) > 0.15 && erlang_waits(9900, 10000) < 0.35);
}

static void erlang_sizes(void **state)
{
	double load;

	(void)state;
	for (load = 0.1; load < 3000; load *= 1.7) {
		uint32_t n = erlang_servers(load, 3600, 600, 0.05);

		assert_true(n > load);
		assert_true(erlang_waits_over(load, n, 3600, 600) <= 0.05);
		assert_true(erlang_waits_over(load, n - 1, 3600, 600) > 0.05);
	}
	assert_int_equal(erlang_servers(0, 1, 1, 0.05), 0);
}

/* --- sheets ---------------------------------------------------------------------------------- */

static char *printed(const struct book *b, void (*print)(const struct book *b, FILE *out))
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	print(b, f);
	fclose(f);
	return text;
}

static void sheets(void **state)
{
	static const struct sheet_column columns[] = { { "name", "NAME", SHEET_TEXT },
		{ "gpus", "GPUS", SHEET_GPUS }, { "wait_s", "WAIT", SHEET_TIME } };
	const struct interval known = { 12, 10.5, 14, true }, unknown = { .value = NAN };
	struct book *b = book_new();
	struct sheet *s = BOOK_SHEET(b, "key", "Title", columns);
	char *text, *json;

	(void)state;
	sheet_text(s, "a\033b");
	sheet_interval(s, &known);
	sheet_number(s, 90061);
	sheet_text(s, "none");
	sheet_interval(s, &unknown);
	sheet_number(s, NAN);
	sheet_note(s, "a note");
	book_note(b, "a limit");
	text = printed(b, book_print);
	json = printed(b, book_print_json);
	assert_string_equal(text, "Title\n"
	                          "NAME             GPUS   WAIT\n"
	                          "a\\x1Bb  12 [10.5, 14]  1d 1h\n"
	                          "none                -      -\n"
	                          "  a note\n"
	                          "\nWhat this history does not show\n"
	                          "  a limit\n");
	assert_non_null(strstr(json, "\"wait_s\": null"));
	assert_non_null(strstr(json, "\"low\": 10.5"));
	assert_null(strstr(json, "nan"));
	free(text);
	free(json);
	book_free(b);
}

static void sheet_times(void **state)
{
	static const struct {
		double s;
		const char *text;
	} rows[] = { { 0, "0.0s" }, { 9.96, "10.0s" }, { 59, "59s" }, { 60, "1m 0s" },
		{ 3599, "59m 59s" }, { 3660, "1h 1m" }, { 200000, "2d 7h" } };
	char buf[SHEET_CELL_TEXT];
	size_t i;

	(void)state;
	for (i = 0; i < LEN(rows); i++)
		assert_string_equal(sheet_format(buf, SHEET_TIME, rows[i].s), rows[i].text);
	assert_string_equal(sheet_format(buf, SHEET_PART, 0.1234), "12.3%");
	assert_string_equal(sheet_format(buf, SHEET_RATIO, INFINITY), "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weighted_numbers),
		cmocka_unit_test(weighted_quantiles_of_many),
		cmocka_unit_test(bootstrap_covers),
		cmocka_unit_test(bootstrap_needs_blocks),
		cmocka_unit_test(survival_by_hand),
		cmocka_unit_test(survival_is_unbiased),
		cmocka_unit_test(level_in_pieces),
		cmocka_unit_test(level_above),
		cmocka_unit_test(erlang_known),
		cmocka_unit_test(erlang_sizes),
		cmocka_unit_test(sheets),
		cmocka_unit_test(sheet_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
