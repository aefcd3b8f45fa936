/* ticks.c - where an axis has ticks, and how values are written; see plot_impl.h
 *
 * Texts are made of whole numbers, so that no locale changes a decimal point.
 */
#include "common/plot/plot_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MINUTE  60.0
#define HOUR    3600.0
#define DAY     86400.0
#define UTC_MAX 1e11 /* the year 5138 */

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* --- values ---------------------------------------------------------------------------------- */

/* With `decimals`, 0 to 9; what ends in zeros after the point is not cut. */
static void fixed(char *buf, size_t size, double v, unsigned decimals, const char *behind)
{
	double scale = pow(10, decimals), whole;
	long long n;

	if (fabs(v) * scale >= 9e18) {
		snprintf(buf, size, "%.0e%s", v, behind);
		return;
	}
	n = llround(fabs(v) * scale);
	whole = floor((double)n / scale);
	snprintf(buf, size, "%s%lld", v < 0 && n ? "-" : "", (long long)whole);
	if (decimals)
		snprintf(buf + strlen(buf), size - strlen(buf), ".%0*lld", (int)decimals,
		        n - (long long)(whole * scale));
	snprintf(buf + strlen(buf), size - strlen(buf), "%s", behind);
}

/* The units of a kind of value, the largest first. */
struct step_unit {
	double size;
	const char *words;
};
static const struct step_unit durations[] = { { DAY, " d" }, { HOUR, " h" }, { MINUTE, " min" },
	{ 1, " s" }, { 1e-3, " ms" }, { 0, NULL } };
static const struct step_unit sizes[] = { { 1048576.0 * 1048576, " EiB" },
	{ 1048576.0 * 1024, " PiB" }, { 1048576, " TiB" }, { 1024, " GiB" }, { 1, " MiB" },
	{ 0, NULL } };
static const struct step_unit numbers[] = { { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" },
	{ 1, "" }, { 0, NULL } };
static const struct step_unit percents[] = { { 0.01, " %" }, { 0, NULL } };

static const struct step_unit *units_of(enum plot_unit unit)
{
	return unit == PLOT_DURATION  ? durations
	       : unit == PLOT_MB      ? sizes
	       : unit == PLOT_PERCENT ? percents
	                              : numbers;
}

/* The largest that is at most `v`, or else the smallest. */
static const struct step_unit *unit_for(const struct step_unit *u, double v)
{
	while (u[1].size > 0 && u->size > v * (1 + 1e-9))
		u++;
	return u;
}

static unsigned decimals_for(double step)
{
	unsigned d = 0;

	for (; d < 6 && fabs(step - round(step)) > 1e-6 * step; d++)
		step *= 10;
	return d;
}

enum shape { DATE, DATE_TIME, OF_DAY, OF_DAY_S, DAY_OF_MONTH, MONTH, MONTH_YEAR };

/* Names of months are English in every locale. */
static void moment(char *buf, size_t size, double v, enum shape shape)
{
	static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug",
		"Sep", "Oct", "Nov", "Dec" };
	time_t t = fabs(v) > UTC_MAX ? 0 : (time_t)floor(v);
	struct tm tm;
	int year;

	if (fabs(v) > UTC_MAX || !gmtime_r(&t, &tm)) {
		fixed(buf, size, v, 0, "");
		return;
	}
	year = tm.tm_year + 1900;
	if (shape == DATE || shape == DATE_TIME)
		snprintf(buf, size, "%04d-%02d-%02d", year, tm.tm_mon + 1, tm.tm_mday);
	if (shape == DATE_TIME)
		snprintf(
		        buf + strlen(buf), size - strlen(buf), " %02d:%02d", tm.tm_hour, tm.tm_min);
	if (shape == OF_DAY || shape == OF_DAY_S)
		snprintf(buf, size, "%02d:%02d", tm.tm_hour, tm.tm_min);
	if (shape == OF_DAY_S)
		snprintf(buf + strlen(buf), size - strlen(buf), ":%02d", tm.tm_sec);
	if (shape >= DAY_OF_MONTH)
		snprintf(buf, size, "%s", months[tm.tm_mon % 12]);
	if (shape == DAY_OF_MONTH)
		snprintf(buf + strlen(buf), size - strlen(buf), " %d", tm.tm_mday);
	if (shape == MONTH_YEAR)
		snprintf(buf + strlen(buf), size - strlen(buf), " %d", year);
}

