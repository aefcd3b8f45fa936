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
typedef int reassembled_item(const ProtobufCMessage *item, void *arg, struct error *err);

/* Begins as { type, item, arg }. */
struct reassembly {
	unsigned type; /* MsgType of the parts */
	reassembled_item *item;
	void *arg;
	ProtobufCMessage *held; /* an item of which more is to come */
};

/* Each part of the answer; `whole` is a struct reassembly. For client_call.on_chunk. */
int reassembly_chunk(const ProtobufCMessage *m, void *whole, struct error *err);
void reassembly_clear(struct reassembly *w); /* the answer is over */

/* Ask for a listing, which may be asked for again as long as nothing of it has come. */
int reassembly_ask(struct client *c, unsigned type, const ProtobufCMessage *request,
        struct reassembly *w, struct error *err);

#endif
