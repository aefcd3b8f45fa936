/* conf_keys.c - every key of gpusched.conf: see conf_schema.h on adding one */
#include "common/conf/conf_schema.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"
#include "common/conf/nodewords.h"
#include "common/gpu/gpu_topology.h"
#include "common/gpu/gpufault.h"
#include "common/gpu/gpus_by_type.h"
#include "common/gpu/gpuset.h"
#include "common/job/rlimit.h"
#include "common/net/msg.h"

#define S     1000 /* ms */
#define MS    1
#define HOUR  3600u
#define DAY   86400u
#define KIB   (UINT64_C(1) << 10)
#define MIB   (UINT64_C(1) << 20)
#define TIB_M (UINT64_C(1) << 20) /* a TiB, in MiB */
#define PATH  4095

/* Where a field is, and how wide. */
#define AT(type, field) .at = offsetof(type, field), .width = sizeof(((type *)0)->field)

/* --- what a text may be ---------------------------------------------------------------------- */

static int only(const char *value, const char *more, const char *what, struct error *err)
{
	static const char usual[] =
	        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

	for (const char *p = value; *p; p++) {
		if (!strchr(usual, *p) && (p == value || !strchr(more, *p)))
			return error_set(err, ERR_CONFIG, "%s", what);
	}
	return 0;
}

static int check_name(const char *value, struct error *err)
{
	return only(value, "-_.",
	        "must be letters, digits, '-', '_' and '.', a letter or digit first", err);
}

static int check_host(const char *value, struct error *err)
{
	/* IPv6 addresses may start with a colon, and have a zone. */
	return only(value + strspn(value, ":"), "-_.:%", "must be a host name or an address", err);
}

static int check_user(const char *value, struct error *err)
{
	return only(*value == '_' ? value + 1 : value, "-_.@$", "must be a user name", err);
}

static int check_path(const char *value, struct error *err)
{
	if (*value && *value != '/')
		return error_set(err, ERR_CONFIG, "must be a path from the root: /...");
	return 0;
}

static int check_health(const char *value, struct error *err)
{
	struct gpu_fault_rule rule;

	return gpu_fault_rule_parse(value, &rule, err);
}

static int check_log(const char *value, struct error *err)
{
	if (*value != '/' && strcmp(value, "stderr") && strcmp(value, "syslog"))
		return error_set(
		        err, ERR_CONFIG, "must be \"stderr\", \"syslog\" or a path from the root");
	return 0;
}

static int check_log_level(const char *value, struct error *err)
{
	static const char *const levels[] = { "error", "warning", "info", "debug" };

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (!strcmp(value, levels[i]))
			return 0;
	}
	return error_set(err, ERR_CONFIG, "must be \"error\", \"warning\", \"info\" or \"debug\"");
}

static int check_who(const char *value, const char *what, struct error *err)
{
	value += *value == '@' || *value == '_';
	return *value ? only(value, "-_.@$\\+", what, err) : error_set(err, ERR_CONFIG, "%s", what);
}

static int check_member(const char *value, struct error *err)
{
	if (!strcmp(value, "*"))
		return 0;
	return check_who(value, "must be a user, a Unix group as in \"@staff\", or \"*\"", err);
}

/* "*" is not allowed for a role. */
static int check_principal(const char *value, struct error *err)
{
	return check_who(value, "must be a user, or a Unix group as in \"@staff\"", err);
}

static int check_private(const char *value, struct error *err)
{
	if (strcmp(value, "jobs") != 0 && strcmp(value, "usage") != 0)
		return error_set(err, ERR_CONFIG, "must be \"jobs\" or \"usage\"");
	return 0;
}

/* Is it one of the words between ", "? */
static int check_word(const char *value, const char *words, struct error *err)
{
	size_t n;

	for (const char *at = words; *at; at += n + strspn(at + n, ", ")) {
		n = strcspn(at, ",");
		if (strlen(value) == n && !memcmp(at, value, n))
			return 0;
	}
	return error_set(err, ERR_CONFIG, "must be one of %s", words);
}

static int check_containment(const char *value, struct error *err)
{
	return check_word(value, CONTAIN_WORDS, err);
}

static int check_private_kind(const char *value, struct error *err)
{
	return check_word(value, PRIVATE_WORDS, err);
}

static int check_over_memory(const char *value, struct error *err)
{
	return *value ? check_word(value, OVERMEM_WORDS, err) : 0;
}

static int check_rlimit(const char *value, struct error *err)
{
	struct rlimit_said said;

	if (rlimit_parse(value, &said, err) == 0)
		return 0;
	err->code = ERR_CONFIG;
	return -1;
}

static int check_device(const char *value, struct error *err)
{
	if (strncmp(value, "/dev/", 5) != 0 || strstr(value, "/.."))
		return error_set(err, ERR_CONFIG, "must be a device file, as in /dev/kfd");
	return 0;
}

static int check_program(const char *value, struct error *err)
{
	if (!*value || (*value == '/' && !strstr(value, "/..")))
		return 0;
	return error_set(err, ERR_CONFIG, "must be an absolute path without \"..\"");
}

static int check_gpu_devices(const char *value, struct error *err)
{
	char **names;
	size_t n;

	if (!*value)
		return 0;
	if (check_device(value, err) < 0)
		return -1;
	if (hostlist_expand_paths(value, CONF_MAX_GPUS_PER_NODE, &names, &n, err) < 0)
		return error_set(err, ERR_CONFIG,
		        "must be a list of at most %d device files of one folder, as in "
		        "/dev/nvidia[0-7]",
		        CONF_MAX_GPUS_PER_NODE);
	free(names);
	return 0;
}

/* --- the rows -------------------------------------------------------------------------------- */

