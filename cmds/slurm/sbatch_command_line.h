/* sbatch_command_line.h - options of sbatch on gsubmit's command line
 *
 * An option that both sbatch and gsubmit have means the same as in a #SBATCH line
 * (sbatch_options.h): "none" is no file, --time=0 no limit. An option that gsubmit lacks is ignored
 * with a warning, or refused by name, for the same reason as in a script; --help does not list it.
 */
#ifndef CMDS_SBATCH_COMMAND_LINE_H
#define CMDS_SBATCH_COMMAND_LINE_H

#include <argp.h>
#include <stddef.h>

#include "cmds/options/options.h"
#include "cmds/slurm/sbatch_options.h"
#include "common/base/error.h"

/* The `n` rows of `ours` (options_for_argp()), which is freed, and sbatch's behind them; the caller
 * frees the result. */
struct argp_option *sbatch_args_for_argp(struct argp_option *ours, size_t n);

struct sbatch_arg_taken {
	const struct option_row *row; /* NULL: nothing is to be set */
	const char *value;            /* the one given, a constant or in `room`; NULL: none */
	char warning[SBATCH_TEXT];    /* to print; "": none */
	struct sbatch_value room;
};

/* What argp's `key` with `value` asks for. -1 with ERR_USAGE. */
int sbatch_args_take(int key, const char *value, struct sbatch_arg_taken *out, struct error *err);

#endif
