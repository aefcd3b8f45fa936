/* text_format.c - the text format of Prometheus, version 0.0.4 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "cmds/web/metrics/metrics.h"

/* Labels that name what the configuration may keep private. */
static const struct {
	const char *label;
	bool blank; /* the series stays, with "" for its value; else it is left out */
} private_labels[] = { { "username", false }, { "user", false }, { "service", false },
	{ "hpc_job", true } };
#define N_PRIVATE (sizeof(private_labels) / sizeof(private_labels[0]))

/* The row of such a label; N_PRIVATE: it names nothing private. */
static size_t private_label(const char *name, size_t n)
{
	size_t i = 0;

	while (i < N_PRIVATE && (strlen(private_labels[i].label) != n ||
	                                strncmp(private_labels[i].label, name, n) != 0))
		i++;
	return i;
}

/* The first such label of a metric, which names one thing at most. */
static size_t private_of(const struct metric *m)
{
	size_t i = N_PRIVATE;

	for (const char *at = m->labels; *at && i == N_PRIVATE; at += *at == ',') {
		i = private_label(at, strcspn(at, ","));
		at += strcspn(at, ",");
	}
	return i;
}

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

		add_label(o->text, first, names, n,
		        o->in->named || private_label(names, n) == N_PRIVATE ? labels[i] : "");
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
	bool told = in->named;

	for (const struct metric *m = page->rows; m->name; m++) {
		struct metric_out o = { .text = text, .metric = m, .in = in };
		size_t private = in->named ? N_PRIVATE : private_of(m);

		if (private < N_PRIVATE && !told)
			strbuf_adds(text,
			        "# Jobs are private here: what names users, services and jobs is "
			        "for operators and administrators, with a token of gweb login "
			        "--token.\n");
		told |= private < N_PRIVATE;
		if (private == N_PRIVATE || private_labels[private].blank)
			m->fill(&o);
	}
}
