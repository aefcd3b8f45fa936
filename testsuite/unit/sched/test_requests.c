/* test_requests.c - what a job wants: one spelling, what is refused, what a configuration makes of
 * it
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/core/request/nodefilter.h"
#include "ctld/core/request/requests.h"
#include "testsuite/unit/lib/places_conf.h"

/* n0 nvlink,ib  n1 nvlink  n2 ib,slow  n3 -   licences trtllm (16), other (2) */
static struct conf *small(void)
{
	struct conf *conf = places_conf();
	int i;

	for (i = 0; i < 4; i++)
		places_node(conf, (struct places_node){ 64, 65536, { 8 }, CONF_NONE });
	places_feature(conf, 0, "nvlink");
	places_feature(conf, 0, "ib");
	places_feature(conf, 1, "nvlink");
	places_feature(conf, 2, "ib");
	places_feature(conf, 2, "slow");
	places_licence(conf, "trtllm", 16);
	places_licence(conf, "other", 2);
	return conf;
}

struct desk {
	struct conf *conf;
	struct strings *strings;
	struct requests *requests;
};

static int set_up(void **state)
{
	struct desk *d = xcalloc(1, sizeof(*d));

	d->conf = small();
	d->strings = strings_new(1);
	d->requests = requests_new(d->strings, d->conf, 1);
	*state = d;
	return 0;
}

static int tear_down(void **state)
{
	struct desk *d = *state;

	assert_int_equal(strings_count(d->strings), 0);
	requests_free(d->requests);
	strings_free(d->strings);
	places_conf_free(d->conf);
	free(d);
	return 0;
}

#define GPUS(...)                \
	.gpus = { __VA_ARGS__ }, \
	.n_gpus = sizeof((struct gpu_request[]){ __VA_ARGS__ }) / sizeof(struct gpu_request)
#define H100_8 GPUS({ "h100", 8 })

static const struct {
	struct submit_job job;
	const char *gpus, *place;
} spelled[] = {
	{ { .name = "" }, "", "" },
	{ { H100_8 }, "h100:8", "" },
	{ { GPUS({ "any", 1 }, { "", 2 }) }, "any:1|any:2", "" },
	/* One node is one node, however it is said. */
	{ { H100_8, .nodes_min = 1, .nodes_max = 1, .gpus_per_node = true }, "h100:8", "" },
	{ { H100_8, .nodes_min = 2, .gpus_per_node = true }, "h100:8", "nodes=2 per_node" },
	{ { H100_8, .nodes_min = 2, .nodes_max = 4 }, "h100:8", "nodes=2-4" },
	{ { H100_8, .nodes_max = 4 }, "h100:8", "nodes=1-4" },
	{ { .nodes_min = 3, .gpus_per_node = true }, "", "nodes=3" },
	{ { .exclusive = true }, "", "exclusive" },
	{ { H100_8, .gpu_mem_min_mb = 81920 }, "h100:8", "mem_min=81920" },
	{ { H100_8, .gpu_link = NEAR_LINK_NVLINK }, "h100:8", "link=nvlink" },
	{ { H100_8, .tmp_mb = 1 << 20, .replica_of = "chat", .ports = 2 }, "h100:8",
	        "tmp=1048576 service=chat ports=2" },
	{ { H100_8, .gpu_link = NEAR_LINK_PCIE, .nodes_min = 2, .gpus_per_node = true }, "h100:8",
	        "nodes=2 per_node link=pcie" },
	{ { H100_8, .gpu_mem_mb = 20480, .gpu_mem_burst_mb = 30720, .gpu_share_milli = 250 },
	        "h100:8", "gpu_mem=20480 gpu_burst=30720 gpu_share=250" },
	{ { .gpu_share_milli = 500 }, "any:1", "gpu_share=500" },
	{ { .constraint = " nvlink & ( ib | ! slow ) " }, "", "constraint=nvlink&(ib|!slow)" },
	{ { .prefer = "\tib" }, "", "prefer=ib" },
	{ { .nodelist = "n2" }, "", "nodelist=n2" },
	/* Not said how many: as many as are named. Sorted, in few letters. */
	{ { .nodelist = "n3,n0,n[1-2]" }, "", "nodes=4 nodelist=n[0-3]" },
	{ { .nodelist = "n1", .nodes_min = 2 }, "", "nodes=2 nodelist=n1" },
	{ { .nodelist = "n[1-2]", .nodes_max = 3 }, "", "nodes=2-3 nodelist=n[1-2]" },
	{ { .exclude = "n3,n1" }, "", "exclude=n[1,3]" },
	{ { .licences = "trtllm:2,other" }, "", "licences=other:1,trtllm:2" },
	{ { GPUS({ "h100", 8 }, { "l40s", 16 }), .nodes_min = 2, .nodes_max = 8,
	          .gpus_per_node = true, .exclusive = true, .gpu_mem_min_mb = 1, .constraint = "ib",
	          .prefer = "slow", .nodelist = "n0", .exclude = "n1", .licences = "other:2" },
	        "h100:8|l40s:16",
	        "nodes=2-8 per_node exclusive mem_min=1 constraint=ib prefer=slow nodelist=n0 "
	        "exclude=n1 licences=other:2" },
};

