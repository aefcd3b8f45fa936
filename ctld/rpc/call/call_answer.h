/* call_answer.h - the parts of the answer to a call (answer_parts.h), made in c->out and sent to
 * its peer */
#ifndef CTLD_RPC_CALL_ANSWER_H
#define CTLD_RPC_CALL_ANSWER_H

#include "ctld/rpc/call/answer_parts.h"

struct call;
struct ctld;

struct call_part {
	struct part part;
	struct ctld *c;
	const struct call *call;
	unsigned type;
};

/* Resets c->out. `chunk` is what each part says besides its items; `type` is its MsgType. `whole`:
 * what is large is told in pieces, else it is cut. */
void call_part_begin(struct ctld *c, const struct call *call, struct call_part *part, unsigned type,
        ProtobufCMessage *chunk, bool whole);

#endif
