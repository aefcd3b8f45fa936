/* lstream.c - streams to runs: who may have one, and gtap for those who may; see lpriv.h
 *
 * The launcher remembers of each run whose it is and where its output goes (OutputRecord,
 * SPOOL/outputs/ID), also when the run itself is forgotten: of the LOUTPUTS_MAX newest. A greeting
 * that the network half hands on is decoded by munge, as only our user can, and must name this
 * cluster, node and run; who made it must be the run's owner, or root. Then gtap is started, with
 * what it needs in memory: it becomes the owner before it does anything with the greeting.
 */
#include "config.h"

#include "noded/lpriv.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/hello.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "noded/tap.h"

#define LOUTPUTS_MAX 10000
#define PRUNE_EACH   1000 /* runs remembered */
#define KEY_PRUNE    2

/* --- what is remembered ----------------------------------------------------------------------- */

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
	for (size_t i = 0; i + LOUTPUTS_MAX < p->n; i++) {
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

static void prune(struct launcher *l)
{
	struct prune *p = xcalloc(1, sizeof(*p));

	p->dir = l->outputs;
	if (!worker_submit(l->disk, KEY_PRUNE, &prune_ops, p, NULL))
		prune_free(p); /* the next time */
}

void lstream_remember(struct launcher *l, const char *name, const Gpusched__LaunchRecord *r)
{
	Gpusched__OutputRecord o = GPUSCHED__OUTPUT_RECORD__INIT;
	struct error err;

	o.uid = r->report->uid;
	o.gid = r->gid;
	o.n_groups = r->n_groups;
	o.groups = r->groups;
	o.switch_user = r->switch_user;
	o.cwd = r->cwd;
	o.output = r->output;
	o.error = r->error;
	if (record_write(l->outputs, name, &o.base, 0, &err) < 0)
		log_warning("run %s: its output cannot be followed: %s", name, err.text);
	if (l->remembered++ % PRUNE_EACH == 0)
		prune(l);
}

/* --- gtap ------------------------------------------------------------------------------------- */

/* The grant as a descriptor that only gtap will have. */
static int grant_file(const Gpusched__TapGrant *g, struct error *err)
{
	size_t len = protobuf_c_message_get_packed_size(&g->base), done = 0;
	uint8_t *b = xcalloc(1, len + 1);
	int fd = memfd_create("gtap", MFD_CLOEXEC);
	ssize_t n = 0;

	protobuf_c_message_pack(&g->base, b);
	for (; fd >= 0 && done < len; done += (size_t)n) {
		n = write(fd, b + done, len - done);
		if (n <= 0) {
			close(fd);
			fd = -1;
		}
	}
	explicit_bzero(b, len);
	free(b);
	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return error_set(err, ERR_SYSTEM, "memory for a stream: %s", strerror(errno));
	return fd;
}

static int spawn_tap(const struct launcher *l, int sock, int grant, struct error *err)
{
	char *dir = xstrdup(l->options.shepherd), *path = xasprintf("%s/gtap", dirname(dir));
	char name[] = "gtap", where[] = "PATH=/usr/bin:/bin";
	char *argv[] = { name, NULL }, *env[] = { where, NULL };
	int high_sock = fcntl(sock, F_DUPFD_CLOEXEC, 16);
	int high_grant = fcntl(grant, F_DUPFD_CLOEXEC, 16), e;
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t set;
	pid_t pid;

	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&fa, 0, 1);
	posix_spawn_file_actions_adddup2(&fa, 0, 2);
	posix_spawn_file_actions_adddup2(&fa, high_sock, TAP_SOCKET_FD);
	posix_spawn_file_actions_adddup2(&fa, high_grant, TAP_GRANT_FD);
	sigfillset(&set);
	posix_spawnattr_setsigdefault(&attr, &set);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&attr, &set);
	posix_spawnattr_setflags(
	        &attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
	e = high_sock < 0 || high_grant < 0 ? errno
	                                    : posix_spawn(&pid, path, &fa, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	if (high_sock >= 0)
		close(high_sock);
	if (high_grant >= 0)
		close(high_grant);
	if (e)
		error_set(err, ERR_SYSTEM, "cannot start '%s': %s", path, strerror(e));
	free(path);
	free(dir);
	return e ? -1 : 0;
}

/* A descriptor for the network half, with the stream's number. */
static int hand_over(const struct launcher *l, uint64_t stream, int fd, struct error *err)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct iovec iov = { &stream, sizeof(stream) };
	struct msghdr m = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	if (sendmsg(l->streams, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return error_set(
		        err, ERR_BUSY, "a stream cannot be handed over: %s", strerror(errno));
	return 0;
}

/* --- a question ------------------------------------------------------------------------------- */

/* A greeting, while munge has its credential. */
struct lask {
	struct launcher *l;
	uint64_t stream;
	char name[RECORD_ID_MAX];
	size_t len;
	uint8_t hello[];
};

static void refuse(struct launcher *l, uint64_t stream, const struct error *why)
{
	Gpusched__LauncherStream m = GPUSCHED__LAUNCHER_STREAM__INIT;

	m.stream = stream;
	m.error = (uint32_t)why->code;
	m.error_text = (char *)(uintptr_t)why->text;
	launcher_send(l, GPUSCHED__MSG_TYPE__MSG_LAUNCHER_STREAM, &m.base);
}

/* What munge vouches for must be a greeting to this very run. */
static int check_cred(const struct lask *ask, const struct mcred *cred, struct error *err)
{
	const struct launcher_options *o = &ask->l->options;
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

static Gpusched__OutputRecord *find_output(const struct lask *ask, struct error *err)
{
	ProtobufCMessage *m;
	int got = record_read(
	        ask->l->outputs, ask->name, &gpusched__output_record__descriptor, &m, err);

	if (got == 0)
		error_set(err, ERR_NO_JOB, "node %s does not know (any more) of run %s",
		        ask->l->options.node, ask->name);
	return got == 1 ? (Gpusched__OutputRecord *)m : NULL;
}

static int start_tap(const struct lask *ask, const struct mcred *cred, Gpusched__OutputRecord *run,
        struct error *err)
{
	Gpusched__TapGrant g = GPUSCHED__TAP_GRANT__INIT;
	int pair[2], grant, rc = -1;

	g.run = run;
	g.hello = (ProtobufCBinaryData){ ask->len, (uint8_t *)(uintptr_t)ask->hello };
	g.payload = (ProtobufCBinaryData){ cred->len, cred->payload };
	g.cluster = (char *)(uintptr_t)ask->l->options.cluster;
	g.node = (char *)(uintptr_t)ask->l->options.node;
	g.name = (char *)(uintptr_t)ask->name;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set(err, ERR_SYSTEM, "socketpair: %s", strerror(errno));
	grant = grant_file(&g, err);
	if (grant >= 0 && spawn_tap(ask->l, pair[1], grant, err) == 0)
		rc = hand_over(ask->l, ask->stream, pair[0], err);
	if (grant >= 0)
		close(grant);
	close(pair[0]);
	close(pair[1]);
	return rc;
}

static void cred_known(const struct mcred *cred, const struct error *why, void *arg)
{
	struct lask *ask = arg;
	Gpusched__OutputRecord *run = NULL;
	struct error err;
	int rc = -1;

	if (!cred)
		err = *why;
	else if (check_cred(ask, cred, &err) == 0 && (run = find_output(ask, &err))) {
		if (cred->uid != run->uid && cred->uid != 0)
			error_set(&err, ERR_NOT_PERMITTED, "run %s is not of uid %u", ask->name,
			        (unsigned)cred->uid);
		else
			rc = start_tap(ask, cred, run, &err);
	}
	if (rc < 0) {
		log_info("stream to run %s refused: %s", ask->name, err.text);
		refuse(ask->l, ask->stream, &err);
	}
	if (run)
		protobuf_c_message_free_unpacked(&run->base, NULL);
	free(ask);
}

void lstream_ask(struct launcher *l, const Gpusched__LauncherStream *m)
{
	struct lask *ask = xcalloc(1, sizeof(*ask) + m->hello.len);
	char cred[HELLO_CRED_MAX + 1];
	struct error err;

	ask->l = l;
	ask->stream = m->stream;
	ask->len = m->hello.len;
	if (m->hello.len)
		memcpy(ask->hello, m->hello.data, m->hello.len);
	record_id_format(lrun_id(m->run), ask->name);
	if (l->streams < 0)
		error_set(&err, ERR_NODE_STATE, "this agent has no streams");
	else if (hello_credential(ask->hello, ask->len, cred, &err) == 0) {
		asked_cred_once(l->asked, cred, strlen(cred), cred_known, ask);
		return;
	}
	refuse(l, m->stream, &err);
	free(ask);
}
