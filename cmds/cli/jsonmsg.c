/* jsonmsg.c - messages in a JSON listing: see jsonout.h */
#include "cmds/cli/jsonout.h"

#include "common/net/msgjson.h"

void jsonout_message(struct jsonout *j, const ProtobufCMessage *m)
{
	json_t *object = msgjson(m, 0);

	if (object)
		jsonout_object(j, object);
}
