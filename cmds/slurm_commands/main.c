/* main.c - one program under all of Slurm's names: by the name that it is started by, or by its
 * first argument */
#include <stdio.h>
#include <string.h>

#include "cmds/slurm_commands/manual.h"
#include "cmds/slurm_commands/slurm_command_line.h"

int main(int argc, char **argv)
{
	const struct slurm_cmd *f = argc > 0 ? slurm_cmd_find(argv[0]) : NULL;

	if (f)
		return f->run(argc, argv);
	if (argc == 2 && !strcmp(argv[1], "--names")) {
		for (size_t i = 0; i < n_slurm_cmds; i++)
			puts(slurm_cmds[i].name);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--manual")) {
		slurm_cmd_manual(stdout);
		return 0;
	}
	f = argc > 1 ? slurm_cmd_find(argv[1]) : NULL;
	if (f)
		return f->run(argc - 1, argv + 1);
	fprintf(stderr, "usage: gslurm PROGRAM [ARGUMENT...], or one of Slurm's names that is a "
	                "link to it; "
	                "gslurm --names lists them\n");
	return 2;
}
