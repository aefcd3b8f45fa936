/* usage_report.h - what the controller reports of a window of time: the lines of greport */
#ifndef CMDS_WEB_USAGE_REPORT_H
#define CMDS_WEB_USAGE_REPORT_H

#include "cmds/web/pages/page.h"
#include "common/gpusched.pb-c.h"

#define REPORT_LINES_MAX 5000 /* further ones are left out, and `cut` says so */

struct report {
	Gpusched__ReportLine **lines; /* of groups alone */
	size_t n, room;
	Gpusched__ReportLine *all; /* of all together; NULL: there was nothing */
	Gpusched__ReportType **types;
	size_t n_types;
	char *currency;
	bool cut;
};

/* `by` as Report.by; times in us. Borrows nothing. -1 with `err`, and *out is empty. */
int report_ask(struct page *p, char **by, size_t n_by, int64_t since, int64_t until,
        struct report *out, struct error *err);
void report_clear(struct report *r);

/* The days of a window, for plots by day: the start of each in seconds of UTC, behind the last one
 * the end of the window; and where "2026-11-26" is among them (n: nowhere). */
#define DAYS_MAX 400
struct days {
	double at[DAYS_MAX + 1];
	char names[DAYS_MAX][12];
	size_t n;
};
void days_of(struct days *d, int64_t since, int64_t until);
size_t days_find(const struct days *d, const char *name);

#endif
