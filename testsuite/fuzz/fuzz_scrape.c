/* fuzz_scrape.c - what a replica's server and its files say, from any bytes
 *
 * The first byte says which preset, or RUN_DIR/load, or the interruption file, and in pieces of
 * which size. An answer is read in these pieces and whole, with the same result; what is taken as a
 * load makes one line of numbers; no body is longer than its bound.
 */
#include <math.h>
#include <string.h>

#include "cmds/services/drain.h"
#include "cmds/services/http_response.h"
#include "cmds/services/load.h"
#include "cmds/services/server_metrics.h"
#include "testsuite/fuzz/fuzz.h"

#define BODY_MAX 4096

static const char *const presets[] = { "vllm", "sglang", "tgi", "triton", "llamacpp" };

#define N_PRESETS (sizeof(presets) / sizeof(presets[0]))

struct seen {
	struct server_metrics reader;
	size_t body;
	int r; /* of the answer */
	unsigned status;
	char line[LOAD_LINE_MAX];
};

static void on_body(void *arg, const void *data, size_t len)
{
	struct seen *s = arg;

	s->body += len;
	FUZZ_CHECK(s->body <= BODY_MAX);
	metrics_feed(&s->reader.metrics, data, len);
}

static void check_line(const struct load *l, char line[LOAD_LINE_MAX])
{
	struct load_counters c = { 0 };
	size_t n = load_line(&c, l, line);

	FUZZ_CHECK(n == strlen(line) && n < LOAD_LINE_MAX && line[n - 1] == '\n');
	FUZZ_CHECK(!l->known || strspn(line + 4, " .0123456789\n") == n - 4);
	for (int i = 0; l->known && i < LOAD_FIELDS; i++)
		FUZZ_CHECK(isfinite(l->v[i]) && l->v[i] >= 0);
}

static void read_answer(
        struct seen *s, const char *preset, const uint8_t *data, size_t n, size_t step)
{
	struct http_response a;
	struct load l = { 0 };
	struct error err = { .text = "" };

	memset(s, 0, sizeof(*s));
	server_metrics_begin(&s->reader, preset);
	http_response_begin(&a);
	a.body = on_body;
	a.arg = s;
	a.max_body = BODY_MAX;
	for (size_t i = 0; i < n && s->r == 0; i += step)
		s->r = http_response_feed(&a, data + i, i + step < n ? step : n - i, &err);
	if (s->r == 0)
		s->r = http_response_closed(&a, &err) < 0 ? -1 : 2;
	FUZZ_CHECK(s->r > 0 || *err.text);
	FUZZ_CHECK(s->r < 0 || (a.status >= 100 && a.status <= 999));
	s->status = a.status;
	if (server_metrics_end(&s->reader, &l, &err) < 0)
		FUZZ_CHECK(!l.known && *err.text);
	check_line(&l, s->line);
}

static void try_answer(const char *preset, const uint8_t *data, size_t n, size_t step)
{
	static struct seen whole, pieces;

	read_answer(&whole, preset, data, n, n ? n : 1);
	read_answer(&pieces, preset, data, n, step);
	FUZZ_CHECK(
	        whole.r == pieces.r && whole.status == pieces.status && whole.body == pieces.body);
	FUZZ_CHECK(strcmp(whole.line, pieces.line) == 0);
}

/* The metrics alone, without HTTP around them. */
static void try_metrics(const char *preset, const uint8_t *data, size_t n, size_t step)
{
	static struct server_metrics whole, pieces;

	server_metrics_begin(&whole, preset);
	server_metrics_begin(&pieces, preset);
	metrics_feed(&whole.metrics, data, n);
	for (size_t i = 0; i < n; i += step)
		metrics_feed(&pieces.metrics, data + i, i + step < n ? step : n - i);
	FUZZ_CHECK(metrics_end(&whole.metrics) == metrics_end(&pieces.metrics));
	FUZZ_CHECK(
	        memcmp(whole.metrics.sums, pieces.metrics.sums, sizeof(whole.metrics.sums)) == 0);
}

static void try_file(const uint8_t *data, size_t n)
{
	char line[LOAD_LINE_MAX];
	struct load l;
	struct error err = { .text = "" };

	if (load_from_text((const char *)data, n, &l, &err) < 0)
		FUZZ_CHECK(!l.known && *err.text);
	check_line(&l, line);
}

static void try_interrupt(const uint8_t *data, size_t n)
{
	struct drain d;

	drain_begin(&d, 1000, 60, true, true);
	drain_interrupted(&d, 1000, 1764000000, (const char *)data, n);
	FUZZ_CHECK(drain_over_ms(&d) <= 61000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	size_t which, step;

	if (n == 0)
		return 0;
	which = data[0] % 8;
	step = (size_t)1 << data[0] / 8 % 8;
	data++;
	n--;
	if (which < N_PRESETS) {
		try_answer(presets[which], data, n, step);
		try_metrics(presets[which], data, n, step);
	} else if (which == N_PRESETS) {
		try_file(data, n);
	} else {
		try_interrupt(data, n);
	}
	return 0;
}
