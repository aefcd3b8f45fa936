/* rpc.h - the table of requests: for each type of message its verb and its handler
 *
 * Authentication is the session's; whether its user may do what is requested is checked here, in
 * one place (the verb's row in core/accounts/roles.h), before the message is even decoded. If the
 * verb concerns a job, the core or the handler asks the same table again about that job. To add a
 * message: see the head of gpusched.proto; the row goes into rpc.c, the handler into a file of its
 * verb.
 *
 * A handler answers at once, or makes a call (calls.h) that is answered later. What is wrong with
 * a user's request is answered with a Reply; what no client of ours sends closes the session.
 */
#ifndef CTLD_RPC_RPC_H
#define CTLD_RPC_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "ctld/core/accounts/roles.h"
#include "ctld/core/core.h"

struct reload_lines;
struct call;
struct call_ops;
struct ctld;
struct filter;
struct peer;

/* The verb of a message type; VERB_COUNT: the controller takes no such message. */
enum verb rpc_verb(unsigned type);

/* The kind of audit events that a change by it leaves ("job": all of job.*); NULL: it changes
 * nothing. */
const char *rpc_event(unsigned type);

/* May a session with these roles (bits of enum standing) send this type? 0; -1 with
 * ERR_NOT_PERMITTED (answer it) or ERR_PROTOCOL (close it). */
int rpc_permitted(unsigned type, unsigned standing, struct error *err);

/* A frame of a peer, in a tick. */
void rpc_dispatch(struct ctld *c, struct peer *peer, unsigned type, uint64_t id,
        const uint8_t *body, size_t len, struct clocks now);

/* What a handler gets. Everything is borrowed for the call. */
struct rpc {
	struct peer *peer;
	uint64_t id;
	struct clocks now;
	const ProtobufCMessage *msg; /* decoded; NULL for a handler that decodes in a worker */
	const uint8_t *body;
	size_t len;
};

/* Adds an audit event for a request that the core does not handle: its text, and the reason that
 * the user gave (may be ""). */
void rpc_note(struct ctld *c, const struct rpc *rpc, const char *kind, const char *text,
        const char *reason);

/* May the reason that a user gave be kept? */
int rpc_reason(const char *reason, struct error *err);

/* The caller's relation to a job that was found in the core. May the caller learn that it exists?
 */
unsigned rpc_standing(struct ctld *c, const struct rpc *rpc, const struct job_view *job);
bool rpc_sees(struct ctld *c, const struct rpc *rpc, const struct job_view *job);

/* A filter of jobs of now that has only those that the caller is told of. */
struct filter *rpc_filter(
        struct ctld *c, const struct rpc *rpc, const Gpusched__JobFilter *m, struct error *err);

void rpc_answer(struct ctld *c, const struct rpc *rpc, unsigned type, const ProtobufCMessage *m);
void rpc_reply(struct ctld *c, const struct rpc *rpc, const struct error *err);

/* The result of a request on jobs, without its errors. */
struct rpc_done {
	uint32_t jobs;
	uint32_t arrays, tasks; /* of these, arrays and tasks; their tasks */
	const char *warning;    /* NULL, or what the caller should know */
};
void rpc_controlled(struct ctld *c, struct call *call, struct rpc_done done,
        const struct job_error *errors, size_t n);

/* Answer it with a call, in slices. */
int rpc_call(struct ctld *c, const struct rpc *rpc, const struct call_ops *ops, void *data);

/* The handlers, a file each. 0: the request was answered, or will be; -1: it is refused with `err`,
 * and nothing was done. */
typedef int rpc_fn(struct ctld *c, const struct rpc *rpc, struct error *err);
rpc_fn rpc_submit_bulk, rpc_show_script, rpc_resign;
rpc_fn rpc_ping, rpc_submit, rpc_job_control, rpc_list_jobs, rpc_list_nodes, rpc_list_partitions,
        rpc_node_control, rpc_wait_jobs, rpc_watch_jobs, rpc_stats, rpc_reconfigure, rpc_shutdown,
        rpc_job_why, rpc_list_prios, rpc_list_shares, rpc_show_config, rpc_partition_control,
        rpc_list_acct, rpc_report, rpc_backup, rpc_archive, rpc_list_events;
rpc_fn rpc_step_reports, rpc_list_steps;
rpc_fn rpc_list_services, rpc_service_control, rpc_runs_load;
rpc_fn rpc_look_as;
rpc_fn rpc_register, rpc_run_report, rpc_heartbeat, rpc_runs_used, rpc_gpu_report;
rpc_fn rpc_stream_open, rpc_stream_data, rpc_stream_credit, rpc_stream_close;

/* The peer is leaving: its submits continue without a reply. */
void rpc_submits_orphan(struct peer *peer);

/* For reload_new(). */
void rpc_reconfigured(struct ctld *c, uint64_t number, const struct reload_lines *lines,
        const struct error *err);

#endif
