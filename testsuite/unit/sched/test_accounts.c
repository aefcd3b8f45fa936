/* test_accounts.c - prices, decay, usage of users in accounts, their ranks, rows */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/core/accounts/accounts.h"
#include "ctld/core/accounts/cost_and_decay.h"
#include "ctld/core/core.h"
#include "ctld/core/request/requests.h"
#include "ctld/core/rows/row_codec.h"
#include "testsuite/unit/lib/policy_conf.h"

#define HOUR ((usec_t)3600 * 1000000)
#define DAY  (24 * HOUR)
#define T0   (20000 * DAY)

/* --- prices and decay ------------------------------------------------------------------------ */

static void prices(void **state)
{
	struct conf *conf = policy_conf();

	(void)state;
	conf->prices.cpu = 0.01;
	conf->prices.mem_gb = 0.001;
	assert_float_equal(usage_cost(conf, H100, 2, 28, 440 * 1024, 3 * HOUR / 2),
	        1.5 * (2 * 2.5 + 0.28 + 0.44), 1e-9);
	assert_float_equal(usage_cost(conf, TYPE_NONE, 0, 10, 0, HOUR), 0.1, 1e-12);
	/* A GPU of a type that has no price (any more). */
	assert_float_equal(usage_cost(conf, TYPE_GONE, 4, 10, 0, HOUR), 0.1, 1e-12);
	assert_int_equal(usage_cost_u(conf, L40S, 1, 0, 0, HOUR, 0.25), 225000);
	assert_int_equal(usage_cost_u(conf, L40S, 0.25, 0, 0, HOUR, 1), 225000);
	assert_int_equal(usage_cost_u(conf, L40S, 1, 0, 0, 1, 1), 0);
	assert_int_equal(usage_cost_u(conf, L40S, 1, 0, 0, 2001, 1), 1);
	/* No price at all. */
	conf->prices.cpu = conf->prices.mem_gb = 0;
	conf->gpu_types[H100].price = conf->gpu_types[L40S].price = 0;
	assert_float_equal(usage_cost(conf, H100, 8, 100, 1024, HOUR), 8, 1e-12);
	assert_float_equal(usage_cost(conf, TYPE_NONE, 0, 50, 1024, HOUR), 0.5, 1e-12);
	policy_conf_free(conf);
}

static void powers(void **state)
{
	(void)state;
	for (double x = -60; x < 60; x += 0.0137)
		assert_true(fabs(usage_exp2(x) / exp2(x) - 1) < 1e-15);
	assert_true(usage_exp2(10) == 1024 && usage_exp2(-3) == 0.125);
	assert_true(usage_exp2(-2000) == 0 && isinf(usage_exp2(2000)));
}

static void decay(void **state)
{
	const uint32_t life = 14 * 24 * 3600;
	double x;

	(void)state;
	assert_float_equal(usage_decay(800, 28 * DAY, life), 200, 1e-9);
	assert_float_equal(usage_decay(800, -5, life), 800, 0);
	assert_float_equal(usage_decay(800, 500 * DAY, 0), 800, 0);
	/* The same value at the same time, by whatever common moment: a power of two apart,
	 * exactly. */
	x = usage_scale(1234567, T0 + 3 * DAY, usage_epoch(T0, life), life);
	assert_true(x ==
	            usage_scale(1234567, T0 + 3 * DAY, usage_epoch(T0, life) + 14 * DAY, life) * 2);
	assert_true(
	        x ==
	        usage_scale(1234567, T0 + 3 * DAY, usage_epoch(T0, life) - 140 * DAY, life) / 1024);
	/* Scaled values compare as decayed ones do. */
	assert_float_equal(usage_scale(100, T0, usage_epoch(T0, life), life) /
	                           usage_scale(100, T0 + 14 * DAY, usage_epoch(T0, life), life),
	        0.5, 1e-12);
	assert_int_equal(usage_epoch(T0, 0), 0);
	assert_true(usage_scale(7, T0, 0, 0) == 7);
}

/* --- accounts -------------------------------------------------------------------------------- */

