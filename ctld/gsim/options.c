/* options.c - see options.h */
#include "ctld/gsim/options.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/command_line.h"
#include "common/base/units.h"

#include "config.h"

#define CHECK_EVERY  1000 /* events, where --checker gives no number */
#define MAX_PERCENT  100000
#define REPLICAS_MAX 10000

/* --- values ---------------------------------------------------------------------------------- */

static int take_factor(const char *text, double least, double *value, struct error *err)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !isfinite(v) || v < least || v > 1e6)
		return error_set(err, ERR_USAGE, "expected a number from %g to a million", least);
	*value = v;
	return 0;
}

static int take_time(const char *text, uint64_t least, usec_t *value, struct error *err)
{
	uint64_t s;

	if (duration_parse(text, DURATION_BARE_REFUSED, &s, err) < 0)
		return -1;
	if (s < least || s > 1000000000)
		return error_set(
		        err, ERR_USAGE, "expected %llus to 1000000000s", (unsigned long long)least);
	*value = (usec_t)s * 1000000;
	return 0;
}

static int take_word(const char *text, const char *const *words, int *value, struct error *err)
{
	char all[80] = "";
	size_t n = 0;
	int i;

	for (i = 0; words[i]; i++) {
		if (!strcmp(text, words[i])) {
			*value = i;
			return 0;
		}
	}
	for (i = 0; words[i] && n < sizeof(all); i++) {
		const char *between = !i ? "" : words[i + 1] ? ", " : " or ";

		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", between, words[i]);
	}
	return error_set(err, ERR_USAGE, "expected %s", all);
}

/* In millionths. */
static CMD_SETTER(set_factor)
{
	return take_factor(value, option->what / 1e6, field, err);
}

/* In seconds. */
static CMD_SETTER(set_time)
{
	return take_time(value, option->what, field, err);
}

static CMD_SETTER(set_ms)
{
	uint64_t ms;

	if (duration_parse_ms(value, DURATION_BARE_REFUSED, &ms, err) < 0)
		return -1;
	if (ms > 1000000000)
		return error_set(err, ERR_USAGE, "expected at most 1000000s");
	*(usec_t *)field = (usec_t)ms * 1000;
	return 0;
}

static CMD_SETTER(set_checker)
{
	uint64_t number = CHECK_EVERY;

	if (value && count_parse(value, 1, UINT32_MAX, &number, err) < 0)
		return -1;
	*(unsigned *)field = (unsigned)number;
	return 0;
}

static CMD_SETTER(set_percent)
{
	size_t n = strcspn(value, "%");
	char digits[16];
	uint64_t v;

	snprintf(digits, sizeof(digits), "%.*s", (int)n, value);
	if (n >= sizeof(digits) || (value[n] && value[n + 1]) ||
	        count_parse(digits, 1, MAX_PERCENT, &v, NULL) < 0)
		return error_set(err, ERR_USAGE, "expected per cent, as in 130%%");
	*(unsigned *)field = (unsigned)v;
	return 0;
}

static CMD_SETTER(set_shared)
{
	static const char *const words[] = { "round", "skip", "share", NULL };
	int word = 0, rc = take_word(value, words, &word, err);

	*(enum shared_gpus *)field = (enum shared_gpus)word;
	return rc;
}

static CMD_SETTER(set_policy)
{
	static const char *const words[] = { "configured", "fifo", "fgd", "bestfit", NULL };
	struct replay_options *replay = field;
	int word = 0, rc = take_word(value, words, &word, err);

	replay->fifo = word == 1;
	replay->rival = word == 2 ? RIVAL_FGD : word == 3 ? RIVAL_BESTFIT : RIVAL_NONE;
	return rc;
}

static CMD_SETTER(set_replicas)
{
	struct scale_policy *p = field;
	char least[16] = "";
	size_t n = strcspn(value, "-");
	uint64_t min, max;

	snprintf(least, sizeof(least), "%.*s", (int)n, value);
	if (n >= sizeof(least) || count_parse(least, 0, REPLICAS_MAX, &min, NULL) < 0 ||
	        count_parse(value + n + (value[n] == '-'), min ? min : 1, REPLICAS_MAX, &max,
	                NULL) < 0) {
		if (value[n] || n >= sizeof(least) ||
		        count_parse(least, 1, REPLICAS_MAX, &min, NULL) < 0)
			return error_set(
			        err, ERR_USAGE, "expected MIN-MAX, up to %d", REPLICAS_MAX);
		max = min;
	}
	p->min = (uint32_t)min;
	p->max = (uint32_t)max;
	return 0;
}

