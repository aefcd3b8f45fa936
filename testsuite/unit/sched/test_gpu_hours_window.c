/* test_gpu_hours_window.c - GPU-hours within a sliding time */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/core/limits/limits.h"
#include "ctld/core/rows/row_codec.h"
#include "testsuite/unit/lib/policy_conf.h"

#define HOUR ((usec_t)3600 * 1000000)
#define DAY  (24 * HOUR)
#define T0   (20000 * DAY)
#define GPU  1000 /* thousandths */

struct lab {
	struct conf *conf;
	struct strings *strings;
	struct dirty *dirty;
	struct hours *h;
	struct clocks now;
	uint32_t research, vision, normal;
};

static void limit(struct conf_limits *l, uint64_t hours, uint32_t window_s)
{
	l->gpu_hours = hours;
	l->gpu_hours_window_s = window_s;
}

static struct lab lab(void)
{
	struct lab l = { .conf = policy_conf(),
		.strings = strings_new(1),
		.dirty = dirty_new(),
		.now = { T0, 77 * HOUR } };

	l.research = policy_account(l.conf, "research", CONF_NONE);
	l.vision = policy_account(l.conf, "vision", l.research);
	l.normal = policy_qos(l.conf, "normal", 0);
	l.h = hours_new(l.strings, l.dirty, 1);
	return l;
}

static void free_gone(void *arg, struct mark *mark, bool put, bool gone)
{
	(void)put;
	if (gone)
		piece_free(arg, (struct piece *)mark);
}

static void lab_free(struct lab *l)
{
	dirty_drain(l->dirty, free_gone, l->h);
	hours_free(l->h);
	assert_int_equal(strings_count(l->strings), 0);
	strings_free(l->strings);
	dirty_free(l->dirty);
	policy_conf_free(l->conf);
}

static void pass(struct lab *l, usec_t time)
{
	l->now.wall += time;
	l->now.mono += time;
	hours_time(l->h, l->now);
}

static const struct hours_of ana = { "vision", "normal", "batch", 7 };

static uint64_t gpu_hours(struct lab *l, enum hours_scope scope, uint32_t index, uint32_t uid)
{
	return hours_used(l->h, scope, index, uid) / (uint64_t)HOUR;
}

static void where_it_counts(void **state)
{
	struct lab l = lab();
	struct hours_of li = { "vision", "", "batch", 9 };

	(void)state;
	limit(&l.conf->accounts[l.research].limits, 100, 30 * 86400);
	limit(&l.conf->accounts[l.vision].per_user, 100, 30 * 86400);
	limit(&l.conf->qos[l.normal].limits, 100, 30 * 86400);
	limit(&l.conf->partitions[0].per_user, 100, 30 * 86400);
	hours_configure(l.h, l.conf, l.now);
	hours_bill(l.h, &ana, 4 * GPU, T0 - 2 * HOUR, T0, T0);
	hours_bill(l.h, &li, 1 * GPU, T0 - HOUR, T0, T0);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.research, HOURS_ALL), 9);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, 7), 8);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, 9), 1);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, 10), 0);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 0); /* no limit */
	assert_int_equal(gpu_hours(&l, HOURS_QOS, l.normal, HOURS_ALL), 8);
	assert_int_equal(gpu_hours(&l, HOURS_PARTITION, 0, 7), 8);
	/* A true record comes late. */
	hours_unbill(l.h, &ana, 3 * (uint64_t)HOUR);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.research, HOURS_ALL), 6);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, 7), 5);
	lab_free(&l);
}

static void it_slides(void **state)
{
	struct lab l = lab();

	(void)state;
	limit(&l.conf->accounts[l.vision].limits, 100, 32 * 86400); /* pieces of a day */
	hours_configure(l.h, l.conf, l.now);
	/* Ten days with one GPU, up to now. */
	hours_bill(l.h, &ana, 1 * GPU, T0 - 10 * DAY, T0, T0);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 240);
	pass(&l, 22 * DAY);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 240);
	pass(&l, DAY);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 216);
	pass(&l, 8 * DAY);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 24);
	pass(&l, DAY);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 0);
	/* Of a run longer than the time only the last part counts. */
	hours_bill(l.h, &ana, 1 * GPU, l.now.wall - 300 * DAY, l.now.wall, l.now.wall);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 32 * 24);
	/* From a clock that was far ahead nothing stays. */
	hours_bill(l.h, &ana, 1 * GPU, l.now.wall + 90 * DAY, l.now.wall + 91 * DAY, l.now.wall);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 32 * 24);
	lab_free(&l);
}

