/* text.c - the text format of Prometheus, version 0.0.4 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "cmds/web/metrics/metrics.h"

static void add_value(struct strbuf *sb, double v)
{
	if (isnan(v))
		strbuf_adds(sb, "NaN");
	else if (isinf(v))
		strbuf_adds(sb, v > 0 ? "+Inf" : "-Inf");
	else if (fabs(v) < 1e15 && v == (double)(int64_t)v)
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
