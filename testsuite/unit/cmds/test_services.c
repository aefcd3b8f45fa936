/* test_services.c - what of gprobe is pure: metrics, HTTP answers, health, drain, options */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmds/services/drain.h"
#include "cmds/services/health.h"
#include "cmds/services/http_response.h"
#include "cmds/services/load.h"
#include "cmds/services/options.h"
#include "cmds/services/prometheus_text.h"
#include "cmds/services/scrape_interval.h"
#include "cmds/services/server_metrics.h"
#include "testsuite/unit/lib/golden.h"

/* --- metrics ---------------------------------------------------------------------------------- */

static const struct metric_name names[] = { { "a", "part" }, { "b:c", NULL } };

struct sample_case {
	const char *text;
	double a;
	uint32_t samples;
	bool bad, whole;
};

static const struct sample_case sample_cases[] = {
	{ "a 1\n", 1, 1, false, true },
	{ "a 1\na 2\r\na{x=\"y\"} 3 1700000000\n", 6, 3, false, true },
	{ "# HELP a what a 7 is\n# TYPE a gauge\n\n \t\na 2\n# EOF\n", 2, 1, false, true },
	{ "a{l=\"b\\\"} 9\\\\\",m=\"}\"} 4\n", 4, 1, false, true },
	{ "a {l=\"x\"}\t5 # {trace=\"a 1\"} 3 4\n", 5, 1, false, true },
	{ "  a 3\n", 3, 1, false, true },
	{ "aa 1\nab 2\nb 3\na_total 4\n", 0, 0, false, true },
	{ "a NaN\n", 0, 0, true, true },
	{ "a +Inf\n", 0, 0, true, true },
	{ "a -1\n", 0, 0, true, true },
	{ "a -0\n", 0, 1, false, true },
	{ "a 1e16\n", 0, 0, true, true },
	{ "a x\n", 0, 0, true, true },
	{ "a 1x\n", 0, 0, true, true },
	{ "a\n", 0, 0, false, true },
	{ "a \n", 0, 0, true, true },
	{ "a{x=\"\n", 0, 0, true, true },
	{ "a{x=\"y\"\na 2\n", 2, 1, true, true },
	{ "a 1\na 12", 1, 1, false, false },
	{ "a 1\na{", 1, 1, false, false },
	{ "a 1\nb:", 1, 1, false, false },
	{ "a 0000000000000000000000000000000000000000000000000000000000000000000001\n", 0, 0, true,
	        true },
	{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1\na "
	  "2\n",
	        2, 1, false, true },
	{ "a{part=\"\"} 3\na{part=\"1\"} 1\na{part=\"2\",x=\"y\"} 2\n", 3, 1, false, true },
	{ "a{x=\"y\", part = \"\\\"\"} 1\na{part=\"1\"} NaN\na{apart=\"1\",x=\"part\"} 4\n", 4, 1,
	        false, true },
	{ "", 0, 0, false, true },
};

/* Whole, and in pieces of `step` bytes: nothing may depend on where it was cut. */
static void feed(struct metrics *m, const char *text, size_t step)
{
	size_t n = strlen(text);

	metrics_begin(m, names, 2);
	for (size_t i = 0; i < n; i += step)
		metrics_feed(m, text + i, i + step < n ? step : n - i);
}

static void test_samples(void **state)
{
	struct metrics m;

	(void)state;
	for (size_t i = 0; i < sizeof(sample_cases) / sizeof(sample_cases[0]); i++) {
		const struct sample_case *c = &sample_cases[i];

		for (size_t step = 1; step < 100; step = step * 2 + 1) {
			feed(&m, c->text, step);
			assert_int_equal((int)(m.sums[0].sum * 10), (int)(c->a * 10));
			assert_int_equal(m.sums[0].samples, c->samples);
			assert_int_equal(m.sums[0].bad, c->bad);
			assert_int_equal(metrics_end(&m), c->whole);
		}
	}
}

/* --- load ------------------------------------------------------------------------------------- */

