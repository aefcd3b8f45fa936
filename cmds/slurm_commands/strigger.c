/* strigger.c - there are no triggers */
#include "cmds/slurm_commands/command_line.h"
#include "cmds/slurm_commands/program_table.h"

int strigger_main(int argc, char **argv)
{
	(void)argc, (void)argv;
	front_say("strigger",
	        "there are no triggers: --mail-type tells of jobs, gctl events --follow of "
	        "everything, as it happens");
	return FRONT_FAILED;
}

const struct front_option *strigger_options(size_t *n)
{
	static const struct front_option options[] = {
		FRONT_NONE("set", 0, FRONT_PLAIN, "there are no triggers"),
		FRONT_NONE("get", 0, FRONT_PLAIN, "there are no triggers"),
		FRONT_NONE("clear", 0, FRONT_PLAIN, "there are no triggers"),
	};
	*n = sizeof(options) / sizeof(options[0]);
	return options;
}
