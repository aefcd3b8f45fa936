/* haproxy_socket.c - see haproxy.h; one connection to the runtime API for each line of commands */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmds/feed/haproxy.h"
#include "common/base/clock.h"
#include "common/base/fd_close.h"
#include "common/base/text.h"

#define EXCHANGE_MS  2000
#define ANSWER_MAX   (4U * 1024 * 1024)
#define LINE_MAX_CLI 4000 /* bytes of commands at once; HAProxy takes 16 KiB (tune.bufsize) */

static int connect_to(const char *path, struct error *err)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(to.sun_path))
		return error_set(err, ERR_CONFIG, "%s: a path this long is no socket's", path);
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
		if (errno == EACCES)
			error_hint(err,
			        "in haproxy.cfg: stats socket %s mode 660 level admin group GROUP",
			        path);
		fd_close(fd);
		return -1;
	}
	return fd;
}

static int wait_for(int fd, short events, int64_t until_us, const char *path, struct error *err)
{
	struct pollfd p = { .fd = fd, .events = events };
	int64_t left = (until_us - clock_us(CLOCK_MONOTONIC)) / 1000;
	int rc = poll(&p, 1, left > 0 ? (int)left : 0);

	if (rc > 0 || (rc < 0 && errno == EINTR))
		return 0;
	return error_set(err, ERR_TIMEOUT, "%s: no answer within %d s", path, EXCHANGE_MS / 1000);
}

static int send_line(
        int fd, const char *line, size_t len, int64_t until_us, const char *path, struct error *err)
{
	while (len) {
		ssize_t n = send(fd, line, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
		if (n < 0 && wait_for(fd, POLLOUT, until_us, path, err) < 0)
			return -1;
		if (n > 0) {
			line += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int receive(
        int fd, struct strbuf *answer, int64_t until_us, const char *path, struct error *err)
{
	char buf[8192];

	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		if (n == 0)
			return 0;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
		if (n < 0 && wait_for(fd, POLLIN, until_us, path, err) < 0)
			return -1;
		if (n > 0)
			strbuf_add(answer, buf, (size_t)n);
		if (answer->len > ANSWER_MAX)
			return error_set(err, ERR_PROTOCOL, "%s: an answer without end", path);
	}
}

/* A line of commands; HAProxy closes the connection behind its answer. */
static int exchange(
        const char *path, const char *line, size_t len, struct strbuf *answer, struct error *err)
{
	int64_t until = clock_us(CLOCK_MONOTONIC) + (int64_t)EXCHANGE_MS * 1000;
	int fd = connect_to(path, err), rc;

	if (fd < 0)
		return -1;
	rc = send_line(fd, line, len, until, path, err);
	if (rc >= 0)
		rc = receive(fd, answer, until, path, err);
	close(fd);
	return rc;
}

static int look(const struct haproxy_backend *b, struct haproxy_servers *servers, struct error *err)
{
	struct strbuf answer = { 0 }, line = { 0 };
	int rc;

	strbuf_addf(&line, "show servers state %s\n", b->backend);
	rc = exchange(b->socket, line.s, line.len, &answer, err);
	if (rc >= 0)
		rc = haproxy_parse(
		        answer.s ? answer.s : "", b->backend, b->prefix, b->max, servers, err);
	strbuf_free(&line);
	strbuf_free(&answer);
	return rc;
}

/* Many commands are several lines, each with ';' between its commands. Their answers are for
 * people; whether all was done is looked at afterwards. `answer` keeps the last of them. */
static int send_commands(const char *path, char *commands, struct strbuf *answer, struct error *err)
{
	struct strbuf line = { 0 };
	int rc = 0;

	for (char *s = commands; rc >= 0 && *s;) {
		size_t len = strcspn(s, "\n");

		strbuf_add(&line, s, len);
		s += len + (s[len] == '\n');
		strbuf_adds(&line, *s && line.len < LINE_MAX_CLI ? ";" : "\n");
		if (*s && line.len < LINE_MAX_CLI)
			continue;
		answer->len = 0;
		rc = exchange(path, line.s, line.len, answer, err);
		line.len = 0;
	}
	strbuf_free(&line);
	return rc;
}

/* Once more looked at after the commands: has all come to be? */
static int check(const struct haproxy_backend *b, const struct feed_service *s,
        const struct strbuf *answer, struct error *err)
{
	struct haproxy_servers servers;
	struct strbuf left = { 0 };
	char shown[160];
	int rc = look(b, &servers, err);

	if (rc < 0)
		return -1;
	haproxy_commands(&servers, b->backend, b->prefix, s, b->port, &left);
	if (left.len) {
		const char *said = answer->s ? answer->s : "";

		said += strspn(said, "\n ");
		text_escape(shown, sizeof(shown), said, strcspn(said, "\n"));
		rc = error_set(err, ERR_PROTOCOL, "'%.*s' has no effect: %s",
		        (int)strcspn(left.s, "\n"), left.s, shown);
	}
	strbuf_free(&left);
	haproxy_servers_free(&servers);
	return rc;
}

int haproxy_sync(const struct haproxy_backend *b, const struct feed_service *s, size_t *without,
        struct error *err)
{
	struct haproxy_servers servers;
	struct strbuf commands = { 0 }, answer = { 0 };
	int rc = look(b, &servers, err);

	if (rc < 0)
		return -1;
	*without = haproxy_commands(&servers, b->backend, b->prefix, s, b->port, &commands);
	if (commands.len) {
		rc = send_commands(b->socket, commands.s, &answer, err);
		rc = rc < 0 ? -1 : check(b, s, &answer, err) < 0 ? -1 : 1;
	}
	haproxy_servers_free(&servers);
	strbuf_free(&commands);
	strbuf_free(&answer);
	return rc;
}
