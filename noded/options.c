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
#include "noded/contain/words.h"
#include "noded/exec/child.h"
#include "noded/gpu/probe.h"
#include "noded/launcher/launcher.h"
#include "noded/privilege.h"
#include "noded/usage/spool.h"

const char *argp_program_version = "gnoded (" PACKAGE_NAME ") " PACKAGE_VERSION;

enum key {
	KEY_RUNDIR = 0x100,
	KEY_SPOOL,
	KEY_PID_FILE,
	KEY_DAEMON,
	KEY_FOREGROUND,
	KEY_LOG,
	KEY_LOG_LEVEL,
	KEY_USER,
	KEY_ALLOW_ROOT,
	KEY_CGROUP,
	KEY_SHEPHERD,
	KEY_MUNGE_2,
	KEY_SIGNATURE_AGE,
	KEY_CONTAINMENT,
	KEY_GPU_DEVICES,
	KEY_DEVICE,
	KEY_MAX_PROCESSES,
	KEY_PRETEND,
	KEY_SIMULATE,
	KEY_NODES,
	KEY_TEST,
	KEY_INVENTORY,
	KEY_JSON,
	KEY_KILL_WAIT,
	KEY_LAUNCH_TIMEOUT,
	KEY_SPOOL_MIN_FREE,
	KEY_GPU_TIMEOUT,
	KEY_GPU_RECHECK,
	KEY_PROGRAMS,
	KEY_PROGRAM, /* and PROGRAM_KINDS more */
	KEY_PROGRAM_TIMEOUT = KEY_PROGRAM + PROGRAM_KINDS,
	KEY_HEALTH_INTERVAL,
	KEY_SAMPLE,
	KEY_OVER_MEMORY,
	KEY_SHARE_USERS,
	KEY_MPS,
	KEY_PRIVATE,
	KEY_PRIVATE_TMP,
	KEY_RLIMIT,
};

