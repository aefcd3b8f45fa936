/* page_reports.c - what greport says: use, waits and cost, in groups, with plots by day */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/cli/parse_time.h"
#include "cmds/web/pages/cells.h"
#include "cmds/web/pages/page.h"
#include "cmds/web/pages/usage_report.h"
#include "common/base/xalloc.h"
#include "common/plot/plot.h"

#define DAY_US     (86400 * INT64_C(1000000))
#define WINDOW_MAX (366 * DAY_US)

/* Names are constants, so that they can stand in a request, which wants them writable. */
static const struct {
	char by[12];
	const char *text;
} groups[] = {
	{ "account", "Account" },
	{ "user", "User" },
	{ "partition", "Partition" },
	{ "qos", "QOS" },
	{ "gpu", "GPU type" },
	{ "state", "State" },
};
#define N_GROUPS (sizeof(groups) / sizeof(groups[0]))

struct question {
	size_t group;
	int64_t since, until;
	const char *since_text, *until_text;
	const char *wrong; /* NULL; what was wrong about the window */
};

static int64_t moment(const char *text, int64_t now, int64_t otherwise, const char **wrong)
{
	struct error err;
	int64_t us;

	if (!*text)
		return otherwise;
	if (parse_time(text, now, &us, &err) < 0) {
		*wrong = "a time is 2026-11-26, today, yesterday or now-7d";
		return otherwise;
	}
	return us;
}

static void question_read(struct question *q, const struct page *p)
{
	const char *by = page_query(p, "by");

	*q = (struct question){ .group = 0 };
	for (size_t i = 0; i < N_GROUPS; i++)
		if (!strcmp(groups[i].by, by))
			q->group = i;
	q->since_text = page_query(p, "since");
	q->until_text = page_query(p, "until");
	q->since = moment(q->since_text, p->now, parse_time_today(p->now) - 6 * DAY_US, &q->wrong);
	q->until = moment(q->until_text, p->now, p->now, &q->wrong);
	if (q->until <= q->since)
		q->wrong = "the window must end after it begins";
	else if (q->until - q->since > WINDOW_MAX)
		q->wrong = "the window may have a year";
}

static void put_form(struct page *p, const struct question *q)
{
	struct html *h = p->h;

	HTML(h, "<form class=\"filter\" id=\"window\" method=\"get\" action=\"/reports\" "
	        "aria-label=\"Which report\"><label>By<select name=\"by\">");
	for (size_t i = 0; i < N_GROUPS; i++) {
		HTML(h, "<option value=\"%s\"", groups[i].by);
		if (i == q->group)
			HTML(h, " selected");
		HTML(h, ">%s</option>", groups[i].text);
	}
	HTML(h,
	        "</select></label><label>Since<input name=\"since\" value=\"%s\" "
	        "placeholder=\"now-7d\"></label><label>Until<input name=\"until\" value=\"%s\" "
	        "placeholder=\"now\"></label><button>Show</button></form>",
	        q->since_text, q->until_text);
}

/* --- the table -------------------------------------------------------------------------------- */

static void put_wait(struct html *h, const Gpusched__ReportLine *m, uint64_t s)
{
	HTML(h, "<td class=\"n\">");
	if (m->started)
		put_span(h, s);
	else
		HTML(h, "-");
	HTML(h, "</td>");
}

static void put_share_of(struct html *h, double part, double all)
{
	HTML(h, "<td class=\"n\">");
	put_percent(h, part, all);
	HTML(h, "</td>");
}

