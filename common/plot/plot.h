/* plot.h - charts as SVG text
 *
 * Data go in, one <svg> element is added to `out`: a file by itself, or part of a page. Nothing
 * here reads a clock, a file or a locale, so the same data give the same bytes.
 *
 *	plot_xy()      lines, steps, dots, bands and stacked areas over x, in one picture
 *	plot_ecdf()    for each value, the part of the samples that are at most that
 *	plot_bars()    a bar for each label and group, perhaps with intervals
 *	plot_spans()   rows of spans over x: a timeline
 *
 * A chart reads without colour: lines differ by dashes and markers and carry their names at their
 * ends, areas and spans by hatching. Colours follow the reader's light or dark by CSS. A picture
 * has no script and refers to nothing outside itself. All texts are escaped: what is no plain text
 * (common/base/text.h) shows as \xNN.
 *
 * Values that are no finite numbers are gaps; on a logarithmic axis those of 0 or less stand at its
 * lower end. Without any value the chart says "no data". Where there are more points than columns
 * of pixels, the least and the greatest of each column stay, so that no peak is lost.
 */
#ifndef COMMON_PLOT_H
#define COMMON_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/strbuf.h"

/* What an axis counts, which says where ticks are and how they are written. */
enum plot_unit {
	PLOT_NUMBER,   /* 1 2 5 10; 20k, 3M */
	PLOT_DURATION, /* seconds: 30 s, 5 min, 2 h, 3 d */
	PLOT_UTC,      /* seconds since 1970: 14:30, Nov 3, 2026 */
	PLOT_PERCENT,  /* 0 to 1: 0 %, 25 % */
	PLOT_MB,       /* MiB: 512 MiB, 2 GiB */
	PLOT_UNITS
};

struct plot_axis {
	const char *label; /* NULL: none; a unit that ticks do not show belongs here: "GPUs" */
	enum plot_unit unit;
	bool log;
	/* The range, if `fixed`; else that of the data (y from 0 unless data are negative). */
	bool fixed;
	double min, max;
};

/* A line at a value of x or y with its words, as "now" or "capacity". */
struct plot_mark {
	bool vertical; /* at x */
	double at;
	const char *label;
};

/* All borrowed. */
struct plot_frame {
	const char *title; /* above the chart, and its accessible name */
	const char *about; /* a smaller line below: what is shown, of what; NULL: none */
	const char
	        *id; /* letters, digits, "-": begins the ids inside, where several stand in a page;
			    * NULL: "plot" */
	unsigned width, height; /* in pixels; 0: 860 and what suits the kind */
	bool bare;              /* without its style sheet: the page has plot_css() */
	struct plot_axis x, y;
	const struct plot_mark *marks;
	size_t n_marks;
};

/* One value as charts write it, with two or three digits: "3.4 h", "12k". */
#define PLOT_TICK_TEXT 32
void plot_value(char buf[PLOT_TICK_TEXT], enum plot_unit unit, double v);

/* The style sheet, as text; classes begin with "plot". */
const char *plot_css(void);

/* --- over x ---------------------------------------------------------------------------------- */

enum plot_style {
	PLOT_LINE, /* from point to point */
	PLOT_STEP, /* each value counts up to the next x */
	PLOT_DOTS,
	PLOT_AREA, /* as PLOT_STEP; areas stand on each other in their order, and need the same x */
	PLOT_BAND, /* between y and y2, from point to point: an interval */
};

struct plot_series {
	const char *name;
	enum plot_style style;
	const double *x, *y; /* x never falls, but for PLOT_DOTS */
	const double *y2;    /* of PLOT_BAND */
	size_t n;
};

void plot_xy(
        struct strbuf *out, const struct plot_frame *f, const struct plot_series *series, size_t n);

/* --- distributions --------------------------------------------------------------------------- */

struct plot_samples {
	const char *name;
	const double *v; /* in any order */
	size_t n;
};

/* The y axis goes to 100 %, and begins at 0 % unless more than a third of each line's samples have
 * the least value of all. */
void plot_ecdf(struct strbuf *out, const struct plot_frame *f, const struct plot_samples *samples,
        size_t n);

/* --- bars ------------------------------------------------------------------------------------ */

/* Bars lie: a label is a row, and `f->x` is the axis of values. */
struct plot_bar_group {
	const char *name;         /* NULL where there is only one */
	const double *v;          /* [n_labels] */
	const double *low, *high; /* of an interval around each; NULL: none */
};
struct plot_bars {
	const char *const *labels;
	size_t n_labels;
	const struct plot_bar_group *groups;
	size_t n_groups;
};

void plot_bars(struct strbuf *out, const struct plot_frame *f, const struct plot_bars *b);

/* --- a timeline ------------------------------------------------------------------------------ */

struct plot_span {
	size_t row;
	double from, to;   /* equal: a moment, shown as a marker */
	size_t kind;       /* of `kinds` */
	const char *label; /* inside, if there is room, and as a tooltip; NULL: the kind's name */
};
struct plot_spans {
	const char *const *rows;
	size_t n_rows;
	const char *const *kinds; /* "waiting", "running": one look each */
	size_t n_kinds;
	const struct plot_span *spans;
	size_t n_spans;
};

void plot_spans(struct strbuf *out, const struct plot_frame *f, const struct plot_spans *t);

#endif
