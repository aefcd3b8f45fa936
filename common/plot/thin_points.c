/* thin_points.c - points, thinned out; see plot_impl.h
 *
 * Of the points of one column of pixels four stay: the first, the least, the greatest and the last,
 * in the order in which they came. A column with up to four points keeps all of them.
 */
#include "common/plot/plot_impl.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

enum { FIRST, LEAST, GREATEST, LAST, KEPT };

static void keep(struct plot_path *p, struct plot_point point)
{
	p->v = xgrow(p->v, p->n, &p->size, sizeof(*p->v));
	p->v[p->n++] = point;
}

static void flush_column(struct plot_path *p)
{
	size_t order[KEPT] = { FIRST, LEAST, GREATEST, LAST }, i;

	if (!p->points)
		return;
	if (p->at[LEAST] > p->at[GREATEST]) {
		order[1] = GREATEST;
		order[2] = LEAST;
	}
	for (i = 0; i < KEPT; i++) {
		if (i == 0 || p->at[order[i]] != p->at[order[i - 1]])
			keep(p, p->column[order[i]]);
	}
	p->points = 0;
}

static void put(struct plot_path *p, int which, struct plot_point point)
{
	p->column[which] = point;
	p->at[which] = p->points;
}

void plot_path_to(struct plot_path *p, double x, double y)
{
	struct plot_point point = { x, y };

	if (p->points && floor(x) != floor(p->column[LAST].x))
		flush_column(p);
	if (!p->points)
		put(p, FIRST, point);
	if (!p->points || y < p->column[LEAST].y)
		put(p, LEAST, point);
	if (!p->points || y > p->column[GREATEST].y)
		put(p, GREATEST, point);
	put(p, LAST, point);
	p->points++;
}

void plot_path_gap(struct plot_path *p)
{
	flush_column(p);
	if (p->n && !isnan(p->v[p->n - 1].x))
		keep(p, (struct plot_point){ NAN, NAN });
}

void plot_path_done(struct plot_path *p)
{
	flush_column(p);
}

void plot_path_free(struct plot_path *p)
{
	free(p->v);
	*p = (struct plot_path){ .v = NULL };
}

static void draw_point(struct strbuf *out, const struct plot_point *v, const char *verb)
{
	strbuf_adds(out, verb);
	plot_num(out, v->x);
	strbuf_adds(out, " ");
	plot_num(out, v->y);
}

void plot_path_draw(struct strbuf *out, const struct plot_path *p)
{
	const char *verb = "M";
	size_t i;

	for (i = 0; i < p->n; i++) {
		if (isnan(p->v[i].x)) {
			verb = "M";
			continue;
		}
		draw_point(out, &p->v[i], verb);
		/* A point between two gaps is a dot. */
		if (*verb == 'M' && (i + 1 == p->n || isnan(p->v[i + 1].x)))
			strbuf_adds(out, "h.1");
		verb = "L";
	}
}

void plot_path_between(struct strbuf *out, const struct plot_path *top, const struct plot_path *low)
{
	const char *verb = "M";
	size_t i;

	for (i = 0; i < top->n; i++) {
		if (isnan(top->v[i].x))
			continue;
		draw_point(out, &top->v[i], verb);
		verb = "L";
	}
	for (i = low->n; i-- > 0;) {
		if (!isnan(low->v[i].x) && *verb == 'L')
			draw_point(out, &low->v[i], verb);
	}
	strbuf_adds(out, *verb == 'L' ? "z" : "");
}
