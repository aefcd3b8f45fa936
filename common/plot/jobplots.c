/* jobplots.c - see jobplots.h */
#include "common/plot/jobplots.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define GROUPS 7 /* lines, or areas, of a picture; the last is that of the others */
#define OTHERS 48

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* --- sizes ----------------------------------------------------------------------------------- */

static const struct {
	double most;
	const char *name;
} sizes[JOB_SIZES] = { { 0, "no GPU" }, { 1, "1 GPU" }, { 4, "2-4 GPUs" }, { 8, "5-8 GPUs" },
	{ 16, "9-16 GPUs" }, { 64, "17-64 GPUs" }, { INFINITY, "65 GPUs and more" } };

size_t job_size_of(double gpus)
{
	size_t i;

	for (i = 0; i + 1 < JOB_SIZES && gpus > sizes[i].most; i++)
		;
	return i;
}

const char *job_size_name(size_t size)
{
	return sizes[size < JOB_SIZES ? size : JOB_SIZES - 1].name;
}

/* --- groups by name --------------------------------------------------------------------------- */

/* The names that weigh most, and all others as one. */
struct groups {
	const char *name[GROUPS];
	size_t n; /* with that of the others */
	size_t others;
	char others_name[OTHERS];
};

struct weight {
	const char *name;
	double weight;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct weight *)a)->name, ((const struct weight *)b)->name);
}

