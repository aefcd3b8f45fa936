/* plots.c - see plots.h */
#include "ctld/gsim/plots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/plot/jobplots.h"

/* The name without its folders. */
static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void shift(
        struct plotted_job *jobs, size_t n, struct plotted_run *runs, size_t n_runs, double by)
{
	size_t i;

	for (i = 0; i < n; i++) {
		jobs[i].submit += by;
		jobs[i].start += by;
		jobs[i].end += by;
		jobs[i].planned += by;
	}
	for (i = 0; i < n_runs; i++) {
		runs[i].start += by;
		runs[i].end += by;
	}
}

int plots_write(const char *dir, const struct report_input *in, const struct measures *m,
        bool dated, struct error *err)
{
	const struct results *o = m->results;
	struct plotted_run *runs = xcalloc(o->n_runs ? o->n_runs : 1, sizeof(*runs));
	double first = dated ? (double)m->first / 1e6 : 0;
	size_t n;
	struct plotted_job *jobs = results_jobs(o, &n);
	char about[400];
	struct plotted d = { .about = about,
		.time = dated ? PLOT_UTC : PLOT_DURATION,
		.from = first,
		.to = first + (double)m->now / 1e6,
		.capacity = (double)m->capacity,
		.jobs = jobs,
		.n_jobs = n,
		.runs = runs,
		.n_runs = o->n_runs };
	int rc;

	if (o->n_runs)
		memcpy(runs, o->runs, o->n_runs * sizeof(*runs));
	shift(jobs, n, runs, o->n_runs, first);
	snprintf(about, sizeof(about), "gsim: %.100s%s on %.80s, %s; load x %g", base(in->files[0]),
	        in->n_files > 1 ? " and more" : "", in->conf->cluster, in->policy, in->scale_load);
	rc = plotdir_jobs(dir, &d, err);
	free(jobs);
	free(runs);
	return rc;
}
