/* slurm_hints.h - options and subcommands of Slurm that do not exist here, and what to type instead
 *
 * For hints: if a user types an option or a subcommand that squeue, sinfo, sacct, scontrol,
 * scancel, srun and others have and ours have not, the error has a hint. To add one: a row.
 */
#ifndef CMDS_SLURM_HINTS_H
#define CMDS_SLURM_HINTS_H

/* What to type in place of `word` ("-i", "--iterate", "requeuehold"; what stands behind a '=' does
 * not matter) to `command`, or NULL: nothing is known of it. */
const char *slurm_hint(const char *command, const char *word);

#endif
