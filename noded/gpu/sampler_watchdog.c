/* sampler_watchdog.c - see sampler_watchdog.h */
#include "noded/gpu/sampler_watchdog.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/xalloc.h"
#include "noded/gpu/driver_process.h"

#define KILL_WAIT_MS 500

struct shared {
	struct gpu_uses uses;
	struct discover_at at;
	uint64_t cpu_us; /* of the last answer */
	uint32_t n;      /* of the request: memory of these slots alone; 0: everything of all */
	char uuids[SAMPLER_MEMORY_MAX][GPUS_TEXT];
};

/* A child that hangs in the kernel for ever, and the GPU at which it is. */
struct stuck {
	uint32_t gpu;
	int pidfd;
};

struct gpu_sampler {
	struct shared *shared; /* NULL: there is no child */
	struct gpu_uses *answer;
	pid_t pid;
	int sock, pidfd;
	bool asked;
	uint64_t left_out; /* NVML's indices */
	struct stuck stuck[GPUS_HOST_MAX];
	uint32_t n_stuck;
	int stuck_in_all; /* a child that hangs at no particular GPU; -1: none */
};

struct gpu_sampler *gpu_sampler_new(void)
{
	struct gpu_sampler *s = xcalloc(1, sizeof(*s));

	s->sock = s->pidfd = s->stuck_in_all = -1;
	return s;
}

/* --- the child ------------------------------------------------------------------------------- */

static uint64_t cpu_us(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec);
}

void driver_process_sampler(uint64_t skip)
{
	struct shared *shared = driver_process_memory(sizeof(*shared));
	struct gpu_sampling *sampling;
	uint64_t before = cpu_us();
	char c;

	signal(SIGPIPE, SIG_IGN);
	sampling = gpu_sampling_new(skip, &shared->at);
	while (sampling && read(DRIVER_PROCESS_PARENT, &c, 1) == 1) {
		if (shared->n)
			gpu_sampling_take_memory(sampling, shared->uuids, shared->n, &shared->uses);
		else
			gpu_sampling_take(sampling, &shared->uses);
		shared->cpu_us = cpu_us() - before;
		before += shared->cpu_us;
		if (write(DRIVER_PROCESS_PARENT, &c, 1) != 1)
			break;
	}
}

/* --- the parent ------------------------------------------------------------------------------ */

static void unmap(struct gpu_sampler *s)
{
	if (s->shared)
		munmap(s->shared, sizeof(*s->shared));
	s->shared = NULL;
}

static uint64_t not_to_be_asked(struct gpu_sampler *s)
{
	uint64_t skip = s->left_out;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_stuck; i++) {
		if (driver_process_wait(s->stuck[i].pidfd, 0)) {
			close(s->stuck[i].pidfd);
			continue;
		}
		skip |= (uint64_t)1 << s->stuck[i].gpu;
		s->stuck[n++] = s->stuck[i];
	}
	s->n_stuck = n;
	return skip;
}

static int start_child(struct gpu_sampler *s, struct error *err)
{
	uint64_t skip = not_to_be_asked(s);
	int ends[2] = { -1, -1 }, memory;

	if (s->stuck_in_all >= 0 && !driver_process_wait(s->stuck_in_all, 0))
		return error_set(err, ERR_SYSTEM,
		        "cannot watch the GPUs: who did hangs in the kernel and cannot be killed");
	fd_drop(&s->stuck_in_all);
	s->shared = driver_process_memory_new(sizeof(*s->shared), &memory);
	if (s->shared && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
		s->shared->at.gpu = DISCOVER_NO_GPU;
		s->pidfd = driver_process_start(
		        DRIVER_PROCESS_SAMPLER, skip, ends[1], memory, &s->pid);
	}
	if (s->pidfd < 0) {
		error_set(err, ERR_SYSTEM, "cannot watch the GPUs: %s", strerror(errno));
		fd_drop(&ends[0]);
		unmap(s);
	}
	s->sock = ends[0];
	fd_drop(&ends[1]);
	fd_drop(&memory);
	return s->pidfd < 0 ? -1 : 0;
}

