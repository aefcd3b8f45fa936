/* test_feed.c - gfeed: what is taken of the controller's answers, each format, HAProxy's commands, options,
 * files; gactivate: what looks like HTTP, and bytes both ways */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <event2/bufferevent.h>
#include <event2/event.h>

#include "cmds/feed/endpoints.h"
#include "cmds/feed/file_reload.h"
#include "cmds/feed/format.h"
#include "cmds/feed/haproxy.h"
#include "cmds/feed/output.h"
#include "cmds/feed/poll_interval.h"
#include "cmds/feed/service_unavailable.h"
#include "cmds/feed/splice.h"

/* --- a feed ----------------------------------------------------------------------------------- */

struct replica {
	uint32_t slot, generation;
	const char *state, *address;
	uint32_t ports[2];
	bool serves;
};

#define REPLICAS_MAX 8

/* A service with these replicas, which end with one without a state. */
static int add(struct feed *f, const char *name, const struct replica *v, struct error *err)
{
	Gpusched__Service s = GPUSCHED__SERVICE__INIT;
	Gpusched__ServiceReplica all[REPLICAS_MAX], *list[REPLICAS_MAX];
	uint32_t ports[REPLICAS_MAX][2];
	char state[] = "SERVING", node[] = "n\"1";

	s.name = (char *)name;
	s.state = state;
	s.generation = 3;
	s.wanted = s.ready = 2;
	s.replicas = list;
	for (; v[s.n_replicas].state; s.n_replicas++) {
		size_t i = s.n_replicas;

		gpusched__service_replica__init(&all[i]);
		list[i] = &all[i];
		all[i].slot = v[i].slot;
		all[i].generation = v[i].generation;
		all[i].state = (char *)v[i].state;
		all[i].node = node;
		all[i].address = (char *)v[i].address;
		all[i].serves = v[i].serves;
		memcpy(ports[i], v[i].ports, sizeof(ports[i]));
		all[i].ports = ports[i];
		all[i].n_ports = ports[i][1] ? 2 : ports[i][0] ? 1 : 0;
	}
	return feed_add(f, &s, err);
}

static const struct replica chat[] = {
	{ 4, 3, "READY", "fd00::7", { 8001, 9001 }, true },
	{ 0, 3, "READY", "10.0.0.7", { 8001, 9001 }, true },
	{ 1, 2, "DRAINING", "10.0.0.8", { 8002, 9002 }, false },
	{ 2, 3, "LOADING", "10.0.0.9", { 8003, 9003 }, false },
	{ 3, 3, "DRAINING", "", { 0 }, false },
	{ .state = NULL },
};

static struct feed make_feed(void)
{
	struct feed f = { 0 };

	assert_int_equal(add(&f, "chat", chat, NULL), 0);
	feed_add_unknown(&f, "art");
	feed_add_unknown(&f, "chat");
	feed_add_unknown(&f, "no name");
	feed_sort(&f);
	return f;
}

static void test_what_is_taken(void **state)
{
	struct feed f = make_feed();
	const struct feed_service *s = feed_find(&f, "chat");
	char text[ENDPOINT_TEXT];

	(void)state;
	assert_int_equal(f.n, 2);
	assert_string_equal(f.v[0].name, "art");
	assert_string_equal(f.v[0].state, "UNKNOWN");
	assert_int_equal(s->n, 3);
	assert_int_equal(feed_serving(s), 2);
	assert_int_equal(s->v[1].slot, 1);
	assert_false(s->v[1].serves);
	assert_string_equal(endpoint_text(&s->v[0], 0, text), "10.0.0.7:8001");
	assert_string_equal(endpoint_text(&s->v[2], 1, text), "[fd00::7]:9001");
	assert_null(endpoint_text(&s->v[0], 2, text));
	feed_clear(&f);
}

