/* svg.c - pieces of XML; see plot_impl.h */
#include "common/plot/plot_impl.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#define COORDINATE_MAX 1e6

void plot_num(struct strbuf *out, double v)
{
	long long tenths;

	v = v > COORDINATE_MAX ? COORDINATE_MAX : v < -COORDINATE_MAX ? -COORDINATE_MAX : v;
	tenths = llround(v * 10);
	strbuf_addf(out, "%s%lld", tenths < 0 ? "-" : "", llabs(tenths) / 10);
	if (tenths % 10)
		strbuf_addf(out, ".%lld", llabs(tenths) % 10);
}

static bool begins_char(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

/* U+FFFE and U+FFFF are plain text, but no characters of XML. */
static bool is_no_xml(const char *s)
{
	return !strncmp(s, "\xef\xbf\xbe", 3) || !strncmp(s, "\xef\xbf\xbf", 3);
}

static size_t put_char(struct strbuf *out, const char *s)
{
	static const struct {
		char c;
		const char *entity;
	} entities[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" },
		{ '\'', "&#39;" } };
	size_t n = 1, i;

	for (i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
		if (*s == entities[i].c) {
			strbuf_adds(out, entities[i].entity);
			return 1;
		}
	}
	while (s[n] && !begins_char(s[n]))
		n++;
	if (is_no_xml(s))
		strbuf_adds(out, "\xef\xbf\xbd");
	else
		strbuf_add(out, s, n);
	return n;
}

static size_t count_chars(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += begins_char(*s);
	return n;
}

void plot_escape(struct strbuf *out, const char *text, size_t max)
{
	char *plain = text_escape_dup(text ? text : "");
	size_t left = count_chars(plain) > max ? (max ? max - 1 : 0) : SIZE_MAX;
	const char *s = plain;

	for (; *s && left; left--)
		s += put_char(out, s);
	if (*s && max)
		strbuf_adds(out, "…");
	free(plain);
}

size_t plot_chars(const char *text)
{
	char *plain = text_escape_dup(text ? text : "");
	size_t n = count_chars(plain);

	free(plain);
	return n;
}

double plot_text_width(const char *text)
{
	return PLOT_CHAR * (double)plot_chars(text);
}

void plot_text(struct strbuf *out, const char *class_name, const char *anchor, double x, double y,
        double width, const char *text)
{
	size_t max = width > PLOT_CHAR ? (size_t)(width / PLOT_CHAR) : 1;

	strbuf_addf(out, "<text class=\"%s\" text-anchor=\"%s\" x=\"", class_name, anchor);
	plot_num(out, x);
	strbuf_adds(out, "\" y=\"");
	plot_num(out, y);
	strbuf_adds(out, "\">");
	plot_escape(out, text, max);
	strbuf_adds(out, "</text>\n");
}

void plot_tooltip(struct strbuf *out, const char *text, const char *value)
{
	strbuf_adds(out, "<title>");
	plot_escape(out, text, 200);
	if (value && *value) {
		strbuf_adds(out, text && *text ? ": " : "");
		plot_escape(out, value, 200);
	}
	strbuf_adds(out, "</title>");
}

void plot_rule(
        struct strbuf *out, const char *class_name, double x1, double y1, double x2, double y2)
{
	strbuf_addf(out, "<path class=\"%s\" d=\"M", class_name);
	plot_num(out, x1);
	strbuf_adds(out, " ");
	plot_num(out, y1);
	strbuf_adds(out, "L");
	plot_num(out, x2);
	strbuf_adds(out, " ");
	plot_num(out, y2);
	strbuf_adds(out, "\"/>\n");
}

void plot_marker(struct strbuf *out, size_t look, double x, double y)
{
	static const char *const shapes[PLOT_LOOKS] = {
		"m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", /* disc */
		"m-2.7 -2.7h5.4v5.4h-5.4z",            /* square */
		"m0 -3.6l3.4 6h-6.8z",                 /* triangle */
		"m0 -4l3.4 4l-3.4 4l-3.4 -4z",         /* diamond */
		"m0 3.6l3.4 -6h-6.8z",                 /* triangle, upside down */
		"m-.9 -3.6h1.8v2.7h2.7v1.8h-2.7v2.7h-1.8v-2.7h-2.7v-1.8h2.7z", /* plus */
		"m-4 -1h8v2h-8z",                                              /* bar */
		"m-1 -4h2v8h-2z",                                              /* upright bar */
	};

	strbuf_adds(out, "M");
	plot_num(out, x);
	strbuf_adds(out, " ");
	plot_num(out, y);
	strbuf_adds(out, shapes[look % PLOT_LOOKS]);
}