#define YEAR      (365 * DAY)
#define COUNT_MAX 1000000000 /* in limits: more than there can be */
#define PRICE_MAX 1000000

#define KEYS(rows)                .v = (rows), .n = sizeof(rows) / sizeof((rows)[0])
#define IN_GROUP(type, field, of) CONF_GROUP, .at = offsetof(type, field), .group = &(of)

#define LIM(field) AT(struct conf_limits, field), .optional = true, .reload = true
static const struct conf_key limits_keys[] = {
	{ "gpus", CONF_AMOUNTS, .max = GPUS_BY_TYPE_COUNT_MAX, LIM(gpus),
	        .help = "GPUs at a time, by type" },
	{ "gpu_mem", CONF_SIZE, .unit = MIB, .max = TIB_M * TIB_M, LIM(gpu_mem_mb),
	        .help = "nominal memory of GPUs at a time" },
	{ "cpus", CONF_COUNT, .max = COUNT_MAX, LIM(cpus), .help = "CPUs at a time" },
	{ "mem", CONF_SIZE, .unit = MIB, .max = TIB_M * TIB_M, LIM(mem_mb),
	        .help = "host memory at a time" },
	{ "nodes", CONF_COUNT, .max = COUNT_MAX, LIM(nodes), .help = "nodes at a time" },
	{ "running", CONF_COUNT, .max = COUNT_MAX, LIM(running), .help = "jobs that run" },
	{ "queued", CONF_COUNT, .max = COUNT_MAX, LIM(queued),
	        .help = "jobs that wait or run; beyond, submits are refused" },
	{ "time", CONF_TIME, .unit = S, .min = 1, .max = 10 * YEAR, LIM(time_s),
	        .help = "the time limit of each job" },
	{ "gpu_hours", CONF_GPU_HOURS, .min = 60, .max = YEAR, LIM(gpu_hours),
	        .n_at = offsetof(struct conf_limits, gpu_hours_window_s),
	        .help = "GPU-hours within any time of the length given" },
};
static const struct conf_keys limits_group = { "limits", KEYS(limits_keys) };

/* The limits of three scopes, which partitions, accounts and QOS have alike. */
#define LIMITS(type)                                                                  \
	{ "limits", IN_GROUP(type, limits, limits_group), .reload = true,             \
		.help = "limits of all its jobs together" },                          \
	        { "per_user", IN_GROUP(type, per_user, limits_group), .reload = true, \
		        .help = "limits of all its jobs of one user" },               \
	{                                                                             \
		"per_job", IN_GROUP(type, per_job, limits_group),                     \
		        .reload = true, .help = "limits of each of its jobs"          \
	}

#define QUOTA(field) AT(struct conf_quota, field), .reload = true
static const struct conf_key quota_keys[] = {
	{ "guaranteed", CONF_AMOUNTS, .max = GPUS_BY_TYPE_COUNT_MAX, .optional = true,
	        QUOTA(guaranteed), .help = "GPUs that it can always have; lent while idle" },
	{ "limit", CONF_AMOUNTS, .max = GPUS_BY_TYPE_COUNT_MAX, .optional = true, QUOTA(limit),
	        .help = "GPUs that it can have with what it borrows" },
	{ "lend", CONF_AMOUNTS, .max = GPUS_BY_TYPE_COUNT_MAX, .optional = true, QUOTA(lend),
	        .help = "most of the guaranteed that is lent; a type not given: all" },
	{ "weight", CONF_REAL, "1", .unit = 1000, .min = 1, .max = 1000000 * 1000, QUOTA(weight),
	        .help = "its part of what is borrowed, among its siblings" },
};
static const struct conf_keys quota_group = { "quota", KEYS(quota_keys) };

static const struct conf_key top_keys[] = {
	{ "cluster", CONF_TEXT, .min = 1, .max = 64, .check = check_name, AT(struct conf, cluster),
	        .help = "the cluster's name; jobs are signed for it" },
	{ "default_account", CONF_TEXT, "", .max = 64, .check = check_name,
	        AT(struct conf, default_account_name), .reload = true,
	        .help = "of users whom no account lists; empty: they have none" },
};