void plot_value(char buf[PLOT_TICK_TEXT], enum plot_unit unit, double v)
{
	const struct step_unit *u;
	double shown;

	if (!plot_is_value(v)) {
		snprintf(buf, PLOT_TICK_TEXT, "-");
		return;
	}
	if (unit == PLOT_UTC) {
		moment(buf, PLOT_TICK_TEXT, v, DATE_TIME);
		return;
	}
	u = unit_for(units_of(unit), fabs(v) > 0 ? fabs(v) : 1);
	if (u->size == 1e3 && fabs(v) < 1e4)
		u++;
	shown = fabs(v) / u->size;
	fixed(buf, PLOT_TICK_TEXT, v / u->size,
	        shown >= 9.95 || fabs(shown - round(shown)) < 1e-9 ? 0
	        : shown < 0.095                                    ? 3
	                                                           : 1,
	        u->words);
}

void plot_period(char *buf, size_t size, double from, double to)
{
	char one[PLOT_TICK_TEXT], two[PLOT_TICK_TEXT];
	enum shape shape = to - from > 3 * DAY ? DATE : DATE_TIME;

	moment(one, sizeof(one), from, shape);
	moment(two, sizeof(two), to, shape);
	snprintf(buf, size, "%s to %s UTC", one, two);
}

/* --- steps ----------------------------------------------------------------------------------- */

static void add(struct plot_ticks *t, double at)
{
	if (t->n < PLOT_TICKS_MAX && (t->n == 0 || at > t->at[t->n - 1]))
		t->at[t->n++] = at;
}

static void every(struct plot_ticks *t, const struct plot_axis *a, double step)
{
	double k = ceil(a->min / step - 1e-9);
	size_t i;

	for (i = 0; i < PLOT_TICKS_MAX && (k + (double)i) * step <= a->max + step * 1e-9; i++)
		add(t, (k + (double)i) * step);
}

/* 1, 2 or 5 times a power of ten, at least `least`. */
static double round_step(double least)
{
	static const double heads[] = { 1, 2, 5, 10 };
	double power = pow(10, floor(log10(least)));
	size_t i;

	for (i = 0; i + 1 < LEN(heads) && heads[i] * power < least * (1 - 1e-9); i++)
		;
	return heads[i] * power;
}

/* The first of `steps` that is at least `least`; beyond the last, round multiples of it. */
static double listed_step(const double *steps, size_t n, double least)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (steps[i] >= least * (1 - 1e-9))
			return steps[i];
	}
	return steps[n - 1] * round_step(least / steps[n - 1]);
}

static double step_of(enum plot_unit unit, double least)
{
	static const double times[] = { 1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE,
		10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR,
		12 * HOUR, DAY, 2 * DAY, 5 * DAY, 10 * DAY, 20 * DAY, 50 * DAY, 100 * DAY };

	switch (unit) {
	case PLOT_DURATION:
		return least < 1 ? round_step(least) : listed_step(times, LEN(times), least);
	case PLOT_MB:
		return least < 1 ? 1 : exp2(ceil(log2(least) - 1e-9));
	case PLOT_PERCENT:
		return least > 0.2 && least <= 0.25 ? 0.25 : round_step(least);
	default:
		return round_step(least);
	}
}

static void linear(struct plot_ticks *t, const struct plot_axis *a, size_t most)
{
	double span = a->max - a->min, step = step_of(a->unit, span / (double)most);
	const struct step_unit *u;
	size_t i;

	/* Counts are rarely fractions: no ticks at halves. */
	if (a->unit == PLOT_NUMBER && step < 1 && span >= 2)
		step = 1;
	u = unit_for(units_of(a->unit), step);
	if (a->unit == PLOT_NUMBER && a->max < 1e4 && a->min > -1e4)
		u = unit_for(numbers, 1);
	every(t, a, step);
	for (i = 0; i < t->n; i++)
		fixed(t->label[i], PLOT_TICK_TEXT, t->at[i] / u->size, decimals_for(step / u->size),
		        u->words);
}

/* --- logarithms ------------------------------------------------------------------------------ */

static void keep_every(struct plot_ticks *t, size_t most)
{
	size_t stride = (t->n + most - 1) / (most ? most : 1), i, n = 0;

	for (i = 0; stride > 1 && i < t->n; i += stride)
		t->at[n++] = t->at[i];
	t->n = stride > 1 ? n : t->n;
}

static const double log_times[] = { 1, 10, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY,
	30 * DAY, 365 * DAY };

