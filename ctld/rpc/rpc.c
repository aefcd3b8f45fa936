/* rpc.c - see rpc.h */
#include "ctld/rpc/rpc.h"

#include "common/log.h"
#include "common/msg.h"
#include "ctld/ctld.h"
#include "ctld/peers.h"
#include "ctld/users.h"

struct row {
	uint16_t type;
	enum rpc_role role;
	bool raw; /* decoded by the handler, in a worker */
	rpc_fn *handle;
};

#define ROW(type, role, raw, handler)                              \
	{                                                          \
		GPUSCHED__MSG_TYPE__MSG_##type, role, raw, handler \
	}

static const struct row rows[] = {
	ROW(PING, RPC_USER, false, rpc_ping),
	ROW(SUBMIT, RPC_USER, true, rpc_submit),
	ROW(SUBMIT_BULK, RPC_USER, false, rpc_submit_bulk),
	ROW(JOB_CONTROL, RPC_USER, false, rpc_job_control), /* the core checks the owner */
	ROW(LIST_JOBS, RPC_USER, false, rpc_list_jobs),
	ROW(LIST_NODES, RPC_USER, false, rpc_list_nodes),
	ROW(LIST_PARTITIONS, RPC_USER, false, rpc_list_partitions),
	ROW(NODE_CONTROL, RPC_ADMIN, false, rpc_node_control),
	ROW(WAIT_JOBS, RPC_USER, false, rpc_wait_jobs),
	ROW(STATS, RPC_USER, false, rpc_stats),
	ROW(RECONFIGURE, RPC_ADMIN, false, rpc_reconfigure),
	ROW(SHUTDOWN, RPC_ADMIN, false, rpc_shutdown),
	ROW(JOB_WHY, RPC_USER, false, rpc_job_why),
	ROW(LIST_PRIOS, RPC_USER, false, rpc_list_prios),
	ROW(LIST_SHARES, RPC_USER, false, rpc_list_shares),
	ROW(SHOW_CONFIG, RPC_USER, false, rpc_show_config),
	ROW(PARTITION_CONTROL, RPC_ADMIN, false, rpc_partition_control),
	ROW(WATCH_JOBS, RPC_USER, false, rpc_watch_jobs),
	ROW(LIST_ACCT, RPC_USER, false, rpc_list_acct), /* of whom: acct_only() */
	ROW(REPORT, RPC_USER, false, rpc_report),
	ROW(BACKUP, RPC_ADMIN, false, rpc_backup),
	ROW(LIST_EVENTS, RPC_USER, false, rpc_list_events), /* it checks whose */
	ROW(REGISTER, RPC_AGENT, false, rpc_register),
	ROW(RUN_REPORT, RPC_AGENT, false, rpc_run_report),
	ROW(HEARTBEAT, RPC_AGENT, false, rpc_heartbeat),
	ROW(STREAM_OPEN, RPC_USER, false,
	        rpc_stream_open), /* the owner's; the launcher checks too */
	ROW(STREAM_DATA, RPC_BOTH, false, rpc_stream_data),
	ROW(STREAM_CREDIT, RPC_BOTH, false, rpc_stream_credit),
	ROW(STREAM_CLOSE, RPC_BOTH, false, rpc_stream_close),
};

static const struct row *row_of(unsigned type)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].type == type)
			return &rows[i];
	return NULL;
}

enum rpc_role rpc_role(unsigned type)
{
	const struct row *row = row_of(type);

	return row ? row->role : RPC_NOBODY;
}

int rpc_permitted(unsigned type, bool agent, bool admin, struct error *err)
{
	enum rpc_role role = rpc_role(type);

	if (role == RPC_NOBODY || (role != RPC_BOTH && agent != (role == RPC_AGENT)))
		return error_set(err, ERR_PROTOCOL, "a message of type %u (%s) from %s", type,
		        msg_name(type), agent ? "an agent" : "a user");
	if (role == RPC_ADMIN && !admin)
		return error_set(err, ERR_NOT_PERMITTED, "%s: administrators only", msg_name(type));
	return 0;
}

/* Who asks is needed by name. An agent, and who was never looked up, has none. */
static bool is_named(struct ctld *c, const struct peer *peer)
{
	const char *name;

	return peer->agent || users_name(c->users, peer->uid, &name) != USER_NOT_KNOWN;
}

/* Answer a user, close an agent or whoever does not keep to the protocol. */
static void refuse(struct ctld *c, const struct rpc *rpc, const struct error *err)
{
	if (err->code == ERR_PROTOCOL || rpc->peer->agent)
		peer_expel(c, rpc->peer, err);
	else
		rpc_reply(c, rpc, err);
}

void rpc_dispatch(struct ctld *c, struct peer *peer, unsigned type, uint64_t id,
        const uint8_t *body, size_t len, struct clocks now)
{
	struct rpc rpc = { .peer = peer, .id = id, .now = now, .body = body, .len = len };
	const struct row *row = row_of(type);
	struct error err;

	if (rpc_permitted(type, peer->agent, peer->admin, &err)) {
		refuse(c, &rpc, &err);
		return;
	}
	if (!is_named(c, peer)) {
		error_set(&err, ERR_BUSY, "the controller's name service does not answer");
		refuse(c, &rpc, &err);
		users_ask(c->users, peer->uid, peer->session, NULL);
		return;
	}
	if (!row->raw) {
		rpc.msg = msg_unpack(type, body, len, c->in, &err);
		if (!rpc.msg) {
			refuse(c, &rpc, &err);
			return;
		}
	}
	row->handle(c, &rpc);
}

void rpc_answer(struct ctld *c, const struct rpc *rpc, unsigned type, const ProtobufCMessage *m)
{
	peers_send(c, rpc->peer->session, type, rpc->id, m);
}

void rpc_reply(struct ctld *c, const struct rpc *rpc, const struct error *err)
{
	peers_reply(c, rpc->peer->session, rpc->id, err);
}