/* To add one: a row here and in one of the tables below, a field in options.h, man/gnoded.8. */
static const struct argp_option rows[] = {
	{ "node", 'N', "NAME", 0, "the node's name in gpusched.conf (default: the short host name)",
	        1 },
	{ "config", 'f', "FILE", 0,
	        "where the controller is: client.conf or gpusched.conf (default: as for commands)",
	        1 },
	{ "rundir", KEY_RUNDIR, "DIR", 0, "records of runs, on tmpfs (default: /run/gpusched)", 2 },
	{ "spool", KEY_SPOOL, "DIR", 0,
	        "private directories of runs and saved ends (default: " LOCALSTATEDIR
	        "/spool/gpusched)",
	        2 },
	{ "cgroup", KEY_CGROUP, "PATH", 0, "run jobs below this cgroup; none: do not use cgroups",
	        2 },
	{ "shepherd", KEY_SHEPHERD, "FILE", 0, "the program that watches a run", 2 },
	{ "munge-socket-2", KEY_MUNGE_2, "PATH", 0,
	        "ask this munge daemon too, which has another key, while the key is replaced", 2 },
	{ "signature-age", KEY_SIGNATURE_AGE, "TIME", 0,
	        "refuse to start what was signed longer ago (default: 14d)", 2 },
	{ "kill-wait", KEY_KILL_WAIT, "TIME", 0,
	        "drain the node if what was killed does not end in so long (default: 1m)", 2 },
	{ "launch-timeout", KEY_LAUNCH_TIMEOUT, "TIME", 0,
	        "a run's program must be executed in so long, its task prolog apart (default: 1m)",
	        2 },
	{ "spool-min-free", KEY_SPOOL_MIN_FREE, "SIZE", 0,
	        "end the run that holds most of the spool if less is free; 0: never (default: "
	        "256M)",
	        2 },
	{ "gpu-timeout", KEY_GPU_TIMEOUT, "TIME", 0,
	        "give a GPU up that does not answer for so long (default: 20s)", 2 },
	{ "containment", KEY_CONTAINMENT, "WORD,...", 0,
	        "do not start where one of these cannot be had: " CONTAIN_WORDS, 2 },
	{ "gpu-devices", KEY_GPU_DEVICES, "LIST", 0,
	        "device files of the GPUs, in order, as in /dev/nvidia[0-7]: a run opens its own",
	        2 },
	{ "device", KEY_DEVICE, "FILE", 0,
	        "a device file that every run may open (may be repeated)", 2 },
	{ "max-processes", KEY_MAX_PROCESSES, "N", 0,
	        "processes and threads of one run (default: 16384)", 2 },
	{ "gpu-recheck", KEY_GPU_RECHECK, "TIME", 0,
	        "look at the GPUs again so often; 0s: only at the start (default: 10m)", 2 },
	{ "prolog", KEY_PROGRAM + PROGRAM_PROLOG, "FILE", 0, "run this as root before each run",
	        2 },
	{ "epilog", KEY_PROGRAM + PROGRAM_EPILOG, "FILE", 0, "run this as root after each run", 2 },
	{ "task-prolog", KEY_PROGRAM + PROGRAM_TASK_PROLOG, "FILE", 0,
	        "run this as the owner right before each job's script", 2 },
	{ "task-epilog", KEY_PROGRAM + PROGRAM_TASK_EPILOG, "FILE", 0,
	        "run this as the owner when nothing is left of his job", 2 },
	{ "scrub", KEY_PROGRAM + PROGRAM_SCRUB, "FILE", 0,
	        "run this as root to clear a run's GPUs, last of all", 2 },
	{ "programs", KEY_PROGRAMS, "DIR|none", 0,
	        "the folder of those that gpusched.conf may name (default: " SYSCONFDIR
	        "/gpusched)",
	        2 },
	{ "program-timeout", KEY_PROGRAM_TIMEOUT, "TIME", 0,
	        "how long each of these and of the health check may take (default: 60s)", 2 },
	{ "health-check", KEY_PROGRAM + PROGRAM_HEALTH, "FILE", 0,
	        "start nothing on the node while this program fails", 2 },
	{ "health-interval", KEY_HEALTH_INTERVAL, "TIME", 0,
	        "between two health checks (default: 5m)", 2 },
	{ "sample-every", KEY_SAMPLE, "TIME", 0,
	        "look so often at what runs use; 0s: never (default: 10s)", 2 },
	{ "over-memory", KEY_OVER_MEMORY, "note|warn|end", 0,
	        "what becomes of a run that uses more memory of a shared GPU than it may "
	        "(default: end)",
	        2 },
	{ "share-users", KEY_SHARE_USERS, "one|any", 0,
	        "whether runs of different users may share a GPU (default: any)", 2 },
	{ "mps", KEY_MPS, "FILE", 0,
	        "the control program of NVIDIA's MPS (default: " LAUNCHER_MPS ")", 2 },
	{ "private", KEY_PRIVATE, "WORD,...", 0,
	        "what a run shares with no other: " PRIVATE_WORDS " (default: nothing)", 2 },
	{ "private-tmp", KEY_PRIVATE_TMP, "SIZE", 0,
	        "a run's private /tmp is in memory, and so large at most (default: on disk)", 2 },
	{ "rlimit", KEY_RLIMIT, "NAME=SOFT[:HARD]", 0,
	        "a resource limit of jobs' processes, as in nofile=1024:524288 (may be repeated)",
	        2 },
	{ "allow-root", KEY_ALLOW_ROOT, NULL, 0, "run root's jobs too", 2 },
	{ "user", KEY_USER, "NAME", 0,
	        "run the half that speaks with the network as this user (default: " PRIVILEGE_USER
	        "; root: as root, without any capability)",
	        2 },
	{ "foreground", KEY_FOREGROUND, NULL, 0, "stay in the foreground (the default)", 3 },
	{ "daemon", KEY_DAEMON, NULL, 0, "detach; return when ready", 3 },
	{ "pid-file", KEY_PID_FILE, "FILE", 0, "write the process id there", 3 },
	{ "log", KEY_LOG, "WHERE", 0,
	        "stderr, syslog or a file (default: stderr; with --daemon syslog)", 3 },
	{ "log-level", KEY_LOG_LEVEL, "LEVEL", 0, "error, warning, info or debug (default: info)",
	        3 },
	{ "inventory", KEY_INVENTORY, NULL, 0, "print what this node has, and end", 3 },
	{ "json", KEY_JSON, NULL, 0, "with --inventory: print it as JSON", 3 },
	{ "test", KEY_TEST, NULL, 0, "print what would be reported to the controller, and end", 3 },
	{ "pretend", KEY_PRETEND, "cpus=N,mem=SIZE", 0,
	        "report this instead of what the node has; for trying and testing", 4 },
	{ "simulate", KEY_SIMULATE, "N", 0,
	        "be N nodes that only seem to run jobs (0: all of --nodes), for scale tests", 4 },
	{ "nodes", KEY_NODES, "LIST", 0, "their names, as in n[0001-9999] (default: n1, n2, ...)",
	        4 },
	{ 0 },
};

