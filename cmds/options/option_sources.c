/* option_sources.c - options.h: what scripts and variables say, in the words of its table */
#include "cmds/options/options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/cli/cmd.h"
#include "cmds/options/directives.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

/* --- directives ----------------------------------------------------------------------------- */

static int no_such_option(const char *word, struct error *err)
{
	size_t n, i;
	const struct option_row *rows = option_rows(&n);
	const char **names = xcalloc(n + 1, sizeof(*names)), *near;
	char shown[80], name[80] = "";

	for (i = 0; i < n; i++)
		names[i] = rows[i].name;
	text_escape(shown, sizeof(shown), word, strlen(word));
	strncat(name, word + strspn(word, "-"), sizeof(name) - 1);
	name[strcspn(name, "=")] = '\0';
	near = !strncmp(word, "--", 2) ? text_nearest(name, names) : NULL;
	free(names);
	if (near)
		return error_set(
		        err, ERR_USAGE, "'%s': no such option; did you mean --%s?", shown, near);
	return error_set(err, ERR_USAGE, "'%s': no such option", shown);
}

static int check_in_script(const struct option_row *row, struct error *err)
{
	if (!(row->where & OPTION_IN_SCRIPT))
		return error_set(err, ERR_USAGE, "--%s: only on the command line", row->name);
	return 0;
}

/* "--name", "--name=value" or "--name value". Returns the words used. */
static int long_word(struct submit_options *o, char **words, size_t n, struct error *err)
{
	const char *name = words[0] + 2, *value;
	size_t len = strcspn(name, "=");
	const struct option_row *row = option_by_name(name, len);
	int used = 1;

	if (!row)
		return no_such_option(words[0], err);
	if (check_in_script(row, err) < 0)
		return -1;
	value = name[len] ? name + len + 1 : NULL;
	if (value && !row->arg)
		return error_set(err, ERR_USAGE, "--%s: takes no value", row->name);
	if (row->arg && !value && !(row->where & OPTION_ARG_MAY_MISS) && n > 1) {
		value = words[1];
		used = 2;
	}
	return options_set(o, row, value, err) < 0 ? -1 : used;
}

/* "-G2", "-G 2", "-HW", "-HG2". Returns the words used. */
static int short_word(struct submit_options *o, char **words, size_t n, struct error *err)
{
	for (const char *p = words[0] + 1; *p; p++) {
		const struct option_row *row = option_by_letter(*p);
		int used = 1;
		const char *value;

		if (!row)
			return no_such_option(words[0], err);
		if (check_in_script(row, err) < 0)
			return -1;
		if (!row->arg) {
			if (options_set(o, row, NULL, err) < 0)
				return -1;
			continue;
		}
		value = p[1] ? p + 1 : NULL;
		if (!value && n > 1) {
			value = words[1];
			used = 2;
		}
		return options_set(o, row, value, err) < 0 ? -1 : used;
	}
	return 1;
}

int options_from_words(struct submit_options *o, size_t n, char **words, struct error *err)
{
	for (size_t i = 0; i < n;) {
		int used;

		if (!strncmp(words[i], "--", 2) && words[i][2])
			used = long_word(o, words + i, n - i, err);
		else if (words[i][0] == '-' && words[i][1] && words[i][1] != '-')
			used = short_word(o, words + i, n - i, err);
		else
			used = no_such_option(words[i], err);
		if (used < 0 && mistakes_add(o->mistakes, err) < 0)
			return -1;
		i += used < 0 ? options_skip(n - i, words + i) : (size_t)used;
	}
	return 0;
}

size_t options_skip(size_t n, char **words)
{
	return n > 1 && words[1][0] != '-' ? 2 : 1;
}

static int on_line(void *arg, unsigned line, size_t n, char **words, struct error *err)
{
	struct submit_options *o = arg;

	if (o->mistakes)
		o->mistakes->line = line;
	return options_from_words(o, n, words, err);
}

int options_from_script(
        struct submit_options *o, const char *script, size_t len, unsigned *late, struct error *err)
{
	return directives_scan(script, len, DIRECTIVES_GPUSCHED, on_line, o, late, err);
}

/* --- variables ------------------------------------------------------------------------------ */

/* "CPUS_PER_TASK" (of `len` bytes) is cpus-per-task. */
static bool is_variable(const struct option_row *row, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < len && row->name[i]; i++)
		if (name[i] != (row->name[i] == '-' ? '_' : toupper((unsigned char)row->name[i])))
			return false;
	return i == len && !row->name[i];
}

static int from_variable(struct submit_options *o, const char *entry, struct error *err)
{
	const char *name = entry + strlen(OPTIONS_ENV_PREFIX);
	size_t len = strcspn(name, "="), n, i;
	const struct option_row *rows = option_rows(&n);
	char shown[80];

	for (i = 0; i < n; i++)
		if ((rows[i].where & OPTION_IN_ENV) && is_variable(&rows[i], name, len))
			break;
	text_escape(shown, sizeof(shown), entry, len + strlen(OPTIONS_ENV_PREFIX));
	if (i == n) {
		error_set(err, ERR_USAGE, "%s: no option has this variable", shown);
		return error_hint(err, "unset %s", shown);
	}
	if (rows[i].set(o, &rows[i], name + len + 1, err) < 0)
		return cmd_blame(shown, name + len + 1, err);
	return 0;
}

int options_from_environment(struct submit_options *o, char *const *environment, struct error *err)
{
	for (size_t i = 0; environment[i]; i++)
		if (!strncmp(environment[i], OPTIONS_ENV_PREFIX, strlen(OPTIONS_ENV_PREFIX)) &&
		        strchr(environment[i], '=') &&
		        from_variable(o, environment[i], err) < 0 &&
		        mistakes_add(o->mistakes, err) < 0)
			return -1;
	return 0;
}
