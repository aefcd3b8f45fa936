/* slurm_hints.c - see slurm_hints.h */
#include "cmds/cli/slurm_hints.h"

#include <stddef.h>
#include <string.h>

#define COLUMNS "columns have names: -o NAME,NAME%20; --help lists them"
#define CLUSTER "GPUSCHED_CONTROLLER names another cluster's controller"
#define STEPS   "gqueue --steps"
#define TASKS   "a command is started once: grun in a loop, or gsubmit --array"
#define CSV     "--csv"
#define LINES   "tasks that wait are one line, ID_[TASKS]; each that runs has its own"

static const struct {
	const char *command, *word, *advice;
} rows[] = {
	{ "gqueue", "-i", "gqueue --watch shows each change as it comes" },
	{ "gqueue", "--iterate", "gqueue --watch shows each change as it comes" },
	{ "gqueue", "-O", COLUMNS },
	{ "gqueue", "--Format", COLUMNS },
	{ "gqueue", "-S", "--sort" },
	{ "gqueue", "-a", "leave it away; --all is those that have ended, too" },
	{ "gqueue", "-r", LINES },
	{ "gqueue", "--array", LINES },
	{ "gqueue", "-s", STEPS },
	{ "gqueue", "-M", CLUSTER },
	{ "gqueue", "--clusters", CLUSTER },

	{ "ginfo", "-s", "ginfo alone is a summary" },
	{ "ginfo", "--summarize", "ginfo alone is a summary" },
	{ "ginfo", "-R", "ginfo -N -o NODE,STATE,REASON" },
	{ "ginfo", "--list-reasons", "ginfo -N -o NODE,STATE,REASON" },
	{ "ginfo", "-t", "ginfo -N --sort=STATE" },
	{ "ginfo", "--states", "ginfo -N --sort=STATE" },
	{ "ginfo", "-O", COLUMNS },
	{ "ginfo", "--Format", COLUMNS },
	{ "ginfo", "-e", "leave it away: each node is a line" },
	{ "ginfo", "-S", "--sort" },
	{ "ginfo", "-M", CLUSTER },

	{ "gacct", "-X", "leave it away: a job is one line" },
	{ "gacct", "--allocations", "leave it away: a job is one line" },
	{ "gacct", "-P", CSV },
	{ "gacct", "--parsable2", CSV },
	{ "gacct", "--parsable", CSV },
	{ "gacct", "--delimiter", CSV },
	{ "gacct", "-n", "-h" },
	{ "gacct", "-b", "-o JOBID,STATE,EXIT" },
	{ "gacct", "--brief", "-o JOBID,STATE,EXIT" },
	{ "gacct", "-a", "leave it away: all users are shown" },
	{ "gacct", "--allusers", "leave it away: all users are shown" },
	{ "gacct", "-r", "-p" },
	{ "gacct", "-e", "--help lists the columns" },
	{ "gacct", "--helpformat", "--help lists the columns" },
	{ "gacct", "--units", "--json has numbers: MiB and seconds" },
	{ "gacct", "-M", CLUSTER },

	{ "gcancel", "-i", "gqueue with the same options shows which they are" },
	{ "gcancel", "--interactive", "gqueue with the same options shows which they are" },

	{ "gprio", "-n", "--norm" },
	{ "gprio", "-S", "--sort" },

	{ "gshare", "-a", "leave it away: all users are shown" },
	{ "gshare", "-U", "gshare -u USER" },
	{ "gshare", "-P", CSV },
	{ "gshare", "--parsable2", CSV },

	{ "grun", "--mpi", "a command is started once: mpirun starts the others" },
	{ "grun", "-l", TASKS },
	{ "grun", "--jobid", "grun --attach=ID; gsubmit's script starts its own commands" },
	{ "grun", "--overlap", "grun has a job of its own; srun inside a job takes it" },
	{ "grun", "--cpu-bind", "leave it away: the kernel places processes" },
	{ "grun", "--x11", "ssh -X to a node of a job of yours, where the site allows it" },

	{ "gctl", "cancel", "gcancel ID..." },
	{ "gctl", "kill", "gcancel ID..." },
	{ "gctl", "requeuehold", "gctl requeue --hold ID..." },
	{ "gctl", "uhold", "gctl hold ID..." },
	{ "gctl", "top", "gctl update ID --nice=N" },
	{ "gctl", "write", "gctl show job --script ID" },
	{ "gctl", "wait_job", "gctl wait ID..." },
	{ "gctl", "reconfig", "gctl reconfigure" },
	{ "gctl", "version", "gctl --version" },
	{ "gctl", "listpids", "grun --nodelist=NODE ps, or ps there" },
	{ "gctl", "create", "gpusched.conf says what there is; gctl reconfigure reads it again" },
	{ "gctl", "delete", "gpusched.conf says what there is; gctl reconfigure reads it again" },
	{ "gctl", "-o", "--json" },
	{ "gctl", "-d", "leave it away: all is shown" },
	{ "gctl show", "reservation", "there are no reservations" },
	{ "gctl show", "steps", STEPS },
	{ "gctl show", "licenses", "gctl show config licences" },
	{ "gctl show", "assoc_mgr", "gctl show config accounts; gshare" },

	{ "greport", "cluster", "greport use" },
	{ "greport", "user", "greport use --by=user" },
	{ "greport", "job", "greport wait" },
};

const char *slurm_hint(const char *command, const char *word)
{
	size_t len = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].command, command) && !strncmp(rows[i].word, word, len) &&
		        !rows[i].word[len])
			return rows[i].advice;
	return NULL;
}
