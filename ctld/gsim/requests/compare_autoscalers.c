/* compare_autoscalers.c - see compare_autoscalers.h */
#include "ctld/gsim/requests/compare_autoscalers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/base/units.h"
#include "common/base/xalloc.h"

#define SECOND      ((usec_t)1000000)
#define US_PER_HOUR 3.6e9
#define SCALERS_MAX 32
#define VERSION     1

struct scaling_options scaling_defaults(void)
{
	return (struct scaling_options){
		.requests = { .scale_load = 1, .until = INT64_MAX },
		.service = { .replica_requests = 16,
		        .replica_gpus = 1,
		        .load_time = 60 * SECOND,
		        .prefill = SECOND / 5,
		        .token_rate = 40,
		        .policy = { .min = 1,
		                .max = 20,
		                .window = 60 * SECOND,
		                .burst_window = 6 * SECOND,
		                .scale_down = 300 * SECOND,
		                .to_zero = 900 * SECOND },
		        .request_wait = 2 * SECOND,
		        .series_step = 60 * SECOND },
		.scalers = "all",
	};
}

/* --- figures --------------------------------------------------------------------------------- */

struct figure {
	const char *key, *words;
	double value;
	int digits;
};

static double percentile(struct samples *s, unsigned percent)
{
	return (double)samples_percentile(s, percent) / 1e6;
}

/* One list, for the table and for JSON. */
#define FIGURES 9
static void figures(struct service_result *r, struct figure f[FIGURES])
{
	const struct figure all[FIGURES] = {
		{ "wait_p50_s", "WAIT_P50", percentile(&r->wait, 50), 2 },
		{ "wait_p95_s", "P95", percentile(&r->wait, 95), 2 },
		{ "wait_p99_s", "P99", percentile(&r->wait, 99), 2 },
		{ "completion_p95_s", "DONE_P95", percentile(&r->completion, 95), 2 },
		{ "over_percent", "OVER%",
		        r->wait.n ? 100.0 * (double)r->over / (double)r->wait.n : 0, 2 },
		{ "gpu_hours", "GPU_HOURS", r->gpu_us / US_PER_HOUR, 2 },
		{ "replicas_mean", "MEAN", r->end ? r->replica_us / (double)r->end : 0, 2 },
		{ "replicas_most", "MAX", r->most, 0 },
		{ "starts", "STARTS", (double)r->starts, 0 },
	};

	memcpy(f, all, sizeof(all));
}

struct results {
	struct service_result v[SCALERS_MAX];
	char *names[SCALERS_MAX]; /* owned */
	size_t n;
};

static void results_clear(struct results *r)
{
	for (size_t i = 0; i < r->n; i++) {
		service_result_clear(&r->v[i]);
		free(r->names[i]);
	}
}

/* --- the report ------------------------------------------------------------------------------ */

static void print_input(const struct scaling_options *o, const char *const *files, size_t n,
        const struct requests *q)
{
	const struct service_options *s = &o->service;
	double span = q->n ? (double)q->v[q->n - 1].at / 1e6 : 0;
	char text[UNITS_TEXT], load[UNITS_TEXT];
	size_t i;

	printf("requests  %s", o->make ? o->make : "");
	for (i = 0; i < n; i++)
		printf("%s%s", i ? ", " : "", files[i]);
	printf(": %zu in %s, %.2f a second\n", q->n, duration_format(text, (uint64_t)span),
	        span > 0 ? (double)q->n / span : 0);
	if (q->bad)
		printf("          %llu broken rows left out\n", (unsigned long long)q->bad);
	printf("service   %u to %u replicas, %u GPU%s each, ready after %s; %u requests at once, "
	       "%g s and output tokens / %g a second each\n",
	        s->policy.min, s->policy.max, s->replica_gpus, s->replica_gpus == 1 ? "" : "s",
	        duration_format(load, (uint64_t)(s->load_time / SECOND)), s->replica_requests,
	        (double)s->prefill / 1e6, s->token_rate);
	printf("target    %g in flight a replica; OVER%%: waited longer than %g s\n\n",
	        s->policy.target, (double)s->request_wait / 1e6);
}

static void print_table(struct results *r)
{
	struct figure f[FIGURES];
	size_t i, k;

	for (i = 0; i < r->n; i++) {
		figures(&r->v[i], f);
		for (k = 0; i == 0 && k < FIGURES; k++)
			printf("%s%10s", k ? "" : "SCALER    ", f[k].words);
		printf("%s%-10s", i ? "" : "\n", r->names[i]);
		for (k = 0; k < FIGURES; k++)
			printf("%10.*f", f[k].digits, f[k].value);
		putchar('\n');
	}
}

