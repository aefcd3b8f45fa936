/* call.h - one request and its answer, of a controller (client.h) or of a file (pastfile.h) */
#ifndef CMDS_CALL_H
#define CMDS_CALL_H

#include <stdbool.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"

struct client_call {
	unsigned type; /* MsgType */
	const ProtobufCMessage *request;
	/* Each part of the answer; gone when it returns. -1 with `err` ends the call. */
	int (*on_chunk)(const ProtobufCMessage *m, void *arg, struct error *err);
	void *arg;
	int timeout_ms;  /* of the silence between two parts; 0: 30 s; < 0: none */
	bool repeatable; /* may be asked again if no part of the answer came */
	unsigned answer; /* MsgType of each part: another one ends the call (ERR_PROTOCOL) */
};

/* What every call says, with the messages' names as MsgType has them behind MSG_. */
#define CLIENT_CALL(message, request_, parts, on_part, what)                               \
	.type = GPUSCHED__MSG_TYPE__MSG_##message, .request = (request_),                  \
	.answer = GPUSCHED__MSG_TYPE__MSG_##parts, .on_chunk = (on_part), .arg = (what)
/* A question, which changes nothing: it may be asked again. */
#define CLIENT_ASK(message, request_, parts, on_part, what) \
	{ CLIENT_CALL(message, request_, parts, on_part, what), .repeatable = true }

/* Hand over a part of the answer. -1 with `err`. */
int call_part(const struct client_call *call, unsigned type, const ProtobufCMessage *m,
        struct error *err);

#endif
