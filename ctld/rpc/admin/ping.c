/* ping.c - MSG_PING: which controller this is, and the caller's uid as it sees it */
#include "config.h"

#include "ctld/ctld.h"
#include "ctld/loop/peers.h"
#include "ctld/rpc/rpc.h"

int rpc_ping(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	Gpusched__Pong m = GPUSCHED__PONG__INIT;

	(void)err;
	m.cluster = c->conf->cluster;
	m.version = (char *)PACKAGE_VERSION;
	m.epoch = c->epoch;
	m.time = rpc->now.wall;
	m.host = c->host;
	m.uid = rpc->peer->uid;
	rpc_answer(c, rpc, GPUSCHED__MSG_TYPE__MSG_PONG, &m.base);
	rpc_reply(c, rpc, NULL);
	return 0;
}