/* Those that are one string. */
static const struct {
	int key;
	size_t at;
} texts[] = {
	{ 'N', offsetof(struct options, node) },
	{ 'f', offsetof(struct options, conf) },
	{ KEY_RUNDIR, offsetof(struct options, rundir) },
	{ KEY_SPOOL, offsetof(struct options, spool) },
	{ KEY_CGROUP, offsetof(struct options, cgroup) },
	{ KEY_SHEPHERD, offsetof(struct options, shepherd) },
	{ KEY_MUNGE_2, offsetof(struct options, munge_socket_2) },
	{ KEY_USER, offsetof(struct options, user) },
	{ KEY_MPS, offsetof(struct options, mps) },
	{ KEY_PID_FILE, offsetof(struct options, pid_file) },
	{ KEY_LOG, offsetof(struct options, log) },
	{ KEY_LOG_LEVEL, offsetof(struct options, log_level) },
	{ KEY_PRETEND, offsetof(struct options, pretend) },
	{ KEY_NODES, offsetof(struct options, nodes) },
	{ KEY_GPU_DEVICES, offsetof(struct options, devices.gpus) },
	{ KEY_PROGRAM + PROGRAM_PROLOG, offsetof(struct options, programs[PROGRAM_PROLOG]) },
	{ KEY_PROGRAM + PROGRAM_TASK_PROLOG,
	        offsetof(struct options, programs[PROGRAM_TASK_PROLOG]) },
	{ KEY_PROGRAM + PROGRAM_TASK_EPILOG,
	        offsetof(struct options, programs[PROGRAM_TASK_EPILOG]) },
	{ KEY_PROGRAM + PROGRAM_EPILOG, offsetof(struct options, programs[PROGRAM_EPILOG]) },
	{ KEY_PROGRAM + PROGRAM_SCRUB, offsetof(struct options, programs[PROGRAM_SCRUB]) },
	{ KEY_PROGRAM + PROGRAM_HEALTH, offsetof(struct options, programs[PROGRAM_HEALTH]) },
};

/* Options without an argument. */
static const struct {
	int key;
	size_t at;
	bool value;
} flags[] = {
	{ KEY_INVENTORY, offsetof(struct options, inventory), true },
	{ KEY_JSON, offsetof(struct options, json), true },
	{ KEY_ALLOW_ROOT, offsetof(struct options, allow_root), true },
	{ KEY_DAEMON, offsetof(struct options, daemon), true },
	{ KEY_FOREGROUND, offsetof(struct options, daemon), false },
	{ KEY_TEST, offsetof(struct options, test), true },
};

#define SECOND_MS ((uint64_t)1000)
#define HOUR_MS   (3600 * SECOND_MS)
#define DAY_MS    (24 * HOUR_MS)