#define CTL(field) AT(struct conf, controller.field)
static const struct conf_key controller_keys[] = {
	{ "host", CONF_TEXT, .min = 1, .max = 255, .check = check_host, CTL(host),
	        .help = "where agents and commands find gctld" },
	{ "port", CONF_COUNT, "7320", .min = 1, .max = 65535, CTL(port), .help = "its TCP port" },
	{ "listen", CONF_TEXT, "", .max = 255, .check = check_host, CTL(listen),
	        .help = "the address that gctld listens on; empty: all" },
	{ "user", CONF_TEXT, "gpusched", .min = 1, .max = 64, .check = check_user, CTL(user),
	        .help = "the user that gctld runs as; only it can read what clients send" },
	{ "agent_user", CONF_TEXT, "root", .min = 1, .max = 64, .check = check_user,
	        CTL(agent_user), .reload = true,
	        .help = "besides root, the user that may speak for a node" },
	{ "state_dir", CONF_TEXT, LOCALSTATEDIR "/lib/gpusched", .min = 1, .max = PATH,
	        .check = check_path, CTL(state_dir), .help = "the folder of gctld's database" },
	{ "pid_file", CONF_TEXT, "", .max = PATH, .check = check_path, CTL(pid_file),
	        .help = "where gctld writes its process id; empty: nowhere" },
	{ "log", CONF_TEXT, "stderr", .min = 1, .max = PATH, .check = check_log, CTL(log),
	        .reload = true, .help = "where gctld logs: stderr, syslog or a file" },
	{ "log_level", CONF_TEXT, "info", .max = PATH, .check = check_log_level, CTL(log_level),
	        .reload = true, .help = "how much: error, warning, info or debug" },
	{ "munge_socket", CONF_TEXT, "", .max = 107, .check = check_path, CTL(munge_socket),
	        .help = "the socket of munged; empty: the one that libmunge knows" },
	{ "munge_socket_2", CONF_TEXT, "", .max = 107, .check = check_path, CTL(munge_socket_2),
	        .help = "that of a second one, with another key, while the key is replaced" },
	{ "fence", CONF_TEXT, "", .max = PATH, .check = check_path, CTL(fence), .reload = true,
	        .help = "program that makes sure a node is off, called with its name; empty: "
	                "none" },
	{ "fence_timeout", CONF_TIME, "60s", .unit = S, .min = 1, .max = HOUR, CTL(fence_timeout_s),
	        .reload = true, .help = "how long it may take" },
	{ "mail_program", CONF_TEXT, "", .max = PATH, .check = check_path, CTL(mail_program),
	        .reload = true,
	        .help = "program that sends mail, called as mail -s SUBJECT ADDRESS; empty: none" },
	{ "heartbeat", CONF_TIME, "10s", .unit = MS, .min = 100, .max = 5 * 60 * S,
	        CTL(heartbeat_ms), .help = "how often an agent that has nothing to tell tells so" },
	{ "node_timeout", CONF_TIME, "60s", .unit = S, .min = 1, .max = DAY, CTL(node_timeout_s),
	        .reload = true, .help = "a node not heard from for so long is unknown" },
	{ "unknown_is_off", CONF_TIME, "never", "never", .unit = S, .min = 1, .max = 365 * DAY,
	        CTL(unknown_is_off_s), .reload = true,
	        .help = "a node unknown for so long is taken to be off" },
	{ "signature_age", CONF_TIME, "14-00:00:00", .unit = S, .min = 60, .max = 365 * DAY,
	        CTL(signature_age_s), .reload = true,
	        .help = "how old the signature of a job may be when it starts" },
	{ "max_jobs", CONF_COUNT, "1000000", .min = 1, .max = 100000000, CTL(max_jobs),
	        .reload = true, .help = "jobs that gctld holds; beyond, submits are refused" },
	{ "max_steps", CONF_COUNT, "40000", .min = 1, .max = 1000000, CTL(max_steps),
	        .reload = true, .help = "steps of one attempt of a job; further ones are not kept" },
	{ "max_script", CONF_SIZE, "4M", .unit = KIB, .min = 1, .max = MSG_SCRIPT_MAX / 1024, CTL(max_script_kb),
	        .reload = true, .help = "the largest job script" },
	{ "keep_ended", CONF_TIME, "5m", .unit = S, .min = 0, .max = 30 * DAY, CTL(keep_ended_s),
	        .reload = true, .help = "how long gqueue --all shows a job that has ended" },
	{ "keep_scripts", CONF_TIME, "0s", .unit = S, .min = 0, .max = 10 * YEAR,
	        CTL(keep_scripts_s), .reload = true,
	        .help = "scripts and environments are erased so long after a job's end" },
	{ "keep_history", CONF_TIME, "forever", "forever", .unit = S, .min = 1, .max = 30 * YEAR,
	        CTL(keep_history_s), .reload = true,
	        .help = "how long gacct and greport know a job that has ended" },
	{ "keep_events", CONF_TIME, "forever", "forever", .unit = S, .min = 1, .max = 30 * YEAR,
	        CTL(keep_events_s), .reload = true,
	        .help = "how long gctl events knows who changed what" },
	{ "kill_invalid_dep", CONF_BOOL, "false", CTL(kill_invalid_dep), .reload = true,
	        .help = "cancel jobs whose dependency can never come true, unless they say" },
	{ "min_free", CONF_SIZE, "256M", .unit = MIB, .min = 0, .max = TIB_M, CTL(min_free_mb),
	        .reload = true, .help = "with less room in state_dir, submits are refused" },
	{ "max_sessions", CONF_COUNT, "16384", .min = 16, .max = 500000, CTL(max_sessions),
	        .reload = true, .help = "connections of users; those of agents come on top" },
	{ "sessions_per_user", CONF_COUNT, "4096", .min = 4, .max = 500000, CTL(sessions_per_user),
	        .reload = true, .help = "connections of one user" },
	{ "streams_per_user", CONF_COUNT, "512", .min = 1, .max = 16384, CTL(streams_per_user),
	        .reload = true, .help = "connections of glog and grun to runs, of one user" },
	{ "requests_per_user", CONF_SIZE, "128M", .unit = 1, .min = 8 * MIB, .max = TIB_M * MIB,
	        CTL(requests_per_user), .reload = true,
	        .help = "requests of one user that are being worked on" },
	{ "waits_per_user", CONF_SIZE, "512M", .unit = 1, .min = MIB, .max = TIB_M * MIB,
	        CTL(waits_per_user), .reload = true,
	        .help = "what open requests of one user hold: waits, parts of bulks" },
	{ "unread_per_user", CONF_SIZE, "64M", .unit = 1, .min = MIB, .max = TIB_M * MIB,
	        CTL(unread_per_user), .reload = true,
	        .help = "answers that one user has not read yet" },
	{ "memory_per_user", CONF_SIZE, "2G", .unit = 1, .min = MIB, .max = TIB_M * MIB,
	        CTL(memory_per_user), .reload = true,
	        .help = "what jobs of one user take of the controller's memory" },
	{ "scripts_per_user", CONF_SIZE, "8G", .unit = 1, .min = MIB, .max = TIB_M * MIB,
	        CTL(scripts_per_user), .reload = true,
	        .help = "scripts and environments of one user on the controller's disk" },
	{ "workers", CONF_COUNT, "4", .min = 1, .max = 64, CTL(workers),
	        .help = "threads for what blocks: munge, key exchange, names" },
};

