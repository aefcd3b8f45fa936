/* scaler_lab.h - one scaler, its clock and what it decided last */
#ifndef TESTSUITE_SCALER_LAB_H
#define TESTSUITE_SCALER_LAB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/scale/scaler.h"

#define S  ((usec_t)1000000)
#define M  (60 * S)
#define T0 (1000 * S)

static const struct scale_policy usual = { .min = 1,
	.max = 20,
	.target = 64,
	.kv_target = 0.8,
	.window = 60 * S,
	.burst_window = 6 * S,
	.scale_down = 5 * M,
	.to_zero = 15 * M };

struct lab {
	struct scale_policy policy;
	struct scaler *s;
	struct scale_input in;
	struct scale_decision d;
};

/* The sentence begins with the number, ends within its space and has nothing odd in it. */
static inline void check(const struct lab *l)
{
	char begin[16];

	snprintf(begin, sizeof(begin), "%u: ", l->d.want);
	assert_memory_equal(l->d.text, begin, strlen(begin));
	assert_true(strlen(l->d.text) > strlen(begin));
	assert_true(strlen(l->d.text) < SCALE_TEXT - 1);
	assert_null(strstr(l->d.text, "nan"));
	assert_null(strstr(l->d.text, "inf"));
	assert_true(l->d.next > l->in.now);
}

static inline struct scale_decision *step(struct lab *l)
{
	uint32_t before = l->d.want;

	l->d = scaler_step(l->s, &l->in);
	check(l);
	assert_int_equal(l->d.changed, l->d.want != before);
	return &l->d;
}

static inline struct lab lab(const struct scale_policy *policy, uint32_t want)
{
	struct lab l = { .policy = *policy, .in = { .now = T0 }, .d = { .want = want } };

	l.s = scaler_new(policy, want, T0);
	return l;
}

#endif
