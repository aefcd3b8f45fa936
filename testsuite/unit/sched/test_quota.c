/* test_quota.c - guarantees, limits, lending and reclaim, against examples and a slow model */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "ctld/core/limits/quota.h"
#include "testsuite/unit/lib/policy_conf.h"

/* Here in whole GPUs; test_parts() is about others. */
#define quota_take(q, a, t, n)        quota_take(q, a, t, (n)*1000ull)
#define quota_release(q, a, t, n)     quota_release(q, a, t, (n)*1000ull)
#define quota_check(q, a, t, n, b)    quota_check(q, a, t, (n)*1000ull, b)
#define quota_over(q, a, t, n)        quota_over(q, a, t, (n)*1000ull)
#define quota_reclaims(q, a, b, t, n) quota_reclaims(q, a, b, t, (n)*1000ull)

/* The accounts of etc/examples: serving; research with vision and speech; guest. */
struct lab {
	struct conf *conf;
	struct quota *q;
	uint32_t serving, research, vision, speech, guest;
};

static struct lab lab(uint32_t capacity)
{
	struct lab l = { .conf = policy_conf() };
	struct conf_quota *q;

	l.serving = policy_account(l.conf, "serving", CONF_NONE);
	l.research = policy_account(l.conf, "research", CONF_NONE);
	l.vision = policy_account(l.conf, "vision", l.research);
	l.speech = policy_account(l.conf, "speech", l.research);
	l.guest = policy_account(l.conf, "guest", CONF_NONE);
	q = &l.conf->accounts[l.serving].quota;
	policy_amount(&q->guaranteed, H100, 48);
	policy_amount(&q->lend, H100, 32);
	q->weight = 3;
	policy_amount(&l.conf->accounts[l.research].quota.guaranteed, H100, 64);
	policy_amount(&l.conf->accounts[l.vision].quota.guaranteed, H100, 24);
	policy_amount(&l.conf->accounts[l.speech].quota.guaranteed, H100, 24);
	l.q = quota_new(l.conf);
	quota_capacity(l.q, H100, capacity);
	return l;
}

static void lab_free(struct lab *l)
{
	quota_free(l->q);
	policy_conf_free(l->conf);
}

/* The most that passes now, of so many that are free. */
static uint32_t most(const struct quota *q, uint32_t account, uint16_t type, uint32_t free)
{
	uint32_t n = 0;

	while (n < free && quota_check(q, account, type, n + 1, NULL))
		n++;
	return n;
}

static void idle_guarantees_are_lent(void **state)
{
	struct lab l = lab(128);
	struct quota_block b;

	(void)state;
	/* All of research's and 32 of serving's 48; 16 of these are not lent. */
	assert_int_equal(most(l.q, l.guest, H100, 128), 112);
	quota_take(l.q, l.guest, H100, 112);
	assert_false(quota_check(l.q, l.guest, H100, 1, &b));
	assert_int_equal(b.account, l.serving);
	assert_int_equal(b.free, 16000);
	assert_int_equal(b.kept, 16000);
	assert_int_equal(b.short_by, 1000);
	assert_false(quota_check(l.q, l.vision, H100, 1, NULL));
	assert_int_equal(most(l.q, l.serving, H100, 16), 16);
	quota_take(l.q, l.serving, H100, 16);
	assert_int_equal(most(l.q, l.serving, H100, 0), 0);
	/* Nothing is kept any more: who gives back gives to all. */
	quota_release(l.q, l.guest, H100, 8);
	assert_int_equal(most(l.q, l.vision, H100, 8), 8);
	assert_int_equal(most(l.q, l.guest, H100, 8), 8);
	lab_free(&l);
}

static void what_is_kept_outlives_lost_nodes(void **state)
{
	struct lab l = lab(128);

	(void)state;
	quota_take(l.q, l.guest, H100, 112);
	quota_capacity(l.q, H100, 120);
	/* Eight of the kept ones are gone; the rest is still serving's. */
	assert_true(quota_check(l.q, l.serving, H100, 8, NULL));
	assert_false(quota_check(l.q, l.vision, H100, 1, NULL));
	quota_capacity(l.q, H100, 20);
	assert_false(quota_check(l.q, l.guest, H100, 1, NULL));
	lab_free(&l);
}

