/* partition_choices.h - a job with a list of partitions: those that refuse it are left out
 *
 * The job is accepted if one partition accepts it. What each gives by default (CPUs, memory, a time
 * limit) is kept for each choice; how the list is stored is in records/job_partitions.h.
 */
#ifndef CTLD_CORE_PARTITION_CHOICES_H
#define CTLD_CORE_PARTITION_CHOICES_H

#include "ctld/core/intake/intake_job.h"

struct caller;
struct core;
struct error;

/* Sets t->choices: the partitions of the list, or the default one. */
int partition_choices_find(const struct core *core, struct intake *t, struct error *err);

/* A check of a job in one partition: the present choice. */
typedef int partition_check(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err);

/* Make the check in each partition of the list; those that refuse the job are left out, with the
 * reason in t->left_out. -1: all did, and *err names each. */
int partition_choices_check(partition_check *check, struct core *core, const struct caller *caller,
        struct intake *t, struct error *err);

/* The job's texts, when it is known which partitions accept it. */
void partition_choices_keep(const struct core *core, struct intake *t);

/* Make the k-th choice the present one. */
void intake_choose(struct intake *t, uint32_t k);

/* Why partitions of its list refuse the job, for an effect; NULL: none does. */
const char *intake_left_out(struct core *core, const struct intake *t);

#endif
