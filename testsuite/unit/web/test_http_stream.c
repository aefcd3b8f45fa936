/* test_http_stream.c - what the server keeps for a client: a stream no snapshot, answers that are not
 * taken and bodies a bounded number of bytes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>
#include <cmocka.h>

#include "cmds/web/http_impl.h"
#include "cmds/web/viewer.h"
#include "common/base/strbuf.h"
#include "testsuite/unit/web/web_fixture.h"

/* Two do not fit, and one is more than a socket takes of itself. */
#define LARGE (HTTP_ANSWERS_MAX / 4 * 3)
/* Two fit, three do not. */
#define HALF (HTTP_ANSWERS_MAX / 8 * 3)
#define MORE_THAN_ALL (HTTP_ANSWERS_MAX + 1)
/* So long a test takes only if something that it waits for never comes. */
#define GIVE_UP_MS 60000

struct fixture {
	int64_t give_up_ms;
	struct event_base *base;
	struct snapshots *s;
	struct snapshot_texts *texts;
	struct http *http;
};

/* --- routes ----------------------------------------------------------------------------------- */

static unsigned told;          /* to streams */
static unsigned n_answers;     /* large ones that were made */
static struct http_body *kept; /* as a table of a part does */

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
	s->http = (struct http_stream){ .read = read_serials, .free = free_serials };
	a->stream = &s->http;
}

static void fill(struct http_answer *a, size_t n)
{
	char *text = xcalloc(n, 1);

	memset(text, 'x', n);
	strbuf_add(&a->body, text, n);
	free(text);
	n_answers++;
}

static void serve_half(const struct http_request *r, struct http_answer *a)
{
	(void)r;
	fill(a, HALF);
}

static void serve_large(const struct http_request *r, struct http_answer *a)
{
	(void)r;
	fill(a, LARGE);
}

static void serve_huge(const struct http_request *r, struct http_answer *a)
{
	(void)r;
	fill(a, MORE_THAN_ALL);
}

static void serve_shared(const struct http_request *r, struct http_answer *a)
{
	(void)r;
	fill(a, LARGE);
	kept = http_body_new(&a->body, false);
	a->shared = http_body_ref(kept);
}

static void serve_length(const struct http_request *r, struct http_answer *a)
{
	strbuf_addf(&a->body, "%zu\n", r->body_len);
}

static const struct http_route routes[] = {
	{ "GET", "/stream", HTTP_NOBODY, HTTP_STREAM, 0, serve_stream, NULL },
	{ "GET", "/list", HTTP_NOBODY, HTTP_FAST, 0, serve_stream, NULL },
	{ "GET", "/half", HTTP_NOBODY, HTTP_FAST, 0, serve_half, NULL },
	{ "GET", "/large", HTTP_NOBODY, HTTP_FAST, 0, serve_large, NULL },
	{ "GET", "/huge", HTTP_NOBODY, HTTP_FAST, 0, serve_huge, NULL },
	{ "GET", "/shared", HTTP_NOBODY, HTTP_FAST, 0, serve_shared, NULL },
	{ "POST", "/length", HTTP_NOBODY, HTTP_FAST, HTTP_BODY_MAX, serve_length, NULL },
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
	f->http->seed = 1; /* no two addresses of the tests share a bucket */
	f->give_up_ms = http_now_ms() + GIVE_UP_MS;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	http_free(f->http);
	http_body_put(kept);
	kept = NULL;
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

/* A connection from 127.0.0.HOST. */
static int come(struct fixture *f, uint32_t host)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sockaddr_in at = { .sin_family = AF_INET };
	const char *port = strrchr(http_at(f->http, 0), ':');
	int fd = socket(AF_INET, SOCK_STREAM, 0), small = 4096;

	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host);
	at.sin_port = htons((uint16_t)atoi(port + 1));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* A connection with that request. */
static int ask_from(struct fixture *f, uint32_t host, const char *path)
{
	int fd = come(f, host);
	char text[128];

	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
	assert_int_equal(send(fd, text, strlen(text), 0), (int)strlen(text));
	return fd;
}

static int ask(struct fixture *f, const char *path)
{
	return ask_from(f, 1, path);
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
	if (http_now_ms() > f->give_up_ms)
		fail_msg("what is waited for does not come");
	event_base_loop(f->base, EVLOOP_NONBLOCK);
}

static void until_answers(struct fixture *f, unsigned n)
{
	while (n_answers < n)
		turn(f);
}

/* Take an answer with a body of `size`: is it whole? */
static bool comes_whole(struct fixture *f, int fd, size_t size)
{
	size_t n = 0;

	while (n <= size && take(fd, &n))
		turn(f);
	close(fd);
	return n > size;
}

