/* jobenv.c - see jobenv.h */
#include "noded/job/jobenv.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/taskset.h"
#include "common/base/xalloc.h"
#include "noded/job/hetenv.h"

#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"

/* Reserved names besides GPUSCHED_*: an owner's value here could contradict the GPUs that the job
 * was given. */
static const char *const gpu_names[] = {
	"CUDA_VISIBLE_DEVICES",
	"CUDA_DEVICE_ORDER",
	"NVIDIA_VISIBLE_DEVICES",
};

/* GPUSCHED_* names that stay the owner's: they tell the commands where the cluster is, so that a
 * job can use them as its owner did. (GPUSCHED_CLUSTER is ours, and has the same value.) */
static const char *const command_names[] = {
	"GPUSCHED_CONTROLLER",
	"GPUSCHED_CONTROLLER_USER",
	"GPUSCHED_CONF",
	"GPUSCHED_MUNGE_SOCKET",
	"GPUSCHED_RETRY",
};

/* If the owner's environment has this name, Slurm's names are set too. */
#define SLURM_MARK "SLURM_JOB_ID"

/* --- values: malloc'd, NULL: the variable is not there ---------------------------------------- */

typedef char *value_fn(const struct jobenv_in *in);

static char *number(uint64_t v)
{
	return xasprintf("%" PRIu64, v);
}

/* "0,2,3": the host's numbers for GPUs that were found, UUIDs for MIG instances, which have no
 * number; else the numbers of the configuration. */
static char *gpu_list(const struct jobenv_in *in)
{
	char *list = xstrdup("");

	for (size_t i = 0; i < in->order->n_gpus; i++) {
		const struct jobenv_gpu *gpu = in->gpus ? &in->gpus[i] : NULL;
		const char *comma = i ? "," : "";
		char *longer = gpu && gpu->mig ? xasprintf("%s%s%s", list, comma, gpu->uuid)
		                               : xasprintf("%s%s%u", list, comma,
		                                         gpu ? gpu->host : in->order->gpus[i]);

		free(list);
		list = longer;
	}
	return list;
}

/* "GPU-6f1c...,GPU-8a02..." */
static char *gpu_uuids(const struct jobenv_in *in)
{
	char *list = in->gpus ? xstrdup("") : NULL;

	for (size_t i = 0; list && i < in->order->n_gpus; i++) {
		char *longer = xasprintf("%s%s%s", list, i ? "," : "", in->gpus[i].uuid);

		free(list);
		list = longer;
	}
	return list;
}

/* As CUDA counts: the GPUs that the job can open, from 0. */
static char *cuda_list(const struct jobenv_in *in)
{
	size_t n = in->order->n_gpus, len = 0;
	char *s;

	if (in->mps_pipe && in->gpus) /* MPS has numbers of its own, but knows every UUID */
		return gpu_uuids(in);
	if (!in->own_numbers || (n && in->gpus && in->gpus[0].mig)) /* all are of one type */
		return gpu_list(in);
	s = xcalloc(n + 1, 12);
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(s + len, 12, i ? ",%zu" : "%zu", i);
	return s;
}

/* "void" is the container runtimes' word for "explicitly none"; they accept UUIDs as well. */
static char *nvidia_devices(const struct jobenv_in *in)
{
	if (!in->order->n_gpus)
		return xstrdup("void");
	return in->gpus ? gpu_uuids(in) : gpu_list(in);
}

static char *mps_percentage(const struct jobenv_in *in)
{
	uint32_t milli = in->order->share_milli;

	if (!in->mps_pipe || !milli)
		return NULL;
	return milli % 10 ? xasprintf("%" PRIu32 ".%" PRIu32, milli / 10, milli % 10)
	                  : xasprintf("%" PRIu32, milli / 10);
}

static char *mps_memory(const struct jobenv_in *in)
{
	const Gpusched__StartRun *o = in->order;
	uint64_t mb = o->share_burst_mb ? o->share_burst_mb : o->share_mb;

	return in->mps_pipe && mb ? xasprintf("0=%" PRIu64 "M", mb) : NULL;
}

