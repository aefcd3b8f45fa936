/* stream_grants.c - see stream_grants.h
 *
 * The launcher keeps each run's owner and where its output goes (OutputRecord, SPOOL/outputs/ID),
 * even after the run itself is forgotten: of the OUTPUTS_MAX newest runs. A greeting that the
 * network half passes on is decoded by munge, which only our user can do, and must name this
 * cluster, node and run; stream_access.h says what its sender may have. Then gtap is started, with
 * its grant in memory: it becomes the owner before it does anything with the greeting.
 */
#include "config.h"

#include "noded/launcher/stream_grants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/each.h"
#include "common/base/error.h"
#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "common/net/hello.h"
#include "common/net/munge.h"
#include "common/net/worker.h"
#include "noded/record/fdpass.h"
#include "noded/record/record.h"
#include "noded/runs/agent_channel.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_options.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/munge_queries.h"
#include "noded/runs/run_report.h"
#include "noded/runs/runs.h"
#include "noded/runs/spawn.h"
#include "noded/stream/local_channel.h"
#include "noded/stream/stream_access.h"

#define OUTPUTS_MAX 10000
#define PRUNE_EACH  1000 /* runs remembered */
#define KEY_PRUNE   2

struct streams {
	int fd;              /* of the socket for descriptors; -1: none */
	uint64_t remembered; /* runs, in SPOOL/outputs */
	struct tails tails;
};

struct streams *streams_new(int fd)
{
	struct streams *s = xcalloc(1, sizeof(*s));

	s->fd = fd;
	return s;
}

void streams_free(struct streams *s)
{
	if (s && s->fd >= 0)
		close(s->fd);
	free(s);
}

int streams_fd(const struct streams *s)
{
	return s->fd;
}

/* --- owners and outputs ----------------------------------------------------------------------- */

struct prune {
	int dir;
	struct run_id *v;
	size_t n, room;
};

static int prune_see(struct run_id id, const char *name, void *arg)
{
	struct prune *p = arg;

	(void)name;
	if (p->n == p->room) {
		p->room = p->room ? p->room * 2 : 1024;
		p->v = xrealloc(p->v, p->room, sizeof(*p->v));
	}
	p->v[p->n++] = id;
	return 0;
}

/* record_scan() goes in the order of ids: the oldest jobs first. */
static void prune_run(void *arg)
{
	struct prune *p = arg;
	char name[RECORD_ID_MAX];
	struct error err;

	if (record_scan(p->dir, prune_see, p, &err) < 0)
		return;
	for (size_t i = 0; i + OUTPUTS_MAX < p->n; i++) {
		record_id_format(p->v[i], name);
		unlinkat(p->dir, name, 0);
	}
}

static void prune_free(void *arg)
{
	struct prune *p = arg;

	free(p->v);
	free(p);
}

static const struct worker_ops prune_ops = { prune_run, prune_free, prune_free };

static void start_prune(struct launcher *l)
{
	struct prune *p = xcalloc(1, sizeof(*p));

	p->dir = l->dirs->outputs;
	if (!worker_submit(l->disk, KEY_PRUNE, &prune_ops, p, NULL))
		prune_free(p); /* the next time */
}

void streams_owner(const Gpusched__LaunchRecord *r, Gpusched__OutputRecord *o)
{
	gpusched__output_record__init(o);
	o->uid = r->report->uid;
	COPY_FIELDS(o, r, gid, n_groups, groups, switch_user, cwd, output, error, interactive,
	        append, run_dir, steps, show_output);
}

void streams_remember(struct launcher *l, const char *name, const Gpusched__LaunchRecord *r)
{
	Gpusched__OutputRecord o;
	struct error err;

	streams_owner(r, &o);
	if (record_write(l->dirs->outputs, name, &o.base, 0, &err) < 0)
		log_warning("run %s: its output cannot be followed: %s", name, err.text);
	if (l->streams->remembered++ % PRUNE_EACH == 0)
		start_prune(l);
}

/* --- gtap ------------------------------------------------------------------------------------- */

/* Send the network half a descriptor and what it is: see launcher_fork(). */
static int send_descriptor(
        const struct launcher *l, const void *what, size_t len, int fd, struct error *err)
{
	if (fdpass_send(l->streams->fd, what, len, &fd, 1, MSG_DONTWAIT) < 0)
		return error_set(
		        err, ERR_BUSY, "a descriptor cannot be handed over: %s", strerror(errno));
	return 0;
}

void streams_hand_log(const struct launcher *l, int fd)
{
	struct error err;
	char what = 0;

	if (l->streams->fd >= 0 && send_descriptor(l, &what, LAUNCHER_LOG_LEN, fd, &err) < 0)
		log_warning("the log of the network half: %s", err.text);
}

/* --- one request ------------------------------------------------------------------------------ */

/* A greeting, while munge decodes its credential. */
struct stream_ask {
	struct launcher *l;
	uint64_t stream;
	char name[RECORD_ID_MAX];
	size_t len;
	uint8_t hello[];
};

static void refuse_stream(struct launcher *l, uint64_t stream, const struct error *why)
{
	Gpusched__LauncherStream m = GPUSCHED__LAUNCHER_STREAM__INIT;

	m.stream = stream;
	m.error = (uint32_t)why->code;
	m.error_text = (char *)(uintptr_t)why->text;
	agent_send(l, GPUSCHED__MSG_TYPE__MSG_LAUNCHER_STREAM, &m.base);
}

