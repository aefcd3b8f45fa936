/* cgroup_limits.c - see cgroup_limits.h */
#include "noded/contain/cgroup_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "noded/contain/cgroupfs.h"
#include "noded/contain/comma_lists.h"
#include "noded/record/record.h"

#define CPU_WEIGHT_MAX 10000  /* cgroup v2 */
#define CPU_WEIGHT     30     /* of one CPU: up to 333 of them keep their proportion */
#define CPU_SHARES_MAX 262144 /* v1 */
#define CPU_SHARES     1024

/* A file to write, and its value. `needed`: without this file the limit is not available. */
struct setting {
	const char *file;
	bool needed;
	uint64_t factor, max; /* value * factor, at most max; factor 0: `text` */
	const char *text;
};

static const struct {
	const char *name;
	struct setting v2[3], v1[2];
} kinds[LIMIT_KINDS] = {
	[LIMIT_MEMORY] = { "memory",
	        { { "memory.max", true, 1, UINT64_MAX, NULL },
	                { "memory.swap.max", false, 0, 0, "0" },
	                { "memory.oom.group", false, 0, 0, "1" } },
	        { { "memory.limit_in_bytes", true, 1, INT64_MAX, NULL },
	                { "memory.memsw.limit_in_bytes", false, 1, INT64_MAX, NULL } } },
	[LIMIT_PIDS] = { "pids", { { "pids.max", true, 1, INT32_MAX, NULL } },
	        { { "pids.max", true, 1, INT32_MAX, NULL } } },
	[LIMIT_CPU] = { "cpu", { { "cpu.weight", true, CPU_WEIGHT, CPU_WEIGHT_MAX, NULL } },
	        { { "cpu.shares", true, CPU_SHARES, CPU_SHARES_MAX, NULL } } },
};

struct cgroup_limits_root {
	char *v2;              /* of the leaves; owned */
	char *v1[LIMIT_KINDS]; /* of its leaves there; owned; NULL: not there */
	bool in_v2[LIMIT_KINDS];
};

const char *limit_name(enum limit_kind kind)
{
	return kinds[kind].name;
}

/* --- finding them ----------------------------------------------------------------------------- */

static bool passes_on(const char *dir, const char *name)
{
	char *path = xasprintf("%s/cgroup.subtree_control", dir), words[256] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		cgroupfs_read(fd, words, sizeof(words));
		close(fd);
	}
	free(path);
	words[strcspn(words, "\n")] = '\0';
	return comma_list_has(words, name);
}

/* Each cgroup from the mount down to `path` must pass the controller on to those below it. Cgroups
 * that do so already are not written to: only what a service manager has delegated is ours. */
static bool pass_on(const char *mount, const char *path, const char *name)
{
	char *word = xasprintf("+%s", name), *at = xstrdup(path);
	bool all = true;

	for (size_t i = strlen(mount); all; i += strcspn(at + i, "/")) {
		char kept = at[i];

		at[i] = '\0';
		all = passes_on(at, name) ||
		      cgroupfs_write(at, "cgroup.subtree_control", word) == 0;
		at[i] = kept;
		if (!kept)
			break;
		i++;
	}
	free(word);
	free(at);
	return all;
}

static bool has_needed(const char *dir, const struct setting *s)
{
	char *path = xasprintf("%s/%s", dir, s->file);
	bool there = access(path, W_OK) == 0;

	free(path);
	return there;
}

static bool try_leaf(const char *root, const struct setting *s)
{
	char *leaf = xasprintf("%s/probe-limits", root);
	bool works = (mkdir(leaf, 0755) == 0 || errno == EEXIST) && has_needed(leaf, s);

	rmdir(leaf);
	free(leaf);
	return works;
}

static char *find_v1(const char *below, enum limit_kind kind)
{
	char *mount = cgroupfs_mount_v1(kinds[kind].name), *root;

	if (!mount)
		return NULL;
	root = xasprintf("%s%s", mount, below);
	if (cgroupfs_make(root, strlen(mount) + 1) < 0 || !try_leaf(root, &kinds[kind].v1[0])) {
		rmdir(root);
		free(root);
		root = NULL;
	}
	free(mount);
	return root;
}

/* Entering a cgroup of v1 waits for all CPUs, 5 to 10 ms; with v2 a process is created in it.
 * Unless the site demands more, that is worth it only for memory, and for runs that have booked
 * some. */
static bool worth_v1(enum limit_kind kind, const char *demanded)
{
	return kind == LIMIT_MEMORY || comma_list_has(demanded, kinds[kind].name);
}

struct cgroup_limits_root *cgroup_limits_root_new(
        const char *mount, const char *v2, const char *demanded)
{
	struct cgroup_limits_root *root = xcalloc(1, sizeof(*root));

	if (geteuid() != 0)
		return root;
	root->v2 = xstrdup(v2);
	for (int k = 0; k < LIMIT_KINDS; k++)
		root->in_v2[k] = pass_on(mount, v2, kinds[k].name) && try_leaf(v2, &kinds[k].v2[0]);
	cgroup_limits_root_demand(root, mount, demanded);
	return root;
}

void cgroup_limits_root_demand(
        struct cgroup_limits_root *root, const char *mount, const char *demanded)
{
	if (!root->v2)
		return;
	for (int k = 0; k < LIMIT_KINDS; k++) {
		if (!root->in_v2[k] && !root->v1[k] && worth_v1((enum limit_kind)k, demanded))
			root->v1[k] = find_v1(root->v2 + strlen(mount), (enum limit_kind)k);
	}
}

void cgroup_limits_root_free(struct cgroup_limits_root *root)
{
	if (!root)
		return;
	for (int k = 0; k < LIMIT_KINDS; k++) {
		if (root->v1[k])
			rmdir(root->v1[k]); /* fails, as it should, while runs are in it */
		free(root->v1[k]);
	}
	free(root->v2);
	free(root);
}

