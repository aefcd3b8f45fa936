/* strbuf.c - see strbuf.h */
#include "common/base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* Room for `n` more bytes and the NUL. */
static void reserve(struct strbuf *sb, size_t n)
{
	if (n < sb->cap - sb->len)
		return;
	sb->cap = (sb->len + n + 1) * 2;
	sb->s = xrealloc(sb->s, sb->cap, 1);
}

void strbuf_add(struct strbuf *sb, const void *bytes, size_t n)
{
	reserve(sb, n);
	if (n)
		memcpy(sb->s + sb->len, bytes, n);
	sb->len += n;
	sb->s[sb->len] = '\0';
}

void strbuf_adds(struct strbuf *sb, const char *s)
{
	strbuf_add(sb, s, strlen(s));
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return; /* only for a format that cannot be: %ls with a wrong sequence, %n */
	reserve(sb, (size_t)n);
	va_start(ap, fmt);
	vsnprintf(sb->s + sb->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	sb->len += (size_t)n;
}

char *strbuf_take(struct strbuf *sb)
{
	char *s = sb->s ? sb->s : xstrdup("");

	*sb = (struct strbuf){ 0 };
	return s;
}

void strbuf_free(struct strbuf *sb)
{
	free(sb->s);
	*sb = (struct strbuf){ 0 };
}