#define ROLE(field) .optional = true, AT(struct conf_roles, field), .reload = true
static const struct conf_key role_keys[] = {
	{ "admins", CONF_TEXTS, .min = 1, .max = 64, .check = check_principal, ROLE(admins),
	        .help = "administrators besides root: users, \"@group\"" },
	{ "operators", CONF_TEXTS, .min = 1, .max = 64, .check = check_principal, ROLE(operators),
	        .help = "who operates nodes, partitions and all jobs: users, \"@group\"" },
	{ "web_users", CONF_TEXTS, .min = 1, .max = 64, .check = check_principal, ROLE(web_users),
	        .help = "the users as which gweb runs: they see all and change nothing" },
	{ "private_data", CONF_TEXTS, .min = 1, .max = 64, .check = check_private,
	        ROLE(private_data), .help = "of what users see their own alone: jobs, usage" },
};

static const struct conf_key gpu_type_keys[] = {
	{ "name", CONF_TEXT, .min = 1, .max = GPUS_BY_TYPE_NAME_MAX, .check = gpus_by_type_check,
	        AT(struct conf_gpu_type, name), .reload = true, .help = "what jobs call the type" },
	{ "mem", CONF_SIZE, "0", .unit = MIB, .min = 0, .max = 16 * TIB_M,
	        AT(struct conf_gpu_type, mem_mb), .reload = true,
	        .help = "nominal memory of one GPU; 0: not given" },
	{ "price", CONF_REAL, "0", .unit = 1, .max = PRICE_MAX, AT(struct conf_gpu_type, price),
	        .reload = true, .help = "what one GPU costs for an hour" },
	{ "match", CONF_TEXT, "", .max = 96, AT(struct conf_gpu_type, match), .reload = true,
	        .help = "GPUs that are found under such a name are of this type; with * and ?" },
	{ "mig_of", CONF_TEXT, "", .max = GPUS_BY_TYPE_NAME_MAX, AT(struct conf_gpu_type, mig_of),
	        .reload = true, .help = "it is a MIG profile of GPUs of that type" },
	{ "mem_reserve", CONF_SIZE, "0", .unit = MIB, .min = 0, .max = 16 * TIB_M,
	        AT(struct conf_gpu_type, mem_reserve_mb), .reload = true,
	        .help = "memory of each GPU that is not given to those who share it" },
};

static const char *const share_words[] = { "no", "watch", "mps", NULL };
static const char *const share_users_words[] = { "any", "one", NULL };
static const char *const health_jobs_words[] = { "run", "requeue", "end", NULL };

static int check_mig_gpus(const char *value, struct error *err)
{
	uint64_t set;

	return gpuset_read(value, &set, err);
}

static int check_near(const char *value, struct error *err)
{
	struct near_said said;

	return near_said_read(value, &said, err);
}

static const struct conf_key mig_keys[] = {
	{ "gpus", CONF_TEXT, .min = 1, .max = 255, .check = check_mig_gpus,
	        AT(struct conf_mig, gpus), .reload = true,
	        .help = "which GPUs of the host, as in 0-3,6" },
	{ "layout", CONF_GPUS, .max = CONF_MAX_GPUS_PER_NODE, AT(struct conf_mig, layout),
	        .n_at = offsetof(struct conf_mig, n_layout), .reload = true,
	        .help = "the MIG instances that each of them is cut into, by type" },
};
static const struct conf_keys mig_group = { "mig", KEYS(mig_keys) };

static const char *const idle_words[] = { "note", "mail", "end", NULL };

#define IDLE(field) AT(struct conf_idle, field), .reload = true
static const struct conf_key idle_keys[] = {
	{ "below", CONF_PERCENT, "5%", .min = 1, .max = 100, IDLE(below_pct),
	        .help = "GPUs are idle that compute less than this" },
	{ "for", CONF_TIME, "2:00:00", .unit = S, .min = 1, .max = YEAR, IDLE(for_s),
	        .help = "after so long of it something is done" },
	{ "action", CONF_WORD, "note", .words = idle_words, IDLE(action),
	        .help = "note it, mail to the owner besides, or end the job" },
	{ "end_cpu_bound", CONF_BOOL, "false", IDLE(end_cpu_bound),
	        .help = "end jobs too that want half a CPU or more meanwhile" },
};
static const struct conf_keys idle_group = { "idle_gpu", KEYS(idle_keys) };

#define AGENT(field) AT(struct conf_node, agent.field), .reload = true
/* A program of the site's, and how long it may take. */
#define PROGRAM(key, kind, what)                                                                 \
	{ key, CONF_TEXT, "", .max = 255, .check = check_program, AGENT(programs[kind].path),    \
		.help = what },                                                                  \
	{                                                                                        \
		key "_timeout", CONF_TIME, "0s",                                                 \
		        .unit = MS, .min = 0, .max = HOUR * S, AGENT(programs[kind].timeout_ms), \
		        .help = "how long " key " may take; 0s: as its agent says"               \
	}
