/* cpu_memory_io.c - see cpu_memory_io.h */
#include "noded/usage/cpu_memory_io.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/bisect.h"
#include "common/base/fd_close.h"
#include "common/base/xalloc.h"
#include "noded/contain/cgroupfs.h"
#include "noded/contain/procs.h"

#define TEXT_MAX 4096

static ssize_t read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : cgroupfs_read(fd, buf, size);

	fd_close(fd);
	return n;
}

static int by_pid(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return a < b ? -1 : a > b;
}

/* --- cgroups --------------------------------------------------------------------------------- */

static bool read_number(const char *dir, const char *file, uint64_t *value)
{
	char path[TEXT_MAX], buf[64], *end;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (read_file(path, buf, sizeof(buf)) <= 0)
		return false;
	*value = strtoull(buf, &end, 10);
	return end > buf;
}

static bool read_memory(const char *dir, const char *now, const char *peak, struct process_usage *m)
{
	uint64_t bytes;

	if (!read_number(dir, now, &bytes))
		return false;
	m->mem_known = true;
	m->mem_kb = bytes / 1024;
	if (read_number(dir, peak, &bytes))
		m->mem_peak_kb = bytes / 1024;
	return true;
}

/* The first line, of "some": [kernel: accounting/psi] */
static void read_pressure(const char *leaf, struct process_usage *m)
{
	char path[TEXT_MAX], buf[256], *total;

	snprintf(path, sizeof(path), "%s/cpu.pressure", leaf);
	total = read_file(path, buf, sizeof(buf)) > 0 ? strstr(buf, " total=") : NULL;
	if (!total || strncmp(buf, "some ", 5) != 0)
		return;
	m->wait_known = true;
	m->wait_us = strtoull(total + strlen(" total="), NULL, 10);
}

void process_usage_cgroups(const char *leaf, const char *memory, struct process_usage *m)
{
	char path[TEXT_MAX], buf[TEXT_MAX], *usage;

	if (leaf && *leaf) {
		snprintf(path, sizeof(path), "%s/cpu.stat", leaf);
		usage = read_file(path, buf, sizeof(buf)) > 0 ? strstr(buf, "usage_usec ") : NULL;
		if (usage) {
			m->cpu_known = true;
			m->cpu_us = strtoull(usage + strlen("usage_usec "), NULL, 10);
		}
		read_pressure(leaf, m);
		if (read_memory(leaf, "memory.current", "memory.peak", m))
			return;
	}
	if (memory && *memory)
		read_memory(memory, "memory.usage_in_bytes", "memory.max_usage_in_bytes", m);
}

size_t process_usage_pids(const char *leaf, uint32_t **pids)
{
	char path[TEXT_MAX];
	FILE *f;
	size_t n = 0, room = 0;
	uint32_t pid;

	*pids = NULL;
	snprintf(path, sizeof(path), "%s/cgroup.procs", leaf);
	f = fopen(path, "re");
	while (f && fscanf(f, "%" SCNu32, &pid) == 1) {
		*XADD(*pids, n, room) = pid;
	}
	if (f)
		fclose(f);
	if (n)
		qsort(*pids, n, sizeof(**pids), by_pid);
	return n;
}

/* --- processes ------------------------------------------------------------------------------- */

static uint64_t number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

void process_usage_io_of(int fd, struct process_usage *m)
{
	char buf[512];

	if (cgroupfs_read(fd, buf, sizeof(buf)) <= 0)
		return;
	m->read_bytes += number_after(buf, "\nread_bytes: ");
	m->written_bytes += number_after(buf, "\nwrite_bytes: ");
}

void process_usage_io(pid_t pid, struct process_usage *m)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	process_usage_io_of(fd, m);
	close(fd);
}

void process_usage_wait(pid_t pid, struct process_usage *m)
{
	char path[64], buf[128];
	uint64_t delay_ns;

	if (m->wait_known)
		return;
	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	if (read_file(path, buf, sizeof(buf)) > 0 && sscanf(buf, "%*u %" SCNu64, &delay_ns) == 1)
		m->wait_us += delay_ns / 1000;
}

struct seen {
	uint32_t pid, parent;
	uint64_t own, children; /* CPU time in ticks: its own, that of those it has waited for */
	uint64_t pages;
};

struct process_scan {
	DIR *dir;
	struct seen *v; /* when all is known: by parent */
	size_t n, room;
};

struct process_scan *process_scan_new(void)
{
	struct process_scan *s = xcalloc(1, sizeof(*s));

	s->dir = opendir("/proc");
	if (s->dir)
		return s;
	free(s);
	return NULL;
}

void process_scan_free(struct process_scan *s)
{
	if (!s)
		return;
	if (s->dir)
		closedir(s->dir);
	free(s->v);
	free(s);
}

static bool read_seen(pid_t pid, struct seen *out)
{
	struct proc_stat st;

	if (proc_stat(pid, &st) < 0)
		return false;
	*out = (struct seen){ .pid = (uint32_t)pid,
		.parent = (uint32_t)st.ppid,
		.own = st.user + st.system,
		.children = st.ended_user + st.ended_system,
		.pages = st.pages };
	return true;
}

static int by_parent(const void *x, const void *y)
{
	return by_pid(&((const struct seen *)x)->parent, &((const struct seen *)y)->parent);
}

bool process_scan_step(struct process_scan *s, unsigned n)
{
	struct dirent *e = NULL;

	while (n && (e = readdir(s->dir))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		s->v = xgrow(s->v, s->n, &s->room, sizeof(*s->v));
		s->n += read_seen((pid_t)atoi(e->d_name), &s->v[s->n]);
		n--;
	}
	if (e)
		return true;
	closedir(s->dir);
	s->dir = NULL;
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_parent);
	return false;
}

static uint64_t ticks_us(uint64_t ticks)
{
	return ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* The index of the first process with this parent, or where it would be. */
static size_t first_of(const struct process_scan *s, uint32_t parent)
{
	size_t at;

	BISECT(at, s->n, s->v[at].parent < parent);
	return at;
}

/* Append the children of `parent` to the list. */
static size_t add_children(const struct process_scan *s, uint32_t parent, const struct seen ***list,
        size_t n, size_t *room)
{
	for (size_t i = first_of(s, parent); i < s->n && s->v[i].parent == parent; i++) {
		if (n == s->n) /* ids were reused meanwhile, and the list is circular */
			break;
		*XADD(*list, n, *room) = &s->v[i];
	}
	return n;
}

static uint64_t waited_for(pid_t pid)
{
	struct seen self;

	return read_seen(pid, &self) ? self.children : 0;
}

size_t process_scan_run(
        const struct process_scan *s, pid_t shepherd, struct process_usage *m, uint32_t **pids)
{
	const struct seen **list = NULL;
	uint64_t ticks = m->cpu_known ? 0 : waited_for(shepherd), pages = 0;
	size_t room = 0, n = add_children(s, (uint32_t)shepherd, &list, 0, &room);

	for (size_t i = 0; i < n; i++)
		n = add_children(s, list[i]->pid, &list, n, &room);
	*pids = n ? xcalloc(n, sizeof(**pids)) : NULL;
	for (size_t i = 0; i < n; i++) {
		ticks += list[i]->own + list[i]->children;
		pages += list[i]->pages;
		(*pids)[i] = list[i]->pid;
	}
	free(list);
	if (n)
		qsort(*pids, n, sizeof(**pids), by_pid);
	if (!m->cpu_known)
		m->cpu_us = ticks_us(ticks);
	if (!m->mem_known)
		m->mem_kb = pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
	m->cpu_known = m->mem_known = true;
	return n;
}
