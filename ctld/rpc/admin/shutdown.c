/* shutdown.c - MSG_SHUTDOWN: the controller ends, jobs run on */
#include "common/base/log.h"
#include "ctld/ctld.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/user_names.h"
#include "ctld/rpc/rpc.h"

int rpc_shutdown(struct ctld *c, const struct rpc *rpc, struct error *err)
{
	const Gpusched__Shutdown *m = (const Gpusched__Shutdown *)rpc->msg;
	const char *name;

	if (rpc_reason(m->reason, err) < 0)
		return -1;
	users_name(c->users, rpc->peer->uid, &name);
	log_info("shutdown asked for by %s at %s", name, rpc->peer->address);
	rpc_note(c, rpc, "controller.shutdown", "", m->reason);
	rpc_reply(c, rpc, NULL);
	ctld_end(c);
	return 0;
}
