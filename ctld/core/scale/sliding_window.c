/* sliding_window.c - see sliding_window.h */
#include "ctld/core/scale/sliding_window.h"

#include <string.h>

#define PLACES (WINDOW_BUCKETS + 1)

static usec_t bucket_width(usec_t length)
{
	usec_t width = length / WINDOW_BUCKETS;

	return width > 0 ? width : 1;
}

/* Rounded down, also of times below 0. */
static int64_t bucket_of(usec_t at, usec_t width)
{
	return at / width - (at % width < 0);
}

static size_t place(int64_t bucket)
{
	return (size_t)((bucket % PLACES + PLACES) % PLACES);
}

/* --- means ----------------------------------------------------------------------------------- */

void mean_window_init(struct mean_window *w, usec_t length, usec_t now)
{
	memset(w, 0, sizeof(*w));
	w->width = bucket_width(length);
	w->newest = bucket_of(now, w->width);
}

static void mean_forward(struct mean_window *w, usec_t now)
{
	int64_t bucket = bucket_of(now, w->width);

	if (bucket - w->newest >= PLACES)
		memset(w->at, 0, sizeof(w->at));
	else
		for (int64_t b = w->newest + 1; b <= bucket; b++)
			memset(&w->at[place(b)], 0, sizeof(w->at[0]));
	w->newest = bucket > w->newest ? bucket : w->newest;
}

void mean_window_add(
        struct mean_window *w, usec_t from, usec_t to, const double quantities[WINDOW_MEANS])
{
	mean_forward(w, to);
	while (to > from) {
		int64_t bucket = bucket_of(to - 1, w->width);
		usec_t start = bucket * w->width;
		double part;

		if (w->newest - bucket >= PLACES)
			break;
		start = start > from ? start : from;
		part = (double)(to - start);
		for (int i = 0; i < WINDOW_MEANS; i++)
			w->at[place(bucket)].sum[i] += (float)(quantities[i] * part);
		w->at[place(bucket)].known += (float)part;
		to = start;
	}
}

/* The oldest bucket counts with the part of it that is still in the window. */
bool mean_window_get(struct mean_window *w, usec_t now, double means[WINDOW_MEANS])
{
	double sum[WINDOW_MEANS] = { 0 }, known = 0;

	mean_forward(w, now);
	for (int64_t b = w->newest - WINDOW_BUCKETS; b <= w->newest; b++) {
		double part = 1;

		if (b == w->newest - WINDOW_BUCKETS)
			part -= (double)(now - w->newest * w->width) / (double)w->width;
		for (int i = 0; i < WINDOW_MEANS; i++)
			sum[i] += part * (double)w->at[place(b)].sum[i];
		known += part * (double)w->at[place(b)].known;
	}
	if (known <= 0)
		return false;
	for (int i = 0; i < WINDOW_MEANS; i++)
		means[i] = sum[i] / known;
	return true;
}

/* --- maxima ---------------------------------------------------------------------------------- */

void max_window_init(struct max_window *w, usec_t length, usec_t now)
{
	memset(w, 0, sizeof(*w));
	w->width = bucket_width(length);
	w->newest = bucket_of(now, w->width);
}

static void max_forward(struct max_window *w, usec_t now)
{
	int64_t bucket = bucket_of(now, w->width);

	if (bucket - w->newest >= PLACES)
		memset(w->at, 0, sizeof(w->at));
	else
		for (int64_t b = w->newest + 1; b <= bucket; b++)
			w->at[place(b)] = 0;
	w->newest = bucket > w->newest ? bucket : w->newest;
}

void max_window_add(struct max_window *w, usec_t now, uint32_t value)
{
	uint32_t *at;

	max_forward(w, now);
	at = &w->at[place(w->newest)];
	*at = value > *at ? value : *at;
}

uint32_t max_window_get(struct max_window *w, usec_t now)
{
	uint32_t most = 0;

	max_forward(w, now);
	for (size_t i = 0; i < PLACES; i++)
		most = w->at[i] > most ? w->at[i] : most;
	return most;
}
