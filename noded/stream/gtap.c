/* gtap.c - gtap; see tap_fds.h
 *
 *   greeting, answer, confirmation   hello.h; until the client has confirmed nothing is opened
 *   CHANNEL_LOG      the file is opened, its end (or all of it) sent; if asked to, what is added
 *                    is sent as it comes, until
 *   CHANNEL_FINISH   the run has ended: the rest, and CHANNEL_END
 *   CHANNEL_ATTACH   instead of CHANNEL_LOG, of an interactive run: attach_relay.h
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
#include <unistd.h>

#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/net/channel.h"
#include "common/net/hello.h"
#include "common/net/steplink.h"
#include "noded/record/record.h"
#include "noded/stream/attach_relay.h"
#include "noded/stream/follow_output.h"
#include "noded/stream/local_channel.h"
#include "noded/stream/owner_grant.h"
#include "noded/stream/stream_access.h"
#include "noded/stream/tap_channel.h"
#include "noded/stream/tap_fds.h"

#define GREETING_MS 10000 /* for the client's confirmation and its first request */
#define STEPD_MS    20    /* between two tries to reach gstepd */

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
	tap_send(answer, len);
	while (n < sizeof(confirm) && tap_wait(GREETING_MS)) {
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

/* --- the end of a log alone ------------------------------------------------------------------- */

/* For a client that shows the output to the run's owner. Root needs the owner's consent here, too,
 * because gweb may run as root. */
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
			follow_output_tail(t, &tail);
	}
	tap_end(t, &err);
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
		tap_end(t, &err);
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
	t.grant = (Gpusched__TapGrant *)owner_grant_read(
	        TAP_GRANT_FD, &gpusched__tap_grant__descriptor);
	if (!t.grant || !t.grant->run ||
	        owner_grant_become_owner(t.grant->run, TAP_HOLD_FD + 1) < 0)
		return EXIT_FAILURE;
	if (*t.grant->no_attach)
		close(TAP_HOLD_FD);
	if (t.grant->tail_only)
		alarm(TAIL_LIFE_S);
	if (greet(&t) < 0 || !tap_hear(&t, &m, GREETING_MS))
		return EXIT_FAILURE;
	t.grant->tail_only |= m.kind == CHANNEL_TAIL;
	if (t.grant->tail_only)
		serve_tail(&t, &m);
	if (m.kind == CHANNEL_ATTACH && !*t.grant->no_attach)
		attach_relay(t.channel, &m);
	if (m.kind == CHANNEL_ATTACH) {
		error_set(&err, ERR_JOB_STATE, "%s", t.grant->no_attach);
		tap_end(&t, &err);
	}
	if (m.kind == CHANNEL_STEPS)
		show_steps(&t);
	if (channel_get_log(&m, &log, &err) < 0)
		tap_end(&t, &err);
	follow_output_log(&t, &log);
}
