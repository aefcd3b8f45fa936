/* xalloc.c - see xalloc.h */
#include "common/base/xalloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *not_null(void *p)
{
	static const char text[] = "gpusched: out of memory\n";

	if (p)
		return p;
	/* Not through stdio, which may want memory. The line is all that can be done. */
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		abort();
	abort();
}

void *xcalloc(size_t n, size_t size)
{
	return not_null(calloc(n ? n : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		not_null(NULL);
	return not_null(realloc(p, bytes ? bytes : 1));
}

void *xgrow_twice(void *p, size_t *size, size_t element)
{
	*size = *size ? *size * 2 : 16;
	return xrealloc(p, *size, element);
}

char *xstrdup(const char *s)
{
	return not_null(strdup(s));
}

char *xstrndup(const char *s, size_t max)
{
	return not_null(strndup(s, max));
}

char *xasprintf(const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	return not_null(n < 0 ? NULL : s);
}

void *xmemdup(const void *p, size_t n)
{
	void *copy = not_null(malloc(n ? n : 1));

	return n ? memcpy(copy, p, n) : copy;
}
