/* html.c - see html.h */
#include "cmds/web/pages/html.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"

struct html {
	struct strbuf markup;
};

struct html *html_new(void)
{
	return xcalloc(1, sizeof(struct html));
}

void html_free(struct html *h)
{
	if (!h)
		return;
	strbuf_free(&h->markup);
	free(h);
}

void html_end(struct html *h, struct strbuf *body)
{
	if (body->len)
		strbuf_add(body, h->markup.s ? h->markup.s : "", h->markup.len);
	else
		*body = h->markup, h->markup = (struct strbuf){ 0 };
	html_free(h);
}

size_t html_length(const struct html *h)
{
	return h->markup.len;
}

void html_add(struct html *h, const struct html *other)
{
	if (other->markup.len)
		strbuf_add(&h->markup, other->markup.s, other->markup.len);
}

/* What a character is written as; NULL: as it is. */
static const char *entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

static void add_plain(struct strbuf *sb, const char *s, size_t n)
{
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		const char *e = entity(s[i]);

		if (!e)
			continue;
		strbuf_add(sb, s + from, i - from);
		strbuf_adds(sb, e);
		from = i + 1;
	}
	strbuf_add(sb, s + from, n - from);
}

static void add_text(struct html *h, const char *s, size_t n, const char *also)
{
	while (n) {
		size_t plain = text_plain_prefix(s, n);

		add_plain(&h->markup, s, plain);
		s += plain;
		n -= plain;
		if (!n)
			break;
		if (*s && strchr(also, *s))
			strbuf_add(&h->markup, s, 1);
		else
			strbuf_addf(&h->markup, "\\x%02x", (unsigned char)*s);
		s++, n--;
	}
}

void html_text(struct html *h, const char *s)
{
	add_text(h, s, s ? strlen(s) : 0, "");
}

void html_lines(struct html *h, const char *s)
{
	add_text(h, s, s ? strlen(s) : 0, "\n\t");
}

/* The length of a change of colour at `s`: "\33[1;31m". 0: there is none. */
static size_t colour_length(const char *s, size_t n)
{
	size_t i = 2;

	if (n < 3 || s[0] != '\33' || s[1] != '[')
		return 0;
	while (i < n && (isdigit((unsigned char)s[i]) || s[i] == ';'))
		i++;
	return i < n && s[i] == 'm' ? i + 1 : 0;
}

void html_bytes(struct html *h, const char *s, size_t n)
{
	size_t from = 0, i = 0, skip;

	while (i < n) {
		bool ends = s[i] == '\r';

		skip = ends ? 1 : colour_length(s + i, n - i);
		if (skip) {
			add_text(h, s + from, i - from, "\n\t");
			from = i + skip;
			if (ends && (from == n || s[from] != '\n'))
				strbuf_adds(&h->markup, "\n");
		}
		i += skip ? skip : 1;
	}
	add_text(h, s + from, n - from, "\n\t");
}

void html_url(struct html *h, const char *s)
{
	for (; s && *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 0x80 && (isalnum(c) || strchr("-._~", c)))
			strbuf_add(&h->markup, s, 1);
		else
			strbuf_addf(&h->markup, "%%%02X", c);
	}
}

void html_link(struct html *h, const char *path, const char *part, const char *text)
{
	strbuf_addf(&h->markup, "<a href=\"%s", path);
	html_url(h, part);
	strbuf_adds(&h->markup, "\">");
	html_text(h, text);
	strbuf_adds(&h->markup, "</a>");
}

void html_svg(struct html *h, void (*draw)(struct strbuf *out, const void *arg), const void *arg)
{
	draw(&h->markup, arg);
}

/* --- formats ---------------------------------------------------------------------------------- */

struct conversion {
	bool zero;
	int width, precision; /* -1: none */
	int longs;            /* 0: int, 1: long, 2: long long, 3: size_t */
	char kind;
};

static const char *conversion_parse(const char *s, struct conversion *c)
{
	*c = (struct conversion){ .precision = -1 };
	for (; *s == '0'; s++)
		c->zero = true;
	for (; isdigit((unsigned char)*s); s++)
		c->width = c->width * 10 + (*s - '0');
	if (*s == '.')
		for (s++, c->precision = 0; isdigit((unsigned char)*s); s++)
			c->precision = c->precision * 10 + (*s - '0');
	for (; *s == 'h'; s++) /* an int, as it is passed */
		;
	for (; *s == 'l' && c->longs < 2; s++)
		c->longs++;
	if (*s == 'z')
		c->longs = 3, s++;
	c->kind = *s;
	return s + 1;
}

static unsigned long long unsigned_arg(va_list *ap, int longs)
{
	return longs == 0   ? va_arg(*ap, unsigned)
	       : longs == 1 ? va_arg(*ap, unsigned long)
	       : longs == 2 ? va_arg(*ap, unsigned long long)
	                    : va_arg(*ap, size_t);
}

static long long signed_arg(va_list *ap, int longs)
{
	return longs == 0   ? va_arg(*ap, int)
	       : longs == 1 ? va_arg(*ap, long)
	       : longs == 2 ? va_arg(*ap, long long)
	                    : (long long)va_arg(*ap, size_t);
}

static void convert(struct html *h, const struct conversion *c, va_list *ap)
{
	switch (c->kind) {
	case 's':
		html_text(h, va_arg(*ap, const char *));
		break;
	case 'u':
		strbuf_addf(&h->markup, c->zero ? "%0*llu" : "%*llu", c->width,
		        unsigned_arg(ap, c->longs));
		break;
	case 'd':
		strbuf_addf(&h->markup, c->zero ? "%0*lld" : "%*lld", c->width,
		        signed_arg(ap, c->longs));
		break;
	case 'f':
		strbuf_addf(&h->markup, "%*.*f", c->width, c->precision < 0 ? 6 : c->precision,
		        va_arg(*ap, double));
		break;
	case '%':
		strbuf_adds(&h->markup, "%");
		break;
	default:
		abort();
	}
}

void html_format(struct html *h, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	while (*fmt) {
		size_t n = strcspn(fmt, "%");
		struct conversion c;

		strbuf_add(&h->markup, fmt, n);
		fmt += n;
		if (!*fmt)
			break;
		fmt = conversion_parse(fmt + 1, &c);
		convert(h, &c, &ap);
	}
	va_end(ap);
}
