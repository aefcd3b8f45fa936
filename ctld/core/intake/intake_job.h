/* intake_job.h - a job while it is being checked: what the steps of the intake fill in */
#ifndef CTLD_CORE_INTAKE_JOB_H
#define CTLD_CORE_INTAKE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/taskset.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/job_partitions.h"

struct intake_choice {
	uint32_t partition; /* index into conf.partitions */
	struct job_choice has;
};

struct intake {
	const struct submit_job *in;    /* borrowed */
	const struct nonce *known;      /* the nonce of an earlier submit */
	const struct job_info *updated; /* an update: the job to change; NULL: a new job */
	uint32_t partition;             /* index into conf.partitions: of the present choice */
	uint32_t account, qos;          /* indices; CONF_NONE: none */
	char *depends;                  /* owned: its dependencies, as kept; NULL: unchanged */
	size_t memory;                  /* charged to the user until intake_clear() */
	bool counted;                   /* counted among the jobs that have not ended, for the
	                                 * limit `queued` */
	struct job_info info;           /* filled in by intake_fill(); it holds references to gpus
	                                 * and labels */
	struct taskset tasks;           /* of an array */
	uint32_t at_once;
	uint32_t weight; /* jobs that it counts as: 1, or its tasks */
	/* The partitions of its list that accept it; `partition` and CPUs, memory and time limit in
	 * `info` are those of one of them: intake_choose(). */
	struct intake_choice *choices; /* owned */
	uint32_t n_choices;
	struct error *left_out;      /* owned: why others do not accept it; NULL: all do */
	char *partitions, *needs;    /* owned: info.partitions, info.partition_needs */
};

#endif
