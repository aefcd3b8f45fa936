/* http_answer.h - an answer as libmicrohttpd's response */
#ifndef CMDS_WEB_HTTP_ANSWER_H
#define CMDS_WEB_HTTP_ANSWER_H

#include <microhttpd.h>

#include "cmds/web/http.h"

void http_answer_clear(struct http_answer *a);

/* The response, with its headers; what of the body it needs is taken out of `a`. `gzip`: the client
 * takes it. Streams are made by http.c. */
struct MHD_Response *http_answer_response(struct http_answer *a, bool gzip);
/* The headers that every answer has. */
void http_answer_headers(const struct http_answer *a, struct MHD_Response *response);

#endif
