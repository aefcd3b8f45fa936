/* http_stream.c - answers that go on
 *
 * A stream that has nothing to say is suspended, and woken by the next snapshot or when its beat is
 * due. libmicrohttpd asks for more only when the socket has taken what was there before, so a
 * client that does not read costs one buffer, and its time runs out (PHASE_STREAM).
 */
#include <stdlib.h>
#include <string.h>

#include "cmds/web/http_answer.h"
#include "cmds/web/http_impl.h"
#include "cmds/web/snapshot.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"

#define BLOCK 4096

struct stream {
	TAILQ_ENTRY(stream) next;
	struct http *http;
	struct connection *conn;
	struct MHD_Connection *c;
	struct http_stream *inner;
	bool waits; /* suspended */
	int64_t said_ms;
};

void http_stream_begin(struct http_stream *s)
{
	s->end_us = clock_us(CLOCK_MONOTONIC) + HTTP_STREAM_LIFE_S * INT64_C(1000000);
}

bool http_stream_is_over(const struct http_stream *s, unsigned more_s)
{
	return clock_us(CLOCK_MONOTONIC) > s->end_us + more_s * INT64_C(1000000);
}

static ssize_t read_more(void *arg, uint64_t pos, char *buf, size_t max)
{
	struct stream *s = arg;
	int64_t now = http_now_ms();
	struct snapshot *snap = snapshot_get(s->http->snapshots);
	ssize_t n = s->inner->read(
	        s->inner, snap, now - s->said_ms >= HTTP_BEAT_S * 1000, buf, max);

	(void)pos;
	snapshot_put(snap);
	if (n < 0)
		return n == -1 ? MHD_CONTENT_READER_END_OF_STREAM
		               : MHD_CONTENT_READER_END_WITH_ERROR;
	if (n > 0) {
		s->said_ms = now;
		if (s->conn)
			http_phase(s->conn, PHASE_STREAM);
		return n;
	}
	s->waits = true;
	if (s->conn)
		http_phase(s->conn, PHASE_WAITS);
	MHD_suspend_connection(s->c);
	return 0;
}

static void free_stream(void *arg)
{
	struct stream *s = arg;

	TAILQ_REMOVE(&s->http->streams, s, next);
	s->http->figures.streams--;
	s->inner->free(s->inner);
	free(s);
}

enum MHD_Result stream_begin(struct http_call *call)
{
	struct http *h = call->http;
	struct stream *s = xcalloc(1, sizeof(*s));
	struct MHD_Response *response;
	enum MHD_Result rc;

	s->http = h;
	s->conn = call->conn;
	s->c = call->c;
	s->inner = call->a.stream;
	s->said_ms = http_now_ms();
	call->a.stream = NULL;
	TAILQ_INSERT_TAIL(&h->streams, s, next);
	h->figures.streams++;
	response = MHD_create_response_from_callback(
	        MHD_SIZE_UNKNOWN, BLOCK, read_more, s, free_stream);
	http_answer_headers(&call->a, response);
	if (call->conn)
		http_phase(call->conn, PHASE_STREAM);
	rc = MHD_queue_response(call->c, (unsigned)call->a.status, response);
	MHD_destroy_response(response);
	return rc;
}

void streams_wake(struct http *h, bool all)
{
	int64_t now = http_now_ms();
	struct stream *s;
	bool any = false;

	TAILQ_FOREACH (s, &h->streams, next) {
		if (!s->waits || (!all && now - s->said_ms < HTTP_BEAT_S * 1000))
			continue;
		any = true;
		s->waits = false;
		if (s->conn)
			http_phase(s->conn, PHASE_STREAM);
		MHD_resume_connection(s->c);
	}
	for (size_t i = 0; any && i < h->n_listeners; i++)
		http_kick(&h->listeners[i]);
}
