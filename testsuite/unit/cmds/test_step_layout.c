/* test_step_layout.c - cmds/steps/layout.h: which tasks, CPUs and GPUs a step has of which node */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmds/steps/layout.h"

#include <stdio.h>

static const char *const names[] = { "n1", "n2", "n3", "n4" };

static struct layout make(size_t n, const uint32_t *cpus, uint32_t gpus)
{
	struct layout l;

	layout_init(&l, names, n);
	for (size_t i = 0; i < n; i++)
		layout_know(&l, i, cpus[i], gpus);
	return l;
}

/* "n1: 0 1 cpus 2 gpus 0; n2: ..." */
static const char *shown(const struct layout_place *p)
{
	static char text[1024];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < p->n; i++) {
		const struct layout_part *part = &p->parts[i];

		n += (size_t)snprintf(
		        text + n, sizeof(text) - n, "%s%s:", i ? "; " : "", names[part->node]);
		for (size_t k = 0; k < part->n_tasks; k++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " %u", part->tasks[k]);
		n += (size_t)snprintf(text + n, sizeof(text) - n, " cpus %zu gpus %zu",
		        part->n_cpus, part->n_gpus);
	}
	return text;
}

static void expect(
        struct layout *l, struct layout_ask ask, enum layout_answer answer, const char *place)
{
	struct layout_place p = { .n = 0 };
	const char *why = "";

	assert_int_equal(layout_find(l, &ask, &p, &why), answer);
	if (answer == LAYOUT_FITS)
		assert_string_equal(shown(&p), place);
	else if (answer == LAYOUT_NEVER)
		assert_string_equal(why, place);
	layout_place_clear(&p);
}

static void test_block_and_cyclic(void **state)
{
	struct layout l = make(2, (uint32_t[]){ 4, 4 }, 0);

	(void)state;
	expect(&l, (struct layout_ask){ .tasks = 5 }, LAYOUT_FITS,
	        "n1: 0 1 2 cpus 4 gpus 0; n2: 3 4 cpus 4 gpus 0");
	expect(&l, (struct layout_ask){ .tasks = 5, .cyclic = true }, LAYOUT_FITS,
	        "n1: 0 2 4 cpus 4 gpus 0; n2: 1 3 cpus 4 gpus 0");
	expect(&l, (struct layout_ask){ .tasks = 1 }, LAYOUT_FITS, "n1: 0 cpus 4 gpus 0");
	expect(&l, (struct layout_ask){ .nodes_min = 2 }, LAYOUT_FITS,
	        "n1: 0 cpus 4 gpus 0; n2: 1 cpus 4 gpus 0");
	expect(&l, (struct layout_ask){ .tasks_per_node = 2 }, LAYOUT_FITS,
	        "n1: 0 1 cpus 4 gpus 0; n2: 2 3 cpus 4 gpus 0");
	expect(&l, (struct layout_ask){ .tasks = 4, .tasks_per_node = 4 }, LAYOUT_FITS,
	        "n1: 0 1 2 3 cpus 4 gpus 0");
	expect(&l, (struct layout_ask){ .tasks = 1, .relative = 1 }, LAYOUT_FITS,
	        "n2: 0 cpus 4 gpus 0");
	expect(&l, (struct layout_ask){ .tasks = 1, .must = (bool[]){ false, true } }, LAYOUT_FITS,
	        "n2: 0 cpus 4 gpus 0");
	layout_clear(&l);
}

static void test_nodes_of_different_size(void **state)
{
	struct layout l = make(3, (uint32_t[]){ 1, 4, 2 }, 0);

	(void)state;
	expect(&l, (struct layout_ask){ .tasks = 7 }, LAYOUT_FITS,
	        "n1: 0 cpus 1 gpus 0; n2: 1 2 3 4 cpus 4 gpus 0; n3: 5 6 cpus 2 gpus 0");
	expect(&l, (struct layout_ask){ .tasks = 4, .nodes_min = 1, .exact = true }, LAYOUT_FITS,
	        "n2: 0 1 2 3 cpus 4 gpus 0");
	expect(&l, (struct layout_ask){ .tasks = 2, .cpus_per_task = 2, .exact = true },
	        LAYOUT_FITS, "n2: 0 cpus 2 gpus 0; n3: 1 cpus 2 gpus 0");
	expect(&l, (struct layout_ask){ .tasks = 6, .nodes_min = 1, .nodes_max = 2 }, LAYOUT_FITS,
	        "n2: 0 1 2 3 cpus 4 gpus 0; n3: 4 5 cpus 2 gpus 0");
	layout_clear(&l);
}

