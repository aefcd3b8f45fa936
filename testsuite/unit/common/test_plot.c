/* test_plot.c - common/plot/: every chart is well-formed XML whatever goes in, and says what it was given */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/text.h"
#include "common/plot/plot.h"
#include "common/plot/plot_impl.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define DEPTH  32
#define NOV_3  1793664000.0 /* 2026-11-03 00:00 UTC */
#define DAY    86400.0

/* --- is it XML? ------------------------------------------------------------------------------- */

static const char *entity_end(const char *s)
{
	static const char *const known[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };

	for (size_t i = 0; i < LEN(known); i++) {
		if (!strncmp(s, known[i], strlen(known[i])))
			return s + strlen(known[i]);
	}
	fail_msg("an entity that is none: %.20s", s);
	return s;
}

static const char *name_end(const char *s)
{
	const char *from = s;

	while (isalnum((unsigned char)*s) || strchr("-_:", *s ? *s : ' '))
		s++;
	assert_true(s > from);
	return s;
}

/* The attributes of an element, up to ">" or "/>". */
static const char *attributes_end(const char *s)
{
	for (;;) {
		s += strspn(s, " \n");
		if (*s == '>' || (*s == '/' && s[1] == '>'))
			return s;
		s = name_end(s);
		assert_true(s[0] == '=' && s[1] == '"');
		for (s += 2; *s != '"'; s = *s == '&' ? entity_end(s) : s + 1)
			assert_true(*s && *s != '<');
		s++;
	}
}

static void is_xml(const char *text)
{
	char open[DEPTH][24];
	size_t depth = 0, roots = 0;
	const char *s = text, *end;

	assert_int_equal(
	        text_plain_prefix(text, strlen(text)) + strlen(text + strcspn(text, "\n")) > 0, 1);
	while (*s) {
		if (*s != '<') {
			assert_true((unsigned char)*s >= ' ' || *s == '\n');
			assert_true(*s != '>' || depth); /* of a style sheet */
			s = *s == '&' ? entity_end(s) : s + 1;
			continue;
		}
		if (s[1] == '/') {
			end = name_end(s + 2);
			assert_true(depth > 0 && *end == '>');
			assert_int_equal(strlen(open[depth - 1]), end - s - 2);
			assert_memory_equal(open[--depth], s + 2, (size_t)(end - s - 2));
			s = end + 1;
			continue;
		}
		end = name_end(s + 1);
		assert_true(depth < DEPTH && end - s - 1 < 24);
		memcpy(open[depth], s + 1, (size_t)(end - s - 1));
		open[depth][end - s - 1] = '\0';
		roots += depth == 0;
		s = attributes_end(end);
		depth += *s == '>';
		s += *s == '>' ? 1 : 2;
	}
	assert_int_equal(depth, 0);
	assert_int_equal(roots, 1);
}

static char *chart;

static const char *finish(struct strbuf *b)
{
	free(chart);
	chart = strbuf_take(b);
	is_xml(chart);
	assert_null(strstr(chart, "nan"));
	assert_null(strstr(chart, "inf"));
	return chart;
}

static void has(const char *text)
{
	if (!strstr(chart, text))
		fail_msg("'%s' is not in:\n%s", text, chart);
}

static size_t count(const char *text)
{
	size_t n = 0;

	for (const char *s = chart; (s = strstr(s, text)); s++)
		n++;
	return n;
}

/* --- charts ---------------------------------------------------------------------------------- */

#define HOSTILE "</text><script>alert('1')&\"\x1b[2J\xff\xef\xbf\xbf\xe2\x80\xae"

static void hostile_texts(void **state)
{
	static const char *const names[] = { HOSTILE, HOSTILE };
	const double x[] = { 0, 1 }, y[] = { 1, 2 };
	const struct plot_mark marks[] = { { true, 0.5, HOSTILE }, { false, 1, HOSTILE } };
	const struct plot_frame f = { .title = HOSTILE,
		.about = HOSTILE,
		.id = HOSTILE,
		.x = { .label = HOSTILE },
		.y = { .label = HOSTILE },
		.marks = marks,
		.n_marks = 2 };
	const struct plot_series series[] = { { HOSTILE, PLOT_AREA, x, y, NULL, 2 },
		{ HOSTILE, PLOT_DOTS, x, y, NULL, 2 } };
	const struct plot_samples samples = { HOSTILE, y, 2 };
	const struct plot_bar_group group = { HOSTILE, y, NULL, NULL };
	const struct plot_bars bars = { names, 2, &group, 1 };
	const struct plot_span span = { 0, 0, 1, 0, HOSTILE };
	const struct plot_spans spans = { names, 2, names, 2, &span, 1 };
	struct strbuf b = { 0 };

	(void)state;
	plot_xy(&b, &f, series, 2);
	finish(&b);
	has("&lt;/text&gt;&lt;script&gt;alert(&#39;1&#39;)&amp;&quot;\\x1B[2J\\xFF");
	assert_null(strstr(chart, "<script"));
	has("id=\"plot-title\""); /* not what was given */
	plot_ecdf(&b, &f, &samples, 1);
	assert_null(strstr(finish(&b), "<script"));
	plot_bars(&b, &f, &bars);
	assert_null(strstr(finish(&b), "<script"));
	plot_spans(&b, &f, &spans);
	assert_null(strstr(finish(&b), "<script"));
}