static char *pci_order(const struct jobenv_in *in)
{
	(void)in;
	return xstrdup("PCI_BUS_ID");
}

static char *nnodes(const struct jobenv_in *in)
{
	return number(in->order->nnodes ? in->order->nnodes : 1);
}

static char *job_id(const struct jobenv_in *in)
{
	return number(in->order->run->job);
}

/* As Slurm has it: each task of an array has an id of its own. */
static char *slurm_job_id(const struct jobenv_in *in)
{
	return in->order->raw_id ? number(in->order->raw_id) : job_id(in);
}

static char *restarts(const struct jobenv_in *in)
{
	return number(in->order->run->attempt - 1);
}

static char *array_job(const struct jobenv_in *in)
{
	return in->spec->array[0] ? job_id(in) : NULL;
}

static char *array_task(const struct jobenv_in *in)
{
	return in->spec->array[0] ? number(in->order->run->task) : NULL;
}

/* One number of the array's set; NULL: it is no array. */
static char *array_number(const struct jobenv_in *in, uint32_t (*of)(const struct taskset *set))
{
	struct taskset set;
	uint32_t at_once;
	char *text;

	if (!in->spec->array[0] || taskset_parse_signed(in->spec->array, &set, &at_once, NULL))
		return NULL;
	text = number(of(&set));
	taskset_clear(&set);
	return text;
}

static uint32_t count_of(const struct taskset *set)
{
	return set->count;
}

static char *array_count(const struct jobenv_in *in)
{
	return array_number(in, count_of);
}

static char *array_min(const struct jobenv_in *in)
{
	return array_number(in, taskset_first);
}

static char *array_max(const struct jobenv_in *in)
{
	return array_number(in, taskset_last);
}

static char *array_step(const struct jobenv_in *in)
{
	return array_number(in, taskset_step);
}

static char *nodelist(const struct jobenv_in *in)
{
	return xstrdup(in->order->nodelist[0] ? in->order->nodelist : in->node);
}

static char *gpu_type(const struct jobenv_in *in)
{
	return in->order->n_gpus ? xstrdup(in->order->gpu_type) : NULL;
}

static char *gpu_mem(const struct jobenv_in *in)
{
	return in->order->n_gpus ? number(in->order->gpu_mem_mb) : NULL;
}

static char *gpu_mem_burst(const struct jobenv_in *in)
{
	uint64_t mb = in->order->share_burst_mb;

	return in->order->n_gpus && mb ? number(mb) : NULL;
}

/* In per cent: "25", "12.5". */
static char *gpu_share(const struct jobenv_in *in)
{
	uint32_t milli = in->order->share_milli;

	if (!milli)
		return NULL;
	return milli % 10 ? xasprintf("%u.%u", milli / 10, milli % 10) : number(milli / 10);
}

static char *start_time(const struct jobenv_in *in)
{
	return number((uint64_t)(in->start_time / 1000000));
}

static char *end_time(const struct jobenv_in *in)
{
	return in->order->time_limit_s
	               ? number((uint64_t)(in->start_time / 1000000) + in->order->time_limit_s)
	               : NULL;
}

static char *submit_dir(const struct jobenv_in *in)
{
	const ProtobufCBinaryData *cwd = &in->spec->cwd;

	return cwd->len ? xstrndup((const char *)cwd->data, cwd->len) : xstrdup("");
}

/* Identifies the run for clients that connect from another host; attempts are counted from 1. */
static char *attempt(const struct jobenv_in *in)
{
	return in->stepd ? number(in->order->run->attempt) : NULL;
}

static char *service(const struct jobenv_in *in)
{
	return in->spec->service ? xstrdup(in->spec->service->name) : NULL;
}

static char *slot(const struct jobenv_in *in)
{
	return in->spec->service ? number(in->order->run->task) : NULL;
}

static char *port(const struct jobenv_in *in)
{
	return in->n_ports ? number(in->ports[0]) : NULL;
}

