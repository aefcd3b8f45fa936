/* options.c - see options.h */
#include "config.h"

#include "noded/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/command_line.h"
#include "common/base/daemon.h"
#include "common/base/hostlist.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "noded/contain/comma_lists.h"
#include "noded/contain/private_mounts.h"
#include "noded/contain/process_tracking.h"
#include "noded/exec/job_process.h"
#include "noded/gpu/probe_watchdog.h"
#include "noded/privilege.h"
#include "noded/usage/spool_usage.h"

const char *argp_program_version = "gnoded (" PACKAGE_NAME ") " PACKAGE_VERSION;

#define SERVICE_ADDRESS_MAX 253 /* a host name */

#define SECOND_MS ((uint64_t)1000)
#define HOUR_MS   (3600 * SECOND_MS)
#define DAY_MS    (24 * HOUR_MS)

/* --- values ----------------------------------------------------------------------------------- */

static CMD_SETTER(unset_flag)
{
	*(bool *)field = false;
	return 0;
}

static CMD_SETTER(set_size)
{
	return size_parse_mb(value, SIZE_BARE_REFUSED, field, err);
}

static CMD_SETTER(set_processes)
{
	return count_parse(value, 1, INT32_MAX, field, err);
}

static CMD_SETTER(set_private)
{
	return private_parse(value, field, err);
}

/* Times, in which unit they are kept and what is possible; 0 too if `off` is set. */
enum {
	TIME_AGE,
	TIME_LAUNCH,
	TIME_HOUR,
	TIME_RECHECK,
	TIME_SAMPLE,
	TIME_IDLE_SAMPLE,
	TIME_HEALTH,
};
static const struct {
	uint64_t unit_ms, least_ms, most_ms;
	bool off;
	const char *possible;
} times[] = {
	[TIME_AGE] = { SECOND_MS, SECOND_MS, UINT64_MAX, false, "1s or more" },
	[TIME_LAUNCH] = { 1, SECOND_MS, HOUR_MS, false, "1s to 1h" },
	[TIME_HOUR] = { 1, 100, HOUR_MS, false, "100ms to 1h" },
	[TIME_RECHECK] = { 1, 100, 30 * DAY_MS, true, "0s, or 100ms to 30d" },
	[TIME_SAMPLE] = { 1, 100, HOUR_MS, true, "0s, or 100ms to 1h" },
	[TIME_IDLE_SAMPLE] = { 1, 100, DAY_MS, true, "0s, or 100ms to 1d" },
	[TIME_HEALTH] = { SECOND_MS, SECOND_MS, 30 * DAY_MS, false, "1s to 30d" },
};

static CMD_SETTER(set_time)
{
	uint64_t ms;

	if (duration_parse_ms(value, DURATION_BARE_REFUSED, &ms, err) < 0)
		return -1;
	if ((ms || !times[option->what].off) &&
	        (ms < times[option->what].least_ms || ms > times[option->what].most_ms))
		return error_set(err, ERR_USAGE, "%s: %s is possible", value,
		        times[option->what].possible);
	*(uint64_t *)field = ms / times[option->what].unit_ms;
	return 0;
}

/* --- values that set more than one field ------------------------------------------------------ */

static CMD_SETTER(take_simulate)
{
	struct options *o = field;

	o->simulate = true;
	return count_parse(value, 0, HOSTLIST_MAX, &o->simulate_n, err);
}

static CMD_SETTER(take_programs)
{
	struct options *o = field;

	o->launcher.programs_of = strcmp(value, "none") == 0 ? NULL : value;
	if (o->launcher.programs_of && *value != '/')
		return error_set(err, ERR_USAGE, "'%s' is no absolute path, nor none", value);
	return 0;
}

static CMD_SETTER(take_over_memory)
{
	struct options *o = field;

	o->launcher.over_memory_said = true;
	return overmem_parse(value, &o->launcher.over_memory, err);
}

static CMD_SETTER(take_share_users)
{
	struct options *o = field;

	o->launcher.share_users_one = strcmp(value, "one") == 0;
	if (!o->launcher.share_users_one && strcmp(value, "any") != 0)
		return error_set(err, ERR_USAGE, "'%s' is none of one, any", value);
	return 0;
}

static CMD_SETTER(take_rlimit)
{
	struct options *o = field;

	if (o->launcher.n_rlimits == RLIMITS_MAX)
		return error_set(err, ERR_USAGE, "at most %d", RLIMITS_MAX);
	return rlimits_parse(value, &o->rlimits[o->launcher.n_rlimits++], err);
}