static void test_what_is_left_out(void **state)
{
	static const struct replica bad[] = {
		{ 0, 1, "READY", "10.0.0.7; }", { 1 }, true },
		{ 1, 1, "READY", "a b", { 1 }, true },
		{ 2, 1, "READY", "-x", { 1 }, true },
		{ 3, 1, "READY", "", { 1 }, true },
		{ 4, 1, "READY", "10.0.0.7", { 65536 }, true },
		{ 5, 1, "READY", "10.0.0.7", { 0 }, true },
		{ 6, 1, "READY", "node-1.example", { 1 }, true },
		{ .state = NULL },
	};
	struct feed f = { 0 };
	struct error err;

	(void)state;
	assert_int_equal(add(&f, "chat", bad, &err), -1);
	assert_non_null(strstr(err.text, "service chat, slot "));
	assert_int_equal(f.v[0].n, 1);
	assert_int_equal(f.v[0].v[0].slot, 6);
	assert_int_equal(add(&f, "chat;", chat, &err), -1);
	assert_int_equal(f.n, 1);
	feed_clear(&f);
	assert_true(feed_same_address("fd00::7", "fd00:0:0::7"));
	assert_false(feed_same_address("10.0.0.7", "10.0.0.8"));
	assert_false(feed_same_address("10.0.0.7", "::ffff:10.0.0.7"));
	assert_true(feed_same_address("a.b", "a.b"));
}

/* --- formats ---------------------------------------------------------------------------------- */

struct format_case {
	const char *format;
	struct format_how how;
	const char *want;
};

#define HEAD "# Written by gfeed(8). What is changed here by hand is lost.\n"

static const struct format_case format_cases[] = {
	{ "nginx", { .port = 0 },
	        HEAD "upstream art {\n\tleast_conn;\n\tserver 127.0.0.1:9 down; # no replica is "
	             "ready\n}\n"
	             "upstream chat {\n\tleast_conn;\n\tserver 10.0.0.7:8001;\n\tserver "
	             "[fd00::7]:8001;\n}\n" },
	{ "nginx", { .port = 1, .backup = "127.0.0.1:7001" },
	        HEAD "upstream art {\n\tleast_conn;\n\tserver 127.0.0.1:7001;\n}\n"
	             "upstream chat {\n\tleast_conn;\n\tserver 10.0.0.7:9001;\n\tserver "
	             "[fd00::7]:9001;\n"
	             "\tserver 127.0.0.1:7001 backup;\n}\n" },
	{ "litellm", { .port = 0 },
	        HEAD
	        "model_list:\n"
	        "  - model_name: \"chat\"\n    litellm_params:\n      model: \"hosted_vllm/chat\"\n"
	        "      api_base: \"http://10.0.0.7:8001/v1\"\n"
	        "  - model_name: \"chat\"\n    litellm_params:\n      model: \"hosted_vllm/chat\"\n"
	        "      api_base: \"http://[fd00::7]:8001/v1\"\n" },
	{ "prometheus", { .port = 1 },
	        "[\n  {\n    \"targets\": [\n      \"10.0.0.7:9001\"\n    ],\n    \"labels\": {\n"
	        "      \"service\": \"chat\",\n      \"node\": \"n\\\"1\",\n      \"slot\": "
	        "\"0\",\n"
	        "      \"generation\": \"3\"\n    }\n  },\n"
	        "  {\n    \"targets\": [\n      \"[fd00::7]:9001\"\n    ],\n    \"labels\": {\n"
	        "      \"service\": \"chat\",\n      \"node\": \"n\\\"1\",\n      \"slot\": "
	        "\"4\",\n"
	        "      \"generation\": \"3\"\n    }\n  }\n]\n" },
	{ "envoy", { .port = 2 },
	        "{\n  \"resources\": [\n    {\n"
	        "      \"@type\": "
	        "\"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment\",\n"
	        "      \"cluster_name\": \"art\",\n      \"endpoints\": [\n        {\n"
	        "          \"lb_endpoints\": []\n        }\n      ]\n    },\n    {\n"
	        "      \"@type\": "
	        "\"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment\",\n"
	        "      \"cluster_name\": \"chat\",\n      \"endpoints\": [\n        {\n"
	        "          \"lb_endpoints\": []\n        }\n      ]\n    }\n  ]\n}\n" },
};

