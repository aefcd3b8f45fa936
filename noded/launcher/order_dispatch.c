/* order_dispatch.c - see order_dispatch.h, launcher.h
 *
 * A table says of each message what handles it, and where in it are the run that it must name and
 * the epoch of its controller. Both are checked here, for all messages: an order of an old epoch
 * goes no further.
 */
#include "config.h"

#include "noded/launcher/order_dispatch.h"

#include <stddef.h>
#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/net/frame.h"
#include "common/net/hello.h"
#include "common/net/msg.h"
#include "common/net/munge.h"
#include "noded/launcher/node_settings.h"
#include "noded/launcher/start_run.h"
#include "noded/launcher/stream_grants.h"
#include "noded/runs/agent_channel.h"
#include "noded/runs/epochs.h"
#include "noded/runs/launcher_options.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/munge_queries.h"
#include "noded/runs/run_life.h"
#include "noded/runs/run_report.h"
#include "noded/watch/gpu_checks.h"
#include "noded/watch/gpu_faults.h"

/* What handles a message; not all of them fail. */
#define HANDLER(name) \
	int name(struct launcher *l, const void *message, struct error *err __attribute__((unused)))

static HANDLER(on_end)
{
	run_end(l, message);
	return 0;
}

static HANDLER(on_signal)
{
	const Gpusched__SignalRun *m = message;

	if (m->signal < 1 || m->signal > 64)
		return error_set(err, ERR_USAGE, "signal %u", m->signal);
	run_signal(l, m);
	return 0;
}

static HANDLER(on_suspend)
{
	run_suspend(l, message);
	return 0;
}

static HANDLER(on_forget)
{
	const Gpusched__ForgetRun *m = message;

	for (size_t i = 0; i < m->n_runs; i++)
		run_forget(l, run_id_of(m->runs[i]));
	return 0;
}

static HANDLER(on_epoch)
{
	const Gpusched__LauncherEpoch *m = message;

	if (m->signature_age_s)
		starts_limit_age(l->starts, m->signature_age_s);
	return 0;
}

static HANDLER(on_settings)
{
	settings_receive(l, message);
	return 0;
}

static HANDLER(on_stream)
{
	streams_request(l, message);
	return 0;
}

static HANDLER(on_gpu_ack)
{
	const Gpusched__GpuAck *m = message;

	gpu_faults_ack(l, m->seq);
	return 0;
}

static HANDLER(on_gpu_check)
{
	gpu_checks_order(l, message);
	return 0;
}

/* A request of the network half for a credential, while munge works on it. */
struct cred_ask {
	struct launcher *l;
	uint64_t id;
};

static void cred_reply(struct launcher *l, uint64_t id, const char *cred, const struct error *err)
{
	Gpusched__LauncherCred m = GPUSCHED__LAUNCHER_CRED__INIT;

	m.id = id;
	if (cred) {
		m.credential = (char *)(uintptr_t)cred;
	} else {
		m.error = (uint32_t)err->code;
		m.error_text = (char *)(uintptr_t)err->text;
	}
	agent_send(l, GPUSCHED__MSG_TYPE__MSG_LAUNCHER_CRED, &m.base);
}

static void cred_made(const char *credential, const struct error *err, void *arg)
{
	struct cred_ask *ask = arg;

	cred_reply(ask->l, ask->id, credential, err);
	free(ask);
}

/* Only the payload of this node's hello to its controller is signed; never a job. */
static HANDLER(on_cred)
{
	const Gpusched__LauncherCred *m = message;
	struct hello_to to = {
		.role = "controller", .cluster = l->options->cluster, .node = l->options->node
	};
	struct cred_ask *ask;
	struct error why;

	if (hello_payload_check(m->payload.data, m->payload.len, &to, &why) < 0 ||
	        (m->restrict_uid == (uint32_t)MCRED_ANY_UID &&
	                error_set(&why, ERR_AUTH, "a hello must be restricted to its reader"))) {
		log_warning("credential refused to the network half: %s", why.text);
		cred_reply(l, m->id, NULL, &why);
		return 0;
	}
	ask = xcalloc(1, sizeof(*ask));
	*ask = (struct cred_ask){ .l = l, .id = m->id };
	munge_query_make(l->munge_queries, m->payload.data, m->payload.len, (uid_t)m->restrict_uid,
	        cred_made, ask);
	return 0;
}