/* node_defaults has the same keys without the name. */
static const struct conf_key node_keys[] = {
	{ "name", CONF_TEXT, .min = 1, .max = 1 << 20, AT(struct conf_node, name), .reload = true,
	        .help = "a node, or several as a hostlist" },
	{ "cpus", CONF_COUNT, "0", .min = 0, .max = 65536, AT(struct conf_node, cpus),
	        .reload = true, .help = "CPUs of the node; 0: as the agent finds them" },
	{ "mem", CONF_SIZE, "0", .unit = MIB, .min = 0, .max = 1024 * TIB_M,
	        AT(struct conf_node, mem_mb), .reload = true,
	        .help = "host memory of the node; 0: as the agent finds it" },
	{ "gpus", CONF_GPUS, "", .max = CONF_MAX_GPUS_PER_NODE, AT(struct conf_node, gpus),
	        .n_at = offsetof(struct conf_node, n_gpus), .reload = true,
	        .help = "GPUs of the node by type, by index; empty: as the agent finds them" },
	{ "mig", CONF_GROUPS, AT(struct conf_node, mig), .group = &mig_group, .optional = true,
	        .n_at = offsetof(struct conf_node, n_mig), .each = sizeof(struct conf_mig),
	        .reload = true, .help = "GPUs that are cut into MIG instances, and how" },
	{ "gpu_near", CONF_TEXTS, .min = 1, .max = 255, .check = check_near, .optional = true,
	        AT(struct conf_node, gpu_near), .reload = true,
	        .help = "how close its GPUs are to each other, at least: \"NV4:0-3\"" },
	{ "features", CONF_TEXTS, .min = 1, .max = 64, .check = check_name, .optional = true,
	        AT(struct conf_node, features), .reload = true,
	        .help = "what jobs can ask for with --constraint and --prefer" },
	{ "share", CONF_WORD, "no", .words = share_words, AT(struct conf_node, share),
	        .reload = true,
	        .help = "parts of its GPUs for jobs: watch: use is watched; mps: held by MPS, "
	                "too" },
	{ "share_users", CONF_WORD, "any", .words = share_users_words,
	        AT(struct conf_node, share_users), .reload = true,
	        .help = "whose jobs share a GPU at a time: any users', or one user's" },
	{ "health_jobs", CONF_WORD, "run", .words = health_jobs_words,
	        AT(struct conf_node, health_jobs), .reload = true,
	        .help = "jobs on a GPU that a fault has drained: they run on, start anew, end" },
	{ "health_recheck", CONF_TIME, "10m", .unit = MS, .min = 0, .max = 30 * DAY * S,
	        AT(struct conf_node, health_recheck_ms), .reload = true,
	        .help = "look so often whether such a GPU is well again; 0s: never" },
	{ "health_events", CONF_TEXTS, .min = 1, .max = 64, .check = check_health, .optional = true,
	        AT(struct conf_node, health_events), .reload = true,
	        .help = "faults of GPUs that are handled otherwise: \"xid-94=note\"" },
	{ "containment", CONF_TEXTS, .min = 1, .max = 16, .check = check_containment,
	        .optional = true, AGENT(containment),
	        .help = "what must hold runs here; without it nothing is started" },
	{ "private", CONF_TEXTS, .min = 1, .max = 16, .check = check_private_kind, .optional = true,
	        AGENT(private_kinds),
	        .help = "what a run shares with no other: tmp, shm, ipc, proc" },
	{ "private_tmp", CONF_SIZE, "0", .unit = MIB, .min = 0, .max = TIB_M, AGENT(private_tmp_mb),
	        .help = "a run's private /tmp is in memory, and so large at most; 0: on disk" },
	{ "rlimits", CONF_TEXTS, .min = 1, .max = 64, .check = check_rlimit, .optional = true,
	        AGENT(rlimits), .help = "limits of jobs' processes, as in nofile=1024:524288" },
	{ "max_processes", CONF_COUNT, "0", .min = 0, .max = INT32_MAX, AGENT(max_processes),
	        .help = "processes and threads of one run; 0: as its agent says" },
	{ "gpu_devices", CONF_TEXT, "", .max = 1024, .check = check_gpu_devices, AGENT(gpu_devices),
	        .help = "device files of GPUs that are not found, in order" },
	{ "devices", CONF_TEXTS, .min = 6, .max = 255, .check = check_device, .optional = true,
	        AGENT(devices), .help = "device files that every run may open; no GPUs" },
	{ "over_memory", CONF_TEXT, "", .max = 8, .check = check_over_memory, AGENT(over_memory),
	        .help = "who takes more than his part of a GPU's memory: note, warn or end" },
	{ "sample_every", CONF_TIME, "0s", .unit = MS, .min = 0, .max = HOUR * S, AGENT(sample_ms),
	        .help = "look at what runs use at least so often; 0s: as its agent says" },
	{ "idle_sample", CONF_TIME, "0s", .unit = MS, .min = 0, .max = DAY * S,
	        AGENT(idle_sample_ms),
	        .help = "sample GPUs that no run holds at least so often; 0s: as its agent says" },
	{ "kill_wait", CONF_TIME, "0s", .unit = MS, .min = 0, .max = HOUR * S, AGENT(kill_wait_ms),
	        .help = "what was killed hangs after so long; 0s: as its agent says" },
	{ "gpu_recheck", CONF_TIME, "0s", .unit = MS, .min = 0, .max = 30 * DAY * S,
	        AGENT(gpu_recheck_ms),
	        .help = "look at the GPUs at least so often; 0s: as its agent says" },
	{ "spool_min_free", CONF_SIZE, "0", .unit = MIB, .min = 0, .max = TIB_M,
	        AGENT(spool_min_free_mb),
	        .help = "who leaves less in the node's spool is ended; 0: as its agent says" },
	PROGRAM("prolog", PROGRAM_PROLOG, "runs as root before each run, of the agent's folder"),
	PROGRAM("task_prolog", PROGRAM_TASK_PROLOG, "runs as the owner right before each script"),
	PROGRAM("task_epilog", PROGRAM_TASK_EPILOG, "runs as the owner when nothing is left"),
	PROGRAM("epilog", PROGRAM_EPILOG, "runs as root after each run"),
	PROGRAM("scrub", PROGRAM_SCRUB, "runs as root last of all, to clear a run's GPUs"),
	PROGRAM("health_check", PROGRAM_HEALTH, "while it fails nothing is started; runs as root"),
	{ "health_interval", CONF_TIME, "0s", .unit = S, .min = 0, .max = 30 * DAY,
	        AGENT(health_interval_s),
	        .help = "between two runs of health_check; 0s: as its agent says" },
	{ "idle_gpu", IN_GROUP(struct conf_node, idle, idle_group), .reload = true,
	        .given_at = offsetof(struct conf_node, idle.given),
	        .help = "what becomes of jobs that leave its GPUs idle, where no partition says" },
};

