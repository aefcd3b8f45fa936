/* msg.c - see msg.h */
#include "common/net/msg.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/bisect.h"
#include "common/base/xalloc.h"
#include "common/net/msg_validate.h"

#define U MSG_BY_USER
#define A MSG_BY_AGENT
#define C MSG_BY_CONTROLLER
#define L MSG_BY_AGENT_LOCAL
#define R MSG_BY_LAUNCHER

#define NORMAL MSG_BODY_MAX
#define MANY   MSG_BODY_MAX_MANY
#define JOB    MSG_BODY_MAX_JOB

#define ROW(sym, from, max, name, msg)                                                         \
	{                                                                                      \
		GPUSCHED__MSG_TYPE__MSG_##sym, from, max, name, &gpusched__##msg##__descriptor \
	}

/* Ascending by type. Lists that the controller or an agent sends have space for many entries; the
 * code that fills them still cuts them into chunks. */
static const struct msg_type rows[] = {
	ROW(PING, U, NORMAL, "ping", ping),
	ROW(SUBMIT, U, JOB, "submit", submit),
	ROW(JOB_CONTROL, U, NORMAL, "job_control", job_control),
	ROW(LIST_JOBS, U, NORMAL, "list_jobs", list_jobs),
	ROW(LIST_NODES, U, NORMAL, "list_nodes", list_nodes),
	ROW(LIST_PARTITIONS, U, NORMAL, "list_partitions", list_partitions),
	ROW(NODE_CONTROL, U, NORMAL, "node_control", node_control),
	ROW(WAIT_JOBS, U, NORMAL, "wait_jobs", wait_jobs),
	ROW(STATS, U, NORMAL, "stats", stats),
	ROW(RECONFIGURE, U, NORMAL, "reconfigure", reconfigure),
	ROW(SHUTDOWN, U, NORMAL, "shutdown", shutdown),
	ROW(JOB_WHY, U, NORMAL, "job_why", job_why),
	ROW(LIST_PRIOS, U, NORMAL, "list_prios", list_prios),
	ROW(LIST_SHARES, U, NORMAL, "list_shares", list_shares),
	ROW(SHOW_CONFIG, U, NORMAL, "show_config", show_config),
	ROW(PARTITION_CONTROL, U, NORMAL, "partition_control", partition_control),
	ROW(SHOW_SCRIPT, U, NORMAL, "show_script", show_script),
	ROW(RESIGN, U, JOB, "resign", resign),
	ROW(SUBMIT_BULK, U, NORMAL, "submit_bulk", submit_bulk),
	ROW(WATCH_JOBS, U, NORMAL, "watch_jobs", watch_jobs),
	ROW(LIST_ACCT, U, NORMAL, "list_acct", list_acct),
	ROW(REPORT, U, NORMAL, "report", report),
	ROW(BACKUP, U, NORMAL, "backup", backup),
	ROW(LIST_EVENTS, U, NORMAL, "list_events", list_events),
	ROW(ARCHIVE, U, NORMAL, "archive", archive),
	ROW(STREAM_OPEN, U | C, NORMAL, "stream_open", stream_open),

	ROW(REPLY, C, NORMAL, "reply", reply),
	ROW(PONG, C, NORMAL, "pong", pong),
	ROW(SUBMIT_RESULT, C, MANY, "submit_result", submit_result),
	ROW(JOB_CONTROL_RESULT, C, MANY, "job_control_result", job_control_result),
	ROW(JOB_CHUNK, C, MANY, "job_chunk", job_chunk),
	ROW(NODE_CHUNK, C, MANY, "node_chunk", node_chunk),
	ROW(PARTITION_CHUNK, C, MANY, "partition_chunk", partition_chunk),
	ROW(STATS_RESULT, C, MANY, "stats_result", stats_result),
	ROW(RECONFIGURE_RESULT, C, MANY, "reconfigure_result", reconfigure_result),
	ROW(WHY_RESULT, C, MANY, "why_result", why_result),
	ROW(PRIO_CHUNK, C, MANY, "prio_chunk", prio_chunk),
	ROW(SHARE_CHUNK, C, MANY, "share_chunk", share_chunk),
	ROW(CONFIG_CHUNK, C, MANY, "config_chunk", config_chunk),
	ROW(SCRIPT_RESULT, C, JOB, "script_result", script_result),
	ROW(BULK_RESULT, C, MANY, "bulk_result", bulk_result),
	ROW(ACCT_CHUNK, C, MANY, "acct_chunk", acct_chunk),
	ROW(REPORT_CHUNK, C, MANY, "report_chunk", report_chunk),
	ROW(EVENT_CHUNK, C, MANY, "event_chunk", event_chunk),
	ROW(ARCHIVE_RESULT, C, NORMAL, "archive_result", archive_result),

	ROW(REGISTER, A, JOB, "register", register),
	ROW(RUN_REPORT, A, NORMAL, "run_report", run_report),
	ROW(HEARTBEAT, A, NORMAL, "heartbeat", heartbeat),
	ROW(RUNS_USED, A, MANY, "runs_used", runs_used),

	ROW(REGISTERED, C, MANY, "registered", registered),
	ROW(START_RUN, C | L, JOB, "start_run", start_run),
	ROW(END_RUN, C | L, NORMAL, "end_run", end_run),
	ROW(SIGNAL_RUN, C | L, NORMAL, "signal_run", signal_run),
	ROW(FORGET_RUN, C | L, NORMAL, "forget_run", forget_run),
	ROW(SUSPEND_RUN, C | L, NORMAL, "suspend_run", suspend_run),

	ROW(STREAM_DATA, U | A | C, NORMAL, "stream_data", stream_data),
	ROW(STREAM_CREDIT, U | A | C, NORMAL, "stream_credit", stream_credit),
	ROW(STREAM_CLOSE, U | A | C, NORMAL, "stream_close", stream_close),

	ROW(LAUNCHER_HELLO, R, JOB, "launcher_hello", launcher_hello),
	ROW(LAUNCHER_RUN, R, NORMAL, "launcher_run", run_report),
	ROW(LAUNCHER_CRED, L | R, NORMAL, "launcher_cred", launcher_cred),
	ROW(LAUNCHER_EPOCH, L, NORMAL, "launcher_epoch", launcher_epoch),
	ROW(LAUNCHER_GPUS, R, JOB, "launcher_gpus", inventory),
	ROW(LAUNCHER_USED, R, MANY, "launcher_used", runs_used),
	ROW(LAUNCHER_STREAM, L | R, NORMAL, "launcher_stream", launcher_stream),

	ROW(GPU_REPORT, A | R, MANY, "gpu_report", gpu_report),
	ROW(GPU_ACK, C | L, NORMAL, "gpu_ack", gpu_ack),
	ROW(GPU_CHECK, C | L, NORMAL, "gpu_check", gpu_check),
	ROW(NODE_SETTINGS, C | L, NORMAL, "node_settings", node_settings),

	ROW(STEP_REPORTS, U, NORMAL, "step_reports", step_reports),
	ROW(LIST_STEPS, U, NORMAL, "list_steps", list_steps),
	ROW(STEP_CHUNK, C, MANY, "step_chunk", step_chunk),

	ROW(LIST_SERVICES, U, NORMAL, "list_services", list_services),
	ROW(SERVICE_CONTROL, U, NORMAL, "service_control", service_control),
	ROW(SERVICE_CHUNK, C, MANY, "service_chunk", service_chunk),
	ROW(RUNS_LOAD, A | R, MANY, "runs_load", runs_load),

	ROW(LOOK_AS, U, NORMAL, "look_as", look_as),
	ROW(LOOK_AS_RESULT, C, MANY, "look_as_result", look_as_result),
	ROW(BACKUP_PROGRESS, C, NORMAL, "backup_progress", backup_progress),
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

const struct msg_type *msg_types(size_t *n)
{
	*n = N_ROWS;
	return rows;
}

const struct msg_type *msg_type(unsigned type)
{
	size_t at;

	BISECT(at, N_ROWS, rows[at].type < type);
	return at < N_ROWS && rows[at].type == type ? &rows[at] : NULL;
}

const char *msg_name(unsigned type)
{
	const struct msg_type *t = msg_type(type);

	return t ? t->name : "unknown";
}

int64_t msg_limit(unsigned type, unsigned from, struct error *err)
{
	const struct msg_type *t = msg_type(type);

	if (!t)
		return error_set(err, ERR_PROTOCOL, "a message of unknown type %u", type);
	if (!(t->from & from))
		return error_set(
		        err, ERR_PROTOCOL, "a %s from a peer that may not send it", t->name);
	return t->max_len;
}

/* --- decoding -------------------------------------------------------------------------------- */

/* What decoding `len` bytes may cost. Lists of small messages become some 16 times as large in
 * memory; large bodies carry blobs, which do not grow. */
static size_t arena_cap(size_t len)
{
	size_t growth = 31 * len, most = 16 * 1024 * 1024;

	return 128 * 1024 + len + (growth < most ? growth : most);
}

static void tame_enums(ProtobufCMessage *m);

static void tame_field(const ProtobufCFieldDescriptor *f, void *member)
{
	int *value = member;
	ProtobufCMessage **sub = member;

	if (f->type == PROTOBUF_C_TYPE_MESSAGE && *sub)
		tame_enums(*sub);
	else if (f->type == PROTOBUF_C_TYPE_ENUM &&
	         !protobuf_c_enum_descriptor_get_value(f->descriptor, *value))
		*value = 0;
}

/* Enums of values that this version does not know read as 0. */
static void tame_enums(ProtobufCMessage *m)
{
	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
		char *member = (char *)m + f->offset;
		size_t size = f->type == PROTOBUF_C_TYPE_ENUM ? sizeof(int) : sizeof(void *);
		size_t n = 0;

		if (f->type != PROTOBUF_C_TYPE_MESSAGE && f->type != PROTOBUF_C_TYPE_ENUM)
			continue;
		if (f->label != PROTOBUF_C_LABEL_REPEATED) {
			tame_field(f, member);
			continue;
		}
		n = *(size_t *)((char *)m + f->quantifier_offset);
		member = *(char **)member;
		for (size_t j = 0; j < n; j++)
			tame_field(f, member + j * size);
	}
}