struct lab {
	struct conf *conf;
	struct strings *strings;
	struct dirty *dirty;
	struct accounts *as;
	struct clocks now;
	uint32_t research, vision, guest;
};

static void no_row(void *arg, struct mark *mark, bool put, bool gone)
{
	size_t *rows = arg;

	assert_int_equal(mark->table, TABLE_USAGE);
	assert_true(put && !gone);
	++*rows;
}

static size_t rows(struct lab *l)
{
	size_t n = 0;

	dirty_drain(l->dirty, no_row, &n);
	return n;
}

static struct conf *lab_conf(void)
{
	struct conf *conf = policy_conf();
	uint32_t research = policy_account(conf, "research", CONF_NONE);

	policy_account(conf, "vision", research);
	policy_account(conf, "guest", CONF_NONE);
	conf->priority.half_life_s = 14 * 24 * 3600;
	return conf;
}

static struct lab lab(struct conf *conf)
{
	struct lab l = { .conf = conf,
		.strings = strings_new(1),
		.dirty = dirty_new(),
		.now = { T0, 500 * HOUR },
		.research = 0,
		.vision = 1,
		.guest = 2 };

	l.as = accounts_new(l.strings, l.dirty, 1);
	accounts_configure(l.as, conf, l.now);
	return l;
}

static void lab_free(struct lab *l)
{
	rows(l);
	accounts_free(l->as);
	assert_int_equal(strings_count(l->strings), 0);
	strings_free(l->strings);
	dirty_free(l->dirty);
	policy_conf_free(l->conf);
}

static void pass(struct lab *l, usec_t time)
{
	l->now.wall += time;
	l->now.mono += time;
}

static void bill(struct lab *l, struct assoc *a, int64_t cost, int64_t gpu_s)
{
	accounts_bill(l->as, a,
	        &(struct usage_bill){ gpu_s * 1000000, gpu_s * 2000000, cost * USAGE_MICRO, 1 },
	        l->now.wall);
}

static bool line(const struct lab *l, const char *account, const char *user, struct share_view *v)
{
	size_t cursor = 0;

	while (accounts_next(l->as, &cursor, v)) {
		if (!strcmp(v->account, account) && !strcmp(v->user, user))
			return true;
	}
	return false;
}

static void sums_go_up_the_tree(void **state)
{
	struct lab l = lab(lab_conf());
	struct assoc *ana = accounts_want(l.as, "vision", 7, "ana"),
	             *pi = accounts_want(l.as, "research", 8, "pi");
	struct share_view v;

	(void)state;
	assert_int_equal(assoc_account(ana), l.vision);
	bill(&l, ana, 10, 100);
	bill(&l, ana, 5, 50);
	bill(&l, pi, 1, 10);
	/* A correction: one run had been 20 GPU-seconds too long. */
	accounts_bill(
	        l.as, ana, &(struct usage_bill){ -20000000, -40000000, -2000000, 0 }, l.now.wall);
	accounts_rank(l.as, l.now);
	assert_true(line(&l, "vision", "ana", &v));
	assert_int_equal(v.gpu_us, 130000000);
	assert_int_equal(v.cpu_us, 260000000);
	assert_float_equal(v.cost, 13, 1e-9);
	assert_float_equal(v.usage, 13, 1e-6);
	assert_int_equal(v.depth, 2);
	assert_true(line(&l, "research", "", &v));
	assert_int_equal(v.gpu_us, 140000000);
	assert_float_equal(v.cost, 14, 1e-9);
	assert_float_equal(v.effective, 1, 1e-9);
	assert_true(line(&l, "guest", "", &v));
	assert_int_equal(v.gpu_us, 0);
	assert_int_equal(rows(&l), 2);
	assoc_drop(l.as, ana);
	assoc_drop(l.as, pi);
	lab_free(&l);
}

