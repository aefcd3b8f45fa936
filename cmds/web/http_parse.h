/* http_parse.h - what is foreign in a request: path, query, Host; pure */
#ifndef CMDS_WEB_HTTP_PARSE_H
#define CMDS_WEB_HTTP_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_QUERY_MAX 64 /* parameters */

struct http_param {
	char *name, *value;
};

/* Both own one block of text: free(params[0].name) frees all. */
struct http_query {
	char *text;
	struct http_param v[HTTP_QUERY_MAX];
	size_t n;
};

/* Decode percent signs, once. False: not UTF-8, a control character, or a % without two digits. In
 * a query "+" is a blank. `out` has n + 1 bytes. */
bool http_decode(const char *s, size_t n, bool query, char *out);

/* The path of a request's target, up to "?". False: it does not begin with "/", or has empty
 * segments, "." or "..", a backslash, or an encoded slash. */
bool http_path_read(const char *target, char *out, size_t size);

/* The parameters behind "?". False: malformed, or more than there may be. */
bool http_query_read(const char *target, struct http_query *out);
void http_query_free(struct http_query *q);

/* Is it an address in numbers, "localhost" or one of `names` (NULL behind the last), with a port or
 * without? NULL is not. */
bool http_host_fits(const char *host, const char *const *names);
/* HOST or HOST:PORT of letters, digits, ".", "-", ":", "[" and "]". */
bool http_host_is_plain(const char *host);

/* Does the path match the pattern? What {} stands for goes to `name`. */
bool http_path_fits(const char *pattern, const char *path, char *name, size_t size);

/* Is `word` among the comma-separated words of a header, without a q of 0? */
bool http_accepts(const char *header, const char *word);

#endif