static int load_of(const char *preset, const char *text, struct load *l, struct error *err)
{
	struct server_metrics r;

	server_metrics_begin(&r, preset);
	metrics_feed(&r.metrics, text, strlen(text));
	return server_metrics_end(&r, l, err);
}

static void expect_line(const struct load *l, const char *line)
{
	struct load_counters c = { 0 };
	char text[LOAD_LINE_MAX];

	assert_int_equal(load_line(&c, l, text), strlen(line));
	assert_string_equal(text, line);
}

static void test_presets(void **state)
{
	static const struct {
		const char *preset, *text, *line;
	} cases[] = {
		{ "vllm",
		        "vllm:num_requests_running{engine=\"0\"} "
		        "3.0\nvllm:num_requests_running{engine=\"1\"} 4\n"
		        "vllm:num_requests_waiting{engine=\"0\"} "
		        "1\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.25\n"
		        "vllm:kv_cache_usage_perc{engine=\"1\"} 0.75\nvllm:gpu_cache_usage_perc "
		        "0.9\n"
		        "vllm:request_success_total{r=\"stop\"} "
		        "5\nvllm:request_success_total{r=\"length\"} 2\n"
		        "vllm:generation_tokens_total 1e3\n",
		        "load 7 1 500 7 1000\n" },
		{ "vllm",
		        "vllm:num_requests_running 0\nvllm:num_requests_waiting "
		        "0\nvllm:gpu_cache_usage_perc 1\n",
		        "load 0 0 1000 0 0\n" },
		{ "vllm", "vllm:num_requests_running 0\n", "load unknown\n" },
		{ "vllm", "vllm:num_requests_running 1\nvllm:num_requests_waiting NaN\n",
		        "load unknown\n" },
		{ "vllm",
		        "vllm:num_requests_running 1\nvllm:num_requests_waiting "
		        "0\nvllm:kv_cache_usage_perc NaN\n",
		        "load 1 0 0 0 0\n" },
		{ "sglang",
		        "sglang:num_running_reqs{tp=\"0\"} 2\nsglang:num_queue_reqs "
		        "5\nsglang:token_usage 0.1\n",
		        "load 2 5 100 0 0\n" },
		{ "tgi",
		        "tgi_batch_current_size 2\ntgi_queue_size "
		        "1\ntgi_request_generated_tokens_sum 12.5\n",
		        "load 2 1 0 0 12\n" },
		{ "triton",
		        "nv_inference_pending_request_count{m=\"a\"} "
		        "2\nnv_inference_pending_request_count{m=\"b\"} 3\n",
		        "load 0 5 0 0 0\n" },
		{ "llamacpp", "llamacpp:requests_processing 1.5\nllamacpp:requests_deferred 0\n",
		        "load 1.500 0 0 0 0\n" },
		{ "llamacpp", "", "load unknown\n" },
	};
	struct load l;
	struct error err;
	char all[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (load_of(cases[i].preset, cases[i].text, &l, &err) < 0)
			assert_string_equal(cases[i].line, "load unknown\n");
		expect_line(&l, cases[i].line);
	}
	assert_true(server_metrics_is_preset("tgi"));
	strcpy(all, server_metrics_presets());
	for (char *at = all, *word; (word = strsep(&at, ", ")) != NULL;)
		assert_true(!*word || server_metrics_is_preset(word));
	assert_false(server_metrics_is_preset("file"));
	assert_false(server_metrics_is_preset(""));
}

/* Pages of golden/metrics: those of vLLM, SGLang and llama.cpp come from the programs, those of TGI and
 * Triton from what is documented. No sample counts twice. */
static void test_real_pages(void **state)
{
	static const struct {
		const char *name, *line;
	} pages[] = {
		{ "vllm-0.33.0", "load 5 4 250 2 40\n" },
		{ "vllm-0.11.2", "load 5 3 250 2 40\n" },
		{ "sglang-0.5.23", "load 5 3 250 2 40\n" },
		{ "sglang-0.5.5", "load 5 3 250 2 40\n" },
		{ "llamacpp-b10434", "load 4 2 0 0 20\n" },
		{ "tgi-3", "load 5 3 0 2 40\n" },
		{ "triton-2", "load 0 3 0 2 0\n" },
	};
	char name[64];
	struct load l;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		char *text;

		snprintf(name, sizeof(name), "metrics/%s", pages[i].name);
		text = golden_read(name);
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(pages[i].name, "-"),
		        pages[i].name);
		assert_int_equal(load_of(name, text, &l, &err), 0);
		expect_line(&l, pages[i].line);
		free(text);
	}
}

