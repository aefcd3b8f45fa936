/* server_metrics.c - see server_metrics.h */
#include "cmds/services/server_metrics.h"

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

/* Without these a load is not known, if the server's preset has them. */
static const bool needed[LOAD_FIELDS] = { [LOAD_RUNNING] = true, [LOAD_WAITING] = true };

bool server_metrics_is_preset(const char *name)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (strcmp(rows[i].preset, name) == 0)
			return true;
	return false;
}

const char *server_metrics_presets(void)
{
	return "vllm, sglang, tgi, triton, llamacpp";
}

/* --- metrics ---------------------------------------------------------------------------------- */

void server_metrics_begin(struct server_metrics *r, const char *preset)
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

int server_metrics_end(const struct server_metrics *r, struct load *out, struct error *err)
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