/* "60s,6s" */
static CMD_SETTER(set_windows)
{
	struct scale_policy *p = field;
	char first[32];
	size_t n = strcspn(value, ",");

	snprintf(first, sizeof(first), "%.*s", (int)n, value);
	if (take_time(first, 1, &p->window, err) < 0)
		return -1;
	return value[n] ? take_time(value + n + 1, 1, &p->burst_window, err) : 0;
}

/* --- values that set several fields ---------------------------------------------------------- */

static CMD_SETTER(add_node)
{
	struct options *o = field;

	tool_add(&o->add_nodes, &o->n_add_nodes, value);
	return 0;
}

static CMD_SETTER(set_format)
{
	struct options *o = field;

	o->requests = !strcmp(value, "requests");
	o->history.reader = history_format(value);
	if (o->history.reader || o->requests)
		return 0;
	return error_set(err, ERR_USAGE, "csv, accounting, record, json or requests");
}

static CMD_SETTER(set_requests)
{
	struct options *o = field;

	o->requests = true;
	o->scaling.make = value;
	return 0;
}

static CMD_SETTER(set_limit)
{
	struct options *o = field;

	o->time_limit = value;
	if (!strcmp(value, "none"))
		o->world.limits = LIMITS_NONE;
	else if (!strcmp(value, "exact"))
		o->world.limits = LIMITS_EXACT;
	else if (take_factor(value, 1, &o->world.factor, NULL) == 0)
		o->world.limits = LIMITS_FACTOR;
	else
		return error_set(err, ERR_USAGE, "expected none, exact or a number from 1");
	return 0;
}

static void add_file(void *input, const char *value)
{
	struct options *o = input;

	tool_add(&o->files, &o->n_files, value);
}

/* --- the table ------------------------------------------------------------------------------- */

/* `set` gets the field, with BOUND also a bound in its own unit; with ALL it gets all options. */
#define ROW(member, name, letter, arg, set, help) \
	CMD_ROW(struct options, member, name, letter, arg, set, help)
#define BOUND(member, name, arg, set, bound, help)                                  \
	{                                                                           \
		name, 0, arg, help, set, offsetof(struct options, member), bound, 0 \
	}
#define ALL(name, letter, arg, set, help) { name, letter, arg, help, set, 0, 0, 0 }

