/* metrics.h - figures in the text format of Prometheus
 *
 * A page is a table of metrics; each row has a name, a type, the names of its labels, a line of help
 * and a function that puts its samples. The same rows are the tables of gweb(8): gweb --metrics.
 * A page is made once for each snapshot, by the first that asks for it, and kept for all others.
 *
 * Labels are names that the configuration or the hardware has: partitions, accounts, QOS, states,
 * reasons, GPU types, nodes. Of what users choose (user names on the pages under Slurm's names) the
 * METRICS_USERS_MAX with most jobs have a series each and the others one together, "(other)". No
 * label is a job's number or name, but for hpc_job of GPUs, of which there are as many as GPUs.
 */
#ifndef CMDS_WEB_METRICS_H
#define CMDS_WEB_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cmds/web/http.h"
#include "common/base/strbuf.h"

#define METRICS_USERS_MAX  1000
#define METRICS_LABELS_MAX 10

struct metric_out;

struct metric {
	const char *name;
	const char *type;   /* gauge, counter, histogram */
	const char *labels; /* "partition,state"; "" */
	const char *help;
	void (*fill)(struct metric_out *o);
};

struct metrics_sums;

/* What the functions of a page look at. */
struct metrics_input {
	const struct snapshot *snap; /* may be NULL: then only rows of `always` pages have samples */
	const struct http_figures *http;
	const struct metrics_sums *sums;
	bool up;
	double age_s;
};

struct metric_out {
	struct strbuf *text;
	const struct metric *metric;
	const struct metrics_input *in;
	bool begun; /* HELP and TYPE are written */
};

/* A sample; label values in the order of metric->labels, as many as it has. */
void metric_put(struct metric_out *o, double value, ...);
/* The same with a suffix of the name ("_bucket") and one more label ("le"). */
void metric_put_more(struct metric_out *o, const char *suffix, const char *more_name,
        const char *more_value, double value, const char *const *labels);
void metric_put_list(struct metric_out *o, double value, const char *const *labels);

struct metrics_page {
	const char *path;
	const char *about;
	const struct metric *rows; /* ends with a row of nothing */
};
extern const struct metrics_page metrics_pages[]; /* ends with a page of nothing */

/* The text of a page. */
void metrics_write(const struct metrics_page *page, const struct metrics_input *in,
        struct strbuf *text);

/* The tables of gweb(8), as mdoc. */
void metrics_manual(FILE *out);

/* --- served ----------------------------------------------------------------------------------- */

struct metrics;
struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);
void metrics_set_http(struct metrics *m, const struct http *h); /* whose figures are shown */
extern const struct http_route metrics_routes[]; /* their arg: struct metrics * */

#endif