static void one_spelling(void **state)
{
	struct desk *d = *state;
	struct error err = { 0 };
	size_t i;

	for (i = 0; i < sizeof(spelled) / sizeof(spelled[0]); i++) {
		const struct request *r = requests_intern(d->requests, &spelled[i].job, &err), *row;

		if (!r)
			fail_msg("%s %s: %s", spelled[i].gpus, spelled[i].place, err.text);
		assert_string_equal(r->text, spelled[i].gpus);
		assert_string_equal(r->place, spelled[i].place);
		/* What a row says is the same. */
		row = requests_parse(d->requests, r->text, r->place, &err);
		assert_ptr_equal(row, r);
		requests_drop(d->requests, row);
		requests_drop(d->requests, r);
	}
}

static const struct {
	struct submit_job job;
	int code;
	const char *text;
} refused[] = {
	{ { GPUS({ "h100", 0 }) }, ERR_JOB_SPEC, "--gpus=h100:0: a count is 1 to 9999" },
	{ { GPUS({ "h1oo", 1 }) }, ERR_NO_GPU_TYPE, "--gpus=h1oo: there is no such GPU type" },
	{ { .nodes_min = 4, .nodes_max = 2 }, ERR_JOB_SPEC,
	        "--nodes=4-2: the least is above the most" },
	{ { .nodes_min = 70000 }, ERR_JOB_SPEC, "--nodes=70000: at most 65536 are possible" },
	{ { GPUS({ "h100", 4 }, { "l40s", 1 }), .nodes_min = 2 }, ERR_JOB_SPEC,
	        "--gpus=h100:4|l40s:1 for --nodes=2: fewer GPUs than nodes" },
	{ { .nodelist = "n[0-2]", .nodes_min = 2 }, ERR_JOB_SPEC,
	        "--nodelist=n[0-2]: 3 nodes, and --nodes asks for at most 2" },
	{ { .nodelist = "n[0-" }, ERR_JOB_SPEC, "--nodelist: '[0-'" },
	{ { .nodelist = "n1,n9" }, ERR_NO_NODE, "--nodelist: there is no node 'n9'" },
	{ { .exclude = "m1" }, ERR_NO_NODE, "--exclude: there is no node 'm1'" },
	{ { .nodelist = "n1", .exclude = "n[0-1]" }, ERR_JOB_NEVER, "--nodelist: n1 is excluded" },
	{ { .nodelist = "n1", .constraint = "ib" }, ERR_JOB_NEVER,
	        "--nodelist: n1 has not the features ib" },
	{ { .constraint = "nvlnik" }, ERR_JOB_SPEC,
	        "--constraint: no node has the feature 'nvlnik'; did you mean 'nvlink'?" },
	{ { .prefer = "ib|gold" }, ERR_JOB_SPEC, "--prefer: no node has the feature 'gold'" },
	{ { .constraint = "ib&" }, ERR_JOB_SPEC, "--constraint=ib&: a feature is missing" },
	{ { .constraint = "(ib" }, ERR_JOB_SPEC, "--constraint=(ib: a ) is missing" },
	{ { .constraint = "ib)" }, ERR_JOB_SPEC, "--constraint=ib): expected features joined by" },
	{ { .constraint = "ib slow" }, ERR_JOB_SPEC, "--constraint=ib slow: expected features" },
	{ { .constraint = "[ib|slow]" }, ERR_JOB_SPEC, "a feature is missing" },
	{ { .constraint = "ib*2" }, ERR_JOB_SPEC, "expected features joined by & (and), | (or)" },
	{ { .constraint = "\x1b" }, ERR_JOB_SPEC, "--constraint=\\x1B: a feature is missing" },
	{ { .constraint = "!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!ib" }, ERR_JOB_SPEC,
	        "nested more than 32 deep" },
	{ { .gpu_link = NEAR_LINK_PCIE }, ERR_JOB_SPEC,
	        "--gpu-link=pcie: the job asks for no GPU" },
	{ { .gpu_link = 9 }, ERR_JOB_SPEC, "--gpu-link: there is no 9" },
	{ { H100_8, .gpu_link = NEAR_LINK_NVLINK, .nodes_min = 2 }, ERR_JOB_SPEC,
	        "--gpu-link=nvlink: on several nodes it needs --gpus-per-node" },
	{ { H100_8, .gpu_link = NEAR_LINK_NUMA, .exclusive = true }, ERR_JOB_SPEC,
	        "--gpu-link=numa: with --exclusive a job has all GPUs of its nodes" },
	{ { H100_8, .gpu_link = NEAR_LINK_NUMA, .gpu_share_milli = 500 }, ERR_JOB_SPEC,
	        "--gpu-link=numa: applies to whole GPUs, the job asks for parts" },
	{ { .gpu_mem_min_mb = 81920 }, ERR_JOB_SPEC, "--gpu-mem-min=80G: the job asks for no GPU" },
	{ { GPUS({ "l40s", 1 }), .gpu_mem_min_mb = 81920 }, ERR_JOB_NEVER,
	        "--gpu-mem-min=80G: the largest GPU that --gpus=l40s:1 can be, l40s, has 48G" },
	{ { GPUS({ "any", 1 }), .gpu_mem_min_mb = 81921 }, ERR_JOB_NEVER, "h100, has 80G" },
	{ { GPUS({ "old", 1 }), .gpu_mem_min_mb = 1 }, ERR_JOB_NEVER,
	        "the configuration gives no memory for any GPU that --gpus=old:1 can be" },
	{ { .gpu_mem_mb = 20480, .gpu_mem_burst_mb = 20479 }, ERR_JOB_SPEC,
	        "--gpu-mem-burst=20479M: less than --gpu-mem=20G, which it is to exceed" },
	{ { .gpu_mem_burst_mb = 20480 }, ERR_JOB_SPEC, "--gpu-mem-burst: say with --gpu-mem" },
	{ { .gpu_share_milli = 1001 }, ERR_JOB_SPEC, "--gpu-share: more than all of a GPU" },
	{ { .gpu_mem_mb = 1, .exclusive = true }, ERR_JOB_SPEC,
	        "--exclusive asks for whole nodes" },
	{ { .licences = "trtlm" }, ERR_JOB_SPEC,
	        "--licenses: there is no licence 'trtlm'; did you mean 'trtllm'?" },
	{ { .licences = "trtllm:17" }, ERR_JOB_NEVER,
	        "--licenses=trtllm:17: there are 16 of them" },
	{ { .licences = "other,other:2" }, ERR_JOB_SPEC, "--licenses: 'other:2' twice" },
	{ { .licences = "other:0" }, ERR_JOB_SPEC, "'other:0': expected NAME or NAME:COUNT" },
	{ { .licences = "other:2x" }, ERR_JOB_SPEC, "'other:2x': expected NAME or NAME:COUNT" },
	{ { .licences = "other:" }, ERR_JOB_SPEC, "'other:': expected NAME or NAME:COUNT" },
	{ { .licences = "other," }, ERR_JOB_SPEC, "'': expected NAME or NAME:COUNT" },
	{ { .licences = "a b" }, ERR_JOB_SPEC, "'a b': expected NAME or NAME:COUNT" },
};

