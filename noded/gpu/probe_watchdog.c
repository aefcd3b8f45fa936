/* probe_watchdog.c - see probe_watchdog.h */
#include "noded/gpu/probe_watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/xalloc.h"
#include "noded/gpu/driver_process.h"
#include "noded/gpu/nvml_discovery.h"

#define KILL_WAIT_MS 500 /* a child that does not hang in the kernel is gone by then */

struct shared {
	/* The request. */
	char root[256];
	uint32_t alarm_s; /* the child ends by then, even if the parent does not end it */
	uint32_t n_skips;
	struct discover_skip skips[GPUS_HOST_MAX];
	bool pairs;
	/* The answer. */
	struct gpus gpus;
	struct discover_at at;
	volatile uint32_t done;
};

/* A GPU that is left out, and the call that hung. */
struct left_out {
	struct discover_skip skip;
	int pidfd; /* the child that hangs there; -1: gone, the next probe includes the GPU */
};

struct gpu_probe {
	const char *root;
	unsigned timeout_ms;
	struct shared *shared; /* NULL: no probe is in progress */
	pid_t pid;
	int pipe, pidfd;
	struct left_out left[GPUS_HOST_MAX];
	uint32_t n_left;
	int stuck;     /* a child that hangs in the kernel at no particular GPU; -1: none */
	char why[112]; /* the call in which it hangs */
	bool no_pairs; /* reading the connections of two GPUs has hung or crashed */
};

struct gpu_probe *gpu_probe_new(const char *root, unsigned timeout_ms)
{
	struct gpu_probe *p = xcalloc(1, sizeof(*p));

	p->root = root;
	p->timeout_ms = timeout_ms;
	p->pipe = p->pidfd = p->stuck = -1;
	return p;
}

/* --- the child ------------------------------------------------------------------------------- */

void driver_process_probe(uint64_t number)
{
	struct shared *s = driver_process_memory(sizeof(*s));

	(void)number;
	alarm(s->alarm_s);
	discover_gpus(s->root, s->skips, s->n_skips, s->pairs, &s->gpus, &s->at);
	s->done = 1;
}

/* --- the parent ------------------------------------------------------------------------------ */

static void unmap(struct gpu_probe *p)
{
	if (p->shared)
		munmap(p->shared, sizeof(*p->shared));
	p->shared = NULL;
}

static void put_question(const struct gpu_probe *p, struct shared *s)
{
	snprintf(s->root, sizeof(s->root), "%s", p->root);
	s->alarm_s = p->timeout_ms / 1000 + 10;
	s->n_skips = p->n_left;
	for (uint32_t i = 0; i < p->n_left; i++)
		s->skips[i] = p->left[i].skip;
	s->pairs = !p->no_pairs;
	s->at.gpu = DISCOVER_NO_GPU;
}

static int start_child(struct gpu_probe *p, struct error *err)
{
	int ends[2] = { -1, -1 }, memory;

	p->shared = driver_process_memory_new(sizeof(*p->shared), &memory);
	if (p->shared && pipe2(ends, O_CLOEXEC) == 0) {
		put_question(p, p->shared);
		p->pidfd = driver_process_start(DRIVER_PROCESS_PROBE, 0, ends[1], memory, &p->pid);
	}
	if (p->pidfd < 0) {
		error_set(err, ERR_SYSTEM, "cannot look at the GPUs: %s", strerror(errno));
		fd_drop(&ends[0]);
		unmap(p);
	}
	p->pipe = ends[0];
	fd_drop(&ends[1]);
	fd_drop(&memory);
	return p->pidfd < 0 ? -1 : 0;
}

/* End the child. True: it is gone. */
static bool end_child(struct gpu_probe *p)
{
	bool gone;

	syscall(SYS_pidfd_send_signal, p->pidfd, SIGKILL, NULL, 0);
	gone = driver_process_wait(p->pidfd, KILL_WAIT_MS);
	if (gone)
		waitpid(p->pid, NULL, WNOHANG);
	fd_drop(&p->pipe);
	return gone;
}

void gpu_probe_free(struct gpu_probe *p)
{
	if (!p)
		return;
	if (p->shared)
		end_child(p);
	unmap(p);
	fd_drop(&p->pidfd);
	fd_drop(&p->stuck);
	for (uint32_t i = 0; i < p->n_left; i++)
		fd_drop(&p->left[i].pidfd);
	free(p);
}

