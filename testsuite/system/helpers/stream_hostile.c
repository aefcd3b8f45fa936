/* stream_hostile.c - a client that does not keep to the rules of streams, for test_glog.py
 *
 *   stream_hostile MODE JOB ATTEMPT NODE
 *
 * Says how the controller, or the node, takes it: "closed CODE: TEXT" or "session: TEXT". The modes
 * are the rows of the table below.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/api/client.h"
#include "common/base/arena.h"
#include "common/base/xalloc.h"
#include "common/net/channel.h"
#include "common/net/hello.h"

struct hostile {
	struct client *client;
	struct dial *dial;
	const char *job, *attempt, *node;
	uint8_t *hello; /* of the last one */
	size_t hello_len;
	uint64_t expect; /* the stream whose end is awaited */
};

static void die(const char *what, const struct error *err)
{
	fprintf(stderr, "%s: %s\n", what, err->text);
	exit(2);
}

/* `uid`: who can decode it; the agents run as who runs this. */
static void make_hello(struct hostile *h, const char *role, const char *where, uid_t uid)
{
	struct hello_to to = {
		.role = role, .cluster = client_conf(h->client)->cluster, .node = where
	};
	const struct mcred_ops *ops = client_mcred(h->client);
	const uint8_t *bytes, *payload;
	struct error err;
	size_t len;
	char *cred;
	struct hello *hello = hello_new(&to, &err);

	if (!hello)
		die("hello", &err);
	payload = hello_payload(hello, &len);
	if (ops->encode(ops, payload, len, uid, &cred, &err) < 0 ||
	        hello_finish(hello, cred, &bytes, &len, &err) < 0)
		die("hello", &err);
	free(cred);
	free(h->hello);
	h->hello = xmemdup(bytes, len);
	h->hello_len = len;
	hello_free(hello);
}

static void make_good_hello(struct hostile *h)
{
	char *where = xasprintf("%s/%s_0_%s", h->node, h->job, h->attempt);

	make_hello(h, "attach", where, geteuid());
	free(where);
}

static void send_open(struct hostile *h, uint64_t stream)
{
	Gpusched__StreamOpen m = GPUSCHED__STREAM_OPEN__INIT;
	Gpusched__RunId run = GPUSCHED__RUN_ID__INIT;
	struct error err;

	run.job = strtoull(h->job, NULL, 10);
	run.attempt = (uint32_t)strtoul(h->attempt, NULL, 10);
	m.stream = stream;
	m.run = &run;
	m.node = (char *)(uintptr_t)h->node;
	m.hello.data = h->hello;
	m.hello.len = h->hello_len;
	if (!dial_send(h->dial, GPUSCHED__MSG_TYPE__MSG_STREAM_OPEN, &m.base, &err))
		die("open", &err);
	h->expect = stream;
}

static void send_data(struct hostile *h, uint64_t stream, size_t len)
{
	static uint8_t junk[STREAM_CHUNK_MAX + 1];
	Gpusched__StreamData m = GPUSCHED__STREAM_DATA__INIT;
	struct error err;

	memset(junk, 0xa5, sizeof(junk));
	m.stream = stream;
	m.data.data = junk;
	m.data.len = len;
	if (!dial_send(h->dial, GPUSCHED__MSG_TYPE__MSG_STREAM_DATA, &m.base, &err))
		die("data", &err);
}

/* More than there is credit for: gtap takes what it can, so many times over. */
static void flood(struct hostile *h)
{
	make_good_hello(h);
	send_open(h, 1);
	for (int i = 0; i < 200; i++)
		send_data(h, 1, STREAM_CHUNK_MAX);
}

static void long_chunk(struct hostile *h)
{
	make_good_hello(h);
	send_open(h, 1);
	send_data(h, 1, STREAM_CHUNK_MAX + 1);
}

