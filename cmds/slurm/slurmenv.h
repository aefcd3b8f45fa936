/* slurmenv.h - the part of Slurm's environment that the submitter knows
 *
 * sbatch tells a job some of the options that it was given: SLURM_NTASKS is there with --ntasks and
 * not without. These variables go into the environment that is signed. SLURM_JOB_ID is among them,
 * and makes the node add the variables that only it knows (noded/job/jobenv.h).
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