static void put_line(struct html *h, const Gpusched__ReportLine *m, const char *class)
{
	HTML(h,
	        "<tr class=\"%s\"><th scope=\"row\"><span class=\"%s\">%s</span></th>"
	        "<td class=\"n\">%" PRIu64 "</td><td class=\"n\">%.1f</td>",
	        class,
	        !m->depth       ? ""
	        : m->depth == 1 ? "d1"
	        : m->depth == 2 ? "d2"
	                        : "d3",
	        !m->n_keys    ? "all"
	        : *m->keys[0] ? m->keys[0]
	                      : "-",
	        m->jobs, (double)m->gpu_us / 3.6e9);
	put_share_of(h, m->used, 1);
	put_share_of(h, m->share, m->share > 0);
	put_share_of(h, (double)m->gpu_busy_us, (double)m->gpu_seen_us);
	put_share_of(h, (double)m->gpu_idle_us, (double)m->gpu_seen_us);
	put_wait(h, m, m->wait_p50_s);
	put_wait(h, m, m->wait_p95_s);
	put_wait(h, m, m->wait_max_s);
	put_share_of(h, (double)m->in_target, (double)m->targets);
	if (m->energy_mj)
		HTML(h, "<td class=\"n\">%.1f</td>", (double)m->energy_mj / 3.6e9);
	else
		HTML(h, "<td class=\"n\">-</td>");
	HTML(h, "<td class=\"n\">%.2f</td></tr>\n", m->cost);
}

static void put_lines(struct html *h, const struct report *r, const char *group)
{
	HTML(h,
	        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Report\">"
	        "<table class=\"wide\"><thead><tr><th scope=\"col\">%s</th>",
	        group);
	HTML(h,
	        "<th scope=\"col\" class=\"n\">Jobs</th><th scope=\"col\" "
	        "class=\"n\">GPU-hours</th>"
	        "<th scope=\"col\" class=\"n\">Used</th><th scope=\"col\" class=\"n\">Share</th>"
	        "<th scope=\"col\" class=\"n\">Compute</th><th scope=\"col\" class=\"n\">Idle</th>"
	        "<th scope=\"col\" class=\"n\">Wait p50</th><th scope=\"col\" class=\"n\">p95</th>"
	        "<th scope=\"col\" class=\"n\">max</th><th scope=\"col\" class=\"n\">In target</th>"
	        "<th scope=\"col\" class=\"n\">kWh</th><th scope=\"col\" "
	        "class=\"n\">Cost%s%s</th></tr>"
	        "</thead><tbody>",
	        r->currency ? ", " : "", r->currency);
	for (size_t i = 0; i < r->n; i++)
		put_line(h, r->lines[i], "");
	if (r->all)
		put_line(h, r->all, "total");
	HTML(h, "</tbody></table></div>");
	if (r->cut)
		HTML(h, "<p class=\"dim\">There are more lines: <code>greport use</code></p>");
}

static void put_type_lines(struct html *h, const struct report *r)
{
	if (!r->n_types)
		return;
	HTML(h, "<h2>Given, of what there was</h2><dl class=\"facts\">");
	for (size_t i = 0; i < r->n_types; i++) {
		const Gpusched__ReportType *t = r->types[i];

		HTML(h, "<dt>%s</dt><dd>", *t->type ? t->type : "any");
		put_bar(h, (double)t->gpu_us, (double)t->capacity_us, -1);
		HTML(h, " %.1f", (double)t->gpu_us / 3.6e9);
		if (t->capacity_us)
			HTML(h, " of %.1f", (double)t->capacity_us / 3.6e9);
		HTML(h, " GPU-hours");
		if (t->gpu_seen_us)
			HTML(h, "; %.1f idle while held", (double)t->gpu_idle_us / 3.6e9);
		HTML(h, "</dd>");
	}
	HTML(h, "</dl>");
}

/* --- plots by day ----------------------------------------------------------------------------- */

struct by_day {
	struct days days;
	double hours[DAYS_MAX + 1], busy[DAYS_MAX], p50[DAYS_MAX], p95[DAYS_MAX];
};

static void collect(struct by_day *d, const struct report *r)
{
	for (size_t i = 0; i < d->days.n; i++)
		d->busy[i] = d->p50[i] = d->p95[i] = NAN;
	for (size_t i = 0; i < r->n; i++) {
		const Gpusched__ReportLine *m = r->lines[i];
		size_t at = m->n_keys ? days_find(&d->days, m->keys[0]) : d->days.n;

		if (at == d->days.n)
			continue;
		d->hours[at] = (double)m->gpu_us / 3.6e9;
		if (m->gpu_seen_us)
			d->busy[at] = (double)m->gpu_busy_us / (double)m->gpu_seen_us;
		if (m->started) {
			d->p50[at] = (double)m->wait_p50_s;
			d->p95[at] = (double)m->wait_p95_s;
		}
	}
	d->hours[d->days.n] = d->days.n ? d->hours[d->days.n - 1] : 0;
}

