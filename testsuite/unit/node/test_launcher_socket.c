/* test_launcher_socket.c - the network half's end of the socket pair, with the test as the launcher */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>
#include <cmocka.h>

#include "common/base/arena.h"
#include "common/net/frame.h"
#include "common/net/msg.h"
#include "noded/net/launcher_socket.h"

#define T(name) GPUSCHED__MSG_TYPE__MSG_##name

struct fixture {
	struct event_base *base;
	struct launcher_socket *launcher_socket;
	int fd; /* the launcher's end */
	char said[512];
	bool refuse; /* message() fails */
};

static void say(struct fixture *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct fixture *f, const char *fmt, ...)
{
	size_t n = strlen(f->said);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->said + n, sizeof(f->said) - n, fmt, ap);
	va_end(ap);
}

static int on_message(void *arg, unsigned type, const ProtobufCMessage *message, struct error *err)
{
	struct fixture *f = arg;

	if (type == T(LAUNCHER_HELLO))
		say(f, "hello %s;", ((const Gpusched__LauncherHello *)message)->incarnation);
	else
		say(f, "%s;", msg_name(type));
	return f->refuse ? error_set(err, ERR_PROTOCOL, "refused") : 0;
}

static void on_credential(void *arg, uint64_t id, const char *credential, const struct error *err)
{
	if (credential)
		say(arg, "credential %d %s;", (int)id, credential);
	else
		say(arg, "credential %d: %s %s;", (int)id, error_name(err->code), err->text);
}

static void on_gone(void *arg, const struct error *why)
{
	say(arg, "gone: %s;", why->text);
}

static const struct launcher_socket_ops ops = {
	.message = on_message, .credential = on_credential, .gone = on_gone
};

static int make(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int pair[2];

	if (!f || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return -1;
	evutil_make_socket_nonblocking(pair[0]);
	f->base = event_base_new();
	f->fd = pair[1];
	f->launcher_socket = launcher_socket_new(f->base, pair[0], &ops, f);
	*state = f;
	return 0;
}

static int unmake(void **state)
{
	struct fixture *f = *state;

	launcher_socket_free(f->launcher_socket);
	event_base_free(f->base);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
	return 0;
}

/* Everything that is there is handled; nothing is waited for. */
static void turn(struct fixture *f)
{
	for (int i = 0; i < 10; i++)
		event_base_loop(f->base, EVLOOP_NONBLOCK);
}

static void send_frame(struct fixture *f, unsigned type, const ProtobufCMessage *m, size_t piece)
{
	uint8_t *bytes;
	size_t len;

	assert_int_equal(frame_pack(type, 0, m, &bytes, &len, NULL), 0);
	for (size_t at = 0; at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;

		assert_int_equal(write(f->fd, bytes + at, n), n);
		turn(f);
	}
	free(bytes);
}

static void messages_come_in_any_pieces(void **state)
{
	static const size_t pieces[] = { 1, 3, 16, 17, 4096 };
	Gpusched__LauncherHello hello = GPUSCHED__LAUNCHER_HELLO__INIT;
	struct fixture *f = *state;

	hello.incarnation = (char *)"boot-1";
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		f->said[0] = '\0';
		send_frame(f, T(LAUNCHER_HELLO), &hello.base, pieces[i]);
		assert_string_equal(f->said, "hello boot-1;");
	}
}

static void credentials_go_and_come(void **state)
{
	struct frame_reader *reader = frame_reader_new(NULL, MSG_BY_AGENT_LOCAL);
	Gpusched__LauncherCred answer = GPUSCHED__LAUNCHER_CRED__INIT;
	struct arena *arena = arena_new(4096);
	const Gpusched__LauncherCred *asked;
	struct fixture *f = *state;
	uint8_t bytes[1024];
	struct frame frame;
	size_t used;
	ssize_t n;

	launcher_socket_ask_credential(f->launcher_socket, 7, "secret", 6, 42);
	turn(f);
	n = recv(f->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	assert_true(n > 0);
	assert_int_equal(frame_reader_feed(reader, bytes, (size_t)n, &used, NULL), 0);
	assert_int_equal(frame_reader_next(reader, &frame, NULL), 1);
	assert_int_equal(frame.type, T(LAUNCHER_CRED));
	asked = (Gpusched__LauncherCred *)msg_unpack(
	        frame.type, frame.body, frame.len, arena, NULL);
	assert_non_null(asked);
	assert_int_equal(asked->id, 7);
	assert_int_equal(asked->restrict_uid, 42);
	assert_int_equal(asked->payload.len, 6);
	assert_memory_equal(asked->payload.data, "secret", 6);
	frame_reader_free(reader);
	arena_free(arena);

	answer.id = 7;
	answer.credential = (char *)"MUNGE:x:";
	send_frame(f, T(LAUNCHER_CRED), &answer.base, 4096);
	answer.credential = (char *)"";
	answer.error = ERR_MUNGE_DOWN;
	answer.error_text = (char *)"no socket";
	send_frame(f, T(LAUNCHER_CRED), &answer.base, 4096);
	assert_string_equal(f->said, "credential 7 MUNGE:x:;credential 7: munge.down no socket;");
}

static void its_end_is_told_once(void **state)
{
	struct fixture *f = *state;

	close(f->fd);
	f->fd = -1;
	turn(f);
	turn(f);
	assert_string_equal(f->said, "gone: the launcher has ended;");
	launcher_socket_ask_credential(
	        f->launcher_socket, 1, "x", 1, 0); /* nothing any more, and no crash */
	turn(f);
	assert_string_equal(f->said, "gone: the launcher has ended;");
}

static void nonsense_ends_it(void **state)
{
	struct fixture *f = *state;
	Gpusched__Ping ping = GPUSCHED__PING__INIT;

	send_frame(f, T(PING), &ping.base, 4096); /* not the launcher's to send */
	assert_memory_equal(f->said, "gone: from the launcher: ", 25);
	f->said[0] = '\0';
	turn(f);
	assert_string_equal(f->said, "");
}

static void what_the_node_refuses_ends_it(void **state)
{
	struct fixture *f = *state;
	Gpusched__RunReport report = GPUSCHED__RUN_REPORT__INIT;

	f->refuse = true;
	send_frame(f, T(LAUNCHER_RUN), &report.base, 4096);
	send_frame(f, T(LAUNCHER_RUN), &report.base, 4096);
	assert_string_equal(f->said, "launcher_run;gone: from the launcher: refused;");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(messages_come_in_any_pieces),
		TEST(credentials_go_and_come),
		TEST(its_end_is_told_once),
		TEST(nonsense_ends_it),
		TEST(what_the_node_refuses_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
