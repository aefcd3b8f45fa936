/* test_html.c - html.h: what is escaped, formats, parts of addresses */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmds/web/pages/html.h"

static char *text_of(struct html *h)
{
	struct strbuf s = { 0 };

	html_end(h, &s);
	return strbuf_take(&s);
}

static void is(struct html *h, const char *want)
{
	char *got = text_of(h);

	assert_string_equal(got, want);
	free(got);
}

/* What programs write: ends of lines and tabs stay, colours are left out. */
static void test_bytes_of_programs(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *want;
	} v[] = {
#define ROW(bytes, want) { bytes, sizeof(bytes) - 1, want }
		ROW("", ""),
		ROW("a\tb\nc", "a\tb\nc"),
		ROW("a\r\nb\r", "a\nb\n"),
		ROW("10%\r20%\r\r\n", "10%\n20%\n\n"),
		ROW("\033[1;31mred\033[0m \033[mx", "red x"),
		ROW("\033[2J\033]0;t\007\033[", "\\x1b[2J\\x1b]0;t\\x07\\x1b["),
		ROW("\033[31", "\\x1b[31"),
		ROW("\033", "\\x1b"),
		ROW("nul\0<b>\0", "nul\\x00&lt;b&gt;\\x00"),
		ROW("\377\302\233\342\200\256", "\\xff\\xc2\\x9b\\xe2\\x80\\xae"),
		ROW("<\033[0mscript>", "&lt;script&gt;"),
#undef ROW
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct html *h = html_new();

		html_bytes(h, v[i].bytes, v[i].n);
		is(h, v[i].want);
	}
}

static void test_texts_are_escaped(void **state)
{
	static const struct {
		const char *text, *want;
	} v[] = {
		{ "plain", "plain" },
		{ "", "" },
		{ "<script>alert('x')</script>",
		        "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" },
		{ "a\" onload=\"b", "a&quot; onload=&quot;b" },
		{ "a&amp;b", "a&amp;amp;b" },
		{ "tab\tnew\nline", "tab\\x09new\\x0aline" },
		{ "gr\303\274n \342\202\254", "gr\303\274n \342\202\254" },
		{ "bad\377utf\300\200", "bad\\xffutf\\xc0\\x80" },
		{ "turn\342\200\256round", "turn\\xe2\\x80\\xaeround" }, /* U+202E */
		{ "line\342\200\250end", "line\\xe2\\x80\\xa8end" },     /* U+2028 */
		{ "\033[31mred\177", "\\x1b[31mred\\x7f" },
		{ "]]>", "]]&gt;" },
		{ "<!--", "&lt;!--" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct html *h = html_new();

		html_text(h, v[i].text);
		is(h, v[i].want);
		h = html_new();
		HTML(h, "%s", v[i].text);
		is(h, v[i].want);
	}
}

/* No byte of any text ends an attribute or begins a tag. */
static void test_every_byte_is_inert(void **state)
{
	(void)state;
	for (int c = 1; c < 256; c++) {
		char text[] = { 'a', (char)c, 'b', 0 };
		struct html *h = html_new();
		char *got;

		HTML(h, "%s", text);
		got = text_of(h);
		assert_null(strpbrk(got, "<>\"'\n\r\t"));
		assert_true(c == '&' || !strchr(got, '&') || strchr("<>\"'", c));
		free(got);
	}
}

static void test_formats(void **state)
{
	struct html *h = html_new();

	(void)state;
	HTML(h, "<td class=\"n\">%u</td>%d %lu %llu %zu", 7u, -7, 8ul, 9ull, (size_t)10);
	HTML(h, " %02u|%5u|%.2f|%.0f|%%|", 3u, 42u, 1.005, 2.5);
	html_text(h, NULL);
	HTML(h, "%hu %ld", (unsigned short)65535, -9l);
	is(h, "<td class=\"n\">7</td>-7 8 9 10 03|   42|1.00|2|%|65535 -9");
}

static void test_addresses(void **state)
{
	struct html *h = html_new();

	(void)state;
	HTML_LINK(h, "/node/", "a/b c?d=\"<e>&\303\274", "a<b");
	is(h, "<a href=\"/node/a%2Fb%20c%3Fd%3D%22%3Ce%3E%26%C3%BC\">a&lt;b</a>");
	h = html_new();
	html_url(h, "-._~azAZ09");
	is(h, "-._~azAZ09");
}

static void test_lines_and_parts(void **state)
{
	struct html *h = html_new(), *other = html_new();

	(void)state;
	html_lines(h, "a\tb\n<c>\r");
	HTML(other, "<p>%s</p>", "<");
	html_add(h, other);
	html_free(other);
	is(h, "a\tb\n&lt;c&gt;\\x0d<p>&lt;</p>");
	html_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_of_programs),
		cmocka_unit_test(test_texts_are_escaped),
		cmocka_unit_test(test_every_byte_is_inert),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_lines_and_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
