/* job_partitions.h - the partitions in which a job may start: --partition=a,b
 *
 * A job waits in all of them, and starts in the one that first has room. What a partition gives by
 * default (CPUs, memory, a time limit) is its own, so a job may ask for something else in each. Two
 * texts of the job are durable: its list ("a,b"; "": there is only `partition`), and what it has in
 * each ("8/65536/3600,16/131072/0": CPUs, MiB, seconds; "": the same everywhere, as the job's own
 * fields say). `partition` is one of the list: the one in which the job runs or ran last, and
 * before its first start the first one.
 */
#ifndef CTLD_CORE_JOB_PARTITIONS_H
#define CTLD_CORE_JOB_PARTITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_CHOICES_MAX     16 /* partitions of one list */
#define JOB_PARTITION_SIZE  65 /* a name with its NUL */
#define JOB_PARTITIONS_SIZE (JOB_CHOICES_MAX * JOB_PARTITION_SIZE)
#define JOB_NEEDS_SIZE \
	(JOB_CHOICES_MAX * sizeof("4294967295/18446744073709551615/4294967295,"))

/* One of the partitions of a job, and what the job has there. */
struct job_choice {
	char partition[JOB_PARTITION_SIZE];
	uint32_t cpus, time_limit_s;
	uint64_t mem_mb;
};

/* The next name of a list ("a,b"), its length in *n; *at moves behind it. NULL: no more. */
const char *partition_list_next(const char **at, size_t *n);
/* The number of its names; "": 1. */
uint32_t partition_list_count(const char *list);
bool partition_list_has(const char *list, const char *name);

/* The k-th of a list that is not empty, from 0. What is the same everywhere stays in *c. */
void job_choice_read(const char *partitions, const char *needs, uint32_t k, struct job_choice *c);

/* The two texts of these choices: both "" for a single one. */
void job_choices_write(const struct job_choice *v, uint32_t n,
        char partitions[JOB_PARTITIONS_SIZE], char needs[JOB_NEEDS_SIZE]);
/* Are these two texts such as job_choices_write() makes them? */
bool job_choices_valid(const char *partitions, const char *needs);

#endif
