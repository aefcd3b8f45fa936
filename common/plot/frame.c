/* frame.c - what is around the data: the element, its style, titles and axes; see plot_impl.h */
#include "common/plot/plot_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH    860
#define LEAST    80    /* of the area, whatever is around it */
#define SIZE_MIN 160   /* of a chart */
#define SIZE_MAX 20000 /* the same */
#define EDGE     12
#define X_TICK   92 /* pixels for a tick of x */
#define LOG_TICK 70 /* the same, where all are short */
#define Y_TICK   42
#define TICK_H   18
#define LABEL_H  20
#define TINY     1e-100 /* what is nearer to 0 counts as 0 for ranges */
#define LOG_SPAN 1e7    /* the most that a logarithmic axis shows of what is below its greatest */

const char *plot_css(void)
{
	return ".plot{font:12px system-ui,-apple-system,'DejaVu Sans',sans-serif;color:#1b1f24}\n"
	       ".plot text{fill:currentColor}\n"
	       ".plot .plot-paper{fill:#fff}\n"
	       ".plot .plot-title{font-weight:600;font-size:14px}\n"
	       ".plot .plot-about,.plot .plot-tick{fill:#57606a}\n"
	       ".plot .plot-grid{stroke:#dfe3e8;fill:none}\n"
	       ".plot .plot-axis{stroke:#57606a;fill:none}\n"
	       ".plot .plot-leader{stroke:#8c959f;fill:none;stroke-dasharray:1 2}\n"
	       ".plot .plot-mark{stroke:#1b1f24;fill:none;stroke-dasharray:6 4}\n"
	       ".plot .plot-line{stroke:currentColor;fill:none;stroke-width:1.8;"
	       "stroke-linejoin:round}\n"
	       ".plot .plot-halo{stroke:#fff;stroke-opacity:.75;fill:none;stroke-width:5}\n"
	       ".plot .plot-over{paint-order:stroke;stroke:#fff;stroke-opacity:.8;stroke-width:3;"
	       "stroke-linejoin:round}\n"
	       ".plot .plot-dot{stroke:none;fill:currentColor}\n"
	       ".plot .plot-dots{stroke:none;fill:currentColor;fill-opacity:.5}\n"
	       ".plot .plot-round{stroke:currentColor;stroke-width:5;stroke-linecap:round;"
	       "stroke-opacity:.5}\n"
	       ".plot .plot-band{stroke:none;fill:currentColor;fill-opacity:.16}\n"
	       ".plot .plot-edge{stroke:currentColor;stroke-width:1}\n"
	       ".plot .plot-whisker{stroke:#1b1f24;stroke-width:1.4;fill:none}\n"
	       ".plot .plot-tint{fill:currentColor;fill-opacity:.3}\n"
	       ".plot .plot-hatch{stroke:currentColor;stroke-width:1.3;fill:none}\n"
	       ".plot .plot-cell{stroke:none;fill:currentColor}\n"
	       ".plot .plot-d1{stroke-dasharray:8 4}\n"
	       ".plot .plot-d2{stroke-dasharray:2 3}\n"
	       ".plot .plot-d3{stroke-dasharray:10 3 2 3}\n"
	       ".plot .plot-d4{stroke-dasharray:16 5}\n"
	       ".plot .plot-d5{stroke-dasharray:5 2 1 2 1 2}\n"
	       ".plot .plot-d6{stroke-dasharray:4 4}\n"
	       ".plot .plot-d7{stroke-dasharray:12 2 4 2}\n"
	       ".plot-c0{color:#0a5fa8}.plot-c1{color:#b34700}.plot-c2{color:#00795a}"
	       ".plot-c3{color:#9c3f86}\n"
	       ".plot-c4{color:#6b5900}.plot-c5{color:#2f7f9e}.plot-c6{color:#7a3b1d}"
	       ".plot-c7{color:#4c4f9e}\n"
	       "@media (prefers-color-scheme:dark){\n"
	       ".plot{color:#e6e9ed}\n"
	       ".plot .plot-paper{fill:#15181c}\n"
	       ".plot .plot-about,.plot .plot-tick{fill:#a3adb8}\n"
	       ".plot .plot-grid{stroke:#2c323a}\n"
	       ".plot .plot-axis{stroke:#a3adb8}\n"
	       ".plot .plot-leader{stroke:#7a8490}\n"
	       ".plot .plot-halo,.plot .plot-over{stroke:#15181c}\n"
	       ".plot .plot-mark,.plot .plot-whisker{stroke:#e6e9ed}\n"
	       ".plot-c0{color:#62b0f0}.plot-c1{color:#ff9a52}.plot-c2{color:#3fd0a0}"
	       ".plot-c3{color:#eb9ad5}\n"
	       ".plot-c4{color:#e0cb4e}.plot-c5{color:#7fd4ee}.plot-c6{color:#d99a78}"
	       ".plot-c7{color:#a9abf5}\n"
	       "}\n";
}

