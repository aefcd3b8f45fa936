/* cpus_and_memory.c - see cpus_and_memory.h */
#include "noded/cpus_and_memory.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/units.h"
#include "common/base/xalloc.h"

#define FILE_MAX (64 * 1024) /* /proc/self/mountinfo is the largest; more is cut */

/* A small file as text; NULL if it cannot be read. The caller frees it. */
static char *read_text(const char *root, const char *path)
{
	char *name = xasprintf("%s%s", root, path);
	FILE *f = fopen(name, "re");
	char *text = NULL;
	size_t n;

	free(name);
	if (!f)
		return NULL;
	text = xcalloc(1, FILE_MAX + 1);
	n = fread(text, 1, FILE_MAX, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

/* "KEY:   NUMBER kB" of /proc/meminfo, in MiB; 0 if it is not there. */
static uint64_t meminfo_mb(const char *root, const char *key)
{
	char *text = read_text(root, "/proc/meminfo"), *at = text ? strstr(text, key) : NULL;
	uint64_t mb = at ? strtoull(at + strlen(key), NULL, 10) / 1024 : 0;

	free(text);
	return mb;
}

/* --- control groups -------------------------------------------------------------------------- */

/* One kind of limit: which hierarchy, which files. */
struct limit {
	const char *controller; /* of a v1 hierarchy; "" is v2 */
	void (*read)(const char *root, const char *dir, struct inventory *out);
};

static void limit_mem(struct inventory *out, const char *text)
{
	char *end;
	uint64_t bytes = strtoull(text, &end, 10);

	if (end != text && bytes / (1024 * 1024) < out->mem_mb) /* "max" is no number */
		out->mem_mb = bytes / (1024 * 1024);
}

static void limit_cpus(struct inventory *out, long long quota, long long period)
{
	if (quota <= 0 || period <= 0)
		return;
	if (quota / period < (long long)out->cpus)
		out->cpus = quota >= period ? (uint32_t)(quota / period) : 1;
}

static char *read_in(const char *root, const char *dir, const char *file)
{
	char *path = xasprintf("%s/%s", dir, file), *text = read_text(root, path);

	free(path);
	return text;
}

static void read_v2(const char *root, const char *dir, struct inventory *out)
{
	char *mem = read_in(root, dir, "memory.max"), *cpu = read_in(root, dir, "cpu.max");
	long long quota, period;

	if (mem)
		limit_mem(out, mem);
	if (cpu && sscanf(cpu, "%lld %lld", &quota, &period) == 2)
		limit_cpus(out, quota, period);
	free(mem);
	free(cpu);
}

static void read_v1_mem(const char *root, const char *dir, struct inventory *out)
{
	char *mem = read_in(root, dir, "memory.limit_in_bytes");

	if (mem)
		limit_mem(out, mem);
	free(mem);
}

static void read_v1_cpu(const char *root, const char *dir, struct inventory *out)
{
	char *quota = read_in(root, dir, "cpu.cfs_quota_us");
	char *period = read_in(root, dir, "cpu.cfs_period_us");

	if (quota && period)
		limit_cpus(out, strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
	free(quota);
	free(period);
}

/* Is `word` one of the comma-separated words of `list`? */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == '\0'))
			return true;
	}
	return false;
}

/* Where the hierarchy is mounted (proc_pid_mountinfo(5)); the caller frees it. NULL: nowhere. */
static char *find_mount(const char *root, const char *controller)
{
	char *text = read_text(root, "/proc/self/mountinfo"), *save = NULL, *found = NULL;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && !found;
	        line = strtok_r(NULL, "\n", &save)) {
		char where[PATH_MAX], type[32], options[512];
		char *rest = strstr(line, " - ");

		if (!rest || sscanf(line, "%*s %*s %*s %*s %4095s", where) != 1 ||
		        sscanf(rest, " - %31s %*s %511s", type, options) != 2)
			continue;
		if (*controller ? strcmp(type, "cgroup") == 0 && has_word(options, controller)
		                : strcmp(type, "cgroup2") == 0)
			found = xstrdup(where);
	}
	free(text);
	return found;
}

