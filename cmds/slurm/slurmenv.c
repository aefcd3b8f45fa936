/* slurmenv.c - see slurmenv.h */
#include "cmds/slurm/slurmenv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/options/het.h"
#include "cmds/options/tasks.h"
#include "common/base/xalloc.h"

#define NAME_MAX_BYTES 32

struct value {
	const char *name;
	const char *text; /* NULL: `n`, if it is not 0 */
	uint64_t n;
};

/* An amount with alternatives says nothing until one is chosen. */
static const char *certain(const char *gpus)
{
	return gpus && !strchr(gpus, '|') && strcmp(gpus, "0") ? gpus : NULL;
}

static bool several_nodes(const struct submit_options *o)
{
	return o->nodes_max > 1 || o->nodelist ||
	       (o->ntasks_per_node && o->ntasks > o->ntasks_per_node);
}

/* The entries, each in place; returns how many. */
static size_t put(const struct value *v, size_t n, char **list, char *at)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (!v[i].text && !v[i].n)
			continue;
		list[k++] = at;
		if (v[i].text)
			at += sprintf(at, "%s=%s", v[i].name, v[i].text) + 1;
		else
			at += sprintf(at, "%s=%llu", v[i].name, (unsigned long long)v[i].n) + 1;
	}
	return k;
}

char **slurmenv_add(char *const *env, const struct submit_options *o)
{
	const char *gpus = certain(o->gpus);
	char het[HET_NODES_TEXT];
	const struct value values[] = {
		{ "SLURM_JOB_ID", "", 0 }, /* asks the node for the rest */
		{ "SLURM_NTASKS", NULL, tasks_count(o) },
		{ "SLURM_NPROCS", NULL, tasks_count(o) },
		{ "SLURM_NTASKS_PER_NODE", NULL, o->ntasks_per_node },
		{ "SLURM_TASKS_PER_NODE", NULL, several_nodes(o) ? 0 : tasks_count(o) },
		{ "SLURM_CPUS_PER_TASK", NULL, o->cpus },
		{ "SLURM_CPUS_PER_GPU", NULL, o->cpus_per_gpu },
		{ "SLURM_MEM_PER_CPU", NULL, o->mem_per_cpu_mb },
		{ "SLURM_MEM_PER_GPU", NULL, o->mem_per_gpu_mb },
		{ "SLURM_GPUS", o->gpus_per_node || o->gpus_per_task ? NULL : gpus, 0 },
		{ "SLURM_GPUS_PER_NODE", o->gpus_per_node && !o->gres ? gpus : NULL, 0 },
		{ "SLURM_GPUS_PER_TASK", o->gpus_per_task ? gpus : NULL, 0 },
		{ "SLURM_EXPORT_ENV", o->export, 0 },
		{ HET_NODES_VARIABLE, het_nodes(o, het), 0 },
	};
	size_t n_values = sizeof(values) / sizeof(values[0]), n = 0, bytes = 0;
	char **list;

	while (env[n])
		n++;
	for (size_t i = 0; i < n_values; i++)
		bytes += NAME_MAX_BYTES + (values[i].text ? strlen(values[i].text) : 20);
	list = xcalloc(1, (n + n_values + 1) * sizeof(*list) + bytes);
	memcpy(list, env, n * sizeof(*list));
	put(values, n_values, list + n, (char *)(list + n + n_values + 1));
	return list;
}