static void test_formats(void **state)
{
	struct feed f = make_feed();

	(void)state;
	for (size_t i = 0; i < sizeof(format_cases) / sizeof(format_cases[0]); i++) {
		const struct format_case *c = &format_cases[i];
		struct strbuf out = { 0 };

		format_find(c->format)->write(&out, f.v, f.n, &c->how);
		assert_string_equal(out.s, c->want);
		strbuf_free(&out);
	}
	assert_null(format_find("haproxy"));
	feed_clear(&f);
}

static void test_json(void **state)
{
	const struct format_how how = {
		.cluster = "atlas", .silent_since = 17, .silent_text = "no \"route\""
	};
	struct feed f = make_feed();
	struct strbuf out = { 0 };

	(void)state;
	format_find("json")->write(&out, f.v, f.n, &how);
	for (char *s = out.s; (s = strchr(s, '\n'));)
		memmove(s, s + 1 + strspn(s + 1, " "), strlen(s + 1 + strspn(s + 1, " ")) + 1);
	assert_string_equal(out.s,
	        "{\"version\": 1,\"cluster\": \"atlas\",\"controller\": {\"answers\": "
	        "false,\"since\": 17,"
	        "\"error\": \"no \\\"route\\\"\"},\"services\": [{\"name\": \"art\",\"state\": "
	        "\"UNKNOWN\","
	        "\"generation\": 0,\"wanted\": 0,\"ready\": 0,\"endpoints\": [],\"draining\": []},"
	        "{\"name\": \"chat\",\"state\": \"SERVING\",\"generation\": 3,\"wanted\": "
	        "2,\"ready\": 2,"
	        "\"endpoints\": [{\"slot\": 0,\"generation\": 3,\"node\": \"n\\\"1\",\"address\": "
	        "\"10.0.0.7\","
	        "\"ports\": [8001,9001]},{\"slot\": 4,\"generation\": 3,\"node\": \"n\\\"1\","
	        "\"address\": \"fd00::7\",\"ports\": [8001,9001]}],\"draining\": [{\"slot\": 1,"
	        "\"generation\": 2,\"node\": \"n\\\"1\",\"address\": \"10.0.0.8\",\"ports\": "
	        "[8002,9002]}]}]}");
	strbuf_free(&out);
	feed_clear(&f);
}

/* --- HAProxy ---------------------------------------------------------------------------------- */

#define TITLE "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state ...\n"
/* The columns that matter: name, address, admin state, port. */
#define SERVER(name, address, admin, port) \
	"3 chat 1 " name " " address " 2 " admin " 1 1 9 6 3 4 6 0 0 0 - " port " - 0 0 - - 0\n"

struct haproxy_case {
	const char *servers, *commands;
	size_t without;
};

static const struct haproxy_case haproxy_cases[] = {
	/* as after a start */
	{ SERVER("chat1", "127.0.0.1", "5", "9") SERVER("chat2", "127.0.0.1", "5", "9") SERVER(
	          "chat3", "127.0.0.1", "5", "9") SERVER("wake", "127.0.0.1", "0", "7001"),
	        "set server chat/chat1 addr 10.0.0.7 port 8001\nset server chat/chat1 state ready\n"
	        "set server chat/chat2 addr fd00::7 port 8001\nset server chat/chat2 state ready\n",
	        0 },
	/* all is well, and what drains was there */
	{ SERVER("chat1", "fd00:0::7", "4", "8001") SERVER("chat2", "10.0.0.8", "12", "8002")
	                SERVER("chat3", "10.0.0.7", "0", "8001"),
	        "", 0 },
	/* it drains now; a server that nothing has; one that came back */
	{ SERVER("chat1", "fd00::7", "1", "8001") SERVER("chat2", "10.0.0.8", "0", "8002") SERVER(
	          "chat3", "10.0.0.7", "8", "8001") SERVER("chat10", "10.0.0.6", "0", "8001"),
	        "set server chat/chat1 state ready\nset server chat/chat3 state ready\n"
	        "set server chat/chat2 state drain\nset server chat/chat10 state maint\n",
	        0 },
	/* the address is another's now: the new one has a free server, and the old goes */
	{ SERVER("chat1", "10.0.0.7", "0", "8001") SERVER("chat2", "10.0.0.5", "0", "8001")
	                SERVER("chat3", "127.0.0.1", "5", "9"),
	        "set server chat/chat3 addr fd00::7 port 8001\nset server chat/chat3 state ready\n"
	        "set server chat/chat2 state maint\n",
	        0 },
	/* no free one is left: what is not needed is taken; and still one has none */
	{ SERVER("chat1", "10.0.0.5", "0", "8001"),
	        "set server chat/chat1 state maint\nset server chat/chat1 addr 10.0.0.7 port 8001\n"
	        "set server chat/chat1 state ready\n",
	        1 },
	/* two with one address */
	{ SERVER("chat1", "10.0.0.7", "1", "8001") SERVER("chat2", "10.0.0.7", "0", "8001")
	                SERVER("chat3", "fd00::7", "0", "8001"),
	        "", 0 },
};