/* Times, within limits; where `off` is set, 0 is possible too. */
static const struct time_option {
	int key;
	size_t at;
	uint64_t unit_ms; /* of the field */
	uint64_t least_ms, most_ms;
	bool off;
	const char *possible;
} times[] = {
	{ KEY_SIGNATURE_AGE, offsetof(struct options, signature_age_s), SECOND_MS, SECOND_MS,
	        UINT64_MAX, false, "1s or more" },
	{ KEY_KILL_WAIT, offsetof(struct options, kill_wait_ms), 1, 100, HOUR_MS, false,
	        "100ms to 1h" },
	{ KEY_LAUNCH_TIMEOUT, offsetof(struct options, launch_timeout_ms), 1, SECOND_MS, HOUR_MS,
	        false, "1s to 1h" },
	{ KEY_GPU_TIMEOUT, offsetof(struct options, gpu_timeout_ms), 1, 100, HOUR_MS, false,
	        "100ms to 1h" },
	{ KEY_GPU_RECHECK, offsetof(struct options, gpu_recheck_ms), 1, 100, 30 * DAY_MS, true,
	        "0s, or 100ms to 30d" },
	{ KEY_PROGRAM_TIMEOUT, offsetof(struct options, program_timeout_ms), 1, 100, HOUR_MS, false,
	        "100ms to 1h" },
	{ KEY_HEALTH_INTERVAL, offsetof(struct options, health_interval_s), SECOND_MS, SECOND_MS,
	        30 * DAY_MS, false, "1s to 30d" },
	{ KEY_SAMPLE, offsetof(struct options, sample_ms), 1, 100, HOUR_MS, true,
	        "0s, or 100ms to 1h" },
};

static int take_time(
        struct options *o, const struct time_option *t, const char *arg, struct error *err)
{
	uint64_t ms;

	if (duration_parse_ms(arg, DURATION_BARE_REFUSED, &ms, err) < 0)
		return -1;
	if ((ms || !t->off) && (ms < t->least_ms || ms > t->most_ms))
		return error_set(err, ERR_USAGE, "%s: %s is possible", arg, t->possible);
	*(uint64_t *)((char *)o + t->at) = ms / t->unit_ms;
	return 0;
}

/* --- options with a meaning of their own ----------------------------------------------------- */

static int take_simulate(struct options *o, const char *arg, struct error *err)
{
	o->simulate = true;
	return count_parse(arg, 0, HOSTLIST_MAX, &o->simulate_n, err);
}

static int take_programs(struct options *o, const char *arg, struct error *err)
{
	o->programs_of = strcmp(arg, "none") == 0 ? NULL : arg;
	if (o->programs_of && *arg != '/')
		return error_set(err, ERR_USAGE, "'%s' is no absolute path, nor none", arg);
	return 0;
}

static int take_over_memory(struct options *o, const char *arg, struct error *err)
{
	o->over_memory_said = true;
	return overmem_parse(arg, &o->over_memory, err);
}

static int take_share_users(struct options *o, const char *arg, struct error *err)
{
	o->share_users_one = strcmp(arg, "one") == 0;
	if (!o->share_users_one && strcmp(arg, "any") != 0)
		return error_set(err, ERR_USAGE, "'%s' is none of one, any", arg);
	return 0;
}

static int take_private(struct options *o, const char *arg, struct error *err)
{
	return private_parse(arg, &o->private_kinds, err);
}

static int take_private_tmp(struct options *o, const char *arg, struct error *err)
{
	return size_parse_mb(arg, SIZE_BARE_REFUSED, &o->private_tmp_mb, err);
}

static int take_rlimit(struct options *o, const char *arg, struct error *err)
{
	if (o->n_rlimits == RLIMITS_MAX)
		return error_set(err, ERR_USAGE, "at most %d", RLIMITS_MAX);
	return rlimits_parse(arg, &o->rlimits[o->n_rlimits++], err);
}

static int take_containment(struct options *o, const char *arg, struct error *err)
{
	const char *unknown = contain_words_lack(arg, CONTAIN_WORDS);

	if (unknown)
		return error_set(err, ERR_USAGE, "no '%s'; there are " CONTAIN_WORDS, unknown);
	o->containment = arg;
	return 0;
}