/* The payload that munge vouches for must be a greeting to this very run. */
static int check_cred(const struct stream_ask *ask, const struct mcred *cred, struct error *err)
{
	const struct launcher_options *o = ask->l->options;
	char *node = xasprintf("%s/%s", o->node, ask->name);
	struct hello_to to = { .role = "attach", .cluster = o->cluster, .node = node };
	int rc = -1;

	if (cred->restrict_uid != geteuid())
		error_set(err, ERR_AUTH, "the credential is not restricted to the agent's uid %u",
		        (unsigned)geteuid());
	else if (!cred->aes256)
		error_set(err, ERR_AUTH, "the credential is not encrypted with AES-256");
	else if (hello_payload_check(cred->payload, cred->len, &to, err) == 0)
		rc = mcred_demand_fresh(cred, err);
	free(node);
	return rc;
}

static Gpusched__OutputRecord *find_output(const struct stream_ask *ask, struct error *err)
{
	ProtobufCMessage *m;
	int got = record_read(
	        ask->l->dirs->outputs, ask->name, &gpusched__output_record__descriptor, &m, err);

	if (got == 0)
		error_set(err, ERR_NO_JOB, "node %s does not know (any more) of run %s",
		        ask->l->options->node, ask->name);
	return got == 1 ? (Gpusched__OutputRecord *)m : NULL;
}

/* Open the way to its input and output, only for the owner. -1 and `why` if there is none. */
static int open_hold(const struct stream_ask *ask, enum stream_access access,
        const Gpusched__OutputRecord *run, struct error *why)
{
	if (!run->interactive)
		return error_set(why, ERR_JOB_STATE, "it is not interactive");
	if (access != STREAM_OWNER)
		return error_set(
		        why, ERR_NOT_PERMITTED, "its input and output are its owner's alone");
	return local_channel_connect(ask->l->dirs->holds, ask->name, why);
}

static int start_tap(const struct stream_ask *ask, const struct mcred *cred,
        enum stream_access access, Gpusched__OutputRecord *run, struct error *err)
{
	Gpusched__TapGrant g = GPUSCHED__TAP_GRANT__INIT;
	struct error why = { .code = ERR_NONE };
	int pair[2], fds[3], rc = -1;

	g.run = run;
	g.hello = (ProtobufCBinaryData){ ask->len, (uint8_t *)(uintptr_t)ask->hello };
	g.payload = (ProtobufCBinaryData){ cred->len, cred->payload };
	g.cluster = (char *)(uintptr_t)ask->l->options->cluster;
	g.node = (char *)(uintptr_t)ask->l->options->node;
	g.name = (char *)(uintptr_t)ask->name;
	fds[2] = open_hold(ask, access, run, &why);
	g.no_attach = why.code ? why.text : g.no_attach;
	g.owner = access == STREAM_OWNER;
	g.tail_only = access == STREAM_TAIL;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		error_set(err, ERR_SYSTEM, "socketpair: %s", strerror(errno));
		goto out;
	}
	fds[0] = pair[1];
	fds[1] = spawn_grant(&g.base, err);
	if (fds[1] >= 0 && spawn_helper(ask->l, "gtap", fds, 3, err) == 0)
		rc = send_descriptor(ask->l, &ask->stream, sizeof(ask->stream), pair[0], err);
	fd_close(fds[1]);
	close(pair[0]);
	close(pair[1]);
out:
	fd_close(fds[2]);
	return rc;
}

static void cred_known(const struct mcred *cred, const struct error *why, void *arg)
{
	struct stream_ask *ask = arg;
	Gpusched__OutputRecord *run = NULL;
	enum stream_access access;
	struct error err;
	int rc = -1;

	if (!cred)
		err = *why;
	else if (check_cred(ask, cred, &err) == 0 && (run = find_output(ask, &err))) {
		access = stream_access(
		        &ask->l->options->readers, run, ask->name, cred->uid, &err);
		if (access == STREAM_TAIL &&
		        tails_begin(&ask->l->streams->tails, run->uid, clock_us(CLOCK_MONOTONIC),
		                &err) < 0)
			access = STREAM_REFUSED;
		if (access != STREAM_REFUSED)
			rc = start_tap(ask, cred, access, run, &err);
		if (access == STREAM_TAIL && rc == 0)
			log_info("uid %u reads the end of run %s's output", (unsigned)cred->uid,
			        ask->name);
	}
	if (rc < 0) {
		log_info("stream to run %s refused: %s", ask->name, err.text);
		refuse_stream(ask->l, ask->stream, &err);
	}
	if (run)
		protobuf_c_message_free_unpacked(&run->base, NULL);
	free(ask);
}

void streams_request(struct launcher *l, const Gpusched__LauncherStream *m)
{
	struct stream_ask *ask = xcalloc(1, sizeof(*ask) + m->hello.len);
	char cred[HELLO_CRED_MAX + 1];
	struct error err;

	ask->l = l;
	ask->stream = m->stream;
	ask->len = m->hello.len;
	if (m->hello.len)
		memcpy(ask->hello, m->hello.data, m->hello.len);
	record_id_format(run_id_of(m->run), ask->name);
	if (l->streams->fd < 0)
		error_set(&err, ERR_NODE_STATE, "this agent has no streams");
	else if (hello_credential(ask->hello, ask->len, cred, &err) == 0) {
		munge_query_decode_once(l->munge_queries, cred, strlen(cred), cred_known, ask);
		return;
	}
	refuse_stream(l, m->stream, &err);
	free(ask);
}