static void test_haproxy_commands(void **state)
{
	struct feed f = make_feed();

	(void)state;
	for (size_t i = 0; i < sizeof(haproxy_cases) / sizeof(haproxy_cases[0]); i++) {
		const struct haproxy_case *c = &haproxy_cases[i];
		struct haproxy_servers servers;
		struct strbuf text = { 0 }, commands = { 0 };
		size_t without;

		strbuf_adds(&text, TITLE);
		strbuf_adds(&text, c->servers);
		strbuf_adds(&text, "\n");
		assert_int_equal(haproxy_parse(text.s, "chat", "chat", 0, &servers, NULL), 0);
		without = haproxy_commands(
		        &servers, "chat", "chat", feed_find(&f, "chat"), 0, &commands);
		assert_string_equal(commands.s ? commands.s : "", c->commands);
		assert_int_equal(without, c->without);
		haproxy_servers_free(&servers);
		strbuf_free(&text);
		strbuf_free(&commands);
	}
	feed_clear(&f);
}

static void test_haproxy_answers(void **state)
{
	static const char *const bad[] = { "", "Can't find backend.\n", "2\n", TITLE,
		TITLE "3 chat 1 chat1\n", TITLE SERVER("chatx", "10.0.0.7", "0", "1"),
		TITLE SERVER("chat9", "10.0.0.7", "0", "1"),
		TITLE SERVER("chat1", "10.0.0.7", "x", "1"),
		TITLE SERVER("chat1", "10.0.0.7", "0", "65536") };
	struct haproxy_servers servers;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(haproxy_parse(bad[i], "chat", "chat", 8, &servers, &err), -1);
		assert_null(servers.v);
	}
	assert_non_null(strstr(err.text, "show servers state"));
}

/* --- options ---------------------------------------------------------------------------------- */

static void test_outputs(void **state)
{
	struct output o;

	(void)state;
	assert_int_equal(output_parse("haproxy", "/run/x.sock,backend=b-%s,server=s,slots=4,port=2",
	                         &o, NULL),
	        0);
	assert_string_equal(o.target, "/run/x.sock");
	assert_string_equal(o.backend, "b-%s");
	assert_string_equal(o.server, "s");
	assert_int_equal(o.slots, 4);
	assert_int_equal(o.how.port, 1);
	assert_true(output_is_per_service(&o));
	output_clear(&o);
	assert_int_equal(
	        output_parse("nginx", "/x,service=chat,backup=[::1]:80,reload=a b, c=d", &o, NULL),
	        0);
	assert_string_equal(o.service, "chat");
	assert_string_equal(o.how.backup, "[::1]:80");
	assert_string_equal(o.reload.command, "a b, c=d");
	assert_false(output_is_per_service(&o));
	output_clear(&o);
	assert_int_equal(output_parse("litellm", "/x,model=openai/%s,path=/", &o, NULL), 0);
	assert_string_equal(o.how.model, "openai/%s");
	output_clear(&o);
}

