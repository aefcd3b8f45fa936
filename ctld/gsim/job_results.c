/* job_results.c - see job_results.h */
#include "ctld/gsim/job_results.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/gsim/history/csv.h"

#define US_PER_S 1e6
#define GPUS_MAX 1000000

struct results *results_new(void)
{
	struct results *o = xcalloc(1, sizeof(*o));

	o->names = text_numbers_new();
	return o;
}

void results_free(struct results *o)
{
	if (!o)
		return;
	text_numbers_free(o->names);
	free(o->v);
	free(o->runs);
	free(o);
}

size_t results_add(
        struct results *o, const char *name, const char *account, double gpus, usec_t submit)
{
	o->v = xgrow(o->v, o->n, &o->size, sizeof(*o->v));
	o->v[o->n] = (struct result){ .name = text_numbers_get(o->names, name),
		.job = { .gpus = gpus,
		        .submit = (double)submit / US_PER_S,
		        .start = NAN,
		        .end = NAN,
		        .planned = NAN } };
	results_account(o, o->n, account);
	return o->n++;
}

void results_account(struct results *o, size_t i, const char *account)
{
	o->v[i].account = text_numbers_get(o->names, account);
	o->v[i].job.account = text_numbers_text(o->names, o->v[i].account);
}

void results_run(struct results *o, const char *type, double gpus, usec_t start, usec_t end)
{
	*XADD(o->runs, o->n_runs, o->runs_size) = (struct plotted_run){ .type = type,
		.gpus = gpus,
		.start = (double)start / US_PER_S,
		.end = (double)end / US_PER_S };
}

struct plotted_job *results_jobs(const struct results *o, size_t *n)
{
	struct plotted_job *jobs = xcalloc(o->n ? o->n : 1, sizeof(*jobs));
	size_t i;

	*n = 0;
	for (i = 0; i < o->n; i++) {
		if (!o->v[i].refused)
			jobs[(*n)++] = o->v[i].job;
	}
	return jobs;
}

/* --- a file of --jobs ------------------------------------------------------------------------- */

enum column { NAME, ACCOUNT, GPUS, SUBMIT, START, END, ESTIMATE, COLUMNS };
static const struct csv_column columns[COLUMNS] = {
	[NAME] = { "job_id", true },
	[ACCOUNT] = { "account", true },
	[GPUS] = { "gpus", true },
	[SUBMIT] = { "submit_s", true },
	[START] = { "start_s", true },
	[END] = { "end_s", true },
	[ESTIMATE] = { "estimate_s", false },
};

static int take_row(struct results *o, const char *const *f, struct error *err)
{
	usec_t times[COLUMNS] = { [SUBMIT] = -1, [START] = -1, [END] = -1, [ESTIMATE] = -1 };
	uint64_t gpus = 0;
	struct result *v;
	int c;

	if (csv_count(f[GPUS], "gpus", GPUS_MAX, &gpus, err) < 0)
		return -1;
	for (c = SUBMIT; c <= ESTIMATE; c++) {
		if (csv_seconds(f[c], columns[c].name, &times[c], err) < 0)
			return -1;
	}
	if (times[SUBMIT] < 0)
		return error_set(err, ERR_USAGE, "submit_s is missing");
	results_add(o, f[NAME], f[ACCOUNT], (double)gpus, times[SUBMIT]);
	v = &o->v[o->n - 1];
	v->job.start = times[START] < 0 ? NAN : (double)times[START] / US_PER_S;
	v->job.end = times[END] < 0 ? NAN : (double)times[END] / US_PER_S;
	v->job.planned = times[ESTIMATE] < 0 ? NAN : (double)times[ESTIMATE] / US_PER_S;
	return 0;
}

struct results *results_read(const char *path, struct error *err)
{
	struct csv *csv = csv_open(path, columns, COLUMNS, err);
	struct results *o = results_new();
	const char *fields[COLUMNS];
	enum csv_result rc = CSV_FAILED;

	while (csv && (rc = csv_next(csv, fields, err)) == CSV_ROW) {
		if (take_row(o, fields, err) < 0) {
			csv_blame(csv, err);
			rc = CSV_BAD;
			break;
		}
	}
	csv_close(csv);
	if (rc == CSV_END)
		return o;
	results_free(o);
	return NULL;
}
