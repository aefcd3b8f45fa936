/* taskenv.c - see taskenv.h */
#include "cmds/steps/taskenv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/strbuf.h"
#include "common/base/xalloc.h"

#define PID_NAME "SLURM_TASK_PID="
#define PID_ROOM 32

/* What the node's run says of itself: the values of srun's environment are another node's. */
static const char *const of_the_run[] = { "GPUSCHED_", "CUDA_MPS_",
	"CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=", "NVIDIA_VISIBLE_DEVICES=",
	"SLURMD_NODENAME=", "SLURM_CPUS_ON_NODE=", "SLURM_JOB_GPUS=", "SLURM_GPUS_ON_NODE=" };

struct list {
	char **v;
	size_t n, size;
};

static size_t name_length(const char *entry)
{
	const char *equals = strchr(entry, '=');

	return equals ? (size_t)(equals - entry) + 1 : strlen(entry);
}

static void put(struct list *l, char *entry)
{
	if (l->n + 3 > l->size) {
		l->size = l->size ? l->size * 2 : 128;
		l->v = xrealloc(l->v, l->size, sizeof(*l->v));
	}
	l->v[l->n++] = entry;
	l->v[l->n] = NULL;
}

/* Takes `entry` over; what has its name goes. */
static void set(struct list *l, char *entry)
{
	size_t len = name_length(entry);

	for (size_t i = 0; i < l->n; i++) {
		if (strncmp(l->v[i], entry, len) != 0)
			continue;
		free(l->v[i]);
		l->v[i] = entry;
		return;
	}
	put(l, entry);
}

static void set_number(struct list *l, const char *name, uint64_t v)
{
	set(l, xasprintf("%s=%" PRIu64, name, v));
}

static void set_text(struct list *l, const char *name, char *owned)
{
	set(l, xasprintf("%s=%s", name, owned ? owned : ""));
	free(owned);
}

const char *taskenv_get(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; env && *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

/* --- lists ------------------------------------------------------------------------------------ */

char *taskenv_pick(const char *list, const uint32_t *at, size_t n)
{
	struct strbuf out = { 0 };

	for (size_t i = 0; i < n; i++) {
		const char *p = list;
		uint32_t k = 0;

		for (; p && k < at[i]; k++)
			p = (p = strchr(p, ',')) ? p + 1 : NULL;
		if (!p || !*p)
			continue;
		if (out.len)
			strbuf_adds(&out, ",");
		strbuf_add(&out, p, strcspn(p, ","));
	}
	return strbuf_take(&out);
}

char *taskenv_each(const uint32_t *v, size_t n)
{
	struct strbuf out = { 0 };

	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && v[k] == v[i];)
			k++;
		strbuf_addf(&out, "%s%" PRIu32, i ? "," : "", v[i]);
		if (k - i > 1)
			strbuf_addf(&out, "(x%zu)", k - i);
	}
	return strbuf_take(&out);
}

static char *numbers(const uint32_t *v, size_t n)
{
	struct strbuf out = { 0 };

	for (size_t i = 0; i < n; i++)
		strbuf_addf(&out, i ? ",%" PRIu32 : "%" PRIu32, v[i]);
	return strbuf_take(&out);
}

/* --- the parts -------------------------------------------------------------------------------- */

static void put_exported(struct list *l, const Gpusched__StepRequest *r)
{
	for (size_t i = 0; i < r->n_env; i++)
		put(l, xstrndup((const char *)r->env[i].data, r->env[i].len));
}

static void put_run(struct list *l, char *const *own)
{
	size_t n = sizeof(of_the_run) / sizeof(of_the_run[0]);

	for (; own && *own; own++)
		for (size_t i = 0; i < n; i++)
			if (strncmp(*own, of_the_run[i], strlen(of_the_run[i])) == 0) {
				set(l, xstrdup(*own));
				break;
			}
}

/* The positions of the GPUs that the task sees: its own, or all of the step on this node. */
static const uint32_t *own_gpus(const struct taskenv_in *in, size_t *n)
{
	const Gpusched__StepTasks *t = in->tasks;
	size_t first = 0;

	*n = t->n_gpus;
	if (!t->n_task_gpus)
		return t->gpus;
	for (size_t i = 0; i < in->local && i < t->n_task_gpus; i++)
		first += t->task_gpus[i];
	*n = in->local < t->n_task_gpus ? t->task_gpus[in->local] : 0;
	if (first + *n > t->n_gpus)
		*n = 0;
	return t->gpus + (*n ? first : 0);
}