static struct plot_axis axis_of(const struct days *d)
{
	return (struct plot_axis){
		.unit = PLOT_UTC, .fixed = true, .min = d->at[0], .max = d->at[d->n]
	};
}

static void draw_hours(struct strbuf *out, const void *arg)
{
	const struct by_day *d = arg;
	struct plot_frame f = { .title = "GPU-hours given, by day",
		.id = "hours",
		.bare = true,
		.x = axis_of(&d->days),
		.y = { .label = "GPU-hours" } };
	struct plot_series s = { "given", PLOT_AREA, d->days.at, d->hours, NULL, d->days.n + 1 };

	plot_xy(out, &f, &s, 1);
}

static void draw_waits(struct strbuf *out, const void *arg)
{
	const struct by_day *d = arg;
	struct plot_frame f = { .title = "Waits of jobs that started, by day",
		.id = "waits",
		.bare = true,
		.x = axis_of(&d->days),
		.y = { .unit = PLOT_DURATION } };
	struct plot_series s[] = {
		{ "half of them at most", PLOT_LINE, d->days.at, d->p50, NULL, d->days.n },
		{ "95 of 100 at most", PLOT_LINE, d->days.at, d->p95, NULL, d->days.n },
	};

	plot_xy(out, &f, s, 2);
}

static void draw_busy(struct strbuf *out, const void *arg)
{
	const struct by_day *d = arg;
	struct plot_frame f = { .title = "Compute use of GPUs that were held, by day",
		.id = "busy",
		.bare = true,
		.x = axis_of(&d->days),
		.y = { .unit = PLOT_PERCENT, .fixed = true, .min = 0, .max = 1 } };
	struct plot_series s = { "compute", PLOT_LINE, d->days.at, d->busy, NULL, d->days.n };

	plot_xy(out, &f, &s, 1);
}

static void put_by_day(struct page *p, const struct question *q)
{
	static char day[] = "day";
	static void (*const plots[])(
	        struct strbuf *, const void *) = { draw_hours, draw_waits, draw_busy };
	char *by[] = { day };
	struct by_day *d;
	struct report r;
	struct error err;

	if (report_ask(p, by, 1, q->since, q->until, &r, &err) < 0)
		return;
	d = xcalloc(1, sizeof(*d));
	days_of(&d->days, q->since, q->until);
	collect(d, &r);
	HTML(p->h, "<h2>By day</h2><div class=\"pictures\">");
	for (size_t i = 0; d->days.n && i < sizeof(plots) / sizeof(plots[0]); i++) {
		HTML(p->h, "<figure class=\"scroll\" tabindex=\"0\">");
		html_svg(p->h, plots[i], d);
		HTML(p->h, "</figure>");
	}
	HTML(p->h, "</div>");
	free(d);
	report_clear(&r);
}

void page_reports(struct page *p)
{
	struct question q;
	struct report r;
	struct error err;
	char by[sizeof(groups[0].by)], *list[] = { by };

	question_read(&q, p);
	page_title(p, "Reports");
	put_form(p, &q);
	if (q.wrong) {
		HTML(p->h, "<p class=\"bad\">%s.</p>", q.wrong);
		return;
	}
	memcpy(by, groups[q.group].by, sizeof(by));
	if (report_ask(p, list, 1, q.since, q.until, &r, &err) < 0) {
		HTML(p->h, "<p class=\"bad\">There is no report: %s.</p>", err.text);
		return;
	}
	HTML(p->h, "<p class=\"dim\">From ");
	put_time(p->h, q.since, p->now);
	HTML(p->h, " to ");
	put_time(p->h, q.until, p->now);
	HTML(p->h, ". An account counts what is used below it.</p>");
	put_lines(p->h, &r, groups[q.group].text);
	put_type_lines(p->h, &r);
	report_clear(&r);
	put_by_day(p, &q);
}