ProtobufCMessage *msg_unpack_desc(const ProtobufCMessageDescriptor *desc, const void *bytes,
        size_t len, unsigned flags, struct arena *arena, struct error *err)
{
	ProtobufCMessage *m;

	if (msgscan(desc, bytes, len, flags & MSG_STRICT, err) < 0)
		return NULL;
	m = protobuf_c_message_unpack(desc, arena_allocator(arena), len, bytes);
	if (!m) {
		error_set(err, ERR_PROTOCOL,
		        arena_refused(arena) ? "a %s that is too costly to decode"
		                             : "a malformed %s",
		        desc->short_name);
		return NULL;
	}
	tame_enums(m);
	return m;
}

ProtobufCMessage *msg_unpack(
        unsigned type, const void *bytes, size_t len, struct arena *arena, struct error *err)
{
	const struct msg_type *t = msg_type(type);

	if (!t || len > t->max_len) {
		error_set(err, ERR_PROTOCOL, "a %s message of %zu bytes", msg_name(type), len);
		return NULL;
	}
	arena_reset(arena, arena_cap(len));
	return msg_unpack_desc(t->desc, bytes, len, 0, arena, err);
}

/* --- encoding -------------------------------------------------------------------------------- */

int64_t msg_packed_size(unsigned type, const ProtobufCMessage *m, struct error *err)
{
	const struct msg_type *t = msg_type(type);
	size_t n;

	if (!t || t->desc != m->descriptor)
		return error_set(err, ERR_INTERNAL, "a %s is no %s", m->descriptor->short_name,
		        msg_name(type));
	n = protobuf_c_message_get_packed_size(m);
	if (n > t->max_len)
		return error_set(err, ERR_PROTOCOL, "a %s of %zu bytes; at most %u are allowed",
		        t->name, n, t->max_len);
	return (int64_t)n;
}

ProtobufCMessage *msg_copy(const ProtobufCMessage *m)
{
	size_t n = protobuf_c_message_get_packed_size(m);
	uint8_t *bytes = xcalloc(n + 1, 1);
	ProtobufCMessage *copy;

	protobuf_c_message_pack(m, bytes);
	copy = protobuf_c_message_unpack(m->descriptor, NULL, n, bytes);
	free(bytes);
	return copy;
}
