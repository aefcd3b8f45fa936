/* sbatch.c - gsubmit in sbatch's manner
 *
 * Clients read the job's id from standard output, and some of them read what is on standard error
 * as part of it: of a job that was accepted nothing is said there, unless it is a terminal.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cmds/slurm/sbatch_options.h"
#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/slurm_commands/value_formats.h"
#include "cmds/submit/gsubmit.h"

#define BAD_OPTION 255

/* "sbatch: Job N to start at TIME using N processors on nodes LIST in partition P" */
static void print_verdict(const Gpusched__SubmitResult *r, const struct submit_options *o)
{
	struct view_cell when;
	int64_t start = r->why ? r->why->planned_start_time : 0;
	uint32_t nodes = o->nodes_min ? o->nodes_min : 1, cpus = o->cpus ? o->cpus : 1;

	if (r->would_start_now)
		start = (int64_t)time(NULL) * 1000000;
	slurm_time(&when, start, "Unknown");
	fprintf(stderr,
	        "sbatch: Job %" PRIu64 " to start at %s using %" PRIu32 " processors on nodes ",
	        r->next_job, when.text, cpus * nodes);
	for (size_t i = 0; i < r->n_places; i++)
		fprintf(stderr, "%s%s", i ? "," : "", r->places[i]->node);
	if (!r->n_places)
		fputs(r->why && *r->why->planned_nodes ? r->why->planned_nodes : "(null)", stderr);
	fprintf(stderr, " in partition %s\n",
	        *r->partition  ? r->partition
	        : o->partition ? o->partition
	                       : "(default)");
}

/* What clients look for in a refusal, and then why it was refused. */
static void say_refused(struct error *err)
{
	static const struct {
		int code;
		const char *text;
	} known[] = {
		{ ERR_UNREACHABLE, "Unable to contact slurm controller (connect failure)" },
		{ ERR_TIMEOUT, "Socket timed out on send/recv operation" },
		{ ERR_BUSY, "Slurm temporarily unable to accept job, sleeping and retrying" },
		{ ERR_NO_PARTITION, "Invalid partition name specified" },
		{ ERR_NO_ACCOUNT, "Invalid account or account/partition combination specified" },
		{ ERR_ACCOUNT_MEMBER,
		        "Invalid account or account/partition combination specified" },
		{ ERR_NO_QOS, "Invalid qos specification" },
		{ ERR_QOS_ACCOUNT, "Invalid qos specification" },
		{ ERR_TIME_LIMIT,
		        "Requested time limit is invalid (missing or exceeds some limit)" },
		{ ERR_JOB_NEVER, "Requested node configuration is not available" },
		{ ERR_NO_GPU_TYPE, "Invalid generic resource (gres) specification" },
		{ ERR_LIMIT_ACCOUNT_QUEUED, "Job violates accounting/QOS policy (job submit limit, "
		                            "user's size and/or time limits)" },
		{ ERR_LIMIT_QOS_QUEUED, "Job violates accounting/QOS policy (job submit limit, "
		                        "user's size and/or time limits)" },
		{ ERR_LIMIT_PARTITION_QUEUED,
		        "Job violates accounting/QOS policy (job submit limit, "
		        "user's size and/or time limits)" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].code == err->code)
			error_wrap(err, "%s", known[i].text);
	error_wrap(err, "Batch job submission failed");
}

int sbatch_main(int argc, char **argv)
{
	struct gsubmit_manner manner = { .name = "sbatch",
		.version = SLURM_CMD_VERSION,
		.slurm = true,
		.verdict = print_verdict,
		.refused = say_refused };
	int status;

	argv[0] = (char *)"sbatch";
	status = gsubmit_main(&manner, argc, argv);
	if (!manner.failed)
		return status;
	return status == EXIT_USAGE ? BAD_OPTION : SLURM_CMD_FAILED;
}

/* The table of sbatch_options.h, in the words of ours. */
const struct slurm_cmd_option *sbatch_options(size_t *n)
{
	static struct slurm_cmd_option options[192];
	static const enum slurm_cmd_says says[] = {
		[SBATCH_SAME] = SLURM_CMD_YES,
		[SBATCH_BECOMES] = SLURM_CMD_DIFFERS,
		[SBATCH_IGNORED] = SLURM_CMD_DIFFERS,
		[SBATCH_TAKEN] = SLURM_CMD_DIFFERS,
		[SBATCH_REFUSED] = SLURM_CMD_NO,
	};
	size_t n_rows, used = 0;
	const struct sbatch_row *rows = sbatch_rows(&n_rows);

	for (size_t i = 0; i < n_rows && used < sizeof(options) / sizeof(options[0]); i++) {
		const struct sbatch_row *r = &rows[i];
		enum sbatch_kind kind = sbatch_kind(r);
		bool line_only = !strcmp(r->text, "only on the command line");

		options[used++] = (struct slurm_cmd_option){ r->name, r->letter,
			r->arg == SBATCH_ARG      ? SLURM_CMD_VALUE
			: r->arg == SBATCH_NO_ARG ? SLURM_CMD_PLAIN
			                          : SLURM_CMD_MAY,
			line_only ? SLURM_CMD_YES : says[kind],
			kind == SBATCH_SAME || line_only ? NULL : r->text, NULL, 0, 0 };
	}
	*n = used;
	return options;
}