static const struct cmd_option rows[] = {
	CMD_HEADING("The cluster:"),
	ROW(conf, "config", 'f', "FILE", cmd_set_text,
	        "This gpusched.conf, instead of " SYSCONFDIR "/gpusched/gpusched.conf"),
	ROW(nodes, "nodes", 0, "FILE", cmd_set_text,
	        "Make the cluster of this list of nodes (CSV: "
	        "node,count,cpus,mem_mb,gpus,gpu_type,gpu_mem_mb), all in partition `all`"),
	ALL("add-nodes", 0, "N:NODE", add_node,
	        "N more nodes like NODE; or N:TYPE:COUNT, N nodes with COUNT GPUs of TYPE. May "
	        "be given again"),
	ROW(show_config, "show-config", 0, NULL, cmd_set_flag,
	        "Print the configuration that all this makes, to keep and edit, and exit"),
	CMD_HEADING("The history:"),
	ALL("format", 0, "FORMAT", set_format,
	        "csv (the default); accounting: FILE is the history.db of a controller; record: "
	        "what gctld recorded; json: what gacct --json printed; requests: requests to a "
	        "service"),
	ROW(history.account_column, "account-column", 0, "COLUMN", history_set_column,
	        "The column that names the jobs' accounts (default: group; none: no account)"),
	ROW(history.partition_column, "partition-column", 0, "COLUMN", history_set_column,
	        "The column that names the jobs' partitions (default none: the default "
	        "partition). With --nodes each row of nodes is a partition of its name"),
	ROW(history.skip_bad, "skip-bad", 0, NULL, cmd_set_flag,
	        "Leave broken rows out, and count them, instead of refusing the history"),
	BOUND(replay.scale_load, "scale-load", "F", set_factor, 1,
	        "Let jobs come F times as fast: times between submissions are divided by F"),
	BOUND(replay.until, "until", "TIME", set_time, 1,
	        "Stop so long after the first submission: 30d, 12:00:00"),
	CMD_HEADING("What the history does not say:"),
	ALL("time-limit", 0, "HOW", set_limit,
	        "The time limit of jobs that have none: `none` asks for none (the default), "
	        "`exact` for the duration, a number F for the duration times something between 1 "
	        "and F"),
	ROW(replay.shared, "shared", 0, "HOW", set_shared,
	        "Jobs with a part of a GPU: `round` gives them all of it (the default), `skip` "
	        "leaves them out, `share` lets them share GPUs"),
	ROW(world.checkpoint, "checkpoint", 0, NULL, cmd_set_flag,
	        "A stopped job goes on where it was, instead of beginning again"),
	BOUND(world.end_delay, "end-delay", "TIME", set_time, 0,
	        "A run that is told to end takes so long, at most its grace (default 0s)"),
	CMD_HEADING("What is done with it:"),
	ROW(replay, "policy", 0, "POLICY", set_policy,
	        "`configured` (the default); to compare: `fifo`, in each partition strictly "
	        "first in, first out; `fgd` or `bestfit`, other choices of places, with "
	        "--inflate only"),
	ROW(world.seed, "seed", 0, "N", cmd_set_number, "The seed of all chance (default 1)"),
	ROW(inflate, "inflate", 0, "PERCENT", set_percent,
	        "Instead of a replay: let random jobs of the history come until they ask for "
	        "PERCENT of all GPUs, none leaves, and see how much can be given out"),
	ROW(against, "against", 0, "FILE", cmd_set_text,
	        "Replay the history with this gpusched.conf too (or `fifo`: by that policy), and "
	        "say which jobs wait longer with it, and which less"),
	ROW(compare, "compare", 0, NULL, cmd_set_flag,
	        "The same of two simulations that were written by --jobs: gsim --compare A B"),
	ROW(replay_recorded, "replay", 0, NULL, cmd_set_flag,
	        "FILE is a record that gctld wrote: put it through the core again, exactly, and "
	        "compare what comes of it with what came of it"),
	ROW(world.check_every, "checker", 0, "[N]", set_checker,
	        "Check the core's invariants every N events (default 1000). Slow"),
	CMD_HEADING("What is printed:"),
	ROW(json, "json", 0, NULL, cmd_set_flag, "The report as JSON"),
	ROW(series, "series", 0, "FILE", cmd_set_text,
	        "Write waiting and running jobs and used GPUs over time to FILE (CSV)"),
	BOUND(series_step, "series-step", "TIME", set_time, 1, "So often (default 10m)"),
	ROW(jobs, "jobs", 0, "FILE", cmd_set_text,
	        "Write a row for each job that has ended to FILE (CSV): when it came, started "
	        "and ended, and when its start was first planned"),
	ROW(plot, "plot", 0, "DIR", cmd_set_text,
	        "Write charts (SVG) into DIR: GPUs in use, demand, waits, planned starts; of a "
	        "comparison, the waits of both and the differences"),
	ROW(quiet, "quiet", 'q', NULL, cmd_set_flag, "No progress, and not how long it took"),
	CMD_HEADING("A service, with --format=requests:"),
	ALL("requests", 0, "KIND:SEED", set_requests,
	        "No FILE: make requests, `bursts` for four hours or `day` for a day"),
	ROW(scaling.scalers, "scaler", 0, "LIST", cmd_set_text,
	        "What says how many replicas there are, with commas between: ours, ray, knative, "
	        "keda, fixed:N or all (the default)"),
	ROW(scaling.service.policy, "replicas", 0, "MIN-MAX", set_replicas,
	        "Replicas (default 1-20)"),
	BOUND(scaling.service.replica_requests, "replica-requests", "N", cmd_set_count, 100000,
	        "Requests that a replica answers at once (default 16)"),
	BOUND(scaling.service.replica_gpus, "replica-gpus", "N", cmd_set_count, 100000,
	        "GPUs of a replica (default 1)"),
	ROW(scaling.service.load_time, "load-time", 0, "TIME", set_ms,
	        "From the start of a replica until it is ready (default 60s)"),
	ROW(scaling.service.prefill, "prefill", 0, "TIME", set_ms,
	        "A request takes so long (default 200ms), and its output tokens divided by"),
	BOUND(scaling.service.token_rate, "token-rate", "F", set_factor, 1000,
	        "so many tokens a second (default 40)"),
	BOUND(scaling.service.policy.target, "target", "F", set_factor, 1000,
	        "Requests in flight a replica (default 0.7 of --replica-requests)"),
	ROW(scaling.service.policy, "scale-window", 0, "TIME[,TIME]", set_windows,
	        "The windows of ours: of the load, of a burst (default 60s,6s)"),
	ROW(scaling.service.policy.scale_down, "scale-down", 0, "TIME", set_ms,
	        "Ours: 1/7 of what was needed is still kept after so long (default 5m)"),
	ROW(scaling.service.policy.to_zero, "to-zero", 0, "TIME", set_ms,
	        "Ours: to zero so long after the last request (default 15m)"),
	ROW(scaling.service.request_wait, "request-wait", 0, "TIME", set_ms,
	        "Count the requests that wait longer (default 2s)"),
	ROW(scaling.hold_noise, "hold-noise", 0, NULL, cmd_set_flag,
	        "Ours: start none for what will be answered before it is ready, unless that "
	        "waits longer than --request-wait"),
	BOUND(scaling.requests.from, "from", "TIME", set_time, 0,
	        "Leave out what came before that"),
	CMD_HEADING(""),
	CMD_TABLE_END,
};

