/* job_past.c - what a job's attempts were, what they used and cost, and what to ask for next
 * (job_parts.h) */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/views/acctview.h"
#include "cmds/web/pages/cells.h"
#include "cmds/web/pages/job_parts.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/plot/plot.h"

#define S(us)    ((double)(us) / 1e6)
#define ROWS_MAX 24 /* of attempts in the picture */

/* --- the timeline ----------------------------------------------------------------------------- */

enum kind { WAITED, COULD_START, RAN, INTERRUPTED, KINDS };
static const char *const kinds[KINDS] = {
	[WAITED] = "waiting by its owner's wish",
	[COULD_START] = "waiting for room",
	[RAN] = "running",
	[INTERRUPTED] = "running, and interrupted",
};

struct timeline {
	struct plot_span spans[2 * ROWS_MAX + 4];
	char names[ROWS_MAX + 1][32];
	const char *rows[ROWS_MAX + 1];
	size_t n_spans, n_rows;
	double end;
};

static void add_span(struct timeline *t, size_t row, double from, double to, enum kind kind)
{
	if (to < from || t->n_spans == sizeof(t->spans) / sizeof(t->spans[0]))
		return;
	t->spans[t->n_spans++] =
	        (struct plot_span){ .row = row, .from = from, .to = to, .kind = kind };
}

static bool interrupted(const Gpusched__AcctRun *r)
{
	static const char *const causes[] = { "preempt", "node-fail", "drain", "reclaim", "lost",
		"launch", "gpu-memory", "spool" };

	return text_among(r->cause, causes, sizeof(causes) / sizeof(causes[0]));
}

/* Attempts are told by their first node. */
static void add_runs(struct timeline *t, const Gpusched__Acct *job)
{
	for (size_t i = 0; i < job->n_runs && t->n_rows <= ROWS_MAX; i++) {
		const Gpusched__AcctRun *r = job->runs[i];
		char *name = t->names[t->n_rows];

		if (r->rank || !r->start_time)
			continue;
		snprintf(name, sizeof(t->names[0]), "attempt %" PRIu32, r->attempt);
		t->rows[t->n_rows] = name;
		add_span(t, t->n_rows++, S(r->start_time), r->end_time ? S(r->end_time) : t->end,
		        interrupted(r) ? INTERRUPTED : RAN);
	}
}

static void draw_timeline(struct strbuf *out, const void *arg)
{
	const struct timeline *t = arg;
	struct plot_frame f = { .title = "From submit to end",
		.id = "timeline",
		.bare = true,
		.x = { .unit = PLOT_UTC } };
	struct plot_spans s = { .rows = t->rows,
		.n_rows = t->n_rows,
		.kinds = kinds,
		.n_kinds = KINDS,
		.spans = t->spans,
		.n_spans = t->n_spans };

	plot_spans(out, &f, &s);
}

void put_timeline(struct page *p, const Gpusched__Acct *job)
{
	struct timeline *t = xcalloc(1, sizeof(*t));
	double submit = S(job->submit_time), eligible = S(job->eligible_time), first;

	t->end = job->end_time ? S(job->end_time) : S(p->now);
	first = job->first_start_time ? S(job->first_start_time) : t->end;
	t->rows[t->n_rows++] = "waiting";
	/* Not known of what has started before that was told; of what waits its owner keeps it. */
	if (!job->eligible_time)
		eligible = job->first_start_time ? submit : first;
	if (eligible > submit)
		add_span(t, 0, submit, eligible, WAITED);
	if (first > eligible || job->first_start_time)
		add_span(t, 0, fmax(eligible, submit), first, COULD_START);
	add_runs(t, job);
	HTML(p->h, "<figure class=\"scroll\" tabindex=\"0\">");
	html_svg(p->h, draw_timeline, t);
	HTML(p->h, "</figure>");
	free(t);
}

/* --- attempts --------------------------------------------------------------------------------- */

#define LINE const struct acct_run_line *line = object

static void put_node(struct html *h, const void *object, const char *text, int64_t now)
{
	LINE;

	(void)text, (void)now;
	HTML_LINK(h, "/node/", line->run->node, line->run->node);
}

static void put_begin(struct html *h, const void *object, const char *text, int64_t now)
{
	LINE;

	(void)text;
	put_time(h, line->run->start_time, now);
}

static void put_finish(struct html *h, const void *object, const char *text, int64_t now)
{
	LINE;

	(void)text;
	put_time(h, line->run->end_time, now);
}

static const struct column columns[] = {
	{ "ATTEMPT", "Attempt", NULL, NULL, NULL },
	{ "NODE", "Node", NULL, put_node, NULL },
	{ "GPUS", "GPUs", NULL, NULL, NULL },
	{ "START", "Start", NULL, put_begin, NULL },
	{ "END", "End", NULL, put_finish, NULL },
	{ "HELD", "Held", NULL, NULL, NULL },
	{ "STATE", "State", NULL, NULL, NULL },
	{ "EXIT", "Exit", NULL, NULL, NULL },
	{ "CAUSE", "Ended by", NULL, NULL, NULL },
	{ "DETAIL", "In words", NULL, NULL, "why" },
	{ "EFF", "Compute", NULL, NULL, NULL },
	{ "GPUMEM", "GPU mem", NULL, NULL, NULL },
	{ "MAXRSS", "Memory", NULL, NULL, NULL },
	{ "COST", "Cost", NULL, NULL, NULL },
	{ "RANK", "Rank", NULL, NULL, NULL },
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))
#define RUNS_TOLD 500

