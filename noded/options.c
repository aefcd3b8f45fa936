/* options.c - see options.h */
#include "config.h"

#include "noded/options.h"

#include <argp.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/hostlist.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "noded/contain/contain.h"
#include "noded/contain/private.h"
#include "noded/contain/words.h"
#include "noded/exec/child.h"
#include "noded/gpu/probe.h"
#include "noded/privilege.h"
#include "noded/usage/spool.h"

const char *argp_program_version = "gnoded (" PACKAGE_NAME ") " PACKAGE_VERSION;

enum kind {
	TEXT, /* one string */
	FLAG,
	NO_FLAG, /* it takes a flag back */
	TIME,
	OTHER, /* it has a function */
};

#define SERVICE_ADDRESS_MAX 253 /* a host name */

#define SECOND_MS ((uint64_t)1000)
#define HOUR_MS   (3600 * SECOND_MS)
#define DAY_MS    (24 * HOUR_MS)

/* --- options with a meaning of their own ----------------------------------------------------- */

static int take_simulate(struct options *o, const char *arg, struct error *err)
{
	o->simulate = true;
	return count_parse(arg, 0, HOSTLIST_MAX, &o->simulate_n, err);
}

static int take_programs(struct options *o, const char *arg, struct error *err)
{
	o->launcher.programs_of = strcmp(arg, "none") == 0 ? NULL : arg;
	if (o->launcher.programs_of && *arg != '/')
		return error_set(err, ERR_USAGE, "'%s' is no absolute path, nor none", arg);
	return 0;
}

static int take_over_memory(struct options *o, const char *arg, struct error *err)
{
	o->launcher.over_memory_said = true;
	return overmem_parse(arg, &o->launcher.over_memory, err);
}

static int take_share_users(struct options *o, const char *arg, struct error *err)
{
	o->launcher.share_users_one = strcmp(arg, "one") == 0;
	if (!o->launcher.share_users_one && strcmp(arg, "any") != 0)
		return error_set(err, ERR_USAGE, "'%s' is none of one, any", arg);
	return 0;
}

static int take_private(struct options *o, const char *arg, struct error *err)
{
	return private_parse(arg, &o->launcher.private_kinds, err);
}

static int take_private_tmp(struct options *o, const char *arg, struct error *err)
{
	return size_parse_mb(arg, SIZE_BARE_REFUSED, &o->launcher.private_tmp_mb, err);
}

static int take_rlimit(struct options *o, const char *arg, struct error *err)
{
	if (o->launcher.n_rlimits == RLIMITS_MAX)
		return error_set(err, ERR_USAGE, "at most %d", RLIMITS_MAX);
	return rlimits_parse(arg, &o->rlimits[o->launcher.n_rlimits++], err);
}

static int take_containment(struct options *o, const char *arg, struct error *err)
{
	const char *unknown = contain_words_lack(arg, CONTAIN_WORDS);

	if (unknown)
		return error_set(err, ERR_USAGE, "no '%s'; there are " CONTAIN_WORDS, unknown);
	o->launcher.containment = arg;
	return 0;
}

static int take_device(struct options *o, const char *arg, struct error *err)
{
	if (*arg != '/')
		return error_set(err, ERR_USAGE, "'%s' is no absolute path", arg);
	if (o->launcher.devices.n_all == DEVICE_GRANTS_ALL_MAX)
		return error_set(err, ERR_USAGE, "at most %d", DEVICE_GRANTS_ALL_MAX);
	o->launcher.devices.all[o->launcher.devices.n_all++] = arg;
	return 0;
}

static int take_spool_min_free(struct options *o, const char *arg, struct error *err)
{
	return size_parse_mb(arg, SIZE_BARE_REFUSED, &o->launcher.spool_min_free_mb, err);
}

/* As in 20000-20999. Below 1024 only root may listen. */
static int take_service_ports(struct options *o, const char *arg, struct error *err)
{
	char *low = xstrdup(arg), *high = strchr(low, '-');
	uint64_t first = 0, last = 0;
	int rc = -1;

	if (high)
		*high++ = '\0';
	if (!high)
		error_set(err, ERR_USAGE, "'%s' is not LOW-HIGH", arg);
	else if (count_parse(low, 1024, UINT16_MAX, &first, err) == 0 &&
	         count_parse(high, first, UINT16_MAX, &last, err) == 0)
		rc = 0;
	free(low);
	o->launcher.service_port_low = (uint32_t)first;
	o->launcher.service_port_high = (uint32_t)last;
	return rc;
}

