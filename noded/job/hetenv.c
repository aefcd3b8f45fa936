/* hetenv.c - see hetenv.h */
#include "noded/job/hetenv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"
#include "common/base/xalloc.h"

struct parts {
	uint32_t v[HETENV_COMPONENTS_MAX];
	size_t n;
};

/* "2,1" with a sum of `nodes`. */
static bool read_parts(const char *value, size_t len, uint32_t nodes, struct parts *out)
{
	uint64_t sum = 0, one = 0;
	bool digit = false;

	out->n = 0;
	for (size_t i = 0; i <= len; i++) {
		if (i < len && value[i] >= '0' && value[i] <= '9') {
			one = one * 10 + (uint64_t)(value[i] - '0');
			digit = true;
			if (one > nodes)
				return false;
			continue;
		}
		if (!digit || !one || (i < len && value[i] != ',') ||
		        out->n == HETENV_COMPONENTS_MAX)
			return false;
		out->v[out->n++] = (uint32_t)one;
		sum += one;
		one = 0;
		digit = false;
	}
	return out->n > 1 && sum == nodes;
}

static void add_number(char **env, size_t *n, const char *name, size_t component, uint64_t value)
{
	env[(*n)++] = xasprintf("%s_HET_GROUP_%zu=%" PRIu64, name, component, value);
}

static void add_component(
        char **env, size_t *n, size_t component, uint64_t job, char **names, uint32_t count)
{
	char *list = hostlist_compress((const char *const *)names, count);

	add_number(env, n, "SLURM_JOB_ID", component, job);
	add_number(env, n, "SLURM_JOB_NUM_NODES", component, count);
	add_number(env, n, "SLURM_NNODES", component, count);
	env[(*n)++] = xasprintf("SLURM_JOB_NODELIST_HET_GROUP_%zu=%s", component, list);
	env[(*n)++] = xasprintf("SLURM_NODELIST_HET_GROUP_%zu=%s", component, list);
	free(list);
}

size_t hetenv_make(const char *value, size_t len, const char *nodelist, uint32_t nnodes,
        uint64_t job, char **env)
{
	struct parts parts;
	char **names = NULL;
	size_t n_names, n = 0, at = 0;

	if (!read_parts(value, len, nnodes, &parts) ||
	        hostlist_expand(nodelist, HOSTLIST_MAX, &names, &n_names, NULL) < 0)
		return 0;
	if (n_names == nnodes) {
		env[n++] = xasprintf(HETENV_NODES "=%.*s", (int)len, value);
		env[n++] = xasprintf("SLURM_HET_SIZE=%zu", parts.n);
		env[n++] = xasprintf("SLURM_HET_JOB_ID=%" PRIu64, job);
		env[n++] = xstrdup("SLURM_HET_JOB_OFFSET=0");
		for (size_t i = 0; i < parts.n; i++) {
			add_component(env, &n, i, job, names + at, parts.v[i]);
			at += parts.v[i];
		}
	}
	free(names);
	env[n] = NULL;
	return n;
}

bool hetenv_is_name(const char *entry)
{
	const char *group = strstr(entry, "_HET_GROUP_"), *end = strchr(entry, '=');

	return !strncmp(entry, "SLURM_HET_", strlen("SLURM_HET_")) ||
	       (!strncmp(entry, "SLURM_", strlen("SLURM_")) && group && end && group < end);
}