static void test_what_never_fits(void **state)
{
	struct layout l = make(2, (uint32_t[]){ 4, 4 }, 2);

	(void)state;
	expect(&l, (struct layout_ask){ .tasks = 9 }, LAYOUT_NEVER,
	        "More processors requested than permitted");
	expect(&l, (struct layout_ask){ .tasks = 9, .overcommit = true }, LAYOUT_FITS,
	        "n1: 0 1 2 3 4 cpus 4 gpus 2; n2: 5 6 7 8 cpus 4 gpus 2");
	expect(&l, (struct layout_ask){ .nodes_min = 3 }, LAYOUT_NEVER,
	        "Requested node configuration is not available");
	expect(&l, (struct layout_ask){ .gpus_per_node = 3 }, LAYOUT_NEVER,
	        "Invalid generic resource (gres) specification");
	expect(&l, (struct layout_ask){ .gpus = 5 }, LAYOUT_NEVER,
	        "Invalid generic resource (gres) specification");
	layout_clear(&l);
}

static void test_gpus(void **state)
{
	struct layout l = make(2, (uint32_t[]){ 8, 8 }, 4);

	(void)state;
	expect(&l, (struct layout_ask){ .tasks = 2 }, LAYOUT_FITS,
	        "n1: 0 cpus 8 gpus 4; n2: 1 cpus 8 gpus 4");
	expect(&l, (struct layout_ask){ .tasks = 2, .no_gpus = true }, LAYOUT_FITS,
	        "n1: 0 cpus 8 gpus 0; n2: 1 cpus 8 gpus 0");
	expect(&l, (struct layout_ask){ .tasks = 6, .gpus_per_task = 1 }, LAYOUT_FITS,
	        "n1: 0 1 2 cpus 8 gpus 3; n2: 3 4 5 cpus 8 gpus 3");
	expect(&l, (struct layout_ask){ .tasks = 2, .gpus = 5 }, LAYOUT_FITS,
	        "n1: 0 cpus 8 gpus 3; n2: 1 cpus 8 gpus 2");
	expect(&l, (struct layout_ask){ .tasks = 2, .gpus_per_node = 1 }, LAYOUT_FITS,
	        "n1: 0 cpus 8 gpus 1; n2: 1 cpus 8 gpus 1");
	layout_clear(&l);
}

static void test_steps_beside_each_other(void **state)
{
	struct layout l = make(1, (uint32_t[]){ 4 }, 2);
	struct layout_ask one = { .tasks = 1, .exact = true, .gpus = 1 }, whole = { .tasks = 1 };
	struct layout_place p[3] = { { .n = 0 } };
	const char *why;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(layout_find(&l, &one, &p[i], &why), LAYOUT_FITS);
		layout_take(&l, &one, &p[i]);
	}
	assert_int_not_equal(p[0].parts[0].gpus[0], p[1].parts[0].gpus[0]);
	assert_int_not_equal(p[0].parts[0].cpus[0], p[1].parts[0].cpus[0]);
	expect(&l, one, LAYOUT_BUSY, "");
	expect(&l, whole, LAYOUT_BUSY, "");
	expect(&l, (struct layout_ask){ .tasks = 1, .exact = true, .no_gpus = true }, LAYOUT_FITS,
	        "n1: 0 cpus 1 gpus 0");
	whole.overlap = true;
	expect(&l, whole, LAYOUT_FITS, "n1: 0 cpus 4 gpus 2");
	whole.overlap = false;
	layout_release(&l, &p[0]);
	expect(&l, one, LAYOUT_FITS, "n1: 0 cpus 1 gpus 1");
	layout_release(&l, &p[1]);
	expect(&l, whole, LAYOUT_FITS, "n1: 0 cpus 4 gpus 2");
	layout_place_clear(&p[0]);
	layout_place_clear(&p[1]);
	layout_clear(&l);
}

static void test_nodes_that_are_not_known(void **state)
{
	struct layout l;

	(void)state;
	layout_init(&l, names, 3);
	layout_know(&l, 0, 4, 0);
	expect(&l, (struct layout_ask){ .tasks = 1 }, LAYOUT_FITS, "n1: 0 cpus 4 gpus 0");
	expect(&l, (struct layout_ask){ .tasks = 2 }, LAYOUT_ASK, "");
	expect(&l, (struct layout_ask){ .nodes_min = 4 }, LAYOUT_NEVER,
	        "Requested node configuration is not available");
	layout_know(&l, 1, 2, 0);
	layout_know(&l, 2, 2, 0);
	expect(&l, (struct layout_ask){ .tasks = 3 }, LAYOUT_FITS,
	        "n1: 0 cpus 4 gpus 0; n2: 1 cpus 2 gpus 0; n3: 2 cpus 2 gpus 0");
	layout_clear(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block_and_cyclic),
		cmocka_unit_test(test_nodes_of_different_size),
		cmocka_unit_test(test_what_never_fits),
		cmocka_unit_test(test_gpus),
		cmocka_unit_test(test_steps_beside_each_other),
		cmocka_unit_test(test_nodes_that_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
