/* model_residency.c - how long models are in GPU memory for the time in which they compute; see demand.h
 *
 * Memory-time is GPU memory summed over the time that it was used. A job's busy memory-time is that
 * times the part of the time in which its GPUs computed. A ratio of 1 is a model that always
 * computes while it is loaded; at 10 it is loaded ten times as long as it computes.
 */
#include <math.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/gdemand/demand.h"

static const struct sheet_column columns[] = {
	{ "what", "WHAT", SHEET_TEXT },
	{ "gpu_hours", "GPU-HOURS", SHEET_HOURS },
	{ "residency", "RESIDENCY", SHEET_RATIO },
	{ "busy", "BUSY", SHEET_PART },
	{ "idle_gpu_hours", "IDLE GPU-HOURS", SHEET_HOURS },
	{ "idle_cost", "IDLE COST", SHEET_HOURS },
};

struct sums {
	double memory, busy_memory, seen, busy, idle, idle_cost, held;
};

/* Of one row, in each block of time. */
struct resident {
	char name[SCOPE_TEXT];
	int kind;       /* -1: any */
	uint32_t model; /* DEMAND_ALL: any */
	struct sums *of_block;
	uint32_t blocks;
};

static void add(struct sums *s, const struct past_job *j)
{
	double busy = j->seen_us > 0 ? j->busy_us / j->seen_us : 0;
	double idle = j->seen_us > 0 ? j->idle_us / j->seen_us : 0;

	s->held += j->gpu_us;
	s->seen += j->seen_us;
	s->busy += j->busy_us;
	s->idle += j->idle_us;
	s->idle_cost += j->cost * idle;
	/* What computes at no known rate would count as idle. */
	s->memory += j->seen_us > 0 ? j->mem_mbs : 0;
	s->busy_memory += j->mem_mbs * busy;
}

enum { RESIDENCY, BUSY, IDLE_HOURS, IDLE_COST, NUMBERS };

static void ask(const void *arg, const uint32_t *times, double *out)
{
	const struct resident *r = arg;
	struct sums all = { 0 };
	uint32_t i;

	for (i = 0; i < r->blocks; i++) {
		double n = times ? times[i] : 1;

		all.memory += r->of_block[i].memory * n;
		all.busy_memory += r->of_block[i].busy_memory * n;
		all.seen += r->of_block[i].seen * n;
		all.busy += r->of_block[i].busy * n;
		all.idle += r->of_block[i].idle * n;
		all.idle_cost += r->of_block[i].idle_cost * n;
	}
	out[RESIDENCY] = all.busy_memory > 0 ? all.memory / all.busy_memory : NAN;
	out[BUSY] = all.seen > 0 ? all.busy / all.seen : NAN;
	out[IDLE_HOURS] = all.idle / 3.6e9;
	out[IDLE_COST] = all.idle_cost;
}

static void row(const struct demand *d, struct sheet *s, struct resident *r)
{
	struct interval found[NUMBERS];
	double held = 0;
	size_t i;

	r->blocks = d->past->blocks;
	r->of_block = xcalloc(r->blocks, sizeof(*r->of_block));
	for (i = 0; i < d->past->n; i++) {
		const struct past_job *j = &d->past->v[i];

		if (!past_counts(d->past, j) || (r->kind >= 0 && r->kind != (int)j->kind) ||
		        (r->model != DEMAND_ALL && r->model != j->model))
			continue;
		add(&r->of_block[j->block], j);
		held += j->gpu_us;
	}
	bootstrap(&d->bootstrap, ask, r, NUMBERS, found);
	if (held > 0) {
		sheet_text(s, r->name);
		sheet_number(s, held / 3.6e9);
		for (i = 0; i < NUMBERS; i++)
			sheet_interval(s, &found[i]);
	}
	free(r->of_block);
}

/* Each model once, in the order in which the history names them. */
static void models(const struct demand *d, struct sheet *s)
{
	bool *seen = xcalloc(1, sizeof(*seen));
	size_t size = 1, i, shown = 0;

	for (i = 0; i < d->past->n && shown < d->top; i++) {
		struct resident r = { .kind = -1, .model = d->past->v[i].model };

		if (r.model >= size) {
			seen = xrealloc(seen, (size_t)r.model + 1, sizeof(*seen));
			while (size <= r.model)
				seen[size++] = false;
		}
		if (seen[r.model] || !*text_numbers_text(d->past->names, r.model))
			continue;
		seen[r.model] = true;
		snprintf(r.name, sizeof(r.name), "model %s", text_numbers_text(d->past->names, r.model));
		row(d, s, &r);
		shown++;
	}
	free(seen);
}

void demand_residency(struct demand *d)
{
	struct sheet *s = BOOK_SHEET(d->book, "residency",
	        "Residency: memory-time over busy memory-time, and what idle GPUs cost", columns);
	struct resident all = { .name = "all", .kind = -1, .model = DEMAND_ALL };
	int kind;

	if (!d->past->has.use) {
		sheet_note(s, "Not known: this history does not say how busy GPUs were.");
		return;
	}
	row(d, s, &all);
	for (kind = 0; kind < KINDS; kind++) {
		struct resident r = { .kind = kind, .model = DEMAND_ALL };

		snprintf(r.name, sizeof(r.name), "%s", job_kind_names[kind]);
		row(d, s, &r);
	}
	models(d, s);
	if (!d->past->has.memory)
		sheet_note(s,
		        "Residency is not known: this history has no memory of GPUs over time "
		        "(releases before gpu_mem_mbs did not keep it).");
	if (!d->past->has.cost)
		sheet_note(s, "Nothing cost anything: gpusched.conf had no prices.");
	else
		sheet_note(s, "Idle: under 5 %% compute use; its cost is that part of what the job "
		              "cost.");
}
