/* jobplots.h - the charts of the jobs of a period, from a simulation or a history
 *
 *	use             GPUs that runs had over time, by type
 *	demand          GPUs of all jobs that waited or ran over time, and what they were given
 *	waits-accounts  for each wait, the part of the jobs that waited at most so long, by account
 *	waits-sizes     the same by the number of GPUs of a job
 *	starts          each job's wait as it was first planned, and as it was
 *
 * Times are seconds, NAN: the event has not happened. A job without an end is drawn up to `to`.
 */
#ifndef COMMON_JOBPLOTS_H
#define COMMON_JOBPLOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "common/plot/plot.h"

struct plotted_job {
	const char *account;
	double gpus;
	double submit, start, end;
	double planned; /* the first planned start */
};

struct plotted_run {
	const char *type; /* of its GPUs */
	double gpus;
	double start, end;
};

/* All borrowed. */
struct plotted {
	const char *about;   /* the subject: "fifo on cluster rz1"; NULL: none */
	enum plot_unit time; /* PLOT_UTC, or PLOT_DURATION since the first submission */
	double from, to;     /* what is shown */
	double capacity;     /* GPUs there are; 0: not known */
	const struct plotted_job *jobs;
	size_t n_jobs;
	const struct plotted_run *runs;
	size_t n_runs;
};

/* Sizes of jobs, by their GPUs: "no GPU", "1 GPU", "2-4 GPUs" and so on. */
#define JOB_SIZES 7
size_t job_size_of(double gpus);
const char *job_size_name(size_t size);

struct jobplot {
	const char *name; /* of its file, without ".svg" */
	const char *title;
	void (*make)(struct strbuf *out, const struct plot_frame *f, const struct plotted *d);
	bool of_plans; /* says nothing where no start was planned */
};

/* All there are; ended by one without a name. */
extern const struct jobplot jobplots[];

/* `which` as one chart; `bare` and `id` as in a plot_frame. */
void jobplot(struct strbuf *out, const struct jobplot *which, const struct plotted *d,
        const char *id, bool bare);

/* --- files ----------------------------------------------------------------------------------- */

/* Make the folder, unless it is there. */
int plotdir_make(const char *dir, struct error *err);

/* Write DIR/NAME.svg, replacing one that is there; empties `svg`. */
int plotdir_write(const char *dir, const char *name, struct strbuf *svg, struct error *err);

/* All of jobplots[] that say something. */
int plotdir_jobs(const char *dir, const struct plotted *d, struct error *err);

#endif