static void parts_count_as_parts(void **state)
{
	struct lab l = lab();
	usec_t since = l.now.mono;

	(void)state;
	limit(&l.conf->accounts[l.vision].limits, 100, 86400);
	hours_configure(l.h, l.conf, l.now);
	hours_bill(l.h, &ana, GPU / 4, T0 - 8 * HOUR, T0, T0);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 2);
	hours_meter_on(l.h, &ana, GPU / 4, since);
	pass(&l, 12 * HOUR);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 5);
	hours_meter_off(l.h, &ana, GPU / 4, since);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 2);
	lab_free(&l);
}

static void what_runs_counts(void **state)
{
	struct lab l = lab();
	usec_t since = l.now.mono;

	(void)state;
	limit(&l.conf->accounts[l.vision].limits, 100, 86400);
	hours_configure(l.h, l.conf, l.now);
	assert_true(hours_meter_on(l.h, &ana, 8 * GPU, since) == since);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 0);
	pass(&l, 3 * HOUR);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 24);
	/* One that begins before time goes on takes nothing from others. */
	since = hours_meter_on(l.h, &ana, 1 * GPU, l.now.mono + 1000);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 24);
	pass(&l, HOUR);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 33);
	hours_meter_off(l.h, &ana, 1 * GPU, since);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 32);
	/* No longer than the time. */
	pass(&l, 100 * HOUR);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 8 * 24);
	/* Another configuration forgets meters: they are put on again. */
	hours_configure(l.h, l.conf, l.now);
	assert_int_equal(gpu_hours(&l, HOURS_ACCOUNT, l.vision, HOURS_ALL), 0);
	lab_free(&l);
}

static void at_the_gate(void **state)
{
	struct lab l = lab();
	struct need gpu = { .type = H100, .gpus = 1 }, cpu = { .type = TYPE_NONE, .cpus = 4 };
	struct limit_chain *chain;
	struct limit_block block;
	struct limits *g;
	size_t n;

	(void)state;
	limit(&l.conf->accounts[l.research].per_user, 10, 32 * 86400);
	hours_configure(l.h, l.conf, l.now);
	g = limits_new(l.conf, 1);
	chain = limits_chain(g, l.vision, 7, CONF_NONE, 0);
	assert_true(limits_check(g, chain, &gpu, NULL)); /* nothing is known */
	limits_set_hours(g, l.h);
	limits_time(g, l.now);
	hours_bill(l.h, &ana, 1 * GPU, T0 - 10 * HOUR + 1, T0, T0);
	assert_true(limits_check(g, chain, &gpu, NULL));
	hours_bill(l.h, &ana, 1 * GPU, T0 - 1, T0, T0);
	assert_false(limits_check(g, chain, &gpu, &block));
	assert_string_equal(block.reason, "AssocMaxGRESMinutesPerUser");
	assert_string_equal(
	        block.text, "research: limit 10 GPU-hours a user in 32-00:00:00, used 10");
	assert_true(limits_check(g, chain, &cpu, NULL));
	/* Its end releases nothing there, but its bill is worth a look; time does. */
	limits_take(g, chain, &gpu);
	limits_of_need(g, chain, &gpu, &n);
	assert_int_equal(n, 0);
	assert_int_equal(limits_of_hours(g, chain, &n)[0], block.limit);
	assert_int_equal(n, 1);
	limits_release(g, chain, &gpu);
	pass(&l, 33 * DAY);
	limits_time(g, l.now);
	assert_true(limits_check(g, chain, &gpu, NULL));
	limit_chain_free(g, chain);
	limits_free(g);
	lab_free(&l);
}

/* --- rows ------------------------------------------------------------------------------------ */

struct copy {
	struct hours *from, *to;
};

