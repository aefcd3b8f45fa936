/* xid_events.c - see xid_events.h */
#include "noded/gpu/xid_events.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "noded/gpu/driver_process.h"
#include "noded/gpu/nvml.h"

#define WAIT_MS 60000 /* then the wait is repeated; events come at once */

/* --- the child ------------------------------------------------------------------------------- */

struct watcher {
	struct nvml nvml;
	nvml_event_set set;
	/* Read in advance: a GPU that has failed badly no longer reports its UUID. */
	struct {
		nvml_device device;
		char uuid[GPUS_TEXT];
	} gpus[GPUS_HOST_MAX];
	unsigned n;
};

static bool watch_all(struct watcher *w, uint64_t leave_out)
{
	const struct nvml *nvml = &w->nvml;
	unsigned count = 0;

	if (nvml->nvmlDeviceGetCount(&count) != NVML_SUCCESS)
		return false;
	for (unsigned i = 0; i < count && i < GPUS_HOST_MAX; i++) {
		nvml_device device;
		char *uuid = w->gpus[w->n].uuid;

		if (leave_out >> i & 1 ||
		        nvml->nvmlDeviceGetHandleByIndex(i, &device) != NVML_SUCCESS ||
		        nvml->nvmlDeviceGetUUID(device, uuid, GPUS_TEXT) != NVML_SUCCESS ||
		        nvml->nvmlDeviceRegisterEvents(device, NVML_EVENT_XID, w->set) !=
		                NVML_SUCCESS)
			continue;
		w->gpus[w->n++].device = device;
	}
	return w->n;
}

static bool send_event(const struct watcher *w, const struct nvml_event *event)
{
	struct gpu_event told = { .xid = (uint32_t)event->data,
		.instance = event->gpu_instance,
		.compute = event->compute_instance };

	if (!(event->type & NVML_EVENT_XID))
		return true;
	for (unsigned i = 0; i < w->n; i++) {
		if (w->gpus[i].device == event->device)
			memcpy(told.uuid, w->gpus[i].uuid, sizeof(told.uuid));
	}
	return write(DRIVER_PROCESS_PARENT, &told, sizeof(told)) == (ssize_t)sizeof(told);
}

void driver_process_events(uint64_t leave_out)
{
	static struct watcher w;
	struct nvml *nvml = &w.nvml;
	struct error err;

	if (nvml_open(nvml, &err) < 0 || !nvml->nvmlInit || !nvml->nvmlDeviceGetUUID ||
	        !nvml->nvmlEventSetCreate || !nvml->nvmlDeviceRegisterEvents ||
	        !nvml->nvmlEventSetWait || nvml->nvmlInit() != NVML_SUCCESS ||
	        nvml->nvmlEventSetCreate(&w.set) != NVML_SUCCESS || !watch_all(&w, leave_out))
		return;
	for (;;) {
		struct nvml_event event = { .gpu_instance = NVML_NO_INSTANCE,
			.compute_instance = NVML_NO_INSTANCE };
		int r = nvml->nvmlEventSetWait(w.set, &event, WAIT_MS);

		if (r == NVML_TIMEOUT)
			continue;
		if (r != NVML_SUCCESS || !send_event(&w, &event))
			return;
	}
}

/* --- the parent ------------------------------------------------------------------------------ */

struct gpu_events {
	int pipe, pidfd; /* -1: no child */
};

struct gpu_events *gpu_events_new(void)
{
	struct gpu_events *e = xcalloc(1, sizeof(*e));

	e->pipe = e->pidfd = -1;
	return e;
}

/* The child is not waited for, since it may hang. The parent process reaps it. */
void gpu_events_end(struct gpu_events *e)
{
	if (e->pipe < 0)
		return;
	syscall(SYS_pidfd_send_signal, e->pidfd, SIGKILL, NULL, 0);
	close(e->pidfd);
	close(e->pipe);
	e->pipe = e->pidfd = -1;
}

void gpu_events_free(struct gpu_events *e)
{
	if (!e)
		return;
	gpu_events_end(e);
	free(e);
}

int gpu_events_start(struct gpu_events *e, uint64_t leave_out, struct error *err)
{
	int ends[2], pidfd;
	pid_t pid;

	if (e->pipe >= 0)
		return 0;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return error_set(
		        err, ERR_SYSTEM, "cannot wait for GPU events: %s", strerror(errno));
	pidfd = driver_process_start(DRIVER_PROCESS_EVENTS, leave_out, ends[1], -1, &pid);
	if (pidfd < 0)
		error_set(err, ERR_SYSTEM, "cannot wait for GPU events: %s", strerror(errno));
	close(ends[1]);
	if (pidfd < 0) {
		close(ends[0]);
		return -1;
	}
	e->pipe = ends[0];
	e->pidfd = pidfd;
	return 0;
}

int gpu_events_fd(const struct gpu_events *e)
{
	return e->pipe;
}

int gpu_events_take(struct gpu_events *e, struct gpu_event *out)
{
	ssize_t n;

	if (e->pipe < 0)
		return -1;
	do
		/* written as a whole: it is less than PIPE_BUF */
		n = read(e->pipe, out, sizeof(*out));
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(*out)) {
		out->uuid[sizeof(out->uuid) - 1] = '\0';
		return 1;
	}
	if (n < 0 && errno == EAGAIN)
		return 0;
	gpu_events_end(e);
	return -1;
}