static char *ports(const struct jobenv_in *in)
{
	char *list = NULL, *longer;

	for (size_t i = 0; i < in->n_ports; i++) {
		longer = xasprintf("%s%s%u", list ? list : "", list ? "," : "", in->ports[i]);
		free(list);
		list = longer;
	}
	return list;
}

static char *interrupt_file(const struct jobenv_in *in)
{
	return xasprintf("%s/%s", in->run_dir, JOBENV_INTERRUPT_FILE);
}

static char *slurm_restarts(const struct jobenv_in *in)
{
	return in->order->run->attempt > 1 ? restarts(in) : NULL;
}

static char *slurm_gpus(const struct jobenv_in *in)
{
	return in->order->n_gpus ? gpu_list(in) : NULL;
}

/* The value for each node, in Slurm's notation: "8", "8(x2)". */
static char *each_node(const struct jobenv_in *in, uint32_t what)
{
	return in->order->nnodes > 1 ? xasprintf("%u(x%u)", what, in->order->nnodes) : number(what);
}

static char *slurm_cpus_each(const struct jobenv_in *in)
{
	return each_node(in, in->order->cpus);
}

/* The value of this name in the owner's environment, `*n` bytes; NULL: it has none. */
static const char *signed_value(const struct jobenv_in *in, const char *name, size_t *n)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < in->spec->n_env; i++) {
		const ProtobufCBinaryData *e = &in->spec->env[i];

		if (e->len > len && !memcmp(e->data, name, len) && e->data[len] == '=') {
			*n = e->len - len - 1;
			return (const char *)e->data + len + 1;
		}
	}
	return NULL;
}

/* The same as a number; 0: there is none. */
static uint32_t signed_number(const struct jobenv_in *in, const char *name)
{
	size_t n;
	const char *value = signed_value(in, name, &n);
	char text[16] = "";

	if (!value || n >= 10)
		return 0;
	memcpy(text, value, n);
	return (uint32_t)strtoul(text, NULL, 10);
}

/* Tasks go to nodes in blocks, the first nodes have one more: "3(x2),2". */
static char *slurm_tasks_each(const struct jobenv_in *in)
{
	uint32_t nodes = in->order->nnodes ? in->order->nnodes : 1;
	uint32_t tasks = in->spec->steps ? signed_number(in, "SLURM_NTASKS") : 0;
	uint32_t each = tasks / nodes, more = tasks % nodes;
	char first[32], rest[32];

	if (tasks < nodes || !more)
		return each_node(in, tasks < nodes ? 1 : each);
	snprintf(first, sizeof(first), more > 1 ? "%u(x%u)" : "%u", each + 1, more);
	snprintf(rest, sizeof(rest), nodes - more > 1 ? "%u(x%u)" : "%u", each, nodes - more);
	return xasprintf("%s,%s", first, rest);
}

static char *slurm_zero(const struct jobenv_in *in)
{
	(void)in;
	return number(0);
}

static char *path(const struct jobenv_in *in)
{
	(void)in;
	return xstrdup(PATH_DEFAULT);
}

/* --- the table -------------------------------------------------------------------------------- */

enum when {
	OURS,             /* whatever the owner says */
	IF_MISSING,       /* only where the owner's environment has none */
	SLURM,            /* as OURS, where the owner asks for Slurm's names */
	SLURM_IF_MISSING, /* likewise as IF_MISSING */
};

/* The struct that has the value, and the type of its field. */
enum of { OF_IN, OF_ORDER, OF_SPEC, OF_RUN };
enum type { TYPE_TEXT, TYPE_U32, TYPE_U64 };

struct row {
	const char *name;
	enum when when;
	value_fn *value; /* NULL: it is a field */
	enum of of;
	size_t offset;
	enum type type;
	bool if_any; /* as Slurm does: 0 or an empty text means that the variable is not set */
};

#define VALUE(name, value, when) { name, when, value, 0, 0, 0, false }
#define FIELD(name, of, struct_, member, when, if_any)                                         \
	{ name, when, NULL, of, offsetof(struct_, member),                                     \
		_Generic(((const struct_ *)0)->member, uint32_t: TYPE_U32, uint64_t: TYPE_U64, \
			char *: TYPE_TEXT, const char *: TYPE_TEXT), if_any }
