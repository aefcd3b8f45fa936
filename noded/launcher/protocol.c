/* protocol.c - see protocol.h, launcher.h */
#include "config.h"

#include "noded/launcher/protocol.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/net/frame.h"
#include "common/net/hello.h"
#include "common/net/mcred.h"
#include "common/net/msg.h"
#include "noded/confine/containment.h"
#include "noded/launcher/launcher.h"
#include "noded/launcher/settings.h"
#include "noded/launcher/start.h"
#include "noded/launcher/streams.h"
#include "noded/runs/lookup.h"
#include "noded/runs/parts.h"
#include "noded/runs/places.h"
#include "noded/runs/runs.h"
#include "noded/watch/gpu_faults.h"
#include "noded/watch/gpu_inventory.h"

#define HELLO_OVER_MAX 4096 /* each at most about 700 bytes: MSG_BODY_MAX_JOB holds them */

struct protocol {
	struct launcher *l;
	struct bufferevent *agent;
	struct frame_reader *reader;
	struct arena *arena; /* of the message at hand */
};

/* --- sending ---------------------------------------------------------------------------------- */

void protocol_send(struct launcher *l, unsigned type, const ProtobufCMessage *m)
{
	struct error err;
	uint8_t *bytes;
	size_t len;

	if (!l->protocol)
		return;
	if (msg_pack_frame(type, 0, m, &bytes, &len, &err) < 0) {
		log_error("message to the agent: %s", err.text);
		return;
	}
	bufferevent_write(l->protocol->agent, bytes, len);
	free(bytes);
}

struct hello_list {
	Gpusched__RunReport **v;
	size_t n, over; /* entries; those of runs that are over */
};

/* List living runs, and as many runs that are over as surely fit into one message. */
static void list_run(struct run *r, void *arg)
{
	struct hello_list *list = arg;

	if (!r->report || (r->state == RUN_OVER && list->over++ >= HELLO_OVER_MAX))
		return;
	run_refresh(r);
	list->v[list->n++] = r->report;
}

/* Send the rest one by one. */
static void report_rest(struct run *r, void *arg)
{
	struct hello_list *list = arg;

	if (r->state == RUN_OVER && list->over++ >= HELLO_OVER_MAX)
		run_send_report(r);
}

void protocol_hello(struct launcher *l)
{
	Gpusched__LauncherHello h = GPUSCHED__LAUNCHER_HELLO__INIT;
	Gpusched__Inventory inventory;
	struct hello_list list = { .v = xcalloc(runs_count(l) + 1, sizeof(*list.v)) };
	char version[] = PACKAGE_VERSION;

	runs_each(l, list_run, &list);
	h.incarnation = l->places->incarnation;
	h.boot_id = l->places->boot_id;
	h.containment = l->containment->active;
	h.max_epoch = l->places->max_epoch;
	h.max_job = l->places->max_job;
	h.n_runs = list.n;
	h.runs = list.v;
	h.version = version;
	gpu_inventory_fill(l->gpu_inventory, &inventory);
	h.inventory = &inventory;
	protocol_send(l, GPUSCHED__MSG_TYPE__MSG_LAUNCHER_HELLO, &h.base);
	gpu_inventory_clear(&inventory);
	free(list.v);
	list.over = 0;
	runs_each(l, report_rest, &list);
	gpu_faults_send(l);
}

/* --- receiving -------------------------------------------------------------------------------- */

static bool run_named(const Gpusched__RunId *run)
{
	return run && run->job > 0 && run->attempt > 0;
}

static int on_start(struct launcher *l, const struct frame *f, struct error *err)
{
	(void)err;
	start_order(l, f->body, f->len);
	return 0;
}

static int on_end(struct launcher *l, const struct frame *f, struct error *err)
{
	const Gpusched__EndRun *m = (const Gpusched__EndRun *)msg_unpack(
	        f->type, f->body, f->len, l->protocol->arena, err);

	if (!m || !run_named(m->run))
		return m ? error_set(err, ERR_USAGE, "no run") : -1;
	run_end(l, m);
	return 0;
}

