/* level_over_time.c - see level_over_time.h */
#include "ctld/gdemand/level_over_time.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

static void change(struct level *l, usec_t at, int64_t by)
{
	*XADD(l->v, l->n, l->size) = (struct level_change){ at, by };
}

void level_add(struct level *l, usec_t from, usec_t to, int64_t by)
{
	if (to <= from || !by)
		return;
	change(l, from, by);
	change(l, to, -by);
}

static int by_time(const void *x, const void *y)
{
	const struct level_change *a = x, *b = y;

	return a->at < b->at ? -1 : a->at > b->at;
}

void level_seal(struct level *l)
{
	size_t i, k, n = 0;
	int64_t level = 0, before;

	if (!l->n)
		return;
	qsort(l->v, l->n, sizeof(*l->v), by_time);
	for (i = 0; i < l->n; i = k) {
		before = level;
		for (k = i; k < l->n && l->v[k].at == l->v[i].at; k++)
			level += l->v[k].by;
		if (level != before)
			l->v[n++] = (struct level_change){ l->v[i].at, level };
	}
	l->n = n;
}

void level_clear(struct level *l)
{
	free(l->v);
	*l = (struct level){ 0 };
}

/* How many changes there are up to that moment. */
static size_t changes_until(const struct level *l, usec_t at)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->v[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t level_at(const struct level *l, usec_t at)
{
	size_t n = changes_until(l, at);

	return n ? l->v[n - 1].by : 0;
}

void level_walk(const struct level *l, usec_t from, usec_t to, level_fn *fn, void *arg)
{
	size_t i = changes_until(l, from);
	int64_t level = i ? l->v[i - 1].by : 0;

	for (; i < l->n && l->v[i].at < to; i++) {
		fn(arg, from, l->v[i].at, level);
		from = l->v[i].at;
		level = l->v[i].by;
	}
	if (from < to)
		fn(arg, from, to, level);
}

static void add_area(void *arg, usec_t from, usec_t to, int64_t level)
{
	*(double *)arg += (double)level * (double)(to - from);
}

double level_mean(const struct level *l, usec_t from, usec_t to)
{
	double area = 0;

	level_walk(l, from, to, add_area, &area);
	return to > from ? area / (double)(to - from) : 0;
}

/* --- above a level --------------------------------------------------------------------------- */

struct above {
	int64_t over, peak;
	usec_t since, until;
	bool is;
	level_peak_fn *fn;
	void *arg;
};

static void above_end(struct above *a)
{
	if (a->is)
		a->fn(a->arg, a->since, a->until, a->peak);
	a->is = false;
}

static void above_piece(void *arg, usec_t from, usec_t to, int64_t level)
{
	struct above *a = arg;

	if (level <= a->over) {
		above_end(a);
		return;
	}
	if (!a->is) {
		a->is = true;
		a->since = from;
		a->peak = level;
	}
	a->until = to;
	a->peak = level > a->peak ? level : a->peak;
}

void level_excursions(
        const struct level *l, usec_t from, usec_t to, int64_t over, level_peak_fn *fn, void *arg)
{
	struct above a = { .over = over, .fn = fn, .arg = arg };

	level_walk(l, from, to, above_piece, &a);
	above_end(&a);
}

static void longest(void *arg, usec_t from, usec_t to, int64_t peak)
{
	usec_t *most = arg;

	(void)peak;
	*most = to - from > *most ? to - from : *most;
}

int64_t level_kept(const struct level *l, usec_t from, usec_t to, usec_t length)
{
	int64_t low = 0, high = 0, middle;
	usec_t most;
	size_t i;

	for (i = 0; i < l->n; i++)
		high = l->v[i].by > high ? l->v[i].by : high;
	while (low < high) {
		middle = low + (high - low + 1) / 2;
		most = 0;
		level_excursions(l, from, to, middle - 1, longest, &most);
		if (most >= length)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}