/* A child that lends less than its parent keeps its part against all. */
static void nested_keeping(void **state)
{
	struct conf *conf = policy_conf();
	uint32_t top = policy_account(conf, "top", CONF_NONE), a = policy_account(conf, "a", top),
	         b = policy_account(conf, "b", top), out = policy_account(conf, "out", CONF_NONE);
	struct quota *q;

	(void)state;
	policy_amount(&conf->accounts[top].quota.guaranteed, H100, 40);
	policy_amount(&conf->accounts[top].quota.lend, H100, 30);
	policy_amount(&conf->accounts[a].quota.guaranteed, H100, 20);
	policy_amount(&conf->accounts[a].quota.lend, H100, 5);
	q = quota_new(conf);
	quota_capacity(q, H100, 50);
	/* a keeps 15, which is more than the 10 that top keeps. */
	assert_int_equal(most(q, out, H100, 50), 35);
	assert_int_equal(most(q, b, H100, 50), 35);
	quota_take(q, b, H100, 8);
	assert_int_equal(most(q, out, H100, 42), 27);
	quota_take(q, a, H100, 14);
	/* Of top's 10 there are 22 in use: 1 is left of what a keeps. */
	assert_int_equal(most(q, out, H100, 28), 27);
	quota_take(q, out, H100, 27);
	assert_int_equal(most(q, a, H100, 1), 1);
	assert_int_equal(most(q, b, H100, 1), 0);
	quota_free(q);
	policy_conf_free(conf);
}

static void all_types_together(void **state)
{
	struct conf *conf = policy_conf();
	uint32_t a = policy_account(conf, "a", CONF_NONE), b = policy_account(conf, "b", CONF_NONE);
	struct quota_block block;
	struct quota *q;

	(void)state;
	policy_amount(&conf->accounts[a].quota.guaranteed, CONF_ANY_TYPE, 10);
	policy_amount(&conf->accounts[a].quota.lend, CONF_ANY_TYPE, 0);
	q = quota_new(conf);
	quota_capacity(q, H100, 8);
	quota_capacity(q, L40S, 8);
	assert_int_equal(most(q, b, H100, 8), 6);
	quota_take(q, b, H100, 6);
	assert_false(quota_check(q, b, L40S, 1, &block));
	assert_int_equal(block.type, CONF_ANY_TYPE);
	quota_capacity(q, L40S, 80);
	assert_int_equal(most(q, b, L40S, 80), 72);
	quota_free(q);
	policy_conf_free(conf);
}

static void who_is_more_over(void **state)
{
	struct lab l = lab(1000);
	struct quota *q = l.q;

	(void)state;
	assert_float_equal(quota_over(q, l.serving, H100, 48), 0, 0);
	assert_true(quota_over(q, l.serving, H100, 49) > 0);
	assert_float_equal(quota_over(q, l.serving, L40S, 49), 0, 0);
	/* 6 over with weight 3 is less than 3 over with weight 1. */
	assert_true(quota_over(q, l.serving, H100, 54) < quota_over(q, l.guest, H100, 3));
	assert_true(quota_over(q, l.serving, H100, 60) > quota_over(q, l.guest, H100, 3));
	assert_true(quota_over(q, l.guest, H100, 1) > 0);
	/* A quarrel inside research is nobody else's: it comes after speech, before the others. */
	quota_take(q, l.vision, H100, 24);
	assert_float_equal(quota_over(q, l.speech, H100, 24), 0, 0);
	assert_true(quota_over(q, l.vision, H100, 1) > 0);
	assert_true(quota_over(q, l.vision, H100, 8) < quota_over(q, l.serving, H100, 49));
	/* Directly in research: of what its children were not given. */
	assert_float_equal(quota_over(q, l.research, H100, 16), 0, 0);
	assert_true(quota_over(q, l.research, H100, 17) > 0);
	quota_take(q, l.speech, H100, 40);
	assert_true(quota_over(q, l.research, H100, 1) > quota_over(q, l.vision, H100, 0));
	lab_free(&l);
}

