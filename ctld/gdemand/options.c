/* options.c - see options.h */
#include "ctld/gdemand/options.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#include "config.h"

#define MAX_WAIT_S  600
#define KEEP        0.95
#define TOP         20
#define ROUNDS      200
#define ROUNDS_MOST 10000

enum {
	OPT_NODES = 256,
	OPT_FORMAT,
	OPT_ACCOUNT_COLUMN,
	OPT_SKIP_BAD,
	OPT_INTERACTIVE,
	OPT_MAX_WAIT,
	OPT_FROM,
	OPT_UNTIL,
	OPT_TOP,
	OPT_ROUNDS,
	OPT_SEED,
	OPT_JSON,
	OPT_CONF,
	OPT_SIZE,
	OPT_KEEP,
	OPT_PLOT,
};

static const struct argp_option rows[] = {
	{ NULL, 0, NULL, 0, "The history:", 1 },
	{ "format", OPT_FORMAT, "FORMAT", 0,
	        "csv, accounting (history.db, or what gctl archive made of it), record (what gctld "
	        "recorded) or json (of gacct --json); by default the file's own beginning says it",
	        1 },
	{ "account-column", OPT_ACCOUNT_COLUMN, "COLUMN", 0,
	        "The column of a CSV file that names the jobs' accounts (default: group; none)",
	        1 },
	{ "skip-bad", OPT_SKIP_BAD, NULL, 0, "Leave broken rows out, and count them", 1 },
	{ "interactive", OPT_INTERACTIVE, "NAMES", 0,
	        "Partitions and QOS whose jobs are interactive (default: interactive)", 1 },
	{ "max-wait", OPT_MAX_WAIT, "TIME", 0,
	        "How long jobs may wait that do not say it, and whose QOS does not (default 10m)",
	        1 },
	{ "from", OPT_FROM, "TIME", 0, "Look at what came so long after the first job, or later",
	        1 },
	{ "until", OPT_UNTIL, "TIME", 0, "Look at what came until so long after the first job", 1 },
	{ NULL, 0, NULL, 0, "The cluster:", 2 },
	{ "config", 'f', "FILE", 0,
	        "Its gpusched.conf: targets of QOS, limits of accounts, and the nodes of --size",
	        2 },
	{ "nodes", OPT_NODES, "FILE", 0,
	        "Instead: a list of nodes (CSV), as gsim has it. If the history does not say when "
	        "jobs started, gsim does, on this cluster",
	        2 },
	{ "size", OPT_SIZE, "NODE", OPTION_ARG_OPTIONAL,
	        "Find the smallest cluster that keeps jobs in their targets: how many nodes like "
	        "NODE it needs, beside the others",
	        2 },
	{ "keep", OPT_KEEP, "PERCENT", 0, "So many of the jobs, with --size (default 95%)", 2 },
	{ NULL, 0, NULL, 0, "What is printed:", 3 },
	{ "conf", OPT_CONF, NULL, 0,
	        "Instead of tables, sections of a gpusched.conf that this demand proposes", 3 },
	{ "json", OPT_JSON, NULL, 0, "The tables as JSON", 3 },
	{ "plot", OPT_PLOT, "DIR", 0, "Draw them too: SVG files in the folder DIR, which is made",
	        3 },
	{ "top", OPT_TOP, "N", 0, "Rows of types, accounts and models (default 20)", 3 },
	{ "rounds", OPT_ROUNDS, "N", 0,
	        "Rounds of the bootstrap behind the intervals (default 200; 0: no intervals)", 3 },
	{ "seed", OPT_SEED, "N", 0, "The seed of all chance (default 1)", 3 },
	{ "quiet", 'q', NULL, 0, "No progress", 3 },
	{ 0 },
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

int gdemand_fail(const struct error *err)
{
	char *text = text_escape_dup(err->text), *hint = text_escape_dup(err->hint);

	fflush(stdout);
	fprintf(stderr, "gdemand: error: %s\n", text);
	if (*hint)
		fprintf(stderr, "hint: %s\n", hint);
	free(text);
	free(hint);
	return error_exit_status(err->code);
}

static int take_time(const char *text, usec_t *value, struct error *err)
{
	uint64_t s;

	if (duration_parse(text, DURATION_BARE_REFUSED, &s, err) < 0)
		return -1;
	if (s > INT32_MAX)
		return error_set(err, ERR_USAGE, "expected at most 68 years");
	*value = (usec_t)s * 1000000;
	return 0;
}

static int take_count(const char *text, uint64_t most, unsigned *value, struct error *err)
{
	uint64_t n;

	if (count_parse(text, 0, most, &n, err) < 0)
		return -1;
	*value = (unsigned)n;
	return 0;
}

static int take_keep(const char *text, double *part, struct error *err)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || strcmp(end, "%") || !(v > 0 && v <= 100))
		return error_set(err, ERR_USAGE, "expected a percentage above 0, up to 100%%");
	*part = v / 100;
	return 0;
}

