/* reassemble.h - asking for a listing whose items come whole
 *
 * A controller that was asked so (`whole` of ListJobs and others) cuts nothing: a very large item
 * comes in pieces, one at the end of a part and the next at the beginning of the part behind it
 * (ctld/rpc/call/answer_parts.h). Here they are put together again.
 */
#ifndef CMDS_REASSEMBLE_H
#define CMDS_REASSEMBLE_H

#include "cmds/api/client.h"

/* An item that is complete: a Job of JobChunks. Gone when it returns. -1 with `err` ends the
 * listing. */
typedef int whole_item(const ProtobufCMessage *item, void *arg, struct error *err);

/* Begins as { type, item, arg }. */
struct whole {
	unsigned type; /* MsgType of the parts */
	whole_item *item;
	void *arg;
	ProtobufCMessage *held; /* an item of which more is to come */
};

/* Each part of the answer; `whole` is a struct whole. For client_call.on_chunk. */
int whole_chunk(const ProtobufCMessage *m, void *whole, struct error *err);
void whole_clear(struct whole *w); /* the answer is over */

/* Ask for a listing, which may be asked for again as long as nothing of it has come. */
int whole_ask(struct client *c, unsigned type, const ProtobufCMessage *request, struct whole *w,
        struct error *err);

#endif