static int status_of(struct fixture *f, int fd)
{
	char text[13] = "";

	while (recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT | MSG_PEEK) < 12)
		turn(f);
	return atoi(text + 9);
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
	int slow = ask(f, "/large");

	until_answers(f, 1);
	assert_true(comes_whole(f, ask(f, "/large"), LARGE));
	assert_false(comes_whole(f, slow, LARGE));
}

static void the_greed_of_an_address_costs_no_other(void **state)
{
	struct fixture *f = *state;
	int other = ask_from(f, 2, "/half"), slow;

	until_answers(f, 1);
	slow = ask(f, "/half");
	until_answers(f, 2);
	assert_true(comes_whole(f, ask(f, "/half"), HALF));
	assert_false(comes_whole(f, slow, HALF));
	assert_true(comes_whole(f, other, HALF));
}

/* The address that asks is the one for which most would be kept. */
static void an_answer_without_room_is_refused(void **state)
{
	struct fixture *f = *state;
	int other = ask_from(f, 2, "/half"), fd;

	until_answers(f, 1);
	fd = ask(f, "/large");
	assert_int_equal(status_of(f, fd), 503);
	close(fd);
	fd = ask(f, "/huge");
	assert_int_equal(status_of(f, fd), 503);
	close(fd);
	assert_true(comes_whole(f, other, HALF));
	assert_true(comes_whole(f, ask(f, "/large"), LARGE));
	assert_true(comes_whole(f, ask(f, "/huge"), MORE_THAN_ALL));
}

static void what_a_table_keeps_costs_nothing(void **state)
{
	struct fixture *f = *state;
	int slow = ask(f, "/shared");

	until_answers(f, 1);
	assert_true(comes_whole(f, ask(f, "/large"), LARGE));
	assert_true(comes_whole(f, slow, LARGE));
}

static void the_last_that_has_a_shared_body_pays_for_it(void **state)
{
	struct fixture *f = *state;
	int slow = ask(f, "/shared");

	until_answers(f, 1);
	http_body_put(kept);
	kept = NULL;
	assert_true(comes_whole(f, ask(f, "/large"), LARGE));
	assert_false(comes_whole(f, slow, LARGE));
}

/* Nothing is left of what was sent. */
static void one_after_the_other(void **state)
{
	struct fixture *f = *state;
	int idle = ask(f, "/stream");

	for (int i = 0; i < 4; i++) {
		publish(f, (uint32_t)i + 1);
		assert_true(comes_whole(f, ask(f, "/large"), LARGE));
	}
	assert_true(take(idle, &(size_t){ 0 }));
	close(idle);
}

/* A list is a stream, though its route is another kind. */
static void streams_of_all_routes_are_counted(void **state)
{
	struct fixture *f = *state;
	int fd;

	publish(f, 1);
	f->http->figures.streams = STREAMS_MAX;
	fd = ask(f, "/list");
	assert_int_equal(status_of(f, fd), 503);
	close(fd);
	f->http->figures.streams = 0;
	fd = ask(f, "/list");
	assert_int_equal(status_of(f, fd), 200);
	close(fd);
}

static int post(struct fixture *f, size_t length)
{
	int fd = come(f, 1);
	char head[128];

	snprintf(head, sizeof(head),
	        "POST /length HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n", length);
	assert_int_equal(send(fd, head, strlen(head), 0), (int)strlen(head));
	return fd;
}

static void send_body(struct fixture *f, int fd, size_t n)
{
	static const char some[65536];
	ssize_t sent;

	while (n) {
		sent = send(fd, some, n < sizeof(some) ? n : sizeof(some),
		        MSG_DONTWAIT | MSG_NOSIGNAL);
		assert_true(sent > 0 || errno == EAGAIN);
		n -= sent > 0 ? (size_t)sent : 0;
		turn(f);
	}
}

/* The largest one, and another that fits beside it. */
static void bodies_cost_their_bytes(void **state)
{
	struct fixture *f = *state;
	size_t rest = HTTP_BODIES_MAX - HTTP_BODY_MAX - 65536;
	int large = post(f, HTTP_BODY_MAX), small;

	send_body(f, large, HTTP_BODY_MAX - 1);
	while (f->http->bodies < HTTP_BODY_MAX - 1)
		turn(f);
	small = post(f, rest);
	send_body(f, small, rest);
	assert_int_equal(status_of(f, small), 200);
	send_body(f, large, 1);
	assert_int_equal(status_of(f, large), 200);
	close(small);
	close(large);
	while (f->http->bodies) /* none is counted for ever */
		turn(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		        a_stream_drops_the_snapshot_of_its_beginning, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_slowest_makes_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		        the_greed_of_an_address_costs_no_other, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		        an_answer_without_room_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		        what_a_table_keeps_costs_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		        the_last_that_has_a_shared_body_pays_for_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_after_the_other, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		        streams_of_all_routes_are_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bodies_cost_their_bytes, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
