/* timeline.c - a timeline; see plot.h */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/plot/plot_impl.h"

#define ROW   20
#define NAMES 200

static double names_width(const struct plot_spans *t)
{
	double most = 30, w;
	size_t i;

	for (i = 0; i < t->n_rows; i++) {
		w = plot_text_width(t->rows[i]) + PLOT_CHAR;
		most = w > most ? w : most;
	}
	return most < NAMES ? most : NAMES;
}

static const char *kind_name(const struct plot_spans *t, const struct plot_span *s)
{
	return s->kind < t->n_kinds ? t->kinds[s->kind] : "";
}

static void put_title(struct plot_chart *c, const struct plot_spans *t, const struct plot_span *s)
{
	char value[3 * PLOT_TICK_TEXT], from[PLOT_TICK_TEXT], to[PLOT_TICK_TEXT];

	plot_value(from, c->x.unit, s->from);
	plot_value(to, c->x.unit, s->to);
	snprintf(value, sizeof(value), s->to > s->from ? "%s to %s" : "%s", from, to);
	plot_tooltip(c->out, s->label ? s->label : kind_name(t, s), value);
}

static void put_moment(
        struct plot_chart *c, const struct plot_spans *t, const struct plot_span *s, double y)
{
	strbuf_addf(c->out, "<path class=\"plot-dot plot-c%zu\" d=\"", s->kind % PLOT_LOOKS);
	plot_marker(c->out, 3, plot_x(c, s->from), y);
	strbuf_adds(c->out, "\">");
	put_title(c, t, s);
	strbuf_adds(c->out, "</path>\n");
}

static void put_span(struct plot_chart *c, const struct plot_spans *t, const struct plot_span *s,
        double y, double height)
{
	double from = plot_x(c, s->from), to = plot_x(c, s->to);

	from = from < c->left ? c->left : from;
	to = to > c->left + c->w ? c->left + c->w : to;
	to = to < from + 1 ? from + 1 : to;
	strbuf_adds(c->out, "<path");
	plot_fill(c, s->kind);
	strbuf_adds(c->out, " d=\"M");
	plot_num(c->out, from);
	strbuf_adds(c->out, " ");
	plot_num(c->out, y);
	strbuf_adds(c->out, "H");
	plot_num(c->out, to);
	strbuf_adds(c->out, "v");
	plot_num(c->out, height);
	strbuf_adds(c->out, "H");
	plot_num(c->out, from);
	strbuf_adds(c->out, "z\">");
	put_title(c, t, s);
	strbuf_adds(c->out, "</path>\n");
	if (s->label && to - from > plot_text_width(s->label) + 6)
		plot_text(c->out, "plot-over", "start", from + 4, y + height / 2 + 4, to - from,
		        s->label);
}

/* Spans of less than a pixel, in one pixel of a row and of one kind, are drawn once. */
static void put_spans(struct plot_chart *c, const struct plot_spans *t)
{
	double row = c->h / (double)t->n_rows, *last = xcalloc(t->n_rows, sizeof(*last));
	size_t *kind = xcalloc(t->n_rows, sizeof(*kind)), i;

	for (i = 0; i < t->n_spans; i++) {
		const struct plot_span *s = &t->spans[i];
		double y, x;

		if (s->row >= t->n_rows || !plot_is_value(s->from) || !plot_is_value(s->to) ||
		        s->to < c->x.min || s->from > c->x.max)
			continue;
		y = c->top + row * (double)s->row;
		x = plot_x(c, s->from);
		if (s->to <= s->from) {
			put_moment(c, t, s, y + row / 2);
			continue;
		}
		if (plot_x(c, s->to) - x < 1 && last[s->row] == floor(x) &&
		        kind[s->row] == s->kind + 1)
			continue;
		last[s->row] = floor(x);
		kind[s->row] = s->kind + 1;
		put_span(c, t, s, y + 3, row - 6);
	}
	free(last);
	free(kind);
}

void plot_spans(struct strbuf *out, const struct plot_frame *f, const struct plot_spans *t)
{
	struct plot_range x = PLOT_RANGE_NONE, y = PLOT_RANGE_NONE;
	struct plot_space space = { .left = names_width(t),
		.right = 16,
		.head = t->n_kinds ? 26 : 0,
		.rows = true,
		.no_y0 = true };
	struct plot_chart c;
	size_t i;

	for (i = 0; i < t->n_spans; i++) {
		plot_range_add(&x, t->spans[i].from);
		plot_range_add(&x, t->spans[i].to);
	}
	space.height = 110 + ROW * (double)t->n_rows;
	plot_begin(&c, out, f, &x, &y, &space);
	plot_hatches(&c, t->n_kinds);
	plot_axes(&c);
	plot_legend(&c, t->kinds, t->n_kinds);
	for (i = 0; i < t->n_rows; i++)
		plot_text(out, "plot-words", "end", c.left - 6,
		        c.top + c.h / (double)t->n_rows * ((double)i + 0.5) + 4, c.left - 14,
		        t->rows[i]);
	if (t->n_rows && t->n_spans)
		put_spans(&c, t);
	else
		plot_no_data(&c);
	plot_end(&c);
}