static void who_gives_back(void **state)
{
	struct lab l = lab(128);
	struct quota *q = l.q;

	(void)state;
	quota_take(q, l.guest, H100, 40);
	quota_take(q, l.serving, H100, 60);
	quota_take(q, l.vision, H100, 28);
	/* Research is within its 64 with so many more, guest and serving are over theirs. */
	assert_true(quota_reclaims(q, l.speech, l.guest, H100, 24));
	assert_true(quota_reclaims(q, l.speech, l.serving, H100, 36));
	assert_false(quota_reclaims(q, l.speech, l.serving, H100, 37));
	assert_false(quota_reclaims(q, l.guest, l.serving, H100, 1));
	assert_false(quota_reclaims(q, l.serving, l.guest, H100, 1));
	/* Among the children it is their own guarantees that count. */
	assert_true(quota_reclaims(q, l.speech, l.vision, H100, 24));
	assert_false(quota_reclaims(q, l.speech, l.vision, H100, 25));
	assert_true(quota_reclaims(q, l.research, l.vision, H100, 16));
	assert_false(quota_reclaims(q, l.research, l.vision, H100, 17));
	assert_false(quota_reclaims(q, l.vision, l.vision, H100, 1));
	quota_release(q, l.vision, H100, 4);
	assert_false(quota_reclaims(q, l.speech, l.vision, H100, 1));
	/* Of a type of which nobody has a guarantee nothing is taken back. */
	quota_take(q, l.guest, L40S, 4);
	assert_false(quota_reclaims(q, l.speech, l.guest, L40S, 1));
	lab_free(&l);
}

/* --- random trees ---------------------------------------------------------------------------- */

#define ACCOUNTS 8
#define HOLDS    40

static uint64_t rng;

static unsigned pick(unsigned n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)(rng >> 11) % n;
}

struct hold {
	uint32_t account, gpus;
	uint16_t type;
};

struct world {
	struct conf *conf;
	struct quota *q;
	struct hold v[HOLDS]; /* gpus 0: none */
	uint32_t capacity[POLICY_TYPES];
	bool any; /* quotas of all types together, too */
};

static uint32_t amount(const struct conf_gpu_amounts *a, uint16_t type, uint32_t none)
{
	for (size_t i = 0; i < a->n; i++) {
		if (a->v[i].type == type)
			return a->v[i].count;
	}
	return none;
}

static bool under(const struct conf *conf, uint32_t a, uint32_t top)
{
	for (; a != CONF_NONE && a != top; a = conf->accounts[a].parent)
		;
	return a == top;
}

/* `top` CONF_NONE: by all. */
static uint32_t model_held(const struct world *w, uint32_t top, uint16_t type)
{
	uint32_t sum = 0;

	for (int i = 0; i < HOLDS; i++) {
		if (w->v[i].gpus && (type == CONF_ANY_TYPE || w->v[i].type == type) &&
		        under(w->conf, w->v[i].account, top))
			sum += w->v[i].gpus;
	}
	return sum;
}

static uint32_t model_reserved(const struct conf *conf, uint32_t a, uint16_t type)
{
	const struct conf_quota *q = &conf->accounts[a].quota;
	uint32_t g = amount(&q->guaranteed, type, 0), lend = amount(&q->lend, type, g);

	return g > lend ? g - lend : 0;
}

static uint32_t model_reserve(const struct world *w, uint32_t top, uint16_t type)
{
	uint32_t sum = 0, own = 0;

	for (uint32_t a = 0; a < ACCOUNTS; a++) {
		if (w->conf->accounts[a].parent == top)
			sum += model_reserve(w, a, type);
	}
	if (top != CONF_NONE) {
		uint32_t reserved = model_reserved(w->conf, top, type),
		         held = model_held(w, top, type);

		own = reserved > held ? reserved - held : 0;
	}
	return own > sum ? own : sum;
}

