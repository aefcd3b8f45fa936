/* jobenv.c - see jobenv.h */
#include "noded/job/jobenv.h"

#include <inttypes.h>
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

static char *mps_pipe(const struct jobenv_in *in)
{
	return in->mps_pipe ? xstrdup(in->mps_pipe) : NULL;
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

static char *node_rank(const struct jobenv_in *in)
{
	return number(in->order->run->rank);
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

static char *job_name(const struct jobenv_in *in)
{
	return xstrdup(in->spec->name);
}

static char *cluster(const struct jobenv_in *in)
{
	return xstrdup(in->cluster);
}

static char *user(const struct jobenv_in *in)
{
	return xstrdup(in->user);
}

static char *account(const struct jobenv_in *in)
{
	return xstrdup(in->order->account);
}

static char *partition(const struct jobenv_in *in)
{
	return xstrdup(in->order->partition);
}

static char *qos(const struct jobenv_in *in)
{
	return xstrdup(in->order->qos);
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

static char *node(const struct jobenv_in *in)
{
	return xstrdup(in->node);
}

static char *nodelist(const struct jobenv_in *in)
{
	return xstrdup(in->order->nodelist[0] ? in->order->nodelist : in->node);
}

static char *cpus(const struct jobenv_in *in)
{
	return number(in->order->cpus);
}

static char *mem(const struct jobenv_in *in)
{
	return number(in->order->mem_mb);
}

static char *gpu_count(const struct jobenv_in *in)
{
	return number(in->order->n_gpus);
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

static char *submit_host(const struct jobenv_in *in)
{
	return xstrdup(in->order->submit_host);
}

static char *run_dir(const struct jobenv_in *in)
{
	return xstrdup(in->run_dir);
}

static char *stepd(const struct jobenv_in *in)
{
	return in->stepd ? xstrdup(in->stepd) : NULL;
}

/* Which run it is, for who connects to it from elsewhere: attempts are counted from 1. */
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

/* As Slurm does: an empty value means that the variable is not set. */
static char *if_any(const char *text)
{
	return *text ? xstrdup(text) : NULL;
}

static char *slurm_account(const struct jobenv_in *in)
{
	return if_any(in->order->account);
}

static char *slurm_qos(const struct jobenv_in *in)
{
	return if_any(in->order->qos);
}

static char *slurm_restarts(const struct jobenv_in *in)
{
	return in->order->run->attempt > 1 ? restarts(in) : NULL;
}

static char *slurm_gpus(const struct jobenv_in *in)
{
	return in->order->n_gpus ? gpu_list(in) : NULL;
}

static char *slurm_gpu_count(const struct jobenv_in *in)
{
	return in->order->n_gpus ? number(in->order->n_gpus) : NULL;
}

static char *slurm_mem(const struct jobenv_in *in)
{
	return in->order->mem_mb ? number(in->order->mem_mb) : NULL;
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

/* What the owner's environment gives by this name, `*n` bytes; NULL: nothing. */
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

/* The number that it gives; 0: none. */
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

static char *slurm_uid(const struct jobenv_in *in)
{
	return number(in->spec->uid);
}

static char *slurm_gid(const struct jobenv_in *in)
{
	return number(in->spec->gid);
}

static char *slurm_zero(const struct jobenv_in *in)
{
	(void)in;
	return number(0);
}

static char *home(const struct jobenv_in *in)
{
	return xstrdup(in->home);
}

static char *shell(const struct jobenv_in *in)
{
	return xstrdup(in->shell);
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

struct row {
	const char *name;
	value_fn *value;
	enum when when;
};

static const struct row rows[] = {
	{ "CUDA_VISIBLE_DEVICES", cuda_list, OURS },
	{ "CUDA_DEVICE_ORDER", pci_order, OURS },
	{ "NVIDIA_VISIBLE_DEVICES", nvidia_devices, OURS },
	{ "CUDA_MPS_PIPE_DIRECTORY", mps_pipe, OURS },
	{ "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", mps_percentage, OURS },
	{ "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", mps_memory, OURS },
	{ "GPUSCHED_JOB_ID", job_id, OURS },
	{ "GPUSCHED_JOB_NAME", job_name, OURS },
	{ "GPUSCHED_CLUSTER", cluster, OURS },
	{ "GPUSCHED_USER", user, OURS },
	{ "GPUSCHED_ACCOUNT", account, OURS },
	{ "GPUSCHED_PARTITION", partition, OURS },
	{ "GPUSCHED_QOS", qos, OURS },
	{ "GPUSCHED_RESTART_COUNT", restarts, OURS },
	{ "GPUSCHED_ARRAY_JOB_ID", array_job, OURS },
	{ "GPUSCHED_ARRAY_TASK_ID", array_task, OURS },
	{ "GPUSCHED_ARRAY_TASK_COUNT", array_count, OURS },
	{ "GPUSCHED_ARRAY_TASK_MIN", array_min, OURS },
	{ "GPUSCHED_ARRAY_TASK_MAX", array_max, OURS },
	{ "GPUSCHED_ARRAY_TASK_STEP", array_step, OURS },
	{ "GPUSCHED_NODELIST", nodelist, OURS },
	{ "GPUSCHED_NNODES", nnodes, OURS },
	{ "GPUSCHED_NODE", node, OURS },
	{ "GPUSCHED_NODE_RANK", node_rank, OURS },
	{ "GPUSCHED_CPUS", cpus, OURS },
	{ "GPUSCHED_MEM_MB", mem, OURS },
	{ "GPUSCHED_GPUS", gpu_list, OURS },
	{ "GPUSCHED_GPU_COUNT", gpu_count, OURS },
	{ "GPUSCHED_GPU_UUIDS", gpu_uuids, OURS },
	{ "GPUSCHED_GPU_TYPE", gpu_type, OURS },
	{ "GPUSCHED_GPU_MEM_MB", gpu_mem, OURS },
	{ "GPUSCHED_GPU_MEM_BURST_MB", gpu_mem_burst, OURS },
	{ "GPUSCHED_GPU_SHARE", gpu_share, OURS },
	{ "GPUSCHED_START_TIME", start_time, OURS },
	{ "GPUSCHED_END_TIME", end_time, OURS },
	{ "GPUSCHED_SUBMIT_DIR", submit_dir, OURS },
	{ "GPUSCHED_SUBMIT_HOST", submit_host, OURS },
	{ "GPUSCHED_RUN_DIR", run_dir, OURS },
	{ "GPUSCHED_INTERRUPT_FILE", interrupt_file, OURS },
	{ "GPUSCHED_STEPD", stepd, OURS },
	{ "GPUSCHED_ATTEMPT", attempt, OURS },
	{ "GPUSCHED_SERVICE", service, OURS },
	{ "GPUSCHED_SLOT", slot, OURS },
	{ "GPUSCHED_PORT", port, OURS },
	{ "GPUSCHED_PORTS", ports, OURS },
	{ "HOME", home, IF_MISSING },
	{ "USER", user, IF_MISSING },
	{ "LOGNAME", user, IF_MISSING },
	{ "SHELL", shell, IF_MISSING },
	{ "PATH", path, IF_MISSING },
	{ SLURM_MARK, slurm_job_id, SLURM },
	{ "SLURM_JOBID", slurm_job_id, SLURM },
	{ "SLURM_JOB_NAME", job_name, SLURM },
	{ "SLURM_CLUSTER_NAME", cluster, SLURM },
	{ "SLURM_JOB_USER", user, SLURM },
	{ "SLURM_JOB_UID", slurm_uid, SLURM },
	{ "SLURM_JOB_GID", slurm_gid, SLURM },
	{ "SLURM_JOB_ACCOUNT", slurm_account, SLURM },
	{ "SLURM_JOB_PARTITION", partition, SLURM },
	{ "SLURM_JOB_QOS", slurm_qos, SLURM },
	{ "SLURM_RESTART_COUNT", slurm_restarts, SLURM },
	{ "SLURM_ARRAY_JOB_ID", array_job, SLURM },
	{ "SLURM_ARRAY_TASK_ID", array_task, SLURM },
	{ "SLURM_ARRAY_TASK_COUNT", array_count, SLURM },
	{ "SLURM_ARRAY_TASK_MIN", array_min, SLURM },
	{ "SLURM_ARRAY_TASK_MAX", array_max, SLURM },
	{ "SLURM_ARRAY_TASK_STEP", array_step, SLURM },
	{ "SLURM_JOB_NODELIST", nodelist, SLURM },
	{ "SLURM_NODELIST", nodelist, SLURM },
	{ "SLURM_JOB_NUM_NODES", nnodes, SLURM },
	{ "SLURM_NNODES", nnodes, SLURM },
	{ "SLURMD_NODENAME", node, SLURM },
	{ "SLURM_NODEID", node_rank, SLURM },
	{ "SLURM_PROCID", node_rank, SLURM },
	{ "SLURM_GTIDS", node_rank, SLURM },
	{ "SLURM_LOCALID", slurm_zero, SLURM },
	{ "SLURM_TASKS_PER_NODE", slurm_tasks_each, SLURM_IF_MISSING },
	{ "SLURM_CPUS_ON_NODE", cpus, SLURM },
	{ "SLURM_JOB_CPUS_PER_NODE", slurm_cpus_each, SLURM },
	{ "SLURM_MEM_PER_NODE", slurm_mem, SLURM },
	{ "SLURM_JOB_GPUS", slurm_gpus, SLURM },
	{ "SLURM_GPUS_ON_NODE", slurm_gpu_count, SLURM },
	{ "SLURM_JOB_START_TIME", start_time, SLURM },
	{ "SLURM_JOB_END_TIME", end_time, SLURM },
	{ "SLURM_SUBMIT_DIR", submit_dir, SLURM },
	{ "SLURM_SUBMIT_HOST", submit_host, SLURM },
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

static int add_row(
        const struct row *row, const struct jobenv_in *in, char **env, size_t *n, struct error *err)
{
	char *value;

	if ((row->when == IF_MISSING || row->when == SLURM_IF_MISSING) &&
	        jobenv_get(env, row->name))
		return 0;
	value = row->value(in);
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
