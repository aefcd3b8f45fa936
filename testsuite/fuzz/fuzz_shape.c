/* fuzz_shape.c - what a job says of nodes, and a row's words of it, from any bytes
 *
 * Lines: constraint, prefer, node list, exclude list, licences, a GPU type, a row's place. What is
 * taken has one spelling, and that is read back as the same.
 */
#include <string.h>

#include "common/base/text.h"
#include "ctld/core/request/nodefilter.h"
#include "ctld/core/request/shape.h"
#include "testsuite/fuzz/fuzz.h"

#define LINES 7

static void check_error(const struct error *err)
{
	FUZZ_CHECK(*err->text);
	FUZZ_CHECK(text_plain_prefix(err->text, strlen(err->text)) == strlen(err->text));
}

static void check_again(const struct shape *s)
{
	struct error err = { .text = "" };
	struct shape again;

	FUZZ_CHECK(shape_parse(&again, s->text, s->place, &err) == 0);
	FUZZ_CHECK(!strcmp(again.text, s->text));
	FUZZ_CHECK(!strcmp(again.place, s->place));
	shape_clear(&again);
}

/* A cluster of no nodes knows no feature and no node. */
static void check_nodes(const struct shape *s)
{
	struct conf conf = { 0 };
	struct nodefilter *f = nodefilter_new(&conf, 1);
	struct error err = { .text = "" };
	uint32_t n;

	if (*s->constraint) {
		free(nodefilter_features(f, s->constraint));
		FUZZ_CHECK(nodefilter_check_features(f, "-C", s->constraint, &err) < 0);
		check_error(&err);
	}
	if (*s->nodelist) {
		free(nodefilter_nodes(f, s->nodelist, &n));
		FUZZ_CHECK(n >= 1 && n <= s->nodes_min);
		FUZZ_CHECK(nodefilter_check_nodes(f, "-w", s->nodelist, &err) < 0);
		check_error(&err);
	}
	nodefilter_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1), *at = text, *lines[LINES];
	struct error err = { .text = "" };
	struct shape s;

	FUZZ_CHECK(text);
	memcpy(text, data, n);
	text[n] = '\0';
	for (size_t i = 0; i < LINES; i++)
		lines[i] = at ? strsep(&at, "\n") : text + n;
	struct submit_job job = { .constraint = lines[0],
		.prefer = lines[1],
		.nodelist = lines[2],
		.exclude = lines[3],
		.licences = lines[4],
		.gpus = { { lines[5], 4 } },
		.n_gpus = *lines[5] != '\0' };
	if (shape_read(&s, &job, NULL, &err) == 0) {
		check_again(&s);
		check_nodes(&s);
		shape_clear(&s);
	} else {
		check_error(&err);
	}
	if (shape_parse(&s, lines[5], lines[6], &err) == 0) {
		check_again(&s);
		shape_clear(&s);
	} else {
		FUZZ_CHECK(err.code == ERR_INTERNAL);
	}
	free(text);
	return 0;
}