static void half_is_forgotten(void **state)
{
	struct lab l = lab(lab_conf());
	struct assoc *ana = accounts_want(l.as, "vision", 7, "ana"),
	             *li = accounts_want(l.as, "vision", 9, "li");
	struct share_view v;

	(void)state;
	bill(&l, ana, 100, 1);
	pass(&l, 28 * DAY);
	bill(&l, li, 30, 1);
	accounts_rank(l.as, l.now);
	/* 25 are left of ana's 100. */
	assert_true(line(&l, "vision", "ana", &v));
	assert_float_equal(v.usage, 25, 1e-6);
	assert_float_equal(v.cost, 100, 1e-6);
	assert_int_equal(v.rank, 1);
	bill(&l, ana, 10, 1);
	accounts_rank(l.as, l.now);
	assert_true(line(&l, "vision", "ana", &v));
	assert_float_equal(v.usage, 35, 1e-6);
	assert_int_equal(v.rank, 2);
	/* So long that the sums are scaled anew, and on. */
	for (int i = 0; i < 5; i++) {
		pass(&l, 60 * 14 * DAY);
		bill(&l, li, 30 + i, 1);
		accounts_rank(l.as, l.now);
		assert_true(line(&l, "vision", "li", &v));
		assert_float_equal(v.usage, 30 + i, 1e-6);
	}
	/* Clocks that go back. */
	l.now.wall -= 4000 * DAY;
	bill(&l, ana, 1, 1);
	accounts_rank(l.as, l.now);
	assert_true(line(&l, "vision", "ana", &v));
	assert_true(isfinite(v.usage) && v.usage >= 1);
	assoc_drop(l.as, ana);
	assoc_drop(l.as, li);
	lab_free(&l);
}

static void what_runs_counts(void **state)
{
	struct lab l = lab(lab_conf());
	struct assoc *ana = accounts_want(l.as, "vision", 7, "ana"),
	             *li = accounts_want(l.as, "vision", 9, "li");
	struct usage_meter m = { 8 * USAGE_MICRO, l.now.mono }, other = { 3, l.now.mono + HOUR };
	struct share_view v;

	(void)state;
	bill(&l, li, 10, 1);
	accounts_rank(l.as, l.now);
	assert_false(accounts_stale(l.as));
	accounts_meter_on(l.as, ana, &m);
	accounts_meter_on(l.as, li, &other); /* not yet */
	assert_true(accounts_stale(l.as));
	pass(&l, HOUR / 2);
	accounts_rank(l.as, l.now);
	assert_true(line(&l, "vision", "ana", &v));
	assert_float_equal(v.usage, 4, 1e-3);
	assert_float_equal(v.cost, 0, 0);
	assert_int_equal(v.rank, 1);
	assert_true(line(&l, "vision", "li", &v));
	assert_float_equal(v.usage, 10, 2e-2);
	pass(&l, HOUR);
	accounts_rank(l.as, l.now);
	assert_true(line(&l, "vision", "ana", &v));
	assert_float_equal(v.usage, 12, 1e-3);
	assert_int_equal(v.rank, 2);
	accounts_meter_off(l.as, ana, &m);
	accounts_meter_off(l.as, li, &other);
	accounts_rank(l.as, l.now);
	assert_false(accounts_stale(l.as));
	assert_true(line(&l, "vision", "ana", &v));
	assert_float_equal(v.usage, 0, 0);
	assert_int_equal(v.rank, 1);
	assoc_drop(l.as, ana);
	assoc_drop(l.as, li);
	lab_free(&l);
}

static void another_configuration(void **state)
{
	struct lab l = lab(lab_conf());
	struct assoc *ana = accounts_want(l.as, "vision", 7, "ana");
	struct conf *old = l.conf, *without = policy_conf();
	struct share_view v;

	(void)state;
	bill(&l, ana, 10, 100);
	/* vision leaves: what was used there stays under its name, beside the tree. */
	policy_account(without, "research", CONF_NONE);
	without->priority = old->priority;
	accounts_configure(l.as, without, l.now);
	assert_int_equal(assoc_account(ana), CONF_NONE);
	assert_float_equal(assoc_fair_share(ana), 0, 0);
	assert_true(line(&l, "vision", "ana", &v));
	assert_int_equal(v.depth, 0);
	assert_int_equal(v.rank, 0);
	assert_float_equal(v.cost, 10, 1e-9);
	assert_true(line(&l, "research", "", &v));
	assert_float_equal(v.cost, 0, 0);
	bill(&l, ana, 1, 10);
	/* It comes back, elsewhere in the tree. */
	l.conf = policy_conf();
	policy_account(l.conf, "other", CONF_NONE);
	policy_account(l.conf, "vision", 0);
	accounts_configure(l.as, l.conf, l.now);
	policy_conf_free(old);
	policy_conf_free(without);
	assert_int_equal(assoc_account(ana), 1);
	assert_true(line(&l, "other", "", &v));
	assert_float_equal(v.cost, 11, 1e-9);
	assert_float_equal(assoc_fair_share(ana), 1, 0);
	assoc_drop(l.as, ana);
	lab_free(&l);
}