/* --- every message ---------------------------------------------------------------------------- */

/* run_at, epoch_at: the offset of the run that the message must name, and of the epoch of the
 * controller that sent it; 0: it has none. */
static const struct {
	unsigned type;
	HANDLER((*handle));
	size_t run_at, epoch_at;
} handlers[] = {
	{ GPUSCHED__MSG_TYPE__MSG_END_RUN, on_end, offsetof(Gpusched__EndRun, run),
	        offsetof(Gpusched__EndRun, epoch) },
	{ GPUSCHED__MSG_TYPE__MSG_SIGNAL_RUN, on_signal, offsetof(Gpusched__SignalRun, run),
	        offsetof(Gpusched__SignalRun, epoch) },
	{ GPUSCHED__MSG_TYPE__MSG_SUSPEND_RUN, on_suspend, offsetof(Gpusched__SuspendRun, run),
	        offsetof(Gpusched__SuspendRun, epoch) },
	{ GPUSCHED__MSG_TYPE__MSG_FORGET_RUN, on_forget, 0, 0 },
	{ GPUSCHED__MSG_TYPE__MSG_LAUNCHER_CRED, on_cred, 0, 0 },
	{ GPUSCHED__MSG_TYPE__MSG_LAUNCHER_EPOCH, on_epoch, 0,
	        offsetof(Gpusched__LauncherEpoch, epoch) },
	{ GPUSCHED__MSG_TYPE__MSG_LAUNCHER_STREAM, on_stream,
	        offsetof(Gpusched__LauncherStream, run), 0 },
	{ GPUSCHED__MSG_TYPE__MSG_NODE_SETTINGS, on_settings, 0,
	        offsetof(Gpusched__NodeSettings, epoch) },
	{ GPUSCHED__MSG_TYPE__MSG_GPU_ACK, on_gpu_ack, 0, 0 },
	{ GPUSCHED__MSG_TYPE__MSG_GPU_CHECK, on_gpu_check, 0, 0 },
};

static bool names_run(const char *message, size_t run_at)
{
	const Gpusched__RunId *run = *(Gpusched__RunId *const *)(const void *)(message + run_at);

	return run && run->job > 0 && run->attempt > 0;
}

static int handle_message(struct launcher *l, size_t i, const void *message, struct error *err)
{
	const char *m = message;

	if (handlers[i].run_at && !names_run(m, handlers[i].run_at))
		return error_set(err, ERR_USAGE, "no run");
	if (handlers[i].epoch_at &&
	        epochs_take(
	                l, *(const uint64_t *)(const void *)(m + handlers[i].epoch_at), err) < 0)
		return -1;
	return handlers[i].handle(l, message, err);
}

int order_dispatch(struct launcher *l, const struct frame *f, struct error *err)
{
	struct arena *arena;
	const void *m;
	size_t i = 0;
	int rc;

	if (f->type == GPUSCHED__MSG_TYPE__MSG_START_RUN) { /* the start decodes and keeps it */
		start_order(l, f->body, f->len);
		return 0;
	}
	while (i < sizeof(handlers) / sizeof(handlers[0]) && handlers[i].type != f->type)
		i++;
	if (i == sizeof(handlers) / sizeof(handlers[0]))
		return error_set(err, ERR_PROTOCOL, "a message of type %u", f->type);
	if (!(arena = arena_new(MSG_BODY_MAX_JOB)))
		abort();
	m = msg_unpack(f->type, f->body, f->len, arena, err);
	rc = m ? handle_message(l, i, m, err) : -1;
	arena_free(arena);
	return rc;
}
