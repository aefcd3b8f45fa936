/* fuzz_depend.c - what a job waits for, from any bytes: what is taken is written as it is read
 * again */
#include <string.h>

#include "common/base/text.h"
#include "common/job/depend.h"
#include "testsuite/fuzz/fuzz.h"

static void check_again(const struct depend *d, bool kept)
{
	struct error err = { .text = "" };
	struct depend again;
	char *text = depend_format(d, true), *second;

	FUZZ_CHECK(d->n >= 1 && d->n <= DEPEND_TERMS_MAX);
	FUZZ_CHECK(depend_parse(text, true, &again, &err) == 0);
	FUZZ_CHECK(again.n == d->n && again.any == (d->n > 1 && d->any));
	second = depend_format(&again, true);
	FUZZ_CHECK(!strcmp(text, second));
	free(second);
	depend_clear(&again);
	if (!kept) {
		FUZZ_CHECK(depend_parse(text, false, &again, &err) == 0);
		depend_clear(&again);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1);

	FUZZ_CHECK(text);
	memcpy(text, data, n);
	text[n] = '\0';
	for (int kept = 0; kept < 2; kept++) {
		struct error err = { .text = "" };
		struct depend d;

		if (depend_parse(text, kept, &d, &err) < 0) {
			FUZZ_CHECK(*err.text && !d.v);
			FUZZ_CHECK(
			        text_plain_prefix(err.text, strlen(err.text)) == strlen(err.text));
		} else if (*text) {
			check_again(&d, kept);
			depend_clear(&d);
		}
	}
	free(text);
	return 0;
}