static const struct conf_key switch_keys[] = {
	{ "switch", CONF_TEXT, .min = 1, .max = 64, .check = check_name,
	        AT(struct conf_switch, name), .reload = true, .help = "its name" },
	{ "nodes", CONF_TEXT, "", .max = 1 << 20, AT(struct conf_switch, node_names),
	        .reload = true, .help = "of a leaf: its nodes as a hostlist, or ALL" },
	{ "switches", CONF_TEXTS, .min = 1, .max = 64, .check = check_name, .optional = true,
	        AT(struct conf_switch, switches_names), .reload = true,
	        .help = "of any other: the switches that it joins" },
};

/* In the order of their enums. */
static const char *const preempt_words[] = { "off", "requeue", "cancel", NULL };
static const char *const place_words[] = { "pack", "spread", NULL };
static const char *const state_words[] = { "up", "drain", "down", "inactive", NULL };

static const struct conf_key per_gpu_keys[] = {
	{ "cpus", CONF_COUNT, "0", .max = 65536, AT(struct conf_partition, per_gpu_cpus),
	        .reload = true, .help = "CPUs for each GPU; 0: not given" },
	{ "mem", CONF_SIZE, "0", .unit = MIB, .max = 1024 * TIB_M,
	        AT(struct conf_partition, per_gpu_mem_mb), .reload = true,
	        .help = "host memory for each GPU; 0: not given" },
};
static const struct conf_keys per_gpu_group = { "per_gpu", KEYS(per_gpu_keys) };

#define PART(field) AT(struct conf_partition, field), .reload = true
static const struct conf_key partition_keys[] = {
	{ "name", CONF_TEXT, .min = 1, .max = 64, .check = check_name,
	        AT(struct conf_partition, name), .reload = true, .help = "what jobs call it" },
	{ "nodes", CONF_TEXT, .min = 1, .max = 1 << 20, AT(struct conf_partition, node_names),
	        .reload = true, .help = "its nodes as a hostlist, or ALL" },
	{ "default", CONF_BOOL, "false", AT(struct conf_partition, is_default), .reload = true,
	        .help = "for jobs that name no partition; one at most" },
	{ "tier", CONF_COUNT, "1", .min = 0, .max = 65535, AT(struct conf_partition, tier),
	        .reload = true, .help = "jobs of a higher tier are served first" },
	{ "default_time", CONF_TIME, "0s", .unit = S, .min = 0, .max = 10 * 365 * DAY,
	        AT(struct conf_partition, default_time_s), .reload = true,
	        .help = "time limit of jobs that ask for none; 0s: max_time" },
	{ "max_time", CONF_TIME, "unlimited", "unlimited", .unit = S, .min = 1,
	        .max = 10 * 365 * DAY, AT(struct conf_partition, max_time_s), .reload = true,
	        .help = "the longest time limit that a job may ask for" },
	{ "grace", CONF_TIME, "30s", .unit = S, .min = 0, .max = DAY,
	        AT(struct conf_partition, grace_s), .reload = true,
	        .help = "from TERM to KILL, when a run must end" },
	{ "default_mem", CONF_SIZE, "0", .unit = MIB, .min = 0, .max = 1024 * TIB_M,
	        AT(struct conf_partition, default_mem_mb), .reload = true,
	        .help = "host memory of jobs that ask for none; 0: none is booked" },
	{ "state", CONF_WORD, "up", .words = state_words, PART(state),
	        .help = "does it take jobs, and does it start them?" },
	{ "priority", CONF_COUNT, "1", .max = 1000000, PART(priority),
	        .help = "counts as its share of the largest partition priority" },
	{ "preempt_mode", CONF_WORD, "off", .words = preempt_words, PART(preempt_mode),
	        .help = "what becomes of its jobs that are stopped for others" },
	{ "min_run", CONF_TIME, "0s", .unit = S, .max = YEAR, PART(min_run_s),
	        .help = "so long after its start no job is preempted" },
	{ "place", CONF_WORD, "pack", .words = place_words, PART(place),
	        .help = "fill nodes up, or spread jobs over them" },
	{ "plan_depth", CONF_COUNT, "100", .max = 10000, PART(plan_depth),
	        .help = "so many that wait are given a planned start" },
	{ "require_gpu", CONF_BOOL, "false", PART(require_gpu),
	        .help = "are jobs without GPUs refused?" },
	{ "services", CONF_BOOL, "false", PART(services),
	        .help = "does it take services, which have no time limit?" },
	{ "per_gpu", CONF_GROUP, .group = &per_gpu_group, .reload = true,
	        .help = "what jobs that do not say get for each of their GPUs" },
	{ "idle_gpu", IN_GROUP(struct conf_partition, idle, idle_group), .reload = true,
	        .given_at = offsetof(struct conf_partition, idle.given),
	        .help = "what becomes of jobs that leave their GPUs idle; not given: nothing" },
	{ "accounts", CONF_TEXTS, .min = 1, .max = 64, .check = check_name, .optional = true,
	        PART(accounts_names),
	        .help = "who may use it, with all accounts below; none: all" },
	LIMITS(struct conf_partition),
	{ "per_job_min", IN_GROUP(struct conf_partition, per_job_min, limits_group), .reload = true,
	        .help = "what each of its jobs must ask for, at least" },
};