/* Clients get it as it is; a name is fine too. */
static int take_service_address(struct options *o, const char *arg, struct error *err)
{
	size_t n = strlen(arg);

	o->service_address = arg;
	if (n == 0 || n > SERVICE_ADDRESS_MAX ||
	        arg[strspn(
	                arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-_")])
		return error_set(err, ERR_USAGE, "'%s' is no address and no host name", arg);
	return 0;
}

static int take_max_processes(struct options *o, const char *arg, struct error *err)
{
	return count_parse(arg, 1, INT32_MAX, &o->launcher.max_processes, err);
}

/* --- the table -------------------------------------------------------------------------------- */

/* To add one: a row here, a field in options.h, the same group of man/gnoded.8. A row without a
 * name is the title of a group. */
static const struct row {
	const char *name, *arg, *help;
	int letter; /* 0: none */
	enum kind kind;
	size_t at; /* of its field in struct options */
	int (*take)(struct options *o, const char *arg, struct error *err); /* OTHER */
	/* TIME, of the field and possible; 0 too if `off` is set */
	uint64_t unit_ms, least_ms, most_ms;
	bool off;
	const char *possible;
} rows[] = {
	{ .help = "Identity:" },
	{ "node", "NAME", "its name in gpusched.conf (default: the short host name)", .letter = 'N',
	        .kind = TEXT, .at = offsetof(struct options, node) },
	{ "config", "FILE",
	        "names the controller: client.conf or gpusched.conf (default: as for commands)",
	        .letter = 'f', .kind = TEXT, .at = offsetof(struct options, conf) },
	{ "user", "NAME",
	        "runs the half that has the network (default: " PRIVILEGE_USER
	        "; root: as root, without any capability)",
	        .kind = TEXT, .at = offsetof(struct options, user) },
	{ "munge-socket-2", "PATH",
	        "a second munge daemon, with the other key, while the key is replaced (default: "
	        "munge_socket_2 of the configuration)",
	        .kind = TEXT, .at = offsetof(struct options, launcher.munge_socket_2) },

	{ .help = "Directories:" },
	{ "rundir", "DIR", "records of runs, on tmpfs (default: /run/gpusched)", .kind = TEXT,
	        .at = offsetof(struct options, rundir) },
	{ "spool", "DIR",
	        "directories of runs, and saved ends (default: " LOCALSTATEDIR "/spool/gpusched)",
	        .kind = TEXT, .at = offsetof(struct options, spool) },
	{ "spool-min-free", "SIZE",
	        "end the run that fills the spool if less is free; 0: never (default: 256M)",
	        .kind = OTHER, .take = take_spool_min_free },

	{ .help = "Starts and ends of runs:" },
	{ "allow-root", NULL, "run root's jobs too (default: refuse them)", .kind = FLAG,
	        .at = offsetof(struct options, launcher.allow_root) },
	{ "signature-age", "TIME", "refuse jobs that were signed longer ago (default: 14d)",
	        .kind = TIME, .at = offsetof(struct options, launcher.signature_age_s),
	        .unit_ms = SECOND_MS, .least_ms = SECOND_MS, .most_ms = UINT64_MAX,
	        .possible = "1s or more" },
	{ "launch-timeout", "TIME",
	        "until a run's program must be executed, without its task prolog (default: 1m)",
	        .kind = TIME, .at = offsetof(struct options, launcher.launch_timeout_ms),
	        .unit_ms = 1, .least_ms = SECOND_MS, .most_ms = HOUR_MS, .possible = "1s to 1h" },
	{ "kill-wait", "TIME", "drain the node if a killed process lives longer (default: 1m)",
	        .kind = TIME, .at = offsetof(struct options, launcher.kill_wait_ms), .unit_ms = 1,
	        .least_ms = 100, .most_ms = HOUR_MS, .possible = "100ms to 1h" },
	{ "shepherd", "FILE",
	        "the program that watches a run (default: gshepherd of this installation)",
	        .kind = TEXT, .at = offsetof(struct options, launcher.shepherd) },

	{ .help = "What confines runs:" },
	{ "containment", "WORD,...",
	        "do not start unless these are available: " CONTAIN_WORDS
	        " (default: use what there is)",
	        .kind = OTHER, .take = take_containment },
	{ "cgroup", "PATH",
	        "run jobs below this cgroup; none: without cgroups (default: what the host offers)",
	        .kind = TEXT, .at = offsetof(struct options, launcher.cgroup) },
	{ "private", "WORD,...",
	        "what each run has for itself: " PRIVATE_WORDS " (default: nothing)", .kind = OTHER,
	        .take = take_private },
	{ "private-tmp", "SIZE",
	        "keep a run's private /tmp in memory, at most so large (default: on disk)",
	        .kind = OTHER, .take = take_private_tmp },
	{ "tmp-dir", "DIR",
	        "the file system whose size jobs ask for with --tmp (default: where private /tmps "
	        "are, else /tmp)",
	        .kind = TEXT, .at = offsetof(struct options, tmp_dir) },
	{ "max-processes", "N", "processes and threads of one run (default: 16384)", .kind = OTHER,
	        .take = take_max_processes },
	{ "rlimit", "NAME=SOFT[:HARD]",
	        "a resource limit of jobs, as in nofile=1024:524288; once for each (default: see "
	        "gnoded(8))",
	        .kind = OTHER, .take = take_rlimit },
	{ "device", "FILE", "a device file that every run may open; up to 64 times", .kind = OTHER,
	        .take = take_device },

	{ .help = "GPUs:" },
	{ "gpu-devices", "LIST",
	        "their device files in order, as in /dev/dri/renderD[128-135] (default: found "
	        "through the driver)",
	        .kind = TEXT, .at = offsetof(struct options, launcher.devices.gpus) },
	{ "gpu-recheck", "TIME",
	        "between two checks of the GPUs; 0s: only at the start (default: 10m)",
	        .kind = TIME, .at = offsetof(struct options, launcher.gpu_recheck_ms), .unit_ms = 1,
	        .least_ms = 100, .most_ms = 30 * DAY_MS, .off = true,
	        .possible = "0s, or 100ms to 30d" },
	{ "gpu-timeout", "TIME", "give up a GPU that does not answer for longer (default: 20s)",
	        .kind = TIME, .at = offsetof(struct options, launcher.gpu_timeout_ms), .unit_ms = 1,
	        .least_ms = 100, .most_ms = HOUR_MS, .possible = "100ms to 1h" },
	{ "sample-every", "TIME", "between two samples of what runs use; 0s: never (default: 10s)",
	        .kind = TIME, .at = offsetof(struct options, launcher.sample_ms), .unit_ms = 1,
	        .least_ms = 100, .most_ms = HOUR_MS, .off = true,
	        .possible = "0s, or 100ms to 1h" },
	{ "idle-sample", "TIME",
	        "between two samples of GPUs while no run holds one; 0s: never (default: 1m)",
	        .kind = TIME, .at = offsetof(struct options, launcher.idle_sample_ms), .unit_ms = 1,
	        .least_ms = 100, .most_ms = DAY_MS, .off = true, .possible = "0s, or 100ms to 1d" },
	{ "over-memory", "note|warn|end",
	        "when a run exceeds its part of a GPU's memory (default: end)", .kind = OTHER,
	        .take = take_over_memory },
	{ "share-users", "one|any", "the users whose runs may share one GPU (default: any)",
	        .kind = OTHER, .take = take_share_users },
	{ "gpu-jobs", "DIR",
	        "say there which jobs are on which GPU, for dcgm-exporter (default: nowhere)",
	        .kind = TEXT, .at = offsetof(struct options, launcher.gpu_jobs) },
	{ "mps", "FILE", "the control program of NVIDIA's MPS (default: " LAUNCHER_MPS ")",
	        .kind = TEXT, .at = offsetof(struct options, launcher.mps) },

	{ .help = "Services:" },
	{ "service-ports", "LOW-HIGH",
	        "the ports that replicas get, as in 20000-20999 (default: none)", .kind = OTHER,
	        .take = take_service_ports },
	{ "service-address", "ADDR",
	        "where clients reach replicas here (default: this end of the connection to the "
	        "controller)",
	        .kind = OTHER, .take = take_service_address },
	{ "service-age", "TIME",
	        "refuse replicas of services that were signed longer ago (default: 90d)",
	        .kind = TIME, .at = offsetof(struct options, launcher.service_age_s),
	        .unit_ms = SECOND_MS, .least_ms = SECOND_MS, .most_ms = UINT64_MAX,
	        .possible = "1s or more" },

	{ .help = "Programs of the site (default: none):" },
	{ "prolog", "FILE", "run as root before each run", .kind = TEXT,
	        .at = offsetof(struct options, launcher.programs[PROGRAM_PROLOG]) },
	{ "task-prolog", "FILE", "run as the owner before each job's script", .kind = TEXT,
	        .at = offsetof(struct options, launcher.programs[PROGRAM_TASK_PROLOG]) },
	{ "task-epilog", "FILE", "run as the owner when nothing is left of the job", .kind = TEXT,
	        .at = offsetof(struct options, launcher.programs[PROGRAM_TASK_EPILOG]) },
	{ "epilog", "FILE", "run as root after each run", .kind = TEXT,
	        .at = offsetof(struct options, launcher.programs[PROGRAM_EPILOG]) },
	{ "scrub", "FILE", "run as root last of all, to clear the run's GPUs", .kind = TEXT,
	        .at = offsetof(struct options, launcher.programs[PROGRAM_SCRUB]) },
	{ "health-check", "FILE", "start nothing while this program fails", .kind = TEXT,
	        .at = offsetof(struct options, launcher.programs[PROGRAM_HEALTH]) },
	{ "health-interval", "TIME", "between two health checks (default: 5m)", .kind = TIME,
	        .at = offsetof(struct options, launcher.health_interval_s), .unit_ms = SECOND_MS,
	        .least_ms = SECOND_MS, .most_ms = 30 * DAY_MS, .possible = "1s to 30d" },
	{ "program-timeout", "TIME", "the longest time of each of these programs (default: 1m)",
	        .kind = TIME, .at = offsetof(struct options, launcher.program_timeout_ms),
	        .unit_ms = 1, .least_ms = 100, .most_ms = HOUR_MS, .possible = "100ms to 1h" },
	{ "programs", "DIR|none",
	        "the folder of those that gpusched.conf may name (default: " SYSCONFDIR
	        "/gpusched)",
	        .kind = OTHER, .take = take_programs },

	{ .help = "The daemon:" },
	{ "foreground", NULL, "stay in the foreground (the default)", .kind = NO_FLAG,
	        .at = offsetof(struct options, daemon) },
	{ "daemon", NULL, "detach, and return when ready", .kind = FLAG,
	        .at = offsetof(struct options, daemon) },
	{ "pid-file", "FILE", "write the process id there", .kind = TEXT,
	        .at = offsetof(struct options, pid_file) },
	{ "log", "WHERE", "stderr, syslog or a file (default: stderr; syslog with --daemon)",
	        .kind = TEXT, .at = offsetof(struct options, log) },
	{ "log-level", "LEVEL", "error, warning, info or debug (default: info)", .kind = TEXT,
	        .at = offsetof(struct options, log_level) },

	{ .help = "Instead of a daemon:" },
	{ "inventory", NULL, "print what this node has, and exit", .kind = FLAG,
	        .at = offsetof(struct options, inventory) },
	{ "json", NULL, "with --inventory: as JSON", .kind = FLAG,
	        .at = offsetof(struct options, json) },
	{ "test", NULL, "print what the controller would be told, and exit", .kind = FLAG,
	        .at = offsetof(struct options, test) },

	{ .help = "Tests:" },
	{ "pretend", "cpus=N,mem=SIZE", "report this instead of what the node has", .kind = TEXT,
	        .at = offsetof(struct options, pretend) },
	{ "simulate", "N", "be N nodes whose runs exist only in name; 0: all of --nodes",
	        .kind = OTHER, .take = take_simulate },
	{ "nodes", "LIST", "their names, as in n[0001-9999] (default: n1, n2, ...)", .kind = TEXT,
	        .at = offsetof(struct options, nodes) },
};

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

static int take_time(struct options *o, const struct row *row, const char *arg, struct error *err)
{
	uint64_t ms;

	if (duration_parse_ms(arg, DURATION_BARE_REFUSED, &ms, err) < 0)
		return -1;
	if ((ms || !row->off) && (ms < row->least_ms || ms > row->most_ms))
		return error_set(err, ERR_USAGE, "%s: %s is possible", arg, row->possible);
	*(uint64_t *)((char *)o + row->at) = ms / row->unit_ms;
	return 0;
}

static int take_option(struct options *o, const struct row *row, const char *arg, struct error *err)
{
	void *field = (char *)o + row->at;

	switch (row->kind) {
	case TEXT:
		*(const char **)field = arg;
		return 0;
	case FLAG:
	case NO_FLAG:
		*(bool *)field = row->kind == FLAG;
		return 0;
	case TIME:
		return take_time(o, row, arg, err);
	case OTHER:
		break;
	}
	return row->take(o, arg, err);
}

/* `text` is the whole line; does not return. */
static void refuse(const char *text)
{
	fprintf(stderr, "%s: error: %s\n", program_invocation_short_name, text);
	exit(EXIT_USAGE);
}

/* argp's key of a row: its letter, or a number that is no character. */
static int key_of(const struct row *row)
{
	return row->letter ? row->letter : 0x100 + (int)(row - rows);
}

static error_t parse_key(int key, char *arg, struct argp_state *state)
{
	const struct row *row = rows;
	struct error err;

	if (key == ARGP_KEY_ARG) {
		error_set(&err, ERR_USAGE, "unexpected argument '%s'", arg);
		refuse(err.text);
	}
	while (row < rows + COUNT(rows) && (!row->name || key_of(row) != key))
		row++;
	if (row == rows + COUNT(rows))
		return ARGP_ERR_UNKNOWN;
	if (take_option(state->input, row, arg, &err) < 0) {
		error_wrap(&err, "--%s", row->name);
		refuse(err.text);
	}
	return 0;
}

static void parse_args(struct options *o, int argc, char **argv)
{
	struct argp_option list[COUNT(rows) + 1] = { { 0 } };
	int group = 0;
	const struct argp argp = {
		.options = list,
		.parser = parse_key,
		.doc = "The agent of gpusched on a node: starts, watches and ends runs as the "
		       "controller orders.\v"
		       "TIME has a unit: 250ms, 90s, 20m, 2h, 14d. SIZE: 256M, 64G, 1T. "
		       "gpusched.conf "
		       "may add to what confines runs, and weakens nothing of it.\n\n"
		       "gnoded can be ended and started again at any time: runs go on.",
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		group += !rows[i].name;
		list[i] = (struct argp_option){ rows[i].name, rows[i].name ? key_of(&rows[i]) : 0,
			rows[i].arg, 0, rows[i].help, group };
	}
	argp_parse(&argp, argc, argv, 0, NULL, o);
}

/* The host's name up to the first dot. */
static char *short_host_name(void)
{
	char name[HOSTLIST_NAME_MAX + 1] = "";

	if (gethostname(name, sizeof(name) - 1) < 0 || !*name)
		return xstrdup("localhost");
	name[strcspn(name, ".")] = '\0';
	return xstrdup(name);
}

/* Daemons change their directory. */
static char *absolute(const char *path)
{
	char *here = *path && *path != '/' ? getcwd(NULL, 0) : NULL;
	char *full = here ? xasprintf("%s/%s", here, path) : xstrdup(path);

	free(here);
	return full;
}

/* Make copies of the strings of argv and of the defaults. */
static void own(struct options *o)
{
	const char *log = o->log ? o->log : o->daemon ? "syslog" : "stderr";
	bool is_file = strcmp(log, "stderr") != 0 && strcmp(log, "syslog") != 0;

	o->node = o->node ? xstrdup(o->node) : short_host_name();
	o->rundir = absolute(o->rundir ? o->rundir : "/run/gpusched");
	o->spool = absolute(o->spool ? o->spool : LOCALSTATEDIR "/spool/gpusched");
	o->pid_file = absolute(o->pid_file ? o->pid_file : "");
	o->launcher.gpu_jobs = absolute(o->launcher.gpu_jobs ? o->launcher.gpu_jobs : "");
	o->log = is_file ? absolute(log) : xstrdup(log);
}

void options_parse(struct options *o, int argc, char **argv)
{
	struct error err;

	*o = (struct options){ .log_level = "info" };
	o->launcher = (struct launcher_options){ .kill_wait_ms = 60000,
		.launch_timeout_ms = CHILD_LAUNCH_MS,
		.spool_min_free_mb = SPOOL_MIN_FREE_MB,
		.gpu_timeout_ms = PROBE_TIMEOUT_MS,
		.gpu_recheck_ms = 600000,
		.programs_of = SYSCONFDIR "/gpusched",
		.program_timeout_ms = PROGRAM_TIMEOUT_MS,
		.health_interval_s = 300,
		.sample_ms = 10000,
		.idle_sample_ms = 60000,
		.over_memory = OVERMEM_END };
	argp_err_exit_status = EXIT_USAGE;
	parse_args(o, argc, argv);
	own(o);
	if (hostlist_name_check(o->node, &err) < 0)
		refuse(err.text);
	if (o->daemon && strcmp(o->log, "stderr") == 0)
		refuse("--daemon: --log must be syslog or a file");
	if (o->json && !o->inventory)
		refuse("--json goes with --inventory");
	if (o->inventory && o->simulate)
		refuse("--inventory: a simulated node has nothing");
	if (o->nodes && !o->simulate)
		refuse("--nodes goes with --simulate");
	if (o->simulate && !o->simulate_n && !o->nodes)
		refuse("--simulate=0 needs --nodes=LIST");
}

void options_clear(struct options *o)
{
	free(o->node);
	free(o->rundir);
	free(o->spool);
	free(o->pid_file);
	free(o->log);
	free((char *)o->launcher.gpu_jobs);
}
