/* call_answer.c - see call_answer.h */
#include "ctld/rpc/call/call_answer.h"

#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/peers.h"
#include "ctld/wire/convert.h"

static void send_part(void *to, const ProtobufCMessage *chunk)
{
	const struct call_part *part = to;

	peers_send(part->c, part->call->session, part->type, part->call->id, chunk);
}

void call_part_begin(struct ctld *c, const struct call *call, struct call_part *part, unsigned type,
        ProtobufCMessage *chunk, bool whole)
{
	part->c = c;
	part->call = call;
	part->type = type;
	part->part.chunk = chunk;
	part->part.arena = c->out;
	part->part.whole = whole;
	part->part.send = send_part;
	part->part.to = part;
	part_begin(&part->part);
	arena_reset(c->out, WIRE_ARENA_CAP);
}