static int by_weight(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Sorts and joins `v`. */
static void groups_make(struct groups *g, struct weight *v, size_t n)
{
	size_t i, k = 0;

	qsort(v, n, sizeof(*v), by_name);
	for (i = 0; i < n; i++) {
		if (k && !strcmp(v[k - 1].name, v[i].name))
			v[k - 1].weight += v[i].weight;
		else
			v[k++] = v[i];
	}
	qsort(v, k, sizeof(*v), by_weight);
	*g = (struct groups){ .n = k < GROUPS ? k : GROUPS, .others = k };
	for (i = 0; i < g->n; i++)
		g->name[i] = v[i].name;
	if (k > GROUPS) {
		g->others = GROUPS - 1;
		snprintf(g->others_name, sizeof(g->others_name), "%zu others", k - GROUPS + 1);
		g->name[GROUPS - 1] = g->others_name;
	}
}

static size_t group_of(const struct groups *g, const char *name)
{
	size_t i;

	for (i = 0; i < g->n && i < g->others; i++) {
		if (!strcmp(g->name[i], name))
			return i;
	}
	return g->others < g->n ? g->others : g->n - 1;
}

static const char *shown(const char *name, const char *instead)
{
	return name && *name ? name : instead;
}

/* --- levels over time ------------------------------------------------------------------------- */

struct step {
	double at, change;
	size_t group;
};

struct levels {
	double *x, *y[GROUPS + 1]; /* owned; [n] */
	size_t n, n_groups;
};

static int by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* From `from` to `to`, by the steps of all groups; sorts them. */
static void levels_make(
        struct levels *l, struct step *v, size_t n, size_t groups, double from, double to)
{
	size_t i, g;

	qsort(v, n, sizeof(*v), by_time);
	*l = (struct levels){ .n_groups = groups };
	l->x = xcalloc(n + 2, sizeof(double));
	for (g = 0; g < groups; g++)
		l->y[g] = xcalloc(n + 2, sizeof(double));
	l->x[0] = from;
	l->n = 1;
	for (i = 0; i < n; i++) {
		if (v[i].at > l->x[l->n - 1] && v[i].at <= to) {
			for (g = 0; g < groups; g++)
				l->y[g][l->n] = l->y[g][l->n - 1];
			l->x[l->n++] = v[i].at;
		}
		if (v[i].at <= to)
			l->y[v[i].group][l->n - 1] += v[i].change;
	}
	for (g = 0; g < groups; g++)
		l->y[g][l->n] = l->y[g][l->n - 1];
	l->x[l->n++] = to;
}

static void levels_free(struct levels *l)
{
	size_t g;

	for (g = 0; g < l->n_groups; g++)
		free(l->y[g]);
	free(l->x);
}

/* Steps of `amount` from `start` on until `end`. Returns how many. */
static size_t add_steps(struct step *v, double start, double end, double amount, size_t group)
{
	size_t n = 0;

	if (!isfinite(start))
		return 0;
	v[n++] = (struct step){ start, amount, group };
	if (isfinite(end))
		v[n++] = (struct step){ end > start ? end : start, -amount, group };
	return n;
}

/* A mean that is below what was in use at once is no line that says what there was. */
static void put_capacity(struct plot_frame *f, const struct plotted *d, const struct levels *used,
        struct plot_mark *mark, char *label, size_t size)
{
	double sum, most = 0.5;
	size_t i, g;

	for (i = 0; i < used->n; i++) {
		for (sum = g = 0; g < used->n_groups; g++)
			sum += used->y[g][i];
		most = fmax(most, sum);
	}
	if (!(d->capacity >= most * (1 - 1e-6)))
		return;
	snprintf(label, size, "all %.0f GPUs", d->capacity);
	*mark = (struct plot_mark){ .at = d->capacity, .label = label };
	f->marks = mark;
	f->n_marks = 1;
}

static void time_axis(struct plot_frame *f, const struct plotted *d)
{
	f->x = (struct plot_axis){ .unit = d->time,
		.fixed = d->from < d->to,
		.min = d->from,
		.max = d->to,
		.label = d->time == PLOT_DURATION ? "since the first submission" : NULL };
	f->y = (struct plot_axis){ .label = "GPUs" };
}

/* --- the charts ------------------------------------------------------------------------------- */

static void use_by_type(const struct plotted *d, struct groups *types, struct levels *l)
{
	struct weight *w = xcalloc(d->n_runs + 1, sizeof(*w));
	struct step *v = xcalloc(2 * d->n_runs + 1, sizeof(*v));
	size_t i, n = 0;

	for (i = 0; i < d->n_runs; i++) {
		const struct plotted_run *r = &d->runs[i];
		double end = isfinite(r->end) ? r->end : d->to;

		w[i] = (struct weight){ shown(r->type, "GPUs"), r->gpus * (end - r->start) };
	}
	groups_make(types, w, d->n_runs);
	for (i = 0; i < d->n_runs; i++)
		n += add_steps(&v[n], d->runs[i].start, d->runs[i].end, d->runs[i].gpus,
		        group_of(types, shown(d->runs[i].type, "GPUs")));
	levels_make(l, v, n, types->n, d->from, d->to);
	free(w);
	free(v);
}

static void make_use(struct strbuf *out, const struct plot_frame *frame, const struct plotted *d)
{
	struct plot_series series[GROUPS];
	struct plot_frame f = *frame;
	struct plot_mark mark;
	struct groups types;
	struct levels l;
	char label[40];
	size_t i;

	use_by_type(d, &types, &l);
	time_axis(&f, d);
	put_capacity(&f, d, &l, &mark, label, sizeof(label));
	for (i = 0; i < types.n; i++)
		series[i] = (struct plot_series){
			.name = types.name[i], .style = PLOT_AREA, .x = l.x, .y = l.y[i], .n = l.n
		};
	plot_xy(out, &f, series, types.n);
	levels_free(&l);
}

/* GPUs of jobs between submission and end; of runs. */
static void make_demand(struct strbuf *out, const struct plot_frame *frame, const struct plotted *d)
{
	struct step *v = xcalloc(2 * (d->n_jobs + d->n_runs) + 1, sizeof(*v));
	struct plot_frame f = *frame;
	struct plot_mark mark;
	struct levels asked, given;
	char label[40];
	size_t i, n = 0;

	for (i = 0; i < d->n_jobs; i++)
		n += add_steps(&v[n], d->jobs[i].submit, d->jobs[i].end, d->jobs[i].gpus, 0);
	levels_make(&asked, v, n, 1, d->from, d->to);
	for (i = n = 0; i < d->n_runs; i++)
		n += add_steps(&v[n], d->runs[i].start, d->runs[i].end, d->runs[i].gpus, 0);
	levels_make(&given, v, n, 1, d->from, d->to);
	free(v);
	time_axis(&f, d);
	put_capacity(&f, d, &given, &mark, label, sizeof(label));
	plot_xy(out, &f,
	        (struct plot_series[]){ { "given", PLOT_AREA, given.x, given.y[0], NULL, given.n },
	                { "asked for", PLOT_STEP, asked.x, asked.y[0], NULL, asked.n } },
	        2);
	levels_free(&asked);
	levels_free(&given);
}

/* Waits by group, in one block; `of` says the group of each job. */
static void waits(struct strbuf *out, const struct plot_frame *frame, const struct plotted *d,
        const size_t *of, const char *const *names, size_t groups)
{
	double *v = xcalloc(d->n_jobs + 1, sizeof(*v));
	struct plot_samples samples[JOB_SIZES > GROUPS ? JOB_SIZES : GROUPS];
	struct plot_frame f = *frame;
	size_t g, i, n = 0, n_samples = 0;

	for (g = 0; g < groups; g++) {
		struct plot_samples s = { names[g], &v[n], 0 };

		for (i = 0; i < d->n_jobs; i++) {
			if (of[i] == g && isfinite(d->jobs[i].start))
				v[n + s.n++] = d->jobs[i].start - d->jobs[i].submit;
		}
		n += s.n;
		if (s.n)
			samples[n_samples++] = s;
	}
	f.x = (struct plot_axis){ .unit = PLOT_DURATION,
		.log = true,
		.label = "wait, from submission to the first start" };
	f.y.label = "of the jobs that started, so many waited at most so long";
	plot_ecdf(out, &f, samples, n_samples);
	free(v);
}

static void make_waits_accounts(
        struct strbuf *out, const struct plot_frame *f, const struct plotted *d)
{
	struct weight *w = xcalloc(d->n_jobs + 1, sizeof(*w));
	size_t *of = xcalloc(d->n_jobs + 1, sizeof(*of)), i;
	struct groups accounts;

	for (i = 0; i < d->n_jobs; i++)
		w[i] = (struct weight){ shown(d->jobs[i].account, "no account"), 1 };
	groups_make(&accounts, w, d->n_jobs);
	for (i = 0; i < d->n_jobs; i++)
		of[i] = group_of(&accounts, shown(d->jobs[i].account, "no account"));
	waits(out, f, d, of, accounts.name, accounts.n);
	free(w);
	free(of);
}

static void make_waits_sizes(
        struct strbuf *out, const struct plot_frame *f, const struct plotted *d)
{
	size_t *of = xcalloc(d->n_jobs + 1, sizeof(*of)), i;
	const char *names[JOB_SIZES];

	for (i = 0; i < JOB_SIZES; i++)
		names[i] = job_size_name(i);
	for (i = 0; i < d->n_jobs; i++)
		of[i] = job_size_of(d->jobs[i].gpus);
	waits(out, f, d, of, names, JOB_SIZES);
	free(of);
}

static void make_starts(struct strbuf *out, const struct plot_frame *frame, const struct plotted *d)
{
	double *x = xcalloc(d->n_jobs + 1, sizeof(*x)), *y = xcalloc(d->n_jobs + 1, sizeof(*y));
	double equal[2] = { INFINITY, 10 };
	struct plot_frame f = *frame;
	size_t i, n = 0, late = 0;
	char name[80];

	for (i = 0; i < d->n_jobs; i++) {
		const struct plotted_job *j = &d->jobs[i];

		if (!isfinite(j->planned) || !isfinite(j->start))
			continue;
		x[n] = j->planned - j->submit;
		y[n] = j->start - j->submit;
		late += y[n] > x[n] + 0.5;
		equal[0] = fmin(equal[0], fmax(1, fmin(x[n], y[n])));
		equal[1] = fmax(equal[1], fmax(x[n], y[n]));
		n++;
	}
	snprintf(
	        name, sizeof(name), "jobs, %.1f %% late", n ? 100.0 * (double)late / (double)n : 0);
	f.x = (struct plot_axis){ .label = "wait until the start that was first planned",
		.unit = PLOT_DURATION,
		.log = true };
	f.y = f.x;
	f.y.label = "wait until the start";
	plot_xy(out, &f,
	        (struct plot_series[]){ { name, PLOT_DOTS, x, y, NULL, n },
	                { "as planned", PLOT_LINE, equal, equal, NULL, n ? 2 : 0 } },
	        2);
	free(x);
	free(y);
}

const struct jobplot jobplots[] = {
	{ "use", "GPUs in use, by type", make_use, false },
	{ "demand", "Demand against supply", make_demand, false },
	{ "waits-accounts", "Waits, by account", make_waits_accounts, false },
	{ "waits-sizes", "Waits, by size", make_waits_sizes, false },
	{ "starts", "Starts as planned and as they were", make_starts, true },
	{ NULL, NULL, NULL, false },
};

void jobplot(struct strbuf *out, const struct jobplot *which, const struct plotted *d,
        const char *id, bool bare)
{
	const struct plot_frame f = {
		.title = which->title, .about = d->about, .id = id, .bare = bare
	};

	which->make(out, &f, d);
}