/* A long name is cut; where it was is said by "…". */
static void long_texts(void **state)
{
	char name[5001];
	const double x[] = { 0, 1 };
	const struct plot_series series = { name, PLOT_LINE, x, x, NULL, 2 };
	const struct plot_frame f = { .title = name, .about = name, .y = { .label = name } };
	struct strbuf b = { 0 };

	(void)state;
	memset(name, '<', 5000);
	name[5000] = '\0';
	plot_xy(&b, &f, &series, 1);
	finish(&b);
	has("&lt;…</text>");
	assert_true(strlen(chart) < 20000);
}

static void all_kinds(struct strbuf *b, enum plot_unit unit, bool log, const double *v, size_t n)
{
	static const char *const names[] = { "a", "b" };
	const struct plot_frame f = { .x = { .unit = unit, .log = log },
		.y = { .unit = unit, .log = log } };
	const struct plot_series series[] = { { "line", PLOT_LINE, v, v, NULL, n },
		{ "step", PLOT_STEP, v, v, NULL, n }, { "dots", PLOT_DOTS, v, v, NULL, n },
		{ "area", PLOT_AREA, v, v, NULL, n }, { "above", PLOT_AREA, v, v, NULL, n },
		{ "band", PLOT_BAND, v, v, v, n } };
	const struct plot_samples samples[] = { { "a", v, n }, { NULL, v, n / 2 } };
	const struct plot_bar_group groups[] = { { "a", v, NULL, NULL }, { "b", v, v, v } };
	const struct plot_bars bars = { names, n < 2 ? n : 2, groups, 2 };
	const struct plot_span spans[] = { { 0, n ? v[0] : 0, n > 1 ? v[1] : 0, 0, "x" },
		{ 9, 0, 1, 9, NULL }, { 1, n > 1 ? v[1] : 0, n > 1 ? v[1] : 0, 9, NULL } };
	const struct plot_spans timeline = { names, 2, names, 2, spans, 3 };

	plot_xy(b, &f, series, LEN(series));
	finish(b);
	plot_ecdf(b, &f, samples, 2);
	finish(b);
	plot_bars(b, &f, &bars);
	finish(b);
	plot_spans(b, &f, &timeline);
	finish(b);
}

static void any_values(void **state)
{
	static const double bad[] = { NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e100, -1e100, 1e18,
		-1e18, 1e11, 5e-324, -1, 0, 1, 1.0000000001, 253402300800.0 };
	struct strbuf b = { 0 };
	double v[4];

	(void)state;
	plot_xy(&b, &(struct plot_frame){ .title = "" }, NULL, 0);
	finish(&b);
	has("no data");
	for (int unit = 0; unit < PLOT_UNITS; unit++) {
		for (int log = 0; log < 2; log++) {
			all_kinds(&b, (enum plot_unit)unit, log, NULL, 0);
			for (size_t i = 0; i < LEN(bad); i++) {
				for (size_t k = 0; k < LEN(bad); k++) {
					v[0] = bad[i];
					v[1] = bad[k];
					v[2] = bad[(i + k) % LEN(bad)];
					v[3] = bad[k];
					all_kinds(
					        &b, (enum plot_unit)unit, log, v, 1 + (i + k) % 4);
				}
			}
		}
	}
}