static void test_load_file(void **state)
{
	static const char *const cases[][2] = {
		{ "running=3 waiting=7 kv=0.4 requests=12 tokens=300\n", "load 3 7 400 12 300\n" },
		{ "running=3", "load 3 0 0 0 0\n" },
		{ "\twaiting=2\nrunning=0\r\nfuture=x\n", "load 0 2 0 0 0\n" },
		{ "running=1 kv=7", "load 1 0 1000 0 0\n" }, { "waiting=3", "load unknown\n" },
		{ "running=x", "load unknown\n" }, { "running=-1", "load unknown\n" },
		{ "running=nan", "load unknown\n" }, { "running=1 waiting=", "load unknown\n" },
		{ "", "load unknown\n" }
	};
	struct load l;
	struct error err;
	char large[LOAD_FILE_MAX + 1] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int r = load_from_text(cases[i][0], strlen(cases[i][0]), &l, &err);

		assert_int_equal(r < 0, strcmp(cases[i][1], "load unknown\n") == 0);
		expect_line(&l, cases[i][1]);
	}
	memset(large, ' ', sizeof(large));
	assert_int_equal(load_from_text(large, sizeof(large), &l, &err), -1);
	assert_int_equal(load_from_text("running=1\0", 10, &l, &err), -1);
}

/* The largest numbers that are taken leave room in the line. */
static void test_load_line(void **state)
{
	struct load l = { true, { true, true, true, true, true },
		{ 1e15 - 0.5, 1e18, 0.1, 1e18, 1e18 } };
	struct load_counters c = { 0 };
	char text[LOAD_LINE_MAX];

	(void)state;
	assert_true(load_line(&c, &l, text) < LOAD_LINE_MAX);
	c = (struct load_counters){ 0 };
	l.v[LOAD_RUNNING] = l.v[LOAD_WAITING] = 0;
	l.v[LOAD_REQUESTS] = 10;
	l.v[LOAD_TOKENS] = 100;
	load_line(&c, &l, text);
	l.v[LOAD_REQUESTS] = 3; /* its server was started again */
	l.has[LOAD_TOKENS] = false;
	load_line(&c, &l, text);
	assert_string_equal(text, "load 0 0 100 13 100\n");
}

/* --- HTTP answers ----------------------------------------------------------------------------- */

struct body {
	char text[64];
	size_t n;
};

static void on_body(void *arg, const void *data, size_t len)
{
	struct body *b = arg;

	if (b->n + len < sizeof(b->text))
		memcpy(b->text + b->n, data, len);
	b->n += len;
}

/* 1: done; 0: it ends with the connection; -1: it is none. */
static int answer_of(const char *text, size_t step, struct http_response *a, struct body *b)
{
	size_t n = strlen(text);
	struct error err;
	int r = 0;

	memset(b, 0, sizeof(*b));
	http_response_begin(a);
	a->body = on_body;
	a->arg = b;
	a->max_body = 20;
	for (size_t i = 0; i < n && r == 0; i += step)
		r = http_response_feed(a, text + i, i + step < n ? step : n - i, &err);
	return r ? r : http_response_closed(a, &err);
}

#define OK "HTTP/1.1 200 OK\r\n"

