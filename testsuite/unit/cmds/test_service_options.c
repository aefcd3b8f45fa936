/* test_service_options.c - cmds/options/service_options.h: the options of services, and what they become */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmds/options/options.h"
#include "common/net/signedservice.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define WORDS  8

static void take(struct submit_options *o, const char *const *words)
{
	struct error err = { .code = ERR_NONE };
	size_t n = 0;

	while (n < WORDS && words[n])
		n++;
	if (options_from_words(o, n, (char **)words, &err) < 0)
		fail_msg("%s", err.text);
}

/* --- values ---------------------------------------------------------------------------------- */

static void test_bad_values(void **state)
{
	static const char *const bad[][2] = { { "service", "" }, { "service", "Chat" },
		{ "service", "-a" }, { "service", "a-" }, { "service", "a b" },
		{ "service", "a\nb" }, { "service", "a.b" },
		{ "service", "a123456789012345678901234567890123456789012345678901234567890123" },
		{ "replicas", "" }, { "replicas", "4-2" }, { "replicas", "0" },
		{ "replicas", "0-0" }, { "replicas", "1-" }, { "replicas", "-1" },
		{ "replicas", "1-1001" }, { "replicas", "1001" }, { "replicas", "1-2-3" },
		{ "kept", "-1" }, { "kept", "1001" }, { "ready", "http" }, { "ready", "http:" },
		{ "ready", "http:x" }, { "ready", "http:/a b" }, { "ready", "http:/a\nb" },
		{ "ready", "http:/\xc3\xa4" }, { "ready", "udp" }, { "live", "TCP" },
		{ "live", "http:/a\r\nHost: b" }, { "probe", "" }, { "probe", "5s,fail=0" },
		{ "probe", "5s,fail=101" }, { "probe", "99ms" }, { "probe", "2h" },
		{ "probe", "timeout=0" }, { "probe", "5s," }, { "probe", ",5s" },
		{ "probe", "5s,x=3" }, { "probe", "5x" }, { "load-time", "0" },
		{ "load-time", "8d" }, { "load-time", "unlimited" }, { "drain", "25h" },
		{ "metrics", "prometheus" }, { "metrics-path", "metrics" },
		{ "metrics-path", "/a b" }, { "target", "" }, { "target", "-1" }, { "target", "x" },
		{ "target", "1e3" }, { "target", "." }, { "target", "1." }, { "target", "0.0001" },
		{ "target", "nan" }, { "target", "99999999999999999999999" }, { "kv-target", "0%" },
		{ "kv-target", "80" }, { "kv-target", "101%" }, { "scale-window", "0" },
		{ "scale-window", "60s," }, { "scale-window", "60s,6s,1s" }, { "scale-down", "0" },
		{ "to-zero", "0" }, { "request-wait", "2d" }, { "surge", "-1" },
		{ "surge", "1001" }, { "ports", "9" }, { "settle", "-1" },
		{ "starts-per-day", "0" }, { "starts-per-day", "10001" }, { "valid", "0d" },
		{ "valid", "90" }, { "valid", "36h" }, { "valid", "367d" },
		{ "burst-qos", "a\nb" } };

	(void)state;
	for (size_t i = 0; i < LEN(bad); i++) {
		const struct option_row *row = option_by_name(bad[i][0], strlen(bad[i][0]));
		struct submit_options o;
		struct error err = { .code = ERR_NONE };

		options_init(&o);
		assert_non_null(row);
		if (options_set(&o, row, bad[i][1], &err) != -1)
			fail_msg("--%s=%s is taken", bad[i][0], bad[i][1]);
		assert_int_equal(err.code, ERR_USAGE);
		assert_memory_equal(err.text + 2, bad[i][0], strlen(bad[i][0]));
		assert_null(strpbrk(err.text, "\n\r\033\t"));
		assert_int_equal(service_check_none(&o, &err), 0); /* as it was */
		options_clear(&o);
	}
}

/* --- what they become ------------------------------------------------------------------------ */

static void test_defaults(void **state)
{
	static const char *const words[WORDS] = { "--service=chat", "--ports=1" };
	struct submit_options o;
	struct service_job job;
	struct error err = { .code = ERR_NONE };

	(void)state;
	options_init(&o);
	take(&o, words);
	assert_int_equal(service_job_make(&o, NULL, &job, &err), 0);
	assert_string_equal(job.spec.name, "chat");
	assert_string_equal(job.spec.ready, "tcp");
	assert_string_equal(job.spec.live, "");
	assert_string_equal(job.spec.metrics, "");
	assert_int_equal(job.spec.probe_every_ms, 5000);
	assert_int_equal(job.spec.probe_timeout_ms, 2000);
	assert_int_equal(job.spec.probe_fails, 3);
	assert_int_equal(job.spec.load_time_s, 1800);
	assert_int_equal(job.spec.drain_s, 60);
	assert_int_equal(job.spec.starts_per_day, 200);
	assert_int_equal(job.spec.valid_days, 90);
	assert_int_equal(job.request.min, 1);
	assert_int_equal(job.request.max, 1);
	assert_int_equal(job.request.kept, 1);
	assert_int_equal(job.request.surge, 1);
	assert_int_equal(job.request.settle_s, 10);
	assert_int_equal(job.request.window_s, 60);
	assert_int_equal(job.request.burst_window_s, 6);
	assert_false(job.request.update);
	assert_string_equal(job.array, "0-18");
	assert_int_equal(signedservice_check(&job.spec, &err), 0);
	options_clear(&o);
}