/* --- ranges ---------------------------------------------------------------------------------- */

bool plot_is_value(double v)
{
	return isfinite(v) && fabs(v) <= PLOT_VALUE_MAX;
}

void plot_range_add(struct plot_range *r, double v)
{
	if (!plot_is_value(v))
		return;
	if (r->min > r->max)
		r->min = r->max = v;
	r->min = v < r->min ? v : r->min;
	r->max = v > r->max ? v : r->max;
	if (v > TINY && (r->least <= 0 || v < r->least))
		r->least = v;
	r->clamped |= v <= 0;
}

static void log_range(struct plot_axis *a, double least)
{
	if (!(a->max > TINY))
		a->max = 1;
	if (!(a->min > TINY))
		a->min = least > 0 ? least : a->max / 10;
	if (a->unit == PLOT_DURATION && a->min < 1 && a->max > 1)
		a->min = 1;
	if (a->min < a->max / LOG_SPAN)
		a->min = a->max / LOG_SPAN;
	a->min = plot_log_floor(a->unit, a->min);
	if (a->max < a->min * 10)
		a->max = a->min * 10;
}

static void linear_range(struct plot_axis *a, bool from_0, bool room)
{
	double span;

	if (from_0 && a->min > 0)
		a->min = 0;
	if (from_0 && a->max < 0)
		a->max = 0;
	span = a->max - a->min;
	if (!(span > fabs(a->max) * 1e-12) || span < TINY) {
		span = fabs(a->max) > TINY ? fabs(a->max) : 1;
		a->max += span / 2;
		a->min -= a->min != 0 ? span / 2 : 0;
	}
	if (room)
		a->max += (a->max - a->min) * 0.05;
}

/* Returns whether the lowest tick stands for less, too. */
static bool settle_axis(struct plot_axis *a, const struct plot_range *r, bool from_0, bool room)
{
	bool wide = a->fixed && plot_is_value(a->min) && plot_is_value(a->max) && a->min < a->max;

	if (!wide) {
		bool any = r->min <= r->max;

		a->min = any ? r->min : a->log ? 1 : 0;
		a->max = any ? r->max : 1;
	}
	if (!a->log && !wide)
		linear_range(a, from_0, room && a->unit != PLOT_PERCENT);
	if (!a->log)
		return false;
	log_range(a, r->least);
	return r->clamped || (r->least > 0 && r->least < a->min * (1 - 1e-9));
}

static double place(const struct plot_axis *a, double v)
{
	if (a->log)
		return v > a->min ? log(v / a->min) / log(a->max / a->min) : 0;
	return (v - a->min) / (a->max - a->min);
}

double plot_x(const struct plot_chart *c, double v)
{
	return c->left + c->w * place(&c->x, v);
}

double plot_y(const struct plot_chart *c, double v)
{
	return c->top + c->h * (1 - place(&c->y, v));
}

/* --- the element ----------------------------------------------------------------------------- */

static const char *checked_id(const char *id)
{
	static const char letters[] =
	        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";

	return id && *id && id[strspn(id, letters)] == '\0' ? id : "plot";
}

