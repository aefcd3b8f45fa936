/* gtap.c - gtap; see tap_fds.h
 *
 *   greeting, answer, confirmation   hello.h; until the client has confirmed nothing is opened
 *   CHANNEL_LOG      the file is opened, its end (or all of it) sent; if asked to, what is added
 *                    is sent as it comes, until
 *   CHANNEL_FINISH   the run has ended: the rest, and CHANNEL_END
 *   CHANNEL_ATTACH   instead of CHANNEL_LOG, of an interactive run: attach.h
 *   CHANNEL_STEPS    instead of both, of a job with steps: a connection to the run's gstepd
 *
 *   CHANNEL_TAIL     instead of CHANNEL_LOG: the end of a file, once, for the run's owner
 *
 * A client with TapGrant.tail_only gets nothing but CHANNEL_TAIL's.
 *
 * It does one thing at a time and may block on its socket, since it serves only this client.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/net/channel.h"
#include "common/net/hello.h"
#include "common/net/steplink.h"
#include "noded/record/record.h"
#include "noded/stream/attach.h"
#include "noded/stream/handoff.h"
#include "noded/stream/local_channel.h"
#include "noded/stream/stream_access.h"
#include "noded/stream/tap_fds.h"

#define GREETING_MS 10000 /* for the client's confirmation and its first request */
#define LOOK_MS     200   /* between two checks of a file that is followed */
#define STEPD_MS    20    /* between two tries to reach gstepd */
#define BLOCK       CHANNEL_DATA_MAX

struct tap {
	Gpusched__TapGrant *grant;
	struct channel *channel;
};

/* --- the socket ------------------------------------------------------------------------------- */

/* If a message cannot be sent or is invalid the process ends: there is no way to report the
 * error. */
