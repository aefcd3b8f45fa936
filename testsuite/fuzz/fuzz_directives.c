/* fuzz_directives.c - scripts with #GPUSCHED lines from any bytes
 *
 * Words come from lines in order, none behind the first command; what is set by directives is what
 * the same words set on a command line; an error is one plain line that begins with a line number
 * of the script.
 */
#include <string.h>

#include "cmds/directives.h"
#include "cmds/options.h"
#include "cmds/script.h"
#include "common/text.h"
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
	if (directives_scan(script.text, n, DIRECTIVES_MARK, on_line, &seen, &late, &err) == 0) {
		FUZZ_CHECK(seen.bytes <= n);
		FUZZ_CHECK(!late || (late > seen.last && late <= lines(data, n)));
	}
	options_init(&o);
	if (options_from_script(&o, script.text, n, NULL, &err) < 0) {
		FUZZ_CHECK(strtoul(err.text, NULL, 10) >= 1);
		FUZZ_CHECK(strtoul(err.text, NULL, 10) <= lines(data, n));
		FUZZ_CHECK(text_plain_prefix(err.text, strlen(err.text)) == strlen(err.text));
	}
	options_clear(&o);
	if (script_check(&script, &err) == 0)
		FUZZ_CHECK(n >= 2 && !memchr(data, '\0', n));
	script_clear(&script);
	return 0;
}
