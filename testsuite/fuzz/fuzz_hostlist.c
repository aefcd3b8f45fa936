/* fuzz_hostlist.c - node lists (and amounts of GPUs) from any bytes
 *
 * What is expanded is names, each once, and compresses to a list of the same names.
 */
#include <string.h>

#include "common/base/hostlist.h"
#include "common/base/text.h"
#include "common/gpu/gpus_by_type.h"
#include "testsuite/fuzz/fuzz.h"

#define MAX 1000

static int compare(const void *a, const void *b)
{
	return hostlist_name_compare(*(char *const *)a, *(char *const *)b);
}

static void check_expanded(char **names, size_t n)
{
	char *list = hostlist_compress((const char *const *)names, n), **again;
	size_t n_again;

	FUZZ_CHECK(n > 0 && n <= MAX);
	for (size_t i = 0; i < n; i++)
		FUZZ_CHECK(hostlist_name_check(names[i], NULL) == 0);
	FUZZ_CHECK(hostlist_expand(list, MAX, &again, &n_again, NULL) == 0);
	FUZZ_CHECK(n_again == n);
	qsort(names, n, sizeof(*names), compare);
	for (size_t i = 0; i < n; i++)
		FUZZ_CHECK(!strcmp(names[i], again[i]));
	free(again);
	free(list);
}

static int type_check(const char *type, uint32_t count, void *arg)
{
	FUZZ_CHECK(count >= *(const uint32_t *)arg && count <= GPUS_BY_TYPE_COUNT_MAX);
	FUZZ_CHECK(!strcmp(type, GPUS_BY_TYPE_ANY) || gpus_by_type_check(type, NULL) == 0);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint32_t one = 1, none = 0; /* the least that a count may be */
	char *text = malloc(n + 1), **names;
	struct error err = { .text = "" };
	size_t n_names;

	FUZZ_CHECK(text);
	memcpy(text, data, n);
	text[n] = '\0';
	if (hostlist_expand(text, MAX, &names, &n_names, &err) == 0) {
		check_expanded(names, n_names);
		free(names);
	} else {
		FUZZ_CHECK(*err.text);
		FUZZ_CHECK(text_plain_prefix(err.text, strlen(err.text)) == strlen(err.text));
	}
	gpus_by_type_each(text, type_check, &one, NULL);
	gpus_by_type_each_or_none(text, type_check, &none, NULL);
	free(text);
	return 0;
}