static void send_all(const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	ssize_t n;

	while (len > 0) {
		n = write(TAP_SOCKET_FD, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			exit(EXIT_SUCCESS);
		p += n;
		len -= (size_t)n;
	}
}

static void say(struct tap *t, unsigned kind, const void *data, size_t len)
{
	uint8_t wire[CHANNEL_WIRE_MAX];
	struct error err;
	size_t n = channel_seal(t->channel, kind, data, len, wire, &err);

	if (n == 0)
		exit(EXIT_FAILURE);
	send_all(wire, n);
}

_Noreturn static void end(struct tap *t, const struct error *why)
{
	uint8_t b[CHANNEL_END_MAX];

	say(t, CHANNEL_END, b, channel_put_end(b, why));
	exit(EXIT_SUCCESS);
}

/* Wait for the client: false, nothing came in this time. */
static bool wait_client(int ms)
{
	struct pollfd p = { .fd = TAP_SOCKET_FD, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

/* The next message of the client. False: none within `ms`. */
static bool hear(struct tap *t, struct channel_message *m, int ms)
{
	uint8_t b[4096];
	struct error err;
	ssize_t n;
	int r;

	while ((r = channel_next(t->channel, m, &err)) == 0) {
		if (!wait_client(ms))
			return false;
		n = read(TAP_SOCKET_FD, b, sizeof(b));
		if (n <= 0 || channel_feed(t->channel, b, (size_t)n) != (size_t)n)
			exit(EXIT_SUCCESS);
	}
	if (r < 0)
		exit(EXIT_FAILURE);
	return true;
}

/* --- the handshake ---------------------------------------------------------------------------- */

/* The launcher has had munge decode the credential and has checked it; this is its content. */
struct decoded {
	struct mcred_ops ops;
	const Gpusched__TapGrant *grant;
};

static int as_decoded(
        const struct mcred_ops *ops, const char *cred, struct mcred *out, struct error *err)
{
	const struct decoded *d = (const struct decoded *)ops;

	(void)cred;
	(void)err;
	*out = (struct mcred){ .payload = xmemdup(d->grant->payload.data, d->grant->payload.len),
		.len = d->grant->payload.len,
		.status = MCRED_OK,
		.aes256 = true };
	return 0;
}

static int greet(struct tap *t)
{
	struct decoded decoded = { .ops = { .decode = as_decoded }, .grant = t->grant };
	char *node = xasprintf("%s/%s", t->grant->node, t->grant->name);
	struct hello_rules rules = {
		.role = "attach", .cluster = t->grant->cluster, .node = node, .self = 0
	};
	uint8_t answer[HELLO_ANSWER_MAX], confirm[HELLO_CONFIRM_LEN];
	size_t len, n = 0;
	ssize_t got;
	struct hello_peer peer;
	struct noise *noise;
	struct error err;
	int rc = hello_accept(t->grant->hello.data, t->grant->hello.len, &rules, &decoded.ops,
	        &peer, &noise, answer, &len, &err);

	free(node);
	if (rc < 0)
		return -1;
	send_all(answer, len);
	while (n < sizeof(confirm) && wait_client(GREETING_MS)) {
		got = read(TAP_SOCKET_FD, confirm + n, sizeof(confirm) - n);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	if (n < sizeof(confirm) || hello_check_confirm(noise, confirm, &err) < 0) {
		noise_free(noise);
		return -1;
	}
	t->channel = channel_new(noise);
	return 0;
}

/* --- a log ------------------------------------------------------------------------------------ */

/* Only regular files: reading a FIFO would take data from its reader. Opened without blocking. For a
 * client that is not the owner the file must be the owner's and its name no link: in a folder that
 * others can write, they would choose what that client sees. */
static int open_log(const Gpusched__TapGrant *g, bool error_file, struct error *err)
{
	const Gpusched__OutputRecord *r = g->run;
	int flags = O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC | (g->tail_only ? O_NOFOLLOW : 0);
	const ProtobufCBinaryData *which = error_file && r->error.len ? &r->error : &r->output;
	char *cwd = record_string(&r->cwd), *path = record_string(which);
	struct stat st;
	int fd = -1;

	if (r->interactive) {
		errno = 0; /* no such file will come */
		error_set(err, ERR_SYSTEM, "its output went to its client (grun), not to a file");
	} else if (path[0] != '/' && chdir(cwd) < 0) {
		error_set(err, ERR_SYSTEM, "cannot enter '%s': %s", cwd, strerror(errno));
	} else if ((fd = open(path, flags)) < 0 || fstat(fd, &st) < 0) {
		error_set(err, ERR_SYSTEM, "cannot read '%s': %s", path,
		        errno == ELOOP && g->tail_only ? "it is a symbolic link"
		                                       : strerror(errno));
	} else if (!S_ISREG(st.st_mode) || (g->tail_only && st.st_uid != r->uid)) {
		error_set(err, ERR_SYSTEM, "'%s' is no regular file%s", path,
		        S_ISREG(st.st_mode) ? " of the job's owner" : "");
		close(fd);
		fd = -1;
	}
	free(path);
	free(cwd);
	return fd;
}

/* Where the last `lines` lines begin, of those that begin behind `least`; `least` if none does. */
static off_t tail_start(int fd, off_t size, uint64_t lines, off_t least)
{
	static char b[BLOCK];
	off_t at = size, begins = least;

	if (lines == 0)
		return size;
	while (at > least) {
		size_t n = at - least < BLOCK ? (size_t)(at - least) : BLOCK;
		ssize_t got = pread(fd, b, n, at - (off_t)n);

		if (got != (ssize_t)n)
			return least; /* the file is being truncated: send all of it */
		at -= (off_t)n;
		for (size_t i = n; i-- > 0;) {
			/* the newline at the very end ends the last line and begins none */
			if (b[i] != '\n' || at + (off_t)i + 1 >= size)
				continue;
			begins = at + (off_t)i + 1;
			if (lines-- == 1)
				return begins;
		}
	}
	return least ? begins : 0;
}

static void say_at(struct tap *t, off_t at)
{
	uint8_t b[CHANNEL_AT_LEN];

	channel_put_at(b, (uint64_t)at);
	say(t, CHANNEL_AT, b, sizeof(b));
}

/* Send from `at` to the end; returns the new place. A file that became shorter is sent from its
 * beginning. */
static off_t send_rest(struct tap *t, int fd, off_t at)
{
	static uint8_t b[BLOCK];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) == 0 && st.st_size < at)
		say_at(t, at = 0);
	while ((n = pread(fd, b, sizeof(b), at)) > 0) {
		say(t, CHANNEL_OUT, b, (size_t)n);
		at += n;
	}
	return at;
}

_Noreturn static void show_log(struct tap *t, const struct channel_log *log)
{
	struct error err = { .code = ERR_NONE };
	struct channel_message m;
	bool finished = !log->follow;
	struct stat st;
	off_t at = 0;
	int fd = open_log(t->grant, log->error, &err);

	/* A run that is just being started has not made the file yet. */
	while (fd < 0 && !finished && errno == ENOENT) {
		finished = hear(t, &m, LOOK_MS);
		fd = open_log(t->grant, log->error, &err);
	}
	if (fd < 0)
		end(t, &err);
	if (log->at != CHANNEL_LOG_NEW)
		at = log->at > INT64_MAX ? INT64_MAX : (off_t)log->at;
	else if (log->had && t->grant->run->append)
		at = (off_t)log->had;
	else if (log->lines != UINT64_MAX && fstat(fd, &st) == 0)
		at = tail_start(fd, st.st_size, log->lines, 0);
	say_at(t, at);
	while (!finished) {
		at = send_rest(t, fd, at);
		finished = hear(t, &m, LOOK_MS);
	}
	send_rest(t, fd, at);
	err = (struct error){ .code = ERR_NONE };
	end(t, &err);
}

/* --- the end of a log alone ------------------------------------------------------------------- */

_Noreturn static void show_tail(struct tap *t, const struct channel_tail *tail)
{
	static uint8_t b[TAIL_BYTES_MAX];
	struct error err = { .code = ERR_NONE };
	int fd = open_log(t->grant, tail->error, &err);
	size_t got = 0, sent = 0, part;
	struct stat st;
	off_t at, least;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		end(t, &err);
	least = st.st_size > TAIL_BYTES_MAX ? st.st_size - TAIL_BYTES_MAX : 0;
	at = tail_start(fd, st.st_size, tail->lines, least);
	while (got < sizeof(b) && (n = pread(fd, b + got, sizeof(b) - got, at + (off_t)got)) > 0)
		got += (size_t)n;
	if (got < sizeof(b) && n < 0) {
		error_set(&err, ERR_SYSTEM, "cannot read it: %s", strerror(errno));
		end(t, &err);
	}
	say_at(t, at);
	for (; sent < got; sent += part) {
		part = got - sent < BLOCK ? got - sent : BLOCK;
		say(t, CHANNEL_OUT, b + sent, part);
	}
	end(t, &err);
}

/* A client that shows it to the owner. Root needs the owner's agreement too: gweb may run as root. */
_Noreturn static void serve_tail(struct tap *t, const struct channel_message *m)
{
	const Gpusched__OutputRecord *run = t->grant->run;
	struct channel_tail tail;
	struct error err;

	if (m->kind != CHANNEL_TAIL) {
		error_set(&err, ERR_NOT_PERMITTED, "only the end of its output is shown");
	} else if (channel_get_tail(m, &tail, &err) == 0) {
		if (tail.owner != run->uid)
			error_set(&err, ERR_NOT_PERMITTED, "it is another user's job");
		else if (!run->show_output && !t->grant->owner)
			error_set(&err, ERR_NOT_PERMITTED, STREAM_NOT_AGREED);
		else
			show_tail(t, &tail);
	}
	end(t, &err);
}

/* --- steps ------------------------------------------------------------------------------------ */

/* The run's gstepd may only just be starting. */
static int connect_stepd(int dir, struct error *err)
{
	int fd = -1;

	for (int ms = 0; fd < 0 && ms <= GREETING_MS; ms += STEPD_MS) {
		if (ms > 0)
			poll(NULL, 0, STEPD_MS);
		fd = local_channel_connect(dir, STEP_SOCKET, err);
	}
	return fd;
}

/* As the owner: the process at the other end of the socket is the owner's too, or none is reached,
 * for the directory is the owner's alone. */
_Noreturn static void show_steps(struct tap *t)
{
	const Gpusched__OutputRecord *run = t->grant->run;
	char *path = record_string(&run->run_dir);
	struct error err;
	int dir = -1, fd = -1;

	if (!t->grant->owner)
		error_set(&err, ERR_NOT_PERMITTED, "its steps are its owner's alone");
	else if (!run->steps)
		error_set(&err, ERR_JOB_STATE, "the job has no steps");
	else if ((dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		error_set(&err, ERR_NO_JOB, "the run is over"); /* waiting does not help */
	else if ((fd = connect_stepd(dir, &err)) < 0)
		error_set(&err, ERR_JOB_STATE, "no step daemon runs on node %s: the job is over, or "
		                               "its script has not called srun yet", t->grant->node);
	free(path);
	if (fd < 0)
		end(t, &err);
	attach_relay_steps(t->channel, fd);
}

/* --- the process ------------------------------------------------------------------------------ */

int main(int argc, char **argv)
{
	static struct tap t; /* good until the process is gone, however it ends */
	struct channel_message m;
	struct channel_log log;
	struct error err;

	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return puts("gtap (gpusched) " PACKAGE_VERSION) < 0;
	if (argc != 1 || fcntl(TAP_GRANT_FD, F_GETFD) < 0) {
		fprintf(stderr, "usage: gtap\nStarted by gnoded for each stream; not for use by "
		                "hand.\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	t.grant =
	        (Gpusched__TapGrant *)handoff_read(TAP_GRANT_FD, &gpusched__tap_grant__descriptor);
	if (!t.grant || !t.grant->run || handoff_become_owner(t.grant->run, TAP_HOLD_FD + 1) < 0)
		return EXIT_FAILURE;
	if (*t.grant->no_attach)
		close(TAP_HOLD_FD);
	if (t.grant->tail_only)
		alarm(TAIL_LIFE_S);
	if (greet(&t) < 0 || !hear(&t, &m, GREETING_MS))
		return EXIT_FAILURE;
	t.grant->tail_only |= m.kind == CHANNEL_TAIL;
	if (t.grant->tail_only)
		serve_tail(&t, &m);
	if (m.kind == CHANNEL_ATTACH && !*t.grant->no_attach)
		attach_relay(t.channel, &m);
	if (m.kind == CHANNEL_ATTACH) {
		error_set(&err, ERR_JOB_STATE, "%s", t.grant->no_attach);
		end(&t, &err);
	}
	if (m.kind == CHANNEL_STEPS)
		show_steps(&t);
	if (channel_get_log(&m, &log, &err) < 0)
		end(&t, &err);
	show_log(&t, &log);
}
