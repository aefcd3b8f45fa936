/* metrics.h - figures in the text format of Prometheus
 *
 * A page is a table of metrics; each row has a name, a type, the names of its labels, a line of
 * help and a function that puts its samples. The same rows are the tables of gweb(8): gweb
 * --metrics. A page is made once for each snapshot and kept for all that ask: by the watcher's
 * thread, if it was asked for within METRICS_WANTED_S, so that nothing on the loop waits for it.
 *
 * Where the configuration keeps jobs private there are two of each page: the whole one for
 * operators and administrators, and for all others one without what names users, services or jobs
 * (text_format.c).
 *
 * How many series there may be is bounded:
 *
 *	label                     values
 *	partition, qos, account   those of the configuration (of a waiting job in several partitions:
 *	                          the first)
 *	type, state, reason, xid  those of the hardware and of this project
 *	node, Hostname            the nodes
 *	username, user            the SUMS_USERS_MAX with most jobs; the others are one, "(other)"
 *	service                   the first METRICS_NAMES_MAX by name
 *	hpc_job                   a GPU has the number of the job that holds it: one series a GPU
 *
 * No label is a name that a user chose for a job.
 */
#ifndef CMDS_WEB_METRICS_H
#define CMDS_WEB_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cmds/web/http.h"
#include "common/base/strbuf.h"

#define METRICS_NAMES_MAX  500
#define METRICS_LABELS_MAX 10
#define METRICS_WANTED_S   300

struct metric_out;
struct snapshot_counts;

struct metric {
	const char *name;
	const char *type;   /* gauge, counter, histogram */
	const char *labels; /* "partition,state"; "" */
	const char *help;
	void (*fill)(struct metric_out *o);
	unsigned what; /* for `fill` */
};

/* What the functions of a page look at. */
struct metrics_input {
	const struct snapshot *snap;     /* may be NULL */
	const struct http_figures *http; /* may be NULL */
	const struct snapshot_counts *sums;
	bool named; /* users, services and jobs may be named */
	bool up;
	double age_s;
	int64_t now_us; /* UTC */
	double memory;  /* resident bytes of this process */
};

struct metric_out {
	struct strbuf *text;
	const struct metric *metric;
	const struct metrics_input *in;
	bool begun; /* HELP and TYPE are written */
};

/* A sample; label values in the order of metric->labels, as many as it has. */
void metric_put(struct metric_out *o, double value, ...);
void metric_put_list(struct metric_out *o, double value, const char *const *labels);
/* The same with a suffix of the name ("_bucket") and one more label ("le"; NULL: none). */
void metric_put_more(struct metric_out *o, const char *suffix, const char *more_name,
        const char *more_value, double value, const char *const *labels);

struct metrics_page {
	const char *path;
	const char *about;
	const struct metric *rows; /* ends with a row of nothing */
};
extern const struct metrics_page metrics_pages[]; /* ends with a page of nothing */

/* The text of a page. */
void metrics_write(
        const struct metrics_page *page, const struct metrics_input *in, struct strbuf *text);

/* The tables of gweb(8), as mdoc. */
void metrics_manual(FILE *out);

/* --- served ----------------------------------------------------------------------------------- */

struct metrics;
struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);
void metrics_set_http(struct metrics *m, const struct http *h); /* whose figures are shown */

/* In the watcher's thread: there is a new snapshot. */
void metrics_prepare(struct metrics *m, const struct snapshot *snap);
extern const struct http_route metrics_routes[]; /* their arg: struct metrics * */

#endif
