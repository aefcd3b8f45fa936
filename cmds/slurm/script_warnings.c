/* script_warnings.c - see script_warnings.h */
#include "cmds/slurm/script_warnings.h"

#include <stdbool.h>
#include <string.h>

#include "cmds/options/directives.h"

unsigned script_finds_others(const char *script, size_t len, const char **mark)
{
	static const char *const marks[] = { "#PBS", "#BSUB" };
	unsigned first = 0;

	for (size_t i = 0; i < 2; i++) {
		unsigned line = directives_first(script, len, marks[i]);

		if (line && (!first || line < first)) {
			first = line;
			*mark = marks[i];
		}
	}
	return first;
}

/* "srun" as the first word of a line; what else a shell would make a call of is not looked for. */
static bool calls_srun(const char *line, size_t len)
{
	size_t at = 0;

	while (at < len && (line[at] == ' ' || line[at] == '\t'))
		at++;
	return len - at >= 4 && !memcmp(line + at, "srun", 4) &&
	       (len - at == 4 || line[at + 4] == ' ' || line[at + 4] == '\t');
}

unsigned script_finds_srun(const char *script, size_t len)
{
	const char *end = script + len, *eol = memchr(script, '\n', len);
	unsigned number = 1;

	if (!eol || !memmem(script, (size_t)(eol - script), "sh", 2))
		return 0;
	for (const char *line = eol + 1; line < end; line = eol + 1) {
		number++;
		eol = memchr(line, '\n', (size_t)(end - line));
		if (!eol)
			eol = end;
		if (calls_srun(line, (size_t)(eol - line)))
			return number;
	}
	return 0;
}
