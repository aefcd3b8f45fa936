/* http_answer.c - see http_answer.h */
#include "cmds/web/http_answer.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "common/base/xalloc.h"

#define GZIP_LEVEL 4
#define GZIP_MIN   1024 /* bytes; below it is not worth while */

struct http_body {
	atomic_uint refs;
	unsigned holders;  /* of these, connections */
	char *text, *gzip; /* gzip: NULL, there is none */
	size_t len, gzip_len;
};

/* --- bodies that are shared ------------------------------------------------------------------- */

static void compress_body(struct http_body *b)
{
	z_stream z = { .next_in = (Bytef *)b->text, .avail_in = (uInt)b->len };
	uLong room;

	if (b->len < GZIP_MIN || b->len > UINT32_MAX / 2 ||
	        deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return;
	room = deflateBound(&z, z.avail_in);
	b->gzip = xcalloc(room, 1);
	z.next_out = (Bytef *)b->gzip;
	z.avail_out = (uInt)room;
	if (deflate(&z, Z_FINISH) == Z_STREAM_END)
		b->gzip_len = z.total_out;
	deflateEnd(&z);
	b->gzip = b->gzip_len ? xrealloc(b->gzip, b->gzip_len, 1) : (free(b->gzip), NULL);
}

struct http_body *http_body_new(struct strbuf *text, bool compress)
{
	struct http_body *b = xcalloc(1, sizeof(*b));

	atomic_init(&b->refs, 1);
	b->len = text->len;
	b->text = strbuf_take(text);
	if (compress)
		compress_body(b);
	return b;
}

struct http_body *http_body_ref(struct http_body *b)
{
	atomic_fetch_add(&b->refs, 1);
	return b;
}

void http_body_put(struct http_body *b)
{
	if (!b || atomic_fetch_sub(&b->refs, 1) != 1)
		return;
	free(b->text);
	free(b->gzip);
	free(b);
}

size_t http_body_size(const struct http_body *b)
{
	return b->len + b->gzip_len;
}

void http_body_hold(struct http_body *b)
{
	b->holders++;
}

void http_body_drop(struct http_body *b)
{
	b->holders--;
}

size_t http_body_cost(const struct http_body *b)
{
	return atomic_load(&b->refs) > b->holders ? 0 : http_body_size(b) / b->holders;
}

/* --- answers ---------------------------------------------------------------------------------- */

void http_answer_header(struct http_answer *a, const char *name, const char *value)
{
	size_t n = 0;

	if (a->n_headers == HTTP_HEADERS_MAX)
		return;
	while ((unsigned char)value[n] >= ' ' && value[n] != 0x7f)
		n++;
	a->headers[a->n_headers].name = name;
	a->headers[a->n_headers++].value = xstrndup(value, n);
}

static const struct {
	int status;
	const char *text;
} statuses[] = {
	{ 400, "bad request" },
	{ 401, "not logged in" },
	{ 403, "forbidden" },
	{ 404, "not found" },
	{ 405, "method not allowed" },
	{ 409, "conflict" },
	{ 413, "too large" },
	{ 421, "not this host" },
	{ 429, "too many requests" },
	{ 500, "internal error" },
	{ 502, "no answer of the controller" },
	{ 503, "busy" },
	{ 504, "no answer in time" },
};

void http_answer_error(struct http_answer *a, int status, const char *fmt, ...)
{
	const char *text = "error";
	char *why = NULL;
	va_list ap;

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (statuses[i].status == status)
			text = statuses[i].text;
	va_start(ap, fmt);
	if (vasprintf(&why, fmt, ap) < 0)
		why = NULL;
	va_end(ap);
	strbuf_free(&a->body);
	http_body_put(a->shared);
	a->shared = NULL;
	a->status = status;
	a->failed = true;
	a->type = "text/plain; charset=utf-8";
	strbuf_addf(&a->body, "%d %s%s%s\n", status, text, why && *why ? ": " : "",
	        why ? why : "");
	free(why);
}

static const struct {
	int code, status;
} of_errors[] = {
	{ ERR_USAGE, 400 },
	{ ERR_AUTH, 401 },
	{ ERR_NOT_PERMITTED, 403 },
	{ ERR_SIGNATURE, 403 },
	{ ERR_BUSY, 503 },
	{ ERR_SESSIONS, 503 },
	{ ERR_UNREACHABLE, 502 },
	{ ERR_PROTOCOL, 502 },
	{ ERR_TIMEOUT, 504 },
	{ ERR_INTERNAL, 500 },
	{ ERR_SYSTEM, 500 },
};

int http_status_of(const struct error *err)
{
	for (size_t i = 0; i < sizeof(of_errors) / sizeof(of_errors[0]); i++)
		if (of_errors[i].code == err->code)
			return of_errors[i].status;
	switch (error_exit_status(err->code)) {
	case EXIT_NO_OBJECT:
		return 404;
	case EXIT_NOT_PERMITTED:
		return 403;
	case EXIT_NO_CONTROLLER:
		return 502;
	default:
		return 409;
	}
}

void http_answer_clear(struct http_answer *a)
{
	strbuf_free(&a->body);
	http_body_put(a->shared);
	if (a->stream)
		a->stream->free(a->stream);
	for (size_t i = 0; i < a->n_headers; i++)
		free(a->headers[i].value);
	*a = (struct http_answer){ .status = 0 };
}

size_t http_answer_size(const struct http_answer *a)
{
	return a->shared ? http_body_size(a->shared) : a->body.len;
}

void http_answer_headers(const struct http_answer *a, struct MHD_Response *response)
{
	const struct {
		const char *name, *value;
	} all[] = {
		{ "Content-Type", a->type },
		{ "Cache-Control", a->cache ? a->cache : "no-store" },
		{ "Content-Security-Policy", a->csp ? a->csp : HTTP_CSP },
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		MHD_add_response_header(response, all[i].name, all[i].value);
	for (size_t i = 0; i < a->n_headers; i++)
		MHD_add_response_header(response, a->headers[i].name, a->headers[i].value);
}

struct MHD_Response *http_answer_response(struct http_answer *a, bool gzip)
{
	const struct http_body *b = a->shared;
	struct MHD_Response *response;
	size_t len = a->body.len;

	if (!b) {
		response = MHD_create_response_from_buffer(
		        len, strbuf_take(&a->body), MHD_RESPMEM_MUST_FREE);
	} else {
		gzip = gzip && b->gzip;
		response = MHD_create_response_from_buffer(gzip ? b->gzip_len : b->len,
		        gzip ? b->gzip : b->text, MHD_RESPMEM_PERSISTENT);
		MHD_add_response_header(response, "Vary", "Accept-Encoding");
		if (gzip)
			MHD_add_response_header(response, "Content-Encoding", "gzip");
	}
	http_answer_headers(a, response);
	return response;
}