static const struct answer_case {
	const char *text;
	int r;
	unsigned status;
	const char *body;
} answer_cases[] = {
	{ OK "Content-Length: 5\r\n\r\nhello", 1, 200, "hello" },
	{ OK "content-length:5 \n\nhello behind", 1, 200, "hello" },
	{ OK "Content-Length: 5\r\n\r\nhell", -1, 200, "hell" },
	{ OK "Content-Length: 0\r\n\r\n", 1, 200, "" },
	{ OK "\r\nto the end", 0, 200, "to the end" },
	{ OK "\r\nit is longer than it may be at all", 1, 200, "it is longer than it" },
	{ OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\nTrailer: "
	     "x\r\n\r\n",
	        1, 200, "hello!" },
	{ OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", -1, 200, "hello" },
	{ OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n", -1, 200, "hello" },
	{ OK "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", -1, 200, "" },
	{ OK "Transfer-Encoding: chunked\r\n\r\n-1\r\n", -1, 200, "" },
	{ OK "Transfer-Encoding: gzip\r\n\r\nx", -1, 200, "" },
	{ OK "Content-Length: -5\r\n\r\nhello", -1, 200, "" },
	{ OK "Content-Length: 99999999999999999999\r\n\r\nhello", -1, 200, "" },
	{ OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", -1, 200, "" },
	{ OK "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 1, 200, "hello" },
	{ "HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 1\r\n\r\n1", 1, 200, "1" },
	{ "HTTP/1.0 404 Not Found\r\n\r\n", 0, 404, "" },
	{ "HTTP/1.1 302\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", 1, 302, "" },
	{ "HTTP/1.1 204 No\r\n\r\n", 1, 204, "" },
	{ "HTTP/2 200\r\n\r\n", -1, 0, "" },
	{ "HTTP/1.1 2000 OK\r\n\r\n", -1, 0, "" },
	{ "SSH-2.0-OpenSSH_9\r\n", -1, 0, "" },
	{ "HTTP/1.1 200 OK\r\nA: b\r\n", -1, 200, "" },
	{ "", -1, 0, "" },
};

static void test_answers(void **state)
{
	struct http_response a;
	struct body b;

	(void)state;
	for (size_t i = 0; i < sizeof(answer_cases) / sizeof(answer_cases[0]); i++) {
		const struct answer_case *c = &answer_cases[i];

		for (size_t step = 1; step < 300; step = step * 2 + 1) {
			assert_int_equal(answer_of(c->text, step, &a, &b), c->r);
			assert_int_equal(a.status, c->status);
			assert_string_equal(b.text, c->body);
		}
	}
}

/* Headers without end, of one line and of many. */
static void test_long_heads(void **state)
{
	char piece[1024];
	struct http_response a;
	struct error err;
	int r, rounds;

	(void)state;
	for (int lines = 0; lines < 2; lines++) {
		memset(piece, 'x', sizeof(piece));
		for (size_t i = 63; lines && i < sizeof(piece); i += 64)
			piece[i] = '\n';
		http_response_begin(&a);
		assert_int_equal(http_response_feed(&a, OK, strlen(OK), &err), 0);
		for (r = 0, rounds = 0; r == 0 && rounds < 100; rounds++)
			r = http_response_feed(&a, piece, sizeof(piece), &err);
		assert_int_equal(r, -1);
		assert_true(rounds <= HTTP_RESPONSE_HEAD_MAX / (int)sizeof(piece) + 1);
	}
}

/* --- health ----------------------------------------------------------------------------------- */

static void test_health(void **state)
{
	struct health h;

	(void)state;
	health_begin(&h, 2, 1000);
	assert_int_equal(health_ready(&h, false, "refused"), HEALTH_TELL);
	assert_int_equal(health_ready(&h, false, "refused"), HEALTH_SAME);
	assert_int_equal(health_ready(&h, false, "503"), HEALTH_TELL);
	assert_int_equal(h.state, HEALTH_LOADING);
	assert_int_equal(health_live(&h, false, "x"), HEALTH_SAME);
	assert_int_equal(health_live(&h, false, "x"), HEALTH_SAME);
	assert_int_equal(health_clock(&h, 999), HEALTH_SAME);
	assert_int_equal(health_ready(&h, true, ""), HEALTH_TELL);
	assert_int_equal(h.state, HEALTH_READY);
	assert_int_equal(health_wake_ms(&h), INT64_MAX);
	assert_int_equal(health_clock(&h, 5000), HEALTH_SAME);
	assert_int_equal(health_ready(&h, false, "a"), HEALTH_SAME);
	assert_int_equal(health_ready(&h, true, ""), HEALTH_SAME);
	assert_int_equal(health_ready(&h, false, "a"), HEALTH_SAME);
	assert_int_equal(health_ready(&h, false, "b"), HEALTH_TELL);
	assert_int_equal(h.state, HEALTH_UNREADY);
	assert_string_equal(h.text, "b");
	assert_int_equal(health_ready(&h, true, ""), HEALTH_TELL);
	assert_string_equal(h.text, "");
	assert_int_equal(health_live(&h, false, "x"), HEALTH_SAME);
	assert_int_equal(health_live(&h, true, ""), HEALTH_SAME);
	assert_int_equal(health_live(&h, false, "x"), HEALTH_SAME);
	assert_int_equal(health_live(&h, false, "y"), HEALTH_END);
	assert_string_equal(h.text, "its live probe failed 2 times in a row: y");
}

static void test_health_late(void **state)
{
	struct health h;

	(void)state;
	health_begin(&h, 3, 1000);
	assert_int_equal(health_wake_ms(&h), 1000);
	health_ready(&h, false, "refused");
	assert_int_equal(health_clock(&h, 1000), HEALTH_END);
	assert_string_equal(h.text, "it was not ready within its load time: refused");
	health_begin(&h, 1, 1000);
	h.draining = true;
	assert_int_equal(health_clock(&h, 1000), HEALTH_SAME);
	assert_int_equal(health_ready(&h, true, ""), HEALTH_SAME);
	assert_int_equal(health_ready(&h, false, "gone"), HEALTH_SAME);
	assert_int_equal(health_live(&h, false, "gone"), HEALTH_SAME);
}

/* --- drain ------------------------------------------------------------------------------------ */

static void interrupt(struct drain *d, int64_t now_ms, const char *text)
{
	drain_interrupted(d, now_ms, 1000, text, strlen(text));
}

static void test_drain(void **state)
{
	struct drain d;

	(void)state;
	drain_begin(&d, 500, 60, true, false);
	assert_int_equal(drain_over_ms(&d), 2500);
	drain_begin(&d, 500, 1, true, false);
	assert_int_equal(drain_over_ms(&d), 1500);
	drain_begin(&d, 500, 60, false, true);
	assert_int_equal(drain_over_ms(&d), 500);
	drain_begin(&d, 500, 60, true, true);
	assert_int_equal(drain_over_ms(&d), 60500);
	drain_scraped(&d, 1000, true); /* load balancers may still send requests */
	drain_scraped(&d, 2499, true);
	assert_int_equal(drain_over_ms(&d), 60500);
	drain_scraped(&d, 2500, true);
	drain_scraped(&d, 3000, false);
	drain_scraped(&d, 3500, true);
	assert_int_equal(drain_over_ms(&d), 60500);
	drain_scraped(&d, 4000, true);
	assert_int_equal(drain_over_ms(&d), 2500);
}

static void test_drain_deadline(void **state)
{
	struct drain d;

	(void)state;
	drain_begin(&d, 500, 60, true, true);
	interrupt(&d, 500, "reason=scale\ndeadline=1012\nthen=end\n");
	assert_int_equal(drain_over_ms(&d), 10500);
	interrupt(&d, 1500, "reason=scale\ndeadline=1011\n");
	assert_int_equal(drain_over_ms(&d), 10500);
	interrupt(&d, 500,
	        "deadline=\ndeadline=12x\ndeadline=1007"); /* none that is a number and a line */
	interrupt(&d, 500, "xdeadline=1\ndeadline=99999999999999999999\ndeadline=-5\n");
	interrupt(&d, 500, "");
	assert_int_equal(drain_over_ms(&d), 10500);
	interrupt(&d, 500, "deadline=1001\n"); /* before the least wait, and at once */
	assert_int_equal(drain_over_ms(&d), -500);
	interrupt(&d, 500, "deadline=1000000\n");
	assert_int_equal(drain_over_ms(&d), 60500);
}

/* --- interval --------------------------------------------------------------------------------- */

static void test_scrape_interval(void **state)
{
	struct scrape_interval p = { 0 };

	(void)state;
	for (int i = 1; i < SCRAPE_INTERVAL_STILL; i++)
		assert_int_equal(scrape_interval_next_ms(&p, false, 400, 100), 1000);
	assert_int_equal(scrape_interval_next_ms(&p, false, 10, 100), 1000);
	assert_int_equal(scrape_interval_next_ms(&p, false, 100, 100), 2000);
	assert_int_equal(scrape_interval_next_ms(&p, false, 1, 1500), 3000);
	assert_int_equal(scrape_interval_next_ms(&p, false, 1999, 100), 5000);
	assert_int_equal(scrape_interval_next_ms(&p, true, 1999, 100), 1000);
	assert_int_equal(scrape_interval_next_ms(&p, false, 1999, 100), 1000);
}

/* --- options ---------------------------------------------------------------------------------- */

#define ARGS_MAX 16

/* Words between single spaces. */
static int read_words(struct gprobe_options *o, const char *line, struct error *err)
{
	static char text[2048];
	char *argv[ARGS_MAX + 1] = { NULL }, *at = text;
	int argc = 0;

	strcpy(text, line);
	while (at && argc < ARGS_MAX)
		argv[argc++] = strsep(&at, " ");
	return options_read(o, argc, argv, err);
}

static void test_options(void **state)
{
	struct gprobe_options o;
	struct error err;

	(void)state;
	assert_int_equal(
	        read_words(&o,
	                "gprobe --fd=7 --ready=http:/health --live=tcp --every=500 --port=80 "
	                "--metrics=vllm --metrics-path= --drain=5 --run-dir=/r -- s -x",
	                &err),
	        0);
	assert_int_equal(o.fd, 7);
	assert_int_equal(o.ready.kind, PROBE_HTTP);
	assert_string_equal(o.ready.path, "/health");
	assert_int_equal(o.live.kind, PROBE_TCP);
	assert_int_equal(o.timeout_ms, 500);
	assert_int_equal(o.drain_s, 5);
	assert_string_equal(o.metrics_path, "/metrics");
	assert_string_equal(o.program[0], "s");
	assert_string_equal(o.program[1], "-x");
	assert_null(o.program[2]);
	assert_int_equal(read_words(&o, "gprobe --live= s", &err), 0);
	assert_int_equal(o.fd, -1);
	assert_int_equal(o.live.kind, PROBE_NONE);
	assert_int_equal(read_words(&o, "gprobe --version", &err), 0);
	assert_null(o.program);
}

static void test_bad_options(void **state)
{
	static const char *const lines[] = { "gprobe", "gprobe --fd=2 s", "gprobe --fd=x s",
		"gprobe --fd", "gprobe --no s", "gprobe --ready=udp s",
		"gprobe --ready=http:health --port=1 s", "gprobe --ready=http:/a\tb --port=1 s",
		"gprobe --ready=http:/\xc3\xa4 --port=1 s", "gprobe --ready=tcp s",
		"gprobe --ready=file s", "gprobe --metrics=file s", "gprobe --metrics=vllm s",
		"gprobe --metrics=other --port=1 s", "gprobe --every=99 s",
		"gprobe --every=200 --timeout=300 s", "gprobe --fails=0 s", "gprobe --fails=101 s",
		"gprobe --load-time=0 s", "gprobe --port=65536 s", "gprobe --drain=-1 s",
		"gprobe --metrics-path=metrics s", "gprobe --" };
	struct gprobe_options o;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		err.text[0] = '\0';
		assert_int_equal(read_words(&o, lines[i], &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_true(*err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_presets),
		cmocka_unit_test(test_real_pages),
		cmocka_unit_test(test_load_file),
		cmocka_unit_test(test_load_line),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_long_heads),
		cmocka_unit_test(test_health),
		cmocka_unit_test(test_health_late),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_drain_deadline),
		cmocka_unit_test(test_scrape_interval),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_bad_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