static int take_device(struct options *o, const char *arg, struct error *err)
{
	if (*arg != '/')
		return error_set(err, ERR_USAGE, "'%s' is no absolute path", arg);
	if (o->devices.n_all == DEVICE_GRANTS_ALL_MAX)
		return error_set(err, ERR_USAGE, "at most %d", DEVICE_GRANTS_ALL_MAX);
	o->devices.all[o->devices.n_all++] = arg;
	return 0;
}

static int take_spool_min_free(struct options *o, const char *arg, struct error *err)
{
	return size_parse_mb(arg, SIZE_BARE_REFUSED, &o->spool_min_free_mb, err);
}

static int take_max_processes(struct options *o, const char *arg, struct error *err)
{
	return count_parse(arg, 1, INT32_MAX, &o->max_processes, err);
}

static const struct {
	int key;
	int (*take)(struct options *o, const char *arg, struct error *err);
} others[] = {
	{ KEY_SIMULATE, take_simulate },
	{ KEY_PROGRAMS, take_programs },
	{ KEY_OVER_MEMORY, take_over_memory },
	{ KEY_SHARE_USERS, take_share_users },
	{ KEY_PRIVATE, take_private },
	{ KEY_PRIVATE_TMP, take_private_tmp },
	{ KEY_RLIMIT, take_rlimit },
	{ KEY_CONTAINMENT, take_containment },
	{ KEY_DEVICE, take_device },
	{ KEY_MAX_PROCESSES, take_max_processes },
	{ KEY_SPOOL_MIN_FREE, take_spool_min_free },
};

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

/* 1: accepted; 0: no such option; -1: the error says what would be right. */
static int take(struct options *o, int key, const char *arg, struct error *err)
{
	for (size_t i = 0; i < COUNT(texts); i++) {
		if (texts[i].key == key) {
			*(const char **)((char *)o + texts[i].at) = arg;
			return 1;
		}
	}
	for (size_t i = 0; i < COUNT(flags); i++) {
		if (flags[i].key == key) {
			*(bool *)((char *)o + flags[i].at) = flags[i].value;
			return 1;
		}
	}
	for (size_t i = 0; i < COUNT(times); i++) {
		if (times[i].key == key)
			return take_time(o, &times[i], arg, err) < 0 ? -1 : 1;
	}
	for (size_t i = 0; i < COUNT(others); i++) {
		if (others[i].key == key)
			return others[i].take(o, arg, err) < 0 ? -1 : 1;
	}
	return 0;
}

/* `text` is the whole line; does not return. */
static void refuse(const char *text)
{
	fprintf(stderr, "%s: error: %s\n", program_invocation_short_name, text);
	exit(EXIT_USAGE);
}

static const char *name_of(int key)
{
	const struct argp_option *row = rows;

	while (row->key != key)
		row++;
	return row->name;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct error err;
	int taken;

	if (key == ARGP_KEY_ARG) {
		error_set(&err, ERR_USAGE, "unexpected argument '%s'", arg);
		refuse(err.text);
	}
	taken = take(state->input, key, arg, &err);
	if (taken < 0) {
		error_wrap(&err, "--%s", name_of(key));
		refuse(err.text);
	}
	return taken ? 0 : ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = rows,
	.parser = parse,
	.doc = "The agent of gpusched on a node: starts, watches and ends runs as the controller "
	       "orders.\v"
	       "It can be ended and started again at any time: runs go on.",
};

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
	o->log = is_file ? absolute(log) : xstrdup(log);
}

void options_parse(struct options *o, int argc, char **argv)
{
	struct error err;

	*o = (struct options){ .log_level = "info",
		.kill_wait_ms = 60000,
		.launch_timeout_ms = CHILD_LAUNCH_MS,
		.spool_min_free_mb = SPOOL_MIN_FREE_MB,
		.gpu_timeout_ms = PROBE_TIMEOUT_MS,
		.gpu_recheck_ms = 600000,
		.programs_of = SYSCONFDIR "/gpusched",
		.program_timeout_ms = PROGRAM_TIMEOUT_MS,
		.health_interval_s = 300,
		.sample_ms = 10000,
		.over_memory = OVERMEM_END };
	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, o);
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
}
