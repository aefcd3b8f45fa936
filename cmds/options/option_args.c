/* option_args.c - options.h: its rows as argp wants them */
#include "cmds/options/options.h"

#include "common/base/xalloc.h"

#define KEY_BASE 0x200 /* of options without a letter: KEY_BASE + index of the row */

const struct option_row *options_by_key(int key)
{
	size_t n;
	const struct option_row *rows = option_rows(&n);

	return key >= KEY_BASE ? &rows[key - KEY_BASE] : option_by_letter((char)key);
}

static const char *const headings[] = {
	[OPTION_WHAT] = "What to run:",
	[OPTION_FOR] = "Name, partition and account:",
	[OPTION_GPUS] = "GPUs:",
	[OPTION_CPUS] = "CPUs, tasks and memory:",
	[OPTION_NODES] = "Nodes:",
	[OPTION_TIME] = "Time and priority:",
	[OPTION_ORDER] = "Before it starts, and after it fails:",
	[OPTION_FILES] = "Input and output:",
	[OPTION_SERVICE] = "Services, which stay up (gserve):",
	[OPTION_ANSWER] = "What gsubmit answers:",
};

struct argp_option *options_for_argp(bool (*has)(const struct option_row *row), size_t *count)
{
	size_t n, at = 0;
	const struct option_row *rows = option_rows(&n);
	struct argp_option *o = xcalloc(n * 2 + 1, sizeof(*o));
	int group = -1;

	for (size_t i = 0; i < n; i++) {
		if (has && !has(&rows[i]))
			continue;
		if ((int)rows[i].group != group) {
			group = (int)rows[i].group;
			o[at++] =
			        (struct argp_option){ .doc = headings[group], .group = group + 1 };
		}
		o[at++] = (struct argp_option){ .name = rows[i].name,
			.key = rows[i].letter ? rows[i].letter : KEY_BASE + (int)i,
			.arg = rows[i].arg,
			.flags = (rows[i].where & OPTION_ARG_MAY_MISS ? OPTION_ARG_OPTIONAL : 0) |
			         (rows[i].where & OPTION_IS_ALIAS ? OPTION_ALIAS : 0),
			.doc = rows[i].help,
			.group = group + 1 };
	}
	if (count)
		*count = at;
	return o;
}
