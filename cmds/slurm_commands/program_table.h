/* program_table.h - the programs, each by its main function and its tables */
#ifndef CMDS_PROGRAM_TABLE_H
#define CMDS_PROGRAM_TABLE_H

#include "cmds/slurm_commands/slurm_command_line.h"

#define PROGRAM(name)                           \
	int name##_main(int argc, char **argv); \
	const struct slurm_cmd_option *name##_options(size_t *n);

PROGRAM(sacct)
PROGRAM(sacctmgr)
PROGRAM(sbatch)
PROGRAM(scancel)
PROGRAM(scontrol)
PROGRAM(sdiag)
PROGRAM(sinfo)
PROGRAM(sprio)
PROGRAM(squeue)
PROGRAM(sreport)
PROGRAM(sshare)
PROGRAM(strigger)
#undef PROGRAM

const struct slurm_cmd_field *sacct_fields(size_t *n);
const struct slurm_cmd_field *sinfo_fields(size_t *n);
const struct slurm_cmd_field *sprio_fields(size_t *n);
const struct slurm_cmd_field *sshare_fields(size_t *n);

const struct slurm_cmd_word *scontrol_words(size_t *n);
const struct slurm_cmd_word *sacctmgr_words(size_t *n);
const struct slurm_cmd_word *sreport_words(size_t *n);

#endif