/* Names of accounts mean nothing then: nobody gains by inventing some. */
static void no_accounts(void **state)
{
	struct lab l = lab(policy_conf());
	struct assoc *ana = accounts_want(l.as, "", 7, "ana"),
	             *li = accounts_want(l.as, "", 9, "li"), *again;

	(void)state;
	bill(&l, ana, 10, 10);
	bill(&l, li, 1, 1);
	accounts_order(l.as, l.now);
	assert_float_equal(assoc_fair_share(li), 1, 0);
	assert_float_equal(assoc_fair_share(ana), 0.5, 1e-9);
	again = accounts_want(l.as, "fresh", 7, "ana");
	assert_float_equal(assoc_fair_share(again), 0.5, 1e-9);
	accounts_order(l.as, l.now);
	assert_float_equal(assoc_fair_share(again), 0.5, 1e-9);
	assoc_drop(l.as, ana);
	assoc_drop(l.as, li);
	assoc_drop(l.as, again);
	lab_free(&l);
}

static void newcomers(void **state)
{
	struct lab l = lab(lab_conf());
	struct assoc *ana = accounts_want(l.as, "vision", 7, "ana"),
	             *li = accounts_want(l.as, "guest", 9, "li"), *new;
	size_t cursor = 0, n = 0;

	(void)state;
	bill(&l, ana, 10, 10);
	bill(&l, li, 1, 1);
	accounts_order(l.as, l.now);
	/* Before all others of the account, not of the cluster. */
	new = accounts_want(l.as, "vision", 10, "new");
	assert_float_equal(assoc_fair_share(new), 0.5, 1e-9);
	accounts_order(l.as, l.now);
	assert_float_equal(assoc_fair_share(new), 2.0 / 3, 1e-9);
	/* Whom nobody remembers and who used nothing goes. */
	assoc_drop(l.as, new);
	assoc_drop(l.as, ana);
	accounts_order(l.as, l.now);
	while (accounts_each(l.as, &cursor))
		n++;
	assert_int_equal(n, 2);
	assert_float_equal(assoc_fair_share(ana), 0.5, 1e-9);
	assoc_drop(l.as, li);
	lab_free(&l);
}

/* Between two orderings no question changes what jobs are ordered by. */
static void questions_leave_the_order(void **state)
{
	struct lab l = lab(lab_conf());
	struct assoc *ana = accounts_want(l.as, "vision", 7, "ana"),
	             *li = accounts_want(l.as, "guest", 9, "li");
	double before;
	struct share_view v;

	(void)state;
	bill(&l, li, 1, 1);
	accounts_order(l.as, l.now);
	before = assoc_fair_share(ana);
	bill(&l, ana, 10, 10);
	accounts_rank(l.as, l.now);
	assert_false(accounts_stale(l.as));
	assert_float_equal(assoc_fair_share(ana), before, 0);
	assert_true(line(&l, "vision", "ana", &v));
	assert_true(v.fair_share < before);
	accounts_order(l.as, l.now);
	assert_float_equal(assoc_fair_share(ana), v.fair_share, 0);
	assoc_drop(l.as, ana);
	assoc_drop(l.as, li);
	lab_free(&l);
}

