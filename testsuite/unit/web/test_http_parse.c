/* test_http_parse.c - what is foreign in a request: path, query, Host */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmds/web/http_parse.h"

static void paths(void **state)
{
	static const struct {
		const char *target, *path; /* NULL: refused */
	} cases[] = {
		{ "/", "/" }, { "/metrics", "/metrics" }, { "/metrics?x=%00", "/metrics" },
		{ "/node/h%5b1%5D", "/node/h[1]" }, { "/v1/job/4812_7", "/v1/job/4812_7" },
		{ "/%e2%82%ac", "/\xe2\x82\xac" }, { "/...", "/..." }, { "/.x", "/.x" },
		{ "", NULL }, { "*", NULL }, { "http://x/", NULL }, { "//", NULL },
		{ "/a//b", NULL }, { "/a/", "/a" }, { "/a//", NULL }, { "/./", NULL },
		{ "/.", NULL }, { "/..", NULL }, { "/a/../b", NULL }, { "/a/%2e%2E/b", NULL },
		{ "/a/%2e/b", NULL }, { "/a%2fb", NULL }, { "/a%2Fb", NULL }, { "/a\\b", NULL },
		{ "/a%5cb", NULL }, { "/a%00", NULL }, { "/a%0a", NULL }, { "/a%7f", NULL },
		{ "/a%", NULL }, { "/a%2", NULL }, { "/a%zz", NULL }, { "/%ff", NULL },
		{ "/%c0%af", NULL }, { "/%e2%80%ae", NULL },    /* turns the reading direction */
		{ "/a#b", NULL }, { "/%252e%252e", "/%2e%2e" }, /* decoded once */
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool good = http_path_read(cases[i].target, out, sizeof(out));

		if (good != (cases[i].path != NULL) || (good && strcmp(out, cases[i].path) != 0))
			fail_msg("%s: %s", cases[i].target, good ? out : "refused");
	}
	memset(out, 'a', sizeof(out));
	out[0] = '/';
	out[sizeof(out) - 1] = '\0';
	assert_true(http_path_read(out, (char[64]){ 0 }, 64));
	assert_false(http_path_read(out, (char[63]){ 0 }, 63));
}

static void queries(void **state)
{
	struct http_query q;
	struct http_query many;
	char text[HTTP_QUERY_MAX * 2 + 8] = "/?";

	(void)state;
	assert_true(http_query_read("/x?user=a+b&state=%50D&&empty=&flag", &q));
	assert_int_equal(q.n, 4);
	assert_string_equal(q.v[0].name, "user");
	assert_string_equal(q.v[0].value, "a b");
	assert_string_equal(q.v[1].value, "PD");
	assert_string_equal(q.v[2].value, "");
	assert_string_equal(q.v[3].name, "flag");
	assert_string_equal(q.v[3].value, "");
	http_query_free(&q);
	assert_true(http_query_read("/x", &q));
	assert_int_equal(q.n, 0);
	http_query_free(&q);
	assert_true(http_query_read("/x?a=b=c", &q));
	assert_string_equal(q.v[0].value, "b=c");
	http_query_free(&q);
	assert_false(http_query_read("/x?a=%0d%0aSet-Cookie", &q));
	assert_false(http_query_read("/x?%00=1", &q));
	assert_false(http_query_read("/x?a=%f0%28%8c%28", &q));
	for (int i = 0; i < HTTP_QUERY_MAX; i++)
		strcat(text, i ? "&a" : "a");
	assert_true(http_query_read(text, &many));
	assert_int_equal(many.n, HTTP_QUERY_MAX);
	http_query_free(&many);
	strcat(text, "&a");
	assert_false(http_query_read(text, &many));
}

static void hosts(void **state)
{
	static const char *const names[] = { "gpus.example.org", "h01", NULL };
	static const struct {
		const char *host;
		bool fits;
	} cases[] = {
		{ "localhost", true },
		{ "LOCALHOST:7380", true },
		{ "127.0.0.1", true },
		{ "127.0.0.1:7380", true },
		{ "[::1]:7380", true },
		{ "[fd00::1]", true },
		{ "gpus.example.org", true },
		{ "GPUS.example.org:80", true },
		{ "gpus.example.org.", true },
		{ "h01:7380", true },
		{ NULL, false },
		{ "", false },
		{ "evil.example", false },
		{ "127.0.0.1.evil.example", false },
		{ "localhost.evil.example", false },
		{ "h01@evil.example", false },
		{ "h01/x", false },
		{ "h01:80:80", false },
		{ "h01:x", false },
		{ "h01:123456", false },
		{ "[::1", false },
		{ "[::1]x", false },
		{ "h01 evil", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (http_host_fits(cases[i].host, names) != cases[i].fits)
			fail_msg("%s", cases[i].host ? cases[i].host : "(none)");
}

static void routes(void **state)
{
	char name[16];

	(void)state;
	assert_true(http_path_fits("/metrics", "/metrics", name, sizeof(name)));
	assert_false(http_path_fits("/metrics", "/metrics/x", name, sizeof(name)));
	assert_true(http_path_fits("/job/{}", "/job/12", name, sizeof(name)));
	assert_string_equal(name, "12");
	assert_true(http_path_fits("/job/{}/why", "/job/12/why", name, sizeof(name)));
	assert_string_equal(name, "12");
	assert_false(http_path_fits("/job/{}", "/job/", name, sizeof(name)));
	assert_false(http_path_fits("/job/{}", "/job/1/2", name, sizeof(name)));
	assert_false(http_path_fits("/job/{}", "/job/1234567890123456", name, sizeof(name)));
}

static void accepting(void **state)
{
	(void)state;
	assert_true(http_accepts("gzip", "gzip"));
	assert_true(http_accepts("deflate, gzip;q=0.5", "gzip"));
	assert_false(http_accepts("gzip;q=0", "gzip"));
	assert_false(http_accepts("gzipped", "gzip"));
	assert_false(http_accepts("", "gzip"));
	assert_false(http_accepts(NULL, "gzip"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(queries),
		cmocka_unit_test(hosts),
		cmocka_unit_test(routes),
		cmocka_unit_test(accepting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
