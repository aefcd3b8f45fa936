/* call.c - see call.h */
#include "cmds/api/call.h"

#include "common/net/msg.h"

int call_part(const struct client_call *call, unsigned type, const ProtobufCMessage *m,
        struct error *err)
{
	if (!call->on_chunk)
		return 0;
	if (type != call->answer)
		return error_set(err, ERR_PROTOCOL, "unexpected answer: %s instead of %s",
		        msg_name(type), msg_name(call->answer));
	return call->on_chunk(m, call->arg, err);
}