#define IN(name, member, when)    FIELD(name, OF_IN, struct jobenv_in, member, when, false)
#define ORDER(name, member, when) FIELD(name, OF_ORDER, Gpusched__StartRun, member, when, false)
#define ORDER_IF_ANY(name, member, when) \
	FIELD(name, OF_ORDER, Gpusched__StartRun, member, when, true)
#define SPEC(name, member, when) FIELD(name, OF_SPEC, Gpusched__SignedSpec, member, when, false)
#define RUN(name, member, when)  FIELD(name, OF_RUN, Gpusched__RunId, member, when, false)

static const struct row rows[] = {
	VALUE("CUDA_VISIBLE_DEVICES", cuda_list, OURS),
	VALUE("CUDA_DEVICE_ORDER", pci_order, OURS),
	VALUE("NVIDIA_VISIBLE_DEVICES", nvidia_devices, OURS),
	IN("CUDA_MPS_PIPE_DIRECTORY", mps_pipe, OURS),
	VALUE("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", mps_percentage, OURS),
	VALUE("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", mps_memory, OURS),
	RUN("GPUSCHED_JOB_ID", job, OURS),
	SPEC("GPUSCHED_JOB_NAME", name, OURS),
	IN("GPUSCHED_CLUSTER", cluster, OURS),
	IN("GPUSCHED_USER", user, OURS),
	ORDER("GPUSCHED_ACCOUNT", account, OURS),
	ORDER("GPUSCHED_PARTITION", partition, OURS),
	ORDER("GPUSCHED_QOS", qos, OURS),
	VALUE("GPUSCHED_RESTART_COUNT", restarts, OURS),
	VALUE("GPUSCHED_ARRAY_JOB_ID", array_job, OURS),
	VALUE("GPUSCHED_ARRAY_TASK_ID", array_task, OURS),
	VALUE("GPUSCHED_ARRAY_TASK_COUNT", array_count, OURS),
	VALUE("GPUSCHED_ARRAY_TASK_MIN", array_min, OURS),
	VALUE("GPUSCHED_ARRAY_TASK_MAX", array_max, OURS),
	VALUE("GPUSCHED_ARRAY_TASK_STEP", array_step, OURS),
	VALUE("GPUSCHED_NODELIST", nodelist, OURS),
	VALUE("GPUSCHED_NNODES", nnodes, OURS),
	IN("GPUSCHED_NODE", node, OURS),
	RUN("GPUSCHED_NODE_RANK", rank, OURS),
	ORDER("GPUSCHED_CPUS", cpus, OURS),
	ORDER("GPUSCHED_MEM_MB", mem_mb, OURS),
	VALUE("GPUSCHED_GPUS", gpu_list, OURS),
	ORDER("GPUSCHED_GPU_COUNT", n_gpus, OURS),
	VALUE("GPUSCHED_GPU_UUIDS", gpu_uuids, OURS),
	VALUE("GPUSCHED_GPU_TYPE", gpu_type, OURS),
	VALUE("GPUSCHED_GPU_MEM_MB", gpu_mem, OURS),
	VALUE("GPUSCHED_GPU_MEM_BURST_MB", gpu_mem_burst, OURS),
	VALUE("GPUSCHED_GPU_SHARE", gpu_share, OURS),
	VALUE("GPUSCHED_START_TIME", start_time, OURS),
	VALUE("GPUSCHED_END_TIME", end_time, OURS),
	VALUE("GPUSCHED_SUBMIT_DIR", submit_dir, OURS),
	ORDER("GPUSCHED_SUBMIT_HOST", submit_host, OURS),
	IN("GPUSCHED_RUN_DIR", run_dir, OURS),
	VALUE("GPUSCHED_INTERRUPT_FILE", interrupt_file, OURS),
	IN("GPUSCHED_STEPD", stepd, OURS),
	VALUE("GPUSCHED_ATTEMPT", attempt, OURS),
	VALUE("GPUSCHED_SERVICE", service, OURS),
	VALUE("GPUSCHED_SLOT", slot, OURS),
	VALUE("GPUSCHED_PORT", port, OURS),
	VALUE("GPUSCHED_PORTS", ports, OURS),
	IN("HOME", home, IF_MISSING),
	IN("USER", user, IF_MISSING),
	IN("LOGNAME", user, IF_MISSING),
	IN("SHELL", shell, IF_MISSING),
	VALUE("PATH", path, IF_MISSING),
	VALUE(SLURM_MARK, slurm_job_id, SLURM),
	VALUE("SLURM_JOBID", slurm_job_id, SLURM),
	SPEC("SLURM_JOB_NAME", name, SLURM),
	IN("SLURM_CLUSTER_NAME", cluster, SLURM),
	IN("SLURM_JOB_USER", user, SLURM),
	SPEC("SLURM_JOB_UID", uid, SLURM),
	SPEC("SLURM_JOB_GID", gid, SLURM),
	ORDER_IF_ANY("SLURM_JOB_ACCOUNT", account, SLURM),
	ORDER("SLURM_JOB_PARTITION", partition, SLURM),
	ORDER_IF_ANY("SLURM_JOB_QOS", qos, SLURM),
	VALUE("SLURM_RESTART_COUNT", slurm_restarts, SLURM),
	VALUE("SLURM_ARRAY_JOB_ID", array_job, SLURM),
	VALUE("SLURM_ARRAY_TASK_ID", array_task, SLURM),
	VALUE("SLURM_ARRAY_TASK_COUNT", array_count, SLURM),
	VALUE("SLURM_ARRAY_TASK_MIN", array_min, SLURM),
	VALUE("SLURM_ARRAY_TASK_MAX", array_max, SLURM),
	VALUE("SLURM_ARRAY_TASK_STEP", array_step, SLURM),
	VALUE("SLURM_JOB_NODELIST", nodelist, SLURM),
	VALUE("SLURM_NODELIST", nodelist, SLURM),
	VALUE("SLURM_JOB_NUM_NODES", nnodes, SLURM),
	VALUE("SLURM_NNODES", nnodes, SLURM),
	IN("SLURMD_NODENAME", node, SLURM),
	RUN("SLURM_NODEID", rank, SLURM),
	RUN("SLURM_PROCID", rank, SLURM),
	RUN("SLURM_GTIDS", rank, SLURM),
	VALUE("SLURM_LOCALID", slurm_zero, SLURM),
	VALUE("SLURM_TASKS_PER_NODE", slurm_tasks_each, SLURM_IF_MISSING),
	ORDER("SLURM_CPUS_ON_NODE", cpus, SLURM),
	VALUE("SLURM_JOB_CPUS_PER_NODE", slurm_cpus_each, SLURM),
	ORDER_IF_ANY("SLURM_MEM_PER_NODE", mem_mb, SLURM),
	VALUE("SLURM_JOB_GPUS", slurm_gpus, SLURM),
	ORDER_IF_ANY("SLURM_GPUS_ON_NODE", n_gpus, SLURM),
	VALUE("SLURM_JOB_START_TIME", start_time, SLURM),
	VALUE("SLURM_JOB_END_TIME", end_time, SLURM),
	VALUE("SLURM_SUBMIT_DIR", submit_dir, SLURM),
	ORDER("SLURM_SUBMIT_HOST", submit_host, SLURM),
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* --- making it -------------------------------------------------------------------------------- */

static bool name_is(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return strncmp(entry, name, n) == 0 && (entry[n] == '=' || entry[n] == '\0');
}

static bool is_one_of(const char *entry, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (name_is(entry, names[i]))
			return true;
	return false;
}

#define IS_ONE_OF(entry, names) is_one_of(entry, names, sizeof(names) / sizeof((names)[0]))

/* Is the name reserved for us? `entry` is NAME or NAME=value. */
static bool is_ours(const char *entry)
{
	if (strncmp(entry, "GPUSCHED_", 9) == 0)
		return !IS_ONE_OF(entry, command_names);
	return IS_ONE_OF(entry, gpu_names);
}

const char *jobenv_get(char *const *env, const char *name)
{
	for (; *env; env++)
		if (name_is(*env, name) && (*env)[strlen(name)] == '=')
			return *env + strlen(name) + 1;
	return NULL;
}

void jobenv_free(char **env)
{
	for (char **e = env; e && *e; e++)
		free(*e);
	free(env);
}

static bool asks_for_slurm(const struct jobenv_in *in)
{
	size_t n;

	return signed_value(in, SLURM_MARK, &n) != NULL;
}

static bool is_slurms(const char *entry)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].when == SLURM && name_is(entry, rows[i].name))
			return true;
	return hetenv_is_name(entry);
}