static void refusals(void **state)
{
	struct desk *d = *state;
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct error err = { 0 };

		if (requests_intern(d->requests, &refused[i].job, &err))
			fail_msg("taken: %s", refused[i].text);
		if (err.code != refused[i].code || !strstr(err.text, refused[i].text))
			fail_msg("'%s' (%d) without '%s'", err.text, err.code, refused[i].text);
	}
}

static void long_texts(void **state)
{
	struct desk *d = *state;
	struct submit_job job = { 0 };
	struct error err;
	char text[5001];

	memset(text, '!', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	job.constraint = text;
	assert_null(requests_intern(d->requests, &job, &err));
	assert_string_equal(err.text, "--constraint: more than 4096 bytes");
	job.constraint = NULL;
	job.nodelist = text;
	assert_null(requests_intern(d->requests, &job, &err));
	assert_string_equal(err.text, "--nodelist: more than 4096 bytes");
	/* Short as it was given, long in the spelling of rows. */
	job.nodelist = "n[0-9999]m9";
	assert_null(requests_intern(d->requests, &job, &err));
	assert_string_equal(err.text,
	        "--nodelist: too many names that have no common list (4096 bytes at most)");
	job.nodelist = NULL;
	job.licences = text;
	assert_null(requests_intern(d->requests, &job, &err));
	assert_string_equal(err.text, "--licenses: more than 4096 bytes");
}

/* Lists of many names: equal ones are one request however they are spelled and whether they were
 * read lately or not, and nodes that are gone since are missed. */
static void long_lists(void **state)
{
	struct desk *d = *state;
	struct conf *big = small(), *less = small();
	const struct request *r[20], *again;
	struct error err;
	char text[20][40];

	for (int i = 4; i < 100; i++) {
		places_node(big, (struct places_node){ 64, 65536, { 8 }, CONF_NONE });
		if (i < 99)
			places_node(less, (struct places_node){ 64, 65536, { 8 }, CONF_NONE });
	}
	requests_resolve(d->requests, big);
	/* More than are remembered, then the first ones anew. */
	for (int i = 0; i < 20; i++) {
		struct submit_job job = { .nodelist = text[i] };

		snprintf(text[i], sizeof(text[i]), "n[%d-99],n[0-%d]", i + 1, i);
		r[i] = requests_intern(d->requests, &job, &err);
		assert_non_null(r[i]);
		assert_string_equal(r[i]->place, "nodes=100 nodelist=n[0-99]");
		assert_ptr_equal(r[i], r[0]);
	}
	for (int i = 0; i < 20; i++) {
		struct submit_job job = { .nodelist = text[i] };

		again = requests_intern(d->requests, &job, &err);
		assert_ptr_equal(again, r[0]);
		requests_drop(d->requests, again);
	}
	/* The 100th is gone: the text is remembered, and refused all the same. */
	requests_resolve(d->requests, less);
	assert_null(
	        requests_intern(d->requests, &(struct submit_job){ .nodelist = text[19] }, &err));
	assert_int_equal(err.code, ERR_NO_NODE);
	assert_string_equal(err.text, "--nodelist: there is no node 'n99'");
	for (int i = 0; i < 20; i++)
		requests_drop(d->requests, r[i]);
	requests_resolve(d->requests, d->conf);
	places_conf_free(big);
	places_conf_free(less);
}

static void bad_rows(void **state)
{
	static const char *const places[] = { "nodes=2x", "nodes=-2", "nodes=", "nodes=4-2",
		"nodes=99999", "nodes=2 ", " nodes=2", "anywhere", "mem_min=1", "constraint=a&",
		"nodelist=n[", "licences=", "colour=blue" };
	struct desk *d = *state;
	struct error err;
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (requests_parse(d->requests, "", places[i], &err))
			fail_msg("taken: '%s'", places[i]);
		assert_int_equal(err.code, ERR_INTERNAL);
	}
}

