/* cost_and_decay.c - see cost_and_decay.h
 *
 * The core links no libm, and results must be the same on every machine and after every restart: so
 * 2^x is computed here, from its integer part as bits of the exponent and from its fraction by a
 * series.
 */
#include "ctld/core/accounts/cost_and_decay.h"

#define HOUR_US     3600000000.0
#define GPU_DEFAULT 1.0
#define CPU_DEFAULT 0.01 /* of a job without GPUs, where nothing has a price */

/* Does the configuration have any price? */
static bool priced(const struct conf *conf)
{
	for (size_t t = 0; t < conf->n_gpu_types; t++) {
		if (conf->gpu_types[t].price > 0)
			return true;
	}
	return conf->prices.cpu > 0 || conf->prices.mem_gb > 0;
}

double usage_cost(const struct conf *conf, uint16_t type, double gpus, uint32_t cpus,
        uint64_t mem_mb, uint64_t elapsed_us)
{
	double hours = (double)elapsed_us / HOUR_US, an_hour;

	if (!priced(conf))
		an_hour = gpus ? gpus * GPU_DEFAULT : cpus * CPU_DEFAULT;
	else
		an_hour = (type < conf->n_gpu_types ? gpus * conf->gpu_types[type].price : 0) +
		          cpus * conf->prices.cpu + (double)mem_mb / 1024 * conf->prices.mem_gb;
	return an_hour * hours;
}

uint64_t usage_cost_u(const struct conf *conf, uint16_t type, double gpus, uint32_t cpus,
        uint64_t mem_mb, uint64_t elapsed_us, double factor)
{
	double cost = usage_cost(conf, type, gpus, cpus, mem_mb, elapsed_us) * factor * USAGE_MICRO;

	return cost < (double)(INT64_MAX / 2) ? (uint64_t)(cost + 0.5) : INT64_MAX / 2;
}

/* --- decay ----------------------------------------------------------------------------------- */

/* 2^whole */
static double power_of_two(int64_t whole)
{
	union {
		uint64_t bits;
		double x;
	} u;

	if (whole < -1022)
		return 0;
	if (whole > 1023)
		return __builtin_inf();
	u.bits = (uint64_t)(whole + 1023) << 52;
	return u.x;
}

/* 2^x, 0 <= x < 1, by the series of e^y: for |y| <= 0.35 the 15th term is below 2^-60. */
static double fraction(double x)
{
	const double ln2 = 0.69314718055994530942, root2 = 1.41421356237309504880;
	double y = (x - 0.5) * ln2, sum = 1; /* 2^x is 2^0.5 e^y */

	for (int k = 14; k > 0; k--)
		sum = 1 + sum * y / k;
	return root2 * sum;
}

double usage_exp2(double x)
{
	int64_t whole;

	if (x < -1100)
		return 0;
	if (x > 1100)
		return __builtin_inf();
	whole = (int64_t)x;
	if ((double)whole > x)
		whole--;
	return fraction(x - (double)whole) * power_of_two(whole);
}

double usage_decay(double value, usec_t age, uint32_t half_life_s)
{
	if (!half_life_s || age <= 0)
		return value;
	return value * usage_exp2((double)-age / ((double)half_life_s * 1e6));
}

usec_t usage_epoch(usec_t wall, uint32_t half_life_s)
{
	usec_t life = (usec_t)half_life_s * 1000000;

	return life && wall > 0 ? wall - wall % life : 0;
}

struct usage_factor usage_factor(usec_t time, usec_t epoch, uint32_t half_life_s)
{
	usec_t life = (usec_t)half_life_s * 1000000, ahead = time - epoch, whole, rest;

	if (!life)
		return (struct usage_factor){ 1, 1 };
	whole = ahead / life;
	rest = ahead % life;
	if (rest < 0) {
		whole--;
		rest += life;
	}
	return (struct usage_factor){ fraction((double)rest / (double)life), power_of_two(whole) };
}

double usage_scale(double value, usec_t time, usec_t epoch, uint32_t half_life_s)
{
	return usage_by(usage_factor(time, epoch, half_life_s), value);
}