/* End the child. False: it hangs in the kernel, and its pidfd is still ours. */
static bool end_child(struct gpu_sampler *s)
{
	bool gone = true;

	if (!s->shared)
		return true;
	syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
	gone = driver_process_wait(s->pidfd, KILL_WAIT_MS);
	if (gone) {
		waitpid(s->pid, NULL, WNOHANG);
		fd_drop(&s->pidfd);
	}
	fd_drop(&s->sock);
	s->asked = false;
	unmap(s);
	return gone;
}

/* For a child that hangs: its GPU is left out; if the GPU is not known, all are. */
static void leave_alone(struct gpu_sampler *s, uint32_t gpu)
{
	if (gpu < GPUS_HOST_MAX && s->n_stuck < GPUS_HOST_MAX) {
		s->stuck[s->n_stuck++] = (struct stuck){ gpu, s->pidfd };
	} else {
		fd_drop(&s->stuck_in_all);
		s->stuck_in_all = s->pidfd;
	}
	s->pidfd = -1;
}

/* Describe the call at which the child hung or crashed. */
static void give_up_child(struct gpu_sampler *s, bool hung, char *trouble, size_t size)
{
	struct discover_at at = s->shared->at;

	at.call[sizeof(at.call) - 1] = '\0';
	snprintf(trouble, size, "%s %s", *at.call ? at.call : "NVML",
	        hung ? "does not come back" : "crashes or ends");
	if (at.gpu < GPUS_HOST_MAX)
		s->left_out |= (uint64_t)1 << at.gpu;
	if (end_child(s))
		return;
	leave_alone(s, at.gpu);
}

int gpu_sampler_ask_memory(
        struct gpu_sampler *s, const char (*uuids)[GPUS_TEXT], uint32_t n, struct error *err)
{
	if (!s->shared && start_child(s, err) < 0)
		return -1;
	s->shared->n = n < SAMPLER_MEMORY_MAX ? n : SAMPLER_MEMORY_MAX;
	if (n)
		memcpy(s->shared->uuids, uuids, s->shared->n * sizeof(*uuids));
	/* If the child has gone, reading will show it. */
	if (send(s->sock, "?", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EPIPE)
		return error_set(err, ERR_SYSTEM, "cannot watch the GPUs: %s", strerror(errno));
	s->asked = true;
	return 0;
}

int gpu_sampler_ask(struct gpu_sampler *s, struct error *err)
{
	return gpu_sampler_ask_memory(s, NULL, 0, err);
}

void gpu_sampler_leave_out(struct gpu_sampler *s, uint64_t gpus)
{
	s->left_out |= gpus;
}

int gpu_sampler_fd(const struct gpu_sampler *s)
{
	return s->sock;
}

const struct gpu_uses *gpu_sampler_take(struct gpu_sampler *s, char *trouble, size_t size)
{
	bool hung;
	char c;

	trouble[0] = '\0';
	s->asked = false;
	if (!s->shared)
		return NULL;
	if (recv(s->sock, &c, 1, MSG_DONTWAIT) == 1) {
		uint32_t n = s->shared->uses.n;

		n = n > GPUS_MAX ? GPUS_MAX : n;
		s->answer = xrealloc(
		        s->answer, 1, offsetof(struct gpu_uses, v) + n * sizeof(s->answer->v[0]));
		s->answer->n = n;
		memcpy(s->answer->v, s->shared->uses.v, n * sizeof(s->answer->v[0]));
		gpu_uses_settle(s->answer);
		return s->answer;
	}
	hung = !driver_process_wait(s->sock, 0);
	give_up_child(s, hung, trouble, size);
	return NULL;
}

uint64_t gpu_sampler_cost_us(const struct gpu_sampler *s)
{
	return s->shared ? s->shared->cpu_us : 0;
}

void gpu_sampler_pause(struct gpu_sampler *s)
{
	uint32_t gpu = s->shared && s->asked ? s->shared->at.gpu : DISCOVER_NO_GPU;

	if (s->shared && !end_child(s))
		leave_alone(s, gpu);
	free(s->answer);
	s->answer = NULL;
}

void gpu_sampler_rest(struct gpu_sampler *s)
{
	gpu_sampler_pause(s);
	s->left_out = 0;
}

void gpu_sampler_free(struct gpu_sampler *s)
{
	if (!s)
		return;
	gpu_sampler_rest(s);
	for (uint32_t i = 0; i < s->n_stuck; i++)
		close(s->stuck[i].pidfd);
	fd_drop(&s->stuck_in_all);
	free(s);
}
