/* priority_factors.c - see priority_factors.h
 *
 * Each factor is computed here from what the caller knows of a class, and is 0 where nothing is
 * configured that it could be compared with. The parts of a priority are rounded one by one, so
 * that the parts that gprio shows add up to the total exactly.
 */
#include "ctld/core/accounts/priority_factors.h"

static double clamp(double x)
{
	return x < 0 ? 0 : x > 1 ? 1 : x;
}

static int64_t weigh(uint32_t weight, double factor)
{
	double x = (double)weight * factor;

	return (int64_t)(x < 0 ? x - 0.5 : x + 0.5);
}

/* Nice counts against the job: the larger, the later. */
void prio_parts(const struct conf *conf, const struct factors *factors, int32_t nice,
        struct prio_parts *parts)
{
	const struct conf_priority *w = &conf->priority;

	*parts = (struct prio_parts){
		.age = weigh(w->age, factors->age),
		.fair_share = weigh(w->fair_share, factors->fair_share),
		.size = weigh(w->size, factors->size),
		.partition = weigh(w->partition, factors->partition),
		.qos = weigh(w->qos, factors->qos),
		.wait = weigh(w->wait_target, factors->wait),
		.nice = nice,
	};
	parts->total = parts->age + parts->fair_share + parts->size + parts->partition +
	               parts->qos + parts->wait - parts->nice;
}

double prio_age(const struct conf *conf, double waited_s)
{
	if (!conf->priority.age_max_s)
		return 0;
	return clamp(waited_s / conf->priority.age_max_s);
}

double prio_size(uint64_t cluster_gpus, uint64_t cluster_cpus, uint64_t gpus, uint64_t cpus)
{
	if (gpus)
		return cluster_gpus ? clamp((double)gpus / (double)cluster_gpus) : 0;
	return cluster_cpus ? clamp((double)cpus / (double)cluster_cpus) : 0;
}

/* Relative to the QOS with the largest amount, so from -1 to 1. */
double prio_qos(const struct conf *conf, uint32_t qos)
{
	int64_t most = 0;

	if (qos == CONF_NONE)
		return 0;
	for (size_t i = 0; i < conf->n_qos; i++) {
		int64_t p = conf->qos[i].priority;

		if (p < 0)
			p = -p;
		most = p > most ? p : most;
	}
	return most ? (double)conf->qos[qos].priority / (double)most : 0;
}

double prio_partition(const struct conf *conf, uint32_t partition)
{
	uint32_t most = 0;

	if (partition == CONF_NONE)
		return 0;
	for (size_t i = 0; i < conf->n_partitions; i++) {
		if (conf->partitions[i].priority > most)
			most = conf->partitions[i].priority;
	}
	return most ? (double)conf->partitions[partition].priority / (double)most : 0;
}

/* Grows with the square of the time that has passed, to 1 when the time is over. */
double prio_wait(double waited_s, uint32_t max_wait_s)
{
	double part;

	if (!max_wait_s)
		return 0;
	part = clamp(waited_s / max_wait_s);
	return part * part;
}