static uint32_t model_capacity(const struct world *w, uint16_t type)
{
	return type == CONF_ANY_TYPE ? w->capacity[H100] + w->capacity[L40S] : w->capacity[type];
}

/* Put the job in and look. */
static bool model_check(struct world *w, const struct hold *h)
{
	const uint16_t types[] = { h->type, CONF_ANY_TYPE };
	bool kept = false;
	struct hold *slot = w->v;

	while (slot->gpus)
		slot++;
	for (int i = 0; i < 2; i++) {
		uint32_t before = model_reserve(w, CONF_NONE, types[i]), after, held;

		*slot = *h;
		after = model_reserve(w, CONF_NONE, types[i]);
		held = model_held(w, CONF_NONE, types[i]);
		kept |= after && held + after > model_capacity(w, types[i]) &&
		        before - after < h->gpus;
		*slot = (struct hold){ 0 };
	}
	return !kept;
}

/* What the guarantees of an account's children leave of its own; the configuration is checked so. */
static uint32_t model_left(const struct conf *conf, uint32_t parent, uint16_t type)
{
	uint32_t left = parent == CONF_NONE
	                        ? 11
	                        : amount(&conf->accounts[parent].quota.guaranteed, type, 0);

	for (uint32_t a = 0; a < conf->n_accounts && parent != CONF_NONE; a++) {
		if (conf->accounts[a].parent == parent)
			left -= amount(&conf->accounts[a].quota.guaranteed, type, 0);
	}
	return left;
}

static void random_quota(struct conf *conf, uint32_t account, uint16_t type)
{
	uint32_t left = model_left(conf, conf->accounts[account].parent, type);
	uint32_t g = account ? pick(left + 1) : 1 + pick(left); /* one has a guarantee */
	struct conf_quota *q = &conf->accounts[account].quota;

	if (g)
		policy_amount(&q->guaranteed, type, g);
	if (g && pick(2))
		policy_amount(&q->lend, type, pick(g + 1));
	q->weight = 1 + pick(4);
}

static struct world random_world(void)
{
	struct world w = { .conf = policy_conf(), .any = pick(2) };
	char name[20];

	for (uint32_t i = 0; i < ACCOUNTS; i++) {
		snprintf(name, sizeof(name), "a%u", i);
		policy_account(w.conf, name, i && pick(4) ? pick(i) : CONF_NONE);
		random_quota(w.conf, i, H100);
		if (w.any)
			random_quota(w.conf, i, CONF_ANY_TYPE);
	}
	w.q = quota_new(w.conf);
	/* Enough for all that is kept: what is promised can be held. */
	for (uint16_t t = 0; t < POLICY_TYPES; t++) {
		w.capacity[t] = model_reserve(&w, CONF_NONE, t) + pick(60);
		if (t == L40S && w.any)
			w.capacity[t] += model_reserve(&w, CONF_NONE, CONF_ANY_TYPE);
		quota_capacity(w.q, t, w.capacity[t]);
	}
	return w;
}

