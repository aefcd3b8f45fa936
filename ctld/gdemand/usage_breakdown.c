/* usage_breakdown.c - what the GPU-hours go to: kinds of jobs, shapes, types of GPUs, models; see demand.h */
#include <math.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/gdemand/demand.h"

static const struct sheet_column columns[] = {
	{ "by", "BY", SHEET_TEXT },
	{ "what", "WHAT", SHEET_TEXT },
	{ "jobs", "JOBS", SHEET_COUNT },
	{ "gpu_hours", "GPU-HOURS", SHEET_HOURS },
	{ "part", "PART", SHEET_PART },
	{ "target_p50_s", "MAX_WAIT P50", SHEET_TIME },
};

/* A part of the jobs, with its GPU time in each block. */
struct portion {
	uint32_t key;
	size_t jobs;
	double gpu_us;
	double *of_block; /* owned */
	struct weighted target;
};

struct portions {
	struct portion *v;
	size_t n, size;
	double *all; /* in each block; owned */
	uint32_t blocks;
};

static struct portion *portion_of(struct portions *m, uint32_t key)
{
	size_t i = 0;

	while (i < m->n && m->v[i].key != key)
		i++;
	if (i == m->n) {
		*XADD(m->v, m->n, m->size) = (struct portion){ .key = key,
			.of_block = xcalloc(m->blocks, sizeof(double)) };
	}
	return &m->v[i];
}

static int most_first(const void *x, const void *y)
{
	const struct portion *a = x, *b = y;

	if (a->gpu_us != b->gpu_us)
		return a->gpu_us > b->gpu_us ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static void portions_clear(struct portions *m)
{
	size_t i;

	for (i = 0; i < m->n; i++) {
		free(m->v[i].of_block);
		weighted_clear(&m->v[i].target);
	}
	free(m->v);
	free(m->all);
}

/* What the history says was held, else what the work takes. */
static double gpu_us_of(const struct past_job *j)
{
	if (j->gpu_us > 0)
		return j->gpu_us;
	return j->duration > 0 ? (double)j->milli / 1000 * (double)j->duration : 0;
}

/* --- what a job is by ------------------------------------------------------------------------ */

static uint32_t by_kind(const struct past_job *j)
{
	return j->kind;
}

/* Parts of a GPU are 0; 1, 2, 3-4, 5-8, 9-16 and so on are their upper ends. */
static uint32_t by_shape(const struct past_job *j)
{
	uint32_t most = 1;

	if (j->milli < 1000)
		return 0;
	while (most < j->gpus && most < 1u << 30)
		most *= 2;
	return most;
}

static uint32_t by_type(const struct past_job *j)
{
	return j->type;
}

static uint32_t by_model(const struct past_job *j)
{
	return j->model;
}

static void shape_name(char *buf, size_t size, uint32_t most)
{
	if (most == 0)
		snprintf(buf, size, "part of a GPU");
	else if (most <= 2)
		snprintf(buf, size, "%u GPU%s", (unsigned)most, most == 1 ? "" : "s");
	else
		snprintf(buf, size, "%u-%u GPUs", (unsigned)most / 2 + 1, (unsigned)most);
}

enum naming { NAME_KIND, NAME_SHAPE, NAME_TEXT };
static const struct dimension {
	const char *name;
	uint32_t (*of)(const struct past_job *j);
	enum naming naming;
} dimensions[] = {
	{ "kind", by_kind, NAME_KIND },
	{ "shape", by_shape, NAME_SHAPE },
	{ "type", by_type, NAME_TEXT },
	{ "model", by_model, NAME_TEXT },
};

/* --- rows ------------------------------------------------------------------------------------ */

struct ratio {
	const double *part, *all;
	uint32_t blocks;
};

static void ask_part(const void *arg, const uint32_t *times, double *out)
{
	const struct ratio *r = arg;
	double part = 0, all = 0;
	uint32_t i;

	for (i = 0; i < r->blocks; i++) {
		part += r->part[i] * (times ? times[i] : 1);
		all += r->all[i] * (times ? times[i] : 1);
	}
	*out = all > 0 ? part / all : NAN;
}

static void put_row(const struct demand *d, struct sheet *s, const struct dimension *by,
        const struct portion *p, const struct portions *m)
{
	const struct ratio ratio = { p->of_block, m->all, m->blocks };
	struct interval part;
	char shape[40];

	bootstrap(&d->bootstrap, ask_part, &ratio, 1, &part);
	shape_name(shape, sizeof(shape), p->key);
	sheet_text(s, by->name);
	sheet_text(s, by->naming == NAME_KIND    ? job_kind_names[p->key]
	              : by->naming == NAME_SHAPE ? shape
	                                         : name_or_none(d->past, p->key));
	sheet_number(s, (double)p->jobs);
	sheet_number(s, p->gpu_us / 3.6e9);
	sheet_interval(s, &part);
	sheet_number(s, weighted_quantile(&p->target, 0.5, NULL));
}

static void put_dimension(const struct demand *d, struct sheet *s, const struct dimension *by)
{
	struct portions m = { .blocks = d->past->blocks };
	size_t i;

	m.all = xcalloc(m.blocks, sizeof(double));
	for (i = 0; i < d->past->n; i++) {
		const struct past_job *j = &d->past->v[i];
		struct portion *p;

		if (!past_counts(d->past, j))
			continue;
		p = portion_of(&m, by->of(j));
		p->jobs++;
		p->gpu_us += gpu_us_of(j);
		p->of_block[j->block] += gpu_us_of(j);
		m.all[j->block] += gpu_us_of(j);
		if (j->declared)
			weighted_add(&p->target, (double)j->target / 1e6, 1, j->block);
	}
	if (m.n)
		qsort(m.v, m.n, sizeof(*m.v), most_first);
	for (i = 0; i < m.n && i < d->top; i++) {
		weighted_seal(&m.v[i].target);
		put_row(d, s, by, &m.v[i], &m);
	}
	if (m.n > d->top)
		sheet_note(s, "By %s: %zu more, which --top=%zu would show.", by->name,
		        m.n - d->top, m.n);
	portions_clear(&m);
}

void demand_mix(struct demand *d)
{
	struct sheet *s = BOOK_SHEET(d->book, "mix", "Mix: what the GPU-hours go to", columns);
	size_t i;

	for (i = 0; i < sizeof(dimensions) / sizeof(dimensions[0]); i++) {
		if (dimensions[i].of != by_model || d->past->has.labels)
			put_dimension(d, s, &dimensions[i]);
	}
	if (!d->past->has.labels)
		sheet_note(s,
		        "No job has a label \"model\": what GPUs do for which model is not known.");
	sheet_note(s,
	        "A history does not say which jobs were interactive: jobs of the partitions and "
	        "QOS of --interactive are taken for it.");
}
