/* test_signedservice.c - each field of a service has bounds, and an error names it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/net/signedjob.h"
#include "common/net/signedservice.h"

static const char full[] = "chat-7b";
static char long_path[5 + SIGNEDSERVICE_PATH_MAX + 2];

static Gpusched__ServiceSpec good(void)
{
	Gpusched__ServiceSpec s = GPUSCHED__SERVICE_SPEC__INIT;

	s.name = (char *)(uintptr_t)full;
	s.ports = 2;
	s.ready = (char *)(uintptr_t) "http:/health?deep=1";
	s.live = (char *)(uintptr_t) "tcp";
	s.probe_every_ms = 5000;
	s.probe_timeout_ms = 2000;
	s.probe_fails = 3;
	s.load_time_s = 1800;
	s.metrics = (char *)(uintptr_t) "vllm";
	s.metrics_path = (char *)(uintptr_t) "/metrics";
	s.drain_s = 60;
	s.starts_per_day = 200;
	s.valid_days = 90;
	return s;
}

static void test_good(void **state)
{
	static const char *const probes[] = { "", "file", "tcp", "http:/", "http:/v1/~x!" };
	static const char *const metrics[] = { "vllm", "sglang", "tgi", "triton", "llamacpp", "",
		"file" };
	Gpusched__ServiceSpec s = good();
	struct error err;

	(void)state;
	assert_int_equal(signedservice_check(&s, &err), 0);
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		s.ready = s.live = (char *)(uintptr_t)probes[i];
		assert_int_equal(signedservice_check(&s, &err), 0);
	}
	s = good();
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		s.metrics = (char *)(uintptr_t)metrics[i];
		s.metrics_path = (char *)(uintptr_t)(i < 5 ? "/m" : "");
		assert_int_equal(signedservice_check(&s, &err), 0);
		assert_int_equal(signedservice_scrapes(metrics[i]), i < 5);
	}
	snprintf(long_path, sizeof(long_path), "http:/%0*d", SIGNEDSERVICE_PATH_MAX - 1, 0);
	s.ready = long_path;
	assert_int_equal(signedservice_check(&s, &err), 0);
}

/* A text field by its place in the message, and a word of the error. */
static void test_bad_texts(void **state)
{
#define AT(field) offsetof(Gpusched__ServiceSpec, field)
	static const struct {
		size_t at;
		const char *value, *said;
	} rows[] = {
		{ AT(name), "", "name" }, { AT(name), "-a", "name" }, { AT(name), "a-", "name" },
		{ AT(name), "Chat", "name" }, { AT(name), "a.b", "name" },
		{ AT(name), "a\nb", "name" },
		{ AT(name), "0123456789012345678901234567890123456789012345678901234567890123",
		        "name" },
		{ AT(ready), "http", "ready" }, { AT(ready), "http:", "ready" },
		{ AT(ready), "http:health", "ready" },
		{ AT(ready), "http://elsewhere:80/\r\nX: y", "ready" },
		{ AT(ready), "http:/a b", "ready" }, { AT(ready), "http:/a\nb", "ready" },
		{ AT(ready), "http:/\x7f", "ready" }, { AT(ready), "http:/\xc3\xa4", "ready" },
		{ AT(ready), long_path, "ready" }, { AT(ready), "https:/x", "ready" },
		{ AT(live), "exec:/bin/sh", "live" }, { AT(live), "http:\t/", "live" },
		{ AT(metrics), "prometheus", "metrics" }, { AT(metrics), "VLLM", "metrics" },
		{ AT(metrics_path), "metrics", "metrics path" },
		{ AT(metrics_path), "/a b", "metrics path" },
		{ AT(metrics), "file", "metrics path" }, /* which is not fetched */
	};

	(void)state;
	snprintf(long_path, sizeof(long_path), "http:/%0*d", SIGNEDSERVICE_PATH_MAX, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Gpusched__ServiceSpec s = good();
		struct error err;

		*(char **)(void *)((char *)&s + rows[i].at) = (char *)(uintptr_t)rows[i].value;
		if (signedservice_check(&s, &err) != -1 || err.code != ERR_JOB_SPEC ||
		        !strstr(err.text, rows[i].said))
			fail_msg("%zu: %s", i, err.text);
	}
}

