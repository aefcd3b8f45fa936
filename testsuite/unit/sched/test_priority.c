/* test_priority.c - factors of priority, and their sum */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ctld/core/accounts/priority_factors.h"
#include "testsuite/unit/lib/policy_conf.h"

static void factors_by_themselves(void **state)
{
	struct conf *conf = policy_conf();
	uint32_t normal = policy_qos(conf, "normal", 0), high = policy_qos(conf, "high", 50),
	         low = policy_qos(conf, "low", -100), small = policy_partition(conf, "small");

	(void)state;
	conf->priority.age_max_s = 1000;
	assert_float_equal(prio_age(conf, -5), 0, 1e-12);
	assert_float_equal(prio_age(conf, 250), 0.25, 1e-12);
	assert_float_equal(prio_age(conf, 5000), 1, 1e-12);
	conf->priority.age_max_s = 0;
	assert_float_equal(prio_age(conf, 5000), 0, 1e-12);
	assert_float_equal(prio_qos(conf, CONF_NONE), 0, 1e-12);
	assert_float_equal(prio_qos(conf, normal), 0, 1e-12);
	assert_float_equal(prio_qos(conf, high), 0.5, 1e-12);
	assert_float_equal(prio_qos(conf, low), -1, 1e-12);
	assert_float_equal(prio_partition(conf, 0), 0, 1e-12);
	conf->partitions[0].priority = 10;
	conf->partitions[small].priority = 40;
	assert_float_equal(prio_partition(conf, 0), 0.25, 1e-12);
	assert_float_equal(prio_partition(conf, small), 1, 1e-12);
	assert_float_equal(prio_size(64, 1000, 16, 100), 0.25, 1e-12);
	assert_float_equal(prio_size(64, 1000, 0, 100), 0.1, 1e-12);
	assert_float_equal(prio_size(0, 0, 4, 4), 0, 1e-12);
	assert_float_equal(prio_size(2, 4, 4, 4), 1, 1e-12);
	assert_float_equal(prio_wait(100, 0), 0, 1e-12);
	assert_float_equal(prio_wait(0, 100), 0, 1e-12);
	assert_float_equal(prio_wait(50, 100), 0.25, 1e-12);
	assert_float_equal(prio_wait(300, 100), 1, 1e-12);
	policy_conf_free(conf);
}

static void the_sum(void **state)
{
	struct conf *conf = policy_conf();
	struct prio_parts p;

	(void)state;
	conf->priority = (struct conf_priority){ .age = 1000,
		.fair_share = 10000,
		.size = 500,
		.partition = 1000,
		.qos = 5000,
		.wait_target = 5000 };
	prio_parts(conf, &(struct factors){ 0.5, 0.25, 0.1, 1, -0.5, 0.04 }, 7, &p);
	assert_int_equal(p.age, 500);
	assert_int_equal(p.fair_share, 2500);
	assert_int_equal(p.size, 50);
	assert_int_equal(p.partition, 1000);
	assert_int_equal(p.qos, -2500);
	assert_int_equal(p.wait, 200);
	assert_int_equal(p.nice, 7);
	assert_int_equal(p.total, 500 + 2500 + 50 + 1000 - 2500 + 200 - 7);
	/* Rounded to the nearest, each part by itself. */
	conf->priority.age = 3;
	prio_parts(conf, &(struct factors){ .age = 0.5, .qos = -0.00012 }, -2, &p);
	assert_int_equal(p.age, 2);
	assert_int_equal(p.qos, -1);
	assert_int_equal(p.total, 2 - 1 + 2);
	policy_conf_free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(factors_by_themselves),
		cmocka_unit_test(the_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