/* Which of the four nodes, as letters. */
static const struct {
	const char *text, *nodes;
} sets[] = {
	{ "nvlink", "01" },
	{ "!nvlink", "23" },
	{ "nvlink&ib", "0" },
	{ "nvlink|ib", "012" },
	{ "nvlink|ib&slow", "012" },
	{ "(nvlink|ib)&slow", "2" },
	{ "!(nvlink|ib)", "3" },
	{ "!nvlink&!ib", "3" },
	{ "!!ib", "02" },
	{ "gone", "" },
	{ "!gone", "0123" },
	{ "gone|ib&!slow", "0" },
};

static void features(void **state)
{
	struct desk *d = *state;
	size_t i;

	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		char place[64], nodes[5] = "";
		const struct request *r;
		struct error err;
		uint32_t n;

		snprintf(place, sizeof(place), "constraint=%s", sets[i].text);
		r = requests_parse(d->requests, "", place, &err);
		assert_non_null(r);
		for (n = 0; n < 4; n++) {
			if (request_allows(r, n))
				strncat(nodes, &"0\0001\0002\0003"[2 * n], 1);
		}
		if (strcmp(nodes, sets[i].nodes))
			fail_msg("%s: '%s', not '%s'", sets[i].text, nodes, sets[i].nodes);
		requests_drop(d->requests, r);
	}
}