static void test_all_said(void **state)
{
	static const char *const words[][WORDS] = {
		{ "--service=chat", "--replicas=0-8", "--kept=2", "--burst-qos=scavenger",
		        "--ports=2", "--ready=http:/health", "--live=tcp" },
		{ "--probe=500ms,fail=5", "--load-time=1h", "--drain=90", "--metrics=vllm",
		        "--metrics-path=/m", "--target=0.5", "--kv-target=70%" },
		{ "--scale-window=30s,3s", "--scale-down=1m", "--to-zero=2m",
		        "--request-wait=250ms", "--surge=0", "--settle=0" },
		{ "--starts-per-day=7", "--valid=30d" },
	};
	struct submit_options o;
	struct service_job job;
	struct error err = { .code = ERR_NONE };

	(void)state;
	options_init(&o);
	for (size_t i = 0; i < LEN(words); i++)
		take(&o, words[i]);
	if (service_job_make(&o, NULL, &job, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(job.request.min, 0);
	assert_int_equal(job.request.max, 8);
	assert_int_equal(job.request.kept, 2);
	assert_string_equal(job.request.burst_qos, "scavenger");
	assert_string_equal(job.spec.ready, "http:/health");
	assert_string_equal(job.spec.live, "tcp");
	assert_int_equal(job.spec.probe_every_ms, 500);
	assert_int_equal(
	        job.spec.probe_timeout_ms, 500); /* never longer than from probe to probe */
	assert_int_equal(job.spec.probe_fails, 5);
	assert_int_equal(job.spec.drain_s, 90);
	assert_string_equal(job.spec.metrics_path, "/m");
	assert_true(job.request.target > 0.499 && job.request.target < 0.501);
	assert_int_equal(job.request.kv_target_milli, 700);
	assert_int_equal(job.request.burst_window_s, 3);
	assert_int_equal(job.request.to_zero_s, 120);
	assert_int_equal(job.request.request_wait_ms, 250);
	assert_int_equal(job.request.surge, 0);
	assert_int_equal(job.request.settle_s, 0);
	assert_int_equal(job.spec.valid_days, 30);
	assert_string_equal(job.array, "0-31");
	assert_int_equal(signedservice_check(&job.spec, &err), 0);
	options_clear(&o);
}

/* In an update what is not said stays, and "" takes back. */
static void test_update(void **state)
{
	static const char *const words[][WORDS] = {
		{ "--service=chat", "--replicas=1-3", "--live=", "--target=0",
		        "--metrics=", "--metrics-path=" },
	};
	Gpusched__ServiceSpec spec = GPUSCHED__SERVICE_SPEC__INIT;
	Gpusched__ServiceRequest request = GPUSCHED__SERVICE_REQUEST__INIT;
	Gpusched__Service present = GPUSCHED__SERVICE__INIT;
	struct submit_options o;
	struct service_job job;
	struct error err = { .code = ERR_NONE };

	(void)state;
	spec.ports = 3;
	spec.ready = (char *)"file";
	spec.live = (char *)"tcp";
	spec.metrics = (char *)"vllm";
	spec.metrics_path = (char *)"/m";
	spec.probe_every_ms = spec.probe_timeout_ms = 700;
	spec.probe_fails = 4;
	spec.load_time_s = spec.starts_per_day = spec.valid_days = 9;
	request.min = request.max = request.kept = 5;
	request.target = 64;
	request.settle_s = 33;
	present.spec = &spec;
	present.request = &request;
	options_init(&o);
	for (size_t i = 0; i < LEN(words); i++)
		take(&o, words[i]);
	if (service_job_make(&o, &present, &job, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(job.spec.ports, 3);
	assert_string_equal(job.spec.ready, "file");
	assert_string_equal(job.spec.live, "");
	assert_string_equal(job.spec.metrics, "");
	assert_int_equal(job.spec.probe_every_ms, 700);
	assert_int_equal(job.spec.valid_days, 9);
	assert_int_equal(job.request.kept, 1); /* five are no more */
	assert_int_equal(job.request.settle_s, 33);
	assert_true(job.request.update);
	assert_true(!(job.request.target > 0));
	options_clear(&o);
}

/* --- what makes no sense --------------------------------------------------------------------- */

static const struct {
	const char *words[WORDS], *error;
} wrong[] = {
	{ { "--array=0-3" }, "--array: " },
	{ { "--nodes=2" }, "--nodes: " },
	{ { "--nodes=1-2" }, "--nodes: " },
	{ { "-w", "n[1-2]" }, "--nodes: " },
	{ { "--ntasks=2" }, "--ntasks: " },
	{ { "--time=5" }, "--time: " },
	{ { "--deadline=now+1hour" }, "--deadline: " },
	{ { "--signal=USR1" }, "--signal: " },
	{ { "--no-requeue" }, "--no-requeue: " },
	{ { "--requeue-on=exit:3" }, "--requeue-on: " },
	{ { "--requeue-delay=5" }, "--requeue-delay: " },
	{ { "--max-attempts=5" }, "--max-attempts: " },
	{ { "--wait" }, "--wait: " },
	{ { "--ready=tcp" }, "--ready: " },
	{ { "--live=http:/x" }, "--live: " },
	{ { "--metrics=vllm" }, "--metrics: " },
	{ { "--metrics-path=/x" }, "--metrics-path: " },
	{ { "--probe=1s,timeout=2s" }, "--probe: " },
	{ { "--target=5" }, "--target: " },
	{ { "--kept=2" }, "--kept: " },
	{ { "--replicas=0-2" }, "--replicas: " },
	{ { "--kv-target=50%" }, "--kv-target: " },
	{ { "--scale-down=5" }, "--scale-window, --scale-down: " },
	{ { "--request-wait=5" }, "--request-wait: " },
	{ { "--metrics=file", "--target=1", "--to-zero=5" }, "--to-zero: " },
	{ { "--metrics=file", "--target=1", "--scale-window=5,6" }, "--scale-window: " },
	{ { "--burst-qos=x" }, "--burst-qos: " },
	{ { "--ntasks=1", "--nodes=1", "--dependency=singleton" }, NULL },
	{ { "--metrics=file", "--target=1", "--replicas=0-2" }, NULL },
	{ { "--replicas=1-2", "--burst-qos=x" }, NULL },
	{ { "--ready=file", "--live=file" }, NULL },
};

static void test_wrong_pairs(void **state)
{
	static const char *const name[WORDS] = { "--service=chat" };

	(void)state;
	for (size_t i = 0; i < LEN(wrong); i++) {
		struct submit_options o;
		struct service_job job;
		struct error err = { .code = ERR_NONE };
		int rc;

		options_init(&o);
		take(&o, name);
		take(&o, wrong[i].words);
		rc = service_job_make(&o, NULL, &job, &err);
		if (rc != (wrong[i].error ? -1 : 0) ||
		        (wrong[i].error &&
		                strncmp(err.text, wrong[i].error, strlen(wrong[i].error))))
			fail_msg("%s: %d, %s", wrong[i].words[0], rc, err.text);
		options_clear(&o);
	}
}

static void test_all_at_once(void **state)
{
	static const char *const words[WORDS] = { "--service=chat", "--array=0-3", "--time=5",
		"--target=5", "--ready=tcp" };
	struct mistakes mistakes = { .n = 0 };
	struct submit_options o;
	struct service_job job;

	(void)state;
	options_init(&o);
	o.mistakes = &mistakes;
	take(&o, words);
	assert_int_equal(service_job_make(&o, NULL, &job, NULL), 0);
	assert_int_equal(mistakes.n, 4);
	options_clear(&o);
}

/* Each option of services needs --service. */
static void test_without_service(void **state)
{
	static const char *const values[] = { "1", "1s", "tcp", "1d", "50%", "file", "/x" };
	size_t n, tried = 0;
	const struct option_row *rows = option_rows(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		struct submit_options o;
		struct error err = { .code = ERR_NONE };
		char want[80];
		size_t k = 0;

		if (rows[i].group != OPTION_SERVICE || !strcmp(rows[i].name, "service"))
			continue;
		options_init(&o);
		while (rows[i].set(&o, &rows[i], rows[i].arg ? values[k] : NULL, NULL) < 0)
			assert_true(++k < LEN(values));
		snprintf(want, sizeof(want), "--%s: needs --service=NAME", rows[i].name);
		assert_int_equal(service_check_none(&o, &err), -1);
		assert_string_equal(err.text, want);
		options_clear(&o);
		tried++;
	}
	assert_true(tried > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_all_said),
		cmocka_unit_test(test_update),
		cmocka_unit_test(test_wrong_pairs),
		cmocka_unit_test(test_all_at_once),
		cmocka_unit_test(test_without_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
