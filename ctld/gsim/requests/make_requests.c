/* make_requests.c - requests that a seed makes; see requests.h
 *
 * Requests come as a Poisson process whose rate changes each second. Their sizes are
 * log-normal, with medians like those of a public chat service (input 1,020 tokens, output 129).
 * The rate:
 *
 *	bursts	4 hours at 6 requests a second, more or less, and each 12 minutes or so for 20
 *		seconds to 5 minutes 2 to 6 times as much
 *	day	24 hours between 1 request a second at night and 12 by day, more or less, and
 *		each two hours or so a burst
 */
#include <math.h>
#include <string.h>

#include "ctld/gsim/random.h"
#include "ctld/gsim/requests/requests.h"

#define SECOND ((usec_t)1000000)
#define TWO_PI 6.283185307179586
#define WANDER 0.03 /* how much the rate wanders in a second, and */
#define PULL   0.01 /* how much of that it forgets */

struct kind {
	const char *name;
	unsigned seconds;
	double low, high;   /* requests a second, by night and by day */
	double burst_every; /* s */
};

static const struct kind kinds[] = {
	{ "bursts", 4 * 3600, 6, 6, 720 },
	{ "day", 24 * 3600, 1, 12, 7200 },
};

/* Standard normal. */
static double normal(uint64_t *state)
{
	double u = 1 - random_unit(state), v = random_unit(state);

	return sqrt(-2 * log(u)) * cos(TWO_PI * v);
}

static uint32_t tokens(uint64_t *state, double median, double spread, double most)
{
	double v = median * exp(spread * normal(state));

	return v < 1 ? 1 : v > most ? (uint32_t)most : (uint32_t)v;
}

static void add_second(struct requests *r, uint64_t *state, unsigned second, double rate)
{
	double at = -log(1 - random_unit(state)) / rate;

	for (; at < 1; at -= log(1 - random_unit(state)) / rate) {
		struct request request = { .at = (usec_t)((second + at) * (double)SECOND) };

		request.input = tokens(state, 1020, 0.6, 14000);
		request.output = tokens(state, 129, 1, 1500);
		requests_add(r, request);
	}
}

static void make(struct requests *r, const struct kind *k, uint64_t *state)
{
	double wander = 0, burst = 1;
	unsigned s, burst_end = 0;

	for (s = 0; s < k->seconds; s++) {
		double day = (1 - cos(TWO_PI * s / 86400)) / 2;
		double rate = k->low + (k->high - k->low) * day;

		wander += WANDER * normal(state) - PULL * wander;
		if (s >= burst_end && random_unit(state) < 1 / k->burst_every) {
			burst_end = s + 20 + (unsigned)random_below(state, 281);
			burst = 2 + 4 * random_unit(state);
		}
		add_second(r, state, s, rate * exp(wander) * (s < burst_end ? burst : 1));
	}
}

int requests_make(struct requests *r, const char *kind, uint64_t seed,
        const struct requests_options *o, struct error *err)
{
	size_t i;

	*r = (struct requests){ .v = NULL };
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kind, kinds[i].name))
			continue;
		make(r, &kinds[i], &seed);
		requests_finish(r, o);
		return 0;
	}
	return error_set(err, ERR_USAGE, "expected bursts or day");
}
