/* script_warnings.h - what a submit warns of in a script: lines for PBS and LSF, calls of srun
 *
 * Pure; foreign bytes.
 */
#ifndef CMDS_SCRIPT_WARNINGS_H
#define CMDS_SCRIPT_WARNINGS_H

#include <stddef.h>

/* The first line in the head of a script that sbatch would read too, though it was written for PBS
 * or LSF, and the mark that it begins with; 0: none. */
unsigned script_finds_others(const char *script, size_t len, const char **mark);

/* The first line of a script for a shell that calls srun, which is not there; 0: none does. */
unsigned script_finds_srun(const char *script, size_t len);

#endif
