/* rpc.c - see rpc.h */
#include "ctld/rpc/rpc.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "common/net/msg.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"
#include "ctld/loop/disk_space.h"
#include "ctld/loop/inputs.h"
#include "ctld/loop/peers.h"
#include "ctld/loop/user_names.h"
#include "ctld/rpc/call/job_filter.h"
#include "ctld/wire/convert.h"

struct request {
	uint16_t type;
	enum verb verb;
	bool raw;          /* decoded by the handler, in a worker */
	const char *event; /* the kind of the audit events that it leaves; NULL: changes nothing */
	rpc_fn *handle;
};

#define ROW(type, verb, raw, event, handler)                                     \
	{                                                                        \
		GPUSCHED__MSG_TYPE__MSG_##type, VERB_##verb, raw, event, handler \
	}
#define NOTHING NULL
/* What an agent reports is not attributed to a user: its effects are recorded as the controller's
 * own. */
#define BY_NODE NULL

static const struct request rows[] = {
	ROW(PING, LOOK, false, NOTHING, rpc_ping),
	ROW(SUBMIT, SUBMIT, true, "job.submit", rpc_submit),
	ROW(SUBMIT_BULK, SUBMIT, false, "job.submit", rpc_submit_bulk),
	ROW(JOB_CONTROL, ASK, false, "job", rpc_job_control),
	ROW(LIST_JOBS, LIST, false, NOTHING, rpc_list_jobs),
	ROW(LIST_NODES, LOOK, false, NOTHING, rpc_list_nodes),
	ROW(LIST_PARTITIONS, LOOK, false, NOTHING, rpc_list_partitions),
	ROW(NODE_CONTROL, NODE, false, "node", rpc_node_control),
	ROW(WAIT_JOBS, LIST, false, NOTHING, rpc_wait_jobs),
	ROW(STATS, LOOK, false, NOTHING, rpc_stats),
	ROW(RECONFIGURE, RECONFIGURE, false, "controller.reconfigure", rpc_reconfigure),
	ROW(SHUTDOWN, SHUTDOWN, false, "controller.shutdown", rpc_shutdown),
	ROW(JOB_WHY, LIST, false, NOTHING, rpc_job_why),
	ROW(LIST_PRIOS, LIST, false, NOTHING, rpc_list_prios),
	ROW(LIST_SHARES, LIST, false, NOTHING, rpc_list_shares),
	ROW(SHOW_CONFIG, LOOK, false, NOTHING, rpc_show_config),
	ROW(PARTITION_CONTROL, PARTITION, false, "partition.state", rpc_partition_control),
	ROW(WATCH_JOBS, LIST, false, NOTHING, rpc_watch_jobs),
	ROW(LIST_ACCT, LIST, false, NOTHING, rpc_list_acct),
	ROW(REPORT, LIST, false, NOTHING, rpc_report),
	ROW(BACKUP, BACKUP, false, "controller.backup", rpc_backup),
	ROW(ARCHIVE, ARCHIVE, false, "controller.archive", rpc_archive),
	ROW(LIST_EVENTS, LIST, false, NOTHING, rpc_list_events),
	ROW(STEP_REPORTS, ASK, false, NOTHING, rpc_step_reports),
	ROW(LIST_STEPS, LIST, false, NOTHING, rpc_list_steps),
	ROW(LIST_SERVICES, LIST, false, NOTHING, rpc_list_services),
	ROW(SERVICE_CONTROL, ASK, false, "service", rpc_service_control),
	ROW(RESIGN, ASK, false, "job.resign", rpc_resign),
	ROW(SHOW_SCRIPT, ASK, false, NOTHING, rpc_show_script),
	ROW(LOOK_AS, LOOK_AS, false, NOTHING, rpc_look_as),
	ROW(REGISTER, AGENT, false, BY_NODE, rpc_register),
	ROW(RUN_REPORT, AGENT, false, BY_NODE, rpc_run_report),
	ROW(HEARTBEAT, AGENT, false, BY_NODE, rpc_heartbeat),
	ROW(RUNS_USED, AGENT, false, BY_NODE, rpc_runs_used),
	ROW(RUNS_LOAD, AGENT, false, BY_NODE, rpc_runs_load),
	ROW(GPU_REPORT, AGENT, false, BY_NODE, rpc_gpu_report),
	ROW(STREAM_OPEN, OUTPUT, false, NOTHING, rpc_stream_open),
	ROW(STREAM_DATA, STREAM, false, NOTHING, rpc_stream_data),
	ROW(STREAM_CREDIT, STREAM, false, NOTHING, rpc_stream_credit),
	ROW(STREAM_CLOSE, STREAM, false, NOTHING, rpc_stream_close),
};

static const struct request *row_of(unsigned type)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].type == type)
			return &rows[i];
	return NULL;
}

