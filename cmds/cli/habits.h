/* habits.h - what hands that are used to Slurm type, and how it is said here
 *
 * For hints: an option or a subcommand that there is not, and that squeue, sinfo, sacct, scontrol,
 * scancel, srun and their likes have, is answered with what to type instead. To add one: a row.
 */
#ifndef CMDS_HABITS_H
#define CMDS_HABITS_H

/* What to type in place of `word` ("-i", "--iterate", "requeuehold"; what stands behind a '=' does
 * not matter) to `command`, or NULL: nothing is known of it. */
const char *habits_find(const char *command, const char *word);

#endif