static void print_json(const struct scaling_options *o, const struct requests *q, struct results *r)
{
	json_t *top = json_object(), *list = json_array();
	struct figure f[FIGURES];
	size_t i, k;

	json_object_set_new(top, "version", json_integer(VERSION));
	json_object_set_new(top, "requests", json_integer((json_int_t)q->n));
	json_object_set_new(top, "bad_rows", json_integer((json_int_t)q->bad));
	json_object_set_new(top, "target", json_real(o->service.policy.target));
	for (i = 0; i < r->n; i++) {
		json_t *row = json_object();

		figures(&r->v[i], f);
		json_object_set_new(row, "scaler", json_string(r->names[i]));
		json_object_set_new(row, "answered", json_integer((json_int_t)r->v[i].wait.n));
		for (k = 0; k < FIGURES; k++)
			json_object_set_new(row, f[k].key, json_real(f[k].value));
		json_array_append_new(list, row);
	}
	json_object_set_new(top, "scalers", list);
	json_dumpf(top, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
	putchar('\n');
	json_decref(top);
}

/* --- the run --------------------------------------------------------------------------------- */

static int run_one(struct results *r, const char *name, const struct scaling_options *o,
        const struct requests *q, struct error *err)
{
	if (r->n == SCALERS_MAX)
		return error_set(err, ERR_USAGE, "--scaler: at most %d", SCALERS_MAX);
	r->names[r->n] = xstrdup(name);
	if (service_run(&r->v[r->n], r->names[r->n], q, &o->service) < 0) {
		free(r->names[r->n]);
		return error_set(err, ERR_USAGE,
		        "--scaler=%.40s: expected ours, ray, knative, keda, fixed:N, plan:FILE or all", name);
	}
	r->n++;
	return 0;
}

static int run_all(struct results *r, const struct scaling_options *o, const struct requests *q,
        struct error *err)
{
	char *list = xstrdup(o->scalers), *at = list, *name;
	int rc = 0;
	size_t i;

	while (rc == 0 && (name = strsep(&at, ","))) {
		if (strcmp(name, "all")) {
			rc = run_one(r, name, o, q, err);
			continue;
		}
		for (i = 0; rc == 0 && autoscaler_names[i]; i++)
			rc = run_one(r, autoscaler_names[i], o, q, err);
	}
	free(list);
	return rc;
}

static int get_requests(struct requests *q, const struct scaling_options *o,
        const char *const *files, size_t n, struct error *err)
{
	char kind[16] = "";
	uint64_t seed = 1;
	size_t end;

	if (!o->make)
		return requests_read(q, files, n, &o->requests, err);
	end = strcspn(o->make, ":");
	if (end >= sizeof(kind) ||
	        (o->make[end] && count_parse(o->make + end + 1, 0, INT64_MAX, &seed, NULL) < 0))
		return error_set(
		        err, ERR_USAGE, "--requests=%s: expected bursts:SEED or day:SEED", o->make);
	memcpy(kind, o->make, end);
	if (requests_make(q, kind, seed, &o->requests, err) < 0)
		return error_wrap(err, "--requests=%s", o->make);
	return 0;
}

static int report(const struct scaling_options *o, const char *const *files, size_t n,
        const struct requests *q, struct error *err)
{
	struct results r = { .n = 0 };
	int rc = run_all(&r, o, q, err);

	if (rc == 0 && o->json) {
		print_json(o, q, &r);
	} else if (rc == 0) {
		print_input(o, files, n, q);
		print_table(&r);
	}
	results_clear(&r);
	if (rc == 0 && (fflush(stdout) || ferror(stdout)))
		return error_set(err, ERR_SYSTEM, "standard output: %s", strerror(errno));
	return rc;
}

int scaling_run(const struct scaling_options *o, const char *const *files, size_t n,
        const char *series, struct error *err)
{
	struct scaling_options with = *o;
	struct requests q;
	FILE *out = NULL;
	int rc;

	if (get_requests(&q, o, files, n, err) < 0)
		return -1;
	if (with.service.policy.target <= 0)
		with.service.policy.target = 0.7 * with.service.replica_requests;
	if (o->hold_noise)
		with.service.policy.request_wait = with.service.request_wait;
	if (series) {
		out = fopen(series, "we");
		if (!out) {
			requests_clear(&q);
			return error_set(err, ERR_SYSTEM, "%s: %s", series, strerror(errno));
		}
		fputs("time_s,scaler,arrived,waiting,running,ready,loading,wanted,why\n", out);
		with.service.series = out;
	}
	rc = report(&with, files, n, &q, err);
	requests_clear(&q);
	if (out && (ferror(out) | fclose(out)) && rc == 0)
		rc = error_set(err, ERR_SYSTEM, "%s: %s", series, strerror(errno));
	return rc;
}