/* What is for one service knows which. */
static void test_whose_output(void **state)
{
	static const struct {
		const char *word, *value;
		size_t n;
		const char *service; /* NULL: none; "": it is refused */
	} cases[] = {
		{ "haproxy", "/x,backend=web", 1, "chat" },
		{ "haproxy", "/x,backend=web", 2, "web" },
		{ "haproxy", "/x,backend=WEB", 0, "" },
		{ "haproxy", "/x,backend=WEB,service=art", 0, "art" },
		{ "haproxy", "/x,backend=%s", 1, NULL },
		{ "nginx", "/x", 0, NULL },
		{ "nginx", "/x,backup=a:1", 1, "chat" },
		{ "nginx", "/x,backup=a:1", 2, "" },
	};
	char chat_name[] = "chat", art_name[] = "art", *names[] = { chat_name, art_name };
	struct output o;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *want = cases[i].service;

		assert_int_equal(output_parse(cases[i].word, cases[i].value, &o, NULL), 0);
		assert_int_equal(
		        output_settle(&o, names, cases[i].n, NULL), want && !*want ? -1 : 0);
		if (!want)
			assert_null(o.service);
		else if (*want)
			assert_string_equal(o.service, want);
		output_clear(&o);
	}
}

static void test_bad_outputs(void **state)
{
	static const char *const bad[][2] = { { "haproxy", "/x" }, { "haproxy", "/x,backend=a b" },
		{ "haproxy", "/x,backend=a;b" }, { "haproxy", "/x,backend=%s%s" },
		{ "haproxy", "/x,backend=a,reload=x" }, { "json", "" }, { "json", ",port=1" },
		{ "json", "/x,port=0" }, { "json", "/x,port=9" }, { "json", "/x,backup=a:1" },
		{ "json", "/x,service=A" }, { "json", "/x,reload=" }, { "json", "/x," },
		{ "nginx", "/x,backup=a:1;" }, { "nginx", "/x,backup=a" },
		{ "litellm", "/x,model=\"" }, { "json", "/x\n" } };
	struct output o;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(output_parse(bad[i][0], bad[i][1], &o, NULL), -1);
}

/* --- files ------------------------------------------------------------------------------------ */

static void test_file(void **state)
{
	char folder[] = "/tmp/test_feed-XXXXXX", path[64], back[16] = "";
	struct stat first, second;
	struct error err;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
	assert_int_equal(outfile_write(path, "one\n", 4, &err), 1);
	assert_int_equal(stat(path, &first), 0);
	assert_int_equal(outfile_write(path, "one\n", 4, &err), 0);
	assert_int_equal(stat(path, &second), 0);
	assert_int_equal(first.st_ino, second.st_ino);
	assert_int_equal(outfile_write(path, "on", 2, &err), 1);
	assert_int_equal(outfile_write(path, "one\ntwo\n", 8, &err), 1);
	assert_int_equal(outfile_write(path, "", 0, &err), 1);
	assert_int_equal(outfile_write(path, "two\n", 4, &err), 1);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fread(back, 1, sizeof(back), f), 4);
	fclose(f);
	assert_string_equal(back, "two\n");
	unlink(path);
	assert_int_equal(rmdir(folder), 0); /* nothing else is left there */
	assert_int_equal(outfile_write(path, "x", 1, &err), -1);
	assert_non_null(strstr(err.text, folder));
}

/* --- gactivate -------------------------------------------------------------------------------- */

static void test_http(void **state)
{
	static const char *const http[] = { "GET / HTTP/1.1", "POST /v1", "OPTIONS * ",
		"CONNECT " };
	static const char *const other[] = { "", "G", "GET", "GET/", "get / ", "\x16\x03\x01",
		"GETGETGET ", "AB / " };

	(void)state;
	for (size_t i = 0; i < sizeof(http) / sizeof(http[0]); i++)
		assert_true(service_unavailable_is_http(http[i], 8));
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		assert_false(service_unavailable_is_http(other[i], strlen(other[i])));
}

static void count_end(void *arg)
{
	++*(int *)arg;
}