/* Our group in the hierarchy, as /proc/self/cgroup has it ("ID:CONTROLLERS:PATH"). */
static char *find_group(const char *root, const char *controller)
{
	char *text = read_text(root, "/proc/self/cgroup"), *save = NULL, *found = NULL;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && !found;
	        line = strtok_r(NULL, "\n", &save)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		names++;
		if (*controller ? has_word(names, controller) : !*names)
			found = xstrdup(path);
	}
	free(text);
	return found;
}

/* Apply the limits of our group and of all above it. */
static void apply_limit(const char *root, const struct limit *limit, struct inventory *out)
{
	char *mount = find_mount(root, limit->controller);
	char *group = find_group(root, limit->controller);

	while (mount && group) {
		char *dir = xasprintf("%s%s", mount, group), *slash = strrchr(group, '/');

		limit->read(root, dir, out);
		free(dir);
		if (!slash || !*group)
			break;
		*slash = '\0';
	}
	free(mount);
	free(group);
}

static const struct limit limits[] = {
	{ "", read_v2 },
	{ "memory", read_v1_mem },
	{ "cpu", read_v1_cpu },
};

/* --- the whole ------------------------------------------------------------------------------- */

static uint32_t usable_cpus(void)
{
	size_t size = CPU_ALLOC_SIZE(CPU_SETSIZE);
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t *set;
	uint32_t n = online > 0 ? (uint32_t)online : 1;

	/* EINVAL: the kernel's mask is larger (sched_getaffinity(2), NOTES). */
	for (int cpus = CPU_SETSIZE; cpus <= 1 << 16; cpus *= 2) {
		size = CPU_ALLOC_SIZE(cpus);
		set = CPU_ALLOC(cpus);
		if (!set)
			break;
		if (sched_getaffinity(0, size, set) == 0) {
			n = (uint32_t)CPU_COUNT_S(size, set);
			CPU_FREE(set);
			break;
		}
		CPU_FREE(set);
		if (errno != EINVAL)
			break;
	}
	return n;
}

int inventory_find(const char *root, struct inventory *out, struct error *err)
{
	struct inventory found = { .cpus = usable_cpus(), .mem_mb = meminfo_mb(root, "MemTotal:") };

	if (!found.mem_mb)
		return error_set(err, ERR_SYSTEM, "%s/proc/meminfo: no MemTotal", root);
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		apply_limit(root, &limits[i], &found);
	*out = found;
	return 0;
}

int inventory_pretend(const char *text, struct inventory *out, struct error *err)
{
	char *copy = xstrdup(text), *save = NULL;
	struct inventory found = *out;
	uint64_t n;
	int rc = 0;

	for (char *word = strtok_r(copy, ",", &save); word && rc == 0;
	        word = strtok_r(NULL, ",", &save)) {
		if (strncmp(word, "cpus=", 5) == 0) {
			rc = count_parse(word + 5, 1, 65536, &n, err);
			found.cpus = rc < 0 ? 0 : (uint32_t)n;
		} else if (strncmp(word, "mem=", 4) == 0) {
			rc = size_parse_mb(word + 4, SIZE_BARE_REFUSED, &found.mem_mb, err);
		} else {
			rc = error_set(err, ERR_USAGE,
			        "not cpus=NUMBER or mem=SIZE, as in cpus=16,mem=64G");
		}
		if (rc < 0)
			error_wrap(err, "--pretend %s", word);
	}
	free(copy);
	if (rc == 0)
		*out = found;
	return rc;
}

void inventory_now(const char *root, double *load, uint64_t *mem_free_mb)
{
	char *text = read_text(root, "/proc/loadavg");

	*load = text ? strtod(text, NULL) : 0;
	free(text);
	*mem_free_mb = meminfo_mb(root, "MemAvailable:");
}
