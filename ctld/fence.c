/* fence.c - see fence.h */
#include "ctld/fence.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/log.h"
#include "common/xalloc.h"
#include "ctld/agents.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/inputs.h"
#include "ctld/spawn.h"
#include "ctld/tick.h"

struct program {
	TAILQ_ENTRY(program) next;
	struct fence *fence;
	char *node; /* by name: numbers change with the configuration */
	pid_t pid;  /* 0: it waits */
	int pidfd;
	struct event *ended, *late;
};

struct fence {
	struct ctld *c;
	TAILQ_HEAD(, program) programs;
	unsigned running;
};

struct fence *fence_new(struct ctld *c)
{
	struct fence *f = xcalloc(1, sizeof(*f));

	f->c = c;
	TAILQ_INIT(&f->programs);
	return f;
}

static void program_free(struct program *p)
{
	TAILQ_REMOVE(&p->fence->programs, p, next);
	if (p->pid > 0) {
		kill(-p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
		p->fence->running--;
	}
	if (p->pidfd >= 0)
		close(p->pidfd);
	if (p->ended)
		event_free(p->ended);
	if (p->late)
		event_free(p->late);
	free(p->node);
	free(p);
}

void fence_free(struct fence *f)
{
	if (!f)
		return;
	while (!TAILQ_EMPTY(&f->programs))
		program_free(TAILQ_FIRST(&f->programs));
	free(f);
}

/* --- its word ------------------------------------------------------------------------------ */

struct word {
	bool off;
	char node[];
};

static void apply_word(struct ctld *c, void *arg, struct clocks now)
{
	struct core_event ev = { .kind = EV_FENCED };
	struct word *w = arg;

	ev.fenced.off = w->off;
	if (agents_find_node(c->agents, w->node, &ev.fenced.node))
		inputs_apply(c, &ev, now);
	free(w);
}

static const struct tick_work word_work = { apply_word, free };

static void start_some(struct fence *f);

static void finish(struct program *p, bool off)
{
	struct fence *f = p->fence;
	size_t len = strlen(p->node) + 1;
	struct word *w = xcalloc(1, sizeof(*w) + len);

	w->off = off;
	memcpy(w->node, p->node, len);
	program_free(p);
	tick_post(f->c->tick, &word_work, w);
	start_some(f);
}

static void on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct program *p = arg;
	int status = 0;

	(void)fd;
	(void)what;
	if (waitpid(p->pid, &status, WNOHANG) != p->pid)
		return;
	kill(-p->pid, SIGKILL); /* what it left behind */
	p->pid = 0;
	p->fence->running--;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		log_info("node %s: the fence program says that it is off", p->node);
	else
		log_error("node %s: the fence program failed (%s %d)", p->node,
		        WIFEXITED(status) ? "exit status" : "signal",
		        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	finish(p, WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
	struct program *p = arg;

	(void)fd;
	(void)what;
	log_error("node %s: the fence program did not end in time and was killed", p->node);
	finish(p, false);
}

/* --- starting it --------------------------------------------------------------------------- */

/* Nothing of ours but stderr: a fixed environment, no signals held, a group of its own. */
static pid_t spawn(const char *program, const char *node, const char *cluster)
{
	char node_var[128], cluster_var[320];
	char *argv[] = { (char *)program, (char *)node, NULL };
	char *env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", node_var, cluster_var,
		NULL };
	pid_t pid;
	int error;

	snprintf(node_var, sizeof(node_var), "GPUSCHED_NODE=%s", node);
	snprintf(cluster_var, sizeof(cluster_var), "GPUSCHED_CLUSTER=%s", cluster);
	error = program_spawn(program, argv, env, &pid);
	if (error)
		log_error("node %s: fence program %s: %s", node, program, strerror(error));
	return error ? -1 : pid;
}

static bool watch(struct program *p, uint32_t timeout_s)
{
	struct timeval tv = { .tv_sec = timeout_s };

	p->pidfd = pidfd_open(p->pid, 0);
	if (p->pidfd < 0) {
		log_error("node %s: pidfd_open: %s", p->node, strerror(errno));
		return false;
	}
	p->ended = event_new(p->fence->c->base, p->pidfd, EV_READ | EV_PERSIST, on_ended, p);
	p->late = evtimer_new(p->fence->c->base, on_late, p);
	return p->ended && p->late && event_add(p->ended, NULL) == 0 &&
	       (timeout_s == 0 || event_add(p->late, &tv) == 0);
}

static void start_some(struct fence *f)
{
	const struct conf_controller *conf = &f->c->conf->controller;
	struct program *p, *next;

	for (p = TAILQ_FIRST(&f->programs); p && f->running < FENCE_AT_ONCE; p = next) {
		pid_t pid;

		next = TAILQ_NEXT(p, next);
		if (p->pid)
			continue;
		pid = conf->fence[0] ? spawn(conf->fence, p->node, f->c->conf->cluster) : -1;
		if (pid > 0) {
			log_info("node %s: fence program started", p->node);
			p->pid = pid;
			f->running++;
		}
		if (pid < 0 || !watch(p, conf->fence_timeout_s)) {
			finish(p, false); /* which starts others */
			return;
		}
	}
}

void fence_node(struct fence *f, uint32_t node)
{
	const char *name = f->c->conf->nodes[node].name;
	struct program *p;

	TAILQ_FOREACH (p, &f->programs, next)
		if (strcmp(p->node, name) == 0)
			return;
	p = xcalloc(1, sizeof(*p));
	p->fence = f;
	p->node = xstrdup(name);
	p->pidfd = -1;
	TAILQ_INSERT_TAIL(&f->programs, p, next);
	start_some(f);
}
