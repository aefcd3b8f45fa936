/* options.c - see options.h */
#include "ctld/gsim/options.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#include "config.h"

#define CHECK_EVERY  1000 /* events, where --checker gives no number */
#define MAX_PERCENT  100000
#define REPLICAS_MAX 10000

enum {
	OPT_NODES = 256,
	OPT_ADD_NODES,
	OPT_SHOW_CONFIG,
	OPT_ACCOUNT_COLUMN,
	OPT_FORMAT,
	OPT_PARTITION_COLUMN,
	OPT_SKIP_BAD,
	OPT_SCALE_LOAD,
	OPT_UNTIL,
	OPT_TIME_LIMIT,
	OPT_SHARED,
	OPT_CHECKPOINT,
	OPT_END_DELAY,
	OPT_POLICY,
	OPT_SEED,
	OPT_INFLATE,
	OPT_REPLAY,
	OPT_CHECKER,
	OPT_JSON,
	OPT_SERIES,
	OPT_SERIES_STEP,
	OPT_JOBS,
	OPT_PLOT,
	OPT_AGAINST,
	OPT_COMPARE,
	OPT_REQUESTS,
	OPT_SCALER,
	OPT_REPLICAS,
	OPT_REPLICA_REQUESTS,
	OPT_REPLICA_GPUS,
	OPT_LOAD_TIME,
	OPT_PREFILL,
	OPT_TOKEN_RATE,
	OPT_TARGET,
	OPT_SCALE_WINDOW,
	OPT_SCALE_DOWN,
	OPT_TO_ZERO,
	OPT_REQUEST_WAIT,
	OPT_HOLD_NOISE,
	OPT_FROM,
};

