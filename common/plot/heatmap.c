/* heatmap.c - a map of cells; see plot.h */
#include <math.h>

#include "common/plot/plot_impl.h"

#define ROW         17
#define NAMES       170
#define LEVELS      16   /* of opacity; equal neighbours are one cell */
#define TITLED_MAX  4000 /* cells with a tooltip each */
#define SCALE_CELLS 5

static double names_width(const struct plot_heat *h)
{
	double most = 30, w;
	size_t i;

	for (i = 0; i < h->n_rows; i++) {
		w = plot_text_width(h->rows[i]) + PLOT_CHAR;
		most = w > most ? w : most;
	}
	return most < NAMES ? most : NAMES;
}

/* -1: empty. Any value above the least is seen. */
static int level_of(const struct plot_axis *a, double v)
{
	double part;

	if (!plot_is_value(v))
		return -1;
	part = (v - a->min) / (a->max - a->min);
	part = part < 0 ? 0 : part > 1 ? 1 : part;
	return (int)ceil(part * LEVELS - 1e-9);
}

static void cell(struct plot_chart *c, int level, double x, double y, double w, double h)
{
	int hundredths = 4 + 96 * level / LEVELS;

	strbuf_addf(c->out, "<path class=\"plot-cell plot-c0\" fill-opacity=\"%d.%02d\" d=\"M",
	        hundredths / 100, hundredths % 100);
	plot_num(c->out, x);
	strbuf_adds(c->out, " ");
	plot_num(c->out, y);
	strbuf_adds(c->out, "h");
	plot_num(c->out, w);
	strbuf_adds(c->out, "v");
	plot_num(c->out, h);
	strbuf_adds(c->out, "h");
	plot_num(c->out, -w);
	strbuf_adds(c->out, "z\"");
}

static void put_row(
        struct plot_chart *c, const struct plot_heat *h, const struct plot_axis *a, size_t r)
{
	double row = c->h / (double)h->n_rows, y = c->top + row * (double)r;
	double w = c->w / (double)h->n_columns;
	const double *v = &h->v[r * h->n_columns];
	bool titled = h->n_rows * h->n_columns <= TITLED_MAX;
	char value[PLOT_TICK_TEXT];
	size_t i, n;

	plot_text(c->out, "plot-words", "end", c->left - 6, y + row / 2 + 4, c->left - 14,
	        h->rows[r]);
	for (i = 0; i < h->n_columns; i += n) {
		int level = level_of(a, v[i]);

		for (n = 1; !titled && i + n < h->n_columns && level_of(a, v[i + n]) == level; n++)
			;
		if (level < 0)
			continue;
		cell(c, level, c->left + w * (double)i, y + 1, w * (double)n, row - 2);
		plot_value(value, a->unit, v[i]);
		strbuf_adds(c->out, titled ? ">" : "/>\n");
		if (titled) {
			plot_tooltip(c->out, h->rows[r], value);
			strbuf_adds(c->out, "</path>\n");
		}
	}
}

/* What a darkness means. */
static void put_scale(struct plot_chart *c, const struct plot_axis *a)
{
	double x = c->left, y = c->top - 20;
	char value[PLOT_TICK_TEXT];
	int i;

	for (i = 0; i < SCALE_CELLS; i++) {
		double v = a->min + (a->max - a->min) * i / (SCALE_CELLS - 1);

		plot_value(value, a->unit, v);
		cell(c, level_of(a, v), x, y, 18, 12);
		strbuf_adds(c->out, "/>\n");
		plot_text(c->out, "plot-tick", "start", x + 22, y + 10, 80, value);
		x += 30 + plot_text_width(value);
	}
	if (a->label)
		plot_text(c->out, "plot-about", "start", x + 4, y + 10, c->width - x, a->label);
}

void plot_heat(struct strbuf *out, const struct plot_frame *f, const struct plot_heat *h)
{
	struct plot_range x = PLOT_RANGE_NONE, y = PLOT_RANGE_NONE;
	struct plot_space space = {
		.left = names_width(h), .right = 16, .head = 26, .rows = true, .no_y0 = true
	};
	struct plot_frame frame = *f;
	struct plot_chart c;
	size_t i;

	plot_range_add(&y, 0);
	for (i = 0; i < h->n_rows * h->n_columns; i++)
		plot_range_add(&y, h->v[i]);
	if (!f->y.fixed || !(f->y.min < f->y.max)) {
		frame.y.min = y.min;
		frame.y.max = y.max > y.min ? y.max : y.min + 1;
	}
	frame.y.fixed = true;
	frame.x.fixed = true;
	space.height = 110 + ROW * (double)h->n_rows;
	plot_begin(&c, out, &frame, &x, &y, &space);
	plot_axes(&c);
	put_scale(&c, &frame.y);
	for (i = 0; i < h->n_rows && h->n_columns; i++)
		put_row(&c, h, &frame.y, i);
	if (!h->n_rows || !h->n_columns)
		plot_no_data(&c);
	plot_end(&c);
}
