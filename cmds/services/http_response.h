/* http_response.h - an HTTP/1 answer, read as it streams in
 *
 * The reader keeps the beginning of one line and no header, so its size does not depend on the
 * answer: at most HTTP_RESPONSE_HEAD_MAX bytes of headers are read, and `max_body` bytes of the
 * body. A body is chunked, of a length that is told, or ends with the connection; other encodings
 * are refused. Answers of 1xx come before the one that counts. Pure.
 */
#ifndef CMDS_SERVICES_HTTP_RESPONSE_H
#define CMDS_SERVICES_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

#define HTTP_RESPONSE_HEAD_MAX 16384
#define HTTP_RESPONSE_LINE_MAX 256 /* so much of a line is looked at */

struct http_response {
	/* Gets the body, piece by piece; NULL: it is thrown away. */
	void (*body)(void *arg, const void *data, size_t len);
	void *arg;
	uint64_t max_body; /* behind it the answer is done, and `cut` */

	unsigned status; /* 0: not known yet */
	bool framed;     /* the body's end is told, not only the connection's */
	bool cut;

	/* The rest is the reader's own. */
	int state;
	size_t head;   /* bytes of headers */
	uint64_t got;  /* bytes of the body */
	uint64_t left; /* of the body or of the chunk, where it is known */
	bool chunked, has_length;
	size_t len; /* of the line, of which `line` has the beginning */
	char line[HTTP_RESPONSE_LINE_MAX];
};

/* The caller sets the first three fields after that. */
void http_response_begin(struct http_response *a);

/* Returns 1 if the answer is done, 0 if more of it must come, -1 with `err` if it is none. */
int http_response_feed(struct http_response *a, const void *data, size_t n, struct error *err);

/* The connection has ended before it was done: that is its end, or -1 with `err`. */
int http_response_closed(const struct http_response *a, struct error *err);

#endif
