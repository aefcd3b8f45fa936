/* legend.c - names beside what they name, and hatchings; see plot_impl.h */
#include "common/plot/plot_impl.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

#define SAMPLE_W 24
#define GAP      8
#define MOST     34 /* characters of a label */
#define TIGHT    11 /* pixels between labels, at least */

static const char *const hatches[PLOT_LOOKS] = {
	"",                                                       /* plain */
	"M-1 1l2 -2M0 8l8 -8M7 9l2 -2",                           /* / */
	"M-1 7l2 2M0 0l8 8M7 -1l2 2",                             /* \ */
	"M0 4h8",                                                 /* - */
	"M4 0v8",                                                 /* | */
	"M1.5 2a.5 .5 0 1 0 1 0M5.5 6a.5 .5 0 1 0 1 0",           /* dots */
	"M0 4h8M4 0v8",                                           /* + */
	"M-1 1l2 -2M0 8l8 -8M7 9l2 -2M-1 7l2 2M0 0l8 8M7 -1l2 2", /* x */
};

void plot_hatches(struct plot_chart *c, size_t n)
{
	size_t i;

	strbuf_adds(c->out, "<defs>\n");
	for (i = 0; i < n && i < PLOT_LOOKS; i++)
		strbuf_addf(c->out,
		        "<pattern id=\"%s-h%zu\" class=\"plot-c%zu\" width=\"8\" height=\"8\" "
		        "patternUnits=\"userSpaceOnUse\"><rect class=\"plot-tint\" width=\"8\" "
		        "height=\"8\"/><path class=\"plot-hatch\" d=\"%s\"/></pattern>\n",
		        c->id, i, i, hatches[i]);
	strbuf_adds(c->out, "</defs>\n");
}

void plot_fill(struct plot_chart *c, size_t look)
{
	strbuf_addf(c->out, " class=\"plot-edge plot-c%zu\" fill=\"url(#%s-h%zu)\"",
	        look % PLOT_LOOKS, c->id, look % PLOT_LOOKS);
}

static void box(struct plot_chart *c, double x, double y)
{
	strbuf_adds(c->out, " d=\"M");
	plot_num(c->out, x + 2);
	strbuf_adds(c->out, " ");
	plot_num(c->out, y - 6);
	strbuf_addf(c->out, "h%dv12h-%dz\"/>\n", SAMPLE_W - 4, SAMPLE_W - 4);
}

static void put_sample(
        struct plot_chart *c, size_t look, enum plot_sample sample, double x, double y)
{
	char class_name[40];

	look %= PLOT_LOOKS;
	switch (sample) {
	case PLOT_SAMPLE_FILL:
		strbuf_adds(c->out, "<path");
		plot_fill(c, look);
		box(c, x, y);
		return;
	case PLOT_SAMPLE_BAND:
		strbuf_addf(c->out, "<path class=\"plot-band plot-c%zu\"", look);
		box(c, x, y);
		return;
	case PLOT_SAMPLE_LINE:
		snprintf(class_name, sizeof(class_name), "plot-line plot-c%zu plot-d%zu", look,
		        look);
		plot_rule(c->out, class_name, x, y, x + SAMPLE_W, y);
		break;
	case PLOT_SAMPLE_DOT:
		break;
	}
	strbuf_addf(c->out, "<path class=\"plot-dot plot-c%zu\" d=\"", look);
	plot_marker(c->out, look, x + SAMPLE_W / 2.0, y);
	strbuf_adds(c->out, "\"/>\n");
}

static double shown_width(const char *name)
{
	size_t n = plot_chars(name);

	return PLOT_CHAR * (double)(n < MOST ? n : MOST);
}

double plot_labels_width(const struct plot_label *labels, size_t n)
{
	double most = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		double w = shown_width(labels[i].name);

		most = w > most ? w : most;
	}
	return n ? most + SAMPLE_W + 2 * GAP + 6 : 0;
}

static int by_height(const void *a, const void *b)
{
	const struct plot_label *x = a, *y = b;

	if (x->y != y->y)
		return (x->y > y->y) - (x->y < y->y);
	return (x->look > y->look) - (x->look < y->look);
}

static void put_label(struct plot_chart *c, const struct plot_label *l, double y)
{
	double x = c->left + c->w + GAP, room;

	if (l->leader)
		plot_rule(c->out, "plot-leader", l->x, l->y, x, y);
	put_sample(c, l->look, l->sample, x, y);
	x += SAMPLE_W + 6;
	room = c->width - x + 4;
	plot_text(c->out, "plot-words", "start", x, y + 4, room, l->name);
}

void plot_labels(struct plot_chart *c, struct plot_label *labels, size_t n)
{
	double step = PLOT_LINE_H, bottom = c->top + c->h, last;
	double *at = xcalloc(n ? n : 1, sizeof(*at));
	size_t i;

	if ((double)n * step > c->h)
		step = c->h / (double)n > TIGHT ? c->h / (double)n : TIGHT;
	qsort(labels, n, sizeof(*labels), by_height);
	/* Down, so that none is over another; then up from the bottom. */
	last = c->top - step;
	for (i = 0; i < n; i++) {
		at[i] = labels[i].y > last + step ? labels[i].y : last + step;
		last = at[i];
	}
	last = bottom + step;
	for (i = n; i-- > 0;) {
		at[i] = at[i] < last - step ? at[i] : last - step;
		last = at[i];
	}
	for (i = 0; i < n; i++) {
		if (at[i] >= c->top - step)
			put_label(c, &labels[i], at[i]);
	}
	free(at);
}

void plot_legend(struct plot_chart *c, const char *const *names, size_t n)
{
	double x = c->left, y = c->top - 12;
	size_t i;

	for (i = 0; i < n; i++) {
		double w = shown_width(names[i]);

		if (x + SAMPLE_W + 6 + w > c->width)
			break;
		put_sample(c, i, PLOT_SAMPLE_FILL, x, y);
		plot_text(c->out, "plot-words", "start", x + SAMPLE_W + 4, y + 4, w + PLOT_CHAR,
		        names[i]);
		x += SAMPLE_W + 4 + w + 2 * GAP;
	}
}
