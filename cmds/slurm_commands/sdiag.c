/* sdiag.c - figures about the controller, in the lines of Slurm's sdiag */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "common/gpusched.pb-c.h"

static const struct slurm_cmd_option options[] = {
	SLURM_CMD_SAME("all", 'a', SLURM_CMD_PLAIN),
	{ "cluster", 'M', SLURM_CMD_VALUE, SLURM_CMD_DIFFERS, "this cluster, or all", cmd_set_text,
	        0, 0 },
	SLURM_CMD_NONE("json", 0, SLURM_CMD_PLAIN, "gctl stats --json has all figures"),
	SLURM_CMD_NONE("reset", 'r', SLURM_CMD_PLAIN, "figures count from the controller's start"),
	SLURM_CMD_SAME("sort-by-id", 'i', SLURM_CMD_PLAIN),
	SLURM_CMD_SAME("sort-by-time", 't', SLURM_CMD_PLAIN),
	SLURM_CMD_SAME("sort-by-time2", 'T', SLURM_CMD_PLAIN),
	SLURM_CMD_NONE("yaml", 0, SLURM_CMD_PLAIN, "gctl stats --json has all figures"),
};

/* A line, and the figure of `gctl stats` behind it; "-NAME" is one less; NULL: 0; "": a text alone.
 */
static const struct {
	const char *line, *stat;
} lines[] = {
	{ "Server thread count:  ", "calls.open" },
	{ "Agent queue size:     ", NULL },
	{ "Agent count:          ", "core.nodes_up" },
	{ "Agent thread count:   ", NULL },
	{ "DBD Agent queue size: ", "store.history_behind" },
	{ "\n", "" },
	{ "Jobs submitted: ", "-core.next_job" },
	{ "Jobs started:   ", "core.started" },
	{ "Jobs completed: ", "core.ended" },
	{ "Jobs canceled:  ", NULL },
	{ "Jobs failed:    ", NULL },
	{ "\n", "" },
	{ "Jobs pending:   ", "core.jobs_pending" },
	{ "Jobs running:   ", "core.jobs_running" },
	{ "\nMain schedule statistics (microseconds):\n", "" },
	{ "\tLast cycle:   ", NULL },
	{ "\tMax cycle:    ", NULL },
	{ "\tTotal cycles: ", "core.passes" },
	{ "\tMean cycle:   ", NULL },
	{ "\tMean depth cycle:  ", NULL },
	{ "\tCycles per minute: ", NULL },
	{ "\tLast queue length: ", "core.classes" },
	{ "\nBackfilling stats\n", "" },
	{ "\tTotal backfilled jobs (since last slurm start): ", NULL },
	{ "\tTotal backfilled jobs (since last stats cycle start): ", NULL },
	{ "\tTotal cycles: ", NULL },
};

static int print_stats(const Gpusched__StatsResult *r)
{
	double uptime = 0;
	time_t now = time(NULL), since;
	char text[64];

	for (size_t i = 0; i < r->n_stats; i++)
		if (!strcmp(r->stats[i]->name, "uptime"))
			uptime = r->stats[i]->value;
	since = now - (time_t)uptime;
	puts("*******************************************************");
	strftime(text, sizeof(text), "%a %b %d %H:%M:%S %Y", localtime(&now));
	printf("sdiag output at %s (%lld)\n", text, (long long)now);
	strftime(text, sizeof(text), "%a %b %d %H:%M:%S %Y", localtime(&since));
	printf("Data since      %s (%lld)\n", text, (long long)since);
	puts("*******************************************************");
	for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
		const char *stat = lines[k].stat;
		double value = 0;

		fputs(lines[k].line, stdout);
		if (stat && !*stat)
			continue;
		for (size_t i = 0; stat && i < r->n_stats; i++)
			if (!strcmp(r->stats[i]->name, stat + (*stat == '-')))
				value = r->stats[i]->value - (*stat == '-');
		printf("%.0f\n", value);
	}
	return 0;
}

static int on_stats(const ProtobufCMessage *m, void *arg, struct error *err)
{
	(void)arg, (void)err;
	return print_stats((const Gpusched__StatsResult *)m);
}

static int run(const char *clusters)
{
	Gpusched__Stats request = GPUSCHED__STATS__INIT;
	struct client_call call = CLIENT_ASK(STATS, &request.base, STATS_RESULT, on_stats, NULL);
	struct error err;
	struct client *c = slurm_cmd_client("sdiag", "slurm_get_statistics", clusters);
	int status = 0;

	if (!c)
		return SLURM_CMD_FAILED;
	if (client_call(c, &call, &err) < 0)
		status = slurm_cmd_fail_load("sdiag", "slurm_get_statistics", &err);
	client_free(c);
	return status;
}

int sdiag_main(int argc, char **argv)
{
	const char *clusters = NULL;
	int status = slurm_cmd_parse("sdiag", NULL, argc, argv, &clusters);

	return status == CMD_GO_ON ? slurm_cmd_finish("sdiag", run(clusters)) : status;
}

SLURM_CMD_TABLE(option, sdiag_options, options)
