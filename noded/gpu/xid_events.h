/* xid_events.h - errors that GPUs report by themselves, between samples: Xids
 *
 * A child process waits for NVML's events and does nothing else, so that only the child hangs if
 * the driver does; a child that has gone is restarted after a probe (probe_watchdog.h). The meaning
 * of an Xid, and what follows from it, is the controller's business (common/gpu/gpufault.h).
 */
#ifndef NODED_XID_EVENTS_H
#define NODED_XID_EVENTS_H

#include "common/base/error.h"
#include "noded/gpu/gpus.h"

#define GPU_NO_INSTANCE UINT32_MAX

struct gpu_event {
	char uuid[GPUS_TEXT]; /* of the physical GPU */
	uint32_t xid;
	uint32_t instance, compute; /* of the MIG instance; GPU_NO_INSTANCE: of the whole GPU */
};

struct gpu_events;

struct gpu_events *gpu_events_new(void);
void gpu_events_free(struct gpu_events *e); /* ends the child; NULL is fine */

/* Start the child, if there is none. It does not use the GPUs of `leave_out`, a set of NVML's
 * indices. -1 with ERR_SYSTEM. Never blocks. */
int gpu_events_start(struct gpu_events *e, uint64_t leave_out, struct error *err);
void gpu_events_end(struct gpu_events *e); /* the child, if there is one */
int gpu_events_fd(const struct gpu_events *e); /* readable: an event is waiting; -1: no child */
/* 1: `out` is the next event. 0: none more for now. -1: the child is gone. */
int gpu_events_take(struct gpu_events *e, struct gpu_event *out);

#endif