enum verb rpc_verb(unsigned type)
{
	const struct request *row = row_of(type);

	return row ? row->verb : VERB_COUNT;
}

const char *rpc_event(unsigned type)
{
	const struct request *row = row_of(type);

	return row ? row->event : NULL;
}

void rpc_note(struct ctld *c, const struct rpc *rpc, const char *kind, const char *text,
        const char *reason)
{
	struct core_event ev = { .kind = EV_NOTE, .caller = peer_caller(c, rpc->peer) };
	char *all = xasprintf("%s%s%s", text, *text && *reason ? ": " : "", reason);

	ev.note.kind = kind;
	ev.note.text = all;
	inputs_apply(c, &ev, rpc->now);
	free(all);
}

int rpc_reason(const char *reason, struct error *err)
{
	return text_check("reason", reason, WIRE_TEXT_MAX, err);
}

int rpc_call(struct ctld *c, const struct rpc *rpc, const struct call_ops *ops, void *data)
{
	struct call *call = call_new(c, rpc->peer, rpc->id, ops, data);

	if (call)
		call_go_on(c, call);
	return 0;
}

int rpc_permitted(unsigned type, unsigned standing, struct error *err)
{
	enum verb verb = rpc_verb(type);
	unsigned who = verb == VERB_COUNT ? 0 : verb_who(verb);
	bool agent = standing & AS_AGENT;

	if (agent ? !(who & AS_AGENT) : !(who & ~(unsigned)AS_AGENT))
		return error_set(err, ERR_PROTOCOL, "a message of type %u (%s) from %s", type,
		        msg_name(type), agent ? "an agent" : "a user");
	return verb_permits(verb, standing) ? 0 : verb_refuse(verb, err);
}

/* The caller's name is needed. An agent, and a user that was never looked up, has none. */
static bool is_named(struct ctld *c, const struct peer *peer)
{
	const char *name;

	return peer->agent || users_name(c->users, peer->uid, &name) != USER_NOT_KNOWN;
}

static unsigned standing_of(struct ctld *c, const struct peer *peer)
{
	struct caller caller;
	unsigned own;

	if (peer->agent)
		return AS_AGENT;
	caller = peer_caller_itself(c, peer);
	own = standing(&caller);
	if (!peer->looks)
		return own;
	return verb_permits(VERB_LOOK_AS, own) ? AS_WEB : 0;
}

unsigned rpc_standing(struct ctld *c, const struct rpc *rpc, const struct job_view *job)
{
	struct caller caller = peer_caller(c, rpc->peer);

	return standing_to_named(c->conf, &caller, job->uid, job->account);
}

bool rpc_sees(struct ctld *c, const struct rpc *rpc, const struct job_view *job)
{
	return !c->conf->roles.private_jobs ||
	       verb_permits(VERB_JOB_SEE, rpc_standing(c, rpc, job));
}

struct filter *rpc_filter(
        struct ctld *c, const struct rpc *rpc, const Gpusched__JobFilter *m, struct error *err)
{
	struct filter *filter = filter_new(m, c->conf, err);
	struct caller caller = peer_caller(c, rpc->peer);

	if (filter && filter_find_tasks_in(filter, c->core, err) < 0) {
		filter_free(filter);
		return NULL;
	}
	if (filter)
		filter_see_only(
		        filter, visibility_new(c->conf, &caller, c->conf->roles.private_jobs));
	return filter;
}

/* Answer a user; close an agent, or a peer that violates the protocol. */
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
	const struct request *row = row_of(type);
	struct error err;

	if (!is_named(c, peer)) {
		error_set(&err, ERR_BUSY, "the controller's name service does not answer");
		refuse(c, &rpc, &err);
		users_look_up(c->users, peer->uid, peer->session, NULL);
		return;
	}
	if (rpc_permitted(type, standing_of(c, peer), &err)) {
		refuse(c, &rpc, &err);
		return;
	}
	/* Agents repeat their reports until they are committed. */
	if (!peer->agent && disk_space_check(c, &err) < 0) {
		peers_reply_at_once(c, peer, id, &err);
		return;
	}
	if (!row->raw) {
		rpc.msg = msg_unpack(type, body, len, c->in, &err);
		if (!rpc.msg) {
			refuse(c, &rpc, &err);
			return;
		}
	}
	if (row->handle(c, &rpc, &err) < 0)
		refuse(c, &rpc, &err);
}

void rpc_answer(struct ctld *c, const struct rpc *rpc, unsigned type, const ProtobufCMessage *m)
{
	peers_send(c, rpc->peer->session, type, rpc->id, m);
}

void rpc_reply(struct ctld *c, const struct rpc *rpc, const struct error *err)
{
	peers_reply(c, rpc->peer->session, rpc->id, err);
}
