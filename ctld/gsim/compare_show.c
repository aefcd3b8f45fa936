/* compare_show.c - a comparison as a table, as JSON and as charts; see compare.h */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/plot/jobplots.h"
#include "ctld/gsim/compare.h"

#define VERSION  1
#define ROWS_MAX 40 /* accounts of a table; JSON has all */
#define BARS_MAX 24 /* accounts of a chart */
#define CELL     64 /* of a table, with its NUL */

/* --- table ------------------------------------------------------------------------------------ */

/* "-1.5 h", "12 min": rounded; JSON has all digits. */
static const char *span(char buf[CELL], double s, bool sign)
{
	char text[UNITS_TEXT];

	plot_value(text, PLOT_DURATION, fabs(s) < 0.05 ? 0 : fabs(s));
	snprintf(buf, CELL, "%s%s", fabs(s) < 0.05 ? "" : s < 0 ? "-" : sign ? "+" : "", text);
	return buf;
}

static const char *interval(char buf[2 * CELL + 8], const struct compared *r)
{
	char low[CELL], high[CELL];

	if (isnan(r->low))
		return "-";
	snprintf(buf, 2 * CELL + 8, "%s .. %s", span(low, r->low, true), span(high, r->high, true));
	return buf;
}

/* Is it more than chance? */
static const char *verdict(const struct compared *r)
{
	if (isnan(r->low) || (r->low <= 0 && r->high >= 0))
		return "";
	return r->difference > 0 ? "longer" : "shorter";
}

static void print_row(const struct compared *r, FILE *out)
{
	char c[3][CELL], range[2 * CELL + 8];

	fprintf(out, "%-19.19s %8llu %9s %9s %9s %22s %7.1f%% %7.1f%%  %s\n",
	        *r->name ? r->name : "-", (unsigned long long)r->jobs, span(c[0], r->mean_a, false),
	        span(c[1], r->mean_b, false), span(c[2], r->difference, true), interval(range, r),
	        r->jobs ? 100.0 * (double)r->longer / (double)r->jobs : 0,
	        r->jobs ? 100.0 * (double)r->shorter / (double)r->jobs : 0, verdict(r));
}

static void print_part(
        const struct comparison *c, enum compared_by by, const char *heading, FILE *out)
{
	size_t i, n = 0;

	for (i = 0; i < c->n; i++) {
		if (c->v[i].by != by)
			continue;
		if (!n++)
			fprintf(out, "\n%-19s %8s %9s %9s %9s %22s %8s %8s\n", heading, "JOBS",
			        "MEAN A", "MEAN B", "B - A", "95 % INTERVAL", "LONGER", "SHORTER");
		if (n <= ROWS_MAX)
			print_row(&c->v[i], out);
	}
	if (n > ROWS_MAX)
		fprintf(out, "and %zu more: --json has them\n", n - ROWS_MAX);
}

