/* encrypted_stream.c - see encrypted_stream.h */
#include "cmds/api/encrypted_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "common/net/hello.h"

#define CREDIT_STEP (STREAM_WINDOW / 4)
#define OUT_MAX     (2 * CHANNEL_WIRE_MAX) /* sealed, and without credit yet */

struct stream {
	struct dial *dial;
	uint64_t number;
	struct arena *arena;
	struct hello *hello;     /* until the answer */
	struct channel *channel; /* from then on */
	char peer[300];          /* "run 12_0_1 on n1" */
	uint8_t *in;             /* STREAM_WINDOW bytes: from `at` to `n`, not yet taken */
	size_t at, n;
	size_t taken;  /* and not yet credited */
	size_t credit; /* so much we may send */
	uint8_t out[OUT_MAX];
	size_t out_n;
	bool closed; /* nothing comes any more; what is there still counts */
	struct error why;
};

/* --- opening ---------------------------------------------------------------------------------- */

/* noded/record/record.h: the name by which a node knows a run. */
static void run_name(struct run_id run, char out[HELLO_RUN_MAX + 1])
{
	int n = snprintf(out, HELLO_RUN_MAX + 1, "%llu_%u_%u", (unsigned long long)run.job,
	        run.task, run.attempt);

	if (run.rank)
		snprintf(out + n, (size_t)(HELLO_RUN_MAX + 1 - n), "_%u", run.rank);
}

static int make_hello(struct client *c, struct stream *s, const char *where, const uint8_t **bytes,
        size_t *len, struct error *err)
{
	struct hello_to to = {
		.role = "attach", .cluster = client_conf(c)->cluster, .node = where
	};
	const struct mcred_ops *ops = client_mcred(c);
	const uint8_t *payload;
	size_t payload_len;
	char *cred;
	uid_t uid;
	int rc;

	if (client_agent_uid(c, &uid, err) < 0)
		return -1;
	s->hello = hello_new(&to, err);
	if (!s->hello)
		return -1;
	payload = hello_payload(s->hello, &payload_len);
	if (ops->encode(ops, payload, payload_len, uid, &cred, err) < 0)
		return -1;
	rc = hello_finish(s->hello, cred, bytes, len, err);
	free(cred);
	return rc;
}

struct stream *stream_open(
        struct client *c, struct dial *d, const struct stream_to *to, struct error *err)
{
	static _Atomic uint64_t last; /* gweb opens them in several threads */
	Gpusched__StreamOpen m = GPUSCHED__STREAM_OPEN__INIT;
	Gpusched__RunId id = GPUSCHED__RUN_ID__INIT;
	struct stream *s = xcalloc(1, sizeof(*s));
	char name[HELLO_RUN_MAX + 1], *where;
	const uint8_t *bytes;
	int rc;

	run_name(to->run, name);
	where = xasprintf("%s/%s", to->node, name);
	*s = (struct stream){ .dial = d, .number = ++last, .credit = STREAM_WINDOW };
	s->in = xcalloc(1, STREAM_WINDOW);
	s->arena = arena_new(MSG_BODY_MAX);
	snprintf(s->peer, sizeof(s->peer), "run %s on %.200s", name, to->node);
	COPY_FIELDS(&id, &to->run, job, task, attempt, rank);
	rc = make_hello(c, s, where, &bytes, &m.hello.len, err);
	free(where);
	if (rc == 0) {
		m.stream = s->number;
		m.run = &id;
		m.node = (char *)(uintptr_t)to->node;
		m.hello.data = (uint8_t *)(uintptr_t)bytes;
		rc = dial_send(d, GPUSCHED__MSG_TYPE__MSG_STREAM_OPEN, &m.base, err) ? 0 : -1;
	}
	if (rc == 0)
		return s;
	stream_free(s);
	return NULL;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	hello_free(s->hello);
	channel_free(s->channel);
	arena_free(s->arena);
	free(s->in);
	free(s);
}

bool stream_is_open(const struct stream *s)
{
	return s->channel;
}

/* --- sending ---------------------------------------------------------------------------------- */

static int flush_out(struct stream *s, struct error *err)
{
	Gpusched__StreamData m = GPUSCHED__STREAM_DATA__INIT;

	m.stream = s->number;
	while (s->out_n && s->credit) {
		m.data.data = s->out;
		m.data.len = s->out_n < s->credit ? s->out_n : s->credit;
		if (m.data.len > STREAM_CHUNK_MAX)
			m.data.len = STREAM_CHUNK_MAX;
		if (!dial_send(s->dial, GPUSCHED__MSG_TYPE__MSG_STREAM_DATA, &m.base, err))
			return -1;
		s->credit -= m.data.len;
		s->out_n -= m.data.len;
		memmove(s->out, s->out + m.data.len, s->out_n);
	}
	return 0;
}

