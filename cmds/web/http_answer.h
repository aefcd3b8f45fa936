/* http_answer.h - an answer as libmicrohttpd's response */
#ifndef CMDS_WEB_HTTP_ANSWER_H
#define CMDS_WEB_HTTP_ANSWER_H

#include <microhttpd.h>

#include "cmds/web/http.h"

void http_answer_clear(struct http_answer *a);

/* The bytes that it keeps until the client has taken them; of a stream none. */
size_t http_answer_size(const struct http_answer *a);

/* Of a shared body, on the loop: a connection is to take it, and does not hold it any more. */
void http_body_hold(struct http_body *b);
void http_body_drop(struct http_body *b);
/* What it costs each of the connections that hold it: 0 while something else has it too. */
size_t http_body_cost(const struct http_body *b);

/* The response, with its headers; the body is taken out of `a`, but for a shared one: `a` keeps
 * that until the response is sent. `gzip`: the client takes it. Streams are made by
 * http_stream.c. */
struct MHD_Response *http_answer_response(struct http_answer *a, bool gzip);
/* The headers that every answer has. */
void http_answer_headers(const struct http_answer *a, struct MHD_Response *response);

#endif