static void test_bad_numbers(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
		const char *said;
	} rows[] = {
		{ AT(ports), 9, "ports" },
		{ AT(ports), 0, "needs a port" },
		{ AT(probe_every_ms), 99, "probe" },
		{ AT(probe_every_ms), 3600001, "probe" },
		{ AT(probe_timeout_ms), 0, "probe" },
		{ AT(probe_timeout_ms), 5001, "probe" },
		{ AT(probe_fails), 0, "probes" },
		{ AT(probe_fails), 101, "probes" },
		{ AT(load_time_s), 0, "load" },
		{ AT(load_time_s), 604801, "load" },
		{ AT(drain_s), 86401, "drain" },
		{ AT(starts_per_day), 0, "starts" },
		{ AT(starts_per_day), 10001, "starts" },
		{ AT(valid_days), 0, "validity" },
		{ AT(valid_days), 367, "validity" },
		{ AT(valid_days), UINT32_MAX, "validity" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Gpusched__ServiceSpec s = good();
		struct error err;

		*(uint32_t *)(void *)((char *)&s + rows[i].at) = rows[i].value;
		if (signedservice_check(&s, &err) != -1 || err.code != ERR_JOB_SPEC ||
		        !strstr(err.text, rows[i].said))
			fail_msg("%zu: %s", i, err.text);
	}
}

/* Its job is an array and nothing else that is special. */
static void test_its_job(void **state)
{
	Gpusched__SignedSpec job = GPUSCHED__SIGNED_SPEC__INIT;
	Gpusched__Steps steps = GPUSCHED__STEPS__INIT;
	Gpusched__Interactive interactive = GPUSCHED__INTERACTIVE__INIT;
	Gpusched__ServiceSpec s = good();
	uint8_t bytes[SIGNEDJOB_HASH_LEN] = { 0 };
	struct error err;

	(void)state;
	job.version = SIGNEDJOB_VERSION;
	job.nonce = (ProtobufCBinaryData){ SIGNEDJOB_NONCE_LEN, bytes };
	job.script_hash = (ProtobufCBinaryData){ SIGNEDJOB_HASH_LEN, bytes };
	job.name = (char *)(uintptr_t) "chat";
	job.cwd = (ProtobufCBinaryData){ 1, (uint8_t *)(uintptr_t) "/" };
	job.tasks_per_node = job.max_attempts = 1;
	job.array = (char *)(uintptr_t) "0-8";
	job.service = &s;
	if (signedjob_spec_check(&job, &err) < 0)
		fail_msg("%s", err.text);
	s.valid_days = 0;
	assert_int_equal(signedjob_spec_check(&job, &err), -1);
	s.valid_days = 1;
	job.array = (char *)(uintptr_t) "";
	assert_int_equal(signedjob_spec_check(&job, &err), -1);
	assert_non_null(strstr(err.text, "array"));
	job.array = (char *)(uintptr_t) "0-8";
	job.version = SIGNEDJOB_STEPS;
	steps.mode = GPUSCHED__STEPS__MODE__SCRIPT;
	job.steps = &steps;
	assert_int_equal(signedjob_spec_check(&job, &err), -1);
	assert_non_null(strstr(err.text, "steps"));
	job.steps = NULL;
	job.version = SIGNEDJOB_INTERACTIVE;
	interactive.kind = GPUSCHED__INTERACTIVE__KIND__PIPES;
	interactive.patience_s = 1;
	job.interactive = &interactive;
	assert_int_equal(signedjob_spec_check(&job, &err), -1);
	assert_int_equal(err.code, ERR_JOB_SPEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad_texts),
		cmocka_unit_test(test_bad_numbers),
		cmocka_unit_test(test_its_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
