/* load.c - see load.h */
#include "cmds/services/load.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of two metrics for one field the first that the server has counts. */
static const struct row {
	const char *preset;
	enum load_field field;
	const char *metric;
	const char *parts; /* prometheus_text.h */
} rows[] = {
	{ "vllm", LOAD_RUNNING, "vllm:num_requests_running", NULL },
	{ "vllm", LOAD_WAITING, "vllm:num_requests_waiting", NULL },
	{ "vllm", LOAD_KV, "vllm:kv_cache_usage_perc", NULL },
	{ "vllm", LOAD_KV, "vllm:gpu_cache_usage_perc", NULL }, /* its name until 0.9 */
	{ "vllm", LOAD_REQUESTS, "vllm:request_success_total", NULL },
	{ "vllm", LOAD_TOKENS, "vllm:generation_tokens_total", NULL },
	{ "sglang", LOAD_RUNNING, "sglang:num_running_reqs", "priority" },
	{ "sglang", LOAD_WAITING, "sglang:num_queue_reqs", "priority" },
	{ "sglang", LOAD_KV, "sglang:token_usage", NULL },
	{ "sglang", LOAD_REQUESTS, "sglang:num_requests_total", NULL },
	{ "sglang", LOAD_TOKENS, "sglang:generation_tokens_total", NULL },
	{ "tgi", LOAD_RUNNING, "tgi_batch_current_size", NULL },
	{ "tgi", LOAD_WAITING, "tgi_queue_size", NULL },
	{ "tgi", LOAD_REQUESTS, "tgi_request_success", NULL },
	{ "tgi", LOAD_TOKENS, "tgi_request_generated_tokens_sum", NULL },
	{ "triton", LOAD_WAITING, "nv_inference_pending_request_count", NULL },
	{ "triton", LOAD_REQUESTS, "nv_inference_request_success", NULL },
	{ "llamacpp", LOAD_RUNNING, "llamacpp:requests_processing", NULL },
	{ "llamacpp", LOAD_WAITING, "llamacpp:requests_deferred", NULL },
	{ "llamacpp", LOAD_KV, "llamacpp:kv_cache_usage_ratio", NULL }, /* of older ones */
	{ "llamacpp", LOAD_TOKENS, "llamacpp:tokens_predicted_total", NULL },
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* Words of RUN_DIR/load. */
static const char *const words[LOAD_FIELDS] = { "running", "waiting", "kv", "requests", "tokens" };

/* Without these a load is not known, if the server's preset has them. */
static const bool needed[LOAD_FIELDS] = { [LOAD_RUNNING] = true, [LOAD_WAITING] = true };

bool load_is_preset(const char *name)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (strcmp(rows[i].preset, name) == 0)
			return true;
	return false;
}

const char *load_presets(void)
{
	return "vllm, sglang, tgi, triton, llamacpp";
}

/* --- metrics ---------------------------------------------------------------------------------- */

void load_begin(struct load_reader *r, const char *preset)
{
	size_t n = 0;

	for (size_t i = 0; i < N_ROWS; i++) {
		if (strcmp(rows[i].preset, preset) != 0)
			continue;
		r->names[n] = (struct metric_name){ rows[i].metric, rows[i].parts };
		r->fields[n++] = rows[i].field;
	}
	metrics_begin(&r->metrics, r->names, n);
}

int load_end(const struct load_reader *r, struct load *out, struct error *err)
{
	*out = (struct load){ .known = true };
	for (size_t i = 0; i < r->metrics.n; i++) {
		const struct metric_sum *s = &r->metrics.sums[i];
		enum load_field f = r->fields[i];

		if (s->bad && needed[f]) {
			out->known = false;
			return error_set(err, ERR_PROTOCOL,
			        "%s has a value that is no number of requests", r->names[i].name);
		}
		if (!s->samples && needed[f]) {
			out->known = false;
			return error_set(err, ERR_PROTOCOL, "%s is missing", r->names[i].name);
		}
		if (s->bad || !s->samples || out->has[f])
			continue;
		out->has[f] = true;
		out->v[f] = f == LOAD_KV ? s->sum / s->samples : s->sum;
	}
	return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

/* "running=3" */
static int take_word(struct load *l, const char *word, struct error *err)
{
	const char *value = strchr(word, '=');
	char *rest;
	double v;

	for (size_t f = 0; value && f < LOAD_FIELDS; f++) {
		if (strlen(words[f]) != (size_t)(value - word) ||
		        strncmp(words[f], word, (size_t)(value - word)) != 0)
			continue;
		v = strtod(value + 1, &rest);
		if (rest == value + 1 || *rest || !isfinite(v) || v < 0 || v > METRICS_VALUE_MAX)
			return error_set(err, ERR_PROTOCOL,
			        "%s: its value is no number of 0 or more", words[f]);
		l->v[f] = v;
		l->has[f] = true;
	}
	return 0;
}

int load_from_text(const char *text, size_t len, struct load *out, struct error *err)
{
	char copy[LOAD_FILE_MAX + 1], *at = copy, *word;
	struct load l = { 0 };

	*out = l;
	if (len > LOAD_FILE_MAX || memchr(text, '\0', len))
		return error_set(
		        err, ERR_PROTOCOL, "it is no text of at most %d bytes", LOAD_FILE_MAX);
	memcpy(copy, text, len);
	copy[len] = '\0';
	while ((word = strsep(&at, " \t\r\n")) != NULL)
		if (take_word(&l, word, err) < 0)
			return -1;
	if (!l.has[LOAD_RUNNING])
		return error_set(err, ERR_PROTOCOL, "it has no running=NUMBER");
	l.known = true;
	*out = l;
	return 0;
}

/* --- the line --------------------------------------------------------------------------------- */

static uint64_t count_on(struct load_counters *c, const struct load *l, enum load_field f)
{
	uint64_t now = (uint64_t)l->v[f];

	if (l->has[f]) {
		if (now < c->last[f])
			c->before[f] += c->last[f];
		c->last[f] = now;
	}
	return c->before[f] + c->last[f];
}

/* "3", or "2.5" where it is no whole number. */
static size_t put_gauge(char *out, size_t size, double v)
{
	double most = v < METRICS_VALUE_MAX ? v : METRICS_VALUE_MAX;
	bool whole = most < (double)INT64_MAX && most == (double)(int64_t)most;
	int n = snprintf(out, size, whole ? " %.0f" : " %.3f", most);

	return n > 0 ? (size_t)n : 0;
}

size_t load_line(struct load_counters *c, const struct load *l, char out[LOAD_LINE_MAX])
{
	double kv = l->v[LOAD_KV] < 1 ? l->v[LOAD_KV] : 1;
	size_t n;

	if (!l->known)
		return (size_t)snprintf(out, LOAD_LINE_MAX, "load unknown\n");
	n = (size_t)snprintf(out, LOAD_LINE_MAX, "load");
	n += put_gauge(out + n, LOAD_LINE_MAX - n, l->v[LOAD_RUNNING]);
	n += put_gauge(out + n, LOAD_LINE_MAX - n, l->v[LOAD_WAITING]);
	n += (size_t)snprintf(out + n, LOAD_LINE_MAX - n, " %.0f %" PRIu64 " %" PRIu64 "\n",
	        kv * 1000, count_on(c, l, LOAD_REQUESTS), count_on(c, l, LOAD_TOKENS));
	return n;
}