static const char doc[] =
        "Replay the jobs of the past on a cluster as configured, and report how they would have "
        "fared. The decisions are those of gctld: the same code makes them."
        "\vFILE is a history: CSV with the columns job_id, submit_s, duration_s, gpus, gpu_type, "
        "nodes, cpus, mem_mb, gpu_milli, user, group, requested_time_s (the second to the fourth "
        "are needed), in the order of submit_s, perhaps gzip'ed; `-` is standard input. Several "
        "are merged by time.\n"
        "\n"
        "Examples:\n"
        "  gsim -f gpusched.conf jobs.csv\n"
        "  gsim --nodes nodes.csv --show-config > new.conf\n"
        "  gsim -f new.conf --scale-load=1.5 --time-limit=3 jobs.csv.gz\n"
        "  gsim -f new.conf --add-nodes=4:h100:8 --json jobs.csv.gz\n"
        "  gsim --nodes nodes.csv --inflate=130% pods.csv.gz\n"
        "  gsim -f now.conf --against=new.conf --plot=charts jobs.csv\n"
        "  gsim --compare a.csv b.csv\n"
        "  gsim --replay gctld.record\n"
        "\n"
        "Exit status: 0 done; 1 a file or row is not as it should be, or --replay found a "
        "difference; "
        "2 usage.";

const char *argp_program_version = "gsim " PACKAGE_VERSION;

static const struct tool tool = {
	.name = "gsim",
	.table = rows,
	.args = "FILE...\n--show-config\n--compare A B\n--replay FILE...\n--format=requests "
	        "FILE...\n"
	        "--requests=KIND:SEED",
	.doc = doc,
	.argument = add_file,
};

/* --- what makes no sense together ------------------------------------------------------------ */

/* Is it said of which cluster or history, or how jobs are replayed? */
static bool says_how(const struct options *o)
{
	return o->conf || o->nodes || o->n_add_nodes || o->show_config || o->history.reader ||
	       o->inflate || o->replay.fifo || o->replay.rival != RIVAL_NONE || o->jobs ||
	       o->against;
}

/* Both files say what came of it. */
static int agree_compare(const struct options *o, struct error *err)
{
	if (says_how(o) || o->series || o->replay_recorded || o->requests)
		return error_set(err, ERR_USAGE,
		        "--compare reads what --jobs wrote: of the options only --json, --plot and "
		        "--seed go with it");
	if (o->n_files != 2) {
		error_set(err, ERR_USAGE, "--compare: two files, not %zu", o->n_files);
		return error_hint(err,
		        "gsim --jobs=a.csv ...; gsim --jobs=b.csv ...; gsim --compare "
		        "a.csv b.csv");
	}
	return 0;
}