static void open_element(struct plot_chart *c)
{
	const struct plot_frame *f = c->f;
	struct strbuf *out = c->out;

	strbuf_addf(out,
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" role=\"img\" "
	        "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
	        "aria-labelledby=\"%s-title\">\n<title id=\"%s-title\">",
	        c->width, c->height, c->width, c->height, c->id, c->id);
	plot_escape(out, f->title ? f->title : "chart", 300);
	strbuf_adds(out, "</title>\n");
	if (f->about) {
		strbuf_adds(out, "<desc>");
		plot_escape(out, f->about, 1000);
		strbuf_adds(out, "</desc>\n");
	}
	if (!f->bare)
		strbuf_addf(out,
		        "<style>\n%s</style>\n"
		        "<rect class=\"plot-paper\" width=\"100%%\" height=\"100%%\"/>\n",
		        plot_css());
}

static void put_titles(struct plot_chart *c)
{
	double y = EDGE + 10, room = c->width - 2 * EDGE;

	if (c->f->title) {
		plot_text(c->out, "plot-title", "start", EDGE, y, room * 0.82, c->f->title);
		y += PLOT_LINE_H + 2;
	}
	if (c->f->about)
		plot_text(c->out, "plot-about", "start", EDGE, y, room, c->f->about);
}

static double size_or(unsigned size, double otherwise)
{
	double v = size ? size : otherwise;

	return v < SIZE_MIN ? SIZE_MIN : v > SIZE_MAX ? SIZE_MAX : v;
}

static double ticks_width(const struct plot_ticks *t)
{
	double most = 0, w;
	size_t i;

	for (i = 0; i < t->n; i++) {
		w = PLOT_CHAR * (double)(plot_chars(t->label[i]) + 1);
		most = w > most ? w : most;
	}
	return most;
}

/* The label above the y axis, and of x below. */
static const char *x_label(const struct plot_chart *c, char *buf, size_t size)
{
	if (c->f->x.label || c->x.unit != PLOT_UTC)
		return c->f->x.label;
	plot_period(buf, size, c->x.min, c->x.max);
	return buf;
}

void plot_begin(struct plot_chart *c, struct strbuf *out, const struct plot_frame *f,
        const struct plot_range *x, const struct plot_range *y, const struct plot_space *space)
{
	double below = TICK_H + EDGE, right = space->right + EDGE;
	char buf[80];

	*c = (struct plot_chart){ .out = out,
		.f = f,
		.id = checked_id(f->id),
		.width = size_or(f->width, WIDTH),
		.height = size_or(f->height, space->height),
		.x = f->x,
		.y = f->y,
		.rows = space->rows };
	c->x_clamped =
	        settle_axis(&c->x, x, space->rows && !space->no_y0, space->rows && !space->no_y0);
	c->y_clamped = settle_axis(&c->y, y, !space->no_y0, true);
	c->top = EDGE + (f->title ? 20 : 0) + (f->about ? PLOT_LINE_H + 3 : 0) + space->head +
	         (f->y.label && !space->rows ? LABEL_H : 4);
	below += x_label(c, buf, sizeof(buf)) ? LABEL_H : 0;
	c->h = c->height - c->top - below;
	c->h = c->h < LEAST ? LEAST : c->h;
	if (!f->height)
		c->height = c->top + c->h + below;
	if (!space->rows)
		plot_ticks(&c->yt, &c->y, (size_t)(c->h / Y_TICK));
	c->left = EDGE + (space->rows ? space->left : ticks_width(&c->yt) + (c->y_clamped ? 8 : 0));
	if (right > c->width * 0.4)
		right = c->width * 0.4;
	c->w = c->width - c->left - right;
	c->w = c->w < LEAST ? LEAST : c->w;
	plot_ticks(&c->xt, &c->x, (size_t)(c->w / (c->x.log ? LOG_TICK : X_TICK)));
	open_element(c);
	put_titles(c);
}

/* --- axes ------------------------------------------------------------------------------------ */

static void put_tick(
        struct plot_chart *c, const char *anchor, double x, double y, const char *label, bool less)
{
	char text[PLOT_TICK_TEXT + 8];