double plot_log_floor(enum plot_unit unit, double v)
{
	double power = pow(10, floor(log10(v) + 1e-9));
	size_t i;

	for (i = LEN(log_times); unit == PLOT_DURATION && i-- > 0;) {
		if (log_times[i] <= v)
			return log_times[i];
	}
	return power < v ? power : v;
}

static void logarithmic(struct plot_ticks *t, const struct plot_axis *a, size_t most)
{
	bool of_times = a->unit == PLOT_DURATION && a->min >= 0.5;
	double power = floor(log10(a->min)), decades = log10(a->max / a->min);
	size_t i;

	for (i = 0; of_times && i < LEN(log_times); i++) {
		if (log_times[i] >= a->min * (1 - 1e-9) && log_times[i] <= a->max * (1 + 1e-9))
			add(t, log_times[i]);
	}
	if (!of_times || t->n < 2) {
		static const double heads[] = { 1, 2, 5 };
		size_t n_heads = decades < 2 ? 3 : 1;

		t->n = 0;
		for (; power <= ceil(log10(a->max)); power++) {
			for (i = 0; i < n_heads; i++) {
				double at = heads[i] * pow(10, power);

				if (at >= a->min * (1 - 1e-9) && at <= a->max * (1 + 1e-9))
					add(t, at);
			}
		}
	}
	keep_every(t, most);
	for (i = 0; i < t->n; i++)
		plot_value(t->label[i], a->unit, t->at[i]);
}

/* --- times of day and days ------------------------------------------------------------------- */

/* Months are no multiples of seconds. */
static void months(struct plot_ticks *t, const struct plot_axis *a, double least)
{
	static const int steps[] = { 1, 3, 6, 12, 24, 60, 120, 240, 600, 1200 };
	time_t from = (time_t)a->min;
	struct tm tm;
	size_t i;
	int step;

	for (i = 0; i + 1 < LEN(steps) && steps[i] * 30.4 * DAY < least; i++)
		;
	step = steps[i];
	if (!gmtime_r(&from, &tm))
		return;
	tm = (struct tm){ .tm_year = tm.tm_year, .tm_mon = tm.tm_mon / step * step, .tm_mday = 1 };
	if (step > 12)
		tm.tm_year = (tm.tm_year + 1900) / (step / 12) * (step / 12) - 1900;
	for (; t->n < PLOT_TICKS_MAX; tm.tm_mon += step) {
		struct tm copy = tm;
		double at = (double)timegm(&copy);

		if (at > a->max)
			break;
		if (at >= a->min)
			add(t, at);
	}
	for (i = 0; i < t->n; i++) {
		time_t when = (time_t)t->at[i];
		bool january = gmtime_r(&when, &tm) && tm.tm_mon == 0;

		moment(t->label[i], PLOT_TICK_TEXT, t->at[i],
		        january || i == 0 ? MONTH_YEAR : MONTH);
	}
}

static void calendar(struct plot_ticks *t, const struct plot_axis *a, size_t most)
{
	static const double steps[] = { 1, 5, 15, 30, MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE,
		HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 3 * DAY, 5 * DAY, 7 * DAY,
		14 * DAY };
	double least = (a->max - a->min) / (double)most, step;
	size_t i;

	if (least > 14 * DAY) {
		months(t, a, least);
		return;
	}
	step = listed_step(steps, LEN(steps), least < 1 ? 1 : least);
	every(t, a, step);
	for (i = 0; i < t->n; i++) {
		bool midnight = fmod(t->at[i], DAY) == 0;

		moment(t->label[i], PLOT_TICK_TEXT, t->at[i],
		        midnight         ? DAY_OF_MONTH
		        : step >= MINUTE ? OF_DAY
		                         : OF_DAY_S);
	}
}

void plot_ticks(struct plot_ticks *t, const struct plot_axis *a, size_t most)
{
	struct plot_axis plain = *a;

	t->n = 0;
	most = most < 2 ? 2 : most > PLOT_TICKS_MAX / 2 ? PLOT_TICKS_MAX / 2 : most;
	if (a->unit == PLOT_UTC && (fabs(a->min) > UTC_MAX || fabs(a->max) > UTC_MAX))
		plain.unit = PLOT_NUMBER;
	if (plain.unit == PLOT_UTC)
		calendar(t, &plain, most);
	else if (a->log)
		logarithmic(t, &plain, most);
	else
		linear(t, &plain, most);
}
