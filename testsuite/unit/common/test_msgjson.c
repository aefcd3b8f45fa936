/* test_msgjson.c - messages as JSON: the text is the contract with scripts */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/gpusched.pb-c.h"
#include "common/net/msgjson.h"

static void check(const ProtobufCMessage *m, unsigned flags, const char *want)
{
	json_t *j = msgjson(m, flags);
	char *text;

	assert_non_null(j);
	text = json_dumps(j, JSON_COMPACT | JSON_PRESERVE_ORDER);
	assert_string_equal(text, want);
	free(text);
	json_decref(j);
}

static void test_job(void **state)
{
	Gpusched__Job job = GPUSCHED__JOB__INIT;
	Gpusched__GpuCount g = GPUSCHED__GPU_COUNT__INIT, *gs[] = { &g };
	Gpusched__KeyValue l = GPUSCHED__KEY_VALUE__INIT, *ls[] = { &l };
	uint32_t indices[] = { 0, 3 };

	(void)state;
	job.id = 17;
	job.name = (char *)"caf\xc3\xa9 \"x\"";
	job.state = (char *)"RUNNING";
	job.submit_time = 1700000000123456;
	g.type = (char *)"h100";
	g.count = 2;
	job.gpus = gs;
	job.n_gpus = 1;
	job.gpu_indices = indices;
	job.n_gpu_indices = 2;
	l.key = (char *)"project";
	l.value = (char *)"ocr";
	job.labels = ls;
	job.n_labels = 1;
	job.priority = -5;
	job.requeue = true;
	check(&job.base, MSGJSON_SKIP_EMPTY,
	        "{\"id\":17,\"name\":\"caf\xc3\xa9 \\\"x\\\"\",\"state\":\"RUNNING\","
	        "\"gpus\":[{\"type\":\"h100\",\"count\":2}],\"submit_time\":1700000000,"
	        "\"gpu_indices\":[0,3],\"priority\":-5,"
	        "\"labels\":[{\"key\":\"project\",\"value\":\"ocr\"}],\"requeue\":true}");
	check(&job.base, MSGJSON_SKIP_EMPTY | MSGJSON_RAW_TIME,
	        "{\"id\":17,\"name\":\"caf\xc3\xa9 \\\"x\\\"\",\"state\":\"RUNNING\","
	        "\"gpus\":[{\"type\":\"h100\",\"count\":2}],\"submit_time\":1700000000123456,"
	        "\"gpu_indices\":[0,3],\"priority\":-5,"
	        "\"labels\":[{\"key\":\"project\",\"value\":\"ocr\"}],\"requeue\":true}");
}

/* Every field is there when empty ones are not left out. */
static void test_empty(void **state)
{
	Gpusched__Pong pong = GPUSCHED__PONG__INIT;
	Gpusched__RunReport r = GPUSCHED__RUN_REPORT__INIT;
	json_t *j;

	(void)state;
	check(&pong.base, MSGJSON_SKIP_EMPTY, "{}");
	check(&pong.base, 0,
	        "{\"cluster\":\"\",\"version\":\"\",\"epoch\":0,\"time\":null,\"host\":\"\","
	        "\"uid\":0}");
	j = msgjson(&r.base, 0);
	assert_int_equal(json_object_size(j), r.base.descriptor->n_fields);
	assert_true(json_is_null(json_object_get(j, "run")));
	assert_true(json_is_array(json_object_get(j, "gpus")));
	json_decref(j);
}

static void test_kinds(void **state)
{
	Gpusched__RunReport r = GPUSCHED__RUN_REPORT__INIT;
	Gpusched__SignedSpec s = GPUSCHED__SIGNED_SPEC__INIT;
	Gpusched__Stat st = GPUSCHED__STAT__INIT;
	uint8_t raw[] = { 0xff, 0x00, 0x10 };
	ProtobufCBinaryData args[] = { { 2, (uint8_t *)"-v" }, { 3, raw }, { 0, NULL } };

	(void)state;
	r.state = GPUSCHED__RUN_REPORT__STATE__RUNNING;
	r.cause = GPUSCHED__END_CAUSE__CAUSE_TIME_LIMIT;
	r.epoch = UINT64_MAX;
	check(&r.base, MSGJSON_SKIP_EMPTY,
	        "{\"state\":\"running\",\"cause\":\"time_limit\",\"epoch\":"
	        "\"18446744073709551615\"}");
	r.cause = 77; /* of a newer version */
	r.epoch = 0;
	check(&r.base, MSGJSON_SKIP_EMPTY, "{\"state\":\"running\",\"cause\":77}");

	s.args = args;
	s.n_args = 3;
	check(&s.base, MSGJSON_SKIP_EMPTY, "{\"args\":[\"-v\",{\"base64\":\"/wAQ\"},\"\"]}");

	st.value = 0.5;
	check(&st.base, MSGJSON_SKIP_EMPTY, "{\"value\":0.5}");
	st.value = INFINITY;
	check(&st.base, MSGJSON_SKIP_EMPTY, "{\"value\":null}");
	st.value = NAN;
	st.name = (char *)"\xff"; /* never from the wire */
	check(&st.base, MSGJSON_SKIP_EMPTY, "{\"name\":{\"base64\":\"/w==\"},\"value\":null}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_job),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
