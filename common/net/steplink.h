/* steplink.h - messages between srun, the step manager and the nodes of a job
 *
 * On a stream socket between two processes of a job's owner (`step.sock` in the run's directory),
 * or inside a stream to the node where the other one is (channel.h, CHANNEL_STEPS):
 *
 *      +--------+---------+----------+----------------+
 *      | u16 n  | u8 kind | u32 step | n - 5 bytes    |   n <= 5 + STEPLINK_DATA_MAX
 *      +--------+---------+----------+----------------+
 *
 * A message of gpusched.proto that is larger than one frame comes as STEP_PART frames and then the
 * rest with its kind; steplink_next() puts it together, up to STEPLINK_MESSAGE_MAX.
 *
 * A pure codec with buffers: bytes in, messages out, messages in, bytes out. The caller moves the
 * bytes (a socket, stream_send()) and decides how much may wait in the output.
 */
#ifndef COMMON_STEPLINK_H
#define COMMON_STEPLINK_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"

#define STEP_SOCKET          "step.sock" /* in GPUSCHED_RUN_DIR */
#define STEPLINK_DATA_MAX    (16 * 1024)
#define STEPLINK_MESSAGE_MAX (8 * 1024 * 1024)
#define STEP_WINDOW          (256 * 1024) /* of a step's output from one node, not yet taken */
#define STEP_IN_WINDOW       (64 * 1024)
#define STEP_NONE            UINT32_MAX /* in `step`: none, or not known yet */

enum step_kind {
	STEP_PART = 1, /* of the message that follows */
	/* a client to the manager */
	STEP_NEW = 2,     /* StepRequest; answered by STEP_STATE */
	STEP_CONTROL = 3, /* StepControl; answered by STEP_REPLY, LIST before it by a STEP_STATE
	                   * of each step that runs or waits */
	/* the manager to a node, and where it says so a client to the manager */
	STEP_START = 8,        /* StepTasks */
	STEP_IN = 9,           /* u32 task (STEP_NONE: all), bytes of standard input; client too */
	STEP_IN_END = 10,      /* u32 task; client too */
	STEP_SIGNAL = 11,      /* u32 signal, u32 task (STEP_NONE: all); client too */
	STEP_TAKEN = 12,       /* u32: so many bytes of output were taken; client too */
	STEP_WINDOW_SIZE = 13, /* u16 rows, u16 columns of the terminal; client too */
	STEP_PMI = 14,         /* u32 task, bytes: what the process management interface answers */
	STEP_PMIX = 15,        /* StepPmix */
	/* a node to the manager, and the manager to a client */
	STEP_OUT = 16,      /* u32 task, bytes */
	STEP_ERR = 17,      /* u32 task, bytes */
	STEP_TASK = 18,     /* StepTask */
	STEP_IN_TAKEN = 19, /* u32: so many bytes of input were taken by all tasks that get them */
	STEP_HELLO = 20,    /* StepHello; a node's first */
	STEP_PMI_ASK = 21,  /* u32 task, bytes; node to manager */
	STEP_DONE = 22, /* node to manager: its tasks have ended and all their output was sent */
	STEP_PMIX_ASK = 23, /* StepPmix; node to manager */
	/* the manager to a client */
	STEP_STATE = 24, /* StepState */
	STEP_END = 25,   /* StepEnd; the last of a step */
	STEP_REPLY = 26, /* Reply; to STEP_CONTROL */
	/* of a link that goes on after its connection broke (cmds/steps/resumable_link.h) */
	STEP_RESUME = 32, /* u64 session, u64 bytes received */
	STEP_ACK = 33,    /* u64 bytes received */
	STEP_BYE = 34,    /* the side that connects does not come back */
};

struct steplink;

struct steplink *steplink_new(void);
void steplink_free(struct steplink *l); /* NULL is fine */

/* --- in --- */

/* Bytes from the other side; all are kept. -1 with ERR_PROTOCOL: too much is kept that was not
 * taken, or a frame that cannot be. */
int steplink_feed(struct steplink *l, const void *bytes, size_t len, struct error *err);

struct steplink_message {
	unsigned kind;
	uint32_t step;
	const uint8_t *data; /* of the link, until the next call */
	size_t len;
};

/* 1: *out; 0: more bytes are needed; -1 with ERR_PROTOCOL: the link is dead. */
int steplink_next(struct steplink *l, struct steplink_message *out, struct error *err);

/* --- out --- */

/* Any length up to STEPLINK_MESSAGE_MAX. */
void steplink_put(struct steplink *l, unsigned kind, uint32_t step, const void *data, size_t len);
void steplink_put_message(
        struct steplink *l, unsigned kind, uint32_t step, const ProtobufCMessage *m);
/* u32 and bytes: STEP_IN, STEP_OUT, STEP_ERR and such; len <= STEPLINK_DATA_MAX - 4. */
void steplink_put_bytes(struct steplink *l, unsigned kind, uint32_t step, uint32_t task,
        const void *data, size_t len);

/* What waits to be sent; steplink_sent() after some of it was. */
const uint8_t *steplink_pending(const struct steplink *l, size_t *len);
void steplink_sent(struct steplink *l, size_t len);

#endif