bool cgroup_limits_root_has(const struct cgroup_limits_root *root, enum limit_kind kind)
{
	return root && (root->in_v2[kind] || root->v1[kind]);
}

/* --- of a run --------------------------------------------------------------------------------- */

static char *leaf_of(const struct cgroup_limits_root *root, const char *leaf, int kind)
{
	return root->in_v2[kind] ? xstrdup(leaf)
	                         : xasprintf("%s%s", root->v1[kind], strrchr(leaf, '/'));
}

size_t cgroup_limits_list(const struct cgroup_limits_root *root, const char *leaf,
        const uint64_t values[LIMIT_KINDS], Gpusched__RunLimit ***list)
{
	size_t n = 0;

	*list = xcalloc(LIMIT_KINDS, sizeof(**list));
	for (int k = 0; k < LIMIT_KINDS; k++) {
		Gpusched__RunLimit *m;
		char *dir;

		if (!values[k] || !cgroup_limits_root_has(root, (enum limit_kind)k))
			continue;
		m = xcalloc(1, sizeof(*m));
		gpusched__run_limit__init(m);
		dir = leaf_of(root, leaf, k);
		m->kind = (uint32_t)k;
		m->value = values[k];
		m->own_leaf = !root->in_v2[k];
		m->dir.data = (uint8_t *)dir;
		m->dir.len = strlen(dir);
		(*list)[n++] = m;
	}
	return n;
}

void cgroup_limits_list_free(Gpusched__RunLimit **list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(list[i]->dir.data);
		free(list[i]);
	}
	free(list);
}

void cgroup_limits_root_remove(const struct cgroup_limits_root *root, const char *leaf)
{
	for (int k = 0; root && k < LIMIT_KINDS; k++) {
		char *dir = root->v1[k] ? leaf_of(root, leaf, k) : NULL;

		if (dir)
			rmdir(dir);
		free(dir);
	}
}

/* --- the shepherd's side ---------------------------------------------------------------------- */

static int write_setting(int dir, const struct setting *s, uint64_t value)
{
	char number[24];

	if (s->factor)
		snprintf(number, sizeof(number), "%" PRIu64,
		        value > s->max / s->factor ? s->max : value * s->factor);
	return cgroupfs_write_at(dir, s->file, s->factor ? number : s->text) < 0 && s->needed ? -1
	                                                                                      : 0;
}

static int set_one(const Gpusched__RunLimit *limit, const char *path, struct error *err)
{
	const struct setting *s = limit->own_leaf ? kinds[limit->kind].v1 : kinds[limit->kind].v2;
	size_t n = limit->own_leaf ? sizeof(kinds->v1) / sizeof(*kinds->v1)
	                           : sizeof(kinds->v2) / sizeof(*kinds->v2);
	int dir = -1, r = 0;

	if (!limit->own_leaf || mkdir(path, 0755) == 0 || errno == EEXIST)
		dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return error_set(
		        err, ERR_SYSTEM, "cannot make cgroup '%s': %s", path, strerror(errno));
	for (size_t i = 0; i < n && s[i].file && r == 0; i++)
		r = write_setting(dir, &s[i], limit->value);
	if (r < 0)
		error_set(err, ERR_SYSTEM, "cannot limit %s to %" PRIu64 " in '%s': %s",
		        kinds[limit->kind].name, limit->value, path, strerror(errno));
	close(dir);
	return r;
}

int cgroup_limits_set(Gpusched__RunLimit *const *list, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		char *path = record_string(&list[i]->dir);
		int r = list[i]->kind < LIMIT_KINDS
		                ? set_one(list[i], path, err)
		                : error_set(err, ERR_SYSTEM, "unknown limit %u", list[i]->kind);

		free(path);
		if (r < 0) {
			cgroup_limits_remove(list, n);
			return -1;
		}
	}
	return 0;
}

int cgroup_limits_enter(Gpusched__RunLimit *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *path = list[i]->own_leaf ? record_string(&list[i]->dir) : NULL;
		int r = path ? cgroupfs_write(path, "cgroup.procs", "0") : 0;

		free(path);
		if (r < 0)
			return -1;
	}
	return 0;
}

/* "oom" counts how often its own limit was the cause, "oom_kill" how many of its processes the
 * kernel has killed, for whatever limit. */
static enum cgroup_limits_oom oom_at(const char *path, bool v2)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	const char *file = v2 ? "memory.events" : "memory.oom_control";
	uint64_t kills = 0, own = 1;

	if (dir < 0)
		return OOM_NONE;
	if (cgroupfs_read_key(dir, file, "oom_kill ", &kills) < 0)
		kills = 0;
	if (v2 && cgroupfs_read_key(dir, file, "oom ", &own) < 0)
		own = 1;
	close(dir);
	return !kills ? OOM_NONE : own ? OOM_OF_RUN : OOM_OF_NODE;
}

enum cgroup_limits_oom cgroup_limits_oom(
        Gpusched__RunLimit *const *list, size_t n, const char *leaf)
{
	for (size_t i = 0; i < n; i++) {
		enum cgroup_limits_oom oom;
		char *path;

		if (list[i]->kind != LIMIT_MEMORY)
			continue;
		path = record_string(&list[i]->dir);
		oom = oom_at(path, !list[i]->own_leaf);
		free(path);
		return oom;
	}
	return oom_at(leaf, true);
}

void cgroup_limits_remove(Gpusched__RunLimit *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *path = list[i]->own_leaf ? record_string(&list[i]->dir) : NULL;

		if (path)
			rmdir(path);
		free(path);
	}
}