static int take_format(const char *text, const struct history_reader **reader, struct error *err)
{
	*reader = history_format(text);
	return *reader ? 0 : error_set(err, ERR_USAGE, "expected csv, accounting, record or json");
}

static int take_value(struct gdemand_options *o, int key, char *arg, struct error *err)
{
	switch (key) {
	case OPT_FORMAT:
		return take_format(arg, &o->past.history.reader, err);
	case OPT_MAX_WAIT:
		return take_time(arg, &o->past.max_wait, err);
	case OPT_FROM:
		return take_time(arg, &o->past.from, err);
	case OPT_UNTIL:
		return take_time(arg, &o->past.until, err);
	case OPT_KEEP:
		return take_keep(arg, &o->keep, err);
	case OPT_TOP:
		return take_count(arg, 1000000, &o->top, err);
	case OPT_ROUNDS:
		return take_count(arg, ROUNDS_MOST, &o->rounds, err);
	case OPT_SEED:
		return count_parse(arg, 0, INT64_MAX, &o->seed, err);
	default:
		return 1;
	}
}

static int take_plain(struct gdemand_options *o, int key, char *arg)
{
	switch (key) {
	case 'f':
		o->conf = arg;
		return 0;
	case OPT_NODES:
		o->nodes = arg;
		return 0;
	case OPT_ACCOUNT_COLUMN:
		o->past.history.account_column = strcmp(arg, "none") ? arg : NULL;
		return 0;
	case OPT_SKIP_BAD:
		o->past.history.skip_bad = true;
		return 0;
	case OPT_INTERACTIVE:
		o->past.interactive = arg;
		return 0;
	case OPT_SIZE:
		o->size = true;
		o->like = arg;
		return 0;
	case OPT_PLOT:
		o->plot = arg;
		return 0;
	case OPT_CONF:
		o->propose = true;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	default:
		return 1;
	}
}

static const char *name_of(int key)
{
	size_t i;

	for (i = 0; rows[i].name || rows[i].doc; i++) {
		if (rows[i].key == key && rows[i].name)
			return rows[i].name;
	}
	return "";
}

static error_t take(int key, char *arg, struct argp_state *state)
{
	struct gdemand_options *o = state->input;
	struct error err;
	char shown[80];
	int rc;

	if (key == ARGP_KEY_ARG) {
		o->files = xrealloc(o->files, o->n_files + 1, sizeof(*o->files));
		o->files[o->n_files++] = arg;
		return 0;
	}
	rc = take_plain(o, key, arg);
	if (rc > 0)
		rc = take_value(o, key, arg, &err);
	if (rc > 0)
		return ARGP_ERR_UNKNOWN;
	if (rc < 0) {
		text_escape(shown, sizeof(shown), arg, strlen(arg));
		error_wrap(&err, "--%s=%s", name_of(key), shown);
		exit(gdemand_fail(&err));
	}
	return 0;
}

static const struct argp argp = { rows, take, "FILE...", doc, NULL, NULL, NULL };

/* What makes no sense together. */
static int agree(const struct gdemand_options *o, struct error *err)
{
	size_t i, k;

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
	for (i = 0; i < o->n_files; i++) {
		for (k = 0; k < i; k++) {
			if (!strcmp(o->files[i], o->files[k]))
				return error_set(err, ERR_USAGE, "%s is there twice", o->files[i]);
		}
	}
	return 0;
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
	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, o);
	return agree(o, &err) < 0 ? gdemand_fail(&err) : -1;
}

void gdemand_options_clear(struct gdemand_options *o)
{
	free(o->files);
}
