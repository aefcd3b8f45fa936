/* peer.c - a session for tests: the handshake as it should be, then whatever bytes one likes
 *
 *   peer UID [NODE]
 *
 * As a user, or as the agent of NODE, to the controller that runs as UID. What comes on standard
 * input goes into the session as it is: the test makes the frames (peer.py). What the controller
 * sends goes to standard output, frame by frame, in the clear. Ends with 3 if it was not let in,
 * with 1 when the controller has closed the session, and says why on standard error; with 0 at the
 * end of its input.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "common/net/dial.h"

#define LOOK_MS 50 /* between two looks at what could not be sent at once */

static void die(int status, const char *what, const struct error *err)
{
	fprintf(stderr, "%s: %s: %s\n", what, error_name(err->code), err->text);
	exit(status);
}

static void put(const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len > 0) {
		ssize_t n = write(STDOUT_FILENO, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			exit(0);
		p += n;
		len -= (size_t)n;
	}
}

static void hear(struct dial *d)
{
	uint8_t head[FRAME_HEADER_LEN];
	struct error err;
	struct frame f;
	int n;

	while ((n = dial_recv(d, &f, 0, &err)) > 0) {
		frame_put_header(head, f.type, f.id, (uint32_t)f.len);
		put(head, sizeof(head));
		put(f.body, f.len);
	}
	if (n < 0)
		die(1, "ended", &err);
}

static struct dial *come_in(uid_t controller, const char *node)
{
	static struct conf_client conf; /* these two as long as the process */
	static struct dial_to to;
	struct dial *d = NULL;
	struct error err;

	to = (struct dial_to){ .server_uid = controller, .node = node };
	if (conf_client_load(NULL, &conf, &err) == 0) {
		to.host = conf.host;
		to.port = conf.port;
		to.cluster = conf.cluster;
		to.mcred = mcred_munge_new(conf.munge_socket, NULL);
		d = dial_open(&to, &err);
	}
	if (!d)
		die(3, "refused", &err);
	return d;
}

int main(int argc, char **argv)
{
	static uint8_t b[1 << 20];
	struct pollfd p[] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .events = POLLIN } };
	struct error err;
	struct dial *d;
	ssize_t n = 1;

	if (argc < 2 || argc > 3)
		return 2;
	d = come_in((uid_t)strtoul(argv[1], NULL, 10), argv[2]);
	p[1].fd = dial_fd(d);
	fputs("in\n", stderr);
	while (n > 0) {
		hear(d);
		if (poll(p, 2, LOOK_MS) < 0 || !p[0].revents)
			continue;
		n = read(STDIN_FILENO, b, sizeof(b));
		if (n > 0 && dial_send_bytes(d, b, (size_t)n, &err) < 0)
			die(1, "ended", &err);
	}
	dial_close(d);
	return 0;
}