/* GPUs whose child is gone are queried again. */
static void review_left(struct gpu_probe *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_left; i++) {
		if (p->left[i].pidfd < 0 || driver_process_wait(p->left[i].pidfd, 0))
			fd_drop(&p->left[i].pidfd);
		else
			p->left[n++] = p->left[i];
	}
	p->n_left = n;
}

int gpu_probe_start(struct gpu_probe *p, struct error *err)
{
	review_left(p);
	if (p->stuck >= 0 && !driver_process_wait(p->stuck, 0))
		return error_set(err, ERR_SYSTEM,
		        "cannot look at the GPUs: %s, and cannot be killed; no other is started",
		        p->why);
	fd_drop(&p->stuck);
	return start_child(p, err);
}

int gpu_probe_fd(const struct gpu_probe *p)
{
	return p->pipe;
}

unsigned gpu_probe_timeout_ms(const struct gpu_probe *p)
{
	return p->timeout_ms;
}

/* Describe the call at which the child ended without having finished. */
static void say_trouble(const struct discover_at *at, bool hung, char *text, size_t size)
{
	char call[sizeof(at->call)];

	memcpy(call, (const char *)at->call, sizeof(call));
	call[sizeof(call) - 1] = '\0';
	snprintf(text, size, "%s %s", *call ? call : "NVML",
	        hung ? "does not come back" : "crashes");
}

/* Leave out the GPU at which the child was. False: it was at none, or that is left out already. */
static bool leave_out(struct gpu_probe *p, const struct discover_at *at, bool hung, bool gone)
{
	uint32_t gpu = at->gpu;
	struct left_out *left = &p->left[p->n_left];

	for (uint32_t i = 0; i < p->n_left; i++) {
		if (p->left[i].skip.gpu == gpu)
			return false;
	}
	if (gpu >= GPUS_HOST_MAX || p->n_left == GPUS_HOST_MAX)
		return false;
	left->skip.gpu = gpu;
	say_trouble(at, hung, left->skip.why, sizeof(left->skip.why));
	left->pidfd = gone ? -1 : p->pidfd;
	if (!gone)
		p->pidfd = -1;
	p->n_left++;
	return true;
}

/* Copy only the entries in use: the rest is not worth its memory. */
static void take_copy(struct gpus *to, const struct gpus *from)
{
	uint32_t n = from->n < GPUS_MAX ? from->n : GPUS_MAX;

	memcpy(to, from, offsetof(struct gpus, v) + n * sizeof(from->v[0]));
	to->n = n;
}

bool gpu_probe_take(struct gpu_probe *p, struct gpus *out)
{
	bool hung = !driver_process_wait(p->pipe, 0);
	bool done = p->shared->done || p->shared->at.enough;
	struct discover_at at = p->shared->at;
	bool gone = end_child(p);
	struct error err;

	memset(out, 0, offsetof(struct gpus, v));
	p->no_pairs |= done && !p->shared->done;
	if (done)
		take_copy(out, &p->shared->gpus);
	unmap(p);
	if (!done && leave_out(p, &at, hung, gone)) {
		fd_drop(&p->pidfd);
		if (start_child(p, &err) == 0)
			return false;
	}
	if (!done) {
		out->state = GPUS_TROUBLE;
		say_trouble(&at, hung, out->trouble, sizeof(out->trouble));
	}
	/* Another child would hang there too. Not for connections, which are not read again. */
	if (!done && !gone && p->pidfd >= 0) {
		say_trouble(&at, hung, p->why, sizeof(p->why));
		p->stuck = p->pidfd;
		p->pidfd = -1;
	}
	fd_drop(&p->pidfd);
	if ((unsigned)out->state > GPUS_TROUBLE)
		out->state = GPUS_TROUBLE;
	gpus_settle(out);
	return true;
}

int gpu_probe_run(const char *root, unsigned timeout_ms, struct gpus *out, struct error *err)
{
	struct gpu_probe *p = gpu_probe_new(root, timeout_ms);
	struct pollfd ended = { .events = POLLIN };
	int rc = gpu_probe_start(p, err);

	if (rc == 0) {
		do {
			ended.fd = gpu_probe_fd(p);
			while (poll(&ended, 1, (int)timeout_ms) < 0 && errno == EINTR)
				;
		} while (!gpu_probe_take(p, out));
	}
	gpu_probe_free(p);
	return rc;
}