/* The owner's entries, as signed. */
static int take_owner(
        const struct jobenv_in *in, bool slurm, char **env, size_t *n, struct error *err)
{
	for (size_t i = 0; i < in->spec->n_env; i++) {
		const ProtobufCBinaryData *e = &in->spec->env[i];
		const char *s = (const char *)e->data;

		if (e->len == 0 || s[0] == '=' || !memchr(s, '=', e->len) ||
		        memchr(s, '\0', e->len))
			return error_set(
			        err, ERR_JOB_SPEC, "environment: entry %zu is not NAME=value", i);
		env[*n] = xstrndup(s, e->len);
		/* If a name comes twice the first counts, as for getenv(3). */
		if (is_ours(env[*n]) || (slurm && is_slurms(env[*n])) ||
		        (in->mps_pipe && strncmp(env[*n], "CUDA_MPS_", 9) == 0))
			free(env[*n]);
		else
			(*n)++;
		env[*n] = NULL;
	}
	return 0;
}

static char *field(const struct row *row, const struct jobenv_in *in)
{
	const void *const all[] = {
		[OF_IN] = in, [OF_ORDER] = in->order, [OF_SPEC] = in->spec, [OF_RUN] = in->order->run
	};
	const void *at = (const char *)all[row->of] + row->offset;
	const char *text = row->type == TYPE_TEXT ? *(const char *const *)at : NULL;
	uint64_t n = row->type == TYPE_U32   ? *(const uint32_t *)at
	             : row->type == TYPE_U64 ? *(const uint64_t *)at
	                                     : 0;

	if (row->type == TYPE_TEXT)
		return text && (*text || !row->if_any) ? xstrdup(text) : NULL;
	return n || !row->if_any ? number(n) : NULL;
}