static CMD_SETTER(take_containment)
{
	struct options *o = field;
	const char *unknown = comma_list_lacks(value, CONTAIN_WORDS);

	if (unknown)
		return error_set(err, ERR_USAGE, "no '%s'; there are " CONTAIN_WORDS, unknown);
	o->launcher.containment = value;
	return 0;
}

static CMD_SETTER(take_device)
{
	struct options *o = field;

	if (*value != '/')
		return error_set(err, ERR_USAGE, "'%s' is no absolute path", value);
	if (o->launcher.devices.n_all == DEVICE_GRANTS_ALL_MAX)
		return error_set(err, ERR_USAGE, "at most %d", DEVICE_GRANTS_ALL_MAX);
	o->launcher.devices.all[o->launcher.devices.n_all++] = value;
	return 0;
}

static CMD_SETTER(take_readers)
{
	struct options *o = field;

	return output_readers_parse(value, &o->launcher.readers, err);
}

/* As in 20000-20999. Below 1024 only root may listen. */
static CMD_SETTER(take_service_ports)
{
	struct options *o = field;
	char *low = xstrdup(value), *high = strchr(low, '-');
	uint64_t first = 0, last = 0;
	int rc = -1;

	if (high)
		*high++ = '\0';
	if (!high)
		error_set(err, ERR_USAGE, "'%s' is not LOW-HIGH", value);
	else if (count_parse(low, 1024, UINT16_MAX, &first, err) == 0 &&
	         count_parse(high, first, UINT16_MAX, &last, err) == 0)
		rc = 0;
	free(low);
	o->launcher.service_port_low = (uint32_t)first;
	o->launcher.service_port_high = (uint32_t)last;
	return rc;
}