#define ACCT(field) AT(struct conf_account, field), .reload = true
static const struct conf_key account_keys[] = {
	{ "name", CONF_TEXT, .min = 1, .max = 64, .check = check_name, ACCT(name),
	        .help = "what jobs call it" },
	{ "parent", CONF_TEXT, "", .max = 64, .check = check_name, ACCT(parent_name),
	        .help = "the account that it is a part of; empty: none" },
	{ "shares", CONF_COUNT, "1", .min = 1, .max = COUNT_MAX, ACCT(shares),
	        .help = "its part of its parent, among its siblings" },
	{ "members", CONF_TEXTS, .min = 1, .max = 64, .check = check_member, .optional = true,
	        ACCT(members), .help = "who may use it: users, \"@group\", or \"*\" for all" },
	{ "coordinators", CONF_TEXTS, .min = 1, .max = 64, .check = check_principal,
	        .optional = true, ACCT(coordinators),
	        .help = "who holds, cancels and ranks its jobs: users, \"@group\"" },
	{ "required_labels", CONF_TEXTS, .min = 1, .max = 64, .check = check_name, .optional = true,
	        ACCT(required_labels), .help = "labels that its jobs must have" },
	{ "quota", IN_GROUP(struct conf_account, quota, quota_group), .reload = true,
	        .given_at = offsetof(struct conf_account, quota.given),
	        .help = "GPUs among its siblings: kept for it, lent and borrowed" },
	LIMITS(struct conf_account),
};

#define QOS(field) AT(struct conf_qos, field), .reload = true
static const struct conf_key qos_keys[] = {
	{ "name", CONF_TEXT, .min = 1, .max = 64, .check = check_name, QOS(name),
	        .help = "what jobs call it" },
	{ "default", CONF_BOOL, "false", QOS(is_default),
	        .help = "for jobs that name no QOS; one at most" },
	{ "priority", CONF_INTEGER, "0", .max = 1000000, QOS(priority),
	        .help = "counts as its share of the largest QOS priority" },
	{ "max_wait", CONF_TIME, "none", "none", .unit = S, .min = 1, .max = YEAR, QOS(max_wait_s),
	        .help = "priority climbs as a job has waited nearly so long" },
	{ "preempts", CONF_TEXTS, .min = 1, .max = 64, .check = check_name, .optional = true,
	        QOS(preempts_names), .help = "QOS whose jobs it may stop, and those they may" },
	{ "accounts", CONF_TEXTS, .min = 1, .max = 64, .check = check_name, .optional = true,
	        QOS(accounts_names), .help = "who may use it, with all accounts below; none: all" },
	{ "usage_factor", CONF_REAL, "1", .unit = 1, .max = 1000, QOS(usage_factor),
	        .help = "what its jobs use is billed so many times" },
	{ "min_run", CONF_TIME, .unit = S, .max = YEAR, .optional = true, QOS(min_run_s),
	        .help = "so long no job is preempted; none: as its partition says" },
	LIMITS(struct conf_qos),
};

#define WEIGHT(field) .max = COUNT_MAX, AT(struct conf_priority, field), .reload = true
static const struct conf_key weight_keys[] = {
	{ "age", CONF_COUNT, "1000", WEIGHT(age), .help = "of the time that a job has waited" },
	{ "fair_share", CONF_COUNT, "10000", WEIGHT(fair_share),
	        .help = "of what account and user have used against their shares" },
	{ "size", CONF_COUNT, "500", WEIGHT(size), .help = "of the GPUs and CPUs asked for" },
	{ "partition", CONF_COUNT, "1000", WEIGHT(partition),
	        .help = "of the partition's priority" },
	{ "qos", CONF_COUNT, "5000", WEIGHT(qos), .help = "of the QOS's priority" },
	{ "wait_target", CONF_COUNT, "5000", WEIGHT(wait_target),
	        .help = "of the time waited as a part of max_wait" },
};
static const struct conf_keys weights_group = { "weights", KEYS(weight_keys) };

static const struct conf_key priority_keys[] = {
	{ "weights", CONF_GROUP, .group = &weights_group, .reload = true,
	        .help = "what the factors of a job's priority, each 0 to 1, are worth" },
	{ "age_max", CONF_TIME, "7-00:00:00", .unit = S, .min = 1, .max = 10 * YEAR,
	        AT(struct conf_priority, age_max_s), .reload = true,
	        .help = "a job that has waited so long has the whole factor age" },
	{ "half_life", CONF_TIME, "14-00:00:00", "never", .unit = S, .min = 1, .max = 10 * YEAR,
	        AT(struct conf_priority, half_life_s), .reload = true,
	        .help = "after so long usage counts half in fair-share" },
};

static const struct conf_key price_keys[] = {
	{ "currency", CONF_TEXT, "", .max = 16, AT(struct conf_prices, currency), .reload = true,
	        .help = "shown with what jobs cost" },
	{ "cpu", CONF_REAL, "0", .unit = 1, .max = PRICE_MAX, AT(struct conf_prices, cpu),
	        .reload = true, .help = "what one CPU costs for an hour" },
	{ "mem_gb", CONF_REAL, "0", .unit = 1, .max = PRICE_MAX, AT(struct conf_prices, mem_gb),
	        .reload = true, .help = "what one G of host memory costs for an hour" },
};

static const struct conf_key licence_keys[] = {
	{ "name", CONF_TEXT, .min = 1, .max = 64, .check = check_name,
	        AT(struct conf_licence, name), .reload = true, .help = "what jobs call it" },
	{ "count", CONF_COUNT, .max = COUNT_MAX, AT(struct conf_licence, count), .reload = true,
	        .help = "so many are in use at a time, at most" },
};