static int agree_against(const struct options *o, struct error *err)
{
	size_t i;

	if (o->inflate || o->series || o->jobs || o->show_config)
		return error_set(err, ERR_USAGE,
		        "--against compares two replays: without --inflate, --series, --jobs and "
		        "--show-config");
	for (i = 0; i < o->n_files; i++) {
		if (!strcmp(o->files[i], "-"))
			return error_set(err, ERR_USAGE,
			        "--against reads the history twice: standard input cannot be");
	}
	return 0;
}

/* A record says by itself what there was. */
static int agree_rerun(const struct options *o, struct error *err)
{
	if (says_how(o) || o->series || o->plot)
		return error_set(err, ERR_USAGE,
		        "--replay repeats what was: of the options only --checker, --json and "
		        "--quiet go with it");
	return 0;
}

/* A service has replicas of its own, and no jobs. */
static int agree_requests(const struct options *o, struct error *err)
{
	if (says_how(o) || o->replay_recorded || o->plot)
		return error_set(err, ERR_USAGE,
		        "--format=requests is about a service, not about jobs on nodes: of the "
		        "other options only --from, --until, --scale-load, --skip-bad, --series, "
		        "--series-step, --json and --quiet go with it");
	if (!o->scaling.make && !o->n_files)
		return error_set(err, ERR_USAGE, "which history? Or --requests=bursts:1");
	if (o->scaling.make && o->n_files)
		return error_set(err, ERR_USAGE, "--requests=%s makes requests: without %s",
		        o->scaling.make, o->files[0]);
	return 0;
}

/* What makes no sense together. */
static int agree(const struct options *o, struct error *err)
{
	if (o->conf && o->nodes) {
		error_set(err, ERR_USAGE, "--config and --nodes both say what the cluster is");
		return error_hint(err,
		        "gsim --nodes %.100s --show-config > new.conf, and edit that", o->nodes);
	}
	if (o->history.reader && o->history.reader != &history_csv &&
	        (o->nodes || o->history.partition_column))
		return error_set(err, ERR_USAGE,
		        "--format=%s: jobs go to their own partitions: without --nodes and "
		        "--partition-column",
		        o->history.reader == &history_record ? "record"
		        : o->history.reader == &history_json ? "json"
		                                             : "accounting");
	if (o->compare && agree_compare(o, err) < 0)
		return -1;
	if (o->requests)
		return agree_requests(o, err);
	if (o->against && agree_against(o, err) < 0)
		return -1;
	if (!o->n_files && !o->show_config)
		return error_set(err, ERR_USAGE, "which history? See gsim --help");
	if (o->replay_recorded && agree_rerun(o, err) < 0)
		return -1;
	if (history_check_files(o->files, o->n_files, err) < 0)
		return -1;
	if (!o->inflate && o->replay.rival != RIVAL_NONE)
		return error_set(err, ERR_USAGE,
		        "--policy=%s only chooses places: it goes with --inflate=PERCENT",
		        o->replay.rival == RIVAL_FGD ? "fgd" : "bestfit");
	if (o->inflate && (o->replay.fifo || o->series || o->jobs || o->plot ||
	                          o->replay.until != WORLD_NEVER))
		return error_set(err, ERR_USAGE,
		        "--inflate is no replay: without --policy=fifo, --series, --jobs, --plot, "
		        "--until");
	return 0;
}

int options_read(struct options *o, int argc, char **argv)
{
	struct error err;

	*o = (struct options){ .history = { .account_column = "group" },
		.world = { .seed = 1, .limits = LIMITS_NONE, .factor = 1 },
		.replay = { .scale_load = 1, .until = WORLD_NEVER },
		.time_limit = "none",
		.series_step = (usec_t)600 * 1000000,
		.scaling = scaling_defaults() };
	tool_parse(&tool, argc, argv, o);
	return agree(o, &err) < 0 ? tool_fail("gsim", &err) : -1;
}

void gsim_options_clear(struct options *o)
{
	free(o->files);
	free(o->add_nodes);
}
