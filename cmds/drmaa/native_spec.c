/* native_spec.c - see native_spec.h */
#include "cmds/drmaa/native_spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/drmaa/attribute_values.h"
#include "cmds/slurm/sbatch_command_line.h"
#include "common/base/text.h"

#define CATEGORIES_FILE SYSCONFDIR "/gpusched/drmaa-categories"

static int no_option(const char *word, const char *why, struct error *err)
{
	char shown[80];

	text_escape(shown, sizeof(shown), word, strlen(word));
	return error_set(err, ERR_USAGE, "'%s': %s", shown, why);
}

/* By its name, or the beginning of one name alone. */
static const struct argp_option *find_long(
        const struct argp_option *table, const char *word, size_t len, struct error *err)
{
	const struct argp_option *found = NULL;

	for (const struct argp_option *o = table; o->name || o->doc; o++) {
		if (!o->name || strncmp(o->name, word + 2, len) != 0)
			continue;
		if (!o->name[len])
			return o;
		if (found) {
			no_option(word, "could be several options", err);
			return NULL;
		}
		found = o;
	}
	if (!found)
		no_option(word, "no such option", err);
	return found;
}

static const struct argp_option *find_letter(
        const struct argp_option *table, const char *word, char letter, struct error *err)
{
	for (const struct argp_option *o = table; o->name || o->doc; o++)
		if (o->name && o->key == letter)
			return o;
	no_option(word, "no such option", err);
	return NULL;
}

static int set(struct submit_options *o, int key, const char *value, struct error *err)
{
	struct sbatch_arg_taken taken;

	if (sbatch_args_take(key, value, &taken, err) < 0)
		return -1;
	if (!taken.row)
		return 0;
	if (!(taken.row->where & OPTION_IN_SCRIPT))
		return error_set(err, ERR_USAGE, "--%s: only on a command line", taken.row->name);
	if (taken.row->group == OPTION_SERVICE)
		return error_set(err, ERR_USAGE, "--%s: a job of DRMAA is no service", taken.row->name);
	if (!strcmp(taken.row->name, "wait"))
		return error_set(err, ERR_USAGE, "--wait: drmaa_wait() waits");
	return options_set(o, taken.row, taken.value, err);
}

/* `value` stands with the option, or is NULL and may be the next word. Returns the words used. */
static int give(struct submit_options *o, const struct argp_option *option, const char *value,
        size_t n, char **words, struct error *err)
{
	int used = 1;

	if (value && !option->arg)
		return error_set(err, ERR_USAGE, "--%s: takes no value", option->name);
	if (!value && option->arg && !(option->flags & OPTION_ARG_OPTIONAL)) {
		if (n < 2)
			return error_set(err, ERR_USAGE, "--%s: needs a value", option->name);
		value = words[1];
		used = 2;
	}
	return set(o, option->key, value, err) < 0 ? -1 : used;
}

static int long_word(struct submit_options *o, const struct argp_option *table, size_t n,
        char **words, struct error *err)
{
	size_t len = strcspn(words[0] + 2, "=");
	const struct argp_option *option = find_long(table, words[0], len, err);

	if (!option)
		return -1;
	return give(o, option, words[0][2 + len] ? words[0] + 2 + len + 1 : NULL, n, words, err);
}

static int short_word(struct submit_options *o, const struct argp_option *table, size_t n,
        char **words, struct error *err)
{
	for (const char *p = words[0] + 1; *p; p++) {
		const struct argp_option *option = find_letter(table, words[0], *p, err);

		if (!option)
			return -1;
		if (option->arg)
			return give(o, option, p[1] ? p + 1 : NULL, n, words, err);
		if (set(o, option->key, NULL, err) < 0)
			return -1;
	}
	return 1;
}

static int apply_words(struct submit_options *o, size_t n, char **words, struct error *err)
{
	size_t n_ours;
	struct argp_option *ours = options_for_argp(NULL, &n_ours);
	struct argp_option *table = sbatch_args_for_argp(ours, n_ours);
	int used = 0;

	for (size_t i = 0; i < n && used >= 0; i += (size_t)used) {
		const char *w = words[i];

		if (!strncmp(w, "--", 2) && w[2] && w[2] != '=')
			used = long_word(o, table, n - i, words + i, err);
		else if (w[0] == '-' && w[1] && w[1] != '-')
			used = short_word(o, table, n - i, words + i, err);
		else
			used = no_option(w, "no option", err);
		if (used < 0)
			break;
	}
	free(table);
	return used < 0 ? -1 : 0;
}

int native_apply(struct submit_options *o, const char *text, struct error *err)
{
	size_t n;
	char **words = value_words(text, &n, err);
	int rc = words ? apply_words(o, n, words, err) : -1;

	free(words);
	return rc;
}

/* --- categories ----------------------------------------------------------------------------- */

/* The options of a line "NAME: OPTIONS"; NULL: it is another line. */
static char *options_of(char *line, const char *name)
{
	size_t len = strlen(name);

	line = text_trim(line);
	if (strncmp(line, name, len) != 0 || line[len] != ':')
		return NULL;
	return line + len + 1;
}

int native_apply_category(struct submit_options *o, const char *name, struct error *err)
{
	const char *path = getenv(NATIVE_CATEGORIES);
	char *line = NULL, *options = NULL;
	size_t size = 0;
	FILE *f;
	int rc;

	path = path && *path ? path : CATEGORIES_FILE;
	f = fopen(path, "re");
	if (!f)
		return error_set(
		        err, ERR_USAGE, "category '%.80s': %s: %s", name, path, strerror(errno));
	while (!options && getline(&line, &size, f) >= 0)
		options = options_of(line, name);
	fclose(f);
	if (!options)
		rc = error_set(err, ERR_USAGE, "there is no category '%.80s' in %s", name, path);
	else if ((rc = native_apply(o, options, err)) < 0)
		error_wrap(err, "%s: %.80s", path, name);
	free(line);
	return rc;
}