/* Names outlive a configuration. */
static void reload(void **state)
{
	struct desk *d = *state;
	struct conf *other = places_conf();
	struct submit_job job = { GPUS({ "h100", 1 }), .constraint = "ib", .licences = "other:2" };
	struct submit_job named = { .nodelist = "n3", .prefer = "slow" };
	struct error err;
	const struct request *r = requests_intern(d->requests, &job, &err),
	                     *on = requests_intern(d->requests, &named, &err);

	assert_true(request_allows(r, 0));
	assert_false(request_allows(r, 1));
	assert_int_equal(r->n_licences, 1);
	assert_int_equal(r->licences[0].licence, 1);
	assert_true(request_allows(on, 3));
	assert_false(request_allows(on, 2));
	assert_true(request_requires(on, 3));
	assert_true(request_prefers(on, 2));
	assert_false(request_prefers(on, 3));

	places_node(other, (struct places_node){ 64, 65536, { 8 }, CONF_NONE });
	places_node(other, (struct places_node){ 64, 65536, { 8 }, CONF_NONE });
	places_feature(other, 1, "ib");
	places_licence(other, "other", 1);
	requests_resolve(d->requests, other);
	assert_false(request_allows(r, 0));
	assert_true(request_allows(r, 1));
	assert_int_equal(r->licences[0].licence, 0);
	/* Its node is gone: none will do. */
	assert_false(request_allows(on, 0));
	assert_false(request_allows(on, 1));

	free(other->licences[0].name);
	other->n_licences = 0;
	requests_resolve(d->requests, other);
	assert_int_equal(r->n_licences, 0);
	assert_false(request_allows(r, 1));

	requests_resolve(d->requests, d->conf);
	assert_true(request_allows(r, 0));
	assert_true(request_allows(on, 3));
	requests_drop(d->requests, r);
	requests_drop(d->requests, on);
	places_conf_free(other);
}

static void types(void **state)
{
	struct desk *d = *state;
	struct submit_job job = { GPUS({ "any", 2 }, { "h100", 3 }), .gpu_mem_min_mb = 49152 };
	struct error err;
	const struct request *r = requests_intern(d->requests, &job, &err);

	assert_true(request_type_ok(r, d->conf, 0, H100));
	assert_true(request_type_ok(r, d->conf, 0, L40S));
	assert_false(request_type_ok(r, d->conf, 0, OLD));
	assert_false(request_type_ok(r, d->conf, 0, TYPE_NONE));
	assert_true(request_type_ok(r, d->conf, 1, H100));
	assert_false(request_type_ok(r, d->conf, 1, L40S));
	assert_int_equal(request_part_gpus(r, 1), 3);
	requests_drop(d->requests, r);
	r = requests_parse(d->requests, "h100:6", "nodes=2-4", &err);
	assert_int_equal(request_part_gpus(r, 0), 1);
	assert_int_equal(request_all_gpus(r, 0, 3), 6);
	requests_drop(d->requests, r);
	r = requests_parse(d->requests, "h100:6", "nodes=2-4 per_node", &err);
	assert_int_equal(request_part_gpus(r, 0), 6);
	assert_int_equal(request_all_gpus(r, 0, 3), 18);
	requests_drop(d->requests, r);
	r = requests_parse(d->requests, "", "nodes=2", &err);
	assert_true(request_type_ok(r, d->conf, 0, TYPE_NONE));
	assert_false(request_type_ok(r, d->conf, 0, H100));
	assert_int_equal(request_part_gpus(r, 0), 0);
	requests_drop(d->requests, r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_spelling, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_texts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_lists, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bad_rows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(features, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reload, set_up, tear_down),
		cmocka_unit_test_setup_teardown(types, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
