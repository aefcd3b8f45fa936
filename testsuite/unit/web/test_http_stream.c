/* test_http_stream.c - what the server keeps while a client takes its answer: a stream no snapshot, and
 * answers that are not taken a bounded number of bytes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "cmds/web/http.h"
#include "cmds/web/viewer.h"
#include "common/base/strbuf.h"
#include "testsuite/unit/web/web_fixture.h"

/* Two do not fit, and one is more than a socket takes of itself. */
#define LARGE (HTTP_ANSWERS_MAX / 4 * 3)

struct fixture {
	struct event_base *base;
	struct snapshots *s;
	struct snapshot_texts *texts;
	struct http *http;
};

/* --- routes ----------------------------------------------------------------------------------- */

static unsigned told;      /* to streams */
static unsigned n_answers; /* large ones that were made */

/* The serial of each snapshot, once. */
struct serials {
	struct http_stream http;
	uint64_t last;
};

static ssize_t read_serials(
        struct http_stream *http, const struct snapshot *snap, bool beat, char *buf, size_t max)
{
	struct serials *s = (struct serials *)http;

	(void)beat;
	if (s->last == snap->serial)
		return 0;
	s->last = snap->serial;
	told++;
	return snprintf(buf, max, "%llu\n", (unsigned long long)snap->serial);
}

static void free_serials(struct http_stream *http)
{
	free(http);
}

static void serve_stream(const struct http_request *r, struct http_answer *a)
{
	struct serials *s = xcalloc(1, sizeof(*s));

	assert_non_null(r->snap);
	s->http = (struct http_stream){ read_serials, free_serials };
	a->stream = &s->http;
}

static void serve_large(const struct http_request *r, struct http_answer *a)
{
	char *text = xcalloc(LARGE, 1);

	(void)r;
	memset(text, 'x', LARGE);
	strbuf_add(&a->body, text, LARGE);
	free(text);
	n_answers++;
}

static const struct http_route routes[] = {
	{ "GET", "/stream", HTTP_NOBODY, HTTP_STREAM, 0, serve_stream, NULL },
	{ "GET", "/large", HTTP_NOBODY, HTTP_FAST, 0, serve_large, NULL },
	{ NULL, NULL, 0, 0, 0, NULL, NULL },
};

/* --- a server, and its clients ---------------------------------------------------------------- */

static int set_up(void **state)
{
	static const char *const listen[] = { "127.0.0.1:0" };
	static const struct http_config config = {
		.listen = listen, .n_listen = 1, .max_connections = 8, .max_per_address = 8
	};
	static const struct http_routes tables[] = { { routes, NULL } };
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct error err;

	told = n_answers = 0;
	f->base = event_base_new();
	f->s = snapshots_new();
	f->texts = snapshot_texts_new();
	f->http = http_new(f->base, &config, tables, 1, f->s, &err);
	assert_non_null(f->http);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	http_free(f->http);
	event_base_free(f->base);
	snapshots_free(f->s);
	snapshot_texts_free(f->texts);
	free(f);
	return 0;
}

static void publish(struct fixture *f, uint32_t position)
{
	struct job_like like = { .id = 1, .position = position };

	fixture_publish(f->s, f->texts, &(struct snapshot_draft){ 0 }, &like, 1);
	http_published(f->http);
}

/* A connection with that request. */
static int ask(struct fixture *f, const char *path)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	const char *port = strrchr(http_at(f->http, 0), ':');
	int fd = socket(AF_INET, SOCK_STREAM, 0), small = 4096;
	char text[128];

	at.sin_port = htons((uint16_t)atoi(port + 1));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
	assert_int_equal(send(fd, text, strlen(text), 0), (int)strlen(text));
	return fd;
}

/* What there is of an answer, added to *n; false: that was the end. */
static bool take(int fd, size_t *n)
{
	static char bytes[65536];
	ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (got > 0)
		*n += (size_t)got;
	return got > 0 || (got < 0 && errno == EAGAIN);
}

static void turn(struct fixture *f)
{
	event_base_loop(f->base, EVLOOP_NONBLOCK);
}

/* --- tests ------------------------------------------------------------------------------------ */

/* What has changed since would be kept for as long as the stream goes on. */
static void a_stream_drops_the_snapshot_of_its_beginning(void **state)
{
	struct fixture *f = *state;
	size_t n = 0;
	int fd;

	publish(f, 1);
	fd = ask(f, "/stream");
	while (!told)
		turn(f);
	for (unsigned i = 2; i < 5; i++) {
		publish(f, i);
		assert_int_equal(snapshots_held(f->s), 1);
		while (told < i)
			turn(f);
		assert_true(take(fd, &n));
	}
	assert_int_equal(snapshots_held(f->s), 1);
	assert_true(n > 0);
	close(fd);
}

static void the_slowest_makes_room(void **state)
{
	struct fixture *f = *state;
	size_t first = 0, second = 0;
	int slow = ask(f, "/large"), fast;

	while (n_answers < 1)
		turn(f);
	fast = ask(f, "/large");
	while (second <= LARGE) {
		turn(f);
		assert_true(take(fast, &second));
	}
	while (take(slow, &first))
		turn(f);
	assert_true(first < LARGE);
	close(slow);
	close(fast);
}

/* Nothing is left of what was sent. */
static void one_after_the_other(void **state)
{
	struct fixture *f = *state;
	int idle = ask(f, "/stream"), fd;

	for (int i = 0; i < 4; i++) {
		size_t n = 0;

		publish(f, (uint32_t)i + 1);
		fd = ask(f, "/large");
		while (n <= LARGE) {
			turn(f);
			assert_true(take(fd, &n));
		}
		close(fd);
	}
	assert_true(take(idle, &(size_t){ 0 }));
	close(idle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		        a_stream_drops_the_snapshot_of_its_beginning, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_slowest_makes_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_after_the_other, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