static void false_credit(struct hostile *h)
{
	Gpusched__StreamCredit m = GPUSCHED__STREAM_CREDIT__INIT;
	struct error err;

	make_good_hello(h);
	send_open(h, 1);
	m.stream = 1;
	m.bytes = UINT32_MAX;
	if (!dial_send(h->dial, GPUSCHED__MSG_TYPE__MSG_STREAM_CREDIT, &m.base, &err))
		die("credit", &err);
}

static void junk(struct hostile *h)
{
	make_good_hello(h);
	send_open(h, 1);
	send_data(h, 1, 1000); /* where the confirmation should be */
}

static void twice(struct hostile *h)
{
	make_good_hello(h);
	send_open(h, 1);
	send_open(h, 1);
}

static void many(struct hostile *h)
{
	for (uint64_t i = 1; i <= 65; i++) {
		make_good_hello(h);
		send_open(h, i);
	}
}

static void replay(struct hostile *h)
{
	make_good_hello(h);
	send_open(h, 1);
	send_open(h, 2);
}

static void other_run(struct hostile *h)
{
	char *where = xasprintf("%s/%s_0_%s", h->node, h->job, "77");

	make_hello(h, "attach", where, geteuid());
	free(where);
	send_open(h, 1);
}

static void other_node(struct hostile *h)
{
	char *where = xasprintf("%s/%s_0_%s", "elsewhere", h->job, h->attempt);

	make_hello(h, "attach", where, geteuid());
	free(where);
	send_open(h, 1);
}

static void session_hello(struct hostile *h)
{
	make_hello(h, "controller", NULL, geteuid());
	send_open(h, 1);
}

static void unrestricted(struct hostile *h)
{
	char *where = xasprintf("%s/%s_0_%s", h->node, h->job, h->attempt);

	make_hello(h, "attach", where, MCRED_ANY_UID);
	free(where);
	send_open(h, 1);
}

static void cut_hello(struct hostile *h)
{
	make_good_hello(h);
	h->hello_len--;
	send_open(h, 1);
}

static void spoiled_hello(struct hostile *h)
{
	make_good_hello(h);
	h->hello[h->hello_len - 1] ^= 1; /* Noise's part: munge does not see it */
	send_open(h, 1);
}

static const struct {
	const char *name;
	void (*act)(struct hostile *h);
} modes[] = {
	{ "flood", flood },
	{ "long-chunk", long_chunk },
	{ "false-credit", false_credit },
	{ "junk", junk },
	{ "twice", twice },
	{ "many", many },
	{ "replay", replay },
	{ "other-run", other_run },
	{ "other-node", other_node },
	{ "session-hello", session_hello },
	{ "unrestricted", unrestricted },
	{ "cut-hello", cut_hello },
	{ "spoiled-hello", spoiled_hello },
};

static int hear(struct hostile *h)
{
	struct arena *arena = arena_new(MSG_BODY_MAX);
	const Gpusched__StreamClose *m;
	struct error err = { .text = "nothing came" };
	struct frame f;
	int r;

	while ((r = dial_recv(h->dial, &f, 20000, &err)) > 0) {
		if (f.type != GPUSCHED__MSG_TYPE__MSG_STREAM_CLOSE)
			continue;
		m = (const Gpusched__StreamClose *)msg_unpack(f.type, f.body, f.len, arena, &err);
		if (m && m->stream == h->expect) {
			printf("closed %s: %s\n", error_name((int)m->code), m->text);
			break;
		}
	}
	if (r <= 0)
		printf("session: %s\n", err.text);
	arena_free(arena);
	return 0;
}

int main(int argc, char **argv)
{
	struct hostile h = { .hello = NULL };
	struct error err;

	if (argc != 5)
		return 2;
	h.job = argv[2];
	h.attempt = argv[3];
	h.node = argv[4];
	h.client = client_new(NULL, &err);
	h.dial = h.client ? client_dial(h.client, &err) : NULL;
	if (!h.dial)
		die("client", &err);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i].name, argv[1]) == 0) {
			modes[i].act(&h);
			hear(&h);
		}
	free(h.hello);
	client_free(h.client);
	return 0;
}
