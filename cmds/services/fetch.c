/* fetch.c - see fetch.h */
#include "config.h"

#include "cmds/services/fetch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmds/services/http_response.h"
#include "cmds/services/options.h"
#include "common/base/each.h"
#include "common/base/xalloc.h"

#define READ_MAX    8192
#define READS_MAX   8 /* then other descriptors have their turn */
#define REQUEST_MAX (PROBE_PATH_MAX + 256)

struct fetch {
	struct loop *loop;
	struct server_address *target;
	struct fetch_request r;
	struct http_response answer;
	struct loop_watch *watch;
	int fd; /* -1: it is not under way */
	unsigned nth;
	bool connected;
	int64_t until_ms;
	size_t sent;
	char tried[160]; /* "127.0.0.1:8000: Connection refused" of the addresses before */
};

struct fetch *fetch_new(struct loop *loop, struct server_address *target)
{
	struct fetch *f = xcalloc(1, sizeof(*f));

	f->loop = loop;
	f->target = target;
	f->fd = -1;
	return f;
}

void fetch_cancel(struct fetch *f)
{
	loop_close(&f->watch, &f->fd);
}

bool fetch_is_busy(const struct fetch *f)
{
	return f->fd >= 0;
}

int64_t fetch_wake_ms(const struct fetch *f)
{
	return f->fd >= 0 ? f->until_ms : INT64_MAX;
}

/* --- ends ------------------------------------------------------------------------------------- */

static void end(struct fetch *f, const struct error *err)
{
	struct fetch_end e = { .status = f->answer.status,
		.framed = f->answer.framed,
		.cut = f->answer.cut,
		.err = err };

	loop_close(&f->watch, &f->fd);
	f->r.done(f->r.arg, &e);
}

static void end_well(struct fetch *f)
{
	server_address_answered(f->target, f->nth);
	end(f, NULL);
}

static const char *address_text(struct fetch *f, char out[SERVER_ADDRESS_TEXT_MAX])
{
	socklen_t len;
	const struct sockaddr *at = server_address_get(f->target, f->nth, loop_now_ms(), &len);

	return at ? server_address_text(at, out) : "its port";
}

/* It has been connected, and has not gone well. */
static void fail(struct fetch *f, struct error *err)
{
	char text[SERVER_ADDRESS_TEXT_MAX];

	error_wrap(err, "%s", address_text(f, text));
	end(f, err);
}

static void fail_errno(struct fetch *f, int error)
{
	struct error err;

	error_set(&err, ERR_SYSTEM, "%s", strerror(error));
	fail(f, &err);
}

/* --- connecting ------------------------------------------------------------------------------- */

static void on_event(uint32_t events, void *arg);

/* Without a listener a port that the kernel gives to callers may connect to itself. */
static bool is_itself(int fd)
{
	struct sockaddr_storage a = { 0 }, b = { 0 };
	socklen_t n = sizeof(a), m = sizeof(b);

	return getsockname(fd, (struct sockaddr *)&a, &n) == 0 &&
	       getpeername(fd, (struct sockaddr *)&b, &m) == 0 && n == m && memcmp(&a, &b, n) == 0;
}

/* Returns 0, or an errno. */
static int try_address(struct fetch *f, const struct sockaddr *at, socklen_t len)
{
	f->fd = socket(at->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (f->fd < 0)
		return errno;
	f->connected = false;
	if (connect(f->fd, at, len) < 0 && errno != EINPROGRESS)
		return errno;
	f->watch = loop_watch(f->loop, f->fd, EPOLLOUT, on_event, f);
	return 0;
}

static void note_failure(struct fetch *f, int error)
{
	size_t n = strlen(f->tried);
	char text[SERVER_ADDRESS_TEXT_MAX];

	snprintf(f->tried + n, sizeof(f->tried) - n, "%s%s: %s", n ? ", " : "",
	        address_text(f, text), strerror(error));
	loop_close(&f->watch, &f->fd);
}

/* From the nth address on. */
static void connect_next(struct fetch *f)
{
	const struct sockaddr *at;
	struct error err;
	socklen_t len;
	int error;

	for (; (at = server_address_get(f->target, f->nth, loop_now_ms(), &len)) != NULL;
	        f->nth++) {
		error = try_address(f, at, len);
		if (!error)
			return;
		note_failure(f, error);
	}
	error_set(&err, ERR_UNREACHABLE, "%s", f->tried);
	end(f, &err);
}

void fetch_start(struct fetch *f, const struct fetch_request *r)
{
	f->r = *r;
	f->nth = 0;
	f->sent = 0;
	f->tried[0] = '\0';
	f->until_ms = loop_now_ms() + r->timeout_ms;
	http_response_begin(&f->answer);
	COPY_FIELDS(&f->answer, r, body, arg, max_body);
	connect_next(f);
}

/* Returns whether the connection is there. */
static bool finish_connect(struct fetch *f)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(f->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (!error && is_itself(f->fd))
		error = ECONNREFUSED;
	f->connected = !error;
	if (f->connected)
		return true;
	note_failure(f, error);
	f->nth++;
	connect_next(f);
	return false;
}

/* --- asking and reading ----------------------------------------------------------------------- */

/* Returns whether all of the request is sent. */
static bool send_request(struct fetch *f)
{
	char text[REQUEST_MAX], at[SERVER_ADDRESS_TEXT_MAX];
	int n = snprintf(text, sizeof(text),
	        "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: gprobe/" PACKAGE_VERSION "\r\n"
	        "Accept: text/plain;version=0.0.4,*/*;q=0.1\r\nConnection: close\r\n\r\n",
	        f->r.path, address_text(f, at));
	ssize_t sent = send(f->fd, text + f->sent, (size_t)n - f->sent, MSG_NOSIGNAL);

	if (sent < 0 && errno != EAGAIN && errno != EINTR) {
		fail_errno(f, errno);
		return false;
	}
	f->sent += sent > 0 ? (size_t)sent : 0;
	return f->sent == (size_t)n;
}

/* Returns whether there may be more. */
static bool read_some(struct fetch *f)
{
	char data[READ_MAX];
	ssize_t n = recv(f->fd, data, sizeof(data), 0);
	struct error err;
	int r;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < 0) {
		fail_errno(f, errno);
		return false;
	}
	r = n ? http_response_feed(&f->answer, data, (size_t)n, &err)
	      : http_response_closed(&f->answer, &err);
	if (r < 0)
		fail(f, &err);
	else if (r > 0 || n == 0)
		end_well(f);
	return r == 0 && n > 0;
}

static void on_event(uint32_t events, void *arg)
{
	struct fetch *f = arg;

	(void)events;
	if (!f->connected) {
		if (!finish_connect(f))
			return;
		if (!f->r.path) {
			end_well(f);
			return;
		}
	}
	if (f->sent != SIZE_MAX) {
		if (!send_request(f))
			return;
		f->sent = SIZE_MAX;
		loop_want(f->watch, EPOLLIN);
	}
	for (int i = 0; i < READS_MAX && read_some(f); i++)
		;
}

void fetch_tick(struct fetch *f, int64_t now_ms)
{
	struct error err;

	if (now_ms < fetch_wake_ms(f))
		return;
	if (!f->connected)
		error_set(&err, ERR_TIMEOUT, "no connection in %" PRId64 " ms", f->r.timeout_ms);
	else if (!f->answer.status)
		error_set(&err, ERR_TIMEOUT, "no answer in %" PRId64 " ms", f->r.timeout_ms);
	else
		error_set(&err, ERR_TIMEOUT, "an answer that did not end in %" PRId64 " ms",
		        f->r.timeout_ms);
	fail(f, &err);
}