void comparison_print(const struct comparison *c, FILE *out)
{
	fprintf(out, "A         %s\nB         %s\n", c->a, c->b);
	fprintf(out, "jobs      %llu in both, %llu only in A, %llu only in B\n",
	        (unsigned long long)c->pairs, (unsigned long long)c->only_a,
	        (unsigned long long)c->only_b);
	if (c->started_a || c->started_b || c->neither)
		fprintf(out, "started   %llu only in A, %llu only in B, %llu in neither\n",
		        (unsigned long long)c->started_a, (unsigned long long)c->started_b,
		        (unsigned long long)c->neither);
	print_part(c, BY_NOTHING, "WAIT", out);
	print_part(c, BY_ACCOUNT, "ACCOUNT", out);
	print_part(c, BY_SIZE, "SIZE", out);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *json_row(const struct compared *r, const char *key)
{
	json_t *o = json_pack("{sIsIsIsfsfsfsfsfsfsf}", "jobs", (json_int_t)r->jobs, "longer",
	        (json_int_t)r->longer, "shorter", (json_int_t)r->shorter, "mean_a_s", r->mean_a,
	        "mean_b_s", r->mean_b, "p50_a_s", r->p50_a, "p50_b_s", r->p50_b, "p95_a_s",
	        r->p95_a, "p95_b_s", r->p95_b, "difference_s", r->difference);

	if (key)
		json_object_set_new(o, key, json_string(r->name));
	if (!isnan(r->low))
		json_object_set_new(o, "interval_s", json_pack("[ff]", r->low, r->high));
	return o;
}

static json_t *json_part(const struct comparison *c, enum compared_by by, const char *key)
{
	json_t *a = json_array();
	size_t i;

	for (i = 0; i < c->n; i++) {
		if (c->v[i].by == by)
			json_array_append_new(a, json_row(&c->v[i], key));
	}
	return a;
}

void comparison_json(const struct comparison *c, FILE *out)
{
	json_t *o = json_object();

	json_object_set_new(o, "version", json_integer(VERSION));
	/* What is not UTF-8 (a file's name) is left out. */
	if (json_object_set_new(o, "a", json_string(c->a)) < 0 ||
	        json_object_set_new(o, "b", json_string(c->b)) < 0)
		json_object_del(o, "a");
	json_object_set_new(o, "jobs",
	        json_pack("{sIsIsIsIsIsI}", "both", (json_int_t)c->pairs, "only_a",
	                (json_int_t)c->only_a, "only_b", (json_int_t)c->only_b, "started_only_a",
	                (json_int_t)c->started_a, "started_only_b", (json_int_t)c->started_b,
	                "started_neither", (json_int_t)c->neither));
	json_object_set_new(o, "all", json_row(&c->v[0], NULL));
	json_object_set_new(o, "accounts", json_part(c, BY_ACCOUNT, "account"));
	json_object_set_new(o, "sizes", json_part(c, BY_SIZE, "size"));
	json_dumpf(o, out, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
	putc('\n', out);
	json_decref(o);
}

/* --- charts ----------------------------------------------------------------------------------- */

static void plot_waits(const struct comparison *c, struct strbuf *out)
{
	char about[400];
	const struct plot_frame f = { .title = "Waits in A and in B",
		.about = about,
		.x = { .unit = PLOT_DURATION,
		        .log = true,
		        .label = "wait, from submission to the first start" },
		.y = { .label = "of the jobs, so many waited at most so long" } };
	const struct plot_samples samples[] = { { "A", c->waits_a, c->n_waits },
		{ "B", c->waits_b, c->n_waits } };

	snprintf(about, sizeof(about), "A: %.150s; B: %.150s", c->a, c->b);
	plot_ecdf(out, &f, samples, 2);
}

/* The accounts that differ most on either side, or the sizes. */
static void plot_differences(
        const struct comparison *c, enum compared_by by, const char *title, struct strbuf *out)
{
	const struct plot_frame f = { .title = title,
		.about = "mean wait in B minus mean wait in A: above 0 jobs wait longer in B; 95 % "
		         "intervals",
		.x = { .unit = PLOT_DURATION } };
	const char **labels = xcalloc(c->n, sizeof(*labels));
	double *v = xcalloc(c->n, sizeof(*v)), *low = xcalloc(c->n, sizeof(*low)),
	       *high = xcalloc(c->n, sizeof(*high));
	struct plot_bar_group group = { NULL, v, low, high };
	size_t i, all = 0, seen = 0, n = 0;

	for (i = 0; i < c->n; i++)
		all += c->v[i].by == by;
	for (i = 0; i < c->n; i++) {
		if (c->v[i].by != by)
			continue;
		seen++;
		if (all > BARS_MAX && seen > BARS_MAX / 2 && seen <= all - BARS_MAX / 2)
			continue;
		labels[n] = *c->v[i].name ? c->v[i].name : "no account";
		v[n] = c->v[i].difference;
		low[n] = c->v[i].low;
		high[n++] = c->v[i].high;
	}
	plot_bars(out, &f, &(struct plot_bars){ labels, n, &group, 1 });
	free(labels);
	free(v);
	free(low);
	free(high);
}

int comparison_plot(const struct comparison *c, const char *dir, struct error *err)
{
	struct strbuf svg = { 0 };

	if (plotdir_make(dir, err) < 0)
		return -1;
	plot_waits(c, &svg);
	if (plotdir_write(dir, "compare-waits", &svg, err) < 0)
		return -1;
	plot_differences(c, BY_ACCOUNT, "Waits in B against A, by account", &svg);
	if (plotdir_write(dir, "compare-accounts", &svg, err) < 0)
		return -1;
	plot_differences(c, BY_SIZE, "Waits in B against A, by size", &svg);
	return plotdir_write(dir, "compare-sizes", &svg, err);
}
