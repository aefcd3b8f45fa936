/* test_step_function.c - ctld/core/plan/step_function.h against every moment looked at */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "ctld/core/plan/step_function.h"

#define END 60 /* no step is later */

static bool holds_at(const struct level_step *v, size_t n, usec_t at, struct plan_room level,
        const struct plan_room *need)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (v[i].at > at)
			continue;
		level.gpus += v[i].by.gpus;
		level.cpus += v[i].by.cpus;
		level.mem_mb += v[i].by.mem_mb;
	}
	return level.gpus >= need->gpus && level.cpus >= need->cpus && level.mem_mb >= need->mem_mb;
}

/* Moment by moment. */
static usec_t model(const struct level_step *v, size_t n, usec_t now, struct plan_room level,
        const struct plan_room *need, usec_t length)
{
	usec_t start, at, end;

	for (start = now; start <= END; start++) {
		end = length == INT64_MAX ? END + 1 : start + length;
		for (at = start; at < end || at == start; at++) {
			if (!holds_at(v, n, at, level, need))
				break;
		}
		if (at >= end && at > start)
			return start;
	}
	return INT64_MAX;
}

static void same_as_the_model(void **state)
{
	struct step_function s = { .v = NULL };
	size_t found = 0;
	unsigned round;

	(void)state;
	srand(5);
	for (round = 0; round < 20000; round++) {
		struct level_step v[40];
		struct plan_room level = { rand() % 8, rand() % 8, rand() % 8 };
		struct plan_room need = { rand() % 8, rand() % 8, rand() % 4 };
		usec_t length = rand() % 4 ? 1 + rand() % 20 : INT64_MAX, got;
		usec_t now = rand() % 5;
		size_t n = (size_t)rand() % 40, i;

		step_function_clear(&s);
		for (i = 0; i < n; i++) {
			v[i] = (struct level_step){ now + rand() % (END - 5),
				{ rand() % 7 - 3, rand() % 7 - 3, rand() % 3 - 1 } };
			step_function_add(&s, v[i].at, v[i].by);
		}
		got = step_function_earliest(&s, now, level, &need, length, END + 1);
		assert_int_equal(got, model(v, n, now, level, &need, length));
		found += got != INT64_MAX && got > now;
	}
	assert_true(found > 2000); /* the cases that matter were among them */
	step_function_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(same_as_the_model) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
