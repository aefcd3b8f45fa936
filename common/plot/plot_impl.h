/* plot_impl.h - what the charts share; private to the folder
 *
 * A chart is begun with the space that it needs around its area, has its axes drawn, then its data,
 * and is ended. Pixels count from the upper left.
 */
#ifndef COMMON_PLOT_IMPL_H
#define COMMON_PLOT_IMPL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/strbuf.h"
#include "common/plot/plot.h"

#define PLOT_LOOKS     8   /* colours, dashes, markers, hatchings; they repeat after that */
#define PLOT_CHAR      6.6 /* pixels of a character at 12 px, about */
#define PLOT_LINE_H    15  /* pixels between lines of text */
#define PLOT_TICKS_MAX 40
#define PLOT_VALUE_MAX 1e100 /* values beyond are gaps */

/* --- svg.c: pieces of XML --------------------------------------------------------------------- */

void plot_num(struct strbuf *out, double v); /* a coordinate, to a tenth */
/* At most `max` characters, escaped; what is cut ends in "…". NULL is "". */
void plot_escape(struct strbuf *out, const char *text, size_t max);
size_t plot_chars(const char *text); /* that it shows, about */
double plot_text_width(const char *text);
/* Cut to `width` pixels. `anchor`: "start", "middle", "end". */
void plot_text(struct strbuf *out, const char *class_name, const char *anchor, double x, double y,
        double width, const char *text);
void plot_tooltip(struct strbuf *out, const char *text, const char *value);
void plot_rule(
        struct strbuf *out, const char *class_name, double x1, double y1, double x2, double y2);
void plot_marker(struct strbuf *out, size_t look, double x, double y); /* of a path's d="" */

/* --- thin_points.c: points, thinned out to the least and greatest of each column of pixels --- */

struct plot_point {
	double x, y; /* pixels; x NAN: a gap */
};
struct plot_path {
	struct plot_point *v; /* owned */
	size_t n, size;
	struct plot_point column[4]; /* first, least, greatest, last of the present one */
	size_t at[4], points;        /* their numbers in it; points: how many there were */
};

void plot_path_to(struct plot_path *p, double x, double y); /* x never falls */
void plot_path_gap(struct plot_path *p);
void plot_path_done(struct plot_path *p); /* before `v` is looked at */
void plot_path_free(struct plot_path *p);
void plot_path_draw(struct strbuf *out, const struct plot_path *p);
/* The area between two paths; gaps are passed over. */
void plot_path_between(
        struct strbuf *out, const struct plot_path *top, const struct plot_path *low);

/* --- ticks.c ---------------------------------------------------------------------------------- */

struct plot_ticks {
	double at[PLOT_TICKS_MAX];
	char label[PLOT_TICKS_MAX][PLOT_TICK_TEXT];
	size_t n;
};

/* About `most` of them, within a->min to a->max, which are there and differ. */
void plot_ticks(struct plot_ticks *t, const struct plot_axis *a, size_t most);
/* The tick of a logarithmic axis at or below `v`, which is above 0. */
double plot_log_floor(enum plot_unit unit, double v);
/* "2026-11-03 14:00 to 2026-11-05 02:00 UTC" */
void plot_period(char *buf, size_t size, double from, double to);

/* --- frame.c ---------------------------------------------------------------------------------- */

struct plot_range {
	double min, max; /* min > max: nothing was added */
	double least;    /* above 0 */
	bool clamped;    /* something of 0 or less */
};
#define PLOT_RANGE_NONE                        \
	{                                      \
		.min = 1, .max = 0, .least = 0 \
	}
bool plot_is_value(double v);
void plot_range_add(struct plot_range *r, double v); /* gaps are passed over */

struct plot_chart {
	struct strbuf *out;
	const struct plot_frame *f;
	const char *id;
	double width, height;      /* of all */
	double left, top, w, h;    /* of the area */
	struct plot_axis x, y;     /* with their ranges */
	bool x_clamped, y_clamped; /* the lowest tick of a logarithmic axis stands for less, too */
	struct plot_ticks xt, yt;
	bool rows; /* no y axis: rows of a height */
};

struct plot_space {
	double height;    /* where f->height is 0 */
	double left;      /* of rows; 0: what the ticks of y need */
	double right;     /* of labels at line ends */
	double head;      /* of a legend above */
	bool rows, no_y0; /* no y axis; the y axis need not begin at 0 */
};

void plot_begin(struct plot_chart *c, struct strbuf *out, const struct plot_frame *f,
        const struct plot_range *x, const struct plot_range *y, const struct plot_space *space);
void plot_axes(struct plot_chart *c);
void plot_clip(struct plot_chart *c); /* what follows is cut at the area; ended by "</g>" */
void plot_no_data(struct plot_chart *c);
void plot_end(struct plot_chart *c); /* marks, and all of it */
double plot_x(const struct plot_chart *c, double v);
double plot_y(const struct plot_chart *c, double v);

/* --- legend.c --------------------------------------------------------------------------------- */

/* Hatchings, one a look; `n` of them. */
void plot_hatches(struct plot_chart *c, size_t n);
void plot_fill(struct plot_chart *c, size_t look); /* attributes: class and fill */

enum plot_sample { PLOT_SAMPLE_LINE, PLOT_SAMPLE_DOT, PLOT_SAMPLE_FILL, PLOT_SAMPLE_BAND };
struct plot_label {
	const char *name;
	size_t look;
	enum plot_sample sample;
	double x, y; /* of the line's end */
	bool leader; /* a thin line from there */
};
double plot_labels_width(const struct plot_label *labels, size_t n);
/* At the right, near where they would be, none over another. Sorts them. */
void plot_labels(struct plot_chart *c, struct plot_label *labels, size_t n);
/* A row of samples above the area, of hatchings. */
void plot_legend(struct plot_chart *c, const char *const *names, size_t n);

/* --- xy.c ------------------------------------------------------------------------------------- */

/* With the labels' order given by `rank` instead of the lines' ends; NULL: by these. */
void plot_xy_ranked(struct strbuf *out, const struct plot_frame *f,
        const struct plot_series *series, size_t n, const double *rank);

#endif