	snprintf(text, sizeof(text), "%s%s", less ? "≤ " : "", label);
	plot_text(c->out, "plot-tick", anchor, x, y, 200, text);
}

static void x_axis(struct plot_chart *c)
{
	double bottom = c->top + c->h, last = -1e9;
	char buf[80];
	const char *label = x_label(c, buf, sizeof(buf));
	size_t i;

	for (i = 0; i < c->xt.n; i++) {
		double x = plot_x(c, c->xt.at[i]), half;

		plot_rule(c->out, "plot-grid", x, c->top, x, bottom);
		half = PLOT_CHAR * (double)plot_chars(c->xt.label[i]) / 2;
		if (x - half < last + 6)
			continue;
		/* The last one may not stick out. */
		put_tick(c, x + half > c->width - 2 ? "end" : "middle",
		        x + half > c->width - 2 ? c->width - 2 : x, bottom + 15, c->xt.label[i],
		        i == 0 && c->x_clamped);
		last = x + half;
	}
	plot_rule(c->out, "plot-axis", c->left, bottom, c->left + c->w, bottom);
	if (label)
		plot_text(c->out, "plot-about", "middle", c->left + c->w / 2, bottom + 15 + LABEL_H,
		        c->width - 2 * EDGE, label);
}

static void y_axis(struct plot_chart *c)
{
	size_t i;

	for (i = 0; i < c->yt.n; i++) {
		double y = plot_y(c, c->yt.at[i]);

		plot_rule(c->out, "plot-grid", c->left, y, c->left + c->w, y);
		put_tick(c, "end", c->left - 6, y + 4, c->yt.label[i], i == 0 && c->y_clamped);
	}
	if (c->f->y.label)
		plot_text(c->out, "plot-about", "start", EDGE, c->top - 12, c->width * 0.6,
		        c->f->y.label);
}

void plot_axes(struct plot_chart *c)
{
	if (!c->rows)
		y_axis(c);
	x_axis(c);
}

void plot_clip(struct plot_chart *c)
{
	strbuf_addf(c->out, "<clipPath id=\"%s-area\"><rect x=\"", c->id);
	plot_num(c->out, c->left - 4);
	strbuf_adds(c->out, "\" y=\"");
	plot_num(c->out, c->top - 4);
	strbuf_adds(c->out, "\" width=\"");
	plot_num(c->out, c->w + 8);
	strbuf_adds(c->out, "\" height=\"");
	plot_num(c->out, c->h + 5);
	strbuf_addf(c->out, "\"/></clipPath>\n<g clip-path=\"url(#%s-area)\">\n", c->id);
}

void plot_no_data(struct plot_chart *c)
{
	plot_text(c->out, "plot-about", "middle", c->left + c->w / 2, c->top + c->h / 2, c->w,
	        "no data");
}

static void put_mark(struct plot_chart *c, const struct plot_mark *m)
{
	const struct plot_axis *a = m->vertical ? &c->x : &c->y;
	double at, right = c->left + c->w;

	if ((c->rows && !m->vertical) || !plot_is_value(m->at) || m->at < a->min || m->at > a->max)
		return;
	at = m->vertical ? plot_x(c, m->at) : plot_y(c, m->at);
	if (m->vertical) {
		bool late = at > c->left + c->w * 0.7;

		plot_rule(c->out, "plot-mark", at, c->top, at, c->top + c->h);
		plot_text(c->out, "plot-over", late ? "end" : "start", late ? at - 4 : at + 4,
		        c->top + 11, c->w * 0.3, m->label);
	} else {
		plot_rule(c->out, "plot-mark", c->left, at, right, at);
		plot_text(c->out, "plot-over", "start", c->left + 4, at - 4, c->w * 0.5, m->label);
	}
}

void plot_end(struct plot_chart *c)
{
	size_t i;

	for (i = 0; i < c->f->n_marks; i++)
		put_mark(c, &c->f->marks[i]);
	strbuf_adds(c->out, "</svg>\n");
}
