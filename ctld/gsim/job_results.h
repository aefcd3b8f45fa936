/* job_results.h - what became of each job: what charts and comparisons are made of
 *
 * Times are seconds since the first submission, NAN where it has not come to that. A world fills
 * one in as it goes, in the order of submission; or it is read from what --jobs wrote.
 */
#ifndef GSIM_JOB_RESULTS_H
#define GSIM_JOB_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/job/run.h"
#include "common/plot/jobplots.h"
#include "ctld/gsim/history/text_numbers.h"

struct result {
	uint32_t name, account; /* of `names` */
	bool refused;           /* it was not submitted after all */
	struct plotted_job job; /* its account is the text of the number */
};

struct results {
	struct text_numbers *names;
	struct result *v; /* [n], owned */
	size_t n, size;
	struct plotted_run *runs; /* the types borrowed of the configuration */
	size_t n_runs, runs_size;
};

struct results *results_new(void);
void results_free(struct results *o); /* NULL is fine */

/* Returns its number, by which it is changed. */
size_t results_add(
        struct results *o, const char *name, const char *account, double gpus, usec_t submit);
void results_account(struct results *o, size_t i, const char *account);

/* `start`, `end`: since the first submission. */
void results_run(struct results *o, const char *type, double gpus, usec_t start, usec_t end);

/* A file of --jobs. NULL with `err`. */
struct results *results_read(const char *path, struct error *err);

/* The jobs that were not refused, as charts want them; the caller frees it. */
struct plotted_job *results_jobs(const struct results *o, size_t *n);

#endif