/* Clients get it as it is; a name is fine too. */
static CMD_SETTER(take_service_address)
{
	struct options *o = field;
	size_t n = strlen(value);

	o->service_address = value;
	if (n == 0 || n > SERVICE_ADDRESS_MAX ||
	        value[strspn(
	                value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-_")])
		return error_set(err, ERR_USAGE, "'%s' is no address and no host name", value);
	return 0;
}

/* --- the table -------------------------------------------------------------------------------- */

/* To add one: a row here, a field in options.h, the same group of man/gnoded.8. With ALL `set` gets
 * all options. */
#define ROW(member, name, letter, arg, set, help) \
	CMD_ROW(struct options, member, name, letter, arg, set, help)
#define TIME(member, name, which, help) \
	{ name, 0, "TIME", help, set_time, offsetof(struct options, member), which, 0 }
#define ALL(name, arg, set, help) { name, 0, arg, help, set, 0, 0, 0 }

static const struct cmd_option rows[] = {
	CMD_HEADING("Identity:"),
	ROW(node, "node", 'N', "NAME", cmd_set_text,
	        "its name in gpusched.conf (default: the short host name)"),
	ROW(conf, "config", 'f', "FILE", cmd_set_text,
	        "names the controller: client.conf or gpusched.conf (default: as for commands)"),
	ROW(user, "user", 0, "NAME", cmd_set_text,
	        "runs the half that has the network (default: " PRIVILEGE_USER
	        "; root: as root, without any capability)"),
	ROW(launcher.munge_socket_2, "munge-socket-2", 0, "PATH", cmd_set_text,
	        "a second munge daemon, with the other key, while the key is replaced "
	        "(default: munge_socket_2 of the configuration)"),

	CMD_HEADING("Directories:"),
	ROW(rundir, "rundir", 0, "DIR", cmd_set_text,
	        "records of runs, on tmpfs (default: /run/gpusched)"),
	ROW(spool, "spool", 0, "DIR", cmd_set_text,
	        "directories of runs, and saved ends (default: " LOCALSTATEDIR "/spool/gpusched)"),
	ROW(launcher.spool_min_free_mb, "spool-min-free", 0, "SIZE", set_size,
	        "end the run that fills the spool if less is free; 0: never (default: 256M)"),

	CMD_HEADING("Starts and ends of runs:"),
	ROW(launcher.allow_root, "allow-root", 0, NULL, cmd_set_flag,
	        "run root's jobs too (default: refuse them)"),
	TIME(launcher.signature_age_s, "signature-age", TIME_AGE,
	        "refuse jobs that were signed longer ago (default: 14d)"),
	TIME(launcher.launch_timeout_ms, "launch-timeout", TIME_LAUNCH,
	        "until a run's program must be executed, without its task prolog (default: 1m)"),
	TIME(launcher.kill_wait_ms, "kill-wait", TIME_HOUR,
	        "drain the node if a killed process lives longer (default: 1m)"),
	ROW(launcher.shepherd, "shepherd", 0, "FILE", cmd_set_text,
	        "the program that watches a run (default: gshepherd of this installation)"),

	CMD_HEADING("What confines runs:"),
	ALL("containment", "WORD,...", take_containment,
	        "do not start unless these are available: " CONTAIN_WORDS
	        " (default: use what there is)"),
	ROW(launcher.cgroup, "cgroup", 0, "PATH", cmd_set_text,
	        "run jobs below this cgroup; none: without cgroups (default: what the "
	        "host offers)"),
	ROW(launcher.private_kinds, "private", 0, "WORD,...", set_private,
	        "what each run has for itself: " PRIVATE_WORDS " (default: nothing)"),
	ROW(launcher.private_tmp_mb, "private-tmp", 0, "SIZE", set_size,
	        "keep a run's private /tmp in memory, at most so large (default: on disk)"),
	ROW(tmp_dir, "tmp-dir", 0, "DIR", cmd_set_text,
	        "the file system whose size jobs ask for with --tmp (default: where "
	        "private /tmps are, else /tmp)"),
	ROW(launcher.max_processes, "max-processes", 0, "N", set_processes,
	        "processes and threads of one run (default: 16384)"),
	ALL("rlimit", "NAME=SOFT[:HARD]", take_rlimit,
	        "a resource limit of jobs, as in nofile=1024:524288; once for each "
	        "(default: see gnoded(8))"),
	ALL("device", "FILE", take_device, "a device file that every run may open; up to 64 times"),

	CMD_HEADING("GPUs:"),
	ROW(launcher.devices.gpus, "gpu-devices", 0, "LIST", cmd_set_text,
	        "their device files in order, as in /dev/dri/renderD[128-135] (default: "
	        "found through the driver)"),
	TIME(launcher.gpu_recheck_ms, "gpu-recheck", TIME_RECHECK,
	        "between two checks of the GPUs; 0s: only at the start (default: 10m)"),
	TIME(launcher.gpu_timeout_ms, "gpu-timeout", TIME_HOUR,
	        "give up a GPU that does not answer for longer (default: 20s)"),
	TIME(launcher.sample_ms, "sample-every", TIME_SAMPLE,
	        "between two samples of what runs use; 0s: never (default: 10s)"),
	TIME(launcher.idle_sample_ms, "idle-sample", TIME_IDLE_SAMPLE,
	        "between two samples of GPUs while no run holds one; 0s: never (default: 1m)"),
	ALL("over-memory", "note|warn|end", take_over_memory,
	        "when a run exceeds its part of a GPU's memory (default: end)"),
	ALL("share-users", "one|any", take_share_users,
	        "the users whose runs may share one GPU (default: any)"),
	ROW(launcher.gpu_jobs, "gpu-jobs", 0, "DIR", cmd_set_text,
	        "say there which jobs are on which GPU, for dcgm-exporter (default: nowhere)"),
	ROW(launcher.mps, "mps", 0, "FILE", cmd_set_text,
	        "the control program of NVIDIA's MPS (default: " LAUNCHER_MPS ")"),

	CMD_HEADING("Services:"),
	ALL("service-ports", "LOW-HIGH", take_service_ports,
	        "the ports that replicas get, as in 20000-20999 (default: none)"),
	ALL("service-address", "ADDR", take_service_address,
	        "where clients reach replicas here (default: this end of the connection "
	        "to the controller)"),
	TIME(launcher.service_age_s, "service-age", TIME_AGE,
	        "refuse replicas of services that were signed longer ago (default: 90d)"),

	CMD_HEADING("Output of jobs:"),
	ALL("output-readers", "USER,...", take_readers,
	        "these users, as gweb's, may read the end of what a job writes whose owner agreed "
	        "(default: none)"),

	CMD_HEADING("Programs of the site (default: none):"),
	ROW(launcher.programs[PROGRAM_PROLOG], "prolog", 0, "FILE", cmd_set_text,
	        "run as root before each run"),
	ROW(launcher.programs[PROGRAM_TASK_PROLOG], "task-prolog", 0, "FILE", cmd_set_text,
	        "run as the owner before each job's script"),
	ROW(launcher.programs[PROGRAM_TASK_EPILOG], "task-epilog", 0, "FILE", cmd_set_text,
	        "run as the owner when nothing is left of the job"),
	ROW(launcher.programs[PROGRAM_EPILOG], "epilog", 0, "FILE", cmd_set_text,
	        "run as root after each run"),
	ROW(launcher.programs[PROGRAM_SCRUB], "scrub", 0, "FILE", cmd_set_text,
	        "run as root last of all, to clear the run's GPUs"),
	ROW(launcher.programs[PROGRAM_HEALTH], "health-check", 0, "FILE", cmd_set_text,
	        "start nothing while this program fails"),
	TIME(launcher.health_interval_s, "health-interval", TIME_HEALTH,
	        "between two health checks (default: 5m)"),
	TIME(launcher.program_timeout_ms, "program-timeout", TIME_HOUR,
	        "the longest time of each of these programs (default: 1m)"),
	ALL("programs", "DIR|none", take_programs,
	        "the folder of those that gpusched.conf may name (default: " SYSCONFDIR
	        "/gpusched)"),

	CMD_HEADING("The daemon:"),
	ROW(daemon, "foreground", 0, NULL, unset_flag, "stay in the foreground (the default)"),
	ROW(daemon, "daemon", 0, NULL, cmd_set_flag, "detach, and return when ready"),
	ROW(pid_file, "pid-file", 0, "FILE", cmd_set_text, "write the process id there"),
	ROW(log, "log", 0, "WHERE", cmd_set_text,
	        "stderr, syslog or a file (default: stderr; syslog with --daemon)"),
	ROW(log_level, "log-level", 0, "LEVEL", cmd_set_text,
	        "error, warning, info or debug (default: info)"),

	CMD_HEADING("Instead of a daemon:"),
	ROW(inventory, "inventory", 0, NULL, cmd_set_flag, "print what this node has, and exit"),
	ROW(json, "json", 0, NULL, cmd_set_flag, "with --inventory: as JSON"),
	ROW(test, "test", 0, NULL, cmd_set_flag,
	        "print what the controller would be told, and exit"),

	CMD_HEADING("Tests:"),
	ROW(pretend, "pretend", 0, "cpus=N,mem=SIZE", cmd_set_text,
	        "report this instead of what the node has"),
	ALL("simulate", "N", take_simulate,
	        "be N nodes whose runs exist only in name; 0: all of --nodes"),
	ROW(nodes, "nodes", 0, "LIST", cmd_set_text,
	        "their names, as in n[0001-9999] (default: n1, n2, ...)"),
	CMD_TABLE_END,
};

/* `text` is the whole line; does not return. */
static void refuse(const char *text)
{
	fprintf(stderr, "%s: error: %s\n", program_invocation_short_name, text);
	exit(EXIT_USAGE);
}

static error_t parse_key(int key, char *arg, struct argp_state *state)
{
	const struct cmd_option *row = tool_option(rows, key);
	struct error err;

	if (key == ARGP_KEY_ARG) {
		error_set(&err, ERR_USAGE, "unexpected argument '%s'", arg);
		refuse(err.text);
	}
	if (!row)
		return ARGP_ERR_UNKNOWN;
	if (row->set((char *)state->input + row->offset, row, arg, &err) < 0) {
		error_wrap(&err, "--%s", row->name);
		refuse(err.text);
	}
	return 0;
}

static void parse_args(struct options *o, int argc, char **argv)
{
	struct argp_option list[sizeof(rows) / sizeof(rows[0])] = { { 0 } };
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

	tool_argp(rows, 0, list);
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

/* Make copies of the strings of argv and of the defaults. */
static void own(struct options *o)
{
	const char *log = o->log ? o->log : o->daemon ? "syslog" : "stderr";
	bool is_file = strcmp(log, "stderr") != 0 && strcmp(log, "syslog") != 0;

	o->node = o->node ? xstrdup(o->node) : short_host_name();
	o->rundir = daemon_path(o->rundir ? o->rundir : "/run/gpusched");
	o->spool = daemon_path(o->spool ? o->spool : LOCALSTATEDIR "/spool/gpusched");
	o->pid_file = daemon_path(o->pid_file ? o->pid_file : "");
	o->launcher.gpu_jobs = daemon_path(o->launcher.gpu_jobs ? o->launcher.gpu_jobs : "");
	o->log = is_file ? daemon_path(log) : xstrdup(log);
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