/* Of many points the picture keeps the peaks, and not more than four a column. */
static void many_points(void **state)
{
	enum { N = 200000 };
	double *x = calloc(N, sizeof(double)), *y = calloc(N, sizeof(double));
	struct plot_series series = { "", PLOT_LINE, x, y, NULL, N };
	const struct plot_frame f = { .bare = true, .y = { .fixed = true, .max = 1000 } };
	struct strbuf b = { 0 };
	char peak[16];

	(void)state;
	for (size_t i = 0; i < N; i++) {
		x[i] = (double)i;
		y[i] = (double)(i * 7919 % 101);
	}
	y[123457] = 1000;
	for (int style = PLOT_LINE; style <= PLOT_AREA; style++) {
		series.style = (enum plot_style)style;
		plot_xy(&b, &f, &series, 1);
		finish(&b);
		assert_true(strlen(chart) < 160000);
		/* The peak is at the top of the area, 16 pixels below the edge. */
		snprintf(peak, sizeof(peak), style == PLOT_DOTS ? " 16h" : " 16L");
		has(peak);
	}
	free(x);
	free(y);
}

static void few_points_stay(void **state)
{
	const double x[] = { 0, 1, 2, 3 }, y[] = { 5, NAN, 7, 8 };
	const struct plot_series series = { "", PLOT_LINE, x, y, NULL, 4 };
	const struct plot_frame f = { .bare = true };
	struct strbuf b = { 0 };

	(void)state;
	plot_xy(&b, &f, &series, 1);
	finish(&b);
	assert_null(strstr(chart, "<style>"));
	has("h.1M"); /* the first, alone before a gap, is a dot */
}

static void names_beside(void **state)
{
	const double x[] = { 0, 1 }, low[] = { 1, 1 }, high[] = { 2, 3 };
	const struct plot_series series[] = { { "h100", PLOT_AREA, x, low, NULL, 2 },
		{ "a100", PLOT_AREA, x, high, NULL, 2 },
		{ "wanted", PLOT_STEP, x, high, NULL, 2 } };
	const struct plot_frame f = { .title = "GPUs", .id = "p7", .x = { .unit = PLOT_UTC } };
	struct strbuf b = { 0 };

	(void)state;
	plot_xy(&b, &f, series, 3);
	finish(&b);
	has(">h100</text>");
	has(">a100</text>");
	has(">wanted</text>");
	has("fill=\"url(#p7-h1)\"");
	has("plot-d2 ");
	has(">1970-01-01 00:00 to 1970-01-01 00:00 UTC</text>");
	assert_int_equal(count("<style>"), 1);
	assert_int_equal(count(plot_css()), 1);
	assert_null(strchr(plot_css(), '<'));
	assert_null(strchr(plot_css(), '&'));
}

static void medians(void **state)
{
	const double slow[] = { 7200, 3600, 10800 }, fast[] = { 60, 0, 30 };
	const struct plot_samples samples[] = { { "slow", slow, 3 }, { "fast", fast, 3 } };
	const struct plot_frame f = { .x = { .unit = PLOT_DURATION, .log = true } };
	struct strbuf b = { 0 };

	(void)state;
	plot_ecdf(&b, &f, samples, 2);
	finish(&b);
	has(">slow, median 2 h</text>");
	has(">≤ 10 s</text>");
	has(">100 %</text>");
	assert_true(strstr(chart, "fast, median 30 s") < strstr(chart, "slow, median"));
}

/* --- ticks ----------------------------------------------------------------------------------- */

static void ticks_are(
        enum plot_unit unit, bool log, double min, double max, size_t most, const char *want)
{
	const struct plot_axis a = { .unit = unit, .log = log, .min = min, .max = max };
	struct plot_ticks t;
	struct strbuf b = { 0 };
	char *got;

	plot_ticks(&t, &a, most);
	for (size_t i = 0; i < t.n; i++)
		strbuf_addf(&b, "%s%s", i ? ", " : "", t.label[i]);
	got = strbuf_take(&b);
	assert_string_equal(got, want);
	free(got);
}

