/* worker_kill.c - signals to tasks, and to what they left behind; see worker.h
 *
 * A task is a session of its own, so its processes are reached as its process group. A process that
 * left the group becomes a child of gstepd when its parent ends (a child subreaper is what gstepd
 * is), and says in its environment of which step it is.
 */
#include "cmds/steps/worker_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/xalloc.h"

#define FILE_MAX_BYTES (1024 * 1024)

void wkill_tasks(struct wstep *s, uint32_t task, int sig)
{
	for (size_t i = 0; i < s->n_tasks; i++) {
		const struct wtask *t = s->tasks[i];

		if (t->group && !t->ended && (task == STEP_NONE || task == t->id))
			kill(-t->group, sig);
	}
}

/* A whole file of /proc, with a NUL behind it; the caller frees it. */
static char *read_file(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0, size = 8192;
	char *text;
	ssize_t r;

	if (fd < 0)
		return NULL;
	text = xcalloc(size + 1, 1);
	while ((r = read(fd, text + n, size - n)) > 0) {
		n += (size_t)r;
		if (n == size && size < FILE_MAX_BYTES)
			text = xrealloc(text, (size *= 2) + 1, 1);
	}
	close(fd);
	text[n] = '\0';
	*len = n;
	return text;
}

static bool is_of_step(pid_t pid, uint32_t step)
{
	char path[64], want[64], *env;
	size_t len = 0;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	snprintf(want, sizeof(want), "SLURM_STEP_ID=%u", step);
	env = read_file(path, &len);
	for (size_t at = 0; env && at < len && !found; at += strlen(env + at) + 1)
		found = !strcmp(env + at, want);
	free(env);
	return found;
}

static bool is_task(const struct worker *w, pid_t pid)
{
	for (const struct wstep *s = w->steps; s; s = s->next)
		for (size_t i = 0; i < s->n_tasks; i++)
			if (s->tasks[i]->pid == pid)
				return true;
	return false;
}

static void kill_orphans(struct wstep *s)
{
	char path[64], *text, *p;
	size_t len;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	text = read_file(path, &len);
	for (p = text; p && *p;) {
		pid_t pid = (pid_t)strtol(p, &p, 10);

		if (pid > 0 && !is_task(s->w, pid) && is_of_step(pid, s->id)) {
			kill(pid, SIGKILL);
			if (getpgid(pid) == pid)
				kill(-pid, SIGKILL);
		}
		while (*p == ' ')
			p++;
	}
	free(text);
}

void wkill_rest(struct wstep *s)
{
	for (size_t i = 0; i < s->n_tasks; i++)
		if (s->tasks[i]->group)
			kill(-s->tasks[i]->group, SIGKILL);
	kill_orphans(s);
}

/* "0::/x/y" of cgroup v2; its memory.events counts what the kernel has killed. */
uint64_t wkill_oom_count(void)
{
	size_t len;
	char *cgroup = read_file("/proc/self/cgroup", &len), *events = NULL, *p;
	uint64_t count = 0;

	p = cgroup ? strstr(cgroup, "0::/") : NULL;
	if (p) {
		char *path;

		p[strcspn(p, "\n")] = '\0';
		path = xasprintf("/sys/fs/cgroup%s/memory.events", p + 3);
		events = read_file(path, &len);
		free(path);
	}
	p = events ? strstr(events, "oom_kill ") : NULL;
	if (p)
		count = strtoull(p + strlen("oom_kill "), NULL, 10);
	free(events);
	free(cgroup);
	return count;
}