bool stream_has_room(const struct stream *s)
{
	return s->channel && sizeof(s->out) - s->out_n >= CHANNEL_WIRE_MAX;
}

int stream_send(struct stream *s, unsigned kind, const void *data, size_t len, struct error *err)
{
	size_t n;

	if (!stream_has_room(s))
		return error_set(err, ERR_INTERNAL, "the stream is full");
	n = channel_seal(s->channel, kind, data, len, s->out + s->out_n, err);
	if (n == 0)
		return -1;
	s->out_n += n;
	return flush_out(s, err);
}

/* --- receiving -------------------------------------------------------------------------------- */

static int take_data(struct stream *s, const Gpusched__StreamData *m, struct error *err)
{
	if (s->at) {
		s->n -= s->at;
		memmove(s->in, s->in + s->at, s->n);
		s->at = 0;
	}
	if (m->data.len > STREAM_WINDOW - s->n)
		return error_set(err, ERR_PROTOCOL, "%s sent more than was requested", s->peer);
	if (m->data.len)
		memcpy(s->in + s->n, m->data.data, m->data.len);
	s->n += m->data.len;
	return 0;
}

static int take_close(struct stream *s, const Gpusched__StreamClose *m)
{
	s->closed = true;
	if (m->code)
		error_set(&s->why, m->code < ERR_COUNT ? (int)m->code : ERR_INTERNAL, "%s",
		        *m->text ? m->text : error_meaning((int)m->code));
	else
		error_set(&s->why, ERR_UNREACHABLE, "%s has closed the stream", s->peer);
	return 0;
}

int stream_take(struct stream *s, const struct frame *f, struct error *err)
{
	ProtobufCMessage *m;
	int rc = 0;

	if (f->type < GPUSCHED__MSG_TYPE__MSG_STREAM_DATA ||
	        f->type > GPUSCHED__MSG_TYPE__MSG_STREAM_CLOSE)
		return 0;
	m = msg_unpack(f->type, f->body, f->len, s->arena, err);
	if (!m)
		return -1;
	/* All three begin with the number. */
	if (((const Gpusched__StreamData *)m)->stream != s->number)
		return 0;
	switch (f->type) {
	case GPUSCHED__MSG_TYPE__MSG_STREAM_DATA:
		rc = take_data(s, (const Gpusched__StreamData *)m, err);
		break;
	case GPUSCHED__MSG_TYPE__MSG_STREAM_CREDIT:
		s->credit += ((const Gpusched__StreamCredit *)m)->bytes;
		rc = flush_out(s, err);
		break;
	default:
		rc = take_close(s, (const Gpusched__StreamClose *)m);
	}
	return rc < 0 ? -1 : 1;
}

static int give_credit(struct stream *s, size_t taken, struct error *err)
{
	Gpusched__StreamCredit m = GPUSCHED__STREAM_CREDIT__INIT;

	s->at += taken;
	s->taken += taken;
	if (s->taken < CREDIT_STEP || s->closed)
		return 0;
	m.stream = s->number;
	m.bytes = (uint32_t)s->taken;
	s->taken = 0;
	return dial_send(s->dial, GPUSCHED__MSG_TYPE__MSG_STREAM_CREDIT, &m.base, err) ? 0 : -1;
}

/* 1: we are through. */
static int shake_hands(struct stream *s, struct error *err)
{
	struct noise *noise;
	size_t used;
	int r = hello_answer(s->hello, s->peer, s->in + s->at, s->n - s->at, &used, &noise, err);

	if (r <= 0)
		return r;
	hello_free(s->hello);
	s->hello = NULL;
	s->channel = channel_new(noise);
	if (hello_confirm(noise, s->out + s->out_n, err) < 0)
		return -1;
	s->out_n += HELLO_CONFIRM_LEN;
	return give_credit(s, used, err) < 0 || flush_out(s, err) < 0 ? -1 : 1;
}

int stream_next(struct stream *s, struct channel_message *out, struct error *err)
{
	size_t fed;
	int r;

	if (!s->channel) {
		r = shake_hands(s, err);
		if (r < 0)
			return -1;
	}
	while (s->channel) {
		r = channel_next(s->channel, out, err);
		if (r != 0)
			return r;
		fed = channel_feed(s->channel, s->in + s->at, s->n - s->at);
		if (fed == 0)
			break;
		if (give_credit(s, fed, err) < 0)
			return -1;
	}
	if (!s->closed)
		return 0;
	if (err)
		*err = s->why;
	return -1;
}
