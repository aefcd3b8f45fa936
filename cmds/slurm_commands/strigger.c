/* strigger.c - there are no triggers */
#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/slurm_command_line.h"

int strigger_main(int argc, char **argv)
{
	(void)argc, (void)argv;
	slurm_cmd_say("strigger",
	        "there are no triggers: --mail-type tells of jobs, gctl events --follow of "
	        "everything, as it happens");
	return SLURM_CMD_FAILED;
}

const struct slurm_cmd_option *strigger_options(size_t *n)
{
	static const struct slurm_cmd_option options[] = {
		SLURM_CMD_NONE("set", 0, SLURM_CMD_PLAIN, "there are no triggers"),
		SLURM_CMD_NONE("get", 0, SLURM_CMD_PLAIN, "there are no triggers"),
		SLURM_CMD_NONE("clear", 0, SLURM_CMD_PLAIN, "there are no triggers"),
	};
	*n = sizeof(options) / sizeof(options[0]);
	return options;
}
