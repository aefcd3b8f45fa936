/* conf_keys.c - every key of gpusched.conf: see conf_schema.h on adding one */
#include "common/conf_schema.h"

#include <string.h>

#include "common/amount.h"
#include "common/hostlist.h"

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

/* --- the rows -------------------------------------------------------------------------------- */

static const struct conf_key top_keys[] = {
	{ "cluster", CONF_TEXT, .min = 1, .max = 64, .check = check_name, AT(struct conf, cluster),
	        .help = "the cluster's name; jobs are signed for it" },
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
	{ "fence", CONF_TEXT, "", .max = PATH, .check = check_path, CTL(fence), .reload = true,
	        .help = "program that makes sure a node is off, called with its name; empty: "
	                "none" },
	{ "fence_timeout", CONF_TIME, "60s", .unit = S, .min = 1, .max = HOUR, CTL(fence_timeout_s),
	        .reload = true, .help = "how long it may take" },
	{ "heartbeat", CONF_TIME, "10s", .unit = MS, .min = 100, .max = 5 * 60 * S,
	        CTL(heartbeat_ms), .reload = true,
	        .help = "how often an agent that has nothing to tell tells so" },
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
	{ "max_script", CONF_SIZE, "2M", .unit = KIB, .min = 1, .max = 3 * 1024, CTL(max_script_kb),
	        .reload = true, .help = "the largest job script" },
	{ "keep_ended", CONF_TIME, "5m", .unit = S, .min = 0, .max = 30 * DAY, CTL(keep_ended_s),
	        .reload = true, .help = "how long gqueue --all shows a job that has ended" },
	{ "min_free", CONF_SIZE, "256M", .unit = MIB, .min = 0, .max = TIB_M, CTL(min_free_mb),
	        .reload = true, .help = "with less room in state_dir, submits are refused" },
	{ "workers", CONF_COUNT, "4", .min = 1, .max = 64, CTL(workers),
	        .help = "threads for what blocks: munge, key exchange, names" },
};

static const struct conf_key gpu_type_keys[] = {
	{ "name", CONF_TEXT, .min = 1, .max = AMOUNT_TYPE_MAX, .check = amount_type_check,
	        AT(struct conf_gpu_type, name), .reload = true, .help = "what jobs call the type" },
	{ "mem", CONF_SIZE, "0", .unit = MIB, .min = 0, .max = 16 * TIB_M,
	        AT(struct conf_gpu_type, mem_mb), .reload = true,
	        .help = "nominal memory of one GPU; 0: not given" },
};

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
	        .help = "GPUs of the node by type, in the order of their indices" },
};

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
};

#define KEYS(rows)    .keys = (rows), .n_keys = sizeof(rows) / sizeof((rows)[0])
#define RAW(field)    offsetof(struct conf_raw, field)
#define LIST(v, n, t) .list = true, .at = RAW(v), .n_at = RAW(n), .size = sizeof(t)

/* In the order they are read: what others refer to comes first. */
const struct conf_section conf_sections[] = {
	{ "", KEYS(top_keys), .at = RAW(conf) },
	{ "controller", KEYS(controller_keys), .at = RAW(conf) },
	{ "gpu_types", KEYS(gpu_type_keys),
	        LIST(conf.gpu_types, conf.n_gpu_types, struct conf_gpu_type),
	        .max = CONF_MAX_GPU_TYPES },
	{ "node_defaults", .keys = node_keys + 1,
	        .n_keys = sizeof(node_keys) / sizeof(node_keys[0]) - 1, .defaults = true,
	        .at = RAW(node_defaults) },
	{ "nodes", KEYS(node_keys), LIST(entries, n_entries, struct conf_node),
	        .max = CONF_MAX_NODES, .required = true, .hosts = true,
	        .defaults_at = RAW(node_defaults) },
	{ "partitions", KEYS(partition_keys),
	        LIST(conf.partitions, conf.n_partitions, struct conf_partition),
	        .max = CONF_MAX_PARTITIONS, .required = true },
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

const struct conf_key *conf_key_find(const struct conf_section *section, const char *name)
{
	for (size_t i = 0; i < section->n_keys; i++) {
		if (!strcmp(section->keys[i].name, name))
			return &section->keys[i];
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
	return base + i * section->size;
}

void conf_print_keys(FILE *out)
{
	for (size_t i = 0; i < conf_n_sections; i++) {
		const struct conf_section *s = &conf_sections[i];

		for (size_t k = 0; k < s->n_keys; k++) {
			const struct conf_key *key = &s->keys[k];
			struct strbuf path = { 0 }, limits = { 0 }, def = { 0 };

			strbuf_addf(&path, "%s%s%s%s", s->name, s->list ? "[]" : "",
			        *s->name ? "." : "", key->name);
			if (key->def)
				strbuf_addf(
				        &def, conf_value_quoted(key) ? "\"%s\"" : "%s", key->def);
			conf_value_limits(key, &limits);
			fprintf(out, "%-28s %-7s %-20s %-36s %-8s %s\n", path.s,
			        conf_type_name(key->type), key->def ? def.s : "(required)",
			        limits.len ? limits.s : "-", key->reload ? "reload" : "restart",
			        key->help);
			strbuf_free(&path);
			strbuf_free(&limits);
			strbuf_free(&def);
		}
	}
}