static int on_signal(struct launcher *l, const struct frame *f, struct error *err)
{
	const Gpusched__SignalRun *m = (const Gpusched__SignalRun *)msg_unpack(
	        f->type, f->body, f->len, l->protocol->arena, err);

	if (!m || !run_named(m->run))
		return m ? error_set(err, ERR_USAGE, "no run") : -1;
	if (m->signal < 1 || m->signal > 64)
		return error_set(err, ERR_USAGE, "signal %u", m->signal);
	run_signal(l, m);
	return 0;
}

static int on_suspend(struct launcher *l, const struct frame *f, struct error *err)
{
	const Gpusched__SuspendRun *m = (const Gpusched__SuspendRun *)msg_unpack(
	        f->type, f->body, f->len, l->protocol->arena, err);

	if (!m || !run_named(m->run))
		return m ? error_set(err, ERR_USAGE, "no run") : -1;
	run_suspend(l, m);
	return 0;
}

static int on_forget(struct launcher *l, const struct frame *f, struct error *err)
{
	const Gpusched__ForgetRun *m = (const Gpusched__ForgetRun *)msg_unpack(
	        f->type, f->body, f->len, l->protocol->arena, err);

	if (!m)
		return -1;
	for (size_t i = 0; i < m->n_runs; i++)
		run_forget(l, run_id_of(m->runs[i]));
	return 0;
}

static int on_epoch(struct launcher *l, const struct frame *f, struct error *err)
{
	const Gpusched__LauncherEpoch *m = (const Gpusched__LauncherEpoch *)msg_unpack(
	        f->type, f->body, f->len, l->protocol->arena, err);

	if (!m)
		return -1;
	if (m->signature_age_s && m->epoch >= l->places->max_epoch)
		starts_limit_age(l->starts, m->signature_age_s);
	places_saw_epoch(l, m->epoch);
	return 0;
}

static int on_settings(struct launcher *l, const struct frame *f, struct error *err)
{
	const Gpusched__NodeSettings *m = (const Gpusched__NodeSettings *)msg_unpack(
	        f->type, f->body, f->len, l->protocol->arena, err);

	if (!m)
		return -1;
	settings_receive(l, m);
	return 0;
}

static int on_stream(struct launcher *l, const struct frame *f, struct error *err)
{
	const Gpusched__LauncherStream *m = (const Gpusched__LauncherStream *)msg_unpack(
	        f->type, f->body, f->len, l->protocol->arena, err);

	if (!m || !run_named(m->run))
		return m ? error_set(err, ERR_USAGE, "no run") : -1;
	streams_request(l, m);
	return 0;
}

static int on_gpu_ack(struct launcher *l, const struct frame *f, struct error *err)
{
	const Gpusched__GpuAck *m = (const Gpusched__GpuAck *)msg_unpack(
	        f->type, f->body, f->len, l->protocol->arena, err);

	if (!m)
		return -1;
	gpu_faults_ack(l, m->seq);
	return 0;
}

static int on_gpu_check(struct launcher *l, const struct frame *f, struct error *err)
{
	const Gpusched__GpuCheck *m = (const Gpusched__GpuCheck *)msg_unpack(
	        f->type, f->body, f->len, l->protocol->arena, err);

	if (!m)
		return -1;
	gpu_faults_check(l, m);
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
	protocol_send(l, GPUSCHED__MSG_TYPE__MSG_LAUNCHER_CRED, &m.base);
}

static void cred_made(const char *credential, const struct error *err, void *arg)
{
	struct cred_ask *ask = arg;

	cred_reply(ask->l, ask->id, credential, err);
	free(ask);
}

/* Only the payload of this node's hello to its controller is signed; never a job. */
static int on_cred(struct launcher *l, const struct frame *f, struct error *err)
{
	const Gpusched__LauncherCred *m = (const Gpusched__LauncherCred *)msg_unpack(
	        f->type, f->body, f->len, l->protocol->arena, err);
	struct hello_to to = {
		.role = "controller", .cluster = l->options->cluster, .node = l->options->node
	};
	struct cred_ask *ask;
	struct error why;

	if (!m)
		return -1;
	if (hello_payload_check(m->payload.data, m->payload.len, &to, &why) < 0 ||
	        (m->restrict_uid == (uint32_t)MCRED_ANY_UID &&
	                error_set(&why, ERR_AUTH, "a hello must be restricted to its reader"))) {
		log_warning("credential refused to the network half: %s", why.text);
		cred_reply(l, m->id, NULL, &why);
		return 0;
	}
	ask = xcalloc(1, sizeof(*ask));
	*ask = (struct cred_ask){ .l = l, .id = m->id };
	lookup_make(
	        l->lookup, m->payload.data, m->payload.len, (uid_t)m->restrict_uid, cred_made, ask);
	return 0;
}