static void ticks(void **state)
{
	(void)state;
	ticks_are(PLOT_NUMBER, false, 0, 10, 5, "0, 2, 4, 6, 8, 10");
	ticks_are(PLOT_NUMBER, false, 0, 3, 8, "0, 1, 2, 3");
	ticks_are(PLOT_NUMBER, false, 0, 1, 5, "0.0, 0.2, 0.4, 0.6, 0.8, 1.0");
	ticks_are(PLOT_NUMBER, false, -10, 10, 4, "-10, -5, 0, 5, 10");
	ticks_are(PLOT_NUMBER, false, 0, 64000, 5, "0k, 20k, 40k, 60k");
	ticks_are(PLOT_NUMBER, false, 0, 4000, 4, "0, 1000, 2000, 3000, 4000");
	ticks_are(PLOT_NUMBER, false, 0, 3e6, 3, "0M, 1M, 2M, 3M");
	ticks_are(PLOT_NUMBER, true, 1, 1e6, 9, "1, 10, 100, 1000, 10k, 100k, 1M");
	ticks_are(PLOT_NUMBER, true, 1, 20, 9, "1, 2, 5, 10, 20");
	ticks_are(PLOT_DURATION, false, 0, 100, 4, "0 s, 30 s, 60 s, 90 s");
	ticks_are(PLOT_DURATION, false, 0, 3600, 4, "0 min, 15 min, 30 min, 45 min, 60 min");
	ticks_are(PLOT_DURATION, false, 0, 2 * DAY, 4, "0 h, 12 h, 24 h, 36 h, 48 h");
	ticks_are(PLOT_DURATION, false, 0, 40 * DAY, 4, "0 d, 10 d, 20 d, 30 d, 40 d");
	ticks_are(PLOT_DURATION, true, 1, 2 * DAY, 9, "1 s, 10 s, 1 min, 10 min, 1 h, 6 h, 1 d");
	ticks_are(PLOT_DURATION, true, 0.001, 0.1, 9, "1 ms, 10 ms, 100 ms");
	ticks_are(PLOT_PERCENT, false, 0, 1, 5, "0 %, 20 %, 40 %, 60 %, 80 %, 100 %");
	ticks_are(PLOT_PERCENT, false, 0, 1, 4, "0 %, 25 %, 50 %, 75 %, 100 %");
	ticks_are(PLOT_MB, false, 0, 4096, 4, "0 GiB, 1 GiB, 2 GiB, 3 GiB, 4 GiB");
	ticks_are(PLOT_UTC, false, NOV_3, NOV_3 + 90, 4, "Nov 3, 00:00:30, 00:01:00, 00:01:30");
	ticks_are(PLOT_UTC, false, NOV_3 + 36000, NOV_3 + 43200, 4,
	        "10:00, 10:30, 11:00, 11:30, 12:00");
	ticks_are(PLOT_UTC, false, NOV_3, NOV_3 + 2 * DAY, 4, "Nov 3, 12:00, Nov 4, 12:00, Nov 5");
	ticks_are(
	        PLOT_UTC, false, NOV_3, NOV_3 + 150 * DAY, 6, "Dec 2026, Jan 2027, Feb, Mar, Apr");
	ticks_are(PLOT_UTC, false, NOV_3, NOV_3 + 4000 * DAY, 4, "Jan 2030, Jan 2035");
	ticks_are(PLOT_UTC, false, -1e15, 1e15, 4, "-1000T, -500T, 0T, 500T, 1000T");
}

static void values(void **state)
{
	static const struct {
		enum plot_unit unit;
		double v;
		const char *want;
	} rows[] = { { PLOT_NUMBER, 0, "0" }, { PLOT_NUMBER, 1234, "1234" },
		{ PLOT_NUMBER, 12345, "12k" }, { PLOT_NUMBER, 0.25, "0.3" },
		{ PLOT_NUMBER, -2.5, "-2.5" }, { PLOT_NUMBER, NAN, "-" },
		{ PLOT_DURATION, 0, "0 s" }, { PLOT_DURATION, 5400, "1.5 h" },
		{ PLOT_DURATION, 7200, "2 h" }, { PLOT_DURATION, 0.25, "250 ms" },
		{ PLOT_DURATION, -90, "-1.5 min" }, { PLOT_PERCENT, 0.255, "26 %" },
		{ PLOT_PERCENT, 0.0125, "1.3 %" }, { PLOT_MB, 81920, "80 GiB" },
		{ PLOT_UTC, NOV_3 + 3660, "2026-11-03 01:01" }, { PLOT_NUMBER, 1e99, "1e+87T" } };
	char buf[PLOT_TICK_TEXT];

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		plot_value(buf, rows[i].unit, rows[i].v);
		assert_string_equal(buf, rows[i].want);
	}
}

static int forget(void **state)
{
	(void)state;
	free(chart);
	chart = NULL;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_texts),
		cmocka_unit_test(long_texts),
		cmocka_unit_test(any_values),
		cmocka_unit_test(many_points),
		cmocka_unit_test(few_points_stay),
		cmocka_unit_test(names_beside),
		cmocka_unit_test(medians),
		cmocka_unit_test(ticks),
		cmocka_unit_test(values),
	};

	return cmocka_run_group_tests(tests, NULL, forget);
}