static void spin(struct event_base *base)
{
	for (int i = 0; i < 50; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

/* A half that ends goes on, the other way is open until it ends, too; an end that came first counts. */
static void test_splice(void **state)
{
	struct event_base *base = event_base_new();
	char buf[8];
	int a[2], b[2], ended = 0;

	(void)state;
	for (int early = 0; early < 2; early++) {
		socketpair(AF_UNIX, SOCK_STREAM, 0, a);
		socketpair(AF_UNIX, SOCK_STREAM, 0, b);
		evutil_make_socket_nonblocking(a[1]);
		evutil_make_socket_nonblocking(b[1]);
		if (early)
			shutdown(a[0], SHUT_WR);
		splice_new(bufferevent_socket_new(base, a[1], BEV_OPT_CLOSE_ON_FREE), early,
		        bufferevent_socket_new(base, b[1], BEV_OPT_CLOSE_ON_FREE), count_end,
		        &ended);
		if (!early) {
			assert_int_equal(write(a[0], "ask", 3), 3);
			shutdown(a[0], SHUT_WR);
			spin(base);
			assert_int_equal(read(b[0], buf, sizeof(buf)), 3);
		}
		spin(base);
		assert_int_equal(read(b[0], buf, sizeof(buf)), 0);
		assert_int_equal(ended, early);
		assert_int_equal(write(b[0], "told", 4), 4);
		spin(base);
		assert_int_equal(read(a[0], buf, sizeof(buf)), 4);
		close(b[0]);
		spin(base);
		assert_int_equal(read(a[0], buf, sizeof(buf)), 0);
		assert_int_equal(ended, early + 1);
		close(a[0]);
	}
	event_base_free(base);
}

/* A side that reads nothing stops the other; what breaks ends both. */
static void test_splice_is_bounded(void **state)
{
	struct event_base *base = event_base_new();
	static char block[65536];
	int a[2], b[2], ended = 0;
	size_t sent = 0;
	ssize_t n;

	(void)state;
	socketpair(AF_UNIX, SOCK_STREAM, 0, a);
	socketpair(AF_UNIX, SOCK_STREAM, 0, b);
	for (int i = 0; i < 2; i++) {
		evutil_make_socket_nonblocking(a[i]);
		evutil_make_socket_nonblocking(b[i]);
	}
	splice_new(bufferevent_socket_new(base, a[1], BEV_OPT_CLOSE_ON_FREE), false,
	        bufferevent_socket_new(base, b[1], BEV_OPT_CLOSE_ON_FREE), count_end, &ended);
	for (int i = 0; i < 200; i++) {
		while ((n = write(a[0], block, sizeof(block))) > 0)
			sent += (size_t)n;
		spin(base);
	}
	assert_true(sent < (size_t)4 * 1024 * 1024);
	for (size_t got = 0; got < sent; spin(base))
		while ((n = read(b[0], block, sizeof(block))) > 0)
			got += (size_t)n;
	close(b[0]);
	assert_true(write(a[0], "more", 4) == 4);
	spin(base);
	assert_int_equal(ended, 1);
	close(a[0]);
	event_base_free(base);
}

/* One answer that was late, in a small cluster, keeps no change back; in a large one all are. */
static void test_rest(void **state)
{
	struct poll_interval r = { .n = 0 };

	(void)state;
	assert_int_equal(poll_interval_after(&r, 300), 0);
	for (int i = 0; i < POLL_INTERVAL_LAST; i++)
		assert_in_range(poll_interval_after(&r, 1), 0, POLL_INTERVAL_TIMES);
	assert_int_equal(poll_interval_after(&r, 184), POLL_INTERVAL_TIMES);
	assert_int_equal(poll_interval_after(&r, 300), POLL_INTERVAL_TIMES);
	for (int i = 0; i < POLL_INTERVAL_LAST; i++)
		poll_interval_after(&r, 100);
	assert_int_equal(poll_interval_after(&r, 120), 100 * POLL_INTERVAL_TIMES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_what_is_taken),
		cmocka_unit_test(test_what_is_left_out),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_haproxy_commands),
		cmocka_unit_test(test_haproxy_answers),
		cmocka_unit_test(test_outputs),
		cmocka_unit_test(test_whose_output),
		cmocka_unit_test(test_bad_outputs),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_http),
		cmocka_unit_test(test_splice),
		cmocka_unit_test(test_splice_is_bounded),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
