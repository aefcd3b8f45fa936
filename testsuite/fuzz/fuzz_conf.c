/* fuzz_conf.c - gpusched.conf from any bytes
 *
 * What is refused has a reason on one printable line; what is read prints as a text that reads back
 * as the same.
 */
#include <string.h>

#include "common/base/text.h"
#include "common/conf/conf.h"
#include "common/conf/conf_schema.h"
#include "testsuite/fuzz/fuzz.h"

static char *printed(const struct conf *conf)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	FUZZ_CHECK(out);
	conf_print(conf, out);
	fclose(out);
	return text;
}

static void check_again(const struct conf *conf)
{
	char *text = printed(conf), *again, **lines;
	struct conf_problems problems;
	struct conf *copy = conf_parse(text, "again", &problems);

	FUZZ_CHECK(copy);
	FUZZ_CHECK(conf_diff(conf, copy, &lines, NULL) == 0);
	free(lines);
	again = printed(copy);
	FUZZ_CHECK(!strcmp(text, again));
	for (size_t i = 0; i < conf->n_nodes; i++)
		FUZZ_CHECK(!strcmp(conf->nodes[i].name, copy->nodes[i].name));
	conf_free(copy);
	conf_problems_clear(&problems);
	free(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1);
	struct conf_problems problems;
	struct conf *conf;

	FUZZ_CHECK(text);
	memcpy(text, data, n);
	text[n] = '\0';
	conf = conf_parse(text, "fuzz", &problems);
	FUZZ_CHECK(conf ? problems.n == 0 : problems.n > 0);
	for (size_t i = 0; i < problems.n; i++) {
		const char *told = problems.v[i].text;

		FUZZ_CHECK(strcmp(told, CONF_NUMBERS_DIFFER));
		FUZZ_CHECK(text_plain_prefix(told, strlen(told)) == strlen(told));
	}
	if (conf)
		check_again(conf);
	conf_free(conf);
	conf_problems_clear(&problems);
	free(text);
	return 0;
}