static const struct {
	unsigned type;
	int (*handle)(struct launcher *l, const struct frame *f, struct error *err);
} handlers[] = {
	{ GPUSCHED__MSG_TYPE__MSG_START_RUN, on_start },
	{ GPUSCHED__MSG_TYPE__MSG_END_RUN, on_end },
	{ GPUSCHED__MSG_TYPE__MSG_SIGNAL_RUN, on_signal },
	{ GPUSCHED__MSG_TYPE__MSG_SUSPEND_RUN, on_suspend },
	{ GPUSCHED__MSG_TYPE__MSG_FORGET_RUN, on_forget },
	{ GPUSCHED__MSG_TYPE__MSG_LAUNCHER_CRED, on_cred },
	{ GPUSCHED__MSG_TYPE__MSG_LAUNCHER_EPOCH, on_epoch },
	{ GPUSCHED__MSG_TYPE__MSG_LAUNCHER_STREAM, on_stream },
	{ GPUSCHED__MSG_TYPE__MSG_NODE_SETTINGS, on_settings },
	{ GPUSCHED__MSG_TYPE__MSG_GPU_ACK, on_gpu_ack },
	{ GPUSCHED__MSG_TYPE__MSG_GPU_CHECK, on_gpu_check },
};

static int dispatch(struct launcher *l, const struct frame *f, struct error *err)
{
	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++)
		if (handlers[i].type == f->type)
			return handlers[i].handle(l, f, err);
	return error_set(err, ERR_PROTOCOL, "a message of type %u", f->type);
}

static void end_launcher(struct launcher *l, const char *why)
{
	log_info("launcher ends: %s", why);
	event_base_loopexit(l->base, NULL);
}

/* A message that cannot be decoded ends the connection; one that makes no sense is ignored. */
static int take_frames(struct launcher *l, struct error *err)
{
	struct frame f;
	struct error why;
	int r;

	while ((r = frame_reader_next(l->protocol->reader, &f, err)) > 0) {
		if (dispatch(l, &f, &why) == 0)
			continue;
		if (why.code == ERR_PROTOCOL) {
			*err = why;
			return -1;
		}
		log_warning("order ignored: %s", why.text);
	}
	return r;
}

static void agent_sent(struct bufferevent *bev, void *arg)
{
	struct launcher *l = arg;
	struct evbuffer *in = bufferevent_get_input(bev);
	struct error err;
	size_t n, used;

	while ((n = evbuffer_get_contiguous_space(in)) > 0) {
		if (frame_reader_feed(l->protocol->reader, evbuffer_pullup(in, (ssize_t)n), n,
		            &used, &err) < 0 ||
		        take_frames(l, &err) < 0) {
			log_error("the agent's network half: %s", err.text);
			end_launcher(l, "it cannot be trusted any more");
			return;
		}
		evbuffer_drain(in, used);
	}
}

static void agent_gone(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		end_launcher(arg, "the agent has ended");
}

/* --- the whole -------------------------------------------------------------------------------- */

struct protocol *protocol_new(struct launcher *l, int sock)
{
	struct protocol *p = xcalloc(1, sizeof(*p));

	p->l = l;
	p->arena = arena_new(MSG_BODY_MAX_JOB);
	p->reader = frame_reader_new(NULL, MSG_BY_AGENT_LOCAL);
	p->agent = bufferevent_socket_new(l->base, sock, BEV_OPT_CLOSE_ON_FREE);
	if (!p->arena || !p->reader || !p->agent)
		abort();
	return p;
}

void protocol_begin(struct protocol *p)
{
	bufferevent_setcb(p->agent, agent_sent, NULL, agent_gone, p->l);
	bufferevent_enable(p->agent, EV_READ | EV_WRITE);
}

void protocol_free(struct protocol *p)
{
	if (!p)
		return;
	bufferevent_free(p->agent);
	frame_reader_free(p->reader);
	arena_free(p->arena);
	free(p);
}