static void copy_row(void *arg, struct mark *mark, bool put, bool gone)
{
	struct copy *c = arg;
	struct error err;
	struct row row;

	if (!gone) {
		assert_true(put);
		piece_encode((const struct piece *)mark, &row, ROW_PUT);
		assert_int_equal(row_check(&row, &err), 0);
		assert_int_equal(hours_load(c->to, &row, &err), 0);
		assert_int_equal(hours_load(c->to, &row, &err), -1);
	} else {
		piece_free(c->from, (struct piece *)mark);
	}
}

static void rows_carry_all(void **state)
{
	struct lab l = lab();
	struct strings *strings = strings_new(2);
	struct dirty *dirty = dirty_new();
	struct hours *other = hours_new(strings, dirty, 2);
	struct copy copy = { l.h, other };

	(void)state;
	limit(&l.conf->accounts[l.vision].limits, 100, 86400);
	limit(&l.conf->partitions[0].per_user, 100, 7 * 86400);
	hours_configure(l.h, l.conf, l.now);
	for (int i = 0; i < 20; i++) {
		hours_bill(l.h, &ana, (1 + i % 3) * GPU, l.now.wall - i * HOUR, l.now.wall,
		        l.now.wall);
		pass(&l, 11 * HOUR);
		/* Pieces of other lengths stand beside one another. */
		if (i == 9) {
			limit(&l.conf->accounts[l.vision].limits, 100, 5 * 86400);
			hours_configure(l.h, l.conf, l.now);
		}
	}
	dirty_drain(l.dirty, copy_row, &copy);
	hours_configure(other, l.conf, l.now);
	hours_configure(l.h, l.conf, l.now);
	assert_true(hours_hash(other) == hours_hash(l.h));
	assert_int_equal(hours_used(other, HOURS_ACCOUNT, l.vision, HOURS_ALL),
	        hours_used(l.h, HOURS_ACCOUNT, l.vision, HOURS_ALL));
	assert_true(hours_used(other, HOURS_PARTITION, 0, 7) > 0);
	dirty_drain(dirty, free_gone, other);
	hours_free(other);
	strings_free(strings);
	dirty_free(dirty);
	lab_free(&l);
}

/* --- against a model that knows each run ----------------------------------------------------- */

#define RUNS 300

static uint64_t rng = 88172645463325252ull;

static uint64_t pick(uint64_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 11) % n;
}

static uint64_t exact(const usec_t (*runs)[3], size_t n, usec_t from)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		usec_t begin = runs[i][0] > from ? runs[i][0] : from;

		if (runs[i][1] > begin)
			sum += (uint64_t)((runs[i][1] - begin) * runs[i][2]);
	}
	return sum;
}

static void against_a_model(void **state)
{
	const usec_t span = 7 * DAY;
	usec_t(*runs)[3] = xcalloc(RUNS, sizeof(*runs));
	struct lab l = lab();

	(void)state;
	limit(&l.conf->accounts[l.vision].limits, 100, (uint32_t)(span / 1000000));
	hours_configure(l.h, l.conf, l.now);
	for (size_t n = 0; n < RUNS; n++) {
		uint64_t used, low, high;

		pass(&l, (usec_t)pick(12 * (uint64_t)HOUR));
		runs[n][1] = l.now.wall - (usec_t)pick(1000);
		runs[n][0] = runs[n][1] - (usec_t)pick(3 * (uint64_t)DAY);
		runs[n][2] = 1 + (usec_t)pick(8);
		hours_bill(
		        l.h, &ana, (uint32_t)runs[n][2] * GPU, runs[n][0], runs[n][1], l.now.wall);
		used = hours_used(l.h, HOURS_ACCOUNT, l.vision, HOURS_ALL);
		low = exact((const usec_t(*)[3])runs, n + 1, l.now.wall - span);
		high = exact((const usec_t(*)[3])runs, n + 1, l.now.wall - span - span / 32);
		assert_in_range(used, low, high);
	}
	free(runs);
	lab_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_it_counts),
		cmocka_unit_test(it_slides),
		cmocka_unit_test(parts_count_as_parts),
		cmocka_unit_test(what_runs_counts),
		cmocka_unit_test(at_the_gate),
		cmocka_unit_test(rows_carry_all),
		cmocka_unit_test(against_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
