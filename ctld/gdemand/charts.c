/* charts.c - see charts.h */
#include "ctld/gdemand/charts.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/strbuf.h"
#include "common/base/xalloc.h"
#include "common/plot/jobplots.h"
#include "common/plot/plot.h"

/* --- levels over time ------------------------------------------------------------------------ */

struct points {
	double *x, *y;
	size_t n, size;
	double origin;
};

static void add_point(void *arg, usec_t from, usec_t to, int64_t level)
{
	struct points *p = arg;
	size_t size = p->size;

	(void)to;
	p->x = xgrow(p->x, p->n, &size, sizeof(double));
	p->y = xgrow(p->y, p->n, &p->size, sizeof(double));
	p->x[p->n] = p->origin + (double)from / 1e6;
	p->y[p->n++] = (double)level / 1000;
}

typedef void level_of(const struct past *past, const struct scope *s, struct level *level);

static struct plot_series series_of(const struct demand *d, level_of *of, const char *name)
{
	static const struct scope all = { DEMAND_ALL, DEMAND_ALL, 0 };
	struct points p = { .origin = d->past->dated ? (double)d->past->origin / 1e6 : 0 };
	struct level level = { 0 };

	of(d->past, &all, &level);
	level_walk(&level, d->past->from, d->past->to, add_point, &p);
	level_clear(&level);
	return (struct plot_series){
		.name = name, .style = PLOT_STEP, .x = p.x, .y = p.y, .n = p.n
	};
}

static void series_clear(struct plot_series *s)
{
	free((double *)s->x);
	free((double *)s->y);
}

static struct plot_axis time_axis(const struct demand *d)
{
	return (struct plot_axis){ .label = d->past->dated ? NULL : "since the first job",
		.unit = d->past->dated ? PLOT_UTC : PLOT_DURATION };
}

static void draw_demand(const struct demand *d, struct strbuf *svg)
{
	const struct concurrency *c = &d->concurrency[0];
	const struct plot_mark marks[] = {
		{ .at = c->floor.value, .label = "floor (p5)" },
		{ .at = c->kept.value, .label = "kept for an hour" },
	};
	const struct plot_frame frame = { .title = "GPUs wanted and given",
		.about = "wanted: in use had every job started as soon as it could",
		.x = time_axis(d),
		.y = { .label = "GPUs" },
		.marks = marks,
		.n_marks = 2 };
	struct plot_series series[2];
	size_t n = d->past->has.starts ? 2 : 1, i;

	series[0] = series_of(d, demand_wanted, "wanted");
	series[1] = series_of(d, demand_given, "given");
	plot_xy(svg, &frame, series, n);
	for (i = 0; i < 2; i++)
		series_clear(&series[i]);
}

static void draw_queue(const struct demand *d, struct strbuf *svg)
{
	const struct plot_frame frame = {
		.title = "GPUs waited for", .x = time_axis(d), .y = { .label = "GPUs" }
	};
	struct plot_series series = series_of(d, demand_waiting, "waiting");

	plot_xy(svg, &frame, &series, 1);
	series_clear(&series);
}

/* --- distributions --------------------------------------------------------------------------- */

static void draw_ecdf(const struct demand *d, const char *title,
        usec_t (*of)(const struct past_job *j), struct strbuf *svg)
{
	const struct plot_frame frame = { .title = title,
		.x = { .unit = PLOT_DURATION, .log = true },
		.y = { .label = "jobs", .unit = PLOT_PERCENT } };
	struct plot_samples samples[KINDS];
	double *values[KINDS];
	size_t n = 0, i;
	int kind;

	for (kind = 0; kind < KINDS; kind++) {
		size_t k = 0;

		values[kind] = xcalloc(d->past->n, sizeof(double));
		for (i = 0; i < d->past->n; i++) {
			const struct past_job *j = &d->past->v[i];

			if (past_counts(d->past, j) && (int)j->kind == kind && of(j) >= 0)
				values[kind][k++] = (double)of(j) / 1e6;
		}
		if (k)
			samples[n++] =
			        (struct plot_samples){ job_kind_names[kind], values[kind], k };
	}
	plot_ecdf(svg, &frame, samples, n);
	for (kind = 0; kind < KINDS; kind++)
		free(values[kind]);
}

static usec_t duration_of(const struct past_job *j)
{
	return j->duration;
}

static void draw_waits(const struct demand *d, struct strbuf *svg)
{
	draw_ecdf(d, "How long jobs waited", past_wait, svg);
}

static void draw_durations(const struct demand *d, struct strbuf *svg)
{
	draw_ecdf(d, "How long jobs took", duration_of, svg);
}

/* --- levels by scope ------------------------------------------------------------------------- */

static void draw_concurrency(const struct demand *d, struct strbuf *svg)
{
	static const char *const names[] = { "floor (p5)", "median", "p95", "kept for an hour" };
	const struct plot_frame frame = { .title = "GPUs wanted at once, with 95 % intervals",
		.x = { .label = "GPUs" } };
	char(*labels)[SCOPE_TEXT] = xcalloc(d->n_scopes, sizeof(*labels));
	const char **texts = xcalloc(d->n_scopes, sizeof(*texts));
	double *v = xcalloc(d->n_scopes * 12, sizeof(*v));
	struct plot_bar_group groups[4];
	struct plot_bars bars = { texts, d->n_scopes, groups, 4 };
	size_t i, g, n = d->n_scopes;

	for (g = 0; g < 4; g++)
		groups[g] = (struct plot_bar_group){ names[g], v + g * 3 * n, v + (g * 3 + 1) * n,
			v + (g * 3 + 2) * n };
	for (i = 0; i < n; i++) {
		const struct concurrency *c = &d->concurrency[i];
		const struct interval *of[] = { &c->floor, &c->median, &c->p95, &c->kept };

		texts[i] = demand_scope_name(labels[i], d->past, &c->scope);
		for (g = 0; g < 4; g++) {
			v[g * 3 * n + i] = of[g]->value;
			v[(g * 3 + 1) * n + i] = of[g]->known ? of[g]->low : NAN;
			v[(g * 3 + 2) * n + i] = of[g]->known ? of[g]->high : NAN;
		}
	}
	plot_bars(svg, &frame, &bars);
	free(labels);
	free(texts);
	free(v);
}

/* --- all of them ----------------------------------------------------------------------------- */

static const struct chart {
	const char *name;
	void (*draw)(const struct demand *d, struct strbuf *svg);
	bool needs_starts;
} charts[] = {
	{ "demand", draw_demand, false },
	{ "concurrency", draw_concurrency, false },
	{ "queue", draw_queue, true },
	{ "waits", draw_waits, true },
	{ "durations", draw_durations, false },
};

int charts_draw(const struct demand *d, const char *folder, struct error *err)
{
	size_t i;
	int rc = plotdir_make(folder, err);

	for (i = 0; i < sizeof(charts) / sizeof(charts[0]) && rc == 0; i++) {
		struct strbuf svg = { 0 };

		if (charts[i].needs_starts && !d->past->has.starts)
			continue;
		charts[i].draw(d, &svg);
		rc = plotdir_write(folder, charts[i].name, &svg, err);
	}
	return rc;
}
