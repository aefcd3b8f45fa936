/* stream_reader.c - what a client gets of a run's streams, for test_output.py
 *
 *   stream_reader WHAT JOB ATTEMPT NODE [UID [OWNER]]
 *
 * Opens a stream, as the user with UID if it is given (LookAs), and asks for WHAT: a row of the
 * table below. "tail" says that it is for OWNER, or else for UID. Writes what comes of the output, and then, to its standard error, how it ended:
 * "ended CODE: TEXT" or "refused: TEXT".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/api/encrypted_stream.h"

static const struct {
	const char *name;
	unsigned kind;
	struct channel_log log;
} asks[] = {
	{ "end", CHANNEL_LOG, { .lines = 2, .at = CHANNEL_LOG_NEW } },
	{ "all", CHANNEL_LOG, { .lines = UINT64_MAX, .at = CHANNEL_LOG_NEW } },
	{ "beginning", CHANNEL_LOG, { .lines = UINT64_MAX } },
	{ "follow", CHANNEL_LOG, { .follow = 1, .lines = 2, .at = CHANNEL_LOG_NEW } },
	{ "tail", CHANNEL_TAIL, { .lines = 2 } },
	{ "much", CHANNEL_TAIL, { .lines = UINT64_MAX } },
	{ "attach", CHANNEL_ATTACH, { 0 } },
	{ "steps", CHANNEL_STEPS, { 0 } },
	{ "input", CHANNEL_IN, { 0 } },
	{ "nothing", 0, { 0 } },
};
#define N_ASKS (sizeof(asks) / sizeof(asks[0]))

static int refused(const struct error *why)
{
	fprintf(stderr, "refused: %s\n", why->text);
	return 1;
}

static int look_as(struct client *c, const char *uid, struct error *err)
{
	Gpusched__LookAs m = GPUSCHED__LOOK_AS__INIT;
	struct client_call call = CLIENT_ASK(LOOK_AS, &m.base, LOOK_AS_RESULT, NULL, NULL);

	m.uid = (uint32_t)strtoul(uid, NULL, 10);
	return client_call(c, &call, err);
}

static int ask(struct stream *s, size_t what, uint32_t owner, struct error *err)
{
	static const struct channel_attach attach = { .rows = 0 };
	uint8_t b[CHANNEL_ATTACH_LEN + CHANNEL_LOG_LEN] = { 0 };
	size_t len = 0;

	if (asks[what].kind == CHANNEL_LOG)
		channel_put_log(b, &asks[what].log), len = CHANNEL_LOG_LEN;
	if (asks[what].kind == CHANNEL_TAIL) {
		channel_put_tail(b, &(struct channel_tail){ 0, asks[what].log.lines, owner });
		len = CHANNEL_TAIL_LEN;
	}
	if (asks[what].kind == CHANNEL_ATTACH)
		channel_put_attach(b, &attach), len = CHANNEL_ATTACH_LEN;
	return asks[what].kind ? stream_send(s, asks[what].kind, b, len, err) : 0;
}

/* 1: it has ended. */
static int show(const struct channel_message *m)
{
	struct error why, err;

	if (m->kind == CHANNEL_OUT)
		fwrite(m->data, 1, m->len, stdout);
	if (m->kind != CHANNEL_END)
		return 0;
	if (channel_get_end(m, &why, &err) == 0)
		fprintf(stderr, "ended %s: %s\n", error_name(why.code), why.text);
	return 1;
}

static int serve(struct dial *d, struct stream *s, size_t what, uint32_t owner)
{
	struct channel_message m;
	bool asked = false;
	struct error err;
	struct frame f;
	int r;

	for (;;) {
		if (dial_recv(d, &f, 60000, &err) <= 0 || stream_take(s, &f, &err) < 0)
			return refused(&err);
		while ((r = stream_next(s, &m, &err)) > 0)
			if (show(&m))
				return 0;
		if (r < 0)
			return refused(&err);
		if (!asked && stream_is_open(s)) {
			asked = true;
			if (ask(s, what, owner, &err) < 0)
				return refused(&err);
		}
	}
}

int main(int argc, char **argv)
{
	struct client *c;
	struct stream_to to;
	struct stream *s;
	struct error err;
	struct dial *d;
	size_t what = 0;
	int status;

	if (argc < 5)
		return 2;
	while (what < N_ASKS && strcmp(asks[what].name, argv[1]) != 0)
		what++;
	to = (struct stream_to){ .run = { .job = strtoull(argv[2], NULL, 10),
		                         .attempt = (uint32_t)strtoul(argv[3], NULL, 10) },
		.node = argv[4] };
	c = what < N_ASKS ? client_new(NULL, &err) : NULL;
	if (!c)
		return 2;
	if ((argc > 5 && look_as(c, argv[5], &err) < 0) || !(d = client_dial(c, &err)) ||
	        !(s = stream_open(c, d, &to, &err))) {
		status = refused(&err);
	} else {
		status = serve(d, s, what,
		        argc > 5 ? (uint32_t)strtoul(argv[argc - 1], NULL, 10) : 0);
		stream_free(s);
	}
	client_free(c);
	return status;
}
