/* slurmenv.h - the part of Slurm's environment that the submitter knows
 *
 * sbatch tells a job some of the options that it was given: SLURM_NTASKS is there with --ntasks and
 * not without. Those are put into the environment that is signed; the node adds what it alone knows
 * (noded/job/jobenv.h), because of the SLURM_JOB_ID that is among them.
 *
 * Pure.
 */
#ifndef CMDS_SLURMENV_H
#define CMDS_SLURMENV_H

#include "cmds/options/options.h"

/* `env` (NULL-terminated) and then Slurm's variables, as the options were given: before
 * tasks_settle(). One block: free() the list. Borrows the entries of `env`. */
char **slurmenv_add(char *const *env, const struct submit_options *o);

#endif