static const struct argp_option rows[] = {
	{ NULL, 0, NULL, 0, "The cluster:", 1 },
	{ "config", 'f', "FILE", 0,
	        "This gpusched.conf, instead of " SYSCONFDIR "/gpusched/gpusched.conf", 1 },
	{ "nodes", OPT_NODES, "FILE", 0,
	        "Make the cluster of this list of nodes (CSV: node,count,cpus,mem_mb,gpus,gpu_type,"
	        "gpu_mem_mb), all in partition `all`",
	        1 },
	{ "add-nodes", OPT_ADD_NODES, "N:NODE", 0,
	        "N more nodes like NODE; or N:TYPE:COUNT, N nodes with COUNT GPUs of TYPE. May be "
	        "given again",
	        1 },
	{ "show-config", OPT_SHOW_CONFIG, NULL, 0,
	        "Print the configuration that all this makes, to keep and edit, and exit", 1 },
	{ NULL, 0, NULL, 0, "The history:", 2 },
	{ "format", OPT_FORMAT, "FORMAT", 0,
	        "csv (the default); accounting: FILE is the history.db of a controller; record: "
	        "what gctld recorded; json: what gacct --json printed; requests: requests to a "
	        "service",
	        2 },
	{ "account-column", OPT_ACCOUNT_COLUMN, "COLUMN", 0,
	        "The column that names the jobs' accounts (default: group; none: no account)", 2 },
	{ "partition-column", OPT_PARTITION_COLUMN, "COLUMN", 0,
	        "The column that names the jobs' partitions (default none: the default partition). "
	        "With --nodes each row of nodes is a partition of its name",
	        2 },
	{ "skip-bad", OPT_SKIP_BAD, NULL, 0,
	        "Leave broken rows out, and count them, instead of refusing the history", 2 },
	{ "scale-load", OPT_SCALE_LOAD, "F", 0,
	        "Let jobs come F times as fast: times between submissions are divided by F", 2 },
	{ "until", OPT_UNTIL, "TIME", 0, "Stop so long after the first submission: 30d, 12:00:00",
	        2 },
	{ NULL, 0, NULL, 0, "What the history does not say:", 3 },
	{ "time-limit", OPT_TIME_LIMIT, "HOW", 0,
	        "The time limit of jobs that have none: `none` asks for none (the default), "
	        "`exact` "
	        "for the duration, a number F for the duration times something between 1 and F",
	        3 },
	{ "shared", OPT_SHARED, "HOW", 0,
	        "Jobs with a part of a GPU: `round` gives them all of it (the default), `skip` "
	        "leaves them out, `share` lets them share GPUs",
	        3 },
	{ "checkpoint", OPT_CHECKPOINT, NULL, 0,
	        "A stopped job goes on where it was, instead of beginning again", 3 },
	{ "end-delay", OPT_END_DELAY, "TIME", 0,
	        "A run that is told to end takes so long, at most its grace (default 0s)", 3 },
	{ NULL, 0, NULL, 0, "What is done with it:", 4 },
	{ "policy", OPT_POLICY, "POLICY", 0,
	        "`configured` (the default); to compare: `fifo`, in each partition strictly first "
	        "in, first out; `fgd` or `bestfit`, other choices of places, with --inflate only",
	        4 },
	{ "seed", OPT_SEED, "N", 0, "The seed of all chance (default 1)", 4 },
	{ "inflate", OPT_INFLATE, "PERCENT", 0,
	        "Instead of a replay: let random jobs of the history come until they ask for "
	        "PERCENT "
	        "of all GPUs, none leaves, and see how much can be given out",
	        4 },
	{ "against", OPT_AGAINST, "FILE", 0,
	        "Replay the history with this gpusched.conf too (or `fifo`: by that policy), and "
	        "say "
	        "which jobs wait longer with it, and which less",
	        4 },
	{ "compare", OPT_COMPARE, NULL, 0,
	        "The same of two simulations that were written by --jobs: gsim --compare A B", 4 },
	{ "replay", OPT_REPLAY, NULL, 0,
	        "FILE is a record that gctld wrote: put it through the core again, exactly, and "
	        "compare what comes of it with what came of it",
	        4 },
	{ "checker", OPT_CHECKER, "N", OPTION_ARG_OPTIONAL,
	        "Check the core's invariants every N events (default 1000). Slow", 4 },
	{ NULL, 0, NULL, 0, "What is printed:", 5 },
	{ "json", OPT_JSON, NULL, 0, "The report as JSON", 5 },
	{ "series", OPT_SERIES, "FILE", 0,
	        "Write waiting and running jobs and used GPUs over time to FILE (CSV)", 5 },
	{ "series-step", OPT_SERIES_STEP, "TIME", 0, "So often (default 10m)", 5 },
	{ "jobs", OPT_JOBS, "FILE", 0,
	        "Write a row for each job that has ended to FILE (CSV): when it came, started and "
	        "ended, and when its start was first planned",
	        5 },
	{ "plot", OPT_PLOT, "DIR", 0,
	        "Write charts (SVG) into DIR: GPUs in use, demand, waits, planned starts; of a "
	        "comparison, the waits of both and the differences",
	        5 },
	{ NULL, 0, NULL, 0, "A service, with --format=requests:", 6 },
	{ "requests", OPT_REQUESTS, "KIND:SEED", 0,
	        "No FILE: make requests, `bursts` for four hours or `day` for a day", 6 },
	{ "scaler", OPT_SCALER, "LIST", 0,
	        "What says how many replicas there are, with commas between: ours, ray, knative, "
	        "keda, fixed:N or all (the default)",
	        6 },
	{ "replicas", OPT_REPLICAS, "MIN-MAX", 0, "Replicas (default 1-20)", 6 },
	{ "replica-requests", OPT_REPLICA_REQUESTS, "N", 0,
	        "Requests that a replica answers at once (default 16)", 6 },
	{ "replica-gpus", OPT_REPLICA_GPUS, "N", 0, "GPUs of a replica (default 1)", 6 },
	{ "load-time", OPT_LOAD_TIME, "TIME", 0,
	        "From the start of a replica until it is ready (default 60s)", 6 },
	{ "prefill", OPT_PREFILL, "TIME", 0,
	        "A request takes so long (default 200ms), and its output tokens divided by", 6 },
	{ "token-rate", OPT_TOKEN_RATE, "F", 0, "so many tokens a second (default 40)", 6 },
	{ "target", OPT_TARGET, "F", 0,
	        "Requests in flight a replica (default 0.7 of --replica-requests)", 6 },
	{ "scale-window", OPT_SCALE_WINDOW, "TIME[,TIME]", 0,
	        "The windows of ours: of the load, of a burst (default 60s,6s)", 6 },
	{ "scale-down", OPT_SCALE_DOWN, "TIME", 0,
	        "Ours: 3/5 of what was needed is still kept after so long (default 5m)", 6 },
	{ "to-zero", OPT_TO_ZERO, "TIME", 0,
	        "Ours: to zero so long after the last request (default 15m)", 6 },
	{ "request-wait", OPT_REQUEST_WAIT, "TIME", 0,
	        "Count the requests that wait longer (default 2s)", 6 },
	{ "hold-noise", OPT_HOLD_NOISE, NULL, 0,
	        "Ours: start none for what will be answered before it is ready, unless that waits "
	        "longer than --request-wait",
	        6 },
	{ "from", OPT_FROM, "TIME", 0, "Leave out what came before that", 6 },
	{ NULL, 0, NULL, 0, "", 7 },
	{ "quiet", 'q', NULL, 0, "No progress, and not how long it took", 5 },
	{ 0 },
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

int options_fail(const struct error *err)
{
	char *text = text_escape_dup(err->text), *hint = text_escape_dup(err->hint);

	fflush(stdout);
	fprintf(stderr, "gsim: error: %s\n", text);
	if (*hint)
		fprintf(stderr, "hint: %s\n", hint);
	free(text);
	free(hint);
	return error_exit_status(err->code);
}

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

static int take_limit(struct options *o, const char *text, struct error *err)
{
	o->time_limit = text;
	if (!strcmp(text, "none"))
		o->world.limits = LIMITS_NONE;
	else if (!strcmp(text, "exact"))
		o->world.limits = LIMITS_EXACT;
	else if (take_factor(text, 1, &o->world.factor, NULL) == 0)
		o->world.limits = LIMITS_FACTOR;
	else
		return error_set(err, ERR_USAGE, "expected none, exact or a number from 1");
	return 0;
}

static int take_percent(const char *text, unsigned *value, struct error *err)
{
	size_t n = strcspn(text, "%");
	char digits[16];
	uint64_t v;

	snprintf(digits, sizeof(digits), "%.*s", (int)n, text);
	if (n >= sizeof(digits) || (text[n] && text[n + 1]) ||
	        count_parse(digits, 1, MAX_PERCENT, &v, NULL) < 0)
		return error_set(err, ERR_USAGE, "expected per cent, as in 130%%");
	*value = (unsigned)v;
	return 0;
}

static int take_number(
        const char *text, uint64_t least, uint64_t most, uint64_t *value, struct error *err)
{
	return count_parse(text, least, most, value, err);
}

static const char *column(const char *text)
{
	return strcmp(text, "none") ? text : NULL;
}

static void grow(const char ***list, size_t *n, const char *text)
{
	*list = xrealloc(*list, *n + 1, sizeof(char *));
	(*list)[(*n)++] = text;
}

/* --- options --------------------------------------------------------------------------------- */

static int take_history(struct options *o, int key, char *arg, struct error *err)
{
	switch (key) {
	case OPT_ACCOUNT_COLUMN:
		o->history.account_column = column(arg);
		return 0;
	case OPT_PARTITION_COLUMN:
		o->history.partition_column = column(arg);
		return 0;
	case OPT_FORMAT:
		o->requests = !strcmp(arg, "requests");
		o->history.reader = history_format(arg);
		return o->history.reader || o->requests
		               ? 0
		               : error_set(
		                         err, ERR_USAGE, "csv, accounting, record, json or requests");
	case OPT_SKIP_BAD:
		o->history.skip_bad = true;
		return 0;
	case OPT_SCALE_LOAD:
		return take_factor(arg, 1e-6, &o->replay.scale_load, err);
	case OPT_UNTIL:
		return take_time(arg, 1, &o->replay.until, err);
	case OPT_TIME_LIMIT:
		return take_limit(o, arg, err);
	case OPT_CHECKPOINT:
		o->world.checkpoint = true;
		return 0;
	case OPT_END_DELAY:
		return take_time(arg, 0, &o->world.end_delay, err);
	default:
		return 1;
	}
}

static int take_rest(struct options *o, int key, char *arg, struct error *err)
{
	static const char *const policies[] = { "configured", "fifo", "fgd", "bestfit", NULL };
	static const char *const shared[] = { "round", "skip", "share", NULL };
	uint64_t number = CHECK_EVERY;
	int word = 0, rc = 0;

	switch (key) {
	case OPT_SHARED:
		rc = take_word(arg, shared, &word, err);
		o->replay.shared = (enum shared_gpus)word;
		return rc;
	case OPT_POLICY:
		rc = take_word(arg, policies, &word, err);
		o->replay.fifo = word == 1;
		o->replay.rival = word == 2 ? RIVAL_FGD : word == 3 ? RIVAL_BESTFIT : RIVAL_NONE;
		return rc;
	case OPT_SEED:
		return take_number(arg, 0, INT64_MAX, &o->world.seed, err);
	case OPT_INFLATE:
		return take_percent(arg, &o->inflate, err);
	case OPT_CHECKER:
		rc = arg ? take_number(arg, 1, UINT32_MAX, &number, err) : 0;
		o->world.check_every = (unsigned)number;
		return rc;
	case OPT_SERIES_STEP:
		return take_time(arg, 1, &o->series_step, err);
	default:
		return 1;
	}
}

static int take_replicas(const char *text, struct scale_policy *p, struct error *err)
{
	char least[16] = "";
	size_t n = strcspn(text, "-");
	uint64_t min, max;

	snprintf(least, sizeof(least), "%.*s", (int)n, text);
	if (n >= sizeof(least) || count_parse(least, 0, REPLICAS_MAX, &min, NULL) < 0 ||
	        count_parse(text + n + (text[n] == '-'), min ? min : 1, REPLICAS_MAX, &max, NULL) <
	                0) {
		if (text[n] || n >= sizeof(least) ||
		        count_parse(least, 1, REPLICAS_MAX, &min, NULL) < 0)
			return error_set(
			        err, ERR_USAGE, "expected MIN-MAX, up to %d", REPLICAS_MAX);
		max = min;
	}
	p->min = (uint32_t)min;
	p->max = (uint32_t)max;
	return 0;
}

static int take_ms(const char *text, usec_t *value, struct error *err)
{
	uint64_t ms;

	if (duration_parse_ms(text, DURATION_BARE_REFUSED, &ms, err) < 0)
		return -1;
	if (ms > 1000000000)
		return error_set(err, ERR_USAGE, "expected at most 1000000s");
	*value = (usec_t)ms * 1000;
	return 0;
}

/* "60s,6s" */
static int take_windows(const char *text, struct scale_policy *p, struct error *err)
{
	char first[32];
	size_t n = strcspn(text, ",");

	snprintf(first, sizeof(first), "%.*s", (int)n, text);
	if (take_time(first, 1, &p->window, err) < 0)
		return -1;
	return text[n] ? take_time(text + n + 1, 1, &p->burst_window, err) : 0;
}

static int take_u32(
        const char *text, uint64_t least, uint64_t most, uint32_t *value, struct error *err)
{
	uint64_t v;

	if (count_parse(text, least, most, &v, err) < 0)
		return -1;
	*value = (uint32_t)v;
	return 0;
}

static int take_service(struct options *o, int key, char *arg, struct error *err)
{
	struct service_options *s = &o->scaling.service;

	switch (key) {
	case OPT_REQUESTS:
		o->requests = true;
		o->scaling.make = arg;
		return 0;
	case OPT_SCALER:
		o->scaling.scalers = arg;
		return 0;
	case OPT_REPLICAS:
		return take_replicas(arg, &s->policy, err);
	case OPT_REPLICA_REQUESTS:
		return take_u32(arg, 1, 100000, &s->replica_requests, err);
	case OPT_REPLICA_GPUS:
		return take_u32(arg, 1, 100000, &s->replica_gpus, err);
	case OPT_LOAD_TIME:
		return take_ms(arg, &s->load_time, err);
	case OPT_PREFILL:
		return take_ms(arg, &s->prefill, err);
	case OPT_TOKEN_RATE:
		return take_factor(arg, 1e-3, &s->token_rate, err);
	case OPT_TARGET:
		return take_factor(arg, 1e-3, &s->policy.target, err);
	case OPT_SCALE_WINDOW:
		return take_windows(arg, &s->policy, err);
	case OPT_SCALE_DOWN:
		return take_ms(arg, &s->policy.scale_down, err);
	case OPT_TO_ZERO:
		return take_ms(arg, &s->policy.to_zero, err);
	case OPT_REQUEST_WAIT:
		return take_ms(arg, &s->request_wait, err);
	case OPT_HOLD_NOISE:
		o->scaling.hold_noise = true;
		return 0;
	case OPT_FROM:
		return take_time(arg, 0, &o->scaling.requests.from, err);
	default:
		return 1;
	}
}

static int take_plain(struct options *o, int key, char *arg)
{
	switch (key) {
	case 'f':
		o->conf = arg;
		return 0;
	case OPT_NODES:
		o->nodes = arg;
		return 0;
	case OPT_ADD_NODES:
		grow(&o->add_nodes, &o->n_add_nodes, arg);
		return 0;
	case OPT_SHOW_CONFIG:
		o->show_config = true;
		return 0;
	case OPT_REPLAY:
		o->rerun = true;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_SERIES:
		o->series = arg;
		return 0;
	case OPT_JOBS:
		o->jobs = arg;
		return 0;
	case OPT_PLOT:
		o->plot = arg;
		return 0;
	case OPT_AGAINST:
		o->against = arg;
		return 0;
	case OPT_COMPARE:
		o->compare = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		grow(&o->files, &o->n_files, arg);
		return 0;
	default:
		return 1;
	}
}

static const char *option_name(int key)
{
	size_t i;

	for (i = 0; rows[i].name || rows[i].doc; i++) {
		if (rows[i].key == key && rows[i].name)
			return rows[i].name;
	}
	return "";
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct error err;
	int rc = take_plain(o, key, arg);

	if (rc > 0)
		rc = take_history(o, key, arg, &err);
	if (rc > 0)
		rc = take_rest(o, key, arg, &err);
	if (rc > 0)
		rc = take_service(o, key, arg, &err);
	if (rc > 0)
		return ARGP_ERR_UNKNOWN;
	if (rc < 0) {
		error_wrap(&err, "--%s=%s", option_name(key), arg);
		exit(options_fail(&err));
	}
	return 0;
}

static const struct argp argp = {
	.options = rows,
	.parser = parse,
	.args_doc = "FILE...\n--show-config\n--compare A B\n--replay FILE...\n--format=requests "
	            "FILE...\n"
	            "--requests=KIND:SEED",
	.doc = doc,
};

/* Both files say what came of it. */
static int agree_compare(const struct options *o, struct error *err)
{
	if (o->conf || o->nodes || o->n_add_nodes || o->show_config || o->history.reader ||
	        o->inflate || o->replay.fifo || o->replay.rival != RIVAL_NONE || o->series ||
	        o->jobs || o->rerun || o->requests || o->against)
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
	if (o->conf || o->nodes || o->n_add_nodes || o->show_config || o->history.reader ||
	        o->inflate || o->replay.fifo || o->replay.rival != RIVAL_NONE || o->series ||
	        o->jobs || o->plot || o->against)
		return error_set(err, ERR_USAGE,
		        "--replay repeats what was: of the options only --checker, --json and "
		        "--quiet go with it");
	return 0;
}

/* A service has replicas of its own, and no jobs. */
static int agree_requests(const struct options *o, struct error *err)
{
	if (o->conf || o->nodes || o->n_add_nodes || o->show_config || o->history.reader ||
	        o->inflate || o->replay.fifo || o->replay.rival != RIVAL_NONE || o->jobs ||
	        o->rerun || o->plot || o->against)
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
	size_t i, k;

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
	if (o->rerun && agree_rerun(o, err) < 0)
		return -1;
	for (i = 0; i < o->n_files; i++) {
		for (k = 0; k < i; k++) {
			if (!strcmp(o->files[i], o->files[k]))
				return error_set(err, ERR_USAGE, "%s is there twice", o->files[i]);
		}
	}
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
	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, o);
	return agree(o, &err) < 0 ? options_fail(&err) : -1;
}

void gsim_options_clear(struct options *o)
{
	free(o->files);
	free(o->add_nodes);
}
