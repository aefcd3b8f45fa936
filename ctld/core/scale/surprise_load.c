/* surprise_load.c - see surprise_load.h */
#include "ctld/core/scale/surprise_load.h"

#define PLACES (SURPRISE_DELAYS + 1)
#define STEP   1.08 /* from one level to the next */
#define CHANCE 1.1  /* times what was expected is none */

static size_t place(int64_t bucket)
{
	return (size_t)((bucket % PLACES + PLACES) % PLACES);
}

/* Another load time begins with what is expected now, unless it is nearly the same. */
static void set_delay(struct surprise *s, usec_t now, usec_t load_time, double expected)
{
	usec_t width = load_time / SURPRISE_DELAYS;

	width = width > 0 ? width : 1;
	if (s->width > 0 && width <= s->width + s->width / 8 && width >= s->width - s->width / 8)
		return;
	s->width = width;
	s->newest = now / width;
	s->last = (float)expected;
	for (size_t i = 0; i < PLACES; i++)
		s->expected[i] = s->last;
}

/* The most that was expected in the oldest bucket. */
static double delayed(struct surprise *s, usec_t now, double expected)
{
	int64_t bucket = now / s->width, b = s->newest + 1;
	float *at = &s->expected[place(bucket)];

	b = bucket - b > PLACES ? bucket - PLACES : b;
	for (; b <= bucket; b++)
		s->expected[place(b)] = b < bucket ? s->last : (float)expected;
	s->newest = bucket;
	*at = *at > (float)expected ? *at : (float)expected;
	s->last = (float)expected;
	return (double)s->expected[place(bucket + 1)];
}

/* Level `i` is above STEP^(i-1), at most STEP^i. */
static void count(struct surprise *s, double load, double seconds)
{
	double most = 1;
	size_t i = 0;

	for (; i < SURPRISE_LEVELS - 1 && most < load; i++)
		most *= STEP;
	s->at[i] += (float)seconds;
}

static double in_seconds(usec_t t)
{
	return (double)t / 1e6;
}

void surprise_add(struct surprise *s, usec_t now, usec_t past, usec_t load_time, double load,
        double expected, bool known)
{
	double fade = 1 / (1 + in_seconds(past) / in_seconds(SURPRISE_MEMORY)), before;

	set_delay(s, now, load_time, expected);
	before = delayed(s, now, expected);
	for (size_t i = 0; i < SURPRISE_LEVELS; i++)
		s->at[i] *= (float)fade;
	s->all *= fade;
	if (!known)
		return;
	s->all += in_seconds(past);
	if (load > CHANCE * before)
		count(s, load, in_seconds(past));
}

double surprise_level(const struct surprise *s, double share)
{
	double above = 0, most = 1;
	size_t i;

	for (i = 0; i < SURPRISE_LEVELS; i++)
		above += (double)s->at[i];
	for (i = 0; i < SURPRISE_LEVELS && above > share * s->all; i++) {
		above -= (double)s->at[i];
		most *= STEP;
	}
	return i ? most / STEP : 0;
}