#define RAW(field)    offsetof(struct conf_raw, field)
#define LIST(v, n, t) .list = true, .at = RAW(v), .n_at = RAW(n), .size = sizeof(t)

/* In the order they are read: the GPU types come before what counts GPUs. */
const struct conf_section conf_sections[] = {
	{ "", { KEYS(top_keys) }, .at = RAW(conf) },
	{ "controller", { KEYS(controller_keys) }, .at = RAW(conf) },
	{ "roles", { KEYS(role_keys) }, .at = RAW(conf.roles) },
	{ "prices", { KEYS(price_keys) }, .at = RAW(conf.prices) },
	{ "gpu_types", { KEYS(gpu_type_keys) },
	        LIST(conf.gpu_types, conf.n_gpu_types, struct conf_gpu_type),
	        .max = CONF_MAX_GPU_TYPES },
	{ "node_defaults",
	        { .v = node_keys + 1, .n = sizeof(node_keys) / sizeof(node_keys[0]) - 1 },
	        .defaults = true, .at = RAW(node_defaults) },
	{ "nodes", { KEYS(node_keys) }, LIST(entries, n_entries, struct conf_node),
	        .max = CONF_MAX_NODES, .required = true, .hosts = true,
	        .defaults_at = RAW(node_defaults) },
	{ "topology", { KEYS(switch_keys) },
	        LIST(conf.switches, conf.n_switches, struct conf_switch),
	        .max = CONF_MAX_SWITCHES },
	{ "partitions", { KEYS(partition_keys) },
	        LIST(conf.partitions, conf.n_partitions, struct conf_partition),
	        .max = CONF_MAX_PARTITIONS, .required = true },
	{ "accounts", { KEYS(account_keys) },
	        LIST(conf.accounts, conf.n_accounts, struct conf_account),
	        .max = CONF_MAX_ACCOUNTS },
	{ "qos", { KEYS(qos_keys) }, LIST(conf.qos, conf.n_qos, struct conf_qos),
	        .max = CONF_MAX_QOS },
	{ "priority", { KEYS(priority_keys) }, .at = RAW(conf.priority) },
	{ "licences", { KEYS(licence_keys) },
	        LIST(conf.licences, conf.n_licences, struct conf_licence),
	        .max = CONF_MAX_LICENCES },
};
const size_t conf_n_sections = sizeof(conf_sections) / sizeof(conf_sections[0]);

/* --- walking them ---------------------------------------------------------------------------- */

const struct conf_section *conf_section_find(const char *name)
{
	for (size_t i = 0; i < conf_n_sections; i++) {
		if (!strcmp(conf_sections[i].name, name))
			return &conf_sections[i];
	}
	return NULL;
}

const struct conf_key *conf_key_find(const struct conf_keys *keys, const char *name)
{
	for (size_t i = 0; i < keys->n; i++) {
		if (!strcmp(keys->v[i].name, name))
			return &keys->v[i];
	}
	return NULL;
}

size_t conf_section_count(const struct conf_section *section, const struct conf_raw *raw)
{
	size_t n = 1;

	if (section->list)
		memcpy(&n, (const char *)raw + section->n_at, sizeof(n));
	return n;
}

void *conf_section_base(const struct conf_section *section, const struct conf_raw *raw, size_t i)
{
	char *base = (char *)raw + section->at;

	if (!section->list)
		return base;
	memcpy(&base, (const char *)raw + section->at, sizeof(base));
	return base ? base + i * section->size : NULL;
}

const char *conf_section_name(
        const struct conf_section *section, const struct conf_raw *raw, size_t i)
{
	const char *name;

	memcpy(&name, (const char *)conf_section_base(section, raw, i) + section->keys.v[0].at,
	        sizeof(name));
	return name;
}

void *conf_group_base(const struct conf_key *key, const void *base)
{
	return (char *)base + key->at;
}

/* The row of one key, whose path starts with `prefix`. */
static void print_key(const struct conf_key *key, const char *prefix, FILE *out)
{
	struct strbuf path = { 0 }, limits = { 0 }, def = { 0 };

	strbuf_addf(&path, "%s%s", prefix, key->name);
	if (key->def)
		strbuf_addf(&def, conf_value_quoted(key) ? "\"%s\"" : "%s", key->def);
	else
		strbuf_adds(&def, key->optional ? "(none)" : "(required)");
	conf_value_limits(key, &limits);
	fprintf(out, "%-36s %-9s %-20s %-36s %-8s %s\n", path.s, conf_type_name(key), def.s,
	        limits.len ? limits.s : "-", key->reload ? "reload" : "restart", key->help);
	strbuf_free(&path);
	strbuf_free(&limits);
	strbuf_free(&def);
}

static void print_group(const struct conf_keys *keys, const char *prefix, FILE *out)
{
	for (size_t i = 0; i < keys->n; i++) {
		struct strbuf inner = { 0 };

		if (keys->v[i].group) {
			strbuf_addf(&inner, "%s%s.", prefix, keys->v[i].name);
			print_group(keys->v[i].group, inner.s, out);
			strbuf_free(&inner);
		} else {
			print_key(&keys->v[i], prefix, out);
		}
	}
}

void conf_print_keys(FILE *out)
{
	for (size_t i = 0; i < conf_n_sections; i++) {
		const struct conf_section *s = &conf_sections[i];
		struct strbuf prefix = { 0 };

		strbuf_addf(&prefix, "%s%s%s", s->name, s->list ? "[]" : "", *s->name ? "." : "");
		print_group(&s->keys, prefix.s, out);
		strbuf_free(&prefix);
	}
}