static void put_gpus(struct list *l, const struct taskenv_in *in)
{
	static const char *const lists[] = { "CUDA_VISIBLE_DEVICES", "GPUSCHED_GPUS",
		"GPUSCHED_GPU_UUIDS", "NVIDIA_VISIBLE_DEVICES" };
	const char *job_gpus = taskenv_get(in->own, "GPUSCHED_GPUS");
	size_t n;
	const uint32_t *at = own_gpus(in, &n);

	if (!job_gpus || !*job_gpus)
		return;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const char *all = taskenv_get(in->own, lists[i]);

		if (all && strcmp(all, "void") != 0)
			set_text(l, lists[i],
			        n || i < 3 ? taskenv_pick(all, at, n) : xstrdup("void"));
	}
	set_number(l, "GPUSCHED_GPU_COUNT", n);
	set_text(l, "SLURM_STEP_GPUS", taskenv_pick(job_gpus, in->tasks->gpus, in->tasks->n_gpus));
	set_number(l, "SLURM_GPUS_ON_NODE", in->tasks->n_gpus);
}

static void put_step(struct list *l, const struct taskenv_in *in)
{
	const Gpusched__StepTasks *t = in->tasks;
	const Gpusched__StepRequest *r = t->request;

	set_number(l, "SLURM_STEP_ID", in->step);
	set_number(l, "SLURM_STEPID", in->step);
	set(l, xasprintf("SLURM_STEP_NODELIST=%s", t->nodelist));
	set(l, xasprintf("SLURM_NODELIST=%s", t->nodelist));
	set_number(l, "SLURM_STEP_NUM_NODES", t->nodes);
	set_number(l, "SLURM_NNODES", t->nodes);
	set_number(l, "SLURM_STEP_NUM_TASKS", t->tasks);
	set_number(l, "SLURM_NTASKS", t->tasks);
	set_number(l, "SLURM_NPROCS", t->tasks);
	set_text(l, "SLURM_STEP_TASKS_PER_NODE", taskenv_each(t->node_tasks, t->n_node_tasks));
	set_text(l, "SLURM_TASKS_PER_NODE", taskenv_each(t->node_tasks, t->n_node_tasks));
	set(l, xasprintf("SLURM_LAUNCH_NODE_IPADDR=%s", r->host));
	set(l, xasprintf("SLURM_SRUN_COMM_HOST=%s", r->host));
	set_number(l, "SLURM_SRUN_COMM_PORT", t->launch_port);
	set_number(l, "SLURM_STEP_LAUNCHER_PORT", t->launch_port);
	set(l, xasprintf("SLURM_DISTRIBUTION=%s", r->cyclic ? "cyclic" : "block"));
	set(l, xasprintf("SLURM_JOB_NAME=%s", r->name));
	set(l, xasprintf("SLURM_UMASK=%04o", r->umask));
	if (r->cpus_per_task)
		set_number(l, "SLURM_CPUS_PER_TASK", r->cpus_per_task);
}

static void put_task(struct list *l, const struct taskenv_in *in)
{
	const Gpusched__StepTasks *t = in->tasks;

	set_number(l, "SLURM_PROCID", t->ids[in->local]);
	set_number(l, "SLURM_LOCALID", in->first_local + in->local);
	set_number(l, "SLURM_NODEID", t->first_node);
	set_text(l, "SLURM_GTIDS", numbers(t->ids, t->n_ids));
}

static void put_pmi(struct list *l, const char *lines)
{
	while (lines && *lines) {
		size_t len = strcspn(lines, "\n");

		set(l, xstrndup(lines, len));
		lines += len + (lines[len] == '\n');
	}
}

char **taskenv_make(const struct taskenv_in *in)
{
	struct list l = { .v = NULL };
	char *pid = xcalloc(PID_ROOM, 1);

	put_exported(&l, in->tasks->request);
	put_run(&l, in->own);
	put_step(&l, in);
	put_task(&l, in);
	put_gpus(&l, in);
	put_pmi(&l, in->pmi);
	snprintf(pid, PID_ROOM, PID_NAME "0");
	set(&l, pid);
	return l.v;
}

void taskenv_set_pid(char **env, pid_t pid)
{
	for (; *env; env++)
		if (strncmp(*env, PID_NAME, strlen(PID_NAME)) == 0)
			snprintf(*env, PID_ROOM, PID_NAME "%d", (int)pid);
}

char **taskenv_add(char **env, const char *block, size_t len)
{
	struct list l = { .v = env };

	while (env[l.n])
		l.n++;
	l.size = l.n + 1;
	for (const char *end = block + len; block < end; block += strlen(block) + 1)
		if (strchr(block, '='))
			set(&l, xstrdup(block));
	return l.v;
}

void taskenv_free(char **env)
{
	for (char **e = env; e && *e; e++)
		free(*e);
	free(env);
}
