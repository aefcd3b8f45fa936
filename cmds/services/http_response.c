/* http_response.c - see http_response.h */
#include "cmds/services/http_response.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { STATUS, HEADER, BODY, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILER, DONE };

void http_response_begin(struct http_response *a)
{
	memset(a, 0, sizeof(*a));
	a->max_body = UINT64_MAX;
}

/* --- lines ------------------------------------------------------------------------------------ */

static int bad(struct error *err, const char *what)
{
	return error_set(err, ERR_PROTOCOL, "no HTTP answer: %s", what);
}

/* Is the line whole? `line` has it without its end then. */
static bool gather(struct http_response *a, const char **p, const char *end)
{
	const char *lf = memchr(*p, '\n', (size_t)(end - *p));
	size_t n = (size_t)((lf ? lf : end) - *p);
	size_t room = a->len < sizeof(a->line) ? sizeof(a->line) - a->len : 0;

	memcpy(a->line + a->len, *p, n < room ? n : room);
	a->len += n;
	a->head += n + (lf != NULL);
	*p = lf ? lf + 1 : end;
	if (lf && a->len && a->len <= sizeof(a->line) && a->line[a->len - 1] == '\r')
		a->len--;
	if (lf && a->len < sizeof(a->line))
		a->line[a->len] = '\0';
	return lf != NULL;
}

/* "HTTP/1.1 200 OK" */
static int take_status(struct http_response *a, struct error *err)
{
	const char *l = a->line;

	if (a->len < 12 || strncmp(l, "HTTP/1.", 7) != 0 || !isdigit((unsigned char)l[7]) ||
	        l[8] != ' ' || !isdigit((unsigned char)l[9]) || !isdigit((unsigned char)l[10]) ||
	        !isdigit((unsigned char)l[11]) || (a->len > 12 && l[12] != ' '))
		return bad(err, "its first line has no status");
	a->status = (unsigned)((l[9] - '0') * 100 + (l[10] - '0') * 10 + l[11] - '0');
	a->state = HEADER;
	return 0;
}

/* The value of the line's header, if it is called that. */
static const char *header_value(const struct http_response *a, const char *name)
{
	size_t n = strlen(name);
	const char *v;

	if (a->len <= n || strncasecmp(a->line, name, n) != 0 || a->line[n] != ':')
		return NULL;
	for (v = a->line + n + 1; *v == ' ' || *v == '\t'; v++)
		;
	return v;
}

static int take_length(struct http_response *a, const char *v, struct error *err)
{
	char *rest;
	uint64_t n = strtoull(v, &rest, 10);

	while (*rest == ' ' || *rest == '\t')
		rest++;
	if (!isdigit((unsigned char)*v) || strspn(v, "0123456789") > 18 || *rest ||
	        (a->has_length && n != a->left))
		return bad(err, "a wrong Content-Length");
	a->has_length = true;
	a->left = n;
	return 0;
}

static int take_header(struct http_response *a, struct error *err)
{
	const char *length, *coding;

	if (a->len >= sizeof(a->line)) /* none of those that say where the body ends */
		return 0;
	length = header_value(a, "Content-Length");
	coding = header_value(a, "Transfer-Encoding");
	if (coding && strncasecmp(coding, "chunked", 7) == 0 &&
	        !coding[7 + strspn(coding + 7, " \t")])
		a->chunked = true;
	else if (coding && strncasecmp(coding, "identity", 8) != 0)
		return bad(err, "a Transfer-Encoding other than chunked");
	return length ? take_length(a, length, err) : 0;
}

static void end_head(struct http_response *a)
{
	if (a->status < 200 && a->status != 101) { /* "100 Continue" */
		a->status = 0;
		a->chunked = a->has_length = false;
		a->state = STATUS;
		return;
	}
	a->framed = true;
	if (a->status == 101 || a->status == 204 || a->status == 304) {
		a->state = DONE;
	} else if (a->chunked) {
		a->state = CHUNK_SIZE;
	} else if (a->has_length) {
		a->state = a->left ? BODY : DONE;
	} else {
		a->state = BODY;
		a->framed = false;
		a->left = UINT64_MAX;
	}
}

/* "1a2b", perhaps with an extension behind ";" */
static int take_chunk_size(struct http_response *a, struct error *err)
{
	size_t digits = strspn(a->line, "0123456789abcdefABCDEF");
	const char *rest = a->line + digits;

	rest += strspn(rest, " \t");
	if (digits < 1 || digits > 15 || (*rest && *rest != ';'))
		return bad(err, "a wrong size of a chunk");
	a->left = strtoull(a->line, NULL, 16);
	a->state = a->left ? CHUNK : TRAILER;
	return 0;
}

static int take_line(struct http_response *a, struct error *err)
{
	bool empty = a->len == 0;

	if (a->len >= sizeof(a->line) && a->state != HEADER && a->state != TRAILER)
		return bad(err, "a line that is too long");
	switch (a->state) {
	case STATUS:
		return take_status(a, err);
	case HEADER:
		if (empty)
			end_head(a);
		return empty ? 0 : take_header(a, err);
	case CHUNK_SIZE:
		return take_chunk_size(a, err);
	case CHUNK_END:
		a->state = CHUNK_SIZE;
		return empty ? 0 : bad(err, "a chunk that is longer than it says");
	default:
		if (empty)
			a->state = DONE;
		return 0;
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

static void take_body(struct http_response *a, const char **p, const char *end)
{
	uint64_t n = (uint64_t)(end - *p), room = a->max_body - a->got;

	n = n < a->left ? n : a->left;
	if (n > room) {
		n = room;
		a->cut = true;
	}
	if (a->body && n)
		a->body(a->arg, *p, (size_t)n);
	a->got += n;
	a->left -= a->left == UINT64_MAX ? 0 : n;
	*p += n;
	if (a->cut)
		a->state = DONE;
	else if (a->left == 0)
		a->state = a->state == CHUNK ? CHUNK_END : DONE;
}

int http_response_feed(struct http_response *a, const void *data, size_t n, struct error *err)
{
	const char *p = data, *end = p + n;

	while (a->state != DONE && p < end) {
		bool of_chunks = a->state == CHUNK_SIZE || a->state == CHUNK_END;
		size_t head = a->head;

		if (a->state == BODY || a->state == CHUNK) {
			take_body(a, &p, end);
			continue;
		}
		if (gather(a, &p, end)) {
			if (take_line(a, err) < 0)
				return -1;
			a->len = 0;
		}
		if (of_chunks)
			a->head = head; /* bounded by the body */
		if (a->head > HTTP_RESPONSE_HEAD_MAX)
			return bad(err, "its headers are too long");
		if (of_chunks && a->len >= sizeof(a->line))
			return bad(err, "a line that is too long");
	}
	return a->state == DONE;
}

int http_response_closed(const struct http_response *a, struct error *err)
{
	if (a->state == DONE || (a->state == BODY && !a->framed))
		return 0;
	if (a->state == STATUS && a->head == 0)
		return error_set(err, ERR_PROTOCOL, "the connection was closed without an answer");
	return error_set(err, ERR_PROTOCOL, "the answer breaks off");
}
