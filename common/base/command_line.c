/* command_line.c - see command_line.h */
#include "common/base/command_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#define KEY_TABLE 0x6000 /* rows without a letter: KEY_TABLE + index */

int tool_fail(const char *name, const struct error *err)
{
	char *text = text_escape_dup(err->text), *hint = text_escape_dup(err->hint);

	fflush(stdout);
	fprintf(stderr, "%s: error: %s\n", name, text);
	if (*hint)
		fprintf(stderr, "hint: %s\n", hint);
	free(text);
	free(hint);
	return error_exit_status(err->code);
}

void tool_add(const char ***list, size_t *n, const char *text)
{
	*list = xrealloc(*list, *n + 1, sizeof(char *));
	(*list)[(*n)++] = text;
}

CMD_SETTER(cmd_set_flag)
{
	*(bool *)field = true;
	return 0;
}

CMD_SETTER(cmd_set_text)
{
	*(const char **)field = value;
	return 0;
}

CMD_SETTER(cmd_set_count)
{
	uint64_t n;

	if (count_parse(value, 1, option->what, &n, err) < 0)
		return -1;
	*(unsigned *)field = (unsigned)n;
	return 0;
}

CMD_SETTER(cmd_set_number)
{
	return count_parse(value, option->what, INT64_MAX, field, err);
}

CMD_SETTER(cmd_set_ms)
{
	return duration_parse_ms(value, DURATION_BARE_S, field, err);
}

static int key_of(const struct cmd_option *table, const struct cmd_option *o)
{
	return o->letter ? o->letter : KEY_TABLE + (int)(o - table);
}

size_t tool_argp(const struct cmd_option *table, int group, struct argp_option *out)
{
	const struct cmd_option *o = table;

	for (; o && (o->name || o->help); o++) {
		bool maybe = o->arg && *o->arg == '[';

		group += !o->name;
		if (out)
			*out++ = (struct argp_option){ .name = o->name,
				.key = o->name ? key_of(table, o) : 0,
				.arg = o->arg,
				.flags = (o->help ? 0 : OPTION_ALIAS) |
				         (maybe ? OPTION_ARG_OPTIONAL : 0),
				.doc = o->help,
				.group = group };
	}
	return (size_t)(o - table);
}

const struct cmd_option *tool_option(const struct cmd_option *table, int key)
{
	for (const struct cmd_option *o = table; o && (o->name || o->help); o++) {
		if (!o->name || key_of(table, o) != key)
			continue;
		while (!o->help)
			o--; /* by another name */
		return o;
	}
	return NULL;
}

struct parse {
	const struct tool *tool;
	void *input;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
	const struct parse *p = state->input;
	const struct cmd_option *o = tool_option(p->tool->table, key);
	struct error err;

	if (key == ARGP_KEY_ARG) {
		p->tool->argument(p->input, value);
		return 0;
	}
	if (!o)
		return ARGP_ERR_UNKNOWN;
	if (o->set((char *)p->input + o->offset, o, value, &err) < 0) {
		error_wrap(&err, "--%s=%s", o->name, value);
		exit(tool_fail(p->tool->name, &err));
	}
	return 0;
}

void tool_parse(const struct tool *tool, int argc, char **argv, void *input)
{
	size_t n = tool_argp(tool->table, 0, NULL);
	struct argp_option *options = xcalloc(n + 1, sizeof(*options));
	char **names = xcalloc(n, sizeof(*names));
	const struct argp argp = { options, parse, tool->args, tool->doc, NULL, NULL, NULL };
	struct parse p = { tool, input };

	tool_argp(tool->table, 0, options);
	for (size_t i = 0; i < n; i++)
		if (options[i].flags & OPTION_ARG_OPTIONAL) /* argp puts brackets of its own */
			options[i].arg = names[i] =
			        xstrndup(options[i].arg + 1, strlen(options[i].arg) - 2);
	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &p);
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
	free(options);
}
