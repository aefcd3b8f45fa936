/* prio.h - priority by several factors
 *
 * As Slurm's multifactor plugin has it (priority_multifactor.shtml): the sum of weight x factor,
 * less `nice`. Factors are 0..1 (QOS: -1..1); weights are `priority.weights` of gpusched.conf.
 * Tiers of partitions and quotas come before priority, the job's id after it: see sched.h.
 *
 * Age and wait grow with time, fair-share with what others use; everything else is fixed for a
 * class. Age grows alike for all, so it never turns the order of two jobs of one class.
 */
#ifndef CTLD_CORE_PRIO_H
#define CTLD_CORE_PRIO_H

#include "common/conf.h"

struct factors {
	double age, fair_share, size, partition, qos, wait;
};

/* The same, weighed and rounded: total is the sum of the others less nice. */
struct prio_parts {
	int64_t age, fair_share, size, partition, qos, wait, nice, total;
};

void prio_parts(const struct conf *conf, const struct factors *factors, int32_t nice,
        struct prio_parts *parts);

/* Waited so long of age_max; from then on 1. Negative times count as 0. */
double prio_age(const struct conf *conf, double waited_s);

/* Large jobs first, since small ones find a place anyway: its share of the cluster's GPUs; of its
 * CPUs for jobs without GPUs. */
double prio_size(uint64_t cluster_gpus, uint64_t cluster_cpus, uint64_t gpus, uint64_t cpus);

/* Its share of the largest QOS priority (by amount: one below zero has a factor below zero), of the
 * largest partition priority. CONF_NONE: 0. */
double prio_qos(const struct conf *conf, uint32_t qos);
double prio_partition(const struct conf *conf, uint32_t partition);

/* The wish to start within max_wait_s (0: none, factor 0): 0 at submit, growing as the square of
 * the wait, 1 from max_wait_s on. So it weighs little while there is time. */
double prio_wait(double waited_s, uint32_t max_wait_s);

#endif