void put_attempts(struct page *p, const Gpusched__Acct *job)
{
	if (!job->n_runs) {
		HTML(p->h, "<p class=\"dim\">It was not started yet.</p>");
		return;
	}
	put_table(p->h, "Attempts", &acct_run_kind, columns, N_COLUMNS, NULL, NULL);
	for (size_t i = 0; i < job->n_runs && i < RUNS_TOLD; i++) {
		struct acct_run_line line = { job, job->runs[i] };

		put_row(p->h, &acct_run_kind, columns, N_COLUMNS, &line, p->now);
	}
	put_table_end(p->h);
	if (job->n_runs > RUNS_TOLD)
		HTML(p->h,
		        "<p class=\"dim\">And %zu more: <code>gacct --runs -j %" PRIu64
		        "</code></p>",
		        job->n_runs - RUNS_TOLD, job->id);
}

/* --- use, cost, advice ------------------------------------------------------------------------ */

static void put_gpu_use(struct html *h, const Gpusched__RunUsed *u)
{
	if (u->gpu_seen_us) {
		HTML(h, "<dt>Compute of its GPUs</dt><dd>");
		put_bar(h, (double)u->gpu_busy_us, (double)u->gpu_seen_us, -1);
		HTML(h, " %.0f %% of the time that they were held; idle for %.0f %% of it</dd>",
		        100 * (double)u->gpu_busy_us / (double)u->gpu_seen_us,
		        100 * (double)u->gpu_idle_us / (double)u->gpu_seen_us);
	}
	if (u->gpu_mem_peak_mb) {
		HTML(h, "<dt>GPU memory</dt><dd>");
		put_size_mb(h, u->gpu_mem_peak_mb);
		HTML(h, " at most on one of them</dd>");
	}
	if (u->energy_mj)
		HTML(h, "<dt>Energy</dt><dd>%.2f kWh</dd>", (double)u->energy_mj / 3.6e9);
}

static void put_host_use(struct html *h, const Gpusched__Acct *job)
{
	char used[UNITS_TEXT], asked[UNITS_TEXT];

	if (job->cpu_time_us && job->cpu_us)
		HTML(h, "<dt>CPU time</dt><dd>%s, of %s that it held</dd>",
		        duration_format(used, job->cpu_time_us / 1000000),
		        duration_format(asked, job->cpu_us / 1000000));
	if (job->max_rss_kb)
		HTML(h, "<dt>Host memory</dt><dd>%s at most on a node%s%s</dd>",
		        size_format_mb(used, job->max_rss_kb / 1024), job->mem_mb ? ", of " : "",
		        job->mem_mb ? size_format_mb(asked, job->mem_mb) : "");
}

/* A third more than was used, rounded up to a step; 0: as much as was asked for. */
static uint64_t enough(uint64_t used, uint64_t asked, uint64_t step)
{
	uint64_t want = (used + used / 3 + step - 1) / step * step;

	want = want ? want : step;
	return want * 4 <= asked * 3 ? want : 0;
}

static void put_advice(struct html *h, const Gpusched__Acct *job)
{
	const Gpusched__RunUsed *u = job->used;
	bool limited = job->time_limit_s && job->time_limit_s != UINT32_MAX;
	uint64_t time = limited ? enough(job->elapsed_s, job->time_limit_s, 300) : 0;
	uint64_t mem = job->mem_mb ? enough(job->max_rss_kb / 1024, job->mem_mb, 1024) : 0;
	bool idle = u && u->gpu_seen_us && u->gpu_idle_us * 2 > u->gpu_seen_us;
	char text[UNITS_TEXT];

	/* What ended otherwise might have used more. */
	if (strcmp(job->state, "COMPLETED") != 0)
		time = mem = 0;
	if (!time && !mem && !idle)
		return;
	HTML(h, "<h3>Next time</h3><ul>");
	if (idle)
		HTML(h,
		        "<li>Its GPUs were idle for %.0f %% of the time: fewer, or parts of GPUs "
		        "(<span class=\"option\">--gpu-mem</span>), would do.</li>",
		        100 * (double)u->gpu_idle_us / (double)u->gpu_seen_us);
	if (time)
		HTML(h,
		        "<li><span class=\"option\">--time=%s</span> is enough: a shorter job "
		        "finds "
		        "room sooner.</li>",
		        duration_format(text, time));
	if (mem)
		HTML(h, "<li><span class=\"option\">--mem=%s</span> is enough.</li>",
		        size_format_mb(text, mem));
	HTML(h, "</ul>");
}

void put_job_use(struct page *p, const Gpusched__Acct *job, const char *currency)
{
	struct html *h = p->h;

	HTML(h, "<dl class=\"facts\">");
	if (job->gpu_us)
		HTML(h, "<dt>GPU-hours</dt><dd>%.2f</dd>", (double)job->gpu_us / 3.6e9);
	if (job->cost > 0)
		HTML(h, "<dt>Cost</dt><dd>%.2f %s</dd>", job->cost, currency);
	if (job->used)
		put_gpu_use(h, job->used);
	put_host_use(h, job);
	if (job->requests)
		HTML(h, "<dt>Requests answered</dt><dd>%" PRIu64 "</dd>", job->requests);
	HTML(h, "</dl>");
	put_advice(h, job);
}
