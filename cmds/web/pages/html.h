/* html.h - HTML as text that grows, in which no foreign text can stand unescaped
 *
 * Markup only comes from literals of the source: HTML() does not compile with another format, and
 * it escapes each %s, in text and between the quotes of an attribute alike. The buffer is hidden,
 * so that no code can bypass this. Attributes are always quoted.
 *
 *	HTML(h, "<td title=\"%s\">%" PRIu64 "</td>", job->name, job->id);
 *
 * Conversions are %s, %u and %d with h, l, ll or z and a width ("%02u"), %.2f, %%; others end the
 * program (a test renders every page). A %s of NULL is "".
 *
 * Characters that are not plain text (common/base/text.h: control characters, changes of the
 * reading direction, invalid UTF-8) are shown as \xNN, as everywhere else.
 */
#ifndef CMDS_WEB_HTML_H
#define CMDS_WEB_HTML_H

#include <stddef.h>

#include "common/base/strbuf.h"

struct html;

struct html *html_new(void);
void html_free(struct html *h); /* NULL is fine */

/* Put it behind `body`, and free it. */
void html_end(struct html *h, struct strbuf *body);

size_t html_length(const struct html *h);

/* Append all of another one. */
void html_add(struct html *h, const struct html *other);

#define HTML(h, ...) html_format(h, "" __VA_ARGS__)
void html_format(struct html *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A text, escaped. */
void html_text(struct html *h, const char *s);

/* The same of several lines, for <pre>: ends of lines and tabs stay as they are. */
void html_lines(struct html *h, const char *s);

/* The same of any bytes that a program has written, NUL among them. Colours of a terminal are left
 * out; a carriage return, after which a terminal writes over the line, ends it. */
void html_bytes(struct html *h, const char *s, size_t n);

/* A part of a path or of a query, between the quotes of an attribute: all but letters, digits and
 * "-._~" as %XX. */
void html_url(struct html *h, const char *s);

/* <a href="PATHpart">text</a>; the path is a literal. */
#define HTML_LINK(h, path, part, text) html_link(h, "" path, part, text)
void html_link(struct html *h, const char *path, const char *part, const char *text);

/* SVG text that `draw` writes, which escapes what is foreign in it (common/plot/). */
void html_svg(struct html *h, void (*draw)(struct strbuf *out, const void *arg), const void *arg);

#endif
