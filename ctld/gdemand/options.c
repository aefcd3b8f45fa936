/* options.c - see options.h */
#include "ctld/gdemand/options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/command_line.h"
#include "common/base/units.h"

#include "config.h"

#define MAX_WAIT_S  600
#define KEEP        0.95
#define TOP         20
#define ROUNDS      200
#define ROUNDS_MOST 10000

/* --- values ---------------------------------------------------------------------------------- */

static CMD_SETTER(set_time)
{
	uint64_t s;

	if (duration_parse(value, DURATION_BARE_REFUSED, &s, err) < 0)
		return -1;
	if (s > INT32_MAX)
		return error_set(err, ERR_USAGE, "expected at most 68 years");
	*(usec_t *)field = (usec_t)s * 1000000;
	return 0;
}

static CMD_SETTER(set_count)
{
	uint64_t n;

	if (count_parse(value, 0, option->what, &n, err) < 0)
		return -1;
	*(unsigned *)field = (unsigned)n;
	return 0;
}

static CMD_SETTER(set_keep)
{
	char *end;
	double v = strtod(value, &end);

	if (end == value || strcmp(end, "%") || !(v > 0 && v <= 100))
		return error_set(err, ERR_USAGE, "expected a percentage above 0, up to 100%%");
	*(double *)field = v / 100;
	return 0;
}

static CMD_SETTER(set_format)
{
	const struct history_reader **reader = field;

	*reader = history_format(value);
	return *reader ? 0 : error_set(err, ERR_USAGE, "expected csv, accounting, record or json");
}

static CMD_SETTER(set_size)
{
	struct gdemand_options *o = field;

	o->size = true;
	o->like = value;
	return 0;
}

static void add_file(void *input, const char *value)
{
	struct gdemand_options *o = input;

	tool_add(&o->files, &o->n_files, value);
}

/* --- the table ------------------------------------------------------------------------------- */

#define ROW(member, name, letter, arg, set, help) \
	CMD_ROW(struct gdemand_options, member, name, letter, arg, set, help)
#define COUNT(member, name, most, help) \
	{ name, 0, "N", help, set_count, offsetof(struct gdemand_options, member), most, 0 }

static const struct cmd_option rows[] = {
	CMD_HEADING("The history:"),
	ROW(past.history.reader, "format", 0, "FORMAT", set_format,
	        "csv, accounting (history.db, or what gctl archive made of it), record (what gctld "
	        "recorded) or json (of gacct --json); by default the file's own beginning says it"),
	ROW(past.history.account_column, "account-column", 0, "COLUMN", history_set_column,
	        "The column of a CSV file that names the jobs' accounts (default: group; none)"),
	ROW(past.history.skip_bad, "skip-bad", 0, NULL, cmd_set_flag,
	        "Leave broken rows out, and count them"),
	ROW(past.interactive, "interactive", 0, "NAMES", cmd_set_text,
	        "Partitions and QOS whose jobs are interactive (default: interactive)"),
	ROW(past.max_wait, "max-wait", 0, "TIME", set_time,
	        "How long jobs may wait that do not say it, and whose QOS does not (default 10m)"),
	ROW(past.from, "from", 0, "TIME", set_time,
	        "Look at what came so long after the first job, or later"),
	ROW(past.until, "until", 0, "TIME", set_time,
	        "Look at what came until so long after the first job"),
	CMD_HEADING("The cluster:"),
	ROW(conf, "config", 'f', "FILE", cmd_set_text,
	        "Its gpusched.conf: targets of QOS, limits of accounts, and the nodes of --size"),
	ROW(nodes, "nodes", 0, "FILE", cmd_set_text,
	        "Instead: a list of nodes (CSV), as gsim has it. If the history does not say when "
	        "jobs started, gsim does, on this cluster"),
	{ "size", 0, "[NODE]",
	        "Find the smallest cluster that keeps jobs in their targets: how many nodes like "
	        "NODE it needs, beside the others",
	        set_size, 0, 0, 0 },
	ROW(keep, "keep", 0, "PERCENT", set_keep, "So many of the jobs, with --size (default 95%)"),
	CMD_HEADING("What is printed:"),
	ROW(propose, "conf", 0, NULL, cmd_set_flag,
	        "Instead of tables, sections of a gpusched.conf that this demand proposes"),
	ROW(json, "json", 0, NULL, cmd_set_flag, "The tables as JSON"),
	ROW(plot, "plot", 0, "DIR", cmd_set_text,
	        "Draw them too: SVG files in the folder DIR, which is made"),
	COUNT(top, "top", 1000000, "Rows of types, accounts and models (default 20)"),
	COUNT(rounds, "rounds", ROUNDS_MOST,
	        "Rounds of the bootstrap behind the intervals (default 200; 0: no intervals)"),
	ROW(seed, "seed", 0, "N", cmd_set_number, "The seed of all chance (default 1)"),
	ROW(quiet, "quiet", 'q', NULL, cmd_set_flag, "No progress"),
	CMD_TABLE_END,
};

static const char doc[] =
        "Say what a history shows of the demand for GPUs: how many are wanted at once, how long "
        "queues and bursts are, how long users wait, what the GPU-hours go to. Each number has "
        "its 95 % interval."
        "\vFILE is a history: a controller's history.db, an archive of it, a record, the output "
        "of gacct --json, or CSV as gsim(1) reads it; `-` is CSV on standard input. Several are "
        "merged.\n"
        "\n"
        "Examples:\n"
        "  gdemand /var/lib/gpusched/history.db\n"
        "  gdemand -f gpusched.conf --size=h01 2025.db history.db\n"
        "  gdemand --nodes nodes.csv --size --max-wait=1h jobs.csv.gz\n"
        "  gdemand -f gpusched.conf --conf history.db >proposal.conf\n"
        "  gdemand --json history.db | jq .concurrency.rows\n"
        "\n"
        "Exit status: 0 done; 1 a file or row is not as it should be; 2 usage.";

const char *argp_program_version = "gdemand " PACKAGE_VERSION;

static const struct tool tool = { "gdemand", rows, "FILE...", doc, add_file };

/* What makes no sense together. */
static int agree(const struct gdemand_options *o, struct error *err)
{
	if (!o->n_files)
		return error_set(err, ERR_USAGE, "which history? See gdemand --help");
	if (o->conf && o->nodes)
		return error_set(
		        err, ERR_USAGE, "--config and --nodes both say what the cluster is");
	if (o->size && !o->conf && !o->nodes) {
		error_set(err, ERR_USAGE, "--size: of which nodes?");
		return error_hint(
		        err, "-f FILE names a gpusched.conf, --nodes=FILE a list of nodes");
	}
	if (o->propose && (o->json || o->size || o->plot))
		return error_set(err, ERR_USAGE,
		        "--conf is printed instead of tables: without --json, "
		        "--size, --plot");
	if (o->past.until && o->past.until <= o->past.from)
		return error_set(err, ERR_USAGE, "--until is not after --from");
	return history_check_files(o->files, o->n_files, err);
}

int gdemand_options_read(struct gdemand_options *o, int argc, char **argv)
{
	struct error err;

	*o = (struct gdemand_options){ .past = { .history = { .account_column = "group" },
		                               .interactive = "interactive",
		                               .max_wait = (usec_t)MAX_WAIT_S * 1000000 },
		.keep = KEEP,
		.top = TOP,
		.rounds = ROUNDS,
		.seed = 1 };
	tool_parse(&tool, argc, argv, o);
	return agree(o, &err) < 0 ? tool_fail("gdemand", &err) : -1;
}

void gdemand_options_clear(struct gdemand_options *o)
{
	free(o->files);
}
