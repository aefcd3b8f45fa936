/* http_parse.c - see http_parse.h */
#include "cmds/web/http_parse.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool http_decode(const char *s, size_t n, bool query, char *out)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '%') {
			if (n - i < 3 || digit(s[i + 1]) < 0 || digit(s[i + 2]) < 0)
				return false;
			out[len++] = (char)(digit(s[i + 1]) * 16 + digit(s[i + 2]));
			i += 2;
		} else {
			out[len++] = query && s[i] == '+' ? ' ' : s[i];
		}
	}
	out[len] = '\0';
	return text_plain_prefix(out, len) == len;
}

/* --- the path --------------------------------------------------------------------------------- */

/* No segment is empty (but the last one of "/" itself), "." or "..". */
static bool segments_are_plain(const char *path)
{
	if (!strcmp(path, "/"))
		return true;
	while (*path == '/') {
		size_t n = strcspn(++path, "/");

		if (!n || (n <= 2 && path[0] == '.' && path[n - 1] == '.'))
			return false;
		path += n;
	}
	return true;
}

bool http_path_read(const char *target, char *out, size_t size)
{
	size_t n = strcspn(target, "?");

	if (*target != '/' || n >= size || memchr(target, '#', n))
		return false;
	for (size_t i = 0; i + 2 < n; i++)
		if (target[i] == '%' && target[i + 1] == '2' &&
		        (target[i + 2] == 'f' || target[i + 2] == 'F'))
			return false;
	if (!http_decode(target, n, false, out) || strchr(out, '\\'))
		return false;
	/* Some clients end lists with a slash. */
	n = strlen(out);
	if (n > 2 && out[n - 1] == '/' && out[n - 2] != '/')
		out[n - 1] = '\0';
	return segments_are_plain(out);
}

bool http_path_fits(const char *pattern, const char *path, char *name, size_t size)
{
	const char *hole = strstr(pattern, "{}");
	size_t before = hole ? (size_t)(hole - pattern) : 0, n;

	*name = '\0';
	if (!hole)
		return !strcmp(pattern, path);
	if (strncmp(pattern, path, before) != 0)
		return false;
	path += before;
	n = strcspn(path, "/");
	if (!n || n >= size || strcmp(hole + 2, path + n) != 0)
		return false;
	memcpy(name, path, n);
	name[n] = '\0';
	return true;
}

/* --- the query -------------------------------------------------------------------------------- */

/* One "name=value", decoded to `at`. */
static bool read_param(const char *s, size_t n, char *at, struct http_param *out)
{
	const char *equal = memchr(s, '=', n);
	size_t name = equal ? (size_t)(equal - s) : n;

	out->name = at;
	out->value = at + name + 1;
	if (!http_decode(s, name, true, out->name))
		return false;
	return http_decode(equal ? equal + 1 : "", equal ? n - name - 1 : 0, true, out->value);
}

bool http_query_read(const char *target, struct http_query *out)
{
	const char *s = strchr(target, '?');
	char *at;

	*out = (struct http_query){ .n = 0 };
	if (!s)
		return true;
	at = out->text = xcalloc(strlen(s) + HTTP_QUERY_MAX + 2, 2);
	for (s++; *s; s += *s == '&') {
		size_t n = strcspn(s, "&");

		if (n && (out->n == HTTP_QUERY_MAX || !read_param(s, n, at, &out->v[out->n++]))) {
			http_query_free(out);
			return false;
		}
		at += n + 2;
		s += n;
	}
	return true;
}

void http_query_free(struct http_query *q)
{
	free(q->text);
	*q = (struct http_query){ .n = 0 };
}

/* --- headers ---------------------------------------------------------------------------------- */

bool http_host_is_plain(const char *host)
{
	size_t n = strlen(host);

	if (!n || n > 255)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)host[i]) && !strchr(".-:[]_", host[i]))
			return false;
	return true;
}

static bool is_address(const char *name)
{
	struct in6_addr v6;
	struct in_addr v4;

	return inet_pton(AF_INET, name, &v4) == 1 || inet_pton(AF_INET6, name, &v6) == 1;
}

/* Without the port, the brackets and a full stop at the end. */
static bool read_host(const char *host, char *out, size_t size)
{
	const char *from = *host == '[' ? host + 1 : host;
	size_t n = strcspn(from, *host == '[' ? "]" : ":");
	const char *rest = from + n + (*host == '[' && from[n] == ']');

	if (!http_host_is_plain(host) || n >= size || (*rest && *rest != ':') ||
	        (*host == '[' && from[n] != ']'))
		return false;
	if (*rest && (strlen(rest) > 6 || strspn(rest + 1, "0123456789") != strlen(rest + 1)))
		return false;
	memcpy(out, from, n);
	out[n] = '\0';
	if (n > 1 && out[n - 1] == '.')
		out[n - 1] = '\0';
	return n > 0;
}

bool http_host_fits(const char *host, const char *const *names)
{
	char name[256];

	if (!host || !read_host(host, name, sizeof(name)))
		return false;
	if (is_address(name) || !strcasecmp(name, "localhost"))
		return true;
	for (; *names; names++)
		if (!strcasecmp(name, *names))
			return true;
	return false;
}

bool http_accepts(const char *header, const char *word)
{
	size_t len = strlen(word);

	while (header && *header) {
		size_t n = strcspn(header, ",");
		const char *q;

		while (n && (*header == ' ' || *header == '\t'))
			header++, n--;
		if (n >= len && !strncasecmp(header, word, len) &&
		        (n == len || strchr(" ;\t", header[len]))) {
			q = memmem(header, n, "q=", 2);
			return !q || strtod(q + 2, NULL) > 0;
		}
		header += n + (header[n] == ',');
	}
	return false;
}
