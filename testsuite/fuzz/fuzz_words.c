/* fuzz_words.c - single values of options and keys from any bytes
 *
 * The first byte says which: a size, a duration, a moment, ends to come back from, wishes for mail.
 * What is refused has a plain reason; what is taken is written as a text that reads as the same.
 */
#include <string.h>

#include "cmds/cli/parse_time.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/job/mail_types.h"
#include "common/job/requeue_on.h"
#include "testsuite/fuzz/fuzz.h"

#define NOW ((int64_t)1764000000 * 1000000)

static int word_size(const char *text, struct error *err)
{
	char buf[UNITS_TEXT];
	uint64_t bytes, again;

	if (size_parse(text, SIZE_BARE_MB, &bytes, err) < 0)
		return -1;
	FUZZ_CHECK(size_parse(size_format_exact(buf, bytes), SIZE_BARE_REFUSED, &again, err) == 0);
	FUZZ_CHECK(again == bytes);
	return 0;
}

static int word_duration(const char *text, struct error *err)
{
	char buf[UNITS_TEXT];
	uint64_t ms, again;

	if (duration_parse_ms(text, DURATION_BARE_MINUTES, &ms, err) < 0)
		return -1;
	FUZZ_CHECK(duration_parse_ms(duration_format_exact(buf, ms), DURATION_BARE_REFUSED, &again,
	                   err) == 0);
	FUZZ_CHECK(again == ms);
	return 0;
}

static int word_moment(const char *text, struct error *err)
{
	int64_t us = -1;

	if (parse_time_next(text, NOW, &us, err) < 0)
		return -1;
	FUZZ_CHECK(us >= 0);
	return 0;
}

static int word_requeue_on(const char *text, struct error *err)
{
	bool some = false;

	if (requeue_on_check(text, err) < 0)
		return -1;
	for (uint32_t code = 1; code < 256; code++)
		some |= requeue_on_wanted(text, code, 0);
	for (uint32_t sig = 1; sig < 65; sig++)
		some |= requeue_on_wanted(text, 0, sig);
	FUZZ_CHECK(some == (*text != '\0'));
	FUZZ_CHECK(!requeue_on_wanted(text, 0, 0));
	return 0;
}

static int word_mail(const char *text, struct error *err)
{
	char buf[MAIL_TEXT_MAX];
	uint32_t types, again;

	if (mail_types_parse(text, &types, err) < 0)
		return -1;
	FUZZ_CHECK(types < MAIL_TYPE_END);
	mail_types_format(buf, types);
	FUZZ_CHECK(!types == !*buf);
	FUZZ_CHECK(!types || (mail_types_parse(buf, &again, err) == 0 && again == types));
	return 0;
}

static int word_address(const char *text, struct error *err)
{
	return mail_address_check(text, err);
}

static int (*const words[])(const char *text, struct error *err) = {
	word_size,
	word_duration,
	word_moment,
	word_requeue_on,
	word_mail,
	word_address,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct error err = { .text = "" };
	char *text;

	if (!n)
		return 0;
	text = malloc(n);
	FUZZ_CHECK(text);
	memcpy(text, data + 1, n - 1);
	text[n - 1] = '\0';
	if (words[data[0] % (sizeof(words) / sizeof(words[0]))](text, &err) < 0) {
		FUZZ_CHECK(*err.text);
		FUZZ_CHECK(text_plain_prefix(err.text, strlen(err.text)) == strlen(err.text));
	}
	free(text);
	return 0;
}
