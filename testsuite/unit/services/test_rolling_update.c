/* test_rolling_update.c - how many replicas each generation has while a service is updated */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctld/core/services/rolling_update.h"

static const struct {
	struct rolling_update_in in;
	struct rolling_update_out out;
} cases[] = {
	/* one more at a time, and one fewer for each that has settled */
	{ { .wanted = 3, .surge = 1, .present_ready = 3 }, { .present = 3, .next = 1 } },
	{ { .wanted = 3, .surge = 1, .ready = 1, .present_ready = 3 }, { .present = 3, .next = 1 } },
	{ { .wanted = 3, .surge = 1, .ready = 1, .settled = 1, .present_ready = 3 },
	        { .present = 2, .next = 2 } },
	{ { .wanted = 3, .surge = 1, .ready = 3, .settled = 3 }, { .next = 3, .done = true } },
	/* more than one at a time */
	{ { .wanted = 3, .surge = 2, .present_ready = 3 }, { .present = 3, .next = 2 } },
	{ { .wanted = 3, .surge = 9, .present_ready = 3 }, { .present = 3, .next = 3 } },
	/* without room for more: one fewer first */
	{ { .wanted = 3, .present_ready = 3 }, { .present = 2, .next = 1 } },
	{ { .wanted = 3, .ready = 1, .settled = 1, .present_ready = 2 }, { .present = 1, .next = 2 } },
	/* nothing is wanted: there is nothing to wait for */
	{ { .wanted = 0, .surge = 1 }, { .done = true } },
	/* fewer are wanted than have settled already */
	{ { .wanted = 1, .surge = 1, .ready = 2, .settled = 2 }, { .next = 1, .done = true } },
	/* three failures: the present one stays, and what serves goes on until it has enough again */
	{ { .wanted = 3, .surge = 1, .failed_loads = 3, .present_ready = 3 },
	        { .present = 3, .given_up = true } },
	{ { .wanted = 3, .surge = 1, .failed_loads = 3, .ready = 2, .settled = 1, .present_ready = 2 },
	        { .present = 3, .next = 1, .given_up = true } },
	{ { .wanted = 3, .surge = 1, .failed_loads = 2, .present_ready = 3 },
	        { .present = 3, .next = 1 } },
	/* a restart: none has settled yet, and those that are READY serve all the same */
	{ { .wanted = 3, .surge = 1, .ready = 2, .present_ready = 1 }, { .present = 3, .next = 2 } },
};

static void as_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rolling_update_out out = rolling_update_targets(&cases[i].in);

		if (out.present != cases[i].out.present || out.next != cases[i].out.next ||
		        out.done != cases[i].out.done || out.given_up != cases[i].out.given_up)
			fail_msg("case %zu: present %u, next %u, done %d, given up %d", i,
			        out.present, out.next, out.done, out.given_up);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(as_said) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