static void listed_depth_first(void **state)
{
	static const char *const want[] = { "research ", "research pi", "lang ", "vision ",
		"vision ana", "vision li", "guest ", "guest zoe", "gone bob" };
	struct conf *conf = policy_conf();
	struct assoc *v[5];
	struct share_view view;
	char text[100];
	size_t cursor = 0;
	struct lab l;

	(void)state;
	policy_account(conf, "research", CONF_NONE);
	policy_account(conf, "guest", CONF_NONE);
	policy_account(conf, "lang", 0);
	policy_account(conf, "vision", 0);
	l = lab(conf);
	v[0] = accounts_want(l.as, "vision", 9, "li");
	v[1] = accounts_want(l.as, "vision", 7, "ana");
	v[2] = accounts_want(l.as, "guest", 5, "zoe");
	v[3] = accounts_want(l.as, "research", 11, "pi");
	v[4] = accounts_want(l.as, "gone", 12, "bob");
	accounts_rank(l.as, l.now);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_true(accounts_next(l.as, &cursor, &view));
		snprintf(text, sizeof(text), "%s %s", view.account, view.user);
		assert_string_equal(text, want[i]);
	}
	assert_false(accounts_next(l.as, &cursor, &view));
	for (int i = 0; i < 5; i++)
		assoc_drop(l.as, v[i]);
	lab_free(&l);
}

/* --- rows ------------------------------------------------------------------------------------ */

struct copy {
	struct accounts *to;
	size_t n;
};

static void copy_row(void *arg, struct mark *mark, bool put, bool gone)
{
	struct copy *c = arg;
	struct error err;
	struct row row;

	(void)put;
	(void)gone;
	assoc_encode((const struct assoc *)mark, &row, ROW_PUT);
	assert_int_equal(row_check(&row, &err), 0);
	assert_int_equal(accounts_load(c->to, &row, &err), 0);
	c->n++;
	if (c->n == 1) {
		assert_int_equal(accounts_load(c->to, &row, &err), -1);
		assert_non_null(strstr(err.text, "is there twice"));
	}
}

/* Loaded at another time, with another common moment: the same ranks to the last bit. */
static void rows_carry_all(void **state)
{
	struct lab l = lab(lab_conf()), other = { 0 };
	struct assoc *v[30];
	struct copy copy;
	char name[20];
	size_t cursor = 0, again = 0;
	struct share_view a, b;

	(void)state;
	for (uint32_t i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "u%u", i % 15);
		v[i] = accounts_want(l.as, i < 15 ? "vision" : "guest", i % 15, name);
		pass(&l, DAY * (i % 7));
		bill(&l, v[i], 1 + i * 7 % 13, i);
	}
	other.strings = strings_new(2);
	other.dirty = dirty_new();
	other.as = accounts_new(other.strings, other.dirty, 2);
	copy = (struct copy){ other.as, 0 };
	dirty_drain(l.dirty, copy_row, &copy);
	assert_int_equal(copy.n, 30);
	pass(&l, 100 * DAY);
	accounts_configure(other.as, l.conf, l.now);
	accounts_rank(l.as, l.now);
	assert_true(accounts_hash(l.as) == accounts_hash(other.as));
	while (accounts_next(l.as, &cursor, &a)) {
		assert_true(accounts_next(other.as, &again, &b));
		assert_string_equal(a.account, b.account);
		assert_string_equal(a.user, b.user);
		assert_true(a.gpu_us == b.gpu_us && a.cpu_us == b.cpu_us && a.cost == b.cost);
		assert_true(a.usage == b.usage && a.level_fs == b.level_fs);
		assert_int_equal(a.rank, b.rank);
	}
	assert_false(accounts_next(other.as, &again, &b));
	accounts_free(other.as);
	strings_free(other.strings);
	dirty_free(other.dirty);
	for (uint32_t i = 0; i < 30; i++)
		assoc_drop(l.as, v[i]);
	lab_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prices),
		cmocka_unit_test(powers),
		cmocka_unit_test(decay),
		cmocka_unit_test(sums_go_up_the_tree),
		cmocka_unit_test(half_is_forgotten),
		cmocka_unit_test(what_runs_counts),
		cmocka_unit_test(another_configuration),
		cmocka_unit_test(no_accounts),
		cmocka_unit_test(newcomers),
		cmocka_unit_test(questions_leave_the_order),
		cmocka_unit_test(listed_depth_first),
		cmocka_unit_test(rows_carry_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