static int add_row(
        const struct row *row, const struct jobenv_in *in, char **env, size_t *n, struct error *err)
{
	char *value;

	if ((row->when == IF_MISSING || row->when == SLURM_IF_MISSING) &&
	        jobenv_get(env, row->name))
		return 0;
	value = row->value ? row->value(in) : field(row, in);
	if (!value)
		return 0;
	/* The owner's working directory may contain a newline: that one value may have it. */
	for (const char *p = value; *p && row->value != submit_dir; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f) {
			free(value);
			return error_set(err, ERR_JOB_SPEC,
			        "environment: %s would hold a control character", row->name);
		}
	}
	env[*n] = xasprintf("%s=%s", row->name, value);
	env[++*n] = NULL;
	free(value);
	return 0;
}

char **jobenv_make(const struct jobenv_in *in, struct error *err)
{
	bool slurm = asks_for_slurm(in);
	size_t n = 0, len = 0;
	const char *het = slurm ? signed_value(in, HETENV_NODES, &len) : NULL;
	char **env = xcalloc(in->spec->n_env + N_ROWS + (het ? HETENV_ENTRIES_MAX : 0) + 1,
	        sizeof(*env));

	if (take_owner(in, slurm, env, &n, err) < 0)
		goto fail;
	for (size_t i = 0; i < N_ROWS; i++)
		if ((slurm || rows[i].when < SLURM) && add_row(&rows[i], in, env, &n, err) < 0)
			goto fail;
	if (het)
		hetenv_make(het, len, in->order->nodelist, in->order->nnodes, in->order->run->job,
		        env + n);
	return env;
fail:
	jobenv_free(env);
	return NULL;
}
