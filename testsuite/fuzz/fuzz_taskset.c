/* fuzz_taskset.c - array expressions from any bytes
 *
 * What is read is written as a text that reads as the same set; what is taken out of it is gone.
 */
#include <string.h>

#include "common/base/taskset.h"
#include "common/base/text.h"
#include "testsuite/fuzz/fuzz.h"

static void check(const struct taskset *set)
{
	struct taskset again, half, taken, copy;
	char *text = taskset_text(set);

	FUZZ_CHECK(taskset_parse("0-4000000:2", &half, NULL) == 0);
	FUZZ_CHECK(set->count >= 1 && set->count <= TASK_MAX + 1);
	FUZZ_CHECK(taskset_last(set) <= TASK_MAX);
	FUZZ_CHECK(taskset_ranges(set) <= TASKSET_RANGES_MAX);
	if (strlen(text) <= TASKSET_TEXT_MAX) {
		FUZZ_CHECK(taskset_parse(text, &again, NULL) == 0);
		FUZZ_CHECK(again.count == set->count);
		taskset_clear(&again);
	}
	if (taskset_part(set, &half, TASKSET_RANGES_MAX, &again) == 0) {
		FUZZ_CHECK(again.count == taskset_common(set, &half));
		taskset_clear(&again);
	}
	taskset_copy(&copy, set);
	taskset_take(&copy, &half, &taken);
	FUZZ_CHECK(copy.count + taken.count == set->count);
	FUZZ_CHECK(!taskset_meets(&copy, &half));
	taskset_remove(&copy, taskset_first(&copy));
	taskset_clear(&half);
	taskset_clear(&taken);
	taskset_clear(&copy);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1);
	struct error err = { .text = "" };
	struct taskset set;
	uint32_t at_once;

	FUZZ_CHECK(text);
	memcpy(text, data, n);
	text[n] = '\0';
	if (taskset_parse_array(text, &set, &at_once, &err) == 0) {
		check(&set);
		taskset_clear(&set);
	} else {
		FUZZ_CHECK(*err.text);
		FUZZ_CHECK(text_plain_prefix(err.text, strlen(err.text)) == strlen(err.text));
	}
	free(text);
	return 0;
}
