/* priority_factors.h - priority by several factors
 *
 * As in Slurm's multifactor plugin (priority_multifactor.shtml): the sum of weight x factor, less
 * `nice`. Factors are 0..1 (QOS: -1..1); weights are `priority.weights` of gpusched.conf. Jobs are
 * ordered by the tiers of partitions and quotas, then by priority, then by job id: see sched.h.
 *
 * Age and wait grow with time, and fair-share changes with the use of all users; everything else
 * is fixed for a class. Age grows equally for all jobs, so it never changes the order of two jobs
 * of one class.
 */
#ifndef CTLD_CORE_PRIORITY_FACTORS_H
#define CTLD_CORE_PRIORITY_FACTORS_H

#include "common/conf/conf.h"

struct factors {
	double age, fair_share, size, partition, qos, wait;
};

/* The same factors, weighted and rounded: total is the sum of the others less nice. */
struct prio_parts {
	int64_t age, fair_share, size, partition, qos, wait, nice, total;
};

void prio_parts(const struct conf *conf, const struct factors *factors, int32_t nice,
        struct prio_parts *parts);

/* The time waited as a fraction of age_max; 1 from then on. Negative times count as 0. */
double prio_age(const struct conf *conf, double waited_s);

/* Large jobs first, because small ones find a place anyway: the job's share of the cluster's GPUs,
 * or of its CPUs for a job without GPUs. */
double prio_size(uint64_t cluster_gpus, uint64_t cluster_cpus, uint64_t gpus, uint64_t cpus);

/* The priority as a fraction of the largest QOS priority (by absolute value: a negative priority
 * has a negative factor), or of the largest partition priority. CONF_NONE: 0. */
double prio_qos(const struct conf *conf, uint32_t qos);
double prio_partition(const struct conf *conf, uint32_t partition);

/* The factor of a job that should start within max_wait_s (0: no such request, factor 0): 0 at
 * submit, growing as the square of the wait, 1 from max_wait_s on. So it weighs little at first. */
double prio_wait(double waited_s, uint32_t max_wait_s);

#endif