/* Whoever has nobody below him gets what he keeps, whatever others did. */
static void check_promises(const struct world *w)
{
	const uint16_t types[] = { H100, CONF_ANY_TYPE };

	for (uint32_t a = 0; a < ACCOUNTS; a++) {
		for (int i = 0; i < 1 + w->any; i++) {
			struct quota_use use;
			uint32_t left, up;

			quota_use(w->q, a, types[i], &use);
			assert_int_equal(use.held, model_held(w, a, types[i]) * 1000);
			for (up = 0; up < ACCOUNTS && w->conf->accounts[up].parent != a; up++)
				;
			if (up < ACCOUNTS || use.reserved <= use.held)
				continue;
			left = (uint32_t)((use.reserved - use.held) / 1000);
			assert_true(model_held(w, CONF_NONE, types[i]) + left <=
			            model_capacity(w, types[i]));
			/* With one kind of promise it is also let through. */
			if (!w->any)
				assert_true(quota_check(w->q, a, H100, left, NULL));
		}
	}
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Does an account below this one have a guarantee of the type? */
static bool model_cohort(const struct world *w, uint32_t above, uint16_t type)
{
	for (uint32_t a = 0; a < ACCOUNTS; a++) {
		if (w->conf->accounts[a].parent == above &&
		        amount(&w->conf->accounts[a].quota.guaranteed, type, 0))
			return true;
	}
	return false;
}

/* The jobs directly in an account, as one more member of the cohort below it. */
static bool model_direct(const struct world *w, uint32_t above, uint16_t type)
{
	uint32_t held = model_held(w, above, type);

	for (uint32_t a = 0; a < ACCOUNTS; a++) {
		if (w->conf->accounts[a].parent == above)
			held -= model_held(w, a, type);
	}
	return held || model_left(w->conf, above, type);
}

/* Members of a cohort that are accounts, added up. */
struct lent_sum {
	uint64_t lent, borrowed;
	uint64_t over;   /* beyond guarantees */
	uint64_t wanted; /* their guarantees, or more where they use more */
};

static void add_lent(const struct world *w, uint32_t a, uint16_t type, struct lent_sum *sum)
{
	uint64_t used = (model_held(w, a, type) + model_reserve(w, a, type)) * 1000ull;
	uint64_t g = amount(&w->conf->accounts[a].quota.guaranteed, type, 0) * 1000ull;
	struct quota_lent l;

	quota_lent(w->q, a, type, &l);
	assert_true(l.lent <= less(g, used) && l.borrowed <= less(used, g));
	sum->lent += l.lent;
	sum->borrowed += l.borrowed;
	sum->over += less(used, g);
	sum->wanted += used > g ? used : g;
}

/* At the top all that is lent is borrowed: what the cluster lacks for all guarantees at once, with
 * no account giving up any of its own. Below, a cohort lends and borrows so much more than that as
 * the account above it has borrowed and lent. */
static uint64_t check_cohort(const struct world *w, uint32_t above, uint16_t type)
{
	struct quota_lent own = { 0 };
	struct lent_sum sum = { 0 };

	for (uint32_t a = 0; a < ACCOUNTS; a++) {
		if (w->conf->accounts[a].parent == above)
			add_lent(w, a, type, &sum);
	}
	if (!model_cohort(w, above, type)) {
		assert_true(!sum.lent && !sum.borrowed);
		return 0;
	}
	quota_lent(w->q, above, type, &own);
	if (above == CONF_NONE) {
		uint64_t lacks = less(sum.wanted, model_capacity(w, type) * 1000ull);

		assert_int_equal(sum.lent, sum.borrowed);
		assert_int_equal(sum.lent, lacks < sum.over ? lacks : sum.over);
	} else if (!model_direct(w, above, type)) {
		assert_int_equal(sum.lent + own.borrowed, sum.borrowed + own.lent);
	}
	return sum.lent;
}

static void check_lent(const struct world *w, unsigned *top, unsigned *below)
{
	const uint16_t types[] = { H100, CONF_ANY_TYPE };

	for (int i = 0; i < 1 + w->any; i++) {
		*top += check_cohort(w, CONF_NONE, types[i]) > 0;
		for (uint32_t a = 0; a < ACCOUNTS; a++)
			*below += check_cohort(w, a, types[i]) > 0;
	}
}

/* What was taken back is not taken back again. */
static void check_reclaim(struct world *w)
{
	uint32_t a = pick(ACCOUNTS), b = pick(ACCOUNTS), n = 1 + pick(4), m;
	struct quota_use use;

	quota_use(w->q, b, H100, &use);
	if (!quota_reclaims(w->q, a, b, H100, n) || use.held < n * 1000ull)
		return;
	assert_false(quota_reclaims(w->q, b, a, H100, 1));
	quota_release(w->q, b, H100, n);
	quota_take(w->q, a, H100, n);
	for (m = 1; m <= n; m++)
		assert_false(quota_reclaims(w->q, b, a, H100, m));
	quota_release(w->q, a, H100, n);
	quota_take(w->q, b, H100, n);
}

static void random_histories(void **state)
{
	unsigned verdicts[2] = { 0 }, reclaims = 0, lent[2] = { 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= 150; seed++) {
		struct world w;
		double before[ACCOUNTS], after[ACCOUNTS];

		rng = seed * 0x9e3779b97f4a7c15ull;
		w = random_world();
		for (int step = 0; step < 200; step++) {
			struct hold *slot = &w.v[pick(HOLDS - 1)];
			struct hold h = { pick(ACCOUNTS), 1 + pick(4),
				(uint16_t)(pick(5) ? H100 : L40S) };
			bool v, taken;

			if (slot->gpus) {
				quota_release(w.q, slot->account, slot->type, slot->gpus);
				*slot = (struct hold){ 0 };
				check_promises(&w);
				check_lent(&w, &lent[0], &lent[1]);
				continue;
			}
			v = quota_check(w.q, h.account, h.type, h.gpus, NULL);
			assert_int_equal(v, model_check(&w, &h));
			verdicts[v]++;
			/* Exact inverses. */
			for (uint32_t a = 0; a < ACCOUNTS; a++)
				before[a] = quota_over(w.q, a, H100, 1) + most(w.q, a, H100, 100);
			quota_take(w.q, h.account, h.type, h.gpus);
			taken = v &&
			        model_held(&w, CONF_NONE, h.type) + h.gpus <= w.capacity[h.type];
			if (taken)
				*slot = h;
			else
				quota_release(w.q, h.account, h.type, h.gpus);
			for (uint32_t a = 0; a < ACCOUNTS && !taken; a++) {
				after[a] = quota_over(w.q, a, H100, 1) + most(w.q, a, H100, 100);
				assert_true(before[a] == after[a]);
			}
			check_promises(&w);
			check_lent(&w, &lent[0], &lent[1]);
			for (int i = 0; i < 10; i++)
				check_reclaim(&w);
			for (uint32_t a = 0; a < ACCOUNTS; a++)
				reclaims += quota_reclaims(w.q, h.account, a, H100, 1);
		}
		quota_free(w.q);
		policy_conf_free(w.conf);
	}
	/* All of it happened often. */
	assert_true(verdicts[true] > 2000 && verdicts[false] > 500 && reclaims > 500);
	assert_true(lent[0] > 500 && lent[1] > 500);
}

/* Of four GPUs, a is guaranteed two and lends one of them. */
static void what_is_imagined(void **state)
{
	struct conf *conf = policy_conf();
	uint32_t a = policy_account(conf, "a", CONF_NONE), b = policy_account(conf, "b", CONF_NONE);
	struct quota *q;

	(void)state;
	policy_amount(&conf->accounts[a].quota.guaranteed, H100, 2);
	policy_amount(&conf->accounts[a].quota.lend, H100, 1);
	q = quota_new(conf);
	quota_capacity(q, H100, 4);
	quota_take(q, a, H100, 2);
	/* What a keeps it holds: the quota does not say what is free. */
	assert_int_equal(most(q, b, H100, 4), 4);
	quota_imagine(q, b, H100, 2000, true, true);
	assert_int_equal(most(q, b, H100, 4), 0);
	quota_imagine(q, a, H100, 2000, false, true);
	assert_int_equal(most(q, b, H100, 4), 1);
	assert_int_equal(most(q, a, H100, 4), 2);
	quota_imagine(q, b, H100, 2000, true, false);
	quota_imagine(q, a, H100, 2000, false, false);
	assert_int_equal(most(q, b, H100, 4), 4);
	quota_free(q);
	policy_conf_free(conf);
}

static void assert_lent(struct quota *q, uint32_t account, uint64_t lent, uint64_t borrowed)
{
	struct quota_lent l;

	quota_lent(q, account, H100, &l);
	assert_int_equal(l.lent, lent * 1000);
	assert_int_equal(l.borrowed, borrowed * 1000);
}

/* serving is guaranteed 48 and keeps 16; research 64, of which vision and speech have 24 each. */
static void what_is_lent(void **state)
{
	struct lab l = lab(128);

	(void)state;
	/* 16 are guaranteed to no account, and free ones cover the rest: nothing is lent. */
	quota_take(l.q, l.guest, H100, 16);
	assert_lent(l.q, l.guest, 0, 0);
	/* 24 more than that. The 32 of serving that may be lent, and research's 64, are idle. */
	quota_take(l.q, l.guest, H100, 24);
	assert_lent(l.q, l.guest, 0, 24);
	assert_lent(l.q, l.serving, 8, 0);
	assert_lent(l.q, l.research, 16, 0);
	/* Of research's 16 its children have as much as they have of its guarantee. */
	assert_lent(l.q, l.vision, 6, 0);
	assert_lent(l.q, l.speech, 6, 0);
	/* What serving uses is lent no more, but what it keeps never was. */
	quota_take(l.q, l.serving, H100, 16);
	assert_lent(l.q, l.serving, 8, 0);
	quota_take(l.q, l.serving, H100, 32);
	assert_lent(l.q, l.serving, 0, 0);
	assert_lent(l.q, l.research, 24, 0);
	/* Nodes that are away are no one's loan. */
	quota_capacity(l.q, H100, 88);
	assert_lent(l.q, l.guest, 0, 40);
	assert_lent(l.q, l.research, 40, 0);
	lab_free(&l);
}

/* Within research: what vision borrows is speech's, and the jobs' directly in research. */
static void what_is_lent_below(void **state)
{
	struct lab l = lab(112);

	(void)state;
	quota_take(l.q, l.vision, H100, 44);
	assert_lent(l.q, l.vision, 0, 20);
	assert_lent(l.q, l.speech, 12, 0);
	assert_lent(l.q, l.research, 0, 0);
	/* All of research's and six of serving's: vision has borrowed both. */
	quota_take(l.q, l.vision, H100, 26);
	assert_lent(l.q, l.research, 0, 6);
	assert_lent(l.q, l.serving, 6, 0);
	assert_lent(l.q, l.vision, 0, 46);
	assert_lent(l.q, l.speech, 24, 0);
	/* guest is promised nothing: speech's and serving's go to both. */
	quota_take(l.q, l.guest, H100, 6);
	assert_lent(l.q, l.guest, 0, 6);
	assert_lent(l.q, l.serving, 12, 0);
	quota_take(l.q, CONF_NONE, H100, 4);
	assert_lent(l.q, CONF_NONE, 0, 4);
	assert_lent(l.q, l.serving, 16, 0);
	lab_free(&l);
}

#undef quota_take
#undef quota_check
#undef quota_over
/* Four quarters are one GPU of a guarantee. */
static void test_parts(void **state)
{
	struct lab l = lab(112);

	(void)state;
	quota_take(l.q, l.serving, H100, 48 * 1000 - 250);
	assert_float_equal(quota_over(l.q, l.serving, H100, 250), 0, 0);
	assert_true(quota_over(l.q, l.serving, H100, 251) > 0);
	assert_true(quota_over(l.q, l.serving, H100, 251) < quota_over(l.q, l.serving, H100, 1250));
	lab_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_guarantees_are_lent),
		cmocka_unit_test(what_is_kept_outlives_lost_nodes),
		cmocka_unit_test(nested_keeping),
		cmocka_unit_test(all_types_together),
		cmocka_unit_test(who_is_more_over),
		cmocka_unit_test(who_gives_back),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(what_is_lent),
		cmocka_unit_test(what_is_lent_below),
		cmocka_unit_test(random_histories),
		cmocka_unit_test(what_is_imagined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
