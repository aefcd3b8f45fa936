/* bars.c - bars that lie, with their values at their ends; see plot.h */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/plot/plot_impl.h"

#define BAR     13
#define BETWEEN 9
#define NAMES   200 /* pixels of labels, at most */
#define VALUE_W 64

static double names_width(const char *const *names, size_t n)
{
	double most = 40, w;
	size_t i;

	for (i = 0; i < n; i++) {
		w = plot_text_width(names[i]) + PLOT_CHAR;
		most = w > most ? w : most;
	}
	return most < NAMES ? most : NAMES;
}

static void ranges(const struct plot_bars *b, struct plot_range *x)
{
	size_t g, i;

	plot_range_add(x, 0);
	for (g = 0; g < b->n_groups; g++) {
		for (i = 0; i < b->n_labels; i++) {
			const struct plot_bar_group *group = &b->groups[g];

			plot_range_add(x, group->v[i]);
			if (group->low && group->high) {
				plot_range_add(x, group->low[i]);
				plot_range_add(x, group->high[i]);
			}
		}
	}
}

static void whisker(struct plot_chart *c, double low, double high, double y)
{
	double x1 = plot_x(c, low), x2 = plot_x(c, high);

	plot_rule(c->out, "plot-whisker", x1, y, x2, y);
	plot_rule(c->out, "plot-whisker", x1, y - 4, x1, y + 4);
	plot_rule(c->out, "plot-whisker", x2, y - 4, x2, y + 4);
}

static void put_bar(struct plot_chart *c, const struct plot_bars *b, size_t g, size_t i, double y)
{
	const struct plot_bar_group *group = &b->groups[g];
	double zero = plot_x(c, c->x.log ? c->x.min : 0), end = plot_x(c, group->v[i]), edge = end;
	char value[PLOT_TICK_TEXT];
	bool interval = group->low && group->high && plot_is_value(group->low[i]) &&
	                plot_is_value(group->high[i]);

	plot_value(value, c->x.unit, group->v[i]);
	strbuf_adds(c->out, "<path");
	plot_fill(c, g);
	strbuf_adds(c->out, " d=\"M");
	plot_num(c->out, zero);
	strbuf_adds(c->out, " ");
	plot_num(c->out, y);
	strbuf_adds(c->out, "h");
	plot_num(c->out, end - zero);
	strbuf_addf(c->out, "v%dH", BAR - 1);
	plot_num(c->out, zero);
	strbuf_adds(c->out, "z\">");
	plot_tooltip(c->out, b->labels[i], value);
	strbuf_adds(c->out, "</path>\n");
	if (interval)
		whisker(c, group->low[i], group->high[i], y + (BAR - 1) / 2.0);
	if (interval && plot_x(c, group->high[i]) > edge)
		edge = plot_x(c, group->high[i]);
	edge = edge > zero ? edge : zero;
	plot_text(c->out, "plot-over", "start", edge + 5, y + BAR - 3, VALUE_W * 2, value);
}

static void put_label(struct plot_chart *c, const struct plot_bars *b, size_t i)
{
	double row = c->h / (double)b->n_labels, y = c->top + row * (double)i;
	double bars = BAR * (double)b->n_groups;
	size_t g;

	plot_text(c->out, "plot-words", "end", c->left - 6, y + row / 2 + 4, c->left - 14,
	        b->labels[i]);
	y += (row - bars) / 2;
	for (g = 0; g < b->n_groups; g++) {
		if (plot_is_value(b->groups[g].v[i]))
			put_bar(c, b, g, i, y + BAR * (double)g);
	}
}

void plot_bars(struct strbuf *out, const struct plot_frame *f, const struct plot_bars *b)
{
	struct plot_range x = PLOT_RANGE_NONE, y = PLOT_RANGE_NONE;
	bool named = b->n_groups && b->groups[0].name;
	struct plot_space space = { .left = names_width(b->labels, b->n_labels),
		.right = VALUE_W,
		.head = named ? 24 : 0,
		.rows = true };
	const char **names = xcalloc(b->n_groups ? b->n_groups : 1, sizeof(*names));
	struct plot_chart c;
	size_t i;

	for (i = 0; i < b->n_groups; i++)
		names[i] = b->groups[i].name ? b->groups[i].name : "";
	ranges(b, &x);
	space.height = 110 + (BAR * (double)b->n_groups + BETWEEN) * (double)b->n_labels;
	plot_begin(&c, out, f, &x, &y, &space);
	plot_hatches(&c, b->n_groups);
	plot_axes(&c);
	if (named)
		plot_legend(&c, names, b->n_groups);
	for (i = 0; i < b->n_labels; i++)
		put_label(&c, b, i);
	if (!b->n_labels || !b->n_groups)
		plot_no_data(&c);
	if (b->n_labels && !c.x.log && c.x.min < 0)
		plot_rule(out, "plot-axis", plot_x(&c, 0), c.top, plot_x(&c, 0), c.top + c.h);
	plot_end(&c);
	free(names);
}
