/* fuzz_directives.c - scripts with #GPUSCHED lines from any bytes
 *
 * With #SBATCH lines too. Words come from lines in order, none behind the first command; what is
 * set by directives is what the same words set on a command line; an error is one plain line that
 * begins with a line number of the script.
 */
#include <string.h>

#include "cmds/options/directives.h"
#include "cmds/options/options.h"
#include "cmds/options/script.h"
#include "cmds/options/tasks.h"
#include "cmds/slurm/sbatch_options.h"
#include "common/base/text.h"
#include "testsuite/fuzz/fuzz.h"

struct seen {
	unsigned last;
	size_t bytes;
};

static int on_line(void *arg, unsigned line, size_t n, char **words, struct error *err)
{
	struct submit_options o;
	struct seen *seen = arg;
	struct error why = { .text = "" };

	(void)err;
	FUZZ_CHECK(line > seen->last && n > 0 && n <= DIRECTIVES_WORDS_MAX && !words[n]);
	seen->last = line;
	for (size_t i = 0; i < n; i++)
		seen->bytes += strlen(words[i]);
	options_init(&o);
	if (options_from_words(&o, n, words, &why) < 0)
		FUZZ_CHECK(why.code == ERR_USAGE && *why.text);
	options_clear(&o);
	return 0;
}

static unsigned lines(const uint8_t *data, size_t n)
{
	unsigned count = 1;

	for (size_t i = 0; i < n; i++)
		count += data[i] == '\n';
	return count;
}

static void on_ignored(void *arg, unsigned line, const char *text)
{
	FUZZ_CHECK(line >= 1 && line <= *(unsigned *)arg);
	FUZZ_CHECK(text_plain_prefix(text, strlen(text)) == strlen(text));
}

static void check_error(const struct error *err, unsigned last)
{
	FUZZ_CHECK(strtoul(err->text, NULL, 10) >= 1 && strtoul(err->text, NULL, 10) <= last);
	FUZZ_CHECK(text_plain_prefix(err->text, strlen(err->text)) == strlen(err->text));
}

/* Whatever it asks for, it comes out or is refused in words. */
static void try_sbatch(const struct script *script, unsigned last)
{
	struct submit_options o;
	struct error err = { .text = "" };

	options_init(&o);
	if (sbatch_from_script(&o, script->text, script->len, on_ignored, &last, NULL, &err) < 0)
		check_error(&err, last);
	else if (tasks_settle(&o, &err) < 0)
		FUZZ_CHECK(err.code == ERR_USAGE && *err.text);
	options_clear(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct script script = { malloc(n + 1), n };
	struct seen seen = { 0, 0 };
	struct submit_options o;
	struct error err = { .text = "" };
	unsigned late = 0;

	FUZZ_CHECK(script.text);
	memcpy(script.text, data, n);
	script.text[n] = '\0';
	if (directives_scan(script.text, n, DIRECTIVES_GPUSCHED, on_line, &seen, &late, &err) ==
	        0) {
		FUZZ_CHECK(seen.bytes <= n);
		FUZZ_CHECK(!late || (late > seen.last && late <= lines(data, n)));
	}
	options_init(&o);
	if (options_from_script(&o, script.text, n, NULL, &err) < 0)
		check_error(&err, lines(data, n));
	options_clear(&o);
	try_sbatch(&script, lines(data, n));
	if (script_check(&script, &err) == 0)
		FUZZ_CHECK(n >= 2 && !memchr(data, '\0', n));
	script_clear(&script);
	return 0;
}
