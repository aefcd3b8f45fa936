/* program_table.c - the table of the programs
 *
 * To add one: its file, a row here, its name in slurm_names of cmds/local.am, gpusched-slurm(7).
 */
#include "cmds/slurm_commands/program_table.h"

#include <string.h>

#include "cmds/slurm_commands/jobfields.h"

const struct slurm_cmd slurm_cmds[] = {
	{ "sbatch", "submits a batch script", NULL, sbatch_main, sbatch_options, NULL, NULL },
	{ "squeue", "lists jobs that wait and run", NULL, squeue_main, squeue_options, job_fields,
	        NULL },
	{ "scancel", "cancels jobs, or sends them a signal", "[JOB_ID[_ARRAY_ID][.STEP_ID]...]",
	        scancel_main, scancel_options, NULL, NULL },
	{ "sacct", "lists jobs of the past and of now", NULL, sacct_main, sacct_options,
	        sacct_fields, NULL },
	{ "scontrol", "shows and changes jobs, nodes and partitions", "COMMAND [ARGUMENT...]",
	        scontrol_main, scontrol_options, NULL, scontrol_words },
	{ "sinfo", "lists partitions and nodes", NULL, sinfo_main, sinfo_options, sinfo_fields,
	        NULL },
	{ "sprio", "lists what the priorities of waiting jobs are made of", NULL, sprio_main,
	        sprio_options, sprio_fields, NULL },
	{ "sshare", "lists accounts, their users and their shares", NULL, sshare_main,
	        sshare_options, sshare_fields, NULL },
	{ "sdiag", "prints figures about the controller", NULL, sdiag_main, sdiag_options, NULL,
	        NULL },
	{ "sreport", "sums up what was used", "cluster|user REPORT [KEY=VALUE...]", sreport_main,
	        sreport_options, NULL, sreport_words },
	{ "sacctmgr", "lists accounts, users and qualities of service",
	        "list|show ENTITY [NAME...] [KEY=VALUE...]", sacctmgr_main, sacctmgr_options, NULL,
	        sacctmgr_words },
	{ "strigger", "is refused: there are no triggers", NULL, strigger_main, strigger_options,
	        NULL, NULL },
};

const size_t n_slurm_cmds = sizeof(slurm_cmds) / sizeof(slurm_cmds[0]);

const struct slurm_cmd *slurm_cmd_find(const char *name)
{
	const char *slash = strrchr(name, '/');

	name = slash ? slash + 1 : name;
	for (size_t i = 0; i < n_slurm_cmds; i++)
		if (!strcmp(slurm_cmds[i].name, name))
			return &slurm_cmds[i];
	return NULL;
}
