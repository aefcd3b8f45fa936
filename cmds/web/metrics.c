/* metrics.c - see metrics.h */
#include "cmds/web/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/web/metrics_sums.h"
#include "cmds/web/snapshot.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"

#define TYPE "text/plain; version=0.0.4; charset=utf-8"
#define PAGES_MAX 16

/* --- the text format -------------------------------------------------------------------------- */

static void add_value(struct strbuf *sb, double v)
{
	if (isnan(v))
		strbuf_adds(sb, "NaN");
	else if (isinf(v))
		strbuf_adds(sb, v > 0 ? "+Inf" : "-Inf");
	else if (v == (double)(int64_t)v && fabs(v) < 1e15)
		strbuf_addf(sb, "%" PRId64, (int64_t)v);
	else
		strbuf_addf(sb, "%.12g", v);
}

/* What a label's value may hold but not as it is. */
static void add_escaped(struct strbuf *sb, const char *s)
{
	while (*s) {
		size_t n = strcspn(s, "\\\"\n");

		strbuf_add(sb, s, n);
		s += n;
		if (*s)
			strbuf_adds(sb, *s == '\n' ? "\\n" : *s == '"' ? "\\\"" : "\\\\");
		s += *s != '\0';
	}
}

static void add_label(struct strbuf *sb, bool first, const char *name, size_t n, const char *value)
{
	strbuf_adds(sb, first ? "{" : ",");
	strbuf_add(sb, name, n);
	strbuf_adds(sb, "=\"");
	add_escaped(sb, value);
	strbuf_adds(sb, "\"");
}

static void begin(struct metric_out *o)
{
	const struct metric *m = o->metric;

	if (o->begun)
		return;
	o->begun = true;
	strbuf_addf(o->text, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, m->type);
}

void metric_put_more(struct metric_out *o, const char *suffix, const char *more_name,
        const char *more_value, double value, const char *const *labels)
{
	const char *names = o->metric->labels;
	bool first = true;

	begin(o);
	strbuf_adds(o->text, o->metric->name);
	strbuf_adds(o->text, suffix);
	for (size_t i = 0; *names; i++) {
		size_t n = strcspn(names, ",");

		add_label(o->text, first, names, n, labels[i]);
		first = false;
		names += n + (names[n] == ',');
	}
	if (more_name)
		add_label(o->text, first, more_name, strlen(more_name), more_value);
	strbuf_adds(o->text, first && !more_name ? " " : "} ");
	add_value(o->text, value);
	strbuf_adds(o->text, "\n");
}

void metric_put_list(struct metric_out *o, double value, const char *const *labels)
{
	metric_put_more(o, "", NULL, NULL, value, labels);
}

void metric_put(struct metric_out *o, double value, ...)
{
	const char *labels[METRICS_LABELS_MAX] = { NULL };
	const char *names = o->metric->labels;
	va_list ap;

	va_start(ap, value);
	for (size_t i = 0; *names && i < METRICS_LABELS_MAX; i++) {
		labels[i] = va_arg(ap, const char *);
		names += strcspn(names, ",");
		names += *names == ',';
	}
	va_end(ap);
	metric_put_list(o, value, labels);
}

void metrics_write(
        const struct metrics_page *page, const struct metrics_input *in, struct strbuf *text)
{
	for (const struct metric *m = page->rows; m->name; m++) {
		struct metric_out o = { .text = text, .metric = m, .in = in };

		m->fill(&o);
	}
}

/* --- served ----------------------------------------------------------------------------------- */

/* A page as it was made last. */
struct kept {
	uint64_t serial;
	int64_t at_s; /* while the controller does not answer: the age grows */
	bool up;
	struct http_body *body;
};

struct metrics {
	const struct http *http;
	struct kept kept[PAGES_MAX];
};

struct metrics *metrics_new(void)
{
	return xcalloc(1, sizeof(struct metrics));
}

void metrics_free(struct metrics *m)
{
	for (size_t i = 0; m && i < PAGES_MAX; i++)
		http_body_put(m->kept[i].body);
	free(m);
}

void metrics_set_http(struct metrics *m, const struct http *h)
{
	m->http = h;
}

static struct http_body *make(
        const struct metrics *m, const struct metrics_page *page, const struct http_request *r)
{
	struct metrics_sums *sums = metrics_sums_new(r->snap);
	struct metrics_input in = { .snap = r->snap,
		.http = http_figures(m->http),
		.sums = sums,
		.up = !*r->trouble,
		.age_s = r->snap ? (double)snapshot_age_us(r->snap) / 1e6 : NAN };
	struct strbuf text = { 0 };

	metrics_write(page, &in, &text);
	metrics_sums_free(sums);
	return http_body_new(&text, true);
}

static void serve(const struct http_request *r, struct http_answer *a)
{
	struct metrics *m = r->arg;
	uint64_t serial = r->snap ? r->snap->serial : 0;
	int64_t now_s = clock_us(CLOCK_MONOTONIC) / 1000000;
	bool up = !*r->trouble;
	size_t i = 0;
	struct kept *k;

	while (metrics_pages[i].path && strcmp(metrics_pages[i].path, r->path) != 0)
		i++;
	if (!metrics_pages[i].path || i >= PAGES_MAX) {
		http_answer_error(a, 404, "there is no such page");
		return;
	}
	k = &m->kept[i];
	if (!k->body || k->serial != serial || k->up != up || (!up && k->at_s != now_s)) {
		http_body_put(k->body);
		*k = (struct kept){ serial, now_s, up, make(m, &metrics_pages[i], r) };
	}
	a->type = TYPE;
	a->shared = http_body_ref(k->body);
}

#define PAGE(path) { "GET", path, HTTP_NOBODY, HTTP_FAST, 0, serve, "figures in the text format of Prometheus" }
const struct http_route metrics_routes[] = {
	PAGE("/metrics"),
	PAGE("/metrics/{}"),
	{ NULL, NULL, 0, 0, 0, NULL, NULL },
};
