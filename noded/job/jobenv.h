/* jobenv.h - the environment of a job
 *
 * It is the environment that the owner exported when he signed the job, without the names that are
 * reserved for us (GPUSCHED_* except those that the commands read, and the variables that tell GPU
 * programs which devices to use), plus those names, made here from the order alone; HOME, USER,
 * LOGNAME and SHELL from the node's user database, and a PATH if the export rules left them out.
 * One row of the table in jobenv.c is one variable: its name, when it is set, its value. To add
 * one: a row, a line in interface and manual, a row in test_jobenv.c.
 *
 * A job whose signed environment has SLURM_JOB_ID, with any value, sees Slurm's names as well as
 * ours: rows of the same table. Which of sbatch's options were given is not known here; the
 * variables that Slurm derives from them (SLURM_NTASKS, SLURM_GPUS) come from the client
 * (cmds/slurm/slurmenv.h).
 *
 * Values that come from the controller are not signed; none may hold a control character, so that
 * `env` and files made from it keep one variable a line.
 *
 * Pure.
 */
#ifndef NODED_JOBENV_H
#define NODED_JOBENV_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"

#define JOBENV_INTERRUPT_FILE "interrupt" /* in RUN_DIR */

/* A GPU that was found, not only configured. */
struct jobenv_gpu {
	uint32_t host; /* its number on the host, as CUDA counts; a MIG instance's GPU */
	bool mig;      /* CUDA knows MIG instances by their UUID alone */
	const char *uuid;
};

/* Borrowed for the call. */
struct jobenv_in {
	const Gpusched__StartRun *order;
	const Gpusched__SignedSpec *spec;
	const char *cluster;
	const char *node;
	const char *user, *home, *shell; /* of the node's user database */
	const char *run_dir;
	usec_t start_time; /* wall */
	bool own_numbers;  /* it can open its own GPUs only, so GPU programs count from 0 */
	const struct jobenv_gpu *gpus; /* the order's; NULL: as configured */
	const char *mps_pipe;          /* the directory of the MPS that it must use; NULL: none */
	const char *stepd; /* gstepd, for a job with steps; NULL: it has none */
	const uint32_t *ports; /* of a replica of a service */
	size_t n_ports;
};

/* A NULL-terminated list that jobenv_free() frees, or NULL with ERR_JOB_SPEC. */
char **jobenv_make(const struct jobenv_in *in, struct error *err);
void jobenv_free(char **env); /* NULL is fine */

/* The value of a name, NULL if it is not there. */
const char *jobenv_get(char *const *env, const char *name);

#endif
