/* fuzz_bulkfile.c - files of jobs from any bytes
 *
 * A job has a command or a script and options that there are; a file that is refused has the number
 * of the line, which is one of it, before the reason.
 */
#include <string.h>

#include "cmds/options/bulkfile.h"
#include "common/base/text.h"
#include "testsuite/fuzz/fuzz.h"

static int on_job(void *arg, const struct bulkfile_job *job, struct error *err)
{
	unsigned *last = arg;

	(void)err;
	FUZZ_CHECK(job->line > *last);
	*last = job->line;
	FUZZ_CHECK(!job->script != !job->wrap);
	FUZZ_CHECK(job->n_given <= BULKFILE_OPTIONS_MAX);
	for (size_t i = 0; i < job->n_given; i++)
		FUZZ_CHECK(job->given[i].row && job->given[i].value);
	for (const char *const *a = job->args; a && *a; a++)
		FUZZ_CHECK(strlen(*a) <= BULKFILE_LINE_MAX);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct error err = { .text = "" };
	unsigned last = 0, lines = 1;
	char *end;

	for (size_t i = 0; i < n; i++)
		lines += data[i] == '\n';
	if (bulkfile_each((const char *)data, n, on_job, &last, &err) >= 0) {
		FUZZ_CHECK(last <= lines);
		return 0;
	}
	FUZZ_CHECK(text_plain_prefix(err.text, strlen(err.text)) == strlen(err.text));
	FUZZ_CHECK(strtoul(err.text, &end, 10) <= lines);
	return 0;
}
