/* greport_plot.c - see greport_plot.h */
#include "cmds/greport_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/api/reassemble.h"
#include "cmds/cli/parse_time.h"
#include "common/base/each.h"
#include "common/base/progress.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/plot/jobplots.h"

struct charts {
	struct plotted_job *jobs;
	size_t n_jobs, jobs_room;
	struct plotted_run *runs;
	size_t n_runs, runs_room;
	char **texts; /* owned; those of the last job may be had again */
	size_t n_texts, texts_room;
	struct progress *bar;
};

static double seconds(int64_t us)
{
	return us ? (double)us / 1e6 : NAN;
}

/* Kept as long as the charts are made; neighbours often say the same. */
static const char *keep(struct charts *c, const char *text)
{
	size_t i;

	for (i = c->n_texts; i-- > 0 && i + 8 > c->n_texts;) {
		if (!strcmp(c->texts[i], text))
			return c->texts[i];
	}
	c->texts = xgrow(c->texts, c->n_texts, &c->texts_room, sizeof(*c->texts));
	c->texts[c->n_texts] = xstrdup(text);
	return c->texts[c->n_texts++];
}

/* What it held last, or asked for first: the 2 of "h100:2|l40s:4". */
static double gpus_of(const Gpusched__Acct *job)
{
	const char *asked = job->asked_gpus, *bar = strchr(asked, '|'), *colon = strchr(asked, ':');
	double n = 0;

	for (size_t i = 0; i < job->n_gpus; i++)
		n += job->gpus[i]->count;
	if (job->n_gpus)
		return n;
	return strtod(colon && (!bar || colon < bar) ? colon + 1 : asked, NULL);
}

static void add_job(struct charts *c, const Gpusched__Acct *job)
{
	*XADD(c->jobs, c->n_jobs, c->jobs_room) =
	        (struct plotted_job){ .account = keep(c, job->account),
			.gpus = gpus_of(job),
			.submit = seconds(job->submit_time),
			.start = seconds(job->first_start_time),
			.end = seconds(job->end_time),
			.planned = NAN };
}

/* A part of a GPU counts as what it was billed. */
static void add_run(struct charts *c, const Gpusched__AcctRun *run)
{
	double gpus =
	        run->held_us ? (double)run->gpu_us / (double)run->held_us : (double)run->n_gpus;

	if (!run->n_gpus || !run->start_time)
		return;
	*XADD(c->runs, c->n_runs, c->runs_room) =
	        (struct plotted_run){ .type = keep(c, run->gpu_type),
			.gpus = gpus,
			.start = seconds(run->start_time),
			.end = seconds(run->end_time) };
}

static int on_job(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Acct *job = (const Gpusched__Acct *)m;
	struct charts *c = arg;

	(void)err;
	add_job(c, job);
	for (size_t i = 0; i < job->n_runs; i++)
		add_run(c, job->runs[i]);
	progress_at(c->bar, c->n_jobs);
	return 0;
}

/* What was asked for, or what there is of it. */
static void find_window(const struct charts *c, const Gpusched__ListAcct *m, struct plotted *d)
{
	double first = INFINITY, last = -INFINITY;

	for (size_t i = 0; i < c->n_runs; i++) {
		first = fmin(first, c->runs[i].start);
		last = fmax(last, isnan(c->runs[i].end) ? c->runs[i].start : c->runs[i].end);
	}
	for (size_t i = 0; i < c->n_jobs; i++) {
		first = fmin(first, c->jobs[i].submit);
		last = fmax(last, isnan(c->jobs[i].end) ? c->jobs[i].submit : c->jobs[i].end);
	}
	d->from = m->since_time ? seconds(m->since_time) : first;
	d->to = m->until_time   ? seconds(m->until_time)
	        : m->since_time ? seconds(parse_time_now())
	                        : last;
}

/* Waits are those of jobs that started in the window, as in the tables. */
static void keep_in_window(struct charts *c, const struct plotted *d)
{
	for (size_t i = 0; i < c->n_jobs; i++) {
		if (c->jobs[i].start < d->from || c->jobs[i].start > d->to)
			c->jobs[i].start = NAN;
	}
}

static void charts_free(struct charts *c)
{
	for (size_t i = 0; i < c->n_texts; i++)
		free(c->texts[i]);
	free(c->texts);
	free(c->jobs);
	free(c->runs);
}

int greport_plot(struct client *client, const struct acctopt *which, double capacity,
        const char *dir, struct error *err)
{
	struct charts c = { .bar = progress_new("listing", "jobs", PROGRESS_COUNT, 0, false) };
	Gpusched__JobFilter filter;
	Gpusched__ListAcct request;
	struct reassembly jobs = { GPUSCHED__MSG_TYPE__MSG_ACCT_CHUNK, on_job, &c, NULL };
	struct plotted d = { .about = which->file ? which->file : client_conf(client)->cluster,
		.time = PLOT_UTC,
		.capacity = capacity };
	int rc;

	acctopt_message(which, parse_time_today(parse_time_now()), &filter, &request);
	request.with_runs = request.whole = true;
	rc = reassembly_ask(client, GPUSCHED__MSG_TYPE__MSG_LIST_ACCT, &request.base, &jobs, err);
	progress_end(c.bar);
	if (rc >= 0) {
		find_window(&c, &request, &d);
		keep_in_window(&c, &d);
		COPY_FIELDS(&d, &c, jobs, n_jobs, runs, n_runs);
		rc = plotdir_jobs(dir, &d, err);
	}
	charts_free(&c);
	return rc;
}
