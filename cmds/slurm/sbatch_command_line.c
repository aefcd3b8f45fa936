/* sbatch_command_line.c - see sbatch_command_line.h */
#include "cmds/slurm/sbatch_command_line.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define KEY_BASE 0x4000 /* of rows without a letter: KEY_BASE + index; beyond those of options.h \
	                 */

static bool is_ours(const struct sbatch_row *row)
{
	return option_by_name(row->name, strlen(row->name));
}

static int key_of(const struct sbatch_row *row, size_t i)
{
	return row->letter ? row->letter : KEY_BASE + (int)i;
}

struct argp_option *sbatch_args_for_argp(struct argp_option *ours, size_t n)
{
	size_t n_rows;
	const struct sbatch_row *rows = sbatch_rows(&n_rows);
	struct argp_option *all = xcalloc(n + n_rows + 1, sizeof(*all));

	memcpy(all, ours, n * sizeof(*all));
	free(ours);
	for (size_t i = 0; i < n_rows; i++) {
		if (is_ours(&rows[i]))
			continue;
		all[n++] = (struct argp_option){ .name = rows[i].name,
			.key = key_of(&rows[i], i),
			.arg = rows[i].arg == SBATCH_NO_ARG ? NULL : "VALUE",
			.flags = OPTION_HIDDEN |
			         (rows[i].arg == SBATCH_ARG_MAY_MISS ? OPTION_ARG_OPTIONAL : 0) };
	}
	return all;
}

/* sbatch's option with that key, or that is `ours` by name; NULL: it has none such. */
static const struct sbatch_row *find(int key, const struct option_row *ours)
{
	size_t n;
	const struct sbatch_row *rows = sbatch_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (ours ? !strcmp(rows[i].name, ours->name) : key_of(&rows[i], i) == key)
			return &rows[i];
	return NULL;
}

int sbatch_args_take(int key, const char *value, struct sbatch_arg_taken *out, struct error *err)
{
	const struct option_row *ours = key < KEY_BASE ? options_by_key(key) : NULL;
	const struct sbatch_row *theirs = find(key, ours);

	*out = (struct sbatch_arg_taken){ .row = ours, .value = value };
	if (!theirs || (ours && sbatch_kind(theirs) > SBATCH_BECOMES))
		return 0; /* only on the command line, or ours alone */
	switch (sbatch_kind(theirs)) {
	case SBATCH_REFUSED:
		return sbatch_refuse(theirs, err);
	case SBATCH_IGNORED:
		sbatch_ignored(theirs, out->warning);
		return 0;
	case SBATCH_TAKEN:
		out->row = NULL;
		return sbatch_convert(theirs, value, &out->room, err) || !theirs->convert ? 0 : -1;
	default:
		break;
	}
	out->row = sbatch_ours(theirs);
	if (!theirs->convert)
		return 0;
	out->value = sbatch_convert(theirs, value, &out->room, err);
	if (!out->value)
		return -1;
	if (*out->room.note)
		snprintf(out->warning, sizeof(out->warning), "--%s: %s", theirs->name,
		        out->room.note);
	return 0;
}
